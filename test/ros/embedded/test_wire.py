# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What goes over the wire: encoding, names, type hashes, discovery; decoded by code that we did not write.

Covers ros/embedded/cdr.py, ros/embedded/dds/context.py, ros/embedded/dds/discovery.py, ros/embedded/dds/graph.py,
ros/embedded/dds/types.py, ros/embedded/domain.py, ros/embedded/messages.py.
"""

from __future__ import annotations

import array
import dataclasses
import json

import numpy as np
import pytest
from rosbags.typesys import Stores, get_typestore

pytest.importorskip("cyclonedds")

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.cdr import Decoder, Template, layout
from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.embedded.dds.discovery import domain_configuration
from mb_contact.ros.embedded.dds.types import idl_struct
from mb_contact.ros.embedded.domain import domain_id
from mb_contact.ros.embedded.messages import (
    deserialize,
    message_class,
    serialize,
    stamp_ns,
    type_hash,
    type_store,
    wire_type,
)
from mb_contact.ros.names import NodeNames, RosArguments, parse_ros_arguments, sanitise
from mb_contact.ros.qos import QoS
from ros.support import JOINT_STATE, LOOPBACK_MULTICAST, TIMEOUT, Session, foxglove_folder, on_dds

pytestmark = on_dds

pytestmark = pytest.mark.quick


# --- encoding -------------------------------------------------------------------------------------
def samples():
    """One filled message of every type that the node sends or receives."""
    joint_state = message_class(JOINT_STATE)(name=["a", "lange_Ärmel"], position=[1.0, 2.0])
    joint_state.velocity, joint_state.effort = array.array("d", [3.0, 4.0]), np.array([5.0, 6.0], np.float32)
    floats = message_class("std_msgs/msg/Float64MultiArray")(data=range(5))
    floats.layout.dim = [message_class("std_msgs/msg/MultiArrayDimension")("rows", 5, 5)]
    frames = message_class("tf2_msgs/msg/TFMessage")()
    frames.transforms = [message_class("geometry_msgs/msg/TransformStamped")() for _ in range(3)]
    for i, transform in enumerate(frames.transforms):
        transform.child_frame_id = "x" * i  # moves what follows to every alignment
        transform.transform.rotation.w = 1.0 + i
    status = message_class("diagnostic_msgs/msg/DiagnosticStatus")(level=1, name="n", message="m")
    status.values = [message_class("diagnostic_msgs/msg/KeyValue")("key", "value")]
    wrench = message_class("geometry_msgs/msg/WrenchStamped")()
    wrench.header.frame_id, wrench.wrench.force.z = "finger", 3.5
    return [joint_state, floats, frames, status, wrench, message_class("rosgraph_msgs/msg/Clock")()]


@pytest.mark.parametrize("message", samples(), ids=lambda m: type(m).__name__)
def test_encoding_agrees_with_cyclones_own(message):
    name = message.__msgtype__
    data = serialize(message, name)
    assert idl_struct(name).deserialize(data).serialize() == data
    assert serialize(deserialize(data, name), name) == data
    template = Template(message, name)
    assert bytes(template.data[: template.size]) == data and len(template.data) % 4 == 0
    longer = Template(message, name, data + bytes(range(1, 9)))  # as one of ROS 2's middlewares encodes
    assert longer.data == template.data and longer.size == template.size


def values(message):
    """All that is in a message, as nested lists."""
    if dataclasses.is_dataclass(message):
        return [values(getattr(message, field.name)) for field in dataclasses.fields(message)]
    return [values(item) for item in message] if isinstance(message, (list, np.ndarray)) else message


@pytest.mark.parametrize("message", samples(), ids=lambda m: type(m).__name__)
def test_messages_of_a_known_shape_are_decoded_as_rosbags_does(message):
    """Other numbers at the same places; every byte of them once."""
    name = message.__msgtype__
    data, decode, rng = serialize(message, name), Decoder(name), np.random.default_rng(1)
    places, size = layout(message, name)
    for _ in range(30):
        assert decode(data).__msgtype__ == name
        np.testing.assert_equal(values(decode(data)), values(deserialize(data, name)))
        patched = bytearray(data)
        for offset, dtype, count in places.values():
            length = dtype.itemsize * (1 if count is None else count)
            patched[offset : offset + length] = rng.bytes(length)
        data = bytes(patched)
    assert decode._fixed is not None and size == len(data)


def test_messages_of_another_shape_are_decoded_as_themselves():
    """The same length, other names; another encoding; a list that its owner has changed."""
    first, second = (message_class(JOINT_STATE)(name=[name, "b"], effort=[1.0, 2.0]) for name in ("one", "two"))
    decode, data = Decoder(JOINT_STATE), serialize(first, JOINT_STATE)
    for _ in range(3):
        decode(data).name.append("spoilt")
    assert decode(data).name == ["one", "b"]
    assert decode(serialize(second, JOINT_STATE)).name == ["two", "b"]
    swapped = type_store().serialize_cdr(second, JOINT_STATE, little_endian=False)
    for _ in range(3):
        np.testing.assert_array_equal(decode(bytes(swapped)).effort, [1.0, 2.0])
    for bad in (b"", data[:40], b"\x00\x07" + data[2:]):
        with pytest.raises(CommunicationError, match="decode"):
            decode(bad)
    assert decode(data).name == ["one", "b"]


def test_template_patches_reach_the_right_bytes():
    prototype = samples()[2]
    template = Template(prototype, "tf2_msgs/msg/TFMessage")
    for i in range(3):
        template.view(f"transforms.{i}.transform.translation.y")[0] = 10.0 + i
        template.view(f"transforms.{i}.header.stamp.nanosec")[0] = i
    decoded = deserialize(bytes(template.data[: template.size]), "tf2_msgs/msg/TFMessage")
    assert [t.transform.translation.y for t in decoded.transforms] == [10.0, 11.0, 12.0]
    assert [t.header.stamp.nanosec for t in decoded.transforms] == [0, 1, 2]
    assert [t.transform.rotation.w for t in decoded.transforms] == [1.0, 2.0, 3.0]
    assert [t.child_frame_id for t in decoded.transforms] == ["", "x", "xx"]


def test_malformed_bytes_are_an_error_not_a_crash():
    good = serialize(samples()[0], JOINT_STATE)
    for bad in (b"", good[:3], good[:40], good + b"\0" * 64, b"\x00\x07" + good[2:]):
        with pytest.raises(CommunicationError, match="decode"):
            deserialize(bad, JOINT_STATE)


def test_type_names_and_hashes():
    assert wire_type(JOINT_STATE) == "sensor_msgs::msg::dds_::JointState_"
    # as a real Jazzy prints it: ros2 topic info -v /joint_states
    assert type_hash(JOINT_STATE) == "RIHS01_a13ee3a330e346c9d87b5aa18d24e11690752bd33a0350f11c5882bc9179260e"
    with pytest.raises(CommunicationError, match="unknown message type"):
        message_class("sensor_msgs/msg/Jointstate")


@pytest.mark.parametrize("name, digest", [  # as several ROS 2 installations and generated codes print them
    ("Image", "d31d41a9a4c4bc8eae9be757b0beed306564f7526c88ea6a4588fb9582527d47"),
    ("CameraInfo", "b3dfd68ff46c9d56c80fd3bd4ed22c7a4ddce8c8348f2f59c299e73118e7e275"),
    ("LaserScan", "64c191398013af96509d518dac71d5164f9382553fce5c1f8cca5be7924bd828"),
    ("PointCloud2", "9198cabf7da3796ae6fe19c4cb3bdd3525492988c70522628af5daa124bae2b5"),
    ("PointField", "5c6a4750728c2bcfbbf7037225b20b02d4429634732146b742dee1726637ef01"),
    ("RegionOfInterest", "ad16bcba5f9131dcdba6fbded19f726f5440e3c513b4fb586dd3027eeed8abb1"),
])  # fmt: skip
def test_hashes_of_what_cameras_send(name, digest):
    assert type_hash(f"sensor_msgs/msg/{name}") == f"RIHS01_{digest}"


# --- names and arguments ----------------------------------------------------------------------------
def test_names_resolve_and_remap():
    text = "x --ros-args -r joint_states:=/robot -r __ns:=/arm -r other:topic:=no -p a:=1 -p n:b:=[x] -- y"
    arguments = parse_ros_arguments(text.split())
    assert arguments.rest == ["x", "y"]
    assert arguments.parameters == [("/**", "a", 1), ("n", "b", ["x"])]
    names = NodeNames("sim", "", arguments)
    assert names.full == "/arm/sim"
    assert names.resolve("joint_states") == "/robot"
    assert names.resolve("topic") == "/arm/topic"
    assert names.resolve("~/reset") == "/arm/sim/reset"
    assert names.resolve("/clock") == "/clock"
    assert names.matches("/**") and names.matches("sim") and names.matches("/arm/sim")
    assert names.matches("/*/sim") and not names.matches("/sim") and not names.matches("/arm")
    with pytest.raises(CommunicationError, match="not a valid name"):
        names.resolve("bad name")
    with pytest.raises(CommunicationError, match="not a node name"):
        NodeNames("1st", "", RosArguments())
    assert [sanitise(t) for t in ("left.finger-1", "1st", "")] == ["left_finger_1", "_1st", "_"]


def test_discovery_follows_the_environment():
    assert domain_id({}) == 0 and domain_id({"ROS_DOMAIN_ID": "42"}) == 42
    default = domain_configuration({})
    assert default == domain_configuration({"ROS_AUTOMATIC_DISCOVERY_RANGE": "localhost"})
    assert default == domain_configuration({"ROS_LOCALHOST_ONLY": "1"})
    assert 'address="127.0.0.1"' in default and "<MulticastTimeToLive>0<" in default
    peers = {"ROS_STATIC_PEERS": "10.0.0.7;10.0.0.8"}
    assert "<Interfaces>" not in domain_configuration(peers)  # the peers are not on loopback
    assert '<Peer address="10.0.0.8"/>' in domain_configuration(peers)
    plain = domain_configuration({"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT"})
    assert "General" not in plain and "Discovery" not in plain
    off = domain_configuration({"ROS_AUTOMATIC_DISCOVERY_RANGE": "OFF"} | peers)
    assert "ParticipantIndex>none" in off and "Peer" not in off
    assert domain_configuration({"CYCLONEDDS_URI": "file:///c.xml"}) == f"{plain},file:///c.xml"
    assert all("<IgnoreTypeInformation>1.15<" in text for text in (default, plain, off))  # of Fast DDS
    both = {"CYCLONEDDS_URI": "file:///c.xml", "ROS_AUTOMATIC_DISCOVERY_RANGE": "SUBNET"}
    assert domain_configuration(both).endswith(",file:///c.xml")


def test_the_wheel_tells_no_number_of_a_sample():
    """Else services could answer clients on Fast DDS, and docs/ros.md has to say so."""
    from cyclonedds.internal import SampleInfo

    names = [field.name for field in dataclasses.fields(SampleInfo)]
    assert "source_timestamp" in names and not [name for name in names if "sequence" in name or "identity" in name]


# --- peers that we did not write ----------------------------------------------------------------------
def test_rosbags_decodes_the_raw_samples():
    with Session() as ros:
        ros.simulator("--joints", "5")
        peer = ros.peer()
        raw = peer.listen("joint_states", qos=QoS(1000), raw=True)
        forces = peer.listen("contact_wrenches/right_finger", "geometry_msgs/msg/WrenchStamped")
        commands = peer.publisher("joint_commands")
        store = get_typestore(Stores.ROS2_JAZZY)  # its own classes, untouched by ours
        peer.send_until(
            commands,
            peer.joint_command(["joint_4"], [2.5]),
            lambda: raw and store.deserialize_cdr(raw[-1], JOINT_STATE).effort[4] == 2.5,
        )
        peer.next_messages("joint_states", 300)
        decoded = [store.deserialize_cdr(data, JOINT_STATE) for data in raw]
        assert decoded[-1].name == [f"joint_{i}" for i in range(5)]
        stamps = np.array([m.header.stamp.sec * 10**9 + m.header.stamp.nanosec for m in decoded])
        assert (np.diff(stamps) > 0).all()
        # a late joiner may miss one in its first instants: the writer keeps 10
        assert (np.diff(stamps) == 1_000_000).mean() > 0.95
        # impulse over the interval: step n brings a force of n newtons, published every 10 steps
        first, second = peer.next_messages("contact_wrenches/right_finger", 2)
        step = (first.header.stamp.sec * 10**9 + first.header.stamp.nanosec) // 10**6
        assert first.header.frame_id == "right.finger"
        assert first.wrench.force.z == pytest.approx(step - 4.5, abs=1e-9)
        assert second.wrench.force.z == pytest.approx(step + 5.5, abs=1e-9)
        assert forces


def test_other_participants_learn_the_node_and_the_type_hashes():
    from cyclonedds.builtin import BuiltinDataReader, BuiltinTopicDcpsPublication
    from cyclonedds.core import Policy, Qos
    from cyclonedds.sub import DataReader

    type_name = "rmw_dds_common/msg/ParticipantEntitiesInfo"
    with Session() as ros:
        peer = ros.peer()
        context = peer.node.context
        qos = Qos(
            Policy.Reliability.Reliable(dds_raw.nanoseconds(1.0)),
            Policy.Durability.TransientLocal,
            Policy.History.KeepLast(10),
        )
        reader = DataReader(
            context.participant, context.topic("ros_discovery_info", idl_struct(type_name)), qos
        )
        publications = BuiltinDataReader(context.participant, BuiltinTopicDcpsPublication)
        ros.simulator("--joints", "2", "--namespace", "deep/er")
        peer.listen("/deep/er/joint_states")
        peer.next_messages("/deep/er/joint_states")
        infos = [deserialize(data, type_name) for data, _, _ in dds_raw.take(reader, 100)]
        nodes = {(n.node_namespace, n.node_name): n for info in infos for n in info.node_entities_info_seq}
        entry = nodes["/deep/er", "mb_contact"]
        writers = {bytes(gid.data) for gid in entry.writer_gid_seq}
        # commands, runs of others, std_srvs, simulation_interfaces with its action, parameters (set_values too), types
        assert len(entry.reader_gid_seq) == 2 + 1 + 3 + 25 + 8 and len(writers) >= 30
        endpoints = [e for e in publications.take(200) if e.topic_name == "rt/deep/er/joint_states"]
        assert endpoints[0].type_name == wire_type(JOINT_STATE)
        assert endpoints[0].key.bytes in writers
        assert f"typehash={type_hash(JOINT_STATE)};".encode() in bytes(endpoints[0].qos[Policy.Userdata].data)
        dds_raw.delete(reader)
        dds_raw.delete(publications)


def test_ends_that_are_made_together_are_announced_once():
    """Each announcement names all ends of a node: one for each of a thousand bodies took minutes."""
    from cyclonedds.core import Policy, Qos
    from cyclonedds.sub import DataReader

    type_name = "rmw_dds_common/msg/ParticipantEntitiesInfo"
    with Session() as ros:
        node = ros.peer().node
        context = node.context
        qos = Qos(Policy.Reliability.Reliable(dds_raw.nanoseconds(1.0)), Policy.History.KeepLast(50))
        reader = DataReader(context.participant, context.topic("ros_discovery_info", idl_struct(type_name)), qos)

        def announced():
            infos = [deserialize(data, type_name) for data, _, _ in dds_raw.take(reader, 100)]
            return [len(info.node_entities_info_seq[-1].reader_gid_seq) for info in infos]

        announced()
        with node.announced_once():
            for i in range(20):
                node.create_subscription("std_msgs/msg/String", f"many_{i}", print, 10)
            assert announced() == []
        (count,) = announced()
        node.create_subscription("std_msgs/msg/String", "one_more", print, 10)
        assert announced() == [count + 1] and count >= 20
        dds_raw.delete(reader)


@pytest.fixture(scope="module")
def foxglove_peer(request):
    return foxglove_folder(request.config)


def test_foxglove_decodes_what_the_node_publishes(foxglove_peer):
    topics = {
        "/joint_states": JOINT_STATE,
        "/clock": "rosgraph_msgs/msg/Clock",
        "/tf": "tf2_msgs/msg/TFMessage",
        "/certificate": "diagnostic_msgs/msg/DiagnosticStatus",
        "/contact_wrenches/left_finger": "geometry_msgs/msg/WrenchStamped",
        "/operational_space/jacobian": "std_msgs/msg/Float64MultiArray",
        "/robot_description": "std_msgs/msg/String:latched",
    }
    with Session(CYCLONEDDS_URI=LOOPBACK_MULTICAST) as ros:
        ours = ros.peer()
        own = ours.listen("joint_states", qos=QoS(10_000))  # before the first state, since theirs asks for old ones too
        ros.simulator("--joints", "3")
        commands = ours.publisher("joint_commands")
        ours.send_until(commands, ours.joint_command(["joint_1"], [0.5]), lambda: own and own[-1].effort[1])
        arguments = [f"{topic}={kind}" for topic, kind in topics.items()]
        latched = arguments.pop()
        peer = ros.process("node", foxglove_peer / "subscriber.js", ros.domain, 50, *arguments)
        once = ros.process("node", foxglove_peer / "subscriber.js", ros.domain, 1, latched)
        assert peer.wait(TIMEOUT) == 0, peer.output()
        assert once.wait(TIMEOUT) == 0, once.output()
    decoded = {topic: [] for topic in topics}
    for line in peer.lines + once.lines:
        entry = json.loads(line)
        decoded[entry["topic"]].append(entry["message"])
    states = decoded["/joint_states"]
    assert len(states) == 50
    assert states[0]["name"] == ["joint_0", "joint_1", "joint_2"]
    stamps = [s["header"]["stamp"]["sec"] * 10**9 + s["header"]["stamp"]["nsec"] for s in states]
    expected = {stamp_ns(m.header.stamp): m for m in own}
    common = [(s, expected[stamp]) for stamp, s in zip(stamps, states) if stamp in expected]
    assert len(common) > 25  # its reader keeps no order, and hands over what was sent again
    for state, message in common:
        for field in ("position", "velocity", "effort"):
            assert state[field] == list(getattr(message, field))
    assert states[-1]["effort"][1] == 0.5
    assert decoded["/tf"][0]["transforms"][0]["child_frame_id"] == "box"
    assert decoded["/contact_wrenches/left_finger"][0]["wrench"]["force"]["z"] == pytest.approx(3.0)
    jacobian = decoded["/operational_space/jacobian"][0]
    assert [d["size"] for d in jacobian["layout"]["dim"]] == [12, 3] and jacobian["layout"][
        "data_offset"
    ] == 2
    assert len(jacobian["data"]) == 38 and jacobian["data"][2:] == [1.0] * 36
    assert any(p["key"] == "solver" for p in decoded["/certificate"][0]["values"])
    assert decoded["/robot_description"][0]["data"].startswith("<robot")


def test_a_parameter_file_may_have_an_empty_section(tmp_path):
    """As launch writes one for a node without parameters of its own."""
    from mb_contact.ros.names import read_parameter_file

    file = tmp_path / "launch_params"
    file.write_text("/**:\n  ros__parameters: {}\n", encoding="utf-8")
    assert read_parameter_file(file) == []
    file.write_text("/**:\n  parameters: {a: 1}\n", encoding="utf-8")
    with pytest.raises(CommunicationError, match="no 'ros__parameters' section"):
        read_parameter_file(file)
