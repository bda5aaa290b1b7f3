# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The judge: how well impulses solve the polyhedral contact problem, computed from W, q, r alone.

Friction is split afresh into the two neighbouring directions (the decomposition with the least sum),
sigma is the largest closing speed along a direction, and every complementary pair (z, w) is measured in
the units of sqrt(N s m/s): z sqrt(W_ii) and w / sqrt(W_ii) with W_ii the pair's own diagonal entry.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel

GAP = 0  #: largest min(z, w) over the pairs: complementarity gap
INFEASIBLE = 1  #: largest negative part of a velocity, slack or normal impulse
CONE = 2  #: largest friction beyond mu F_n, unscaled [N s]
WORST = 3  #: unit with the largest residual


@kernel
def certify(W, q, cones, r, u, judge):
    """Fill ``judge``; u is recomputed as W r + q.

    A unit with a NaN or an infinity counts as infinitely bad.
    """
    return certify_shifted(W, q, r, 0.0, cones, r, u, judge)


@kernel
def certify_shifted(W, q, theta, part, cones, r, u, judge):
    """As ``certify`` with r_n - part theta against u_n: normal impulses that start from recovered ones."""
    n_f = cones.cosine.shape[0]
    rows = cones.rows[0]
    for i in range(judge.shape[0]):
        judge[i] = 0.0
    judge[WORST] = -1.0
    for i in range(rows):
        x = q[i]
        for j in range(rows):
            x += W[i, j] * r[j]
        u[i] = x
    largest = -1.0
    for i in range(cones.count[0]):
        row = cones.start[i]
        s = np.sqrt(W[row, row])
        gap, infeasible = _pair((r[row] - part * theta[row]) * s, u[row] / s)
        finite = _finite(r, u, row, cones.dim[i]) and np.isfinite(cones.mu[i])
        if cones.dim[i] == 3 and finite:
            t = np.sqrt(0.5 * (W[row + 1, row + 1] + W[row + 2, row + 2]))
            g, f = _friction(cones, n_f, i, r, u, row, t, judge)
            gap = max(gap, g)
            infeasible = max(infeasible, f)
        if not finite or not gap <= 1e300 or not infeasible <= 1e300:
            gap = 1e300
            infeasible = 0.0
        if gap > judge[GAP]:
            judge[GAP] = gap
        if infeasible > judge[INFEASIBLE]:
            judge[INFEASIBLE] = infeasible
        if max(gap, infeasible) > largest:
            largest = max(gap, infeasible)
            judge[WORST] = i
    return max(judge[GAP], judge[INFEASIBLE])


@kernel
def _finite(r, u, row, dim):
    """Whether all numbers of a unit are finite (min and max would drop a NaN)."""
    for c in range(row, row + dim):
        if not np.isfinite(r[c]) or not np.isfinite(u[c]):
            return False
    return True


@kernel
def _pair(z, w):
    """Complementarity gap and infeasibility of one pair."""
    return max(min(z, w), 0.0), max(-min(z, w), 0.0)


@kernel
def _friction(cones, n_f, i, r, u, row, t, judge):
    """Gap and infeasibility of the rows (10b), (10c) of a contact."""
    fx = r[row + 1]
    fy = r[row + 2]
    angle = np.arctan2(fy, fx)
    if angle < 0.0:
        angle += 2.0 * np.pi
    k = int(angle / (2.0 * np.pi / n_f)) % n_f
    j = (k + 1) % n_f
    det = cones.cosine[k] * cones.sine[j] - cones.sine[k] * cones.cosine[j]
    b_k = (fx * cones.sine[j] - fy * cones.cosine[j]) / det
    b_j = (cones.cosine[k] * fy - cones.sine[k] * fx) / det
    slack = cones.mu[i] * r[row] - b_k - b_j
    if -slack > judge[CONE]:
        judge[CONE] = -slack
    sigma = 0.0
    for d in range(n_f):
        sigma = max(sigma, -(cones.cosine[d] * u[row + 1] + cones.sine[d] * u[row + 2]))
    gap, infeasible = _pair(slack * t, sigma / t)
    w_k = sigma + cones.cosine[k] * u[row + 1] + cones.sine[k] * u[row + 2]
    w_j = sigma + cones.cosine[j] * u[row + 1] + cones.sine[j] * u[row + 2]
    g, f = _pair(b_k * t, w_k / t)
    gap = max(gap, g)
    infeasible = max(infeasible, f)
    g, f = _pair(b_j * t, w_j / t)
    return max(gap, g), max(infeasible, f)
