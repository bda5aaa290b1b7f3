# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that slide, roll, fall and bounce on height fields."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.scene import Ground, Heights, Material, Pose, Primitive, Scene, Velocity
from scenes.height_field_scenes import FLAT, STONE, body, scene


def motion(description, steps):
    """Positions and velocities of the body over time, and the last step's result."""
    simulator = mb.Simulator(description)
    path = []
    for _ in range(steps):
        result = simulator.step()
        path.append(np.concatenate([simulator.q, simulator.v]))
    assert result.certificate.residual < 1e-8
    return np.array(path)


@pytest.mark.parametrize(
    "thing",
    [
        body("box", (0.2, 0.16, 0.1), (-1.0, 0.013, 0.05), velocity=(2.0, 0.3, 0.0), rpy=(0.0, 0.0, 0.4)),
        body("sphere", (0.05,), (-1.0, 0.013, 0.05), velocity=(1.5, 0.2, 0.0)),
        body("capsule", (0.05, 0.2), (-1.0, 0.013, 0.05), velocity=(1.0, 0.4, 0.0), rpy=(1.5707963267948966, 0.0, 0.2)),
        body("cylinder", (0.08, 0.1), (-1.0, 0.013, 0.05), velocity=(1.5, 0.2, 0.0)),
    ],
    ids=lambda thing: thing.shape,
)
def test_what_slides_or_rolls_over_a_flat_field_moves_as_on_a_plane(thing):
    """No edge of the grid is felt: 500 steps over some 10 cells, slip, roll and come to rest, to 1e-9.

    The capsule rolls and turns about the vertical: on the field the end that comes down counts where it comes down, on
    the half-space where it was.  Both are as far from motions by steps of 20 us (2e-3 behind 50 ms).
    """
    over_field = motion(scene(thing), 500)
    on_plane = motion(Scene(primitives=(thing,), ground=Ground(material="stone"), materials=STONE), 500)
    assert over_field[-1, 0] > -0.75
    np.testing.assert_allclose(over_field, on_plane, atol=1e-9 if thing.shape != "capsule" else 1e-3)


def test_a_ball_rolls_down_an_inclined_field_with_the_known_acceleration():
    """5/7 g sin(a) along the slope for a ball that rolls; nothing sideways."""
    slope, radius = 0.2, 0.05
    across = radius * np.hypot(1.0, slope)
    ramp = Heights(generator="ramp", resolution=0.07, amplitude=3.0 * slope)
    start = (0.5, 0.02, 2.0 * slope + across)
    path = motion(scene(body("sphere", (radius,), start), heights=ramp), 600)
    along = 5.0 / 7.0 * 9.81 * np.sin(np.arctan(slope)) * 0.6
    np.testing.assert_allclose(np.linalg.norm(path[-1, 10:13]), along, rtol=2e-3)
    assert np.abs(path[:, 1] - 0.02).max() < 1e-9
    assert np.abs(path[:, 2] - across - (1.5 + path[:, 0]) * slope).max() < 1e-6


@pytest.mark.parametrize(
    ("velocity", "at"),
    [((0.0, 0.0, -200.0), (0.13, 0.21, 1.7)), ((0.0, 0.0, -100.0), (0.5, 0.5, 0.9)),
     ((100.0, 0.0, 0.0), (-1.4, 0.25, 0.07)), ((20.0, 10.0, -15.0), (-1.2, -0.5, 0.6))],
    ids=str,
)  # fmt: skip
def test_fast_bodies_stay_above(velocity, at):
    """A ball of 5 cm, up to 2 m in a step of 10 ms: straight down, into a slope, and led along it into the next."""
    waves = Heights(generator="waves", resolution=0.1, amplitude=0.1, wavelength=1.0)
    simulator = mb.Simulator(scene(body("sphere", (0.05,), at, velocity=velocity), heights=waves, time_step=0.01))
    above = []
    for _ in range(60):
        simulator.step()
        x, y, z = simulator.q[:3]
        if abs(x) < 1.45 and abs(y) < 0.95:
            above.append(z - 0.1 * np.sin(2 * np.pi * (x + 1.5)) * np.sin(2 * np.pi * (y + 1.0)))
    assert min(above) > 0.048


@pytest.mark.parametrize("shape", ["box", "sphere", "capsule", "cylinder", "cone", "ellipsoid"])
def test_bodies_come_to_rest_on_rough_ground(shape):
    """The forces carry the weight, and nothing sinks."""
    size = {"sphere": (0.08,), "box": (0.2, 0.15, 0.1), "ellipsoid": (0.2, 0.15, 0.1)}.get(shape, (0.08, 0.15))
    rough = Heights(generator="hills", resolution=0.05, amplitude=0.15, wavelength=0.5, seed=2)
    thing = body(shape, size, (0.1, 0.05, 0.35), rpy=(0.3, 0.2, 0.0))
    simulator = mb.Simulator(scene(thing, heights=rough))
    for _ in range(3000):
        result = simulator.step()
    assert result.certificate.residual < 1e-7
    if shape == "box":  # the others roll in their hollow
        assert np.abs(simulator.v).max() < 0.02
    assert result.certificate.penetration < 1e-4
    assert simulator.q[2] > 0.0


