# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The rclpy backend against the embedded one, on each middleware that is installed: wheels have rmw_fastrtps alone.

PYTEST_DISABLE_PLUGIN_AUTOLOAD=1 keeps ROS 2's own pytest plugins out, which newer pytests refuse.

Covers ros/backend.py, ros/rclpy_turns.py.
"""

from __future__ import annotations

import contextlib
import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from paths import ROOT

pytest.importorskip("rclpy", reason="no rclpy here")

from ros.support import RANGE, REAL, SET_BOOL, TIMEOUT, Session, installed_rmw, on_dds  # noqa: E402

pytestmark = on_dds
VENDORS = [vendor for vendor in ("cyclonedds", "fastrtps", "fastrtps_dynamic") if installed_rmw(vendor)]
LOCKSTEP = [
    ("rclpy", "embedded", "cyclonedds"), ("embedded", "rclpy", "cyclonedds"), ("rclpy", "rclpy", "cyclonedds"),
    ("embedded", "rclpy", "fastrtps"), ("rclpy", "embedded", "fastrtps"), ("rclpy", "rclpy", "fastrtps"),
    ("embedded", "rclpy", "fastrtps_dynamic"), ("rclpy", "embedded", "fastrtps_dynamic"),
    ("rclpy", "rclpy", "fastrtps_dynamic"),
]  # fmt: skip


@pytest.mark.parametrize("node, controller, rmw", [case for case in LOCKSTEP if case[2] in VENDORS])
def test_lockstep_between_the_backends(node, controller, rmw):
    """Every state answered, none lost, also where the other side is another vendor's DDS."""
    with Session(RMW_IMPLEMENTATION=f"rmw_{rmw}_cpp", **RANGE) as ros:
        simulator = ros.simulator("--lockstep", "--duration", "1", "--joints", "26", backend=node)
        peer = ros.controller(1000, "--backend", controller)
        assert simulator.wait() == 0, simulator.output()
        assert peer.wait() == 0, peer.output()
        report = json.loads(peer.lines[-1])
        assert report["states"] == 1000 and report["gaps"] == 0
        assert "0 lockstep timeouts" in simulator.output()


def test_services_and_latched_topics_of_the_rclpy_node():
    with Session(**REAL) as ros:
        simulator = ros.simulator("--joints", "2", "--ros-args", "-p", "clock_rate:=50.0", backend="rclpy")
        peer = ros.peer()
        description = peer.listen("robot_description", "std_msgs/msg/String", latched())
        peer.until(lambda: description)
        assert description[0].data.startswith("<robot")
        assert peer.call("/mb_contact/reset").success
        assert peer.call("/mb_contact/pause", "std_srvs/srv/SetBool", data=True).success
        simulator.signal()
        assert simulator.wait() == 0, simulator.output()


CALL = """
import rclpy, time
from std_srvs.srv import Trigger
rclpy.init()
node = rclpy.create_node("caller")
client = node.create_client(Trigger, "/mb_contact/reset")
assert client.wait_for_service(timeout_sec=20.0)
answer, end = client.call_async(Trigger.Request()), time.monotonic() + 5.0
while not answer.done() and time.monotonic() < end:
    rclpy.spin_once(node, timeout_sec=0.1)
print("answered" if answer.done() and answer.result().success else "waits in vain", flush=True)
"""


SERVICES = [("rclpy", "fast", "fast"), ("embedded", "cyclonedds", "fast")]
if "cyclonedds" in VENDORS:
    SERVICES += [("rclpy", "fast", "cyclonedds"), ("rclpy", "cyclonedds", "fast")]
    SERVICES += [("embedded", "cyclonedds", "cyclonedds")]


@pytest.mark.parametrize("fast", [vendor for vendor in VENDORS if vendor != "cyclonedds"])
@pytest.mark.parametrize("backend, node, client", SERVICES)
def test_services_within_a_vendor_are_answered_and_across_told_of(backend, node, client, fast):
    """The vendors put the number of a request elsewhere; the embedded node answers Fast DDS' clients all the same."""
    with Session(**RANGE) as ros:
        names = {"fast": fast, "cyclonedds": "cyclonedds"}
        ros.env["RMW_IMPLEMENTATION"] = f"rmw_{names[node]}_cpp"  # which the embedded backend does not ask for
        simulator = ros.simulator("--joints", "2", backend=backend)
        ros.env["RMW_IMPLEMENTATION"] = f"rmw_{names[client]}_cpp"
        caller = ros.process(sys.executable, "-u", "-c", CALL)
        answered = node == client or backend == "embedded"
        caller.wait_for("answered" if answered else "waits in vain")
        told = "a client of another DDS vendor waits in vain for /mb_contact/reset"
        assert (told in simulator.output()) != answered
        simulator.signal()
        assert simulator.wait() == 0, simulator.output()


