# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A hand presses on a wall with a prescribed normal force: a controller in a process of its own, over ROS 2 topics.

It closes the loop on what a force sensor in each fingertip would say, the simulator's contact_wrenches; the law is in
press_controller.py, this file moves its numbers.

    mb-contact run config/press_on_wall.yaml --lockstep       # one terminal
    python examples/press_with_force.py --force 20            # another

prints the steady force at its end.  It also works without lockstep and, in a sourced ROS 2, through rclpy.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time

import numpy as np
from lift_controller import Terms
from press_controller import FINGERS, PressController, PressError, PressTask

import mb_contact as mb
from mb_contact.ros import QoS, create_node

ARRAYS = {
    "inertia": "operational_space/inertia", "jacobian": "operational_space/jacobian",
    "bias": "operational_space/bias", "mass_matrix": "mass_matrix", "nonlinear_effects": "nonlinear_effects",
}  # fmt: skip
STEADY = 1.0  #: the last so many seconds are what the summary is of


class PressNode:
    """Gathers what belongs to one state, answers it, and echoes its stamp."""

    def __init__(self, node, task):
        self._task = task
        self.controller = None
        self.done = False
        self.last_heard = None  #: wall clock of the last joint state
        self.log = []  #: (time since the start [s], measured normal force [N])
        self._model = self._joints = self._command = self._start = None
        self._terms, self._stamps, self._wrenches = {}, {}, {}
        listen = node.create_subscription
        listen("std_msgs/msg/String", "robot_description", self._on_model, QoS(1, latched=True))
        for name, topic in ARRAYS.items():
            listen("std_msgs/msg/Float64MultiArray", topic, lambda m, name=name: self._on_array(name, m), QoS(10))
        for link in FINGERS:
            topic = f"contact_wrenches/{link}"
            listen("geometry_msgs/msg/WrenchStamped", topic, lambda m, link=link: self._on_wrench(link, m), QoS(10))
        listen("sensor_msgs/msg/JointState", "joint_states", self._on_joints, QoS(10))
        self._publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", QoS(10))
        self._message = node.message_type("sensor_msgs/msg/JointState")()

    def _on_model(self, message):
        if self._model is None:
            self._model = mb.load_urdf(message.data)

    def _on_array(self, name, message):
        """data[0:2] is the stamp (sec, nanosec) of the joint states that the array belongs to."""
        data = np.asarray(message.data)
        self._stamps[name] = int(data[0]) * 1_000_000_000 + int(data[1])
        self._terms[name] = data[message.layout.data_offset :].reshape([dim.size for dim in message.layout.dim])
        self._answer()

    def _on_wrench(self, link, message):
        """Forces of one instant are used together, once those of all fingers are here."""
        force, stamp = message.wrench.force, message.header.stamp
        self._wrenches[link] = (stamp.sec, stamp.nanosec), np.array([force.x, force.y, force.z])
        stamps = {when for when, _ in self._wrenches.values()}
        if self.controller is None or len(self._wrenches) < len(FINGERS) or len(stamps) > 1:
            return
        position = np.asarray(self._joints.position)
        measured = self.controller.measure({name: value for name, (_, value) in self._wrenches.items()}, position)
        self.log.append(((stamp.sec * 1_000_000_000 + stamp.nanosec - self._start) * 1e-9, measured))

    def _on_joints(self, message):
        self.last_heard = time.monotonic()
        self._joints = message
        self._stamps["joints"] = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self._answer()

    def _answer(self):
        """Publish the efforts for the newest state, once everything about it is here."""
        complete = len(self._stamps) == len(Terms._fields) + 1 and len(set(self._stamps.values())) == 1
        if not complete or self._model is None or self.done:
            return
        stamp = self._stamps["joints"]
        position, velocity = np.asarray(self._joints.position), np.asarray(self._joints.velocity)
        if self.controller is None:
            names = list(self._joints.name)
            self.controller = PressController(self._model, names, position, self._task)
            self._start = stamp
            self._message.name, self._message.effort = names, [0.0] * len(names)
            self._command = self._publisher.prepare(self._message)
        elapsed = (stamp - self._start) * 1e-9
        self._command.array("effort")[:] = self.controller.update(elapsed, position, velocity, Terms(**self._terms))
        self._command.stamp("header.stamp", stamp)
        self._command.publish()
        self.done = elapsed >= self.controller.duration

    def steady(self):
        """Mean and largest deviation from the wanted force in the last second [N].

        Raises
        ------
        PressError
            The hand never touched.
        """
        if self.controller is None or self.controller.touched is None:
            raise PressError("the hand has not touched anything")
        end = self.controller.duration
        forces = np.array([force for when, force in self.log if when > end - STEADY])
        return float(forces.mean()), float(np.abs(forces - self._task.force).max())


#: Set by a signal.  An exception out of the handler could arise inside Cyclone DDS's wheel, which then crashes.
INTERRUPTED = threading.Event()


def run(node, task, wait=None, timeout=60.0):
    """Press until the task is over; returns the PressNode.

    Raises
    ------
    PressError
        No simulator, or no wall.
    KeyboardInterrupt
        SIGINT or SIGTERM came.
    """
    press = PressNode(node, task)
    begun = time.monotonic()
    while not press.done:
        node.spin_once(0.1)
        if INTERRUPTED.is_set():
            raise KeyboardInterrupt
        silence = time.monotonic() - (press.last_heard or begun)
        limit = wait if press.last_heard is None else timeout
        if limit is not None and silence > limit:
            raise PressError(f"no joint_states for {silence:.0f} s: is the simulator running in this domain?")
    return press


def main(argv=None):
    """Press on the wall; 0 when the task is over, 1 when it failed, 0 after Ctrl-C."""
    parser = argparse.ArgumentParser(description="Press on a wall with a prescribed normal force: the controller.")
    parser.add_argument("--force", type=float, default=20.0, metavar="N", help="normal force to hold")
    parser.add_argument("--backend", choices=("auto", "rclpy", "embedded"), default="auto")
    parser.add_argument("--namespace", default="", help="namespace of the simulator's topics")
    parser.add_argument("--wait", type=float, metavar="S", help="longest wait for the simulator")
    arguments, ros_args = parser.parse_known_args(argv)
    if not 0.0 < arguments.force <= 60.0:
        parser.error("--force must be above zero and at most 60 N: the fingers are not stronger")
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: INTERRUPTED.set())
    node = None
    try:
        node = create_node("press_with_force", arguments.backend, ros_args, arguments.namespace)
        mean, worst = run(node, PressTask(force=arguments.force), arguments.wait).steady()
    except KeyboardInterrupt:
        return 0  # how one ends a node: launch would call anything else a death
    except mb.MbContactError as error:
        print(f"controller: error: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
    print(f"controller: done, steady force {mean:.3f} N, largest deviation {worst:.3f} N", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
