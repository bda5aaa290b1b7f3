# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The frictional contact problem on exact cones: its units, its scaling, the projection, the natural map.

    u = W r + q,      K* > u + s(u) n  _|_  r < K,      s = sum over the groups of |mu_g o u_g|      (De Saxce)

A unit is one row (bilateral: u = 0; unilateral: 0 <= u _|_ r >= 0) or a contact: its normal row and *groups* of
friction
rows, each bound by its own ellipse, ``|r_g / mu_g| <= r_n``.  Sliding is one group of two rows; torsion and rolling are
groups of their own, or share the ellipse of sliding.

Solvers work on scaled rows, ``r = c mu r'``, ``u' = c mu u``: all cones become ``|r'_g| <= r'_n``, all units weigh
alike, and complementarity is untouched.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel

FREE = 0  #: bilateral rows: u = 0
CONE = 1  #: a normal row and its friction groups; without friction one group of no rows


class Units(NamedTuple):
    """Layout of the rows; friction rows of a unit follow its normal row."""

    start: np.ndarray  #: int64 (m + 1,), first row
    kind: np.ndarray  #: int64 (m,), FREE or CONE
    group: np.ndarray  #: int64 (m + 1,), first group; a FREE unit has none, a CONE at least one
    row: np.ndarray  #: int64 (groups,), first friction row
    size: np.ndarray  #: int64 (groups,), friction rows, 0 or more
    mu: np.ndarray  #: (rows,), coefficient of each friction row, 1 elsewhere
    mean: np.ndarray  #: (groups,), geometric mean of a group's coefficients
    scale: np.ndarray  #: (m,), c
    unit: np.ndarray  #: (1,), common factor of r and u


@kernel
def unit_scales(blocks, units):
    """c of each unit: the mean diagonal of its rows becomes 1."""
    for i in range(units.kind.shape[0]):
        a = units.start[i]
        d = units.start[i + 1] - a
        t = 0.0
        for b in range(blocks.first[i], blocks.first[i + 1]):
            if blocks.column[b] == i:
                o = blocks.offset[b]
                for k in range(d):
                    t += blocks.value[o + k * d + k] * units.mu[a + k] ** 2
        t /= d
        units.scale[i] = 1.0 / np.sqrt(t) if t > 1e-200 and t < 1e200 else 1.0


@kernel
def scale_velocities(q, units):
    """Scale q in place; ``units.unit`` becomes the root mean square of the scaled q."""
    size = 0.0
    for i in range(units.kind.shape[0]):
        for a in range(units.start[i], units.start[i + 1]):
            q[a] *= units.scale[i] * units.mu[a]
            size += q[a] * q[a]
    size = np.sqrt(size / max(q.shape[0], 1))
    units.unit[0] = size if size > 1e-200 else 1.0
    for a in range(q.shape[0]):
        q[a] /= units.unit[0]


@kernel
def scale_problem(blocks, q, units):
    """Scale the matrix and q in place."""
    scale_velocities(q, units)
    m = units.kind.shape[0]
    for i in range(m):
        a = units.start[i]
        d = units.start[i + 1] - a
        for b in range(blocks.first[i], blocks.first[i + 1]):
            j = blocks.column[b]
            c = units.start[j]
            e = units.start[j + 1] - c
            o = blocks.offset[b]
            f = units.scale[i] * units.scale[j]
            for k in range(d):
                for l in range(e):
                    blocks.value[o + k * e + l] *= f * units.mu[a + k] * units.mu[c + l]


@kernel
def project_unit(x, length, slope, groups):
    """Normal part of the projection of (x, x_g) on ``|x_g| <= slope_g n``; ``length`` holds |x_g|.

    n minimises (n - x)^2 + sum of (|x_g| - slope_g n)_+^2.  Its derivative is concave and piecewise linear, so
    Newton's method from n = 0 climbs to the root in at most one step a group.
    """
    n = 0.0
    for _ in range(groups + 2):
        top = x
        bottom = 1.0
        for g in range(groups):
            if length[g] > slope[g] * n:
                top += slope[g] * length[g]
                bottom += slope[g] * slope[g]
        previous = n
        n = max(top / bottom, 0.0)
        if n <= previous:
            break
    return n


@kernel
def natural_residual(units, r, u, original, length, slope):
    """Norm of the natural map r - P(r - (u + s n)) from *scaled* r and u, in original units or in scaled ones."""
    total = 0.0
    for i in range(units.kind.shape[0]):
        total += _unit_square(units, i, r, u, original, length, slope)
    return np.sqrt(total)


@kernel
def worst_residual(units, r, u, length, slope):
    """Largest norm of a unit's natural map, in scaled units."""
    worst = 0.0
    for i in range(units.kind.shape[0]):
        worst = max(worst, _unit_square(units, i, r, u, False, length, slope))
    return np.sqrt(worst)


@kernel
def _unit_square(units, i, r, u, original, length, slope):
    """Square of the norm of unit i's natural map."""
    total = 0.0
    a = units.start[i]
    c = units.scale[i] if original else 1.0
    if units.kind[i] == FREE:
        for k in range(a, units.start[i + 1]):
            total += (u[k] / c) ** 2
        return total
    groups = units.group[i + 1] - units.group[i]
    s = 0.0
    for l in range(groups):
        g = units.group[i] + l
        f = c * units.mean[g] if original else 1.0
        t = 0.0
        v = 0.0
        for k in range(units.row[g], units.row[g] + units.size[g]):
            t += (f * r[k] - u[k] / f) ** 2
            v += u[k] * u[k]
        length[l] = np.sqrt(t)
        slope[l] = units.mean[g] if original else 1.0
        s += np.sqrt(v)
    w = (u[a] + s) / c
    n = project_unit(c * r[a] - w, length, slope, groups)
    total += (c * r[a] - n) ** 2
    for l in range(groups):
        g = units.group[i] + l
        f = c * units.mean[g] if original else 1.0
        keep = 1.0
        if length[l] > slope[l] * n:
            keep = slope[l] * n / length[l]
        for k in range(units.row[g], units.row[g] + units.size[g]):
            total += (f * r[k] - keep * (f * r[k] - u[k] / f)) ** 2
    return total
