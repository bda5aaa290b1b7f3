# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Integrators: their order on every joint type, and what they keep of energy and momentum.

Covers core/integrate/flow.py, core/integrate/flow_step.py, core/integrate/free_body.py, core/integrate/midpoint.py,
core/integrate/runge_kutta.py, core/integrate/tableaux.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import JointProperties, Scene, SceneModel
from mb_contact.simulation.stepping.integrators import make_integrator
from mb_contact.types import OK
from scenes.moving_systems import (
    SMOOTH,
    SYSTEMS,
    G,
    chain,
    machine,
    run,
    simulator,
    smooth_motion,
    spinning_body,
)

ORDERS = [("semi_implicit_euler", 1, (0.004, 0.002)), ("midpoint", 2, (0.01, 0.005)), ("rk4", 4, (0.02, 0.01))]


@pytest.mark.parametrize("integrator, order, steps", ORDERS)
@pytest.mark.parametrize("system", SYSTEMS)
def test_the_order_holds_on_every_joint_type(system, integrator, order, steps):
    errors = []
    for dt in steps:
        sim = simulator(SYSTEMS[system](integrator=integrator, time_step=dt))
        effort = 0.5 * np.ones(len(sim.world.joint_names))
        want = smooth_motion(sim, 0.4, effort)
        run(sim, 0.4, effort)
        errors.append(np.abs(np.concatenate((sim.q, sim.v)) - want).max())
    assert np.log2(errors[0] / errors[1]) == pytest.approx(order, abs=0.35)
    assert errors[1] < {1: 5e-2, 2: 5e-3, 4: 2e-5}[order]


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize("tolerance", [1e-6, 1e-10])
def test_the_adaptive_integrator_meets_its_tolerance_at_any_step(system, tolerance):
    sim = simulator(SYSTEMS[system](integrator="adaptive", integrator_tolerance=tolerance, time_step=0.1))
    effort = 0.5 * np.ones(len(sim.world.joint_names))
    want = smooth_motion(sim, 0.4, effort)
    run(sim, 0.4, effort)
    assert np.abs(np.concatenate((sim.q, sim.v)) - want).max() < 200 * tolerance


# --- contact ----------------------------------------------------------------------------------------


def body_spin(sim):
    """Angular velocity in body axes and angular momentum in world axes of a body with moments 1, 2, 3."""
    R = sim.context.kin.R[0]
    spin = R.T @ sim.v[:3]
    return spin, R @ (np.array([1.0, 2.0, 3.0]) * spin)


def test_the_intermediate_axis_flips_on_time():
    """Dzhanibekov: sign changes of the middle component, against the elliptic functions' times."""
    sim = mb.Simulator(spinning_body(integrator="midpoint"))
    energy, (spin, momentum) = sim.energy(), body_spin(sim)
    flips, drift, turned, last = [], 0.0, 0.0, spin[1]
    for _ in range(30_000):
        sim.step()
        spin, now = body_spin(sim)
        if spin[1] * last < 0.0:
            flips.append(sim.time - sim.time_step * spin[1] / (spin[1] - last))
        last = spin[1]
        drift = max(drift, abs(sim.energy() / energy - 1.0))
        turned = max(turned, np.abs(now - momentum).max())
    np.testing.assert_allclose(flips, [6.059041, 17.036614, 28.014187], atol=1e-4)
    assert drift < 1e-10 and turned < 1e-10


def sprung(**options):
    springs = {"j0": JointProperties(stiffness=40.0, rest_position=0.2), "j1": JointProperties(stiffness=30.0)}
    model = SceneModel(chain("continuous", "continuous"), joint_properties=springs)
    return Scene(models=(model,), **{**options, "time_step": 0.01})


CONSERVATIVE = {**{name: make for name, make in SYSTEMS.items() if "damped" not in name}, "springs": sprung}


