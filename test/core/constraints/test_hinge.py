# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What acts in the hinges of ``coordinates: bodies`` beside the tree: efforts, limits, damping, rotors, friction.

Covers simulation/joints/hinges.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pinocchio as pin
import pytest

import mb_contact as mb
from mb_contact.model.scene import JointProperties, Scene, SceneModel

DT = 1e-3
N = 5
SLIDE = (
    '<robot name="r"><link name="o"/><link name="a"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" '
    'ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="prismatic"><parent link="o"/><child link="a"/>'
    '<axis xyz="1 0 0"/><limit lower="-1" upper="1" effort="9" velocity="99"/></joint></robot>'
)


def robot(rng):
    """A random tree of hinges and slides with limits, damping and friction."""
    links = "".join(
        f'<link name="l{k}"><inertial><origin xyz="{_three(rng.uniform(-0.2, 0.2, 3))}"/><mass value="{1 + k / 3}"/>'
        '<inertia ixx="0.05" iyy="0.06" izz="0.04" ixy="0.004" ixz="0" iyz="0"/></inertial></link>'
        for k in range(N + 1)
    )
    joints = ""
    for k in range(1, N + 1):
        axis = rng.normal(size=3)
        kind = ("revolute", "prismatic", "continuous")[(k + rng.integers(2)) % 3]
        limit = f'<limit lower="{rng.uniform(-0.6, -0.2)}" upper="{rng.uniform(0.2, 0.6)}" effort="5" velocity="9"/>'
        joints += (
            f'<joint name="j{k}" type="{kind}"><parent link="l{rng.integers(k)}"/><child link="l{k}"/><origin '
            f'xyz="{_three(rng.uniform(-0.3, 0.3, 3))}" rpy="{_three(rng.uniform(-1, 1, 3))}"/>'
            f'<axis xyz="{_three(axis / np.linalg.norm(axis))}"/>{"" if kind == "continuous" else limit}'
            f'<dynamics damping="{rng.uniform(0.0, 0.5)}" friction="{0.3 * rng.integers(2)}"/></joint>'
        )
    return f'<robot name="r">{links}{joints}</robot>'


def _three(x):
    return " ".join(str(value) for value in x)


def both(seed, base, **settings):
    """The same robot in a random state, joints often at a limit: simulators in joint and in body coordinates."""
    rng = np.random.default_rng(seed)
    text = robot(rng)
    model = mb.load_urdf(text)
    q, v, rotors = {}, {}, {}
    for name, low, high in zip(model.joint_names, model.lower, model.upper):
        at = rng.uniform(max(low, -1.0), min(high, 1.0))
        at = (at, low + 1e-4, high - 1e-4)[rng.integers(3)] if np.isfinite(low) else at
        q[name], v[name] = float(at), float(rng.uniform(-1.0, 1.0))
        rotors[name] = JointProperties(armature=0.02 * float(rng.integers(2)) * settings.get("rotors", 1))
    settings.pop("rotors", None)
    entry = SceneModel(text, joints=q, velocities=v, joint_properties=rotors, base=base)
    scene = Scene(models=(entry,), time_step=DT, **settings)
    sims = [mb.Simulator(scene), mb.Simulator(replace(scene, coordinates="bodies"))]
    for sim in sims:
        sim.solver_tolerance = 1e-15
    return *sims, rng.uniform(-7.0, 7.0, N), text


def accelerations(text, names, sim, q, v, v_next, free):
    """Classical accelerations (n, 6) of the bodies, from the tree's joints by Pinocchio."""
    model = pin.buildModelFromXML(text, pin.JointModelFreeFlyer()) if free else pin.buildModelFromXML(text)
    data, rate = model.createData(), (v_next - v) / DT
    Q, V, A = np.zeros(model.nq), np.zeros(model.nv), np.zeros(model.nv)
    if free:  # Pinocchio's base velocity is in its own axes
        R = pin.Quaternion(q[3:7]).toRotationMatrix()
        Q[:7], V[:3], V[3:6] = q[:7], R.T @ v[3:6], R.T @ v[:3]
        A[:3], A[3:6] = R.T @ (rate[3:6] - np.cross(v[:3], v[3:6])), R.T @ rate[:3]
    for name, i, d in zip(sim.world.joint_names, sim.world.joint_q, sim.world.joint_v):
        joint = model.joints[model.getJointId(name)]
        Q[joint.idx_q : joint.idx_q + joint.nq] = q[i] if joint.nq == 1 else (np.cos(q[i]), np.sin(q[i]))
        V[joint.idx_v], A[joint.idx_v] = v[d], rate[d]
    pin.forwardKinematics(model, data, Q, V, A)
    frames = [(data, model.getFrameId(name), pin.LOCAL_WORLD_ALIGNED) for name in names]
    return np.array([
        np.r_[a.angular, a.linear] for a in (pin.getFrameClassicalAcceleration(model, *frame) for frame in frames)
    ])  # fmt: skip


@pytest.mark.parametrize("seed", range(8))
def test_bodies_accelerate_as_the_tree_does(seed):
    """The tree's own step is judged elsewhere; from its joints Pinocchio has the accelerations of the bodies."""
    free = seed % 2 == 1
    tree, bodies, effort, text = both(seed, "free" if free else "weld")
    at = bodies.hinges()
    np.testing.assert_allclose(at.positions, tree.joint_positions(), atol=1e-14)
    np.testing.assert_allclose(at.velocities, tree.joint_velocities(), atol=1e-14)
    q, v, before = tree.q, tree.v, bodies.v
    tree.step(effort)
    certificate = bodies.step(effort).certificate
    assert certificate.residual < 1e-12 and certificate.loop_residual < 1e-12
    expected = accelerations(text, bodies.world.body_names, tree, q, v, tree.v, free)
    np.testing.assert_allclose(((bodies.v - before) / DT).reshape(-1, 6), expected, rtol=1e-9, atol=1e-9)


