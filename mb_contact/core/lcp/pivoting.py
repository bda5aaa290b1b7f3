# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Block principal pivoting over contact states: the fast, warm-started solver of the OS problem.

A complementary basis of the contact LCP (J14 Eq. 53) says for every contact which of
F_n, beta_1 ... beta_nf, sigma are positive.  Only a few patterns are not degenerate:

    separate          nothing
    stick             F_n and the tangential force; sigma = 0, no slip
    slip, vertex k    F_n, beta_k = mu F_n; sigma > 0
    slip, edge k      F_n, beta_k + beta_{k+1} = mu F_n; sigma > 0, slip along the facet's normal

so a block pivot re-chooses the *state* of every violated contact at once, and the linear system
of a basis has at most three unknowns a contact however fine the polyhedron is.  Redundant
contacts make it singular; it is solved in the least-norm sense (``linear.proximal_solve``).
When block pivots stop improving, one contact at a time is changed (the lowest index, as in
Murty's rule); when that runs out of pivots the caller goes on to Lemke's algorithm.

State codes: -1 separate, 0 stick (a scalar row: active), 1 ... n_f vertex, n_f + 1 ... 2 n_f edge.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.linear import proximal_solve

REGULARISATION = 1e-8  # of the mean diagonal of W; leaves 1e-8 relative noise in redundant forces
BLOCK_PATIENCE = 5  # block pivots without fewer violations before single changes


@kernel
def pivot_solve(W, q, cones, piv, state, r, u, limit):
    """Solve the polyhedral contact problem ``u = W r + q`` by block principal pivoting.

    Parameters
    ----------
    W, q : (R, R), (R,)
        Delassus matrix and free velocity of the scalar rows (normal, tangent 1, tangent 2 a contact).
    cones : Cones
        Layout of the units, friction coefficients, directions.
    piv : PivotWork
    state : int64 (units,)
        Initial states in, final states out.
    r, u : (R,)
        Impulses and velocities, output.
    limit : int
        Most linear solves.

    Returns
    -------
    solved : bool
        No unit violates its state's conditions (the certificate judges independently).
    iterations : int
    """
    rows = cones.rows[0]
    units = cones.count[0]
    scale = 0.0
    largest = 0.0
    for i in range(rows):
        scale += W[i, i]
        largest = max(largest, abs(q[i]))
    scale /= max(rows, 1)
    tol_u = 1e-11 * largest + 1e-15
    tol_r = tol_u / scale
    fewest = units + 1
    patience = BLOCK_PATIENCE
    for iteration in range(limit):
        m = _unknowns(cones, state, piv)
        _basis_system(W, q, m, piv)
        residual = proximal_solve(
            piv.A, m, REGULARISATION * scale, piv.LU, piv.order, piv.b, piv.x, piv.step, 0.01 * tol_u, 8
        )
        _expand(m, piv, rows, r)
        _velocities(W, q, rows, r, u)
        violated = 0
        for i in range(units):
            piv.proposal[i] = next_state(cones, i, state[i], r, u, tol_r, tol_u)
            if piv.proposal[i] != state[i]:
                violated += 1
        if violated == 0:
            return residual <= 100.0 * tol_u, iteration + 1
        if violated < fewest:
            fewest = violated
            patience = BLOCK_PATIENCE
        else:
            patience -= 1
        for i in range(units):
            if piv.proposal[i] != state[i]:
                state[i] = piv.proposal[i]
                if patience < 0:
                    break
    return False, limit


@kernel
def _unknowns(cones, state, piv):
    """List the unknowns of the basis: up to 3 (row, row weight, column weight) terms each."""
    n_f = cones.cosine.shape[0]
    m = 0
    for i in range(cones.count[0]):
        s = state[i]
        if s < 0:
            continue
        row = cones.start[i]
        mu = cones.mu[i]
        if cones.dim[i] == 1 or mu == 0.0:
            m = _term(piv, m, row, 1)
            continue
        if s == 0:
            m = _term(piv, m, row, 1)
            m = _term(piv, m, row + 1, 1)
            m = _term(piv, m, row + 2, 1)
            continue
        k = (s - 1) % n_f
        x = cones.cosine[k]
        y = cones.sine[k]
        if s > n_f:  # edge: F_n along n + mu (d_k + d_{k+1}) / 2, and the difference of the betas
            j = (k + 1) % n_f
            x2 = cones.cosine[j]
            y2 = cones.sine[j]
            piv.row_weight[m, 1] = 0.0
            piv.row_weight[m, 2] = 0.0
            piv.column_weight[m, 1] = 0.5 * mu * (x + x2)
            piv.column_weight[m, 2] = 0.5 * mu * (y + y2)
            m = _term(piv, m, row, 3)
            piv.row_weight[m, 1] = 0.5 * (x - x2)
            piv.row_weight[m, 2] = 0.5 * (y - y2)
            piv.column_weight[m, 1] = 0.5 * (x - x2)
            piv.column_weight[m, 2] = 0.5 * (y - y2)
            m = _term(piv, m, row + 1, 2)
        else:  # vertex: F_n along n + mu d_k
            piv.row_weight[m, 1] = 0.0
            piv.row_weight[m, 2] = 0.0
            piv.column_weight[m, 1] = mu * x
            piv.column_weight[m, 2] = mu * y
            m = _term(piv, m, row, 3)
    return m


@kernel
def _term(piv, m, row, terms):
    """Close unknown m: it starts at ``row`` with ``terms`` consecutive rows (2: the two tangents)."""
    piv.row[m] = row
    piv.terms[m] = terms
    if terms == 2:
        for c in range(2):
            piv.row_weight[m, c] = piv.row_weight[m, c + 1]
            piv.column_weight[m, c] = piv.column_weight[m, c + 1]
    else:
        piv.row_weight[m, 0] = 1.0
        piv.column_weight[m, 0] = 1.0
    return m + 1


@kernel
def _basis_system(W, q, m, piv):
    """A x = b of the basis: A = R* W C, b = -R* q with row weights R and column weights C."""
    for i in range(m):
        ri = piv.row[i]
        ti = piv.terms[i]
        b = 0.0
        for a in range(ti):
            b -= piv.row_weight[i, a] * q[ri + a]
        piv.b[i] = b
        for j in range(m):
            rj = piv.row[j]
            tj = piv.terms[j]
            x = 0.0
            for a in range(ti):
                w = piv.row_weight[i, a]
                if w != 0.0:
                    for c in range(tj):
                        x += w * W[ri + a, rj + c] * piv.column_weight[j, c]
            piv.A[i, j] = x


@kernel
def _expand(m, piv, rows, r):
    """r := C x."""
    for i in range(rows):
        r[i] = 0.0
    for j in range(m):
        for c in range(piv.terms[j]):
            r[piv.row[j] + c] += piv.column_weight[j, c] * piv.x[j]


@kernel
def _velocities(W, q, rows, r, u):
    """u := W r + q."""
    for i in range(rows):
        x = q[i]
        for j in range(rows):
            x += W[i, j] * r[j]
        u[i] = x


@kernel
def next_state(cones, i, s, r, u, tol_r, tol_u):
    """State that unit i should take, given impulses r and velocities u of the basis it is in now."""
    row = cones.start[i]
    mu = cones.mu[i]
    if s < 0:
        return 0 if u[row] < -tol_u else s
    if r[row] < -tol_r:
        return -1
    if cones.dim[i] == 1 or mu == 0.0:
        return s
    n_f = cones.cosine.shape[0]
    if s == 0:
        return _after_stick(cones, n_f, mu * r[row], r[row + 1], r[row + 2], tol_r)
    k = (s - 1) % n_f
    ux = u[row + 1]
    uy = u[row + 2]
    along = cones.cosine[k] * ux + cones.sine[k] * uy
    if along > tol_u:
        return 0  # it would push the slip on: sigma < 0
    if s > n_f:
        j = (k + 1) % n_f
        # beta_k, beta_{k+1} from r_t = beta_k d_k + beta_{k+1} d_{k+1}
        det = cones.cosine[k] * cones.sine[j] - cones.sine[k] * cones.cosine[j]
        b_k = (r[row + 1] * cones.sine[j] - r[row + 2] * cones.cosine[j]) / det
        b_j = (cones.cosine[k] * r[row + 2] - cones.sine[k] * r[row + 1]) / det
        if b_k < -tol_r:
            return j + 1
        if b_j < -tol_r:
            return k + 1
        return s
    best = k
    least = along - tol_u
    for j in range(n_f):
        value = cones.cosine[j] * ux + cones.sine[j] * uy
        if value < least:
            least = value
            best = j
    if best == k:
        return s
    if best == (k + 1) % n_f:
        return n_f + 1 + k
    if k == (best + 1) % n_f:
        return n_f + 1 + best
    return best + 1


@kernel
def _after_stick(cones, n_f, bound, fx, fy, tol_r):
    """Stick, or the facet of the friction polygon through which the tangential impulse leaves."""
    if bound < 0.0:
        bound = 0.0
    angle = np.arctan2(fy, fx)
    if angle < 0.0:
        angle += 2.0 * np.pi
    sector = 2.0 * np.pi / n_f
    k = int(angle / sector) % n_f
    j = (k + 1) % n_f
    det = cones.cosine[k] * cones.sine[j] - cones.sine[k] * cones.cosine[j]
    b_k = (fx * cones.sine[j] - fy * cones.cosine[j]) / det
    b_j = (cones.cosine[k] * fy - cones.sine[k] * fx) / det
    if b_k + b_j <= bound + tol_r:
        return 0
    if b_j <= 1e-9 * b_k:
        return k + 1
    if b_k <= 1e-9 * b_j:
        return j + 1
    return n_f + 1 + k
