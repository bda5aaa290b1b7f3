# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of contacts half-way between both ends of a flow, (J(q0) + J(q1)) / 2.

Of a face on another the impulses of single points are not unique, only their sum and moment are.  Where the points'
arms change, as beside the border of a tile that is passed, another solution has another moment at the end unless rows
and velocities are those of the same arms.
"""

from mb_contact.core.constraints.rows import row_dot
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import STILL, ZERO, put_spatial, spatial, spatial_sum, vector, wrench_at


@kernel
def mean_rows(h):
    """The rows of the step's contacts as means of those of its start, which stand there, and of ``h.end``.

    Free velocities ``sol.q`` go with them.
    """
    for i in range(h.contacts.count[0]):
        pair = h.contacts.pair[i]
        arms = vector(h.end.arm_a, i), vector(h.end.arm_b, i)
        axes = vector(h.end.normal, i), vector(h.end.t1, i), vector(h.end.t2, i)
        for c in range(3):
            _lean(h, 3 * i + c, wrench_at(arms[0], axes[c]), wrench_at(arms[1], axes[c]))
        at = h.friction.extra[i]
        if at >= 0 and h.friction.surfaces.torsional[pair] > 0.0:
            _lean(h, at, axes[0] + ZERO, axes[0] + ZERO)
            at += 1
        if at >= 0 and h.friction.surfaces.rolling[pair] > 0.0:
            _lean(h, at, axes[1] + ZERO, axes[1] + ZERO)
            _lean(h, at + 1, axes[2] + ZERO, axes[2] + ZERO)


@kernel
def _lean(h, row, on_a, on_b):
    """Row ``row`` half-way to the forces at the end on the first body, and against these on the second."""
    rows, before = h.rows, row_dot(h.rows, row, h.work.V_free)
    if rows.body_a[row] >= 0:
        put_spatial(rows.on_a, row, spatial_sum(spatial_sum(STILL, 0.5, spatial(rows.on_a, row)), 0.5, on_a))
    if rows.body_b[row] >= 0:
        put_spatial(rows.on_b, row, spatial_sum(spatial_sum(STILL, 0.5, spatial(rows.on_b, row)), -0.5, on_b))
    h.sol.q[row] += row_dot(rows, row, h.work.V_free) - before
