# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A slip that turns while it ends: a ball thrown across a slope, in closed form.

ds/dt = -a s/|s| + b x (x downhill, a = 7/2 mu g cos, b = g sin), so a |s| + b s_x falls at the rate a^2 - b^2.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.surfaces import ContactJoint, SurfaceTree, build_surface_scene, plane
from scenes.surface_cases import G, ball, rotation

ANGLE = 0.3
SLOPE = rotation((0, 1, 0), ANGLE)  # downhill is its x
DOWNHILL = G * np.sin(ANGLE)


def thrown_ball(friction, start, rolls=False):
    tree = SurfaceTree([ContactJoint("ball", None, plane().placed(SLOPE), ball(0.1), friction=friction)])
    q, _ = tree.first_touch("ball", np.eye(3), (0.0, 0.0, 1.0))
    if rolls:
        tree.roll("ball", q)
    else:
        tree.slide("ball", q, tree.pair("ball").rates(q) @ (0.0, 0.0, 0.0, *start))
    return tree, lambda: tree.slip("ball"), lambda: tree.mode_name("ball")


@pytest.mark.parametrize(("step", "tolerance"), [(4e-3, 2e-5), (1e-3, 1e-6), (1e-4, 2e-9)])
def test_a_slip_that_turns_ends_when_it_must(step, tolerance):
    """It turns downhill ever faster as it ends; steps that follow it leave the error to those before."""
    friction, start = 0.2, np.array([-1.0, 1.5])
    a = 3.5 * friction * G * np.cos(ANGLE)
    rate = a * a - DOWNHILL**2
    end = (a * np.linalg.norm(start) + DOWNHILL * start[0]) / rate
    thrown, slip, mode = thrown_ball(friction, start)
    thrown.run(0.5 * end, step)
    assert a * np.linalg.norm(slip()) + DOWNHILL * slip()[0] == pytest.approx(0.5 * end * rate, rel=tolerance)
    assert mode() == "sliding"
    thrown.run(0.5 * end + 0.1, step)
    (event,) = thrown.events
    assert event.kind == "sticks" and mode() == "rolling"
    assert event.time == pytest.approx(end, rel=tolerance)


def test_a_slip_that_passes_by_zero_goes_on():
    """Friction that cannot hold the ball: it comes up to 0.1 mm/s, turns round and slides downhill."""
    friction, start = np.tan(ANGLE) / 7.0, np.array([-1.0, 1e-4])
    a = 3.5 * friction * G * np.cos(ANGLE)
    thrown, slip, mode = thrown_ball(friction, start)
    thrown.run(1.0, 2e-3)
    assert mode() == "sliding" and not thrown.events
    want = a * np.linalg.norm(start) + DOWNHILL * start[0] + DOWNHILL**2 - a * a
    assert a * np.linalg.norm(slip()) + DOWNHILL * slip()[0] == pytest.approx(want, rel=1e-6)
    assert slip()[0] > 0.0


@pytest.mark.parametrize(("step", "tolerance"), [(4e-3, 5e-4), (1e-3, 1e-5), (2e-4, 2e-8)])
def test_a_slip_ends_where_friction_hardly_suffices(step, tolerance):
    """Friction 1/49 above what rolling needs: the slip turns downhill and then ends slowly; it must not hover."""
    friction, start = np.tan(ANGLE) / (0.98 * 3.5), np.array([0.0, 0.05])
    a = DOWNHILL / 0.98
    end = a * start[1] / (a * a - DOWNHILL**2)
    thrown, _, mode = thrown_ball(friction, start)
    thrown.run(end + 0.1, step)
    assert [event.kind for event in thrown.events] == ["sticks"] and mode() == "rolling"
    assert thrown.events[0].time == pytest.approx(end, rel=tolerance)


