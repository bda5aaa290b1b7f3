# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds on several machines: shards of them in Ray actors (``pip install 'mb_contact[distributed]'``).

The same program runs on one machine, where Ray starts by itself, and on a cluster (``ray.init(address="auto")``).
"""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from mb_contact.checks import Floats, as_positive, as_shape, as_whole
from mb_contact.core.worlds.store import Store
from mb_contact.errors import InputError, MbContactError
from mb_contact.model.scene import Scene, load_scene
from mb_contact.record import State
from mb_contact.worlds.chosen import Chosen, numbers_of
from mb_contact.worlds.lanes import Held, ThreadLane
from mb_contact.worlds.readings import WorldReadings
from mb_contact.worlds.states import WorldsState
from mb_contact.worlds.trajectories import Rollout
from mb_contact.worlds.values import OwnValues
from mb_contact.worlds.worlds import Worlds

RESTARTS = 3  #: of an actor within one call; then its failure is the call's


def _ray():
    """The library, started where it is not yet."""
    try:
        import ray
    except ImportError as error:
        raise InputError(
            f"worlds on several machines need Ray ({error}): pip install 'mb_contact[distributed]'"
        ) from None
    if not ray.is_initialized():
        ray.init(include_dashboard=False, log_to_driver=False)
    return ray


class _Shard:
    """Some of the worlds, in a process of their own."""

    def __init__(self, scene, count, threads):
        self.worlds, self._job = Worlds(scene, count, threads), None

    def process(self):
        """Number of its process."""
        return os.getpid()

    def call(self, name, saved, tolerance, *arguments):
        """(state after, failures, results) of a call, from a saved state where one is given."""
        self.worlds.solver_tolerance = tolerance
        if saved is not None:
            self.worlds.restore(saved)
        results = getattr(self, "_" + name)(*arguments)
        return (self.worlds.save(), dict(self.worlds.failures), *results)

    def _step(self, efforts, steps, mask, controller, data):
        data = None if data is None else np.array(data)  # what comes from the object store cannot be written
        self.worlds.step(efforts, steps, mask, controller, data)
        return (data,)

    def _reset(self, mask, states):
        self.worlds.reset(mask, states)
        return (None,)

    def _set(self, name, values, of, mask):
        self.worlds.set(name, values, of, mask)
        return (None,)

    def _rollout(self, controls):
        worlds = self.worlds
        if self._job is None or self._job.arrays.controls.shape != controls.shape:
            self._job = worlds.job(np.arange(worlds.count), np.empty(controls.shape))
        arrays = self._job.arrays
        arrays.controls[:] = controls
        for array in (kept := (arrays.q, arrays.v, arrays.residual)):
            array.fill(np.nan)
        worlds.advance(self._job)
        return kept


RESULTS = {"rollout": 3}  #: how many arrays a call returns beside the state and the failures; others one


class _Gathered:
    """Arrays of a Store of all worlds, each fetched from the shards' saved states when it is first asked for."""

    def __init__(self, fetch, layout):
        self._fetch, self._layout = fetch, layout

    def __getattr__(self, name):
        array = _joined(self._layout, name, [saved.arrays[name] for saved in self._fetch()])
        array.setflags(write=False)
        setattr(self, name, array)
        return array

    def __iter__(self):
        return (getattr(self, name) for name in Store._fields)


