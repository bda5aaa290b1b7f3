# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""No step gains energy without a force that does the work; Euler tells what it gains, and loses what is much."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.integrate.whole import PASSIVE
from mb_contact.model.scene import Closure, Ground, Material, Pose, Primitive, Scene, SceneModel, Velocity

pytestmark = pytest.mark.quick


def tumbler(**settings):
    """A plate that tumbles at 20 rad/s and flies at 3 m/s, far from anything."""
    spin, flight = (12.0, 2.0, -16.0), (3.0, 0.0, 1.0)
    motion = Velocity(spin, flight)
    plate = Primitive("plate", "box", (0.3, 0.2, 0.02), Pose((0.0, 0.0, 5.0)), "free", 2.0, velocity=motion)
    return mb.Simulator(Scene(primitives=(plate,), gravity=(0.0, 0.0, 0.0), time_step=5e-3, **settings))


@pytest.mark.parametrize("faster, removes", [(0.6, False), (1.6, True)])
def test_euler_tells_what_it_gains_and_loses_what_is_much(faster, removes):
    """Of 32 rad/s at 5 ms it is above 1e-3 of the energy in some steps; of 12 rad/s it is left."""
    sim = tumbler()
    sim.set_state(sim.q, faster * sim.v)
    told = removed = 0.0
    for _ in range(400):
        before, certificate = sim.energy(), sim.step().certificate
        told, removed = max(told, certificate.energy_gained), removed + certificate.energy_removed
        rise = certificate.energy + certificate.energy_removed - before
        if rise > 1.01e-6 * certificate.kinetic_energy:
            assert certificate.energy_gained == pytest.approx(rise, rel=1e-6)
        assert certificate.energy - before <= 1.001e-3 * before and certificate.pieces == 1
    assert told > 0.0 and (removed > 0.0) == removes


def test_a_flow_that_gains_is_slowed_down_and_keeps_its_momentum():
    """A plate that turns by 2 rad in a step: the fourth order is not enough, and its error is taken out."""
    spin, flight = (100.0, 20.0, -120.0), (3.0, 0.0, 1.0)
    motion = Velocity(spin, flight)
    plate = Primitive("plate", "box", (0.3, 0.2, 0.02), Pose((0.0, 0.0, 5.0)), "free", 2.0, velocity=motion)
    scene = Scene(primitives=(plate,), gravity=(0.0, 0.0, 0.0), time_step=5e-3, integrator="rk4")
    sim = mb.Simulator(scene)
    removed = 0.0
    for _ in range(200):
        before, certificate = sim.energy(), sim.step().certificate
        removed += certificate.energy_removed
        assert certificate.energy <= before * (1.0 + 1.01e-6)
    assert removed > 0.0
    np.testing.assert_allclose(sim.v[3:6], [3.0, 0.0, 1.0], rtol=1e-12)


def test_what_an_integrator_keeps_is_left_alone():
    sim = tumbler(integrator="midpoint")
    for _ in range(100):
        assert sim.step().certificate.energy_removed == 0.0


@pytest.mark.parametrize("integrator", ["rk4", "midpoint", "adaptive"])
def test_a_whip_gains_nothing(integrator):
    """20 links of the 12 m pendulum fall, hit the floor and whip: from step to step only push-out may add energy."""
    sim = mb.Simulator(mb.pendulum(20, "first_impact").scene(integrator=integrator, time_step=2e-3))
    start, touched = sim.energy(), 0
    for _ in range(1500):
        before, certificate = sim.energy(), sim.step().certificate
        touched += certificate.contacts
        assert certificate.energy - before <= certificate.push_out_energy + PASSIVE * start
    assert touched and sim.energy() <= start


