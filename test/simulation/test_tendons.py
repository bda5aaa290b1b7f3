# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Springs between points and tendons: frequencies, statics and motions in closed form, energy, forces of actuators.

Covers core/constraints/tendon.py, core/step/tendons.py, core/constraints/tendon_path.py, model/scene/tendons.py.
"""

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.workspace import DAMPING, LIMITS, LOOPS, WRENCHES
from mb_contact.dynamics import nonlinear_effects
from mb_contact.errors import InputError, SceneError

m = mb.model
P = m.PathElement
G = 9.81
DT = 1e-3  #: default time step
TOP = P("world", (0.0, 0.0, 1.0))
APART = 0.5, 0.07, 0.05  #: ends of a tendon on two bodies that turn [m]


def ball(name="ball", place=(0.0, 0.0, 0.0), mass=1.0):
    return m.Primitive(name, "sphere", (0.1,), m.Pose(place), "free", mass)


def world(*bodies, tendons, **more):
    return mb.Simulator(mb.Scene(primitives=bodies or (ball(),), tendons=tendons, **more))


def rope(*path, name="rope", **more):
    return m.Tendon(name, path or (TOP, P("ball")), **more)


@pytest.mark.parametrize("dt", [1e-3, 1e-4])
def test_a_spring_has_its_frequency(dt):
    """Zero crossings of x - L_0; Euler's implicit step has the frequency atan(w dt) / dt."""
    k, mass = 100.0, 1.0
    spring = rope(P("world"), P("ball"), stiffness=k, rest_length=0.5)
    sim = world(ball(place=(0.6, 0.0, 0.0), mass=mass), tendons=(spring,), gravity=(0.0,) * 3, time_step=dt)
    w, before, at, crossings = np.sqrt(k / mass), 0.1, 0.0, []
    while len(crossings) < 3:
        sim.step()
        at += dt
        x = sim.q[0] - 0.5
        if x * before < 0.0:
            crossings.append(at - dt * x / (x - before))
        before = x
    found = 2.0 * np.pi / (crossings[2] - crossings[0])
    assert found / w == pytest.approx(np.arctan(w * dt) / (w * dt), abs=3e-6)
    assert found / w == pytest.approx(1.0, abs=0.5 * (w * dt) ** 2)


def test_a_spring_that_steps_resolve_has_its_frequency_to_a_millionth():
    """Phase after one period at w dt = 1e-3: atan(w dt) / (w dt) is 1 - 3.3e-7."""
    dt, k = 1e-4, 100.0
    spring = rope(P("world"), P("ball"), stiffness=k, rest_length=0.5)
    sim = world(ball(place=(0.6, 0.0, 0.0)), tendons=(spring,), gravity=(0.0,) * 3, time_step=dt)
    sim.step(steps=6000)
    phase = np.arctan2(-sim.v[3] / np.sqrt(k), sim.q[0] - 0.5 - 0.5 * dt * sim.v[3])
    assert (phase % (2.0 * np.pi)) / (0.6 * np.sqrt(k) % (2.0 * np.pi)) == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("way, seed, steps, rise", [
    ({"stiffness": 1e8}, 0, 1000, 5e-6), ({"stiffness": 1e8}, 5, 20000, 6e-5), ({"stiffness": 1e8}, 18, 20000, 3e-5),
    ({"held_length": np.linalg.norm(APART)}, 18, 20000, 4e-4),
])  # fmt: skip
def test_what_steps_do_not_resolve_is_passive_at_one_millisecond(way, seed, steps, rise):
    """1e8 N/m, w dt is 12, or a held length between points off the centres of two bodies that turn."""
    ends = P("a", (0.0, 0.0, 0.05)), P("b", (0.0, 0.07, 0.0))
    sim = world(ball("a"), ball("b", (0.5, 0.0, 0.0), 3.0), tendons=(rope(*ends, **way),), gravity=(0.0,) * 3)
    sim.set_state(sim.q, np.random.default_rng(seed).normal(size=12) * 3.0)
    start = 0.5 * sim.v @ mb.mass_matrix(sim.world, sim.q) @ sim.v
    energy = [sim.step().certificate.energy for _ in range(steps)]
    assert energy[-1] > 0.9 * energy[0] and max(energy) < start
    assert (energy - np.minimum.accumulate(energy)).max() < rise * start
    assert sim.tendons()["rope"].length == pytest.approx(np.linalg.norm(APART), abs=1e-5)


