# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sockets that only this machine can reach.

Cyclone DDS sends on the loopback interface alone where it is told to, but its receiving sockets listen on all
addresses: a forged packet from the network (one that says it comes from 127.0.0.1) is taken for a peer's.  Bound to the
loopback device, the kernel drops what comes in elsewhere.
"""

import os
import socket

FIRST_PORT = 7400  #: of RTPS
_DEVICE = b"lo\0"


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


def confine(descriptors: set[int]) -> bool:
    """Bind those of these sockets that listen on all addresses to the loopback device; whether all of them are."""
    confined = bool(descriptors)
    for descriptor in descriptors:
        try:
            with socket.socket(fileno=os.dup(descriptor)) as copy:
                listens = copy.type == socket.SOCK_DGRAM and copy.getsockname()[0] == "0.0.0.0"
                if listens and copy.getsockname()[1] >= FIRST_PORT:
                    copy.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, _DEVICE)
        except (OSError, AttributeError):  # an old kernel that lets only root do it, another system
            confined = False
    return confined
