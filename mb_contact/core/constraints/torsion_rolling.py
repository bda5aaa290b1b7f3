# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Torsion and rolling of contacts: rows behind all others, and what their impulses are.

A contact whose pair of surfaces has such coefficients gets the relative angular velocity about the normal, and about
the two tangents.
"""

from mb_contact.core.constraints.rows import begin_row
from mb_contact.core.jit import kernel, part
from mb_contact.core.tree.frames import angular_row
from mb_contact.core.tree.spatial import vector, vector_dot
from mb_contact.core.workspace import NO_BLOCK


@part
def moment_rows(surfaces, contacts, frames, rows, extra):
    """Rows of torsion and rolling behind all others; ``extra[i]`` is the first one of contact i, or -1."""
    last = rows.end[0]
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        extra[i] = -1
        if surfaces.torsional[pair] > 0.0:
            extra[i] = last
            _moment_row(rows, 3 * i, contacts.normal, i, last, surfaces.torsional[pair])
            last += 1
        if surfaces.rolling[pair] > 0.0:
            if extra[i] < 0:
                extra[i] = last
            else:
                rows.next[extra[i]] = last
            _moment_row(rows, 3 * i, frames.t1, i, last, surfaces.rolling[pair])
            _moment_row(rows, 3 * i, frames.t2, i, last + 1, surfaces.rolling[pair])
            rows.next[last] = last + 1
            last += 2
    rows.end[0] = last


@kernel
def _moment_row(rows, row, direction, i, new, mu):
    """Relative angular velocity along ``direction[i]`` of the bodies of ``row``."""
    begin_row(rows, new, rows.body_a[row], rows.body_b[row])
    rows.offset[new], rows.law[new], rows.mu[new] = 0.0, NO_BLOCK, mu
    angular_row(rows, new, vector(direction, i))


@part
def warm_impulses(contacts, frames, memory, extra, surfaces, r):
    """Impulses of the last step, in today's frames, at contacts that were there; False where none was."""
    warm = False
    for i in range(contacts.count[0]):
        j = frames.known[i]
        if j < 0:
            continue
        warm = True
        before = vector(memory.tangent, j)
        c = vector_dot(before, vector(frames.t1, i))
        s = vector_dot(before, vector(frames.t2, i))
        r[3 * i] = memory.impulse[j, 0]
        r[3 * i + 1] = c * memory.impulse[j, 1] - s * memory.impulse[j, 2]
        r[3 * i + 2] = s * memory.impulse[j, 1] + c * memory.impulse[j, 2]
        x, y, z = vector(memory.moment, j)
        put_moments(surfaces, contacts.pair[i], extra[i], (x, c * y - s * z, s * y + c * z), r)
    return warm


@kernel
def put_moments(surfaces, pair, at, moment, r):
    """Torsion and rolling about the two tangents into the rows from ``at`` on, where there are any."""
    if at >= 0 and surfaces.torsional[pair] > 0.0:
        r[at] = moment[0]
        at += 1
    if at >= 0 and surfaces.rolling[pair] > 0.0:
        r[at], r[at + 1] = moment[1], moment[2]


@part
def moments(surfaces, pair, at, r):
    """Torsion and rolling about the two tangents in the rows from ``at`` on, zero where there are none."""
    torsion, rolling = 0.0, (0.0, 0.0)
    if at >= 0 and surfaces.torsional[pair] > 0.0:
        torsion = r[at]
        at += 1
    if at >= 0 and surfaces.rolling[pair] > 0.0:
        rolling = (r[at], r[at + 1])
    return torsion, rolling[0], rolling[1]


@kernel
def add_moments(surfaces, geoms, contacts, frames, extra, r, total):
    """Add the moments of torsion and rolling in the rows r to those on the geometries."""
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        x, y, z = moments(surfaces, pair, extra[i], r)
        for a in range(3):
            moment = x * contacts.normal[i, a] + y * frames.t1[i, a] + z * frames.t2[i, a]
            total[geoms.pairs[pair, 0], a] += moment
            total[geoms.pairs[pair, 1], a] -= moment
