# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The exact-cone solver, judged by Coulomb's law written out here and by analytic cases.

Covers solvers/layout.py.
"""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

import mb_contact as mb
from mb_contact.solvers import ConeLayout
from paths import DATA
from scenes.cone_cases import grasp, mechanism, pile, tower, wall


def coulomb_violation(W, q, mu, r):
    """Coulomb's law row by row: signs, complementarity, bound, and friction against the slip."""
    u, worst = W @ r + q, 0.0
    for i, m in enumerate(mu):
        rn, rt, un, ut = r[3 * i], r[3 * i + 1 : 3 * i + 3], u[3 * i], u[3 * i + 1 : 3 * i + 3]
        slip = np.linalg.norm(ut)
        worst = max(worst, -rn, -un, abs(rn * un), np.linalg.norm(rt) - m * rn)
        worst = max(worst, np.linalg.norm(m * rn * ut + slip * rt))  # opposite, and on the cone while slipping
    return worst


CASES = {
    "tower": lambda s: tower(s, boxes=6),
    "hyperstatic tower": lambda s: tower(s, boxes=4, per_side=3, noise=0.02),
    "mass ratio 1e4": lambda s: tower(s, boxes=5, ratio=1e4),
    "wall": lambda s: wall(s, 3, 3, noise=0.02),
    "grasp": grasp,
    "pile": lambda s: pile(s, 12),
    "mechanism": mechanism,
}


@pytest.mark.parametrize("mu", [0.0, 0.05, 0.5, 0.9])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES)
def test_coulombs_law(case, seed, mu):
    W, q, n = CASES[case](seed)
    mu = np.full(n, mu)
    result = mb.solve_friction(W, q, mu)
    assert result.status == "solved", result.residual
    assert coulomb_violation(W, q, mu, result.r) <= 1e-8 * max(1.0, np.abs(q).max(), np.abs(result.r).max())
    np.testing.assert_array_equal(result.u, W @ result.r + q)


@pytest.mark.parametrize("case, seed", [("wall", 0), ("mechanism", 2)])
def test_heavy_bodies_are_solved_in_newton_seconds_too(case, seed):
    """Bodies of 1e7 kg: what the method's own scales call solved misses 1e-8 in N s, and more is asked."""
    W, q, n = CASES[case](seed)
    result = mb.solve_friction(W / 1e7, q, np.full(n, 0.5))
    assert result.status == "solved" and result.residual.relative <= 1e-8


def block(mass=2.0, half=(0.1, 0.1, 0.05), lower=True):
    """W of one contact below the centre of a free block."""
    h = np.asarray(half) ** 2
    inertia = mass / 3.0 * (h.sum() - h)
    J = np.array([[0, 0, 1, 0, 0, 0], [1, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0]], float)
    return J @ np.diag(np.r_[np.full(3, 1 / mass), 1 / inertia]) @ J.T


@pytest.mark.parametrize("degrees", range(0, 360, 15))
def test_friction_opposes_the_slip_in_every_direction(degrees):
    """A sliding point: r_n = m g dt, friction mu r_n exactly against the velocity; no direction is favoured."""
    W, mu, g = block(), 0.5, 0.05
    d = np.array([np.cos(np.radians(degrees)), np.sin(np.radians(degrees))])
    r = mb.solve_friction(W, np.r_[-g, 1.0 * d], [mu]).r
    np.testing.assert_allclose(r, np.r_[2.0 * g, -mu * 2.0 * g * d], rtol=1e-9, atol=1e-12)


@pytest.mark.nojit
def test_a_slow_point_sticks_and_a_leaving_one_is_left_alone():
    W = block()
    np.testing.assert_allclose(mb.solve_friction(W, [-0.05, 0.02, 0.0], [0.5]).r, [0.1, -0.04, 0.0], atol=1e-11)
    np.testing.assert_allclose(mb.solve_friction(W, [0.05, 0.02, 0.0], [0.5]).r, 0.0, atol=1e-11)


