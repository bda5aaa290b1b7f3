# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""States of many worlds: set, saved and restored, one after another or all at once."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.checks import Floats, as_shape
from mb_contact.core.workspace import COLUMNS
from mb_contact.core.worlds.run import refresh_worlds, reset_worlds, show_worlds
from mb_contact.core.worlds.store import make_store_handle
from mb_contact.errors import InputError
from mb_contact.model.scene import Scene
from mb_contact.record import LiveState, State
from mb_contact.worlds.chosen import Chosen, numbers_of
from mb_contact.worlds.jobs import Jobs
from mb_contact.worlds.lanes import Held
from mb_contact.worlds.readings import WorldReadings
from mb_contact.worlds.values import OwnValues


class WorldsState(NamedTuple):
    """States of some worlds with their own values and their last steps' reports; made by ``Worlds.save``.

    Examples
    --------
    >>> worlds = mb.Worlds("package://mb_contact/config/box_on_table.yaml", 3)
    >>> saved = worlds.save([0, 2])
    >>> saved.arrays["p"].shape, len(saved.rows([1]).arrays["state"])
    ((2, 1, 3), 1)
    """

    arrays: dict[str, NDArray[Any]]  #: of ``Store`` (``core/worlds/store.py``) and of the worlds' own values, by world
    scene: tuple[Any, ...]  #: what worlds have to share to go on from here

    def rows(self, chosen: Any) -> WorldsState:
        """Some of them.

        Parameters
        ----------
        chosen : slice or sequence of int

        Returns
        -------
        WorldsState
        """
        return WorldsState({name: array[chosen] for name, array in self.arrays.items()}, self.scene)


class StatesOfWorlds(LiveState):
    """States (count, size) of worlds: rows are those of ``Simulator.state``, and may be assigned."""

    def __call__(self, number):
        """State of one world, from which a ``Simulator`` goes on bit for bit; values of its own are not in it."""
        fixed, contacts = self._vectors()
        row = int(numbers_of([number], len(fixed))[0])
        return State(self._layout, fixed[row].copy(), contacts[row].copy(), self.scene)


