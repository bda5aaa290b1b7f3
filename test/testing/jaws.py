# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A controller of the jaws of drumwright_grasp.yaml, good or worse on purpose: ``python jaws.py [FAULT] [--force N]``.

FAULT is ``hangs``, ``dies``, ``nan``, ``deaf`` (to requests to end) or ``leaves`` after half a second.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
import time

from mb_contact.ros import QoS, create_node

ENDED = threading.Event()
HALF = 50  #: states in half a second


def main(fault="", force=100.0):
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN if fault == "deaf" else lambda *_: ENDED.set())
    node = create_node("jaws")
    publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", QoS(10))
    command = node.message_type("sensor_msgs/msg/JointState")()
    command.name, command.effort = ["left_jaw_joint", "right_jaw_joint"], [force, -force]
    count = 0

    def answer(state):
        nonlocal count
        count = round(100 * (state.header.stamp.sec + 1e-9 * state.header.stamp.nanosec))
        if count >= HALF and fault == "hangs":
            print("jaws: no answer any more", flush=True)
            return
        if count >= HALF and fault == "dies":
            print("jaws: the gripper is on fire", flush=True)
            os._exit(3)
        if count >= HALF and fault == "nan":
            command.effort = [float("nan"), -force]
        command.header = state.header
        publisher.publish(command)
        if count >= HALF and fault == "leaves":
            ENDED.set()

    node.create_subscription("sensor_msgs/msg/JointState", "joint_states", answer, QoS(10))
    while not ENDED.is_set():
        node.spin_once(0.1)
    time.sleep(0.1)  # for the last answer, which a closed participant would take with it
    node.destroy_node()


if __name__ == "__main__":
    words = sys.argv[1:]
    chosen = float(words[words.index("--force") + 1]) if "--force" in words else 100.0
    main(words[0] if words and not words[0].startswith("--") else "", chosen)
