# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Recordings: one MCAP file, read back with rosbags by its own embedded schemas."""

from __future__ import annotations

import signal

import pytest
from rosbags.highlevel import AnyReader

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.ros.recorder import Recorder
from ros.fake_simulator import FakeSimulator
from ros.support import Session

STRING = "std_msgs/msg/String"


def read(path):
    """Return ``{topic: [(time, message)]}`` decoded with the schemas in the file."""
    found = {}
    with AnyReader([path]) as reader:
        for connection, time, data in reader.messages():
            message = reader.deserialize(data, connection.msgtype)
            found.setdefault(connection.topic, []).append((time, message))
    return found


def test_a_lockstep_run_is_recorded_completely(tmp_path):
    path = tmp_path / "out" / "lift.mcap"
    with Session() as ros:
        node = ros.simulator("--lockstep", "--duration", "1", "--joints", "4", "--record", str(path))
        controller = ros.controller(1000)
        assert node.wait() == 0, node.output()
        assert controller.wait() == 0, controller.output()
    assert [p.name for p in path.parent.iterdir()] == ["lift.mcap"]  # no folder, no remains
    bag = read(path)
    states = {time: message for time, message in bag["/joint_states"]}
    assert sorted(states) == [k * 1_000_000 for k in range(1001)]
    for time, message in states.items():
        assert message.header.stamp.sec * 10**9 + message.header.stamp.nanosec == time
    commands = [message for _, message in bag["/joint_commands"]]
    assert len(commands) >= 1000 and list(commands[0].name) == [f"joint_{i}" for i in range(4)]
    assert bag["/robot_description"][0][1].data.startswith("<robot")
    assert len(bag["/contact_wrenches/left_finger"]) >= 101  # at its own rate, also in lockstep
    assert "/operational_space/inertia" not in bag  # bulky, only on request
    assert bag["/certificate"][0][1].values[0].key == "stamp"


def test_a_recording_reads_no_topic_a_second_time(tmp_path):
    """A reader of its own wakes another thread for every command, which then takes Python's lock from the physics."""
    with Session() as ros, ros.running(FakeSimulator(2), lockstep=True) as running:
        readers = running.node._waiter.sources
        before = len(readers)
        recorder = Recorder(tmp_path / "run.mcap", running.stamp)
        recorder.attach(running)
        assert len(readers) == before
        peer = ros.peer()
        command = peer.joint_command(["joint_0"], [0.25])
        peer.send_until(peer.publisher("joint_commands"), command, lambda: running.summary().accepted >= 3)
        recorder.close()
    heard = [message for _, message in read(tmp_path / "run.mcap")["/joint_commands"]]
    assert len(heard) >= 3 and all(message.effort.tolist() == [0.25] for message in heard)


def test_an_interrupted_run_leaves_a_readable_file(tmp_path):
    path = tmp_path / "run.mcap"
    with Session() as ros:
        node = ros.simulator("--joints", "2", "--record", str(path), "--record-all")
        peer = ros.peer()
        peer.listen("joint_states")
        peer.next_messages("joint_states", 100)
        node.signal(signal.SIGINT)
        assert node.wait() == 0, node.output()
    bag = read(path)
    assert len(bag["/joint_states"]) >= 100
    assert len(bag["/operational_space/inertia"][0][1].data) == 2 + 144


def test_an_existing_recording_is_replaced_and_closing_twice_is_harmless(tmp_path):
    path = tmp_path / "a.mcap"
    for text in ("one", "two"):
        recorder = Recorder(path, lambda: 5)
        record = recorder.add_topic("/text", STRING)
        record(serialize(message_class(STRING)(text), STRING))
        recorder.close()
        recorder.close()
    ((time, message),) = read(path)["/text"]
    assert (time, message.data) == (5, "two")


def test_unwritable_places(tmp_path):
    with pytest.raises(CommunicationError, match=r"must end in \.mcap"):
        Recorder(tmp_path / "a.bag", lambda: 0)
    (tmp_path / "file").write_text("")
    with pytest.raises(CommunicationError, match="cannot record"):
        Recorder(tmp_path / "file" / "a.mcap", lambda: 0)
