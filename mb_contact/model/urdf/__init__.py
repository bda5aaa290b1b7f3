# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots from URDF: XML to links and joints to a tree; SRDF, joints that mimic others, links without mass."""
