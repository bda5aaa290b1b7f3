# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scalar rows: velocities ``on_a . V(a) + on_b . V(b)`` of two bodies, and what all kinds of constraints do with them.

The row of direction d at a point x of bodies A and B is the pair of 6-vectors ``phi(A, x) [0; d]`` on A and
``-phi(B, x) [0; d]`` on B, so its velocity is ``d . v_u`` with v_u the velocity of A's point relative to B's.  The rate
of a scalar joint is the same thing in other clothes, a difference of body velocities, ``v_i = h . (omega(k) -
omega(p))``: its row acts on body k with [h; 0] and on its parent with -phi(p, k) [h; 0].  A prismatic joint has
[0; h]; the row of a screw is the rate of its turn, without the displacement that its hinge map has too.
"""

from mb_contact.core.jit import kernel, part, sweep
from mb_contact.core.tree.frames import node_rows
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    gathered,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_dot,
)
from mb_contact.core.workspace import EQUALITY

TOUCHING = 1e-12  #: [m, rad] penetration that is rounding: touching, without push-out
REACHED = 4e-15  #: [m, rad] and a gap that is


@kernel
def gap_velocity(gap, dt, push_rate, push_speed, unit):
    """Offset of the row of a gap [m, rad]: ``g / dt``, or minus the push-out velocity of a penetration [m/s, rad/s].

    Push-out is ``min(push_rate |g| / dt, push_speed)``: all of ``|g| / dt`` would inject energy.  A penetration of at
    most ``TOUCHING`` asks for none: its velocity would lie below the solver's tolerance, and a body held by friction
    between two walls would be pushed along by it.  A gap of at most ``REACHED`` is none: closing it would set what
    rests in motion in every other step.  Both are meant in the ``unit`` of length.
    """
    if gap >= 0.0:
        return gap / dt if gap > REACHED * unit else 0.0
    return -min(-push_rate * gap / dt, push_speed) if gap < -TOUCHING * unit else 0.0


@sweep
def begin_row(rows, row, a, b):
    """A row of bodies a and b, not of a joint, whose law is that of a bilateral constraint until told otherwise."""
    rows.body_a[row], rows.body_b[row], rows.dof[row] = a, b, -1
    rows.law[row], rows.next[row], rows.mu[row], rows.viscous[row] = EQUALITY, -1, 0.0, 0.0
    if a >= 0:
        rows.touched[a] = 1
    if b >= 0:
        rows.touched[b] = 1


@kernel
def two_sides(origin, a, b, point, direction, i, rows, row):
    """Row ``row`` along ``direction[i]`` at ``point[i]``: + on body a, - on body b."""
    begin_row(rows, row, a, b)
    rows.offset[row] = 0.0
    node_rows(origin, a, vector(point, i), b, vector(point, i), vector(direction, i), rows, row)


@sweep
def rate_axis(kin, d):
    """h of the rate ``h . (V(k) - phi* V(p))`` of the scalar joint with velocity d: its axis; a screw turns."""
    h = spatial(kin.H, d)
    return h[:3] + ZERO if vector_dot(h[:3], h[:3]) > 0.0 else h


@kernel
def joint_row(tree, kin, k, bound, rows, row):
    """The rate of scalar joint k as a row on its body and the body's parent; against it for an upper ``bound``."""
    sign = 1.0 - 2.0 * (bound % 2)
    d = tree.v_start[k]
    m = tree.parent[k]
    h = spatial_sum(STILL, sign, rate_axis(kin, d))
    begin_row(rows, row, k, m)
    rows.dof[row] = d
    rows.bound[row] = bound
    rows.sign[row] = sign
    put_spatial(rows.on_a, row, h)
    if m >= 0:
        put_spatial(rows.on_b, row, spatial_sum(STILL, -1.0, gathered(h, vector(kin.l, k))))


@part
def row_sides(compliance, rows, n_rows):
    """Essential numbers of the rows' bodies."""
    for r in range(n_rows):
        rows.side_a[r] = compliance.essential[rows.body_a[r]] if rows.body_a[r] >= 0 else -1
        rows.side_b[r] = compliance.essential[rows.body_b[r]] if rows.body_b[r] >= 0 else -1


@part
def row_velocities(rows, n_rows, V, u):
    """Velocities ``u[:n_rows]`` of the rows for body velocities V."""
    for r in range(n_rows):
        u[r] = row_dot(rows, r, V)


@sweep
def row_dot(rows, r, V):
    """``on_a . V(a) + on_b . V(b)`` of row r, with the bodies' spatial vectors V (n, 6)."""
    a = rows.body_a[r]
    b = rows.body_b[r]
    x = 0.0
    if a >= 0:
        x += spatial_dot(spatial(rows.on_a, r), spatial(V, a))
    if b >= 0:
        x += spatial_dot(spatial(rows.on_b, r), spatial(V, b))
    return x


@part
def row_impulses(rows, n_rows, r, impulse):
    """Spatial impulses on the bodies from the rows' impulses r: J* p without a Jacobian."""
    for k in range(impulse.shape[0]):
        put_spatial(impulse, k, STILL)
    for i in range(n_rows):
        a = rows.body_a[i]
        b = rows.body_b[i]
        if r[i] != 0.0 and a >= 0:
            put_spatial(impulse, a, spatial_sum(spatial(impulse, a), r[i], spatial(rows.on_a, i)))
        if r[i] != 0.0 and b >= 0:
            put_spatial(impulse, b, spatial_sum(spatial(impulse, b), r[i], spatial(rows.on_b, i)))
