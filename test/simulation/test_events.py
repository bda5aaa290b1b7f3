# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The event scheme: collision times, sequences that end in contact, what holds between events, fast bodies.

Covers core/impact/events.py, simulation/stepping/gap_watch.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import (
    Ground,
    Material,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)
from mb_contact.simulation.stepping import events as event_scheme

COULOMB = ("coulomb_polyhedral", "coulomb_cone")
G = 9.81


def simulator(**options):
    return mb.Simulator(Scene(collision_scheme="event", **options))


def events_until(sim, time):
    events = []
    while sim.time < time - 0.5 * sim.time_step:
        events += sim.step().events
    return events


# --- hops ---------------------------------------------------------------------------------------------------

LOWEST = {  # depth of the lowest point below the centre, from the last row of the rotation
    "capsule": ((0.1, 0.15), lambda z: 0.1 + 0.075 * abs(z[2])),
    "cylinder": ((0.1, 0.15), lambda z: 0.1 * np.hypot(z[0], z[1]) + 0.075 * abs(z[2])),
    "box": ((0.1, 0.15, 0.2), lambda z: 0.5 * np.abs(z) @ (0.1, 0.15, 0.2)),
}


@pytest.mark.parametrize("shape", LOWEST)
def test_hops_that_start_within_rounding_of_the_surface_end(monkeypatch, shape):
    """Turning bodies a few micrometres up: behind an impact the gap is rounding of either sign, no root to stop at."""
    monkeypatch.setattr(event_scheme, "MOST_FLIGHTS", 2000)
    monkeypatch.setattr(event_scheme.EventScheme, "_by_euler", raised)
    size, lowest = LOWEST[shape]
    rng = np.random.default_rng(3)
    body = Primitive("body", shape, size, Pose((0, 0, 1)), "free", 1.0, material="stuff")
    material = Material(0.5, restitution=0.3)
    sim = simulator(primitives=(body,), ground=Ground(material="stuff"), materials={"stuff": material}, time_step=2e-3)
    impacts = 0
    for _ in range(60):
        quat = rng.normal(size=4)
        quat /= np.linalg.norm(quat)
        height = lowest(quat_to_matrix(quat)[2]) + rng.uniform(2e-6, 9e-6)
        sim.set_state(np.r_[0.3, 0.2, height, quat], np.r_[rng.normal(size=3), 0.0, 0.0, -3e-3])
        impacts += len(events_until(sim, sim.time + 0.01))
    assert impacts > 60


def test_a_lying_capsule_stops_rocking():
    """Behind an impact at one end the other one flies: held there, its weight would lift it, and it rocks for ever."""
    body = Primitive("body", "capsule", (0.13, 0.11), Pose((0, 0, 1)), "free", 1.0, material="stuff")
    material = Material(0.5, restitution=0.3)
    sim = simulator(primitives=(body,), ground=Ground(material="stuff"), materials={"stuff": material}, time_step=2e-3)
    tilt = 1e-5
    half = 0.25 * np.pi - 0.5 * tilt
    sim.set_state(np.array([0, 0, 0.130001 + 0.055 * np.sin(tilt), np.cos(half), 0, np.sin(half), 0]), np.zeros(6))
    assert len(events_until(sim, 0.3)) > 10
    assert not events_until(sim, 0.6)


# --- the pendulum -----------------------------------------------------------------------------------------

#: links, t, body, v_n; energies for eps = 0; 0.5 papers, Anitescu-Potra; 1 likewise
FIRST_IMPACT = {
    3: (1.291497370, 2, -10.085474, 198.209737, 205.137814, 204.667226, 225.922045, 215.522442),
    12: (1.389318943, 11, -14.293829, 1016.601149, 1036.355014, 1036.278036, 1095.616610, 1091.301361),
    30: (1.411234193, 27, -14.399174, 2638.998536, 2670.558067, 2642.606853, 2765.236661, 2748.778015),
}
LAWS = (
    (0.0, "papers"), (0.0, "anitescu_potra"), (0.5, "papers"), (0.5, "anitescu_potra"), (1.0, "papers"),
    (1.0, "anitescu_potra"),
)  # fmt: skip


def pendulum(links, eps, law, **options):
    chain = mb.pendulum(links, "first_impact")
    materials = {"sphere": Material(chain.friction, restitution=eps)}
    return mb.Simulator(
        chain.scene(
            materials=materials, collision_scheme="event", restitution_law=law, energy_gain="allow",
            integrator="adaptive", integrator_tolerance=1e-11, **options,
        )
    )  # fmt: skip


