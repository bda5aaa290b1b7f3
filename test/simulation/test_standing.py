# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What should stand stands: drift below 0.1 mm, forces that carry the weight and do not flicker.

Covers simulation/initial.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.collision import make_narrow_phase
from mb_contact.model import Ground, Material, Pose, Primitive, Scene, build_world
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import Velocity
from mb_contact.simulation.initial import geometry_poses, initial_penetrations

GRAVITY = 9.81
DRIFT = 1e-4  #: [m]
SIDE = (0.0, np.pi / 2, 0.0)


def body(name, shape, size, position, rpy=None, mass=0.4, velocity=None):
    return Primitive(name, shape, size, Pose(position, rpy=rpy), "free", mass, material="m", velocity=velocity)


def simulate(primitives, seconds, friction=0.5, **settings):
    """(simulator, forces on each object (200, k, 3) of the last 200 steps in world axes)."""
    scene = Scene(primitives=tuple(primitives), ground=Ground(material="m"), materials={"m": Material(friction)},
                  **settings)  # fmt: skip
    sim = mb.Simulator(scene)
    steps = round(seconds / sim.time_step)
    forces = np.zeros((200, len(sim.world.objects), 3))
    for k in range(steps):
        sim.step()
        if k >= steps - 200:
            for i, name in enumerate(sim.world.objects):
                R = quat_to_matrix(sim.link_pose(name)[1])
                forces[k - steps + 200, i] = R @ sim.contact_impulse(name)[3:] / sim.time_step
    return sim, forces


