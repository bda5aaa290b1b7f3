# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact solver on steps captured from scenes: contacts, limits, equalities, joint friction; robots and piles.

test/data/contact_steps.npz holds, for problem kkk of ``count``, with its scene in ``origin``: ``kind`` (0 Coulomb
contact with rows normal, t1, t2; 1 unilateral; 2 equality; 3 box |r| <= ``bound``), ``start`` (first row of each
block, and the end), ``mu``, ``bound``, ``q``, J by its rows (``J_data``, ``J_indices``, ``J_indptr``), ``nodes`` (first
velocity of each tree or free body, and the end), ``M`` (their mass matrices), ``warm`` (impulses of the step before).
robot_a1_d/072 is symmetric: from zero Newton steps go in circles, whatever the rounding, until they begin anew.

What a linear program says about a problem:  Motions v with u = J v + q in the dual cones, u_n >= mu |u_t|, guarantee a
solution.  A ray (impulses d within the cones, J* d = 0, d.q < 0) exists only where there are none, because d.u >= 0
would hold for each of them.  Coulomb's law asks for u_n >= 0 only, so a problem with a ray may have a solution all the
same; it has none for certain where no motion has u_n >= 0.

Covers core/solve/search.py, solvers/blocks.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import linprog

from mb_contact.solvers.blocks import BOX, CONTACT, EQUALITY, UNILATERAL, solve_blocks
from paths import DATA

pytestmark = pytest.mark.quick

FILE = DATA / "contact_steps.npz"
KINDS = (CONTACT, UNILATERAL, EQUALITY, BOX)
COULOMB = 0  #: kinds of the file
ONE_SIDED = 1
FIXED = 2
BOUNDED = 3

with np.load(FILE) as _data:
    ORIGINS = _data["origin"].tolist()
JAMMED = ["robot_fetch_d/004", "robot_fetch_d/024"]  #: no start leads to a solution
#: solved all the same
WITH_RAY = [
    "robot_multi_arm_d/023", "robot_multi_arm_d/024", "robot_fetch_d/031", "robot_fetch_d/032", "robot_fetch_d/033"
]  # fmt: skip
SOLVED = [name for name in ORIGINS if name not in JAMMED]


class Step(NamedTuple):
    """A captured problem with W = J M^-1 J*."""

    kind: np.ndarray
    start: np.ndarray
    mu: np.ndarray
    bound: np.ndarray
    q: np.ndarray
    J: np.ndarray
    W: np.ndarray
    warm: np.ndarray


def step_of(origin):
    with np.load(FILE) as data:
        at = f"{ORIGINS.index(origin):03d}/"
        part = {name[len(at) :]: data[name] for name in data.files if name.startswith(at)}
    nodes, q = part["nodes"], part["q"]
    J = scipy.sparse.csr_matrix((part["J_data"], part["J_indices"], part["J_indptr"]), (len(q), nodes[-1])).toarray()
    W, used = np.zeros((len(q), len(q))), 0
    for a, b in zip(nodes, nodes[1:]):
        n = b - a
        W += J[:, a:b] @ np.linalg.solve(part["M"][used : used + n * n].reshape(n, n), J[:, a:b].T)
        used += n * n
    return Step(part["kind"], part["start"], part["mu"], part["bound"], q, J, 0.5 * (W + W.T), part["warm"])


def solve(step, warm=None, **options):
    size = np.diff(step.start)
    rows = {COULOMB: lambda b: [0.0, step.mu[b], step.mu[b]], BOUNDED: lambda b: [step.bound[b]]}
    mu = np.concatenate([rows.get(k, lambda b: [0.0])(b) for b, k in enumerate(step.kind)])
    return solve_blocks(step.W, step.q, [KINDS[k] for k in step.kind], size, mu, warm=warm, **options)


def natural_map(step, r):
    """Worst |x - P(x - y)| of a block, x = s r, y = u / s, s^2 its mean compliance; of contacts De Saxce's."""
    u = step.W @ r + step.q
    worst = 0.0
    for k, a, b, mu, bound in zip(step.kind, step.start, step.start[1:], step.mu, step.bound):
        s = np.sqrt(np.diag(step.W)[a:b].mean())
        x, y = s * r[a:b], u[a:b] / s
        if k == COULOMB:
            error = np.linalg.norm(x - into_cone(x - y - [mu * np.hypot(*y[1:]), 0.0, 0.0], mu))
        elif k == ONE_SIDED:
            error = abs(x[0] - max(x[0] - y[0], 0.0))
        elif k == FIXED:
            error = abs(y[0])
        else:
            error = abs(x[0] - min(max(x[0] - y[0], -bound * s), bound * s))
        worst = max(worst, error)
    return worst


def into_cone(x, mu):
    """The point of |x_t| <= mu x_n that is nearest to x."""
    t = np.hypot(*x[1:])
    if t <= mu * x[0]:
        return x
    if mu * t <= -x[0]:
        return np.zeros(3)
    n = (x[0] + mu * t) / (1.0 + mu**2)
    return np.r_[n, mu * n / t * x[1:]]


