# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact problem of a step and its solver: one problem type, one law of each kind of block, one Newton method."""
