# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded efforts give the recorded states again, bit for bit; a difference is seen; `mb-contact record`.

Covers ros/graph_recorder.py, ros/interventions.py.
"""

from __future__ import annotations

import dataclasses
import signal
import sys

import numpy as np
import pytest
from rosbags.highlevel import AnyReader

from mb_contact.errors import CommunicationError, InputError
from mb_contact.model.resources import find_resource
from mb_contact.ros import QoS
from mb_contact.ros.embedded.messages import message_class, stamp_ns
from mb_contact.ros.interventions import decode, do_again
from mb_contact.ros.replay import Recording, _Player, read_recording, replay
from mb_contact.ros.services.values import SET
from mb_contact.simulation.simulator import Simulator
from ros.asking import parameters
from ros.fake_simulator import FakeSimulator
from ros.support import Session

SCENE = "package://mb_contact/config/box_on_table.yaml"


def lockstep_run(path, *arguments, joints=4):
    with Session() as ros:
        lasting = ("--lockstep", "--duration", "0.5")
        node = ros.simulator(*lasting, "--joints", str(joints), "--record", str(path), *arguments)
        controller = ros.controller(500)
        assert node.wait() == 0, node.output()
        assert controller.wait() == 0, controller.output()
    return read_recording(path)


def test_lockstep_is_replayed_bit_for_bit_from_efforts_and_from_commands(tmp_path):
    recording = lockstep_run(tmp_path / "a.mcap")
    assert recording.source == "applied_efforts"
    result = replay(FakeSimulator(4), recording)
    assert (result.compared, result.equal, result.steps) == (501, 501, 500)
    # the commands alone say the same, as in a bag of ros2 bag record
    commands = commands_of(tmp_path / "a.mcap")
    again = replay(FakeSimulator(4), Recording(recording.states, commands, "joint_commands"))
    assert (again.equal, again.compared) == (501, 501)


def commands_of(path):
    with AnyReader([path]) as reader:
        wanted = [c for c in reader.connections if c.topic == "/joint_commands"]
        messages = [reader.deserialize(data, c.msgtype) for c, _, data in reader.messages(wanted)]
    return sorted(((stamp_ns(m.header.stamp), list(m.name), np.array(m.effort)) for m in messages), key=lambda c: c[0])


def test_free_running_with_resets_is_replayed_bit_for_bit(tmp_path):
    path = tmp_path / "b.mcap"
    with Session() as ros:
        node = ros.simulator("--joints", "3", "--record", str(path), "--ros-args", "-p", "command_timeout:=0.02",
                             "-p", "command_timeout_policy:=gravity_compensation")  # fmt: skip
        peer = ros.peer()
        states = peer.listen("joint_states")
        commands = peer.publisher("joint_commands")
        for _ in range(3):
            for effort in (1.0, -0.3, 0.7):
                commands.publish(peer.joint_command(["joint_1", "joint_2"], [effort, effort / 3.0]))
                peer.next_messages("joint_states", 40)
            assert peer.call("/mb_contact/reset").success
        peer.next_messages("joint_states", 40)
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
    assert len(states) > 300
    recording = read_recording(path)
    assert sum(values is None for _, _, values in recording.efforts) == 3
    result = replay(FakeSimulator(3), recording)
    assert result.compared > 300 and result.equal == result.compared, result.text()


def test_a_difference_is_seen_and_named(tmp_path):
    recording = lockstep_run(tmp_path / "c.mcap")
    stamp, message = recording.states[100]
    message.position = np.array(message.position)
    message.position[2] = np.nextafter(message.position[2], np.inf)
    result = replay(FakeSimulator(4), recording)
    assert result.equal == result.compared - 1 and result.first == stamp == 100_000_000
    with pytest.raises(InputError, match="another robot"):
        replay(FakeSimulator(5), recording)
    with pytest.raises(InputError, match="time step 3000000 ns"):
        replay(FakeSimulator(4, time_step=0.003), recording)


def test_the_real_simulator_replays_its_own_recording(tmp_path):
    path = tmp_path / "box.mcap"
    with Session() as ros:
        command = (sys.executable, "-m", "mb_contact")
        node = ros.process(*command, "run", SCENE, "--backend", "embedded", "--duration", "0.2", "--record", path)
        assert node.wait(900) == 0, node.output()
        again = ros.process(*command, "replay", SCENE, path)
        assert again.wait(900) == 0, again.output()
        assert "states bit for bit" in again.output()


HINGE = (
    '<robot name="hinge"><link name="world"/><link name="bob"><inertial><origin xyz="0.2 0 0"/><mass value="1"/>'
    '<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="swing" '
    'type="revolute"><parent link="world"/><child link="bob"/><axis xyz="0 1 0"/>'
    '<limit lower="-9" upper="9" effort="5" velocity="99"/></joint></robot>'
)


def test_pushes_spawned_entities_and_set_states_are_replayed(tmp_path):
    """A pushed box, a robot and a ball that come and go, a commanded joint, a reset: recorded at full speed."""
    path = tmp_path / "events.mcap"
    make = message_class
    pose, push = make("geometry_msgs/msg/PoseStamped")(), make("geometry_msgs/msg/WrenchStamped")()
    pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 0.55, 1.4, 1.0
    push.wrench.force.x, push.wrench.torque.z = 7.3, 0.11
    state = make("simulation_interfaces/msg/EntityState")()
    state.pose.position.x, state.pose.position.z, state.pose.orientation.w = 0.6, 1.1, 1.0
    state.twist.angular.x = 0.7
    with Session() as ros:
        command = (sys.executable, "-m", "mb_contact", "run", SCENE, "--backend", "embedded", "--record", path)
        node = ros.process(*command, "--ros-args", "-p", "joint_state_rate:=1000.0")
        node.wait_for("is up", 300.0)
        peer = ros.peer()
        states = peer.listen("joint_states")

        def call(service, **fields):
            kind = "".join(word.capitalize() for word in service.split("_"))
            answer = peer.call(service, f"simulation_interfaces/srv/{kind}", **fields)
            assert answer.result.result == 1, answer.result.error_message

        pushes = peer.publisher("external_wrench/box", "geometry_msgs/msg/WrenchStamped")
        commands = peer.publisher("joint_commands")
        for _ in range(2):
            pushes.publish(push)
            inertia = [0.02, 0.0, 0.0, 0.02, 0.0, 0.03]
            asked = parameters(**{"mass.box": 1.7, "gravity.box": [0.1, 0.0, -4.0], "inertia.box": inertia})
            assert peer.call("set_values", SET, parameters=asked).results[2].successful
            call("spawn_entity", name="arm", resource_string=HINGE, initial_pose=pose)
            peer.send_until(
                commands, peer.joint_command(["arm_swing"], [1.7]), lambda: 1.7 in list(states[-1].effort)
            )  # fmt: skip
            ball = "{shape: sphere, size: [0.05], mass: 0.3}"
            call("spawn_entity", name="ball", resource_string=ball, initial_pose=pose)
            peer.next_messages("joint_states", 50)
            call("set_entity_state", entity="box", state=state)
            peer.next_messages("joint_states", 50)
            call("delete_entity", entity="ball")
            pushes.publish(push)
            peer.next_messages("joint_states", 50)
            call("reset_simulation", scope=6)  # state and what was spawned
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
    recording = read_recording(path)
    kinds = [kind for _, kind, _ in recording.events]
    assert [kinds.count(kind) for kind in ("spawn", "delete", "set", "value")] == [4, 4, 2, 6]
    assert kinds.count("push") >= 3
    result = replay(Simulator(find_resource(SCENE)), recording)
    assert result.compared > 300 and result.equal == result.compared, result.text()
    left_out = ("push", "set", "value")
    without = dataclasses.replace(recording, events=[e for e in recording.events if e[1] not in left_out])
    assert box_of(recording) != box_of(without)  # the joints do not show what the box does


def box_of(recording):
    """Where the box is when the first robot goes."""
    simulator = Simulator(find_resource(SCENE))
    player = _Player(simulator, recording)
    player.go_to(next(at for at, kind, _ in recording.events if kind == "delete"))
    return player.simulator.link_pose("box")[0].tolist()


def test_a_run_that_sleeps_is_replayed_bit_for_bit(tmp_path):
    """A box that sleeps, is pushed, sleeps, and is put elsewhere while a robot comes; its poses in /tf tell."""
    path, scene = tmp_path / "sleep.mcap", tmp_path / "scene.yaml"
    scene.write_text(f"{find_resource(SCENE).read_text(encoding='utf-8')}\nsleep: true\n", encoding="utf-8")
    make = message_class
    pose, push = make("geometry_msgs/msg/PoseStamped")(), make("geometry_msgs/msg/WrenchStamped")()
    pose.pose.position.x, pose.pose.position.z, pose.pose.orientation.w = 0.55, 1.4, 1.0
    push.wrench.force.x, push.wrench.torque.z = 15.0, 0.4
    state = make("simulation_interfaces/msg/EntityState")()
    state.pose.position.x, state.pose.position.z, state.pose.orientation.w = 0.6, 0.85, 1.0
    with Session() as ros:
        command = (sys.executable, "-m", "mb_contact", "run", scene, "--backend", "embedded", "--record", path)
        rates = ("joint_state_rate:=1000.0", "tf_rate:=1000.0", "diagnostics_rate:=20.0")
        node = ros.process(*command, "--ros-args", *(word for rate in rates for word in ("-p", rate)))
        node.wait_for("is up", 300.0)
        peer = ros.peer()
        told = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")

        def rest(bodies):
            """Until so many bodies sleep."""
            told.clear()
            peer.until(lambda: told and asleep_in(told[-1]) == (bodies, bodies))

        def call(service, **fields):
            kind = "".join(word.capitalize() for word in service.split("_"))
            answer = peer.call(service, f"simulation_interfaces/srv/{kind}", **fields)
            assert answer.result.result == 1, answer.result.error_message

        pushes = peer.publisher("external_wrench/box", "geometry_msgs/msg/WrenchStamped")
        rest(1)
        peer.send_until(pushes, push, lambda: asleep_in(told[-1]) == (0, 0))
        rest(1)
        call("spawn_entity", name="arm", resource_string=HINGE, initial_pose=pose)
        call("set_entity_state", entity="box", state=state)
        rest(1)
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
    recording = read_recording(path)
    assert {"push", "spawn", "set"} <= {kind for _, kind, _ in recording.events}
    player, slept = _Player(Simulator(scene), recording), []
    poses = box_poses(path)
    assert len(poses) > 400
    for stamp, recorded in poses:
        player.go_to(stamp)
        assert np.concatenate(player.simulator.link_pose("box")).tolist() == recorded
        slept.append(bool(player.simulator.asleep.any()))
    changes = np.diff(np.array(slept, int))
    assert (changes == 1).sum() >= 3 and (changes == -1).sum() >= 2  # it fell asleep three times, and woke twice


def asleep_in(message):
    """(bodies, islands) asleep in a message of /diagnostics."""
    values = {pair.key: pair.value for pair in message.status[0].values}
    return int(values.get("bodies_asleep", -1)), int(values.get("islands_asleep", -1))


def box_poses(path):
    """(stamp [ns], position and quaternion) of the box in a recording's /tf."""
    poses = []
    with AnyReader([path]) as reader:
        wanted = [c for c in reader.connections if c.topic == "/tf"]
        for connection, _, data in reader.messages(wanted):
            for one in reader.deserialize(data, connection.msgtype).transforms:
                p, r = one.transform.translation, one.transform.rotation
                if one.child_frame_id == "box":
                    poses.append((stamp_ns(one.header.stamp), [p.x, p.y, p.z, r.x, r.y, r.z, r.w]))
    return poses


