# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Waiting for samples: whoever waits looks for a moment before it sleeps.

Where a core sleeps, 20 to 40 microseconds pass until a thread goes on there, and the writer that wakes it pays 15 more:
a round trip of two processes takes 120 microseconds with threads that sleep and 20 with threads that look.  So a
thread whose samples have come quickly looks for the next ones, and gives way to others between two looks.  Where
others then take its core for long, two cores are not free for the two ends: it sleeps, and the more often that happens
the longer it leaves looking alone.
"""

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterable
from typing import Any

LOOK_SECONDS = 0.8e-3  #: that a thread looks before it sleeps, where samples came within that time before
_CROWDED = 150e-6  #: seconds between two looks after which others have had the core
_MOST_RESTS = 1024  #: waits at most that a thread sleeps at once after that
_ENDING = (signal.SIGINT, signal.SIGTERM)
_ROUNDS = 4  #: at each reader at most, at a time


class Waiter:
    """Sources that one thread waits for, and what they have, in the order in which it was written.

    Parameters
    ----------
    waitset : WaitSet
        Of a wire.

    Attributes
    ----------
    sources : list
        Objects with an ``end`` of the wire, ``ordered`` and ``handle``.
    """

    def __init__(self, waitset: Any) -> None:
        self._waitset = waitset
        self.sources: list[Any] = []
        self._order = itertools.count()
        self._attached = threading.Lock()
        self._alone = cores() < 2 or not waitset.looks  # who looks would keep the core from who answers
        self._quick, self._rests, self._resting = False, 0, 0

    def attach(self, source: Any) -> None:
        """Wait for a source too; from any thread."""
        with self._attached:
            self._waitset.attach(source)
            self.sources = [*self.sources, source]

    def detach(self, source: Any) -> None:
        """Wait for a source no more; on the thread that waits."""
        with self._attached:
            self._waitset.detach(source)
            self.sources = [other for other in self.sources if other is not source]

    def wake(self) -> None:
        """End a wait, from any thread."""
        self._waitset.wake()

    def samples(self, seconds: float) -> tuple[list[tuple[int, int, Any, bytes, int]], bool]:
        """Wait at most so long and take everything there is; whether :meth:`wake` was called too.

        Returns
        -------
        list of (source time [ns], number, source, CDR bytes, sender)
            In the order in which it was written.
        bool
        """
        ready = self._wait(seconds)
        woken = None in ready
        if woken:
            self._waitset.calm()
        return self._take([source for source in ready if source is not None]), woken

    def _wait(self, seconds):
        begun = time.perf_counter()
        ready, end = self._waitset.wait(0.0), begun + min(seconds, LOOK_SECONDS)
        if not ready and self._quick and not self._alone:
            ready = self._look_on(begun, end)
        if not ready and seconds > 0.0:
            ready = self._waitset.wait(seconds - (time.perf_counter() - begun))
        self._quick = bool(ready) and time.perf_counter() < end
        return ready

    def _look_on(self, now, end):
        """Look until ``end``, or until others have taken the core; sources that have something."""
        if self._resting:
            self._resting -= 1
            return []
        ready: list[Any] = []
        while not ready and now < end:
            os.sched_yield()
            before, now = now, time.perf_counter()
            ready = self._waitset.wait(0.0)
            if now - before > _CROWDED:
                self._resting = self._rests = min(_MOST_RESTS, 2 * self._rests + 1)
                return ready
        self._rests = max(0, self._rests - 1)
        return ready

    def _take(self, ready: Iterable[Any]) -> list[tuple[int, int, Any, bytes, int]]:
        """Take everything there is, repeatedly: what was written before a taken sample is then taken too.

        Signals wait meanwhile: Cyclone DDS's wheel crashes when a handler raises while it makes a sample's notice.
        """
        if not ready:
            return []
        batch: list[Any] = []
        handled = threading.current_thread() is threading.main_thread()  # where Python calls the handlers of signals
        before = signal.pthread_sigmask(signal.SIG_BLOCK, _ENDING) if handled else ()
        try:
            for _ in range(_ROUNDS):
                for source in ready:
                    samples = self._waitset.take(source)
                    batch += [(stamp, next(self._order), source, data, sender) for data, stamp, sender in samples]
                ready = [source for source in self._waitset.wait(0.0) if source is not None and source.ordered]
                if not ready:
                    break
        finally:
            if handled:
                signal.pthread_sigmask(signal.SIG_SETMASK, before)
        batch.sort(key=lambda item: item[:2])
        return batch

    def close(self) -> None:
        """Wait no more; the sources stay."""
        self._waitset.close()


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
