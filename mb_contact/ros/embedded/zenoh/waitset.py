# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which sources of one thread have something: one queue that Zenoh's threads fill and the thread that spins empties.

What Zenoh's threads call is the queue's own ``put``, which is C: a function in Python would make them and the thread
that waits take the interpreter from each other, 50 microseconds each time.
"""

import contextlib
import queue
import threading
from typing import Any

import zenoh


class WaitSet:
    """Sources with something to take; see :class:`mb_contact.ros.embedded.waiting.Waiter` for who waits."""

    looks = False  #: who sleeps at the queue is woken sooner than who looks lets Zenoh's threads have the interpreter

    def __init__(self) -> None:
        self._queue: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._changing = threading.Lock()
        self._inboxes: dict[Any, Any] = {}  #: source by what tells whose something is; not changed in place
        self._ready: dict[Any, list[Any]] = {}
        self._woken = False

    def attach(self, source: Any) -> None:
        """Wait for a source too; from any thread."""
        inbox, put = source.end.inbox, self._queue.put
        with self._changing:
            taken = inbox in self._inboxes
            if not taken:
                self._inboxes = {**self._inboxes, inbox: source}
        # two of one topic: one is found by the key, the other one says whose it is
        source.end.open((lambda thing: put((source, thing))) if taken else put)

    def detach(self, source: Any) -> None:
        """Wait for it no more."""
        with self._changing:
            self._inboxes = {inbox: other for inbox, other in self._inboxes.items() if other is not source}
        self._ready.pop(source, None)

    def wake(self) -> None:
        """End a wait, from any thread."""
        self._woken = True
        self._queue.put(None)

    def calm(self) -> None:
        """Whoever woke has been heard."""
        self._woken = False

    def wait(self, seconds: float) -> list[Any]:
        """Sources that have something, after so many seconds at most; None among them where somebody woke."""
        with contextlib.suppress(queue.Empty):
            if seconds > 0.0 and not self._ready and not self._woken:
                self._sort(self._queue.get(timeout=seconds))
            for _ in range(self._queue.qsize()):
                self._sort(self._queue.get_nowait())
        return [*self._ready, *([None] if self._woken else [])]

    def _sort(self, thing):
        if isinstance(thing, tuple):
            source, thing = thing
        elif thing is not None:
            source = self._inboxes.get(_inbox(thing))
        if thing is not None and source is not None and not source.end.closed:
            source.end.keep(self._ready.setdefault(source, []), thing)

    def take(self, source: Any) -> list[tuple[bytes, int, Any]]:
        """Everything that a source has: bytes, source time [ns], and who sent it."""
        return source.end.taken(self._ready.pop(source, []))

    def close(self) -> None:
        """Nobody waits any more."""
        self._inboxes, self._ready = {}, {}


def _inbox(thing):
    """What tells whose a sample, a query or a reply is."""
    if not isinstance(thing, zenoh.Reply):
        return str(thing.key_expr)
    attachment = None if thing.ok is None else thing.ok.attachment
    return None if attachment is None else attachment.to_bytes()[-16:]  # the client's identifier
