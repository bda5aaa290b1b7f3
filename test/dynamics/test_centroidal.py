# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Momentum, its matrix and rate, and the centre of mass, by differences and by a body that turns as one.

Covers core/tree/momentum.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from oracles.dense_oracle import advance, random_forest, random_state
from scenes.trees import error, mixed


@pytest.mark.parametrize("seed", range(6))
def test_centroidal_quantities(seed):
    """h = A v; dh/dt = A v_dot + bias; the com moves with its Jacobian; kinetic energy bounds h* I^-1 h / 2."""
    rng, model, q, v, _ = mixed(seed)
    tree, v_dot = model.tree, rng.normal(size=len(v))
    c = mb.dynamics.centroidal(model, q, v)
    assert error(c.matrix @ v, c.momentum) <= 1e-12
    np.testing.assert_allclose(c.com_jacobian @ v, c.com_velocity, atol=1e-12)
    np.testing.assert_allclose(mb.dynamics.momentum(model, q, v, about=c.com), c.momentum, atol=1e-11)
    h = 1e-5
    states = [(advance(tree, q, v + 0.5 * s * h * v_dot, s * h), v + s * h * v_dot) for s in (1, -1)]
    ahead, behind = (mb.dynamics.centroidal(model, *state) for state in states)
    np.testing.assert_allclose(c.com_velocity, (ahead.com - behind.com) / (2 * h), atol=1e-8)
    rate = (ahead.momentum - behind.momentum) / (2 * h)
    assert error(c.matrix @ v_dot + c.bias, rate) <= 1e-7
    about = mb.dynamics.momentum(model, q, v)  # the world's origin
    np.testing.assert_allclose(about[:3], c.momentum[:3] + np.cross(c.com, c.momentum[3:]), atol=1e-10)


def test_momentum_of_a_frozen_robot_is_its_locked_inertia_times_the_spin():
    """A single floating tree that turns about its centre of mass as one rigid body."""
    rng = np.random.default_rng(5)
    model = random_forest(rng, 6, 1, floating=1.0, multi=0.5)
    q, v = random_state(rng, model.tree)
    v[:] = 0.0
    v[:3] = 0.3, -0.2, 0.5
    c = mb.dynamics.centroidal(model, q, v)
    v[3:6] = -c.com_velocity
    c = mb.dynamics.centroidal(model, q, v)
    np.testing.assert_allclose(c.momentum, c.inertia @ np.concatenate((v[:3], np.zeros(3))), atol=1e-12)
    assert c.mass == pytest.approx(model.tree.mass.sum())
    mass, com = mb.dynamics.centre_of_mass(model, q)
    assert mass == c.mass and (com == c.com).all()
