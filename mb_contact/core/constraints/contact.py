# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts: frames D, rows (normal, two tangents) with their push-out, directions of unequal friction."""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.rows import gap_velocity, two_sides
from mb_contact.core.jit import kernel, part, sweep
from mb_contact.core.tree.spatial import (
    ZERO,
    body_vector,
    point_velocity,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

UPRIGHT = 1e-3  #: a direction whose part along the surface is less has none there: the mean coefficient counts


@part
def turn_frames(surfaces, geoms, contacts, kin, frames, mu):
    """Coefficients ``mu`` (c, 2) along both tangents; where they differ, t1 is the surface's own direction."""
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        mu[i, 0] = mu[i, 1] = geoms.mu[pair]
        if surfaces.side[pair] < 0:
            continue
        n = vector(contacts.normal, i)
        lead = body_vector(kin.R, surfaces.frame[pair], vector(surfaces.direction, pair))
        t, size = tangential(lead, n)
        if size < UPRIGHT:
            continue
        put_vector(frames.lead, i, lead)
        set_tangents(frames, i, n, t, size)
        mu[i, 0] = surfaces.along[pair]
        mu[i, 1] = surfaces.across[pair]


@part
def contact_frames(geoms, contacts, kin, memory, slip_speed, frames):
    """Tangent vectors: along the slip above ``slip_speed``, otherwise the contact's previous frame carried over.

    An infinite ``slip_speed`` means a fixed frame: the world's x axis (y where the normal is near x) across the normal.
    """
    V = kin.V
    j = -1
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        a = geoms.body[geoms.pairs[pair, 0]]
        b = geoms.body[geoms.pairs[pair, 1]]
        n = vector(contacts.normal, i)
        point = vector(contacts.point, i)
        lead = vector_sum(point_velocity(V, kin.p, a, point), -1.0, point_velocity(V, kin.p, b, point))
        t, size = tangential(lead, n)
        j = find_contact(memory, pair, contacts.feature[i], j + 1)
        frames.known[i] = j
        frames.aligned[i] = 1 if size > slip_speed else 0
        if frames.aligned[i] == 0:
            size = 0.0
            if j >= 0 and slip_speed < np.inf:
                lead = vector(memory.tangent, j)
                t, size = tangential(lead, n)
            if size < 1e-6:  # there is none, or the carried tangent has become the normal
                lead = some_axis(n)
                t, size = tangential(lead, n)
        put_vector(frames.lead, i, lead)
        set_tangents(frames, i, n, t, size)


@sweep
def set_tangents(frames, i, n, t, size):
    """Tangents of contact i, the first along t of this size, across the normal n."""
    t = t[0] / size, t[1] / size, t[2] / size
    put_vector(frames.t1, i, t)
    put_vector(frames.t2, i, vector_product(n, t))


@sweep
def tangential(a, n):
    """Part of the vector a across the unit normal n, and its length."""
    t = vector_sum(a, -vector_dot(a, n), n)
    return t, np.sqrt(vector_dot(t, t))


@sweep
def some_axis(n):
    """The world's x axis, or y where n is near x."""
    return (1.0, 0.0, 0.0) if abs(n[0]) < 0.8 else (0.0, 1.0, 0.0)


@sweep
def some_tangent(n):
    """Part of ``some_axis`` across the unit normal n, and its length."""
    return tangential(some_axis(n), n)


@kernel
def normal_velocity(geoms, contacts, origin, V, i):
    """Velocity of A against B at contact i along its normal [m/s]."""
    return vector_dot(relative_velocity(geoms, contacts, origin, V, i), vector(contacts.normal, i))


@kernel
def relative_velocity(geoms, contacts, origin, V, i):
    """Velocity of A against B at contact i, world axes [m/s]."""
    pair = contacts.pair[i]
    point, spread = vector(contacts.point, i), vector(contacts.spread, i)
    on_a = point_velocity(V, origin, geoms.body[geoms.pairs[pair, 0]], vector_sum(point, 1.0, spread))
    on_b = point_velocity(V, origin, geoms.body[geoms.pairs[pair, 1]], vector_sum(point, -1.0, spread))
    return vector_sum(on_a, -1.0, on_b)


@kernel
def copy_contact(source, i, target, j):
    """Contact i of one table as contact j of another."""
    target.pair[j], target.feature[j], target.gap[j] = source.pair[i], source.feature[i], source.gap[i]
    put_vector(target.point, j, vector(source.point, i))
    put_vector(target.normal, j, vector(source.normal, i))
    put_vector(target.spread, j, vector(source.spread, i))
    target.area[j] = source.area[i]


@kernel
def find_contact(table, pair, feature, first):
    """Place in a table of contacts, or in a memory of them, of those features of a pair; -1 where it has none.

    It is looked for from ``first`` on, up to the number of contacts, and then from the start: tables that follow each
    other have most contacts in one order.
    """
    count = table.count[0]
    for k in range(count):
        j = (first + k) % count
        if table.pair[j] == pair and table.feature[j] == feature:
            return j
    return -1


@part
def contact_rows(geoms, contacts, kin, frames, dt, push_rate, push_speed, rows):
    """Rows and offsets of all contacts, the first ones.

    The normal row asks for ``u_n + g / dt >= 0`` before touching, and below for the push-out velocity; of a contact of
    the moment of meeting (``step/by_need.py``) always for the former.
    """
    fill(rows.touched.shape[0], rows.touched, 0)
    c = contacts.count[0]
    for i in range(c):
        pair = geoms.pairs[contacts.pair[i]]
        a = geoms.body[pair[0]]
        b = geoms.body[pair[1]]
        row = 3 * i
        two_sides(kin.p, a, b, contacts.point, contacts.normal, i, rows, row)
        two_sides(kin.p, a, b, contacts.point, frames.t1, i, rows, row + 1)
        two_sides(kin.p, a, b, contacts.point, frames.t2, i, rows, row + 2)
        rows.offset[row] = gap_velocity(contacts.gap[i], dt, push_rate, push_speed, geoms.unit[0])
        if contacts.spread[i, 0] != 0.0 or contacts.spread[i, 1] != 0.0 or contacts.spread[i, 2] != 0.0:
            _spread_row(rows, row, vector(contacts.spread, i), vector(contacts.normal, i))
            _spread_row(rows, row + 1, vector(contacts.spread, i), vector(frames.t1, i))
            _spread_row(rows, row + 2, vector(contacts.spread, i), vector(frames.t2, i))
            rows.offset[row] = contacts.gap[i] / dt  # of a later moment: no penetration
    rows.contacts[0], rows.end[0] = c, 3 * c


@kernel
def _spread_row(rows, row, spread, d):
    """The row of direction d acts on each body at its own point: (x +- spread) x d on either side."""
    moment = vector_product(spread, d)
    if rows.body_a[row] >= 0:
        put_spatial(rows.on_a, row, spatial_sum(spatial(rows.on_a, row), 1.0, moment + ZERO))
    if rows.body_b[row] >= 0:
        put_spatial(rows.on_b, row, spatial_sum(spatial(rows.on_b, row), 1.0, moment + ZERO))
