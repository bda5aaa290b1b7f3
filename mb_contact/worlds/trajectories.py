# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories of many worlds at once, for control by sampling."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.model.scene import Scene
from mb_contact.worlds.states import WorldsState
from mb_contact.worlds.worlds import Worlds


class Rollout(NamedTuple):
    """States after each of t steps of k worlds.

    Examples
    --------
    >>> trajectory = mb.rollout(mb.pendulum(2).scene(), None, np.zeros((3, 5, 2)))
    >>> trajectory.q.shape, trajectory.failures
    ((3, 5, 2), {})
    """

    q: Floats  #: (k, t, nq) [rad, m]; NaN behind a step that has failed
    v: Floats  #: (k, t, N) [rad/s, m/s]
    residual: Floats  #: (k, t), of each step's certificate [sqrt(N s m/s)]
    failures: dict[int, str]  #: worlds whose steps have failed, and why


def rollout(
    scene: Scene | str | Path | Worlds,
    states: tuple[ArrayLike, ArrayLike] | WorldsState | None,
    controls: ArrayLike | None,
    steps: int | None = None,
    controller: Callable[..., None] | None = None,
    data: ArrayLike | None = None,
    threads: int | None = None,
) -> Rollout:
    """Run k worlds from ``states`` under ``controls``, all on threads in compiled code.

    Parameters
    ----------
    scene : Scene, path or Worlds
        Worlds, of which k are run, are quicker than a scene, of which they are made.
    states : (q, v), WorldsState or None
        Broadcast to (k, nq) and (k, N); None for the initial state.
    controls : array_like (k, t, joints) or None
        Efforts of every step [N m, N].
    steps : int, optional
        Without controls: t; k is then that of the states or of the Worlds.
    controller, data
        As of ``Worlds.step``; the controls are what the controller finds in ``effort``.
    threads : int, optional
        As of Worlds.

    Returns
    -------
    Rollout

    Raises
    ------
    InputError
        Arrays that do not fit.

    Examples
    --------
    >>> worlds = mb.Worlds(mb.pendulum(2).scene(), 4)
    >>> mb.rollout(worlds, ([0.1, 0.2], [0.0, 0.0]), np.zeros((4, 10, 2))).q[:, -1].shape
    (4, 2)
    """
    count = _count(scene, states, controls)
    worlds = scene if isinstance(scene, Worlds) else Worlds(scene, count, threads)
    if count > worlds.count:
        raise InputError(f"a rollout of {count} worlds needs as many, and there are {worlds.count}")
    chosen = np.arange(count)
    if controls is None:
        if not isinstance(steps, int) or steps < 1:
            raise InputError("a rollout without controls needs steps, a whole number of at least 1")
        job = worlds.job(chosen, None, steps, data)
    else:
        joints = len(worlds.world.joint_names)
        controls = np.ascontiguousarray(controls, dtype=np.float64)
        if (
            controls.ndim != 3
            or controls.shape[2] != joints
            or controls.shape[1] < 1
            or not np.isfinite(controls).all()
        ):
            raise InputError(f"controls must be finite, of shape (worlds, steps, {joints}), got {controls.shape}")
        job = worlds.job(chosen, controls, data=data)
    if not isinstance(states, WorldsState) and states is not None:
        q, v = (np.atleast_2d(np.asarray(x, dtype=np.float64)) for x in states)
        states = (np.broadcast_to(q, (count, q.shape[1])), np.broadcast_to(v, (count, v.shape[1])))
    worlds.reset(chosen, states)
    for array in (job.arrays.q, job.arrays.v, job.arrays.residual):
        array.fill(np.nan)
    worlds.advance(job, controller)
    failures = {w: why for w, why in worlds.failures.items() if w < count}
    return Rollout(job.arrays.q, job.arrays.v, job.arrays.residual, failures)


def _count(scene, states, controls):
    """How many worlds."""
    if controls is not None:
        return len(np.asarray(controls))
    if isinstance(states, WorldsState):
        return len(states.arrays["state"])
    if isinstance(scene, Worlds):
        return scene.count
    return 1 if states is None else max(len(np.atleast_2d(np.asarray(x))) for x in states)
