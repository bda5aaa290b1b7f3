# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The whole contract of the node over a real wire between processes: the table of contract.py, line by line.

Covers ros/diagnostics.py, ros/embedded/topics.py, ros/outputs/contacts.py, ros/outputs/fields.py,
ros/outputs/publishing.py, ros/outputs/robot.py.
"""

from __future__ import annotations

import json
import signal
import time

import numpy as np
import pytest

import ros.contract as contract
from mb_contact.ros.embedded.messages import message_class, stamp_ns, type_hash, wire_type
from mb_contact.ros.qos import QoS
from ros.asking import endpoints, newest, parameters, set_parameters
from ros.support import LOOPBACK_MULTICAST, TIMEOUT, Session, foxglove_folder, on_dds, wait_until

OUT = contract.OUT
SPEAKING = [topic for topic in OUT if not topic.asked]
ASKED_FOR = [topic for topic in SPEAKING if topic.reliable]  # what the independent subscriber takes


# --- what the graph shows -------------------------------------------------------------------------
def expected_endpoints(backend):
    """{DDS topic: (type, hash)} of the writers and of the readers that the table implies."""
    writers, readers = {}, {}
    for topic in contract.installed(contract.TOPICS, backend):
        side = readers if topic.way == "in" else writers
        side[f"rt{topic.name}"] = topic.type
    for service in contract.installed(contract.SERVICES, backend):
        readers[f"rq{service.name}Request"] = f"{service.type}_Request"
        writers[f"rr{service.name}Reply"] = f"{service.type}_Response"
    writers["ros_discovery_info"] = "rmw_dds_common/msg/ParticipantEntitiesInfo"
    return {"writers": writers, "readers": readers}


@on_dds  # over Zenoh: test/ros/zenoh
@pytest.mark.parametrize("kind", ["writers", "readers"])
def test_the_table_is_all_there_is(cell, backend, kind):
    from cyclonedds.core import Policy


    peer, node = cell
    expected = expected_endpoints(backend)[kind]
    wait_until(lambda: set(expected) <= set(endpoints(peer, kind)), f"{kind} of the table")
    found = endpoints(peer, kind)
    if not node.own_words:  # rmw_cyclonedds reads what it writes, of chars where the embedded backend has bytes
        found.pop("ros_discovery_info")
        expected.pop("ros_discovery_info", None)
    assert set(found) == set(expected)
    for name, type_name in expected.items():
        assert found[name].type_name == wire_type(type_name), name
        user_data = bytes(found[name].qos[Policy.Userdata].data)
        assert f"typehash={type_hash(type_name)};".encode() in user_data, name


@on_dds
@pytest.mark.parametrize("topic", contract.TOPICS, ids=lambda topic: topic.name)
def test_quality_of_service(cell, backend, topic):
    from cyclonedds.core import Policy

    contract.need(topic, backend)
    peer, _ = cell
    kind, name = ("readers", f"rt{topic.name}") if topic.way == "in" else ("writers", f"rt{topic.name}")
    wait_until(lambda: name in endpoints(peer, kind), name)
    qos = endpoints(peer, kind)[name].qos
    assert isinstance(qos[Policy.Reliability], type(Policy.Reliability.BestEffort)) != topic.reliable
    assert (qos[Policy.Durability] == Policy.Durability.TransientLocal) == topic.latched


# --- topics out -------------------------------------------------------------------------------------
def near_floor(wrench, frame="tool"):
    assert wrench.header.frame_id == frame and np.isfinite(wrench.wrench.force.z)


def array_of(shape, label):
    def check(message):
        assert message.layout.data_offset == 2 and len(message.data) == 2 + int(np.prod(shape))
        assert tuple(dim.size for dim in message.layout.dim) == shape
        assert label in message.layout.dim[0].label and np.isfinite(message.data).all()

    return check


def check_whole_state(message):
    sizes = (JOINTS, JOINTS, TASK**2, TASK * JOINTS, TASK, JOINTS**2, JOINTS)
    names = ("position", "velocity", "inertia", "jacobian", "bias", "mass_matrix", "nonlinear_effects")
    joints, task = "joints=shoulder,elbow", message.layout.dim[4].label.split("|")[1]
    rows = ([joints], [joints], [task, task], [task, joints], [task], [joints, joints], [joints])
    assert task.startswith("frames=tool;") and message.layout.data_offset == 2
    assert tuple(dim.size for dim in message.layout.dim) == sizes
    assert [dim.label.split("|") for dim in message.layout.dim] == [[name, *row] for name, row in zip(names, rows)]
    assert [dim.stride for dim in message.layout.dim] == [JOINTS, JOINTS, TASK, JOINTS, TASK, JOINTS, JOINTS]
    assert len(message.data) == 2 + sum(sizes) and np.isfinite(message.data).all()


def check_states(message):
    assert message.name == ["shoulder", "elbow"]
    assert all(len(field) == 2 for field in (message.position, message.velocity, message.effort))


def check_frames(message):
    assert {t.child_frame_id for t in message.transforms} == {"upper", "lower", "tool", "box"}
    assert all(t.header.frame_id == "world" for t in message.transforms)


def check_static_frames(message):
    parents = {t.child_frame_id: t.header.frame_id for t in message.transforms}
    mounted = {"scanner": "box", "rings": "box", "imu": "tool", "wrist": "tool"}
    assert parents == {"base": "world", "pad": "box", "eye": "world", "eye_optical": "eye", **mounted}
    turn = next(t.transform.rotation for t in message.transforms if t.child_frame_id == "eye_optical")
    assert np.allclose(np.abs([turn.x, turn.y, turn.z, turn.w]), 0.5) and turn.x * turn.w < 0.0 < turn.y * turn.w


def check_contacts(message):
    assert message.header.frame_id == "world"
    (box,) = [c for c in message.contacts if {c.collision1.name, c.collision2.name} == {"box", "ground"}]
    assert len(box.positions) == len(box.normals) == len(box.depths) == len(box.wrenches) == 4
    sign = 1.0 if box.collision1.name == "box" else -1.0
    weight = sum(wrench.body_1_wrench.force.z for wrench in box.wrenches)
    assert sign * weight == pytest.approx(2.0 * 9.81, rel=1e-3)
    assert all(w.body_1_wrench.force.z == -w.body_2_wrench.force.z for w in box.wrenches)


def check_imu(message):
    felt = message.linear_acceleration
    assert message.header.frame_id == "imu" and message.header.stamp.nanosec % 5_000_000 == 0
    assert np.linalg.norm([felt.x, felt.y, felt.z]) == pytest.approx(9.81, rel=0.2)
    turn = message.orientation
    assert np.linalg.norm([turn.x, turn.y, turn.z, turn.w]) == pytest.approx(1.0)


def check_encoder(message):
    assert message.name == ["elbow"] and message.position[0] == pytest.approx(round(message.position[0], 3), abs=1e-12)


def check_pad(message):
    assert message.header.frame_id == "pad" and message.wrench.force.z == pytest.approx(-2.0 * 9.81, rel=1e-3)


def floats(message):
    """Numbers of an image or a cloud, (rows, columns) or (rows, columns, fields)."""
    assert not message.is_bigendian and len(message.data) == message.height * (
        message.step if hasattr(message, "step") else message.row_step)  # fmt: skip
    return np.asarray(message.data, dtype=np.uint8).view(np.float32).reshape(message.height, message.width, -1)


def check_pressure(message):
    assert (message.width, message.height, message.encoding, message.header.frame_id) == (3, 2, "32FC1", "pad")
    assert floats(message).sum() * 0.01 / 6 == pytest.approx(2.0 * 9.81, rel=1e-3)


def check_camera(message):
    """2 m above the box, whose upper face is 0.1 m wide: f = 16.5 / tan(0.1) = 164.45."""
    assert (message.width, message.height, message.distortion_model) == (33, 25, "plumb_bob")
    f = 16.5 / np.tan(0.1)
    np.testing.assert_allclose(message.k, [f, 0, 16, 0, f, 12, 0, 0, 1])
    np.testing.assert_allclose(message.p, [f, 0, 16, 0, 0, f, 12, 0, 0, 0, 1, 0])
    at_a_sample(message)


def at_a_sample(message, frame="eye_optical"):
    assert message.header.frame_id == frame and message.header.stamp.nanosec % 50_000_000 == 0


def check_depth(message):
    depth = floats(message)[..., 0]
    at_a_sample(message)
    assert depth[12, 16] == pytest.approx(1.95, abs=1e-5) and depth[0, 0] == pytest.approx(2.05, abs=1e-5)


def check_colour(message):
    picture = np.asarray(message.data).reshape(25, 33, 3)
    at_a_sample(message)
    assert message.encoding == "rgb8" and message.step == 99
    np.testing.assert_allclose(picture[12, 16], (60, 118, 176), atol=2)  # the second colour of objects


def check_points(message):
    points = floats(message)
    at_a_sample(message)
    assert [(f.name, f.offset, f.datatype) for f in message.fields] == [
        ("x", 0, 7), ("y", 4, 7), ("z", 8, 7), ("rgb", 12, 7)
    ]  # fmt: skip
    np.testing.assert_allclose(points[12, 16, :3], [0.0, 0.0, 1.95], atol=1e-6)
    corner = np.tan(0.1) / 16.5 * np.array([-16.0, -12.0])
    np.testing.assert_allclose(points[0, 0, :2] / points[0, 0, 2], corner, rtol=1e-5)
    assert points[12, 16, 3].view(np.uint32) == 60 << 16 | 118 << 8 | 176


def check_scan(message):
    at_a_sample(message, "scanner")
    assert message.angle_min == pytest.approx(-0.4) and message.angle_increment == pytest.approx(0.1)
    assert len(message.ranges) == 9 and message.scan_time == pytest.approx(0.05)
    assert np.isinf(message.ranges).all()  # it looks away from the arm


def check_rings(message):
    points = floats(message)
    at_a_sample(message, "rings")
    assert points.shape == (3, 9, 3)
    np.testing.assert_allclose(points[..., 2], -0.5, atol=1e-5)  # the ground, 0.45 m below the middle of the box
    np.testing.assert_allclose(points[1, 4, :2], [0.5 / np.tan(1.0), 0.0], atol=1e-5)


def check_certificate(message):
    values = {pair.key: pair.value for pair in message.values}
    assert {"complementarity_gap", "infeasibility", "cone_violation", "penetration", "solver"} <= set(values)
    contacts = [value for key, value in values.items() if key.startswith("contact/")]
    words = ("stick", "slip", "separate")
    assert contacts and all(any(f" {word} sigma=" in text for word in words) for text in contacts)
    assert any(text.startswith(("box ground stick", "ground box stick")) for text in contacts)


def check_markers(message):
    spaces = {marker.ns for marker in message.markers if marker.action == 0}
    assert spaces == {"points", "forces", "cones"}
    assert all(marker.header.frame_id == "world" for marker in message.markers)


def check_objects(message):
    assert {"box", "world"} <= {marker.header.frame_id for marker in message.markers if marker.action == 0}


def check_diagnostics(message):
    values = {pair.key: pair.value for pair in message.status[0].values}
    assert {"real_time_factor", "max_contacts", "missed_deadlines", "rejected_commands", "solvers"} <= set(values)
    assert {"rejected_wrenches", "accepted_wrenches", "bodies_asleep", "islands_asleep"} <= set(values)


def check_event(message):
    assert message.node == "/cell/sim" and message.changed_parameters[0].name == "marker_scale"


TASK, JOINTS = 6, 2
CHECKS = {
    "/cell/joint_states": check_states,
    "/cell/run": lambda m: m.data == 1 or pytest.fail(str(m)),
    "/clock": lambda m: m.clock.sec >= 0,
    "/tf": check_frames,
    "/tf_static": check_static_frames,
    "/cell/robot_description": lambda m: m.data.startswith("<robot") or pytest.fail(m.data),
    "/cell/contact_wrenches/tool": near_floor,
    "/cell/joint_wrenches/sensor": near_floor,
    "/cell/sensors/imu": check_imu,
    "/cell/sensors/wrist": lambda m: near_floor(m, "wrist"),
    "/cell/sensors/encoder": check_encoder,
    "/cell/sensors/press": near_floor,
    "/cell/sensors/pad": check_pad,
    "/cell/sensors/pad/pressure": check_pressure,
    "/cell/sensors/eye/camera_info": check_camera,
    "/cell/sensors/eye/depth": check_depth,
    "/cell/sensors/eye/image": check_colour,
    "/cell/sensors/eye/points": check_points,
    "/cell/sensors/scanner": check_scan,
    "/cell/sensors/rings": check_rings,
    "/cell/contacts": check_contacts,
    "/cell/certificate": check_certificate,
    "/cell/contact_markers": check_markers,
    "/cell/object_markers": check_objects,
    "/cell/operational_space/state": check_whole_state,
    "/cell/operational_space/inertia": array_of((TASK, TASK), "constraints=loops"),
    "/cell/operational_space/compliance": array_of((TASK, TASK), "frames=tool"),
    "/cell/operational_space/jacobian": array_of((TASK, JOINTS), "frames=tool"),
    "/cell/operational_space/bias": array_of((TASK,), "frames=tool"),
    "/cell/mass_matrix": array_of((JOINTS, JOINTS), "joints=shoulder,elbow"),
    "/cell/nonlinear_effects": array_of((JOINTS,), "joints=shoulder,elbow"),
    "/diagnostics": check_diagnostics,
    "/rosout": lambda m: m.name == "cell.sim" or pytest.fail(m.name),
    "/parameter_events": check_event,
}


@pytest.mark.parametrize("topic", SPEAKING, ids=lambda topic: topic.name)
def test_topic_out(cell, backend, topic):
    contract.need(topic, backend)
    peer, _ = cell
    if topic.name == "/parameter_events":
        assert set_parameters(peer, marker_scale=0.005)[0].successful
    if topic.name == "/rosout":
        peer.publisher("/cell/joint_commands", qos=QoS(1, reliable=False)).publish(peer.joint_command(["none"], [1.0]))
    received = peer.received[topic.name]
    if topic.name == "/parameter_events":
        peer.until(lambda: any(len(m.changed_parameters) for m in received))
        CHECKS[topic.name](next(m for m in received if len(m.changed_parameters)))
        return
    if not topic.latched:
        peer.next_messages(topic.name, 2)  # the first of a new listener may hold no step yet
    peer.until(lambda: received)
    CHECKS[topic.name](received[-1])


def test_arrays_belong_to_the_joint_states_of_their_stamp(cell):
    """Coupled operational-space terms, recomputed from the joint state with the same stamp."""
    import mb_contact as mb

    peer, _ = cell
    model = mb.load_urdf(contract.ARM)
    names = ("inertia", "compliance", "jacobian", "bias")
    peer.next_messages("/cell/joint_states", 30)
    states = {stamp_ns(m.header.stamp): m for m in list(peer.received["/cell/joint_states"])}
    compared = 0
    for message in list(peer.received["/cell/operational_space/jacobian"])[-20:]:
        stamp = int(message.data[0]) * 10**9 + int(message.data[1])
        if stamp not in states:
            continue
        q, v = np.asarray(states[stamp].position), np.asarray(states[stamp].velocity)
        space = mb.operational_space(model, q, v, frames=["tool"])
        for name in names:
            for other in list(peer.received[f"/cell/operational_space/{name}"]):
                if int(other.data[0]) * 10**9 + int(other.data[1]) == stamp:
                    value = getattr(space, name)
                    np.testing.assert_allclose(np.reshape(other.data[2:], value.shape), value, rtol=1e-7, atol=1e-9)
                    compared += 1
    assert compared >= 8


# --- topics in ----------------------------------------------------------------------------------------
def test_commands_arrive(cell):
    peer, _ = cell
    for name, kind, message in (
        ("/cell/joint_commands", contract.JOINT_STATE, peer.joint_command(["elbow"], [3.5])),
        ("/cell/effort_commands", contract.ARRAY, message_class(contract.ARRAY)(data=[0.0, -2.5])),
    ):
        wanted = 3.5 if kind == contract.JOINT_STATE else -2.5
        publisher = peer.publisher(name, kind, QoS(1, reliable=False))
        states = peer.received["/cell/joint_states"]
        peer.send_until(publisher, message, lambda: abs(states[-1].effort[1] - wanted) < 1e-9)  # noqa: B023


def counters(peer):
    values = {pair.key: pair.value for pair in newest(peer, "/diagnostics").status[0].values}
    return int(values["accepted_wrenches"]), int(values["rejected_wrenches"])


def push(force, frame="world"):
    message = message_class(contract.WRENCH)()
    message.header.frame_id = frame
    message.wrench.force.x = force
    return message


def test_pushes_arrive_and_end(cell):
    peer, _ = cell
    assert set_parameters(peer, diagnostics_rate=20.0, external_wrench_duration=0.2)[0].successful
    newest(peer, "/diagnostics")
    accepted, rejected = counters(peer)
    publisher = peer.publisher("/cell/external_wrench/box", contract.WRENCH)
    for message in (push(np.nan), push(np.inf), push(1e5), push(1.0, "elsewhere")):
        publisher.publish(message)
    wait_until(lambda: counters(peer) == (accepted, rejected + 4), "four rejected wrenches")

    def x():
        (box,) = [t for t in newest(peer, "/tf").transforms if t.child_frame_id == "box"]
        return box.transform.translation.x

    start = x()
    publisher.publish(push(30.0))  # beyond friction, 0.5 * 2 * 9.81
    wait_until(lambda: x() > start + 0.05, "a box that moves")
    previous = None
    for _ in range(200):  # and it comes to rest when the push is over
        now = x()
        if previous is not None and abs(now - previous) < 1e-9:
            break
        previous = now
    # 0.2 s at (30 - 9.81) / 2 m/s^2, then braked by friction at 4.905 m/s^2
    speed = 0.2 * (30.0 - 9.81) / 2.0
    assert now - start == pytest.approx(0.5 * 0.2 * speed + speed**2 / 9.81, rel=0.02)
    assert counters(peer) == (accepted + 1, rejected + 4)


def test_type_descriptions_hash_to_what_endpoints_announce(cell, backend):
    """The description, hashed here from scratch as the standard says, is that of the announced hash."""
    import hashlib

    def plain(field):
        kind = field.type
        return {"name": field.name, "type": {"type_id": int(kind.type_id), "capacity": int(kind.capacity),
                "string_capacity": int(kind.string_capacity), "nested_type_name": kind.nested_type_name}}  # fmt: skip

    def individual(about):
        return {"type_name": about.type_name, "fields": [plain(field) for field in about.fields]}

    peer, node = cell
    for topic in contract.installed(contract.TOPICS, backend):
        answer = peer.call(
            "/cell/sim/get_type_description", "type_description_interfaces/srv/GetTypeDescription",
            type_name=topic.type, type_hash=type_hash(topic.type),
        )  # fmt: skip
        assert answer.successful, answer.failure_reason
        about = answer.type_description
        content = {
            "type_description": individual(about.type_description),
            "referenced_type_descriptions": [individual(one) for one in about.referenced_type_descriptions],
        }
        digest = hashlib.sha256(json.dumps(content).encode()).hexdigest()
        assert f"RIHS01_{digest}" == type_hash(topic.type), topic.type
    answer = peer.call(
        "/cell/sim/get_type_description", "type_description_interfaces/srv/GetTypeDescription", type_name="a/msg/B"
    )
    assert not answer.successful and ("knows no type" if node.own_words else "type") in answer.failure_reason


# --- decoded by code that we did not write ---------------------------------------------------------
@on_dds
def test_an_independent_subscriber_decodes_every_published_type(request, tmp_path):
    folder = foxglove_folder(request.config)
    scene = contract.write_scene(tmp_path)
    with Session(CYCLONEDDS_URI=LOOPBACK_MULTICAST) as ros:
        ros.node(scene, *contract.ARGUMENTS, "-p", "diagnostics_rate:=10.0")
        peer = ros.peer()
        peer.listen("/cell/joint_states")
        peer.next_messages("/cell/joint_states", 200)  # contacts exist by then
        arguments = [f"{t.name}={t.type}{':latched' if t.latched else ''}" for t in ASKED_FOR]
        subscriber = ros.process("node", folder / "subscriber.js", ros.domain, 1, *arguments)
        client = peer.node.create_client("rcl_interfaces/srv/SetParameters", "/cell/sim/set_parameters")
        wrong = peer.node.create_publisher("sensor_msgs/msg/JointState", "/cell/joint_commands", QoS(10))
        deadline = time.monotonic() + TIMEOUT
        while subscriber.popen.poll() is None and time.monotonic() < deadline:  # until it has heard an event and a log
            client.call_async(client.Request(parameters=parameters(marker_scale=0.005)))
            wrong.publish(message_class("sensor_msgs/msg/JointState")(name=["no_joint"], effort=[1.0]))
            time.sleep(0.1)
        subscriber.signal(signal.SIGTERM)  # nothing where it has ended
        assert subscriber.wait(TIMEOUT) == 0, subscriber.errors
    decoded = {entry["topic"]: entry["message"] for entry in map(json.loads, subscriber.lines)}
    assert set(decoded) == {topic.name for topic in ASKED_FOR}
    assert decoded["/cell/joint_states"]["name"] == ["shoulder", "elbow"]
    pairs = [{c["collision1"]["name"], c["collision2"]["name"]} for c in decoded["/cell/contacts"]["contacts"]]
    assert {"box", "ground"} in pairs
    (box,) = [c for c, pair in zip(decoded["/cell/contacts"]["contacts"], pairs) if pair == {"box", "ground"}]
    weight = sum(abs(wrench["body_1_wrench"]["force"]["z"]) for wrench in box["wrenches"])
    assert weight == pytest.approx(2.0 * 9.81, rel=1e-3)
    assert {m["ns"] for m in decoded["/cell/contact_markers"]["markers"]} >= {"points", "forces", "cones"}
    assert decoded["/parameter_events"]["node"] == "/cell/sim" and decoded["/rosout"]["name"] == "cell.sim"
    assert decoded["/rosout"]["msg"] and decoded["/rosout"]["level"] in (20, 30)
    assert decoded["/cell/joint_wrenches/sensor"]["header"]["frame_id"] == "tool"
    assert decoded["/tf_static"]["transforms"][0]["child_frame_id"] == "base"
    assert len(decoded["/cell/mass_matrix"]["data"]) == 6
