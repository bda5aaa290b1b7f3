# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The solver ladder on polyhedral contact problems, judged by a dense recomputation of its own.

The judge here shares nothing with the package: it writes J14 Eq. 53 out as full matrices, splits the
friction impulses anew, and measures every pair (z, w) as z sqrt(W_ii), w / sqrt(W_ii).
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.contact.os import ContactProblem
from mb_contact.core.lcp.ladder import solve_step
from mb_contact.core.lcp.pivoting import pivot_solve
from mb_contact.core.workspace import make_lemke_work, make_pivot_work, make_solution
from mb_contact.types import (
    SOLVER_FAILED,
    SOLVER_LEMKE,
    SOLVER_NONE,
    SOLVER_PIVOTING,
    SOLVER_PROXIMAL,
    SOLVER_REGULARISED,
)

# --- the judge ------------------------------------------------------------------------------------


def friction_directions(n_f):
    """Unit tangents d_1 ... d_nf as rows."""
    angle = 2 * np.pi * np.arange(n_f) / n_f
    return np.column_stack((np.cos(angle), np.sin(angle)))


def dense_lcp(W, q, mu, dim, n_f):
    """M, h of J14 Eq. 53 with z = [F_n, beta ... of each contact; limits; sigma], and Z: r = Z z."""
    contacts = int((np.asarray(dim) == 3).sum())
    forces = sum(n_f + 1 if d == 3 else 1 for d in dim)
    Z = np.zeros((len(q), forces + contacts))
    M = np.zeros((forces + contacts, forces + contacts))
    column, row, sigma = 0, 0, forces
    for i, d in enumerate(dim):
        Z[row, column] = 1.0
        if d == 3:
            Z[row + 1 : row + 3, column + 1 : column + 1 + n_f] = friction_directions(n_f).T
            M[column + 1 : column + 1 + n_f, sigma] = 1.0
            M[sigma, column] = mu[i]
            M[sigma, column + 1 : column + 1 + n_f] = -1.0
            sigma += 1
        column += n_f + 1 if d == 3 else 1
        row += d
    M += Z.T @ W @ Z
    return M, Z.T @ q, Z


def split(r, u, mu, dim, n_f):
    """z from the impulses r: friction on the two neighbouring directions, sigma the closing speed."""
    D = friction_directions(n_f)
    z, sigma, row = [], [], 0
    for d in dim:
        z.append(r[row])
        if d == 3:
            x, beta = r[row + 1 : row + 3], np.zeros(n_f)
            turn = (np.arctan2(x[1], x[0]) % (2 * np.pi)) * n_f / (2 * np.pi)
            k = int(turn) % n_f
            pair = [k, (k + 1) % n_f]
            beta[pair] = np.linalg.solve(D[pair].T, x)
            z.extend(beta)
            sigma.append(max(0.0, (-D @ u[row + 1 : row + 3]).max()))
        row += d
    return np.array(z + sigma)


def dense_residual(W, q, mu, dim, n_f, r):
    """Largest scaled |min(z, w)| over all pairs of the written-out problem."""
    M, h, Z = dense_lcp(W, q, mu, dim, n_f)
    u = W @ r + q
    z = split(r, u, mu, dim, n_f)
    np.testing.assert_allclose(Z @ z, r, atol=1e-12 * max(1.0, np.abs(r).max(initial=0.0)))
    w = M @ z + h
    scale, tangential, row = [], [], 0
    for d in dim:
        scale.append(np.sqrt(W[row, row]))
        if d == 3:
            t = np.sqrt(0.5 * (W[row + 1, row + 1] + W[row + 2, row + 2]))
            scale.extend([t] * n_f)
            tangential.append(1.0 / t)  # of the pair (sigma [m/s], friction slack [N s])
        row += d
    s = np.array(scale + tangential)
    return np.abs(np.minimum(z * s, w / s)).max(initial=0.0)


# --- problems -------------------------------------------------------------------------------------


class Problem(NamedTuple):
    """A contact problem in scalar rows."""

    W: np.ndarray
    q: np.ndarray
    mu: np.ndarray
    dim: np.ndarray
    n_f: int


