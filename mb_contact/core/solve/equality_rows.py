# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows that hold with equality, eliminated from a contact problem (D15 section VI, algorithm 2).

Of the rows X = [J; S; T] (bilateral constraints and tangents) and the rows N (normals, limits), with
W = [X; N] M^-1 [X; N]* from the operational-space compliance and u the rows' free velocities,

    F = N (A^-1)_11 N*               = W_NN - W_NX (W_XX + C)^-1 W_XN           (56, corrected)
    e = N (A^-1)_11 (M v + dt f)     = u_N  - W_NX (W_XX + C)^-1 u_X            (57, corrected)

The rows of X are taken one by one, and a row that depends on those taken before is left out: its own
part of the diagonal of W, what the Cholesky elimination leaves over, is then zero.  The factor is kept as
Y = L^-1 W_X., so that F = W_NN - Y_N* Y_N.  C is a diagonal softness: zero for a constraint, 1 / (dt mu_v)
for a viscous row, whose impulse is p = -dt mu_v (v+ of the row).

Columns of W are formed one at a time from the blocks Omega: n values for each row of X and for each active
normal, so nothing of size n^2 is touched.  No mass matrix, no Jacobian.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.rows import row_impulses, row_sides, row_velocities
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
from mb_contact.core.tree.articulated import impulse_response
from mb_contact.core.tree.compliance import essential_compliance
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import STILL, put_spatial, spatial, spatial_dot, spatial_sum

EQUALITY_ROWS = 0  # entries of EqualityWork.info
FREE_ROWS = 1
PICKED_ROWS = 2  # rows of X that are independent
STATUS = 3
TOTAL_PIVOTS = 4
RULE_USED = 5
CORRECTIONS = 6
ESSENTIAL = 7
GEAR = 8  # first row of a gear
GEAR_ROWS = 9  # how many
EQUALITY_INFO = 10

NO_COMPLIANCE = 1e-14  # of the largest diagonal entry of W


class EqualityWork(NamedTuple):
    """Rows X, rows N and the elimination; R rows, at most k independent rows of X."""

    equality: Annotated[Integers, "R"]  #: rows X in the order in which they are tried
    softness: Annotated[Reals, "R"]  #: by place in ``equality`` [1/kg ...]
    hard: Annotated[Integers, "R"]  #: rows N
    q: Annotated[Reals, "R"]  #: free velocities plus offsets of all rows
    diagonal: Annotated[Reals, "R"]  #: of W
    left: Annotated[Reals, "R"]  #: of the diagonal, after elimination
    column: Annotated[Reals, "R"]
    response: Annotated[Reals, "n", 6]  #: velocities of the essential bodies to one row's impulse
    a_T: Annotated[Reals, 6, "R"]
    b_T: Annotated[Reals, 6, "R"]
    Y: Annotated[Reals, "k", "R"]  #: L^-1 W_X.
    y: Annotated[Reals, "k"]  #: L^-1 u_X
    s: Annotated[Reals, "k"]  #: scratch
    picked: Annotated[Integers, "k"]  #: independent rows of X
    soft: Annotated[Reals, "k"]  #: their softness
    e: Annotated[Reals, "R"]  #: scaled, by place in ``hard``
    scale: Annotated[Reals, "R"]  #: W_ii^-1/2, by place in ``hard``
    z: Annotated[Reals, "R"]  #: by place in ``hard``, scaled while pivoting
    r: Annotated[Reals, "R"]  #: impulses of all rows
    u: Annotated[Reals, "R"]  #: their velocities after the response: q + B* Delta V
    start: Annotated[Integers, "R"]  #: warm start, places in ``hard``
    impulse: Annotated[Reals, "n", 6]
    no_joint: Annotated[Reals, "N"]  #: zeros
    dv: Annotated[Reals, "N"]
    V: Annotated[Reals, "n", 6]  #: of dv
    ratio: Annotated[Reals, "R"]  #: of a gear's row: it minus this times its partner, GEAR_ROWS behind, is one row
    info: Annotated[Integers, EQUALITY_INFO]


def make_equality_work(n, N, R, picked):
    """Workspace for a tree of n bodies and N degrees of freedom, R rows, ``picked`` independent ones in X."""
    k = max(min(picked, R), 1)
    return allocate(EqualityWork, n=n, N=N, R=R, k=k)


@kernel
def prepare_compliance(tree, kin, art, compliance, rows, n_rows, eq):
    """Omega of the touched bodies, the rows' sides, the diagonal of W."""
    eq.info[ESSENTIAL] = essential_compliance(tree, kin, art, rows.touched, compliance)
    row_sides(compliance, rows, n_rows)
    largest = 1e-300
    for r in range(n_rows):
        for c in range(6):
            eq.a_T[c, r] = rows.on_a[r, c]
            eq.b_T[c, r] = rows.on_b[r, c]
    for r in range(n_rows):
        d = _own_compliance(compliance, rows, n_rows, r, eq)
        eq.diagonal[r] = d
        eq.left[r] = d
        largest = max(largest, d)
    for r in range(n_rows):  # a row that nothing can move would otherwise be measured against rounding
        if eq.diagonal[r] <= NO_COMPLIANCE * largest:
            eq.diagonal[r] = NO_COMPLIANCE * largest
            eq.left[r] = -1.0


