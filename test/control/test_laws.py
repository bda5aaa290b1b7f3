# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Control laws: what each promises, on robots as they ship.

Covers control/poses.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat
from oracles.pinocchio_peer import example_robots

UR5 = "ur_description/urdf/ur5_robot.urdf"
DUAL_ARM = "package://mb_contact/urdf/dual_arm.urdf"

#: arms, hands, legged robots, humanoids; benchmarks/robots.py has all
ROBOTS = (
    UR5,
    "allegro_hand_description/urdf/allegro_left_hand.urdf",
    "icub_description/robots/icub_reduced.urdf",
    "solo_description/robots/solo12.urdf",
    "tiago_description/robots/tiago_no_hand.urdf",
    "g1_description/urdf/g1_29dof_rev_1_0.urdf",
    "alex_description/urdf/alex_sake_hands.urdf",
)


def simulator(file):
    model = mb.model.SceneModel(
        str(example_robots() / file), inertia_errors="warn", massless="merge", collision_meshes="skip"
    )
    return mb.Simulator(mb.Scene(models=(model,)))  # fmt: skip


@pytest.mark.parametrize("file", ROBOTS)
def test_holds_any_robot(file):
    """From a tenth of a radian away: at rest after 3 s, and at the target unless links touch or joints rub."""
    sim = simulator(file)
    of = sim.world.joint_v
    target = np.clip(sim.joint_positions() + 0.1, sim.world.tree.lower[of], sim.world.tree.upper[of])
    for _ in range(3000):
        step = sim.step(mb.control.hold(sim, target))
    assert np.abs(sim.joint_velocities()).max() < 1e-3
    if len(step.contacts) == 0:
        smooth = sim.world.joints.friction[of] == 0.0
        assert np.abs(sim.joint_positions() - target)[smooth].max() < 1e-3


def test_computed_torque_gives_each_joint_its_own_oscillator():
    sim = simulator(UR5)
    rate, start = 10.0, sim.joint_positions()
    target = start + 0.2
    for _ in range(200):
        sim.step(mb.control.computed_torque(sim, target, rate=rate))
    t = sim.time
    left = 0.2 * (1.0 + rate * t) * np.exp(-rate * t)
    assert np.allclose(target - sim.joint_positions(), left, atol=2e-3)


def test_computed_torque_follows_a_motion():
    sim = simulator(UR5)
    motion = mb.control.joint_motion(sim.joint_positions(), sim.joint_positions() + 0.5, velocity=1.0, acceleration=2.0)
    while sim.time < motion.duration:
        sim.step(mb.control.computed_torque(sim, *motion.at(sim.time)))
        assert np.abs(sim.joint_positions() - motion.at(sim.time)[0]).max() < 2e-3


def test_a_hand_goes_straight_while_the_elbow_finds_its_posture():
    sim = mb.Simulator(DUAL_ARM)
    names = list(sim.world.joint_names)
    bent = sim.joint_positions()
    for name, value in (("left_arm_joint_2", 0.5), ("left_arm_joint_4", 1.2)):
        bent[names.index(name)] = value
    sim.set_joints(names, bent)
    start = sim.link_pose("left_tcp")
    goal = start[0] + [0.0, 0.05, 0.05], start[1]
    motion = mb.control.straight_motion(start, goal, speed=0.2, acceleration=0.5)
    for _ in range(int((motion.duration + 0.7) / sim.time_step)):
        pose, twist, acceleration = motion.at(sim.time)
        sim.step(mb.control.move_frames(sim, {"left_tcp": pose}, twist, acceleration, posture=bent))
        way = (goal[0] - start[0]) / np.linalg.norm(goal[0] - start[0])
        assert np.linalg.norm(np.cross(sim.link_pose("left_tcp")[0] - start[0], way)) < 1e-3
    assert np.allclose(sim.link_pose("left_tcp")[0], goal[0], atol=3e-4)
    others = [i for i, name in enumerate(names) if not name.startswith("left")]
    assert np.allclose(sim.joint_positions()[others], bent[others], atol=1e-2)


