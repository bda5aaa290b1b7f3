# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step: its rule of integration, impacts and events, pieces of a step, the closing of loops."""