@pytest.mark.parametrize("way", [{"longest": 1.0}, {"held_length": 1.0}, {"stiffness": 1e8, "rest_length": 1.0},
                                 {"stiffness": 1e8, "rest_length": 1.0, "pulls_only": True}])  # fmt: skip
def test_a_pendulum_on_a_rope(way):
    """The rope keeps its length to second order and pulls with m g (3 cos): 3 m g at the bottom."""
    sim = world(ball(place=(1.0, 0.0, 1.0)), tendons=(rope(**way),))
    pulls, lengths, step = [], [], None
    for _ in range(1000):
        step = sim.step()
        state = sim.tendons()["rope"]
        pulls.append(state.tension)
        lengths.append(state.length)
    assert max(pulls) == pytest.approx(3.0 * G, rel=2e-3)
    assert np.ptp(lengths) < 1e-6 and step.certificate.residual < 1e-9
    assert step.certificate.energy_balance == pytest.approx(0.0, abs=0.02)  # of 9.81 J; Euler's own


@pytest.mark.parametrize("pulls_only", [False, True])
def test_a_loose_rope_does_not_push(pulls_only):
    sim = world(ball(place=(0.0, 0.0, 0.5)), tendons=(rope(stiffness=1e4, rest_length=1.0, pulls_only=pulls_only),))
    sim.step()
    assert sim.v[5] == pytest.approx(-G * DT if pulls_only else -(G + 5e3) * DT / 1.01, rel=1e-12)
    sim.step(steps=1500)
    assert (sim.tendons()["rope"].tension >= 0.0) or not pulls_only


def test_slack_is_a_range_without_a_force():
    spring = rope(stiffness=100.0, rest_length=1.1, slack=0.2)
    for height, v in ((0.0, 0.0), (-0.2, 10.0), (0.2, -10.0)):
        sim = world(ball(place=(0.0, 0.0, height)), tendons=(spring,), gravity=(0.0,) * 3)
        sim.step()
        assert sim.v[5] / DT == pytest.approx(v, abs=2e-3)


@pytest.mark.parametrize("one, other", [(2.0, 1.0), (4.0, 1.0), (1.0, 3.0)])
def test_block_and_tackle(one, other):
    """m_1 on a loose pulley, m_2 on the end: T = 3 g m_1 m_2 / (m_1 + 4 m_2), whatever moves."""
    above, beside = P("world", (0.0, 0.0, 2.0)), P("world", (1.0, 0.0, 2.0))
    tackle = rope(above, P("one"), above, beside, P("other"), longest=4.0)
    sim = world(ball("one", (0.0, 0.0, 1.0), one), ball("other", (1.0, 0.0, 1.0), other), tendons=(tackle,))
    sim.step(steps=200)
    T = 3.0 * G * one * other / (one + 4.0 * other)
    assert sim.tendons()["rope"].tension == pytest.approx(T, rel=1e-9)
    assert sim.v[5] == pytest.approx(0.2 * (2.0 * T / one - G), abs=1e-9)
    assert sim.v[11] == pytest.approx(-2.0 * sim.v[5], abs=1e-9)


@pytest.mark.parametrize("friction, falls", [(0.999 * G, True), (1.001 * G, False)])
def test_friction_along_a_tendon(friction, falls):
    sim = world(tendons=(rope(friction=friction),))
    step = sim.step(steps=100)
    assert sim.v[5] == pytest.approx(-0.001 * G * 0.1 if falls else 0.0, abs=1e-9)
    assert step.certificate.energy_balance == pytest.approx(0.0, abs=1e-5)


def test_an_actuator_pulls_and_moves_the_rest_length():
    sim = world(tendons=(rope(tension=5.0), rope(name="servo", stiffness=0.0)))
    step = sim.step(steps=10)
    assert sim.v[5] == pytest.approx((5.0 - G) * 0.01, abs=1e-12)
    assert sim.context.work.work_terms[WRENCHES] == pytest.approx(5.0 * sim.v[5] * DT, rel=0.1)
    assert abs(step.certificate.energy_balance) < 1e-3
    sim.set("tension", [G, 0.0])
    speed = sim.v[5]
    sim.step()
    assert sim.v[5] == pytest.approx(speed, abs=1e-12)
    servo = rope(stiffness=1e3, damping=200.0, rest_length=1.0)
    sim = world(tendons=(servo,))
    sim.set("rest_length", 0.7, of=["rope"])
    sim.step(steps=3000)
    assert sim.tendons()["rope"].length == pytest.approx(0.7 + G / 1e3, abs=1e-6)
    again = sim.state.copy()
    sim.step(steps=5)
    sim.set("rest_length", 0.9)
    sim.state[:] = again
    assert sim.context.tendons.rest[0] == 0.7  # it is part of the state


