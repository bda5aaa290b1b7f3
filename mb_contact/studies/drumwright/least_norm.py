# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Of all impulses of a no-slip step with the same velocity afterwards, those of least norm.

Pivoting gives the impulses of an independent subset P of the rows: two corners of a face, and a self-stress
that nothing asks for.  Every other row of zero velocity is a combination of that subset,

    b_r = sum_j alpha_rj b_j,   alpha = W_RP W_PP^-1,

so r with alpha* r = g (g the impulses on P) acts alike, and the least of them is r = alpha (alpha* alpha)^-1 g.
Normals that would pull are left out and it is tried again.  O(m^2 n).

With viscous friction the velocity alone gives the tangential impulses; then the rows are the normals by themselves.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.active_factor import ACTIVE
from mb_contact.studies.drumwright.equality_rows import EQUALITY_ROWS, FREE_ROWS, PICKED_ROWS, _pick, respond

MOST_ROUNDS = 20


@kernel
def least_norm(com, rows, n_rows, rank_tolerance, normals_only, eq, ppm):
    """Replace ``eq.r`` by the impulses of least norm; False, and nothing changed, where that did not work.

    ``normals_only`` leaves the impulses of the equality rows as they are.
    """
    alpha = eq.alpha
    g = eq.g
    member = eq.member
    if normals_only:
        eq.info[PICKED_ROWS] = 0
        copy(n_rows, eq.diagonal, eq.left)
    for s in range(ppm.info[ACTIVE]):
        if eq.info[PICKED_ROWS] == eq.Y.shape[0]:
            return False
        _pick(com, rows, n_rows, eq.hard[ppm.active[s]], 0.0, eq)
    _find_still(n_rows, normals_only, eq, member)
    for i in range(eq.info[FREE_ROWS]):  # two corners may carry what four could
        r = eq.hard[i]
        own = eq.left[r] > rank_tolerance * eq.diagonal[r]
        if member[r] != 0 and own and eq.info[PICKED_ROWS] < eq.Y.shape[0]:
            _pick(com, rows, n_rows, r, 0.0, eq)
    k = eq.info[PICKED_ROWS]
    for r in range(n_rows):
        if eq.left[r] > rank_tolerance * eq.diagonal[r]:
            member[r] = 0
    for r in range(n_rows):
        if member[r] != 0:
            _combination(eq, k, r, alpha)
    for _ in range(MOST_ROUNDS):
        for j in range(k):
            g[j] = eq.r[eq.picked[j]]
        if not _solve_gram(n_rows, k, alpha, member, eq.gram, g):
            return False
        pulls = False
        for i in range(eq.info[FREE_ROWS]):
            r = eq.hard[i]
            if member[r] != 0 and _along(alpha, r, k, g) < 0.0:
                member[r] = 0
                pulls = True
        if not pulls:
            for i in range(eq.info[FREE_ROWS]):
                r = eq.hard[i]
                eq.r[r] = _along(alpha, r, k, g) if member[r] != 0 else 0.0
            for i in range(0 if normals_only else eq.info[EQUALITY_ROWS]):
                r = eq.equality[i]
                eq.r[r] = _along(alpha, r, k, g) if member[r] != 0 else 0.0
            return True
    return False


@kernel
def _find_still(n_rows, normals_only, eq, member):
    """Rows that may carry an impulse: the equality rows (unless ``normals_only``), and the normals of zero velocity."""
    largest = 0.0
    for r in range(n_rows):
        member[r] = 0
        largest = max(largest, abs(eq.q[r]) / np.sqrt(eq.diagonal[r]))
    for i in range(0 if normals_only else eq.info[EQUALITY_ROWS]):
        member[eq.equality[i]] = 1
    for i in range(eq.info[FREE_ROWS]):
        r = eq.hard[i]
        if abs(eq.u[r]) / np.sqrt(eq.diagonal[r]) <= 1e-10 * largest:
            member[r] = 1


@kernel
def _combination(eq, k, r, alpha):
    """alpha[r, :k] = L^-* Y[:, r]."""
    for j in range(k):
        alpha[r, j] = eq.Y[j, r]
    for j in range(k - 1, -1, -1):
        row = eq.picked[j]
        x = alpha[r, j] / eq.Y[j, row]
        alpha[r, j] = x
        for i in range(j):
            alpha[r, i] -= eq.Y[i, row] * x


@kernel
def _along(alpha, r, k, g):
    x = 0.0
    for j in range(k):
        x += alpha[r, j] * g[j]
    return x


@kernel
def _solve_gram(n_rows, k, alpha, member, gram, g):
    """g := (alpha* alpha)^-1 g over the members, by Cholesky; False where they do not span the subset."""
    for i in range(k):
        for j in range(i + 1):
            gram[i, j] = 0.0
    for r in range(n_rows):
        if member[r] != 0:
            for i in range(k):
                t = alpha[r, i]
                for j in range(i + 1):
                    gram[i, j] += t * alpha[r, j]
    for i in range(k):
        own = gram[i, i]
        for j in range(i + 1):
            x = gram[i, j]
            for c in range(j):
                x -= gram[i, c] * gram[j, c]
            if i == j:
                if not x > 1e-12 * own:
                    return False
                gram[i, i] = np.sqrt(x)
            else:
                gram[i, j] = x / gram[j, j]
    for i in range(k):
        x = g[i]
        for j in range(i):
            x -= gram[i, j] * g[j]
        g[i] = x / gram[i, i]
    for i in range(k - 1, -1, -1):
        x = g[i] / gram[i, i]
        g[i] = x
        for j in range(i):
            g[j] -= gram[i, j] * x
    return True


@kernel
def least_norm_response(tree, kin, art, com, rows, n_rows, rank_tolerance, normals_only, eq, ppm):
    """``least_norm`` and the response to it; the old impulses come back where the new ones act otherwise."""
    old = eq.old
    alpha = eq.alpha
    largest = 0.0
    copy(n_rows, eq.r, old)
    if not least_norm(com, rows, n_rows, rank_tolerance, normals_only, eq, ppm):
        return False
    for r in range(n_rows):
        alpha[r, 0] = eq.u[r]
        largest = max(largest, abs(eq.q[r]) / np.sqrt(eq.diagonal[r]))
    respond(tree, kin, art, rows, n_rows, eq)
    worst = 0.0
    for r in range(n_rows):
        worst = max(worst, abs(eq.u[r] - alpha[r, 0]) / np.sqrt(eq.diagonal[r]))
    if worst <= 1e-9 * largest:
        return True
    copy(n_rows, old, eq.r)
    respond(tree, kin, art, rows, n_rows, eq)
    return False
