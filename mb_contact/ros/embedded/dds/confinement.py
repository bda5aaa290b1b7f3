# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sockets that only this machine can reach.

Cyclone DDS tells its neighbours what addresses it can be reached at, but its receiving sockets listen on all
addresses: a forged packet from the network (one that says it comes from 127.0.0.1) is taken for a peer's.  With a
filter on each of them the kernel drops what a network interface has received; what this machine sends to itself, be it
by its address in the network or to a multicast group there, passes.
"""

import ctypes
import os
import socket
import struct

FIRST_PORT = 7400  #: of RTPS
_ATTACH_FILTER = 26  #: SO_ATTACH_FILTER of Linux
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06  #: of the kernel's packet filters
_INTERFACE, _KIND = 0xFFFFF008, 0xFFFFF004  #: where they find the interface and the kind of a packet
_OWN = 5  #: PACKET_LOOPBACK: what came back of a multicast of our own


def open_sockets() -> set[int]:
    """Descriptors of this process that are sockets; none where the system does not tell."""
    found = set()
    for entry in os.listdir("/proc/self/fd") if os.path.isdir("/proc/self/fd") else ():
        try:
            if os.readlink(f"/proc/self/fd/{entry}").startswith("socket:"):
                found.add(int(entry))
        except OSError:  # closed meanwhile
            continue
    return found


def only_own() -> bytes:
    """The filter: what came in on the loopback interface, or is this machine's own multicast; nothing else."""
    loopback = socket.if_nametoindex("lo")
    program = (
        (_LOAD, 0, 0, _INTERFACE), (_EQUAL, 2, 0, loopback), (_LOAD, 0, 0, _KIND), (_EQUAL, 0, 1, _OWN),
        (_RETURN, 0, 0, 0xFFFFFFFF), (_RETURN, 0, 0, 0),
    )  # fmt: skip
    return b"".join(struct.pack("HBBI", *line) for line in program)


def confine(descriptors: set[int]) -> bool:
    """Put the filter on those of these sockets that the network could reach; whether all of them have it."""
    confined = bool(descriptors)
    for descriptor in descriptors:
        try:
            with socket.socket(fileno=os.dup(descriptor)) as copy:
                address, port = copy.getsockname()[:2] if copy.type == socket.SOCK_DGRAM else ("", 0)
                if port >= FIRST_PORT and not address.startswith("127."):
                    attach(copy, only_own())
        except (OSError, AttributeError):  # another system
            confined = False
    return confined


def attach(sock: socket.socket, program: bytes) -> None:
    """Put a filter on a socket."""
    lines = ctypes.create_string_buffer(program)
    sock.setsockopt(
        socket.SOL_SOCKET, _ATTACH_FILTER, struct.pack("HP", len(program) // 8, ctypes.addressof(lines))
    )