def test_limits_are_in_some_of_these_steps_and_stop_what_runs_into_them():
    held = 0
    for seed in range(8):
        _, bodies, effort, _ = both(seed, "weld")
        bodies.step(effort)
        held += int((bodies.context.solution.r[bodies.context.hinges.posed[:, :2]] > 0.0)[
            bodies.context.hinges.posed[:, :2] >= 0].sum())  # fmt: skip
    assert held >= 3
    for _ in range(300):
        bodies.step(effort)
    hinges, at = bodies.world.hinges, bodies.hinges().positions
    assert (at >= hinges.lower - 1e-5).all() and (at <= hinges.upper + 1e-5).all()


def test_efforts_of_hinges_are_those_of_joints():
    tree, bodies, effort, _ = both(3, "weld", rotors=0)
    tree.step(effort)
    bodies.step(effort)
    assert bodies.hinges().names == tree.world.joint_names
    np.testing.assert_allclose(bodies.hinges().efforts, tree.joint_efforts(), atol=1e-8)


def test_the_driven_motion_is_that_of_the_tree():
    """Limits and friction included; both integrate their own coordinates by the same velocities."""
    tree, bodies, effort, _ = both(4, "weld")
    start = tree.joint_positions()
    for k in range(100):
        for sim in (tree, bodies):
            sim.step(effort * np.sin(0.04 * k))
    np.testing.assert_allclose(bodies.hinges().positions, tree.joint_positions(), atol=1e-12)
    assert np.abs(tree.joint_positions() - start).max() > 0.05


def test_a_limit_that_an_impulse_throws_a_hinge_against_is_found():
    """Two slides one behind the other: the first one's limit throws the second, which stood still, past its own."""
    link = (
        '<link name="{0}"><inertial><mass value="{1}"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/>'
        "</inertial></link>"
    )
    joint = (
        '<joint name="j{1}" type="prismatic"><parent link="{0}"/><child link="{1}"/><axis xyz="1 0 0"/>'
        '<limit lower="-1" upper="{2}" effort="9" velocity="99"/></joint>'
    )
    text = f'<robot name="r"><link name="o"/>{link.format("a", 1)}{link.format("b", 1)}'
    text += f"{joint.format('o', 'a', 0.005)}{joint.format('a', 'b', 0.003)}</robot>"
    scene = Scene(models=(SceneModel(text, velocities={"ja": 10.0}),), gravity=(0.0, 0.0, 0.0))
    tree, bodies = mb.Simulator(scene), mb.Simulator(replace(scene, coordinates="bodies"))
    tree.step()
    bodies.step()
    np.testing.assert_allclose(bodies.hinges().velocities, tree.joint_velocities(), atol=1e-9)
    np.testing.assert_allclose(tree.joint_velocities(), [5.0, 3.0], atol=1e-9)  # to both limits in 1 ms


def test_no_limit_is_within_reach_because_of_a_step_that_failed():
    for integrator in ("semi_implicit_euler", "rk4"):
        scene = Scene(models=(SceneModel(SLIDE),), coordinates="bodies", integrator=integrator)
        sim = mb.Simulator(scene)
        sim.context.hinges.speed[:] = 1e6
        sim.step()
        assert (sim.context.hinges.posed[:, :2] < 0).all()


@pytest.mark.parametrize("v", [1.0, 4.0])
def test_flows_pass_a_limit_by_half_of_a_step_s_motion_and_say_so(v):
    """The impulse acts as a force over the step: a hinge at its limit goes on by the mean of v and 0 over dt."""
    dt, start = 5e-3, SceneModel(SLIDE, joints={"j": 1.0}, velocities={"j": v})
    scene = Scene(models=(start,), coordinates="bodies", gravity=(0.0, 0.0, 0.0), time_step=dt)
    for settings in ({"integrator": "rk4"}, {"integrator": "midpoint"}, {"collision_scheme": "event"}):
        sim = mb.Simulator(replace(scene, **settings))
        sim.step()
        assert sim.hinges().positions[0] - 1.0 == pytest.approx(0.5 * v * dt, rel=1e-6)
        assert "pass it by up to half of a step's motion" in sim.world.warnings[-1]
    sim = mb.Simulator(scene)
    sim.step()
    assert sim.hinges().positions[0] == pytest.approx(1.0, abs=1e-12) and not sim.world.warnings
    free = SLIDE.replace('"prismatic"', '"continuous"')
    told = mb.build_world(replace(scene, models=(SceneModel(free),), integrator="rk4")).warnings
    assert len(told) == 1 and "limits of a continuous joint are not applied" in told[0]


@pytest.mark.parametrize("settings", [{"integrator": "rk4"}, {"collision_scheme": "event"}])
def test_damping_and_rotors_in_flows_are_of_second_order(settings):
    def apart(steps):
        scenes = (replace(scene, coordinates=c, time_step=0.1 / steps) for c in ("joints", "bodies"))
        tree, bodies = map(mb.Simulator, scenes)
        for _ in range(steps):
            tree.step([3.0])
            bodies.step([3.0])
        return abs(bodies.hinges().velocities[0] - tree.joint_velocities()[0])

    damped = SceneModel(
        SLIDE, velocities={"j": 2.0}, joint_properties={"j": JointProperties(damping=9.0, armature=0.5)}
    )
    scene = Scene(models=(damped,), **settings)
    coarse, fine = apart(20), apart(40)
    assert 1e-8 < coarse < 1e-2 and 3.5 < coarse / fine < 5.0
