# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Checks: a quantity that is observed, its bounds, when it has to be within them, and the sentence about it.

Values are arrays with one number for each world that is observed (one for a node, many for ``mb.Worlds``), so that the
same check judges one run over topics and thousands of worlds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.testing.failures import Result

OPEN, KEPT, BROKEN = range(3)  #: what is known of an expectation
EPSILON = 1e-9  #: by which a time may be off [s]
END = "end"


@dataclass(frozen=True)
class Quantity:
    """Something that can be observed; ``>=``, ``<=`` and ``between`` make checks of it.

    Attributes
    ----------
    text : str
        What it is, in words; of a truth two sentences, the second one for what is not so.
    unit : str
    read : callable
        From a view (:mod:`mb_contact.testing.views`) and a dict that is kept from call to call to values (worlds,).
    entry : tuple
        What has made it, and the parameters.
    """

    text: str
    unit: str
    read: Callable[[Any, dict], Floats]
    entry: tuple = ()

    def __reduce__(self) -> Any:
        """Made again in another process by what has made it; one without that cannot go there."""
        return (_make, self.entry) if self.entry else super().__reduce__()

    def __ge__(self, low: float) -> Check:
        return Check(self, low=float(low))

    def __le__(self, high: float) -> Check:
        return Check(self, high=float(high))

    def __invert__(self) -> Check:
        """The check that something is not so."""
        return ~as_check(self)

    def between(self, low: float, high: float) -> Check:
        """The check that it is from ``low`` to ``high``."""
        return Check(self, float(low), float(high))

    @property
    def is_truth(self) -> bool:
        """Whether it is 1 where something is so and 0 where it is not."""
        return isinstance(self.text, tuple)

    def words(self, value: float) -> str:
        """A measured value in words."""
        if math.isnan(value):
            return "not there"
        return f"{value:.4g} {self.unit}".rstrip()


def _make(make, parameters):
    return make(**parameters)


def as_check(given: Any) -> Check:
    """A check; of a quantity that is so or not, that it is so.

    Raises
    ------
    InputError
        It is neither.
    """
    if isinstance(given, Quantity) and given.is_truth:
        return given >= 1.0
    if isinstance(given, Check):
        return given
    what = f"{given.text} without a bound" if isinstance(given, Quantity) else f"{type(given).__name__} {given!r}"
    raise InputError(
        f"expected a check, such as height('box') >= 0.1, touch('box') or ~touch('box', by='table'); got {what}"
    )


@dataclass(frozen=True)
class Check:
    """A quantity within bounds.

    Attributes
    ----------
    quantity : Quantity
    low, high : float
        In the quantity's unit.
    """

    quantity: Quantity
    low: float = -math.inf
    high: float = math.inf

    @property
    def text(self) -> str:
        """What has to be so."""
        quantity = self.quantity
        if quantity.is_truth:
            return quantity.text[0 if self.low > 0.0 else 1]
        if math.isinf(self.high):
            return f"{quantity.text} is at least {quantity.words(self.low)}"
        if math.isinf(self.low):
            return f"{quantity.text} is at most {quantity.words(self.high)}"
        return f"{quantity.text} is from {self.low:.4g} to {quantity.words(self.high)}"

    def __invert__(self) -> Check:
        """The check that something is not so."""
        if not self.quantity.is_truth:
            raise InputError(f"~ is for what is so or not, such as touch('box'); {self.quantity.text} has other bounds")
        return Check(self.quantity, high=0.0) if self.low > 0.0 else Check(self.quantity, low=1.0)

    def holds(self, values: Floats) -> Any:
        """Whether each of the values is within the bounds; one that is not there is not."""
        return (values >= self.low) & (values <= self.high)


