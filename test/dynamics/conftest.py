# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The dual arm, Pinocchio's copy of it and its random states."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from oracles.pinocchio_peer import Peer
from scenes.trees import DUAL_ARM, GRAVITY


@pytest.fixture(scope="module")
def dual_arm():
    return mb.load_urdf(DUAL_ARM)


@pytest.fixture(scope="module")
def peer(dual_arm):
    return Peer(pytest.importorskip("pinocchio"), dual_arm, DUAL_ARM, GRAVITY)


@pytest.fixture(scope="module")
def states(dual_arm):
    """100 random states with efforts: positions within the limits, brisk velocities."""
    rng = np.random.default_rng(20)
    out = []
    for _ in range(100):
        q = rng.uniform(dual_arm.lower, dual_arm.upper)
        out.append((q, 3 * rng.normal(size=26), 20 * rng.normal(size=26), 10 * rng.normal(size=26)))
    return out
