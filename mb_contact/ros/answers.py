# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep: which joints have their answer to the state that is waited for, and whose is missing."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence

from mb_contact.checks import instead_of, shorten
from mb_contact.errors import CommunicationError

_KEPT = 1000  #: states that are remembered: as many answers may wait in a reader
_TOLD = 4  #: names in a line at most


def joint_set(places: Iterable[int]) -> int:
    """Joints as the bits of an integer: quickest to compare at every command."""
    return sum(1 << int(place) for place in places)


class Answers:
    """A state is answered when every joint that is commanded, or that ``named`` names, has its answer.

    Sets of joints are integers (:func:`joint_set`).  Who calls it sees to it that one thread does so at a time.

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
        self._answered = OrderedDict({0: 0})  #: joints by the stamp of the state that they have answered
        self._needed = self._missed = self._can = 0

    def set_joints(self, names: Sequence[str], can: Iterable[bool]) -> None:
        """Answers are of these joints from now on, of which some ``can`` be commanded.

        Raises
        ------
        CommunicationError
            One of the named joints is not there.
        """
        places = {name: i for i, name in enumerate(names)}
        for name in self.named:
            if name not in places:
                name = shorten(name)
                raise CommunicationError(f"lockstep_joints: no joint '{name}'; {instead_of(name, names, 'there are')}")

        def moved(joints):
            return joint_set(places[name] for i, name in enumerate(self._names) if joints >> i & 1 and name in places)

        for stamp, joints in self._answered.items():
            self._answered[stamp] = moved(joints)
        self._needed, self._missed = moved(self._needed), moved(self._missed)
        self._names, self._can = tuple(names), joint_set(i for i, able in enumerate(can) if able)
        self._needed |= joint_set(places[name] for name in self.named)

    def expect(self, stamp: int) -> None:
        """Wait for answers to another state from now on."""
        self.expected, self.doubt, self._again = stamp, self._again, False
        self._answered[stamp] = 0
        if len(self._answered) > _KEPT:
            self._answered.popitem(last=False)

    def sent_again(self) -> None:
        """The state that is waited for is published once more: it may be answered several times."""
        self._again = True

    def forget(self) -> None:
        """The state is another one, though its stamp may be the same."""
        self._answered.clear()
        self._answered[self.expected] = 0
        self._again = self.doubt = False

    def first(self, stamp: int, joints: int) -> int:
        """Those of the joints that a command of this stamp answers first."""
        return joints & ~self._answered.get(stamp, 0)

    def take(self, joints: int, stamp: int) -> None:
        """A command for these joints acts, as an answer to the state of ``stamp``."""
        if stamp in self._answered:
            self._answered[stamp] |= joints
        self._needed |= joints
        self._missed &= ~joints

    @property
    def complete(self) -> bool:
        """Whether the state is answered."""
        answered = self._answered[self.expected]
        return bool(answered) and not self._needed & ~answered

    def give_up(self) -> None:
        """Nobody waits any more, until those come back whose answer is missing."""
        self._missed = self._needed & ~self._answered[self.expected]
        self.free = True

    @property
    def back(self) -> bool:
        """Whether all have been heard whose answer was missing."""
        return not self._missed

    def missing(self, everybody: bool = False) -> str:
        """Names of the joints that lack their answer, of all that can be commanded where ``everybody`` is asked."""
        lacking = (self._can if everybody else self._needed) & ~self._answered[self.expected]
        names = [name for i, name in enumerate(self._names) if lacking >> i & 1]
        more = f" and {len(names) - _TOLD} more" if len(names) > _TOLD else ""
        return ", ".join(names[:_TOLD]) + more
