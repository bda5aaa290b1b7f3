# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How well friction solves the polyhedral contact problem, from impulses and velocities alone.

Friction is split afresh into the two neighbouring directions (the decomposition with the least sum),
sigma is the largest closing speed along a direction, and every complementary pair (z, w) is measured in
the units of sqrt(N s m/s): z sqrt(W_ii) and w / sqrt(W_ii) with W_ii the pair's own diagonal entry.
"""

import numpy as np

from mb_contact.core.jit import kernel

#: Entries of residuals, wherever a problem's are kept: complementarity gap, the largest min(z, w) over the pairs and
GAP = 0  #: distance of a friction group
INFEASIBLE = 1  #: largest negative part of a velocity, slack or normal impulse, largest velocity of an equality
VIOLATION = 2  #: largest friction beyond its bound, unscaled [N s]
WORST = 3  #: block with the largest residual


@kernel
def _pair(z, w):
    """Complementarity gap and infeasibility of one pair."""
    return max(min(z, w), 0.0), max(-min(z, w), 0.0)


@kernel
def polygon_pairs(n_f, mu, normal, fx, fy, ux, uy, t):
    """(gap, infeasibility, friction beyond its bound) of the rows (10b), (10c) of a contact; t the root of W_tt.

    The impulse (fx, fy) is split into the two neighbouring ones of n_f directions, the first along x.
    """
    step = 2.0 * np.pi / n_f
    angle = np.arctan2(fy, fx)
    if angle < 0.0:
        angle += 2.0 * np.pi
    k = int(angle / step) % n_f
    x = np.cos(k * step)
    y = np.sin(k * step)
    x_next = np.cos((k + 1) * step)
    y_next = np.sin((k + 1) * step)
    det = x * y_next - y * x_next
    b_k = (fx * y_next - fy * x_next) / det
    b_j = (x * fy - y * fx) / det
    slack = mu * normal - b_k - b_j
    sigma = 0.0
    for d in range(n_f):
        sigma = max(sigma, -(np.cos(d * step) * ux + np.sin(d * step) * uy))
    gap, infeasible = _pair(slack * t, sigma / t)
    g, f = _pair(b_k * t, (sigma + x * ux + y * uy) / t)
    gap = max(gap, g)
    infeasible = max(infeasible, f)
    g, f = _pair(b_j * t, (sigma + x_next * ux + y_next * uy) / t)
    return max(gap, g), max(infeasible, f), -slack
