# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps with unequal friction and with friction in polygons beside central differences."""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.handle import TOLERANCE
from mb_contact.core.workspace import PIECES
from oracles.step_differences import Differences, push_out_fully
from scenes.gradient_scenes import sink

M = mb.model
SIZES = {"sphere": (0.1,), "capsule": (0.06, 0.2), "box": (0.2, 0.16, 0.12)}


def skate(along, across, of="body", on="ground", shape="sphere", restitution=0.0, turns=0.0, **scene):
    """A body on the ground or on a free slab, with two coefficients of friction."""
    directed = M.scene.AnisotropicFriction(along=along, across=across, direction=(0.9, 0.3, 0.2), of=of)
    pair = M.scene.MaterialPair(("body", "other"), anisotropic_friction=directed, torsional=turns, rolling=turns)
    bodies = [M.Primitive("body", shape, SIZES[shape], M.Pose((0, 0, 1)), "free", 1.0, material="body")]
    if on == "slab":
        bodies.append(M.Primitive("slab", "box", (1, 1, 0.2), M.Pose((0, 0, -0.1)), "free", 3.0, material="other"))
    ground = M.Ground(material="other") if on == "ground" else None
    materials = {name: M.Material(restitution=restitution) for name in ("body", "other")}
    return mb.Scene(primitives=tuple(bodies), ground=ground, pairs=(pair,), materials=materials, **scene)


def polygons(directions, frame="slip", shape="sphere", on="ground", **scene):
    """A body on the ground or on a free ball, with friction in polygons."""
    bodies = [M.Primitive("body", shape, SIZES[shape], M.Pose((0, 0, 1)), "free", 1.0)]
    if on == "ball":
        bodies.append(M.Primitive("ball", "sphere", (0.3,), M.Pose((0, 0, -0.3)), "free", 3.0))
    return mb.Scene(primitives=tuple(bodies), ground=M.Ground() if on == "ground" else None, friction_frame=frame,
                    friction_model="coulomb_polyhedral", friction_directions=directions, **scene)  # fmt: skip


def landed(scene, seed, slides=1.0, down=0.3):
    """Differences of a body that overlaps what is below it a little, in any pose, behind a step."""
    sim, rng = mb.Simulator(scene), np.random.default_rng(seed)
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    sim.reset()
    q = sim.q
    q[:2], q[3:7] = 0.0, rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    sink(sim, q, slice(2, 3), np.array([1.0]), 0.0, 0.5)
    v = slides * rng.normal(size=len(sim.v))
    v[5] = -down
    differences = Differences(sim, q, v)
    differences.step()
    return differences


def states_of(differences):
    """States of the contacts in the step that is differentiated."""
    differences.sim.restore(differences.start)
    differences.sim.set_state(differences.q, differences.v)
    found = differences.sim.step(differences.effort).contacts["state"]
    return list(found)


def agrees(scene, seed, slides, state):
    """A step away from kinks with a contact in this state has the derivatives that differences find."""
    differences = landed(scene, seed, slides)
    found = differences.sim.step_derivatives((), near=1e-4)
    assert not [kink for kink in found.kinks if kink.kind != "gap"]
    assert state in states_of(differences)
    assert differences.worst(("q", "v"), size=1e-7) < 1e-6


@pytest.mark.parametrize(
    ("seed", "slides", "state", "scene"),
    [(0, 3.0, "slip", skate(0.3, 0.8, turns=0.01)), (1, 0.1, "stick", skate(0.3, 0.8, turns=0.01)),
     (2, 1.0, "slip", skate(0.0, 0.8)),
     (3, 3.0, "slip", skate(0.2, 0.6, shape="box")), (1, 2.0, "slip", skate(0.3, 0.8, of="other", on="slab")),
     (2, 2.0, "slip", skate(0.3, 0.8, of="body", on="slab"))],
)  # fmt: skip
def test_two_coefficients(seed, slides, state, scene):
    agrees(scene, seed, slides, state)


def test_two_coefficients_in_a_bounce():
    differences = landed(skate(0.3, 0.8, shape="capsule", restitution=0.5), 3, down=2.0)
    assert differences.sim.v[5] > 0.0
    assert differences.worst(("q", "v"), size=1e-7) < 1e-6


