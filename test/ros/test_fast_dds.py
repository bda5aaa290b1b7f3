# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The embedded node beside a stock rclpy on Fast DDS, ROS 2's default: both hear everything, and services answer.

rclpy comes from the wheels of this environment (``pip install ros-rclpy ros-common-interfaces ros-rmw-fastrtps-cpp``),
from a sourced ROS 2, or from the environment of the interpreter that MB_CONTACT_RCLPY names, of another distribution.

Covers ros/embedded/dds/rtps.py, ros/embedded/dds/rtps_streams.py, ros/embedded/dds/rtps_wire.py, ros/looks.py.
"""

from __future__ import annotations

import json
import os
import random
import socket
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds")

import mb_contact.ros.embedded.dds.rtps_wire as wire
import ros.contract as contract
from mb_contact.ros.embedded.dds.rtps import Participant
from mb_contact.ros.looks import LOOK_SECONDS
from paths import ROOT
from ros.asking import set_parameters
from ros.fake_simulator import FakeSimulator
from ros.support import COMPILING, RANGE, SET_BOOL, TIMEOUT, Session, installed_rmw, on_dds, wait_until

HERE = find_spec("rclpy") and installed_rmw("fastrtps")
RCLPY = os.environ.get("MB_CONTACT_RCLPY") or (sys.executable if HERE else None)
PEER = Path(__file__).with_name("plain_rclpy.py")
SILENT_THERE = ("ros_gz_interfaces", "moveit_msgs", "simulation_interfaces", "tf2_msgs")  #: may be lacking

pytestmark = [
    on_dds,
    pytest.mark.skipif(RCLPY is None, reason="no rclpy with rmw_fastrtps here: pip install the extra 'ros'"),
]


def rclpy_peer(ros, *arguments, **variables):
    given = [f"{name}={value}" for name, value in {"RMW_IMPLEMENTATION": "rmw_fastrtps_cpp", **variables}.items()]
    if sys.executable != RCLPY:  # not with the libraries of the wheels beside us
        given = ["-u", "_ROS_WHEELS_BOOTSTRAP_COMPLETE", "-u", "LD_LIBRARY_PATH", *given]
    return ros.process("env", *given, RCLPY, "-u", PEER, *arguments)


@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    """(session, process) of the contract's node, which simulates before any rclpy begins: all of them join late."""
    with Session(**RANGE) as ros:
        scene = contract.write_scene(tmp_path_factory.mktemp("scene"))
        yield ros, ros.node(scene, *contract.ARGUMENTS)


def test_every_topic_is_heard(cell):
    peer = rclpy_peer(cell[0], "listen")
    assert peer.wait() == 0, peer.output()
    heard = json.loads(peer.lines[-1])
    expected = {t.name for t in contract.OUT if not t.asked and not t.type.startswith(SILENT_THERE)}
    assert expected - {"/rosout", "/parameter_events"} <= set(heard) and min(heard.values()) > 0


def test_parameter_events_are_heard(cell):
    ros, _ = cell
    listener, peer = rclpy_peer(ros, "events"), ros.peer()
    events = peer.node.create_publisher("rcl_interfaces/msg/ParameterEvent", "/parameter_events", 10)
    listener.wait_for("listening")
    wait_until(lambda: events.get_subscription_count() >= 1, "the listener")

    def heard():  # the first events may be older than what listener and node know of each other
        set_parameters(peer, marker_rate=20.0)
        return '/cell/sim {"marker_rate": 20.0}' in listener.output()

    wait_until(heard, "the event")