def shortfall(step, edges):
    """By how much at least every motion misses u_n >= mu |u_t| of the contacts [m/s], on polygons of so many edges.

    With 0 edges only u_n >= 0 is asked for; joint friction asks for nothing.  The polygon, u_n >= mu e.u_t along each
    edge's direction e, holds the dual cone: what misses it misses the cone, but not the other way round.
    """
    A, b, A_eq, b_eq = [], [], [], []
    angles = 2.0 * np.pi * np.arange(edges) / max(edges, 1)
    for k, i, mu in zip(step.kind, step.start, step.mu):
        if k == ONE_SIDED or (k == COULOMB and (edges == 0 or mu == 0.0)):
            A.append(-step.J[i])
            b.append(step.q[i])
        elif k == COULOMB:
            for c, s in zip(mu * np.cos(angles), mu * np.sin(angles)):
                A.append(-(step.J[i] - c * step.J[i + 1] - s * step.J[i + 2]))
                b.append(step.q[i] - c * step.q[i + 1] - s * step.q[i + 2])
        elif k == FIXED:
            A_eq.append(step.J[i])
            b_eq.append(-step.q[i])
    n = step.J.shape[1]
    found = linprog(
        np.r_[np.zeros(n), 1.0],
        A_ub=np.column_stack([A, -np.ones(len(A))]),
        b_ub=b,
        A_eq=np.column_stack([A_eq, np.zeros(len(A_eq))]) if A_eq else None,
        b_eq=b_eq if A_eq else None,
        bounds=[(None, None)] * n + [(0.0, None)],
    )
    assert found.status == 0, found.message
    return found.fun


def test_the_file_has_all_kinds_of_blocks_and_stays_small():
    assert FILE.stat().st_size <= 300_000
    kinds = [set(step_of(name).kind) for name in ORIGINS]
    assert {COULOMB, ONE_SIDED, FIXED, BOUNDED} in kinds and {COULOMB} in kinds


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("origin", SOLVED)
def test_steps_are_solved(origin, warm):
    step = step_of(origin)
    found = solve(step, step.warm if warm else None)
    assert found.status == "solved" and found.residual <= 1e-10
    assert natural_map(step, found.r) <= 2e-10  # a contact's rows together have another scale than each by itself
    np.testing.assert_allclose(found.u, step.W @ found.r + step.q, atol=1e-11)
    assert shortfall(step, 0) <= 1e-9
    assert (shortfall(step, 16) > 1e-6) == (origin in WITH_RAY)


@pytest.mark.parametrize("warm", [True, False], ids=["warm", "cold"])
@pytest.mark.parametrize("origin", JAMMED)
def test_jammed_steps_are_recognised(origin, warm):
    """Push-out against friction: the linear program confirms the ray, on a polygon that lies outside the dual cones."""
    step = step_of(origin)
    found = solve(step, step.warm if warm else None)
    assert found.status == "no_motion" and found.steps < 300
    assert natural_map(step, found.r) > 1e-9
    assert shortfall(step, 16) > 1e-4
    assert shortfall(step, 0) <= 1e-9  # so that friction it is that jams them


def between_walls(push, angle=0.0):
    """A point between two walls that each push it off with this velocity, their normals tilted towards z."""
    c, s = np.cos(angle), np.sin(angle)
    J = np.array([[c, 0, s], [0, 1, 0], [-s, 0, c], [-c, 0, s], [0, 1, 0], [s, 0, c]])
    two = np.zeros(2, np.int64)
    q = np.array([-push, 0, 0, -push, 0, 0]) + J @ [0.0, 0.0, -0.01]
    return Step(two, np.array([0, 3, 6]), np.full(2, 0.5), np.zeros(2), q, J, J @ J.T, np.zeros(6))


@pytest.mark.parametrize("warm", [0.0, 0.3])
def test_a_point_between_parallel_walls_that_push_has_no_motion_whatever_the_friction(warm):
    step = between_walls(0.1)
    found = solve(step, np.full(6, warm))
    assert found.status == "no_motion"
    assert shortfall(step, 0) == pytest.approx(0.1)


def test_a_point_between_walls_that_open_is_pushed_out_unless_friction_holds_it():
    """tan(angle) = 0.4 is below mu = 0.5: any impulses that push the point out are outweighed by their friction."""
    held, free = between_walls(0.1, np.arctan(0.4)), between_walls(0.1, np.arctan(0.6))
    assert solve(held).status == "no_motion" and shortfall(held, 0) <= 1e-12 and shortfall(held, 64) > 1e-3
    found = solve(free)
    assert found.status == "solved" and natural_map(free, found.r) <= 1e-10 and shortfall(free, 64) <= 1e-12


@pytest.mark.parametrize("budget", [1, 5, 20])
def test_the_budget_ends_a_solve_and_says_so(budget):
    """A step that takes more than 50 Newton steps."""
    step = step_of("robot_fetch_d/033")
    cold = natural_map(step, np.zeros(len(step.q)))
    found = solve(step, budget=budget)
    assert found.status == "limit" and found.steps == budget
    assert 1e-10 < found.residual and natural_map(step, found.r) <= 2.0 * max(found.residual, 1e-12)
    assert natural_map(step, found.r) <= cold
