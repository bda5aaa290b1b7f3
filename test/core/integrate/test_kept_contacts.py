# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts that wander within a step: second order in time, against ordinary differential equations of their own.

Covers core/integrate/end_laws.py, core/constraints/mean_rows.py.
"""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mb_contact as mb
from mb_contact.core.integrate.kept_contacts import has_diverged
from mb_contact.core.integrate.whole import PASSIVE
from mb_contact.model.scene import AnisotropicFriction, Ground, Material, MaterialPair, Pose, Primitive, Scene
from oracles.rolling_body import G, ellipsoid, rim, roll

FLOWS = ("rk4", "midpoint", "adaptive")
RADIUS, HALF, MASS = 0.05, 0.0025, 0.1
LEAN = np.radians(20.0)  # of the coin's plane from the vertical


def on_ground(body, dt, integrator="rk4", friction=1.0, **settings):
    settings = {"materials": {"m": Material(friction)}, "ground": Ground(0.0, "m"), **settings}
    return mb.Simulator(Scene(primitives=(body,), time_step=dt, integrator=integrator, **settings))


def rolling(body, omega, height, dt, integrator, **settings):
    """The body set rolling about the origin of the ground with this angular velocity."""
    sim = on_ground(body, dt, integrator, **settings)
    arm = np.array(height)  # from the contact to the centre
    sim.set_object("body", velocity=np.r_[omega, np.cross(omega, arm)])
    return sim


def coin(dt, integrator, speed=1.0, **settings):
    """A coin on its rim, rolling along -x, its axis near +-y."""
    height = RADIUS * np.cos(LEAN) + HALF * np.sin(LEAN)
    pose = Pose((0.0, 0.0, height), (np.pi / 2.0 + LEAN, 0.0, 0.0))
    body = Primitive("body", "cylinder", (RADIUS, 2.0 * HALF), pose, "free", MASS, material="m")
    axis = pose.rotation()[:, 2]
    down = -np.array([0.0, 0.0, 1.0]) + axis[2] * axis
    contact = RADIUS * down / np.linalg.norm(down) - HALF * np.sign(axis[2]) * axis
    return rolling(body, axis * speed / RADIUS, -contact, dt, integrator, **settings)


def coin_truth(sim, times):
    inertia = MASS * np.array([3.0 * RADIUS**2 + 4.0 * HALF**2] * 2 + [6.0 * RADIUS**2]) / 12.0
    return roll(rim(RADIUS, HALF), inertia, MASS, sim.link_pose("body")[1], sim.v[:3].copy(), times)[0]


def egg(dt, integrator, **settings):
    """An ellipsoid on its side, rolling and turning."""
    axes = np.array([0.06, 0.08, 0.05])
    body = Primitive("body", "ellipsoid", tuple(2.0 * axes), Pose((0.0, 0.0, axes[2])), "free", MASS, material="m")
    return rolling(body, np.array([3.0, 2.0, 1.0]), [0.0, 0.0, axes[2]], dt, integrator, **settings)


def egg_truth(sim, times):
    axes = np.array([0.06, 0.08, 0.05])
    square = axes**2
    inertia = MASS * (square.sum() - square) / 5.0
    return roll(ellipsoid(axes), inertia, MASS, sim.link_pose("body")[1], sim.v[:3].copy(), times)[0]


def orientation_error(make, truth, dt, integrator, seconds):
    """Largest angle [rad] between the simulated body and the true one."""
    sim = make(dt, integrator)
    steps = round(seconds / dt)
    expected = truth(sim, np.arange(steps + 1) * dt)
    worst = 0.0
    for k in range(steps):
        sim.step()
        worst = max(worst, 2.0 * np.sqrt(max(0.0, 1.0 - (sim.link_pose("body")[1] @ expected[k + 1]) ** 2)))
    return worst


@pytest.mark.parametrize("make, truth", [(coin, coin_truth), (egg, egg_truth)], ids=["coin", "ellipsoid"])
@pytest.mark.parametrize("integrator", FLOWS)
def test_what_rolls_converges_at_second_order(make, truth, integrator):
    steps = np.array([4e-3, 2e-3, 1e-3])
    errors = [orientation_error(make, truth, dt, integrator, 0.3) for dt in steps]
    order = np.polyfit(np.log(steps), np.log(errors), 1)[0]
    assert order > 1.9 and errors[-1] < 1e-3


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_a_rolling_coin_keeps_its_energy(integrator):
    sim = coin(1e-3, integrator)
    start = sim.energy()
    for _ in range(500):
        sim.step()
    assert abs(sim.energy() - start) <= 1e-5 * start


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_the_tilt_of_a_coin_after_five_seconds(integrator):
    sim = coin(1e-3, integrator)
    times = np.arange(0.0, 5.0005, 0.1)
    expected = coin_truth(sim, times)
    start, worst = sim.energy(), 0.0
    for k in range(1, len(times)):
        for _ in range(100):
            sim.step()
        x, y, *_ = sim.link_pose("body")[1]
        true_x, true_y, *_ = expected[k]
        tilt, truth = (np.arcsin(1.0 - 2.0 * (a * a + b * b)) for a, b in ((x, y), (true_x, true_y)))
        worst = max(worst, abs(tilt - truth))
    assert worst < 5e-4 and abs(sim.energy() - start) <= 2e-5 * start


@pytest.mark.parametrize("dt", [1e-4, 1e-3, 4e-3])
@pytest.mark.parametrize("settings", [{"integrator": "semi_implicit_euler"}, {"integrator": "rk4"},
                                      {"integrator": "midpoint"}, {"integrator": "rk4", "collision_scheme": "event"}],
                         ids=["euler", "rk4", "midpoint", "event"])  # fmt: skip
@pytest.mark.parametrize("make", [coin, egg])
def test_what_rolls_never_gains_beyond_push_out(make, settings, dt):
    sim = make(dt, **settings)
    start, pushed = sim.energy(), 0.0
    for _ in range(round(0.2 / dt)):
        certificate = sim.step().certificate
        pushed += certificate.push_out_energy
        assert certificate.energy <= start * (1.0 + PASSIVE) + pushed


def test_a_ball_on_a_ball_rolls_off_at_second_order():
    """Contact points wander on both bodies: theta'' = g sin(theta) / (7/5 (a + b)) until it leaves."""
    a, b, start = 0.3, 0.1, 0.2

    def run(dt):
        fixed = Primitive("base", "sphere", (a,), Pose((0.0, 0.0, a)), material="m")
        place = ((a + b) * np.sin(start), 0.0, a + (a + b) * np.cos(start))
        ball = Primitive("ball", "sphere", (b,), Pose(place), "free", 1.0, material="m")
        scene = Scene(primitives=(fixed, ball), materials={"m": Material(2.0)}, time_step=dt, integrator="rk4")
        sim = mb.Simulator(scene)
        for _ in range(round(0.4 / dt)):
            sim.step()
        x, _, z = sim.link_pose("ball")[0]
        return np.arctan2(x, z - a)

    swing = solve_ivp(lambda _, y: [y[1], G * np.sin(y[0]) / (1.4 * (a + b))], (0.0, 0.4), [start, 0.0],
                      rtol=1e-12, atol=1e-14)  # fmt: skip
    steps = np.array([8e-3, 4e-3, 2e-3])
    errors = np.abs([run(dt) - swing.y[0, -1] for dt in steps])
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 1.9 and errors[-1] < 1e-5


@pytest.mark.parametrize("integrator", FLOWS)
def test_a_rod_falls_about_its_foot_at_second_order(integrator):
    """theta'' = 3 g sin(theta) / (2 l) for a thin rod, 1 + (w / l)^2 of its inertia for this one."""
    length, width, lean = 1.0, 0.02, 0.3
    half, thin = 0.5 * length, 0.5 * width

    def run(dt):
        height = half * np.cos(lean) + thin * np.sin(lean)
        pose = Pose((0.0, 0.0, height), (0.0, lean, 0.0))
        rod = Primitive("body", "box", (width, 0.1, length), pose, "free", 1.0, material="m")
        sim = on_ground(rod, dt, integrator, friction=2.0)
        start, pushed = sim.energy(), 0.0
        for _ in range(round(0.4 / dt)):
            pushed += sim.step().certificate.push_out_energy
        _, s, _, c = sim.link_pose("body")[1]
        return 2.0 * np.arctan2(s, c), (sim.energy() - pushed) / start - 1.0

    reach = np.hypot(half, thin)
    inertia = (length**2 + width**2) / 12.0 + reach**2
    corner = np.arctan2(thin, half)
    fall = solve_ivp(lambda _, y: [y[1], G * reach * np.sin(y[0] - corner) / inertia], (0.0, 0.4), [lean, 0.0],
                     rtol=1e-12, atol=1e-14)  # fmt: skip
    steps = np.array([2e-3, 1e-3, 5e-4])
    angles, gains = np.array([run(dt) for dt in steps]).T
    for errors in (angles - fall.y[0, -1], gains):
        assert np.polyfit(np.log(steps), np.log(np.abs(errors)), 1)[0] > 1.9


def spinning_box(dt, integrator, seconds=0.08, **settings):
    """A box that slides and spins on its face; what moves it then, and the loads on its corners half-way."""
    box = Primitive("body", "box", (0.2, 0.1, 0.02), Pose((0.0, 0.0, 0.01)), "free", 1.0, material="m")
    sim = on_ground(box, dt, integrator, friction=0.3, **settings)
    sim.set_object("body", velocity=[0.0, 0.0, 12.0, 1.0, 0.5, 0.0])
    steps = round(seconds / dt)
    for k in range(steps):
        step = sim.step()
        if k == steps // 2:
            loads = np.linalg.norm(step.contacts["impulse"], axis=1) / dt
    return np.r_[sim.q[:2], sim.v], loads


FINE = 1e-5  #: step of Euler's runs, which take other rows and moments: their error is about 10 FINE [s]
WAYS = [(integrator, {}) for integrator in FLOWS] + [("rk4", {"collision_scheme": "event"})]


@pytest.mark.parametrize("integrator, settings", WAYS, ids=["rk4", "midpoint", "adaptive", "event"])
def test_a_face_that_slides_and_spins_stands_on_all_corners_at_second_order(integrator, settings):
    """Friction opposes each corner's own slip, which turns with the box."""
    truth, _ = spinning_box(1.25e-4, "rk4")
    np.testing.assert_allclose(truth, spinning_box(FINE, "semi_implicit_euler")[0], atol=100.0 * FINE)
    steps, errors = np.array([4e-3, 2e-3, 1e-3]), []
    for dt in steps:
        found, loads = spinning_box(dt, integrator, **settings)
        errors.append(np.abs(found - truth).max())
        assert loads.min() > 0.9 * loads.max()
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 1.8 and errors[-1] < 1e-4