@kernel
def _own_compliance(compliance, rows, n_rows, r, eq):
    """W_rr."""
    if _is_gear(r, eq):
        compliance_column(compliance, rows, n_rows, r, eq, eq.column)
        return eq.column[r]
    _respond(compliance, rows, r, eq.response)
    d = 0.0
    if rows.side_a[r] >= 0:
        d += spatial_dot(spatial(rows.on_a, r), spatial(eq.response, rows.side_a[r]))
    if rows.side_b[r] >= 0:
        d += spatial_dot(spatial(rows.on_b, r), spatial(eq.response, rows.side_b[r]))
    return d


@kernel
def _is_gear(r, eq):
    """Whether row r is that of a gear, with a partner row."""
    return r >= eq.info[GEAR] and r < eq.info[GEAR] + eq.info[GEAR_ROWS]


@kernel
def _respond(compliance, rows, r, response):
    """Velocities of row r's own bodies to its unit impulse."""
    a, b = rows.side_a[r], rows.side_b[r]
    if a >= 0:
        _body_response(compliance, rows, a, r, response)
    if b >= 0 and b != a:
        _body_response(compliance, rows, b, r, response)


@kernel
def _body_response(compliance, rows, j, r, response):
    """response[j] = Omega(j, a) on_a[r] + Omega(j, b) on_b[r]."""
    a, b = rows.side_a[r], rows.side_b[r]
    put_spatial(response, j, STILL)
    if a >= 0 and compliance.same_tree[j, a] != 0:
        for c in range(6):
            response[j, c] += spatial_dot(spatial(compliance.Omega[j, a], c), spatial(rows.on_a, r))
    if b >= 0 and compliance.same_tree[j, b] != 0:
        for c in range(6):
            response[j, c] += spatial_dot(spatial(compliance.Omega[j, b], c), spatial(rows.on_b, r))


@kernel
def compliance_column(compliance, rows, n_rows, r, eq, column):
    """Column r of W = B* Omega B, all rows."""
    y = eq.response
    for j in range(eq.info[ESSENTIAL]):
        _body_response(compliance, rows, j, r, y)
        if _is_gear(r, eq):
            p = r + eq.info[GEAR_ROWS]
            base = spatial(y, j)
            _body_response(compliance, rows, j, p, y)
            put_spatial(y, j, spatial_sum(base, -eq.ratio[r], spatial(y, j)))
    start = 0
    while start < n_rows:  # runs of rows between the same bodies: the inner loops vectorise
        a = rows.side_a[start]
        b = rows.side_b[start]
        end = start + 1
        while end < n_rows and rows.side_a[end] == a and rows.side_b[end] == b:
            end += 1
        for s in range(start, end):
            column[s] = 0.0
        if a >= 0:
            for c in range(6):
                t = y[a, c]
                for s in range(start, end):
                    column[s] += t * eq.a_T[c, s]
        if b >= 0:
            for c in range(6):
                t = y[b, c]
                for s in range(start, end):
                    column[s] += t * eq.b_T[c, s]
        start = end
    for g in range(eq.info[GEAR], eq.info[GEAR] + eq.info[GEAR_ROWS]):
        column[g] -= eq.ratio[g] * column[g + eq.info[GEAR_ROWS]]


@kernel
def eliminate(compliance, rows, n_rows, rank_tolerance, eq):
    """Algorithm 2: pick independent rows of X, extend the Cholesky factor by each.  O(m^2 n).

    Rows with much of their own go first, each class in the order given: a row that is nearly dependent would
    otherwise leave its rounding in the factor (one in 500 random problems with loops was lost that way).
    """
    eq.info[PICKED_ROWS] = 0
    for least in (1e-3, 1e-6, 0.0):
        least = max(least, rank_tolerance)
        for i in range(eq.info[EQUALITY_ROWS]):
            r = eq.equality[i]
            c = eq.softness[i]
            if eq.left[r] + c > least * (eq.diagonal[r] + c) and eq.left[r] > 0.0:
                if eq.info[PICKED_ROWS] == eq.Y.shape[0]:
                    return
                _pick(compliance, rows, n_rows, r, c, eq)


@kernel
def _pick(compliance, rows, n_rows, r, c, eq):
    """One more row of Y = L^-1 W_X. and of y = L^-1 u_X, for row r of softness c."""
    k = eq.info[PICKED_ROWS]
    compliance_column(compliance, rows, n_rows, r, eq, eq.column)
    eq.column[r] += c
    y = eq.q[r]
    for j in range(k):
        t = eq.Y[j, r]
        y -= t * eq.y[j]
        for s in range(n_rows):
            eq.column[s] -= t * eq.Y[j, s]
    if not eq.column[r] > 0.0:
        return
    inverse = 1.0 / np.sqrt(eq.column[r])
    for s in range(n_rows):
        t = eq.column[s] * inverse
        eq.Y[k, s] = t
        eq.left[s] -= t * t
    eq.left[r] = -1.0
    eq.y[k] = y * inverse
    eq.picked[k] = r
    eq.soft[k] = c
    eq.info[PICKED_ROWS] = k + 1


