# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The verdict on recorded nuts."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.model.builtin.wheel import NUT_HEIGHT, STUD_LENGTH
from mb_contact.model.rotations import matrix_to_quat, rotation_about
from mb_contact.programs.demo.nut import HUB, PITCH, judge

HUB_AXES = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  #: the axle points to the robot
START = 0.012  #: of the nut's inner face before the hub [m]


def record(turns=22.0, slip=0.0, taken=0.06, moved=0.0):
    """A made-up record of 10 s: 22 turns take the nut off its stud in 8 s, then it is taken away."""
    time = np.linspace(0.0, 10.0, 2001)
    angle = 2.0 * np.pi * np.interp(time, [0.0, 8.0], [0.0, turns])
    way = PITCH * angle / (2.0 * np.pi) + np.where((time > 3.0) & (time < 4.0), slip, 0.0)
    way += np.interp(time, [8.0, 10.0], [0.0, taken])
    along = START + 0.5 * NUT_HEIGHT + way
    position = np.array(HUB) + along[:, None] * HUB_AXES[:, 2]
    quaternion = np.array([matrix_to_quat(HUB_AXES @ rotation_about((0.0, 0.0, 1.0), a)) for a in angle])
    in_hands = np.zeros((2001, 2, 3))
    in_hands[-1, 1, 2] = moved
    efforts = np.zeros((2001, 3))
    efforts[100, -1] = -6.5
    supports = np.zeros((2001, 2))
    return {
        "time": time, "position": position, "quaternion": quaternion, "in_hands": in_hands, "efforts": efforts,
        "supports": supports,
    }  # fmt: skip


def test_a_nut_that_is_off():
    verdict = judge(record())
    assert not verdict.failures
    assert verdict.turns == pytest.approx((STUD_LENGTH - START) / PITCH, abs=0.1)
    assert verdict.thread_error < 1e-9 and verdict.torque == 6.5 and verdict.push == 0.0
    assert verdict.beyond == pytest.approx(0.06, abs=1e-9)


@pytest.mark.parametrize("case, said", [
    ({"turns": 0.5}, "turned 0.50 times only"),
    ({"turns": 10.0, "taken": 0.0}, "beyond its stud, not 50 mm"),
    ({"taken": 0.03}, "ends 30.0 mm beyond its stud"),
    ({"slip": 3e-5}, "left its thread by 0.030 mm"),
    ({"moved": 0.02}, "moved 20.0 mm in the socket"),
])  # fmt: skip
def test_what_is_missing_is_said(case, said):
    (sentence,) = judge(record(**case)).failures
    assert said in sentence
