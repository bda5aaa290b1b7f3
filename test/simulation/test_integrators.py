# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Integrators: their order on every joint type, what they keep, contact forces held through their stages, state."""

from __future__ import annotations

import gc
import hashlib
import subprocess
import sys
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mb_contact as mb
from mb_contact.model.scene import Ground, JointProperties, Material, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.simulation.integrators import make_integrator
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, OK

G = 9.81
INTEGRATORS = ("semi_implicit_euler", "rk4", "midpoint", "adaptive")
SMOOTH = ("rk4", "midpoint", "adaptive")  # those that are not of first order
FRICTION_MODELS = ("coulomb_polyhedral", "coulomb_cone", "viscous", "no_slip", "coulomb_viscous")


def chain(*joints, damping=0.0):
    """URDF text of a serial robot, one joint type after the other; its links are lopsided bricks."""
    axes = ("1 0 0", "0 0.6 0.8", "0 1 0", "0.8 0 -0.6")
    solid = '<inertia ixx="0.03" iyy="0.04" izz="0.02" ixy="0.002" ixz="-0.003" iyz="0.001"/></inertial></link>'
    lines = ['<robot name="chain">', f'<link name="l0"><inertial><mass value="1"/>{solid}']
    for k, kind in enumerate(joints):
        lines.append(
            f'<link name="l{k + 1}"><inertial><origin xyz="0.02 0.05 -0.2"/><mass value="{2 - 0.3 * k}"/>{solid}'
        )
        second = '<axis2 xyz="0 0 1"/>' if kind == "universal" else ""
        loss = f'<dynamics damping="{damping}"/>' if damping else ""
        second += '<thread pitch="-0.1"/>' if kind == "screw" else ""
        limit = '<limit lower="-9" upper="9" effort="9" velocity="9"/>' if kind in ("revolute", "prismatic") else ""
        lines.append(
            f'<joint name="j{k}" type="{kind}"><parent link="l{k}"/><child link="l{k + 1}"/>'
            f'<origin xyz="0.1 0 -0.4" rpy="0.3 -0.2 0.5"/><axis xyz="{axes[k % 4]}"/>{second}{loss}{limit}</joint>'
        )
    return "\n".join([*lines, "</robot>"])


def machine(*joints, base="weld", damping=0.0, **options):
    """A scene with one robot and nothing to touch."""
    return Scene(models=(SceneModel(chain(*joints, damping=damping), base=base),), **options)


def spinning_body(moments=(1.0, 2.0, 3.0), spin=(0.01, 2.0, 0.01), **options):
    """A scene with one body in free flight."""
    body = Primitive("body", "box", (0.3, 0.2, 0.1), Pose(), "free", 1.0, inertia=moments, velocity=Velocity(spin))
    return Scene(primitives=(body,), **{"gravity": (0.0, 0.0, 0.0), **options})


SYSTEMS = {
    "hinges": lambda **o: machine("revolute", "continuous", "continuous", "revolute", **o),
    "damped hinges": lambda **o: machine("revolute", "continuous", "revolute", damping=0.2, **o),
    "spherical": lambda **o: machine("spherical", "continuous", **o),
    "planar": lambda **o: machine("planar", "continuous", **o),
    "universal": lambda **o: machine("universal", "prismatic", **o),
    "screw": lambda **o: machine("screw", "spherical", **o),
    "flying robot": lambda **o: machine("spherical", "revolute", base="free", **o),
    "tumbling body": lambda **o: spinning_body(spin=(1.0, 2.0, 0.3), **o),
}


def simulator(scene, joint_speed=1.5):
    """A simulator that starts away from any symmetry."""
    sim = mb.Simulator(scene)
    q, v = sim.q, sim.v
    v += joint_speed * np.cos(np.arange(len(v)))
    sim.set_state(q, v)
    return sim


def run(sim, seconds, effort=None):
    for _ in range(round(seconds / sim.time_step)):
        step = sim.step(effort)
    return step


