# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Hostile messages at full rate, a controller that is killed, two that fight, clocks that jump: the node stands.

benchmarks/abuse.py does the same with 100,000 messages of every kind while two arms hold a box.

Covers ros/memory.py.
"""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys

import numpy as np
import pytest

from mb_contact.ros.commands import CommandInbox
from mb_contact.ros.embedded.messages import deserialize
from mb_contact.ros.options import NodeOptions
from paths import BENCHMARKS
from ros.fake_simulator import FakeSimulator
from ros.support import Session

ABUSER = BENCHMARKS / "abuser.py"


@pytest.fixture(scope="module")
def abuser():
    sys.path.insert(0, str(BENCHMARKS))
    try:
        import abuser
    finally:
        sys.path.remove(str(BENCHMARKS))
    return abuser


def summary_words(node):
    """The words of the line that counts commands in the summary of a run."""
    return next(line for line in node.errors if line.startswith("commands:")).split()


class Silent:
    def warning(self, text, throttle_duration_sec=None):
        assert len(text) < 2000, "what came from outside must not fill the log"


def test_every_hostile_command_is_rejected_and_counted(abuser):
    simulator = FakeSimulator(26)
    inbox = CommandInbox(simulator.world.joint_names, simulator.world.effort_limit > 0.0, NodeOptions(), Silent())
    good = abuser._joint_state(["joint_0"], [0.5], 0)
    inbox.on_joint_command(deserialize(good, abuser.JOINT_STATE))
    chance, refused = random.Random(1), 0
    joint_states = abuser.hostile_joint_commands("joint_0", chance)
    cases = [(abuser.JOINT_STATE, data, inbox.on_joint_command) for data in joint_states]
    cases += [(abuser.ARRAY, data, inbox.on_effort_command) for data in abuser.hostile_arrays(chance)]
    for type_name, data, take in cases * 20:
        try:
            message = deserialize(data, type_name)
        except Exception as error:
            assert type(error).__name__ == "CommunicationError"  # counted by the node
            refused += 1
            continue
        take(message)
    assert refused == 20  # the name that is not UTF-8
    assert (inbox.accepted, inbox.rejected) == (1, 20 * len(cases) - refused)
    held, _ = inbox.held()
    assert held[0] == 0.5 and not held[1:].any()


def end(controller):
    """Interrupt a controller; again if the first signal met a moment in which a library swallows it."""
    for _ in range(3):
        controller.signal(signal.SIGINT)
        try:
            return controller.wait(20)
        except subprocess.TimeoutExpired:
            continue
    raise AssertionError("the controller does not end\n" + controller.output())


@pytest.mark.parametrize("lockstep", [True, False])
def test_a_flood_does_not_disturb_a_controller(lockstep):
    with Session() as ros:
        node = ros.simulator("--joints", "26", *(["--lockstep"] if lockstep else []))
        controller = ros.controller(10**9)
        controller.wait_for("running")
        attack = ros.process(sys.executable, "-u", ABUSER, "2000", "--push", "joint_0_unused")
        attack.wait_for("attacking")
        peer = ros.peer()
        states = peer.listen("joint_states")
        assert attack.wait(60) == 0, attack.output()
        sent = json.loads(attack.lines[-1])
        assert sent["count"] == 2000 and sent["matched"]["joint_commands"] == 1
        peer.next_messages("joint_states", 20)
        # the controller's law has its equilibrium at 0.25; nothing hostile moves the robot away from its path to there
        assert all(np.isfinite(s.position).all() and (np.abs(s.position) < 0.5).all() for s in states)
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
        end(controller)
        assert "Traceback" not in node.output() and "in a callback" not in node.output(), node.output()[-3000:]
        words = summary_words(node)
        accepted, rejected = int(words[1]), int(words[3])
        assert 0 < rejected <= 3 * 2000  # a reader that keeps the newest may drop some before they are counted
        assert accepted > 20
        report = json.loads(next(line for line in controller.lines if line.startswith("{")))
        if lockstep:
            assert report["gaps"] == 0 and "0 lockstep timeouts" in node.wait_for("lockstep timeouts")


def test_two_controllers_fight_and_the_newest_command_counts():
    with Session() as ros:
        ros.simulator("--joints", "2")
        first, second = ros.peer("first"), ros.peer("second")
        states = first.listen("joint_states")
        ours, theirs = first.publisher("joint_commands"), second.publisher("joint_commands")
        for _ in range(200):
            ours.publish(first.joint_command(["joint_0", "joint_1"], [1.0, 1.0]))
            theirs.publish(second.joint_command(["joint_0", "joint_1"], [-1.0, -1.0]))
            first.next_messages("joint_states")
        # each state shows one command whole, never half of each
        acted = {tuple(state.effort) for state in states[-150:]}
        assert acted <= {(1.0, 1.0), (-1.0, -1.0)} and acted
        last = first.joint_command(["joint_0", "joint_1"], [0.25, 0.25])
        first.send_until(ours, last, lambda: tuple(states[-1].effort) == (0.25, 0.25))


@pytest.mark.parametrize("seconds", [-(10**9), 10**9, 2**31 - 1])
def test_stamps_from_another_clock_are_held_and_counted_late(seconds):
    """A controller whose clock jumped sends stamps that answer no state: in real time they count, in the order sent."""
    with Session() as ros:
        node = ros.simulator("--joints", "2")
        peer = ros.peer()
        states = peer.listen("joint_states")
        commands = peer.publisher("joint_commands")
        command = peer.joint_command(["joint_0"], [2.0])
        command.header.stamp.sec = max(-(2**31), seconds)
        if seconds < 0:  # before the beginning of time: from before a reset, never obeyed
            for _ in range(50):
                commands.publish(command)
                peer.next_messages("joint_states")
            assert states[-1].effort[0] == 0.0
        else:
            peer.send_until(commands, command, lambda: states and states[-1].effort[0] == 2.0)
        stamps = [s.header.stamp.sec * 10**9 + s.header.stamp.nanosec for s in states]
        assert all(a < b for a, b in zip(stamps, stamps[1:]))  # the node's own clock does not follow
        node.signal(signal.SIGINT)
        assert node.wait() == 0
        words = summary_words(node)
        assert int(words[5]) > 0 and int(words[3]) == 0


def test_a_clock_of_someone_else_does_not_move_the_simulation():
    with Session() as ros:
        ros.simulator("--joints", "2")
        peer = ros.peer()
        states = peer.listen("joint_states")
        publisher = peer.node.create_publisher("rosgraph_msgs/msg/Clock", "/clock", 10)
        message = peer.node.message_type("rosgraph_msgs/msg/Clock")()
        for second in (10**6, 0, 5):
            message.clock.sec = second
            publisher.publish(message)
            peer.next_messages("joint_states", 20)
        stamps = [s.header.stamp.sec * 10**9 + s.header.stamp.nanosec for s in states]
        assert all(0 < b - a < 1_000_000_000 for a, b in zip(stamps, stamps[1:]))


def test_two_simulators_in_one_domain_are_told_apart_by_their_names():
    """Same names, same domain: both run; a namespace keeps the second one's topics apart."""
    with Session() as ros:
        first = ros.simulator("--joints", "2")
        second = ros.simulator("--joints", "3", "--namespace", "other")
        peer = ros.peer()
        mine, theirs = peer.listen("/joint_states"), peer.listen("/other/joint_states")
        peer.until(lambda: len(mine) > 20 and len(theirs) > 20)
        assert {len(s.name) for s in mine} == {2} and {len(s.name) for s in theirs} == {3}
        for node in (first, second):
            node.signal(signal.SIGTERM)
            assert node.wait() == 0