@pytest.fixture(scope="module", params=FIRST_IMPACT)
def before_the_impact(request):
    """The state of a pendulum one step before its first impact."""
    links = request.param
    sim = pendulum(links, 0.0, "papers")
    while sim.time < FIRST_IMPACT[links][0] - 2.0 * sim.time_step:
        assert not sim.step().events
    return links, sim.q, sim.v, sim.time


@pytest.mark.parametrize("model", COULOMB)
@pytest.mark.parametrize("case", range(6))
def test_first_impact_of_the_pendulum(before_the_impact, case, model):
    links, q, v, time = before_the_impact
    t, body, speed, *energies = FIRST_IMPACT[links]
    eps, law = LAWS[case]
    sim = pendulum(links, eps, law, friction_model=model)
    sim.set_state(q, v)
    events = sim.step().events + sim.step().events
    event = events[0]
    assert time + event.time == pytest.approx(t, rel=1e-6)
    assert time + event.time == pytest.approx(t, abs=2e-9)
    assert event.links == ((f"link_{body}", "ground"),)
    assert event.speeds[0] == pytest.approx(speed, rel=1e-6)
    assert event.energy_before == pytest.approx(98.1 * links, rel=1e-6)
    assert event.energy_after == pytest.approx(energies[max(case - 1, 0)], rel=1e-6)  # the laws differ from eps > 0 on
    assert event.residual <= 1e-9


# --- one ball ---------------------------------------------------------------------------------------------


def ball(eps=0.5, height=1.0, velocity=(0, 0, 0), **options):
    sphere = Primitive("ball", "sphere", (0.1,), Pose((0, 0, height + 0.1)), "free", 1.0, material="rubber",
                       velocity=Velocity(linear=velocity))  # fmt: skip
    materials = {"rubber": Material(0.5, restitution=eps)}
    return simulator(primitives=(sphere,), ground=Ground(0.0, "rubber"), materials=materials, **options)


@pytest.mark.parametrize("model", COULOMB)
@pytest.mark.parametrize("time_step", [1e-3, 7e-3])
def test_a_bouncing_ball_comes_to_rest_when_it_should(model, time_step):
    """Rest at t_1 (1 + eps) / (1 - eps) = 1.354571 s, apexes eps^2k h; then it stays in contact."""
    sim = ball(friction_model=model, time_step=time_step)
    events = events_until(sim, 1.5)
    first = np.sqrt(2.0 / G)
    times = [event.time for event in events]
    assert times[0] == pytest.approx(first, abs=1e-12)
    assert times[-1] == pytest.approx(3.0 * first, abs=1e-6)
    assert 3.0 * first == pytest.approx(1.354571, abs=5e-7)
    for k, event in enumerate(events[:8]):
        apex = (event.energy_after - 0.1 * G) / G
        assert apex == pytest.approx(0.25 ** (k + 1), rel=1e-6)
        assert times[k] == pytest.approx(first * (1.0 + 2.0 * sum(0.5**j for j in range(1, k + 1))), abs=1e-11)
    step = sim.step()
    assert not step.events and step.contacts["gap"][0] == pytest.approx(0.0, abs=2e-11)
    assert step.contacts["impulse"][0, 2] == pytest.approx(G * time_step, rel=1e-6)
    assert np.abs(sim.v).max() <= 1e-9


@pytest.mark.parametrize("margin", [0.002, 0.0])
@pytest.mark.parametrize("time_step", [0.05, 0.1, 1.0])
def test_steps_in_which_gravity_does_most_of_the_way_miss_no_impact(time_step, margin):
    """A box without margin or velocity does not see the ground that it falls on: substeps are shorter than that."""
    sim = ball(time_step=time_step, contact_margin=margin)
    events = events_until(sim, 2.0)
    assert len(events) == 23
    assert events[0].time == pytest.approx(np.sqrt(2.0 / G), abs=1e-12)
    for k, event in enumerate(events[:8]):
        assert (event.energy_after - 0.1 * G) / G == pytest.approx(0.25 ** (k + 1), rel=1e-6)
    assert sim.q[2] == pytest.approx(0.1, abs=1e-8)  # a fifth of a penetration goes in a step of up to 1 s


