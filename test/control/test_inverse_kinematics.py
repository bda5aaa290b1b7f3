# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics: random reachable poses of robots as they ship, limits, mimic joints, two hands, postures.

Covers core/tree/inverse_kinematics.py, dynamics/inverse.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat
from oracles.pinocchio_peer import example_robots

ARMS = {
    "ur_description/urdf/ur5_robot.urdf": "ee_link",
    "panda_description/urdf/panda.urdf": "panda_hand",
    "xarm_description/urdf/xarm7.urdf": "link_eef",
    "kinova_description/robots/kinova.urdf": "j2s6s200_link_finger_tip_2",
    "so_arm_description/urdf/so100.urdf": "jaw",
    "baxter_description/urdf/baxter.urdf": "left_gripper",
}
DUAL_ARM = "package://mb_contact/urdf/dual_arm.urdf"


def pose(model, q, frame):
    R, p = mb.frame_pose(model, q, frame)
    return p, matrix_to_quat(R)


def same_pose(model, q, frame, wanted):
    p, quaternion = pose(model, q, frame)
    return np.allclose(p, wanted[0], atol=1e-8) and abs(abs(quaternion @ wanted[1]) - 1.0) < 1e-14


@pytest.mark.parametrize("file", ARMS)
def test_random_poses_are_reached_within_limits(file):
    model = mb.load_urdf(str(example_robots() / file), inertia_errors="warn", collision_meshes="skip")
    random, frame, reached = np.random.default_rng(3), ARMS[file], 0
    lower = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    upper = np.where(np.isfinite(model.upper), model.upper, np.pi)
    for _ in range(100):
        wanted = pose(model, random.uniform(lower, upper), frame)
        found = mb.control.inverse_kinematics(model, {frame: wanted})
        assert found.reached == (found.error <= 1e-9)
        if found.reached:
            reached += 1
            assert same_pose(model, found.q, frame, wanted)
            assert (found.q >= model.lower).all() and (found.q <= model.upper).all()
    assert reached >= 99


def test_two_hands_at_once_in_a_world_with_a_free_object():
    scene = mb.Scene(
        models=(mb.model.SceneModel(DUAL_ARM),),
        primitives=(
            mb.model.Primitive("box", "box", (0.1, 0.1, 0.1), mb.model.Pose((2.0, 0.0, 1.0)), mass=1.0, base="free"),
        ),
    )
    world = mb.build_world(scene)
    there = world.q0.copy()
    there[world.joint_q] = np.clip(0.3, world.tree.lower[world.joint_v], world.tree.upper[world.joint_v])
    wanted = {name: pose(world, there, name) for name in ("left_tcp", "right_tcp")}
    found = mb.control.inverse_kinematics(world, wanted)
    assert found.reached and all(same_pose(world, found.q, name, wanted[name]) for name in wanted)
    untouched = np.setdiff1d(np.arange(len(there)), world.joint_q)
    assert np.array_equal(found.q[untouched], world.q0[untouched])


def test_chosen_joints_move_and_no_other():
    model = mb.load_urdf(DUAL_ARM)
    names = [name for name in model.joint_names if name.startswith("left")][:7]
    there = model.q_from({names[1]: 0.4, names[3]: 0.7})
    found = mb.control.inverse_kinematics(model, {"left_tcp": pose(model, there, "left_tcp")}, joints=names)
    others = [i for name, i in zip(model.joint_names, model.joint_q) if name not in names]
    assert found.reached and not found.q[others].any()


def test_the_freedom_that_is_left_draws_to_a_posture():
    model = mb.load_urdf(str(example_robots() / "xarm_description/urdf/xarm7.urdf"), collision_meshes="skip")
    rest = np.array([0.5, 0.2, 0.1, 0.8, 0.3, 0.9, 0.2])
    wanted = {mb.Point("link_eef"): pose(model, rest, "link_eef")[0]}
    start = np.zeros(7) + 0.4
    free = mb.control.inverse_kinematics(model, wanted, q=start)
    drawn = mb.control.inverse_kinematics(model, wanted, q=start, rest=rest)
    assert free.reached and drawn.reached
    assert np.linalg.norm(drawn.q - rest) < 1e-3 < 0.1 < np.linalg.norm(free.q - rest)


def test_joints_that_mimic_others_follow():
    follows = '<joint name="hinge_2" type="continuous"><mimic joint="hinge_1" multiplier="-0.5" offset="0.2"/>'
    chain = mb.pendulum(3, length=3.0).urdf().replace('<joint name="hinge_2" type="continuous">', follows)
    assert "<mimic" in chain
    tip = mb.Point("link_2", (0.0, 0.0, -1.0))
    for model in (mb.load_urdf(chain), mb.build_world(mb.Scene(models=(mb.model.SceneModel(chain),)))):
        there = np.array(model.q0 if hasattr(model, "q0") else model.neutral_q())
        there[model.joint_q] = 0.4, 0.9
        if hasattr(model, "q0"):
            there[model.follower_q] = -0.5 * 0.9 + 0.2
        R, p = mb.frame_pose(model, there, tip)
        found = mb.control.inverse_kinematics(model, {tip: p})
        assert found.reached
        assert np.allclose(mb.frame_pose(model, found.q, tip)[1], p, atol=1e-8)


def test_what_cannot_be_reached_is_approached():
    model = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    found = mb.control.inverse_kinematics(model, {mb.Point("link_1", (0.0, 0.0, -1.0)): [5.0, 0.0, 0.0]}, starts=5)
    assert not found.reached and found.starts == 5
    assert found.error == pytest.approx(3.0, abs=1e-3)


def test_the_same_arguments_give_the_same_bits():
    model = mb.load_urdf(DUAL_ARM)
    wanted = {"left_tcp": pose(model, model.q_from({"left_arm_joint_2": 0.5, "left_arm_joint_4": 1.0}), "left_tcp")}
    first, second = (mb.control.inverse_kinematics(model, wanted).q for _ in range(2))
    assert first.tobytes() == second.tobytes()


@pytest.mark.parametrize(
    "targets, message",
    [
        ({}, "at least one frame"),
        ({"nobody": ([0, 0, 0], [0, 0, 0, 1])}, "nobody"),
        ({"left_tcp": [0, 0, 0]}, r"must be \(position"),
        ({"left_tcp": ([0, 0, 0], [0, 0, 0, 2])}, "has the norm 2"),
        ({mb.Point("left_tcp"): [0, np.nan, 0]}, "the position of 'left_tcp'"),
    ],
)  # fmt: skip
def test_bad_targets_are_named(targets, message):
    with pytest.raises(mb.InputError, match=message):
        mb.control.inverse_kinematics(mb.load_urdf(DUAL_ARM), targets)


def test_bad_joints_are_named():
    model = mb.load_urdf(DUAL_ARM)
    with pytest.raises(mb.InputError, match="no joint 'elbow'"):
        mb.control.inverse_kinematics(model, {mb.Point("left_tcp"): [0, 0, 0]}, joints=["elbow"])
    for wrong, message in (
        ({"joints": "left_arm_joint_1"}, r"joints must be a list of names.* write \['left_arm_joint_1'\]"),
        ({"tolerance": 0.0}, "tolerance must be finite and above zero"),
        ({"starts": 0}, "starts must be a whole number of at least 1"),
    ):
        with pytest.raises(mb.InputError, match=message):
            mb.control.inverse_kinematics(model, {mb.Point("left_tcp"): [0, 0, 0]}, **wrong)
    with pytest.raises(mb.InputError, match="no joint moves"):
        mb.control.inverse_kinematics(model, {mb.Point(model.root_link): [0, 0, 0]})
