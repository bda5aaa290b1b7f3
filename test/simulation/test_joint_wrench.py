# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Wrenches through joints: statics by hand, and Pinocchio's inverse dynamics under contact and pushes."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import (
    Closure,
    Gear,
    Ground,
    JointProperties,
    Material,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
)
from mb_contact.model.scene.sensors import Sensor

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
    return float((p + quat_to_matrix(quaternion) @ [0.05, 0.0, 0.08])[2]) - 0.02


def test_a_welded_base_carries_the_weight():
    sim = mb.Simulator(scene())
    np.testing.assert_array_equal(sim.joint_wrench("sensor"), np.zeros(6))  # before the first step
    with pytest.raises(mb.InputError, match="no joint 'wheel'; choose one of shoulder, elbow, sensor, knuckle"):
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


def test_masses_and_inertias_that_were_set_are_those_of_the_wrench():
    sim, joints = mb.Simulator(scene()), ("shoulder", "elbow", "sensor", "knuckle")
    sim.set_state(sim.q, [0.5, -1.0, 2.0])
    start = sim.save()
    sim.step()
    before = np.array([sim.joint_wrench(joint) for joint in joints])
    sim.restore(start)
    masses = sim.values("mass")
    sim.set("mass", [1.5 * mass for mass in masses.values()], of=list(masses))
    sim.step()  # as before, of 1.5 times the forces
    np.testing.assert_allclose([sim.joint_wrench(joint) for joint in joints], 1.5 * before, rtol=1e-9, atol=1e-9)
    sim.set("inertia", [[0.5, 0.0, 0.0, 0.4, 0.0, 0.3]], of=["upper"])
    sim.step([1.0, 2.0, 0.3])
    along = sim.joint_wrench("shoulder")[:3] @ [0.0, 1.0, 0.0], sim.joint_wrench("elbow")[:3] @ [0.6, 0.8, 0.0]
    np.testing.assert_allclose(along, sim.joint_efforts()[:2], atol=1e-10)


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


# --- couplings ----------------------------------------------------------------------------------------
PAIR = (
    '<robot name="pair"><link name="frame"/>'
    + LINK.format("drive", "0.1 0 0.2", 1.5, 0.03, 0.02, 0.01, "")
    + LINK.format("driven", "0 0.2 0.1", 0.8, 0.01, 0.02, 0.015, "")
    + JOINT.format("first", "revolute", "frame", "drive", "0 0 1", "0.2 0 0", "0 1 0")
    + JOINT.format("second", "revolute", "drive", "driven", "0.3 0 0", "0 0.4 0", "0.6 0 0.8")
    + "</robot>"
)
MIMIC = PAIR.replace("0.6 0 0.8\"/>", '0.6 0 0.8"/><mimic joint="first" multiplier="-1.5"/>')
BEAM = (
    '<robot name="beam"><link name="post"/>'
    '<link name="beam"><inertial><origin xyz="0.5 0 0"/><mass value="2"/>'
    '<inertia ixx="0.01" iyy="0.2" izz="0.2" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    + JOINT.format("hinge", "revolute", "post", "beam", "0 0 1", "0 0 0", "0 1 0")
    + "</robot>"
)
BEAM_END = Closure("point", "beam", "world", pose_a=Pose((1.0, 0.0, 0.0)))


def all_joints(sim):
    """Positions and velocities of all joints by name, those that follow included."""
    names = [*sim.world.joint_names, *sim.world.follower_names]
    parts = [sim.joint_positions(), sim.joint_velocities()]
    if sim.world.follower_names:
        parts = [np.concatenate(pair) for pair in zip(parts, sim.follower_state())]
    return {name: (q, v) for name, q, v in zip(names, *parts)}