class WorldStates(WorldReadings):
    """The part of Worlds that sets, saves and restores their states."""

    scene: Scene
    count: int
    state: StatesOfWorlds
    failures: dict[int, str]
    _own: OwnValues
    _sizes: dict[str, int]
    _jobs: Jobs

    def reset(
        self, mask: Chosen = None, states: tuple[ArrayLike, ArrayLike] | WorldsState | State | None = None
    ) -> None:
        """Put worlds back to their initial states, or into others; time and warm starts begin anew.

        Parameters
        ----------
        mask : array_like, optional
            The worlds, by a mask (count,) or by k numbers; all if left out.
        states : (q (k, nq), v (k, N)), WorldsState or State, optional
            Coordinates and velocities of these worlds, or saved states, which are restored bit for bit; one State for
            all of them, or one a world.

        Raises
        ------
        InputError
            No such worlds, or arrays of another shape; nothing has changed.
        """
        chosen = self._chosen(mask)
        if isinstance(states, WorldsState):
            self.restore(states, chosen)
            return
        if isinstance(states, State):
            self.state[chosen] = states
            return
        try:
            q, v = (self._own.q0[chosen], self._own.v0[chosen]) if states is None else states
        except (TypeError, ValueError):
            raise InputError("states must be a WorldsState or two arrays, q and v") from None
        q = as_shape(q, (len(chosen), self._sizes["nq"]), "q")
        v = as_shape(v, (len(chosen), self._sizes["N"]), "v")
        q = self._own.normalised(q)
        self._store.arrays.state[chosen] = self._own.start
        self.q[chosen], self.v[chosen], self._part("gravity")[chosen] = q, v, self._own.gravity[chosen]
        for w in chosen.tolist():
            self.failures.pop(w, None)
        self._call(reset_worlds, chosen)

    def refresh(self, mask: Chosen = None) -> None:
        """Poses and energies after q, v or values were written from outside; the energy balances start here.

        Parameters
        ----------
        mask : array_like, optional
            The worlds; all if left out.
        """
        self._call(refresh_worlds, self._chosen(mask))

    def _call(self, kernel, chosen):
        lane = self._lanes[0]
        kernel(lane.context.handle, lane.handle, self._store.handle, self._own.values.handle, chosen)

    def save(self, mask: Chosen = None) -> WorldsState:
        """Copy of the states of worlds, with the values that are their own.

        Parameters
        ----------
        mask : array_like, optional
            The worlds; all if left out.

        Returns
        -------
        WorldsState
        """
        chosen = self._chosen(mask)
        arrays = {name: array[chosen] for name, array in self._store.arrays._asdict().items()}
        return WorldsState(arrays | self._own.save(chosen), self._fingerprint())

    def restore(self, saved: WorldsState, mask: Chosen = None) -> None:
        """Continue from saved states, bit for bit.

        Parameters
        ----------
        saved : WorldsState
            Of as many worlds of the same scene.
        mask : array_like, optional
            The worlds; all if left out.

        Raises
        ------
        InputError
            Not a WorldsState, one of another scene, or of another number of worlds; nothing has changed.
        """
        chosen = self._chosen(mask)
        if not isinstance(saved, WorldsState) or saved.scene != self._fingerprint():
            raise InputError("restore needs a WorldsState of worlds with this very scene; take one from save")
        if len(saved.arrays["state"]) != len(chosen):
            raise InputError(f"the saved states are {len(saved.arrays['state'])}, the worlds {len(chosen)}")
        self._make_room_for(saved.arrays["report"].shape[1])
        for name, array in self._store.arrays._asdict().items():
            source = saved.arrays[name]
            if name == "contact_state":
                array[chosen] = self._layout.fitted(source, self._layout.room(array))
            elif name == "report":
                array[chosen, : source.shape[1]] = source
            else:
                array[chosen] = source
        self._own.restore(saved.arrays, chosen)
        for w, failed in zip(chosen.tolist(), saved.arrays["failed"]):
            if failed:
                self.failures[w] = "it had failed before it was saved"
            else:
                self.failures.pop(w, None)

    # what ``state`` asks for

    def _state_vectors(self) -> tuple[Floats, Floats]:
        """As ``SimulationState.state_vectors``, of all worlds, with what they are commanded."""
        store = self._store.arrays
        self._part("effort")[:, self.world.joint_v] = store.effort
        return store.state, store.contact_state

    def _make_room_for(self, contacts: int) -> None:
        """Room for so many contacts in every world."""
        while self._store.arrays.report.shape[1] < contacts:
            self._grow()

    def _state_written(self, index: Any) -> None:
        """Poses of the worlds that were written, and what they are commanded from now on."""
        chosen = np.atleast_1d(np.arange(self.count)[index])
        self._part("sleepers")[chosen], self._part("sleep_state")[chosen] = 0, 0  # worlds do not sleep
        self._store.arrays.effort[chosen] = self._part("effort")[chosen][:, self.world.joint_v]
        for w in chosen.tolist():
            self.failures.pop(w, None)
        self._call(show_worlds, chosen)

    # --- inside -----------------------------------------------------------------------------

    def _grow(self):
        """Room for twice as many contacts in every world."""
        old = self._store.arrays
        room = 2 * old.report.shape[1]
        report = np.zeros((self.count, room, COLUMNS))
        report[:, : room // 2] = old.report
        contacts = self._layout.fitted(old.contact_state, room)
        self._store = held_store(old._replace(contact_state=contacts, report=report))

    def _chosen(self, mask):
        """Numbers of worlds, int64 (k,)."""
        return self._jobs.every.arrays.worlds if mask is None else numbers_of(mask, self.count)

    def _fingerprint(self):
        scene, world = self.scene, self.world
        return (
            scene.friction_model, scene.integrator, scene.collision_scheme, scene.time_step,
            tuple(world.joint_names), tuple(sorted(world.frames)), len(world.geoms.pairs),
        )  # fmt: skip


def held_store(store):
    return Held(store, make_store_handle(store))
