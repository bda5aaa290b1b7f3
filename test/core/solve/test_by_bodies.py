# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operator by bodies against J M^-1 J* in dense matrices."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.solve.by_bodies import apply_bodies, factor_masses, gather, scatter, weigh
from mb_contact.core.solve.system import make_system
from mb_contact.dynamics.joint_space import mass_matrix
from scenes.body_systems import body_system


@pytest.mark.nojit
@pytest.mark.parametrize("seed", range(3))
def test_the_parts_of_the_operator(seed):
    P, J, M, W = body_system(seed)
    rng, start = np.random.default_rng(seed), P.blocks.start
    x, v = rng.normal(size=J.shape[0]), rng.normal(size=J.shape[1])
    f, motion, u = np.full(J.shape[1], np.nan), np.full(J.shape[1], np.nan), np.full(J.shape[0], np.nan)
    gather(start, P.bodies, 0, 5, 0, 4, x, f)
    np.testing.assert_allclose(f, J.T @ x, atol=1e-13)
    weigh(P.bodies, 0, 4, f, motion)
    np.testing.assert_allclose(motion, np.linalg.solve(M, f), atol=1e-12)
    scatter(start, P.bodies, 0, 5, v, u)
    np.testing.assert_allclose(u, J @ v, atol=1e-13)
    apply_bodies(start, P.bodies, P.work, 0, 5, 0, 4, x, u)
    np.testing.assert_allclose(u, W @ x, atol=1e-12)


@pytest.mark.nojit
def test_roots_of_masses_are_lower_triangular_and_exact():
    P, _, M, _ = body_system(4)
    root = P.bodies.root[P.bodies.mass_at[1] : P.bodies.mass_at[2]].reshape(12, 12)  # of two tiles
    np.testing.assert_array_equal(root, np.tril(root))
    np.testing.assert_allclose(root @ root.T @ M[6:18, 6:18], np.eye(12), atol=1e-11)


def solved_exactly(M, f):
    """M^-1 f to 1e-20 or better, in fractions: refined by residuals without rounding."""
    exact, x = [[Fraction(m) for m in row] for row in M], np.zeros(len(f), object)
    for _ in range(4):
        left = [float(Fraction(b) - sum(m * y for m, y in zip(row, x) if y)) for row, b in zip(exact, f)]
        x = x + [Fraction(step) for step in np.linalg.solve(M, left)]
    return x


def test_contacts_of_long_chains_move_as_they_should():
    """A hanging chain whose end lies folded on the ground; M^-1 itself is off ten times as much."""
    n, folded = 150, 138
    sim = mb.Simulator(mb.pendulum(n, "j14").scene())
    k = np.arange(n)
    turn = np.where(k < folded, 0.0, (k // 3) * np.pi) + 0.1 * np.random.default_rng(1).normal(size=n)
    q = np.diff(turn, prepend=0.0)
    sim.set_state(q, np.zeros(n))
    axes, p = sim.context.kin.H[:, :3], sim.context.kin.p
    pairs = [(-1, n - 15), (-1, n - 4), *((i, i + 2) for i in range(folded, n - 8, 4))]  # of links, -1 for the ground
    arms = [np.where(((i < k) & (k <= j))[:, None], np.cross(axes, p[j + 1] - p), 0.0) for i, j in pairs]
    J = np.array([arm[:, axis] for arm in arms for axis in range(3) if np.abs(arm[:, axis]).max() > 1e-6])
    M = mass_matrix(sim.world, q)
    P = make_system(1, 1, 0, 1, np.array([n // 6]), np.arange(n))
    P.bodies.M[:], P.bodies.tiles[: n // 6] = M.ravel(), np.arange(n // 6)
    factor_masses(P.bodies, 0, n // 6)
    r, v = np.random.default_rng(2).normal(size=len(J)), np.zeros(n)
    weigh(P.bodies, 0, n // 6, J.T @ r, v)
    motion = solved_exactly(M, [sum(Fraction(a) * Fraction(b) for a, b in zip(column, r)) for column in J.T])
    exact = np.array([float(sum(Fraction(a) * y for a, y in zip(row, motion) if a)) for row in J])
    scale = np.sqrt(np.diag(J @ np.linalg.solve(M, J.T)))
    assert np.abs((J @ v - exact) / scale).max() < 3e-12
    assert np.abs((J @ (np.linalg.inv(M) @ (J.T @ r)) - exact) / scale).max() > 3e-11


@pytest.mark.nojit
def test_other_tiles_and_rows_are_left_alone():
    P, J, *_ = body_system(1)
    f, u = np.full(24, 7.0), np.full(len(J), 7.0)
    gather(P.blocks.start, P.bodies, 1, 2, 1, 3, np.ones(len(J)), f)  # block 1 on the tree of tiles 1 and 2
    assert (f[:6] == 7.0).all() and (f[18:] == 7.0).all()
    np.testing.assert_allclose(f[6:18], J[3, 6:18])
    scatter(P.blocks.start, P.bodies, 1, 2, np.ones(24), u)
    assert u[3] == pytest.approx(J[3].sum()) and (np.delete(u, 3) == 7.0).all()