class Outcome(NamedTuple):
    """What the ladder made of it."""

    rung: int
    iterations: int
    problem: ContactProblem
    state: np.ndarray
    judged: float  #: the step's own certificate


def random_problem(seed, contacts=4, limits=0, dof=6, n_f=8, friction=0.6, tight=0.5):
    """Rows J of a body with ``dof`` degrees of freedom: W = J M^-1 J*, and q = J v_free + gap terms.

    For contacts * 3 > dof the contacts are redundant.  Gap terms are zero for the part ``tight`` and positive
    for the others, so v = 0 is admissible and the problem always has a solution.
    """
    rng = np.random.default_rng(seed)
    dim = np.array([3] * contacts + [1] * limits)
    R = int(dim.sum())
    J = rng.normal(size=(R, dof))
    A = rng.normal(size=(dof, dof))
    W = J @ np.linalg.solve(A @ A.T + np.eye(dof), J.T)
    q = J @ rng.normal(size=dof)
    for row in np.cumsum(dim) - dim:
        if rng.random() > tight:
            q[row] += rng.uniform(0.0, 1.0)
    mu = np.where(dim == 3, rng.uniform(0.5, 1.5, len(dim)) * friction, 0.0)
    return Problem(0.5 * (W + W.T), q, mu, dim, n_f)


def written_out(problem):
    """As a ContactProblem without impulses."""
    W, q, mu, dim, n_f = problem
    return ContactProblem(W, q, mu, dim.astype(np.int64), n_f, np.zeros(len(q)), q.copy())


def workspace(problem):
    """Solution with W, q filled in, and the layout."""
    cones = written_out(problem).cones()
    sol = make_solution(len(problem.q), len(problem.dim))
    sol.W[:] = problem.W
    sol.q[:] = problem.q
    return sol, cones


def climb(problem, state=None):
    """Run the ladder from the given states (by default those of new contacts)."""
    sol, cones = workspace(problem)
    sol.state[:] = 0 if state is None else state
    R, size = len(problem.q), written_out(problem).size
    rung, iterations = solve_step(sol, cones, make_pivot_work(R), make_lemke_work(size))
    solved = written_out(problem)._replace(impulses=sol.r.copy(), velocities=sol.u.copy())
    return Outcome(rung, iterations, solved, sol.state.copy(), max(sol.judge[0], sol.judge[1]))


def good(problem, outcome):
    """The dense judge accepts, and agrees with the step's certificate."""
    own = dense_residual(*problem, outcome.problem.impulses)
    assert outcome.rung in (SOLVER_PIVOTING, SOLVER_PROXIMAL, SOLVER_LEMKE, SOLVER_REGULARISED)
    assert own <= 1e-9
    residuals = mb.certify(outcome.problem)
    certified = max(residuals.complementarity_gap, residuals.infeasibility)
    assert certified == outcome.judged
    # both judges see the same pairs; what rounds differently is far below the tolerance
    assert certified == pytest.approx(own, abs=1e-11)
    W, q = problem.W, problem.q
    np.testing.assert_allclose(outcome.problem.velocities, W @ outcome.problem.impulses + q, atol=1e-12)
    return own


# --- solutions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("n_f", [4, 8, 16])
@pytest.mark.parametrize(
    "contacts, limits, dof", [(1, 0, 6), (2, 1, 6), (4, 0, 6), (4, 2, 12), (8, 0, 6), (12, 3, 26)]
)
def test_random_problems_are_solved(contacts, limits, dof, n_f):
    for seed in range(40):
        problem = random_problem([seed, contacts, n_f], contacts, limits, dof, n_f)
        good(problem, climb(problem))


@pytest.mark.parametrize("friction", [0.0, 0.1, 0.5, 1.0, 2.0])
def test_any_friction_coefficient(friction):
    for seed in range(60):
        problem = random_problem([seed, 77], 6, 1, 12, 8, friction)
        good(problem, climb(problem))


