# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The residuals of a solved problem: from impulses and the velocities that the impulse sweep gives for them.

Nothing of a solver's arithmetic is in it: velocities come from the recursion over the bodies, and the laws are written
out anew.  Every complementary pair (z, w) is measured as z sqrt(W_ii) against w / sqrt(W_ii), in sqrt(N s m/s); a
friction group as the distance of its impulse from the disc's, or the polygon's, point nearest to it minus its velocity.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.certificate import GAP, INFEASIBLE, VIOLATION, WORST, polygon_pairs
from mb_contact.core.solve.system import BLOCKS
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY


@kernel
def certify(P, u, first_bilateral, residuals, loops):
    """Residuals of the impulses ``P.r`` with velocities u of the caller's rows.

    Rows of loops, gears and joint friction, from ``first_bilateral`` on, go to ``loops``: worst scaled residual and
    worst velocity [m/s, rad/s], of soft rows beside that of their softness.  Behind them are the worst scaled residual
    of rows that are tied to others, whatever they are of, and how many these are.  A NaN or an infinity counts as
    infinitely bad.
    """
    fill(residuals.shape[0], residuals, 0.0)
    residuals[WORST] = -1.0
    fill(loops.shape[0], loops, 0.0)
    largest = -1.0
    for b in range(P.count[BLOCKS]):
        i = P.blocks.start[b]
        kind = P.blocks.kind[b]
        finite = True
        for k in range(i, P.blocks.start[b + 1]):
            finite = finite and np.isfinite(P.r[k]) and np.isfinite(u[P.source[k]])
        s = np.sqrt(P.blocks.D[i])
        z = P.r[i]
        w = u[P.source[i]]
        mu = P.blocks.mu[i]
        gap = 0.0
        below = 0.0
        if not finite:
            gap = np.inf
        elif kind == EQUALITY:
            below = abs(w + mu * z) / s
        elif kind == BOX:
            gap = s * abs(z - min(max(z - w / P.blocks.D[i], -mu), mu))
        else:
            gap = max(min((z - mu) * s, w / s), 0.0)
            below = max(-min((z - mu) * s, w / s), 0.0)
            if kind == CONTACT:
                gap, below = _friction(P, u, b, gap, below, residuals)
        if P.follower[i] != 0:
            loops[2] = max(loops[2], max(gap, below))
            loops[3] += 1.0
            continue
        if P.source[i] >= first_bilateral:
            loops[0] = max(loops[0], max(gap, below))
            soft = mu * z if P.immobile[i] == 0 else 0.0  # mu of an immobile row keeps its impulse at zero
            loops[1] = max(loops[1], abs(w + soft) if kind == EQUALITY else 0.0)
            continue
        residuals[GAP] = max(residuals[GAP], gap)
        residuals[INFEASIBLE] = max(residuals[INFEASIBLE], below)
        if max(gap, below) > largest:
            largest = max(gap, below)
            residuals[WORST] = b


@kernel
def _friction(P, u, b, gap, below, residuals):
    """Gap and infeasibility of the friction of a contact joined to those of its normal."""
    n = P.blocks.start[b]
    end = P.blocks.start[b + 1]
    mu = P.blocks.mu
    r = P.r
    normal = max(r[n], 0.0)
    if P.blocks.n_f[b] > 0 and mu[n + 1] > 0.0:
        i = n + 1
        g, f, beyond = polygon_pairs(
            P.blocks.n_f[b], mu[i], normal, r[i], r[i + 1], u[P.source[i]], u[P.source[i + 1]], np.sqrt(P.blocks.D[i])
        )
        gap = max(gap, g)
        below = max(below, f)
        residuals[VIOLATION] = max(residuals[VIOLATION], beyond)
    else:
        gap = max(gap, _disc(P, u, normal, n + 1, n + 3, residuals))
    if end - n == 4 or end - n == 6:
        gap = max(gap, _disc(P, u, normal, n + 3, n + 4, residuals))
    if end - n >= 5:
        gap = max(gap, _disc(P, u, normal, end - 2, end, residuals))
    return gap, below


@kernel
def _disc(P, u, radius, first, last, residuals):
    """Distance of the group's impulse y from the disc's point nearest to y - v, in units of its coefficients."""
    blocks = P.blocks
    length = 0.0
    size = 0.0
    scale = 0.0
    steep = 0.0
    worst = 0.0
    for k in range(first, last):
        if blocks.mu[k] == 0.0:
            worst = max(worst, np.sqrt(blocks.D[k]) * abs(P.r[k]))
            continue
        y = P.r[k] / blocks.mu[k]
        scale = blocks.mu[k] * blocks.mu[k] * blocks.D[k]
        steep = max(steep, blocks.mu[k])
        size += y * y
        length += (y - blocks.mu[k] * u[P.source[k]] / scale) ** 2
    residuals[VIOLATION] = max(residuals[VIOLATION], steep * (np.sqrt(size) - radius))  # [N s], as beyond the polygon
    part = 1.0 if length <= radius * radius else radius / np.sqrt(length)
    total = 0.0
    for k in range(first, last):
        if blocks.mu[k] > 0.0:
            y = P.r[k] / blocks.mu[k]
            total += (y - part * (y - blocks.mu[k] * u[P.source[k]] / scale)) ** 2
    return max(worst, np.sqrt(scale * total))
