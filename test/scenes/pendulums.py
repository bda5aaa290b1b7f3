# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The papers' pendulums away from anything special."""

from __future__ import annotations

import numpy as np

import mb_contact as mb


def bent(n, variant="first_impact", **changes):
    """A pendulum, and joint angles and rates away from anything special."""
    random = np.random.default_rng(n)
    return mb.pendulum(n, variant, **changes), random.uniform(-0.3, 0.3, n), random.normal(scale=0.5, size=n)