def test_unequal_coefficients_obey_the_normality_rule():
    """Friction lies on the ellipse where its outward normal is against the slip: r_k = -mu_k^2 u_k r_n / |mu o u|."""
    mu, u = np.array([0.6, 0.2]), np.array([1.0, 0.7])
    result = mb.solve_friction(block(), np.r_[-0.05, u], [mu])
    assert result.status == "solved"
    slip = result.u[1:]
    np.testing.assert_allclose(result.r[1:], -(mu**2) * slip / np.linalg.norm(mu * slip) * result.r[0], rtol=1e-9)


def test_torsion_and_rolling_keep_to_their_own_bounds():
    """A ball that slides, spins and rolls: each moment is at its bound, against its own rate."""
    layout = ConeLayout.contacts([0.4], torsion=[0.02], rolling=[0.01])
    result = mb.solve_friction(np.diag([1.0, 1, 1, 50, 50, 50]), [-0.1, 0.3, 0, 2.0, 0, -3.0], layout=layout)
    assert result.status == "solved"
    np.testing.assert_allclose(result.r, [0.1, -0.04, 0, -0.002, 0, 0.001], atol=1e-10)


@pytest.mark.parametrize("seed", range(12))
def test_joint_limits_and_loop_closures_beside_contacts(seed):
    rng = np.random.default_rng(seed)
    contacts = ConeLayout.contacts(rng.uniform(0, 1, 3), torsion=rng.uniform(0, 0.2, 3), rolling=[0.1, 0.0, 0.05])
    layout = contacts + ConeLayout.unilateral(2) + ConeLayout.bilateral(8)
    J = rng.normal(size=(layout.rows, 30))
    W, q = J @ J.T, J @ rng.normal(size=30)
    result = mb.solve_friction(W, q, layout=layout)
    assert result.status == "solved"
    limits, closures = slice(18, 20), slice(20, 28)
    assert np.abs(np.minimum(result.r[limits], result.u[limits])).max() <= 1e-9
    assert np.abs(result.u[closures]).max() <= 1e-9
    for i in range(3):
        rn, rt, ut = result.r[6 * i], result.r[6 * i + 1 : 6 * i + 3], result.u[6 * i + 1 : 6 * i + 3]
        mu = layout.blocks[i][2][0][0]
        assert np.linalg.norm(mu * rn * ut + np.linalg.norm(ut) * rt) <= 1e-8


def test_sparse_and_dense_matrices_are_the_same_problem():
    W, q, n = tower(3, boxes=5)
    dense, sparse = mb.solve_friction(W, q, np.full(n, 0.5)), mb.solve_friction(sp.csr_matrix(W), q, np.full(n, 0.5))
    np.testing.assert_allclose(sparse.u, dense.u, atol=1e-9)
    assert sparse.status == "solved"


def test_warm_start_takes_few_steps():
    W, q, n = tower(0, boxes=25)
    mu = np.full(n, 0.5)
    first = mb.solve_friction(W, q, mu)
    push = 1e-4 * np.random.default_rng(0).normal(size=len(q))
    again = mb.solve_friction(W, q + W @ push / np.abs(W).max(), mu, warm=first.r)
    assert again.status == "solved" and again.iterations < first.iterations
    assert mb.solve_friction(W, q, mu, warm=first.r).iterations <= 1


# --- honesty --------------------------------------------------------------------------------------------------


def test_an_unsolvable_problem_is_not_solved():
    """A massless row that must move: W = 0, q_n < 0."""
    result = mb.solve_friction(np.zeros((3, 3)), [-1.0, 0.0, 0.0], [0.5])
    assert result.status != "solved" and result.residual.relative > 0.5


def test_nothing_to_do():
    """No velocity at all, and contacts that only separate."""
    for q in (np.zeros(6), np.array([0.1, 5.0, -3.0, 0.0, 1.0, 0.0])):
        J = np.random.default_rng(0).normal(size=(6, 4))
        result = mb.solve_friction(J @ J.T, q, [0.5, 1.4])
        assert result.status == "solved" and not result.r.any() and result.iterations == 0


