# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts that give way: springs, foundations, Hertz' law, by closed forms; the rigid step is their limit.

Covers core/step/foundations.py, core/step/softness.py, model/softness.py.
"""

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError, SceneError

m = mb.model
G = 9.81


def soft(friction=0.5, **keys):
    return {"soft": m.Material(friction=friction, softness=m.Softness(**keys))}


def ball(**keys):
    return m.Primitive("ball", "sphere", (0.05,), m.Pose((0.0, 0.0, 0.05)), "free", 2.0, material="soft", **keys)


def energy(sim):
    return float(sim.context.work.energy.sum())


def test_a_ball_rests_on_a_spring_floor_and_swings_at_its_frequency():
    k, dt = 1e4, 5e-5
    sim = mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=soft(stiffness=k), time_step=dt))
    z, before = [], energy(sim)
    for _ in range(2 * int(2.0 * np.pi * np.sqrt(2.0 / k) / dt)):
        step = sim.step()
        z.append(sim.q[2])
        assert energy(sim) <= before + 1e-9 * before
        before = energy(sim)
    z = np.array(z) - (0.05 - 2.0 * G / k)  # begins at the top of its swing
    down = np.flatnonzero((z[:-1] > 0.0) & (z[1:] <= 0.0))
    period = np.diff(down + z[down] / (z[down] - z[down + 1]))[0] * dt
    assert period == pytest.approx(2.0 * np.pi * np.sqrt(2.0 / k), rel=1e-3)
    assert step.certificate.residual < 1e-12
    damped = mb.Simulator(mb.Scene(
        primitives=(ball(),), ground=m.Ground(), materials=soft(stiffness=k, damping=0.02), time_step=1e-3,
    ))  # fmt: skip
    step = damped.step(steps=800)
    assert 0.05 - damped.q[2] == pytest.approx(2.0 * G / k, rel=1e-9)
    assert damped.state.elastic[0] == pytest.approx((2.0 * G) ** 2 / (2.0 * k), rel=1e-9)
    assert step.certificate.penetration == 0.0 and step.contacts["gap"][0] == pytest.approx(-2.0 * G / k, rel=1e-9)


def test_two_steel_balls_touch_as_long_as_hertz_says():
    R, E, nu, v = 0.025, 2.1e11, 0.3, 1.0
    mass = 7800.0 * 4.0 / 3.0 * np.pi * R**3
    balls = tuple(
        m.Primitive(name, "sphere", (R,), m.Pose((side * (R + 2e-6), 0.0, 0.0)), "free", mass, material="soft",
                    velocity=m.Velocity(linear=(-side * v / 2.0, 0.0, 0.0)))
        for name, side in (("a", -1.0), ("b", 1.0))
    )  # fmt: skip
    sim = mb.Simulator(mb.Scene(
        primitives=balls, materials=soft(modulus=E, poisson=nu), time_step=1e-6, gravity=(0.0, 0.0, 0.0),
    ))  # fmt: skip
    stiff, reduced = E / (2.0 * (1.0 - nu**2)), mass / 2.0
    lasts = 2.8683 * (reduced**2 / (R / 2.0 * stiff**2 * v)) ** 0.2
    deepest = (15.0 * reduced * v**2 / (16.0 * stiff * np.sqrt(R / 2.0))) ** 0.4
    distance, kept = [], energy(sim)
    for _ in range(int(1.1 * lasts / 1e-6)):
        sim.step()
        distance.append(sim.q[7] - sim.q[0] - 2.0 * R)
        assert energy(sim) <= kept * (1.0 + 1e-9)
        kept = energy(sim)
    x = np.array(distance)
    begins, ends = np.flatnonzero(np.diff(np.sign(x)))[[0, -1]]
    moment = [i + x[i] / (x[i] - x[i + 1]) for i in (begins, ends)]
    assert (moment[1] - moment[0]) * 1e-6 == pytest.approx(lasts, rel=0.01)
    assert -x.min() == pytest.approx(deepest, rel=0.02)
    assert sim.v[3] + sim.v[9] == pytest.approx(0.0, abs=1e-12)  # momentum


@pytest.mark.parametrize("load", [0.3, 1.5])
def test_a_pad_holds_a_cube_against_a_moment_with_the_pressure_of_a_linear_foundation(load):
    k, cells, side, mass = 5e7, 8, 0.1, 5.0
    pad = m.Primitive("pad", "box", (side, side, 0.02), m.Pose((0.0, 0.0, -0.01)), material="soft")
    cube = m.Primitive("cube", "box", (side,) * 3, m.Pose((0.0, 0.0, side / 2.0)), "free", mass)
    sensor = m.Sensor("skin", "tactile", "pad", pad=m.Pad(face="+z", cells=(cells, cells)))
    sim = mb.Simulator(mb.Scene(
        primitives=(pad, cube), materials=soft(0.8, foundation=k, damping=0.01, cells=cells), sensors=(sensor,),
    ))  # fmt: skip
    for i in range(400):
        sim.set_external_wrench("cube", [0.0, load * min(1.0, i / 200.0), 0.0, 0.0, 0.0, 0.0])
        step = sim.step()
    cell = side**2 / cells**2
    pressure = sim.sensors.read("skin").pressure
    x = (np.arange(cells) + 0.5) / cells * side - side / 2.0
    force, moment = pressure.sum() * cell, (pressure.sum(axis=1) @ x) * cell
    assert force == pytest.approx(mass * G, rel=1e-3) and moment == pytest.approx(load, rel=0.02)
    rows = pressure[:, 0]
    assert np.ptp(pressure, axis=1).max() < 1e-3 * rows.max()
    if load < mass * G * side / 6.0:  # all of it presses
        inertia = side * cell / (side / cells) * (x**2).sum()
        assert rows == pytest.approx(force / side**2 + moment / inertia * x, rel=1e-6)
    else:  # linear where it presses, none where it is lifted off
        on = np.flatnonzero(rows)
        assert 2 < len(on) < cells and (on == np.arange(on[0], cells)).all()
        assert np.diff(rows[on], 2) == pytest.approx(0.0, abs=1e-3 * rows.max())
    assert step.certificate.residual < 1e-9 and len(step.contacts) == cells**2


def both(stiffness, *objects):
    """Simulators of objects on rigid ground and with springs everywhere."""
    scene = mb.Scene(primitives=objects, ground=m.Ground(material="soft"), materials={"soft": m.Material()})
    stiff = dataclasses.replace(scene, materials=soft(stiffness=stiffness, shear=0.7, damping=1e-3))
    return mb.Simulator(scene), mb.Simulator(stiff)


def box_and_ball():
    """A spinning box that slides with a ball on it; it lands in step 44."""
    going = m.Velocity(linear=(1.0, 0.3, 0.0), angular=(0.0, 0.0, 2.0))
    box = m.Primitive("box", "box", (0.2, 0.1, 0.1), m.Pose((0.0, 0.0, 0.06)), "free", 2.0, material="soft",
                      velocity=going)  # fmt: skip
    return box, dataclasses.replace(ball(), pose=m.Pose((0.0, 0.0, 0.161)))


@pytest.mark.parametrize("k", [1e14, 1e16, 1e18, 1e20])
def test_a_rigid_step_is_the_limit_of_stiff_springs(k):
    """Step after step from the same state; the difference falls as 1/k, down to what rounding leaves."""
    rigid, stiff = both(k, *box_and_ball())
    for _ in range(120):
        for sim in (stiff, rigid):
            sim.set_state(rigid.q, rigid.v)
        ours, theirs = stiff.step(), rigid.step()
        assert stiff.v == pytest.approx(rigid.v, abs=max(5e6 / k, 1e-10)) and len(ours.contacts) == len(theirs.contacts)


@pytest.mark.parametrize("k", [1e17, 1e18, 1e20])
def test_a_rigid_motion_is_the_limit_of_stiff_springs(k):
    """Of their own for 200 steps: a ball thrown with spin, whose forces are unique."""
    thrown = m.Velocity(linear=(1.0, 0.3, 0.0), angular=(5.0, 2.0, 3.0))
    rigid, stiff = both(k, dataclasses.replace(ball(velocity=thrown), pose=m.Pose((0.0, 0.0, 0.06))))
    for _ in range(200):
        stiff.step()
        rigid.step()
        assert stiff.v == pytest.approx(rigid.v, abs=1e-9)


def test_how_four_corners_share_a_load_moves_what_slides_and_spins():
    """What the limit is for 60 steps on their own, and what a push of 1e-12 m/s does to the rigid box meanwhile."""
    rigid, stiff = both(1e18, *box_and_ball())
    other = mb.Simulator(rigid.scene)
    for i in range(60):
        if i == 44:
            other.set_state(other.q, other.v + 1e-12)
            rigid.set_state(rigid.q, rigid.v)
        ours, theirs, _ = stiff.step(), rigid.step(), other.step()
        assert stiff.v == pytest.approx(rigid.v, abs=4e-9) and len(ours.contacts) == len(theirs.contacts)
    assert ours.contacts["impulse"].sum(axis=0) == pytest.approx(theirs.contacts["impulse"].sum(axis=0), abs=1e-9)
    assert np.abs(other.v - rigid.v).max() > 1e-10


@pytest.mark.parametrize("slope, holds", [(0.3, True), (0.5, False)])
def test_a_shear_spring_holds_up_to_the_bound_of_friction(slope, holds):
    k, shear, mu = 1e5, 0.5, 0.5
    down = (G * np.sin(slope), 0.0, -G * np.cos(slope))
    sled = m.Primitive("sled", "box", (0.4, 0.4, 0.002), m.Pose((0.0, 0.0, 0.001)), "free", 2.0, material="soft")
    materials = soft(mu, stiffness=k, shear=shear, damping=0.005)
    sim = mb.Simulator(mb.Scene(primitives=(sled,), ground=m.Ground(), materials=materials, gravity=down))
    step = sim.step(steps=400)
    at = sim.q[0]
    if holds:
        assert at == pytest.approx(2.0 * G * np.sin(slope) / (4.0 * k * shear), rel=5e-3)  # and 1 mm times its tilt
        assert abs(sim.v[3]) < 1e-9
    else:
        friction = np.linalg.norm(step.contacts["impulse"][:, :2].sum(axis=0))
        assert friction == pytest.approx(mu * step.contacts["impulse"][:, 2].sum(), rel=1e-9)
        assert sim.v[3] == pytest.approx(G * (np.sin(slope) - mu * np.cos(slope)) * 0.4, rel=0.05)
    assert step.certificate.residual < 1e-12


def heap(count=5):
    boxes = tuple(
        m.Primitive(f"b{i}", "box", (0.1,) * 3, m.Pose((0.01 * (i % 3), 0.005 * (i % 2), 0.05 + 0.101 * i)), "free",
                    1.0, material="soft")
        for i in range(count)
    )  # fmt: skip
    return mb.Scene(primitives=boxes, ground=m.Ground(), materials=soft(0.6, stiffness=1e5, shear=0.5, damping=0.002))


def test_soft_boxes_lose_energy_until_they_rest():
    sim = mb.Simulator(heap())
    before = energy(sim)
    for _ in range(300):
        certificate = sim.step().certificate
        assert certificate.residual < 1e-10 and energy(sim) <= before + 1e-9
        before = energy(sim)
    assert abs(sim.v).max() < 0.05


def test_what_is_sheared_is_part_of_the_state_and_worlds_have_it_too():
    sim = mb.Simulator(heap(3))
    sim.step(steps=80)
    saved = sim.save()
    assert abs(saved.stretch[: saved.count[0], :3]).max() > 0.0
    sim.step(steps=20)
    end = sim.q
    sim.restore(saved)
    assert sim.state.elastic[0] == pytest.approx(sim.state.stretch[: saved.count[0], 4].sum(), rel=1e-12)
    sim.step(steps=20)
    assert (sim.q == end).all()
    worlds = mb.Worlds(heap(3), 2)
    worlds.state[:] = np.array(saved)
    worlds.step(steps=20)
    assert (worlds.q == end).all()


def test_stiffness_is_set_while_it_runs_and_stays_behind_a_rebuild():
    sim = mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=soft(stiffness=1e4, damping=0.02)))
    sim.step(steps=500)
    before, done = energy(sim), sim.context.work.sums[0]
    sim.set("stiffness", 4e4, of=[("ball", "ground")])  # at the same compression: who sets it does work
    kept = 4.0 * (2.0 * G) ** 2 / (2.0 * 1e4)
    assert sim.state.elastic[0] == pytest.approx(kept, rel=1e-6)
    assert energy(sim) - before == pytest.approx(0.75 * kept, rel=1e-6)
    assert sim.context.work.sums[0] - done == pytest.approx(0.75 * kept, rel=1e-6)
    assert sim.step().certificate.energy_gained < 1e-6 * kept
    sim.step(steps=500)
    assert 0.05 - sim.q[2] == pytest.approx(2.0 * G / 4e4, rel=1e-6)
    again = sim.rebuilt(sim.scene)
    assert again.state.elastic[0] == pytest.approx(sim.state.elastic[0], rel=1e-12)
    again.step(steps=5)
    assert 0.05 - again.q[2] == pytest.approx(2.0 * G / 4e4, rel=1e-6)


def test_two_soft_materials_give_way_one_behind_the_other():
    floor = {**soft(stiffness=1e4, damping=0.01), "floor": m.Material(softness=m.Softness(stiffness=3e4, damping=0.03))}
    sim = mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(material="floor"), materials=floor))
    world = sim.world.geoms.soft
    assert world.stiffness[0] == pytest.approx(7500.0) and world.time[0] == pytest.approx(0.015)
    together = m.MaterialPair(("soft", "floor"), friction=0.3, softness=m.Softness(stiffness=5e3))
    sim = mb.Simulator(dataclasses.replace(sim.scene, pairs=(together,)))
    assert sim.world.geoms.soft.stiffness[0] == 5e3


@pytest.mark.parametrize(
    "keys, more, match",
    [
        ({"stiffness": 1e4}, {"integrator": "rk4"}, "integrator"),
        ({"stiffness": 1e4}, {"friction_model": "no_slip"}, "friction_model"),
        ({"stiffness": 1e4}, {"sleep": True}, "sleep"),
        ({"foundation": 1e6}, {}, "face of a box"),
        ({"stiffness": 1e4, "modulus": 1e9}, {}, "stiffness"),
        ({"stiffness": 1e4, "cells": 4}, {}, "cells: has no meaning without a foundation"),
        ({"stiffness": 1e4, "poisson": 0.4}, {}, "poisson: has no meaning without modulus"),
        ({}, {}, "stiffness"),
    ],
)
def test_what_soft_contacts_do_not_know_is_refused(keys, more, match):
    with pytest.raises(SceneError, match=match):
        mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=soft(**keys), **more), warm_up=False)


@pytest.mark.parametrize("E, steps, part", [(1e6, 2000, 0.9977), (2.1e11, 1000, 0.2092)])
def test_a_ball_at_rest_sinks_as_far_as_the_secant_of_its_free_motion_says(E, steps, part):
    """K sqrt(d + g dt^2) d = m g, at 1 ms; Hertz' own depth is (m g / K)^(2/3)."""
    law = soft(modulus=E, damping=0.02 if E < 1e9 else 1e-4)
    sim = mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=law))
    d = -sim.step(steps=steps).contacts["gap"][0]
    K = 4.0 / 3.0 * E / (1.0 - 0.3**2) * np.sqrt(0.05)
    assert K * np.sqrt(d + G * 1e-6) * d == pytest.approx(2.0 * G, rel=1e-6)
    assert d / (2.0 * G / K) ** (2.0 / 3.0) == pytest.approx(part, abs=5e-4)


