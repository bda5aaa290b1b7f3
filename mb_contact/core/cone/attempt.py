# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One attempt at the exact-cone problem: interior-point steps with Newton to finish.

The interior point finds which contacts separate, stick and slip within ten to thirty steps however redundant the
contacts are, but the last digits cost it dearly (weakly active contacts leave sqrt(gap)).  Newton's method has no
global convergence but from there ends in a few steps at rounding error.  So Newton is tried whenever the gap has
fallen enough, on a copy; if it fails the interior point goes on.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.cone.interior import interior_step, start_interior
from mb_contact.core.cone.newton import PATIENCE, measure, newton
from mb_contact.core.jit import kernel

TARGET = 1e-12  #: relative natural residual to aim at
WARM_STEPS = 12
TRY_STEPS = 6
FINISH_STEPS = 30
FIRST_TRY = 1e-3  #: relative natural residual from which Newton is tried
LEAST_GAP = 1e-15
SHORT = 0.05  #: a step shorter than this does not count as progress
SHORT_STEPS = 6  #: so many of them end an attempt


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
def attempt(blocks, q, units, factors, S, N, r, trial, best, force, velocity, limit, tolerance):
    """Solve from ``force`` and ``velocity`` on the axes; r, whose measure is ``best``, becomes the best point.

    Returns (relative natural residual, interior-point steps, Newton steps).
    """
    interior = 0
    steps = 0
    start_interior(units, S, force, velocity)
    tried = np.inf
    short = 0
    end = False
    while not end:
        gap, length = interior_step(blocks, q, units, factors, S, True)
        interior += 1
        now = measure(blocks, q, units, N, S.r)
        if now < best:
            best = now
            for a in range(r.shape[0]):
                r[a] = S.r[a]
        short = short + 1 if length < SHORT else 0
        end = short >= SHORT_STEPS or length == 0.0 or gap < LEAST_GAP or now <= TARGET or interior >= limit
        if end or (now < FIRST_TRY and gap < 1e-2 * tried):
            tried = gap
            for a in range(r.shape[0]):
                trial[a] = r[a] if end else S.r[a]
            limit_now = FINISH_STEPS if end else TRY_STEPS
            now, more = newton(blocks, q, units, factors, N, trial, limit_now, TARGET, PATIENCE)
            steps += more
            if now < best:
                best = now
                for a in range(r.shape[0]):
                    r[a] = trial[a]
            end = end or best <= 1e-3 * tolerance
    return best, interior, steps
