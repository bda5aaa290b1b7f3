# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pacing on a clock of the test's own, overload, pause and single step, signals in every state, restarts."""

from __future__ import annotations

import signal

import numpy as np
import pytest

from mb_contact.ros import pacing
from mb_contact.ros.pacing import Pacer
from ros.fake_simulator import FakeSimulator
from ros.support import SET_BOOL, Session

DT = 0.001


class Clock:
    """A clock that stands still unless it is moved."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        monkeypatch.setattr(pacing.time, "perf_counter", lambda: self.now)


@pytest.fixture
def clock(monkeypatch):
    return Clock(monkeypatch)


def run(pacer, clock, steps, work, start=0):
    """Step ``steps`` times, each taking ``work(k)`` seconds; waits as long as the pacer says."""
    for k in range(start, start + steps):
        clock.now += work(k)
        clock.now += pacer.delay((k + 1) * DT)
    return start + steps


@pytest.mark.parametrize("factor", [0.1, 0.5, 1.0, 7.0])
def test_simulated_time_goes_at_the_factor_asked_for(clock, factor):
    pacer = Pacer(factor, 2 * DT)
    begun = clock.now
    run(pacer, clock, 3000, lambda k: 0.5 * DT / factor * (k % 3) / 2.0)
    assert clock.now - begun == pytest.approx(3.0 / factor, rel=1e-3)
    assert pacer.factor_overall == pytest.approx(factor, rel=1e-3)
    assert pacer.missed == 0 and not pacer.overloaded


def test_without_a_limit_it_never_waits(clock):
    pacer = Pacer(0.0, 2 * DT)
    begun = clock.now
    run(pacer, clock, 1000, lambda k: 1e-4)
    assert clock.now - begun == pytest.approx(0.1)
    assert pacer.factor_overall == pytest.approx(10.0) and pacer.missed == 0 and not pacer.overloaded


def test_a_short_hiccup_is_made_up_a_long_one_is_not(clock):
    pacer = Pacer(1.0, 2 * DT)
    begun = clock.now
    done = run(pacer, clock, 1000, lambda k: 0.1 if k == 500 else 1e-4)
    assert clock.now - begun == pytest.approx(1.0, abs=DT)  # 0.1 s are caught up
    assert 90 < pacer.missed < 120
    begun, missed = clock.now, pacer.missed
    run(pacer, clock, 1000, lambda k: 5.0 if k == done + 500 else 1e-4, done)
    assert clock.now - begun == pytest.approx(6.0, abs=0.01)  # five seconds of sprint would have piled up
    assert pacer.missed - missed < 3


def test_overload_slows_down_is_told_and_ends(clock):
    pacer = Pacer(1.0, 2 * DT)
    done = run(pacer, clock, 3000, lambda k: 2.5 * DT)
    assert pacer.overloaded and pacer.factor_now == pytest.approx(0.4, rel=1e-2)
    run(pacer, clock, 3000, lambda k: 0.1 * DT, done)
    assert not pacer.overloaded and pacer.factor_now == pytest.approx(1.0, rel=1e-2)


def test_waiting_and_pausing_do_not_count(clock):
    pacer = Pacer(1.0, 2 * DT)
    done = run(pacer, clock, 1000, lambda k: 0.0)
    clock.now += 1000.0
    pacer.resume(done * DT)
    run(pacer, clock, 1000, lambda k: 0.0, done)
    assert pacer.factor_overall == pytest.approx(1.0, rel=1e-2) and pacer.missed == 0


def test_overload_is_said_over_processes():
    with Session() as ros:
        node = ros.simulator("--joints", "2", "--ros-args", "-p", "real_time_factor:=1000.0",
                             "-p", "command_timeout:=0.0")  # fmt: skip
        peer = ros.peer()
        diagnostics = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        node.wait_for("overloaded: real-time factor")
        peer.until(lambda: any("overloaded" in m.status[0].message for m in diagnostics))
        node.signal(signal.SIGINT)
        assert node.wait() == 0
        assert sum("overloaded" in line for line in node.errors) <= 3  # not at every step


STATES = {
    "unlimited": (["--as-fast-as-possible"], None),
    "very slow": (["--ros-args", "-p", "real_time_factor:=0.0001"], None),
    "paused": (["--ros-args", "-p", "start_paused:=true"], None),
    "waiting": (["--lockstep"], "waiting for the first command"),
    "recording": (["--record", "{tmp}/a.mcap"], None),
    "waiting and recording": (["--lockstep", "--record", "{tmp}/a.mcap"], "waiting for the first command"),
}


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_every_state_cleanly(state, number, tmp_path):
    arguments, line = STATES[state]
    with Session() as ros:
        node = ros.simulator("--joints", "2", *(a.replace("{tmp}", str(tmp_path)) for a in arguments))
        if line:
            node.wait_for(line)
        node.signal(number)
        assert node.wait() == 0, node.output()
        assert "Traceback" not in node.output() and "real-time factor" in node.output()
    if "record" in state:
        assert [p.name for p in tmp_path.iterdir()] == ["a.mcap"]


def test_a_signal_after_the_controller_was_given_up():
    with Session() as ros:
        node = ros.simulator("--lockstep", "--joints", "2", "--ros-args", "-p", "lockstep_timeout:=0.2")
        controller = ros.controller(10**9)
        controller.wait_for("running")
        controller.signal(signal.SIGKILL)
        node.wait_for("going on in real time")
        node.signal(signal.SIGTERM)
        assert node.wait() == 0, node.output()


def test_pausing_and_single_steps_change_nothing():
    """Steps taken one by one and in a run give the states of the same efforts without any node."""
    with Session() as ros:
        ros.simulator("--joints", "2", "--ros-args", "-p", "start_paused:=true", "-p", "command_timeout:=0.0")
        peer = ros.peer()
        states = peer.listen("joint_states")
        commands = peer.publisher("joint_commands")
        command = peer.joint_command(["joint_0", "joint_1"], [1.0, -0.5])
        while not any(state.effort.any() for state in states):  # best effort: the first ones may be lost
            commands.publish(command)
            assert peer.call("/mb_contact/step").success
        for _ in range(20):
            assert peer.call("/mb_contact/step").success
        assert peer.call("/mb_contact/pause", SET_BOOL, data=False).success
        peer.until(lambda: len(states) > 80)
        assert peer.call("/mb_contact/pause", SET_BOOL, data=True).success
        count = len(states)
        assert peer.call("/mb_contact/step").success
        peer.until(lambda: len(states) > count)
        assert not peer.call("/mb_contact/pause", SET_BOOL, data=False).message.startswith("paused")
    reference, expected = FakeSimulator(2), {0: np.zeros(2)}
    first = next(s for s in states if s.effort.any())
    quiet = first.header.stamp.nanosec // 1_000_000 - 1  # steps before the command had arrived
    for k in range(1, 1 + max(s.header.stamp.nanosec // 1_000_000 for s in states)):
        reference.step(np.zeros(2) if k <= quiet else np.array([1.0, -0.5]))
        expected[k] = reference.joint_positions()
    for state in states:
        k = state.header.stamp.nanosec // 1_000_000
        assert state.position.tobytes() == expected[k].tobytes(), k


@pytest.mark.parametrize("lockstep", [True, False])
def test_the_simulator_is_restarted_and_the_controller_stays(lockstep):
    more = ["--lockstep"] if lockstep else []
    with Session() as ros:
        controller = ros.controller(10**9)
        for _ in range(2):
            node = ros.simulator("--joints", "3", *more)
            peer = ros.peer()
            states = peer.listen("joint_states")
            peer.until(lambda s=states: len(s) > 100 and s[-1].effort.any())
            peer.close()
            node.signal(signal.SIGINT)
            assert node.wait() == 0, node.output()
        assert controller.popen.poll() is None


def test_the_executor_goes_on_while_the_physics_is_slow():
    """Physics has a thread of its own: a service is answered between two steps, messages come in meanwhile."""
    with Session() as ros:
        node = ros.simulator("--joints", "2", "--ros-args", "-p", "real_time_factor:=0.001")
        peer = ros.peer()
        commands = peer.publisher("joint_commands")
        bad = peer.joint_command(["joint_0"], [float("nan")])
        peer.send_until(commands, bad, lambda: any("is not finite" in line for line in node.errors))
        assert peer.call("/mb_contact/pause", SET_BOOL, data=True).success
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