@pytest.mark.parametrize("force", [1000.0, 1e5])
@pytest.mark.parametrize("axes", ["world", "link"])
def test_a_strong_push_ends_at_the_ground(force, axes):
    """Over a gap of 4 mm from rest: sqrt(2 g a) at sqrt(2 g / a)."""
    sim = ball(eps=0.0, height=4e-3, time_step=5e-3, gravity=(0, 0, 0))
    sim.set_external_wrench("ball", (0, 0, 0, 0, 0, -force), axes=axes)
    (event,) = sim.step().events
    assert event.time == pytest.approx(np.sqrt(8e-3 / force), rel=1e-9)
    assert event.speeds[0] == pytest.approx(-np.sqrt(8e-3 * force), rel=1e-9)
    assert sim.q[2] == pytest.approx(0.1, abs=1e-9)


def test_a_bar_that_spins_up_hits_what_is_beside_its_tip():
    """Its centre stays where it is: only the turn grows, alpha t^2 / 2."""
    bar = Primitive("bar", "box", (1.0, 0.02, 0.02), Pose((0, 0, 0)), "free", 1.0, (0.1, 0.1, 0.1))
    post = Primitive("post", "sphere", (0.01,), Pose((0.45, 0.1, 0)))
    sim = simulator(primitives=(bar, post), gravity=(0, 0, 0), time_step=0.2)
    sim.set_external_wrench("bar", (0, 0, 5.0, 0, 0, 0))
    (event, *_) = sim.step().events
    reach = np.hypot(0.45, 0.1)
    angle = np.arctan2(0.1, 0.45) - np.arcsin(0.02 / reach)
    assert event.time == pytest.approx(np.sqrt(2.0 * angle / 50.0), rel=1e-6)


def test_contact_impulses_of_a_step_have_those_of_its_events():
    sim = ball(eps=0.6)
    impulse = 0.0
    while sim.time < 1.3:
        sim.step()
        impulse += sim.contact_impulse("ball")[5]
    assert impulse == pytest.approx(G * sim.time + sim.v[5], abs=1e-9)


def test_the_books_balance_to_rounding():
    sim = ball(eps=0.7, velocity=(1.0, 0.0, 0.0))
    worst = 0.0
    while sim.time < 1.2:
        worst = max(worst, abs(sim.step().certificate.energy_balance))
    assert worst <= 1e-8


def test_every_approach_collides_however_many_there_are_in_a_step():
    """A sequence with eps = 0.95 ends in contact too, and the apexes keep to their law until then."""
    sim = ball(eps=0.95, height=1e-4, time_step=0.02)
    events = events_until(sim, 0.5)
    rest = np.sqrt(2e-4 / G) * 1.95 / 0.05
    assert events[-1].time == pytest.approx(rest, rel=1e-2)
    assert len(events) >= 100
    assert max(event.energy_after - event.energy_before for event in events) <= 0.0
    assert np.abs(sim.v).max() <= 1e-9 and abs(sim.q[2] - 0.1) <= 1e-9


# --- contacts that hold -----------------------------------------------------------------------------------


@pytest.mark.parametrize("model", COULOMB)
def test_a_block_on_a_slope_does_not_drift_through_it(model):
    """mu = 0.5 at 35 degrees: 1.608844 m/s after 1 s; the gap stays."""
    angle = np.radians(35.0)
    slope = Primitive("slope", "plane", (), Pose(rpy=(0, angle, 0)), material="wood")
    lift = 0.05 + 1e-12
    block = Primitive(
        "block", "box", (0.2, 0.2, 0.1), Pose((lift * np.sin(angle), 0, lift * np.cos(angle)), rpy=(0, angle, 0)),
        "free", 1.0, material="wood",
    )  # fmt: skip
    sim = simulator(primitives=(slope, block), materials={"wood": Material(0.5)}, friction_model=model)
    worst = 0.0
    for _ in range(1000):
        gaps = sim.step().contacts["gap"]
        assert len(gaps) == 4
        worst = max(worst, np.abs(gaps).max())
    assert worst <= 1e-8
    along = np.array([np.cos(angle), 0.0, -np.sin(angle)])
    assert sim.v[3:] @ along == pytest.approx(1.608844, abs=1e-6)