def test_a_thin_tip_does_not_pass_a_ridge_between_two_steps(tmp_path):
    """Near its edges a tetrahedron is thinner than it goes in a step."""
    corners = ((-0.1498, -0.0031, 0.1568), (0.0477, -0.0204, 0.0645), (0.0236, 0.0004, -0.0255),
               (0.0784, 0.0231, -0.1959))  # fmt: skip
    q = -0.16274, -0.032723, 0.073623, 0.53498, -0.220591, 0.063958, 0.813047
    v = -24.7008, 11.7355, 7.7816, -0.0943, 1.1314, -3.1434
    trimesh.convex.convex_hull(np.array(corners)).export(tmp_path / "tip.ply")
    heights = 0.08 * (np.indices((25, 25)).sum(0) % 2)
    body = Primitive("body", "mesh", mesh=str(tmp_path / "tip.ply"), pose=Pose((0.0, 0.0, 1.0)), base="free",
                     collision_meshes="convex_hull", mass=1.0, material="stone")  # fmt: skip
    field = Primitive("field", "height_field", (2.4, 2.4), heights=Heights(grid=tuple(map(tuple, heights))),
                      material="stone")  # fmt: skip
    sim = mb.Simulator(Scene(primitives=(field, body), materials=STONE))
    sim.set_state(np.array(q), np.array(v))
    for _ in range(8):
        assert sim.step().certificate.end_gap > -1e-5
    place, turn = sim.link_pose("body")
    ends = Rotation.from_quat(turn).apply(corners) + place
    along = np.linspace(0.0, 1.0, 41)[:, None]
    x, y, z = np.concatenate([along * a + (1.0 - along) * b for a, b in combinations(ends, 2)]).T
    u, v = (x + 1.2) / 0.1, (y + 1.2) / 0.1
    i, j = u.astype(int), v.astype(int)
    over = np.where(u - i >= v - j, heights[j, i + 1], heights[j + 1, i])  # the corner beside the diagonal
    level = heights[j, i]  # both ends of the diagonal are as high
    above = z - level - np.abs((u - i) - (v - j)) * (over - level)
    assert above.min() > -1e-5


G = 9.81


def bouncing(terrain, at, eps, velocity=(0.0, 0.0, 0.0), mu=0.0, model="coulomb_polyhedral"):
    """Simulator of a ball of 0.1 m over a terrain, under the event scheme."""
    ball = Primitive("ball", "sphere", (0.1,), Pose(at), "free", 2.0, None, "rubber", Velocity(linear=velocity))
    floor = {"primitives": (ball,), "ground": Ground(material="rubber")}
    if terrain is not None:
        field = Primitive("floor", "height_field", (3.0, 2.0), heights=terrain, material="rubber")
        floor = {"primitives": (field, ball)}
    materials = {"rubber": Material(mu, restitution=eps)}
    return mb.Simulator(Scene(**floor, materials=materials, collision_scheme="event", friction_model=model))


def bounces(sim, seconds):
    """(time, speed before) of every impact."""
    events = [event for _ in range(round(seconds / sim.time_step)) for event in sim.step().events]
    return np.array([(event.time, event.speeds.min()) for event in events])


@pytest.mark.parametrize("model", ["coulomb_polyhedral", "coulomb_cone"])
def test_bounces_on_a_flat_field_are_those_on_a_plane_and_of_the_formula(model):
    """Falls from 0.4 m with eps = 0.6: impacts at t_1 (1 + 2 eps + 2 eps^2 ...), speeds g t_1 eps^k."""
    at, eps = (0.33, -0.21, 0.5), 0.6
    found, plane = (bounces(bouncing(terrain, at, eps, model=model), 1.1) for terrain in (FLAT, None))
    assert len(found) == len(plane) >= 4
    np.testing.assert_allclose(found, plane, rtol=0.0, atol=1e-9)
    first = np.sqrt(2.0 * 0.4 / G)
    k = np.arange(4)
    times = np.array([first * (1.0 + 2.0 * sum(eps**j for j in range(1, n + 1))) for n in k])
    np.testing.assert_allclose(found[:4], np.column_stack([times, -G * first * eps**k]), atol=1e-7)


def test_an_impact_on_a_slope_turns_the_velocity_about_its_normal():
    slope = Heights(generator="ramp", resolution=0.25, amplitude=0.9)
    sim = bouncing(slope, (0.1, 0.05, 1.2), 0.5)
    while not (events := sim.step().events):
        pass
    (event,) = events
    normal = np.array([-0.9, 0.0, 3.0]) / np.hypot(0.9, 3.0)
    np.testing.assert_allclose(np.abs(event.normals[0] @ normal), 1.0, atol=1e-12)
    before = np.array([0.0, 0.0, -G * event.time])
    after = before - 1.5 * (before @ normal) * normal
    np.testing.assert_allclose(sim.v[3:] + [0.0, 0.0, G * (sim.time - event.time)], after, atol=1e-9)
    centre = np.array([0.1, 0.05, 1.2 - 0.5 * G * event.time**2])
    assert abs((centre - [0.0, 0.0, 0.45]) @ normal - 0.1) < 1e-9  # it touched when it was told to have


def test_a_ball_among_hills_loses_energy_at_every_bounce_and_stays_above():
    hills = Heights(generator="hills", resolution=0.1, amplitude=0.1, wavelength=0.8, seed=4)
    sim = bouncing(hills, (0.1, 0.0, 0.6), 0.7, (0.2, -0.1, 0.0), mu=0.4)
    events, energy = [], sim.energy()
    for _ in range(1500):
        step = sim.step()
        events += step.events
        assert sim.energy() <= energy + 1e-9
        energy = sim.energy()
        assert step.certificate.penetration < 1e-6 and step.certificate.residual < 1e-9
    assert len(events) >= 5
    assert all(event.energy_after <= event.energy_before + 1e-12 for event in events)