@pytest.mark.parametrize("system", CONSERVATIVE)
def test_midpoint_keeps_energy_at_coarse_steps_and_runs_backwards(system):
    sim = simulator(CONSERVATIVE[system](integrator="midpoint", time_step=0.02))
    q, v = sim.q, sim.v
    energy = sim.energy()
    for _ in range(50):
        sim.step()
        assert sim.energy() == pytest.approx(energy, abs=1e-10)
    sim.set_state(sim.q, -sim.v)
    run(sim, 50 * sim.time_step)
    assert np.abs(sim.v + v).max() < 1e-10 and np.abs(sim.q - q).max() < 1e-10


def test_midpoint_conserves_momentum_of_a_free_body_with_a_displaced_origin():
    """A body whose frame is not at its centre of mass, in gravity: spin conserved, centre of mass on a parabola."""
    sim = simulator(machine(base="free", integrator="midpoint", time_step=0.01))
    before = mb.dynamics.centroidal(sim.world, sim.q, sim.v)
    run(sim, 1.0)
    after = mb.dynamics.centroidal(sim.world, sim.q, sim.v)
    np.testing.assert_allclose(after.momentum[:3], before.momentum[:3], atol=1e-12)
    np.testing.assert_allclose(after.momentum[3:], before.momentum[3:] - [0.0, 0.0, 1.0 * G], atol=1e-10)


def test_midpoint_takes_strong_damping():
    """Damping far beyond what an explicit rule stands at this step (dt d / I is above 100): no oscillation."""
    sim = simulator(machine("continuous", damping=200.0, integrator="midpoint", gravity=(0.0, 0.0, 0.0)))
    energy = sim.energy()
    for _ in range(50):
        step = sim.step()
        assert sim.energy() <= energy
        energy = sim.energy()
    assert abs(step.certificate.energy_balance) < 1e-9


# --- pendulums and tops -------------------------------------------------------------------------------


def until_impact(sim):
    """Steps up to the first impulse; largest change of energy before it, and the time of it."""
    start, change = sim.energy(), 0.0
    while True:
        step = sim.step()
        if step.events or (len(step.contacts) and step.contacts["impulse"].any()):
            return change, sim.time
        change = max(change, abs(step.certificate.energy - start))


@pytest.mark.parametrize("integrator, bound", [("rk4", 1e-7), ("midpoint", 1e-12), ("adaptive", 1e-11)])
def test_a_pendulum_of_30_links_keeps_its_energy_up_to_the_first_impact(integrator, bound):
    sim = mb.Simulator(mb.pendulum(30, "first_impact").scene(integrator=integrator))
    energy = sim.energy()
    change, time = until_impact(sim)
    assert time == pytest.approx(1.411234, abs=0.003)
    assert change <= bound * energy


def test_a_pendulum_of_100_links_whips_for_5_s_under_midpoint_without_gaining_energy():
    """The first impact is at 1.42 s, the whip of the last links behind it; benchmarks/integrators.py has the others."""
    sim = mb.Simulator(mb.pendulum(100, "first_impact").scene(integrator="midpoint"))
    energy, contacts = sim.energy(), 0.0
    for _ in range(5000):
        step = sim.step()
        contacts += step.certificate.contact_error - step.certificate.energy_removed
        assert step.certificate.energy <= energy * (1.0 + 1e-9)
    assert np.isfinite(sim.q).all() and np.isfinite(sim.v).all()
    # the integrator's own error, whip and impacts included
    assert abs(step.certificate.energy_balance - contacts) < 1e-3


TOP = {"mass": 1.0, "height": 0.3, "across": 0.02, "along": 0.01}


