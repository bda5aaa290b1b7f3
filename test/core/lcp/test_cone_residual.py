# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The judge of the exact cone: the textbook's natural map, and each kind of error that it must see."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.solvers import ConeLayout


def test_the_judge_is_the_textbook_map():
    """Against the natural map with the Euclidean projection, at random points."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        mu, W, q, r = rng.uniform(0.05, 1.5), rng.normal(size=(3, 3)), rng.normal(size=3), rng.normal(size=3)
        u = W @ r + q
        x = r - u - [mu * np.hypot(*u[1:]), 0, 0]
        t = np.hypot(*x[1:])
        if t <= mu * x[0]:
            p = x
        elif mu * t <= -x[0]:
            p = np.zeros(3)
        else:
            a = (x[0] + mu * t) / (1 + mu**2)
            p = np.r_[a, mu * a * x[1:] / t]
        judged = mb.solvers.cone_residual(W, q, ConeLayout.contacts([mu]), r)
        assert judged.natural == pytest.approx(np.linalg.norm(r - p), rel=1e-12, abs=1e-14)


def test_the_judge_sees_each_kind_of_error():
    W, layout = np.eye(3), ConeLayout.contacts([0.5])
    good = mb.solve_friction(W, [-1.0, 2.0, 0.0], [0.5]).r
    assert mb.solvers.cone_residual(W, [-1.0, 2.0, 0.0], layout, good).natural < 1e-12
    for change in np.eye(3) * 1e-3:
        assert mb.solvers.cone_residual(W, [-1.0, 2.0, 0.0], layout, good + change).natural > 1e-4
    assert mb.solvers.cone_residual(W, [-1.0, 2.0, 0.0], layout, [1.0, 0.6, 0.0]).cone_violation == pytest.approx(0.1)
    assert mb.solvers.cone_residual(W, [-1.0, 2.0, 0.0], layout, [0.5, 0.0, 0.0]).infeasible == pytest.approx(0.5)
    assert mb.solvers.cone_residual(W, [-1.0, 2.0, 0.0], layout, [np.nan, 0.0, 0.0]).natural == np.inf


def test_a_force_without_friction_is_seen():
    """A row with coefficient zero must not push."""
    assert mb.solvers.cone_residual(np.eye(3), [-1.0, 0, 0], ConeLayout.contacts([0.0]), [1.0, 0.1, 0.0]).natural > 0.09
