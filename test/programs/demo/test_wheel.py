# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The verdict on recorded changes of the wheel; the demonstration itself, over DDS.

Covers model/builtin/wheel.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.builtin.wheel import TYRE, TYRE_CENTRE
from mb_contact.model.rotations import matrix_to_quat, rotation_about
from mb_contact.programs.demo.wheel import PLACE, judge
from paths import ROOT

HUB = np.array([[0.0, 0.0, -1.0], [0.0, 1.0, 0.0], [1.0, 0.0, 0.0]])  #: the axle points to the robot


def record(place=(0.0, 0.0, 0.0), back=(0.0, 0.0, 0.0), tilt=0.0, slip=0.0, grip_left=0.0, far=1.0):
    """A made-up record of 10 s: on the hub, in the hands from 2 s, on the rack from 4 s, in the hands, back at 8 s."""
    time = np.linspace(0.0, 10.0, 1001)
    start = np.array([0.648, 0.0, 0.8495])
    turned = rotation_about((0.0, 0.0, 1.0), 0.65) @ HUB
    rack = np.array(PLACE) - TYRE_CENTRE * turned[:, 2] + place
    share = np.interp(time, [2.0, 4.0, 6.0, 8.0], [0.0, 1.0, 1.0, 0.0])
    position = start + far * share[:, None] * (rack - start)
    position[time >= 8.0] = start + back
    quaternion = np.array([matrix_to_quat(turned if s > 0.5 else HUB) for s in share])
    quaternion[-1] = matrix_to_quat(rotation_about((0.0, 1.0, 0.0), tilt) @ HUB)
    held = ((time > 1.9) & (time < 4.1)) | ((time > 5.9) & (time < 8.1))
    forces = np.where(held[:, None], 30.0, 0.0) * np.ones((1, 6))
    forces[-1, 0] = grip_left
    supports = np.zeros((1001, 3))
    supports[share == 0.0, 0] = 126.0
    supports[share == 1.0, 1:] = 70.0
    in_hands = np.zeros((1001, 2, 3))
    in_hands[(time > 3.0) & (time < 3.5), 1, 0] = slip
    penetration = np.where(held, 1e-5, 1e-9)
    return {
        "time": time, "position": position, "quaternion": quaternion, "in_hands": in_hands, "forces": forces,
        "supports": supports, "penetration": penetration,
    }  # fmt: skip


def test_a_change_of_the_wheel():
    verdict = judge(record(place=(0.003, 0.0, 0.0), back=(0.0, 0.0002, 0.0), slip=0.0007))
    assert not verdict.failures
    assert verdict.place_error == pytest.approx(0.003) and verdict.back_error == pytest.approx(0.0002)
    assert verdict.slip == pytest.approx(0.0007) and verdict.rest_penetration == pytest.approx(1e-9)
    assert verdict.pulled > 0.2 and verdict.carried > 0.4


@pytest.mark.parametrize("case, said", [
    ({"far": 0.1}, "came 29"),
    ({"far": 0.5}, "carried 0.2"),
    ({"place": (0.0, 0.0, 0.006)}, "6.0 mm beside its place"),
    ({"back": (0.0006, 0.0, 0.0)}, "0.60 mm away"),
    ({"tilt": 0.02}, "tilted 0.020 rad"),
    ({"grip_left": 1.0}, "did not let go"),
])  # fmt: skip
def test_what_is_missing_is_said(case, said):
    (sentence,) = judge(record(**case)).failures
    assert said in sentence


def test_a_wheel_that_still_moves_is_not_at_rest():
    made = record()
    rolling = made["supports"][:, 1] > 0.0
    made["position"][rolling, 2] += 0.002 * (made["time"][rolling] - 5.0)
    assert judge(made).failures == ["the wheel was set down not at all"]


def test_a_wheel_that_never_rests_on_the_rack_was_not_set_down():
    made = record()
    made["supports"][:, 2] = 0.0
    assert judge(made).failures == ["the wheel was set down not at all"]


def test_the_place_is_between_the_rails():
    """Both rails touch a wheel there: two faces of the tyre, 36 degrees beside the lowest one."""
    scene = mb.load_scene(ROOT / "config" / "wheel_change.yaml")
    for name in ("rail_1", "rail_2"):
        rail = next(p for p in scene.primitives if p.name == name)
        up = rail.pose.rotation()[:, 2]
        surface = rail.pose.origin() + 0.5 * rail.size[2] * up
        assert up @ (np.array(PLACE) - surface) == pytest.approx(TYRE[1], abs=2e-5)
        assert np.degrees(np.arccos(up[2])) == pytest.approx(36.0, abs=1e-3)
