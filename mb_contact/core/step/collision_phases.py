# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The decompression of Anitescu and Potra on the polyhedral cone, and the judges of both phases.

Normal impulses r_n = theta + F_n with F_n >= 0 complementary to u_n, friction at most mu r_n:

    u_n _|_ r_n - theta,   sigma + D* u _|_ beta,   mu r_n - E* beta _|_ sigma

It is the contact problem with theta = 0 but for contacts that leave (r_n = theta, u_n > 0), whose friction has the
fixed bound mu theta.  Such a contact is a Coulomb contact whose normal row is cut off from all others: W_nn alone on
the diagonal and q_n = -W_nn theta make r_n = theta, and the other rows take W_.n theta as given.  So the step's ladder
solves it for a set of leaving contacts, and the set is mended until every contact agrees; where that goes round in
circles, Lemke's algorithm has the whole problem.  Nothing is believed: ``certify_shifted`` judges the problem above.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.lcp.balance import balance, unbalance
from mb_contact.core.lcp.certificate import CONE, GAP, INFEASIBLE, WORST, _finite, _pair, certify, certify_shifted
from mb_contact.core.lcp.ladder import FIRST_REGULARISATION, LEMKE_ATTEMPTS, TOLERANCE, solve_step
from mb_contact.core.lcp.lcp import impulses_of, lcp_assemble
from mb_contact.core.lcp.lemke import lemke

BLOCK_ROUNDS = 10  # rounds in which every wrong contact changes; after that the first one alone
MOST_ROUNDS = 40


@kernel
def recover(W, q, cones, sol, piv, lem, r, judge):
    """An ordinary contact problem (W, q) by the step's ladder into ``r``."""
    rows = cones.rows[0]
    for i in range(rows):
        sol.q[i] = q[i]
        for j in range(rows):
            sol.W[i, j] = W[i, j]
    _start(cones, q, sol.state)
    solve_step(sol, cones, piv, lem)
    for i in range(rows):
        r[i] = sol.r[i]
    certify(W, q, cones, r, sol.u, judge)


@kernel
def _start(cones, q, state):
    for i in range(cones.count[0]):
        state[i] = 0 if q[cones.start[i]] < 0.0 else -1


@kernel
def recover_more(W, q, theta, cones, released, sol, piv, lem, r, judge):
    """The problem of Anitescu and Potra: q holds the velocities after compression, r gets theta + additional.

    In balanced units, where it needs them, from the first round on: the ladder then finds nothing more to balance.
    """
    balanced = balance(W, q, cones, piv.scale)
    if balanced:
        for i in range(cones.rows[0]):
            theta[i] /= piv.scale[i]
    _recover_more(W, q, theta, cones, released, sol, piv, lem, r, judge)
    if balanced:
        for i in range(cones.rows[0]):
            theta[i] *= piv.scale[i]
        unbalance(W, q, r, cones, piv.scale)
        certify_shifted(W, q, theta, 1.0, cones, r, sol.u, judge)


@kernel
def _recover_more(W, q, theta, cones, released, sol, piv, lem, r, judge):
    best = 1e300
    for i in range(cones.count[0]):
        released[i] = 1 if theta[cones.start[i]] > 0.0 else 0
    best = _mend(W, q, theta, cones, released, sol, piv, lem, r, judge, best)
    if best <= TOLERANCE:
        return
    mean = 0.0
    for i in range(cones.rows[0]):
        mean += W[i, i] / cones.rows[0]
    weight = 0.0
    for attempt in range(LEMKE_ATTEMPTS):
        if attempt > 0:
            weight = FIRST_REGULARISATION * 100.0 ** (attempt - 1)
        _whole(W, q, theta, cones, weight * mean, sol, lem)
        best = _consider(W, q, theta, cones, sol, r, judge, best)
        for i in range(cones.count[0]):
            row = cones.start[i]
            released[i] = 1 if theta[row] > 0.0 and sol.r[row] <= theta[row] else 0
        best = _mend(W, q, theta, cones, released, sol, piv, lem, r, judge, best)
        if best <= TOLERANCE:
            return


@kernel
def _mend(W, q, theta, cones, released, sol, piv, lem, r, judge, best):
    """Change the set of leaving contacts until all agree with it; the best impulses stay in r."""
    for attempt in range(MOST_ROUNDS):
        cut_off(W, q, theta, cones, released, sol.W, sol.q)
        _start(cones, sol.q, sol.state)
        solve_step(sol, cones, piv, lem)
        best = _consider(W, q, theta, cones, sol, r, judge, best)
        if best <= TOLERANCE:
            return best
        changed = 0
        for i in range(cones.count[0]):
            row = cones.start[i]
            if theta[row] <= 0.0:
                continue
            wrong = sol.u[row] < 0.0 if released[i] == 1 else sol.r[row] < theta[row]
            if wrong and (attempt < BLOCK_ROUNDS or changed == 0):
                released[i] = 1 - released[i]
                changed += 1
        if changed == 0:
            return best
    return best


@kernel
def cut_off(W, q, theta, cones, released, W_cut, q_cut):
    """W and q with the normal rows of leaving contacts cut off, so that their impulse comes out as theta."""
    rows = cones.rows[0]
    for i in range(rows):
        q_cut[i] = q[i]
        for j in range(rows):
            W_cut[i, j] = W[i, j]
    for i in range(cones.count[0]):
        if released[i] == 0:
            continue
        n = cones.start[i]
        for j in range(rows):
            q_cut[j] += W[j, n] * theta[n]
            if j != n:
                W_cut[j, n] = 0.0
                W_cut[n, j] = 0.0
    for i in range(cones.count[0]):
        n = cones.start[i]
        if released[i] != 0:
            q_cut[n] = -W[n, n] * theta[n]