def test_the_freedom_that_is_left_does_not_move_the_hand():
    sim = mb.Simulator(DUAL_ARM)
    q, v = sim.q + 0.2, np.random.default_rng(0).normal(size=len(sim.v))
    sim.set_state(np.clip(q, sim.world.tree.lower, sim.world.tree.upper), 0.1 * v)
    R, p = mb.frame_pose(sim.world, sim.q, "left_tcp")
    goal = {"left_tcp": (p, matrix_to_quat(R))}
    one, other = (mb.control.move_frames(sim, goal, posture=p) for p in (sim.joint_positions(), np.zeros(len(sim.v))))
    pushed = np.linalg.solve(sim.mass_matrix(), one - other)
    assert np.abs(pushed).max() > 1e-2
    assert np.abs(sim.operational_space(["left_tcp"]).jacobian @ pushed).max() < 1e-9


def test_a_robot_whose_state_comes_from_a_topic_asks_for_the_same_efforts():
    sim = simulator(UR5)
    robot = mb.control.Robot(mb.load_urdf(str(example_robots() / UR5), inertia_errors="warn", collision_meshes="skip"))
    sim.set_state(sim.q + 0.3, sim.v + 0.1)
    robot.update(sim.joint_positions(), sim.joint_velocities())
    target, goal = np.zeros(6), {"ee_link": ([0.3, 0.2, 0.4], [0.0, 0.0, 0.0, 1.0])}
    for law, wanted in (
        (mb.control.hold, target), (mb.control.computed_torque, target), (mb.control.move_frames, goal),
    ):  # fmt: skip
        assert np.allclose(law(robot, wanted), law(sim, wanted), rtol=1e-9, atol=1e-9)
    before = robot.joint_positions()
    with pytest.raises(mb.InputError, match="velocities"):
        robot.update(np.ones(6), np.ones(5))
    assert np.array_equal(robot.joint_positions(), before)


def test_joints_that_mimic_others_weigh_on_their_leader():
    follows = '<joint name="hinge_2" type="continuous"><mimic joint="hinge_1" multiplier="-0.5" offset="0.2"/>'
    chain = mb.pendulum(3, length=3.0).urdf().replace('<joint name="hinge_2" type="continuous">', follows)
    sim = mb.Simulator(mb.Scene(models=(mb.model.SceneModel(chain),)))
    robot = mb.control.Robot(mb.load_urdf(chain))
    sim.set_joints(sim.world.joint_names, [0.4, 0.9], [0.3, -0.2])
    robot.update(sim.joint_positions(), sim.joint_velocities())
    assert len(sim.world.joint_names) == 2
    assert np.allclose(robot.mass_matrix(), sim.mass_matrix(), rtol=1e-12)
    assert np.allclose(mb.control.hold(robot, [0.0, 0.1]), mb.control.hold(sim, [0.0, 0.1]), rtol=1e-9)


def test_jaws_press_with_no_more_than_asked():
    effort = mb.control.grip([0.05, 0.05], [0.0, 1.0], [0.0, 0.05], max_effort=20.0, stiffness=1e4, damping=5.0)
    assert np.array_equal(effort, [-20.0, -5.0])
    with pytest.raises(mb.InputError, match="max_effort"):
        mb.control.grip([0.05], [0.0], [0.0], max_effort=-1.0, stiffness=1.0, damping=1.0)


@pytest.mark.parametrize(
    "law, arguments, message",
    [
        (mb.control.hold, ([0.0],), "target"),
        (mb.control.hold, (np.zeros(26), -1.0), "rate"),
        (mb.control.computed_torque, (np.full(26, np.nan),), "position"),
        (mb.control.move_frames, ({"left_tcp": ([0, 0, 0], [0, 0, 0, 0])},), "has the norm 0"),
    ],
)
def test_bad_numbers_are_named(law, arguments, message):
    sim = mb.Simulator(DUAL_ARM, warm_up=False)
    with pytest.raises(mb.InputError, match=message):
        law(sim, *arguments)
