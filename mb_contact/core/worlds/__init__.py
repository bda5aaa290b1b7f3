# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of many worlds of one scene: their states side by side, one thread's workspaces for all that it steps."""
