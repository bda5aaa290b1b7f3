# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds on several machines: shards of them in Ray actors (``pip install 'mb_contact[distributed]'``).

The same program runs on one machine, where Ray starts by itself, and on a cluster (``ray.init(address="auto")``).
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.model.scene import Scene
from mb_contact.worlds.trajectories import Rollout
from mb_contact.worlds.worlds import Worlds, WorldsState

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
        self.worlds = Worlds(scene, count, threads)

    def call(self, name, saved, *arguments):
        """(state after, result) of a method of Worlds or of ``rollout``, from a saved state where one is given."""
        if saved is not None:
            self.worlds.restore(saved)
        return getattr(self, "_" + name)(*arguments)

    def _step(self, efforts, steps):
        self.worlds.step(efforts, steps)
        return self._look()

    def _reset(self, mask, states):
        self.worlds.reset(mask, states)
        return self._look()

    def _restore(self, saved):
        self.worlds.restore(saved)
        return self._look()

    def _rollout(self, controls):
        worlds = self.worlds
        job = worlds.job(np.arange(worlds.count), np.array(controls))
        for array in (job.arrays.q, job.arrays.v, job.arrays.residual):
            array.fill(np.nan)
        worlds.advance(job)
        return (*self._look(), job.arrays.q, job.arrays.v, job.arrays.residual)

    def _look(self):
        worlds = self.worlds
        return worlds.save(), worlds.q.copy(), worlds.v.copy(), worlds.certificates.copy(), dict(worlds.failures)


class RemoteWorlds:
    """``count`` worlds of one scene in Ray actors, with the interface of Worlds.

    After every call the states of all worlds are in the object store.  An actor that is lost in a call is started anew
    from its own last state and does the call again; the work of the others stays.

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
    q, v : ndarray (count, ...)
        Of the last call; not live.
    certificates : ndarray (count,)
    failures : dict of int to str
    actors : list
        Handles of the actors.
    restarts : int
        Actors that were started anew so far.

    Raises
    ------
    InputError
        Ray is not installed, or there are more actors than worlds.
    """

    def __init__(
        self, scene: Scene | str | Path, count: int, actors: int = 2, threads: int = 1,
        progress: Callable[[int, int], Any] | None = None,
    ) -> None:  # fmt: skip
        if not 1 <= actors <= count:
            raise InputError(f"there must be 1 to {count} actors, got {actors}")
        self._ray, self._scene, self._threads, self._progress = _ray(), scene, threads, progress
        self.count, self.restarts = count, 0
        edges = np.linspace(0, count, actors + 1).astype(int)
        self._slices = [slice(int(a), int(b)) for a, b in zip(edges, edges[1:])]
        self._make = self._ray.remote(num_cpus=threads)(_Shard)
        self.actors = [self._start(s) for s in self._slices]
        self._saved: list[Any] = [None] * actors
        self.reset()

    def _start(self, s):
        return self._make.remote(self._scene, s.stop - s.start, self._threads)

    def step(self, efforts: ArrayLike | None = None, steps: int = 1) -> None:
        """As ``Worlds.step``."""
        self._all("step", [(None if efforts is None else np.asarray(efforts)[s], steps) for s in self._slices])

    def reset(self, mask: ArrayLike | None = None, states: tuple[ArrayLike, ArrayLike] | None = None) -> None:
        """As ``Worlds.reset``; the mask is (count,) of bool, states are (count, ...)."""
        chosen = np.ones(self.count, bool) if mask is None else np.asarray(mask, dtype=bool)
        parts = []
        for s in self._slices:
            own = None if states is None else tuple(np.asarray(x)[s][chosen[s]] for x in states)
            parts.append((chosen[s], own))
        self._all("reset", parts)

    def save(self) -> list[WorldsState]:
        """Saved states, one of each shard."""
        return list(self._ray.get(self._saved))

    def restore(self, saved: list[WorldsState]) -> None:
        """Continue from them."""
        self._all("restore", [(part,) for part in saved])

    def rollout(self, controls: ArrayLike) -> Rollout:
        """Trajectories from the present states under controls (count, t, joints)."""
        controls = np.asarray(controls, dtype=np.float64)
        parts = self._all("rollout", [(self._ray.put(controls[s]),) for s in self._slices])
        q, v, residual = (np.concatenate([part[k] for part in parts]) for k in range(3))
        return Rollout(q, v, residual, dict(self.failures))

    def close(self) -> None:
        """End the actors."""
        for actor in self.actors:
            self._ray.kill(actor)

    def _all(self, name, arguments):
        """One call in all shards; what each returns beside the looks."""
        ray = self._ray
        waiting = {self._ask(i, name, arguments[i], None): (i, 0) for i in range(len(self._slices))}
        results: dict[int, Any] = {}
        while waiting:
            ready, _ = ray.wait([refs[0] for refs in waiting], num_returns=1)
            refs = next(refs for refs in waiting if refs[0] == ready[0])
            i, tried = waiting.pop(refs)
            try:
                results[i] = ray.get(list(refs[1:]))
            except ray.exceptions.RayActorError:
                if tried == RESTARTS:
                    raise
                self.restarts += 1
                self.actors[i] = self._start(self._slices[i])
                waiting[self._ask(i, name, arguments[i], self._saved[i])] = (i, tried + 1)
                continue
            self._saved[i] = refs[0]
            if self._progress is not None:
                self._progress(len(results), len(self._slices))
        looks = [results[i] for i in range(len(self._slices))]
        self.q, self.v, self.certificates = (np.concatenate([look[k] for look in looks]) for k in range(3))
        self.failures = {s.start + w: why for s, look in zip(self._slices, looks) for w, why in look[3].items()}
        return [look[4:] for look in looks]

    def _ask(self, i, name, arguments, saved):
        """References to what a shard's call returns: its state, which stays in the object store, and the rest."""
        returns = 8 if name == "rollout" else 5
        return tuple(self.actors[i].call.options(num_returns=returns).remote(name, saved, *arguments))


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
    controls = np.asarray(controls, dtype=np.float64)
    worlds = RemoteWorlds(scene, len(controls), actors, threads, progress)
    try:
        if states is not None:
            q, v = (np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in states)
            worlds.reset(None, _broadcast(len(controls), q, v))
        return worlds.rollout(controls)
    finally:
        worlds.close()


def _broadcast(count: int, *arrays: Floats) -> Any:
    return tuple(np.broadcast_to(array, (count, array.shape[1])) for array in arrays)
