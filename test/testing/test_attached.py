# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Checks by standard topics alone, of a simulator in another process that knows nothing of tests.

Covers testing/views.py.
"""

from __future__ import annotations

import subprocess
import sys
from types import SimpleNamespace

import pytest

from mb_contact.errors import InputError
from mb_contact.testing import Expectation, Plan, distance, force, height, joint, message
from mb_contact.testing.attached import AttachedRun, TopicsView
from mb_contact.testing.conditions import Conditions, Event
from mb_contact.testing.processes import domain_environment, own_domain, variables


@pytest.mark.slow
def test_what_is_seen_by_topics(tmp_path):
    scene = "package://mb_contact/config/drumwright_grasp.yaml"
    checks = (
        Expectation(height("box_left", above="start") <= -0.05, within=1.0, name="it falls"),
        Expectation(joint("left_jaw_joint") <= 0.0, until=0.2),
        Expectation(distance("box_left", "box_right") <= 0.11, until=0.2),
        Expectation(message("/clock", "rosgraph_msgs/msg/Clock", "clock.sec") >= 0.0, within=1.0),
        Expectation(height("box_left", above="start") >= 0.0, at=0.5, name="it stays"),
    )
    with own_domain() as domain:
        environment = domain_environment(domain, "embedded")
        command = [sys.executable, "-m", "mb_contact", "run", scene, "--duration", "30"]
        simulator = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
        try:
            with variables(environment):
                results = AttachedRun(Plan(attach=True, expectations=checks, wall=60.0), tmp_path).finish()
        finally:
            simulator.terminate()
            simulator.wait()
    assert [result.passed for result in results] == [True, True, True, True, True, False], results
    assert "the height of box_left above its start is at least 0 m at 0.5 s; measured: -" in results[-1].text


class Node:
    """A node on which nothing comes in by itself."""

    def create_subscription(self, *_):
        pass


def test_the_start_is_where_a_frame_is_once_its_parents_are_known():
    view = TopicsView(Node(), lambda _: None)
    joints = SimpleNamespace(header=SimpleNamespace(stamp=SimpleNamespace(sec=0, nanosec=0)))
    for child, parent, x in (("box", "base", 0.5), ("base", "world", 1.0), ("box", "base", 0.7)):
        place = SimpleNamespace(x=x, y=0.0, z=0.0), SimpleNamespace(x=0.0, y=0.0, z=0.0, w=1.0)
        transform = SimpleNamespace(translation=place[0], rotation=place[1])
        header = SimpleNamespace(frame_id=parent)
        entry = SimpleNamespace(child_frame_id=child, header=header, transform=transform)
        view._on_frames(SimpleNamespace(transforms=[entry]))
        view._on_state(joints)
    assert distance("box", to="start").read(view, {}) == pytest.approx(0.2)


def test_what_topics_do_not_tell_is_said(tmp_path):
    view = TopicsView(Node(), None)
    with pytest.raises(InputError, match="leave 'by' out"):
        force("box", by="hand").read(view, {})
    with pytest.raises(InputError, match="certificates and energies cannot be checked here: standard topics"):
        view.certificate("residual")
    with pytest.raises(InputError, match="events are for our own simulator"):
        AttachedRun(Plan(attach=True, conditions=Conditions((Event(1.0, "reset"),)), duration=1.0), tmp_path)
