# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The unmodified rosbag2: it reads and plays what the node records, and records what the node publishes.

Runs where a ROS 2 with rosbag2 and its MCAP storage is sourced.
"""

from __future__ import annotations

import pytest

from mb_contact.ros import QoS
from mb_contact.ros.embedded.messages import stamp_ns
from ros.support import Session

try:
    import rosbag2_py
    from rclpy.serialization import deserialize_message
    from rosidl_runtime_py.utilities import get_message
except ImportError:
    rosbag2_py = None

# Not importorskip: beside launch_testing's plugin, which a sourced ROS 2 brings, a file that skips itself while it is
# collected takes every other file with it
pytestmark = pytest.mark.skipif(rosbag2_py is None, reason="no sourced ROS 2 with rosbag2 here")
REAL = {"RMW_IMPLEMENTATION": "rmw_cyclonedds_cpp", "ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST"}
STEP = 1_000_000


def read(path):
    """Every message of a bag by topic, decoded by the types of the sourced ROS 2."""
    reader = rosbag2_py.SequentialReader()
    reader.open(rosbag2_py.StorageOptions(uri=str(path), storage_id="mcap"), rosbag2_py.ConverterOptions("cdr", "cdr"))
    types = {topic.name: topic.type for topic in reader.get_all_topics_and_types()}
    found = {name: [] for name in types}
    while reader.has_next():
        topic, data, _ = reader.read_next()
        found[topic].append(deserialize_message(data, get_message(types[topic])))
    return found


def stamps(states):
    return [stamp_ns(state.header.stamp) for state in states]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A bag of one second that the node has recorded."""
    path = tmp_path_factory.mktemp("bag") / "run.mcap"
    with Session(**REAL) as ros:
        node = ros.simulator("--record", path, "--duration", "1", ready=False)
        assert node.wait() == 0, node.output()
    return path


def test_every_recorded_message_is_decoded(recorded):
    found = read(recorded)
    assert stamps(found["/joint_states"]) == [k * STEP for k in range(1001)]
    assert len(found["/clock"]) >= 100 and len(found["/contacts"]) >= 100
    assert found["/robot_description"][0].data.startswith("<robot")


def test_a_recording_is_played(recorded):
    """All states come again, and what was latched is latched."""
    with Session(**REAL) as ros:
        peer = ros.peer()
        states = peer.listen("joint_states", qos=QoS(depth=1000))
        player = ros.process(
            "ros2", "bag", "play", recorded, "--disable-keyboard-controls", "--delay", "2", "--rate", "0.3"
        )
        peer.until(lambda: len(states) >= 100)
        description = peer.listen("robot_description", "std_msgs/msg/String", QoS(depth=1, latched=True))
        peer.until(lambda: description)
        assert player.wait() == 0, player.output()
    assert stamps(states) == [k * STEP for k in range(1001)]


def test_the_node_is_recorded(tmp_path):
    with Session(**REAL) as ros:
        # slowly: rosbag2 keeps ten messages, and on a busy machine it may be late for a while
        ros.simulator("--joints", "26", "--ros-args", "-p", "real_time_factor:=0.2")
        recorder = ros.process("ros2", "bag", "record", "-s", "mcap", "-a", "-o", tmp_path / "bag")
        recorder.wait_for("Subscribed to topic '/joint_states'")
        peer = ros.peer()
        peer.listen("joint_states")
        peer.next_messages("joint_states", 500)
        recorder.signal()
        recorder.wait()
    found = read(tmp_path / "bag")
    times = stamps(found["/joint_states"])[100:]  # while it still subscribes to other topics it may miss some
    assert len(times) >= 200 and times == list(range(times[0], times[-1] + STEP, STEP))
    assert found["/robot_description"] and found["/operational_space/inertia"]
