# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches through joints: statics by hand, and Pinocchio's inverse dynamics under contact and pushes."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.scene import Closure, Ground, Pose, Scene, SceneModel

LINK = '<link name="{0}"><inertial><origin xyz="{1}"/><mass value="{2}"/><inertia ixx="{3}" iyy="{4}" izz="{5}" ' \
    'ixy="0.0001" ixz="0" iyz="-0.00005"/></inertial>{6}</link>'  # fmt: skip
JOINT = '<joint name="{0}" type="{1}"><parent link="{2}"/><child link="{3}"/><origin xyz="{4}" rpy="{5}"/>' \
    '<axis xyz="{6}"/><limit lower="-3" upper="3" effort="100" velocity="100"/></joint>'  # fmt: skip
BALL = '<collision><origin xyz="0.05 0 0.08"/><geometry><sphere radius="0.02"/></geometry></collision>'


def urdf(sensor="fixed"):
    """An arm of two links with a sensor between wrist and tool; the tool carries one more hinged body."""
    parts = [
        LINK.format("base", "0 0 0", 1.0, 0.01, 0.01, 0.01, ""),
        LINK.format("upper", "0.02 0.01 0.2", 2.0, 0.03, 0.02, 0.01, ""),
        LINK.format("wrist", "0 0.03 0.1", 1.0, 0.006, 0.008, 0.004, ""),
        LINK.format("tool", "0.03 0 0.05", 0.7, 0.002, 0.003, 0.004, BALL),
        LINK.format("finger", "0.01 0.02 0.03", 0.2, 0.0004, 0.0005, 0.0006, ""),
        JOINT.format("shoulder", "revolute", "base", "upper", "0 0 0.5", "0.3 0 0.1", "0 1 0"),
        JOINT.format("elbow", "revolute", "upper", "wrist", "0.05 0 0.4", "0 0.9 0", "0.6 0.8 0"),
        JOINT.format("sensor", sensor, "wrist", "tool", "0 0.1 0.2", "0.2 -0.4 0.7", "0 0 1"),
        JOINT.format("knuckle", "revolute", "tool", "finger", "0 0.02 0.1", "0 0 0.5", "1 0 0"),
    ]
    return f'<robot name="arm">{"".join(parts)}</robot>'


def scene(height=None):
    model = SceneModel(urdf(), joints={"shoulder": 0.7, "elbow": 0.5, "knuckle": 0.2})
    return Scene(models=(model,), ground=None if height is None else Ground(height))


def tip_height():
    sim = mb.Simulator(scene(), warm_up=False)
    sim.reset()
    p, quaternion = sim.link_pose("tool")
    from mb_contact.model.rotations import quat_to_matrix

    return float((p + quat_to_matrix(quaternion) @ [0.05, 0.0, 0.08])[2]) - 0.02


def test_a_welded_base_carries_the_weight():
    sim = mb.Simulator(scene())
    np.testing.assert_array_equal(sim.joint_wrench("sensor"), np.zeros(6))  # before the first step
    with pytest.raises(mb.InputError, match="no joint 'wheel'; the robots have shoulder, elbow, sensor, knuckle"):
        sim.joint_wrench("wheel")
    q0 = sim.q
    sim.set_external_wrench("tool", [0, 0, 0, 1.0, 2.0, 3.0])
    sim.step(sim.nonlinear_effects())
    # Newton's law for everything beyond the shoulder, in world axes
    accelerations = []
    model = mb.load_urdf(urdf())
    v_dot = sim.v / sim.time_step
    masses = np.asarray(model.tree.mass)
    for k in range(3):
        J = com_jacobian(model, q0, k)
        accelerations.append(J @ v_dot)  # v = 0 at the start: no Coriolis terms
    R = mb.frame_pose(model, q0, "upper")[0]
    force = sum(m * (a + [0.0, 0.0, 9.81]) for m, a in zip(masses, accelerations)) - [1.0, 2.0, 3.0]
    np.testing.assert_allclose(R @ sim.joint_wrench("shoulder")[3:], force, atol=1e-9)


