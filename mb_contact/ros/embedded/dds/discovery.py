# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which ROS 2 graph to join: the environment's variables as a Cyclone DDS configuration.

| variable | meaning |
|---|---|
| ``ROS_DOMAIN_ID`` | 0 (default) to 232; it opens nothing |
| ``ROS_AUTOMATIC_DISCOVERY_RANGE`` | LOCALHOST (default here), SUBNET, OFF, SYSTEM_DEFAULT |
| ``ROS_STATIC_PEERS`` | addresses separated by ``;`` |
| ``CYCLONEDDS_URI`` | used alone, or after the range when that is set too |

Without any of them the node stays on this machine: nobody on the network may move a robot by
default.  It meets every ROS 2 here, those that are told to stay here and those that look for others in
the network, ROS's default: it announces itself on the loopback interface and, with packets that may not leave
the machine (their time to live is 0), on the interface that these look at; and it takes in nothing that comes
from elsewhere (:mod:`mb_contact.ros.embedded.dds.confinement`).

Whatever they say, endpoints of Fast DDS are matched by the names of their types alone: Fast DDS 3
(ROS 2 Kilted and later) describes types that hold a sequence in a way that Cyclone DDS refuses.
"""

import fcntl
import os
import socket
import struct
from collections.abc import Mapping
from typing import Any
from xml.sax.saxutils import quoteattr

from mb_contact.errors import CommunicationError

RANGES = ("LOCALHOST", "SUBNET", "OFF", "SYSTEM_DEFAULT")
_LOOPBACK = '<Interfaces><NetworkInterface address="127.0.0.1" multicast="true"/>'
_NETWORK = '<NetworkInterface autodetermine="true"/>'
_HERE = "</Interfaces><AllowMulticast>spdp</AllowMulticast><MulticastTimeToLive>0</MulticastTimeToLive>"
_FLAGS, _ADDRESS = 0x8913, 0x8915  #: SIOCGIFFLAGS, SIOCGIFADDR of Linux
_UP, _LOCAL, _PAIR, _MULTICAST = 0x1, 0x8, 0x10, 0x1000
_FAST_DDS = "<Compatibility><IgnoreTypeInformation>1.15</IgnoreTypeInformation></Compatibility>"  #: its vendor's number
_BEGINNING = f"<CycloneDDS><Domain>{_FAST_DDS}"
_LOOPBACK_ONLY = f"{_BEGINNING}<General>{_LOOPBACK}"


def domain_configuration(environment: Mapping[str, str] | None = None) -> Any:
    """Return the Cyclone DDS configuration of this environment: fragments and addresses of files, separated by commas.

    What the user brings comes last, and so counts where it says something else.

    Raises
    ------
    CommunicationError
        Unknown discovery range.
    """
    environment = environment if environment is not None else os.environ
    uri = environment.get("CYCLONEDDS_URI", "")
    selected = discovery_range(environment)
    peers = [p.strip() for p in environment.get("ROS_STATIC_PEERS", "").split(";") if p.strip()]
    return ",".join(filter(None, (_range_xml(selected, peers), uri)))


def discovery_range(environment: Mapping[str, str] | None = None) -> str:
    """Return which of :data:`RANGES` the environment asks for.

    Raises
    ------
    CommunicationError
        Another one.
    """
    environment = environment if environment is not None else os.environ
    explicit = environment.get("ROS_AUTOMATIC_DISCOVERY_RANGE", "").strip().upper()
    if not explicit and environment.get("ROS_LOCALHOST_ONLY") == "1":
        explicit = "LOCALHOST"
    selected = explicit or ("SYSTEM_DEFAULT" if environment.get("CYCLONEDDS_URI") else "LOCALHOST")
    if selected not in RANGES:
        raise CommunicationError(
            f"ROS_AUTOMATIC_DISCOVERY_RANGE is '{selected}'; it must be one of {', '.join(RANGES)}"
        )
    return selected


def stays_here(configuration: str) -> bool:
    """Whether a configuration of this module is of loopback alone."""
    return configuration.startswith(_LOOPBACK_ONLY)


def _range_xml(selected, peers):
    if selected == "SYSTEM_DEFAULT":
        return f"{_BEGINNING}</Domain></CycloneDDS>"
    general, discovery = "", "<ParticipantIndex>auto</ParticipantIndex>"
    discovery += "<MaxAutoParticipantIndex>60</MaxAutoParticipantIndex>"
    if selected == "LOCALHOST":
        if all(_is_loopback(peer) for peer in peers):
            general += f"{_LOOPBACK}{_NETWORK if _has_network() else ''}{_HERE}"
        else:  # the peers need the other interfaces
            general += "<AllowMulticast>false</AllowMulticast>"
        peers = ["127.0.0.1", *peers]
    elif selected == "OFF":
        general += "<AllowMulticast>false</AllowMulticast>"
        discovery = f"<ParticipantIndex>none</ParticipantIndex><Tag>ros_discovery_off_{os.getpid()}</Tag>"
        peers = []
    if peers:
        discovery += "<Peers>" + "".join(f"<Peer address={quoteattr(p)}/>" for p in peers) + "</Peers>"
    return (
        f"{_BEGINNING}<General>{general}</General>"
        f"<Discovery>{discovery}</Discovery>"
        # by default a writer that closes waits 1 s for each reader that was killed and owes acknowledgements
        "<Internal><WriterLingerDuration>100ms</WriterLingerDuration></Internal></Domain></CycloneDDS>"
    )


def _has_network():
    """Whether this machine has an interface that a ROS 2 looks for others at, beside loopback."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            asked = struct.pack("16s24x", name.encode())
            try:
                (flags,) = struct.unpack_from("H", fcntl.ioctl(probe, _FLAGS, asked), 16)
                fcntl.ioctl(probe, _ADDRESS, asked)
            except OSError:  # no address there
                continue
            if flags & (_UP | _LOCAL | _PAIR | _MULTICAST) == _UP | _MULTICAST:
                return True
    return False


def _is_loopback(peer):
    return peer == "localhost" or peer.startswith("127.")