def test_hertz_asks_for_spheres_and_restitution_for_rigid_materials():
    cube = m.Primitive("cube", "cylinder", (0.1, 0.1), m.Pose((0.0, 0.0, 0.05)), "free", 1.0, material="soft")
    with pytest.raises(SceneError, match="known of spheres"):
        mb.Simulator(mb.Scene(primitives=(cube,), ground=m.Ground(), materials=soft(modulus=1e9)), warm_up=False)
    bouncing = {"soft": m.Material(restitution=0.5, softness=m.Softness(stiffness=1e4))}
    with pytest.raises(SceneError, match="gives back"):
        mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=bouncing), warm_up=False)
    both = {**soft(stiffness=1e4), "steel": m.Material(softness=m.Softness(modulus=2e11))}
    with pytest.raises(SceneError, match="different ways"):
        mb.Simulator(
            mb.Scene(primitives=(ball(),), ground=m.Ground(material="steel"), materials=both), warm_up=False
        )


def test_what_both_materials_give_back_is_refused_beside_the_softness_of_their_pair():
    bouncing = {"a": m.Material(restitution=0.5), "b": m.Material(restitution=0.5)}
    body, floor = dataclasses.replace(ball(), material="a"), m.Ground(material="b")
    for e, refused in ((None, True), (0.0, False)):
        pair = m.MaterialPair(("a", "b"), friction=0.5, restitution=e, softness=m.Softness(stiffness=1e4))
        scene = mb.Scene(primitives=(body,), ground=floor, materials=bouncing, pairs=(pair,))
        if refused:
            with pytest.raises(SceneError, match=r"pairs\[0\].restitution"):
                mb.Simulator(scene, warm_up=False)
        else:
            assert mb.Simulator(scene, warm_up=False).world.geoms.soft.stiffness[0] == 1e4


