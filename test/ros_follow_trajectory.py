# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A client of joint_trajectory_controller on plain rclpy: moves an arm through its action, prints one JSON line.

    python ros_follow_trajectory.py left_arm_controller [--move RADIANS ...] [--seconds S]

``error_code`` of the result (0: success), the largest and the last tracking error of each joint in the feedback [rad].
"""

from __future__ import annotations

import argparse
import json

import numpy as np
import rclpy
from control_msgs.action import FollowJointTrajectory
from control_msgs.msg import JointTrajectoryControllerState
from rclpy.action import ActionClient
from rclpy.duration import Duration
from sensor_msgs.msg import JointState
from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint

STEP = 0.05  #: between two points [s]
TIMEOUT = 100.0  #: of wall time


class Client:
    """Knows the controller's state and the joints'; sends goals."""

    def __init__(self, controller):
        self.node = rclpy.create_node("follow_trajectory")
        self.action = ActionClient(self.node, FollowJointTrajectory, f"{controller}/follow_joint_trajectory")
        self.joints = self.state = None
        self.errors = []
        self.node.create_subscription(JointState, "joint_states", self._on_joints, 10)
        self.node.create_subscription(
            JointTrajectoryControllerState, f"{controller}/controller_state", self._on_state, 10
        )

    def _on_joints(self, message):
        self.joints = dict(zip(message.name, message.position))

    def _on_state(self, message):
        self.state = message

    def wait(self, condition):
        end = self.node.get_clock().now() + Duration(seconds=TIMEOUT)
        while not condition():
            rclpy.spin_once(self.node, timeout_sec=0.1)
            if self.node.get_clock().now() > end:
                raise SystemExit("nothing came")

    def settle(self, tolerance):
        """Wait until the controller holds its joints."""
        self.wait(lambda: self.state and self.joints and np.abs(self.state.error.positions).max() < tolerance)

    def follow(self, trajectory):
        """Send a goal; the result's error code."""
        goal = FollowJointTrajectory.Goal(trajectory=trajectory)
        assert self.action.wait_for_server(TIMEOUT)
        sent = self.action.send_goal_async(goal, lambda m: self.errors.append(m.feedback.error.positions))
        self.wait(sent.done)
        assert sent.result().accepted
        done = sent.result().get_result_async()
        self.wait(done.done)
        return done.result().result.error_code


def cubic(client, move, seconds):
    """From where the joints are to ``move`` further and rest there."""
    names = list(client.state.joint_names)
    move = np.broadcast_to(move, len(names))
    start = np.array([client.joints[name] for name in names])
    trajectory = JointTrajectory(joint_names=names)
    for t in np.arange(0.0, seconds + STEP / 2, STEP):
        s = t / seconds
        q = start + move * (3.0 - 2.0 * s) * s * s
        v = move * 6.0 * s * (1.0 - s) / seconds
        point = JointTrajectoryPoint(positions=q.tolist(), velocities=v.tolist())
        point.time_from_start = Duration(seconds=float(t)).to_msg()
        trajectory.points.append(point)
    return trajectory


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("controller")
    parser.add_argument("--move", type=float, nargs="+", default=[0.2], help="of each joint, or one for all [rad]")
    parser.add_argument("--seconds", type=float, default=2.0)
    parser.add_argument("--settled", type=float, default=0.02, help="error before the start [rad]")
    arguments = parser.parse_args()
    rclpy.init()
    client = Client(arguments.controller)
    client.settle(arguments.settled)
    code = client.follow(cubic(client, arguments.move, arguments.seconds))
    errors = np.abs(client.errors)
    print(json.dumps({"error_code": code, "largest": errors.max(axis=0).tolist(), "last": errors[-1].tolist()}))
    rclpy.shutdown()


if __name__ == "__main__":
    main()
