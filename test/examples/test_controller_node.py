# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How the shell of the controllers tells a simulator that is gone from a law that takes its time."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "examples"))

from controller_node import TaskNode, serve  # noqa: E402
from lift_controller import LiftError  # noqa: E402

NAMES = ("position", "velocity", "inertia", "jacobian", "bias", "mass_matrix", "nonlinear_effects")
ROWS = (1, 1, 2, 2, 1, 2, 1)  #: labels of each array: two of a matrix


class SlowTask(TaskNode):
    """Its first answer takes as long as compiling a law may."""

    def __init__(self, node, seconds):
        self.seconds = seconds
        super().__init__(node, "box")

    def begin(self, model, names, position, seen):
        time.sleep(self.seconds)
        return self

    def law(self, state):
        self.done = state.elapsed > 0.0
        return [0.0]


class Simulator:
    """A node whose topics are as those of a simulator that sends ``count`` states, one every time it is spun."""

    def __init__(self, count):
        self.left, self.sent, self.heard_by = count, 0, {}

    def create_subscription(self, type_name, topic, callback, qos):
        self.heard_by[topic] = callback

    def create_publisher(self, type_name, topic, qos):
        command = SimpleNamespace(array=lambda name: [0.0], stamp=lambda *_: None, publish=lambda: None)
        return SimpleNamespace(prepare=lambda message: command)

    def message_type(self, type_name):
        return SimpleNamespace

    def spin_once(self, timeout):
        if not self.left:
            time.sleep(timeout)
            return
        self.left, self.sent = self.left - 1, self.sent + 1
        zero, one = SimpleNamespace(x=0.0, y=0.0, z=0.0), SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
        box = SimpleNamespace(child_frame_id="box", transform=SimpleNamespace(translation=zero, rotation=one))
        self.heard_by["robot_description"](SimpleNamespace(data="<robot name='r'><link name='base'/></robot>"))
        self.heard_by["run"](SimpleNamespace(data=1))
        self.heard_by["/tf"](SimpleNamespace(transforms=[box]))
        dims = [
            SimpleNamespace(label="|".join([name, *["joints=a"] * rows]), size=1, stride=1)
            for name, rows in zip(NAMES, ROWS)
        ]
        layout = SimpleNamespace(data_offset=2, dim=dims)
        state = SimpleNamespace(layout=layout, data=[self.sent, *[0.0] * (1 + len(dims))])
        self.heard_by["operational_space/state"](state)


def test_a_law_that_compiles_longer_than_the_simulator_may_be_silent():
    node = Simulator(2)
    task = SlowTask(node, 0.4)
    task._message.header = SimpleNamespace()
    serve(node, task, timeout=0.2)
    assert task.done and task.heard == 2


def test_a_simulator_that_is_gone():
    node = Simulator(1)
    task = SlowTask(node, 0.0)
    task._message.header = SimpleNamespace()
    with pytest.raises(LiftError, match="no state for"):
        serve(node, task, timeout=0.2)
    with pytest.raises(LiftError, match="no state for"):
        serve(Simulator(0), SlowTask(Simulator(0), 0.0), wait=0.2)
