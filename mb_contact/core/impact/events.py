# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the event scheme asks of a state: which contacts collide, hold or leave, and the gaps along a flow."""

import numpy as np

from mb_contact.core.collision.broadphase import plane_gap
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.constraints.contact import copy_contact, find_contact, normal_velocity
from mb_contact.core.constraints.gear import combine_velocities
from mb_contact.core.constraints.rows import row_velocities
from mb_contact.core.handle import UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.jit import kernel
from mb_contact.core.step.step import rows_in_use
from mb_contact.types import SHAPE_HEIGHT_FIELD, SHAPE_PLANE, TOUCHING_EVENT

APART = 0  # of a contact: there is a gap
KEPT = 1  # touches and neither approaches nor separates: in the contact problem of the next stretch
LEAVING = 2  # touches and separates: flies on, and is watched
COLLIDING = 3
HOLD_GAP = 1e-5  # a contact that carried an impulse in the stretch before holds up to this gap [m]
HOLD_SPEED = 1e-3  # and this normal velocity, which constant impulses leave behind [m/s]


@kernel
def classify(h, threshold, stuck, kinds):
    """State of every contact of the present state into ``kinds``; returns how many collide.

    Parameters
    ----------
    threshold : float
        Approach speed from which contacts collide [m/s].
    stuck : int64 (m,)
        Pairs of geometries that hold wherever they touch.
    """
    colliding = 0
    memory, length, fast = h.memory, h.settings[UNIT_LENGTH], h.settings[UNIT_SPEED]
    for i in range(h.contacts.count[0]):
        pair = h.contacts.pair[i]
        gap = h.contacts.gap[i]
        speed = normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
        j = find_contact(memory, pair, h.contacts.feature[i], i)
        loaded = j >= 0 and memory.impulse[j, 0] > 0.0
        if loaded and abs(gap) <= HOLD_GAP * length and abs(speed) <= HOLD_SPEED * fast:
            kinds[i] = KEPT
        elif gap > TOUCHING_EVENT * length:
            kinds[i] = APART
        elif speed < -threshold:
            kinds[i] = COLLIDING
            colliding += 1
        elif speed > threshold and gap >= -TOUCHING_EVENT * length and stuck[pair] == 0:
            kinds[i] = LEAVING
        else:
            kinds[i] = KEPT
    return colliding


@kernel
def keep_contacts(h, kinds, kept):
    """Leave only the kept contacts in ``h.contacts``; their pairs and features into ``kept`` (c, 2)."""
    c = h.contacts
    n = 0
    for i in range(c.count[0]):
        if kinds[i] != KEPT:
            continue
        copy_contact(c, i, c, n)
        kept[n, 0], kept[n, 1] = c.pair[i], c.feature[i]
        n += 1
    c.count[0] = n
    return n


@kernel
def watched_gaps(h, p, at_end, count, kept, n_kept, gaps):
    """Least gap of each candidate over the points that are not kept, into ``gaps`` (count,).

    Parameters
    ----------
    p : PosesArraysHandle
        The other poses; its contacts are scratch.
    at_end : bool
        Poses, candidates, their reach and the narrow phase's witnesses are those of ``p``, not those of the step.
    kept : int64 (c, 2)
        Pairs and features of the kept points; the first ``n_kept``.
    """
    b = p.buffers if at_end else h.buffers
    contacts = p.contacts
    build_contacts(
        h.geoms, b.geom_R, b.geom_p, b.travel, b.candidates, count, b.reach, b.witness, b.work, contacts
    )
    kind = h.geoms.kind
    at = 0
    for i in range(count):
        row = b.candidates[i]
        x = h.geoms.pairs[row, 0]
        y = h.geoms.pairs[row, 1]
        mixed = False
        for j in range(n_kept):
            mixed = mixed or kept[j, 0] == row
        least = np.inf
        while at < contacts.count[0] and contacts.pair[at] == row:
            known = False
            for j in range(n_kept):
                known = known or (kept[j, 0] == row and kept[j, 1] == contacts.feature[at])
            if not known:
                least = min(least, contacts.gap[at])
            at += 1
        if least == np.inf:
            if mixed or max(kind[x], kind[y]) >= SHAPE_HEIGHT_FIELD:
                least = b.reach[i]
            elif kind[x] == SHAPE_PLANE:
                least = plane_gap(kind, h.geoms.size, b.geom_R, b.geom_p, y, x)
            elif kind[y] == SHAPE_PLANE:
                least = plane_gap(kind, h.geoms.size, b.geom_R, b.geom_p, x, y)
            else:
                least = b.witness[i, 3]
        gaps[i] = least


@kernel
def cut_short(h, part):
    """Impulses, and velocities of the rows at the end, of a substep of which only this part was flown."""
    n_rows = rows_in_use(h)
    row_velocities(h.rows, n_rows, h.kin.V, h.sol.before)
    combine_velocities(h.sol.before, h.bil)
    for r in range(n_rows):
        h.sol.r[r] *= part
        beside = h.rows.offset[r] - (h.end.ahead[r // 3, r % 3] if r < 3 * h.contacts.count[0] else 0.0)
        h.sol.u[r] = beside + h.sol.before[r] + part * (h.sol.u[r] - beside - h.sol.before[r])