@pytest.mark.parametrize("beam", [False, True], ids=["alone", "beside a loop"])
@pytest.mark.parametrize("coupling", ["mimic", "gear"])
def test_coupled_joints_agree_with_pinocchio(coupling, beam):
    """Pinocchio's inverse dynamics of the uncoupled tree: a coupling acts along the axes, as a motor in each joint."""
    pin = pytest.importorskip("pinocchio", reason="no Pinocchio here to compare with")
    models = (SceneModel(MIMIC if coupling == "mimic" else PAIR, joints={"first": 0.4}),)
    gears = () if coupling == "mimic" else (Gear("second", "first", -1.5),)
    models += (SceneModel(BEAM, pose=Pose((5.0, 0.0, 0.0))),) if beam else ()
    if coupling == "gear":
        models[0].joints["second"] = -0.6
    closures = (BEAM_END,) if beam else ()
    sim = mb.Simulator(Scene(models=models, gears=gears, loop_closures=closures))
    peer = pin.buildModelFromXML(PAIR)
    data = peer.createData()
    for _ in range(15):
        before = all_joints(sim)
        sim.step([0.0 if name == "hinge" else 0.8 for name in sim.world.joint_names])
        after = all_joints(sim)
        q, v, a = (np.zeros(2) for _ in range(3))
        for name in ("first", "second"):
            i = peer.joints[peer.getJointId(name)].idx_v
            q[i], v[i] = before[name]
            a[i] = (after[name][1] - v[i]) / sim.time_step
        pin.rnea(peer, data, q, v, a)
        for name in ("first", "second"):
            f = data.f[peer.getJointId(name)]
            expected = np.concatenate((f.angular, f.linear))
            np.testing.assert_allclose(sim.joint_wrench(name), expected, rtol=1e-9, atol=1e-9)
    assert after["second"][0] == pytest.approx(-1.5 * after["first"][0], abs=1e-6)
    assert abs(sim.joint_wrench("second")[:3] @ [0.6, 0.0, 0.8]) > 0.01  # what the coupling carries
    if beam:
        np.testing.assert_allclose(sim.joint_wrench("hinge")[3:], [0.0, 0.0, 9.81], atol=1e-6)


# --- other ways to step ---------------------------------------------------------------------------------
def swinging(dt, **more):
    """The arm in full swing, one step on under constant efforts."""
    sim = mb.Simulator(dataclasses.replace(scene(), time_step=dt, **more), warm_up=False)
    sim.reset()
    sim.set_state(sim.q, [2.0, -3.0, 4.0])
    sim.step([1.0, -2.0, 0.5])
    return sim


AXES = {"shoulder": [0.0, 1.0, 0.0], "elbow": [0.6, 0.8, 0.0], "knuckle": [1.0, 0.0, 0.0]}
WAYS = [{"integrator": name} for name in ("rk4", "midpoint", "adaptive")] + [{"collision_scheme": "event"}]


@pytest.mark.parametrize("more", WAYS, ids=lambda more: next(iter(more.values())))
def test_second_order_under_other_integrators(more):
    """Along its axis a joint carries its effort, and the base all momentum that is gained: errors fall by four."""
    errors = []
    for dt in (1e-3, 5e-4):
        sim = swinging(dt, **more)
        axial = [np.dot(sim.joint_wrench(name)[:3], axis) for name, axis in AXES.items()]
        model = mb.load_urdf(urdf())
        q0 = mb.Simulator(scene(), warm_up=False).q
        masses = np.asarray(model.tree.mass)

        def momentum(q, v):
            return sum(m * com_jacobian(model, q, k) @ v for k, m in enumerate(masses))  # noqa: B023

        gained = (momentum(sim.q, sim.v) - momentum(q0, np.array([2.0, -3.0, 4.0]))) / dt
        R = mb.frame_pose(model, 0.5 * (q0 + sim.q), "upper")[0]
        force = R @ sim.joint_wrench("shoulder")[3:] - masses.sum() * np.array([0.0, 0.0, 9.81])
        errors.append([np.abs(np.subtract(axial, [1.0, -2.0, 0.5])).max(), np.abs(force - gained).max()])
    coarse, fine = np.array(errors)
    assert (fine < 1e-2).all() and (fine > 1e-7).all()
    np.testing.assert_allclose(coarse / fine, 4.0, rtol=0.15)


def test_from_event_to_event_a_collision_goes_through_the_joints():
    """The tool hits the ground inside of a step: the base feels what Newton's law says, to first order."""
    errors = []
    for dt in (1e-3, 5e-4):
        touching = dataclasses.replace(scene(tip_height() - 1e-4 * dt), time_step=dt, collision_scheme="event")
        sim = mb.Simulator(touching, warm_up=False)
        sim.reset()
        v0, q0 = np.array([0.5, 0.3, 0.0]), sim.q
        sim.set_state(q0, v0)
        step = sim.step()
        model = mb.load_urdf(urdf())
        masses = np.asarray(model.tree.mass)
        gained = sum(m * (com_jacobian(model, sim.q, k) @ sim.v - com_jacobian(model, q0, k) @ v0)
                     for k, m in enumerate(masses))  # fmt: skip
        R = mb.frame_pose(model, 0.5 * (q0 + sim.q), "upper")[0]
        carried = dt * (R @ sim.joint_wrench("shoulder")[3:])
        quat = sim.link_pose("tool")[1]
        impulse = quat_to_matrix(quat) @ sim.contact_impulse("tool")[3:]
        assert len(step.events) == 1 and np.linalg.norm(impulse) > 0.1
        balance = carried + impulse - masses.sum() * np.array([0.0, 0.0, 9.81]) * dt - gained
        errors.append(np.linalg.norm(balance) / np.linalg.norm(impulse))
    assert errors[0] < 5e-3 and errors[1] < 0.6 * errors[0]


