# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of fast bodies that will meet within a step far from where they are: found where they meet.

The normal between two balls that are 2 m apart is not the one with which they will touch.  The distance of two convex
shapes in translation is a convex function of time, so Newton's method from the start of the step,

    t := t - d(t) / d'(t),    d' = n . (v_a - v_b),

finds the moment of touching without passing it, or shows that there is none.  The contact of that moment stands for
the pair in the whole step: its normal, each body's own point, and as gap the way that this normal velocity closes.
"""

import numpy as np

from mb_contact.core.constraints.contact import relative_velocity
from mb_contact.core.handle import DT
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import vector, vector_dot
from mb_contact.types import SHAPE_PLANE

FAR = 1.0  #: way before two shapes touch, in sizes of the smaller one, from which its direction matters,
SIDEWAYS = 1e-3  #: and the part of it along the surfaces


@kernel
def fast_pairs(h, pairs):
    """Pairs of geometries that may meet in this step after sliding along each other, into ``pairs``; how many."""
    dt = h.settings[DT]
    found = 0
    for i in range(h.contacts.count[0]):
        if not h.contacts.gap[i] > 0.0:
            continue
        pair = h.contacts.pair[i]
        a, b = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1]
        kinds = h.geoms.kind[a], h.geoms.kind[b]
        if max(kinds[0], kinds[1]) >= SHAPE_PLANE or (found > 0 and pairs[found - 1] == pair):
            continue
        u = relative_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
        closing = -vector_dot(u, vector(h.contacts.normal, i))
        if not closing * dt >= h.contacts.gap[i]:
            continue
        time = h.contacts.gap[i] / closing
        way, size = time * np.sqrt(vector_dot(u, u)), min(_size(h.geoms, a), _size(h.geoms, b))
        sideways = np.sqrt(max(way * way - h.contacts.gap[i] * h.contacts.gap[i], 0.0))
        if way > FAR * size and sideways > SIDEWAYS * size:
            pairs[found] = pair
            found += 1
    return found


@kernel
def _size(geoms, g):
    """Largest length of a geometry [m]."""
    return max(geoms.size[g, 0], max(geoms.size[g, 1], geoms.size[g, 2]))
