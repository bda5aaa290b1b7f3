# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Recorded efforts give the recorded states again, bit for bit; a difference is seen; `mb-contact record`."""

from __future__ import annotations

import signal
import sys

import numpy as np
import pytest
from fake_simulator import FakeSimulator
from ros_support import Session
from rosbags.highlevel import AnyReader

from mb_contact.errors import CommunicationError, InputError
from mb_contact.ros.replay import Recording, read_recording, replay

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
    from mb_contact.ros.embedded.messages import stamp_ns

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
        command = (sys.executable, "-m", "mb_contact.cli")
        node = ros.process(*command, "run", SCENE, "--backend", "embedded", "--duration", "0.2", "--record", path)
        assert node.wait(900) == 0, node.output()
        again = ros.process(*command, "replay", SCENE, path)
        assert again.wait(900) == 0, again.output()
        assert "states bit for bit" in again.output()


def test_what_is_no_recording_is_refused(tmp_path):
    empty = tmp_path / "no.mcap"
    empty.write_bytes(b"nothing")
    with pytest.raises(CommunicationError, match="cannot read the recording"):
        read_recording(empty)
    with pytest.raises(FileNotFoundError):
        read_recording(tmp_path / "missing.mcap")


@pytest.mark.parametrize("topics", [[], ["/joint_*", "/robot_description"]])
def test_record_writes_every_topic_or_those_asked_for(tmp_path, topics):
    path = tmp_path / "all.mcap"
    with Session() as ros:
        node = ros.simulator("--joints", "2")
        more = ["--topics", *topics] if topics else []
        arguments = ("record", path, "--backend", "embedded", "--use-sim-time", *more)
        recorder = ros.process(sys.executable, "-m", "mb_contact.cli", *arguments)
        recorder.wait_for("recording /joint_states")
        peer = ros.peer()
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
        assert names == {"/joint_states", "/joint_commands", "/robot_description"}
    else:
        assert {"/joint_states", "/joint_commands", "/clock", "/tf", "/certificate", "/diagnostics"} <= names
    assert counts["/joint_states"] >= 300 and counts["/robot_description"] == 1 and counts["/joint_commands"] > 50
    assert max(times) < 60_000_000_000  # simulated time