@pytest.mark.parametrize("balls", [False, True], ids=["alone", "beside bouncing balls"])
def test_loops_from_event_to_event(balls):
    """Half of the beam's weight on its hinge, into however many substeps balls cut the steps."""
    more = [Primitive(f"ball_{i}", "sphere", (0.1,), Pose((9.0, i, 0.11 + 0.003 * i)), "free", 1.0, material="bouncy")
            for i in range(3)] if balls else []  # fmt: skip
    materials = {"bouncy": Material(friction=0.5, restitution=0.9)} if balls else {}
    sim = mb.Simulator(
        Scene(
            models=(SceneModel(BEAM),), loop_closures=(BEAM_END,), primitives=tuple(more), materials=materials,
            ground=Ground(0.0, "bouncy") if balls else None, collision_scheme="event",
        )
    )  # fmt: skip
    collisions = 0
    for _ in range(80):
        collisions += len(sim.step().events)
        np.testing.assert_allclose(sim.joint_wrench("hinge")[3:], [0.0, 0.0, 9.81], atol=1e-4)
    assert (collisions > 2) == balls


def test_an_impact_goes_through_a_loop():
    """A ball bounces off the middle of the beam within a time step: hinge and loop take half of its impulse each."""
    shape = '<collision><origin xyz="0.5 0 0"/><geometry><box size="1 0.2 0.1"/></geometry></collision>'
    middle = BEAM.replace("</inertial>", f"</inertial>{shape}")
    ball = Primitive("ball", "sphere", (0.1,), Pose((0.5, 0.0, 1.2)), "free", 1.0, material="bouncy")
    materials = {"bouncy": Material(friction=0.5, restitution=0.8)}
    model = SceneModel(middle, materials=ModelMaterials("bouncy"))
    sim = mb.Simulator(Scene(models=(model,), loop_closures=(BEAM_END,), primitives=(ball,), materials=materials))
    struck = 0.0
    for _ in range(200):
        sim.step()
        impulse = -sim.contact_impulse("beam")[5]
        expected = 9.81 + 0.5 * impulse / sim.time_step
        np.testing.assert_allclose(sim.joint_wrench("hinge")[3:], [0.0, 0.0, expected], rtol=1e-3, atol=1e-3)
        struck = max(struck, impulse)
    assert struck > 1.0


