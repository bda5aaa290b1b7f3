# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The posed problem of a step solved by pivots: ``solver: lemke | ppm | active_set`` (D15 section VII).

Rows that hold with equality (loops, gears, without slip and with viscous friction the tangents too) are eliminated by
D15's algorithm 2; what is left goes to the modified PPM, to a robust Lemke's algorithm, or out to NumPy's active sets.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.declare import Integers, Reals
from mb_contact.core.handle import TOLERANCE
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.active_factor import PpmWork
from mb_contact.core.lcp.lcp import Pyramids, impulses_of, lcp_assemble
from mb_contact.core.lcp.principal_pivoting import PPM_SOLVED
from mb_contact.core.lcp.robust_lemke import LemkeWork, robust_lemke
from mb_contact.core.solve import equality_rows as _eq
from mb_contact.core.solve.dependent import OWN
from mb_contact.core.solve.friction import COULOMB, MODEL
from mb_contact.core.solve.modified_ppm import solve_with_equalities
from mb_contact.core.solve.system import ROWS
from mb_contact.core.step.problem import rows_in_use
from mb_contact.core.workspace import CONTACT, EQUALITY, ITERATIONS, NO_BLOCK, STAGE, UNILATERAL
from mb_contact.types import NOT_FINITE, OK

SOLVED, NO_PUSH_OUT, UNSOLVED = 1, 2, 3  #: stages, beside 0 for a step without rows
SMALLEST = 1e-7  #: of the largest scale of a problem: that of a row that nothing moves
SOLVED_PART = 1e-8  #: scaled residual of a solution, in parts of the largest free velocity


class LcpArrays(NamedTuple):
    """The complementarity problem that is left: R rows, n unknowns."""

    W: Annotated[Reals, "R", "R"]
    e: Annotated[Reals, "R"]
    M: Annotated[Reals, "n", "n"]
    q: Annotated[Reals, "n"]
    s: Annotated[Reals, "n"]  #: scales
    z: Annotated[Reals, "n"]
    r: Annotated[Reals, "R"]
    warm: Annotated[Integers, 1]  #: normals that are expected to press


class PivotingArrays(NamedTuple):
    """What a step by pivots works on."""

    eq: _eq.EqualityWork
    ppm: PpmWork
    lemke: LemkeWork
    blocks: Pyramids  #: contacts and limits among the complementary rows
    problem: LcpArrays


PivotingArraysHandleType, PivotingArraysHandle, make_pivoting_handle = handle(PivotingArrays)


@kernel
def pose(h, a, warm):
    """Equality and complementary rows of the posed step into ``a.eq``; from the last impulses where ``warm``."""
    eq, rows, contacts = a.eq, h.rows, h.rows.contacts[0]
    first, count, gears = h.bil.info[FIRST], h.bil.info[COUNT], h.bil.info[GEARS]
    fill(eq.info.shape[0], eq.info, 0)
    copy(rows_in_use(h), h.sol.q, eq.q)
    for k in range(count):
        eq.equality[k] = first + k
        eq.softness[k] = h.rows.mu[first + k]
        eq.ratio[first + k] = h.bil.ratio[k]
    eq.info[_eq.GEAR] = first + count - gears
    eq.info[_eq.GEAR_ROWS] = gears
    many = count
    for row in range(3 * contacts):
        if rows.law[row] == EQUALITY or rows.viscous[row] > 0.0:
            eq.equality[many], eq.softness[many] = row, rows.viscous[row]
            many += 1
    eq.info[_eq.EQUALITY_ROWS] = many
    hard = 0
    a.problem.warm[0] = 0
    for row in range(rows.end[0]):
        if rows.law[row] != CONTACT and rows.law[row] != UNILATERAL:
            continue
        if warm and h.sol.r[row] > 0.0:
            eq.start[a.problem.warm[0]] = hard
            a.problem.warm[0] += 1
        for c in range(3 if rows.law[row] == CONTACT else 1):
            eq.hard[hard] = row + c
            hard += 1
    eq.info[_eq.FREE_ROWS] = hard


@kernel
def by_ppm(h, a):
    """Solve the posed problem by the modified PPM; a status.

    Reads: art, bil, compliance, kin, rows, sol, system, tree.  Writes: art, compliance, rows, sol, system, work.
    """
    limit, warm = 20 * a.eq.info[_eq.FREE_ROWS] + 50, a.problem.warm[0]
    status = solve_with_equalities(
        h.tree, h.kin, h.art, h.compliance, h.rows, rows_in_use(h), OWN, warm, limit, a.eq, a.ppm
    )
    return _publish(h, a, a.eq.info[_eq.TOTAL_PIVOTS], status == PPM_SOLVED)


