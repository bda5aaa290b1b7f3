# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A lockstep controller in a process of its own: answers every joint state, checks what came before it.

    python controller.py COUNT [--namespace NS] [--backend embedded]

prints one JSON line at its end: states received, stamps missing, companions missing.
"""

from __future__ import annotations

import argparse
import json
import sys

import numpy as np

from mb_contact.ros import QoS, create_node, shutdown, spin

JOINT_STATE = "sensor_msgs/msg/JointState"
ARRAY = "std_msgs/msg/Float64MultiArray"
COMPANIONS = ("operational_space/inertia", "operational_space/bias", "nonlinear_effects")


class Controller:
    def __init__(self, node):
        self.node = node
        self.states = self.gaps = self.repeated = 0
        self.unaccompanied = dict.fromkeys(COMPANIONS, 0)
        self.latest = dict.fromkeys(COMPANIONS)
        self.last = None
        self.command = self.run = None
        self.publisher = node.create_publisher(JOINT_STATE, "joint_commands", QoS(10))
        # the joint states first: that the others are still handed over earlier is what is tested
        node.create_subscription(JOINT_STATE, "joint_states", self.on_state, QoS(10))
        for topic in COMPANIONS:
            node.create_subscription(ARRAY, topic, lambda m, t=topic: self.on_array(t, m), QoS(10))

    def on_array(self, topic, message):
        self.latest[topic] = int(message.data[0]) * 10**9 + int(message.data[1])

    def on_state(self, state):
        stamp = state.header.stamp.sec * 10**9 + state.header.stamp.nanosec
        if stamp == self.last:
            self.repeated += 1
        elif self.last is not None:
            self.states += 1
            self.gaps += stamp != self.last + 1_000_000
            for topic, latest in self.latest.items():  # on a busy machine a topic may be discovered later than another
                late = latest is None and self.states < 100
                self.unaccompanied[topic] += latest != stamp and not late
        self.last = stamp
        if state.header.frame_id != self.run:
            self.run = state.header.frame_id
            message = self.node.message_type(JOINT_STATE)()
            message.header.frame_id = self.run
            message.name, message.effort = list(state.name), [0.0] * len(state.name)
            self.command = self.publisher.prepare(message)
            self.effort = self.command.array("effort")
        self.effort[:] = 1.0 - 4.0 * np.asarray(state.position) - 4.0 * np.asarray(state.velocity)
        self.command.stamp("header.stamp", stamp)
        self.command.publish()
        if self.states == 1:
            print("running", flush=True)

    def report(self):
        fields = ("states", "gaps", "repeated", "unaccompanied")
        return json.dumps({name: getattr(self, name) for name in fields})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, help="states to answer")
    parser.add_argument("--namespace", default="")
    parser.add_argument("--backend", default="embedded")
    arguments = parser.parse_args()
    node = create_node("controller", arguments.backend, namespace=arguments.namespace)
    controller = Controller(node)
    try:
        spin(node, lambda: controller.states >= arguments.count)
    finally:
        print(controller.report(), flush=True)
        shutdown(node)


if __name__ == "__main__":
    sys.exit(main())
