# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Simulations of smooth surfaces in contact coordinates, alone and among ordinary objects."""
