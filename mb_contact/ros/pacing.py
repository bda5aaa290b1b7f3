# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Keep simulated time in step with the wall clock, and measure how well that works."""

import time

_GIVE_UP = 0.2  #: seconds behind before the reference is moved instead of sprinting to catch up
_SLOW = 0.95  #: of the factor asked for: below that the simulation counts as overloaded
_WINDOW = 1.0  #: seconds over which the current real-time factor is measured


class Pacer:
    """Pace simulated time at ``factor`` times real time (0: never wait).

    Attributes
    ----------
    tolerance : float
        Seconds by which a step may be late.
    missed : int
        Steps that were late by more than ``tolerance`` seconds.
    factor_now, factor_overall : float
        Measured real-time factor of the last second and of the run; time spent paused or waiting for the
        first command is not counted.
    paced : float
        What the last step was paced at.
    overloaded : bool
        Whether the last second went more than 5 % slower than asked for.  What is lost is lost: from 0.2 s
        behind on, time is not made up, the simulation is just slower.
    """

    def __init__(self, factor: float, tolerance: float) -> None:
        self._factor = factor
        self.tolerance = tolerance
        self.missed = 0
        self.overloaded = self._news = False
        self.paced = factor
        self.factor_now = 0.0
        self._simulated = self._wall = 0.0
        self.resume(0.0)

    def set_factor(self, factor: float, simulated: float) -> None:
        """Pace at another factor from this simulated time on."""
        if factor != self._factor:
            self._factor = factor
            self.resume(simulated)

    def resume(self, simulated: float) -> None:
        """Start (again) from this simulated time: after a pause, a reset, or a wait."""
        now = time.perf_counter()
        self._anchor = self._window = self._mark = (now, simulated)

    def delay(self, simulated: float, factor: float | None = None) -> float:
        """Return the seconds to wait before simulated time ``simulated`` is due (0: it is due).

        Parameters
        ----------
        factor : float, optional
            Pace at this instead.
        """
        now = time.perf_counter()
        factor = self.paced = self._factor if factor is None else factor
        self._measure(now, simulated)
        if factor <= 0.0:
            self._anchor = (now, simulated)
            return 0.0
        ahead = (simulated - self._anchor[1]) / factor - (now - self._anchor[0])
        if ahead < -self.tolerance:
            self.missed += 1
        if ahead < -_GIVE_UP:
            self._anchor = (now, simulated)
        return max(0.0, ahead)

    def _measure(self, now, simulated):
        self._wall += now - self._mark[0]
        self._simulated += simulated - self._mark[1]
        self._mark = (now, simulated)
        elapsed = now - self._window[0]
        if elapsed >= _WINDOW:
            self.factor_now = (simulated - self._window[1]) / elapsed
            self.overloaded = self._news = self.factor_now < _SLOW * self.paced
            self._window = (now, simulated)

    def overload_news(self) -> bool:
        """Whether a second that was overloaded has ended since the last call: a log is not asked at every step."""
        news, self._news = self._news, False
        return news

    @property
    def wall(self) -> float:
        """Wall seconds spent running."""
        return self._wall

    @property
    def factor_overall(self) -> float:
        """Real-time factor of the whole run."""
        return self._simulated / self._wall if self._wall > 0.0 else 0.0