STANDING = {
    "cylinder on its end": body("a", "cylinder", (0.03, 0.12), (0.0, 0.0, 0.06)),
    "cylinder on its side": body("a", "cylinder", (0.03, 0.12), (0.0, 0.0, 0.03), SIDE),
    "capsule on its side": body("a", "capsule", (0.03, 0.12), (0.0, 0.0, 0.03), SIDE),
    "cone on its base": body("a", "cone", (0.05, 0.12), (0.0, 0.0, 0.06)),
    "ellipsoid on its flat side": body("a", "ellipsoid", (0.1, 0.12, 0.05), (0.0, 0.0, 0.025)),
    "box dropped by 1 mm": body("a", "box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.051)),
}


@pytest.mark.parametrize("floor", ["plane", "box"])
@pytest.mark.parametrize("case", STANDING)
def test_it_stands_still_and_the_floor_carries_it(case, floor):
    thing = STANDING[case]
    slab = [] if floor == "plane" else [Primitive("slab", "box", (1.0, 1.0, 0.1), Pose((0.0, 0.0, 0.15)), material="m")]
    if slab:
        x, y, z = thing.pose.position
        thing = body("a", thing.shape, thing.size, (x, y, z + 0.2), thing.pose.rpy)
    sim, forces = simulate([thing, *slab], 1.0)
    moved = sim.link_pose("a")[0] - thing.pose.position
    if "dropped" in case:
        moved[2] += 1e-3
    assert np.abs(moved).max() <= DRIFT
    np.testing.assert_allclose(forces[-1, 0], [0.0, 0.0, 0.4 * GRAVITY], atol=1e-3 * 0.4 * GRAVITY)
    assert np.abs(forces - forces[-1]).max() <= 1e-3 * 0.4 * GRAVITY


def test_a_can_that_is_pushed_rocks_and_one_that_is_pushed_hard_falls_and_lies_still():
    def pushed(rate):
        return body("can", "cylinder", (0.03, 0.12), (0.0, 0.0, 0.06),
                    velocity=Velocity((0.0, rate, 0.0), (0.06 * rate, 0.0, 0.0)))  # fmt: skip

    sim, _ = simulate([pushed(2.0)], 2.0)
    assert sim.link_pose("can")[0][2] == pytest.approx(0.06, abs=DRIFT)
    sim, forces = simulate([pushed(9.0)], 3.0, friction=0.8)
    p, quat = sim.link_pose("can")
    axis = quat_to_matrix(quat)[:, 2]
    assert abs(axis[2]) < 1e-4 and p[2] == pytest.approx(0.03, abs=DRIFT)
    assert np.abs(sim.v).max() < 1e-6
    np.testing.assert_allclose(forces[-1, 0], [0.0, 0.0, 0.4 * GRAVITY], atol=1e-3 * 0.4 * GRAVITY)


def test_a_stack_of_ten_boxes_stands_for_ten_seconds():
    boxes = [body(f"b{i}", "box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.05 + 0.1 * i), mass=1.0) for i in range(10)]
    sim, forces = simulate(boxes, 10.0, time_step=0.004)
    for i in range(10):
        assert np.abs(sim.link_pose(f"b{i}")[0] - [0.0, 0.0, 0.05 + 0.1 * i]).max() <= DRIFT
    np.testing.assert_allclose(forces[-1].sum(axis=0), [0.0, 0.0, 10.0 * GRAVITY], atol=1e-3 * 10.0 * GRAVITY)
    assert np.abs(forces - forces[-1]).max() <= 1e-3 * GRAVITY


@pytest.mark.parametrize("scene", ["box_on_table", "box_stack"])
def test_what_rests_takes_hardly_any_newton_steps(scene):
    """Impulses that have stopped a motion of 1e-13 m/s would start it again: every second step took one."""
    sim = mb.Simulator(f"package://mb_contact/config/{scene}.yaml")
    for _ in range(500):
        sim.step()
    certificates = [sim.step().certificate for _ in range(200)]
    assert sum(certificate.iterations for certificate in certificates) <= 50
    assert max(certificate.residual for certificate in certificates) <= 1e-13


def test_a_rolling_capsule_rolls_on_at_its_speed():
    speed, radius = 0.5, 0.03
    velocity = Velocity((0.0, speed / radius, 0.0), (speed, 0.0, 0.0))
    thing = body("a", "capsule", (radius, 0.1), (0.0, 0.0, radius), (np.pi / 2, 0.0, 0.0), velocity=velocity)
    sim, forces = simulate([thing], 1.0)
    assert sim.link_pose("a")[0] == pytest.approx([speed, 0.0, radius], abs=DRIFT)
    np.testing.assert_allclose(forces[-1, 0], [0.0, 0.0, 0.4 * GRAVITY], atol=1e-3 * 0.4 * GRAVITY)


def test_a_mesh_stands_as_its_box_does(tmp_path):
    trimesh = pytest.importorskip("trimesh")
    trimesh.creation.box((0.1, 0.12, 0.14)).export(tmp_path / "box.stl")
    mesh = Primitive("a", "mesh", pose=Pose((0.0, 0.0, 0.07)), base="free", mass=0.4, material="m",
                     mesh=str(tmp_path / "box.stl"))  # fmt: skip
    can = body("can", "cylinder", (0.03, 0.12), (0.0, 0.0, 0.2))
    sim, forces = simulate([mesh, can], 1.0)
    assert np.abs(sim.link_pose("a")[0] - [0.0, 0.0, 0.07]).max() <= DRIFT
    assert np.abs(sim.link_pose("can")[0] - [0.0, 0.0, 0.2]).max() <= DRIFT
    np.testing.assert_allclose(forces[-1].sum(axis=0), [0.0, 0.0, 0.8 * GRAVITY], atol=1e-3 * 0.8 * GRAVITY)


@pytest.mark.parametrize("engine", ["coal", "fcl"])
def test_the_engine_of_a_scene_is_chosen(engine):
    top = body("top", "box", (0.1, 0.1, 0.1), (0.01, 0.0, 0.15))
    sim, forces = simulate([body("a", "box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.05)), top], 0.3, collision_engine=engine)
    assert type(sim.context.narrow).__module__.startswith(f"mb_contact.collision.{engine}_")
    assert np.abs(sim.link_pose("top")[0] - [0.01, 0.0, 0.15]).max() <= DRIFT
    np.testing.assert_allclose(forces[-1].sum(axis=0), [0.0, 0.0, 0.8 * GRAVITY], atol=1e-3 * 0.8 * GRAVITY)


def test_what_penetrates_at_the_start_is_reported():
    box = body("box", "box", (0.1, 0.1, 0.1), (0.0, 0.0, 0.04))
    ball = body("ball", "sphere", (0.05,), (0.0, 0.0, 0.5))
    world = build_world(Scene(primitives=(box, ball), ground=Ground(material="m"), materials={"m": Material(0.5)}))
    (a, b, depth), = initial_penetrations(world)
    assert (a, b) == ("box", "ground") and depth == pytest.approx(0.01)
    assert initial_penetrations(world, depth=0.02) == []


@pytest.mark.parametrize("angle", [5.0, 15.0, 25.0])
def test_a_wedge_jammed_between_walls_stays_and_its_forces_are_steady(tmp_path, angle):
    """Eight corners, face to face on both sides; the walls lean by less than the friction angle of 26.6 degrees."""
    slope = np.radians(angle)
    low, high, half = 0.03, 0.13, 0.04
    wide, narrow = 0.05, 0.05 - (high - low) * np.tan(slope)
    corners = [(s * x, t * half, z) for z, x in ((high, wide), (low, narrow)) for s in (1, -1) for t in (1, -1)]
    quads = ((1, 3, 4, 2), (5, 6, 8, 7), (1, 5, 7, 3), (2, 4, 8, 6), (1, 2, 6, 5), (3, 7, 8, 4))
    text = "".join(f"v {x:.12g} {y:g} {z:g}\n" for x, y, z in corners)
    (tmp_path / "wedge.obj").write_text(text + "".join(f"f {a} {b} {c} {d}\n" for a, b, c, d in quads))
    wedge = Primitive("wedge", "mesh", base="free", mass=2.0, material="m", mesh=str(tmp_path / "wedge.obj"))
    walls = []
    for side in (1.0, -1.0):
        middle = np.array([side * 0.5 * (wide + narrow), 0.0, 0.5 * (low + high)])
        centre = middle + 0.02 * np.array([side * np.cos(slope), 0.0, -np.sin(slope)])
        pose = Pose(tuple(centre), rpy=(0.0, side * slope, 0.0))
        walls.append(Primitive(f"wall_{side:g}", "box", (0.04, 0.2, 0.3), pose, material="m"))
    sim, forces = simulate([wedge, *walls], 2.0, time_step=0.002)
    assert np.abs(sim.link_pose("wedge")[0]).max() <= DRIFT
    assert np.abs(sim.link_pose("wedge")[1][:3]).max() <= DRIFT
    weight = 2.0 * GRAVITY
    np.testing.assert_allclose(forces[-1, 0], [0.0, 0.0, weight], atol=1e-3 * weight)
    assert np.abs(forces - forces[-1]).max() <= 1e-3 * weight
    impulse = sim.step().contacts["impulse"].copy()
    assert len(impulse) == 8
    for _ in range(50):
        now = sim.step().contacts["impulse"]
        assert np.abs(now - impulse).max() <= 1e-3 * np.abs(impulse).max()


def test_overlaps_at_the_start_are_those_of_all_pairs():
    """Pairs whose boxes do not meet are left out: what is found is what coal finds of every pair."""
    chance = np.random.default_rng(5)
    sizes = {"box": (0.2, 0.3, 0.1), "sphere": (0.12,), "capsule": (0.06, 0.3), "cylinder": (0.1, 0.2)}
    things = tuple(
        body(f"a{i}", kind, sizes[kind], tuple(chance.uniform(-0.5, 0.5, 3)), tuple(chance.uniform(-3.0, 3.0, 3)))
        for i, kind in enumerate(12 * list(sizes))
    )
    world = build_world(Scene(primitives=things, materials={"m": Material(0.5)}))
    found, pairs = initial_penetrations(world), world.geoms.pairs
    R, p = geometry_poses(world)
    witness = np.zeros((len(pairs), 4))
    make_narrow_phase(world.geoms).query(
        np.arange(len(pairs)), len(pairs), np.full(len(pairs), np.inf), R, p, witness
    )
    depths = {tuple(sorted(world.geometry_links[g] for g in pair)): -gap for pair, gap in zip(pairs, witness[:, 3])}
    wanted = {names: depth for names, depth in depths.items() if depth > 1e-4}
    assert {(a, b): depth for a, b, depth in found} == pytest.approx(wanted, abs=1e-12)
    assert 20 < len(found) < len(pairs) // 4 and [depth for *_, depth in found] == sorted(wanted.values())[::-1]
