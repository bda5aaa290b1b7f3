# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Checks of what somebody else runs: another simulator or a robot, seen by standard topics alone.

``joint_states`` sets the pace and tells the time, ``/tf`` tells where links are, ``contact_wrenches/LINK`` and
``joint_wrenches/JOINT`` tell forces where there are such topics.
"""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.ros.backend import create_node
from mb_contact.ros.qos import QoS
from mb_contact.testing.checks import EPSILON, OPEN, Tally
from mb_contact.testing.failures import Result
from mb_contact.testing.plan import Plan
from mb_contact.testing.processes import Program, domain_environment
from mb_contact.testing.views import Placed, Topics, View

ROOTS = ("world", "map", "odom")  #: frames that poses are in, the first of these that there is
LATCHED = QoS(100, latched=True)
SETTLE = 1.0  #: for which topics are met before controllers begin [wall s]
WRENCH = "geometry_msgs/msg/WrenchStamped"


class TopicsView(View):
    """Standard topics.

    Parameters
    ----------
    node : object
        From ``create_node``.
    heard : callable
        Called at every joint state.
    """

    def __init__(self, node: Any, heard: Any) -> None:
        super().__init__()
        self._topics, self._heard = Topics(node), heard
        self._state: Any = None
        self._first: float | None = None
        self._frames: dict[str, tuple[str, Floats, Floats]] = {}
        subscribe = node.create_subscription
        subscribe("tf2_msgs/msg/TFMessage", "/tf", self._on_frames, QoS(100))
        subscribe("tf2_msgs/msg/TFMessage", "/tf_static", self._on_frames, LATCHED)
        subscribe("sensor_msgs/msg/JointState", "joint_states", self._on_state, QoS(100))

    def _on_frames(self, message):
        for entry in message.transforms:
            p, q = entry.transform.translation, entry.transform.rotation
            place = np.array([p.x, p.y, p.z]), quat_to_matrix([q.x, q.y, q.z, q.w])
            self._frames[entry.child_frame_id] = (entry.header.frame_id, *place)

    def _on_state(self, message):
        stamp = message.header.stamp.sec + 1e-9 * message.header.stamp.nanosec
        self._first = stamp if self._first is None else self._first
        self._state, self.time = message, stamp - self._first
        self._meet(frame for frame in self._frames if self._root_of(frame) in ROOTS)
        self._heard(self)

    def start(self, link: str) -> Placed:
        """Where a frame was when a joint state first had it in one of ROOTS, else when this was first asked for."""
        self._meet([link])
        return super().start(link)

    def _root_of(self, frame):
        """The frame that the tree of a frame hangs on, as far as it is known."""
        for _ in range(len(self._frames)):
            if frame not in self._frames:
                break
            frame = self._frames[frame][0]
        return frame

    def pose(self, link: str) -> Placed:
        """Of a frame of /tf, in the frame that its tree hangs on; NaN before it is heard of."""
        p, R, frame = np.zeros(3), np.eye(3), link
        for _ in range(len(self._frames) + 1):
            if frame not in self._frames:
                break
            frame, origin, turned = self._frames[frame]
            p, R = origin + turned @ p, turned @ R
        if frame == link and link not in ROOTS:
            return np.full((1, 3), np.nan), np.full((1, 3, 3), np.nan)
        return p[None], R[None]

    def joint(self, name: str, what: str) -> Floats:
        """Of joint_states."""
        values = getattr(self._state, what)
        if name not in self._state.name or not len(values):
            names = ", ".join(self._state.name)
            raise InputError(f"joint_states tell no {what} of a joint '{name}'; they name {names}")
        return np.array([values[list(self._state.name).index(name)]])

    def force(self, link: str, by: Sequence[str] = (), others: bool = False) -> Floats:
        """Of contact_wrenches, which tell no partners."""
        if by:
            raise InputError(f"contact_wrenches do not tell who touches {link}: leave 'by' out, or check our own node")
        return self._wrench(f"contact_wrenches/{link}")[:, 3:]

    def wrench(self, joint: str) -> Floats:
        """Of joint_wrenches."""
        return self._wrench(f"joint_wrenches/{joint}")

    def _wrench(self, topic):
        found = self._topics.field(topic, WRENCH, "wrench")
        if found is None:
            return np.full((1, 6), np.nan)
        return np.array([[getattr(part, axis) for part in (found.torque, found.force) for axis in "xyz"]])

    def message(self, topic: str, type_name: str, field: str) -> Any:
        """Of any topic."""
        return self._topics.field(topic, type_name, field)


class AttachedRun:
    """A test in the ROS domain that this process is in, of a simulation or a robot that runs already.

    Parameters
    ----------
    plan : Plan
        Its scene is not used; without lockstep nothing is the same every time, so bounds are the test's own affair.
    folder : path
        For the controllers' logs.

    Raises
    ------
    InputError
        The plan has events, which only a simulator of ours can be asked for.
    """

    def __init__(self, plan: Plan, folder: str | Path) -> None:
        if plan.conditions.events:
            raise InputError("--attach: events are for our own simulator; ask yours by simulation_interfaces")
        self.plan, self.folder = plan, Path(folder)
        self.tallies = [Tally(entry) for entry in plan.expectations]
        self.failures: list[str] = []
        self.programs: list[Program] = []
        self.time, self._seen, self._last = 0.0, 0, np.inf if plan.duration is None else plan.duration

    def finish(self) -> list[Result]:
        """Watch until all is decided, the duration is over, a controller has ended, or the budget is spent."""
        node = create_node("mb_contact_test", self.plan.backend)
        TopicsView(node, self._watch)
        begun = time.monotonic()
        try:
            while not self._seen and time.monotonic() < begun + SETTLE:
                node.spin_once(0.05)
            for number, command in enumerate(self.plan.controllers, 1):
                log = self.folder / f"controller_{number}.log"
                self.programs.append(Program(command, domain_environment(None, node.backend), log, self.plan.folder))
                self.programs[-1].start()
            while not self._is_over(time.monotonic() - begun):
                node.spin_once(0.05)
            self.failures += [text for program in self.programs if (text := program.complaint())]
        finally:
            for program in self.programs:
                program.stop()
            node.destroy_node()
        fault = self.failures[0].split("; ")[0] if self.failures else ""
        late = [program.complaint() for program in self.programs]
        self.failures += [text for text in late if text and text not in self.failures]
        for tally in self.tallies:
            tally.end(self.time, fault)
        controllers = Result("controllers", not self.failures, "\n".join(self.failures), self.time)
        return [controllers, *(tally.result() for tally in self.tallies)]

    def _watch(self, view):
        self.time, self._seen = view.time, self._seen + 1
        for tally in self.tallies:
            tally.see(view)

    def _is_over(self, wall):
        if self.plan.wall is not None and wall > self.plan.wall:
            heard = f"at {self.time:.3f} s" if self._seen else "and no joint_states have been heard"
            self.failures.append(f"the run has taken {self.plan.wall:g} s of wall time, its budget, {heard}")
            return True
        decided = self._last == np.inf and bool(self.tallies) and all(t.state[0] != OPEN for t in self.tallies)
        ended = any(program.code is not None for program in self.programs)
        return decided or ended or self.time >= self._last - EPSILON
