# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A hostile program in the simulator's ROS domain: messages that a node must refuse, as fast as they go.

    python benchmarks/abuser.py COUNT [--joint NAME] [--push TOPIC] [--seed N] [--rate HZ]

sends COUNT messages to each of joint_commands, effort_commands and an external_wrench topic: wrong sizes, NaN and
infinity, unknown and repeated joints, huge names, text that is not UTF-8; and COUNT messages whose payload is no CDR
of the type, over DDS as forged RTPS packets in the name of a writer that the node knows.  Not one of them is a command
that may be obeyed.  Prints one JSON line with what was sent.
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import struct
import sys
import time

import numpy as np

from mb_contact.ros import QoS, create_node
from mb_contact.ros.embedded.messages import message_class, serialize
from mb_contact.ros.embedded.wires import chosen_wire

JOINT_STATE, ARRAY = "sensor_msgs/msg/JointState", "std_msgs/msg/Float64MultiArray"
WRENCH = "geometry_msgs/msg/WrenchStamped"
BAD_NUMBERS = (float("nan"), float("inf"), float("-inf"))
_DATA, _DATA_FLAGS = 0x15, 0x05  #: RTPS submessage DATA: little endian, with payload


def hostile_joint_commands(joint, chance):
    """Some JointState messages that must be rejected, as CDR bytes."""
    stamps = (0, 1, 2**31 - 1)
    for bad in BAD_NUMBERS:
        yield _joint_state([joint], [bad], chance.choice(stamps))
    yield _joint_state([joint], [], 0)
    yield _joint_state([joint], [1.0, 2.0], 0)
    yield _joint_state([], [1.0], 0)
    yield _joint_state([], [], 0)
    yield _joint_state([joint, joint], [1.0, 1.0], 0)
    yield _joint_state(["no_such_joint"], [1.0], 5)
    yield _joint_state([joint, ""], [1.0, 1.0], 0)
    yield _joint_state(["\u00e9\u4e2d" * 50], [1.0], 0)
    yield _joint_state(["x" * 60_000], [1.0], 0)
    yield _joint_state([f"j{i}" for i in range(2000)], [1.0] * 2000, 0)
    yield _joint_state([joint], [1.0], 0, position=[1.0, 2.0])
    yield _joint_state([joint], [1.0], 0, velocity=[0.0] * 3)
    yield _joint_state(["abcd"], [1.0], 0).replace(b"abcd", b"\xff\xfe\xc3\x28")  # not UTF-8


def _joint_state(names, efforts, second, position=(), velocity=()):
    message = message_class(JOINT_STATE)()
    message.name, message.effort = list(names), np.array(efforts, dtype=float)
    message.position, message.velocity = list(position), list(velocity)
    message.header.stamp.sec = second
    return serialize(message, JOINT_STATE)


def hostile_arrays(chance):
    """Some Float64MultiArray messages that must be rejected."""
    for data in ([], [1.0], [1.0] * 5000, [float("nan")] * 26, [float("inf")] * 3):
        for offset in (0, 1, 4_000_000_000):
            message = message_class(ARRAY)()
            message.data, message.layout.data_offset = data, offset
            yield serialize(message, ARRAY)
    for _ in range(5):
        message = message_class(ARRAY)()
        message.data = [chance.choice((0.0, *BAD_NUMBERS)) for _ in range(chance.randrange(40, 60))]
        yield serialize(message, ARRAY)


def hostile_wrenches():
    """Some WrenchStamped messages that must be rejected."""
    for field in ("force", "torque"):
        for axis in "xyz":
            for bad in (*BAD_NUMBERS, 1e300):
                yield _wrench("world", field, axis, bad)
    yield _wrench("elsewhere", "force", "x", 1.0)
    yield _wrench("f" * 60_000, "force", "x", 1.0)
    yield _wrench("abcd", "force", "x", 1.0).replace(b"abcd", b"\xff\xfe\xc3\x28")


def _wrench(frame, field, axis, value):
    message = message_class(WRENCH)()
    message.header.frame_id = frame
    setattr(getattr(message.wrench, field), axis, value)
    return serialize(message, WRENCH)