def test_what_begins_compressed_at_rest_without_gravity_is_thrown_off():
    """The spring is all the energy there is: d w, less what implicit steps lose in a quarter of a period."""
    scene = mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=soft(stiffness=1e4), gravity=(0.0,) * 3)
    sim = mb.Simulator(scene)
    sim.set_state([0.0, 0.0, 0.04, 0.0, 0.0, 0.0, 1.0], [0.0] * 6)
    sim.step(steps=200)
    w = np.sqrt(1e4 / 2.0)
    assert sim.v[5] == pytest.approx(0.01 * w * np.exp(-0.25 * np.pi * w * 1e-3), rel=0.01)


def test_studies_refuse_what_gives_way():
    sim = mb.Simulator(mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=soft(stiffness=1e4)))
    sim.step()
    with pytest.raises(InputError, match="soft materials"):
        sim.step_derivatives()
    problem = sim.contact_problem()
    assert problem.W[0, 0] == pytest.approx(0.5 + 1.0 / (1e4 * 1e-6), rel=1e-12)


def test_worlds_have_stiffnesses_of_their_own():
    scene = mb.Scene(primitives=(ball(),), ground=m.Ground(), materials=soft(stiffness=1e4, damping=0.02))
    worlds = mb.Worlds(scene, 2)
    worlds.set("stiffness", [[1e4], [4e4]], of=[("ball", "ground")])
    worlds.step(steps=800)
    assert 0.05 - worlds.q[:, 2] == pytest.approx(2.0 * G / np.array([1e4, 4e4]), rel=1e-6)
    rigid = mb.Worlds(dataclasses.replace(scene, materials={"soft": m.Material()}), 1)
    with pytest.raises(InputError, match="a softness"):
        rigid.set("stiffness", 1.0)
    hertz = mb.Worlds(dataclasses.replace(scene, materials=soft(modulus=1e7)), 1)
    with pytest.raises(InputError, match="under Hertz' law shapes have one size"):
        hertz.set("size", 0.1, of=["ball"])


