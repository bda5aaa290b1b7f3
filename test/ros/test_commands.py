# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Commands: bad ones are refused whole and counted, good ones are held, silence brings the policy."""

from __future__ import annotations

import contextlib
import math
import threading
from types import SimpleNamespace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import CommunicationError
from mb_contact.model.scene import Actuator, Motion, Scene, SceneModel
from mb_contact.ros.commands import CommandInbox, TimeoutPolicy
from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.messages import message_class
from mb_contact.ros.node import SimulatorNode
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.recorder import Recorder
from mb_contact.ros.replay import read_recording, replay
from ros.fake_simulator import FakeSimulator
from ros.support import SET_BOOL, Session, wait_until

pytestmark = pytest.mark.quick

NAMES = ("a", "b", "c")
BAD = {
    "unknown joint": (["joint_0", "elbow"], [5.0, 5.0]),
    "NaN": (["joint_0", "joint_1"], [5.0, math.nan]),
    "infinite": (["joint_0"], [math.inf]),
    "too short": (["joint_0", "joint_1"], [5.0]),
    "too long": (["joint_0"], [5.0, 5.0]),
    "no effort": (["joint_0"], []),
    "empty": ([], []),
    "named twice": (["joint_0", "joint_0"], [5.0, 6.0]),
}


def log():
    lines = []
    logger = SimpleNamespace(lines=lines, info=lambda text, **_: lines.append(text))
    logger.warning = logger.info
    return logger


def command(names, effort, stamp=0, **fields):
    message = message_class("sensor_msgs/msg/JointState")(name=list(names), effort=effort, **fields)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


def inbox(actuated=(True, False, True), **options):
    return CommandInbox(NAMES, np.array(actuated), NodeOptions(**options), log())


def test_bad_messages_over_the_wire_are_rejected_whole_and_the_last_command_stays():
    with Session() as ros:
        node = ros.simulator("--joints", "3", "--ros-args", "-p", "diagnostics_rate:=20.0")
        peer = ros.peer()
        states = peer.listen("joint_states")
        reports = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
        commands = peer.publisher("joint_commands")
        arrays = peer.publisher("effort_commands", "std_msgs/msg/Float64MultiArray")

        def rejected():
            values = {pair.key: pair.value for pair in reports[-1].status[0].values} if reports else {}
            return int(values.get("rejected_commands", -1))

        float_array = peer.node.message_type("std_msgs/msg/Float64MultiArray")
        peer.send_until(
            arrays,
            float_array(data=[7.0, 8.0, 9.0]),
            lambda: states and list(states[-1].effort) == [7.0, 8.0, 9.0],
        )
        good = peer.joint_command(["joint_2", "joint_0"], [3.0, 1.0])
        peer.send_until(commands, good, lambda: list(states[-1].effort) == [1.0, 8.0, 3.0])
        for count, (names, effort) in enumerate(BAD.values(), start=1):
            commands.publish(peer.joint_command(names, effort))
            peer.until(lambda n=count: rejected() == n)
            assert list(states[-1].effort) == [1.0, 8.0, 3.0]
        wrong = float_array(data=[9.0, 9.0])
        arrays.publish(wrong)
        peer.until(lambda: rejected() == len(BAD) + 1)
        assert list(states[-1].effort) == [1.0, 8.0, 3.0]
        assert "unknown joint 'elbow'" in node.wait_for("rejected a message")
        # many at once: one warning, not a flood
        for _ in range(200):
            arrays.publish(wrong)
        right = float_array(data=[4.0, 5.0, 6.0])
        peer.send_until(arrays, right, lambda: list(states[-1].effort) == [4.0, 5.0, 6.0])
        assert sum("rejected a message" in line for line in node.errors) <= 1 + len(BAD)


