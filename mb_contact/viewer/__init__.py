# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The web view: a scene in the browser, simulated here or by a node (docs/viewer.md)."""
