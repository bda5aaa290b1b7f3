# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Services to and from Fast DDS: an RTPS participant that has nothing but a node's requests and answers.

rmw_fastrtps knows which answer is whose by RTPS's own sample identity: an answer names, in a parameter beside its
data, the client and the sequence number of the request.  Cyclone DDS's wheel tells no reader these numbers and
sends no such parameter, so these endpoints speak RTPS themselves.  Fast DDS's participants alone learn of them: who
uses rmw_cyclonedds goes on with Cyclone's.  Every reader is served by itself: what it has not acknowledged yet is
kept for it, and sent again.
"""

import contextlib
import os
import select
import socket
import struct
import threading
import time
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.dds import raw as dds_raw, rtps_wire as wire
from mb_contact.ros.embedded.dds.rtps_sockets import GROUP, STEP, address_for, multicast, unicast
from mb_contact.ros.embedded.dds.rtps_streams import Incoming, Outgoing, Peer

FAST_DDS = b"\x01\x0f"  #: RTPS number of the vendor
_FIRST, _DOMAIN = 7400, 250  #: ports: first, and more per domain
_KNOCKED = 64  #: participants that are told of a new one
_LEASE, _RENEW, _REPEAT = 20.0, 3.0, 0.05  #: seconds: we are there, we say so, we ask for acknowledgements
_EARLY = 100  #: answers at most that wait for a client's reader to be announced
_PARTICIPANTS = b"\0\x01\0\xc2", b"\0\x01\0\xc7"  #: writer and reader of each announcement
_WRITERS, _READERS = (b"\0\0\x03\xc2", b"\0\0\x03\xc7"), (b"\0\0\x04\xc2", b"\0\0\x04\xc7")
_HEAD = b"RTPS\x02\x02\0\0"  #: version, and no vendor's number
_READING = 0x04, 0x07  #: what the number of a reader ends with, without a key and with one
_ASKING = dict((_WRITERS, _READERS))  #: our reader by their writer
_SELF = b"\0\0\x01\xc1"


class Participant:
    """Requests from Fast DDS and the answers to them, and the same the other way round.

    Parameters
    ----------
    domain : int
    confined : bool
        Whether to stay on this machine: then nothing but loopback reaches the ports.

    Raises
    ------
    CommunicationError
        No port is free.
    """

    def __init__(self, domain: int, confined: bool) -> None:
        self._prefix = b"\0\0" + os.urandom(10)
        self._confined, self._closed = confined, False
        self._services: list[Any] = []
        self._peers: dict[bytes, Peer] = {}
        self._lock = threading.RLock()
        base = _FIRST + _DOMAIN * domain
        self._socket, self.port = unicast(base + 10, confined)
        self._group = multicast(base, confined)
        self._wake, self._woken = socket.socketpair()
        self._renewed = self._repeated = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._knock(base)

    # --- sockets ------------------------------------------------------------------------------
    def _send(self, peer, pieces, places):
        """Submessages to one participant, in packets that UDP takes."""
        head = _HEAD + self._prefix + wire.submessage(wire.INFO_DST, peer.prefix)
        packet = head
        for piece in [*pieces, b""]:
            if len(packet) > len(head) and (not piece or len(packet) + len(piece) > wire.FRAGMENT):
                for place in places:
                    with contextlib.suppress(OSError):  # it is asked for again
                        self._socket.sendto(packet, place)
                packet = head
            packet += piece

    def _run(self):
        sockets = [s for s in (self._socket, self._group, self._woken) if s is not None]
        while not self._closed:
            with self._lock:
                busy = any(out.kept for peer in self._peers.values() for out in peer.outgoing.values())
            ready, _, _ = select.select(sockets, [], [], _REPEAT if busy else 0.5)
            for here in ready:
                packet, (*origin, _) = here.recvfrom(1 << 16) if here is not self._woken else (here.recv(64), ("", 0))
                with self._lock:
                    try:
                        self._receive(packet, origin[0])
                    except (struct.error, IndexError, UnicodeDecodeError):  # malformed
                        continue
            with self._lock:
                self._keep_up(time.monotonic())
        for here in (*sockets, self._wake):
            here.close()

    def _keep_up(self, now):
        """Announce what has to be, ask again, forget who is gone."""
        for prefix in [prefix for prefix, peer in self._peers.items() if now > peer.expires]:
            del self._peers[prefix]
        if now > self._renewed + _RENEW:
            self._renewed = now
            for peer in self._peers.values():
                self._announce(peer)
        if now > self._repeated + _REPEAT:
            self._repeated = now
            for peer in self._peers.values():
                if not peer.met:
                    self._announce(peer)
                for (_, writer), out in peer.outgoing.items():
                    if out.kept:
                        self._send(peer, [out.heartbeat()], self._places(peer, writer))

    @staticmethod
    def _places(peer, writer):
        return peer.meta if writer[3] & 0xC0 == 0xC0 else peer.user

    # --- discovery ----------------------------------------------------------------------------
    def serve(self, service: Any) -> None:
        """Announce a service or a client: an object with ``ends``, of what comes in and of what goes out, and ``take``.

        A client ``calls``, and is told of all answers on its topic, with the number of the request that each names.
        """
        with self._lock:
            for end, kind in zip(service.ends, (0x04, 0x03)):
                end.id = struct.pack(">I", len(self._services) + 1 << 8 | kind)
            self._services.append(service)
            for peer in self._peers.values():
                self._tell_of(peer, service)
                for entity in peer.ends:
                    self._match(peer, service, entity)

    def _announce(self, peer):
        """This participant to a peer."""
        pieces = wire.sample(*_PARTICIPANTS[::-1], 1, self._about(self._prefix, peer.meta[0], _LEASE, 0x3F))
        self._send(peer, pieces, peer.meta)

    def _about(self, prefix, place, lease, builtin):
        """What a participant tells of itself to that place."""
        where = wire.locator(address_for(place, self._confined), self.port)
        return b"".join((
            wire.PARAMETERS, wire.parameter(0x15, b"\2\2"), wire.parameter(0x16, b"\0\0"),
            wire.parameter(0x50, prefix + _SELF), wire.parameter(0x32, where), wire.parameter(0x31, where),
            wire.parameter(0x02, struct.pack("<iI", int(lease), 0)), wire.parameter(0x58, struct.pack("<I", builtin)),
            wire.parameter(0x2C, struct.pack("<I", 11) + b"enclave=/;\0"), wire.END,
        ))  # fmt: skip

    def _knock(self, base):
        """Have clients that were there before announce themselves now, and not when their 3 s are over.

        They do so to anybody new.  Cyclone's participants hear this too, so it is said by another one, which has
        nothing to offer and is forgotten after a second.
        """
        places = [("127.0.0.1", base + 10 + STEP * index) for index in range(_KNOCKED)]
        places = [place for place in places if place[1] != self.port] + ([] if self._confined else [(GROUP, base)])
        prefix = b"\0\0" + os.urandom(10)
        pieces = wire.sample(*_PARTICIPANTS[::-1], 1, self._about(prefix, places[-1], 1, 3))
        for place in places:
            with contextlib.suppress(OSError):
                self._socket.sendto(_HEAD + prefix + pieces[0], place)

    def _leave(self, peer):
        guid = self._prefix + _SELF
        qos = wire.parameter(wire.STATUS, b"\0\0\0\3") + wire.parameter(wire.KEY, guid) + wire.END
        payload = wire.PARAMETERS + wire.parameter(0x50, guid) + wire.END
        self._send(peer, wire.sample(*_PARTICIPANTS[::-1], 2, payload, qos, key=True), peer.meta)

    def _meet(self, prefix, found, origin):
        """A participant has announced itself, for the first time or again."""
        lease = struct.unpack_from("<iI", found.get(0x02, [b"\x14\0\0\0\0\0\0\0"])[0])[0]
        peer = self._peers.get(prefix)
        if peer is None:
            meta, user = (wire.addresses(found, number) for number in (0x32, 0x31))
            meta, user = ([place for place in all_ if place[0] == origin] or all_ for all_ in (meta, user))
            if not meta or found.get(0x16, [b""])[0][:2] != FAST_DDS:
                return
            peer = self._peers[prefix] = Peer(prefix, meta, user or meta)
            self._announce(peer)
            for writer, reader in (_WRITERS, _READERS):
                peer.outgoing[reader, writer] = Outgoing(reader, writer)
                self._ask(peer, writer, reader)
            for service in self._services:
                self._tell_of(peer, service)
        peer.expires = time.monotonic() + min(max(lease, 1), 3600)

    def _tell_of(self, peer, service):
        """A service's reader, one more that takes nothing, and its writer, in this order.

        rmw_fastrtps takes a service for ready where its readers are as many as its writers.  Cyclone's end of it has
        one reader and two writers: requests are sent once these two readers are there as well, and none before.
        """
        inner, outer = service.ends
        spare = bytes((0x80,)) + inner.id[1:]
        about = ((_READERS, inner, inner.id, 2), (_READERS, inner, spare, 1), (_WRITERS, outer, outer.id, 2))
        for (writer, reader), end, number, reliability in about[:: 1 + service.calls]:
            guid = self._prefix + number
            payload = b"".join((
                wire.PARAMETERS, wire.parameter(0x5A, guid), wire.parameter(0x50, self._prefix + _SELF),
                wire.parameter(0x05, wire.text(end.topic)), wire.parameter(0x07, wire.text(end.type)),
                wire.parameter(wire.KEY, guid), wire.parameter(0x15, b"\2\2"), wire.parameter(0x16, b"\0\0"),
                wire.parameter(0x1A, struct.pack("<IiI", reliability, 0, 429496729)),
                wire.parameter(0x1D, b"\0\0\0\0"), wire.parameter(0x2C, wire.text(f"typehash={end.hash};")), wire.END,
            ))  # fmt: skip
            out = peer.outgoing[reader, writer]
            self._send(peer, [*out.add(payload), out.heartbeat()], peer.meta)

    def _on_endpoint(self, peer, is_writer, payload, qos):
        """A peer's writer or reader comes, or goes."""
        found, _ = wire.parameters(payload[4:])
        entity = (found.get(0x5A) or found[wire.KEY])[0][12:16]
        if wire.STATUS in wire.parameters(qos + wire.END)[0]:  # gone
            for known in (peer.ends, peer.writers, peer.incoming):
                known.pop(entity, None)
            peer.outgoing = {ends: out for ends, out in peer.outgoing.items() if ends[0] != entity}
        elif entity not in peer.ends:
            peer.ends[entity] = is_writer, *(wire.string(found[number][0]) for number in (0x05, 0x07))
            for service in self._services:
                self._match(peer, service, entity)

    def _match(self, peer, service, entity):
        """Whether a peer's writer is of what comes in for a service or a client, or its reader of what goes out."""
        is_writer, *meant = peer.ends[entity]
        inner, outer = service.ends
        if is_writer and meant == [inner.topic, inner.type]:
            peer.writers.setdefault(entity, []).append(service)
            self._ask(peer, entity, inner.id)
        if not is_writer and meant == [outer.topic, outer.type]:
            out = peer.outgoing.setdefault((entity, outer.id), Outgoing(entity, outer.id))
            early = [waiting for waiting in peer.early if waiting[0] is service]
            peer.early = [waiting for waiting in peer.early if waiting[0] is not service]
            pieces = [piece for _, payload, qos in early for piece in out.add(payload, qos)]
            self._send(peer, [*pieces, out.heartbeat()], peer.user)

    # --- samples ------------------------------------------------------------------------------
    def _receive(self, packet, origin):
        if packet[:4] != b"RTPS" or packet[6:8] != FAST_DDS:
            return
        prefix, meant = packet[8:20], True
        for kind, flags, body in wire.submessages(packet):
            if kind == wire.INFO_DST:
                meant = body[:12] in (self._prefix, bytes(12))
            elif meant:
                self._on_submessage(prefix, kind, flags, body, origin)

    def _on_submessage(self, prefix, kind, flags, body, origin):
        peer = self._peers.get(prefix)
        if kind in (wire.DATA, wire.DATA_FRAG):
            if body[8:12] == _PARTICIPANTS[0]:
                self._on_participant(prefix, flags, body, origin)
            elif peer is not None:
                self._on_sample(peer, kind, flags, body)
        elif peer is not None and kind == wire.HEARTBEAT and body[4:8] in peer.incoming:
            stream = peer.incoming[body[4:8]]
            stream.skip(wire.sequence_at(body, 8), [])
            missing = stream.missing(wire.sequence_at(body, 16))
            if missing or not flags & wire.FINAL:
                own = [service.ends[0].id for service in peer.writers.get(body[4:8], ())]
                for reader in [_ASKING[body[4:8]]] if body[4:8] in _ASKING else own:
                    self._ask(peer, body[4:8], reader, missing)
        elif peer is not None and kind == wire.GAP and body[4:8] in peer.incoming:
            base, others = wire.numbers_at(body, 16)
            stream = peer.incoming[body[4:8]]
            start = wire.sequence_at(body, 8)
            stream.skip(base if start <= stream.next else 0, others)
        elif peer is not None and kind in (wire.ACKNACK, wire.NACK_FRAG):
            self._on_question(peer, kind, body)

    def _on_question(self, peer, kind, body):
        """A reader has acknowledged, and asks for others, or for fragments of one."""
        out = peer.outgoing.get((body[:4], body[4:8]))
        if out is None:
            return
        peer.met = True
        if kind == wire.ACKNACK:
            base, wanted = wire.numbers_at(body, 8)
            out.acknowledged(base)
        else:
            wanted = [wire.sequence_at(body, 8)]
        again = [piece for number in wanted for piece in out.kept.get(number, ())]
        if again:
            self._send(peer, [*again, out.heartbeat()], self._places(peer, body[4:8]))

    def _on_participant(self, prefix, flags, body, origin):
        _, qos, payload, _ = wire.sample_at(wire.DATA, flags, body)
        if wire.STATUS in wire.parameters(qos + wire.END)[0]:
            self._peers.pop(prefix, None)
        else:
            self._meet(prefix, wire.parameters(payload[4:])[0], origin)

    def _on_sample(self, peer, kind, flags, body):
        writer = body[8:12]
        stream = peer.incoming.get(writer)
        if stream is None:
            return
        number, qos, payload, place = wire.sample_at(kind, flags, body)
        whole = payload if place is None else stream.joined(number, payload, place)
        if whole is None or not stream.is_new(number):
            return
        if writer in (_WRITERS[0], _READERS[0]):
            self._on_endpoint(peer, writer == _WRITERS[0], whole, qos)
            return
        found = wire.parameters(qos + wire.END)[0]
        given = next((found[name][0] for name in wire.IDENTITIES if name in found), bytes(24))
        client = given[:16] if any(given[:16]) else peer.prefix + writer
        for service in peer.writers[writer]:
            if not service.calls:
                service.take(whole, (peer.prefix, client + wire.sequence(number)))
            elif given[:16] == self._prefix + service.ends[0].id:
                service.take(whole, (peer.prefix, given[16:]))

    def _ask(self, peer, writer, reader, missing=()):
        """Acknowledge what is there of a remote writer, and ask for what is not."""
        stream = peer.incoming.setdefault(writer, Incoming())
        stream.count += 1
        body = reader + writer + wire.numbers(stream.next, missing) + struct.pack("<i", stream.count)
        piece = wire.submessage(wire.ACKNACK, body, 0 if missing or stream.count == 1 else wire.FINAL)
        self._send(peer, [piece], self._places(peer, writer))

    def _servers(self, client):
        """Peers with both ends of a service that a client calls, and what goes to its reader."""
        for peer in self._peers.values():
            if any(client in clients for clients in peer.writers.values()):
                outs = (out for (_, writer), out in peer.outgoing.items() if writer == client.ends[1].id)
                yield from ((peer, out) for out in outs)

    def reaches(self, client: Any) -> bool:
        """Whether there is a server for a client."""
        with self._lock:
            return any(self._servers(client))

    def call(self, client: Any, payload: bytes, asks: Callable[[tuple[bytes, bytes]], Any]) -> None:
        """Send a request, from any thread; before that ``asks`` is told with what identity its answer will come."""
        asking = self._prefix + client.ends[0].id + struct.pack("<iI", -1, 0)  # whose number only the sample knows
        qos = b"".join(wire.parameter(number, asking) for number in wire.IDENTITIES) + wire.END
        with self._lock:
            for peer, out in self._servers(client):
                pieces = out.add(payload, qos)
                asks((peer.prefix, wire.sequence(out.last)))
                self._send(peer, [*pieces, out.heartbeat()], peer.user)
                break

    def answer(self, service: Any, identity: tuple[bytes, bytes], payload: bytes) -> None:
        """Send an answer to the client of a request; from any thread."""
        prefix, asked = identity
        qos = b"".join(wire.parameter(number, asked) for number in wire.IDENTITIES) + wire.END
        with self._lock:
            peer = self._peers.get(prefix)
            if peer is None:
                return
            own = service.ends[1].id
            readers = {asked[12:16]} if asked[15] in _READING else {reader for reader, _ in peer.outgoing}
            outs = [out for (reader, writer), out in peer.outgoing.items() if reader in readers and writer == own]
            if not outs and len(peer.early) < _EARLY:
                peer.early.append((service, payload, qos))
            for out in outs:
                self._send(peer, [*out.add(payload, qos), out.heartbeat()], peer.user)

    def close(self) -> None:
        """Leave; clients see it at once."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            for peer in self._peers.values():
                self._leave(peer)
        self._wake.send(b"\0")
        if threading.current_thread() is not self._thread:
            self._thread.join()


def join(domain: int, selected: str, logger: Any) -> Participant | None:
    """The :class:`Participant` of a node in this range of discovery; None with OFF, or where no port is free."""
    try:
        participant = None if selected == "OFF" else Participant(domain, selected != "SUBNET")
    except CommunicationError as error:
        logger.warning(str(error))
        return None
    if participant is not None:
        dds_raw.hush()  # from now on: Cyclone's readers may hear a request before the participant meets its sender
    return participant