def rolling_pair(bystander=False, scheme="event"):
    """An ellipsoid that rolls over a ball, both in free flight without gravity, pressed together by two wrenches."""
    along = Velocity((0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    ball = Primitive("ball", "sphere", (0.1,), Pose(), "free", 1.0, material="m", velocity=along)
    motion = Velocity((4.0, 3.0, 1.0), (1.0 + 0.05 * 3.0, -0.05 * 4.0, 0.0))
    egg = Primitive("egg", "ellipsoid", (0.12, 0.16, 0.1), Pose((0.0, 0.0, 0.15)), "free", 0.5, velocity=motion,
                    material="m")  # fmt: skip
    far = Primitive("far", "box", (0.1, 0.2, 0.3), Pose((9.0, 0.0, 0.0)), "free", 2.0,
                    velocity=Velocity((1.0, 2.0, 3.0), (0.1, 0.0, 0.0)))  # fmt: skip
    bodies = (ball, egg, far) if bystander else (ball, egg)
    settings = {"gravity": (0.0, 0.0, 0.0), "time_step": 4e-3, "integrator": "rk4", "collision_scheme": scheme}
    return mb.Simulator(Scene(primitives=bodies, materials={"m": Material(2.0)}, **settings))


def press(sim):
    sim.set_external_wrench("ball", [0.0, 0.0, 0.0, 0.0, 0.0, 20.0])
    sim.set_external_wrench("egg", [0.0, 0.0, 0.0, 0.0, 0.0, -20.0])


def test_contacts_that_gain_slow_down_their_own_group_and_keep_its_momentum():
    alone, beside = rolling_pair(), rolling_pair(bystander=True)
    removed = 0.0
    for _ in range(50):
        for sim in (alone, beside):
            press(sim)
            certificate = sim.step().certificate
        removed += certificate.energy_removed
    assert removed > 0.0
    np.testing.assert_array_equal(alone.v, beside.v[:12])  # bit for bit
    lone = mb.Simulator(Scene(primitives=(beside.scene.primitives[2],), gravity=(0, 0, 0), time_step=4e-3,
                              integrator="rk4", collision_scheme="event"))  # fmt: skip
    for _ in range(50):
        lone.step()
    np.testing.assert_array_equal(lone.v, beside.v[12:])
    momentum = 1.0 * alone.v[3:6] + 0.5 * alone.v[9:12]
    np.testing.assert_allclose(momentum, [1.0 + 0.5 * 1.15, -0.1, 0.0], atol=1e-12)


def test_what_contacts_did_beyond_their_laws_is_told():
    """The sum of ``contact_error`` is what the energy balance lacks: the integrator's own error is rounding."""
    sim = mb.Simulator(mb.pendulum(5, "first_impact").scene(integrator="midpoint"))
    told = 0.0
    for _ in range(2500):
        certificate = sim.step().certificate
        told += certificate.contact_error - certificate.energy_removed
    assert abs(certificate.energy_balance - told) < 1e-9 * sim.energy() and abs(told) > 1e-6


def test_what_hovers_keeps_its_momentum():
    """A plate that tumbles within the contact margin of the ground: no impulse holds it."""
    motion = Velocity((1000.0, 200.0, -1200.0), (3.0, 0.0, 1e-3))
    plate = Primitive("plate", "box", (0.03, 0.02, 0.002), Pose((0.0, 0.0, 0.0505)), "free", 2.0, velocity=motion,
                      material="m")  # fmt: skip
    scene = Scene(primitives=(plate,), gravity=(0.0, 0.0, 0.0), time_step=5e-4, integrator="rk4",
                  materials={"m": Material(0.5)}, ground=Ground(0.0, "m"), contact_margin=0.06)  # fmt: skip
    sim = mb.Simulator(scene)
    removed = contacts = 0
    for _ in range(40):
        certificate = sim.step().certificate
        removed += certificate.energy_removed
        contacts += certificate.contacts
    assert removed > 0.0 and contacts
    np.testing.assert_allclose(sim.v[3:6], [3.0, 0.0, 1e-3], rtol=1e-12)


def test_a_jam_keeps_its_proof_while_something_else_rolls():
    """A box pressed between two fixed plates: no push-out moves it, also where another body's contact wanders."""
    def plate(name, x, z):
        return Primitive(name, "box", (1.0, 1.0, 0.1), Pose((x, 0.0, z)), material="m")

    box = Primitive("box", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, 0.0995)), "free", 1.0, material="m")
    ball = Primitive("ball", "sphere", (0.1,), Pose((3.0, 0.0, 0.1)), "free", 1.0, material="m",
                     velocity=Velocity((0.0, 1.0, 0.0), (0.1, 0.0, 0.0)))  # fmt: skip
    bodies = (plate("below", 0.0, -0.05), plate("above", 0.0, 0.249), box, plate("floor", 3.0, -0.05), ball)
    sim = mb.Simulator(Scene(primitives=bodies, materials={"m": Material(0.5)}, integrator="rk4"))
    for _ in range(3):
        certificate = sim.step().certificate
        assert certificate.solver == "no_push_out" and certificate.ray_gain < -0.1


def test_loops_that_gain_slow_down_their_own_bodies():
    """Two bodies joined in a point whirl round; a top far away keeps its energy, as `midpoint` has it alone."""
    rod = ('<robot name="{0}"><link name="{0}"><inertial><mass value="1"/><inertia ixx=".01" iyy=".03" izz=".02" '
           'ixy="0" ixz="0" iyz="0"/></inertial></link></robot>')  # fmt: skip
    places = (("a", 5.0), ("b", 5.5))
    models = tuple(SceneModel(rod.format(name), pose=Pose((x, 0.0, 0.0)), base="free") for name, x in places)
    top = Primitive("top", "box", (0.3, 0.2, 0.02), Pose(), "free", 2.0, velocity=Velocity((5.0, 1.0, -3.0)))
    settings = {"gravity": (0.0, 0.0, 0.0), "time_step": 1e-3, "integrator": "midpoint"}
    ends = {"pose_a": Pose((0.25, 0.0, 0.0)), "pose_b": Pose((-0.25, 0.0, 0.0))}
    loop = Closure("screw", "a", "b", **ends, pitch=1.0)  # a thread is not embedded
    sim = mb.Simulator(Scene(primitives=(top,), models=models, loop_closures=(loop,), **settings))
    v, spin = sim.v.copy(), np.array([3.0, 2.0, 20.0])
    for first, x in ((0, -0.25), (6, 0.25)):
        v[first : first + 6] = np.r_[spin, np.cross(spin, [x, 0.0, 0.0])]
    sim.set_state(sim.q, v)
    alone = mb.Simulator(Scene(primitives=(top,), **settings))
    removed = 0.0
    for _ in range(100):
        removed += sim.step().certificate.energy_removed
        alone.step()
    assert removed > 0.0
    np.testing.assert_allclose(sim.v[12:], alone.v, rtol=1e-6)
