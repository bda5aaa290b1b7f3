# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a simulation, or of many worlds, as one record: a vector with names for its parts (docs/state.md)."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.core.declare import Layout
from mb_contact.core.state import STEPS, ContactState, StateArrays
from mb_contact.errors import InputError

#: sizes of a simulation that has nothing of a kind
NONE = dict.fromkeys(
    ("nq", "N", "m", "g", "s", "trees", "links", "gears", "driven", "closures", "surfaces", "surface_q", "surface_v",
     "stops", "one", "own", "sleeping_q", "sleeping_v", "sleeping_n", "welds", "pads", "belts", "elastic",
     "tendons"), 0,
)  # fmt: skip

FIELDS = StateArrays._fields + ContactState._fields


class StateLayout:
    """Where the parts of a state stand in its vector: those of ``StateArrays``, then the rows of ``ContactState``.

    Parameters
    ----------
    **sizes
        Those that the declarations name and that are not zero.
    """

    def __init__(self, **sizes):
        self._has = bool(sizes.get("s")), bool(sizes.get("elastic"))
        self.fixed = Layout(StateArrays, **NONE | sizes)
        self.width = _rows(1, *self._has).size  #: words of a contact

    def room(self, contact_vectors):
        """For how many contacts there is room in vectors (..., width c)."""
        return contact_vectors.shape[-1] // self.width

    def rows(self, contact_vectors):
        """ContactState of vectors (..., width c)."""
        return _rows(self.room(contact_vectors), *self._has).arrays(contact_vectors)

    def array(self, name, fixed, contact_vectors):
        """View of the two vectors as the array of this name."""
        if name in StateArrays._fields:
            return self.fixed.array(name, fixed)
        return _rows(self.room(contact_vectors), *self._has).array(name, contact_vectors)

    def fitted(self, contact_vectors, room):
        """These vectors with room for so many contacts; what has no room is left out."""
        if self.room(contact_vectors) == room:
            return contact_vectors
        lead = contact_vectors.shape[:-1]
        out = np.zeros((*lead, self.width * room))
        for target, source in zip(self.rows(out), self.rows(contact_vectors)):
            first = (*[slice(None)] * len(lead), slice(min(room, source.shape[len(lead)])))
            target[first] = source[first]
        return out

    def split(self, vectors):
        """(Those of StateArrays, those of contacts) of whole vectors; InputError where they are none of this scene."""
        words = vectors.shape[-1] if vectors.ndim else 0
        size = self.fixed.size
        if words < size or (words - size) % self.width:
            raise InputError(
                f"a state of this scene has {size} numbers and {self.width} for each contact there is room for, got "
                f"{words}; take one from state or save"
            )
        return vectors[..., :size], vectors[..., size:]


@lru_cache(64)
def _rows(c, sleeps, soft):
    """Layout of the rows of c contacts."""
    return Layout(ContactState, c=c, k=c if sleeps else 0, e=c if soft else 0)


def read_only(array):
    """A view for kernels, which are compiled for arrays that they may not write."""
    view = array.view()
    view.setflags(write=False)
    return view


