# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two jaws squeeze two boxes with a constant force.

    python squeeze.py [--force 100]
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading

import numpy as np

from mb_contact.ros import QoS, create_node

JOINTS = ("left_jaw_joint", "right_jaw_joint")
JOINT_STATE = "sensor_msgs/msg/JointState"
ENDED = threading.Event()


def law(time, q, v, force=100.0):
    """Efforts (..., 2) [N] of the jaws, for positions and velocities (..., 2): one state, or those of many trials."""
    return np.broadcast_to([force, -force], np.shape(q))


def serve(name, joints, law):
    """Answer every joint state by a law, until Ctrl-C."""
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ENDED.set())
    node = create_node(name)
    publisher = node.create_publisher(JOINT_STATE, "joint_commands", QoS(10))
    command = node.message_type(JOINT_STATE)()
    command.name = list(joints)

    def answer(state):
        rows = [list(state.name).index(joint) for joint in joints]
        time = state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec
        q, v = np.asarray(state.position)[rows], np.asarray(state.velocity)[rows]
        command.header = state.header  # says which state this answers
        command.effort = [float(effort) for effort in law(time, q, v)]
        publisher.publish(command)

    node.create_subscription(JOINT_STATE, "joint_states", answer, QoS(10))
    while not ENDED.is_set():
        node.spin_once(0.1)
    node.destroy_node()
    return 0


def main(argv=None):
    """Squeeze until Ctrl-C."""
    parser = argparse.ArgumentParser(description="Two jaws squeeze two boxes.")
    parser.add_argument("--force", type=float, default=100.0, metavar="N", help="of each jaw (100)")
    force = parser.parse_known_args(argv)[0].force
    return serve("squeeze", JOINTS, lambda time, q, v: law(time, q, v, force))


if __name__ == "__main__":
    sys.exit(main())
