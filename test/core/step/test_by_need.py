# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Fast bodies that are far apart where a step starts meet as they do in the event scheme, or pass.

Covers core/step/corner_meeting.py, core/step/exchange.py, core/step/feature_meeting.py, core/step/need.py,
core/step/pair_motion.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Material, Pose, Primitive, Scene, Velocity

pytestmark = pytest.mark.quick

RADIUS, SPEED = 0.1, 2000.0
EULER, RK4 = {"integrator": "semi_implicit_euler"}, {"integrator": "rk4"}


def two_balls(offset, restitution, **settings):
    """Balls that fly towards each other at 2 km/s each, on paths ``offset`` apart; the simulator and the events."""
    balls = tuple(
        Primitive(f"ball_{i}", "sphere", (RADIUS,), Pose((side * 1.3, side * 0.5 * offset, 3.0)), "free", 1.0 + i,
                  material="m", velocity=Velocity((0.0, 0.0, 0.0), (-side * SPEED, 0.0, 0.0)))
        for i, side in enumerate((-1.0, 1.0))
    )  # fmt: skip
    materials = {"m": Material(0.0, restitution=restitution)}
    sim = mb.Simulator(Scene(primitives=balls, materials=materials, gravity=(0.0, 0.0, 0.0), **settings))
    events = [event for _ in range(3) for event in sim.step().events]
    return sim, events


@pytest.mark.parametrize("offset", [1e-3, 0.15, 0.199])
@pytest.mark.parametrize("restitution", [0.0, 0.6, 1.0])
@pytest.mark.parametrize("settings", [EULER, RK4], ids=["euler", "rk4"])
def test_a_grazing_impact_has_the_normal_of_its_moment(offset, restitution, settings):
    sim, events = two_balls(offset, restitution, **settings)
    sine = offset / (2.0 * RADIUS)
    normal = np.array([-np.sqrt(1.0 - sine * sine), -sine, 0.0])
    assert len(events) == 1
    np.testing.assert_allclose(events[0].normals[0], normal, atol=1e-8)
    start = np.array([SPEED, 0.0, 0.0]), np.array([-SPEED, 0.0, 0.0])
    impulse = -(1.0 + restitution) * (normal @ (start[0] - start[1])) / (1.0 + 0.5)
    np.testing.assert_allclose(sim.v[3:6], start[0] + impulse * normal, atol=1e-4)
    np.testing.assert_allclose(sim.v[9:12], start[1] - 0.5 * impulse * normal, atol=1e-4)
    np.testing.assert_allclose(sim.v[[0, 1, 2, 6, 7, 8]], 0.0, atol=1e-6)


@pytest.mark.parametrize("settings", [EULER, RK4], ids=["euler", "rk4"])
def test_what_passes_is_not_hit(settings):
    sim, events = two_balls(0.201, 0.5, **settings)
    assert not events
    np.testing.assert_array_equal(sim.v[[3, 4, 5, 9, 10, 11]], [SPEED, 0.0, 0.0, -SPEED, 0.0, 0.0])


@pytest.mark.parametrize("settings", [EULER, RK4], ids=["euler", "rk4"])
def test_time_stepping_ends_where_the_event_scheme_does(settings):
    a, _ = two_balls(0.12, 0.7, **settings)
    b, _ = two_balls(0.12, 0.7, collision_scheme="event")
    np.testing.assert_allclose(a.v, b.v, atol=1e-5)
    np.testing.assert_allclose(a.q, b.q, atol=1e-6)


@pytest.mark.parametrize("depth", [1e-6, 1e-4, 1e-3])
@pytest.mark.parametrize("speed", [1.0, 10.0])
@pytest.mark.parametrize("settings", [EULER, RK4, {"integrator": "midpoint"}], ids=["euler", "rk4", "midpoint"])
def test_who_grazes_is_stopped_wherever_in_a_step_it_does(depth, speed, settings):
    """Balls whose paths are less than their diameter apart; what a row left to the next step was not stopped there."""
    dt, sine, start = 1e-3, 1.0 - depth / 0.1, np.array([0.5 * speed, 0.0, 0.0])
    normal = np.array([-np.sqrt(1.0 - sine * sine), -sine, 0.0])
    impulse, missing = -(normal @ start) * normal, []
    for phase in np.linspace(0.0, 1.0, 7):
        x = 0.1 + 0.5 * phase * speed * dt
        balls = tuple(
            Primitive(f"ball_{i}", "sphere", (0.05,), Pose((side * x, side * 0.05 * sine, 0.0)), "free", 1.0,
                      material="m", velocity=Velocity((0.0, 0.0, 0.0), -side * start))
            for i, side in enumerate((-1.0, 1.0))
        )  # fmt: skip
        materials = {"m": Material(0.0)}
        scene = Scene(primitives=balls, materials=materials, gravity=(0.0, 0.0, 0.0), time_step=dt, **settings)
        sim = mb.Simulator(scene)
        for _ in range(int(0.3 / speed / dt)):
            sim.step()
        missing.append(np.linalg.norm(sim.v[3:6] - start - impulse) / np.linalg.norm(impulse))
    assert np.mean(missing) <= (0.2 if settings == EULER else 0.01), missing


@pytest.mark.parametrize("offset", [1e-9, 1e-5, 1e-3])
def test_who_lands_head_on_ends_on_what_it_lands_on(offset):
    """A ball that would be through another in one step is no graze: it touches, and does not stop above."""
    balls = (
        Primitive("post", "sphere", (0.005,), Pose((0.0, 0.0, 0.0)), "weld", material="m"),
        Primitive("ball", "sphere", (0.005,), Pose((offset, 0.0, 0.035)), "free", 0.1, material="m",
                  velocity=Velocity((0.0, 0.0, 0.0), (0.0, 0.0, -10.0))),
    )  # fmt: skip
    sim = mb.Simulator(Scene(primitives=balls, materials={"m": Material(0.5)}, time_step=0.004))
    sim.step()
    assert np.linalg.norm(sim.link_pose("ball")[0]) == pytest.approx(0.01, abs=1e-4)