def smooth_motion(sim, seconds, effort):
    """(q, v) after a time, from forward dynamics and quaternion rates, by DOP853 at 1e-13."""
    tree = sim.world.tree
    applied = np.zeros(len(sim.v))
    applied[sim.world.joint_v] = effort
    turns = [k for k in range(len(tree.parent)) if tree.joint_type[k] in (JOINT_FLOATING, JOINT_SPHERICAL)]

    def rate(_t, y):
        q, v = y[: len(sim.q)].copy(), y[len(sim.q) :].copy()
        q_dot = np.zeros(len(q))
        for k in range(len(tree.parent)):
            s, d, nv = tree.q_start[k], tree.v_start[k], tree.nv[k]
            if tree.joint_type[k] == JOINT_FLOATING:
                q_dot[s : s + 3] = tree.R_joint[k].T @ v[d + 3 : d + 6]
            if k in turns:
                floating = tree.joint_type[k] == JOINT_FLOATING
                s += 3 if floating else 0
                w = tree.R_joint[k].T @ v[d : d + 3] if floating else v[d : d + 3]
                x, y_, z, r = q[s : s + 4]
                q_dot[s : s + 3] = 0.5 * (r * w + np.cross(w, (x, y_, z)))
                q_dot[s + 3] = -0.5 * w @ (x, y_, z)
            else:
                q_dot[s : s + nv] = v[d : d + nv]
        return np.concatenate((q_dot, mb.forward_dynamics(sim.world, q, v, applied, sim.gravity)))

    start = np.concatenate((sim.q, sim.v))
    end = solve_ivp(rate, (0.0, seconds), start, "DOP853", rtol=1e-13, atol=1e-13).y[:, -1]
    return end


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


def on_ground(body, integrator, gravity=(0.0, 0.0, -G), mu=0.5, **options):
    body = Primitive(**{**vars(body), "material": "stuff"})
    return mb.Simulator(
        Scene(primitives=(body,), ground=Ground(material="stuff"), materials={"stuff": Material(mu)}, gravity=gravity,
              integrator=integrator, **options)
    )  # fmt: skip


def slope(angle):
    """Gravity of a slope falling towards x, for a level ground."""
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_block_stays_on_a_ramp(integrator):
    """Gravity and the held contact forces cancel in every stage."""
    block = Primitive("block", "box", (0.2, 0.2, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0)
    sim = on_ground(block, integrator, slope(np.radians(20.0)))
    start = sim.q
    run(sim, 2.0)
    assert np.abs(sim.q - start).max() < 1e-9


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_block_slides_down_as_coulomb_says(integrator):
    block = Primitive("block", "box", (0.2, 0.2, 0.1), Pose((0.0, 0.0, 0.05)), "free", 1.0)
    sim = on_ground(block, integrator, slope(np.radians(35.0)))
    step = run(sim, 1.0)
    a = G * (np.sin(np.radians(35.0)) - 0.5 * np.cos(np.radians(35.0)))
    assert sim.v[3] == pytest.approx(a, abs=1e-6) and sim.q[0] == pytest.approx(a / 2, abs=2e-3)
    assert abs(step.certificate.energy_balance) < 1e-10


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_sphere_rolls_down_without_sinking(integrator):
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 0.1)), "free", 1.0)
    sim = on_ground(ball, integrator, slope(np.radians(20.0)))
    run(sim, 1.0)
    a = 5.0 / 7.0 * G * np.sin(np.radians(20.0))
    assert sim.v[3] == pytest.approx(a, abs=1e-6)
    assert sim.v[3] == pytest.approx(0.1 * sim.v[1], abs=1e-9)
    assert sim.q[0] == pytest.approx(a / 2, abs=1e-6)  # the motion between the contacts is exact too
    assert sim.q[2] == pytest.approx(0.1, abs=1e-6)


# --- state ------------------------------------------------------------------------------------------


def scene_with_everything(integrator, friction_model):
    """A robot that swings into a box, which slides over the ground."""
    box = Primitive("box", "box", (0.2, 0.2, 0.1), Pose((0.3, 0.1, 0.049), (0.0, 0.0, 0.2)), "free", 1.0,
                    velocity=Velocity(linear=(0.5, 0.1, 0.0)))  # fmt: skip
    model = SceneModel(chain("revolute", "continuous", "prismatic"), pose=Pose((0.0, 0.0, 2.0)))
    return Scene(models=(model,), primitives=(box,), ground=Ground(), integrator=integrator,
                 materials={}, friction_model=friction_model)  # fmt: skip


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("friction_model", FRICTION_MODELS)
def test_saved_and_restored_it_goes_on_bit_for_bit(integrator, friction_model):
    sim = mb.Simulator(scene_with_everything(integrator, friction_model))
    effort = np.array([3.0, -1.0, 0.5])
    run(sim, 0.02, effort)
    sim.step(effort, time_step=0.0007)
    sim.set_gravity((0.1, 0.0, -5.0))
    saved = sim.save()

    def go_on():
        for dt in (None, 0.0005, None, 0.002, 0.001):
            step = sim.step(effort, time_step=dt)
        return sim.q, sim.v, sim.time, step.certificate, step.contacts["impulse"].tobytes()

    first = go_on()
    sim.reset()
    run(sim, 0.003)
    sim.restore(saved)
    second = go_on()
    assert first[0].tobytes() == second[0].tobytes() and first[1].tobytes() == second[1].tobytes()
    assert first[2:] == second[2:]
    assert tuple(sim.gravity) == (0.1, 0.0, -5.0)
    sim.reset()
    assert tuple(sim.gravity) == (0.0, 0.0, -9.81) and sim.time == 0.0


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_steps_of_different_lengths_follow_the_same_motion(integrator):
    sims = [mb.Simulator(spinning_body(spin=(1.0, 2.0, 0.3), integrator=integrator)) for _ in range(2)]
    run(sims[0], 0.4)
    for i in range(400):
        sims[1].step(time_step=0.0005 if i % 2 else 0.0015)
    assert sims[1].time == pytest.approx(0.4, abs=1e-12)
    bound = {"semi_implicit_euler": 2e-3, "midpoint": 1e-6}.get(integrator, 1e-9)
    assert np.abs(sims[0].q - sims[1].q).max() < bound