class Forger:
    """Sends RTPS packets in the name of a writer: the only way past the type check of our own DDS."""

    def __init__(self, publisher, domain):
        guid = publisher.end.writer.guid.bytes
        self._prefix, self._entity = guid[:12], guid[12:]
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        # the data ports of the first participants of this domain on this machine
        self._ports = [7400 + 250 * domain + 11 + 2 * index for index in range(6)]
        self._number = 0

    def send(self, payload):
        """Send serialized data, whatever it is, as the writer's next sample."""
        self._number += 1
        body = struct.pack("<HH4s4siI", 0, 16, b"\0" * 4, self._entity, 0, self._number) + payload
        body += b"\0" * (-len(body) % 4)
        packet = b"RTPS\x02\x01\x01\x10" + self._prefix + struct.pack("<BBH", _DATA, _DATA_FLAGS, len(body)) + body
        for port in self._ports:
            try:
                self._socket.sendto(packet, ("127.0.0.1", port))
            except OSError:  # nobody listens there
                pass


def forged_payloads(chance):
    """Bytes that are no CDR of any of our types."""
    header = b"\x00\x01\x00\x00"
    yield b""
    yield b"\x00"
    yield header
    yield header + b"\xff" * 8
    yield header + struct.pack("<iII", 1, 2, 0xFFFFFFFF)  # a string of four gigabytes
    yield header + struct.pack("<iIIB3xI", 0, 0, 1, 0, 0x7FFFFFFF)  # a sequence of two thousand million strings
    yield b"\x77\x88\x99\xaa" + b"\x01" * 40  # an unknown encapsulation
    yield b"\x00\x03\x00\x00" + b"\x01\x7f\xff\xff" * 10  # a parameter list
    for _ in range(40):
        yield header + chance.randbytes(chance.randrange(1, 1200))


def main(argv=None):
    """Send, and say what was sent."""
    parser = argparse.ArgumentParser()
    parser.add_argument("count", type=int, help="messages of each kind")
    parser.add_argument("--joint", default="joint_0", help="a joint that the robot has")
    parser.add_argument("--push", default="external_wrench/box", help="topic of pushes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--rate", type=float, default=0.0, help="messages of each kind a second; 0: as many as go")
    arguments = parser.parse_args(argv)
    chance = random.Random(arguments.seed)
    node = create_node("abuser", "embedded")
    topics = {
        "joint_commands": (JOINT_STATE, list(hostile_joint_commands(arguments.joint, chance))),
        "effort_commands": (ARRAY, list(hostile_arrays(chance))),
        arguments.push: (WRENCH, list(hostile_wrenches())),
    }
    publishers = {topic: node.create_publisher(kind, topic, QoS(10)) for topic, (kind, _) in topics.items()}
    liar = node.create_publisher(JOINT_STATE, "joint_commands", QoS(10))
    _wait_for(publishers["joint_commands"], liar)
    forger = Forger(liar, node.context.domain_id) if chosen_wire() == "dds" else None
    lies = list(forged_payloads(chance))
    print("attacking", flush=True)
    begun = time.monotonic()
    for number in range(arguments.count):
        for topic, (_, cases) in topics.items():
            data = cases[chance.randrange(len(cases))]
            publishers[topic].send(data.ljust((len(data) + 3) & ~3, b"\0"), len(data))
        lie = lies[number % len(lies)]
        if forger is not None:
            forger.send(lie)
        else:
            liar.send(lie, len(lie))
        if arguments.rate and number / arguments.rate > time.monotonic() - begun:
            time.sleep(number / arguments.rate - (time.monotonic() - begun))
    seconds = time.monotonic() - begun
    matched = {topic: publisher.get_subscription_count() for topic, publisher in publishers.items()}
    sent = {"count": arguments.count, "kinds": len(topics) + 1, "seconds": seconds, "matched": matched}
    print(json.dumps(sent), flush=True)
    node.destroy_node()
    return 0


def _wait_for(*publishers):
    end = time.monotonic() + 30.0
    while not all(publisher.get_subscription_count() for publisher in publishers):
        if time.monotonic() > end:
            raise SystemExit("no simulator in this ROS domain")
        time.sleep(0.01)


if __name__ == "__main__":
    sys.exit(main())
