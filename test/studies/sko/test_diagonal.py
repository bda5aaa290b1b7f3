# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Diagonalised equations of motion and prescribed accelerations, beside dense matrices and differences in time."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import InputError
from mb_contact.studies import sko
from oracles.dense_oracle import Dense, advance, random_forest, random_state

GRAVITY = np.array([0.3, -1.2, -9.0])
SEEDS = range(6)


def case(seed, gravity=GRAVITY):
    """(robot, q, v, SkoModel, Dense) of a random forest with all kinds of joints, floating roots and rotors."""
    rng = np.random.default_rng(seed)
    robot = random_forest(rng, 7, multi=0.4)
    q, v = random_state(rng, robot.tree)
    return robot, q, v, sko.rigid_tree(robot, q, v, gravity), Dense(robot.tree, q, v)


@pytest.mark.parametrize("seed", SEEDS)
def test_the_factor_and_its_velocities(seed):
    _, _, v, model, dense = case(seed)
    m, M = sko.mass_root(model), dense.mass_matrix()
    np.testing.assert_allclose(m @ m.T, M, atol=1e-12 * np.abs(M).max())
    assert (np.diag(m) > 0.0).all()
    nu = sko.diagonal_velocity(model, v)
    assert nu @ nu == pytest.approx(v @ M @ v, rel=1e-12)


@pytest.mark.parametrize("seed", SEEDS)
def test_rate_of_the_mass_matrix(seed):
    robot, q, v, _, _ = case(seed)
    h = 1e-5
    after, before = (Dense(robot.tree, advance(robot.tree, q, v, s * h)).mass_matrix() for s in (1.0, -1.0))
    rate = sko.mass_rate(robot, q, v)
    np.testing.assert_allclose(rate, (after - before) / (2.0 * h), atol=1e-7 * max(1.0, np.abs(rate).max()))


@pytest.mark.parametrize("seed", SEEDS)
def test_coriolis_terms_do_no_work(seed):
    """Without gravity nu* C = 0; nu_dot is then what the forces do."""
    robot, q, v, model, _ = case(seed, np.zeros(3))
    C, nu = sko.diagonal_coriolis(model, v, sko.mass_rate(robot, q, v)), sko.diagonal_velocity(model, v)
    assert np.linalg.norm(C) > 1e-3
    assert abs(nu @ C) < 1e-12 * np.linalg.norm(nu) * max(1.0, np.linalg.norm(C))


@pytest.mark.parametrize("seed", SEEDS)
def test_nu_accelerates_as_differences_in_time_say(seed):
    """Along the motion of the dense forward dynamics, to second order in the step."""
    robot, q, v, model, dense = case(seed)
    T = np.random.default_rng(seed).normal(size=len(v))
    v_dot = np.linalg.solve(dense.mass_matrix(), T - dense.nonlinear(GRAVITY))
    nu_dot = sko.diagonal_acceleration(model, v, T, sko.mass_rate(robot, q, v))

    def nu_at(t):
        there = advance(robot.tree, q, v + 0.5 * t * v_dot, t)
        return sko.diagonal_velocity(sko.rigid_tree(robot, there, gravity=GRAVITY), v + t * v_dot)

    h = 1e-4
    error = [np.abs((nu_at(s * h) - nu_at(-s * h)) / (2.0 * s * h) - nu_dot).max() for s in (1.0, 0.5)]
    size = max(1.0, np.abs(nu_dot).max())
    assert error[0] < 1e-4 * size and (error[1] < 0.3 * error[0] or error[1] < 1e-8 * size)


@pytest.mark.parametrize("seed", SEEDS)
def test_prescribed_accelerations(seed):
    """M_pp a_p = T_p - C_p - M_pa a_a, and the forces that make the others accelerate as prescribed."""
    _, _, v, model, dense = case(seed)
    rng = np.random.default_rng(seed + 100)
    given = rng.random(len(v)) < 0.5
    T, a = rng.normal(size=len(v)), rng.normal(size=len(v))
    theta_ddot, forces = sko.prescribed_dynamics(model, T, a, given)
    M, C = dense.mass_matrix(), dense.nonlinear(GRAVITY)
    free = ~given
    expected = np.linalg.solve(M[np.ix_(free, free)], (T - C)[free] - M[np.ix_(free, given)] @ a[given])
    size = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(theta_ddot[free], expected, atol=1e-10 * size)
    np.testing.assert_array_equal(theta_ddot[given], a[given])
    np.testing.assert_allclose(forces, M @ theta_ddot + C, atol=1e-9 * size * np.abs(M).max())
    np.testing.assert_allclose(forces[free], T[free], atol=1e-9 * size * np.abs(M).max())


def test_prescribed_is_true_or_false():
    _, _, v, model, _ = case(0)
    with pytest.raises(InputError, match="prescribed must be true or false"):
        sko.prescribed_dynamics(model, 0.0 * v, v, np.full(len(v), 0.5))
