# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse kinematics of nodes by Levenberg and Marquardt's method, within joint limits (Sugihara 2011).

e = [log(R_wanted R^T); p_wanted - p] of each node, J its Jacobian by the coordinates x; a step is
dx = J^T (J J^T + lambda 1)^-1 e with lambda = |e|^2 / 2 + LEAST, so that it is Newton's at the end and short far away.
Coordinates at a limit that a step would leave are left out of it.
"""

import math
from typing import NamedTuple

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.jit import kernel
from mb_contact.core.tree.evaluate import place
from mb_contact.core.tree.frames import frame_jacobians, frame_poses
from mb_contact.core.tree.rotations import rotation_vector
from mb_contact.core.tree.spatial import matrix, product, transposed
from mb_contact.types import OK

LEAST = 1e-14  #: damping at the solution [m^2, rad^2]: what keeps a singular J J^T from being divided by
PATIENCE = 12  #: iterations in which the error has to fall
FALL = 0.7  #: to this part of what it was, or the next start is tried


class Moved(NamedTuple):
    """Which coordinates of the tree follow which x: q = ratio x + offset, one entry for each that is moved."""

    q: np.ndarray  #: int64 (s,), in the tree's coordinates
    v: np.ndarray  #: int64 (s,), in its velocities
    x: np.ndarray  #: int64 (s,), which of the unknowns
    ratio: np.ndarray  #: (s,)
    offset: np.ndarray  #: (s,) [rad, m]
    lower: np.ndarray  #: (m,), of the unknowns
    upper: np.ndarray  #: (m,)


class Wanted(NamedTuple):
    """Poses of the nodes in the world."""

    R: np.ndarray  #: (f, 3, 3)
    p: np.ndarray  #: (f, 3) [m]


class Space(NamedTuple):
    """Workspaces of a search."""

    J: np.ndarray  #: (rows, N)
    Jx: np.ndarray  #: (rows, m)
    A: np.ndarray  #: (rows, rows)
    e: np.ndarray  #: (rows,)
    y: np.ndarray  #: (rows,)
    dx: np.ndarray  #: (m,)
    held: np.ndarray  #: int64 (m,)


@kernel
def set_coordinates(moved, x, q):
    """q of what x moves."""
    for s in range(moved.q.shape[0]):
        q[moved.q[s]] = moved.ratio[s] * x[moved.x[s]] + moved.offset[s]


@kernel
def pose_errors(h, nodes, wanted, q, e):
    """e (rows,) at q; returns (status, largest entry [rad, m])."""
    status, _ = place(h.tree, h.kin, q)
    if status != OK:
        return status, np.inf
    frame_poses(h.kin, nodes.body, nodes.R_frame, nodes.p_frame, nodes.R, nodes.p)
    row, worst = 0, 0.0
    for i in range(nodes.body.shape[0]):
        if nodes.first[i] == 0:
            error = product(matrix(wanted.R, i), transposed(matrix(nodes.R, i)))
            e[row], e[row + 1], e[row + 2] = rotation_vector(error)
            row += 3
        for d in range(3):
            e[row + d] = wanted.p[i, d] - nodes.p[i, d]
        row += 3
    for i in range(row):
        worst = max(worst, abs(e[i]))
    return status, worst


@kernel
def jacobian_of_unknowns(h, nodes, moved, space):
    """J (rows, N) of the nodes at the poses that ``pose_errors`` left, and Jx (rows, m) by the unknowns."""
    rows = space.J.shape[0]
    for i in range(rows):
        fill(space.J.shape[1], space.J[i], 0.0)
        fill(space.Jx.shape[1], space.Jx[i], 0.0)
    frame_jacobians(h.tree, h.kin, nodes.body, nodes.first, nodes.p, space.J)
    for s in range(moved.q.shape[0]):
        for i in range(rows):
            space.Jx[i, moved.x[s]] += moved.ratio[s] * space.J[i, moved.v[s]]


@kernel
def damped_step(space, right, damping):
    """dx = Jx^T (Jx Jx^T + damping 1)^-1 right over the columns that are not held, by Cholesky's factor."""
    rows, m = space.Jx.shape
    A = space.A
    for i in range(rows):
        for j in range(i + 1):
            total = 0.0
            for k in range(m):
                if space.held[k] == 0:
                    total += space.Jx[i, k] * space.Jx[j, k]
            A[i, j] = total
        A[i, i] += damping
    for j in range(rows):
        for k in range(j):
            A[j, j] -= A[j, k] * A[j, k]
        A[j, j] = math.sqrt(max(A[j, j], LEAST * LEAST))
        for i in range(j + 1, rows):
            for k in range(j):
                A[i, j] -= A[i, k] * A[j, k]
            A[i, j] /= A[j, j]
    for i in range(rows):
        total = right[i]
        for k in range(i):
            total -= A[i, k] * space.y[k]
        space.y[i] = total / A[i, i]
    for r in range(rows):
        i = rows - 1 - r
        total = space.y[i]
        for k in range(i + 1, rows):
            total -= A[k, i] * space.y[k]
        space.y[i] = total / A[i, i]
    for k in range(m):
        total = 0.0
        if space.held[k] == 0:
            for i in range(rows):
                total += space.Jx[i, k] * space.y[i]
        space.dx[k] = total