def test_pause_step_and_effort_limits_over_the_wire():
    with Session() as ros:
        ros.simulator("--joints", "2")
        peer = ros.peer()
        states = peer.listen("joint_states")
        assert not peer.call("/mb_contact/step").success  # only while paused
        assert peer.call("/mb_contact/pause", SET_BOOL, data=True).success
        stamp = states[-1].header.stamp
        answer = peer.call("/mb_contact/step")
        assert answer.success
        peer.until(lambda: states and states[-1].header.stamp.nanosec != stamp.nanosec)
        assert peer.call("/mb_contact/pause", SET_BOOL, data=False).success
        peer.next_messages("joint_states", 10)
        too_much = peer.joint_command(["joint_0"], [1e6])
        peer.send_until(peer.publisher("joint_commands"), too_much, lambda: states and states[-1].effort[0] == 50.0)


@pytest.mark.parametrize("names, effort", BAD.values(), ids=BAD.keys())
def test_inbox_rejects(names, effort):
    box = CommandInbox(("joint_0", "joint_1"), np.array([True, True]), NodeOptions(), log())
    box.on_joint_command(command(["joint_0"], [7.0]))
    box.on_joint_command(command(names, effort))
    assert (box.accepted, box.rejected) == (1, 1)
    assert list(box.held()[0]) == [7.0, 0.0]


def test_inbox_refuses_positions_that_do_not_fit_and_ignores_those_that_do():
    box = inbox()
    box.on_joint_command(command(["a", "b"], [1.0, 2.0], position=[0.0]))
    assert box.rejected == 1
    box.on_joint_command(command(["a", "b"], [1.0, 2.0], position=[math.nan, 0.0], velocity=[0.0, 0.0]))
    assert list(box.held()[0]) == [1.0, 2.0, 0.0]


def test_effort_commands_address_the_actuated_joints_behind_the_offset():
    box = inbox()
    message = message_class("std_msgs/msg/Float64MultiArray")(data=[99.0, 1.0, 3.0])
    message.layout.data_offset = 1
    box.on_effort_command(message)
    assert list(box.held()[0]) == [1.0, 0.0, 3.0]


def test_a_late_answer_is_held_but_does_not_release_the_step():
    box = inbox()
    box.expect(2_000)
    box.on_joint_command(command(["a"], [1.0], stamp=1_000))
    assert box.late == 1 and not box.wait(0.0, lambda: False)
    assert box.held()[0][0] == 1.0
    box.on_joint_command(command(["a"], [2.0], stamp=2_000))
    assert box.wait(0.0, lambda: False)
    box.expect(3_000)
    assert not box.wait(0.0, lambda: False)


# --- lockstep: every command acts on the state that it answers, or not at all ------------------------
def answer(names, effort, stamp, run=1, **fields):
    message = command(names, effort, stamp, **fields)
    message.header.frame_id = f"run {run}"
    return message


def waiting(stamp=0, **options):
    box = inbox(lockstep=True, **options)
    box.expect(stamp)
    return box


def stamped(data, stamp):
    message = message_class("std_msgs/msg/Float64MultiArray")(data=[*divmod(stamp, 10**9), *data])
    message.layout.data_offset = 2
    return message


ROUTES = {
    "efforts": lambda box, stamp, value: box.on_joint_command(answer(NAMES, [value] * 3, stamp)),
    "an array": lambda box, stamp, value: box.on_effort_command(stamped([value, value], stamp)),
    "targets": lambda box, stamp, value: box.on_joint_command(answer(["a", "b"], [], stamp, velocity=[value] * 2)),
}