@pytest.mark.parametrize(
    "shape, size, place, force",
    [
        ("sphere", (0.1,), 0.1, lambda k, d: np.pi * k * (0.1 * d**2 - d**3 / 3.0)),
        ("cylinder", (0.04, 0.1), 0.05, lambda k, d: k * np.pi * 0.04**2 * d),
    ],
)
def test_what_sinks_into_foam_does_so_by_its_shape(shape, size, place, force):
    k = 2e7
    foam = m.Primitive("foam", "box", (0.16, 0.16, 0.04), m.Pose((0.0, 0.0, -0.02)), material="soft")
    body = m.Primitive("body", shape, size, m.Pose((0.0, 0.0, place)), "free", 20.0)
    materials = soft(0.8, foundation=k, damping=0.02, cells=32)
    sim = mb.Simulator(mb.Scene(primitives=(foam, body), materials=materials))
    sim.step(steps=400)
    assert abs(sim.v).max() < 1e-4
    assert force(k, place - sim.q[2]) == pytest.approx(20.0 * G, rel=0.02)


# --- energy never rises ---------------------------------------------------------------------------------------
SPRING, SHEARED = {"stiffness": 1e4}, {"stiffness": 1e5, "shear": 0.6}
FOAM, SHEARED_FOAM = {"foundation": 5e6, "cells": 24}, {"foundation": 2e7, "cells": 24, "shear": 0.5}
HERTZ = {"modulus": 1e7}


