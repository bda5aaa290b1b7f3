# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The ROS shell of the two-handed controllers: from topics to a law, and from its efforts to a topic.

It knows the robot through the simulator's topics alone: robot_description, operational_space/state, /tf of the object,
and, for laws that feel, contact_wrenches of the fingers.  It works in lockstep and without, on rclpy and on the
embedded backend.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from typing import NamedTuple

import numpy as np
from lift_controller import LiftError, Terms

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.ros import QoS, create_node

LISTEN = 0.1  #: longest uninterrupted wait [s]


class State(NamedTuple):
    """What a law answers: one state and everything published about it."""

    elapsed: float  #: since the first state [s]
    position: np.ndarray  #: (joints,)
    velocity: np.ndarray  #: (joints,)
    terms: Terms
    seen: tuple  #: position (3,) and rotation (3, 3) of the object, world axes, when it was seen last
    seen_anew: bool  #: since the state before
    felt: dict  #: contact force (3,) on each finger [N], where it was felt since the state before


class States:
    """Reads operational_space/state.

    Attributes
    ----------
    names : list of str
        Joints, in the order of all arrays.
    position, velocity : (joints,)
    terms : Terms
        All of the state read last, in place: who keeps them makes a copy.
    """

    def __init__(self):
        self._data = np.empty(0)
        self.names, self.position, self.velocity, self.terms = [], None, None, None

    def read(self, message):
        """Take a message; its stamp [ns]."""
        if len(message.data) != len(self._data):
            self._lay_out(message.layout, len(message.data))
        # a copy: where the middleware has put the numbers they need not be aligned, as products want them
        self._data[:] = message.data
        return int(self._data[0]) * 1_000_000_000 + int(self._data[1])

    def _lay_out(self, layout, count):
        """Where the arrays lie in messages of this layout; a robot's stay there."""
        self._data, first, arrays = np.empty(count), layout.data_offset, {}
        for dim in layout.dim:
            name, *labels = dim.label.split("|")
            part = self._data[first : first + dim.size]
            arrays[name] = part.reshape(-1, dim.stride) if len(labels) == 2 else part
            first += dim.size
            if name == "position":
                self.names = labels[0].removeprefix("joints=").split(",")
        self.position, self.velocity = arrays.pop("position"), arrays.pop("velocity")
        self.terms = Terms(**arrays)


class TaskNode:
    """Answers every state, and names it by its stamp and its run; one that is sent again gets the same answer again.

    The first state starts the task.  A task gives it ``begin``, and ``law`` or what its law is told, ``observed``.

    Parameters
    ----------
    node : object
        From ``create_node``.
    frame : str
        Of the object in /tf.
    fixed : str, optional
        A frame in /tf_static that the law needs: its pose is ``self.fixed``.
    fingers : sequence of str
        Links whose contact forces the law feels.
    """

    def __init__(self, node, frame, fixed=None, fingers=()):
        self._frame, self._fixed_frame = frame, fixed
        self.fixed = None  #: position (3,) and rotation (3, 3), world axes
        self.controller = None
        self.done = False
        self.phase = None  #: of the task, None before it begins
        self.heard = 0  #: states
        self._told = ""
        self._model = self._seen = self._command = self._efforts = self._start = None
        self._run = self._answered = None
        self._fingers, self._felt, self._seen_anew = set(fingers), {}, False
        self._states = States()
        subscribe = node.create_subscription
        subscribe("std_msgs/msg/String", "robot_description", self._on_model, QoS(1, latched=True))
        subscribe("std_msgs/msg/UInt64", "run", self._on_run, QoS(1, latched=True))
        subscribe("tf2_msgs/msg/TFMessage", "/tf", self._on_tf, QoS(10))
        if fixed is not None:
            subscribe("tf2_msgs/msg/TFMessage", "/tf_static", self._on_fixed, QoS(10, latched=True))
        for finger in fingers:
            topic = f"contact_wrenches/{finger}"
            subscribe("geometry_msgs/msg/WrenchStamped", topic, self._finger_callback(finger), QoS(10))
        subscribe("std_msgs/msg/Float64MultiArray", "operational_space/state", self._on_state, QoS(10))
        subscribe("diagnostic_msgs/msg/DiagnosticArray", "/diagnostics", self._on_report, QoS(10))
        deep = QoS(1000)  # for a recorder that a busy machine keeps from reading
        self._publisher = node.create_publisher("sensor_msgs/msg/JointState", "joint_commands", deep)
        self._message = node.message_type("sensor_msgs/msg/JointState")()

    def begin(self, model, names, position, seen):
        """Return the law for a robot of these joints and an object at this pose."""
        raise NotImplementedError

    def law(self, state):
        """Efforts for a State; sets ``phase`` and ``done``."""
        seen = self.observed(state)
        effort = self.controller.update(state.elapsed, state.position, state.velocity, state.terms, *seen)
        self.phase, self.done = self.controller.phase, self.controller.done
        return effort

    def observed(self, state):
        """What the controller is told of a State beside joints and terms: the object where it was seen anew."""
        return (state.seen if state.seen_anew else None,)

    def _on_model(self, message):
        if self._model is None:
            self._model = mb.load_urdf(message.data)

    def _on_run(self, message):
        self._run, self._answered = f"run {message.data}", None
        if self._command is not None:
            self._make_command()

    def _on_report(self, message):
        """Say what a simulator is busy with that sends no states yet: the first run compiles for minutes."""
        for status in message.status:
            if not self.heard and status.message != self._told:
                self._told = status.message
                print(f"controller: waiting: {status.message}", flush=True)

    def _on_tf(self, message):
        seen = _pose_in(message, self._frame)
        if seen is not None:
            self._seen, self._seen_anew = seen, True

    def _on_fixed(self, message):
        self.fixed = _pose_in(message, self._fixed_frame) or self.fixed

    def _finger_callback(self, finger):
        def store(message):
            force = message.wrench.force
            self._felt[finger] = np.array([force.x, force.y, force.z])

        return store

    def _on_state(self, message):
        """Publish the efforts for a state."""
        self.heard += 1
        stamp, states = self._states.read(message), self._states
        if self.done or (self.controller is None and self._lacks_something()):
            return
        if self.controller is None:
            self._prepare(stamp)
        if stamp != self._answered:
            self._answer(stamp, states)
        self._answered = stamp
        self._seen_anew, self._felt = False, {}  # what came with a state that is sent again, too
        self._command.publish()

    def _lacks_something(self):
        """Whether something is still to come of what belongs to the first state: not all topics are met at once."""
        fixed = self._fixed_frame is None or self.fixed is not None
        known = self._model is not None and self._seen is not None and self._run is not None
        return not (known and fixed and self._fingers <= set(self._felt))

    def _answer(self, stamp, states):
        elapsed = (stamp - self._start) * 1e-9
        state = State(elapsed, states.position, states.velocity, states.terms, self._seen, self._seen_anew, self._felt)
        self._efforts[:] = self.law(state)
        self._command.stamp("header.stamp", stamp)

    def _prepare(self, stamp):
        names = self._states.names
        self.controller = self.begin(self._model, names, self._states.position.copy(), self._seen)
        self._start = stamp
        self._message.name, self._message.effort = names, [0.0] * len(names)
        self._make_command()

    def _make_command(self):
        self._message.header.frame_id = self._run
        self._command = self._publisher.prepare(self._message)
        self._efforts = self._command.array("effort")


