# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots and objects that code makes: the papers' pendulums, the wheel and its nuts."""
