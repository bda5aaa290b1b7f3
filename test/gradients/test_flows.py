# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps of midpoint, rk4 and adaptive with rows, beside differences of them.

Covers gradients/flow.py, gradients/flow_rows.py, gradients/flow_step.py, gradients/gains.py, gradients/runge_kutta.py.
"""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.integrate.flow import chart_rates
from mb_contact.errors import InputError
from mb_contact.gradients.runge_kutta import chart_map
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import SCENES, pair, posed

M = mb.model
FLOWS = ("midpoint", "rk4", "adaptive")


def state_of(name, seed, integrator):
    """Differences of a seeded state of a scene."""
    sim, draw = SCENES[name]()
    scene = replace(sim.scene, integrator=integrator)
    if scene.loop_closures:
        scene = replace(scene, loops="auto", loop_closures=(replace(scene.loop_closures[0], attached=True),))
    sim = mb.Simulator(scene)
    sim.reset()
    push_out_fully(sim)
    return Differences(sim, *draw(np.random.default_rng(seed)))


def rolling(shape, seed, integrator, slip, speed=3.0, **more):
    """Differences of a body that touches the ground, turns, and slips there at about that speed [m/s]."""
    sim, draw = posed(shape, integrator=integrator, **more)()
    push_out_fully(sim)
    rng = np.random.default_rng(seed)
    q, _, _ = draw(rng)
    sim.set_state(q, np.zeros(6))
    sim.step()
    arm, w = sim.context.contacts.point[0] - q[:3], speed * rng.normal(size=3)
    slip = slip * rng.normal(size=3)
    slip[2] = -1e-3
    return Differences(sim, q, np.concatenate((w, slip - np.cross(w, arm))))


def both(a, b, seed, integrator, slip):
    """Differences of two bodies that touch, turn, and slip on each other."""
    sim, draw = pair(a, b)()
    sim = mb.Simulator(replace(sim.scene, integrator=integrator))
    sim.reset()
    push_out_fully(sim)
    rng = np.random.default_rng(seed)
    q, _, _ = draw(rng)
    sim.set_state(q, np.zeros(12))
    sim.step()
    x, n = sim.context.contacts.point[0], sim.context.contacts.normal[0]
    w_a, w_b, v_b = rng.normal(size=(3, 3))
    slip = slip * rng.normal(size=3)
    slip -= n * (n @ slip) + 1e-3 * n
    v_a = slip + v_b + np.cross(w_b, x - q[7:10]) - np.cross(w_a, x - q[:3])
    return Differences(sim, q, np.concatenate((w_a, v_a, w_b, v_b)))


def worst(differences, size):
    """The worst difference by state and efforts: contacts of a few 1e-7 m ask for small steps of coordinates alone."""
    return max(differences.worst(("q",), size), differences.worst(("v", "effort"), 100.0 * size))


def agrees(differences, states=None):
    """Whether derivatives by state and efforts are those of the step."""
    differences.step()
    sim = differences.sim
    assert not sim.step_derivatives((), near=1e-4).kinks
    sim.restore(differences.start)
    sim.set_state(differences.q, differences.v)
    found = sorted(set(sim.step(differences.effort).contacts["state"]))
    assert states is None or found == sorted(states)
    return worst(differences, 1e-7) < 3e-8


@pytest.mark.parametrize("integrator", FLOWS)
@pytest.mark.parametrize(
    ("shape", "seed", "slip", "states", "removed"),
    [("sphere", 0, 0.5, ["slip"], False), ("sphere", 3, 1e-3, ["stick"], True), ("cylinder", 0, 0.5, ["slip"], False),
     ("cylinder", 1, 1e-3, ["stick"], True), ("cylinder", 5, 1e-3, ["separate", "stick"], True),
     ("box", 1, 1e-3, ["stick"], True)],
)  # fmt: skip
def test_bodies_that_roll_and_slip(shape, seed, slip, states, removed, integrator):
    """Some of them have gained energy by their contacts, which was taken out again."""
    differences = rolling(shape, seed, integrator, slip)
    assert agrees(differences, states)
    taken = not np.array_equal(differences.sim.v, differences.sim.context.flow_arrays.v_end)
    assert taken == removed


@pytest.mark.parametrize(
    ("a", "b", "seed", "slip", "integrator"),
    [("sphere", "sphere", 0, 0.5, "midpoint"), ("sphere", "sphere", 1, 1e-3, "rk4"),
     ("capsule", "capsule", 1, 1e-3, "midpoint"), ("box", "box", 1, 1e-3, "midpoint"),
     ("cylinder", "cylinder", 2, 0.5, "rk4")],
)  # fmt: skip
def test_pairs(a, b, seed, slip, integrator):
    """Normals turn and arms change from end to end."""
    assert agrees(both(a, b, seed, integrator, slip))


@pytest.mark.parametrize("integrator", FLOWS)
@pytest.mark.parametrize("model", ["viscous", "no_slip"])
@pytest.mark.parametrize(("shape", "seed"), [("sphere", 0), ("cylinder", 1), ("box", 1)])
def test_viscous_friction_and_none_of_slip(shape, seed, model, integrator):
    """A slip that both ends of the step have, and one that its start stops."""
    start = rolling(shape, seed, integrator, 0.5, friction_model=model)
    sim = mb.Simulator(replace(start.sim.scene, materials={"body": M.Material(viscous=20.0)}))
    push_out_fully(sim)
    differences = Differences(sim, start.q, start.v)
    assert agrees(differences) and sim.context.end.solved[0] > 1
    assert np.abs(sim.context.solution.r[1:3]).max() > 1e-3


@pytest.mark.parametrize("integrator", FLOWS)
@pytest.mark.parametrize(
    ("shape", "seed", "slip", "rolls"),
    [("sphere", 2, 0.5, True), ("sphere", 3, 1e-3, False), ("cylinder", 1, 1e-3, False)],
)
def test_what_contacts_are_felt_as(shape, seed, slip, rolls, integrator):
    """Wrenches about places on the body and on the ground, with moments of rolling and torsion."""
    pose = M.Pose((0.03, 0.02, -0.03), (0.3, 0.2, 0.1))
    sensors = tuple(M.Sensor(name, "contact", link="body", partner=partner, pose=pose)
                    for name, partner in (("all", None), ("of ground", "ground")))  # fmt: skip
    start = rolling(shape, seed, integrator, slip)
    material = M.Material(friction=0.4, rolling=0.01 * rolls, torsional=0.02 * rolls)
    sim = mb.Simulator(replace(start.sim.scene, materials={"body": material}, sensors=sensors))
    push_out_fully(sim)
    differences = Differences(sim, start.q, start.v)
    for name in ("all", "of ground"):
        assert differences.worst_reading(name, "q", size=1e-7) < 1e-8
        assert differences.worst_reading(name, "v", size=1e-5) < 1e-8
    differences.step()
    moments = sim.context.memory.moment[0]
    assert abs(moments).min() > 1e-9 if rolls else not moments.any()


def test_what_a_pad_feels_of_a_box_that_slides():
    """By its velocity, and by friction: -N for the whole face."""
    scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    pad = M.Sensor("pad", "tactile", link="box", pad=M.scene.sensors.Pad("-z", cells=(1, 1)))
    imu = M.Sensor("imu", "imu", link="box")
    sim = mb.Simulator(replace(scene, integrator="midpoint", sensors=(pad, imu)))
    push_out_fully(sim)
    sim.reset()
    differences = Differences(sim, sim.q - 1e-5 * np.eye(7)[2], np.array([0.0, 0.0, 0.0, 0.5, 0.2, 0.0]))
    assert differences.worst_reading("pad", "v", size=1e-5) < 1e-6
    differences.step()
    read = sim.sensors.read("pad")
    by = sim.step_derivatives(["friction"], readings=["pad"]).readings["pad"]["friction"][:, 0]
    across = np.array([0.5, 0.2]) / np.hypot(0.5, 0.2) * abs(read.wrench[5])
    np.testing.assert_allclose(np.abs(by[3:5]), across, rtol=1e-4)  # its frame looks down
    assert differences.worst_reading("imu", "v", size=1e-5) < 1e-6


def test_four_points_of_a_face_with_viscous_friction_and_without_slip():
    """Without slip their tangents would contradict each other where the step ends."""
    scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    materials = {name: replace(material, viscous=5.0) for name, material in scene.materials.items()}
    for model in ("viscous", "no_slip"):
        sim = mb.Simulator(replace(scene, integrator="midpoint", friction_model=model, materials=materials))
        push_out_fully(sim)
        sim.reset()
        differences = Differences(sim, sim.q - 1e-5 * np.eye(7)[2], np.array([0.0, 0.0, 0.4, 0.3, -0.2, 0.0]))
        if model == "viscous":
            assert max(differences.worst((name,), 1e-7) for name in ("q", "v")) < 1e-5
            continue
        differences.step()
        with pytest.raises(InputError, match="points that contradict each other"):
            sim.step_derivatives()


def on_table(integrator, shift, v):
    """Differences of the box on its table, a little turned, moved by (x, z)."""
    scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    sim = mb.Simulator(replace(scene, integrator=integrator))
    sim.reset()
    q = sim.q
    q[[0, 2]] += shift
    q[3:] = [0.0, 0.0, np.sin(0.1), np.cos(0.1)]
    return Differences(sim, q, np.array(v, float))


@pytest.mark.parametrize("integrator", FLOWS[:2])
@pytest.mark.parametrize(
    ("shift", "v", "size", "states"),
    [((0.0, -1e-4), (0, 0, 0, 1.0, 0.5, 0), 1e-6, ["slip"]), ((0.0, -1e-4), (0,) * 6, 1e-6, ["stick"]),
     ((0.15, -4e-7), (0, 0.1, 0, 0, 1.0, 0), 1e-8, ["separate", "slip"])],
)  # fmt: skip
def test_a_box_on_a_table(shift, v, size, states, integrator):
    """A face that slides, rests and hangs over the edge."""
    differences = on_table(integrator, shift, v)
    push_out_fully(differences.sim)
    differences.sim.set_state(differences.q, differences.v)
    assert sorted(set(differences.sim.step().contacts["state"])) == states
    assert worst(differences, size) < 1e-7


@pytest.mark.parametrize("gap", [3e-7, 7e-7])
def test_a_face_a_little_above_its_table(gap):
    """Its gaps close as slowly as penetrations are pushed out, but for some of that where they are larger."""
    differences = on_table("midpoint", (0.0, gap), (0, 0, 0, 1.0, 0.5, 0))
    differences.q[3:5] += 4e-7, 2e-7  # by one corner more than by the others
    assert worst(differences, 1e-8) < 1e-5  # how its points share its weight is not unique, and turns it


@pytest.mark.parametrize("integrator", FLOWS[:2])
@pytest.mark.parametrize(
    ("name", "seed", "size"),
    [("quadruped", 4, 1e-8), ("limits", 1, 1e-6), ("joint friction", 1, 1e-6), ("gears", 1, 1e-6),
     ("servos", 1, 1e-6), ("two bodies welded", 1, 1e-6), ("box pushed", 1, 1e-8)],
)  # fmt: skip
def test_states_of_scenes(name, seed, size, integrator):
    """A robot on its feet, a box that is pushed, and rows of joints and of a weld that comes on and off."""
    differences = state_of(name, seed, integrator)
    assert worst(differences, size) < 1e-6


@pytest.mark.parametrize("integrator", FLOWS[:2])
@pytest.mark.parametrize(
    ("name", "value"),
    [("rolls", "mass"), ("slips", "mass"), ("slips", "friction"), ("quadruped", "damping"), ("joint friction", "mass")],
)
def test_by_parameters(name, value, integrator):
    """Beside differences of the values that a simulator has; with torsion, rolling and a push from outside."""
    if name in ("rolls", "slips"):
        differences = rolling("cylinder", 1, integrator, 1e-3 if name == "rolls" else 0.4, rolling=0.01, torsional=0.02)
        differences.sim.set_external_wrench("body", [0.1, 0.2, 0.3, 1.0, 2.0, -3.0])
        differences.start = differences.sim.save()
        assert differences.worst(("v",), 1e-5) < 1e-8
    else:
        differences = state_of(name, 4 if name == "quadruped" else 1, integrator)
    sim, world = differences.sim, differences.sim.world
    columns = dict(zip(world.joint_names, world.joint_v, strict=True)) if value == "damping" else {}
    columns = {key: k for k, key in enumerate(world.body_names)} if value == "mass" else columns
    for key, number in list(sim.values(value).items())[:3]:
        found, by = differences.by_value(value, key, number)
        exact = np.concatenate((by.q[value], by.v[value]))[:, columns.get(key, 0)]
        assert np.abs(exact).max() > 1e-5
        assert np.abs(found - exact).max() < 1e-9 * max(1.0, np.abs(exact).max()), key


def test_by_friction_of_a_joint_and_impulses():
    """A box that slides: dp_n = g dt dm, dp_t = -m g dt dmu; a joint that slips, beside differences."""
    scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    sim = mb.Simulator(replace(scene, integrator="midpoint"))
    sim.set_object("box", velocity=[0, 0, 0, 1.0, 0, 0])
    sim.step()
    by = sim.step_derivatives(["mass", "friction"])
    mass = sim.values("mass")["box"]
    np.testing.assert_allclose(by.impulses["mass"][:, 2, 0].sum(), -9.81e-3, rtol=1e-6)  # on A
    np.testing.assert_allclose(by.impulses["friction"][:, 0, 0].sum(), mass * 9.81e-3, rtol=1e-6)
    np.testing.assert_allclose(by.v["friction"][3, 0], -9.81e-3, rtol=1e-6)
    differences = state_of("joint friction", 1, "midpoint")
    differences.step()
    sim, ends = differences.sim, []
    slope = sim.step_derivatives(["joint_friction"]).v["joint_friction"][:, 0]
    friction = sim.context.joints.friction
    for way in (1e-4, -1e-4):
        friction[0] += way
        ends.append(differences.step()[1])
        friction[0] -= way
    np.testing.assert_allclose(slope, (ends[0] - ends[1]) / 2e-4, rtol=1e-6)


def test_a_slip_without_a_direction_is_a_kink():
    """Rounds look for its direction at both ends, and it has none yet where it begins."""
    differences = rolling("cylinder", 1, "midpoint", 0.0)
    differences.step()
    assert [kink.kind for kink in differences.sim.step_derivatives().kinks] == ["slip"]


def test_a_corner_that_slides_over_the_edge():
    """Its contact has other features at the end, and goes with both bodies; four points then contradict each other."""
    differences = on_table("midpoint", (0.058, -1e-4), (0, 0, 0, 1.0, 0, 0))
    push_out_fully(differences.sim)
    assert differences.worst(("v",), 1e-4) < 1e-8
    c = differences.sim.context
    features = [{*side.feature[: side.count[0]].tolist()} for side in (c.contacts, c.end_poses.contacts)]
    assert features[0] != features[1]


@pytest.mark.parametrize("size", [0.05, 1.5])
def test_rates_of_charts(size):
    """Beside their differences, at small and at large turns."""
    tree, rng = on_table("rk4", (0.0, 0.0), (0,) * 6).tree, np.random.default_rng(1)
    x, v, found, rate = size * rng.normal(size=6), rng.normal(size=6), [], np.zeros(6)
    for d in 1e-5 * np.eye(6):
        ends = []
        for way in (d, -d):
            chart_rates(tree, x + way, v, rate)
            ends.append(rate.copy())
        found.append((ends[0] - ends[1]) / 2e-5)
    np.testing.assert_allclose(chart_map(tree, x, v)[0], np.transpose(found), atol=1e-8)