class RemoteWorlds(WorldReadings):
    """``count`` worlds of one scene in Ray actors, with the interface of Worlds.

    After every call the states of all worlds are in the object store; arrays such as ``q`` are fetched from there when
    they are asked for, and cannot be written.  An actor that is lost in a call is started anew from its own last state
    and does the call again; the work of the others stays.  After a call that ends with an error all worlds are as they
    were before it.

    Parameters
    ----------
    scene : Scene or path
        Where it is a path, of a file that every machine has.
    count : int
    actors : int
    threads : int
        Of each actor.
    progress : callable, optional
        Called with (shards that are done, all shards) in each call.

    Attributes
    ----------
    world : World
    failures : dict of int to str
    actors : list
        Handles of the actors.
    restarts : int
        Actors that were started anew so far.

    Raises
    ------
    InputError
        Ray is not installed, or there are more actors than worlds.
    SceneError, ModelError
        The scene is impossible.
    """

    def __init__(
        self, scene: Scene | str | Path, count: int, actors: int = 2, threads: int = 1,
        progress: Callable[[int, int], Any] | None = None,
    ) -> None:  # fmt: skip
        self.count, self._threads = as_whole(count, "count"), as_whole(threads, "threads")
        if as_whole(actors, "actors") > count:
            raise InputError(f"there must be 1 to {count} actors, got {actors}")
        self.scene = scene if isinstance(scene, Scene) else load_scene(scene)
        lane = ThreadLane(self.scene)
        self._own, self._sizes = OwnValues(lane, lane.sizes(1)), lane.sizes(count)
        self.world, self.time_step, self._layout = lane.world, lane.context.dt, lane.context.layout
        self._tolerance = Worlds(self.scene, 1, 1).solver_tolerance  # kernels are compiled here, once for all actors
        self._ray, self._made_of, self._progress = _ray(), scene, progress
        self.restarts, self.failures = 0, {}  # type: int, dict[int, str]
        edges = np.linspace(0, count, actors + 1).astype(int).tolist()
        self._slices = [slice(a, b) for a, b in zip(edges, edges[1:])]
        self._make = self._ray.remote(num_cpus=threads)(_Shard)
        self.actors = [self._start(s) for s in self._slices]
        self._saved: list[Any] = [None] * actors
        self._behind = [False] * actors  # actors whose worlds are not those of ``_saved``
        self.reset()

    def _start(self, s):
        return self._make.remote(self._made_of, s.stop - s.start, self._threads)

    def close(self) -> None:
        """End the actors; the arrays stay."""
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors = []

    # --- the interface of Worlds ------------------------------------------------------------

    def step(
        self, efforts: ArrayLike | None = None, steps: int = 1, mask: Chosen = None,
        controller: Callable[..., None] | None = None, data: NDArray[np.float64] | None = None,
    ) -> None:  # fmt: skip
        """As ``Worlds.step``."""
        steps = as_whole(steps, "steps")
        if efforts is not None:
            efforts = as_shape(efforts, (self.count, self._sizes["joints"]), "efforts")
        if data is not None and (not isinstance(data, np.ndarray) or data.ndim != 2 or len(data) != self.count):
            raise InputError(f"data must be a contiguous float64 array of {self.count} rows that may be written")
        chosen = None if mask is None else self._mask(mask)
        parts = self._all("step", [
            (_part(efforts, s), steps, _part(chosen, s), controller, _part(data, s)) for s in self._slices
        ])  # fmt: skip
        if data is not None:
            data[:] = np.concatenate([part[0] for part in parts])

    def reset(self, mask: Chosen = None, states: tuple[ArrayLike, ArrayLike] | WorldsState | None = None) -> None:
        """As ``Worlds.reset``."""
        if isinstance(states, WorldsState):
            self.restore(states, mask)
            return
        chosen = self._mask(mask)
        if states is not None:
            try:
                q, v = states
            except (TypeError, ValueError):
                raise InputError("states must be a WorldsState or two arrays, q and v") from None
            k = int(chosen.sum())
            states = as_shape(q, (k, self._sizes["nq"]), "q"), as_shape(v, (k, self._sizes["N"]), "v")
        self._all("reset", [
            (chosen[s], None if states is None else tuple(x[rows] for x in states)) for s, rows in self._rows(chosen)
        ])  # fmt: skip

    def save(self, mask: Chosen = None) -> WorldsState:
        """As ``Worlds.save``."""
        saved, chosen = self._ray.get(self._saved), numbers_of(mask, self.count)
        names = saved[0].arrays
        arrays = {name: _joined(self._layout, name, [part.arrays[name] for part in saved]) for name in names}
        return WorldsState(arrays, saved[0].scene).rows(chosen)

    def restore(self, saved: WorldsState, mask: Chosen = None) -> None:
        """As ``Worlds.restore``."""
        chosen = self._mask(mask)
        if not isinstance(saved, WorldsState):
            raise InputError("restore needs a WorldsState of worlds with this very scene; take one from save")
        if len(saved.arrays["state"]) != chosen.sum():
            raise InputError(f"the saved states are {len(saved.arrays['state'])}, the worlds {chosen.sum()}")
        self._all("reset", [(chosen[s], saved.rows(rows)) for s, rows in self._rows(chosen)])

    def set(self, name: str, values: ArrayLike, of: Sequence[Any] | None = None, mask: Chosen = None) -> None:
        """As ``Worlds.set``."""
        chosen = self._mask(mask)
        given = self._own.checked(name, values, of, int(chosen.sum()))
        self._all("set", [(name, given[rows], of, chosen[s]) for s, rows in self._rows(chosen)])

    def randomise(
        self, name: str, low: ArrayLike, high: ArrayLike, of: Sequence[Any] | None = None, by: str = "factor",
        seed: int | Sequence[int] = 0, mask: Chosen = None,
    ) -> None:  # fmt: skip
        """As ``Worlds.randomise``: a world draws what it draws among as many in one process."""
        chosen = np.flatnonzero(self._mask(mask))
        self.set(name, self._own.draw(name, low, high, of, by, seed, chosen), of, chosen)

    def rollout(self, controls: ArrayLike) -> Rollout:
        """Trajectories from the present states under controls (count, t, joints)."""
        controls = np.asarray(controls, dtype=np.float64)
        if controls.ndim != 3 or controls.shape[1] < 1:
            raise InputError(f"controls must have three axes, worlds, steps and joints, got {controls.shape}")
        controls = as_shape(controls, (self.count, controls.shape[1], self._sizes["joints"]), "controls")
        parts = self._all("rollout", [(controls[s],) for s in self._slices])
        q, v, residual = (np.concatenate([part[k] for part in parts]) for k in range(3))
        return Rollout(q, v, residual, dict(self.failures))

    @property
    def solver_tolerance(self) -> float:
        """As ``Worlds.solver_tolerance``.

        Returns
        -------
        float
            [sqrt(N s m/s)]
        """
        return self._tolerance

    @solver_tolerance.setter
    def solver_tolerance(self, residual: float) -> None:
        self._tolerance = as_positive(residual, "solver_tolerance")

    @property
    def state(self) -> State:
        """As ``Worlds.state``, to be read.

        Returns
        -------
        State
        """
        arrays = self._store.arrays
        return State(self._layout, arrays.state, arrays.contact_state)

    # --- calls ------------------------------------------------------------------------------

    def _mask(self, mask):
        """(count,) of bool."""
        chosen = np.zeros(self.count, bool)
        chosen[numbers_of(mask, self.count)] = True
        return chosen

    def _rows(self, chosen):
        """(worlds of a shard, their rows among the chosen) of all shards."""
        ends = np.concatenate(([0], np.cumsum(chosen)))
        return [(s, slice(int(ends[s.start]), int(ends[s.stop]))) for s in self._slices]

    def _all(self, name, arguments):
        """One call in all shards; what each returns beside state and failures."""
        if not self.actors:
            raise InputError("these worlds are closed: their actors have ended; make others")
        before, ray = list(self._saved), self._ray
        try:
            results = self._finish(name, arguments)
        except BaseException as error:
            self._saved, self._behind = before, [True] * len(before)
            if isinstance(error, ray.exceptions.RayTaskError):
                raise error.cause from None
            raise
        self.failures = {s.start + w: why for s, part in zip(self._slices, results) for w, why in part[0].items()}
        self._store = Held(_Gathered(lambda: ray.get(self._saved), self._layout), None)
        return [part[1:] for part in results]

    def _finish(self, name, arguments):
        """(failures, what else is returned) of each shard, whose actor is started anew where it is lost."""
        ray = self._ray
        waiting = {self._ask(i, name, arguments[i]): (i, 0) for i in range(len(self._slices))}
        results: dict[int, Any] = {}
        while waiting:
            ready, _ = ray.wait([refs[0] for refs in waiting], num_returns=1)
            refs = next(refs for refs in waiting if refs[0] == ready[0])
            i, tried = waiting.pop(refs)
            try:
                results[i] = ray.get(list(refs[1:]))
            except ray.exceptions.RayActorError as error:
                if tried == RESTARTS:
                    raise MbContactError(
                        f"the actor of worlds {self._slices[i].start} to {self._slices[i].stop - 1} was lost "
                        f"{tried + 1} times in one call ({type(error).__name__}): all worlds are as before it"
                    ) from None
                self.restarts += 1
                self.actors[i], self._behind[i] = self._start(self._slices[i]), True
                waiting[self._ask(i, name, arguments[i])] = (i, tried + 1)
                continue
            self._saved[i] = refs[0]
            if self._progress is not None:
                self._progress(len(results), len(self._slices))
        return [results[i] for i in range(len(self._slices))]

    def _ask(self, i, name, arguments):
        """References to what a shard's call returns: its state, which stays in the object store, and the rest."""
        saved, self._behind[i] = self._saved[i] if self._behind[i] else None, False
        call = self.actors[i].call.options(num_returns=2 + RESULTS.get(name, 1))
        return tuple(call.remote(name, saved, self._tolerance, *arguments))


