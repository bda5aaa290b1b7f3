# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two jaws squeeze: constant efforts, answered to every joint state; the smallest controller there is.

    mb-contact run config/drumwright_grasp.yaml --lockstep        # one terminal
    python examples/grasp_squeeze.py                              # another
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading

import mb_contact as mb
from mb_contact.ros import QoS, create_node

EFFORTS = {"left_jaw_joint": 100.0, "right_jaw_joint": -100.0}  #: [N]
ENDED = threading.Event()


def main(argv=None):
    """Squeeze until Ctrl-C; the exit code."""
    parser = argparse.ArgumentParser(description="Two jaws squeeze two boxes.")
    parser.add_argument("--backend", choices=("auto", "rclpy", "embedded"), default="auto")
    parser.add_argument("--namespace", default="", help="namespace of the simulator's topics")
    arguments, ros_args = parser.parse_known_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ENDED.set())
    try:
        node = create_node("grasp_squeeze", arguments.backend, ros_args, arguments.namespace)
    except mb.MbContactError as error:
        print(f"controller: error: {error}", file=sys.stderr, flush=True)
        return 1
    publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", QoS(10))
    command = node.message_type("sensor_msgs/msg/JointState")()
    command.name, command.effort = list(EFFORTS), list(EFFORTS.values())

    def answer(state):
        command.header = state.header
        publisher.publish(command)

    node.create_subscription("sensor_msgs/msg/JointState", "joint_states", answer, QoS(10))
    while not ENDED.is_set():
        node.spin_once(0.1)
    node.destroy_node()
    return 0


if __name__ == "__main__":
    sys.exit(main())