@pytest.mark.parametrize("scale", [1e-6, 1e-3, 1e3, 1e6])
def test_light_and_heavy_bodies(scale):
    """Impulses and compliance in other units of mass: the same physics, the same scaled residual."""
    for seed in range(30):
        problem = random_problem([seed, 5], 4, 1, 12)
        outcome = climb(problem._replace(W=problem.W * scale))
        good(problem._replace(W=problem.W * scale), outcome)


def test_nothing_to_solve():
    problem = Problem(np.zeros((0, 0)), np.zeros(0), np.zeros(0), np.zeros(0, np.int64), 8)
    sol, cones = make_solution(1, 1), written_out(problem).cones()
    assert solve_step(sol, cones, make_pivot_work(1), make_lemke_work(1)) == (SOLVER_NONE, 0)


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_small_problems_without_jit(seed):
    problem = random_problem([seed, 1], 1, 1, 4, 4)
    good(problem, climb(problem))


@pytest.mark.nojit
def test_one_contact_by_hand():
    """A point mass of 2 kg that falls at 1 m/s and slides at 0.3 m/s: it stops in the normal direction,

    and friction takes mu p_n / m = 0.2 m/s of the slip away, against d_1.
    """
    problem = Problem(np.eye(3) / 2.0, np.array([-1.0, 0.3, 0.0]), np.array([0.2]), np.array([3]), 8)
    outcome = climb(problem)
    np.testing.assert_allclose(outcome.problem.impulses, [2.0, -0.4, 0.0], atol=1e-12)
    np.testing.assert_allclose(outcome.problem.velocities, [0.0, 0.1, 0.0], atol=1e-12)
    # with more friction it stops altogether, with none it keeps its slip
    outcome = climb(problem._replace(mu=np.array([0.5])))
    np.testing.assert_allclose(outcome.problem.impulses, [2.0, -0.6, 0.0], atol=1e-12)
    outcome = climb(problem._replace(mu=np.array([0.0])))
    np.testing.assert_allclose(outcome.problem.impulses, [2.0, 0.0, 0.0], atol=1e-12)
    # parting bodies are left alone
    outcome = climb(problem._replace(q=np.array([0.1, 0.3, 0.0])))
    assert not outcome.problem.impulses.any() and outcome.state[0] == -1


@pytest.mark.parametrize("angle", np.linspace(0.0, 2 * np.pi, 33))
def test_slip_along_any_direction_lies_within_the_pyramid(angle):
    """A sliding point: friction opposes the slip within half a sector, on the pyramid's surface."""
    q = np.array([-1.0, 3 * np.cos(angle), 3 * np.sin(angle)])
    problem = Problem(np.eye(3), q, np.array([0.5]), np.array([3]), 8)
    outcome = climb(problem)
    good(problem, outcome)
    r = outcome.problem.impulses
    assert r[0] == pytest.approx(1.0, abs=1e-11)
    assert 0.5 * np.cos(np.pi / 8) - 1e-11 <= np.hypot(r[1], r[2]) <= 0.5 + 1e-11
    cosine = -(r[1:] @ q[1:]) / np.linalg.norm(r[1:]) / 3
    assert cosine >= np.cos(np.pi / 8) - 1e-9


# --- redundant contacts ---------------------------------------------------------------------------


def corner_problem():
    """A flat box of 2 kg on four corners, 0.24 m square, in one step of gravity."""
    J = []
    x = 0.12 * np.array([[1, 1], [1, -1], [-1, 1], [-1, -1]])
    for a, b in x:
        # rows of [omega; v] at (a, b, -0.1): normal z, tangents x, y
        r = np.array([a, b, -0.1])
        J += [np.concatenate((np.cross(r, d), d)) for d in np.eye(3)[[2, 0, 1]]]
    J = np.array(J)
    inertia = 2.0 / 12 * np.array([0.24**2 + 0.2**2, 0.24**2 + 0.2**2, 2 * 0.24**2])
    M = np.diag(np.concatenate((inertia, [2.0, 2.0, 2.0])))
    v = np.array([0.0, 0.0, 0.0, 0.0, 0.0, -9.81e-3])
    W = J @ np.linalg.solve(M, J.T)
    return Problem(0.5 * (W + W.T), J @ v, np.full(4, 0.5), np.full(4, 3), 8)


