# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which sockets a node opens, and from where they can be reached: asked of the kernel.

Covers ros/embedded/dds/rtps_sockets.py.
"""

from __future__ import annotations

import ctypes
import os
import socket
import struct
import sys

import pytest

pytest.importorskip("cyclonedds")

from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.dds.confinement import attach, only_own, open_sockets
from ros.support import Session, free_domain, on_dds, wait_until

pytestmark = on_dds

_GET_FILTER, _LIFETIME = 26, socket.IP_MULTICAST_TTL


def udp_sockets():
    """{descriptor: (address, its packet filter, lifetime of its multicasts)} of all UDP sockets of this process."""
    found = {}
    for descriptor in open_sockets():
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            if copy.type == socket.SOCK_DGRAM and copy.family == socket.AF_INET:
                length = ctypes.c_uint32(100)  # in lines of the filter, not in bytes
                lines = (ctypes.c_uint64 * length.value)()
                libc = ctypes.CDLL(None, use_errno=True)
                libc.getsockopt(copy.fileno(), socket.SOL_SOCKET, _GET_FILTER, lines, ctypes.byref(length))
                program = bytes(lines)[: 8 * length.value]
                found[descriptor] = copy.getsockname()[0], program, copy.getsockopt(socket.IPPROTO_IP, _LIFETIME)
    return found


def node(**variables):
    return EmbeddedNode("confined", environment={"ROS_DOMAIN_ID": str(free_domain()), **variables})


def test_a_node_is_reached_from_this_machine_alone_by_default():
    before = set(udp_sockets())
    confined = node()
    try:
        opened = [entry for number, entry in udp_sockets().items() if number not in before]
        assert opened and confined.context.confined is True
        assert all(address.startswith("127.") or program == only_own() for address, program, _ in opened), opened
        sending = [lifetime for address, _, lifetime in opened if address != "0.0.0.0"]
        assert sending and not any(sending)  # no multicast leaves the machine
    finally:
        confined.destroy_node()


def test_the_filter_lets_pass_what_this_machine_sends_itself_and_nothing_else():
    """A filter for another interface than that over which packets come: as if they came from the network."""
    own = only_own()
    foreign = own.replace(struct.pack("I", socket.if_nametoindex("lo")), struct.pack("I", 10**6), 1)
    for program, passes in ((own, True), (foreign, False)):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
            receiver.bind(("127.0.0.1", 0))
            attach(receiver, program)
            with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
                sender.sendto(b"x", receiver.getsockname())  # over loopback: it is there, or dropped, at once
            receiver.setblocking(False)
            if passes:
                assert receiver.recv(10) == b"x"
            else:
                with pytest.raises(BlockingIOError):
                    receiver.recv(10)


@pytest.mark.parametrize("elsewhere", ["", "LOCALHOST", "SUBNET", "SYSTEM_DEFAULT"])
@pytest.mark.parametrize("first", ["ours", "theirs"])
def test_a_node_here_meets_a_ros_2_here_whatever_that_looks_for(elsewhere, first):
    """The other is a Cyclone DDS that looks for others in the network too, as ROS 2 does by default."""
    with Session() as ros:
        ours, theirs = ros.env, {**ros.env, **({"ROS_AUTOMATIC_DISCOVERY_RANGE": elsewhere} if elsewhere else {})}
        script = "from mb_contact.ros import create_node; n = create_node('theirs', 'embedded'); print('up')"
        script += """
p = n.create_publisher('std_msgs/msg/String', 'talk', 10)
while not p.get_subscription_count(): n.spin_once(0.1)
print('met', flush=True)"""

        def other():
            ros.env = theirs
            process = ros.process(sys.executable, "-u", "-c", script)
            process.wait_for("up")
            ros.env = ours
            return process

        process = other() if first == "theirs" else None
        peer = ros.peer()
        heard = peer.node.create_subscription("std_msgs/msg/String", "talk", lambda _: None, 10)
        process = process or other()
        process.wait_for("met")
        wait_until(lambda: heard.get_publisher_count() == 1, "publisher")


@pytest.mark.parametrize(
    "variables",
    [{"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT"}, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
     "ROS_STATIC_PEERS": "192.0.2.77"}],
)  # fmt: skip
def test_a_node_that_is_meant_for_the_network_is_not_confined(variables):
    before = set(udp_sockets())
    open_to_all = node(**variables)
    try:
        opened = [entry for number, entry in udp_sockets().items() if number not in before]
        assert open_to_all.context.confined is None
        assert any(address == "0.0.0.0" and not program for address, program, _ in opened), opened
    finally:
        open_to_all.destroy_node()


def test_the_wheel_knows_no_dds_security():
    """Else docs/ros_security.md has to say how to use it."""
    from cyclonedds.core import DDSException
    from cyclonedds.domain import Domain

    plain, secure = (f"<CycloneDDS><Domain>{part}</Domain></CycloneDDS>" for part in ("", "<Security/>"))
    Domain(free_domain(), plain).__del__()
    with pytest.raises(DDSException):
        Domain(free_domain(), secure)