@pytest.mark.parametrize("range_", ["LOCALHOST", "a text", "a file"])
def test_commands_act_and_a_restarted_node_is_met_again(tmp_path, range_):
    """Also where the user brings a configuration of Cyclone DDS, which knows nothing of Fast DDS."""
    general = '<General><Interfaces><NetworkInterface address="127.0.0.1"/></Interfaces></General>'
    peers = '<Discovery><ParticipantIndex>auto</ParticipantIndex><Peers><Peer address="127.0.0.1"/></Peers></Discovery>'
    text = f"<CycloneDDS><Domain>{general}{peers}</Domain></CycloneDDS>"
    file = tmp_path / "cyclone.xml"
    file.write_text(text)
    with Session(**RANGE) as ros:
        if range_ != "LOCALHOST":
            del ros.env["ROS_AUTOMATIC_DISCOVERY_RANGE"]
            ros.env["CYCLONEDDS_URI"] = text if range_ == "a text" else f"file://{file}"
        for effort in ("1.5", "2.5"):
            simulator = ros.simulator("--joints", "2")
            peer = rclpy_peer(ros, "command", "joint_1", effort, **RANGE)
            assert peer.wait() == 0 and peer.lines == [f"joint_1 has {effort}"], peer.output()
            simulator.popen.kill()
            simulator.wait()


def test_a_node_and_a_ros_2_meet_where_nobody_has_set_a_variable():
    """The first ``ros2 topic list`` beside the first node, whichever comes first."""
    with Session() as ros:
        early = rclpy_peer(ros, "topics")
        ros.simulator("--joints", "2")
        for peer in (early, rclpy_peer(ros, "topics")):
            peer.wait_for("sees /joint_states")


def test_lockstep_with_a_controller_on_fast_dds():
    with Session(**RANGE) as ros:
        simulator = ros.simulator("--lockstep", "--joints", "26", "--duration", "1")
        peer = rclpy_peer(ros, "answer", 1001)
        assert peer.wait() == 0, peer.output()
        assert json.loads(peer.lines[-1]) == {"states": 1001, "gaps": 0}
        assert simulator.wait() == 0, simulator.output()
        assert " 0 late;" in simulator.output() and " 0 lockstep timeouts" in simulator.output()


def test_services_are_answered_also_the_first_request_and_large_ones(cell):
    for _ in range(2):
        peer = rclpy_peer(cell[0], "call", "/cell/sim", 20)
        assert peer.wait(COMPILING) == 0, peer.output()
        assert json.loads(peer.lines[-1]) == [2000, True]
    assert "deserialization" not in cell[1].output()  # Cyclone DDS would warn of every request


@pytest.mark.skipif(RCLPY != sys.executable or not find_spec("simulation_interfaces"), reason="no messages of it")
def test_the_action_is_served():
    with Session(**RANGE) as ros:
        ros.node(ROOT / "config" / "box_on_table.yaml", "--ros-args", "-p", "start_paused:=true")
        peer = rclpy_peer(ros, "simulate")
        assert peer.wait(4 * TIMEOUT) == 0, peer.output()
        assert json.loads(peer.lines[-1]) == [1, 7, 4, 5]  # OK, feedback, SUCCEEDED, CANCELED


@pytest.mark.parametrize("first", ["client", "server"])
def test_a_server_on_fast_dds_is_called(first):
    """What it is asked for arrives as it was sent, each request once; answers larger than a packet come back."""
    with Session(**RANGE) as ros:
        peer, server = ros.peer(), None
        if first == "server":
            server = rclpy_peer(ros, "serve", 6)
            server.wait_for("serving")
        clients = [peer.node.create_client("std_srvs/srv/SetBool", "switch") for _ in range(2)]
        server = server or rclpy_peer(ros, "serve", 6)
        for data, client in zip((False, True, True, False, False, True), clients * 3):
            assert client.wait_for_service(TIMEOUT)
            future = client.call_async(client.Request(data=data))
            assert future.wait(TIMEOUT), server.output()
            answer = future.result()
            assert answer.success is data and len(answer.message) == (100_000 if data else 3)
        assert server.wait() == 0 and json.loads(server.lines[-1]) == [False, True, True, False, False, True]


