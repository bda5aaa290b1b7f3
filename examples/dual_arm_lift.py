# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms lift a box: a controller in a process of its own, over ROS 2 topics.

It knows the robot through the simulator's topics alone: robot_description, joint_states,
operational_space/{inertia,jacobian,bias}, mass_matrix, nonlinear_effects, and /tf of the box.  The law is in
lift_controller.py; this file moves its numbers.

    mb-contact run config/dual_arm_lift.yaml --lockstep       # one terminal
    python examples/dual_arm_lift.py                          # another

It also works without lockstep and, in a sourced ROS 2, through rclpy.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time

import numpy as np
from lift_controller import LiftController, LiftError, Terms

import mb_contact as mb
from mb_contact.ros import QoS, create_node


class LiftNode:
    """The thin ROS shell: gathers what belongs to one state, answers it, and echoes its stamp.

    The first state starts the task.  Model arrays and joint states may arrive in any order; a state is
    answered as soon as all of them carry its stamp.
    """

    TOPICS = {
        "inertia": "operational_space/inertia",
        "jacobian": "operational_space/jacobian",
        "bias": "operational_space/bias",
        "mass_matrix": "mass_matrix",
        "nonlinear_effects": "nonlinear_effects",
    }

    def __init__(self, node, box_frame="box", task=None):
        self._box_frame, self._task = box_frame, task
        self.controller = None
        self.done = False
        self.phase = None  #: of the task, None before it begins
        self.last_heard = None  #: wall clock of the last joint state
        self._told = ""
        self._model = self._box = self._joints = self._command = self._start = None
        self._arrays, self._stamps = {}, {}
        subscribe = node.create_subscription
        subscribe("std_msgs/msg/String", "robot_description", self._on_model, QoS(1, latched=True))
        subscribe("tf2_msgs/msg/TFMessage", "/tf", self._on_tf, QoS(10))
        for name, topic in self.TOPICS.items():
            subscribe("std_msgs/msg/Float64MultiArray", topic, self._array_callback(name), QoS(10))
        subscribe("sensor_msgs/msg/JointState", "joint_states", self._on_joints, QoS(10))
        subscribe("diagnostic_msgs/msg/DiagnosticArray", "/diagnostics", self._on_report, QoS(10))
        deep = QoS(1000)  # for a recorder that a busy machine keeps from reading
        self._publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", deep)
        self._message = node.message_type("sensor_msgs/msg/JointState")()

    def _on_model(self, message):
        if self._model is None:
            self._model = mb.load_urdf(message.data)

    def _on_report(self, message):
        """Say what a simulator is busy with that sends no states yet: the first run compiles for minutes."""
        for status in message.status:
            if self.last_heard is None and status.message != self._told:
                self._told = status.message
                print(f"controller: waiting: {status.message}", flush=True)

    def _on_tf(self, message):
        for transform in message.transforms:
            if transform.child_frame_id == self._box_frame:
                p = transform.transform.translation
                self._box = np.array([p.x, p.y, p.z])

    def _array_callback(self, name):
        def store(message):
            data = np.asarray(message.data)
            self._stamps[name] = int(data[0]) * 1_000_000_000 + int(data[1])
            shape = [dim.size for dim in message.layout.dim]
            self._arrays[name] = data[message.layout.data_offset :].reshape(shape)
            self._answer()

        return store

    def _on_joints(self, message):
        self.last_heard = time.monotonic()
        self._joints = message
        self._stamps["joints"] = message.header.stamp.sec * 1_000_000_000 + message.header.stamp.nanosec
        self._answer()

    def _answer(self):
        """Publish the efforts for the newest state, once everything about it is here."""
        complete = len(self._stamps) == len(Terms._fields) + 1 and len(set(self._stamps.values())) == 1
        if not complete or self._model is None or self._box is None or self.done:
            return
        stamp = self._stamps["joints"]
        position, velocity = np.asarray(self._joints.position), np.asarray(self._joints.velocity)
        if self.controller is None:
            self._begin(stamp, position)
        elapsed = (stamp - self._start) * 1e-9
        effort = self.controller.update(elapsed, position, velocity, Terms(**self._arrays), self._box)
        self._command.array("effort")[:] = effort
        self._command.stamp("header.stamp", stamp)
        self._command.publish()
        self.phase = self.controller.phase(elapsed)
        self.done = elapsed >= self.controller.duration

    def _begin(self, stamp, position):
        names = list(self._joints.name)
        self.controller = LiftController(self._model, names, position, self._box, self._task)
        self._start = stamp
        self._message.name, self._message.effort = names, [0.0] * len(names)
        self._command = self._publisher.prepare(self._message)


def run(node, wait=None, timeout=10.0, box_frame="box"):
    """Serve until the task is over.

    Parameters
    ----------
    node : object
        From ``create_node``.
    wait : float, optional
        Seconds to wait for the simulator; without it for ever.
    timeout : float
        Seconds without joint states after which the simulator counts as gone.
    box_frame : str
        Of the box in /tf.

    Raises
    ------
    LiftError
        No simulator, or the box was lost.
    KeyboardInterrupt
        SIGINT or SIGTERM came.
    """
    lift = LiftNode(node, box_frame)
    begun = time.monotonic()
    phase = None
    while not lift.done:
        node.spin_once(0.1)
        if INTERRUPTED.is_set():
            raise KeyboardInterrupt
        silence = time.monotonic() - (lift.last_heard or begun)
        limit = wait if lift.last_heard is None else timeout
        if limit is not None and silence > limit:
            raise LiftError(f"no joint_states for {silence:.0f} s: is the simulator running in this domain?")
        if phase != lift.phase:
            phase = lift.phase
            print(f"controller: {phase}", flush=True)


#: Set by a signal.  An exception out of the handler could arise inside Cyclone DDS's wheel, which then crashes.
INTERRUPTED = threading.Event()


def _interrupt(*_):
    INTERRUPTED.set()


def main(argv=None):
    """Lift the box; 0 when the task is over, 1 when it failed, 0 after Ctrl-C."""
    parser = argparse.ArgumentParser(description="Two arms lift a box: the controller.")
    parser.add_argument("--backend", choices=("auto", "rclpy", "embedded"), default="auto")
    parser.add_argument("--namespace", default="", help="namespace of the simulator's topics")
    parser.add_argument("--frame-prefix", default="", help="frame_prefix of the simulator")
    parser.add_argument("--wait", type=float, metavar="S", help="longest wait for the simulator")
    arguments, ros_args = parser.parse_known_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    node = None
    try:
        node = create_node("dual_arm_lift", arguments.backend, ros_args, arguments.namespace)
        run(node, arguments.wait, box_frame=f"{arguments.frame_prefix}box")
    except KeyboardInterrupt:
        return 0  # how one ends a node: launch would call anything else a death
    except mb.MbContactError as error:
        print(f"controller: error: {error}", file=sys.stderr, flush=True)
        return 1
    finally:
        if node is not None:
            node.destroy_node()
    print("controller: done", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
