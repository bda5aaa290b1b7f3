# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A start by pivoting: Lemke's algorithm on the polyhedral problem of a small island (J14 Eq. 53).

Newton steps change the states of all contacts at once.  Where friction moves a contact along its normal more than the
normal impulse does (mu |W_nt| > W_nn: wheels and links of a robot that lies on its side), sticking asks for a pull,
slipping slips the wrong way and opening approaches, for ever.  Lemke's algorithm changes one state at a time and ends
at a solution; from that of polygons the exact law's is few Newton steps away.

Contacts and limits that neither press nor approach are left out: Newton steps know them.  (In a phase of an impact a
contact has a least normal impulse, and so friction, in any state.)

    kind          unknowns, with the directions of u that they meet
    normal, limit F, along it
    friction      n_f beta along the vertices of the polygon, in units of the coefficients, and sigma
    equality      two of opposite sense
    box           two of opposite sense, and sigma

``sigma`` is complementary to F - sum beta, or to a box's bound less that sum.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import NOTHING, TRUTH, kernel, on_demand
from mb_contact.core.lcp.lemke import LEMKE_SOLVED, pivot
from mb_contact.core.solve.laws import friction_group, group_point
from mb_contact.core.solve.newton_step import apply_operator, copy_rows, evaluate
from mb_contact.core.solve.system import RESIDUAL, UNKNOWNS
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, UNILATERAL

DIRECTIONS, FEWER = 8, 4  #: vertices of a polygon, and where that is too much
PIVOTS = 1.5  #: at most so many for each unknown
TURNS = 3  #: times that the polyhedral problem is solved
SOFT = 1e-9  #: softness of its impulses, in their scale, the last time and once rounding has spoilt a pivot, else none
NEAR = 1e-6  #: residual below which it is not solved again [sqrt(N s m/s)]
MOST = 1e3  #: impulse of a solution, times the largest velocity that is asked for, both in the scale of W
SIGMA = -1  #: row of an unknown that is no impulse


@kernel
def _add(d, n, row, a, b, scale, sigma):
    """Unknown n: an impulse with weights a and b on a row and the next, bounded by the unknown ``sigma``."""
    if n < UNKNOWNS:
        d.row[n], d.way[n, 0], d.way[n, 1], d.sigma[n] = row, a * scale, b * scale, sigma
    return n + 1


@kernel
def _list_unknowns(P, b0, b1, directions):
    """Number of the unknowns of an island at the impulses and velocities in P; they are listed as far as they fit."""
    d, blocks, n = P.dictionary, P.blocks, 0
    for b in range(b0, b1):
        i, end, kind = blocks.start[b], blocks.start[b + 1], blocks.kind[b]
        scale = 1.0 / np.sqrt(blocks.D[i])
        if kind == EQUALITY or kind == BOX:
            sigma = n + 2 if kind == BOX else -1
            n = _add(d, n, i, 1.0, 0.0, scale, sigma)
            n = _add(d, n, i, -1.0, 0.0, scale, sigma)
            if kind == BOX:
                n = _add(d, n, SIGMA, blocks.mu[i], 0.0, 1.0 / scale, -1)
            continue
        least = blocks.mu[i]
        if P.immobile[i] != 0 or not (P.r[i] > least or P.u[i] <= 0.0 or (kind == CONTACT and least > 0.0)):
            continue
        normal = n
        n = _add(d, n, i, 1.0, 0.0, scale, -1)
        k = i + 1
        while kind == CONTACT and k < end:
            size = friction_group(blocks, b, k)[1]
            m0, m1 = blocks.mu[k], blocks.mu[k + 1] if size == 2 else 0.0
            sides = blocks.n_f[b] if k == i + 1 else 0
            own = 1.0 / max(m0 * np.sqrt(blocks.D[k]), m1 * np.sqrt(blocks.D[k + size - 1]), np.sqrt(blocks.D[i]))
            ways, turn = directions, 0.0
            if m0 == 0.0 or m1 == 0.0:
                ways = 2
            elif 2 < sides <= 2 * directions:
                ways = sides
            else:
                turn = _heading(blocks, P.r, P.u, k, size)
            sigma = n + ways
            for _ in range(ways if m0 + m1 > 0.0 else 0):
                a, c = np.cos(turn), np.sin(turn)
                turn += 2.0 * np.pi / ways
                n = _add(d, n, k, m0 * (a if m0 > 0.0 else 0.0), m1 * (c if m0 > 0.0 else a), own, sigma)
            if m0 + m1 > 0.0:
                n = _add(d, n, SIGMA, blocks.mu[i], scale, 1.0 / own, normal)
            k += size
    return n


@kernel
def _heading(blocks, r, u, k, size):
    """Angle of the impulse that friction tends to, where one vertex of its polygon is."""
    _, _, z0, z1, _ = group_point(blocks, r, u, k, size, 1.0)
    return np.arctan2(z1, z0)


@on_demand(TRUTH)
def fits(P, b0, b1):
    """Whether an island's polyhedral problem is small enough, at the impulses and velocities in P."""
    return _list_unknowns(P, b0, b1, FEWER) <= UNKNOWNS


