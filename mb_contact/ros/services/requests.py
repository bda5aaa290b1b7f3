# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Requests from the executor's thread that the physics thread does between two steps."""

from __future__ import annotations

import threading

from mb_contact.errors import CommunicationError, MbContactError

ANSWER_SECONDS = 5.0  #: a caller gives up waiting for the physics thread to begin after this


class Request:
    """One action and what became of it."""

    def __init__(self, action):
        self._action = action
        self._lock = threading.Lock()
        self._state = "waiting"
        self._done = threading.Event()
        self._value = self._error = None

    def run(self):
        """Do it, unless its caller has given up; on the physics thread."""
        with self._lock:
            if self._state != "waiting":
                return
            self._state = "running"
        try:
            self._value = self._action()
        except MbContactError as error:
            self._error = error
        except Exception as error:  # a bug must not end the simulation, and the caller must hear of it
            self._error = CommunicationError(f"{type(error).__name__}: {error}")
        self._state = "done"
        self._done.set()

    def cancel(self):
        """The simulation ends: whoever waits need not."""
        with self._lock:
            if self._state == "waiting":
                self._state = "cancelled"
                self._done.set()

    def result(self):
        """Wait for the action's value.

        Raises
        ------
        MbContactError
            What the action raised, or that the physics thread did not come to it.
        """
        if not self._done.wait(ANSWER_SECONDS):
            with self._lock:
                if self._state == "waiting":
                    self._state = "cancelled"  # too late: do not do it behind the caller's back
            if self._state == "running":
                self._done.wait()
        if self._state == "cancelled":
            raise CommunicationError("the simulation is not running")
        if self._error is not None:
            raise self._error
        return self._value