def test_work_is_booked_by_kind():
    """A damper's work is its own, a spring's stands in the energy, a limit's among limits."""
    damped = world(tendons=(rope(damping=3.0),))
    damped.step(steps=100)
    terms, v = damped.context.work.work_terms, damped.v[5]
    assert terms[DAMPING] == pytest.approx(-3.0 * v * v * DT, rel=0.05) and terms[LOOPS] == 0.0
    step = damped.step(steps=900)
    assert abs(step.certificate.energy_balance) < 5e-3 * abs(step.certificate.energy)
    caught = world(ball(place=(0.0, 0.0, 0.5)), tendons=(rope(longest=1.0),))
    worked = [caught.step() and caught.context.work.work_terms[LIMITS] for _ in range(400)]
    assert sum(worked) == pytest.approx(-G * 0.5, rel=1e-3)  # all that it has fallen
    assert caught.tendons()["rope"].length == pytest.approx(1.0, abs=1e-9)


DRUM = P("world", (0.0, 0.0, 0.0), "cylinder", 0.2, (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))


def test_a_tendon_over_a_drum_is_as_long_as_its_arc():
    """Tangents at 120 degrees: both ends at distance 2 r, 60 degrees below the horizontal."""
    ends = P("world", (-0.4, 0.0, 0.0)), P("ball")
    sim = world(ball(place=(0.4, 0.0, 0.0)), tendons=(rope(ends[0], DRUM, ends[1], stiffness=1.0),))
    assert sim.tendons()["rope"].length == pytest.approx(2 * 0.2 * np.sqrt(3.0) + 0.2 * np.pi / 3.0, abs=1e-14)


def test_atwood_over_a_drum():
    """Without friction both sides pull alike: a = g (m_2 - m_1) / (m_1 + m_2)."""
    path = P("one"), DRUM, P("other")
    bodies = ball("one", (-0.2, 0.0, -1.0), 1.0), ball("other", (0.2, 0.0, -1.0), 1.5)
    sim = world(*bodies, tendons=(rope(*path, longest=2.0 + 0.2 * np.pi),))
    sim.step(steps=100)
    assert sim.v[5] == pytest.approx(G * 0.2 * 0.1, rel=1e-6) and sim.v[11] == pytest.approx(-sim.v[5], rel=1e-6)
    assert sim.tendons()["rope"].tension == pytest.approx(2.0 * G * 1.5 / 2.5, rel=1e-6)


def test_a_drum_that_turns_is_not_dragged_by_a_tendon_on_it():
    """The path slides: on a free drum, the force of the tendon goes through its axis."""
    drum = m.Primitive("drum", "cylinder", (0.2, 0.1), m.Pose((0.0, 0.0, 0.0)), "free", 1.0)
    ends = (P("world", (-0.5, 0.0, 0.1)), P("drum", shape="cylinder", radius=0.2, side=(0.0, 0.5, 0.0)),
            P("world", (0.5, 0.0, 0.1)))  # fmt: skip
    sim = world(drum, tendons=(rope(*ends, tension=10.0),), gravity=(0.0,) * 3)
    sim.step()
    assert sim.v[2] == pytest.approx(0.0, abs=1e-15) and sim.v[4] < -1e-3


def test_a_coupling_of_joints_and_a_spring_over_them():
    """Two hinges of a pendulum: q_1 + 2 q_2 held at 0.3, and a spring over both alone."""
    scene = replace(mb.pendulum(2).scene(), ground=None, primitives=())
    names = mb.Simulator(scene).world.joint_names
    path = tuple(P(joint=name, coefficient=c) for name, c in zip(names, (1.0, 2.0)))
    held = mb.Simulator(replace(scene, tendons=(m.Tendon("sum", path, held_length=0.3),)))
    step = held.step(steps=1000)  # the error goes by 1 rad/s at most
    assert held.q @ (1.0, 2.0) == pytest.approx(0.3, abs=1e-6) and step.certificate.residual < 1e-9
    spring = m.Tendon("sum", path, stiffness=5.0, rest_length=2.0)
    loose = mb.Simulator(replace(scene, tendons=(spring,)))
    M, c = loose.mass_matrix(), np.array([1.0, 2.0])
    h = nonlinear_effects(loose.world, loose.q, np.zeros(2), loose.world.gravity)
    pull = 5.0 * (c @ loose.q - 2.0)
    loose.set_state(loose.q, [0.0, 0.0])
    loose.step()
    v = DT * np.linalg.solve(M + DT**2 * 5.0 * np.outer(c, c), -h - pull * c)
    np.testing.assert_allclose(loose.v, v, rtol=1e-9)


