# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trees with loops and gears, densely: rows by the dense Jacobians, their rates by differences, multipliers."""

from __future__ import annotations

import numpy as np

from mb_contact.types import (
    CLOSURE_AXIS,
    CLOSURE_DISTANCE,
    CLOSURE_PLANAR,
    CLOSURE_WELD,
    WORLD,
)
from oracles.dense_oracle import Dense, advance, cross

RATE_STEP = 5e-4  #: of the differences, whose error is of fourth order


def rows(tree, closures, gears, q):
    """G (rows, N) of all closures, then gears, at q."""
    dense = Dense(tree, q)
    stacked = [_closure(dense, closures, i) for i in range(len(closures.kind))]
    for a, b, ratio in zip(gears.body_a, gears.body_b, gears.ratio):
        row = np.zeros((1, dense.N))
        row[0, tree.v_start[a]] += 1.0
        row[0, tree.v_start[b]] -= ratio
        stacked.append(row)
    return np.vstack(stacked) if stacked else np.zeros((0, dense.N))


def _placed(dense, k, R, p):
    if k == WORLD:
        return R, p
    return dense.R[k] @ R, dense.p[k] + dense.R[k] @ p


def _closure(dense, closures, i):
    a, b, kind = closures.body_a[i], closures.body_b[i], closures.kind[i]
    _, p_a = _placed(dense, a, closures.R_a[i], closures.p_a[i])
    R_b, p_b = _placed(dense, b, closures.R_b[i], closures.p_b[i])
    apart = dense.point_jacobian(a, p_a) - dense.point_jacobian(b, p_b)
    if kind == CLOSURE_WELD:
        return apart
    if kind == CLOSURE_AXIS:
        return np.vstack((R_b[:, :2].T @ apart[:3], apart[3:]))
    if kind == CLOSURE_DISTANCE:
        n = (p_a - p_b) / np.linalg.norm(p_a - p_b)
        return n[None] @ apart[3:]
    if kind == CLOSURE_PLANAR:
        at_a = dense.point_jacobian(a, p_a) - dense.point_jacobian(b, p_a)
        return np.vstack((R_b[:, :2].T @ at_a[:3], R_b[:, 2:].T @ at_a[3:]))
    return apart[3:]


def rates(tree, closures, gears, q, v):
    """dG/dt v by differences of fourth order along the motion."""

    def velocity(t):
        return rows(tree, closures, gears, advance(tree, q, v, t)) @ v

    h = RATE_STEP
    return (8.0 * (velocity(h) - velocity(-h)) - (velocity(2 * h) - velocity(-2 * h))) / (12.0 * h)


def multipliers(tree, closures, gears, q, v, effort, gravity):
    """v_dot with G v_dot + dG/dt v = 0, and the dense M and G, from the tree's equations with multipliers."""
    dense = Dense(tree, q, v)
    M, G = dense.mass_matrix(), rows(tree, closures, gears, q)
    free = dense.forward(effort, gravity)
    across = np.linalg.solve(M, G.T)
    push = np.linalg.lstsq(G @ across, -rates(tree, closures, gears, q, v) - G @ free, rcond=1e-10)[0]
    return free + across @ push, M, G


def hold(tree, closures, gears, q, v):
    """The velocity nearest to v with G v = 0."""
    G = rows(tree, closures, gears, q)
    return v - np.linalg.pinv(G, rcond=1e-10) @ (G @ v)


__all__ = ["cross", "hold", "multipliers", "rates", "rows"]
