# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts in two phases under each impact law: closed forms, two cones, energy, and what the simulator publishes.

Covers core/impact/selection.py, simulation/stepping/impacts.py, simulation/stepping/largest_factor.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.solve.system import BLOCKS, ROWS
from mb_contact.model.scene import (
    Closure,
    CollisionFilters,
    Ground,
    Material,
    MaterialPair,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Velocity,
)
from mb_contact.simulation.stepping.impacts import Impacts
from mb_contact.studies.impact_laws import LAWS
from mb_contact.types import NOT_FINITE, WORLD

pytestmark = pytest.mark.quick

COULOMB = ("coulomb_polyhedral", "coulomb_cone")
NO_GRAVITY = (0.0, 0.0, 0.0)


# --- closed forms -------------------------------------------------------------------------------------

ROD = """
<robot name="rod"><link name="rod">
  <inertial><mass value="1"/><inertia ixx="0.3333333333333333" iyy="0.3333333333333333" izz="1e-9"
    ixy="0" ixz="0" iyz="0"/></inertial>
  {tips}</link></robot>"""
TIP = '<collision name="{name}"><origin xyz="{x} 0 {z}"/><geometry><sphere radius="1e-12"/></geometry></collision>'


def tips(points):
    return "".join(TIP.format(name=f"tip_{i}", x=repr(float(x)), z=repr(float(z))) for i, (x, z) in enumerate(points))


@pytest.mark.parametrize("model", COULOMB)
@pytest.mark.parametrize("eps", [0.0, 0.5, 1.0])
def test_rod_on_a_frictionless_floor_at_45_degrees(model, eps):
    """omega = 0.848528 v / l without restitution, (1 + eps) times that with it; half-length 1 and v = 3 m/s."""
    speed, height = 3.0, np.sin(np.pi / 4)
    scene = Scene(
        models=(
            SceneModel(
                ROD.format(tips=tips([(0, -1), (0, 1)])), base="free", pose=Pose((0, 0, height), rpy=(0, np.pi / 4, 0)),
                velocity=Velocity(linear=(0, 0, -speed)),
            ),
        ),
        ground=Ground(material="ice"), materials={"ice": Material(0.0, restitution=eps)},
        pairs=(), gravity=NO_GRAVITY, friction_model=model,
    )  # fmt: skip
    scene = with_material(scene, "ice")
    sim = mb.Simulator(scene)
    sim.step()
    assert abs(sim.v[1]) == pytest.approx((1 + eps) * 0.8485281374238571 * speed, rel=1e-9)


def with_material(scene, name):
    """The same scene with all links of its models made of one material."""
    models = tuple(replace(model, materials=ModelMaterials(default=name)) for model in scene.models)
    return replace(scene, models=models)


@pytest.mark.parametrize("directions", [8, None])
def test_rimless_wheel_loses_what_the_spoke_angle_says(directions):
    """8 spokes: omega+/omega- = (I + m l^2 cos 45) / (I + m l^2); the trailing foot lifts by itself."""
    m, spoke, moment, omega = 2.0, 0.7, 0.3, -1.9
    half = np.pi / 8
    urdf = ROD.replace('value="1"', f'value="{m}"').replace("0.3333333333333333", repr(moment)).format(tips="")
    model = mb.build_world(Scene(models=(SceneModel(urdf, base="free"),)))
    height = spoke * np.cos(half)
    trailing, leading = (np.array([sign * spoke * np.sin(half), 0.0, 0.0]) for sign in (1.0, -1.0))
    q = np.array([0, 0, height, 0, 0, 0, 1.0])
    w = np.array([0.0, omega, 0.0])
    v = np.concatenate([w, np.cross(w, np.array([0, 0, height]) - trailing)])
    contacts = [mb.studies.ContactPoint(0, WORLD, x, np.array([0, 0, 1.0]), 0.0, 5.0) for x in (trailing, leading)]
    after = mb.studies.collide(model, q, v, contacts, 0.0, directions=directions)
    ratio = (moment + m * spoke**2 * np.cos(2 * half)) / (moment + m * spoke**2)
    assert after.v_after[1] / omega == pytest.approx(ratio, rel=1e-7)
    assert after.impulses[0] == pytest.approx(np.zeros(3), abs=1e-9)


# --- the simulator ------------------------------------------------------------------------------------


