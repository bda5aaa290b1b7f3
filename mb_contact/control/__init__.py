# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a controller needs besides the dynamics: where joints have to go, on which way, and with which efforts.

``inverse_kinematics``  joint positions at which frames are where they should be
``trajectories``        motions of joints and frames within limits of speed, acceleration and jerk
``laws``                efforts that hold joints, follow a motion, move hands, close a gripper
"""

from mb_contact.control.inverse_kinematics import InverseKinematics, inverse_kinematics
from mb_contact.control.laws import Robot, computed_torque, grip, hold, move_frames
from mb_contact.control.trajectories import FrameMotion, Motion, joint_motion, motion_through, straight_motion

__all__ = [
    "FrameMotion",
    "InverseKinematics",
    "Motion",
    "Robot",
    "computed_torque",
    "grip",
    "hold",
    "inverse_kinematics",
    "joint_motion",
    "motion_through",
    "move_frames",
    "straight_motion",
]
