# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which sockets a node opens, and from where they can be reached: asked of the kernel."""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

import pytest

pytest.importorskip("cyclonedds", reason="no cyclonedds wheel here: the embedded backend cannot run")

from mb_contact.ros.embedded.backend import EmbeddedNode
from mb_contact.ros.embedded.confinement import open_sockets
from ros.support import free_domain


def udp_sockets():
    """(address, port, device that it is bound to) of all UDP sockets of this process."""
    found = []
    for descriptor in open_sockets():
        with socket.socket(fileno=os.dup(descriptor)) as copy:
            if copy.type == socket.SOCK_DGRAM and copy.family == socket.AF_INET:
                device = copy.getsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, 16).rstrip(b"\0").decode()
                found.append((*copy.getsockname(), device))
    return found


def multicast_groups():
    """Groups that this machine's interfaces have joined."""
    lines = Path("/proc/net/igmp").read_text().splitlines()[1:]
    return {socket.inet_ntoa(struct.pack("<I", int(line.split()[0], 16))) for line in lines if line.startswith("\t\t")}


def node(**variables):
    return EmbeddedNode("confined", environment={"ROS_DOMAIN_ID": str(free_domain()), **variables})


def test_a_node_is_reached_from_this_machine_alone_by_default():
    before, groups = set(udp_sockets()), multicast_groups()
    confined = node()
    try:
        opened = set(udp_sockets()) - before
        assert opened and confined.context.confined is True
        assert all(address.startswith("127.") or device == "lo" for address, _, device in opened), opened
        assert multicast_groups() == groups
    finally:
        confined.destroy_node()


@pytest.mark.parametrize(
    "variables",
    [{"ROS_AUTOMATIC_DISCOVERY_RANGE": "SYSTEM_DEFAULT"}, {"ROS_AUTOMATIC_DISCOVERY_RANGE": "LOCALHOST",
     "ROS_STATIC_PEERS": "192.0.2.77"}],
)  # fmt: skip
def test_a_node_that_is_meant_for_the_network_is_not_confined(variables):
    before = set(udp_sockets())
    open_to_all = node(**variables)
    try:
        opened = set(udp_sockets()) - before
        assert open_to_all.context.confined is None
        assert any(address == "0.0.0.0" and device == "" for address, _, device in opened), opened
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