def test_two_directions_in_a_bounce():
    """One ball bounces on the ground beside one that does not reach it yet, each with a direction of its own."""
    scene = skate(0.3, 0.8, restitution=0.5)
    balls = tuple(replace(scene.primitives[0], name=f"ball_{i}", pose=M.Pose((x, 0, 0.1001 + 1e-4 * i)),
                          velocity=M.Velocity((1.0, 2.0 * i, 0.5), (2.0 + 20.0 * i, 1.0 - i, -0.05 - i)),
                          material=f"m{i}")
                  for i, x in enumerate((0.0, 1.0)))  # fmt: skip
    pair = scene.pairs[0]
    pairs = tuple(replace(pair, materials=(f"m{i}", "other"), anisotropic_friction=replace(
        pair.anisotropic_friction, direction=way, of=f"m{i}"))
                  for i, way in enumerate(((1, 0, 0.2), (0.3, 1, 0))))  # fmt: skip
    materials = {name: M.Material(restitution=0.5) for name in ("m0", "m1", "other")}
    sim = mb.Simulator(replace(scene, primitives=balls, pairs=pairs, materials=materials))
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    differences = Differences(sim, sim.q, sim.v)
    differences.step()
    assert sim.v[5] < 0.0 < sim.v[11] and sim.context.contacts.count[0] == 2
    assert differences.worst(("q", "v"), size=1e-7) < 1e-6


@pytest.mark.parametrize("spins", [0.0, 2.0])
@pytest.mark.parametrize("integrator", ["midpoint", "rk4"])
def test_two_coefficients_under_flows(integrator, spins):
    """The direction is one of the body, or of a slab below that turns with it."""
    more = {"of": "other", "on": "slab", "gravity": (0, 0, 0)} if spins else {}
    differences = landed(skate(0.3, 0.8, integrator=integrator, **more), 1, slides=0.5, down=0.0)
    if spins:
        q, v = differences.q, np.zeros(12)
        v[2], v[3], v[8], v[11] = -spins, 0.5, spins, 5e-3
        differences = Differences(differences.sim, q, v)
        differences.step()
    assert states_of(differences) == ["slip"]
    assert differences.worst(("q", "v")) < 1e-6


@pytest.mark.parametrize("integrator", ["midpoint", "rk4"])
def test_where_a_slip_turns_too_far_a_step_by_a_flow_jumps(integrator):
    """From there on it is taken in pieces; at the last whole one the kink is named."""
    sim, rng = mb.Simulator(skate(0.05, 1.0, integrator=integrator)), np.random.default_rng(5)
    push_out_fully(sim)
    sim.context.solver[TOLERANCE] = 1e-13
    q = sim.q
    q[2], q[3:7] = 0.1 - 1e-5, rng.normal(size=4)
    q[3:7] /= np.linalg.norm(q[3:7])
    v = 0.01 * rng.normal(size=6)
    v[:3], v[5] = 3.0 * v[:3], 0.0

    def stepped(z):
        sim.set_state([*q[:2], z, *q[3:]], v)
        sim.step()
        return sim.v[3:5], sim.context.work.record[PIECES] > 1.0

    ends = [q[2] - 4e-7, q[2]]  # in pieces, and whole
    for _ in range(40):
        middle = 0.5 * sum(ends)
        ends[0 if stepped(middle)[1] else 1] = middle
    (one, in_pieces), (other, whole) = stepped(ends[0]), stepped(ends[1])
    assert in_pieces and not whole and np.linalg.norm(one - other) > 1e-3
    assert [kink.kind for kink in sim.step_derivatives(()).kinks] == ["slip"]


def test_friction_of_two_coefficients_is_by_their_mean():
    """Both grow in proportion."""
    at, ends = landed(skate(0.3, 0.8), 0, 3.0), []
    mean = np.sqrt(0.3 * 0.8)
    for part in (-2e-4, -1e-4, 0.0, 1e-4, 2e-4):
        sim = mb.Simulator(skate(0.3 * (1.0 + part), 0.8 * (1.0 + part)))
        push_out_fully(sim)
        sim.context.solver[TOLERANCE] = 1e-13
        sim.set_state(at.q, at.v)
        sim.step()
        ends.append(sim.v)
        if part == 0.0:
            found = sim.step_derivatives(["friction"]).v["friction"][:, 0]
    expected = (8.0 * (ends[3] - ends[1]) - (ends[4] - ends[0])) / (12e-4 * mean)
    np.testing.assert_allclose(found, expected, atol=1e-7 * np.abs(expected).max())
    assert np.abs(expected).max() > 0.01


