# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Moves an arm through the action of its joint_trajectory_controller; plain rclpy, nothing of mb_contact.

    ros2 launch mb_contact ros2_control.launch.py                                  # one terminal
    python examples/follow_trajectory.py left_arm_controller --move 0.2            # another

prints one JSON line: ``error_code`` of the result (0: success), the largest and the last tracking error of each joint
in the feedback [rad].  Needs a sourced ROS 2 with control_msgs.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time

import numpy as np

try:
    import rclpy
    from control_msgs.action import FollowJointTrajectory
    from control_msgs.msg import JointTrajectoryControllerState
    from rclpy.action import ActionClient
    from rclpy.duration import Duration
    from sensor_msgs.msg import JointState
    from trajectory_msgs.msg import JointTrajectory, JointTrajectoryPoint
except ImportError as error:
    sys.exit(f"follow_trajectory: source a ROS 2 with rclpy, control_msgs and trajectory_msgs first ({error})")

STEP = 0.05  #: between two points [s]
TIMEOUT = 100.0  #: for anything that is waited for [s]


class FollowError(Exception):
    """The controller is not there, or does not do what it is asked; the text says which."""


class Client:
    """Knows the controller's state and the joints'; sends goals."""

    def __init__(self, controller):
        self._name = controller
        self._node = rclpy.create_node("follow_trajectory")
        self._action = ActionClient(self._node, FollowJointTrajectory, f"{controller}/follow_joint_trajectory")
        self.joints = self.state = None
        self.errors = []  #: of every feedback (joints,) [rad]
        self._node.create_subscription(JointState, "joint_states", self._on_joints, 10)
        topic = f"{controller}/controller_state"
        self._node.create_subscription(JointTrajectoryControllerState, topic, self._on_state, 10)

    def _on_joints(self, message):
        self.joints = dict(zip(message.name, message.position))

    def _on_state(self, message):
        self.state = message

    def _wait(self, condition, what):
        end = time.monotonic() + TIMEOUT
        while not condition():
            rclpy.spin_once(self._node, timeout_sec=0.1)
            if time.monotonic() > end:
                question = f"is {self._name} active (ros2 control list_controllers)?"
                raise FollowError(f"{what} within {TIMEOUT:g} s; {question}")

    def settle(self, tolerance):
        """Wait until the controller holds its joints within ``tolerance`` [rad]."""
        self._wait(lambda: self.state and self.joints, f"no joint_states and {self._name}/controller_state")
        end = time.monotonic() + TIMEOUT
        while not (errors := np.abs(self.state.error.positions)).max() < tolerance:
            rclpy.spin_once(self._node, timeout_sec=0.1)
            if time.monotonic() > end:
                joint = self.state.joint_names[errors.argmax()]
                raise FollowError(
                    f"{self._name} does not hold its joints within --settled {tolerance:g} rad; after {TIMEOUT:g} s "
                    f"{joint} is {errors.max():.3g} rad away"
                )

    def follow(self, trajectory):
        """Send a goal and wait for its end; returns the result's error code."""
        self._wait(self._action.server_is_ready, f"{self._name} offers no action follow_joint_trajectory")
        goal = FollowJointTrajectory.Goal(trajectory=trajectory)
        sent = self._action.send_goal_async(goal, lambda m: self.errors.append(m.feedback.error.positions))
        self._wait(sent.done, "no answer to the goal")
        if not sent.result().accepted:
            raise FollowError(f"{self._name} refused the trajectory; its log says why")
        ended = sent.result().get_result_async()
        self._wait(ended.done, "the trajectory did not end")
        return ended.result().result.error_code


def cubic(client, move, seconds):
    """From where the joints are to ``move`` further, at rest at both ends."""
    names = list(client.state.joint_names)
    if len(move) not in (1, len(names)):
        raise FollowError(f"--move takes one number or {len(names)}, for {', '.join(names)}; got {len(move)}")
    move = np.broadcast_to(move, len(names))
    start = np.array([client.joints[name] for name in names])
    trajectory = JointTrajectory(joint_names=names)
    for s in np.linspace(0.0, 1.0, 1 + math.ceil(seconds / STEP)):
        q = start + move * (3.0 - 2.0 * s) * s * s
        v = move * 6.0 * s * (1.0 - s) / seconds
        point = JointTrajectoryPoint(positions=q.tolist(), velocities=v.tolist())
        point.time_from_start = Duration(seconds=float(s * seconds)).to_msg()
        trajectory.points.append(point)
    return trajectory


def run(arguments):
    """Move, and return what is printed."""
    client = Client(arguments.controller)
    client.settle(arguments.settled)
    code = client.follow(cubic(client, arguments.move, arguments.seconds))
    if not client.errors:
        raise FollowError(f"error code {code}, and no feedback came: the trajectory was not begun")
    errors = np.abs(client.errors)
    return {"error_code": code, "largest": errors.max(axis=0).tolist(), "last": errors[-1].tolist()}


def main():
    """Entry point; returns the exit code: 0 where the controller reports success."""
    parser = argparse.ArgumentParser(description="Move an arm through the action of its joint_trajectory_controller.")
    parser.add_argument("controller", help="such as left_arm_controller")
    parser.add_argument("--move", type=float, nargs="+", default=[0.2], help="of each joint, or one for all [rad]")
    parser.add_argument("--seconds", type=float, default=2.0, help="that the move takes, in the controller's time")
    parser.add_argument("--settled", type=float, default=0.02, help="largest error before the start [rad]")
    arguments = parser.parse_args()
    if not 0.0 < arguments.seconds < math.inf:
        parser.error(f"--seconds must be finite and above zero, got {arguments.seconds:g}")
    rclpy.init()
    try:
        report = run(arguments)
    except FollowError as error:
        print(f"follow_trajectory: {error}", file=sys.stderr)
        return 1
    finally:
        rclpy.try_shutdown()
    print(json.dumps(report))
    return 0 if report["error_code"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
