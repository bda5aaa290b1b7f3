# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which sources of one thread have something: a DDS wait set."""

import ctypes
import threading
from typing import Any

from cyclonedds.core import GuardCondition, WaitSet as DdsWaitSet

from mb_contact.ros.embedded.dds import raw as dds_raw

_ROOM = 64  #: readers that one look tells of; the next look tells of the others


class WaitSet:
    """Sources with samples to take; see :class:`mb_contact.ros.embedded.waiting.Waiter` for who waits.

    Parameters
    ----------
    participant : cyclonedds.domain.DomainParticipant
    """

    looks = True  #: a thread that sleeps is woken later than one that looks finds what has come

    def __init__(self, participant: Any) -> None:
        self._waitset, self._guard = DdsWaitSet(participant), GuardCondition(participant)
        self._attached = threading.Lock()
        self._told: dict[int, Any] = {}  #: source or None for the guard by what a wait tells; not changed in place
        self._room = (ctypes.c_void_p * _ROOM)()
        self._told[dds_raw.attach(self._waitset, self._guard)] = None

    def attach(self, source: Any) -> None:
        """Wait for a source too; from any thread."""
        with self._attached:
            self._told = {**self._told, dds_raw.attach(self._waitset, source.end.condition): source}

    def detach(self, source: Any) -> None:
        """Wait for it no more; on the thread that waits."""
        with self._attached:
            self._waitset.detach(source.end.condition)
            self._told = {number: other for number, other in self._told.items() if other is not source}

    def wake(self) -> None:
        """End a wait, from any thread."""
        self._guard.set(True)

    def calm(self) -> None:
        """Whoever woke has been heard."""
        self._guard.take()

    def wait(self, seconds: float) -> list[Any]:
        """Sources that have something, after so many seconds at most; None among them where somebody woke."""
        numbers = dds_raw.wait(self._waitset, seconds, self._room)
        told = self._told
        return [told[number] for number in numbers if number in told]

    def take(self, source: Any) -> list[tuple[bytes, int, Any]]:
        """What a source has, up to its depth: CDR bytes, source time [ns], and the writer's handle."""
        return dds_raw.take(source.end.reader, source.end.depth)

    def close(self) -> None:
        """Delete the wait set and its guard; the sources stay."""
        for entity in (self._waitset, self._guard):
            dds_raw.delete(entity)