def latched():
    from mb_contact.ros import QoS

    return QoS(depth=1, latched=True)


def test_spawning_and_parameters_of_the_rclpy_node():
    """simulation_interfaces and live parameters over rclpy: a ball falls, pushes reach it, the clock's rate changes."""
    pytest.importorskip("simulation_interfaces", reason="this ROS 2 lacks simulation_interfaces")
    from mb_contact.ros.embedded.messages import message_class, stamp_ns
    from mb_contact.ros.embedded.parameters import to_message

    scene = ROOT / "config" / "box_on_table.yaml"
    with Session(**REAL) as ros:
        node = ros.node(scene, "--ros-args", "-p", "start_paused:=true", backend="rclpy")
        peer = ros.peer()
        pose = message_class("geometry_msgs/msg/PoseStamped")()
        pose.pose.position.z, pose.pose.orientation.w = 2.0, 1.0
        spawn = "simulation_interfaces/srv/SpawnEntity"
        ball = "{shape: sphere, size: [0.05], mass: 0.5}"
        answer = peer.call("spawn_entity", spawn, **{"name": "ball", "resource_string": ball, "initial_pose": pose})
        assert answer.result.result == 1, answer.result.error_message
        push = message_class("geometry_msgs/msg/WrenchStamped")()
        push.wrench.force.x = 1.0
        publisher = peer.publisher("external_wrench/ball", "geometry_msgs/msg/WrenchStamped")
        state = "simulation_interfaces/srv/GetEntityState"
        x = 0.0
        for _ in range(50):
            publisher.publish(push)
            assert peer.call("step_simulation", "simulation_interfaces/srv/StepSimulation", steps=10).result.result == 1
            x = peer.call("get_entity_state", state, entity="ball").state.pose.position.x
            if x > 0.0:
                break
        assert x > 0.0
        parameter = message_class("rcl_interfaces/msg/Parameter")("clock_rate", to_message(50.0))
        kind = "rcl_interfaces/srv/SetParameters"
        assert peer.call("/mb_contact/set_parameters", kind, parameters=[parameter]).results[0].successful
        clock = peer.listen("/clock", "rosgraph_msgs/msg/Clock")
        assert peer.call("/mb_contact/pause", "std_srvs/srv/SetBool", data=False).success
        peer.next_messages("/clock", 10)
        times = [stamp_ns(m.clock) for m in clock[3:]]
        assert {b - a for a, b in zip(times, times[1:])} == {20_000_000}
        node.signal()
        assert node.wait() == 0, node.output()


def test_many_steps_hold_up_nobody_on_the_rclpy_node():
    """Its service is a coroutine of rclpy's executor: others are answered meanwhile, a pause and SIGINT end it."""
    pytest.importorskip("simulation_interfaces", reason="this ROS 2 lacks simulation_interfaces")
    with Session(**REAL) as ros:
        node = ros.simulator("--joints", "3", "--ros-args", "-p", "start_paused:=true", backend="rclpy")
        peer = ros.peer()
        states = peer.listen("joint_states")
        kind = "simulation_interfaces/srv/StepSimulation"
        client = peer.node.create_client(kind, "step_simulation")
        assert client.wait_for_service(TIMEOUT)
        answer = client.call_async(client.Request(steps=10**9))
        peer.until(lambda: len(states) > 10)
        command, commands = peer.joint_command(["joint_1"], [2.5]), peer.publisher("joint_commands")
        peer.send_until(commands, command, lambda: states and states[-1].effort[1] == 2.5)
        about = "simulation_interfaces/srv/GetSimulationState"
        assert peer.call("get_simulation_state", about).state.state == 2 and not answer.done()
        assert peer.call("/mb_contact/pause", SET_BOOL, data=True).success
        assert answer.wait(TIMEOUT) and answer.result().result.error_message.startswith("paused after ")
        assert peer.call("step_simulation", kind, steps=3).result.result == 1
        answer = client.call_async(client.Request(steps=10**9))
        count = len(states)
        peer.until(lambda: len(states) > count + 10)
        node.signal()
        assert node.wait() == 0, node.output()
        assert answer.wait(TIMEOUT) and "the simulation ends after" in answer.result().result.error_message