@dataclass(frozen=True)
class Expectation:
    """A check and its time, in simulated seconds since the start of the run.

    Without ``within`` and ``at`` it has to hold at every step from ``after`` to ``until``.

    Attributes
    ----------
    check : Check
    after : float
        From when on it is looked at.
    until : float, optional
        To when it has to hold; to the end of the run where left out.
    within : float, optional
        Until when it has to have held once, for ``lasting`` seconds on end.
    lasting : float
    at : float or 'end', optional
        The one moment that counts.
    name : str
        What it is called in reports; its own words where left out.
    """

    check: Check
    after: float = 0.0
    until: float | None = None
    within: float | None = None
    lasting: float = 0.0
    at: float | str | None = None
    name: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "check", as_check(self.check))
        given = [key for key in ("until", "within", "at") if getattr(self, key) is not None]
        if len(given) > 1:
            raise InputError(f"'{self.title}' has {' and '.join(given)}; an expectation has one of them")
        if self.lasting and self.within is None:
            raise InputError(f"'{self.title}' lasts but has no 'within'; say until when it has to have lasted")
        last = self.within if self.until is None else self.until
        if last is not None and last < self.after + self.lasting:
            raise InputError(f"'{self.title}' ends at {last:g} s, before it can have been seen")

    @property
    def title(self) -> str:
        """Its name, or what has to be so."""
        return self.name or self.check.text

    @property
    def text(self) -> str:
        """What has to be so, and when."""
        start = f" after {self.after:g} s" if self.after else ""
        if self.at is not None:
            when = " at the end" if self.at == END else f" at {self.at:g} s"
        elif self.within is not None:
            lasting = f" for {self.lasting:g} s on end" if self.lasting else " once"
            when = f"{lasting}{start}, by {self.within:g} s"
        elif self.until is not None:
            when = f" from {self.after:g} s to {self.until:g} s"
        else:
            when = f" from {self.after:g} s on" if self.after else " all the time"
        return self.check.text + when


