# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Constraint rows of a step: contacts, loops, hinges, limits, and their compliance."""