@pytest.mark.parametrize(
    ("seed", "slides", "state", "scene"),
    [(0, 3.0, "slip", polygons(8)), (1, 0.05, "stick", polygons(8)), (2, 2.0, "slip", polygons(4, "fixed")),
     (3, 0.5, "slip", polygons(4, "fixed")), (3, 3.0, "slip", polygons(4, shape="box")),
     (5, 2.0, "slip", polygons(6, "fixed", shape="capsule")), (2, 2.0, "slip", polygons(8, on="ball")),
     (7, 2.0, "slip", polygons(8, "fixed", on="ball")), (7, 2.0, "slip", polygons(4, on="ball", gravity=(0, 0, 0)))],
)  # fmt: skip
def test_polygons(seed, slides, state, scene):
    agrees(scene, seed, slides, state)


@pytest.mark.parametrize("n_f", [4, 8])
def test_a_block_at_a_vertex_and_on_an_edge(n_f):
    """A vertex follows the normal alone: dv+/dv of a slip is 1 in its own direction and across it; dv+/dmu = -g dt s.

    On an edge what goes along it sticks.
    """
    block = M.Primitive("block", "box", (0.1, 0.1, 0.02), M.Pose((0, 0, 0.01)), "free", 1.0)
    sim = mb.Simulator(mb.Scene(primitives=(block,), ground=M.Ground(), friction_model="coulomb_polyhedral",
                                friction_directions=n_f, friction_frame="fixed"))  # fmt: skip
    for angle, sticks in ((0.3 * np.pi / n_f, False), (np.pi / n_f, True)):
        e = np.array([-np.sin(np.pi / n_f), np.cos(np.pi / n_f)])  # along the edge
        s = np.array([np.cos(angle), np.sin(angle)])
        sim.reset()
        sim.set_object("block", velocity=[0, 0, 0, 1.0 * s[0], 1.0 * s[1], 0])
        sim.step()
        by = sim.step_derivatives(["v", "friction"])
        d = by.v["v"][3:5, 3:5]
        np.testing.assert_allclose(d, np.eye(2) - sticks * np.outer(e, e), atol=1e-9)
        force = by.v["friction"][3:5].sum(axis=1) / (-9.81e-3)
        expected = s * np.cos(np.pi / n_f) if sticks else np.array([1.0, 0.0])
        np.testing.assert_allclose(force, expected, atol=1e-6)


@pytest.mark.parametrize("scene", [polygons(8), polygons(6, "fixed", shape="capsule"), skate(0.3, 0.8)])
def test_adjoints_and_readings(scene):
    sensors = (M.Sensor("touch", "contact", link="body"), M.Sensor("imu", "imu", link="body"))
    differences = landed(replace(scene, sensors=sensors), 0, 3.0)
    for name in ("touch", "imu"):
        for by in ("q", "v"):
            assert differences.worst_reading(name, by, size=1e-7) < 1e-6, (name, by)
    differences.step()
    sim, names, rng = differences.sim, ("q", "v", "mass", "friction"), np.random.default_rng(2)
    matrix = sim.differentiator().solve(names)[0].copy()
    y = rng.normal(size=2 * len(sim.v))
    record, _ = sim.differentiator().record(names, [])
    expected = y @ matrix.reshape(len(y), -1)
    found = sim.differentiator().pull(record, y)
    np.testing.assert_allclose(found, expected, atol=1e-11 * np.abs(expected).max())


def test_between_a_vertex_and_an_edge_is_a_kink():
    """A ball that slides across an edge, and along it by about as much as friction there just stops."""
    ball = M.Primitive("ball", "sphere", (0.05,), M.Pose((0, 0, 0.05)), "free", 1.0)
    sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=M.Ground(), friction_model="coulomb_polyhedral",
                                friction_directions=4, friction_frame="fixed"))  # fmt: skip
    n, e, stops = np.array([1, 1, 0]) / np.sqrt(2), np.array([-1, 1, 0]) / np.sqrt(2), 3.5 * 0.5 * 9.81e-3 / np.sqrt(2)
    for part, kinks in ((0.5, 0), (0.9999, 1), (1.0001, 1), (2.0, 0)):
        sim.reset()
        sim.set_object("ball", velocity=[0, 0, 0, *(n + part * stops * e)])
        sim.step()
        assert [kink.kind for kink in sim.step_derivatives((), near=1e-4).kinks].count("slip") == kinks


