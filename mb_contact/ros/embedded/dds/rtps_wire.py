# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The messages of RTPS 2.2 (OMG DDSI-RTPS) that requests and answers need, as bytes.

Little-endian, which every sender of today's machines is; what says that it is not, is left alone.
"""

import socket
import struct
from collections.abc import Iterable, Iterator, Mapping

ACKNACK, HEARTBEAT, GAP, INFO_TS, INFO_DST, NACK_FRAG, DATA, DATA_FRAG = 6, 7, 8, 9, 14, 18, 21, 22
FINAL = 2  #: of ACKNACK and HEARTBEAT: no answer is needed
_ENDIAN, _QOS, _DATA, _KEY = 1, 2, 4, 8
PARAMETERS = b"\x00\x03\x00\x00"  #: encapsulation of a list of parameters
END = b"\x01\x00\x00\x00"
FRAGMENT = 60_000  #: bytes of a sample in one packet
LARGEST = 16 << 20  #: bytes of a sample that is put together
STATUS, KEY = 0x71, 0x70  #: parameters: what has become of an instance, and of which
IDENTITIES = (0x83, 0x800F)  #: related sample identity, in RTPS's standard and as eProsima numbers it


def parameter(number: int, value: bytes) -> bytes:
    """One parameter, padded."""
    value += b"\0" * (-len(value) % 4)
    return struct.pack("<HH", number, len(value)) + value


def text(value: str) -> bytes:
    """A string as CDR has it."""
    data = value.encode() + b"\0"
    return struct.pack("<I", len(data)) + data


def locator(address: str, port: int) -> bytes:
    """An UDP port."""
    return struct.pack("<iI12x", 1, port) + socket.inet_aton(address)


def parameters(data: bytes) -> tuple[dict[int, list[bytes]], int]:
    """The parameters of a list, by number, and where the list ends."""
    found: dict[int, list[bytes]] = {}
    at = 0
    while True:
        number, size = struct.unpack_from("<HH", data, at)
        at += 4
        if number == 1:
            return found, at
        found.setdefault(number, []).append(data[at : at + size])
        at += size


def string(value: bytes) -> str:
    """What :func:`text` wrote."""
    return value[4 : 3 + struct.unpack_from("<I", value)[0]].decode()


def addresses(found: Mapping[int, list[bytes]], number: int) -> list[tuple[str, int]]:
    """The UDP ports among a participant's locators."""
    values = [(struct.unpack_from("<iI", value), value[20:24]) for value in found.get(number, ())]
    return [(socket.inet_ntoa(address), port) for (kind, port), address in values if kind == 1]


def sequence(number: int) -> bytes:
    """A sequence number."""
    return struct.pack("<iI", number >> 32, number & 0xFFFFFFFF)


def sequence_at(data: bytes, at: int) -> int:
    """What :func:`sequence` wrote."""
    high, low = struct.unpack_from("<iI", data, at)
    return (high << 32) + low


def submessage(kind: int, body: bytes, flags: int = 0) -> bytes:
    """A submessage with its head."""
    body += b"\0" * (-len(body) % 4)
    return struct.pack("<BBH", kind, flags | _ENDIAN, len(body)) + body


def sample(reader: bytes, writer: bytes, number: int, payload: bytes, qos: bytes = b"", key: bool = False) -> list:
    """A sample as one DATA or several DATA_FRAG; with ``key`` the payload is that of what has gone."""
    flags, ends = (_QOS if qos else 0), reader + writer + sequence(number)
    if len(payload) <= FRAGMENT:
        body = struct.pack("<HH", 0, 16) + ends + qos + payload
        return [submessage(DATA, body, flags | (_KEY if key else _DATA))]
    pieces = []
    for index, at in enumerate(range(0, len(payload), FRAGMENT), 1):
        place = struct.pack("<IHHI", index, 1, FRAGMENT, len(payload))
        piece = struct.pack("<HH", 0, 28) + ends + place + qos + payload[at : at + FRAGMENT]
        pieces.append(submessage(DATA_FRAG, piece, flags))
    return pieces


def numbers(base: int, missing: Iterable[int]) -> bytes:
    """A set of sequence numbers from ``base`` on, of 256 at most."""
    bits = [number - base for number in missing if number - base < 256]
    words = [0] * ((max(bits) // 32 + 1) if bits else 0)
    for bit in bits:
        words[bit // 32] |= 1 << (31 - bit % 32)
    size = max(bits) + 1 if bits else 0
    return sequence(base) + struct.pack(f"<I{len(words)}I", size, *words)


def numbers_at(data: bytes, at: int) -> tuple[int, list[int]]:
    """The base of a set of sequence numbers, and those in it."""
    (size,) = struct.unpack_from("<I", data, at + 8)
    words = struct.unpack_from(f"<{(min(size, 256) + 31) // 32}I", data, at + 12)
    base = sequence_at(data, at)
    return base, [base + i for i in range(min(size, 256)) if words[i // 32] >> (31 - i % 32) & 1]


def submessages(packet: bytes) -> Iterator[tuple[int, int, bytes]]:
    """Kind, flags and body of each."""
    at = 20
    while at + 4 <= len(packet):
        kind, flags, size = struct.unpack_from("<BBH", packet, at)
        end = at + 4 + size if size or kind in (1, INFO_TS) else len(packet)  # a size of 0: up to the end
        if flags & _ENDIAN:
            yield kind, flags, packet[at + 4 : end]
        at = end


def sample_at(kind: int, flags: int, body: bytes) -> tuple[int, bytes, bytes, tuple[int, int, int, int] | None]:
    """Sequence number, list of parameters and payload of DATA or DATA_FRAG, and of the latter its place."""
    at = 4 + struct.unpack_from("<H", body, 2)[0]
    qos = b""
    if flags & _QOS:
        _, size = parameters(body[at:])
        qos, at = body[at : at + size], at + size
    place = struct.unpack_from("<IHHI", body, 20) if kind == DATA_FRAG else None
    if kind == DATA and not flags & (_DATA | _KEY):
        return sequence_at(body, 12), qos, b"", None
    return sequence_at(body, 12), qos, body[at:], place