def test_timers_of_an_rclpy_node_go_by_simulated_time():
    """What the embedded backend does too: see test_contract.py."""
    program = (
        "from mb_contact.ros import create_node, spin, shutdown\n"
        "node = create_node('follower', 'rclpy', ['--ros-args', '-p', 'use_sim_time:=true'])\n"
        "times = []\n"
        "node.create_timer(0.01, lambda: times.append(node.get_clock().now().nanoseconds))\n"
        "spin(node, lambda: len(times) > 20)\n"
        "print('gaps', min(b - a for a, b in zip(times[1:], times[2:])), times[-1], flush=True)\n"
        "shutdown(node)\n"
    )
    with Session(**REAL) as ros:
        node = ros.simulator("--joints", "2", "--ros-args", "-p", "clock_rate:=50.0", backend="rclpy")
        follower = ros.process(sys.executable, "-u", "-c", program)
        _, gap, last = follower.wait_for("gaps").split()
        assert int(gap) >= 20_000_000 and int(last) < 10**15  # the clock's messages, not wall time
        assert follower.wait() == 0, follower.output()
        node.signal()
        assert node.wait() == 0, node.output()


@pytest.mark.parametrize(
    "name", ["JointState", "Float64MultiArray", "TFMessage", "DiagnosticStatus", "WrenchStamped", "Clock", "Bool"]
)
def test_messages_of_a_known_shape_are_rclpys_own(name):
    """Read by places, they equal what rclpy makes of the same bytes, field types included."""
    from rclpy.serialization import deserialize_message, serialize_message

    from mb_contact.ros.embedded.cdr import Decoder, layout
    from mb_contact.ros.rclpy_backend import message_class

    packages = {"JointState": "sensor_msgs", "TFMessage": "tf2_msgs", "DiagnosticStatus": "diagnostic_msgs"}
    packages |= {"WrenchStamped": "geometry_msgs", "Clock": "rosgraph_msgs"}
    type_name = f"{packages.get(name, 'std_msgs')}/msg/{name}"
    message = message_class(type_name)()
    if name == "JointState":
        message.name, message.position, message.header.frame_id = ["a", "b"], [1.0, 2.0], "run 1"
    elif name == "Float64MultiArray":
        message.data, dimension = [1.0] * 5, message_class("std_msgs/msg/MultiArrayDimension")
        message.layout.dim = [dimension(label="rows", size=5, stride=5)]
    elif name == "TFMessage":
        message.transforms = [message_class("geometry_msgs/msg/TransformStamped")() for _ in range(2)]
    elif name == "DiagnosticStatus":
        message.values = [message_class("diagnostic_msgs/msg/KeyValue")(key="key", value="value")]
    kind, rng = type(message), np.random.default_rng(2)
    decode = Decoder(type_name, lambda data: deserialize_message(data, kind), lambda m: bytes(serialize_message(m)))
    data = bytes(serialize_message(message))
    places, _ = layout(message, type_name)
    for _ in range(10):
        got, want = decode(data), deserialize_message(data, kind)
        assert got == want and repr(got) == repr(want)
        patched = bytearray(data)
        for offset, dtype, count in places.values():
            values = rng.integers(0, 2, 1 if count is None else count).astype(dtype)  # a bool has one bit
            patched[offset : offset + values.nbytes] = values.tobytes()
        data = bytes(patched)
    assert decode._fixed is not None
    assert bytes(serialize_message(got)) == bytes(serialize_message(want))  # rclpy takes it as its own
    if name == "JointState":
        got.name = ["c"]  # the properties work
        got.position = [3.0]
        assert got.position[0] == 3.0 and decode(data).name == ["a", "b"]


def test_malformed_bytes_are_counted_and_told_on_rclpy():
    """What does not fit its type passes nobody by: the other messages of the same turn are handed over."""
    from mb_contact.ros.rclpy_turns import taken

    class Silent(SimpleNamespace):
        def warning(self, text, **_):
            told.append(text)

    def of(data, stamp):
        waiting = [(data, {"source_timestamp": stamp})]
        handle = contextlib.nullcontext()
        handle.take_message = lambda *_: waiting.pop() if waiting else None
        more = {"msg_type": str, "raw": False, "tap": None, "topic_name": "t", "decode": int}
        return SimpleNamespace(handle=handle, callback=data, **more)

    told, node = [], SimpleNamespace(undecodable=0, get_logger=lambda: Silent())
    batch = taken(node, [of(b"2", 20), of(b"x", 5), of(b"1", 10)])
    assert batch == [(b"1", 1), (b"2", 2)] and node.undecodable == 1 and "cannot decode a str on t" in told[0]


def test_a_node_that_leaves_waits_for_its_last_messages(monkeypatch):
    """rclpy forgets what has not arrived: the last command of a controller, where the simulator is busy."""
    from rclpy.publisher import Publisher

    from mb_contact.ros import create_node

    asked = []
    monkeypatch.setattr(Publisher, "wait_for_all_acked", lambda self, timeout: asked.append((self.topic_name, timeout)))
    node = create_node("leaving", "rclpy")
    node.create_publisher("std_msgs/msg/String", "last_words", 10)
    node.destroy_node()
    waits = {topic: timeout.nanoseconds for topic, timeout in asked}
    assert 0 < waits["/last_words"] <= 5e8