def ball(eps=0.5, height=1.0, radius=0.1, **options):
    """A simulator of a ball of 1 kg at ``height`` above the ground."""
    sphere = Primitive("ball", "sphere", (radius,), Pose((0, 0, height + radius)), "free", 1.0, material="rubber")
    materials = {"rubber": Material(0.5, restitution=eps)}
    return mb.Simulator(Scene(primitives=(sphere,), ground=Ground(0.0, "rubber"), materials=materials, **options))


@pytest.mark.parametrize("model", COULOMB)
def test_a_bouncing_ball_and_its_events(model):
    sim = ball(friction_model=model)
    heights, events, impulse = [], [], 0.0
    for _ in range(1500):
        step = sim.step()
        events += step.events
        impulse += sim.contact_impulse("ball")[5]
        heights.append(sim.q[2] - 0.1)
    first = events[0]
    assert max(heights[460:900]) == pytest.approx(0.25, rel=0.01)  # eps^2 h
    assert min(heights) >= -1e-6
    assert first.time == pytest.approx(np.sqrt(2.0 / 9.81), abs=1e-3)
    assert first.links == (("ball", "ground"),)
    assert first.speeds[0] == pytest.approx(-np.sqrt(2.0 * 9.81), rel=2e-3)
    assert first.compression[0] == pytest.approx([0.0, 0.0, -first.speeds[0]], abs=1e-12)
    assert first.decompression[0] == pytest.approx(0.5 * first.compression[0], abs=1e-12)
    assert first.energy_after - first.energy_before == pytest.approx(-0.75 * 0.5 * first.speeds[0] ** 2, rel=1e-12)
    assert (first.law, first.scale) == ("anitescu_potra", 1.0)
    assert all(event.residual <= 1e-9 for event in events)
    assert sim.time == pytest.approx(1.5)
    assert impulse == pytest.approx(9.81 * sim.time + sim.v[5], rel=1e-9)  # gravity's momentum, impacts included
    assert heights[-1] == pytest.approx(0.0, abs=1e-6)
    assert events[-1].time == pytest.approx(1.354571, rel=0.02)


def test_the_books_hold_the_work_of_impacts():
    """What impacts and contacts take is work done; left is m g v dt / 2, by which Euler's velocities come late."""
    sim = ball(eps=0.7)
    for _ in range(3000):
        step = sim.step()
        late = 0.5 * 9.81 * sim.v[5] * sim.time_step
        assert step.certificate.energy_balance == pytest.approx(late, abs=1e-11)
    assert np.abs(sim.v).max() <= 1e-9 and sim.energy() == pytest.approx(0.1 * 9.81, abs=1e-9)  # at rest


@pytest.mark.parametrize("model", [*COULOMB, "no_slip", "viscous"])
def test_a_landing_without_restitution_is_an_event_of_the_steps_own_problem(model):
    """It lands on the surface, not before it; the impulse may take two steps, each of which is an event."""
    sim = ball(eps=0.0, height=0.1, friction_model=model)
    events = [e for _ in range(300) for e in sim.step().events]
    assert 1 <= len(events) <= 2
    assert {e.law for e in events} == {"inelastic"}
    assert events[0].speeds[0] == pytest.approx(-np.sqrt(2 * 9.81 * 0.1), rel=1e-2)
    assert sum(e.compression[0, 2] for e in events) == pytest.approx(np.sqrt(2 * 9.81 * 0.1), rel=2e-2)
    assert sum(e.energy_before - e.energy_after for e in events) == pytest.approx(9.81 * 0.1, rel=2e-2)
    assert abs(sim.q[2] - 0.1) <= 1e-9


def test_no_impact_below_the_threshold():
    assert not [e for _ in range(60) for e in ball_dropped(impact_threshold=0.3).step().events]
    sim = ball_dropped(impact_threshold=0.1)
    assert len([e for _ in range(60) for e in sim.step().events]) >= 1


def ball_dropped(**options):
    return ball(eps=0.5, height=0.004, **options)  # 0.28 m/s


