# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Links that deform: beams, bodies in modes, files of modal data, and how they become parts of a robot."""
