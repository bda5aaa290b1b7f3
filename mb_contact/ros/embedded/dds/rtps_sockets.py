# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sockets of a participant of RTPS: its own port, and the group in which those in the network announce themselves."""

import contextlib
import socket
import struct

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.dds.confinement import attach, only_own

GROUP = "239.255.0.1"
STEP, MOST = 2, 100  #: between the ports of participants, and how many of them a domain has on one machine
_BUFFER = 4 << 20  #: bytes of a socket


def _udp(confined):
    made = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    if confined:  # nor does a multicast leave the machine
        made.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
    return made


def unicast(base: int, confined: bool) -> tuple[socket.socket, int]:
    """A socket on the first free port from ``base`` on, and the port.

    Raises
    ------
    CommunicationError
        No port is free.
    """
    here = _udp(confined)
    here.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _BUFFER)
    for port in range(base, base + STEP * MOST, STEP):
        try:
            here.bind(("127.0.0.1" if confined else "", port))
        except OSError:
            continue
        return here, port
    here.close()
    raise CommunicationError(f"no port for services to Fast DDS is free from {base} on: close other nodes")


def multicast(port: int, confined: bool) -> socket.socket | None:
    """Where participants that look for others in the network announce themselves; None where that cannot be heard."""
    group = _udp(confined)
    group.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        if confined:
            attach(group, only_own())
        group.bind((GROUP, port))
        for index, _ in socket.if_nameindex():
            membership = socket.inet_aton(GROUP) + struct.pack("4xi", index)
            with contextlib.suppress(OSError):  # no multicast there
                group.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, membership)
    except (OSError, AttributeError):  # who announces itself to this machine's ports is heard all the same
        group.close()
        return None
    return group


def address_for(peer: tuple[str, int], confined: bool) -> str:
    """The address here at which a peer reaches this."""
    if confined:
        return "127.0.0.1"
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.connect(peer)
        return str(probe.getsockname()[0])
