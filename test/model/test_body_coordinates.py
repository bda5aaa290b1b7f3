# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene key ``coordinates: bodies``: J14's NMC and NMC/OS as simulations of any robot."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

import numpy as np
import pinocchio as pin
import pytest

import mb_contact as mb
from mb_contact.model.poses import tree_poses
from mb_contact.model.scene import Ground, JointProperties, Pose, Primitive, Scene, SceneModel, Velocity
from mb_contact.studies.formulations.scene_step import FormulationStep
from oracles.pinocchio_peer import example_robots
from scenes.robots import DUAL_ARM

DT = 1e-3
MIXED = "".join(
    f'<link name="{n}"><inertial><origin xyz="0.1 0.02 -0.2"/><mass value="2"/><inertia ixx="0.05" iyy="0.06" '
    'izz="0.03" ixy="0.004"/></inertial></link>' for n in "abcd"
)  # fmt: skip
JOINTS = "".join(
    f'<joint name="j{b}" type="{kind}"><parent link="{a}"/><child link="{b}"/><origin xyz="0.1 0.2 -0.1" '
    f'rpy="0.3 0.2 -0.5"/><axis xyz="{axis}"/>{limit}</joint>'
    for a, b, kind, axis, limit in (
        ("base", "a", "prismatic", "0.6 0 0.8", '<limit lower="-9" upper="9" effort="1" velocity="9"/>'),
        ("a", "b", "continuous", "0 1 0", ""), ("b", "c", "spherical", "0 0 1", ""),
        ("a", "d", "planar", "0 0.6 0.8", ""),
    )
)  # fmt: skip
EVERY_KIND = f'<robot name="mixed"><link name="base"/>{MIXED}{JOINTS}</robot>'


def arms(**settings):
    """The dual arm, swinging freely from a random state."""
    names = mb.load_urdf(DUAL_ARM).joint_names
    random = np.random.default_rng(3)
    start = {"joints": dict(zip(names, random.uniform(0.0, 0.2, len(names)).tolist()))}
    start["velocities"] = dict(zip(names, random.uniform(-1.0, 1.0, len(names)).tolist()))
    gone = "<!--.*?-->|<collision_checking.*?</collision_checking>|<collision.*?</collision>|<dynamics.*?/>"
    text = re.sub(gone, "", DUAL_ARM.read_text(), flags=re.DOTALL)
    return Scene(models=(SceneModel(text, **start),), coordinates="bodies", time_step=DT, **settings)


def test_bodies_accelerate_as_pinocchio_says():
    scene = arms()
    sim, tree = mb.Simulator(scene), mb.Simulator(replace(scene, coordinates="joints"))
    assert sim.world.tree.parent.max() == -1 and len(sim.v) == 6 * 26 and sim.world.couplings.rows == 6 * 26 - 26
    model = pin.buildModelFromXML(DUAL_ARM.read_text())
    data = model.createData()
    q, v = np.zeros(26), np.zeros(26)
    for name, i, d in zip(tree.world.joint_names, tree.world.joint_q, tree.world.joint_v):
        joint = model.joints[model.getJointId(name)]
        q[joint.idx_q], v[joint.idx_v] = tree.q[i], tree.v[d]
    model.armature[:] = 0.0
    pin.aba(model, data, q, v, np.zeros(26))
    pin.forwardKinematics(model, data, q, v, data.ddq)
    before = sim.v
    sim.step()
    rates = ((sim.v - before) / DT).reshape(-1, 6)
    for k, body in enumerate(sim.world.body_names):
        frame = pin.getFrameClassicalAcceleration(model, data, model.getFrameId(body), pin.LOCAL_WORLD_ALIGNED)
        np.testing.assert_allclose(rates[k], np.r_[frame.angular, frame.linear], atol=1e-7)


def opening(drift_control, drift_rate, steps=400):
    """Largest closure errors [m, rad] of the arms, by step, and the simulator."""
    sim = mb.Simulator(arms(drift_control=drift_control, drift_rate=drift_rate))
    return np.array([sim.step().certificate.closure_error for _ in range(steps)]), sim


def test_hinges_drift_unless_they_are_stabilised():
    plain, _ = opening("baumgarte", 0.0)
    held, _ = opening("baumgarte", 0.2)
    closed, _ = opening("projection", 0.2)
    assert plain[-1] > 1e-3 and plain[-1] > 5.0 * held.max()
    assert closed.max() <= 1e-11


def test_the_motion_is_that_of_joints_but_for_the_step():
    def apart(dt, scene):
        both = [mb.Simulator(replace(scene, coordinates=c, time_step=dt)) for c in ("joints", "bodies")]
        for sim in both:
            for _ in range(round(0.1 / dt)):
                sim.step()
        p = [tree_poses(sim.world.tree, sim.q)[1] for sim in both]
        return np.abs(p[0] - p[1]).max()

    for scene in (arms(drift_control="projection"), Scene(models=(SceneModel(EVERY_KIND),), coordinates="bodies")):
        coarse, fine = apart(1e-3, scene), apart(5e-4, scene)
        assert coarse < 2e-3 and 1.7 < coarse / fine < 4.5  # of first to second order


