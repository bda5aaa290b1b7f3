# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drumwright's friction models against dense matrices: mass matrix and Jacobians of ``dense_oracle``.

The oracle writes the mixed problems (29) and (47)-(55) out, with M, J, N, S, T as full matrices, and judges
what the package found by the equations themselves; nothing of the operational-space path is used.
"""

from __future__ import annotations

import numpy as np
import pytest
from dense_oracle import Dense, cross, random_forest, random_state, skew

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.types import WORLD

GRAVITY = np.array([0.3, -0.2, -9.81])


def random_case(seed, contacts=6, constraints=0, **options):
    """A random forest at a random state with contacts between random bodies."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    model = random_forest(rng, n)
    q, v = random_state(rng, model.tree)
    dense = Dense(model.tree, q, v)
    a, b = random_pairs(rng, n, contacts)
    points = dense.p[np.maximum(a, b)] + rng.normal(scale=0.3, size=(contacts, 3))
    options.setdefault("mu", rng.uniform(0.2, 1.0, contacts))
    options.setdefault("viscous", rng.uniform(0.1, 5.0, (contacts, 2)))
    found = mb.point_contacts(a, b, points, rng.normal(size=(contacts, 3)), **options)
    a, b = random_pairs(rng, n, constraints)
    loops = mb.bilateral(
        a, b, dense.p[np.maximum(a, b)] + 0.1, rng.normal(size=(constraints, 3)), rng.random(constraints) < 0.3
    )
    effort = rng.normal(size=len(v))
    return model, dense, q, v, effort, found, loops


def random_pairs(rng, n, count):
    """Two different bodies, or one and the world, ``count`` times."""
    a = rng.integers(0, n, count)
    b = rng.integers(WORLD, n, count)
    b[b == a] = WORLD
    return a, b


def rows_of(dense, body_a, body_b, point, direction, angular=None):
    """Dense Jacobian of scalar rows."""
    J = []
    for i in range(len(body_a)):
        rows = slice(0, 3) if angular is not None and angular[i] else slice(3, 6)
        both = dense.point_jacobian(body_a[i], point[i]) - dense.point_jacobian(body_b[i], point[i])
        J.append(direction[i] @ both[rows])
    return np.array(J).reshape(-1, dense.N)


class DenseCase:
    """M, J, N, S, T and the free velocity of a step."""

    def __init__(self, dense, effort, c, loops, dt):
        tree = dense.tree
        self.M = dense.mass_matrix() + dt * np.diag(tree.damping)
        force = effort - tree.damping * dense.v - dense.nonlinear(GRAVITY)
        self.J = rows_of(dense, loops.body_a, loops.body_b, loops.point, loops.direction, loops.angular)
        self.N, self.S, self.T = (rows_of(dense, c.body_a, c.body_b, c.point, d) for d in (c.normal, c.t1, c.t2))
        self.free = dense.v + dt * np.linalg.solve(self.M, force)
        self.force = force

    def scaled(self, rows, z=None, w=None):
        """z and w of rows in sqrt(N s m/s)."""
        s = np.sqrt(np.einsum("ij,ji->i", rows, np.linalg.solve(self.M, rows.T)))
        s = np.maximum(s, 1e-10 * s.max(initial=0.0))  # rows that nothing can move
        return (None if z is None else z * s), (None if w is None else w / s)


def impulse_of(case, result):
    """Generalised impulse of what a model found."""
    return (
        case.J.T @ result.bilateral + case.N.T @ result.normal
        + case.S.T @ result.tangent[:, 0] + case.T.T @ result.tangent[:, 1]
    )  # fmt: skip


def assert_complementary(case, rows, z, w, scale, tol=1e-9):
    z, w = case.scaled(rows, z, w)
    assert np.abs(np.minimum(z, w)).max(initial=0.0) <= tol * scale


# --- no slip ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(60))
def test_no_slip_solves_the_dense_problem(seed):
    """(23)-(25), (45), (46), with loops in every other case, contacts redundant in many."""
    model, dense, q, v, effort, c, loops = random_case(seed, 1 + seed % 12, constraints=(seed % 2) * 2)
    dt = 0.01
    result = mb.no_slip_step(model, q, v, effort, c, dt, bilateral=loops, gravity=GRAVITY, rank_tolerance=1e-11)
    case = DenseCase(dense, effort, c, loops, dt)
    assert result.status == "solved"
    moved = case.M @ (result.v - case.free)
    scale = np.abs(v).max() * np.sqrt(np.abs(case.M).max())
    np.testing.assert_allclose(moved, impulse_of(case, result), atol=1e-9 * max(1.0, np.abs(moved).max()))
    for rows in (case.J, case.S, case.T):
        assert np.abs(case.scaled(rows, w=rows @ result.v)[1]).max(initial=0.0) <= 1e-9 * scale
    assert_complementary(case, case.N, result.normal, case.N @ result.v, scale)
    X = np.vstack((case.J, case.S, case.T))
    G = X @ np.linalg.solve(case.M, X.T)
    s = np.sqrt(np.maximum(np.diag(G), 1e-20 * np.diag(G).max()))
    assert result.independent == np.linalg.matrix_rank(G / np.outer(s, s), tol=1e-10)
    assert len(result.active) <= dense.N - result.independent
