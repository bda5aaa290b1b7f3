# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Frictional contact on exact cones: K* > u + s n _|_ r < K with u = W r + q.  Knows nothing of robots."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.cone.interior import Interior
from mb_contact.core.cone.newton import Newton
from mb_contact.core.cone.problem import scale_problem, unit_scales
from mb_contact.core.cone.solver import solve_cone
from mb_contact.core.lcp.block_pattern import count_blocks, eliminate, fill_blocks, place_factors
from mb_contact.core.lcp.block_sparse import LARGEST, Blocks, Factors
from mb_contact.errors import InputError
from mb_contact.solvers.layout import ConeLayout
from mb_contact.solvers.residuals import ConeResidual, cone_residual

DENSE = 0.5  #: share of entries in the factors above which dense ones are faster
LEAST_DENSE = 48  #: rows below which they never are


class FrictionResult(NamedTuple):
    """Outcome of :func:`solve_friction`; judge it by ``residual``."""

    r: np.ndarray  #: impulses, the best point found
    u: np.ndarray  #: W r + q
    status: str  #: "solved", "limit" (no point within the tolerance was found), "not_finite"
    iterations: int  #: linear systems factored
    residual: ConeResidual  #: recomputed from W, q and r
    points: int  #: proximal points taken; 0 unless the problem itself resisted


def solve_friction(W, q, mu=None, *, layout=None, warm=None, tolerance=1e-8, limit=60, points=60):
    """Solve the frictional contact problem without a pyramid.

    ``u = W r + q``, per contact ``K* > u + (mu |u_T|) n _|_ r < K = {|r_T| <= mu r_n}``: Coulomb's law, as De Saxce
    wrote it.  Torsion, rolling, unequal coefficients, joint limits and bilateral rows come with a layout.

    Parameters
    ----------
    W : (R, R)
        Delassus matrix, dense or scipy.sparse; taken as it is (make it symmetric first if it should be).
    q : (R,)
        Free velocities; rows of a contact: normal, tangent 1, tangent 2.
    mu : (R / 3,) or (R / 3, 2), optional
        Friction coefficients of plain contacts, instead of a layout.
    layout : ConeLayout, optional
    warm : (R,), optional
        Impulses to start from, those of the last step for instance.
    tolerance : float
        "solved" is said only if the natural residual recomputed from W, q, r is at most this times max(1, |q|),
        the residual in scaled units at most this, relative to the scaled q, and W r + q known as well as that
        (an r so large that rounding hides u is no solution).
    limit, points : int
        Most interior-point steps on the problem itself; most proximal points after that.

    Returns
    -------
    FrictionResult

    Raises
    ------
    InputError
        Shapes do not fit or entries are not finite.
    """
    layout, W, q = _check(W, q, mu, layout)
    if warm is not None:
        warm = as_vector(warm, len(q), "warm")
    for name, value in (("limit", limit), ("points", points)):
        if not isinstance(value, (int, np.integer)) or value < 0:
            raise InputError(f"{name} must be a number of steps, got {value!r}")
    solver = FrictionSolver(W, q, layout)
    r, measure, counts = solver.solve(warm, tolerance, int(limit), int(points))
    residual = cone_residual(W, q, layout, r)
    known = residual.rounding <= tolerance * max(1.0, float(np.linalg.norm(q)))  # else u is noise
    good = residual.relative <= tolerance and residual.scaled <= tolerance and known
    status = "solved" if good else ("limit" if np.isfinite(r).all() else "not_finite")
    return FrictionResult(r, np.asarray(W @ r + q), status, counts[0] + counts[1], residual, counts[2])


class FrictionSolver:
    """The arrays of one problem, scaled and ordered once; :meth:`solve` may be called again from other starts."""

    def __init__(self, W, q, layout):
        self.rows = len(q)
        reduced, self.keep = layout.without_frictionless_rows()
        if len(self.keep) < self.rows:
            W, q = W[self.keep][:, self.keep], q[self.keep]
        self.units = reduced.arrays()
        self.q = np.array(q, dtype=float)
        self.blocks = _blocks(W, self.units.start)
        unit_scales(self.blocks, self.units)
        scale_problem(self.blocks, self.q, self.units)
        self.factors = _factors(self.blocks)
        self.interior, self.newton = _workspaces(self.units)
        self.row_scale = np.repeat(self.units.scale, np.diff(self.units.start)) * self.units.mu * self.units.unit[0]
        self.work = np.zeros((6, len(self.q)))

    def solve(self, warm, tolerance, limit=60, points=60):
        """Impulses in the caller's units, the kernel's own residual, and its counts of steps."""
        size = len(self.q)
        r = np.zeros(size) if warm is None else warm[self.keep] / self.row_scale
        out = np.zeros(self.rows)
        if size == 0:
            return out, 0.0, (0, 0, 0)
        _, measure, *counts = solve_cone(
            self.blocks, self.q, self.units, self.factors, self.interior, self.newton,
            r, self.work, warm is not None, max(limit, 1), points, tolerance,
        )  # fmt: skip
        out[self.keep] = r * self.row_scale
        return out, measure, tuple(counts)