def test_worlds_have_tensions_of_their_own():
    scene = mb.Scene(primitives=(ball(),), tendons=(rope(stiffness=10.0, rest_length=1.0),))
    worlds = mb.Worlds(scene, 2)
    worlds.state.tendon_tension[1] = G
    worlds.step()
    assert worlds.v[:, 5] == pytest.approx([-G * scene.time_step / (1.0 + 10.0 * scene.time_step**2), 0.0], abs=1e-12)


@pytest.mark.parametrize("tendons, message", [
    ((rope(P("ball")),), r"tendons\[0\].path: has no way"),
    ((rope(TOP, P("bull")),), r"tendons\[0\].path\[1\].link: no link is called 'bull'"),
    ((rope(P(joint="knee")),), r"tendons\[0\].path\[0\].joint: no scalar joint is called 'knee'"),
    ((rope(), rope()), r"tendons\[1\].name: 'rope' is used twice"),
    ((rope(shortest=2.0, longest=1.0),), r"tendons\[0\].shortest: 2 m is more than the greatest length"),
    ((rope(TOP, P("ball", shape="sphere", radius=0.1)),), r"path\[1\].shape: a shape has a point before"),
    ((rope(stiffness=1.0, slack=0.1, pulls_only=True),), r"tendons\[0\].slack: has no meaning beside pulls_only"),
    ((rope(slack=0.1, longest=1.0),), r"tendons\[0\].slack: is that of a spring"),
    ((rope(pulls_only=True, longest=1.0),), r"tendons\[0\].pulls_only: is that of a spring"),
    ((rope(rest_length=0.5),), r"tendons\[0\].rest_length: is that of a spring; give the tendon a stiffness"),
    ((rope(held_length=-1.0),), r"tendons\[0\].held_length: -1.0 m is below zero"),
    ((rope(longest=-1.0),), r"tendons\[0\].longest: -1.0 m is below zero"),
    ((rope(held_length=1.0), rope(name="b", held_length=1.1)), r"tendons\[1\].held_length: 1.1 m, and 'rope' holds"),
    ((rope(TOP, P("ball", shape="sphere", radius=0.1, friction=0.1), P("ball"), P("ball", shape="sphere", radius=0.1,
       friction=0.1), TOP, longest=1.0),), r"path\[3\].friction: one shape of a tendon has friction"),
    ((rope(TOP, P("ball", shape="sphere", radius=0.1, friction=0.1), P("ball"), P(divisor=2.0), TOP, P("ball"),
       longest=1.0),), r"path\[1\].friction: friction on a shape is that of a tendon without pulleys"),
    ((rope(held_length=2.0, longest=1.0),), r"tendons\[0\].held_length: 2.0 m is beyond the shortest or longest"),
    ((rope(TOP, P("ball"), P(divisor=2.0, position=(0.0, 0.0, 1.0)), TOP, P("ball")),), r"path\[2\].position: is that"),
    ((rope(TOP, P("ball", axis=(0.0, 1.0, 0.0))),), r"path\[1\].axis: is that of a cylinder"),
    ((rope(TOP, P("ball", coefficient=2.0)),), r"path\[1\].coefficient: has no meaning without a joint"),
])  # fmt: skip
def test_paths_that_are_none_are_refused(tendons, message):
    with pytest.raises(SceneError, match=message):
        world(tendons=tendons)


def test_problems_of_accelerations_refuse_tendons():
    with pytest.raises(InputError, match="know no tendons"):
        mb.studies.next_step_problem(world(tendons=(rope(stiffness=100.0),)))


def test_what_has_no_tendon_says_so():
    with pytest.raises(InputError, match="nothing whose tension can be set"):
        mb.Simulator(mb.Scene(primitives=(ball(),))).set("tension", 1.0)


