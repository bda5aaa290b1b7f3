# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Suction cups and magnets: forces between a pad and what lies before it, up to which a contact holds.

A pad has points x with axes d outward.  Where the surface of another body is met at x + g d, g within reach, the point
pulls with F(g): d F on its own body at x, -d F on the other one at x + g d.  Contacts then press with r >= 0 under the
usual law, with Coulomb's bound mu r on what the lip presses, so that between the bodies there is

    r - F dt >= -F dt,    |r_t| <= mu r:

the law of adhesive contacts, in which the vacuum's resultant F is a known impulse and the problem is shifted by it.
"""

import numpy as np

from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.rays.shapes import inside
from mb_contact.core.tree.spatial import (
    ZERO,
    add_spatial,
    body_point,
    body_vector,
    matrix,
    opposite,
    put_spatial,
    put_vector,
    spatial,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
    wrench_at,
)
from mb_contact.types import SHAPE_CONVEX, SHAPE_HEIGHT_FIELD

SEAM = 1e-10  #: of an edge, how far beside it a point is at it
DEPTH = 1e-3  #: how deep a point may be in what it pulls at, or its reach, if that is more [m]


@on_demand(NOTHING)
def pull(h):
    """``work.external``: the wrenches of the user, and the forces of all pads at the present poses.

    Reads: buffers, geoms, kin, pads, work.  Writes: pads, work.
    """
    pads, external = h.pads, h.work.external
    for k in range(external.shape[0]):
        put_spatial(external, k, spatial(pads.applied, k))
    for i in range(pads.body.shape[0]):
        first, last = pads.first_knot[i], pads.first_knot[i + 1] - 1
        for s in range(pads.first[i], pads.first[i + 1]):
            pads.gap[s], pads.meets[s], pads.pull[s] = np.inf, -1, 0.0
            put_vector(pads.place, s, body_point(h.kin.R, h.kin.p, pads.body[i], vector(pads.point, s)))
            if pads.on[i] > 0.0:
                _look(h, pads.body[i], s, pads.knot[last, 0])
            if pads.meets[s] >= 0:
                pads.pull[s] = pads.on[i] * pads.force[s] * _curve(pads.knot, first, last, pads.gap[s])
                _act(h, pads.body[i], s, external)


@kernel
def _curve(knot, first, last, gap):
    """Part of the greatest force at a gap within reach: linear between the knots, before the first as there."""
    for i in range(first, last):
        a, b = knot[i, 0], knot[i + 1, 0]
        if gap < b:
            part = max(0.0, (gap - a) / (b - a))
            return knot[i, 1] + part * (knot[i + 1, 1] - knot[i, 1])
    return knot[last, 1]


@kernel
def _look(h, body, s, reach):
    """The nearest surface of another body along the axis of point s of a pad."""
    pads, b = h.pads, h.buffers
    x = vector(pads.place, s)
    d = body_vector(h.kin.R, body, vector(pads.axis, s))
    least = -max(DEPTH * h.geoms.unit[0], reach)
    for g in range(h.geoms.kind.shape[0]):
        if h.geoms.body[g] == body or not is_near(b, g, x, d, least, reach):
            continue
        back = transposed(matrix(b.geom_R, g))
        gap = entry(h.geoms, g, turned(back, vector_sum(x, -1.0, vector(b.geom_p, g))), turned(back, d), least)
        if least <= gap <= reach and gap < pads.gap[s]:
            pads.gap[s], pads.meets[s] = gap, g


@kernel
def is_near(buffers, g, x, d, least, reach):
    """Whether the segment of a ray between ``least`` and ``reach`` can meet the box of geometry g."""
    for a in range(3):
        one, other = x[a] + least * d[a], x[a] + reach * d[a]
        if max(one, other) < buffers.lower[g, a] or min(one, other) > buffers.upper[g, a]:
            return False
    return True


@kernel
def entry(geoms, g, o, d, least):
    """Where a ray enters geometry g, in its frame, not before ``least``; inf where it does not."""
    if geoms.kind[g] >= SHAPE_HEIGHT_FIELD:
        return _first_triangle(geoms, g, o, d, least)
    if geoms.kind[g] == SHAPE_CONVEX:
        start, end = _hull(geoms, g, o, d)
    else:
        start, end = inside(geoms.kind[g], vector(geoms.size, g), o, d)
    return start if start <= end else np.inf


@kernel
def _corner(geoms, g, f, i):
    """Corner i of face f of a hull or mesh."""
    return vector(geoms.vertices, geoms.first_vertex[g] + geoms.corners[geoms.first_corner[f] + i])


@kernel
def _hull(geoms, g, o, d):
    """Interval over which a ray is inside a convex hull."""
    start, end = -np.inf, np.inf
    for f in range(geoms.first_face[g], geoms.first_face[g + 1]):
        n = vector(geoms.faces, f)
        height, along = vector_dot(n, vector_sum(o, -1.0, _corner(geoms, g, f, 0))), vector_dot(n, d)
        if along < 0.0:
            start = max(start, -height / along)
        elif along > 0.0:
            end = min(end, -height / along)
        elif height > 0.0:
            return np.inf, -np.inf
    return start, end


@kernel
def _first_triangle(geoms, g, o, d, least):
    """Where a ray meets the first triangle of a mesh or height field, not before ``least``."""
    found = np.inf
    for f in range(geoms.first_face[g], geoms.first_face[g + 1]):
        n, a = vector(geoms.faces, f), _corner(geoms, g, f, 0)
        along = vector_dot(n, d)
        if along == 0.0:
            continue
        t = -vector_dot(n, vector_sum(o, -1.0, a)) / along
        if least <= t < found and _covers(geoms, g, f, n, vector_sum(o, t, d)):
            found = t
    return found


@kernel
def _covers(geoms, g, f, n, x):
    """Whether a point of its plane lies in face f, or at its edge: rays along edges meet one of the faces beside."""
    count = geoms.first_corner[f + 1] - geoms.first_corner[f]
    for i in range(count):
        a, b = _corner(geoms, g, f, i), _corner(geoms, g, f, (i + 1) % count)
        u = vector_sum(b, -1.0, a)
        if vector_dot(n, vector_product(u, vector_sum(x, -1.0, a))) < -SEAM * vector_dot(u, u):
            return False
    return True


@kernel
def _act(h, body, s, external):
    """The force of point s of a pad on both bodies."""
    pads, kin = h.pads, h.kin
    x = vector(pads.place, s)
    d = body_vector(kin.R, body, vector(pads.axis, s))
    force = vector_sum(ZERO, pads.pull[s], d)
    other = h.geoms.body[pads.meets[s]]
    if body >= 0:
        add_spatial(external, body, wrench_at(vector_sum(x, -1.0, vector(kin.p, body)), force))
    if other >= 0:
        arm = vector_sum(vector_sum(x, pads.gap[s], d), -1.0, vector(kin.p, other))
        add_spatial(external, other, wrench_at(arm, opposite(force)))