def rollout(
    scene: Scene | str | Path, states: tuple[ArrayLike, ArrayLike] | None, controls: ArrayLike,
    actors: int = 2, threads: int = 1, progress: Callable[[int, int], Any] | None = None,
) -> Rollout:  # fmt: skip
    """``mb.rollout`` over Ray actors.

    Parameters
    ----------
    scene, states, controls
        As of ``mb.rollout``; states are (k, ...) or one for all.
    actors, threads, progress
        As of RemoteWorlds.

    Returns
    -------
    Rollout
    """
    worlds = RemoteWorlds(scene, len(np.asarray(controls)), actors, threads, progress)
    try:
        if states is not None:
            worlds.reset(None, states)
        return worlds.rollout(controls)
    finally:
        worlds.close()


def _part(array: Any, s: slice) -> Any:
    return None if array is None else array[s]


def _joined(layout: Any, name: str, arrays: list[Floats]) -> Floats:
    """Rows of all shards; with room for as many contacts as the shard with most has."""
    if name == "report":
        most = max(array.shape[1] for array in arrays)
        arrays = [np.pad(x, [(0, 0), (0, most - x.shape[1]), (0, 0)]) for x in arrays]
    elif name == "contact_state":
        most = max(layout.room(array) for array in arrays)
        arrays = [layout.fitted(x, most) for x in arrays]
    return np.concatenate(arrays)