def test_four_corners_share_the_weight_equally():
    """Least norm among all impulses with the same velocity (plain Lemke: 0, m g / 2, m g / 2, 0)."""
    outcome = climb(corner_problem())
    r = outcome.problem.impulses.reshape(4, 3)
    np.testing.assert_allclose(r[:, 0], 2.0 * 9.81e-3 / 4, rtol=1e-7)
    np.testing.assert_allclose(r[:, 1:], 0.0, atol=1e-9)
    np.testing.assert_allclose(outcome.problem.velocities, 0.0, atol=1e-12)


def sticking_problem(seed):
    """Four redundant contacts on one body that can all stick, and the least-norm impulses that do it."""
    rng = np.random.default_rng(seed)
    while True:
        J = rng.normal(size=(12, 6))
        J[::3, 2] += 2.0  # normals point one way, more or less
        r = J @ np.linalg.lstsq(J, np.tile([1.0, 0.1, -0.1], 4), rcond=None)[0]  # in the range of W = J J*
        if r[::3].min() > 0.1:
            return Problem(J @ J.T, -J @ (J.T @ r), np.full(4, 20.0), np.full(4, 3), 8), r


@pytest.mark.parametrize("seed", range(20))
def test_redundant_impulses_are_the_least_norm_ones(seed):
    """Of all impulses with the same velocity the shortest: those in the range of W."""
    problem, want = sticking_problem(seed)
    outcome = climb(problem)
    good(problem, outcome)
    assert not outcome.state.any()
    np.testing.assert_allclose(outcome.problem.impulses, want, rtol=1e-6, atol=1e-7)


# --- uniqueness -----------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(25))
def test_frictionless_velocities_equal_those_of_lemke(seed):
    """With mu = 0 the normal velocities are unique however redundant the contacts are."""
    problem = random_problem([seed, 3], 5, 1, 6, 4, friction=0.0)
    outcome = climb(problem)
    good(problem, outcome)
    M, h = outcome.problem.lcp()
    result = mb.solve_lcp(M, h, "lemke")
    assert result.status == "solved"
    r = outcome.problem.impulses_from(result.z)
    normal = np.cumsum(problem.dim) - problem.dim
    r_normal = np.zeros_like(r)
    r_normal[normal] = r[normal]
    np.testing.assert_allclose((problem.W @ r_normal + problem.q), outcome.problem.velocities, atol=1e-8)


@pytest.mark.parametrize("seed", range(25))
def test_lemke_solution_of_the_written_out_problem_satisfies_the_judge(seed):
    """What plain Lemke finds for Eq. 53 passes the same certificate, though its impulses may differ."""
    problem = random_problem([seed, 4], 3, 1, 12, 8)
    M, h = written_out(problem).lcp()
    result = mb.solve_lcp(M, h, "lemke")
    assert result.status == "solved"  # these seeds; on harder problems Lemke gives up
    r = written_out(problem).impulses_from(result.z)
    residuals = mb.certify(written_out(problem), r)
    assert max(residuals[:2]) <= 1e-9
    assert dense_residual(*problem, r) <= 1e-9


# --- the written-out problem ----------------------------------------------------------------------


@pytest.mark.nojit
@pytest.mark.parametrize("n_f", [4, 8])
@pytest.mark.parametrize("contacts, limits", [(1, 0), (2, 1), (0, 2)])
def test_written_out_problem_equals_dense_assembly(contacts, limits, n_f):
    problem = random_problem([contacts, limits], contacts, limits, 6, n_f)
    M, h = written_out(problem).lcp()
    want_M, want_h, Z = dense_lcp(*problem)
    np.testing.assert_allclose(M, want_M, atol=1e-13)
    np.testing.assert_allclose(h, want_h, atol=1e-13)
    z = np.random.default_rng(1).uniform(size=len(h))
    np.testing.assert_allclose(written_out(problem).impulses_from(z), Z @ z, atol=1e-14)