def test_adapted_steps_find_that_end_too():
    friction, a = np.tan(ANGLE) / (0.98 * 3.5), DOWNHILL / 0.98
    thrown, _, mode = thrown_ball(friction, np.array([0.0, 0.05]))
    assert thrown.run_adaptive(0.6) < 1000
    assert [event.kind for event in thrown.events] == ["sticks"] and mode() == "rolling"
    assert thrown.events[0].time == pytest.approx(a * 0.05 / (a * a - DOWNHILL**2), rel=1e-7)


def test_two_slips_in_a_tree_each_go_their_way():
    """One ends where friction hardly suffices while another begins where it hardly does not."""
    sheet = plane().placed(SLOPE)
    holds, fails = (np.tan(ANGLE) / (ratio * 3.5) for ratio in (0.98, 1.02))
    tree = SurfaceTree([
        ContactJoint("holds", None, sheet, ball(0.1), friction=holds),
        ContactJoint("fails", None, sheet, ball(0.1), "rolling", friction=fails),
    ])  # fmt: skip
    q, _ = tree.first_touch("holds", np.eye(3), (0.0, 0.0, 1.0))
    tree.slide("holds", q, tree.pair("holds").rates(q) @ (0.0, 0.0, 0.0, 0.0, 0.05))
    tree.roll("fails", tree.first_touch("fails", np.eye(3), (0.0, 5.0, 1.0))[0])
    tree.run(0.5, 1e-3)
    assert [(event.kind, event.name) for event in tree.events] == [("slips", "fails"), ("sticks", "holds")]
    a = DOWNHILL / 0.98
    assert tree.events[1].time == pytest.approx(a * 0.05 / (a * a - DOWNHILL**2), rel=1e-5)
    np.testing.assert_allclose(tree.slip("fails"), (0.5 * DOWNHILL * (1.0 - 1.0 / 1.02), 0.0), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("ratio", [1.001, 1.02, 1.5])
def test_a_ball_on_a_slope_just_too_steep_keeps_slipping(ratio):
    """tan of the slope above 7/2 mu, from rest: the slip grows at b - a, whatever the step."""
    friction = np.tan(ANGLE) / (3.5 * ratio)
    thrown, slip, mode = thrown_ball(friction, np.zeros(2), rolls=True)
    thrown.run(0.3, 1e-3)
    assert [event.kind for event in thrown.events] == ["slips"] and mode() == "sliding"
    np.testing.assert_allclose(slip(), (0.3 * DOWNHILL * (1.0 - 1.0 / ratio), 0.0), rtol=1e-8, atol=1e-9)


@pytest.mark.parametrize("step", [1e-3, 1e-4])
def test_a_slip_follows_the_force_that_hardly_exceeds_friction(step):
    """Across a slope 1 % too steep the slip turns downhill and goes on; its error is a part of it when it turns."""
    friction, start = np.tan(ANGLE) / (3.5 * 1.01), np.array([0.0, 1e-4])
    a = DOWNHILL / 1.01
    thrown, slip, mode = thrown_ball(friction, start)
    thrown.run(0.2, step)
    want = a * start[1] + 0.2 * (DOWNHILL**2 - a * a)
    assert mode() == "sliding" and not thrown.events
    assert a * np.linalg.norm(slip()) + DOWNHILL * slip()[0] == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("step", [1e-3, 2e-4])
def test_the_ball_in_the_dish_sticks_until_the_dish_is_too_steep(step):
    """The slip after the last landing ends, the dish tilts on, and the ball slips again.

    When it ends, steps of 2 us say that stop short of it: 2.164e-5 m/s at 0.4647 s, falling by 0.4384 m/s^2.
    """
    _, tree = build_surface_scene("package://mb_contact/config/ball_in_dish.yaml")
    tree.run(0.6, step)
    last = [event for event in tree.events if event.name == "ball"][-2:]
    assert [event.kind for event in last] == ["sticks", "slips"]
    np.testing.assert_allclose([event.time for event in last], (0.464749, 0.493416), atol=2e-6)