def _pose_in(message, frame):
    """Position (3,) and rotation (3, 3) of a frame in a TFMessage, or None."""
    for transform in message.transforms:
        if transform.child_frame_id == frame:
            p, r = transform.transform.translation, transform.transform.rotation
            return np.array([p.x, p.y, p.z]), quat_to_matrix([r.x, r.y, r.z, r.w])
    return None


def listened(node, task, silence):
    """Spin a node once; returns for how many seconds it has listened since the last state.

    What a law computes, and what it compiles for the first state, is no silence of the simulator.
    """
    heard, begun = task.heard, time.monotonic()
    node.spin_once(LISTEN)
    return 0.0 if task.heard > heard else silence + min(time.monotonic() - begun, LISTEN)


def serve(node, task, wait=None, timeout=60.0):
    """Serve until the task is over.

    Parameters
    ----------
    node : object
        From ``create_node``.
    task : TaskNode
    wait : float, optional
        Seconds to wait for the simulator; without it for ever.
    timeout : float
        Seconds without states after which the simulator counts as gone; on a busy machine states have come
        five seconds apart.

    Raises
    ------
    LiftError
        No simulator, or the object was lost.
    KeyboardInterrupt
        SIGINT or SIGTERM came.
    """
    phase, silence = None, 0.0
    while not task.done:
        silence = listened(node, task, silence)
        if INTERRUPTED.is_set():
            raise KeyboardInterrupt
        limit = timeout if task.heard else wait
        if limit is not None and silence > limit:
            raise LiftError(f"no state for {silence:.0f} s: is the simulator running in this domain?")
        if phase != task.phase:
            phase = task.phase
            print(f"controller: {phase}", flush=True)


#: Set by a signal.  An exception out of the handler could arise inside Cyclone DDS's wheel, which then crashes.
INTERRUPTED = threading.Event()


def _interrupt(*_):
    INTERRUPTED.set()


def main(argv, name, description, make_task):
    """Do the task; 0 when it is over, 1 when it failed, 0 after Ctrl-C.

    Parameters
    ----------
    argv : sequence of str or None
    name, description : str
        Of the node, and of the program.
    make_task : callable
        From a node and the simulator's frame_prefix to a TaskNode.
    """
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--backend", choices=("auto", "rclpy", "embedded"), default="auto")
    parser.add_argument("--namespace", default="", help="namespace of the simulator's topics")
    parser.add_argument("--frame-prefix", default="", help="frame_prefix of the simulator")
    parser.add_argument("--wait", type=float, metavar="S", help="longest wait for the simulator")
    arguments, ros_args = parser.parse_known_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _interrupt)
    node = None
    try:
        node = create_node(name, arguments.backend, ros_args, arguments.namespace)
        serve(node, make_task(node, arguments.frame_prefix), arguments.wait)
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