@on_demand(NOTHING)
def start_elsewhere(P, b0, b1, c0, c1, small):
    """Impulses and velocities to begin at, behind those in P, into P.

    They solve the polyhedral problem, if it is small and has a solution; else they are those without impulses.  Once
    more with polygons that are turned to that solution, and with contacts that approach in it; the best of them.
    """
    first, last, best, least, soft = P.blocks.start[b0], P.blocks.start[b1], P.work.best, np.inf, 0.0
    for turn in range(TURNS if small else 1):
        n = _list_unknowns(P, b0, b1, DIRECTIONS) if small else UNKNOWNS + 1
        if small and n > UNKNOWNS:
            n = _list_unknowns(P, b0, b1, FEWER)
        for b in range(b0, b1):
            i = P.blocks.start[b]
            P.r[i] = P.blocks.mu[i] if P.blocks.kind[b] == CONTACT or P.blocks.kind[b] == UNILATERAL else 0.0
            for k in range(i + 1, P.blocks.start[b + 1]):
                P.r[k] = 0.0
        if n <= UNKNOWNS and not _solve_polyhedral(P, b0, b1, c0, c1, n, soft):
            soft = SOFT
        now = evaluate(P, b0, b1, c0, c1, P.r)
        if turn == 0 or now < least:
            least = now
            copy_rows(first, last, P.r, best)
        if least <= NEAR * P.unit[RESIDUAL] or n > UNKNOWNS:
            break
        soft = SOFT if turn + 2 == TURNS else soft
    if now != least:
        evaluate(P, b0, b1, c0, c1, best)


@kernel
def _solve_polyhedral(P, b0, b1, c0, c1, n, soft):
    """Add the solution of the polyhedral problem of the n unknowns that are listed to P.r; whether there is one.

    ``soft`` is a compliance of every impulse, in the scale in which the diagonal of W is 1 for normals.
    """
    d, blocks, T, y, z, asked = P.dictionary, P.blocks, P.dictionary.T, P.work.du, P.work.c, P.work.w
    first, last = blocks.start[b0], blocks.start[b1]
    apply_operator(P, b0, b1, c0, c1, P.r, asked)
    for i in range(first, last):
        asked[i] += P.q[i]
        P.work.dr[i] = 0.0
    for i in range(n):
        fill(n + 1, T[i], 0.0)
        T[i, n] = -1.0
    at, most = -1, 0.0
    for j in range(n):
        row, sigma = d.row[j], d.sigma[j]
        if row == SIGMA:
            T[j, n + 1] = d.way[j, 0]
            if sigma >= 0:
                T[j, sigma] = -d.way[j, 1]  # the normal impulse that bounds
            continue
        if row != at:
            at = row
            _apply_to_row(P, b0, b1, c0, c1, row, y)
            if j + 1 < n and d.row[j + 1] == row and (d.way[j, 1] != 0.0 or d.way[j + 1, 1] != 0.0):
                _apply_to_row(P, b0, b1, c0, c1, row + 1, z)
        for i in range(n):
            if d.row[i] != SIGMA:
                T[i, j] = -d.way[j, 0] * _along(d, i, y)
                if d.way[j, 1] != 0.0:
                    T[i, j] -= d.way[j, 1] * _along(d, i, z)
        T[j, n + 1] = _along(d, j, asked)
        most = max(most, abs(T[j, n + 1]))
        T[j, j] -= soft
        if sigma >= 0:
            T[j, sigma], T[sigma, j] = -1.0, 1.0
    for b in range(b0, b1):
        if blocks.kind[b] == EQUALITY:
            for i in range(n):
                for j in range(n if d.row[i] == blocks.start[b] else 0):
                    if d.row[j] == d.row[i]:
                        T[i, j] -= blocks.mu[d.row[i]] * d.way[i, 0] * d.way[j, 0]
    if pivot(n, T, d.line, d.basis, d.nonbasis, d.place, d.z, int(PIVOTS * n))[0] != LEMKE_SOLVED:
        return False
    for j in range(n):
        if d.row[j] != SIGMA and not d.z[j] <= MOST * most:
            return False
    for j in range(n):
        if d.row[j] != SIGMA:
            P.r[d.row[j]] += d.way[j, 0] * d.z[j]
            if d.way[j, 1] != 0.0:
                P.r[d.row[j] + 1] += d.way[j, 1] * d.z[j]
    return True


@kernel
def _apply_to_row(P, b0, b1, c0, c1, row, y):
    """y = W e of one row; work.dr is zero, and so it stays."""
    P.work.dr[row] = 1.0
    apply_operator(P, b0, b1, c0, c1, P.work.dr, y)
    P.work.dr[row] = 0.0


@kernel
def _along(d, i, y):
    """Velocity that the impulse i meets, of velocities y of the rows."""
    v = d.way[i, 0] * y[d.row[i]]
    if d.way[i, 1] != 0.0:
        v += d.way[i, 1] * y[d.row[i] + 1]
    return v
