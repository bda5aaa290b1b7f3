# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep: which joints have their answer to the state that is waited for, and whose is missing."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import shorten
from mb_contact.errors import CommunicationError

_NEVER = -(2**63)
_TOLD = 4  #: names in a line at most


class Answers:
    """A state is answered when every joint that is commanded, or that ``named`` names, has its answer.

    Who calls it sees to it that one thread does so at a time.

    Parameters
    ----------
    named : sequence of str
        Joints that have to be answered for from the beginning; empty texts stand for nothing.

    Attributes
    ----------
    expected : int
        Stamp of the state that is waited for [ns].
    free : bool
        Whether nobody waits any more: commands act as in real time.
    doubt : bool
        Whether a command without a stamp may be the answer to a state before: that was sent several times.
    """

    def __init__(self, named: Sequence[str] = ()) -> None:
        self.named = tuple(name for name in named if name)
        self.expected, self.free, self.doubt = 0, False, False
        self._again = False
        self._names: tuple[str, ...] = ()
        self._last, self._needed, self._back = np.zeros(0, dtype=np.int64), np.zeros(0, bool), np.zeros(0, bool)
        self._can = np.zeros(0, bool)

    def set_joints(self, names: Sequence[str], can: ArrayLike) -> None:
        """Answers are of these joints from now on, of which some ``can`` be commanded.

        Raises
        ------
        CommunicationError
            One of the named joints is not there.
        """
        for name in self.named:
            if name not in names:
                raise CommunicationError(f"lockstep_joints: no joint '{shorten(name)}'; there are {', '.join(names)}")
        former = {name: i for i, name in enumerate(self._names)}
        places = [former.get(name, -1) for name in names]
        self._last, self._needed, self._back = (
            np.array([values[i] if i >= 0 else default for i in places], dtype=values.dtype)
            for values, default in ((self._last, _NEVER), (self._needed, False), (self._back, False))
        )
        self._names, self._can = tuple(names), np.array(can, dtype=bool)
        self._needed[[self._names.index(name) for name in self.named]] = True

    def expect(self, stamp: int) -> None:
        """Wait for answers to another state from now on."""
        self.expected, self.doubt, self._again = stamp, self._again, False

    def sent_again(self) -> None:
        """The state that is waited for is published once more: it may be answered several times."""
        self._again = True

    def forget(self) -> None:
        """The state is another one, though its stamp may be the same."""
        self._last[:] = _NEVER
        self._again = self.doubt = False

    def first(self, stamp: int, rows: Any) -> Any:
        """Which of the joints in ``rows`` a command of this stamp answers first (mask)."""
        return self._last[rows] < stamp

    def take(self, rows: Any, stamp: int) -> None:
        """A command for these joints acts, as an answer to the state of ``stamp``."""
        self._last[rows] = np.maximum(self._last[rows], stamp)
        self._needed[rows] = self._back[rows] = True

    @property
    def complete(self) -> bool:
        """Whether the state is answered."""
        answered = self._last == self.expected
        return bool(answered.any() and answered[self._needed].all())

    def give_up(self) -> None:
        """Nobody waits any more, until those come back whose answer is missing."""
        self._back = ~self._needed | (self._last == self.expected)
        self.free = True

    @property
    def back(self) -> bool:
        """Whether all have been heard whose answer was missing."""
        return bool(self._back.all())

    def missing(self, everybody: bool = False) -> str:
        """Names of the joints that lack their answer, of all that can be commanded where ``everybody`` is asked."""
        lack = (self._can if everybody else self._needed) & (self._last != self.expected)
        names = [name for name, lacks in zip(self._names, lack) if lacks]
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        return ", ".join(names[:_TOLD]) + more
