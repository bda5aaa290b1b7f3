# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small parts of the embedded node: clock, logger, timer."""

import math
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import message_class


class Time:
    """A point in time in nanoseconds, as rclpy's."""

    def __init__(self, nanoseconds: int) -> None:
        self.nanoseconds = nanoseconds

    def to_msg(self) -> Any:
        """Return it as builtin_interfaces/Time."""
        seconds, rest = divmod(self.nanoseconds, 1_000_000_000)
        return message_class("builtin_interfaces/msg/Time")(seconds, rest)


class Clock:
    """The wall clock, or simulated time while ``follow`` is set: then the last /clock message, zero before it."""

    def __init__(self) -> None:
        self.follow = False
        self.simulated = 0  #: [ns]

    def now(self) -> Any:
        """Return the current time."""
        return Time(self.simulated if self.follow else time.time_ns())


class Timer:
    """A periodic call by a node's clock; periods missed while nobody spun, or when time jumps, are skipped.

    As in rclpy, simulated time drives it where the clock follows /clock: then it stands still with the simulation,
    and begins a new period where time goes back.
    """

    def __init__(self, period: float, callback: Callable[..., Any], clock: Any) -> None:
        if not period > 0.0:
            raise CommunicationError(f"a timer's period must be greater than zero, got {period}")
        self._period, self._clock = round(period * 1e9), clock
        self.callback = callback
        self._restart()

    def _now(self):
        return self._clock.simulated if self._clock.follow else time.monotonic_ns()

    def _restart(self):
        self._follows, self._last = self._clock.follow, self._now()
        self._next = self._last + self._period

    def due(self) -> bool:
        """Whether to call now; schedules the next call."""
        now = self._now()
        if self._follows != self._clock.follow or now < self._last:
            self._restart()
            return False
        self._last = now
        if now < self._next:
            return False
        self._next += self._period * (1 + (now - self._next) // self._period)
        return True

    def seconds(self) -> Any:
        """Wall seconds until it is due: infinite by simulated time, since a /clock message comes first."""
        return float("inf") if self._clock.follow else 1e-9 * (self._next - time.monotonic_ns())


class Throttle:
    """Which lines are said: none from one place within so many seconds of its last one."""

    def __init__(self) -> None:
        self._last: dict[Any, float] = {}
        self._lock = threading.Lock()

    def passes(self, caller: Any, seconds: float | None) -> bool:
        """Whether a line from where this frame is passes; without ``seconds`` all do."""
        site, now = (caller.f_code, caller.f_lineno), time.monotonic()
        with self._lock:
            if seconds is not None and now - self._last.get(site, -math.inf) < seconds:
                return False
            if seconds is not None:
                self._last[site] = now
            return True


class Logger:
    """ROS's console format on standard error; ``throttle_duration_sec`` counts per call site.

    ``sink``, where set, gets every line too: (level, text, code and line number of the caller).
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.sink = None
        self._throttle = Throttle()

    def _log(self, level, text, throttle):
        caller = sys._getframe(2)
        if not self._throttle.passes(caller, throttle):
            return
        print(f"[{level}] [{time.time():.6f}] [{self.name}]: {text}", file=sys.stderr, flush=True)
        if self.sink is not None:
            self.sink(level, text, caller.f_code, caller.f_lineno)

    def debug(self, text: str, throttle_duration_sec: float | None = None) -> None:
        """Nothing: debug output is off."""

    def info(self, text: str, throttle_duration_sec: float | None = None) -> None:
        """Log progress."""
        self._log("INFO", text, throttle_duration_sec)

    def warning(self, text: str, throttle_duration_sec: float | None = None) -> None:
        """Log something the user should know."""
        self._log("WARN", text, throttle_duration_sec)

    def error(self, text: str, throttle_duration_sec: float | None = None) -> None:
        """Log a failure."""
        self._log("ERROR", text, throttle_duration_sec)
