# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Surfaces that move: belts, rollers, turntables, by closed forms.

Covers core/constraints/belts.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.workspace import CARRIED, CONTACTS
from mb_contact.errors import InputError
from mb_contact.model.scene import AnisotropicFriction

m = mb.model
G = 9.81
MU = 0.5  #: where no material is given
BELT = m.MovingSurface("belt", "ground", linear=(0.1, 0.0, 0.0))


def on_belt(surface=BELT, dt=1e-3, **more):
    box = m.Primitive("box", "box", (0.1, 0.1, 0.1), m.Pose((0.0, 0.0, 0.05)), "free", 1.0)
    return mb.Simulator(
        mb.Scene(primitives=(box,), ground=m.Ground(), moving_surfaces=(surface,), time_step=dt, **more)
    )


@pytest.mark.parametrize("dt, speed", [(1e-3, 0.1), (1e-3, 0.7331), (2e-4, 0.3), (2e-5, 0.1)])
def test_a_box_on_a_belt_is_where_euler_has_it_ahead_of_the_closed_form(dt, speed):
    """By v dt/2, as positions go with the velocity of a step's end, less a dt^2 f (1 - f)/2 of the step in which it
    sticks, f the part of it that still slides; so at 1 ms v t - v^2/(2 mu g) + v dt/2 holds to 1e-6."""
    sim = on_belt(m.MovingSurface("belt", "ground", linear=(speed, 0.0, 0.0)), dt)
    sim.step(steps=round(0.3 / dt))
    a = MU * G
    f = speed / (a * dt) % 1.0
    ahead = sim.q[0] - (speed * sim.time - speed**2 / (2.0 * a))
    assert ahead == pytest.approx(0.5 * speed * dt, abs=1e-6)
    assert ahead == pytest.approx(0.5 * speed * dt - 0.5 * a * dt**2 * f * (1.0 - f), abs=1e-11)


def test_a_box_on_a_belt_goes_as_friction_says():
    sim = on_belt(dt=2e-5)
    sim.step(steps=2500)
    assert sim.q[0] == pytest.approx(0.1 * sim.time - 0.1**2 / (2.0 * MU * G), abs=1e-6)
    assert sim.v[3] == pytest.approx(0.1, abs=1e-12)


@pytest.mark.parametrize("interpolation, speed", [("cubic", lambda t: 6.0 * t**2 - 4.0 * t**3),
                                                  ("linear", lambda t: 2.0 * t)])  # fmt: skip
def test_a_belt_goes_as_its_motion_says(interpolation, speed):
    """What sticks to it has its speed at the end of every step, and its way."""
    rise = m.Motion(surface="belt", times=(0.0, 1.0), speeds=(0.0, 2.0), interpolation=interpolation)
    sim = on_belt(motions=(rise,))
    assert sim.surface_speeds() == {"belt": 0.0}
    for time in (0.25, 0.75, 1.5):
        sim.step(steps=round((time - sim.time) * 1e3))
        assert sim.surface_speeds()["belt"] == pytest.approx(speed(min(time, 1.0)), rel=1e-12)
        assert sim.v[3] == pytest.approx(0.1 * speed(min(time, 1.0)), rel=1e-9)
    assert sim.q[0] == pytest.approx(0.1 * (1.0 + 2.0 * 0.5), abs=2e-4)  # Euler's steps count the speed of their end
    saved = sim.save()
    sim.step(steps=5)
    end = sim.q.tobytes()
    sim.restore(saved)
    sim.step(steps=5)
    assert sim.q.tobytes() == end
    with pytest.raises(InputError, match="nothing whose surface_speed can be set"):
        sim.set("surface_speed", 1.0)


def test_a_belt_does_the_work_of_the_box_and_of_friction():
    sim, belt, friction = on_belt(), 0.0, 0.0
    for _ in range(50):
        certificate = sim.step().certificate
        belt += sim.context.work.work_terms[CARRIED]
        friction += sim.context.work.work_terms[CONTACTS]
        assert certificate.pieces == 1 and certificate.energy_gained == 0.0
        assert abs(certificate.energy_balance) < 1e-12
    assert belt == pytest.approx(0.1**2, rel=1e-6)  # m v^2: half of it moves the box
    assert friction == pytest.approx(-0.5 * 0.1**2, rel=2e-2)
    assert sim.step().contacts[0]["state"] == "stick"