@pytest.mark.parametrize("line", ["[]", "{", '{"kind": "push"}', "7"])
def test_events_that_are_none_are_refused(line):
    with pytest.raises(InputError, match="applied_events"):
        decode(line)
    for kind in ("push", "explode"):
        with pytest.raises(InputError, match=kind):
            do_again(None, kind, {}, None)


def test_what_is_no_recording_is_refused(tmp_path):
    empty = tmp_path / "no.mcap"
    empty.write_bytes(b"nothing")
    with pytest.raises(CommunicationError, match="cannot read the recording"):
        read_recording(empty)
    with pytest.raises(CommunicationError, match="does not exist"):
        read_recording(tmp_path / "missing.mcap")


@pytest.mark.parametrize("topics", [[], ["/joint_*", "/robot_description*"]])
def test_record_writes_every_topic_or_those_asked_for(tmp_path, topics):
    path = tmp_path / "all.mcap"
    with Session() as ros:
        node = ros.simulator("--joints", "2")
        peer = ros.peer()
        second = peer.node.create_publisher("std_msgs/msg/String", "robot_description_2", QoS(1, latched=True))
        second.publish(message_class("std_msgs/msg/String")(data="<robot name='wheel'/>"))
        more = ["--topics", *topics] if topics else []
        arguments = ("record", path, "--backend", "embedded", "--use-sim-time", *more)
        recorder = ros.process(sys.executable, "-m", "mb_contact", *arguments)
        recorder.wait_for("recording /joint_states")
        peer.listen("joint_states")
        peer.next_messages("joint_states", 300)
        commands = peer.publisher("joint_commands")
        recorder.wait_for("recording /joint_commands")
        for _ in range(100):
            commands.publish(peer.joint_command(["joint_0"], [1.0]))
            peer.next_messages("joint_states")
        recorder.signal(signal.SIGINT)
        assert recorder.wait() == 0, recorder.output()
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
    with AnyReader([path]) as reader:
        names = {c.topic for c in reader.connections}
        counts = {name: info.msgcount for name, info in reader.topics.items()}
        times = [time for _, time, _ in reader.messages()]
    if topics:
        assert names == {"/joint_states", "/joint_commands", "/robot_description", "/robot_description_2"}
    else:
        assert {"/joint_states", "/joint_commands", "/clock", "/tf", "/certificate", "/diagnostics"} <= names
    assert counts["/joint_states"] >= 300 and counts["/joint_commands"] > 50
    assert counts["/robot_description"] == counts["/robot_description_2"] == 1
    assert max(times) < 60_000_000_000  # simulated time