@pytest.mark.parametrize("kind", ["indefinite", "negative", "out of range", "coefficients 1e-9 to 1e6", "scales"])
@pytest.mark.parametrize("seed", range(12))
def test_never_a_false_success(kind, seed):
    """Whatever the matrix, what is called solved obeys Coulomb's law."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 5))
    J = rng.normal(size=(3 * n, int(rng.integers(1, 6 * n))))
    W, q, mu = J @ J.T, J @ rng.normal(size=J.shape[1]), rng.uniform(0.1, 1.5, n)
    if kind == "indefinite":
        W = rng.normal(size=W.shape)
    elif kind == "negative":
        W = -W
    elif kind == "out of range":
        q = rng.normal(size=3 * n)
    elif kind == "scales":
        s = np.repeat(10.0 ** rng.uniform(-4, 4, n), 3)
        W, q = W * np.outer(s, s), q * s
    else:
        mu = 10.0 ** rng.uniform(-9, 6, n)
    result = mb.solve_friction(W, q, mu)
    size = max(1.0, np.abs(q).max(), np.abs(result.r).max())
    bad = coulomb_violation(W, q, mu, result.r) > 1e-7 * size * max(1.0, np.linalg.norm(q)) * max(1.0, mu.max())
    assert not (result.status == "solved" and bad)
    may_have_none = kind in ("indefinite", "negative", "out of range")
    assert result.status == "solved" or may_have_none or mu.max() > 10.0


def test_wild_coefficients_are_solved_but_for_a_few():
    """Measured: of 400 with coefficients up to 1e6 18 are left at the limit, of those up to 10 one."""
    for largest, left in ((6.0, 30), (1.0, 4)):
        for seed in range(400):
            rng = np.random.default_rng([seed, 5])
            n = int(rng.integers(1, 5))
            J = rng.normal(size=(3 * n, int(rng.integers(1, 6 * n))))
            W, q = J @ J.T, J @ rng.normal(size=J.shape[1])
            left -= mb.solve_friction(W, q, 10.0 ** rng.uniform(-9, largest, n)).status != "solved"
        assert left >= 0


def test_too_few_steps_are_reported():
    W, q, n = wall(0, 3, 3)
    result = mb.solve_friction(W, q, np.full(n, 0.5), limit=1)
    assert result.status == "limit" or coulomb_violation(W, q, np.full(n, 0.5), result.r) <= 1e-8


@pytest.mark.parametrize(
    "arguments, message",
    [
        ((np.eye(3), [1.0, 2, 3], [0.5, 0.5]), "q must have 6"),
        ((np.eye(2), [1.0, 2, 3], [0.5]), "W must be 3 x 3"),
        ((np.eye(3), [1.0, np.nan, 3], [0.5]), r"q\[1\] is nan"),
        ((np.full((3, 3), np.inf), [1.0, 2, 3], [0.5]), "every entry must be finite"),
        ((np.eye(3), [1.0, 2, 3], [-0.5]), "mu must not be negative"),
        ((np.eye(3), [1.0, 2, 3]), "either mu"),
    ],
)
def test_wrong_arguments(arguments, message):
    with pytest.raises(mb.InputError, match=message):
        mb.solve_friction(*arguments)


def test_command_line(tmp_path, capsys):
    from mb_contact.cli import main

    path = tmp_path / "contact.npz"
    np.savez(path, W=block(), q=[-0.05, 0.02, 0.0], mu=[0.5])
    assert main(["lcp", str(path)]) == 0
    assert "status     solved" in capsys.readouterr().out
    assert main(["lcp", str(path), "--method", "lemke"]) == 2


@pytest.mark.parametrize("name", ["Confeti-ex13-4contact-Fc3D-SBM", "Rover4516", "OneObject-i100000-499"])
def test_siconos_problems(name):
    """Problems on which others fail or stop above 1e-8 (test/data/fc3d/README.md)."""
    with np.load(DATA / "fc3d" / f"{name}.npz") as data:
        W, q, mu = 0.5 * (data["W"] + data["W"].T), data["q"], data["mu"]
    result = mb.solve_friction(W, q, mu)
    assert result.status == "solved" and result.residual.relative <= 1e-10
    assert coulomb_violation(W, q, mu, result.r) <= 1e-8 * max(1.0, np.abs(result.r).max())