def top(joints, speed, integrator):
    """A top on its point, nearly upright; ``speed`` over the critical one of the sleeping top."""
    at_point = TOP["across"] + TOP["mass"] * TOP["height"] ** 2
    critical = 2.0 * np.sqrt(at_point * TOP["mass"] * G * TOP["height"]) / TOP["along"]
    link = '<link name="{}"><inertial><origin xyz="0 0 {}"/><mass value="{}"/><inertia ixx="{}" iyy="{}" izz="{}"' \
           ' ixy="0" ixz="0" iyz="0"/></inertial></link>'  # fmt: skip
    solid = link.format("top", *(TOP[name] for name in ("height", "mass", "across", "across", "along")))
    if joints == "spherical":
        body = f'<joint name="j" type="spherical"><parent link="base"/><child link="top"/></joint>{solid}'
    else:
        body = (
            '<link name="cross"/><joint name="j" type="universal"><parent link="base"/><child link="cross"/>'
            '<axis xyz="1 0 0"/><axis2 xyz="0 1 0"/></joint><joint name="k" type="continuous"><parent link="cross"/>'
            f'<child link="top"/><axis xyz="0 0 1"/></joint>{solid}'
        )
    text = f'<robot name="r"><link name="base"/>{body}</robot>'
    sim = mb.Simulator(Scene(models=(SceneModel(text),), integrator=integrator))
    q, v = sim.q, sim.v
    q[0] = 1e-4 if joints == "spherical" else 2e-4
    v[2] = speed * critical
    if joints == "spherical":  # the spin is along the tilted axis, as it is at the end of a universal joint
        v[1] = -2e-4 * speed * critical
    sim.set_state(q, v)
    rate = np.sqrt(abs((TOP["along"] * speed * critical) ** 2 - 4.0 * at_point * TOP["mass"] * G * TOP["height"]))
    return sim, rate / (2.0 * at_point)


def tilt(sim):
    return np.arccos(min(1.0, sim.context.kin.R[-1][2, 2]))


@pytest.mark.parametrize("joints", ["spherical", "universal"])
@pytest.mark.parametrize("integrator", SMOOTH)
@pytest.mark.parametrize("speed", [0.9, 1.03])
def test_a_top_sleeps_above_its_critical_speed_only(joints, integrator, speed):
    """Stable for I3^2 w3^2 > 4 I1 m g l; below, a tilt grows as exp(rate t) up to cos(tilt) = 2 speed^2 - 1."""
    sim, rate = top(joints, speed, integrator)
    start = tilt(sim)
    assert start == pytest.approx(2e-4, rel=1e-3)
    tilts = []
    for _ in range(5000):
        sim.step()
        tilts.append(tilt(sim))
    tilts = np.array(tilts)
    if speed > 1.0:
        assert tilts.max() < 10.0 * start
    else:
        # midpoint is of second order and at 0.1 rad a step here: 1.8 % at 1 ms, 0.45 % at 0.5 ms
        exact = np.arccos(2.0 * speed**2 - 1.0)
        assert tilts.max() == pytest.approx(exact, rel=2e-2 if integrator == "midpoint" else 1e-2)
        growing = np.flatnonzero(tilts > 3e-2)[0] - np.flatnonzero(tilts > 3e-3)[0]
        assert np.log(10.0) / (growing * sim.time_step) == pytest.approx(rate, rel=0.02)


# --- contacts, always --------------------------------------------------------------------------------


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_bare_flow_is_the_step_and_leaves_the_simulation_alone(integrator):
    """What event-driven schemes use: any length, from the present state, with forces held on its way."""
    sim = simulator(machine("spherical", "continuous", base="free", damping=0.3, integrator=integrator))
    flow = make_integrator(sim.context)
    q, v, energy = sim.q, sim.v, sim.energy()
    flow.begin(sim.context.handle)
    sim.context.flow_arrays.joint_force[-1] = 2.0
    assert flow.advance(sim.context.handle, 0.004) == OK
    assert (sim.q == q).all() and (sim.v == v).all() and sim.energy() == energy
    end = sim.context.flow_arrays
    assert sum(end.work) == pytest.approx(sum(mb.energy(sim.world, end.q_end, end.v_end)) - energy, abs=2e-2)
    sim.step((2.0,), time_step=0.004)
    assert np.abs(sim.q - end.q_end).max() < 1e-14 and np.abs(sim.v - end.v_end).max() < 1e-12


# --- what is conserved --------------------------------------------------------------------------------