def test_rollers_carry_a_board_over_them():
    """Two rollers of 0.1 m whose surfaces turn at 3 rad/s: the board on top goes at 0.3 m/s."""
    across = (np.pi / 2.0, 0.0, 0.0)
    rollers = tuple(m.Primitive(f"r{i}", "cylinder", (0.1, 0.4), m.Pose((x, 0.0, 0.1), across))
                    for i, x in enumerate((-0.2, 0.2)))  # fmt: skip
    board = m.Primitive("board", "box", (1.0, 0.3, 0.02), m.Pose((0.0, 0.0, 0.21)), "free", 2.0)
    turning = tuple(m.MovingSurface(f"s{i}", f"r{i}", angular=(0.0, 0.0, 3.0)) for i in range(2))
    sim = mb.Simulator(mb.Scene(primitives=(*rollers, board), moving_surfaces=turning))
    step = sim.step(steps=150)  # at rest against them from v / (mu g) = 61 ms on
    assert sign_of_turn(across) * sim.v[3] == pytest.approx(0.3, rel=1e-6) and step.certificate.residual < 1e-9
    np.testing.assert_allclose(sim.v[[0, 1, 2, 4, 5]], 0.0, atol=1e-6)


def sign_of_turn(rpy):
    """Of the way on top of a cylinder that turns about its z axis, along the world's x axis."""
    axis = m.Pose((0.0, 0.0, 0.0), rpy).rotation()[:, 2]
    return np.cross(axis, [0.0, 0.0, 1.0])[0]


@pytest.mark.parametrize("slope, goes", [(0.4, True), (0.5, False)])
def test_an_escalator_takes_up_what_friction_holds(slope, goes):
    """A belt that climbs at 0.2 m/s: where tan(slope) < mu the box goes with it, else it slides down against it."""
    c, s = np.cos(slope), np.sin(slope)
    stairs = m.Primitive("stairs", "box", (2.0, 0.5, 0.1), m.Pose((0.05 * s, 0.0, -0.05 * c), (0.0, -slope, 0.0)))
    box = m.Primitive("box", "box", (0.1,) * 3, m.Pose((-0.05 * s, 0.0, 0.05 * c), (0.0, -slope, 0.0)), "free", 1.0,
                      velocity=m.Velocity(linear=(0.2 * c, 0.0, 0.2 * s)))  # fmt: skip
    surface = m.MovingSurface("steps", "stairs", linear=(0.2, 0.0, 0.0))
    sim = mb.Simulator(mb.Scene(primitives=(stairs, box), moving_surfaces=(surface,)))
    sim.step(steps=100)
    along = sim.v[3:] @ [c, 0.0, s]
    assert along == pytest.approx(0.2 + (0.0 if goes else 0.1 * G * (MU * c - s)), abs=1e-6)


@pytest.mark.parametrize("part, stays", [(0.99, True), (1.01, False)])
def test_a_box_slips_on_a_turntable_where_it_turns_too_fast(part, stays):
    r, rate = 0.3, np.sqrt(part * MU * G / 0.3)
    table = m.MovingSurface("table", "ground", angular=(0.0, 0.0, 1.0), speed=rate)
    ball = m.Primitive(
        "box", "box", (0.02, 0.02, 0.002), m.Pose((r, 0.0, 0.001)), "free", 1.0,
        velocity=m.Velocity((0.0, 0.0, rate), (0.0, r * rate, 0.0)),
    )  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(ball,), ground=m.Ground(), moving_surfaces=(table,), time_step=1e-4))
    sim.step(steps=8000)
    assert (np.hypot(*sim.q[:2]) < 1.01 * r) == stays