@pytest.mark.parametrize("place, speed", [(0.5, 1.0), (0.5, -1.0), (-0.001, 0.5)])
def test_a_damped_rope_that_is_loose_or_would_push_has_no_force(place, speed):
    """Loose, lengthening or not; and taut, where the damper d v outweighs the spring k x."""
    damped = rope(stiffness=100.0, damping=50.0, rest_length=1.0, pulls_only=True)
    sim = world(ball(place=(0.0, 0.0, place)), tendons=(damped,), gravity=(0.0,) * 3)
    sim.set_state(sim.q, [0.0] * 5 + [speed])
    step = sim.step()
    assert sim.v[5] == speed and sim.tendons()["rope"].tension == 0.0
    assert sim.context.work.work_terms[DAMPING] == 0.0 and abs(step.certificate.energy_balance) < 1e-3


def test_a_bungee_comes_to_rest_and_never_pushes():
    sim = world(ball(place=(0.0, 0.0, 0.9)), tendons=(rope(stiffness=400.0, damping=10.0, rest_length=0.5,
                                                           pulls_only=True),))  # fmt: skip
    assert min(sim.step() and sim.tendons()["rope"].tension for _ in range(3000)) == 0.0
    assert sim.tendons()["rope"].length == pytest.approx(0.5 + G / 400.0, abs=1e-6)


# --- friction on a shape -----------------------------------------------------------------------------
def over_a_drum(ratio, mu, link="world", **more):
    """Two balls on a rope that goes half around a drum of 0.2 m above them."""
    axis, side = ((0.0, 1.0, 0.0), (0.0, 0.0, 0.25)) if link == "world" else ((0.0, 0.0, 1.0), (0.0, 0.25, 0.0))
    drum = P(link, shape="cylinder", radius=0.2, axis=axis, side=side, friction=mu)
    balls = ball("one", (-0.2, 0.0, -1.0)), ball("two", (0.2, 0.0, -1.0), ratio)
    return (*more.pop("bodies", ()), *balls), (rope(P("one"), drum, P("two"), longest=2.0 + 0.2 * np.pi),), more


@pytest.mark.parametrize("share", [0.999, 1.001, 1.5])
@pytest.mark.parametrize("heavy_first", [False, True])
def test_a_capstan_holds_up_to_e_to_the_mu_theta(share, heavy_first):
    """m_2 / m_1 = e^(mu pi) is held; beyond it slides with T_2 = T_1 e^(mu pi)."""
    k = np.exp(0.3 * np.pi)
    ratio = 1.0 / (share * k) if heavy_first else share * k
    bodies, tendons, more = over_a_drum(ratio, 0.3)
    sim = world(*bodies, tendons=tendons, **more)
    certificate = sim.step(steps=100).certificate
    k = 1.0 / k if heavy_first else k
    a = G * (ratio - k) / (ratio + k) if share > 1.0 else 0.0
    assert -sim.v[11] / sim.time == pytest.approx(a, rel=1e-9, abs=1e-12) and sim.v[5] == pytest.approx(-sim.v[11])
    assert certificate.residual < 1e-12 and abs(certificate.energy_balance) < 5e-3
    one, two = (G + sim.v[i] / sim.time for i in (5, 11))
    assert sim.tendons()["rope"].tension == pytest.approx(0.5 * (one + ratio * two), rel=1e-9)


@pytest.mark.parametrize("mu", [0.05, 0.5])
def test_a_rope_drives_a_drum_by_friction_or_slips_on_it(mu):
    """Without slip a = g (m_2 - m_1) / (m_1 + m_2 + I / r^2); slipping T_2 = T_1 e^(mu pi) alone counts."""
    drum = m.Primitive("drum", "cylinder", (0.4, 0.1), m.Pose((0.0, 0.0, 0.0), (np.pi / 2.0, 0.0, 0.0)), "free", 2.0)
    bodies, tendons, _ = over_a_drum(2.0, mu, "drum", bodies=(drum,))
    sim = world(*bodies, tendons=tendons, loop_closures=(m.Closure("axis", "drum", "world", m.Pose(), name="shaft"),))
    certificate = sim.step(steps=100).certificate
    inertia, k = sim.world.tree.inertia[0][2, 2], np.exp(mu * np.pi)
    a, slips = G / (3.0 + inertia / 0.04), G * (2.0 - k) / (2.0 + k)
    one, two = G + sim.v[11] / sim.time, 2.0 * (G + sim.v[17] / sim.time)  # tensions
    assert sim.v[11] / sim.time == pytest.approx(a if mu > 0.1 else slips, rel=1e-9)
    assert sim.v[1] / sim.time == pytest.approx(0.2 * (two - one) / inertia, rel=1e-9)
    assert abs(0.2 * sim.v[1] - sim.v[11]) < 1e-12 or mu < 0.1
    assert sim.joint_wrench("shaft")[3:] @ sim.joint_wrench("shaft")[3:] == pytest.approx((2.0 * G + one + two) ** 2)
    assert certificate.residual < 1e-12


