# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The other end of ``mb-contact bench node``: answers every joint state, or only listens.

Efforts are the published nonlinear effects of the same state (gravity and Coriolis terms), so that the robot
stays where it is.  When the simulator's process ends it, one JSON line says what arrived and when.
"""

import argparse
import json
import signal
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.ros import QoS, create_node

_JOINT_STATE, _ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
ENDED = threading.Event()
_KEPT = 100_000  #: arrivals


class Responder:
    """Counts states, the gaps between their stamps, and the wall time between their arrivals."""

    def __init__(self, node: Any, answer: bool) -> None:
        self._node = node
        self.states = self.gaps = 0
        self.arrivals: deque[float] = deque(maxlen=_KEPT)  # a soak must not grow by being measured
        self._last = self._step = self._command = self._run = None
        self._bias = np.zeros(0)
        if answer:
            self._publisher = node.create_publisher(_JOINT_STATE, "joint_commands", QoS(10))
            node.create_subscription(_ARRAY, "nonlinear_effects", self._on_bias, QoS(10))
        self._answering = answer
        node.create_subscription(_JOINT_STATE, "joint_states", self._on_state, QoS(10 if answer else 100))

    def _on_bias(self, message):
        self._bias = np.asarray(message.data)[message.layout.data_offset :]

    def _on_state(self, state):
        stamp = state.header.stamp.sec * 1_000_000_000 + state.header.stamp.nanosec
        if self._answering:
            self._answer(state, stamp)
        if stamp == self._last:
            return
        self.arrivals.append(time.perf_counter())
        self.states += 1
        if self._last is not None:
            self._step = self._step or stamp - self._last
            self.gaps += round((stamp - self._last) / self._step) - 1
        self._last = stamp

    def _answer(self, state, stamp):
        if state.header.frame_id != self._run:
            self._run = state.header.frame_id
            message = self._node.message_type(_JOINT_STATE)()
            message.header.frame_id = self._run
            message.name, message.effort = list(state.name), [0.0] * len(state.name)
            self._command = self._publisher.prepare(message)
            self._effort = self._command.array("effort")
        self._effort[: len(self._bias)] = self._bias
        self._command.stamp("header.stamp", stamp)
        self._command.publish()

    def report(self) -> dict[str, Any]:
        """What arrived."""
        between = np.diff(self.arrivals) * 1e3
        times = percentiles(between) if len(between) else {}
        return {"states": self.states, "missed": self.gaps, "interval_ms": times}


def percentiles(values: Floats) -> dict[str, float]:
    """Median, 99th percentile and greatest of some numbers."""
    low, high = np.percentile(values, (50.0, 99.0))
    return {"p50": float(low), "p99": float(high), "max": float(np.max(values))}


def main(argv: Sequence[str] | None = None) -> int:
    """Run until SIGTERM or SIGINT."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--backend", default="embedded")
    parser.add_argument("--listen", action="store_true", help="answer nothing")
    arguments = parser.parse_args(argv)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: ENDED.set())
    node = create_node("responder", arguments.backend)
    responder = Responder(node, not arguments.listen)
    print("listening", flush=True)
    while not ENDED.is_set():
        node.spin_once(0.1)
    print(json.dumps(responder.report()), flush=True)
    node.destroy_node()
    return 0


if __name__ == "__main__":
    sys.exit(main())
