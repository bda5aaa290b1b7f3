# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Endpoints come and go on the physics thread while the executor waits for them, retires them and takes messages.

Covers ros/embedded/dds/link.py, ros/embedded/dds/raw.py, ros/embedded/dds/topics.py.
"""

import sys
import threading

import pytest

pytest.importorskip("cyclonedds")

from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.dds import raw as dds_raw
from mb_contact.ros.qos import QoS
from ros.support import TRIGGER, Session, on_dds, wait_until

pytestmark = on_dds

KIND, ROUNDS = "std_msgs/msg/UInt64", 600


@pytest.fixture
def restless():
    """Threads take turns as often as possible."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_endpoints_come_and_go_beside_the_thread_that_waits(restless):
    node, ended, errors, got = EmbeddedNode("changing", environment=Session().env), threading.Event(), [], []

    def spin():
        while not ended.is_set():
            try:
                node.spin_once(0.01)
            except Exception as error:
                errors.append(error)

    thread = threading.Thread(target=spin)
    thread.start()
    try:
        message, living = node.message_type(KIND)(), []
        for count in range(ROUNDS):
            topic = f"number_{count % 3}"
            living.append((node.create_subscription(KIND, topic, got.append, QoS(10)),
                           node.create_publisher(KIND, topic, QoS(10))))  # fmt: skip
            living[-1][1].publish(message)
            if len(living) > 2:
                subscription, publisher = living.pop(0)
                node.destroy_subscription(subscription)
                node.destroy_publisher(publisher)
        got.clear()
        living[-1][1].publish(message)
        wait_until(lambda: got, "message of the last pair")
    finally:
        ended.set()
        thread.join()
        node.destroy_node()
    assert not errors


def test_an_answer_that_nobody_takes_is_told(monkeypatch, capfd):
    with Session() as ros:
        served = ros.peer("server")
        served.node.create_service(TRIGGER, "ask", lambda request, response: response)
        client = ros.peer("client").node.create_client(TRIGGER, "ask")
        assert client.wait_for_service(30.0)
        send, told = dds_raw.write, []

        def write(writer, data):
            if "Reply" not in writer.topic.name:
                return send(writer, data)
            told.append(writer.topic.name)
            return False

        monkeypatch.setattr(dds_raw, "write", write)
        future = client.call_async(client.Request())
        wait_until(lambda: told, "an answer")
        assert not future.wait(0.1)
        wait_until(lambda: "an answer of /ask is lost" in capfd.readouterr().err, "warning")


def test_a_client_that_comes_while_clients_are_counted_is_no_error():
    """The wheel raised IndexError where it had counted one writer less than it listed: the executor ended of it."""
    session = Session()
    node, other = (EmbeddedNode(name, environment=session.env) for name in ("serving", "asking"))
    try:
        service = node.create_service(TRIGGER, "ask", lambda request, response: response)
        clients = [other.create_client(TRIGGER, "ask") for _ in range(2)]
        wait_until(lambda: len(service.end.reader.get_matched_publications()) == len(clients), "two clients")
        ask, asked = service.end.reader._get_matched_publications, []

        def count_late(endpoint, room, size):
            asked.append(size)
            return ask(endpoint, room, size) - (len(asked) == 1)

        service.end.reader._get_matched_publications = count_late
        assert node.foreign_clients() == [] and asked == [0, 1, 0, 2]
    finally:
        node.destroy_node()
        other.destroy_node()