@kernel
def condense(h, a):
    """F of (56) and e of (57) of the complementary rows.

    Reads: art, bil, compliance, kin, rows, tree.  Writes: art, compliance, rows.
    """
    _eq.condense(
        h.tree, h.kin, h.art, h.compliance, h.rows, rows_in_use(h), OWN, a.eq, a.problem.W, a.problem.e
    )


@kernel
def by_lemke(h, a):
    """Solve the posed problem by a robust Lemke's algorithm; a status.

    Reads: art, bil, compliance, friction, kin, rows, sol, solver, system, tree.
    Writes: art, compliance, rows, sol, system, work.
    """
    condense(h, a)
    p, n = a.problem, a.eq.info[_eq.FREE_ROWS]
    size = n
    if h.friction.model[MODEL] == COULOMB:
        size = _pyramids(h, a)
    else:
        for i in range(n):
            p.q[i] = p.e[i]
            copy(n, p.W[i], p.M[i])
    largest = 1e-300
    for i in range(size):
        largest = max(largest, p.M[i, i])
    for i in range(size):
        p.s[i] = max(np.sqrt(max(p.M[i, i], 0.0)), SMALLEST * np.sqrt(largest))
        if p.M[i, i] == 0.0 and size > n:  # a slip, in metres per second
            p.s[i] = 1.0 / np.sqrt(largest)
    fastest = 0.0
    for i in range(size):
        fastest = max(fastest, abs(p.q[i]) / p.s[i])
    tolerance = max(h.solver[TOLERANCE], SOLVED_PART * fastest)
    residual, pivots = robust_lemke(p.M, p.q, p.s, size, tolerance, a.lemke, p.z)
    if size > n:
        impulses_of(a.blocks, p.z, p.r)
    else:
        copy(n, p.z, p.r)
    return take(h, a, pivots, residual <= tolerance)


@kernel
def _pyramids(h, a):
    """J14 (53) of the condensed rows into ``a.problem``; returns its size."""
    blocks, rows, b, place = a.blocks, h.rows, 0, 0
    for row in range(rows.end[0]):
        if rows.law[row] != NO_BLOCK:
            blocks.dim[b], blocks.start[b] = 3 if rows.law[row] == CONTACT else 1, place
            blocks.mu[b] = rows.mu[row + 1] if blocks.dim[b] == 3 else 0.0
            b, place = b + 1, place + blocks.dim[b]
    blocks.count[0] = b
    return lcp_assemble(a.problem.W, a.problem.e, blocks, a.problem.M, a.problem.q)


@kernel
def take(h, a, pivots, solved):
    """The step's impulses from those of the complementary rows, ``a.problem.r``; a status.

    Reads: art, bil, kin, rows, sol, system, tree.  Writes: art, sol, system, work.
    """
    _eq.complete(h.tree, h.kin, h.art, h.rows, rows_in_use(h), a.problem.r, a.eq)
    return _publish(h, a, pivots, solved)


@kernel
def _tell_tied(P, rows, eq):
    """Rows of the posed step that algorithm 2 has left out, since they follow from those that it has taken.

    Normals too: a stud between two others that stand on tiles of other heights.
    """
    fill(rows, eq.column, 0.0)
    for k in range(eq.info[_eq.EQUALITY_ROWS]):
        eq.column[eq.equality[k]] = 1.0
    for k in range(eq.info[_eq.PICKED_ROWS]):
        eq.column[eq.picked[k]] = 0.0
    for i in range(eq.info[_eq.FREE_ROWS]):
        eq.column[eq.hard[i]] = 1.0 if eq.scale[i] == 0.0 else 0.0
    for i in range(P.count[ROWS]):
        P.follower[i] = 1 if eq.column[P.source[i]] != 0.0 else 0


@kernel
def _publish(h, a, pivots, solved):
    """The impulses ``a.eq.r`` are the step's; a status."""
    P, rows = h.system, rows_in_use(h)
    _tell_tied(P, rows, a.eq)
    copy(rows, a.eq.r, h.sol.r)
    for i in range(P.count[ROWS]):
        if P.immobile[i] != 0:
            h.sol.r[P.source[i]] = 0.0  # where hinges hold, impulses are theirs
        P.r[i] = h.sol.r[P.source[i]]
    h.work.info[STAGE] = 0 if rows == 0 else (SOLVED if solved else UNSOLVED)
    h.work.info[ITERATIONS] = pivots
    for i in range(rows):
        if not np.isfinite(h.sol.r[i]):
            return NOT_FINITE
    return OK
