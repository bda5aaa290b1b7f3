# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts in two phases: three laws, two cones, energy, and what the simulator publishes of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
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
from mb_contact.solvers.blocks import CONTACT, UNILATERAL, solve_blocks
from mb_contact.studies.impact_laws import LAWS
from mb_contact.types import NOT_FINITE, WORLD
from oracles.dense_oracle import random_forest, random_state
from scenes.contact_problems import random_problem

COULOMB = ("coulomb_polyhedral", "coulomb_cone")
NO_GRAVITY = (0.0, 0.0, 0.0)


# --- the laws on W and u ------------------------------------------------------------------------------


def judge(W, u, mu, theta, r, directions):
    """Residual of r_n - theta _|_ u_n and of friction bounded by mu r_n, in NumPy; r are total impulses."""
    n = len(mu)
    w = W @ r + u
    normal = 3 * np.arange(n)
    scale = np.sqrt(np.diag(W))
    worst = np.abs(np.minimum((r[normal] - theta) * scale[normal], w[normal] / scale[normal])).max()
    limits = slice(3 * n, None)
    worst = max(worst, np.abs(np.minimum(r[limits] * scale[limits], w[limits] / scale[limits])).max(initial=0.0))
    for i in range(n):
        t, v, s = r[3 * i + 1 : 3 * i + 3], w[3 * i + 1 : 3 * i + 3], scale[3 * i + 1 : 3 * i + 3].mean()
        bound = mu[i] * r[3 * i]
        if directions is None:  # maximal dissipation on the disc
            x = t - v / s**2
            size = np.linalg.norm(x)
            worst = max(worst, s * np.linalg.norm(t - x * min(1.0, bound / size if size else 1.0)))
            continue
        angle = 2 * np.pi * np.arange(directions) / directions
        D = np.column_stack([np.cos(angle), np.sin(angle)])
        edge = np.cos(np.pi / directions)  # support lines of the polygon at its edges
        middle = np.column_stack([np.cos(angle + np.pi / directions), np.sin(angle + np.pi / directions)])
        worst = max(worst, s * ((middle @ t).max() - bound * edge))
        worst = max(worst, s * abs(t @ v - (bound * D @ v).min()) / (1.0 + np.linalg.norm(v)))
    return worst


def posed(seed, contacts=3, limits=1, dof=8, **options):
    """W and u of a random collision, coefficients of its contacts."""
    problem = random_problem([seed, contacts], contacts, limits, dof, tight=1.0, **options)
    eps = np.random.default_rng(seed).uniform(0.0, 1.0, contacts)
    return problem, problem.W, problem.q, problem.mu[:contacts], eps


@pytest.mark.parametrize("directions", [4, 8, None])
@pytest.mark.parametrize("law", LAWS)
def test_both_phases_solve_the_problem_of_their_law(law, directions):
    for seed in range(12):
        _, W, u, mu, eps = posed(seed)
        phases = mb.studies.two_phases(W, u, mu, eps, law=law, directions=directions, energy_gain="allow")
        normal = 3 * np.arange(len(mu))
        assert judge(W, u, mu, 0.0, phases.compression, directions) <= 1e-9
        theta = np.zeros(len(u))
        theta[normal] = eps * phases.compression[normal]
        if law == "newton":
            wanted = u.copy()
            wanted[normal] += eps * np.minimum(u[normal], 0.0)
            total = phases.compression + phases.decompression
            assert judge(W, wanted, mu, 0.0, total, directions) <= 1e-9
        elif law == "papers":
            assert judge(W, phases.u_compressed + W @ theta, mu, 0.0, phases.decompression - theta, directions) <= 1e-9
        else:
            assert judge(W, phases.u_compressed, mu, theta[normal], phases.decompression, directions) <= 1e-9
        change = 0.5 * (phases.u_after + u) @ (phases.compression + phases.decompression)
        assert phases.energy_change == pytest.approx(change, abs=1e-12)


@pytest.mark.parametrize("law", LAWS)
def test_without_restitution_nothing_follows_compression(law):
    _, W, u, mu, _ = posed(3)
    phases = mb.studies.two_phases(W, u, mu, 0.0, law=law)
    assert np.abs(phases.decompression).max() <= 1e-10
    assert phases.energy_change <= 0.0


@pytest.mark.parametrize("contacts, limits, dof", [(1, 0, 6), (3, 2, 10), (4, 0, 6), (8, 1, 6)])
def test_the_solver_solves_both_phases(contacts, limits, dof):
    """Also with more contacts than the body has degrees of freedom; the judge is NumPy's."""
    for seed in range(40):
        _, W, u, mu, eps = posed(seed, contacts, limits, dof)
        kind, size = [CONTACT] * contacts + [UNILATERAL] * limits, [3] * contacts + [1] * limits
        rough = np.concatenate([np.outer(mu, [0.0, 1.0, 1.0]).ravel(), np.zeros(limits)])
        p_c = solve_blocks(W, u, kind, size, rough, 8).r
        theta = np.zeros(len(u))
        theta[: 3 * contacts : 3] = eps * p_c[: 3 * contacts : 3]
        second = solve_blocks(W, W @ p_c + u, kind, size, rough + theta, 8)  # least normal impulses
        p_d = second.r
        assert judge(W, u, mu, 0.0, p_c, 8) <= 1e-8
        assert judge(W, W @ p_c + u, mu, theta[: 3 * contacts : 3], p_d, 8) <= 1e-8
        assert second.status == "solved"