@pytest.mark.parametrize("n_f", [4, 8, 16])
@pytest.mark.parametrize("contacts, limits", [(4, 0), (1, 0), (7, 5)])
def test_size_is_contacts_times_directions_plus_two(contacts, limits, n_f):
    """J14 Table 1, OS row: n_u (n_f + 2), and one for each joint limit."""
    problem = random_problem(0, contacts, limits, 12, n_f)
    assert written_out(problem).size == contacts * (n_f + 2) + limits
    assert written_out(problem).lcp()[0].shape == (written_out(problem).size,) * 2


def test_jain_2014_table_1_os_has_24_unknowns():
    """The reference robot with n_f = 4 and four contacts: 24, whatever its 26 links."""
    assert written_out(random_problem(0, 4, 0, 26, 4)).size == 24


# --- rungs ----------------------------------------------------------------------------------------


def test_warm_start_from_the_solution_takes_one_iteration():
    for seed in range(40):
        problem = random_problem([seed, 6], 5, 1, 12)
        first = climb(problem)
        if first.rung != SOLVER_PIVOTING:
            continue
        again = climb(problem, first.state)
        assert (again.rung, again.iterations) == (SOLVER_PIVOTING, 1)
        np.testing.assert_allclose(again.problem.velocities, first.problem.velocities, atol=1e-10)


def test_block_pivoting_solves_most_problems_proximal_points_and_lemke_the_others():
    """Hard ones (redundant, much friction): all three rungs must occur, and no problem may be given up."""
    rungs = [climb(random_problem([seed, 8], 8, 0, 6, 8, 1.0)).rung for seed in range(400)]
    assert rungs.count(SOLVER_PIVOTING) >= 320
    assert rungs.count(SOLVER_PROXIMAL) > rungs.count(SOLVER_LEMKE) >= 1
    assert rungs.count(SOLVER_FAILED) == 0


def test_regularisation_is_the_last_rung_and_its_result_is_exact():
    """Problems on which every earlier rung fails, two of thousands: solved, to the same tolerance."""
    rungs = []
    for seed in (1729, 2747):
        problem = random_problem([seed, 8], 8, 0, 6, 8, 1.0)
        outcome = climb(problem)
        good(problem, outcome)  # of the problem itself, not of the regularised one
        rungs.append(outcome.rung)
    assert SOLVER_REGULARISED in rungs


@pytest.mark.parametrize("file", sorted((Path(__file__).parent / "data").glob("grasp_*.npz")), ids=lambda f: f.stem)
def test_mirrored_grasps_on_which_pivoting_cycles_are_solved(file):
    """Problems of the lift: 16 contacts of two hands and a table on one box."""
    data = np.load(file)
    problem = Problem(data["W"], data["q"], data["mu"], data["dim"], 8)
    outcome = climb(problem)
    assert outcome.rung in (SOLVER_PIVOTING, SOLVER_PROXIMAL)
    good(problem, outcome)


# --- compliances many orders apart ----------------------------------------------------------------


def folded_chains():
    """Steps of pendulums of 12 to 30 links whose last link is folded back: a contact gives way to 1e-8 ... 1e-12."""
    data = np.load(Path(__file__).parent / "data" / "folded_chains.npz")
    count = sum(name.startswith("W_") for name in data.files)
    return [Problem(*(data[f"{name}_{i:02d}"] for name in ("W", "q", "mu", "dim")), 4) for i in range(count)]


@pytest.mark.parametrize("number", range(len(folded_chains())))
def test_folded_chains_are_solved(number):
    """Without balanced units pivoting, proximal points and Lemke left residuals of up to 6e-5 here."""
    problem = folded_chains()[number]
    assert np.diag(problem.W).min() < 1e-5 * np.diag(problem.W).max()
    good(problem, climb(problem))


def uneven(seed, decades):
    """A random problem in units in which its rows' compliances lie ``decades`` apart, and those units S."""
    problem = random_problem([seed, 21], 4, 2, 16, 4)
    rng = np.random.default_rng([seed, 22])
    first = np.cumsum(problem.dim) - problem.dim
    scale, mu = np.ones(len(problem.q)), problem.mu.copy()
    for i, row in enumerate(first):
        scale[row : row + problem.dim[i]] = 2.0 ** rng.integers(-1.66 * decades, 1)
        if problem.dim[i] == 3:
            scale[row + 1 : row + 3] = 2.0 ** rng.integers(-1.66 * decades, 1)
            mu[i] *= scale[row] / scale[row + 1]
    return problem, problem._replace(W=problem.W * np.outer(scale, scale), q=problem.q * scale, mu=mu), scale