def com_jacobian(model, q, k):
    """Velocity of body k's centre of mass per joint rate, by central differences."""
    columns = []
    for i in range(3):
        ends = []
        for sign in (1.0, -1.0):
            at = q + sign * 1e-6 * np.eye(3)[i]
            R, p = mb.frame_pose(model, at, model.body_names[k])
            ends.append(p + R @ np.asarray(model.tree.com)[k])
        columns.append((ends[0] - ends[1]) / 2e-6)
    return np.array(columns).T


@pytest.mark.parametrize("touching", [False, True], ids=["free", "in contact"])
def test_agrees_with_pinocchio(touching):
    pin = pytest.importorskip("pinocchio", reason="no Pinocchio here to compare with")
    sim = mb.Simulator(scene(tip_height() + 1e-4 if touching else None))
    peer = pin.buildModelFromXML(urdf("revolute"))
    data = peer.createData()
    order = [peer.joints[peer.getJointId(name)].idx_v for name in sim.world.joint_names]
    rng = np.random.default_rng(1)
    sim.set_external_wrench("finger", [0.1, -0.2, 0.3, 1.0, 2.0, -0.5])
    touched = 0.0
    for _ in range(20):
        before_q, before_v = sim.joint_positions(), sim.joint_velocities()
        step = sim.step(sim.nonlinear_effects() + rng.normal(0.0, 0.5, 3))
        q, v, a = (np.zeros(4) for _ in range(3))
        q[order], v[order] = before_q, before_v
        a[order] = (sim.joint_velocities() - before_v) / sim.time_step
        pin.forwardKinematics(peer, data, q, v, a)
        at = {name: data.oMi[peer.getJointId(name)].copy() for name in peer.names}
        push = [pin.Force.Zero() for _ in range(peer.njoints)]
        in_world = pin.Force(np.array([1.0, 2.0, -0.5]), np.array([0.1, -0.2, 0.3]))
        knuckle = at["knuckle"]
        push[peer.getJointId("knuckle")] = pin.SE3(knuckle.rotation, np.zeros(3)).actInv(in_world)
        for contact in step.contacts:
            force = (1.0 if contact["link_a"] == "tool" else -1.0) * contact["impulse"] / sim.time_step
            touched = max(touched, np.linalg.norm(force))
            push[peer.getJointId("sensor")] += at["sensor"].actInv(pin.Force(force, np.cross(contact["point"], force)))
        pin.rnea(peer, data, q, v, a, push)
        for name in ("shoulder", "elbow", "sensor", "knuckle"):
            f = data.f[peer.getJointId(name)]
            ours = sim.joint_wrench(name)
            np.testing.assert_allclose(ours, np.concatenate((f.angular, f.linear)), rtol=1e-9, atol=1e-9)
        axis = [np.dot(sim.joint_wrench("shoulder")[:3], [0, 1, 0]), np.dot(sim.joint_wrench("knuckle")[:3], [1, 0, 0])]
        np.testing.assert_allclose(axis, sim.joint_efforts()[[0, 2]], rtol=1e-9, atol=1e-9)
    assert (touched > 1.0) == touching


def test_a_loop_carries_its_part():
    """A beam on two hinges: half the weight each, whatever closes the loop."""
    beam = (
        '<robot name="beam"><link name="post"/>'
        '<link name="beam"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
        '<inertia ixx="0.01" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>'
        + JOINT.format("hinge", "revolute", "post", "beam", "0 0 1", "0 0 0", "0 1 0")
        + "</robot>"
    )
    closure = Closure("point", "beam", "world", pose_a=Pose((1.0, 0.0, 0.0)))
    sim = mb.Simulator(Scene(models=(SceneModel(beam),), loop_closures=(closure,)))
    for _ in range(5):
        sim.step()
    np.testing.assert_allclose(sim.joint_wrench("hinge")[3:], [0.0, 0.0, 9.81], atol=1e-6)