@pytest.mark.parametrize("route", ROUTES)
def test_the_first_state_answered_twice_does_not_answer_the_second(route):
    """The race that let the simulator run steps ahead of its controller, without any load."""
    servos, send = (np.ones(3, bool), np.ones(3, bool)), ROUTES[route]
    box = CommandInbox(NAMES, np.array([True, False, True]), NodeOptions(lockstep=True), log(), servos)
    first = 5_000_000 if route == "an array" else 0  # an array has no run, so that 0 is no stamp there
    box.expect(first)
    box.answers.sent_again()
    send(box, first, 1.0)
    assert box.wait(0.0, lambda: False)

    def acting():
        return [*box.held()[0], *box.take_targets()["velocities"].values()]

    assert 1.0 in acting()
    box.expect(first + 1_000_000)
    send(box, first, 7.0)  # to the state that was sent again
    assert not box.wait(0.0, lambda: False) and 7.0 not in acting() and (box.accepted, box.late) == (1, 0)
    send(box, first + 2_000_000, 8.0)  # a clock of its own
    assert not box.wait(0.0, lambda: False) and 8.0 not in acting() and box.rejected == 1
    send(box, first + 1_000_000, 2.0)
    assert box.wait(0.0, lambda: False) and 2.0 in acting()
    send(box, first + 1_000_000, 9.0)  # the first answer to a state counts
    assert 9.0 not in acting() and box.accepted == 2


def test_without_a_stamp_a_command_answers_the_state_after_a_repeated_one_only_when_nothing_better_comes():
    box = waiting()
    box.answers.sent_again()
    box.on_joint_command(command(["a"], [1.0]))  # echoes the stamp 0 alone, or has none
    assert box.wait(0.0, lambda: False)
    box.expect(1_000)
    box.on_joint_command(command(["a"], [7.0]))
    assert not box.wait(0.0, lambda: False) and box.held()[0][0] == 1.0
    box.on_joint_command(command(["a"], [2.0], stamp=1_000))
    assert box.wait(0.0, lambda: False) and box.held()[0][0] == 2.0
    box.answers.sent_again()
    box.expect(2_000)
    box.on_joint_command(command(["a"], [3.0]))
    assert not box.wait(0.0, lambda: False)
    assert box.settle() and box.held()[0][0] == 3.0
    box.expect(3_000)
    box.on_joint_command(command(["a"], [4.0]))
    assert box.wait(0.0, lambda: False)  # only after a state that was sent again


def test_a_state_is_answered_when_every_joint_that_is_commanded_has_its_answer():
    box = waiting(lockstep_joints=["c"])
    box.on_joint_command(answer(["a"], [1.0], 0))
    assert not box.wait(0.0, lambda: False) and box.answers.missing() == "c"
    box.on_joint_command(answer(["a", "c"], [7.0, 2.0], 0))
    assert box.wait(0.0, lambda: False) and list(box.held()[0]) == [1.0, 0.0, 2.0]
    box.expect(1_000)
    box.on_joint_command(answer(["c"], [3.0], 1_000))
    assert not box.wait(0.0, lambda: False) and box.answers.missing() == "a"
    box.on_joint_command(answer(["b"], [7.0], 0))  # of one that nobody has waited for: too late
    assert box.late == 1 and not box.held()[0][1]
    box.answers.give_up()
    box.on_joint_command(answer(["c"], [4.0], 0))  # in real time the newest acts; but it is not c that is missed
    assert box.held()[0][2] == 4.0 and not box.answers.back
    box.on_joint_command(answer(["a"], [5.0], 0))
    assert box.answers.back
    with pytest.raises(CommunicationError, match="lockstep_joints: no joint 'elbow'; there are a, b, c"):
        waiting(lockstep_joints=["elbow"])


def test_nan_and_zeros_alone_are_no_command_and_no_fault():
    """ros2_control sends it before its controllers are active."""
    box = waiting()
    for efforts in ([math.nan] * 2, [math.nan, 0.0], [0.0, math.nan]):  # 0: an initial_value of its block
        box.on_joint_command(command(["a", "b"], efforts))
    assert (box.accepted, box.rejected) == (0, 0) and not box.wait(0.0, lambda: False)
    words = "what comes on joint_commands is not finite yet, NaN and zeros alone: no controller is active"
    assert box._logger.lines == [words]
    box.on_joint_command(command(["a", "b"], [math.nan, 1.0]))
    assert (box.accepted, box.rejected) == (0, 1)  # somebody computes, and wrongly
    box.on_joint_command(command(["a"], [1.0]))
    box.on_joint_command(command(["a", "b"], [math.nan] * 2))
    assert (box.accepted, box.rejected) == (1, 2)  # who has had commands is not starting


