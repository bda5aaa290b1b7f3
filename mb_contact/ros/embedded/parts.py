# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small parts of the embedded node: parameters, clock, logger, timer."""

from __future__ import annotations

import sys
import threading
import time

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import message_class


class Parameter:
    """A declared parameter."""

    def __init__(self, name, value):
        self.name = name
        self.value = value


class Parameters:
    """Declared parameters and the overrides of the command line."""

    def __init__(self, names, arguments):
        self._overrides = {
            name: value for pattern, name, value in arguments.parameters if names.matches(pattern)
        }
        self._declared = {}

    def declare(self, name, default):
        """Declare one; an override must have the default's type.

        Raises
        ------
        CommunicationError
            Declared twice, or an override of another type.
        """
        if name in self._declared:
            raise CommunicationError(f"the parameter '{name}' is already declared")
        value = self._overrides.get(name, default)
        if default is not None and value is not default:
            value = _convert(name, value, default)
        self._declared[name] = Parameter(name, value)
        return self._declared[name]

    def get(self, name):
        """Return a declared parameter."""
        if name not in self._declared:
            raise CommunicationError(f"the parameter '{name}' is not declared")
        return self._declared[name]


def _convert(name, value, default):
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not type(default):
        raise CommunicationError(f"the parameter '{name}' must be a {type(default).__name__}, got {value!r}")
    return value


class Time:
    """A point in time in nanoseconds, as rclpy's."""

    def __init__(self, nanoseconds):
        self.nanoseconds = nanoseconds

    def to_msg(self):
        """Return it as builtin_interfaces/Time."""
        seconds, rest = divmod(self.nanoseconds, 1_000_000_000)
        return message_class("builtin_interfaces/msg/Time")(seconds, rest)


class Clock:
    """The wall clock."""

    def now(self):
        """Return the current time."""
        return Time(time.time_ns())


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
    """ROS's console format on standard error; ``throttle_duration_sec`` counts per call site."""

    def __init__(self, name):
        self._name = name
        self._last = {}
        self._lock = threading.Lock()

    def _log(self, level, text, throttle):
        if throttle is not None:
            caller = sys._getframe(2)
            site = (caller.f_code, caller.f_lineno)
            now = time.monotonic()
            with self._lock:
                if now - self._last.get(site, -1e9) < throttle:
                    return
                self._last[site] = now
        print(f"[{level}] [{time.time():.6f}] [{self._name}]: {text}", file=sys.stderr, flush=True)

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
