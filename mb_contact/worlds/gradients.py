# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Gradients of rollouts of many worlds, on threads (docs/gradients.md)."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.errors import InputError
from mb_contact.gradients import RolloutGradient, rollout_gradient
from mb_contact.simulation import Simulator
from mb_contact.worlds.worlds import Worlds


def rollout_gradients(
    worlds: Worlds, efforts: ArrayLike, cost: Callable[..., Any], parameters: Sequence[str] = ()
) -> list[RolloutGradient]:
    """``mb.rollout_gradient`` of every world from its present state on, shared by the worlds' threads.

    A world's gradient has the same bits whatever thread takes it.

    Parameters
    ----------
    worlds : Worlds
        Whose states stay as they are; with the values of their scene.
    efforts : array_like (count, T, joints)
        Of each world's steps.
    cost : callable
        ``cost(world, k, q, v)`` of a world's state behind k steps, as of ``mb.rollout_gradient``; called on threads.
    parameters : sequence of str

    Returns
    -------
    list of RolloutGradient

    Raises
    ------
    InputError
        An argument does not fit, worlds have values of their own, or a step has no derivative.

    Examples
    --------
    >>> worlds = mb.Worlds(mb.pendulum(1, length=1.0).scene(), 3, threads=2)
    >>> worlds.q[:, 0] = [0.0, 0.1, 0.2]
    >>> at_end = lambda w, k, q, v: (q[0], [1.0], [0.0]) if k == 10 else None
    >>> found = mb.worlds.rollout_gradients(worlds, np.zeros((3, 10, 1)), at_end)
    >>> [round(gradient.q[0], 3) for gradient in found]
    [0.999, 0.999, 0.999]
    """
    efforts = np.asarray(efforts, dtype=float)
    if efforts.ndim != 3 or len(efforts) != worlds.count:
        raise InputError(f"efforts must be of {worlds.count} worlds, steps and joints, got {efforts.shape}")
    if worlds.has_own_values:
        raise InputError("gradients of worlds with values of their own are not known; differentiate a scene with them")
    simulators: list[Simulator] = [Simulator(worlds.scene, warm_up=False) for _ in range(worlds.threads)]
    shares = [range(i, worlds.count, worlds.threads) for i in range(worlds.threads)]

    def run(i: int) -> list[RolloutGradient]:
        found = []
        for w in shares[i]:
            simulators[i].state[:] = worlds.state(w)
            found.append(rollout_gradient(simulators[i], efforts[w], partial(cost, w), parameters))
        return found

    with ThreadPoolExecutor(worlds.threads) as pool:
        parts = list(pool.map(run, range(worlds.threads)))
    return [parts[w % worlds.threads][w // worlds.threads] for w in range(worlds.count)]