@pytest.mark.parametrize("model", COULOMB)
def test_a_box_that_lands_flat_keeps_flat(model):
    box = Primitive("box", "box", (0.2, 0.3, 0.1), Pose((0, 0, 0.3)), "free", 2.0, material="rubber")
    materials = {"rubber": Material(0.5, restitution=0.4)}
    sim = mb.Simulator(
        Scene(primitives=(box,), ground=Ground(0.0, "rubber"), materials=materials, friction_model=model)
    )
    events = [e for _ in range(400) for e in sim.step().events]
    assert events[0].compression[:, 2] == pytest.approx(np.full(4, events[0].compression[:, 2].mean()), rel=1e-6)
    assert np.abs(sim.v[:3]).max() <= 1e-6
    assert max(e.residual for e in events) <= 1e-8


def cradle(balls, **options):
    """Touching balls in a row without friction or gravity; the first one arrives at 1 m/s."""
    row = [Primitive("b0", "sphere", (0.5,), Pose((-0.0005, 0, 0)), "free", 1.0, material="steel",
                     velocity=Velocity(linear=(1, 0, 0)))]  # fmt: skip
    row += [
        Primitive(f"b{i}", "sphere", (0.5,), Pose((float(i), 0, 0)), "free", 1.0, material="steel")
        for i in range(1, balls)
    ]
    materials = {"steel": Material(0.0, restitution=1.0)}
    sim = mb.Simulator(Scene(primitives=tuple(row), materials=materials, gravity=NO_GRAVITY, **options))
    events = [e for _ in range(3) for e in sim.step().events]
    return sim.v.reshape(-1, 6)[:, 3], events


@pytest.mark.parametrize("model", COULOMB)
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("balls", [2, 3, 5])
def test_cradle_one_pair_after_the_other_is_the_textbook_one(law, model, balls):
    v, events = cradle(balls, simultaneous_impacts="sequential", restitution_law=law, friction_model=model)
    assert v == pytest.approx([0.0] * (balls - 1) + [1.0], abs=1e-9)
    assert len(events) == balls - 1


@pytest.mark.parametrize("balls", [3, 5])
def test_cradle_all_at_once(balls):
    """Poisson: all compress to 1/n and recover as much. Newton: what did not approach does not separate."""
    poisson, events = cradle(balls)
    assert poisson == pytest.approx([2 / balls - 1] + [2 / balls] * (balls - 1), abs=1e-9)
    assert len(events) == 1 and events[0].energy_after == pytest.approx(0.5)
    newton, _ = cradle(balls, restitution_law="newton")
    assert newton == pytest.approx([2 / balls - 1] + [2 / balls] * (balls - 1), abs=1e-9)


@pytest.mark.parametrize("model", COULOMB)
def test_newtons_law_at_the_pendulum_creates_energy_and_is_refused(model):
    """First impact of three links: 294.30 J become 438.88 J, or exactly 294.30 J with scaled restitution."""
    state = first_contact(3)
    for gain, energy in (("allow", 438.8799564), ("refuse", 294.30)):
        sim = pendulum_at(3, *state, restitution=0.5, restitution_law="newton", energy_gain=gain, friction_model=model,
                          time_step=3e-9)  # the state is that of the impact, up to its accelerations over a step
        (event,) = sim.step().events
        assert event.energy_before == pytest.approx(294.30, rel=1e-8)
        assert event.energy_after == pytest.approx(energy, rel=1e-8)
        assert (event.scale == 1.0) == (gain == "allow")
        assert event.residual <= 1e-9


def pendulum_at(links, q, v, **options):
    """Simulator of the 12 m pendulum of the first-impact table, in the state (q, v)."""
    chain = mb.pendulum(links, "first_impact")
    eps = options.pop("restitution")
    materials = {"sphere": Material(chain.friction, restitution=eps)}
    sim = mb.Simulator(chain.scene(materials=materials, **options))
    sim.set_state(q, v)
    return sim


def first_contact(links, until=1.291497370):
    """State of the pendulum at its first impact, by RK4 on the forward dynamics at 1 ms."""
    world = mb.build_world(mb.pendulum(links, "first_impact").scene())
    x = np.concatenate([world.q0, world.v0])
    n = len(world.q0)

    def rate(x):
        q, v = np.ascontiguousarray(x[:n]), np.ascontiguousarray(x[n:])
        return np.concatenate([v, mb.forward_dynamics(world, q, v, np.zeros(n), gravity=world.gravity)])

    steps = int(np.ceil(until / 1e-3))
    h = until / steps
    for _ in range(steps):
        k1 = rate(x)
        k2 = rate(x + h / 2 * k1)
        k3 = rate(x + h / 2 * k2)
        x = x + h / 6 * (k1 + 2 * k2 + 2 * k3 + rate(x + h * k3))
    return x[:n], x[n:]