@pytest.mark.parametrize("decades", [6, 10, 14])
def test_units_of_the_rows_do_not_matter(decades):
    """With r = S r' a problem is the same: scaled residual, states, impulses (friction may leave a choice)."""
    same = 0
    for seed in range(20):
        plain, problem, scale = uneven(seed, decades)
        outcome, expected = climb(problem), climb(plain)
        good(plain, expected)
        assert outcome.judged <= 1e-10
        mine = scale * outcome.problem.impulses
        assert dense_residual(*plain, mine) <= 1e-9
        if np.array_equal(outcome.state, expected.state):
            same += 1
            np.testing.assert_allclose(mine, expected.problem.impulses, atol=1e-7 * np.abs(mine).max())
    assert same >= 18


def test_balancing_leaves_no_trace():
    """Matrix, right-hand side and friction coefficients are the same bits after the ladder as before."""
    _, problem, _ = uneven(3, 10)
    sol, cones = workspace(problem)
    sol.state[:] = 0
    size = written_out(problem).size
    solve_step(sol, cones, make_pivot_work(len(problem.q)), make_lemke_work(size))
    assert np.array_equal(sol.W, problem.W) and np.array_equal(sol.q, problem.q)
    assert np.array_equal(cones.mu[: len(problem.mu)], problem.mu)


def test_pivoting_gives_up_within_its_limit_and_says_so():
    sol, cones = workspace(random_problem(3, 8, 0, 6, 8, 1.0))
    sol.state[:] = -1
    piv = make_pivot_work(24)
    solved, iterations = pivot_solve(sol.W, sol.q, cones, piv, sol.state, sol.r, sol.u, 1)
    assert not solved and iterations == 1


def unsolvable():
    """A contact that closes at 1 m/s on a body that no impulse moves: W = 0 in the normal row."""
    W = np.diag([0.0, 1.0, 1.0])
    return Problem(W, np.array([-1.0, 0.0, 0.0]), np.array([0.5]), np.array([3]), 8)


def wedged():
    """Two contacts with opposite normals that both close: no impulse can part both."""
    J = np.array([[1.0, 0, 0], [0, 1, 0], [0, 0, 1], [-1, 0, 0], [0, 1, 0], [0, 0, -1]])
    return Problem(J @ J.T, np.array([-1.0, 0, 0, -1.0, 0, 0]), np.full(2, 0.3), np.array([3, 3]), 8)


@pytest.mark.parametrize("problem", [unsolvable(), wedged()], ids=["immovable", "wedged"])
def test_unsolvable_problems_are_never_called_solved(problem):
    outcome = climb(problem)
    assert outcome.rung == SOLVER_FAILED
    assert outcome.judged > 0.1
    assert np.isfinite(outcome.problem.impulses).all()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_problem_is_never_called_solved(bad):
    problem = random_problem(1, 2, 0, 6)
    q = problem.q.copy()
    q[0] = bad
    outcome = climb(problem._replace(q=q))
    assert outcome.rung == SOLVER_FAILED
    assert not outcome.judged <= 1.0


def test_judge_alone_decides():
    """Wild starting states change the way, never the truth of the answer."""
    problem = random_problem([2, 2], 4, 1, 12)
    rng = np.random.default_rng(0)
    for _ in range(100):
        state = rng.integers(-1, 17, 5)
        state[4] = rng.integers(-1, 1)
        good(problem, climb(problem, state))


# --- the certificate ------------------------------------------------------------------------------


def worst(problem, impulses):
    residuals = mb.certify(problem, impulses)
    return max(residuals.complementarity_gap, residuals.infeasibility)


