# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspace of a step on exact cones, allocated once and behind one reference; each step works on views of its size."""

from __future__ import annotations

from collections import namedtuple

import numba
import numpy as np
from numba.core import types
from numba.experimental import structref

from mb_contact.core.cone.interior import Interior
from mb_contact.core.cone.judge import MEASURES
from mb_contact.core.cone.newton import Newton
from mb_contact.core.cone.problem import Units
from mb_contact.core.jit import entry
from mb_contact.core.lcp.block_sparse import LARGEST, Blocks, Factors

CONE_FIELDS = (
    "surfaces",
    "mu",  # (contacts, 2), along the tangents
    "extra",  # int64 (contacts,), first row of torsion and rolling, or -1
    "source",  # int64 (rows,), row of the step
    "units",
    "blocks",
    "factors",  # place and dense one-dimensional
    "interior",
    "newton",
    "adjacent",  # uint8 (units^2,)
    "order_work",  # int64 (2, units)
    "q",  # (rows,), scaled
    "r",  # (rows,), scaled
    "u",  # (rows,)
    "unscaled",  # (rows,), impulses
    "best",  # (rows,), impulses of the step's rows
    "row_scale",  # (rows,)
    "work",  # (6 rows,)
    "unit_scale",  # (units,)
    "measures",  # (units, MEASURES)
)


class ConeHandleType(types.StructRef):
    """Numba type of ``ConeHandle``."""

    def preprocess_fields(self, fields):
        return tuple((name, types.unliteral(kind)) for name, kind in fields)


if numba.config.DISABLE_JIT:
    ConeHandle = namedtuple("ConeHandle", CONE_FIELDS)
else:

    class ConeHandle(structref.StructRefProxy):
        """Fields are read by kernels only; make one with ``make_cone_work``."""

    structref.register(ConeHandleType)
    structref.define_proxy(ConeHandle, ConeHandleType, list(CONE_FIELDS))


@entry
def _make_cone_handle(
    surfaces, mu, extra, source, units, blocks, factors, interior, newton, adjacent, order_work,
    q, r, u, unscaled, best, row_scale, work, unit_scale, measures,
):  # fmt: skip
    return ConeHandle(
        surfaces, mu, extra, source, units, blocks, factors, interior, newton, adjacent, order_work,
        q, r, u, unscaled, best, row_scale, work, unit_scale, measures,
    )  # fmt: skip


def make_cone_work(surfaces, contacts, rows, units):
    """For at most so many contacts, rows of the step and units; every unit has at most three groups."""
    m, groups = max(units, 1), 3 * max(units, 1)
    integers = lambda *shape: np.zeros(shape, np.int64)  # noqa: E731
    cones = 4 * groups
    square = (m, LARGEST, LARGEST)
    layout = Units(
        start=integers(m + 1), kind=integers(m), group=integers(m + 1), row=integers(groups), size=integers(groups),
        mu=np.ones(rows), mean=np.zeros(groups), scale=np.ones(m), unit=np.ones(1),
    )  # fmt: skip
    blocks = Blocks(layout.start, integers(m + 1), integers(m * m), integers(m * m), np.zeros(rows * rows))
    factors = Factors(
        order=integers(m), first=integers(m + 1), later=integers(m * m), place=np.zeros(m * m, np.int32),
        target=integers(m * m), value=np.zeros(rows * rows), dense=np.zeros(rows * rows), index=integers(rows),
        pivot=np.zeros((LARGEST, 2 * LARGEST)), rest=np.zeros(rows), idle=np.zeros(m, bool), near=integers(2, m),
    )  # fmt: skip
    interior = Interior(
        integers(groups + 1), *np.zeros((4, cones)), np.zeros(groups), *np.zeros((5, cones)), np.zeros(square),
        *np.zeros((5, rows)),
    )  # fmt: skip
    newton = Newton(
        np.zeros(square), np.zeros(square), *np.zeros((3, rows)), np.zeros(rows, bool), *np.zeros((2, rows)),
        np.zeros(2), *np.zeros((2, LARGEST)),
    )  # fmt: skip
    return _make_cone_handle(
        surfaces, np.zeros((contacts, 2)), integers(contacts), integers(rows), layout, blocks, factors, interior,
        newton, np.zeros(m * m, np.uint8), integers(2, m), *np.zeros((6, rows)), np.zeros(6 * rows), np.zeros(m),
        np.zeros((m, MEASURES)),
    )  # fmt: skip


@entry
def units_view(c, m, rows, groups):
    """Layout of m units."""
    x = c.units
    return Units(
        x.start[: m + 1], x.kind[:m], x.group[: m + 1], x.row[:groups], x.size[:groups], x.mu[:rows], x.mean[:groups],
        x.scale[:m], x.unit,
    )  # fmt: skip


@entry
def blocks_view(c, m, number, entries):
    """Matrix of m units and so many blocks."""
    x = c.blocks
    return Blocks(x.start[: m + 1], x.first[: m + 1], x.column[:number], x.offset[:number], x.value[:entries])


@entry
def factors_view(c, m, rows, later, number, entries, dense):
    """Factors of m units with so many later neighbours, for a matrix of so many blocks."""
    x = c.factors
    return Factors(
        x.order[:m], x.first[: m + 1], x.later[:later], x.place[: m * m].reshape((m, m)), x.target[:number],
        x.value[:entries], x.dense[: dense * dense].reshape((dense, dense)), x.index[:rows], x.pivot, x.rest[:rows],
        x.idle[:m], x.near,
    )  # fmt: skip


@entry
def interior_view(c, m, rows, groups):
    """Interior-point state of m units; lays out its cones."""
    x = c.interior
    cones = 0
    for g in range(groups):
        x.first[g] = cones
        cones += 1 + c.units.size[g]
    x.first[groups] = cones
    return Interior(
        x.first[: groups + 1], x.y[:cones], x.z[:cones], x.v[:cones], x.root[:cones], x.theta[:groups], x.lam[:cones],
        x.t[:cones], x.dy[:cones], x.dz[:cones], x.c[:cones], x.block[:m], x.r[:rows], x.u[:rows], x.dr[:rows],
        x.rhs[:rows], x.dual[:rows],
    )  # fmt: skip


@entry
def newton_view(c, m, rows):
    """Newton's workspaces for m units."""
    x = c.newton
    return Newton(
        x.K[:m], x.G[:m], x.u[:rows], x.b[:rows], x.dr[:rows], x.trivial[:rows], x.best[:rows], x.diagonal[:rows],
        x.norm, x.length, x.slope,
    )  # fmt: skip
