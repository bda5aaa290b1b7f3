# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""P00's augmented system and its two eliminations on random SKO models."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

import mb_contact as mb
from mb_contact.errors import DynamicsError, InputError
from mb_contact.studies import sko
from mb_contact.types import WORLD
from oracles.dense_oracle import random_forest, random_state
from scenes.sko_cases import random_model

GRAVITY = np.array([0.3, -1.2, -9.0])
ELIMINATIONS = (sko.eliminate_crbm, sko.eliminate_abm, sko.eliminate_modified_abm)
FRACTIONS = np.vectorize(lambda x: Fraction(float(x)).limit_denominator(64), otypes=[object])

models = st.builds(
    lambda seed, n, chain: (np.random.default_rng(seed), n, chain),
    st.integers(0, 2**32 - 1), st.integers(1, 9), st.booleans(),
)  # fmt: skip


def error(got, want):
    """Largest deviation relative to the largest entry (of at least 1e-3)."""
    assert got.shape == want.shape
    return np.abs(got - want).max(initial=0.0) / max(np.abs(want).max(initial=0.0), 1e-3)


def stacked(system, solution, model):
    """The unknowns of Eq. 5 from a solution."""
    x = np.zeros_like(system.rhs)
    for k in range(model.tree.n):
        x[system.f[k]] = solution.f[model.phi.slices[k]]
        x[system.alpha[k]] = -solution.alpha[model.phi.slices[k]]
        x[system.joint[k]] = solution.theta_ddot[model.hinges[k]]
    return x


# --- the system and its eliminations --------------------------------------------------------------


@settings(max_examples=30, deadline=None)
@given(models)
def test_eliminations_solve_the_augmented_system(case):
    rng, n, chain = case
    model = random_model(rng, n, chain)
    T = rng.normal(size=model.N)
    system = sko.augmented_system(model, T)
    want = sko.forward_dynamics(model, T)
    motion = model.inverse_dynamics(np.zeros(model.N), want)
    for eliminate in ELIMINATIONS:
        solution = eliminate(model, T).solution
        assert error(system.matrix @ stacked(system, solution, model), system.rhs) < 1e-11  # Eq. 5 as it stands
        assert error(solution.theta_ddot, want) < 1e-11
        assert error(solution.alpha, motion.alpha) < 1e-11
        assert error(solution.f, motion.f) < 1e-11


@settings(max_examples=20, deadline=None)
@given(models)
def test_crbm_elimination_leaves_the_mass_matrix(case):
    rng, n, chain = case
    model = random_model(rng, n, chain)
    T, m = rng.normal(size=model.N), model.phi.m
    grouped = sko.grouped_system(model, T)
    assert (grouped.matrix == grouped.matrix.T).all()  # Eq. 7 is symmetric, in KKT form
    system = sko.augmented_system(model, T)
    assert (grouped.matrix == system.matrix[np.ix_(grouped.rows, grouped.columns)]).all()
    assert (grouped.matrix[:m, :m] == model.M_full).all()
    assert (grouped.matrix[m : 2 * m, 2 * m :] == model.H_full.T).all()
    assert error(grouped.matrix[m : 2 * m, :m] @ model.phi.A.T, np.eye(m)) < 1e-12  # the block A^-1 is that of phi*
    done = sko.eliminate_crbm(model, T)
    assert error(done.mass, sko.mass_matrix(model)) < 1e-11
    assert error(done.rhs[2 * m :], T - model.nonlinear()) < 1e-11  # T - c
    assert not done.matrix[2 * m :, : 2 * m].any()
    assert (done.matrix[: 2 * m] == grouped.matrix[: 2 * m]).all()


@settings(max_examples=20, deadline=None)
@given(models)
def test_abm_elimination_is_triangular_with_articulated_inertias(case):
    rng, n, chain = case
    model = random_model(rng, n, chain)
    done, art = sko.eliminate_abm(model, rng.normal(size=model.N)), sko.riccati(model)
    system, left = done.system, done.matrix.copy()
    for k, p in enumerate(model.tree.parent):
        assert error(done.M_hat[k], art.P[k]) < 1e-11
        assert error(done.matrix[system.joint[k], system.joint[k]], art.D[k]) < 1e-11  # the (3k, 3k) blocks
        above = [] if p == WORLD else [p]
        for rows in (system.f[k], system.alpha[k], system.joint[k]):
            for other in [k, *above]:
                for columns in (system.f[other], system.alpha[other], system.joint[other]):
                    left[rows, columns] = 0.0
        assert not done.matrix[system.joint[k], system.f[k]].any()
        assert not done.matrix[system.joint[k], system.alpha[k]].any()
    assert not left.any()  # the rows of a body know the body and its parent, and no child


