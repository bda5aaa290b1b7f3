# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Samples in the order in which they were written, and when a thread that waits for them sleeps.

Covers ros/embedded/dds/waitset.py.
"""

import threading
import time

import pytest

pytest.importorskip("cyclonedds")

from mb_contact.ros import QoS, create_node
from mb_contact.ros.embedded import waiting
from mb_contact.ros.embedded.dds import raw as dds_raw
from ros.support import on_dds, wait_until

pytestmark = on_dds

UINT = "std_msgs/msg/UInt64"


@pytest.fixture
def ends(monkeypatch):
    """A node, a port of it with two readers, and the publishers of their topics."""
    monkeypatch.setenv("ROS_DOMAIN_ID", "95")
    node = create_node("waits", "embedded")
    port, heard = node.create_port(), []
    for topic in ("first", "second"):
        port.create_subscription(UINT, topic, lambda message, topic=topic: heard.append((topic, message.data)), QoS(10))
    publishers = {topic: node.create_publisher(UINT, topic, QoS(10)) for topic in ("first", "second")}
    wait_until(lambda: all(p.get_subscription_count() for p in publishers.values()), "discovery")

    def send(topic, number):
        """Readers of the same participant have it when this returns."""
        message = node.message_type(UINT)()
        message.data = number
        publishers[topic].publish(message)

    yield port, heard, send
    node.destroy_node()


def until(port, heard, count):
    """Spin until so many messages have come."""
    deadline = time.monotonic() + 10.0
    while len(heard) < count and time.monotonic() < deadline:
        port.spin_once(0.1)


def test_messages_come_in_the_order_in_which_they_were_written(ends):
    """Across topics, whichever reader is looked at first."""
    port, heard, send = ends
    written = [("second", 1), ("first", 2), ("first", 3), ("second", 4), ("first", 5)]
    for topic, number in written:
        send(topic, number)
    until(port, heard, len(written))
    assert heard == written


def test_what_was_written_before_a_taken_sample_is_taken_with_it(ends, monkeypatch):
    """What comes while readers are looked at: 'second' has 1 when 'first' was looked at already and gets 2 after."""
    port, heard, send = ends
    send("first", 1)
    take, sent = dds_raw.take, []

    def taking(reader, limit):
        samples = take(reader, limit)
        if not sent:  # the first look is over: these two come while it goes on
            sent.append(True)
            send("second", 2)
            send("first", 3)
        return samples

    monkeypatch.setattr(dds_raw, "take", taking)
    port.spin_once(1.0)
    assert heard == [("first", 1), ("second", 2), ("first", 3)]


def test_a_flood_does_not_keep_a_thread_for_ever(ends, monkeypatch):
    """A reader that never runs empty is looked at a few times, then what has come is handed over."""
    port, heard, send = ends
    send("first", 0)
    take = dds_raw.take

    def taking(reader, limit):
        samples = take(reader, limit)
        send("first", len(heard))
        return samples

    monkeypatch.setattr(dds_raw, "take", taking)
    port.spin_once(1.0)
    assert 2 <= len(heard) <= 10


def looks(monkeypatch):
    """The seconds of each look at a wait set from now on."""
    seconds, wait = [], dds_raw.wait
    monkeypatch.setattr(dds_raw, "wait", lambda *arguments: seconds.append(arguments[1]) or wait(*arguments))
    return seconds


def test_a_thread_looks_on_where_samples_come_quickly_and_sleeps_where_not(ends, monkeypatch):
    """After a quick answer it looks for the next one without sleeping; a wait that is long makes it sleep at once."""
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 10.0)
    monkeypatch.setattr(waiting, "_CROWDED", 10.0)  # whatever else runs here
    port, heard, send = ends
    port._alone = False  # as with two cores
    send("first", 1)
    until(port, heard, 1)
    seconds = looks(monkeypatch)
    threading.Timer(0.02, send, ("first", 2)).start()
    port.spin_once(10.0)
    assert heard[-1] == ("first", 2) and max(seconds) == 0.0 and len(seconds) > 3  # it has not slept
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.02)
    port.spin_once(0.3)  # nothing comes: it looks on, then sleeps
    assert len(seconds) > 3 and max(seconds) > 0.0
    seconds.clear()
    port.spin_once(0.2)
    assert len(seconds) == 2 and seconds[0] == 0.0 < seconds[1]  # one look, one sleep


def test_a_thread_whose_core_others_take_sleeps_and_looks_more_rarely(ends, monkeypatch):
    """Each time that others have had the core, twice as many waits pass without looking on, and one."""
    monkeypatch.setattr(waiting, "LOOK_SECONDS", 0.1)
    monkeypatch.setattr(waiting.os, "sched_yield", lambda: time.sleep(0.001))
    port, _, _ = ends
    port._alone, seconds, looked = False, looks(monkeypatch), []
    for _ in range(12):
        port._quick = True  # as after a quick answer
        seconds.clear()
        port.spin_once(0.05)
        looked.append(len(seconds) == 3)  # at once, once more, asleep
        assert len(seconds) in (2, 3)
    assert [i for i, on in enumerate(looked) if on] == [0, 2, 6]


def test_on_a_single_core_nobody_looks_on(ends, monkeypatch):
    """Who looked would keep from its core whom it waits for."""
    port, heard, send = ends
    port._alone = True
    send("first", 1)
    until(port, heard, 1)
    seconds = looks(monkeypatch)
    port.spin_once(0.05)
    assert len(seconds) == 2


def test_a_wait_is_ended_from_another_thread(ends):
    """Also where nothing has come."""
    port, _, _ = ends
    timer = threading.Timer(0.05, port.wake)
    begun = time.monotonic()
    timer.start()
    assert port.samples(10.0) == ([], True)
    assert time.monotonic() - begun < 5.0