def test_time_is_exact_with_steps_of_one_length():
    sim = mb.Simulator(spinning_body())
    for _ in range(1000):
        sim.step(time_step=0.001)
    assert sim.time == 1000 * 0.001 and sim.step_count == 1000
    sim.step(time_step=0.25)
    assert sim.time == 1.25 and sim.step_count == 1001
    sim.step()
    assert sim.time == 1.25 + 0.001


@pytest.mark.parametrize("time_step", [0.0, -0.001, np.inf, np.nan, "long"])
def test_impossible_steps_are_refused(time_step):
    sim = mb.Simulator(spinning_body())
    with pytest.raises(mb.InputError, match="time_step"):
        sim.step(time_step=time_step)
    assert sim.time == 0.0 and sim.step_count == 0


def test_changing_gravity_counts_as_work():
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 5.0)), "free", 2.0)
    sim = mb.Simulator(Scene(primitives=(ball,), integrator="rk4"))
    run(sim, 0.1)
    sim.set_gravity((0.0, 0.0, 3.0))
    v = sim.v[5]
    step = run(sim, 0.1)
    assert sim.v[5] == pytest.approx(v + 0.3, abs=1e-12)
    assert abs(step.certificate.energy_balance) < 1e-10
    with pytest.raises(mb.InputError, match="gravity"):
        sim.set_gravity((0.0, np.nan, 0.0))
    assert tuple(sim.gravity) == (0.0, 0.0, 3.0)


@pytest.mark.parametrize("integrator", SMOOTH)
def test_work_of_everything_is_in_the_books(integrator):
    """Efforts, damping and a wrench: what the energy gains beside their work is the integrator's error."""
    sim = simulator(machine("spherical", "revolute", "continuous", damping=0.1, integrator=integrator))
    sim.set_external_wrench("l3", (0.3, 0.1, -0.2, 1.0, 2.0, -1.0))
    start = sim.energy()
    step = run(sim, 0.5, (2.0, -0.5))
    assert abs(sim.energy() - start) > 0.1
    assert abs(step.certificate.energy_balance) < 1e-8


def test_other_formulations_keep_to_their_own_integrator():
    with pytest.raises(mb.SceneError, match="integrator: 'rk4' needs formulation: os"):
        mb.Simulator(spinning_body(integrator="rk4", formulation="rmc"))


@pytest.mark.parametrize("integrator", SMOOTH)
def test_a_bare_flow_is_the_step_and_leaves_the_simulation_alone(integrator):
    """What event-driven schemes use: any length, from the present state, with forces held on its way."""
    sim = simulator(machine("spherical", "continuous", base="free", damping=0.3, integrator=integrator))
    flow = make_integrator(sim.context)
    q, v, energy = sim.q, sim.v, sim.energy()
    flow.begin(sim.context.handle)
    flow.arrays.joint_force[-1] = 2.0
    assert flow.advance(sim.context.handle, 0.004) == OK
    assert (sim.q == q).all() and (sim.v == v).all() and sim.energy() == energy
    end = flow.arrays
    assert sum(end.work) == pytest.approx(sum(mb.energy(sim.world, end.q_end, end.v_end)) - energy, abs=2e-2)
    sim.step((2.0,), time_step=0.004)
    assert np.abs(sim.q - end.q_end).max() < 1e-14 and np.abs(sim.v - end.v_end).max() < 1e-12


# --- what is conserved --------------------------------------------------------------------------------


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


