# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps of a scene by the solvers that D15 compares: ``solver: lemke | ppm | active_set``.

Rows, free velocities, impacts and the motion are those of the usual step.  Rows that hold with equality (loops, gears,
without slip and with viscous friction the tangents too) are eliminated by D15's algorithm 2; what is left goes to

    ppm         the modified PPM, from the normals that pressed in the last step       no slip, viscous
    active_set  the same problem as a quadratic programme, by primal active sets       no slip, viscous
    lemke       the same problem, or with Coulomb's pyramid n_f + 2 unknowns a contact, by a robust Lemke's algorithm

One kernel each, behind handles, so that their times in a run compare; the active sets alone are NumPy's.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.handle import TOLERANCE
from mb_contact.core.integrate import kept_contacts as _kept
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.active_factor import PpmWork, make_ppm_work
from mb_contact.core.lcp.lcp import Pyramids, impulses_of, lcp_assemble, make_pyramids
from mb_contact.core.lcp.principal_pivoting import PPM_SOLVED
from mb_contact.core.lcp.robust_lemke import LemkeWork, make_lemke_work, robust_lemke
from mb_contact.core.solve.dependent import OWN
from mb_contact.core.solve.friction import COULOMB, MODEL
from mb_contact.core.solve.system import ROWS
from mb_contact.core.step import problem as _problem, step as _step
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.step import rows_in_use
from mb_contact.core.workspace import CONTACT, EQUALITY, ITERATIONS, NO_BLOCK, STAGE, UNILATERAL
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.studies.drumwright import equality_rows as _eq
from mb_contact.studies.drumwright.active_set import active_set_qp
from mb_contact.studies.drumwright.friction_system import SOLVED as SOLVED_PART
from mb_contact.types import NOT_FINITE, OK

SOLVED, NO_PUSH_OUT, UNSOLVED = 1, 2, 3  #: stages, beside 0 for a step without rows
SMALLEST = 1e-7  #: of the largest scale of a problem: that of a row that nothing moves


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


class PivotingStep(ContactStep):
    """The steps of a scene whose ``solver`` is lemke, ppm or active_set; D15 section VII."""

    starts_warm = True  #: the modified PPM from the normals of the last step; False for measurements

    def __init__(self, context):
        super().__init__(context)
        scene, world = context.scene, context.world
        self._solver = solver = scene.solver
        self.solver_names, self.ties_rows = ("none", solver, "no_push_out", "over_budget"), False
        message = f"{solver} does not know joint friction; use solver: auto"
        scene.refuse_if(len(world.joints.rubbing) > 0, "solver", message)
        self._solve = {"ppm": by_ppm, "lemke": by_lemke, "active_set": self._by_active_set}[solver]

    def allocate(self):
        context = self.context
        rows, blocks = len(context.solution.r), len(context.system.blocks.kind) // 2
        n_f, pyramid = context.scene.friction_directions, context.scene.friction_model == "coulomb_polyhedral"
        size = (n_f + 2) * context.capacity + rows if pyramid else blocks
        if self._solver == "ppm":
            size = 1
        work = PivotingArrays(
            _eq.make_equality_work(context.n, context.N, rows, rows), make_ppm_work(blocks, context.N),
            make_lemke_work(size), make_pyramids(blocks, n_f), allocate(LcpArrays, R=rows, n=size),
        )  # fmt: skip
        self._work, self._pivoting = work, make_pivoting_handle(work)

    def solve(self, handle):
        """Pose the step's problem and solve it; a status."""
        assemble(handle)
        return _problem.assemble_problem(handle) or self._solve_posed(handle, self.starts_warm)

    def _solve_posed(self, handle, warm):
        """Solve, and where nothing is a solution once more without push-out; a status."""
        info = self.context.work.info
        pose(handle, self._pivoting, warm)
        status = self._solve(handle, self._pivoting)
        if status == OK and info[STAGE] == UNSOLVED and _problem.drop_all_push_out(handle):
            pose(handle, self._pivoting, False)
            status = self._solve(handle, self._pivoting)
            info[STAGE] = max(info[STAGE], NO_PUSH_OUT)
        return status

    def impulses_again(self, handle):
        """Solve the problem once more, with other velocities ``sol.q``; a status."""
        _problem.start(handle)
        return self.complete(handle, self._solve_posed(handle, True) or _step.settle(handle))

    def solve_at_end(self, handle, flow, end):
        """The problem solved again with the rows of the kept contacts where a flow has ended; a status."""
        return self.impulses_again(handle) if _kept.pose_at_end(handle, flow, end) else OK

    def _by_active_set(self, handle, pivoting):
        eq, problem = self._work.eq, self._work.problem
        condense(handle, pivoting)
        n = int(eq.info[_eq.FREE_ROWS])
        s = eq.scale[:n]
        z, iterations = active_set_qp(problem.W[:n, :n] * np.outer(s, s), problem.e[:n] * s)
        problem.r[:n] = z * s
        return take(handle, pivoting, iterations, True)


@kernel
def pose(h, a, warm):
    """Equality and complementary rows of the posed step into ``a.eq``; from the last impulses where ``warm``."""
    eq, rows, contacts = a.eq, h.rows, h.rows.contacts[0]
    first, count, gears = h.bil.info[FIRST], h.bil.info[COUNT], h.bil.info[GEARS]
    for i in range(eq.info.shape[0]):
        eq.info[i] = 0
    for i in range(rows_in_use(h)):
        eq.q[i] = h.sol.q[i]
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
    """Solve the posed problem by the modified PPM; a status."""
    limit, warm = 20 * a.eq.info[_eq.FREE_ROWS] + 50, a.problem.warm[0]
    status = _eq.solve_with_equalities(
        h.tree, h.kin, h.art, h.compliance, h.rows, rows_in_use(h), OWN, warm, limit, a.eq, a.ppm
    )
    return _publish(h, a, a.eq.info[_eq.TOTAL_PIVOTS], status == PPM_SOLVED)


@kernel
def condense(h, a):
    """F of (56) and e of (57) of the complementary rows."""
    _eq.condense(
        h.tree, h.kin, h.art, h.compliance, h.rows, rows_in_use(h), OWN, a.eq, a.problem.W, a.problem.e
    )


@kernel
def by_lemke(h, a):
    """Solve the posed problem by a robust Lemke's algorithm; a status."""
    condense(h, a)
    p, n = a.problem, a.eq.info[_eq.FREE_ROWS]
    size = n
    if h.friction.model[MODEL] == COULOMB:
        size = _pyramids(h, a)
    else:
        for i in range(n):
            p.q[i] = p.e[i]
            for j in range(n):
                p.M[i, j] = p.W[i, j]
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
        for i in range(n):
            p.r[i] = p.z[i]
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
    """The step's impulses from those of the complementary rows, ``a.problem.r``; a status."""
    _eq.complete(h.tree, h.kin, h.art, h.rows, rows_in_use(h), a.problem.r, a.eq)
    return _publish(h, a, pivots, solved)


@kernel
def _tell_tied(P, rows, eq):
    """Rows of the posed step that algorithm 2 has left out, since they follow from those that it has taken.

    Normals too: a stud between two others that stand on tiles of other heights.
    """
    for i in range(rows):
        eq.column[i] = 0.0
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
    for i in range(rows):
        h.sol.r[i] = a.eq.r[i]
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