# --- energy -------------------------------------------------------------------------------------------


def rod_contact(mu, angle=np.pi / 4):
    """A slender rod of mass 1 and half-length 1 that falls on its lower end at 1 m/s: W and u of (n, t1, t2)."""
    r = np.array([-np.cos(angle), 0.0, -np.sin(angle)])
    axis = r / np.linalg.norm(r)
    inverse = 3.0 * (np.eye(3) - np.outer(axis, axis))  # of m l^2 / 3 across the rod
    J = np.array([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
    moments = np.cross(r, J)
    return J @ J.T + moments @ inverse @ moments.T, J @ [0.0, 0.0, -1.0], np.array([mu])


@pytest.mark.parametrize("directions", [4, None])
def test_the_printed_law_creates_energy_at_a_rod_and_the_default_does_not(directions):
    W, u, mu = rod_contact(0.7)
    printed = mb.studies.two_phases(W, u, mu, 1.0, law="papers", directions=directions, energy_gain="allow")
    assert 1.0 + printed.energy_change / 0.5 == pytest.approx(1.352, abs=5e-4)
    assert mb.studies.two_phases(W, u, mu, 1.0, directions=directions, energy_gain="allow").energy_change <= 0.0
    refused = mb.studies.two_phases(W, u, mu, 1.0, law="papers", directions=directions)
    assert 0.0 < refused.scale < 1.0
    assert refused.energy_change == pytest.approx(0.0, abs=1e-10)


def random_collision(seed, law, **options):
    """A random tree that hits the world and itself with 1 to 4 points, eps and mu up to 1."""
    rng = np.random.default_rng(seed)
    forest = random_forest(rng, int(rng.integers(2, 9)), roots=int(rng.integers(1, 3)))
    q, v = random_state(rng, forest.tree)
    contacts = []
    for _ in range(rng.integers(1, 5)):
        a, b = rng.choice(len(forest.tree.parent), 2, replace=False)
        normal = rng.normal(size=3)
        point = rng.normal(scale=0.5, size=3)
        b = WORLD if rng.random() < 0.5 else int(b)
        normal /= np.linalg.norm(normal)
        contacts.append(mb.studies.ContactPoint(int(a), b, point, normal, 0.0, rng.uniform(0.0, 1.0)))
    eps = rng.choice([0.5, 0.8, 1.0])
    return mb.studies.collide(forest, q, v, contacts, eps, law=law, directions=4, **options), forest, q, v


def test_anitescu_potra_created_no_energy_in_300_random_trees():
    gains = 0
    for seed in range(300):
        collision, *_ = random_collision(seed, "anitescu_potra", energy_gain="allow")
        p = collision.phases
        assert p.energy_compression <= 1e-9
        gains += p.energy_change > 1e-12 + 1e-9 * abs(p.energy_compression)
    assert gains == 0


def test_energy_of_the_phases_is_that_of_the_velocities():
    """And a law that would create some is scaled back by the largest factor, so that exactly none is left over."""
    scaled = 0
    for seed in range(60):
        collision, forest, q, v = random_collision(seed, "papers")
        M = mb.mass_matrix(forest, q)
        before, after = (0.5 * x @ M @ x for x in (v, collision.v_after))
        assert after - before == pytest.approx(collision.phases.energy_change, abs=1e-8 * before)
        assert after <= before * (1.0 + 1e-9)
        if collision.phases.scale < 1.0:
            scaled += 1
            assert after == pytest.approx(before, rel=1e-6)
    assert scaled >= 3


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
    solve = sim._friction.solve

    def fails(handle):
        return NOT_FINITE

    sim._friction.solve = fails
    with pytest.raises(mb.DynamicsError):
        sim.step()
    assert (sim.q == q).all() and (sim.v == v).all()
    sim._friction.solve = solve
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
        ({"restitution": -0.1}, {}, "materials.m.restitution: must be a finite number of at least 0"),
        ({"restitution": 0.5}, {"friction_model": "no_slip"}, "impacts under friction_model no_slip are inelastic"),
        ({"restitution": 0.5}, {"friction_model": "viscous"}, "coulomb_polyhedral or coulomb_cone"),
        ({}, {"restitution_law": "poisson"}, "restitution_law: 'poisson' is not available"),
        ({}, {"simultaneous_impacts": "some"}, "simultaneous_impacts: 'some' is not available"),
        ({}, {"energy_gain": "maybe"}, "energy_gain: 'maybe' is not available"),
        ({}, {"impact_threshold": -1.0}, "impact_threshold: must be a finite number of at least 0"),
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


@pytest.mark.parametrize(
    "change, message",
    [
        ({"restitution": 1.1}, "restitution must be from 0 to 1"),
        ({"law": "hertz"}, "law must be one of anitescu_potra"),
        ({"energy_gain": "some"}, "energy_gain one of refuse, allow"),
        ({"mu": [0.5, 0.5]}, "2 contacts need 6 rows"),
        ({"W": np.eye(2)}, "W must be 3 x 3"),
    ],
)
def test_two_phases_refuses_what_does_not_fit(change, message):
    arguments = {"W": np.eye(3), "u": [-1.0, 0.0, 0.0], "mu": [0.5], "restitution": 0.5, **change}
    with pytest.raises(mb.InputError, match=message):
        mb.studies.two_phases(**arguments)


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