@pytest.mark.parametrize("integrator", INTEGRATORS)
@pytest.mark.parametrize("friction_model", FRICTION_MODELS)
def test_impulses_never_add_more_than_the_push_out_allows(integrator, friction_model):
    """T(v+) - T(v_free) <= sum p_n v_push + 1e-10 T, where the impulses are solved."""
    sim = mb.Simulator(scene_with_everything(integrator, friction_model))
    touched = 0
    for _ in range(300):
        c = sim.step((3.0, -1.0, 0.5)).certificate
        touched += c.contacts > 0
        assert c.contact_energy <= c.push_out_energy + 1e-10 * c.kinetic_energy + 1e-14
    assert touched > 250


# --- the same bits, and no leaks ---------------------------------------------------------------------

SAME = """
import runpy
print(runpy.run_path({file!r})["fingerprint"]())
"""


def fingerprint():
    """Bits of the state after some steps under every integrator."""
    text = []
    for integrator in INTEGRATORS:
        sim = mb.Simulator(scene_with_everything(integrator, "coulomb_polyhedral"))
        run(sim, 0.05, np.array([3.0, -1.0, 0.5]))
        text.append(hashlib.sha256(sim.q.tobytes() + sim.v.tobytes()).hexdigest())
    return " ".join(text)


def test_two_processes_come_to_the_same_bits():
    code = SAME.format(file=str(Path(__file__).resolve()))
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.split() == fingerprint().split()


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_many_steps_leave_no_memory_behind(integrator):
    sim = mb.Simulator(scene_with_everything(integrator, "coulomb_polyhedral"))
    tracemalloc.start()
    kept = []
    for _ in range(2):  # caches of Python and NumPy fill in the first round
        for _ in range(1500):
            sim.step(time_step=0.0009)
            sim.restore(sim.save())
        gc.collect()
        kept.append(tracemalloc.get_traced_memory()[0])
    tracemalloc.stop()
    assert kept[1] - kept[0] < 60_000  # one small object left by each step would be 84 kB


@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_step_that_runs_away_changes_nothing(integrator):
    sim = simulator(machine("continuous", "continuous", integrator=integrator))
    run(sim, 0.01)
    q, v = sim.q, sim.v
    with pytest.raises(mb.DynamicsError):
        sim.step((1e308, -1e308), time_step=1e10)
    assert (sim.q == q).all() and (sim.v == v).all()
    assert sim.time == pytest.approx(0.01)
    sim.step()


@pytest.mark.parametrize("tolerance, bound", [("1e-20", "at least 1e-13"), ("0.02", "at most 0.01")])
def test_a_tolerance_below_rounding_or_beyond_sense_is_refused(tmp_path, tolerance, bound):
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"integrator: adaptive\nintegrator_tolerance: {tolerance}\n")
    with pytest.raises(mb.SceneError, match=f"integrator_tolerance.*{bound}"):
        mb.load_scene(scene)
    with pytest.raises(mb.SceneError, match=f"integrator_tolerance.*{bound}"):
        mb.build_world(mb.Scene(integrator="adaptive", integrator_tolerance=float(tolerance)))


# --- what is reached fast ----------------------------------------------------------------------------


@pytest.mark.parametrize("friction_model", ["coulomb_polyhedral", "coulomb_cone"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_dropped_ball_does_not_sink(integrator, friction_model):
    """Without restitution, from 1 m: an impact of its own stops it, held impulses would let it sink by v dt / 2."""
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.0, 0.0, 1.1)), base="free", mass=1.0)
    sim = mb.Simulator(
        Scene(primitives=(ball,), ground=Ground(), integrator=integrator, friction_model=friction_model)
    )
    deepest = 0.0
    for _ in range(600):
        deepest = max(deepest, sim.step().certificate.penetration)
    assert deepest < 5e-5
    assert np.abs(sim.v).max() < 1e-9


@pytest.mark.parametrize("scheme", ["time_stepping", "event"])
@pytest.mark.parametrize("integrator", INTEGRATORS)
def test_a_joint_limit_is_inelastic_at_speed(integrator, scheme):
    """A slide at 5 m/s stops at the end of its range or, where impulses are held, up to a step before it."""
    text = (
        '<robot name="r"><link name="base"/><link name="cart"><inertial><mass value="2"/>'
        '<inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        '<joint name="slide" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="0.5" effort="10" velocity="10"/></joint></robot>'
    )
    cart = SceneModel(text, velocities={"slide": 5.0})
    sim = mb.Simulator(Scene(models=(cart,), integrator=integrator, collision_scheme=scheme))
    for _ in range(200):
        step = sim.step()
        assert sim.q[0] < 0.5 + 1e-6
    assert abs(sim.v[0]) < 1e-9 and sim.q[0] > 0.5 - 5.0 * sim.time_step
    assert abs(step.certificate.energy_balance) < 1e-9