class State:
    """Everything that the next step depends on, as one vector with names for its parts (docs/state.md); SI units.

    ``Simulator.state`` is the one of now, ``save`` makes a copy, and ``restore``, or assigning to ``state[:]``, goes on
    from it bit for bit.  Of ``Worlds`` it is (count, size), one row a world.  It can be indexed, assigned and handed to
    NumPy as any array of float64; whole numbers among its parts lie there with their bits, so that copies and files are
    exact, and are read by their names.

    Parameters
    ----------
    layout : StateLayout
    fixed, contacts : ndarray (..., words)
        Vectors of ``StateArrays`` and of ``ContactState``.
    scene : tuple of (what, value)
        What a simulator has to share to go on from here.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> before, vector = sim.save(), np.array(sim.state)
    >>> first = sim.step()
    >>> sim.state[:] = vector
    >>> sim.step().certificate == first.certificate
    True
    >>> sim.restore(before)
    >>> sim.state.q.shape, sim.state.clock, sim.state.shape == vector.shape
    ((7,), array([0, 0]), True)
    """

    def __init__(self, layout: Any, fixed: Floats, contacts: Floats, scene: tuple[Any, ...] = ()) -> None:
        self._layout, self._fixed, self._contacts, self.scene = layout, fixed, contacts, scene

    def _vectors(self):
        """The two vectors as they are now."""
        return self._fixed, self._contacts

    def __getattr__(self, name: str) -> NDArray[Any]:
        if name.startswith("_"):  # of an object that is being unpickled
            raise AttributeError(name)
        if name not in FIELDS:
            raise AttributeError(f"a state has no '{name}'; it has {', '.join(FIELDS)}")
        return self._layout.array(name, *self._vectors())

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.concatenate(self._vectors(), axis=-1, dtype=dtype)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the vector, with the worlds as first axis where there are many.

        Returns
        -------
        tuple of int
        """
        fixed, contacts = self._vectors()
        return (*fixed.shape[:-1], fixed.shape[-1] + contacts.shape[-1])

    @property
    def step_count(self) -> Any:
        """Steps since the start.

        Returns
        -------
        int64, or ndarray (count,) of many worlds
        """
        return self.clock[..., STEPS]

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, index: Any) -> NDArray[Any]:
        return np.asarray(self)[index]

    def copy(self) -> State:
        """A state of its own, which what happens later does not change.

        Returns
        -------
        State
        """
        fixed, contacts = self._vectors()
        return State(self._layout, fixed.copy(), contacts.copy(), self.scene)


class TreePart:
    """A SurfaceTree as a part of a state."""

    def __init__(self, tree: Any) -> None:
        self.sizes, self.fingerprint = tree._state_sizes, tree._fingerprint
        self.put, self.take = tree._put_state, tree._take_state

    _state_sizes = _fingerprint = _put_state = _take_state = None  #: of the tree


class Recorded:
    """The part of a simulator that hands out its state and goes on from others."""

    _record: LiveState
    _made: tuple[type, tuple]  #: the class and its arguments

    def _was_set(self) -> Any:
        """What was set beside the state, for ``_take_over``."""

    def _take_over(self, changed: Any) -> None:
        """What was set on the simulator that this one is a copy of."""

    @property
    def state(self) -> LiveState:
        """Everything that the next step depends on, as one vector with names for its parts (docs/state.md).

        Live: copies of it, and ``save``, stay; whatever is assigned to ``state[:]`` is gone on from, bit for bit.

        Returns
        -------
        State
        """
        return self._record

    def __reduce__(self) -> Any:
        """Copies and pickles are simulators of the same scene, with the values that were set, in the state of now."""
        kind, arguments = self._made
        if type(self) is not kind:
            raise TypeError(f"{type(self).__name__} cannot be copied or pickled as a {kind.__name__}, which knows "
                            "nothing of what is its own; give it a __reduce__")  # fmt: skip
        return _made_again, (kind, arguments, self._was_set(), self.save())

    def save(self) -> State:
        """Copy of the whole state; ``restore`` continues from it bit for bit.

        Returns
        -------
        State
        """
        return self.state.copy()

    def restore(self, state: State) -> None:
        """Continue from a saved state of the same scene.

        Parameters
        ----------
        state : State

        Raises
        ------
        InputError
            Not a State, or one of a scene with other joints, links, shapes, surfaces or laws, or with another friction
            model, integrator, collision scheme or kind of step; nothing has changed.
        """
        check_fingerprint(state, self.state.scene)
        self.state[:] = state


class LiveState(State):
    """The State of now of a simulation.

    Parameters
    ----------
    layout : StateLayout
    owner
        Has ``_state_vectors()``, the two of now, ``_make_room_for(contacts)``, and ``_state_written(index)``, which
        derives what follows from a state that has been written.
    pairs : int
        Pairs of shapes.
    scene : tuple of (what, value)
    """

    _state_vectors = _make_room_for = _state_written = None  #: of the owner

    def __init__(self, layout, owner, pairs=0, scene=()):
        super().__init__(layout, None, None, scene)
        self._owner, self._pairs = owner, pairs

    def _vectors(self):
        return self._owner._state_vectors()

    def __setitem__(self, index, values):
        many = self._vectors()[0].ndim > 1
        if isinstance(values, State):
            values = self._translated(values)
        values = np.asarray(values, dtype=np.float64)
        whole = isinstance(index, slice) and index == slice(None) or index is Ellipsis
        if not (many or whole):  # some of the numbers
            given, values, index = values, np.array(self), slice(None) if whole else index
            values[index], index = given, slice(None)
        fixed, contacts = self._layout.split(values)
        most = self._most_contacts(fixed, contacts)
        if most > self._layout.room(self._vectors()[1]):
            self._owner._make_room_for(most)
        mine = self._vectors()
        mine[0][index], mine[1][index] = fixed, self._layout.fitted(contacts, self._layout.room(mine[1]))
        self._owner._state_written(index)

    def _most_contacts(self, fixed, contacts):
        """How many a state has; InputError where numbers are those of none: kernels would look beside their arrays."""
        names = "count", "sleep_count", "pair"
        count, asleep, pair = (self._layout.array(name, fixed, contacts) for name in names)
        most = max(count.max(initial=0), asleep.max(initial=0))
        counts = min(count.min(initial=0), asleep.min(initial=0)) >= 0 and most <= self._layout.room(contacts)
        if not (counts and pair.min(initial=0) >= 0 and pair.max(initial=0) < max(self._pairs, 1)):
            raise InputError("these numbers are no state of this scene; take one from state or save")
        return int(most)

    def _translated(self, state):
        """The vector of a State here: of another kind of simulator it has the parts of the same names."""
        check_fingerprint(state, self.scene)
        if state._layout is self._layout:
            return state
        lead = state.shape[:-1]
        fixed = np.zeros((*lead, self._layout.fixed.size))
        contacts = np.zeros((*lead, self._layout.width * state._layout.room(state._vectors()[1])))
        for name in FIELDS:
            target, source = self._layout.array(name, fixed, contacts), getattr(state, name)
            if source.shape == target.shape:
                target[...] = source
            elif source.size and target.size:
                raise InputError(f"the saved state belongs to another scene: its {name} has another length")
        return np.concatenate((fixed, contacts), axis=-1)


def check_fingerprint(state: Any, ours: tuple[Any, ...]) -> None:
    """Refuse to go on from what is no saved state, or one of another scene.

    Parameters
    ----------
    state : State
    ours : tuple of (what, value)
        Of the scene here; the state has its own in ``scene``.

    Raises
    ------
    InputError
        It names the first thing that differs.
    """
    if not isinstance(state, State):
        raise InputError(f"restore needs a State from save, got {type(state).__name__}")
    for (what, value), (_, theirs) in zip(ours, state.scene or ((None, None),) * len(ours)):
        if value != theirs:
            here = f": it has {theirs}, this one {value}" if isinstance(value, (str, int, float)) else ""
            raise InputError(f"the saved state belongs to another scene with other {what}{here}; use its own scene")


def _made_again(kind, arguments, changed, state):
    """A simulator as it was when it was copied or pickled."""
    simulator = kind(*arguments)
    simulator._take_over(changed)
    simulator.restore(state)
    return simulator
