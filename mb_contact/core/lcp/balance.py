# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact problems whose compliances lie many orders apart, in units in which every row weighs alike.

A chain that is folded onto itself can be touched where it gives way to almost nothing: W_nn of 1e-11 beside others of
1.  What the solvers add to the diagonal, 1e-8 of its mean, would drown such a row.  With r = S r', u' = S u,

    u' = (S W S) r' + S q,     |r'_t| <= mu' r'_n,   mu' = mu s_n / s_t,

one s_t for both tangents, is the same problem, and s = 2^k near W_ii^-1/2 makes every diagonal entry of it 1/2 ... 2.
Powers of two round nothing: states, residuals (which have no unit of their own) and W, q afterwards are the same bits.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel

SPREAD = 1e-3  #: least over largest diagonal entry below which a problem is balanced


@kernel
def balance(W, q, cones, scale):
    """Put W (R, R), q (R,) and ``cones.mu`` into balanced units, S into ``scale`` (R,); False where it needs none.

    The tangents of a contact count as one, with their mean; rows without compliance keep their unit.
    """
    least = np.inf
    largest = 0.0
    for i in range(cones.count[0]):
        own = W[cones.start[i], cones.start[i]]
        across = _across(W, cones, i) if cones.dim[i] == 3 else own
        if own > 0.0:
            least = min(least, own)
        if across > 0.0:
            least = min(least, across)
        largest = max(largest, own, across)
    if not least < SPREAD * largest:
        return False
    for i in range(cones.count[0]):
        row = cones.start[i]
        scale[row] = _power_of_two(W[row, row])
        if cones.dim[i] == 3:
            scale[row + 1] = _power_of_two(_across(W, cones, i))
            scale[row + 2] = scale[row + 1]
            cones.mu[i] *= scale[row] / scale[row + 1]
    _multiply(W, q, cones.rows[0], scale)
    return True


@kernel
def unbalance(W, q, r, cones, scale):
    """Back to the units of the rows; the impulses r (R,) with them."""
    for i in range(cones.count[0]):
        row = cones.start[i]
        if cones.dim[i] == 3:
            cones.mu[i] *= scale[row + 1] / scale[row]
    for i in range(cones.rows[0]):
        r[i] *= scale[i]
        scale[i] = 1.0 / scale[i]
    _multiply(W, q, cones.rows[0], scale)


@kernel
def _multiply(W, q, rows, scale):
    for i in range(rows):
        q[i] *= scale[i]
        for j in range(rows):
            W[i, j] *= scale[i] * scale[j]


@kernel
def _across(W, cones, i):
    """Mean compliance of the tangents of contact i."""
    row = cones.start[i] + 1
    return 0.5 * (W[row, row] + W[row + 1, row + 1])


@kernel
def _power_of_two(own):
    """2^k next to own^-1/2, 1 where there is no compliance."""
    if not own > 0.0 or not np.isfinite(own):
        return 1.0
    return 2.0 ** np.round(-0.5 * np.log2(own))
