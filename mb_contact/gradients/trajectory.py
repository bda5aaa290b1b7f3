# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories as functions of velocities at the start and efforts: what wrappers for other libraries call."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.gradients.rollout import rollout_gradient
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL


def trajectory(sim: Any, v: ArrayLike, efforts: ArrayLike) -> tuple[Floats, Floats]:
    """States of a rollout from the present coordinates; the simulator's state is the same again behind the call.

    Parameters
    ----------
    sim : Simulator
    v : array_like (N,)
        Velocities at the start [rad/s, m/s].
    efforts : array_like (T, joints)
        [N m, N]

    Returns
    -------
    q : ndarray (T + 1, nq)
    v : ndarray (T + 1, N)

    Raises
    ------
    InputError
        Velocities or efforts of another length or not finite.

    Examples
    --------
    >>> arm = mb.Simulator(mb.pendulum(1, length=1.0).scene())
    >>> q, v = mb.gradients.trajectory(arm, [0.0], np.ones((3, 1)))
    >>> q.shape, v.shape
    ((4, 1), (4, 1))
    """
    start = sim.save()
    try:
        sim.set_state(sim.q, v)
        states = [(sim.q, sim.v)]
        for effort in np.asarray(efforts, dtype=float):
            sim.step(effort)
            states.append((sim.q, sim.v))
    finally:
        sim.restore(start)
    q, rates = zip(*states, strict=True)
    return np.array(q), np.array(rates)


def pull_trajectory(
    sim: Any, v: ArrayLike, efforts: ArrayLike, q_bar: ArrayLike, v_bar: ArrayLike
) -> tuple[Floats, Floats]:
    """The product of cotangents of a trajectory with its derivatives.

    Parameters
    ----------
    sim, v, efforts
        As of ``trajectory``.
    q_bar : array_like (T + 1, nq)
        Of its coordinates, quaternions entry by entry.
    v_bar : array_like (T + 1, N)

    Returns
    -------
    v : ndarray (N,)
        Of the velocities at the start.
    efforts : ndarray (T, joints)

    Raises
    ------
    InputError
        An argument does not fit, or a step has something whose derivative is not known.

    Examples
    --------
    >>> arm = mb.Simulator(mb.pendulum(1, length=1.0).scene())
    >>> ends = np.zeros((4, 1)), np.array([[0.0], [0.0], [0.0], [1.0]])
    >>> mb.gradients.pull_trajectory(arm, [0.0], np.ones((3, 1)), *ends)[0].round(4)  # dv_3 / dv_0
    array([1.])
    """
    q_bar, v_bar, tree, start = np.asarray(q_bar, float), np.asarray(v_bar, float), sim.context.tree, sim.save()

    def cost(k, q, _):
        return 0.0, along_velocities(tree, q, q_bar[k]), v_bar[k]

    try:
        sim.set_state(sim.q, v)
        found = rollout_gradient(sim, efforts, cost)
    finally:
        sim.restore(start)
    return found.v, found.effort


def along_velocities(tree, q, q_bar):
    """A derivative by the entries of q (nq,) as one along the velocity coordinates (N,).

    A turn d of a quaternion (v, w) about world or parent axes changes it by (w d + d x v, -d.v) / 2.
    """
    out = np.zeros(len(tree.armature))
    for k, kind in enumerate(tree.joint_type):
        s, i, n = tree.q_start[k], tree.v_start[k], tree.nv[k]
        if kind not in (JOINT_FLOATING, JOINT_SPHERICAL):
            out[i : i + n] = q_bar[s : s + n]
            continue
        R = tree.R_joint[k] if kind == JOINT_FLOATING else np.eye(3)
        at = s + 3 if kind == JOINT_FLOATING else s
        x, w, by, by_w = q[at : at + 3], q[at + 3], q_bar[at : at + 3], q_bar[at + 3]
        out[i : i + 3] = R @ (0.5 * (w * by + np.cross(x, by) - by_w * x))
        if kind == JOINT_FLOATING:
            out[i + 3 : i + 6] = R @ q_bar[s : s + 3]
    return out