@kernel
def reduced_column(compliance, rows, n_rows, r, eq, column):
    """Column r of W - Y* Y: F of (56) among the rows N."""
    compliance_column(compliance, rows, n_rows, r, eq, column)
    for j in range(eq.info[PICKED_ROWS]):
        t = eq.Y[j, r]
        for s in range(n_rows):
            column[s] -= t * eq.Y[j, s]


@kernel
def reduced_velocities(rank_tolerance, eq):
    """e of (57), scaled by W_ii^-1/2; returns the largest scaled free velocity.

    A row that the rows of X leave no motion of its own gets the scale zero: its column of F is rounding.
    """
    largest = 0.0
    for i in range(eq.info[EQUALITY_ROWS]):
        r = eq.equality[i]
        largest = max(largest, abs(eq.q[r]) / np.sqrt(eq.diagonal[r]))
    for i in range(eq.info[FREE_ROWS]):
        r = eq.hard[i]
        d = 1.0 / np.sqrt(eq.diagonal[r])
        x = eq.q[r]
        for j in range(eq.info[PICKED_ROWS]):
            x -= eq.Y[j, r] * eq.y[j]
        eq.scale[i] = d
        eq.e[i] = d * x
        largest = max(largest, abs(eq.q[r]) * d)
    for i in range(eq.info[FREE_ROWS]):
        r = eq.hard[i]
        if eq.left[r] <= rank_tolerance * eq.diagonal[r]:
            eq.scale[i] = 0.0
            if abs(eq.e[i]) <= np.sqrt(rank_tolerance) * largest:
                eq.e[i] = 0.0
    return largest


@kernel
def back_substitute(eq, n_free, r):
    """Impulses of the picked rows, p = -L^-* (y + Y_N r_N), into r (zero there); ``eq.s`` holds y and is used up."""
    k = eq.info[PICKED_ROWS]
    for i in range(n_free):
        row = eq.hard[i]
        x = r[row]
        if x != 0.0:
            for j in range(k):
                eq.s[j] += eq.Y[j, row] * x
    for j in range(k - 1, -1, -1):
        row = eq.picked[j]
        x = eq.s[j] / eq.Y[j, row]
        r[row] -= x
        for i in range(j):
            eq.s[i] -= eq.Y[i, row] * x


@kernel
def respond(tree, kin, art, rows, n_rows, eq):
    """dv of the impulses r by one sweep, and u = q + the rows' velocities of dv: independent of W and Y."""
    for g in range(eq.info[GEAR], eq.info[GEAR] + eq.info[GEAR_ROWS]):
        eq.r[g + eq.info[GEAR_ROWS]] = -eq.ratio[g] * eq.r[g]
    row_impulses(rows, n_rows, eq.r, eq.impulse)
    impulse_response(tree, kin, art, eq.impulse, eq.no_joint, eq.dv)
    body_velocities(tree, kin, eq.dv, eq.V)
    row_velocities(rows, n_rows, eq.V, eq.u)
    for g in range(eq.info[GEAR], eq.info[GEAR] + eq.info[GEAR_ROWS]):
        eq.u[g] -= eq.ratio[g] * eq.u[g + eq.info[GEAR_ROWS]]
    for i in range(n_rows):
        eq.u[i] += eq.q[i]


@kernel
def complete(tree, kin, art, rows, n_rows, r_hard, eq):
    """Impulses of the rows X from those of the rows ``eq.hard``, then the response."""
    n = eq.info[FREE_ROWS]
    fill(n_rows, eq.r, 0.0)
    for i in range(n):
        eq.r[eq.hard[i]] = r_hard[i]
    copy(eq.info[PICKED_ROWS], eq.y, eq.s)
    back_substitute(eq, n, eq.r)
    respond(tree, kin, art, rows, n_rows, eq)


@kernel
def condense(tree, kin, art, compliance, rows, n_rows, rank_tolerance, eq, W, e):
    """F of (56) and e of (57) written out over the rows ``eq.hard``, for solvers that want a matrix.

    Rows that the rows of X leave no motion of their own are zero.
    """
    prepare_compliance(tree, kin, art, compliance, rows, n_rows, eq)
    eliminate(compliance, rows, n_rows, rank_tolerance, eq)
    reduced_velocities(rank_tolerance, eq)
    n = eq.info[FREE_ROWS]
    for j in range(n):
        r = eq.hard[j]
        e[j] = eq.e[j] * np.sqrt(eq.diagonal[r])
        reduced_column(compliance, rows, n_rows, r, eq, eq.column)
        for i in range(n):
            W[i, j] = eq.column[eq.hard[i]] if eq.scale[i] > 0.0 and eq.scale[j] > 0.0 else 0.0
