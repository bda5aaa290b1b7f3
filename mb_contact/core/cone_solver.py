# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The exact-cone solver: Newton from a warm start, else interior-point steps with Newton to finish.

The interior point finds which contacts separate, stick and slip within ten to thirty steps however redundant the contacts
are, but the last digits cost it dearly (weakly active contacts leave sqrt(gap)).  Newton's method has no global
convergence but from there ends in a few steps at rounding error.  So Newton is tried whenever the gap has fallen
enough, on a copy; if it fails the interior point goes on.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.cone_interior import interior_step, start_interior
from mb_contact.core.cone_newton import measure, newton
from mb_contact.core.jit import kernel

CONE_SOLVED = 0
CONE_LIMIT = 1  #: the best point is returned

TARGET = 1e-12  #: relative natural residual to aim at
WARM_STEPS = 12
TRY_STEPS = 6
FINISH_STEPS = 40
FIRST_TRY = 1e-3  #: relative natural residual from which Newton is tried
LEAST_GAP = 1e-15


@kernel
def prepare_newton(blocks, q, units, N):
    """Diagonal (never zero) and norms."""
    for i in range(units.kind.shape[0]):
        n = units.start[i]
        d = units.start[i + 1] - n
        for b in range(blocks.first[i], blocks.first[i + 1]):
            if blocks.column[b] == i:
                for k in range(d):
                    x = blocks.value[blocks.offset[b] + k * d + k]
                    N.diagonal[n + k] = x if x > 1e-12 else 1e-12
    total = 0.0
    scaled = 0.0
    for i in range(units.kind.shape[0]):
        for a in range(units.start[i], units.start[i + 1]):
            total += (q[a] * units.unit[0] / (units.scale[i] * units.mu[a])) ** 2
            scaled += q[a] ** 2
    N.norm[0] = max(1.0, np.sqrt(total))
    N.norm[1] = max(np.sqrt(scaled), 1e-300)


@kernel
def solve_cone(blocks, q, units, factors, S, N, r, warm, limit, tolerance):
    """Solve the scaled problem; r holds the start if ``warm`` and the best point at the end.

    Returns (CONE_* status, relative natural residual, interior-point steps, Newton steps).
    """
    interior = 0
    steps = 0
    best = np.inf
    if warm:
        best, steps = newton(blocks, q, units, factors, N, r, WARM_STEPS, TARGET)
        if best <= tolerance:
            return CONE_SOLVED, best, interior, steps
    trial = np.empty(r.shape[0])
    for attempt in range(2):
        start_interior(units, S)
        tried = np.inf
        stalled = 0
        for k in range(limit):
            gap, length = interior_step(blocks, q, units, factors, S, attempt == 0)
            interior += 1
            now = measure(blocks, q, units, N, S.r)
            if now < best:
                best = now
                for a in range(r.shape[0]):
                    r[a] = S.r[a]
            stalled = stalled + 1 if length < 0.05 else 0
            end = stalled >= 4 or length == 0.0 or gap < LEAST_GAP or now <= TARGET or k == limit - 1
            if (now < FIRST_TRY and gap < 1e-2 * tried) or end:
                tried = gap
                for a in range(r.shape[0]):
                    trial[a] = r[a] if end else S.r[a]
                now, more = newton(blocks, q, units, factors, N, trial, FINISH_STEPS if end else TRY_STEPS, TARGET)
                steps += more
                if now < best:
                    best = now
                    for a in range(r.shape[0]):
                        r[a] = trial[a]
                if best <= 1e-3 * tolerance or end:
                    break
        if best <= tolerance:
            return CONE_SOLVED, best, interior, steps
    return CONE_LIMIT, best, interior, steps
