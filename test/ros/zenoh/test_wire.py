# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The wire zenoh: rmw_zenoh's texts and bytes, routers that die, late joiners, two robots, a plain session.

Covers ros/embedded/wires.py, ros/embedded/zenoh/*.py.
"""

from __future__ import annotations

import pytest

zenoh = pytest.importorskip("zenoh", reason="no eclipse-zenoh here: pip install eclipse-zenoh")

import ros.contract as contract  # noqa: E402
from mb_contact.errors import CommunicationError  # noqa: E402
from mb_contact.ros.embedded.messages import message_class, serialize, service_hash, type_hash, wire_type  # noqa: E402
from mb_contact.ros.embedded.wires import chosen_wire  # noqa: E402
from mb_contact.ros.embedded.zenoh import keys  # noqa: E402
from mb_contact.ros.embedded.zenoh.link import Context  # noqa: E402
from mb_contact.ros.embedded.zenoh.router import attempts, configuration, open_router, stays_here  # noqa: E402
from mb_contact.ros.qos import LATCHED, QoS  # noqa: E402
from ros.asking import set_parameters  # noqa: E402
from ros.fake_simulator import FakeSimulator  # noqa: E402
from ros.support import JOINT_STATE, TRIGGER, Session, at_port, free_port, wait_until  # noqa: E402

STRING = "std_msgs/msg/String"
KINDS = {"in": keys.SUBSCRIPTION, "out": keys.PUBLISHER}


# --- texts and bytes ------------------------------------------------------------------------------
def test_hashes_of_services_are_those_of_rosidl():
    """As other programs of rmw_zenoh have printed them."""
    assert service_hash(TRIGGER) == "RIHS01_eeff2cd6fa5ad9d27cdf4dec64818317839b62f212a91e6b5304b634b2062c5f"


def test_keys_and_tokens_are_those_of_rmw_zenoh():
    hashed = "RIHS01_df668c740482bbd48fb39d76a70dfd4bd59db1288021743503259e948f6b1a18"
    key = keys.key_expression(2, "/chatter", STRING, hashed)
    assert key == f"2/chatter/std_msgs::msg::dds_::String_/{hashed}" and type_hash(STRING) == hashed
    place = keys.Place(2, "aac3178e146ba6f1fc6e6a4085e77f21", 0, "/deep/er", "talker")
    about = "/chatter", wire_type(STRING), hashed, keys.qos_text(QoS(10))
    begin = "@ros2_lv/2/aac3178e146ba6f1fc6e6a4085e77f21/0"
    assert place.token(0, keys.NODE) == f"{begin}/0/NN/%/%deep%er/talker"
    token = place.token(10, keys.PUBLISHER, *about)
    assert token == f"{begin}/10/MP/%/%deep%er/talker/%chatter/std_msgs::msg::dds_::String_/{hashed}/::,10:,:,:,,"
    found = keys.endpoint(token)
    assert found.match == (keys.PUBLISHER, "/chatter", STRING, hashed) and found.node == "/deep/er/talker"
    assert found.reliable and not found.latched
    assert keys.qos_text(QoS(1, reliable=False, latched=True, keep_all=True)) == "2:1:2,1:,:,:,,"
    assert keys.endpoint(place.token(0, keys.NODE)) is None and keys.endpoint("nonsense") is None


def test_attachments_are_those_of_rmw_zenoh():
    """Two little-endian 64-bit integers, and 16 bytes behind their number."""
    data = keys.attachment(7, bytes(range(16)))
    assert data[:8] == b"\7" + bytes(7) and data[16:] == b"\x10" + bytes(range(16)) and len(data) == 33
    sequence, stamp, gid = keys.attached(zenoh.ZBytes(data))
    assert (sequence, gid) == (7, bytes(range(16))) and stamp > 1_700_000_000_000_000_000
    for broken in (None, zenoh.ZBytes(b""), zenoh.ZBytes(data[:-1]), zenoh.ZBytes(data[:16] + b"\x08" + data[17:])):
        with pytest.raises(CommunicationError, match="number"):
            keys.attached(broken)


# --- configuration --------------------------------------------------------------------------------
def test_which_wire():
    assert chosen_wire("zenoh", {}) == "zenoh" and chosen_wire("auto", {"MB_CONTACT_ROS_WIRE": "dds"}) == "dds"
    assert chosen_wire("auto", {"RMW_IMPLEMENTATION": "rmw_zenoh_cpp"}) == "zenoh"
    with pytest.raises(CommunicationError, match="must be one of auto, dds, zenoh"):
        chosen_wire("pigeon")


def test_configuration_is_that_of_rmw_zenoh_on_this_machine_alone():
    settings = configuration({})
    assert settings.get_json("connect/endpoints") == '["tcp/localhost:7447"]' and settings.get_json("mode") == '"peer"'
    assert stays_here(settings)
    opened = configuration({"ZENOH_CONFIG_OVERRIDE": 'listen/endpoints=["tcp/[::]:0"];mode="client"'})
    assert opened.get_json("mode") == '"client"' and not stays_here(opened)
    with pytest.raises(CommunicationError, match="ZENOH_CONFIG_OVERRIDE"):
        configuration({"ZENOH_CONFIG_OVERRIDE": "mode=nonsense"})
    assert attempts({}) is None and attempts({"ZENOH_ROUTER_CHECK_ATTEMPTS": "-1"}) == -1
    with pytest.raises(CommunicationError, match="whole number"):
        attempts({"ZENOH_ROUTER_CHECK_ATTEMPTS": "often"})


def test_a_router_that_is_waited_for_in_vain_is_told():
    env = at_port(free_port()) | {"ZENOH_ROUTER_CHECK_ATTEMPTS": "1"}
    with pytest.raises(CommunicationError, match="no Zenoh router after 1 attempts"), Session(**env) as ros:
        ros.peer()


# --- processes ------------------------------------------------------------------------------------
def text(words):
    return message_class(STRING)(data=words)


def test_a_router_that_dies_and_comes_back():
    """Peers that have met go on without one; who comes then is met once it is back."""
    port = free_port()
    router = open_router(port)
    with Session(**at_port(port), ZENOH_ROUTER_CHECK_ATTEMPTS="-1") as ros:
        ros.simulator("--joints", "2")
        peer = ros.peer()
        peer.listen("joint_states")
        peer.next_messages("joint_states", 2)
        router.close()
        peer.next_messages("joint_states", 20)
        assert peer.call("/mb_contact/pause", "std_srvs/srv/SetBool", data=False).success
        ros.simulator("--joints", "2", "--name", "late", "--namespace", "second")
        peer.listen("/second/joint_states")
        router = open_router(port)
        try:
            peer.next_messages("/second/joint_states", 2)
            peer.next_messages("joint_states", 2)
        finally:
            router.close()


def test_every_reader_hears_what_a_latched_topic_keeps():
    """Also where it comes while the reader is being made, by the thread that spins."""
    with Session(**at_port(free_port())) as ros:
        ros.simulator("--joints", "2")
        peer = ros.peer()
        assert peer.call("/mb_contact/pause", "std_srvs/srv/SetBool", data=False).success
        for _ in range(30):
            run = peer.listen("/run", "std_msgs/msg/UInt64", LATCHED)
            peer.until(lambda run=run: run, 5.0)


def test_late_joiners_two_robots_and_the_end_of_one():
    with Session(**at_port(free_port())) as ros:
        robots = {name: ros.simulator("--joints", "2", "--namespace", name) for name in ("left", "right")}
        peer = ros.peer()
        for name in robots:
            assert peer.call(f"/{name}/mb_contact/pause", "std_srvs/srv/SetBool", data=False).success
            run = peer.listen(f"/{name}/run", "std_msgs/msg/UInt64", LATCHED)
            peer.until(lambda run=run: run)  # was sent long ago
            peer.listen(f"/{name}/joint_states")
            peer.next_messages(f"/{name}/joint_states", 2)
        robots["left"].signal()
        assert robots["left"].wait() == 0
        graph = peer.node.context.graph
        wait_until(lambda: not graph.of(keys.PUBLISHER, "/left/joint_states"), "farewell of the left robot", 5.0)
        peer.next_messages("/right/joint_states", 5)


def test_a_plain_zenoh_session_hears_and_commands():
    """With nothing of this package but the bytes of the message: another program's way."""
    port = free_port()
    with Session(**at_port(port)) as ros, ros.running(FakeSimulator(2)):
        settings = configuration(ros.env)
        with zenoh.open(settings) as session:
            heard = session.declare_subscriber(f"{ros.domain}/joint_states/**", zenoh.handlers.FifoChannel(1000))
            sample = heard.recv()
            assert sample.attachment is not None and b"joint" in sample.payload.to_bytes()
            tokens = [str(reply.ok.key_expr) for reply in session.liveliness().get(f"@ros2_lv/{ros.domain}/**")]
            services = {keys.endpoint(token).name for token in tokens if "/SS/" in token}
            assert {"/sim/reset", "/sim/pause", "/sim/set_parameters"} <= services
            key = keys.key_expression(ros.domain, "/sim/reset", TRIGGER, service_hash(TRIGGER))
            request = serialize(message_class(f"{TRIGGER}_Request")(), f"{TRIGGER}_Request")
            (reply,) = session.get(key, payload=request, attachment=keys.attachment(1, bytes(16)))
            assert keys.attached(reply.ok.attachment)[0] == 1 and reply.ok.payload.to_bytes()[4] == 1
            peer = ros.peer()
            told = peer.listen("/diagnostics", "diagnostic_msgs/msg/DiagnosticArray")
            key = keys.key_expression(ros.domain, "/joint_commands", JOINT_STATE, type_hash(JOINT_STATE))
            command = serialize(peer.joint_command(["joint_0", "joint_1"], [1.0, 2.0]), JOINT_STATE)
            session.put(key, command, attachment=keys.attachment(1, bytes(16)))
            peer.until(lambda: told and accepted(told[-1]) == 1)


def accepted(diagnostics):
    return next(int(value.value) for value in diagnostics.status[0].values if value.key == "accepted_commands")


# --- the contract's table -------------------------------------------------------------------------
@pytest.fixture(scope="module")
def cell(tmp_path_factory):
    """(peer, domain): the node of the contract on Zenoh."""
    scene = contract.write_scene(tmp_path_factory.mktemp("scene"))
    with Session(**at_port(free_port())) as ros:
        ros.node(scene, *contract.ARGUMENTS)
        peer = ros.peer()
        for topic in contract.OUT:
            peer.listen(topic.name, topic.type, QoS(50, reliable=topic.reliable, latched=topic.latched))
        peer.until(lambda: len(peer.received["/cell/joint_states"]) > 20)
        yield peer


def test_the_table_is_all_there_is(cell):
    """Every topic and service of the contract, its type, hash and quality of service, and no other."""
    own = cell.node.link.place.session
    wanted = {
        (KINDS[t.way], t.name, t.type, type_hash(t.type), t.reliable, t.latched) for t in contract.TOPICS
    } | {(keys.SERVER, s.name, s.type, service_hash(s.type), True, False) for s in contract.SERVICES}

    def found():
        ends = list(cell.node.context.graph.endpoints.values())
        return {(*end.match, end.reliable, end.latched) for end in ends if end.session != own}

    wait_until(lambda: wanted <= found(), "the table")
    assert found() == wanted


def test_every_topic_speaks_and_every_service_answers(cell):
    speaking = [topic.name for topic in contract.OUT if not topic.asked]
    assert all(result.successful for result in set_parameters(cell, marker_rate=20.0))
    cell.until(lambda: all(cell.received[name] for name in speaking))
    for service in contract.SERVICES:
        if service.type.startswith("rcl_interfaces/") or service.type == "simulation_interfaces/srv/GetEntities":
            assert cell.call(service.name, service.type) is not None


def test_a_context_that_cannot_open_a_session_says_so():
    with pytest.raises(CommunicationError, match="cannot open a Zenoh session"):
        Context(0, at_port(1) | {"ZENOH_CONFIG_OVERRIDE": 'mode="client";connect/endpoints=["tcp/127.0.0.1:1"]',
                                 "ZENOH_ROUTER_CHECK_ATTEMPTS": "-1"}, None)  # fmt: skip


def test_messages_of_one_topic_reach_two_subscriptions_of_a_node():
    with Session(**at_port(free_port())) as ros:
        peer = ros.peer()
        first, second = [], []
        peer.node.create_subscription(JOINT_STATE, "states", first.append, QoS(10))
        peer.node.create_subscription(JOINT_STATE, "states", second.append, QoS(10))
        publisher = peer.publisher("states")
        message = message_class(JOINT_STATE)(name=["a"])
        peer.send_until(publisher, message, lambda: len(first) > 3 and len(second) > 3)
        assert abs(len(first) - len(second)) <= 1
