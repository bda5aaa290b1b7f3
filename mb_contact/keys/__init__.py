# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Keys of files and options of programs, declared once as fields of dataclasses: ``declaration``.

``kinds`` reads, checks and describes their values, ``page`` writes their reference.  Scenes and the node use it.
"""
