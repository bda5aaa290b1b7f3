# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small parts of the embedded node: clock, logger, timer."""

from __future__ import annotations

import sys
import threading
import time

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import message_class


class Time:
    """A point in time in nanoseconds, as rclpy's."""

    def __init__(self, nanoseconds):
        self.nanoseconds = nanoseconds

    def to_msg(self):
        """Return it as builtin_interfaces/Time."""
        seconds, rest = divmod(self.nanoseconds, 1_000_000_000)
        return message_class("builtin_interfaces/msg/Time")(seconds, rest)


class Clock:
    """The wall clock, or simulated time while ``follow`` is set: then the last /clock message, zero before it."""

    def __init__(self):
        self.follow = False
        self.simulated = 0  #: [ns]

    def now(self):
        """Return the current time."""
        return Time(self.simulated if self.follow else time.time_ns())


class Timer:
    """A periodic call; periods missed while nobody spun are skipped, not made up."""

    def __init__(self, period, callback):
        if not period > 0.0:
            raise CommunicationError(f"a timer's period must be greater than zero, got {period}")
        self.period = period
        self.callback = callback
        self.next = time.monotonic() + period

    def due(self):
        """Whether to call now; schedules the next call."""
        now = time.monotonic()
        if now < self.next:
            return False
        self.next = max(self.next + self.period, now)
        return True


class Logger:
    """ROS's console format on standard error; ``throttle_duration_sec`` counts per call site.

    ``sink``, where set, gets every line too: (level, text, code and line number of the caller).
    """

    def __init__(self, name):
        self.name = name
        self.sink = None
        self._last = {}
        self._lock = threading.Lock()

    def _log(self, level, text, throttle):
        caller = sys._getframe(2)
        if throttle is not None:
            site = (caller.f_code, caller.f_lineno)
            now = time.monotonic()
            with self._lock:
                if now - self._last.get(site, -1e9) < throttle:
                    return
                self._last[site] = now
        print(f"[{level}] [{time.time():.6f}] [{self.name}]: {text}", file=sys.stderr, flush=True)
        if self.sink is not None:
            self.sink(level, text, caller.f_code, caller.f_lineno)

    def debug(self, text, throttle_duration_sec=None):
        """Nothing: debug output is off."""

    def info(self, text, throttle_duration_sec=None):
        """Log progress."""
        self._log("INFO", text, throttle_duration_sec)

    def warning(self, text, throttle_duration_sec=None):
        """Log something the user should know."""
        self._log("WARN", text, throttle_duration_sec)

    def error(self, text, throttle_duration_sec=None):
        """Log a failure."""
        self._log("ERROR", text, throttle_duration_sec)