def test_speeds_and_switches_are_part_of_the_state():
    sim = on_belt()
    sim.step(steps=10)
    saved = sim.save()
    sim.step(steps=20)
    end = sim.q.copy()
    sim.set("surface_speed", -1.0, of=["belt"])
    sim.step(steps=100)
    assert sim.q[0] < end[0]
    sim.restore(saved)
    sim.step(steps=20)
    assert sim.q.tobytes() == end.tobytes() and sim.surface_speeds() == {"belt": 1.0}
    with pytest.raises(InputError, match="'other' with a surface_speed; there are 'belt'"):
        sim.set("surface_speed", 1.0, of=["other"])
    for of in ("belt", 3, [{}]):
        with pytest.raises(InputError, match="of must be a list of names"):
            sim.set("surface_speed", 2.0, of=of)
    for value in ("x", {}, 1j, 1e200, np.nan, [1.0, 2.0]):
        with pytest.raises(InputError, match="surface_speed"):
            sim.set("surface_speed", value)
    sim.reset()
    assert sim.surface_speeds() == {"belt": 1.0}


def test_worlds_convey_as_a_simulator_does():
    sim = on_belt()
    worlds = mb.worlds.Worlds(sim.scene, 3)
    worlds.step(steps=30)
    sim.step(steps=30)
    assert worlds.q[1].tobytes() == sim.q.tobytes()
    worlds.state.belt_speed[:] = [[0.0], [1.0], [-1.0]]
    worlds.step(steps=100)
    assert worlds.q[2, 0] < 0.0 < worlds.q[0, 0] < worlds.q[1, 0]


def test_impacts_rub_against_a_belt():
    mu, e, jumps = 0.02, 0.5, []
    for speed in (0.0, 1.0):
        sim, step, jump = dropped_on_a_belt(mu, e, speed)
        hit = -step.events[0].speeds[0]
        along = mu * (1.0 + e) * hit * speed
        assert sim.v[3] == pytest.approx(along, rel=1e-9) and sim.v[1] == pytest.approx(-2.5 * along / 0.1, rel=1e-9)
        jumps.append(jump)
    assert jumps[1] == pytest.approx(jumps[0], abs=1e-9)  # friction and the drive add nothing that is not booked


def dropped_on_a_belt(mu, e, speed):
    """A ball behind its impact on a belt: the simulator, that step, and the change of its energy balance."""
    ball = m.Primitive("ball", "sphere", (0.1,), m.Pose((0.0, 0.0, 0.3)), "free", 1.0, material="steel")
    belt = m.MovingSurface("belt", "ground", linear=(speed, 0.0, 0.0))
    materials = {"steel": m.Material(friction=mu, restitution=e)}
    sim = mb.Simulator(mb.Scene(
        primitives=(ball,), ground=m.Ground(material="steel"), materials=materials, moving_surfaces=(belt,),
    ))  # fmt: skip
    step, before = sim.step(), 0.0
    while not step.events:
        before = step.certificate.energy_balance
        step = sim.step()
    return sim, step, step.certificate.energy_balance - before


def test_friction_keeps_its_direction_in_a_third_frame():
    for frame in ("marker", None):
        friction = AnisotropicFriction(0.0, 0.6, (1.0, 0.0, 0.0), frame=frame)
        roller = {"roller": m.Material(anisotropic_friction=friction)}
        disc = m.Primitive(
            "disc", "cylinder", (0.1, 0.02), m.Pose((0.0, 0.0, 0.01)), "free", 1.0, material="roller",
            velocity=m.Velocity((0.0, 0.0, 20.0), (1.0, 0.0, 0.0)),
        )  # fmt: skip
        marker = m.Primitive("marker", "sphere", (0.01,), m.Pose((0.0, 0.0, 5.0)))
        floor = m.Primitive("floor", "box", (10.0, 10.0, 0.1), m.Pose((0.0, 0.0, -0.05)), material="plain")
        sim = mb.Simulator(
            mb.Scene(primitives=(disc, marker, floor), materials={**roller, "plain": m.Material(friction=0.6)})
        )
        sim.step(steps=100)
        kept = sim.v[3] == pytest.approx(1.0, abs=1e-9)
        assert kept == (frame is not None)