def test_pattern_of_a_chain_of_three():
    """P00 Eq. 5 and 8: blocks of a chain, tips first; a cross may differ from zero."""
    model = random_model(np.random.default_rng(4), 3, chain=True, welds=False)
    done = sko.eliminate_abm(model, np.ones(model.N))
    system = done.system
    parts = [part[k] for k in system.order for part in (system.f, system.alpha, system.joint)]
    before, after = (
        ["".join("x" if X[i, j].any() else "." for j in parts) for i in parts] for X in (system.matrix, done.matrix)
    )
    assert before == ["xx.......", ".xx.x....", "x........", "x..xx....", "....xx.x.", "...x.....", "...x..xx.",
                      ".......xx", "......x.."]  # fmt: skip
    assert after == ["xx.......", ".xx.x....", "..x.x....", "...xx....", "....xx.x.", ".....x.x.", "......xx.",
                     ".......xx", "........x"]  # fmt: skip


def test_eliminations_are_exact_in_fractions():
    """Without rounding the two eliminations give the same numbers, and the residual is zero."""
    model = random_model(np.random.default_rng(11), 5)
    part = sko.blocks(model, FRACTIONS)
    part = part._replace(M=[X + X.T if X.size else X for X in part.M])  # symmetric after the cut of the digits
    T = FRACTIONS(np.linspace(-1.0, 1.0, model.N))
    system = sko.augmented_system(part, T)
    solutions = [eliminate(part, T).solution for eliminate in ELIMINATIONS]
    for solution in solutions:
        assert (system.matrix @ stacked(system, solution, model) == system.rhs).all()
        assert (solution.theta_ddot == solutions[0].theta_ddot).all()


def test_longdouble_gains_digits():
    model = random_model(np.random.default_rng(3), 7)
    T = np.ones(model.N)
    wide = sko.blocks(model, lambda X: X.astype(np.longdouble))
    solution = sko.eliminate_abm(wide, T).solution
    assert solution.theta_ddot.dtype == np.longdouble
    other = sko.eliminate_crbm(wide, T).solution.theta_ddot
    assert np.abs(other - solution.theta_ddot).max() <= 1e4 * np.finfo(np.longdouble).eps


@pytest.mark.parametrize("eliminate", ELIMINATIONS)
def test_a_hinge_without_inertia_is_refused(eliminate):
    phi = sko.Spo(sko.TreeDigraph([WORLD, 0]), [None, np.eye(2)], [2, 2])
    H = [np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]])]
    model = sko.SkoModel(phi, H, [np.eye(2), np.zeros((2, 2))], names=("carrier", "ghost"))
    named = "mass matrix" if eliminate is sko.eliminate_crbm else "ghost"
    with pytest.raises(DynamicsError, match=named):
        eliminate(model, np.ones(2))
    with pytest.raises(InputError, match="T must have 2"):
        eliminate(model, np.ones(3))


# --- the kernel -----------------------------------------------------------------------------------


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(1, 12), st.integers(1, 3), st.booleans())
def test_methods_of_forward_dynamics_equal_sko(seed, n, roots, armature):
    rng = np.random.default_rng(seed)
    model = random_forest(rng, n, min(roots, n), armature=armature, multi=0.4)
    q, v = random_state(rng, model.tree)
    effort = rng.normal(size=len(v))
    want = sko.forward_dynamics(sko.rigid_tree(model, q, v, GRAVITY), effort - model.tree.damping * v)
    for method in ("abm", "modified_abm", "crbm"):
        assert error(mb.forward_dynamics(model, q, v, effort, GRAVITY, method), want) <= 1e-11


def test_unknown_method_is_refused():
    model = random_forest(np.random.default_rng(0), 1, 1)
    q, v = random_state(np.random.default_rng(0), model.tree)
    with pytest.raises(InputError, match="there is no method 'rnea'; choose one of abm, modified_abm, crbm"):
        mb.forward_dynamics(model, q, v, v, method="rnea")