@kernel
def bounded_step(moved, space, x, right, damping):
    """``damped_step`` with the coordinates held that stand at a limit and would leave it; into x, clipped."""
    m = x.shape[0]
    fill(m, space.held, 0)
    for _ in range(m):
        damped_step(space, right, damping)
        more = 0
        for k in range(m):
            beyond = (x[k] <= moved.lower[k] and space.dx[k] < 0.0) or (x[k] >= moved.upper[k] and space.dx[k] > 0.0)
            if space.held[k] == 0 and beyond:
                space.held[k] = 1
                more += 1
        if more == 0:
            break
    for k in range(m):
        x[k] = min(max(x[k] + space.dx[k], moved.lower[k]), moved.upper[k])


@kernel
def approach(h, nodes, moved, wanted, space, q, x, tolerance, iterations):
    """Move x and q from x to where the nodes are as wanted; returns (status, largest error [rad, m])."""
    best, since = np.inf, 0
    status, worst = OK, np.inf
    for _ in range(iterations):
        set_coordinates(moved, x, q)
        status, worst = pose_errors(h, nodes, wanted, q, space.e)
        if status != OK or worst <= tolerance:
            break
        since += 1
        if worst < FALL * best:
            best, since = worst, 0
        if since > PATIENCE:
            break
        jacobian_of_unknowns(h, nodes, moved, space)
        square = 0.0
        for i in range(space.e.shape[0]):
            square += space.e[i] * space.e[i]
        bounded_step(moved, space, x, space.e, 0.5 * square + LEAST)
    return status, worst


@kernel
def search(h, nodes, moved, wanted, space, starts, q, x, tolerance, iterations):
    """``approach`` from each row of starts until one gets there; (status, largest error, starts tried).

    q and x are those of the nearest approach.
    """
    nearest, chosen = np.inf, 0
    for a in range(starts.shape[0]):
        copy(x.shape[0], starts[a], x)
        status, worst = approach(h, nodes, moved, wanted, space, q, x, tolerance, iterations)
        if status != OK:
            return status, worst, a
        copy(x.shape[0], x, starts[a])
        if worst < nearest:
            nearest, chosen = worst, a
        if worst <= tolerance:
            return status, worst, a + 1
    copy(x.shape[0], starts[chosen], x)
    set_coordinates(moved, x, q)
    return OK, nearest, starts.shape[0]


@kernel
def settle(h, nodes, moved, wanted, space, rest, q, x, tolerance, iterations):
    """From a solution towards the posture ``rest`` (m,) with the freedom that is left; (status, largest error).

    x + (1 - J^+ J) (rest - x), the nodes brought back after each step, until it moves by less than the tolerance.
    """
    status, worst = OK, np.inf
    rows, m = space.Jx.shape
    for _ in range(iterations):
        jacobian_of_unknowns(h, nodes, moved, space)
        for i in range(rows):
            space.e[i] = 0.0
            for k in range(m):
                space.e[i] -= space.Jx[i, k] * (rest[k] - x[k])
        fill(m, space.held, 0)
        damped_step(space, space.e, LEAST)
        moves = 0.0
        for k in range(m):
            step = 0.5 * (rest[k] - x[k] + space.dx[k])
            new = min(max(x[k] + step, moved.lower[k]), moved.upper[k])
            moves = max(moves, abs(new - x[k]))
            x[k] = new
        status, worst = approach(h, nodes, moved, wanted, space, q, x, tolerance, 50)
        if status != OK or worst > tolerance or moves < 1e-6:
            break
    return status, worst