def test_where_loads_and_friction_come_to_no_agreement_the_certificate_says_so():
    """Four drums in a row with beads of 10 g between them: some steps find no bounds in their rounds."""
    r, places = 0.2, ((0.0, -1.0), (1.0, 0.2), (2.2, -1.0), (3.4, -2.2), (4.6, -3.4))
    drums = ((0.2, 0.0, 0.0, 0.3), (2.0, 0.0, 2.3, 0.3), (2.4, -2.0, 2.1, -2.3), (4.4, -2.4, 4.7, -2.1))
    beads = tuple(ball(f"b{i}", (x, 0.0, z), 1.0 if i in (0, 4) else 0.01) for i, (x, z) in enumerate(places))
    cords = []
    for i, (x, z, side_x, side_z) in enumerate(drums):
        drum = P("world", (x, 0.0, z), "cylinder", r, (0.0, 1.0, 0.0), (side_x, 0.0, side_z), friction=0.5)
        cords.append(m.Tendon(f"t{i}", (P(f"b{i}"), drum, P(f"b{i + 1}")), longest=100.0))
    taut = world(*beads, tendons=tuple(cords), gravity=(0.0,) * 3).tendons()
    cords = [replace(cord, longest=taut[cord.name].length) for cord in cords]
    sim = world(*beads, tendons=tuple(cords), gravity=(0.0,) * 3)
    for name, pull in (("b0", 10.0), ("b4", 60.0)):
        sim.set_external_wrench(name, [0.0, 0.0, 0.0, 0.0, 0.0, -pull])
    for _ in range(20):
        certificate = sim.step().certificate
        assert certificate.solver == "over_budget" or certificate.loop_residual < 1e-9


def test_worlds_and_a_restored_state_have_the_friction_of_the_simulator():
    bodies, tendons, _ = over_a_drum(4.0, 0.3)
    scene = mb.Scene(primitives=bodies, tendons=tendons)
    sim, worlds = mb.Simulator(scene), mb.Worlds(scene, 1)
    sim.step(steps=5)
    saved = sim.save()
    sim.step(steps=15)
    end = sim.q.tobytes()
    worlds.step(steps=20)
    assert worlds.q[0].tobytes() == end
    sim.restore(saved)
    sim.step(steps=15)
    assert sim.q.tobytes() == end


def test_a_sensor_on_what_hangs_from_a_tendon_feels_it():
    sensor = m.Sensor("imu", "imu", "ball")
    sim = world(tendons=(rope(longest=1.0),), sensors=(sensor,))
    sim.step(steps=10)
    assert sim.sensors.read("imu").linear_acceleration == pytest.approx([0.0, 0.0, G], abs=1e-9)


@pytest.mark.parametrize("integrator", ["rk4", "adaptive"])
def test_springs_of_other_integrators_are_of_their_order(integrator):
    """A ball on a spring, damped, pulled by 3 N: the closed form to rounding, and the energy of what it did."""
    spring = rope(P("world"), P("ball"), stiffness=100.0, damping=2.0, rest_length=0.5, tension=3.0)
    sim = world(ball(place=(0.6, 0.0, 0.0)), tendons=(spring,), gravity=(0.0,) * 3, integrator=integrator)
    certificate = sim.step(steps=300).certificate
    w, t = np.sqrt(99.0), sim.time
    x = 0.47 + 0.13 * np.exp(-t) * (np.cos(w * t) + np.sin(w * t) / w)
    assert sim.q[0] == pytest.approx(x, abs=1e-9)
    assert certificate.energy_balance == pytest.approx(0.0, abs=1e-9)
    state = sim.tendons()["rope"]
    assert state.tension == pytest.approx(3.0 + 100.0 * (state.length - 0.5) + 2.0 * state.rate, rel=1e-12)


@pytest.mark.parametrize("more", [{"longest": 1.0}, {"friction": 1.0}, {"held_length": 1.0}])
def test_other_integrators_refuse_tendons_that_are_no_springs(more):
    with pytest.raises(SceneError, match="under rk4 and adaptive tendons have springs"):
        world(tendons=(rope(**more),), integrator="rk4")