def test_a_ball_rolls_without_sinking():
    """v0 = 5, mu = 0.2, r = 0.1: rolls at 5/7 v0 after 0.728120 s."""
    sphere = Primitive("ball", "sphere", (0.1,), Pose((0, 0, 0.1)), "free", 1.0, material="wood",
                       velocity=Velocity(linear=(5.0, 0, 0)))  # fmt: skip
    sim = simulator(primitives=(sphere,), ground=Ground(0.0, "wood"), materials={"wood": Material(0.2)})
    since = None
    while sim.time < 1.0:
        step = sim.step()
        if step.contacts["state"][0] == "stick" and since is None:
            since = sim.time
    assert since == pytest.approx(0.728120, abs=2e-3)
    assert sim.v[3] == pytest.approx(5.0 * 5 / 7, rel=1e-3)
    assert abs(sim.q[2] - 0.1) <= 1e-6


# --- several at a time ------------------------------------------------------------------------------------


def test_cradle_with_gaps_is_the_textbook_one():
    """Collisions at different times need no choice: the last ball leaves alone, for all at once too."""
    gap = 1e-3
    row = tuple(
        Primitive(f"b{i}", "sphere", (0.5,), Pose((i * (1.0 + gap), 0, 0)), "free", 1.0, material="steel",
                  velocity=Velocity(linear=(1.0 if i == 0 else 0.0, 0, 0)))
        for i in range(5)
    )  # fmt: skip
    sim = simulator(primitives=row, materials={"steel": Material(0.0, restitution=1.0)}, gravity=(0, 0, 0))
    events = events_until(sim, 0.01)
    assert [event.time for event in events] == pytest.approx([gap * (k + 1) for k in range(4)], abs=1e-12)
    assert sim.v.reshape(-1, 6)[:, 3] == pytest.approx([0, 0, 0, 0, 1], abs=1e-12)


@pytest.mark.parametrize("order, after", [("sequential", [0, 0, 0, 1]), ("all", [-0.5, 0.5, 0.5, 0.5])])
def test_touching_cradle_as_it_was_chosen(order, after):
    row = tuple(
        Primitive(f"b{i}", "sphere", (0.5,), Pose((i - (1e-3 if i == 0 else 0.0), 0, 0)), "free", 1.0, material="steel",
                  velocity=Velocity(linear=(1.0 if i == 0 else 0.0, 0, 0)))
        for i in range(4)
    )  # fmt: skip
    sim = simulator(
        primitives=row, materials={"steel": Material(0.0, restitution=1.0)}, gravity=(0, 0, 0),
        simultaneous_impacts=order,
    )  # fmt: skip
    events = events_until(sim, 0.004)
    assert [event.time for event in events] == pytest.approx([1e-3] * len(events), abs=1e-12)
    assert sim.v.reshape(-1, 6)[:, 3] == pytest.approx(after, abs=1e-9)


WHEEL = """
<robot name="wheel"><link name="wheel"><inertial><mass value="2"/>
  <inertia ixx="0.2" iyy="0.3" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial>{tips}</link></robot>"""
TIP = '<collision><origin xyz="{x!r} 0 {z!r}"/><geometry><sphere radius="1e-10"/></geometry></collision>'


@pytest.mark.parametrize("model", COULOMB)
def test_rimless_wheel_from_spoke_to_spoke(model):
    """omega+/omega- = (I + m l^2 cos 45) / (I + m l^2) at every foot-fall, on level ground until it tips back."""
    m, spoke, moment = 2.0, 0.7, 0.3
    angles = np.pi / 8 + np.pi / 4 * np.arange(8)
    feet = [TIP.format(x=float(spoke * np.sin(a)), z=float(-spoke * np.cos(a))) for a in angles]
    text = WHEEL.format(tips="".join(feet))
    omega, height = 2.6, spoke * np.cos(np.pi / 8) + 1e-10
    foot = spoke * np.array([np.sin(np.pi / 8), 0, -np.cos(np.pi / 8)])
    wheel = SceneModel(
        text, base="free", pose=Pose((0, 0, height)), materials=ModelMaterials(default="rubber"),
        velocity=Velocity((0, omega, 0), tuple(-np.cross([0, omega, 0], foot))),
    )  # fmt: skip
    sim = simulator(models=(wheel,), ground=Ground(0.0, "rubber"), materials={"rubber": Material(2.0)},
                    friction_model=model, integrator="adaptive", integrator_tolerance=1e-11)  # fmt: skip
    ratio = (moment + m * spoke**2 * np.cos(np.pi / 4)) / (moment + m * spoke**2)
    events = events_until(sim, 1.0)
    assert len(events) >= 2
    potential = m * G * height
    for event in events:
        before, after = event.energy_before - potential, event.energy_after - potential
        assert np.sqrt(after / before) == pytest.approx(ratio, rel=1e-6)  # the foot has turned in held impulses


