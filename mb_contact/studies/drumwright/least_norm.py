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

import numpy as np
from scipy.linalg import solve_triangular

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.active_factor import ACTIVE
from mb_contact.studies.drumwright.equality_rows import EQUALITY_ROWS, FREE_ROWS, PICKED_ROWS, _pick, respond

MOST_ROUNDS = 20
RANK = 1e-6  # singular value of alpha with unit columns up to which the members do not span the subset


@kernel
def _pick_still(compliance, rows, n_rows, rank_tolerance, normals_only, still, eq, ppm):
    """Extend the factor by the active normals, then by what else stands still; False where there is no room."""
    if normals_only:
        eq.info[PICKED_ROWS] = 0
        copy(n_rows, eq.diagonal, eq.left)
    for s in range(ppm.info[ACTIVE]):
        if eq.info[PICKED_ROWS] == eq.Y.shape[0]:
            return False
        _pick(compliance, rows, n_rows, eq.hard[ppm.active[s]], 0.0, eq)
    for i in range(eq.info[FREE_ROWS]):  # two corners may carry what four could
        r = eq.hard[i]
        own = eq.left[r] > rank_tolerance * eq.diagonal[r]
        if still[r] and own and eq.info[PICKED_ROWS] < eq.Y.shape[0]:
            _pick(compliance, rows, n_rows, r, 0.0, eq)
    return True


def least_norm(compliance, rows, n_rows, rank_tolerance, normals_only, eq, ppm):
    """Replace ``eq.r`` by the impulses of least norm; False, and nothing changed, where that did not work.

    ``normals_only`` leaves the impulses of the equality rows as they are.
    """
    hard, scale = eq.hard[: eq.info[FREE_ROWS]], np.sqrt(eq.diagonal[:n_rows])
    equality = eq.equality[: 0 if normals_only else eq.info[EQUALITY_ROWS]]
    still = np.zeros(n_rows, bool)
    still[hard] = np.abs(eq.u[hard]) / scale[hard] <= 1e-10 * np.abs(eq.q[:n_rows] / scale).max(initial=0.0)
    still[equality] = True
    if not _pick_still(compliance, rows, n_rows, rank_tolerance, normals_only, still, eq, ppm):
        return False
    k, old = eq.info[PICKED_ROWS], eq.r[:n_rows].copy()
    if k == 0:
        return False
    Y, picked = eq.Y[:k, :n_rows], eq.picked[:k]
    member = still & (eq.left[:n_rows] <= rank_tolerance * eq.diagonal[:n_rows])
    for _ in range(MOST_ROUNDS):
        alpha = solve_triangular(Y[:, picked], Y[:, member])  # transposed: (k, members)
        size = np.linalg.norm(alpha, axis=1)
        if not size.all():
            return False
        found, _, rank, _ = np.linalg.lstsq(alpha / size[:, None], old[picked] / size, rcond=RANK)
        if rank < k:
            return False
        r = np.zeros(n_rows)
        r[member] = found
        if r[hard].min(initial=0.0) >= 0.0:
            eq.r[hard], eq.r[equality] = r[hard], r[equality]
            return True
        member[hard] &= r[hard] >= 0.0
    return False


def least_norm_response(tree, kin, art, compliance, rows, n_rows, rank_tolerance, normals_only, eq, ppm):
    """``least_norm`` and the response to it; the old impulses come back where the new ones act otherwise."""
    old, before, scale = eq.r[:n_rows].copy(), eq.u[:n_rows].copy(), np.sqrt(eq.diagonal[:n_rows])
    if not least_norm(compliance, rows, n_rows, rank_tolerance, normals_only, eq, ppm):
        return False
    respond(tree, kin, art, rows, n_rows, eq)
    worst = np.abs((eq.u[:n_rows] - before) / scale).max(initial=0.0)
    if worst <= 1e-9 * np.abs(eq.q[:n_rows] / scale).max(initial=0.0):
        return True
    eq.r[:n_rows] = old
    respond(tree, kin, art, rows, n_rows, eq)
    return False
