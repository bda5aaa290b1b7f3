# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Integrators: their order on every joint type, what they keep, contact forces held through their stages, state."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mb_contact as mb
from mb_contact.model.scene import Ground, Material, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL

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
    assert np.abs(sims[0].q - sims[1].q).max() < (2e-3 if integrator == "semi_implicit_euler" else 1e-9)


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
