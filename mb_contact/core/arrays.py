# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Copies and fills of the first entries of arrays of one index."""

from mb_contact.core.jit import kernel


@kernel
def copy(count, source, target):
    """``target[:count]`` := ``source[:count]``."""
    for i in range(count):
        target[i] = source[i]


@kernel
def fill(count, target, value):
    """``target[:count]`` := value."""
    for i in range(count):
        target[i] = value
