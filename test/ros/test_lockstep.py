# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep between two processes over DDS: nothing lost, a killed controller, a reset under load.

Covers ros/answers.py.
"""

from __future__ import annotations

import json
import signal

import numpy as np
import pytest

from mb_contact.ros.embedded.messages import message_class, stamp_ns
from mb_contact.ros.lockstep import settle_time
from mb_contact.ros.qos import COMMAND_LOCKSTEP, QoS
from paths import ROOT
from ros.fake_simulator import FakeSimulator
from ros.support import JOINT_STATE, TRIGGER, Session, on_dds


def last_json(process):
    return json.loads(process.lines[-1])


def test_five_seconds_at_1_khz_lose_nothing():
    with Session() as ros:
        node = ros.simulator("--lockstep", "--duration", "5", "--joints", "26")
        controller = ros.controller(5000)
        assert node.wait() == 0, node.output()
        assert controller.wait() == 0, controller.output()
        report = last_json(controller)
        assert report["states"] == 5000 and report["gaps"] == 0, report
        # what a controller needs for a state reached it before that state, every time
        assert not any(report["unaccompanied"].values()), report
        summary = node.wait_for("commands:")
        accepted, late = int(summary.split()[1]), int(summary.split()[5])
        # every state was answered in its turn; the first one may have been sent more than once
        assert accepted - late == 5000 and late <= report["repeated"] + 1, summary
        assert "0 rejected" in summary
        assert "0 lockstep timeouts" in node.wait_for("lockstep timeouts")
        assert "5000 steps" in node.wait_for("simulated")


def test_waits_for_the_first_command_and_repeats_the_first_state():
    with Session() as ros:
        node = ros.simulator("--lockstep", "--joints", "2")
        peer = ros.peer()
        states = peer.listen("joint_states")
        peer.until(lambda: len(states) >= 3)
        assert {state.header.stamp.nanosec for state in states} == {0}
        commands = peer.publisher("joint_commands")
        # unstamped and repeated until it has an effect: each one answers the state that is waited for
        command = peer.joint_command(["joint_0"], [1.0])
        peer.send_until(commands, command, lambda: states and states[-1].header.stamp.nanosec >= 1_000_000)
        assert states[-1].effort[0] == 1.0
        node.wait_for("begins without commands for joint_1; lockstep_joints names joints")


@pytest.mark.parametrize("load, seconds", [(0.5, 2.0), (12.0, 6.0), (80.0, 10.0)])
def test_a_busy_machine_gives_controllers_longer_to_start(monkeypatch, load, seconds):
    monkeypatch.setattr("os.getloadavg", lambda: (load, 0.0, 0.0))
    monkeypatch.setattr("os.cpu_count", lambda: 4)
    assert settle_time() == seconds


@pytest.mark.parametrize("echoed", ["header", "stamp"])
def test_commands_act_on_the_state_that_they_answer(echoed):
    """The first state was sent again, and the second answer to it comes when the next state is waited for."""
    with Session() as ros:
        node = ros.simulator("--lockstep", "--joints", "2")
        peer = ros.peer()
        commands, states = peer.publisher("joint_commands"), peer.listen("joint_states")

        def answer(state, effort):
            message = peer.joint_command(state.name, [effort, effort])
            message.header.stamp = state.header.stamp
            message.header.frame_id = state.header.frame_id if echoed == "header" else ""
            commands.publish(message)

        def newest(number):
            peer.until(lambda: any(state.header.stamp.nanosec == number * 1_000_000 for state in states))
            return states[-1]

        peer.until(lambda: len(states) >= 5)
        first = states[0]
        answer(first, 1.0)
        second = newest(1)
        answer(first, 40.0)
        commands.publish(peer.joint_command(["nobody"], [1.0]))
        node.wait_for("unknown joint 'nobody'")  # so what was sent before it has been looked at
        answer(second, 2.0)
        for number in range(2, 10):
            answer(newest(number), number + 1.0)
        newest(10)
        acted = {state.header.stamp.nanosec // 1_000_000: state.effort[0] for state in states}
        assert acted == {number: float(number) for number in range(11)}


def test_two_controllers_are_waited_for_and_one_that_starts_again_finds_the_state():
    """Each has a joint, and both processes begin when they like: every state is answered by both, none late."""
    with Session() as ros:
        node = ros.simulator(
            "--lockstep", "--joints", "2", "--ros-args", "-p", "lockstep_timeout:=0.0", "-p",
            "lockstep_joints:=[joint_0, joint_1]", "-p", "real_time_factor:=0.0", "-p", "diagnostics_rate:=1000.0",
        )  # fmt: skip
        watcher, left, right = ros.peer("watcher"), ros.peer("left"), ros.peer("right")
        states = watcher.listen("joint_states", qos=QoS(2000))
        reports = watcher.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray", QoS(10))

        def serve(peer, joint):
            commands = peer.node.create_publisher(JOINT_STATE, "joint_commands", 10)

            def answer(state):
                row = list(state.name).index(joint)
                message = peer.joint_command([joint], [1.0 + 0.5 * row - state.position[row]])
                message.header = state.header
                commands.publish(message)

            peer.node.create_subscription(JOINT_STATE, "joint_states", answer, 10)

        def number():
            return states[-1].header.stamp.nanosec // 1_000_000 if states else -1

        def told(words):
            return any(words in report.status[0].message for report in reports)

        serve(left, "joint_0")
        node.wait_for("waiting for the first command for joint_1")
        watcher.until(lambda: told("waiting for the first command for joint_1") and number() == 0)
        serve(right, "joint_1")
        watcher.until(lambda: number() >= 50)
        left.close()
        reports.clear()
        watcher.until(lambda: told("waiting for the answer of joint_0"))
        last = number()
        serve(ros.peer("left"), "joint_0")
        watcher.until(lambda: number() >= last + 50)
        node.signal(signal.SIGINT)
        assert node.wait() == 0 and " 0 late;" in node.output() and " 0 lockstep timeouts" in node.output()
    reference, found = FakeSimulator(2), {s.header.stamp.nanosec // 1_000_000: s for s in states}
    for k in range(1, last + 50):
        reference.step(np.array([1.0, 1.5]) - reference.joint_positions())
        assert found[k].position.tobytes() == reference.joint_positions().tobytes(), k


@on_dds  # over Zenoh it is heard
def test_a_best_effort_controller_is_told_that_it_is_not_heard():
    with Session() as ros:
        node = ros.simulator("--lockstep", "--joints", "2")
        peer = ros.peer()
        reports = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        deaf = peer.node.create_publisher(JOINT_STATE, "joint_commands", QoS(10, reliable=False))
        told = "a best-effort publisher of /joint_commands is not heard"
        node.wait_for(told)
        peer.until(lambda: reports and told in reports[-1].status[0].message)
        assert "waiting for the first command" in reports[-1].status[0].message and reports[-1].status[0].level == 1
        peer.node.destroy_publisher(deaf)
        peer.until(lambda: told not in reports[-1].status[0].message)


def test_a_controller_that_leaves_is_no_fault():
    with Session() as ros:
        node = ros.simulator("--lockstep", "--joints", "2", "--ros-args", "-p", "lockstep_timeout:=0.3")
        controller = ros.controller(50)
        assert controller.wait() == 0, controller.output()
        node.wait_for("the controllers have left: going on in real time with policy 'hold'")
        assert "no answer to the state" not in node.output()


def test_without_a_clock_rate_there_is_no_clock():
    """Two simulators in one domain in lockstep: a second clock would throw time back."""
    with Session() as ros:
        ros.simulator("--lockstep", "--joints", "2", "--ros-args", "-p", "clock_rate:=0.0")
        peer = ros.peer()
        clock, states = peer.listen("/clock", "rosgraph_msgs/msg/Clock"), peer.listen("joint_states")
        ros.controller(10**9)
        peer.until(lambda: len(states) > 200)
        assert not clock


def test_unstamped_commands_answer_the_newest_state():
    with Session() as ros:
        ros.simulator("--lockstep", "--joints", "2")
        peer = ros.peer()
        commands = peer.publisher("joint_commands")
        states = []

        def answer(state):
            states.append(state)
            commands.publish(peer.joint_command(["joint_1"], [2.0]))
            with peer.changed:
                peer.changed.notify_all()

        peer.node.create_subscription(JOINT_STATE, "joint_states", answer, 10)
        peer.until(lambda: states and states[-1].header.stamp.nanosec >= 200_000_000)


def test_killed_controller_gives_way_to_the_policy():
    with Session() as ros:
        node = ros.simulator(
            "--lockstep", "--joints", "3", "--ros-args",
            "-p", "lockstep_timeout:=0.3", "-p", "command_timeout_policy:=gravity_compensation",
        )  # fmt: skip
        controller = ros.controller(10**9)
        controller.wait_for("running")
        controller.signal(signal.SIGKILL)
        node.wait_for("policy 'gravity_compensation'")
        peer = ros.peer()
        states = peer.listen("joint_states")
        (first,) = peer.next_messages("joint_states")
        (later,) = peer.next_messages("joint_states", 50)[-1:]
        assert later.header.stamp.nanosec != first.header.stamp.nanosec  # time goes on
        assert (later.effort == 2.0).all()  # the stand-in's nonlinear effects
        # a new controller takes over where the simulation is, in lockstep again
        second = ros.controller(500)
        node.wait_for("commands are back")
        assert second.wait() == 0, second.output()
        assert last_json(second)["gaps"] <= 1  # a state may pass by while the two ends are being matched
        assert states
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()


def test_reset_under_load_keeps_time_running_forwards():
    with Session() as ros:
        node = ros.simulator("--lockstep", "--joints", "26")
        controller = ros.controller(10**9)
        controller.wait_for("running")
        peer = ros.peer()
        states = peer.listen("joint_states")
        for _ in range(5):
            before = peer.next_messages("joint_states", 50)[-1]
            answer = peer.call("/mb_contact/reset", TRIGGER)
            assert answer.success, answer.message
            start = len(states)
            peer.until(lambda n=start: len(states) > n + 100)
            assert abs(before.position[0]) > 0.0
        stamps = [s.header.stamp.sec * 10**9 + s.header.stamp.nanosec for s in states]
        assert all(a <= b for a, b in zip(stamps, stamps[1:]))  # the same where a state is sent again
        again = [i for i, s in enumerate(states) if not s.position.any()]
        assert len(again) >= 5  # the initial state came back after each reset
        controller.signal(signal.SIGINT)
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
        assert "0 lockstep timeouts" in node.output()


def test_objects_spawned_and_deleted_in_lockstep_cost_no_state_and_no_command():
    """Every state is answered once or more; a ball that comes and goes in between falls as it must from then on."""
    step = 1_000_000
    with Session() as ros:
        scene = ROOT / "config" / "drawer.yaml"
        node = ros.node(scene, "--lockstep")
        peer = ros.peer()
        commands, stamps = peer.publisher("joint_commands"), []

        def answer(state):
            stamps.append(stamp_ns(state.header.stamp))
            commands.publish(peer.joint_command(["drawer_joint"], [0.0], stamps[-1]))
            with peer.changed:
                peer.changed.notify_all()

        peer.node.create_subscription(JOINT_STATE, "joint_states", answer, COMMAND_LOCKSTEP)
        pose = message_class("geometry_msgs/msg/PoseStamped")()
        pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 2.0, 3.0, 1.0

        def answers(more):
            start = len(stamps)
            peer.until(lambda: len(stamps) > start + more)

        for name in ("first", "second"):
            answers(100)
            spawned = peer.call(
                "spawn_entity", "simulation_interfaces/srv/SpawnEntity", name=name, initial_pose=pose,
                resource_string="{shape: sphere, size: [0.05], mass: 0.5}",
            )  # fmt: skip
            assert spawned.result.result == 1, spawned.result.error_message
            answers(100)
            state = peer.call("get_entity_state", "simulation_interfaces/srv/GetEntityState", entity=name).state
            count = -state.twist.linear.z / (9.81 * 1e-3)  # steps since it came, by its speed
            assert count > 50 and abs(count - round(count)) < 1e-6
            assert abs(state.pose.position.z - (3.0 - 9.81e-6 * 0.5 * count * (count + 1.0))) < 1e-9
            gone = peer.call("delete_entity", "simulation_interfaces/srv/DeleteEntity", entity=name)
            assert gone.result.result == 1, gone.result.error_message
        answers(100)
        assert all(0 <= b - a <= step for a, b in zip(stamps, stamps[1:]))  # none missed, none older than the last
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
        assert "0 lockstep timeouts" in node.output() and "0 rejected" in node.output()
