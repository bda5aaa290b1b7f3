# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What surfaces add to the rows of contacts: directions of unequal friction, torsion, rolling.

A contact whose pair of surfaces has torsional or rolling coefficients gets rows behind all others: the relative angular
velocity about the normal, and about the two tangents.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.rows.contact_rows import tangential
from mb_contact.core.tree.spatial import cross

UPRIGHT = 1e-3  #: a direction whose part along the surface is less has none there: the mean coefficient counts


@kernel
def turn_frames(surfaces, geoms, contacts, kin, frames, mu):
    """Coefficients ``mu`` (c, 2) along both tangents; where they differ, t1 is the surface's own direction."""
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        mu[i, 0] = geoms.mu[pair]
        mu[i, 1] = geoms.mu[pair]
        if surfaces.side[pair] < 0:
            continue
        k = geoms.body[geoms.pairs[pair, surfaces.side[pair]]]
        x = surfaces.direction[pair, 0]
        y = surfaces.direction[pair, 1]
        z = surfaces.direction[pair, 2]
        if k >= 0:
            x, y, z = (
                kin.R[k, 0, 0] * x + kin.R[k, 0, 1] * y + kin.R[k, 0, 2] * z,
                kin.R[k, 1, 0] * x + kin.R[k, 1, 1] * y + kin.R[k, 1, 2] * z,
                kin.R[k, 2, 0] * x + kin.R[k, 2, 1] * y + kin.R[k, 2, 2] * z,
            )
        nx = contacts.normal[i, 0]
        ny = contacts.normal[i, 1]
        nz = contacts.normal[i, 2]
        x, y, z, size = tangential(x, y, z, nx, ny, nz)
        if size < UPRIGHT:
            continue
        frames.t1[i, 0] = x / size
        frames.t1[i, 1] = y / size
        frames.t1[i, 2] = z / size
        x, y, z = cross(nx, ny, nz, x / size, y / size, z / size)
        frames.t2[i, 0] = x
        frames.t2[i, 1] = y
        frames.t2[i, 2] = z
        mu[i, 0] = surfaces.along[pair]
        mu[i, 1] = surfaces.across[pair]


@kernel
def moment_rows(surfaces, contacts, frames, rows, cones, extra):
    """Rows of torsion and rolling behind all others; ``extra[i]`` is the first one of contact i, or -1."""
    last = cones.rows[0]
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        extra[i] = -1
        if surfaces.torsional[pair] > 0.0:
            extra[i] = last
            _moment_row(rows, 3 * i, contacts.normal, i, last)
            last += 1
        if surfaces.rolling[pair] > 0.0:
            if extra[i] < 0:
                extra[i] = last
            _moment_row(rows, 3 * i, frames.t1, i, last)
            _moment_row(rows, 3 * i, frames.t2, i, last + 1)
            last += 2
    cones.rows[0] = last


@kernel
def _moment_row(rows, row, direction, i, new):
    """Relative angular velocity along ``direction[i]`` of the bodies of ``row``."""
    rows.body_a[new] = rows.body_a[row]
    rows.body_b[new] = rows.body_b[row]
    rows.dof[new] = -1
    rows.offset[new] = 0.0
    for a in range(3):
        rows.on_a[new, a] = direction[i, a] if rows.body_a[row] >= 0 else 0.0
        rows.on_a[new, 3 + a] = 0.0
        rows.on_b[new, a] = -direction[i, a] if rows.body_b[row] >= 0 else 0.0
        rows.on_b[new, 3 + a] = 0.0


@kernel
def warm_impulses(contacts, frames, memory, extra, surfaces, r):
    """Impulses of the last step, in today's frames, at contacts that were there; False where none was."""
    warm = False
    for i in range(contacts.count[0]):
        j = frames.known[i]
        if j < 0:
            continue
        warm = True
        ax = memory.tangent[j, 0]
        ay = memory.tangent[j, 1]
        az = memory.tangent[j, 2]
        c = ax * frames.t1[i, 0] + ay * frames.t1[i, 1] + az * frames.t1[i, 2]
        s = ax * frames.t2[i, 0] + ay * frames.t2[i, 1] + az * frames.t2[i, 2]
        r[3 * i] = memory.impulse[j, 0]
        r[3 * i + 1] = c * memory.impulse[j, 1] - s * memory.impulse[j, 2]
        r[3 * i + 2] = s * memory.impulse[j, 1] + c * memory.impulse[j, 2]
        at = extra[i]
        if at < 0:
            continue
        if surfaces.torsional[contacts.pair[i]] > 0.0:
            r[at] = memory.moment[j, 0]
            at += 1
        if surfaces.rolling[contacts.pair[i]] > 0.0:
            r[at] = c * memory.moment[j, 1] - s * memory.moment[j, 2]
            r[at + 1] = s * memory.moment[j, 1] + c * memory.moment[j, 2]
    return warm


@kernel
def contact_moments(surfaces, geoms, contacts, frames, extra, r, memory, total):
    """Torsion and rolling of every contact: into the memory, and onto the shapes."""
    for i in range(contacts.count[0]):
        for a in range(3):
            memory.moment[i, a] = 0.0
        at = extra[i]
        if at < 0:
            continue
        pair = contacts.pair[i]
        if surfaces.torsional[pair] > 0.0:
            memory.moment[i, 0] = r[at]
            at += 1
        if surfaces.rolling[pair] > 0.0:
            memory.moment[i, 1] = r[at]
            memory.moment[i, 2] = r[at + 1]
        for a in range(3):
            moment = (
                memory.moment[i, 0] * contacts.normal[i, a]
                + memory.moment[i, 1] * frames.t1[i, a]
                + memory.moment[i, 2] * frames.t2[i, a]
            )
            total[geoms.pairs[pair, 0], a] += moment
            total[geoms.pairs[pair, 1], a] -= moment
