# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts of time stepping happen where the path meets the surface, not at the start of their step.

Semi-implicit Euler's positions lie on parabolas whose velocity at a step's start is v + a dt / 2; dropped from rest
at h the ball has the energy of h + g dt^2 / 8, which it keeps.  Flows know no such difference.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, MaterialPair, Pose, Primitive, Scene, SceneModel, Velocity

G, R = 9.81, 0.1
INTEGRATORS = ("semi_implicit_euler", "rk4", "midpoint", "adaptive")
COULOMB = ("coulomb_polyhedral", "coulomb_cone")


def ball(name="ball", height=1.0, x=0.0, material="rubber", mass=1.0, **options):
    return Primitive(name, "sphere", (R,), Pose((x, 0.0, height + R)), "free", mass, material=material, **options)


def scene(*bodies, eps=0.5, mu=0.5, pairs=(), **options):
    materials = {"rubber": Material(mu, restitution=eps), "wood": Material(0.5)}
    return Scene(primitives=bodies, ground=Ground(material=options.pop("floor", "rubber")), materials=materials,
                 pairs=pairs, **options)  # fmt: skip


def late(sim):
    """How far velocities are behind positions [s]."""
    return 0.5 * sim.time_step if sim.scene.integrator == "semi_implicit_euler" else 0.0


def arc(sim, body=0):
    """Height that the present arc of a ball leads to: z + v^2 / 2 g with the velocity that belongs to z."""
    speed = sim.v[6 * body + 5] - G * late(sim)
    return sim.q[7 * body + 2] - R + speed**2 / (2 * G)


def bounces(sim, steps, body=0):
    """Arcs between the impacts of a ball, and all impacts."""
    arcs, events = [arc(sim, body)], []
    for _ in range(steps):
        step = sim.step()
        events += step.events
        if abs(arc(sim, body) - arcs[-1]) > 1e-9:
            arcs.append(arc(sim, body))
    return np.array(arcs), events


@pytest.mark.parametrize("time_step", [0.004, 0.001, 0.000317])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_apexes_of_a_ball_are_exact(integrator, time_step):
    """eps^2k times the first, to rounding; the impact is when the path meets the ground."""
    sim = mb.Simulator(scene(ball(), integrator=integrator, time_step=time_step))
    arcs, events = bounces(sim, int(1.2 / time_step))
    start = 1.0 + 0.5 * G * late(sim) ** 2
    assert arcs[:4] == pytest.approx(start * 0.25 ** np.arange(4), rel=1e-11)
    flight = np.sqrt(2.0 * start / G)
    assert events[0].time == pytest.approx(flight - late(sim), abs=1e-12)
    assert events[1].time - events[0].time == pytest.approx(flight, abs=1e-12)
    assert events[0].speeds[0] == pytest.approx(-G * flight, rel=1e-12)
    assert events[0].energy_after - events[0].energy_before == pytest.approx(-0.75 * G * start, rel=1e-12)


def test_apexes_converge_at_second_order_and_rest_comes_in_time():
    """Against eps^2k h itself: g dt^2 / 8 of the start is all that is wrong; the fall begins half a step early."""
    errors, rests = [], []
    for time_step in (0.004, 0.002, 0.001):
        sim = mb.Simulator(scene(ball(), time_step=time_step))
        arcs, _ = bounces(sim, int(1.2 / time_step))
        while np.abs(sim.v).max() > 1e-9:
            sim.step()
        errors.append(np.abs(arcs[1:4] / 0.25 ** np.arange(1, 4) - 1.0).max())
        rests.append(sim.time)
    order = np.log2(np.array(errors[:-1]) / errors[1:])
    assert order == pytest.approx([2.0, 2.0], abs=0.05) and errors[-1] < 1e-5
    assert rests[-1] == pytest.approx(1.354571, rel=5e-3)


@pytest.mark.parametrize("model", COULOMB)
@pytest.mark.parametrize("integrator", ["semi_implicit_euler", "rk4"])
def test_a_ball_thrown_obliquely_keeps_to_its_arcs(integrator, model):
    """Friction stops the slip at the first touch, so v_x = 5/7 of before; where it then is, is exact too."""
    thrown = ball(velocity=Velocity(linear=(2.0, 0.0, 0.0)))
    sim = mb.Simulator(scene(thrown, mu=2.0, integrator=integrator, friction_model=model))
    steps = 700
    for _ in range(steps):
        sim.step()
    touch = np.sqrt(2.0 * (1.0 + 0.5 * G * late(sim) ** 2) / G) - late(sim)
    assert sim.v[3] == pytest.approx(10.0 / 7.0, rel=1e-9)
    assert sim.q[0] == pytest.approx(2.0 * touch + 10.0 / 7.0 * (sim.time - touch), rel=1e-9)


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_body_at_rest_beside_a_bouncing_one_stays_at_rest(integrator):
    """It touches the ground with restitution, and takes part in impacts of others without knowing it."""
    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((1.0, 0, 0.1)), "free", 1.0, material="rubber")
    sim = mb.Simulator(scene(ball(height=0.2), box, eps=0.9, integrator=integrator))
    for _ in range(600):
        sim.step()
        assert np.abs(sim.v[6:]).max() <= 1e-9
    assert sim.q[9] == pytest.approx(0.1, abs=1e-9)


