# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Semismooth Newton steps on the exact-cone problem (Alart and Curnier's equations, scaled rows).

    separate (r_n <= rho u_n)         r = 0
    active                            u_n = 0
    group sticks (|p| <= r_n)         u_g = 0                     p = r_g - rho u_g
    group slips                       r_g = r_n p / |p|

The Jacobian takes W + eps diag W for W, a proximal term: redundant contacts make W singular, the residual is exact, so
eps costs some iterations and no accuracy.  eps falls while steps succeed and rises when they do not.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.cone.problem import CONE, natural_residual
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.block_sparse import multiply, solve_once

FIRST_WEIGHT = 1e-7
LEAST_WEIGHT = 1e-10
PATIENCE = 3  #: steps without improvement before going back to the best point with a larger eps; of a proximal problem
LONG_PATIENCE = 12  #: where the way out of a wrong guess of the states leads over a hill


class Newton(NamedTuple):
    """Workspaces of :func:`newton`."""

    K: np.ndarray  #: (m, LARGEST, LARGEST), row weights of W
    G: np.ndarray  #: (m, LARGEST, LARGEST), added to the diagonal blocks
    u: np.ndarray
    b: np.ndarray
    dr: np.ndarray
    trivial: np.ndarray  #: bool (rows,), rows of separate contacts
    best: np.ndarray
    diagonal: np.ndarray  #: (rows,)
    norm: np.ndarray  #: (2,), |q| in original units (at least 1) and in scaled ones
    length: np.ndarray  #: (LARGEST,)
    slope: np.ndarray  #: (LARGEST,)


@kernel
def measure(blocks, q, units, N, r):
    """Relative natural residual, the larger of the one in original and in scaled units; fills ``N.u``."""
    multiply(blocks, r, N.u)
    for a in range(q.shape[0]):
        N.u[a] += q[a]
        if not np.isfinite(N.u[a]):
            return np.inf
    original = natural_residual(units, r, N.u, True, N.length, N.slope) * units.unit[0]
    scaled = natural_residual(units, r, N.u, False, N.length, N.slope)
    if original == 0.0 and scaled == 0.0:
        return 0.0
    return max(original / N.norm[0], scaled / N.norm[1])


@kernel
def newton(blocks, q, units, factors, N, r, limit, target, patience):
    """Newton steps from r, which ends as the best point met; returns (its measure, steps).

    After ``patience`` steps without improvement, or where the measure has risen by as many orders, it starts again from
    the best point with a larger eps.
    """
    now = measure(blocks, q, units, N, r)
    least = now
    for a in range(r.shape[0]):
        N.best[a] = r[a]
    weight = FIRST_WEIGHT
    failures = 0
    steps = 0
    while steps < limit and least > target:
        steps += 1
        _equations(blocks, units, N, r, weight)
        _matrix(blocks, units, factors, N, weight)
        for a in range(r.shape[0]):
            N.dr[a] = N.b[a]
        if solve_once(blocks, factors, N.trivial, N.dr):
            for a in range(r.shape[0]):
                r[a] += N.dr[a]
            now = measure(blocks, q, units, N, r)
        else:
            now = np.inf
        if now < 0.9 * least:
            least = now
            failures = 0
            weight = max(0.1 * weight, LEAST_WEIGHT)
            for a in range(r.shape[0]):
                N.best[a] = r[a]
            continue
        failures += 1
        if failures >= patience or not now < 10.0**patience * least:
            failures = 0
            weight = min(30.0 * weight, 1.0)
            for a in range(r.shape[0]):
                r[a] = N.best[a]
            measure(blocks, q, units, N, r)
    for a in range(r.shape[0]):
        r[a] = N.best[a]
    return least, steps


@kernel
def _equations(blocks, units, N, r, weight):
    """Row weights K, diagonal blocks G and right-hand side b of (K (W + eps diag W) + G) dr = b."""
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        d = units.start[i + 1] - n
        for k in range(d):
            N.trivial[n + k] = False
            for l in range(d):
                N.K[i, k, l] = 0.0
                N.G[i, k, l] = 0.0
        rho = 1.0 / N.diagonal[n]
        if units.kind[i] == CONE and r[n] - rho * N.u[n] <= 0.0:
            for k in range(d):
                N.trivial[n + k] = True
                N.G[i, k, k] = 1.0
                N.b[n + k] = -r[n + k]
            continue
        for k in range(d):
            N.K[i, k, k] = 1.0
            N.b[n + k] = -N.u[n + k]
        for g in range(units.group[i], units.group[i + 1]):
            _group_equations(units, N, r, i, g, n)


@kernel
def _group_equations(units, N, r, i, g, n):
    """Rows of a slipping group (a sticking one keeps u = 0), divided by rho so that all rows are velocities."""
    a = units.row[g]
    size = units.size[g]
    mean = 0.0
    for k in range(size):
        mean += N.diagonal[a + k] / size
    rho = 1.0 / mean if size > 0 else 1.0
    norm = 0.0
    for k in range(size):
        norm += (r[a + k] - rho * N.u[a + k]) ** 2
    norm = np.sqrt(norm)
    bound = max(r[n], 0.0)
    if norm <= bound or norm == 0.0:
        return
    kappa = bound / norm
    for k in range(size):
        t = (r[a + k] - rho * N.u[a + k]) / norm
        N.b[a + k] = -(r[a + k] - bound * t) / rho
        N.G[i, a - n + k, 0] = -t / rho
        for l in range(size):
            s = (r[a + l] - rho * N.u[a + l]) / norm
            unity = 1.0 if k == l else 0.0
            N.K[i, a - n + k, a - n + l] = kappa * (unity - t * s)
            N.G[i, a - n + k, a - n + l] = (unity - kappa * (unity - t * s)) / rho


@kernel
def _matrix(blocks, units, factors, N, weight):
    """Values of K (W + eps diag W) + G."""
    value = factors.value
    for a in range(value.shape[0]):
        value[a] = 0.0
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        d = units.start[i + 1] - n
        separate = N.K[i, 0, 0] == 0.0
        for b in range(blocks.first[i], blocks.first[i + 1]):
            j = blocks.column[b]
            o = blocks.offset[b]
            p = factors.target[b]
            e = units.start[j + 1] - units.start[j]
            if not separate:
                for k in range(d):
                    for l in range(d):
                        f = N.K[i, k, l]
                        if f != 0.0:
                            for c in range(e):
                                value[p + k * e + c] += f * blocks.value[o + l * e + c]
            if i == j:
                for k in range(d):
                    for l in range(d):
                        f = N.K[i, k, l] * weight * N.diagonal[n + l]
                        value[p + k * d + l] += f + N.G[i, k, l]