@pytest.mark.parametrize("pair", [{"rolling": 0.02}, {"torsional": 0.02}], ids=["rolling", "torsion"])
@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_torsion_and_rolling_slow_down_a_ball_at_second_order(integrator, pair):
    def run(dt, integrator=integrator):
        ball = Primitive("body", "sphere", (0.1,), Pose((0.0, 0.0, 0.1)), "free", 1.0, material="m")
        sim = on_ground(ball, dt, integrator, pairs=(MaterialPair(("m", "m"), 0.3, **pair),))
        sim.set_object("body", velocity=[3.0, 8.0, 12.0, 2.0, 1.0, 0.0])
        for _ in range(round(0.08 / dt)):
            sim.step()
        spins.append(sim.context.kin.V[0, 2])
        return np.r_[sim.q[:2], sim.v]

    spins = []
    truth = run(6.25e-5)
    np.testing.assert_allclose(truth, run(FINE, "semi_implicit_euler"), atol=100.0 * FINE)
    if "torsional" in pair:  # a constant moment, mu_t m g, about the vertical
        np.testing.assert_allclose(spins, 12.0 - 0.02 * 9.81 / 0.004 * 0.08, rtol=1e-5)
    steps = np.array([4e-3, 2e-3, 1e-3])
    errors = [np.abs(run(dt) - truth).max() for dt in steps]
    assert max(errors) < 1e-11 or np.polyfit(np.log(steps), np.log(errors), 1)[0] > 1.8  # constant torsion is exact


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_friction_with_a_direction_turns_with_its_body_at_second_order(integrator):
    brush = Material(0.3, anisotropic_friction=AnisotropicFriction(0.1, 0.5, (1.0, 0.0, 0.0)))
    kind = {"materials": {"m": brush, "floor": Material(0.3)}, "ground": Ground(0.0, "floor")}
    truth, _ = spinning_box(6.25e-5, "rk4", 0.032, **kind)
    np.testing.assert_allclose(truth, spinning_box(FINE, "semi_implicit_euler", 0.032, **kind)[0], atol=100.0 * FINE)
    steps = np.array([2e-3, 1e-3, 5e-4])
    errors = [np.abs(spinning_box(dt, integrator, 0.032, **kind)[0] - truth).max() for dt in steps]
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] > 1.8