def test_a_joint_limit_that_is_reached_takes_part():
    """A bar at its stop is hit: the limit carries what the hinge would have given way to."""
    urdf = """
<robot name="bar"><link name="base"/><link name="bar"><inertial><origin xyz="0.5 0 0"/><mass value="1"/>
  <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial>
  <collision><origin xyz="0.9 0 0"/><geometry><sphere radius="0.1"/></geometry></collision></link>
  <joint name="hinge" type="revolute"><parent link="base"/><child link="bar"/><axis xyz="0 1 0"/>
  <limit lower="-1" upper="0" effort="0" velocity="9"/></joint></robot>"""
    hammer = Primitive("hammer", "sphere", (0.1,), Pose((0.9, 0, 0.2)), "free", 1.0, material="steel",
                       velocity=Velocity(linear=(0, 0, -1.0)))  # fmt: skip
    scene = Scene(
        models=(SceneModel(urdf),), primitives=(hammer,), gravity=NO_GRAVITY,
        materials={"steel": Material(0.0, restitution=0.5)},
    )  # fmt: skip
    sim = mb.Simulator(with_material(scene, "steel"))
    (event,) = sim.step().events
    assert sim.v[0] == pytest.approx(0.0, abs=1e-9)
    assert sim.v[6] == pytest.approx(0.5, abs=1e-9)
    assert sim.joint_efforts()[0] * sim.time_step == pytest.approx(-0.9 * 1.5, rel=1e-9)


def test_a_failed_step_leaves_the_velocity_before_its_impact():
    sim = ball(eps=0.5, height=0.001)
    sim.set_state(sim.q, [0, 0, 0, 0, 0, -3.0])
    q, v, energy = sim.q, sim.v, sim.energy()
    solve = sim.context.contact_step.solve

    def fails(handle):
        return NOT_FINITE

    sim.context.contact_step.solve = fails
    with pytest.raises(mb.DynamicsError):
        sim.step()
    assert (sim.q == q).all() and (sim.v == v).all()
    sim.context.contact_step.solve = solve
    (event,) = sim.step().events
    assert event.energy_before == pytest.approx(energy)


def test_same_bits_after_restore():
    sim = ball(eps=0.8)
    for _ in range(440):
        sim.step()
    state = sim.save()
    once = [(sim.step().events, sim.q) for _ in range(200)]
    sim.restore(state)
    for events, q in once:
        again = sim.step().events
        assert (sim.q == q).all() and len(again) == len(events)
        assert all((a.impulses == b.impulses).all() and a.time == b.time for a, b in zip(again, events))


# --- scenes and input ---------------------------------------------------------------------------------


def test_restitution_of_a_pair_is_the_geometric_mean_or_its_own():
    balls = tuple(
        Primitive(name, "sphere", (0.1,), Pose((i, 0, 1)), "free", 1.0, material=name)
        for i, name in enumerate(("a", "b", "c"))
    )
    materials = {"a": Material(0.5, restitution=0.9), "b": Material(0.5, restitution=0.4), "c": Material(0.5)}
    world = mb.build_world(
        Scene(primitives=balls, materials=materials, pairs=(MaterialPair(("a", "c"), 0.3, restitution=0.7),))
    )
    assert world.restitution == pytest.approx([0.6, 0.7, 0.0])


@pytest.mark.parametrize(
    "material, options, message",
    [
        ({"restitution": 1.5}, {}, "materials.m.restitution: must be at most 1"),
        ({"restitution": -0.1}, {}, "materials.m.restitution: must be at least 0, got -0.1"),
        ({"restitution": 0.5}, {"friction_model": "no_slip"}, "got no_slip: impacts under the others are inelastic"),
        ({"restitution": 0.5}, {"friction_model": "viscous"}, "coulomb_polyhedral or coulomb_cone"),
        ({}, {"restitution_law": "poisson"}, "restitution_law: 'poisson' is not known"),
        ({}, {"simultaneous_impacts": "some"}, "simultaneous_impacts: 'some' is not known"),
        ({}, {"energy_gain": "maybe"}, "energy_gain: 'maybe' is not known"),
        ({}, {"impact_threshold": -1.0}, "impact_threshold: must be at least 0, got -1"),
    ],
)
def test_scenes_that_are_refused(material, options, message):
    with pytest.raises(mb.SceneError, match=message):
        mb.build_world(Scene(materials={"m": Material(**material)}, **options))