def test_boxes_dropped_together_come_to_rest():
    boxes = tuple(
        Primitive(f"box{i}", "box", (0.2, 0.2, 0.1), Pose((0.01 * i, 0, 0.06 + 0.11 * i)), "free", 1.0, material="wood")
        for i in range(3)
    )
    sim = simulator(primitives=boxes, ground=Ground(0.0, "wood"), materials={"wood": Material(0.5, restitution=0.3)})
    events = events_until(sim, 0.6)
    assert events and max(e.energy_after - e.energy_before for e in events) <= 1e-9
    assert np.abs(sim.v).max() <= 1e-5
    assert sim.q.reshape(-1, 7)[:, 2] == pytest.approx([0.05, 0.15, 0.25], abs=1e-6)


# --- fast bodies ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("speed", [20.0, 500.0, 3000.0])
def test_a_bullet_meets_a_thin_plate(speed):
    """5 mm thick, while the bullet flies up to 3 m in a step."""
    plate = Primitive("plate", "box", (0.005, 1.0, 1.0), Pose((1.0, 0, 0)), material="steel")
    bullet = Primitive("bullet", "sphere", (0.004,), Pose((0, 0, 0)), "free", 0.01, material="steel",
                       velocity=Velocity(linear=(speed, 0, 0)))  # fmt: skip
    sim = simulator(primitives=(plate, bullet), materials={"steel": Material(0.2, restitution=0.5)}, gravity=(0, 0, 0))
    (event,) = events_until(sim, 1.1 / speed + 1e-3)
    assert event.time == pytest.approx((1.0 - 0.0025 - 0.004) / speed, rel=1e-9)
    assert sim.v[3] == pytest.approx(-0.5 * speed, rel=1e-9)


def test_a_body_that_only_passes_by_meets_nothing():
    post = Primitive("post", "box", (0.1, 0.1, 1.0), Pose((1.0, 0, 0)))
    ball = Primitive("ball", "sphere", (0.05,), Pose((0, 0.1 + 1e-7, 0)), "free", 1.0,
                     velocity=Velocity(linear=(50.0, 0, 0)))  # fmt: skip
    sim = simulator(primitives=(post, ball), gravity=(0, 0, 0))
    assert not events_until(sim, 0.04)
    assert sim.v[3:] == pytest.approx([50.0, 0, 0])


# --- the step as such -------------------------------------------------------------------------------------


def test_same_bits_after_restore():
    sim = ball(eps=0.8, velocity=(0.3, 0.1, 0.0))
    events_until(sim, 0.44)
    state = sim.save()
    once = [(sim.step().events, sim.q) for _ in range(100)]
    sim.restore(state)
    for events, q in once:
        again = sim.step().events
        assert (sim.q == q).all() and [e.time for e in again] == [e.time for e in events]


def test_a_failed_step_leaves_the_state(monkeypatch):
    sim = ball(eps=0.5, height=1e-4)
    sim.set_state(sim.q, [0, 0, 0, 0, 0, -3.0])
    q, v, time = sim.q, sim.v, sim.time
    monkeypatch.setattr(sim.context.contact_step, "impulses", lambda handle: 3)
    with pytest.raises(mb.DynamicsError):
        sim.step()
    assert (sim.q == q).all() and (sim.v == v).all() and sim.time == time
    monkeypatch.undo()
    assert len(sim.step().events) == 1


def everything(sim):
    work = sim.context.work
    parts = [sim.q, sim.v, sim.contact_impulse("ball"), work.joint_effort.copy(), work.work_terms.copy()]
    return [part.tobytes() for part in parts] + [sim.time, sim.energy(), sim.state.wrench_end.tolist()]


def raised(*_args, **_options):
    raise ValueError("f(a) and f(b) must have different signs")


@pytest.mark.parametrize("what", ["brentq", "rest"])
def test_a_step_that_breaks_off_leaves_everything(monkeypatch, what):
    """After the first of its impacts, in the search for the next one or in the rest that is left to time stepping."""
    sim, other = ball(eps=0.5, height=1e-2), ball(eps=0.5, height=1e-2)
    for each in (sim, other):
        while not each.step().events:
            pass
        each.time_step = 0.2
    sim.set_external_wrench("ball", (0, 0, 0, 0, 0, -1.0), duration=1e-4)
    other.set_external_wrench("ball", (0, 0, 0, 0, 0, -1.0), duration=1e-4)
    before = everything(sim)
    if what == "brentq":
        monkeypatch.setattr(scipy.optimize, "brentq", raised)
    else:
        monkeypatch.setattr(event_scheme, "MOST_FLIGHTS", 100)
        monkeypatch.setattr(event_scheme.EventScheme, "_publish", raised)
    with pytest.raises(mb.DynamicsError if what == "brentq" else ValueError, match="f\\(a\\)"):
        sim.step()
    assert everything(sim) == before
    monkeypatch.undo()
    assert [e.time for e in sim.step().events] == [e.time for e in other.step().events]
    assert everything(sim) == everything(other)