def moving(way, seed, law):
    """One body, or three, that drop, tip over an edge or slide; what they meet of each other is soft too."""
    rng = np.random.default_rng(seed)
    shapes = {"box": (0.12, 0.16, 0.2), "sphere": (0.06,), "cylinder": (0.05, 0.14), "capsule": (0.04, 0.1)}
    bodies = []
    for i in range(3 if way == "drop" else 1):
        kind = "sphere" if "modulus" in law else "box" if way != "drop" else list(shapes)[rng.integers(4)]
        turned, spin, going, up = (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 0.0, 0.0), 0.1
        if way == "drop":
            turned, spin, up = rng.uniform(-3.0, 3.0, 3), rng.uniform(-8.0, 8.0, 3), 0.17 + 0.25 * i
        if way == "tilt":
            turned, up = (0.0, rng.uniform(0.2, 0.7), rng.uniform(-1.0, 1.0)), 0.13
        if way == "slide":
            going, spin = (*rng.uniform(-1.5, 1.5, 2), 0.0), (0.0, 0.0, rng.uniform(-5.0, 5.0))
        bodies.append(m.Primitive(
            f"b{i}", kind, shapes[kind], m.Pose((0.0, 0.0, float(up)), tuple(map(float, turned))), "free",
            rng.uniform(0.5, 2.0), material="body", velocity=m.Velocity(tuple(map(float, spin)), going),
        ))  # fmt: skip
    pad = m.Primitive("pad", "box", (1.5, 1.5, 0.1), m.Pose((0.0, 0.0, -0.05)), material="soft")
    among = m.MaterialPair(("body", "body"), friction=0.3, softness=m.Softness(stiffness=1e5))
    return mb.Scene(
        primitives=(*bodies, pad), materials={**soft(rng.uniform(0.0, 0.9), **law), "body": m.Material(0.5)},
        pairs=(among,),
    )  # fmt: skip


@pytest.mark.parametrize("damping", [0.0, 0.004])
@pytest.mark.parametrize("law", [SPRING, SHEARED, FOAM, SHEARED_FOAM, HERTZ], ids=str)
@pytest.mark.parametrize("way", ["drop", "tilt", "slide"])
def test_energy_never_rises(way, law, damping):
    """Kinetic, potential and elastic together, in any step; but for rounding and rounds of Hertz' damping."""
    part = 2e-7 if law is HERTZ and damping else 1e-12
    for seed in range(3):
        sim = mb.Simulator(moving(way, seed, {**law, "damping": damping} if damping else law))
        before = first = energy(sim)
        for _ in range(250):
            step = sim.step()
            assert energy(sim) <= before + part * first, (seed, sim.time, energy(sim) - before)
            before = energy(sim)
        assert step.certificate.residual < 1e-9