def _check(W, q, mu, layout):
    """Layout, matrix (dense or CSR) and right-hand side, checked."""
    if (mu is None) == (layout is None):
        raise InputError("give either mu (plain contacts) or a layout, not both or none")
    if layout is None:
        layout = ConeLayout.contacts(mu)
    if not isinstance(layout, ConeLayout):
        raise InputError(f"layout must be a ConeLayout, got {type(layout).__name__}")
    rows = layout.rows
    q = as_vector(q, rows, "q")
    if hasattr(W, "tocsr"):
        W = W.tocsr()
        if W.shape != (rows, rows):
            raise InputError(f"W must be {rows} x {rows}, got {W.shape[0]} x {W.shape[1]}")
        if not np.isfinite(W.data).all():
            raise InputError("W holds entries that are not finite")
        return layout, W.astype(float), q
    return layout, as_matrix(W, (rows, rows), "W"), q


def _blocks(W, start):
    """The nonzero blocks of a dense or CSR matrix."""
    m = len(start) - 1
    if isinstance(W, np.ndarray):
        W = np.ascontiguousarray(W)
        number, entries = count_blocks(W, start)
        blocks = Blocks(
            start, np.zeros(m + 1, np.int64), np.zeros(number, np.int64), np.zeros(number, np.int64), np.zeros(entries)
        )
        fill_blocks(W, blocks)
        return blocks
    W = W.tocoo()
    dim = np.diff(start)
    unit = np.repeat(np.arange(m), dim)
    i, j = unit[W.row], unit[W.col]
    pairs = np.unique(np.concatenate([i * m + j, j * m + i, np.arange(m) * (m + 1)]))
    row, column = pairs // m, pairs % m
    size = dim[row] * dim[column]
    offset = np.concatenate([[0], np.cumsum(size)])
    first = np.searchsorted(row, np.arange(m + 1))
    at = np.searchsorted(pairs, i * m + j)
    value = np.zeros(offset[-1])
    np.add.at(value, offset[at] + (W.row - start[i]) * dim[j] + (W.col - start[j]), W.data)
    return Blocks(start, first.astype(np.int64), column.astype(np.int64), offset[:-1].astype(np.int64), value)


def _factors(blocks):
    """Order, pattern and workspaces of the factors; dense ones where more than DENSE of the entries would be filled."""
    m = len(blocks.start) - 1
    rows = int(blocks.start[-1])
    adjacent = np.zeros((m, m), np.uint8)
    order, first = np.arange(m), np.zeros(m + 1, np.int64)
    dense = rows >= LEAST_DENSE and len(blocks.value) > DENSE * rows**2
    if not dense:
        later, entries = eliminate(blocks, adjacent, *np.zeros((2, m), np.int64), order, first)
        dense = rows >= LEAST_DENSE and entries > DENSE * rows**2
    if dense:
        adjacent[:] = 1
        later, entries = m * (m - 1) // 2, rows**2
        order[:] = np.arange(m)
        first[1:] = np.cumsum(np.arange(m - 1, -1, -1))
    factors = Factors(
        order=order,
        first=first,
        later=np.zeros(later, np.int64),
        place=np.zeros((m, m), np.int32),
        target=np.zeros(len(blocks.column), np.int64),
        value=np.zeros(entries),
        dense=np.zeros((rows, rows) if dense else (0, 0)),
        index=np.zeros(rows, np.int64),
        pivot=np.zeros((LARGEST, 2 * LARGEST)),
        rest=np.zeros(rows),
        idle=np.zeros(m, bool),
        near=np.zeros((2, m), np.int64),
    )
    place_factors(blocks, adjacent, np.zeros(m, np.int64), factors)
    return factors


def _workspaces(units):
    m, groups, rows = len(units.kind), len(units.size), int(units.start[-1])
    first = np.concatenate([[0], np.cumsum(1 + units.size)]).astype(np.int64)

    def zeros(count, size):
        return tuple(np.zeros(size) for _ in range(count))

    cones = int(first[-1])
    square = (m, LARGEST, LARGEST)
    interior = Interior(
        first, *zeros(4, cones), np.zeros(groups), *zeros(5, cones), np.zeros(square), *zeros(5, rows)
    )
    newton = Newton(
        np.zeros(square), np.zeros(square), *zeros(3, rows), np.zeros(rows, bool), *zeros(2, rows),
        np.zeros(2), *zeros(2, max(groups, 1)),
    )  # fmt: skip
    return interior, newton
