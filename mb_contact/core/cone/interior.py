# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Interior-point steps for the frictional contact problem on exact cones (scaled rows, ``cone_problem``).

Every group g of a contact is a Lorentz cone of its own, z_g = (r_n, r_g) with dual y_g, and

    W r + q + sum_g s_g n = sum_g E_g* y_g,   z_g = E_g r,   z_g o y_g = 0,   s_g = |tail of y_g|          (1)

(E_g picks the rows; o is the product of the cone's Jordan algebra).  A step is Mehrotra's predictor and corrector in
Nesterov and Todd's scaling, on (1) with its De Saxce term: s_g is differentiated, so the convergence stays that
of an interior-point method, whereas freezing s_g in a step costs three times as many or fails (docs/solvers.md).
With dy_g = t_g - H_g dz_g a step is one factorisation of W + sum_g E_g* (1 - S_g) H_g E_g, S_g = n
tail(y_g)*/|tail(y_g)|, which is W with other diagonal blocks.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.cone.problem import CONE
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.block_sparse import factor, multiply, substitute

FLOOR = 1e-30  # of the squared axis: a point on the boundary is moved inside by rounding
RETREAT = 0.995  # of the step to the boundary
FREE_WEIGHT = 1e-11  # added to the unit diagonal of bilateral rows, removed by refinement


class Interior(NamedTuple):
    """State and workspaces; the arrays over cones hold (1 + size) entries a group from ``first``."""

    first: np.ndarray  #: int64 (groups + 1,)
    y: np.ndarray  #: dual points
    z: np.ndarray
    v: np.ndarray  #: scaling point
    root: np.ndarray  #: its square root
    theta: np.ndarray  #: (groups,) length of the scaling
    lam: np.ndarray  #: scaled point
    t: np.ndarray
    dy: np.ndarray
    dz: np.ndarray
    c: np.ndarray
    block: np.ndarray  #: (m, LARGEST, LARGEST), what is added to the diagonal blocks
    r: np.ndarray  #: (rows,)
    u: np.ndarray  #: (rows,)
    dr: np.ndarray  #: (rows,)
    rhs: np.ndarray  #: (rows,)
    dual: np.ndarray  #: (rows,), residual of the first equation


@kernel
def start_interior(units, S, force, velocity):
    """A point on the axes of the cones; scaled impulses ``force``, scaled velocities ``velocity``."""
    for a in range(S.r.shape[0]):
        S.r[a] = 0.0
    for a in range(S.y.shape[0]):
        S.y[a] = 0.0
    for i in range(units.kind.shape[0]):
        if units.kind[i] == CONE:
            S.r[units.start[i]] = force
            for g in range(units.group[i], units.group[i + 1]):
                S.y[S.first[g]] = velocity


@kernel
def interior_step(blocks, q, units, factors, S, slip):
    """One step; returns (mean of z y over the cones before it, step length, 0.0 when it broke down).

    ``slip`` false leaves the derivative of s_g out (a slower, symmetric step).
    """
    gap = _residual(blocks, q, units, S)
    for g in range(units.size.shape[0]):
        o = S.first[g]
        S.theta[g] = _scaling(S.z, S.y, S.v, S.root, o, 1 + units.size[g])
        _quadratic(S.root, S.z, S.lam, o, 1 + units.size[g], 1.0 / S.theta[g])
    _matrix(blocks, units, factors, S, slip)
    factors.idle[:] = False
    if not factor(blocks, factors):
        return gap, 0.0
    # predictor: lam o (P dz + P^-1 dy) = -lam o lam
    for g in range(units.size.shape[0]):
        _product(S.lam, S.lam, S.c, S.first[g], 1 + units.size[g], -1.0)
    _direction(blocks, units, factors, S, slip, 1.0)
    length = min(1.0, _longest(units, S))
    after = 0.0
    cones = max(units.size.shape[0], 1)
    for a in range(S.y.shape[0]):
        after += (S.z[a] + length * S.dz[a]) * (S.y[a] + length * S.dy[a]) / cones
    sigma = min(max((after / gap) ** 3, 1e-8), 1.0) if gap > 0.0 else 0.0
    for g in range(units.size.shape[0]):
        _corrector(S, g, 1 + units.size[g], length * length, sigma * gap)
    _direction(blocks, units, factors, S, slip, 1.0 - sigma)
    length = min(1.0, RETREAT * _longest(units, S))
    if not np.isfinite(length) or not length > 0.0:
        return gap, 0.0
    for a in range(S.r.shape[0]):
        S.r[a] += length * S.dr[a]
    for a in range(S.y.shape[0]):
        S.y[a] += length * S.dy[a]
    return gap, length


@kernel
def _residual(blocks, q, units, S):
    """z, the residual of (1) in ``dual``, and the mean complementarity gap."""
    multiply(blocks, S.r, S.u)
    for a in range(S.r.shape[0]):
        S.u[a] += q[a]
        S.dual[a] = -S.u[a]
    gap = 0.0
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        for g in range(units.group[i], units.group[i + 1]):
            o = S.first[g]
            S.z[o] = S.r[n]
            s = 0.0
            for k in range(units.size[g]):
                a = units.row[g] + k
                y = S.y[o + 1 + k]
                S.z[o + 1 + k] = S.r[a]
                S.dual[a] += y
                s += y * y
            S.dual[n] += S.y[o] - np.sqrt(s)
            for k in range(1 + units.size[g]):
                gap += S.z[o + k] * S.y[o + k]
    return gap / max(units.size.shape[0], 1)


@kernel
def _determinant(x, o, d):
    """x_0^2 - |tail|^2, computed without cancellation and kept positive."""
    t = 0.0
    for k in range(1, d):
        t += x[o + k] * x[o + k]
    t = np.sqrt(t)
    return max((x[o] - t) * (x[o] + t), FLOOR * x[o] * x[o])


@kernel
def _scaling(z, y, v, root, o, d):
    """Nesterov and Todd's point: y = Q_v z / theta^2 with det v = 1; ``root`` is the square root of v."""
    a = np.sqrt(_determinant(z, o, d))
    b = np.sqrt(_determinant(y, o, d))
    t = 0.0
    for k in range(d):
        t += z[o + k] * y[o + k]
    gamma = np.sqrt(0.5 * (1.0 + t / (a * b)))
    v[o] = 0.5 * (z[o] / a + y[o] / b) / gamma
    for k in range(1, d):
        v[o + k] = 0.5 * (y[o + k] / b - z[o + k] / a) / gamma
    h = np.sqrt(0.5 * (v[o] + 1.0))
    root[o] = h
    for k in range(1, d):
        root[o + k] = 0.5 * v[o + k] / h
    return np.sqrt(a / b)


@kernel
def _quadratic(v, x, out, o, d, factor_):
    """out := factor (2 v v* - J) x, J = diag(1, -1, ...)."""
    t = 0.0
    for k in range(d):
        t += v[o + k] * x[o + k]
    out[o] = factor_ * (2.0 * t * v[o] - x[o])
    for k in range(1, d):
        out[o + k] = factor_ * (2.0 * t * v[o + k] + x[o + k])


@kernel
def _product(a, b, out, o, d, factor_):
    """out := factor a o b."""
    t = 0.0
    for k in range(d):
        t += a[o + k] * b[o + k]
    for k in range(1, d):
        out[o + k] = factor_ * (a[o] * b[o + k] + b[o] * a[o + k])
    out[o] = factor_ * t


@kernel
def _matrix(blocks, units, factors, S, slip):
    """Values of W + sum_g E_g* (1 - S_g) H_g E_g, H = (2 v v* - J) / theta^2."""
    for a in range(factors.value.shape[0]):
        factors.value[a] = 0.0
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        d = units.start[i + 1] - n
        for a in range(d):
            for b in range(d):
                S.block[i, a, b] = 0.0
        if units.kind[i] != CONE:
            for a in range(d):
                S.block[i, a, a] = FREE_WEIGHT
        for g in range(units.group[i], units.group[i + 1]):
            _add_block(units, S, i, g, units.row[g] - n, slip)
        for b in range(blocks.first[i], blocks.first[i + 1]):
            j = blocks.column[b]
            e = units.start[j + 1] - units.start[j]
            o = blocks.offset[b]
            p = factors.target[b]
            for a in range(d * e):
                factors.value[p + a] = blocks.value[o + a]
            if i == j:
                for a in range(d):
                    for c in range(d):
                        factors.value[p + a * d + c] += S.block[i, a, c]


@kernel
def _add_block(units, S, i, g, at, slip):
    """Add group g's (1 - S) H to the diagonal block of unit i; its friction rows start at ``at``."""
    o = S.first[g]
    d = units.size[g]
    f = 1.0 / (S.theta[g] * S.theta[g])
    norm = 0.0
    for k in range(d):
        norm += S.y[o + 1 + k] ** 2
    norm = np.sqrt(norm)
    S.block[i, 0, 0] += f * (2.0 * S.v[o] * S.v[o] - 1.0)
    for k in range(d):
        x = 2.0 * f * S.v[o] * S.v[o + 1 + k]
        S.block[i, 0, at + k] += x
        S.block[i, at + k, 0] += x
        for l in range(d):
            S.block[i, at + k, at + l] += f * (2.0 * S.v[o + 1 + k] * S.v[o + 1 + l] + (1.0 if k == l else 0.0))
    if slip and norm > 0.0:
        for k in range(d):
            h = S.y[o + 1 + k] / norm
            S.block[i, 0, 0] -= h * S.block[i, at + k, 0]
            for l in range(d):
                S.block[i, 0, at + l] -= h * S.block[i, at + k, at + l]


@kernel
def _direction(blocks, units, factors, S, slip, share):
    """dr, dz, dy for ``c`` in the complementarity equations and a ``share`` of the residual of (1)."""
    for a in range(S.r.shape[0]):
        S.rhs[a] = share * S.dual[a]
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        for g in range(units.group[i], units.group[i + 1]):
            o = S.first[g]
            d = 1 + units.size[g]
            # t = P (lam \ c)
            x = S.lam[o] * S.c[o]
            for k in range(1, d):
                x -= S.lam[o + k] * S.c[o + k]
            x /= _determinant(S.lam, o, d)
            for k in range(1, d):
                S.dz[o + k] = (S.c[o + k] - x * S.lam[o + k]) / S.lam[o]
            S.dz[o] = x
            _quadratic(S.root, S.dz, S.t, o, d, 1.0 / S.theta[g])
            S.rhs[n] += S.t[o]
            norm = 0.0
            for k in range(1, d):
                norm += S.y[o + k] ** 2
            norm = np.sqrt(norm)
            for k in range(1, d):
                S.rhs[units.row[g] + k - 1] += S.t[o + k]
                if slip and norm > 0.0:
                    S.rhs[n] -= S.y[o + k] / norm * S.t[o + k]
    solve_refined(blocks, units, factors, S.block, S.rhs, S.dr)
    for i in range(units.kind.shape[0]):
        for g in range(units.group[i], units.group[i + 1]):
            o = S.first[g]
            d = 1 + units.size[g]
            S.dz[o] = S.dr[units.start[i]]
            for k in range(1, d):
                S.dz[o + k] = S.dr[units.row[g] + k - 1]
            _quadratic(S.v, S.dz, S.dy, o, d, -1.0 / (S.theta[g] * S.theta[g]))
            for k in range(d):
                S.dy[o + k] += S.t[o + k]


@kernel
def solve_refined(blocks, units, factors, block, b, x):
    """x of (W + diag of ``block``) x = b with one step of iterative refinement."""
    for a in range(x.shape[0]):
        x[a] = b[a]
    substitute(blocks, factors, x)
    multiply(blocks, x, factors.rest)
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        d = units.start[i + 1] - n
        for k in range(d):
            t = factors.rest[n + k]
            for l in range(d):
                t += block[i, k, l] * x[n + l]
            factors.rest[n + k] = b[n + k] - t
    substitute(blocks, factors, factors.rest)
    for a in range(x.shape[0]):
        x[a] += factors.rest[a]


@kernel
def _corrector(S, g, d, weight, centre):
    """c := -lam o lam - weight (P dz) o (P^-1 dy) + centre e."""
    o = S.first[g]
    _quadratic(S.root, S.dz, S.c, o, d, 1.0 / S.theta[g])
    # P^-1 = theta Q of the reflected root
    for k in range(1, d):
        S.root[o + k] = -S.root[o + k]
    _quadratic(S.root, S.dy, S.t, o, d, S.theta[g])
    for k in range(1, d):
        S.root[o + k] = -S.root[o + k]
    _product(S.c, S.t, S.dz, o, d, weight)
    _product(S.lam, S.lam, S.c, o, d, -1.0)
    for k in range(d):
        S.c[o + k] -= S.dz[o + k]
    S.c[o] += centre


@kernel
def _longest(units, S):
    """Longest step that leaves all z and y in their cones."""
    length = 1e20
    for g in range(units.size.shape[0]):
        length = min(length, _boundary(S.z, S.dz, S.first[g], 1 + units.size[g]))
        length = min(length, _boundary(S.y, S.dy, S.first[g], 1 + units.size[g]))
    return length


@kernel
def _boundary(x, dx, o, d):
    """Least positive root of det(x + a dx) = 0."""
    if d == 1:
        return -x[o] / dx[o] if dx[o] < 0.0 else 1e20
    t = 0.0
    b = x[o] * dx[o]
    for k in range(1, d):
        t += dx[o + k] * dx[o + k]
        b -= x[o + k] * dx[o + k]
    t = np.sqrt(t)
    a = (dx[o] - t) * (dx[o] + t)
    c = _determinant(x, o, d)
    root = b * b - a * c
    if b < 0.0:
        return c / (np.sqrt(root) - b) if root >= 0.0 else 1e20
    return (-b - np.sqrt(root)) / a if a < 0.0 else 1e20