def elastic(scene):
    """A scene whose bodies bounce, with torsion and rolling where friction is the same in all directions."""
    turns = 0.01 if scene.friction_model == "coulomb_cone" else 0.0
    materials = {"m": M.Material(restitution=0.5, torsional=2.0 * turns, rolling=turns)}
    return replace(scene, materials=materials, ground=M.Ground(material="m"),
                   primitives=tuple(replace(body, material="m") for body in scene.primitives))  # fmt: skip


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint", "rk4"])
@pytest.mark.parametrize(
    ("frame", "shape", "law", "seed"),
    [("slip", "sphere", "anitescu_potra", 0), ("slip", "box", "papers", 1), ("fixed", "capsule", "newton", 0),
     ("slip", "capsule", "newton", 1), ("fixed", "box", "anitescu_potra", 0)],
)
def test_polygons_in_a_bounce(frame, shape, law, seed, integrator):
    """Tangents follow the slip from before the impact through both phases; what is felt too."""
    scene = elastic(polygons(8, frame, shape=shape, restitution_law=law, integrator=integrator))
    scene = replace(scene, sensors=(M.Sensor("touch", "contact", link="body"),))
    differences = landed(scene, seed, down=1.0)
    q = differences.q.copy()
    q[2] += 3e-4
    differences = Differences(differences.sim, q, differences.v)
    differences.step()
    assert differences.sim.context.impacts.tape[0].body_moment[0] > 0.0
    assert not differences.sim.step_derivatives((), near=1e-4).kinks
    assert differences.worst(("q", "v"), size=1e-7) < 1e-7
    assert differences.worst_reading("touch", "v", size=1e-7) < 1e-6


@pytest.mark.parametrize("integrator", ["midpoint", "rk4"])
@pytest.mark.parametrize("frame", ["slip", "fixed"])
@pytest.mark.parametrize(("shape", "seed"), [("sphere", 0), ("capsule", 2), ("box", 1)])
def test_polygons_under_flows(shape, seed, frame, integrator):
    differences = landed(polygons(8, frame, shape=shape, integrator=integrator), seed, slides=0.5, down=0.003)
    assert "slip" in states_of(differences)
    assert not differences.sim.step_derivatives((), near=1e-4).kinks
    assert differences.worst(("q", "v"), size=1e-7) < 1e-7


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint"])
@pytest.mark.parametrize(("shape", "law"), [("sphere", "anitescu_potra"), ("capsule", "papers"), ("sphere", "newton")])
def test_torsion_and_rolling_in_a_bounce(shape, law, integrator):
    body = M.Primitive("body", shape, SIZES[shape], M.Pose((0, 0, 1)), "free", 1.0)
    scene = elastic(mb.Scene(primitives=(body,), restitution_law=law, integrator=integrator))
    differences = landed(scene, 0, slides=2.0, down=1.0)
    assert differences.sim.context.impacts.tape and differences.sim.context.friction.extra[0] >= 0
    assert differences.worst(("q", "v"), size=1e-7) < 1e-7


@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "midpoint", "rk4"])
@pytest.mark.parametrize(
    ("shape", "seed", "slides", "down", "state"),
    [("sphere", 0, 1.0, 0.003, "slip"), ("capsule", 2, 0.003, 0.05, "stick"), ("box", 1, 1.0, 0.003, "slip"),
     ("box", 3, 0.05, 0.003, "slip")],
)  # fmt: skip
def test_viscous_friction_beside_coulombs(shape, seed, slides, down, state, integrator):
    """Friction in polygons; what is left of a tangent's impulse without the viscous part is at its bound, or below."""
    body = M.Primitive("body", shape, SIZES[shape], M.Pose((0, 0, 1)), "free", 1.0, material="m")
    materials = {"m": M.Material(friction=0.4, viscous=20.0)}
    scene = mb.Scene(primitives=(body,), ground=M.Ground(material="m"), materials=materials, integrator=integrator,
                     friction_model="coulomb_viscous")  # fmt: skip
    differences = landed(scene, seed, slides=slides, down=down)
    assert states_of(differences) == [state]
    assert not differences.sim.step_derivatives((), near=1e-4).kinks
    assert max(differences.worst(("q",), 1e-8), differences.worst(("v",), 1e-6)) < 1e-7
