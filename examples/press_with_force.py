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

import numpy as np
from controller_node import States, listened
from press_controller import FINGERS, PressController, PressError, PressTask

import mb_contact as mb
from mb_contact.ros import QoS, create_node

STEADY = 1.0  #: the last so many seconds are what the summary is of


class PressNode:
    """Answers every state, and names it by its stamp and its run; one that is sent again gets the same answer again."""

    def __init__(self, node, task):
        self._task = task
        self.controller = None
        self.done = False
        self.heard = 0  #: states
        self.log = []  #: (time since the start [s], measured normal force [N])
        self._model = self._command = self._start = self._run = self._answered = None
        self._states, self._wrenches, self._measured = States(), {}, set()
        listen = node.create_subscription
        listen("std_msgs/msg/String", "robot_description", self._on_model, QoS(1, latched=True))
        listen("std_msgs/msg/UInt64", "run", self._on_run, QoS(1, latched=True))
        for link in FINGERS:
            topic = f"contact_wrenches/{link}"
            listen("geometry_msgs/msg/WrenchStamped", topic, lambda m, link=link: self._on_wrench(link, m), QoS(10))
        listen("std_msgs/msg/Float64MultiArray", "operational_space/state", self._on_state, QoS(10))
        self._publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", QoS(10))
        self._message = node.message_type("sensor_msgs/msg/JointState")()

    def _on_model(self, message):
        if self._model is None:
            self._model = mb.load_urdf(message.data)

    def _on_run(self, message):
        self._run, self._answered = f"run {message.data}", None
        if self._command is not None:
            self._make_command()

    def _on_wrench(self, link, message):
        """Forces of one instant are used together, once those of all fingers are here."""
        force, stamp = message.wrench.force, message.header.stamp
        self._wrenches[link] = (stamp.sec, stamp.nanosec), np.array([force.x, force.y, force.z])
        stamps = {when for when, _ in self._wrenches.values()}
        if self.controller is None or len(self._wrenches) < len(FINGERS) or len(stamps) > 1 or stamps == self._measured:
            return
        self._measured = stamps
        forces = {name: value for name, (_, value) in self._wrenches.items()}
        measured = self.controller.measure(forces, self._states.position)
        self.log.append(((stamp.sec * 1_000_000_000 + stamp.nanosec - self._start) * 1e-9, measured))

    def _on_state(self, message):
        """Publish the efforts for a state."""
        self.heard += 1
        stamp, states = self._states.read(message), self._states
        if self._model is None or self._run is None or self.done:
            return
        if stamp == self._answered:
            self._command.publish()
            return
        if self.controller is None:
            self.controller = PressController(self._model, states.names, states.position.copy(), self._task)
            self._start = stamp
            self._message.name, self._message.effort = states.names, [0.0] * len(states.names)
            self._make_command()
        elapsed = (stamp - self._start) * 1e-9
        effort = self.controller.update(elapsed, states.position, states.velocity, states.terms)
        self._command.array("effort")[:] = effort
        self._command.stamp("header.stamp", stamp)
        self._command.publish()
        self._answered = stamp
        self.done = elapsed >= self.controller.duration

    def _make_command(self):
        self._message.header.frame_id = self._run
        self._command = self._publisher.prepare(self._message)

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
    silence = 0.0
    while not press.done:
        silence = listened(node, press, silence)
        if INTERRUPTED.is_set():
            raise KeyboardInterrupt
        limit = timeout if press.heard else wait
        if limit is not None and silence > limit:
            raise PressError(f"no state for {silence:.0f} s: is the simulator running in this domain?")
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