def test_an_impact_goes_through_a_gear_beside_joints_with_friction():
    """A ball bounces off a link that a gear drives, one of two: with gears as rows as with gears in the tree."""
    shape = '<collision><origin xyz="0 0.2 0.1"/><geometry><sphere radius="0.1"/></geometry></collision>'
    pair = PAIR.replace(driven := LINK.format("driven", "0 0.2 0.1", 0.8, 0.01, 0.02, 0.015, ""),
                        driven.replace("</link>", f"{shape}</link>"))  # fmt: skip
    pair = SceneModel(pair, joints={"first": 0.4, "second": -0.6}, materials=ModelMaterials("bouncy"))
    rubbing = {"hinge_0": JointProperties(friction=0.5)}
    chain = SceneModel(mb.pendulum(3).urdf(), pose=Pose((5.0, 0.0, 0.0)), joint_properties=rubbing)
    gears = Gear("second", "first", -1.5), Gear("hinge_2", "hinge_1", 1.0)
    struck, materials = [], {"bouncy": Material(friction=0.5, restitution=0.8)}
    for loops in ("embed", "multipliers"):
        scene = Scene(models=(pair, chain), gears=gears, loops=loops, materials=materials)
        at = mb.Simulator(scene).link_pose("driven")
        place = at[0] + quat_to_matrix(at[1]) @ [0.0, 0.2, 0.1] + [0.01, 0.0, 0.21]
        ball = Primitive("ball", "sphere", (0.1,), Pose(tuple(place)), "free", 1.0, material="bouncy")
        sim = mb.Simulator(dataclasses.replace(scene, primitives=(ball,)))
        sim.set_object("ball", velocity=[0.0, 0.0, 0.0, 0.0, 0.0, -2.0])
        wrenches = []
        for _ in range(20):
            sim.step([0.0 if name.startswith("hinge") else 0.8 for name in sim.world.joint_names])
            wrenches.append(np.concatenate([sim.joint_wrench(name) for name in ("first", "second")]))
        struck.append(np.array(wrenches))
    assert np.abs(struck[0]).max() > 100.0
    np.testing.assert_allclose(*struck, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("kind", ["fixed", "prismatic"])
def test_body_coordinates_have_the_wrenches_and_readings_of_joint_coordinates(kind):
    """An arm with efforts, damping, a rotor, friction, a joint at its limit and a push, moving or on a thread."""
    threaded = kind == "prismatic"
    text = urdf(kind).replace("<limit", '<dynamics damping="0.2" friction="0.1"/><limit')
    rates = {} if threaded else {"shoulder": 1.0, "elbow": -2.0}
    rotor = {"shoulder": JointProperties(armature=0.1)}
    model = SceneModel(text, joints={"knuckle": 3.0}, velocities=rates, joint_properties=rotor)
    sensors = (Sensor("imu", "imu", link="finger"), Sensor("load", "force_torque", joint="sensor"),
               Sensor("arm", "encoder"))  # fmt: skip
    thread = Closure("distance", "tool", "world", pose_b=Pose((0.0, 0.0, 1.5)), name="thread")
    scene = Scene(models=(model,), time_step=1e-6, sensors=sensors, loop_closures=(thread,) * threaded)
    tree, bodies = sims = [mb.Simulator(dataclasses.replace(scene, coordinates=c)) for c in ("joints", "bodies")]
    for sim in sims:
        sim.solver_tolerance = 1e-15
        sim.set_external_wrench("finger", [0.1, 0.2, 0.3, 1.0, 2.0, 3.0])
        sim.step([1.0, -2.0, *[2.0] * threaded, 90.0])
    held = bodies.context.hinges.posed[:, :2]
    assert (bodies.context.solution.r[held[held >= 0]] > 0.0).any()  # a limit acts
    assert bodies.joint_wrenches.names == tree.joint_wrenches.names
    for joint in tree.joint_wrenches.names:
        expected = tree.joint_wrench(joint)
        np.testing.assert_allclose(bodies.joint_wrench(joint), expected, atol=1e-4 * max(1.0, np.abs(expected).max()))
    for name in ("imu", "load", "arm"):
        for found, expected in zip(bodies.sensors.read(name), tree.sensors.read(name)):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-3)


def test_an_impact_reaches_gears_beside_friction_in_joints():
    """A ball bounces on a finger whose three joints rub and are geared: the gears hold in the impact's step too."""
    ball = Primitive("ball", "sphere", (0.03,), Pose((0.25, 0.0, 0.06)), "free", 0.5, material="rubber",
                     velocity=mb.model.Velocity(linear=(0.0, 0.0, -1.0)))  # fmt: skip
    parts = "".join(
        f'<link name="{name}"><inertial><origin xyz="0.1 0 0"/><mass value="0.5"/>'
        '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial>'
        '<collision><origin xyz="0.1 0 0"/><geometry><box size="0.2 0.05 0.04"/></geometry></collision></link>'
        f'<joint name="j_{name}" type="continuous"><parent link="{parent}"/><child link="{name}"/>'
        f'<origin xyz="{x} 0 0"/><axis xyz="0 1 0"/><dynamics friction="0.01"/></joint>'
        for name, parent, x in (("a", "base", 0.0), ("b", "a", 0.2), ("c", "b", 0.2))
    )
    robot = SceneModel(f'<robot name="finger"><link name="base"/>{parts}</robot>',
                       materials=mb.model.ModelMaterials("rubber"))  # fmt: skip
    scene = Scene(
        models=(robot,), primitives=(ball,), gears=(Gear("j_b", "j_a", 0.5), Gear("j_c", "j_a", 0.2)),
        gravity=(0.0, 0.0, 0.0), loops="multipliers",
        materials={"rubber": mb.model.Material(friction=0.5, restitution=0.5)},
    )  # fmt: skip
    sim = mb.Simulator(scene)
    events = sim.step(steps=30).events
    v = dict(zip(sim.world.joint_names, sim.joint_velocities()))
    assert events and abs(v["j_a"]) > 0.1
    assert (v["j_b"], v["j_c"]) == pytest.approx((0.5 * v["j_a"], 0.2 * v["j_a"]), abs=1e-9)
