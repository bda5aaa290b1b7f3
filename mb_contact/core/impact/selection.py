# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which contacts and limits of a step take part in an impact."""

import numpy as np

from mb_contact.core.constraints.limit import limit_row
from mb_contact.core.handle import UNIT_LENGTH
from mb_contact.core.impact.times import limit_gap, limit_touch
from mb_contact.core.jit import kernel
from mb_contact.core.step.need import is_soft
from mb_contact.core.tree.spatial import ZERO, put_vector, vector, vector_dot, vector_sum
from mb_contact.types import LOWER, TOUCHING_IMPACT


@kernel
def pick_contacts(h, imp, picked, eps, touch, only_pair):
    """Copy the contacts that take part."""
    found = h.contacts
    c = 0
    for i in range(found.count[0]):
        pair = found.pair[i]
        if (only_pair >= 0 and pair != only_pair) or is_soft(h.geoms, pair):
            continue  # what gives way has no impulse at one moment
        if found.gap[i] > touch and imp.collides[i] == 0:
            continue
        imp.eps[c] = eps[pair]  # of all: what is only hit through others has been compressed too
        picked.pair[c] = pair
        picked.feature[c] = found.feature[i]
        picked.gap[c] = 0.0
        spread = vector(found.spread, i)
        if imp.collides[i] != 0 and vector_dot(spread, spread) == 0.0:
            spread = vector_sum(ZERO, 0.5 * max(found.gap[i], 0.0), vector(found.normal, i))
        put_vector(picked.spread, c, spread)
        imp.moment[c] = imp.when[i] if imp.collides[i] != 0 else np.inf
        put_vector(imp.picked_acceleration, c, vector(imp.path_acceleration, i))
        put_vector(picked.point, c, vector(found.point, i))
        put_vector(picked.normal, c, vector(found.normal, i))
        c += 1
    picked.count[0] = c


@kernel
def reached_limits(h, imp, threshold, lag, dt):
    """Rows of joint limits that are touched, or passed within dt; inelastic."""
    for k in range(h.tree.parent.shape[0]):
        if h.tree.nv[k] != 1:
            continue
        d = h.tree.v_start[k]
        for side in range(2):
            t = limit_touch(h, k, side, lag, dt) if dt > 0.0 else -1.0
            if t >= 0.0 or limit_gap(h.tree, h.q, h.work.shift, k, side) <= TOUCHING_IMPACT * h.settings[UNIT_LENGTH]:
                arrives = t >= 0.0 and (1.0 - 2.0 * side) * h.v[d] < -threshold
                imp.moment[h.rows.end[0] - 2 * h.rows.contacts[0]] = t if arrives else np.inf
                limit_row(h.tree, h.kin, k, LOWER + side, 0.0, h.rows)