@pytest.mark.parametrize("seed", range(10))
def test_certificate_rises_with_any_perturbation(seed):
    """A right solution moved in one row by 1e-6, 1e-3, 1: the residual follows in proportion."""
    problem = random_problem([seed, 11], 3, 1, 12, tight=1.0)
    problem.q[::3] = -1.0 - np.abs(problem.q[::3])  # all closing, so that contacts are active
    outcome = climb(problem)
    good(problem, outcome)
    r = outcome.problem.impulses
    active = np.flatnonzero(np.abs(r) > 1e-3)
    assert len(active)
    for row in active:
        if row in (1, 2, 4, 5, 7, 8) and outcome.state[row // 3] != 0:
            continue  # a sliding contact's friction is checked as a whole below
        sizes = []
        for delta in (1e-6, 1e-3, 1.0):
            moved = r.copy()
            moved[row] += delta
            sizes.append(worst(outcome.problem, moved))
            assert sizes[-1] == pytest.approx(dense_residual(*problem, moved), rel=1e-6, abs=1e-12)
        assert sizes[0] > 1e-8 and sizes[1] > 1e-5 and sizes[2] > 1e-2


def test_certificate_sees_wrong_friction():
    """Too much of it, too little of it, and across the slip."""
    problem = Problem(np.eye(3), np.array([-1.0, 3.0, 0.0]), np.array([0.5]), np.array([3]), 8)
    right = np.array([1.0, -0.5, 0.0])
    solved = written_out(problem)
    assert worst(solved, right) <= 1e-15
    assert mb.certify(solved, [1.0, -0.6, 0.0]).cone_violation == pytest.approx(0.1)
    assert worst(solved, [1.0, -0.6, 0.0]) >= 0.09
    assert worst(solved, [1.0, -0.4, 0.0]) >= 0.09
    assert worst(solved, [1.0, 0.5, 0.0]) >= 0.4
    assert worst(solved, [1.0, 0.0, 0.4]) >= 0.09
    assert worst(solved, [-1.0, 0.0, 0.0]) >= 0.9


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", range(4))
def test_certificate_of_impulses_that_are_not_finite_is_huge(row, bad):
    problem = random_problem([1, 1], 1, 1, 6)
    r = climb(problem).problem.impulses.copy()
    r[row] = bad
    assert worst(written_out(problem), r) >= 1e100


def test_certificate_names_the_worst_unit():
    problem = random_problem([5, 5], 4, 0, 26, tight=1.0)
    outcome = climb(problem)
    for i in range(4):
        r = outcome.problem.impulses.copy()
        r[3 * i] -= 100.0
        assert mb.certify(outcome.problem, r).worst_unit == i


def test_certificate_of_no_impulses_is_the_closing_velocity():
    problem = Problem(4 * np.eye(3), np.array([-0.6, 0.0, 0.0]), np.array([0.5]), np.array([3]), 8)
    assert mb.certify(written_out(problem)).infeasibility == pytest.approx(0.3)  # 0.6 / sqrt(4)


def test_certify_refuses_impulses_of_the_wrong_length():
    with pytest.raises(mb.InputError, match="impulses must have 3"):
        mb.certify(written_out(unsolvable()), np.zeros(4))


@pytest.mark.parametrize(
    "change, message",
    [
        ({"W": np.eye(4)}, "W must be 3 x 3"),
        ({"mu": np.ones(2)}, "mu have 1 entries"),
        ({"dim": np.array([3, 3])}, "dim must hold 3 for each contact"),
        ({"dim": np.array([2, 1])}, "dim must hold 3 for each contact"),
        ({"directions": 5}, "directions must be an even number"),
    ],
)
def test_a_contact_problem_whose_arrays_do_not_fit_is_refused(change, message):
    """The kernels would read beyond the arrays in silence."""
    problem = written_out(random_problem(0, contacts=1))._replace(**change)
    for use in (problem.lcp, lambda: mb.certify(problem), lambda: problem.size):
        with pytest.raises(mb.InputError, match=message):
            use()
    whole = written_out(random_problem(0, contacts=1))
    with pytest.raises(mb.InputError, match="z must have 10 entries"):
        whole.impulses_from(np.zeros(9))