def test_nmc_is_the_same_step():
    """Its own matrix of 6 n velocities, hinges and contacts; a leg of boxes that stands on the ground."""
    link = (
        '<link name="{0}"><inertial><mass value="1"/><inertia ixx="0.01" iyy="0.01" izz="0.01"/></inertial><collision>'
        '<geometry><sphere radius="0.1"/></geometry></collision></link>'
    )
    joint = (
        '<joint name="j{1}" type="continuous"><parent link="{0}"/><child link="{1}"/><origin xyz="0.25 0 0"/>'
        '<axis xyz="0 1 0"/></joint>'
    )
    text = f'<robot name="r">{"".join(map(link.format, "abc"))}{joint.format(*"ab")}{joint.format(*"bc")}</robot>'
    robot = SceneModel(text, base="free", pose=Pose((0.0, 0.0, 0.1001)))
    scene = Scene(models=(robot,), ground=Ground(), coordinates="bodies", friction_model="coulomb_polyhedral",
                  friction_directions=4)  # fmt: skip
    usual, nmc = mb.Simulator(scene), mb.Simulator(scene, step=partial(FormulationStep, formulation="nmc"))
    for _ in range(15):
        usual.step()
        step = nmc.step()
        np.testing.assert_allclose(nmc.v, usual.v, atol=1e-7)
    solution = nmc.last_formulation
    assert solution.size == 6 * 3 + 2 * 5 + 3 * 6 and solution.solved and step.certificate.contacts == 3


@pytest.mark.skipif(example_robots() is None, reason="example-robot-data is not installed")
@pytest.mark.parametrize(
    "file", ["ur_description/urdf/ur5_robot.urdf", "anymal_b_simple_description/robots/anymal.urdf"]
)
def test_robots_as_they_ship(file):
    robot = SceneModel(str(example_robots() / file), base="free", collision_meshes="skip", inertia_errors="warn")
    robot = replace(robot, pose=Pose((0.0, 0.0, 2.0)))
    sim = mb.Simulator(Scene(models=(robot,), coordinates="bodies"))
    momentum = sim.world.tree.mass.sum() * 9.81 * 0.05
    for _ in range(50):
        step = sim.step()
    assert step.certificate.closure_error < 1e-6 and step.certificate.residual < 1e-9
    falling = np.einsum("k,kc->c", sim.world.tree.mass, _com_velocities(sim))
    np.testing.assert_allclose(falling, [0.0, 0.0, -momentum], atol=1e-8)  # the whole falls freely


def _com_velocities(sim):
    """Velocities of the bodies' centres of mass (n, 3)."""
    R, _ = tree_poses(sim.world.tree, sim.q)
    v = sim.v.reshape(-1, 6)
    return v[:, 3:] + np.cross(v[:, :3], np.einsum("kij,kj->ki", R, sim.world.tree.com))


def test_what_needs_joints_is_refused_or_left_out_with_a_warning():
    name = mb.load_urdf(DUAL_ARM).joint_names[0]
    chosen = replace(arms().models[0], joint_properties={name: JointProperties(stiffness=1.0)})
    with pytest.raises(mb.SceneError, match="coordinates: a joint is no coordinate then, so it has no spring"):
        mb.Simulator(replace(arms(), models=(chosen,)))
    universal = EVERY_KIND.replace('type="spherical"', 'type="universal"')
    universal = universal.replace('<axis xyz="0 0 1"/>', '<axis xyz="0 0 1"/><axis2 xyz="1 0 0"/>')
    with pytest.raises(mb.SceneError, match="the universal joint of 'c' has no loop closure"):
        mb.Simulator(Scene(models=(SceneModel(universal),), coordinates="bodies"))
    assert not mb.build_world(arms()).warnings
    with pytest.raises(mb.SceneError, match="nmc does not know limits, damping, rotors and friction in body"):
        mb.Simulator(arms(), step=partial(FormulationStep, formulation="nmc"))
    wide = EVERY_KIND.replace('type="continuous"', 'type="revolute"').replace(
        '<axis xyz="0 1 0"/>', '<axis xyz="0 1 0"/><limit lower="-6" upper="6" effort="1" velocity="1"/>'
    )
    several = JointProperties(damping=1.0)
    world = mb.build_world(Scene(models=(SceneModel(wide, joint_properties={"jc": several}),), coordinates="bodies"))
    left_out = "limits more than one turn apart, damping of joints of several degrees of freedom"
    assert world.warnings[-1] == f"coordinates: bodies leaves out {left_out}"
    box = Primitive("box", "box", (1.0, 1.0, 1.0), Pose(), "free", 1.0)
    free = mb.build_world(Scene(primitives=(box,), coordinates="bodies"))
    assert free.couplings.rows == 0 and not free.warnings


@pytest.mark.parametrize("integrator", ["rk4", "midpoint"])
def test_a_limit_holds_in_a_flow_in_which_a_contact_wanders(integrator):
    """A rod falls onto the limit of its joint, alone and while a ball rolls elsewhere."""
    rod = (
        '<robot name="rod"><link name="base"/><link name="a"><inertial><origin xyz="0 0 -0.3"/><mass value="1"/>'
        '<inertia ixx="0.02" iyy="0.02" izz="0.02"/></inertial></link><joint name="j" type="revolute">'
        '<parent link="base"/><child link="a"/><axis xyz="0 1 0"/>'
        '<limit lower="-0.2" upper="2" effort="0" velocity="50"/></joint></robot>'
    )
    rolls = Velocity(linear=(0.5, 0.0, 0.0), angular=(0.0, 3.0, 0.0))
    ball = Primitive("ball", "sphere", (0.1,), Pose((3.0, 0.0, 0.1)), "free", 1.0, velocity=rolls)
    lowest = []
    for primitives in ((), (ball,)):
        model = SceneModel(rod, joints={"j": 1.0}, pose=Pose((0.0, 0.0, 2.0)))
        sim = mb.Simulator(Scene(models=(model,), primitives=primitives, ground=Ground(), coordinates="bodies",
                                 integrator=integrator, time_step=DT))  # fmt: skip
        angles = []
        for _ in range(400):
            sim.step()
            angles.append(sim.hinges().positions[0])
        lowest.append(min(angles))
    assert -0.205 < lowest[0] < -0.2
    assert lowest[1] == pytest.approx(lowest[0], abs=1e-5)