def test_answers_from_before_a_reset_are_dropped():
    box = inbox()
    box.on_joint_command(command(["a"], [1.0], stamp=5_000))
    box.clear(epoch=6_000, run=2)
    box.on_joint_command(command(["a"], [1.0], stamp=5_000))
    assert not box.held()[0].any()
    box.on_joint_command(command(["a"], [1.0], stamp=6_000))
    assert box.held()[0][0] == 1.0


@pytest.mark.parametrize("policy, expected", [("hold", 4.0), ("zero", 0.0), ("gravity_compensation", 9.8)])
def test_timeout_policies(policy, expected):
    box, logger = inbox(), log()
    options = NodeOptions(command_timeout=0.1, command_timeout_policy=policy)
    rule = TimeoutPolicy(box, options, lambda: np.full(3, 9.8), logger)
    box.on_joint_command(command(["a"], [4.0]))
    assert rule.effort(1.0)[0] == 4.0
    assert rule.effort(1.1)[0] == 4.0 and not rule.active
    assert rule.effort(1.101)[0] == expected and rule.active
    assert rule.effort(1.2)[0] == expected
    assert sum(f"policy '{policy}'" in line for line in logger.lines) == 1  # said once
    box.on_joint_command(command(["a"], [5.0]))
    assert rule.effort(1.3)[0] == 5.0 and not rule.active


@pytest.mark.parametrize("policy, expected", [("hold", 0.0), ("zero", 0.0), ("gravity_compensation", 9.8)])
def test_before_the_first_command_gravity_is_compensated_at_once(policy, expected):
    """What no controller moves yet does not fall; with the other policies there is no effort."""
    box, logger = inbox(), log()
    options = NodeOptions(command_timeout=0.1, command_timeout_policy=policy)
    rule = TimeoutPolicy(box, options, lambda: np.full(3, 9.8), logger)
    assert rule.effort(0.0)[0] == expected and rule.active == (expected > 0.0)
    assert rule.effort(0.2)[0] == expected and not logger.lines
    box.on_joint_command(command(["a"], [4.0]))
    assert rule.effort(0.3)[0] == 4.0 and not rule.active


def test_no_timeout_when_it_is_zero():
    box = inbox()
    rule = TimeoutPolicy(box, NodeOptions(command_timeout=0.0, command_timeout_policy="zero"), None, log())
    box.on_joint_command(command(["a"], [4.0]))
    rule.effort(0.0)
    assert rule.effort(1e9)[0] == 4.0


def test_targets_go_to_the_joints_that_have_an_actuator_for_them():
    servos = np.array([True, False, True]), np.array([True, True, False])
    box = CommandInbox(NAMES, np.array([True] * 3), NodeOptions(), log(), servos)
    box.on_joint_command(command(["a", "b"], [], velocity=[0.1, 0.2], position=[1.0, math.nan]))
    assert box.take_targets() == {"positions": {"a": 1.0}, "velocities": {"a": 0.1, "b": 0.2}}
    assert box.take_targets() == {"positions": {}, "velocities": {}} and not box.held()[0].any()
    box.on_joint_command(command(["b", "c"], [3.0, 4.0], position=[7.0, 8.0]))
    assert list(box.held()[0]) == [0.0, 3.0, 4.0] and box.take_targets()["positions"] == {"c": 8.0}
    assert (box.accepted, box.rejected) == (2, 0)
    for names, fields, words in (
        (["a", "b"], {"position": [1.0, 2.0]}, "joint 'b' has no actuator for what is asked"),
        (["a"], {"position": [math.inf]}, "positions: that of joint 'a' is inf"),
        (["c"], {"velocity": [1.0]}, "joint 'c' has no actuator"),
        (["a"], {"position": [1.0, 2.0]}, "must be empty or"),
    ):  # fmt: skip
        box.on_joint_command(command(names, [], **fields))
        assert words in box._logger.lines[-1]
    assert box.rejected == 4 and box.take_targets() == {"positions": {}, "velocities": {}}
    box.on_joint_command(command(["a"], [], position=[1.0]))
    box.clear(epoch=0, run=2)
    assert box.take_targets()["positions"] == {}
    box.set_joints(("c",), np.array([True]), (np.array([True]), np.array([False])))
    box.on_joint_command(command(["c"], [], position=[2.0]))
    assert box.take_targets()["positions"] == {"c": 2.0}