def test_a_node_on_rclpy_is_called_by_the_embedded_backend():
    """And does not take its caller for one of a vendor that it cannot answer."""
    if RCLPY != sys.executable:
        pytest.skip("needs rclpy beside us")
    with Session(RMW_IMPLEMENTATION="rmw_fastrtps_cpp", **RANGE) as ros:
        node = ros.simulator("--joints", "2", backend="rclpy")
        del ros.env["RMW_IMPLEMENTATION"]  # a peer is of the embedded backend then
        peer = ros.peer()
        for data, told in ((True, "paused"), (False, "running")):
            assert peer.call("/mb_contact/pause", SET_BOOL, data=data).message == told
        time.sleep(LOOK_SECONDS + 0.5)
        node.signal()
        assert node.wait() == 0 and "waits in vain" not in node.output(), node.output()


def test_lost_packets_are_sent_again(monkeypatch):
    """A fifth of the packets in either direction, after a participant has been met."""
    chance, own = random.Random(0), {name: getattr(Participant, name) for name in ("_send", "_receive")}
    for name in own:

        def lossy(self, *arguments, name=name):
            if not any(peer.met for peer in self._peers.values()) or chance.random() > 0.2:
                own[name](self, *arguments)

        monkeypatch.setattr(Participant, name, lossy)
    with Session(**RANGE) as ros, ros.running(FakeSimulator(1)) as node:
        peer = rclpy_peer(ros, "call", "/sim", 1)
        assert peer.wait(COMPILING) == 0, peer.output()
        assert json.loads(peer.lines[-1]) == [2000, True] and node.node.foreign_clients() == []


def test_a_client_meets_a_service_that_was_started_again():
    with Session(**RANGE) as ros:
        peer = rclpy_peer(ros, "call", "/mb_contact", 3)
        for _ in range(2):
            simulator = ros.simulator("--joints", "2")
            assert peer.wait(COMPILING) == 0, peer.output()
            simulator.signal()
            assert simulator.wait() == 0
            peer = rclpy_peer(ros, "call", "/mb_contact", 3)


def test_malformed_packets_are_left_alone():
    """What a participant of Fast DDS would send, with bytes that are others; the next request is answered."""
    chance = random.Random(0)
    with Session(**RANGE) as ros, ros.running(FakeSimulator(1)) as node:
        port = node.node.link.fast_dds.port
        head = b"RTPS\x02\x03\x01\x0f" + bytes(range(12))
        where = wire.parameter(0x32, wire.locator("127.0.0.1", 9))
        about = wire.PARAMETERS + wire.parameter(0x16, b"\x01\x0f") + where + wire.END
        ends = b"\0\0\3\xc7", b"\0\0\3\xc2"
        pieces = [
            *wire.sample(b"\0\1\0\xc7", b"\0\1\0\xc2", 1, about),
            *wire.sample(*ends, 1, wire.PARAMETERS + wire.parameter(5, wire.text("rq/x"))),
            *wire.sample(*ends, 2, bytes(100_000)),
            wire.submessage(wire.HEARTBEAT, b"".join(ends) + wire.sequence(1) + wire.sequence(2**40) + bytes(4)),
            wire.submessage(wire.GAP, b"".join(ends) + wire.sequence(1) + wire.numbers(3, [5])),
            wire.submessage(wire.ACKNACK, b"".join(ends) + wire.numbers(1, [1, 2, 3]) + bytes(4)),
        ]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(head + pieces[0], ("127.0.0.1", port))
            for _ in range(6000):
                short, long = chance.sample(pieces[:2] + pieces[4:], 3), chance.choice(pieces[2:4])
                packet = bytearray(head + b"".join(short) + long)
                for _ in range(chance.randrange(4)):
                    packet[chance.randrange(20, len(packet))] = chance.randrange(256)
                sender.sendto(packet[: chance.randrange(20, len(packet) + 1)], ("127.0.0.1", port))
        peer = rclpy_peer(ros, "call", "/sim", 1)
        assert peer.wait(COMPILING) == 0, peer.output()