def heap(bodies, seed, restitution):
    """Mixed bodies of 1e-6 to 1e6 kg that hang above the ground in layers of four, some of them in each other."""
    rng = np.random.default_rng(seed)
    shapes = ("sphere", (0.05,)), ("box", (0.1, 0.08, 0.06)), ("cylinder", (0.04, 0.1)), ("capsule", (0.03, 0.06))
    primitives = []
    for i in range(bodies):
        kind, size = shapes[i % 4]
        (layer, rest), sway = divmod(i, 4), 0.02 * rng.normal(size=2)
        place = (0.13 * (rest // 2) + sway[0], 0.13 * (rest % 2) + sway[1], 0.1 + 0.14 * layer)
        turn, mass = tuple(rng.uniform(-3.0, 3.0, 3)), float(10 ** rng.uniform(-6, 6))
        primitives.append(Primitive(f"body_{i}", kind, size, Pose(place, turn), "free", mass, material="stuff"))
    material = Material(0.5, restitution=restitution)
    return simulator(primitives=tuple(primitives), ground=Ground(material="stuff"), materials={"stuff": material})


def test_the_work_of_a_step_is_bounded(monkeypatch):
    """A gram between tons takes steps of microseconds: 16,000 substeps of one step of 1 ms were not the end of it."""
    monkeypatch.setattr(event_scheme, "MOST_FLIGHTS", 3000)
    sim, left = heap(30, 4, 0.9), []
    for _ in range(10):
        certificate = sim.step().certificate
        assert sim.context.events.flights < 3000 + 500  # it ends with the substep in which the bound is passed
        assert certificate.residual <= 1e-8 and np.isfinite(sim.v).all()
        left.append(certificate.time_stepped)
    assert 0.0 < max(left) < 1e-3 and min(left) == 0.0 and sim.time == pytest.approx(0.01)


def test_what_is_left_of_a_step_is_a_step_of_time_stepping(monkeypatch):
    """A ball that has its impacts all the same stops in the rest, and lies on the ground."""
    sim = ball(eps=0.5, height=1e-2)
    monkeypatch.setattr(event_scheme, "MOST_FLIGHTS", 60)
    step = sim.step(time_step=0.2)
    assert step.events and 0.0 < step.certificate.time_stepped < 0.2 and sim.time == 0.2
    assert sim.step().certificate.time_stepped == 0.0
    for _ in range(10):
        step = sim.step()
    assert step.contacts["gap"] == pytest.approx(0.0, abs=1e-9) and np.abs(sim.v).max() <= 1e-9


@pytest.mark.parametrize("model", ["no_slip", "viscous", "coulomb_viscous"])
def test_models_without_impacts_are_refused(model):
    with pytest.raises(mb.SceneError, match="collision_scheme: 'event' needs friction_model coulomb_polyhedral or"):
        mb.build_world(Scene(collision_scheme="event", friction_model=model))


def test_scene_file_takes_the_scheme(tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text("collision_scheme: event\nground: {}\n")
    assert mb.load_scene(file).collision_scheme == "event"


def test_substeps_push_out_as_slowly_as_a_step():
    """A ball that lies 1 um deep leaves at a fifth of that a step, however short another ball's hops make substeps."""
    balls = [Primitive(name, "sphere", (0.1,), Pose((x, 0.0, z)), "free", 1.0, material="stuff")
             for name, x, z in (("deep", 0.0, 0.1 - 1e-6), ("hops", 1.0, 0.1 + 1e-5))]  # fmt: skip
    material = Material(0.5, restitution=0.9)
    sim = simulator(primitives=tuple(balls), ground=Ground(material="stuff"), materials={"stuff": material})
    fastest, events = 0.0, 0
    for _ in range(20):
        events += len(sim.step().events)
        fastest = max(fastest, abs(sim.v[5]))
    assert events > 10 and fastest <= 0.2 * 1e-6 / sim.time_step * (1.0 + 1e-6)