@kernel
def _consider(W, q, theta, cones, sol, r, judge, best):
    """Judge ``sol.r`` on the true problem and keep it if it is better; ``sol.u`` gets its true velocities."""
    now = certify_shifted(W, q, theta, 1.0, cones, sol.r, sol.u, sol.judge)
    if now >= best:
        return best
    for i in range(cones.rows[0]):
        r[i] = sol.r[i]
    for a in range(judge.shape[0]):
        judge[a] = sol.judge[a]
    return now


@kernel
def _whole(W, q, theta, cones, regularisation, sol, lem):
    """Lemke on the whole problem: J14 (57) with mu theta in its last rows; total impulses into ``sol.r``."""
    rows = cones.rows[0]
    for i in range(rows):
        x = q[i]
        for j in range(rows):
            x += W[i, j] * theta[j]
        sol.q[i] = x
    size = lcp_assemble(W, sol.q, cones, lem.M, lem.q)
    forces = size
    for i in range(cones.count[0]):
        if cones.dim[i] == 3:
            forces -= 1
    sigma = forces
    for i in range(cones.count[0]):
        if cones.dim[i] == 3:
            lem.q[sigma] += cones.mu[i] * theta[cones.start[i]]
            sigma += 1
    for i in range(forces):
        lem.M[i, i] += regularisation
    lemke(lem.M, lem.q, size, lem.T, lem.basis, lem.z, 20 * size + 50)
    impulses_of(cones, lem.z, sol.r)
    for i in range(rows):
        sol.r[i] += theta[i]


@kernel
def certify_cone(W, q, theta, surfaces, picked, cones, mu, extra, r, u, judge):
    """The same for exact cones: each of friction, torsion and rolling against its own disc of radius r_n.

    Parameters
    ----------
    mu : (c, 2)
        Friction coefficients along both tangents of the contacts ``picked``.
    extra : int64 (c,)
        First row of a contact's torsion and rolling, -1 without them.
    """
    rows = cones.rows[0]
    for i in range(judge.shape[0]):
        judge[i] = 0.0
    judge[WORST] = -1.0
    for i in range(rows):
        x = q[i]
        for j in range(rows):
            x += W[i, j] * r[j]
        u[i] = x
    for i in range(cones.count[0]):
        row = cones.start[i]
        s = np.sqrt(W[row, row])
        gap, infeasible = _pair((r[row] - theta[row]) * s, u[row] / s)
        finite = _finite(r, u, row, cones.dim[i])
        if cones.dim[i] == 3:
            gap = max(gap, _disc_gap(W, r, u, r[row], row + 1, mu[i, 0], row + 2, mu[i, 1], judge))
            at = extra[i]
            if at >= 0 and surfaces.torsional[picked.pair[i]] > 0.0:
                finite = finite and _finite(r, u, at, 1)
                gap = max(gap, _disc_gap(W, r, u, r[row], at, surfaces.torsional[picked.pair[i]], at, 0.0, judge))
                at += 1
            if at >= 0 and surfaces.rolling[picked.pair[i]] > 0.0:
                c = surfaces.rolling[picked.pair[i]]
                finite = finite and _finite(r, u, at, 2)
                gap = max(gap, _disc_gap(W, r, u, r[row], at, c, at + 1, c, judge))
        if not finite or not gap <= 1e300:
            gap = 1e300
        if max(gap, infeasible) > max(judge[GAP], judge[INFEASIBLE]):
            judge[WORST] = i
        judge[GAP] = max(judge[GAP], gap)
        judge[INFEASIBLE] = max(judge[INFEASIBLE], infeasible)
    return max(judge[GAP], judge[INFEASIBLE])


@kernel
def _disc_gap(W, r, u, radius, a, mu_a, b, mu_b, judge):
    """Natural map of rows a and b in units of their coefficients: y against its disc's nearest point to y - mu u / s^2.

    A row without coefficient (b = a where there is but one) has to carry nothing.
    """
    radius = max(radius, 0.0)
    gap = 0.0
    x = 0.0
    y = 0.0
    scale = 0.0
    count = 0
    if mu_a > 0.0:
        x = r[a] / mu_a
        scale += mu_a * mu_a * W[a, a]
        count += 1
    else:
        gap = np.sqrt(W[a, a]) * abs(r[a])
    if mu_b > 0.0:
        y = r[b] / mu_b
        scale += mu_b * mu_b * W[b, b]
        count += 1
    elif b != a:
        gap = max(gap, np.sqrt(W[b, b]) * abs(r[b]))
    if count == 0:
        return gap
    scale /= count
    judge[CONE] = max(judge[CONE], np.sqrt(scale) * (np.sqrt(x * x + y * y) - radius))
    px = x - mu_a * u[a] / scale
    py = y - mu_b * u[b] / scale
    size = np.sqrt(px * px + py * py)
    part = 1.0 if size <= radius else radius / size
    return max(gap, np.sqrt(scale) * np.sqrt((x - part * px) ** 2 + (y - part * py) ** 2))
