# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact record``: every topic of the graph into one MCAP file, from a process of its own."""

import contextlib
import fnmatch
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import deserialize, fields_of, stamp_ns
from mb_contact.ros.qos import QoS
from mb_contact.ros.recorder import Recorder
from mb_contact.ros.signals import give_back, take_signals

_LOOK_EVERY = 0.2  #: seconds between two looks for new topics
_DEEP = QoS(depth=500, reliable=False)  #: hears writers of either reliability
_LATCHED = QoS(depth=10, latched=True)
_LATCHED_TOPICS = ("robot_description", "tf_static")  #: beginnings of their names
_CLOCK, _CLOCK_TYPE = "/clock", "rosgraph_msgs/msg/Clock"


@dataclass
class RecordOptions:
    """What to record.

    Attributes
    ----------
    path : path
        The ``.mcap`` file.
    topics : sequence of str
        Patterns of absolute topic names (``*`` and ``?``); empty: all.
    duration : float, optional
        Wall seconds; without it until Ctrl-C.
    sim_time : bool
        Stamp messages with the newest /clock, otherwise with the wall clock.
    backend : str
    """

    path: str
    topics: tuple = ()
    duration: float | None = None
    sim_time: bool = False
    backend: str = "auto"


class GraphRecorder:
    """Subscribes to topics as they appear and writes what they carry."""

    def __init__(self, node: Any, options: Any) -> None:
        self._node, self._options = node, options
        self._now = 0
        self._recorder = Recorder(options.path, self._time)
        self.topics = {}  #: absolute name to type of what is recorded
        self._refused = set()
        self._look = _looker(node)
        if options.sim_time:
            node.create_subscription(_CLOCK_TYPE, _CLOCK, self._on_clock, _DEEP, raw=True)

    def _time(self):
        return self._now if self._options.sim_time else time.time_ns()

    def _on_clock(self, data):
        self._now = stamp_ns(deserialize(data, _CLOCK_TYPE).clock)

    def look(self) -> Any:
        """Subscribe to what is new on the graph; returns the new names."""
        new = []
        for name, types in self._look():
            if name in self.topics or name in self._refused or not self._wanted(name):
                continue
            reason = self._why_not(types)
            if reason:
                self._refused.add(name)
                self._node.get_logger().warning(f"{name} is left out: {reason}")
                continue
            self._follow(name, types[0])
            new.append(name)
        return new

    def _wanted(self, name):
        if "/_" in name:  # hidden: of actions, whose types are not those of messages
            return False
        return not self._options.topics or any(fnmatch.fnmatchcase(name, p) for p in self._options.topics)

    @staticmethod
    def _why_not(types):
        if len(types) != 1:
            return f"it has several types: {', '.join(types)}"
        try:
            fields_of(types[0])
        except CommunicationError as error:
            return str(error)
        return ""

    def _follow(self, name, type_name):
        latched = name.rsplit("/", 1)[1].startswith(_LATCHED_TOPICS)
        qos = _LATCHED if latched else _DEEP
        record = self._recorder.add_topic(name, type_name, qos)
        self._node.create_subscription(type_name, name, record, qos, raw=True)
        self.topics[name] = type_name

    @property
    def count(self) -> Any:
        """Messages written so far."""
        return self._recorder.count

    def close(self) -> None:
        """Finish the file."""
        self._recorder.close()


def _looker(node):
    """Return the function that lists topics and their types."""
    if hasattr(node, "get_topic_names_and_types"):
        return node.get_topic_names_and_types
    return node.link.names_and_types


def record_graph(options: Any, ros_args: Sequence[str] = ()) -> Any:
    """Record until the duration is over, Ctrl-C or SIGTERM; the exit code.

    Raises
    ------
    CommunicationError
        The ROS domain cannot be joined, the file cannot be written.
    """
    from mb_contact.ros.backend import create_node

    ended = []
    with contextlib.ExitStack() as stack:
        stack.callback(give_back, take_signals(lambda number, _: ended.append(number)))
        node = create_node("mb_contact_record", options.backend, list(ros_args))
        stack.callback(node.destroy_node)
        recorder = GraphRecorder(node, options)
        stack.callback(recorder.close)
        _spin(node, recorder, options, ended)
    print(f"mb-contact: {recorder.count} messages of {len(recorder.topics)} topics in {options.path}", file=sys.stderr)
    return 0


def _spin(node, recorder, options, ended):
    end = None if options.duration is None else time.monotonic() + options.duration
    next_look = 0.0
    while not ended and (end is None or time.monotonic() < end):
        if time.monotonic() >= next_look:
            next_look = time.monotonic() + _LOOK_EVERY
            for name in recorder.look():
                print(f"mb-contact: recording {name} [{recorder.topics[name]}]", file=sys.stderr, flush=True)
        node.spin_once(_LOOK_EVERY)