def test_a_ball_on_a_resting_plate_meets_it_as_it_meets_the_ground():
    """The plate is held by the ground: the relative acceleration is g, not zero."""
    plate = Primitive("plate", "box", (1.0, 1.0, 0.1), Pose((0, 0, 0.05)), "free", 3.0, material="wood")
    pairs = (MaterialPair(("rubber", "wood"), 0.5, restitution=0.5),)
    dropped = Primitive("ball", "sphere", (R,), Pose((0, 0, 0.1 + R + 0.5)), "free", 1.0, material="rubber")
    sim = mb.Simulator(scene(dropped, plate, pairs=pairs, floor="wood"))
    highest = 0.0
    for _ in range(520):
        sim.step()
        speed = sim.v[5] - G * late(sim)
        highest = sim.q[2] - R - 0.1 + speed**2 / (2 * G)
    assert highest == pytest.approx(0.125 + 0.25 * G * late(sim) ** 2 / 2, rel=1e-6)
    assert np.abs(sim.v[6:]).max() <= 1e-9 and sim.q[9] == pytest.approx(0.05, abs=1e-9)


def test_two_balls_that_land_within_one_step_land_each_in_its_time():
    sim = mb.Simulator(scene(ball(), ball("other", height=1.0 + 0.4e-3 * np.sqrt(2 * G), x=1.0)))
    arcs, events = bounces(sim, 700)
    assert len(events) == 1 and len(events[0].links) == 2
    other = (1.0 + 0.4e-3 * np.sqrt(2 * G) + 0.5 * G * late(sim) ** 2) / 4
    assert arcs[1] == pytest.approx((1.0 + 0.5 * G * late(sim) ** 2) / 4, rel=1e-11)
    assert arc(sim, 1) == pytest.approx(other, rel=1e-11)


@pytest.mark.parametrize("model", COULOMB)
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_tumbling_boxes_do_not_penetrate_and_gain_nothing(integrator, model):
    """T(v+) - T(v_free) <= sum p_n v_push in every step, and no impact adds energy."""
    rng = np.random.default_rng(5)
    boxes = [
        Primitive(f"box_{i}", "box", (0.2, 0.15, 0.1), Pose((0.02 * i, 0, 0.4 + 0.3 * i), tuple(rng.uniform(-1, 1, 3))),
                  "free", 1.0, material="rubber", velocity=Velocity(tuple(rng.normal(size=3)), (0, 0, -1.0)))
        for i in range(2)
    ]  # fmt: skip
    sim = mb.Simulator(scene(*boxes, eps=0.6, integrator=integrator, friction_model=model))
    deepest = impacts = 0.0
    for _ in range(1500):
        step = sim.step()
        c = step.certificate
        free = c.kinetic_energy - c.contact_energy
        assert c.contact_energy - c.push_out_energy <= 1e-10 * max(free, 1.0)
        assert all(e.energy_after <= e.energy_before * (1 + 1e-12) for e in step.events)
        impacts += len(step.events)
        deepest = max(deepest, c.penetration)
    assert impacts > 5 and deepest < 1e-4


@pytest.mark.parametrize("integrator", INTEGRATORS[1:])
def test_a_joint_stops_at_its_limit_and_not_before(integrator):
    text = (
        '<robot name="r"><link name="base"/><link name="cart"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="0.5123" effort="10" velocity="10"/></joint></robot>'
    )
    cart = SceneModel(text, velocities={"slide": 5.0})
    sim = mb.Simulator(Scene(models=(cart,), integrator=integrator))
    for _ in range(200):
        sim.step()
    assert sim.q[0] == pytest.approx(0.5123, abs=1e-9) and abs(sim.v[0]) < 1e-9


def test_the_push_back_into_a_joints_range_is_the_scenes():
    text = (
        '<robot name="r"><link name="base"/><link name="cart"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>'
        '<limit lower="0" upper="0.5" effort="10" velocity="10"/></joint></robot>'
    )
    for speed in (0.05, 0.3):
        sim = mb.Simulator(Scene(models=(SceneModel(text),), push_out_velocity=speed))
        sim.set_state([-0.1], [0.0])
        sim.step()
        assert sim.v[0] == pytest.approx(speed, rel=1e-9)
