# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The verdict of the demonstration on recorded lifts.

Covers programs/demo/plot.py, programs/demo/table.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.programs.demo.lift import judge

pytestmark = pytest.mark.quick


def record(height, force_at_end=0.0, slip=0.0):
    """A made-up record: 10 s in which the box follows ``height(t)``."""
    time = np.linspace(0.0, 10.0, 1001)
    z = np.array([height(t) for t in time])
    in_hands = np.zeros((1001, 2, 3))
    in_hands[500:, 1, 2] = slip
    forces = np.zeros((1001, 6))
    forces[-1] = force_at_end
    position = np.column_stack([0 * z, 0 * z, 0.8 + z])
    quaternion = np.tile([0.0, 0.0, 0.0, 1.0], (1001, 1))
    return {
        "time": time,
        "position": position,
        "quaternion": quaternion,
        "in_hands": in_hands,
        "forces": forces,
    }


def box_car(t, top=0.205, begin=2.0, end=6.0):
    return top if begin <= t <= end else 0.0


def test_verdicts():
    good = judge(record(box_car, slip=0.001))
    assert not good.failures
    assert good.held == pytest.approx(4.0) and good.slip == pytest.approx(0.001)
    assert "rose by 0.190 m only" in judge(record(lambda t: box_car(t, top=0.19))).failures[0]
    assert "held for 2.00 s only" in judge(record(lambda t: box_car(t, end=4.0))).failures[0]
    assert "not set down" in judge(record(lambda t: box_car(t, end=20.0))).failures[0]
    assert "did not release" in judge(record(box_car, force_at_end=5.0)).failures[0]
