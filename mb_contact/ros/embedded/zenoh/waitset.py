# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which sources of one thread have something: told by Zenoh's threads, waited for by the one that spins."""

from __future__ import annotations

import threading
from typing import Any


class WaitSet:
    """Sources with something to take; see :class:`mb_contact.ros.embedded.waiting.Waiter` for who waits."""

    def __init__(self) -> None:
        self._ready: dict[Any, None] = {}  # each once, in the order in which they were told of
        self._woken = False
        self._event = threading.Event()

    def attach(self, source: Any) -> None:
        """Wait for a source too; from any thread."""
        source.end.tells = self._tell_of(source)
        if source.end.queue:
            source.end.tells()

    def _tell_of(self, source):
        def tell():
            self._ready[source] = None
            self._event.set()

        return tell

    def detach(self, source: Any) -> None:
        """Wait for it no more."""
        source.end.tells = lambda: None
        self._ready.pop(source, None)

    def wake(self) -> None:
        """End a wait, from any thread."""
        self._woken = True
        self._event.set()

    def calm(self) -> None:
        """Whoever woke has been heard."""
        self._woken = False

    def wait(self, seconds: float) -> list[Any]:
        """Sources that have something, after so many seconds at most; None among them where somebody woke."""
        if seconds > 0.0 and not self._ready and not self._woken:
            self._event.wait(seconds)
        self._event.clear()  # before the look: what is told of from here on ends the next wait
        return [*list(self._ready), *([None] if self._woken else [])]

    def take(self, source: Any) -> list[tuple[bytes, int, Any]]:
        """Everything that a source has: bytes, source time [ns], and who sent it."""
        self._ready.pop(source, None)
        return source.end.take()

    def close(self) -> None:
        """Nobody waits any more."""
        self._ready = {}