class Tally:
    """What has been seen of an expectation, in each of ``count`` worlds.

    Attributes
    ----------
    state : ndarray (count,)
        OPEN, KEPT or BROKEN.
    when, value : ndarray (count,)
        Time [s] of the decision, and what was measured then.
    curve : list of (time, value)
        Of a single world, for plots.
    """

    def __init__(self, expectation: Expectation, count: int = 1) -> None:
        self.expectation, self.count = expectation, count
        self.state = np.full(count, OPEN)
        self.when, self.value = np.full((2, count), np.nan)
        self._since, self._best_since = np.full((2, count), np.nan)
        self._longest = np.zeros(count)
        self._lowest, self._highest = np.full(count, np.inf), np.full(count, -np.inf)
        self._last = np.full(count, np.nan)
        self.curve: list[tuple[float, float]] = []
        self._memory: dict[Any, Any] = {}
        self._seen, self._ended, self._fault = False, np.full(count, np.nan), ""

    def prime(self, view: Any) -> None:
        """Read the quantity once, at the start: what is wrong with its names comes before anything moves."""
        try:
            self.expectation.check.quantity.read(view, {})
        except InputError as error:
            raise InputError(f"the check '{self.expectation.title}': {error}") from None

    def see(self, view: Any) -> None:
        """Look at the present state."""
        entry, now = self.expectation, view.time
        if now < entry.after - EPSILON or not np.count_nonzero(self.state == OPEN):
            return
        if isinstance(entry.at, float) and now < entry.at - EPSILON:
            return
        values = np.asarray(entry.check.quantity.read(view, self._memory))
        if values.shape != self.state.shape:
            values = np.broadcast_to(values, self.state.shape)
        if self.count == 1:
            self.curve.append((now, float(values[0])))
        self._seen, self._last = True, values.copy()
        good = entry.check.holds(values)
        np.fmin(self._lowest, values, out=self._lowest)
        np.fmax(self._highest, values, out=self._highest)
        if entry.within is not None:
            self._look_for_once(now, values, good)
        elif entry.at != END:
            self._decide(~good, BROKEN, now, values)
            if entry.at is not None or (entry.until is not None and now >= entry.until - EPSILON):
                self._decide(good, KEPT, now, values)

    def _look_for_once(self, now, values, good):
        entry, reached = self.expectation, good
        if entry.lasting:
            self._since = np.where(good, np.fmin(self._since, now), np.nan)
            lasted = now - self._since  # NaN where it does not hold
            longer = lasted > self._longest
            self._longest = np.where(longer, lasted, self._longest)
            self._best_since = np.where(longer, self._since, self._best_since)
            reached = lasted >= entry.lasting - EPSILON
        self._decide(reached, KEPT, now, values)
        if now >= entry.within - EPSILON:
            self._decide(~reached, BROKEN, now, values)

    def _decide(self, which, state, now, values):
        """Those of the worlds in ``which`` that are not decided yet are so now."""
        if not np.count_nonzero(which):
            return
        which = which & (self.state == OPEN)
        self.state = np.where(which, state, self.state)
        self.when, self.value = np.where(which, now, self.when), np.where(which, values, self.value)

    def end(self, now: Floats | float, fault: str = "") -> None:
        """The run is over: what is still open is decided, unless a fault of something else has ended it."""
        entry, undecided = self.expectation, self.state == OPEN
        self._ended, self._fault = np.broadcast_to(np.asarray(now, dtype=float), (self.count,)), fault
        kept = self._seen & undecided
        if entry.at == END:
            kept = kept & entry.check.holds(self._last) & (not fault)
        elif entry.at is not None or entry.within is not None or entry.until is not None:
            kept = np.zeros(self.count, dtype=bool)  # its time has not come to an end
        self._decide(kept, KEPT, self._ended, self._last)
        if not fault:
            self._decide(undecided & ~kept, BROKEN, self._ended, self._last)

    def result(self, world: int = 0) -> Result:
        """The verdict, in one world."""
        passed = bool(self.state[world] != BROKEN) and not self._is_open(world)
        measured = self._measured_within(world) if passed and self._seen else ""
        told = self.expectation.title, passed, self.sentence(world), float(self.when[world]), measured
        return Result(*told, self._is_open(world))

    def _is_open(self, world):
        """Whether the run was over before it was decided."""
        return bool(self.state[world] == OPEN and self._fault)

    def _measured_within(self, world):
        """What was measured of a check that has held: at the moment that counts, or the worst of all."""
        entry, check = self.expectation, self.expectation.check
        if check.quantity.is_truth:
            return ""
        if entry.within is not None or entry.at is not None:
            return f"{check.quantity.words(self.value[world])} at {self.when[world]:.3f} s"
        least, most = (check.quantity.words(bound[world]) for bound in (self._lowest, self._highest))
        found = [] if math.isinf(check.low) else [f"at least {least}"]
        return " and ".join(found if math.isinf(check.high) else [*found, f"at most {most}"])

    def sentence(self, world: int = 0) -> str:
        """What was expected and what was measured, in one world."""
        entry, words = self.expectation, self.expectation.check.quantity.words
        expected = f"expected: {entry.text}"
        if self._is_open(world):
            return f"not decided, because the run ended at {self._ended[world]:.3f} s: {self._fault}; {expected}"
        if not self._seen:
            return f"{expected}; the run ended at {self._ended[world]:.3f} s, before that"
        when, value = self.when[world], self.value[world]
        if self.state[world] != BROKEN:
            return f"{expected}; it is so" + ("" if math.isnan(value) else f" ({words(value)} at {when:.3f} s)")
        if entry.within is None:
            early = entry.until is not None and when < entry.until - EPSILON and bool(entry.check.holds(value))
            ended = "; the run ended then" if early else ""
            return f"{expected}; measured: {self._measured(value)} at {when:.3f} s{ended}"
        return f"{expected}; measured: {self._at_most(world)} by {when:.3f} s{self._lasted(world)}"

    def _measured(self, value):
        quantity = self.expectation.check.quantity
        return quantity.text[0 if value > 0.5 else 1] if quantity.is_truth else quantity.words(value)

    def _at_most(self, world):
        check = self.expectation.check
        low, high = self._lowest[world], self._highest[world]
        if check.quantity.is_truth:
            return f"{self._measured(low)} at any time" if low == high else "not so for long"
        if not math.isfinite(high):
            return "nothing"
        far = f"{check.quantity.words(high)} at most"
        return far if math.isinf(check.high) else f"{check.quantity.words(low)} at least, {far}"

    def _lasted(self, world):
        if not self.expectation.lasting or math.isnan(self._best_since[world]):
            return ""
        return f", and so for {self._longest[world]:.3f} s on end only, from {self._best_since[world]:.3f} s"