@pytest.mark.parametrize("by", ["an actuator", "a motion"])
def test_position_commands_move_joints_and_are_replayed(tmp_path, by):
    """joint_commands with positions, over DDS; the recording gives every state again, bit for bit."""
    urdf = (
        '<robot name="r"><link name="base"/><link name="arm"><inertial><mass value="1"/><inertia ixx="0.5" iyy="0.5" '
        'izz="0.5" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="base"/>'
        '<child link="arm"/><axis xyz="0 0 1"/><limit lower="-9" upper="9" effort="50" velocity="99"/></joint></robot>'
    )
    actuators = {"j": Actuator("position", stiffness=1e6, damping=2e3)} if by == "an actuator" else {}
    motions = () if actuators else (Motion(joint="j"),)
    scene = Scene(models=(SceneModel(urdf, name="r", actuators=actuators),), motions=motions)
    with Session() as ros:
        node = create_recorded(ros, mb.Simulator(scene), tmp_path / "run.mcap")
        with node as running:
            peer = ros.peer()
            states = peer.listen("joint_states")
            commands = peer.publisher("joint_commands")
            make = peer.node.message_type("sensor_msgs/msg/JointState")
            asked = make(name=["j"], position=[0.25])
            peer.send_until(commands, asked, lambda: states and abs(states[-1].position[0] - 0.25) < 1e-6)
            if actuators:
                assert abs(states[-1].effort[0]) < 50.0 and max(abs(s.effort[0]) for s in states) == 50.0
            assert running.summary().rejected == 0
            if motions:  # beyond its range: refused, and the node goes on
                peer.send_until(commands, make(name=["j"], position=[99.0]), lambda: running.summary().rejected > 0)
                both = make(name=["j"], position=[0.5], velocity=[0.0])
                peer.send_until(commands, both, lambda: abs(states[-1].position[0] - 0.5) < 1e-6)
    result = replay(mb.Simulator(scene), read_recording(tmp_path / "run.mcap"))
    assert result.compared == result.equal > (50 if actuators else 5)


@contextlib.contextmanager
def create_recorded(ros, simulator, path):
    """A running node whose topics are recorded."""
    node = EmbeddedNode("sim", environment=ros.env)
    running = SimulatorNode(node, simulator, NodeOptions(command_timeout=0.0))
    recorder = Recorder(path, running.stamp)
    recorder.attach(running)
    thread = threading.Thread(target=running.run)
    thread.start()
    try:
        yield running
    finally:
        running.stop()
        thread.join()
        recorder.close()
        node.destroy_node()


def test_a_burst_of_commands_is_taken_up_whole():
    """A reader that keeps one message alone takes up a few of them on a busy machine."""
    with Session() as ros, ros.running(FakeSimulator(1)) as running:
        peer = ros.peer()
        commands = peer.publisher("joint_commands")
        peer.send_until(commands, peer.joint_command(["joint_0"], [0.5]), lambda: running.summary().accepted > 0)
        before = running.summary().accepted
        for k in range(80):
            commands.publish(peer.joint_command(["joint_0"], [float(k)]))
        wait_until(lambda: running.summary().accepted >= before + 80, "all of the burst")
        assert running.inputs.commands.held()[0][0] == 79.0
