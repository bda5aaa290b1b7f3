# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A slip that turns while it ends: a ball thrown across a slope, in closed form; in one motion and in a tree.

ds/dt = -a s/|s| + b x (x downhill, a = 7/2 mu g cos, b = g sin), so a |s| + b s_x falls at the rate a^2 - b^2.
"""

from __future__ import annotations

import numpy as np
import pytest
from surface_cases import G, ball, rotation

from mb_contact.surfaces import ContactJoint, SurfaceBase, SurfaceMotion, SurfaceTree, plane

ANGLE = 0.3
SLOPE = rotation((0, 1, 0), ANGLE)  # downhill is its x
DOWNHILL = G * np.sin(ANGLE)


def thrown_motion(friction, start):
    motion = SurfaceMotion(ball(0.1), SurfaceBase(plane(), SLOPE), friction=friction)
    q, _ = motion.contact.first_touch(np.eye(3), (0.0, 0.0, 1.0), (0.0, 0.0, -1.0))
    motion.slide(q, motion.contact.rates(q) @ (0.0, 0.0, 0.0, *start))
    return motion, motion.slip, lambda: motion.mode_name


def thrown_in_a_tree(friction, start):
    tree = SurfaceTree([ContactJoint("ball", None, plane().placed(SLOPE), ball(0.1), friction=friction)])
    q, _ = tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))
    tree.slide("ball", q, tree.pair("ball").rates(q) @ (0.0, 0.0, 0.0, *start))
    return tree, lambda: tree.slip("ball"), lambda: tree.mode_name("ball")


@pytest.mark.parametrize("make", [thrown_motion, thrown_in_a_tree])
@pytest.mark.parametrize(("step", "tolerance"), [(4e-3, 2e-5), (1e-3, 1e-6), (1e-4, 2e-9)])
def test_a_slip_that_turns_ends_when_it_must(make, step, tolerance):
    """It turns downhill ever faster as it ends; steps that follow it leave the error to those before."""
    friction, start = 0.2, np.array([-1.0, 1.5])
    a = 3.5 * friction * G * np.cos(ANGLE)
    rate = a * a - DOWNHILL**2
    end = (a * np.linalg.norm(start) + DOWNHILL * start[0]) / rate
    thrown, slip, mode = make(friction, start)
    thrown.run(0.5 * end, step)
    assert a * np.linalg.norm(slip()) + DOWNHILL * slip()[0] == pytest.approx(0.5 * end * rate, rel=tolerance)
    assert mode() == "sliding"
    thrown.run(0.5 * end + 0.1, step)
    (event,) = thrown.events
    assert event.kind == "sticks" and mode() == "rolling"
    assert event.time == pytest.approx(end, rel=tolerance)


@pytest.mark.parametrize("make", [thrown_motion, thrown_in_a_tree])
def test_a_slip_that_passes_by_zero_goes_on(make):
    """Friction that cannot hold the ball: it comes up to 0.1 mm/s, turns round and slides downhill."""
    friction, start = np.tan(ANGLE) / 7.0, np.array([-1.0, 1e-4])
    a = 3.5 * friction * G * np.cos(ANGLE)
    thrown, slip, mode = make(friction, start)
    thrown.run(1.0, 2e-3)
    assert mode() == "sliding" and not thrown.events
    want = a * np.linalg.norm(start) + DOWNHILL * start[0] + DOWNHILL**2 - a * a
    assert a * np.linalg.norm(slip()) + DOWNHILL * slip()[0] == pytest.approx(want, rel=1e-6)
    assert slip()[0] > 0.0
