# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Requests from the executor's thread that the physics thread does between two steps."""

import threading
import time
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError, MbContactError

ANSWER_SECONDS = 5.0  #: a caller gives up waiting for the physics thread to begin after this
_POLL = 0.002  #: seconds for which a waiting service keeps the executor from its other work


class Request:
    """One action and what became of it."""

    def __init__(self, action: Callable[[], Any]) -> None:
        self._action = action
        self._lock = threading.Lock()
        self._state = "waiting"
        self._made = time.monotonic()
        self._done = threading.Event()
        self._value: Any = None
        self._error: BaseException | None = None

    def run(self) -> None:
        """Do it, unless its caller has given up; on the physics thread."""
        if self._begin():
            self.finish(*outcome(self._action))

    def _begin(self):
        """Whether it is to be done: nobody has given up or begun."""
        with self._lock:
            begins = self._state == "waiting"
            self._state = "running" if begins else self._state
        return begins

    def finish(self, value: Any = None, error: BaseException | None = None) -> None:
        """It is done, or has failed."""
        self._value, self._error = value, error
        self._state = "done"
        self._done.set()

    def cancel(self) -> None:
        """The simulation ends, or the caller gives up: it is not to be begun any more."""
        with self._lock:
            if self._state == "waiting":
                self._state = "cancelled"
                self._done.set()

    def wait(self, seconds: float) -> Any:
        """Wait at most so long; whether it is over (given up when nothing begins for ANSWER_SECONDS)."""
        if not self._done.wait(seconds) and time.monotonic() - self._made > ANSWER_SECONDS:
            self.cancel()  # unless it has begun: do not do it behind the caller's back later
        return self._done.is_set()

    def result(self) -> Any:
        """Wait for the action's value.

        Raises
        ------
        MbContactError
            What the action raised, or that the physics thread did not come to it.
        """
        while not self.wait(ANSWER_SECONDS):
            pass
        if self._state == "cancelled":
            raise CommunicationError("the simulation is not running")
        if self._error is not None:
            raise self._error
        return self._value

    async def later(self) -> Any:
        """As :meth:`result`, for a service that lets its executor work on while it waits."""
        while not self.wait(_POLL):
            await _Yield()
        return self.result()


def outcome(action: Callable[[], Any]) -> Any:
    """What ``action()`` returns, and None; or None, and the error that it raised."""
    try:
        return action(), None
    except MbContactError as error:
        return None, error
    except Exception as error:  # a bug must not end the simulation, and the caller must hear of it
        return None, CommunicationError(f"{type(error).__name__}: {error}")


class _Yield:
    """Awaited: back to the executor, which comes again."""

    def __await__(self):
        yield