def test_scene_file_keys(tmp_path):
    file = tmp_path / "scene.yaml"
    file.write_text(
        "materials: {rubber: {friction: 0.9, restitution: 0.6}, steel: {friction: 0.2}}\n"
        "pairs: [{materials: [rubber, steel], friction: 0.4, restitution: 0.3}]\n"
        "restitution_law: papers\nimpact_threshold: 0.05\nsimultaneous_impacts: sequential\nenergy_gain: allow\n"
    )
    scene = mb.load_scene(file)
    assert (scene.materials["rubber"].restitution, scene.pairs[0].restitution) == (0.6, 0.3)
    assert (scene.restitution_law, scene.impact_threshold) == ("papers", 0.05)
    assert (scene.simultaneous_impacts, scene.energy_gain) == ("sequential", "allow")


def test_a_loop_stays_closed_in_an_impact():
    """Two balls welded by a loop, one hits the floor: as one rigid dumb-bell would; its other ball joins in."""
    apart, r, m, eps, speed = 1.0, 0.1, 1.0, 0.5, -2.0
    balls = tuple(
        Primitive(name, "sphere", (r,), Pose((i * apart, 0, r + 1e-9)), "free", m, material=material,
                  velocity=Velocity(linear=(0, 0, speed)))
        for i, (name, material) in enumerate((("near", "rubber"), ("far", None)))
    )  # fmt: skip
    scene = Scene(
        primitives=balls, ground=Ground(0.0, "rubber"), gravity=NO_GRAVITY, time_step=1e-8,  # it turns meanwhile
        materials={"rubber": Material(0.0, restitution=eps)},
        collision_filters=CollisionFilters(disable=(("far", "ground"), ("near", "far"))),
        loop_closures=(Closure("weld", "near", "far", pose_a=Pose((apart, 0, 0))),),
    )  # fmt: skip
    sim = mb.Simulator(scene)
    (event,) = sim.step().events
    moment = 2 * (0.4 * m * r**2 + m * (apart / 2) ** 2)
    impulse = -(1 + eps) * speed / (1 / (2 * m) + (apart / 2) ** 2 / moment)
    assert event.impulses[0] == pytest.approx([0.0, 0.0, impulse], rel=1e-9)
    omega, lift = (apart / 2) * impulse / moment, speed + impulse / (2 * m)
    near, far = sim.v[:6], sim.v[6:]
    assert near == pytest.approx([0, omega, 0, 0, 0, lift + omega * apart / 2], abs=1e-7)
    assert far == pytest.approx([0, omega, 0, 0, 0, lift - omega * apart / 2], abs=1e-7)
    change = 0.5 * 2 * m * (lift**2 - speed**2) + 0.5 * moment * omega**2
    assert event.energy_after - event.energy_before == pytest.approx(change, rel=1e-9)


def test_impacts_of_a_folded_chain_are_certified_from_the_problem_as_posed(monkeypatch):
    """Impulses of 4e5 N s on a contact of compliance 2e-11: the rounding of the impulse sweep would count as 5e-6."""
    compress, worst = Impacts._compress, []

    def judged(self, handle):
        status, P = compress(self, handle), self.context.system
        rows = int(P.count[ROWS])
        W = P.W[np.ix_(P.source[:rows], P.source[:rows])].astype(np.longdouble)
        normal = np.array([i for i in P.blocks.start[: P.count[BLOCKS]] if not P.immobile[i]], np.int64)
        gap = np.minimum(P.r[normal], ((W @ P.r[:rows] + P.q[:rows])[normal] / P.blocks.D[normal]))
        worst.append(float(np.abs(gap * np.sqrt(P.blocks.D[normal])).max(initial=0.0)))
        return status

    monkeypatch.setattr(Impacts, "_compress", judged)
    sim, events = mb.Simulator(mb.pendulum(30).scene()), []
    for _ in range(4700):
        events += sim.step().events
    assert len(events) >= 20 and max(worst) <= 1e-10  # the normals' laws hold,
    assert max(event.residual for event in events) <= 1e-9  # and the certificates say so: 2e-15 m/s count as 4e-10