@pytest.mark.parametrize("model", ["viscous", "coulomb_viscous"])
@pytest.mark.parametrize("integrator", FLOWS)
def test_viscous_friction_slows_down_at_second_order(model, integrator):
    """D15's models at acceleration level: v' = -c v / m, and -c v / m - mu g with Coulomb's beside it."""
    viscous, friction = 4.0, 0.1 if model == "coulomb_viscous" else 0.0

    def run(dt):
        body = Primitive("body", "box", (0.1, 0.1, 0.02), Pose((0.0, 0.0, 0.01)), "free", 1.0, material="m")
        pair = MaterialPair(("m", "m"), friction, viscous=viscous)
        sim = on_ground(body, dt, integrator, friction, friction_model=model, pairs=(pair,))
        sim.set_object("body", velocity=[0.0, 0.0, 0.0, 1.0, 0.0, 0.0])
        for _ in range(round(0.16 / dt)):
            sim.step()
        return sim.v[3], sim.q[0]

    c = 4 * viscous  # each of the four points
    rest = friction * G / c
    speed = (1.0 + rest) * np.exp(-0.16 * c) - rest
    way = (1.0 + rest) * (1.0 - np.exp(-0.16 * c)) / c - 0.16 * rest
    steps = np.array([8e-3, 4e-3, 2e-3])
    errors = np.abs([np.subtract(run(dt), (speed, way)) for dt in steps])
    for error in errors.T:
        assert np.polyfit(np.log(steps), np.log(error), 1)[0] > 1.9


def test_a_body_at_rest_is_left_alone():
    sim = on_ground(Primitive("body", "box", (0.1, 0.1, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0, material="m"), 1e-3)
    for _ in range(5):
        step = sim.step()
    assert np.abs(sim.v).max() < 1e-12 and not sim.context.end.ahead.any()
    assert step.certificate.contact_error == pytest.approx(0.0, abs=1e-18)


def test_rounds_have_no_end_where_a_change_is_large_and_larger_than_an_earlier_one():
    sim = mb.Simulator(mb.pendulum(3).scene(integrator="midpoint"))
    h = sim.context.handle
    for change, least, has_no_end in (
        (1.0, np.inf, False), (0.5, 1.0, False), (5e-4, 1e-6, False), (2e-3, 1e-3, True), (np.nan, 1.0, True)
    ):  # fmt: skip
        assert has_diverged(h, change, least) == has_no_end
