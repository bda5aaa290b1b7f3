# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closing a loop: the Gauss-Newton step against dense least squares, its error, its stride; joints that follow.

Covers simulation/stepping/closing.py.
"""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.constraints.bilateral import COUNT
from mb_contact.core.step.closing import STRIDE, begin_closing, closure_error, follow, newton_step
from mb_contact.types import OK, Gears
from scenes.loop_cases import four_bar, four_bar_joints
from scenes.posed_steps import rows_as_matrix

pytestmark = pytest.mark.nojit


def linkage(error):
    """A four-bar linkage whose coupler is off by an angle; the simulator has closed it, so it is opened again."""
    sim = mb.Simulator(four_bar())
    q = four_bar_joints(0.5)
    q[1] += error
    sim.set_state(q, np.zeros(3))
    return sim


def closing_rows(sim):
    """J of the closure alone, from the rows in its workspace."""
    context = sim.context
    own = context.closing
    rows, context.rows = context.rows, own.rows
    try:
        return rows_as_matrix(sim, int(own.bil.info[COUNT]))
    finally:
        context.rows = rows


def test_a_step_is_the_least_motion_that_closes_the_linear_problem():
    """dq = -M^-1 G* (G M^-1 G*)^+ c: of all dq with G dq = -c the one of least kinetic metric."""
    sim = linkage(0.02)
    handle, before = sim.context.handle, sim.q
    error = closure_error(handle)
    G, c = closing_rows(sim), sim.context.loop.error[: sim.context.closing.bil.info[COUNT]].copy()
    assert error == pytest.approx(np.abs(c).max(), rel=0.5) and error > 1e-3
    M_inv = np.linalg.inv(mb.dynamics.mass_matrix(sim.world, before))
    assert begin_closing(handle) == OK
    newton_step(handle)
    want = -M_inv @ G.T @ np.linalg.lstsq(G @ M_inv @ G.T, c, rcond=1e-10)[0]
    np.testing.assert_allclose(sim.q - before, want, atol=1e-10)


def test_steps_converge_fast():
    sim = linkage(0.05)
    errors = [closure_error(sim.context.handle)]
    for _ in range(4):
        assert begin_closing(sim.context.handle) == OK
        newton_step(sim.context.handle)
        errors.append(closure_error(sim.context.handle))
    assert errors[0] > 1e-2 and errors[-1] <= 1e-13
    assert all(after <= 5.0 * before**2 + 1e-14 for before, after in zip(errors, errors[1:]))


def test_no_coordinate_leaps():
    sim = linkage(2.0)
    before = sim.q
    closure_error(sim.context.handle)
    begin_closing(sim.context.handle)
    newton_step(sim.context.handle)
    assert np.abs(sim.q - before).max() <= STRIDE * (1.0 + 1e-12)


def test_joints_follow_by_their_gear():
    sim = linkage(0.0)
    gears = Gears(np.array([2]), np.array([0]), np.array([-1.5]), np.array([0.25]), np.zeros(1))
    q, v = np.array([0.3, 0.1, 9.0]), np.array([2.0, 1.0, 9.0])
    follow(sim.context.tree, gears, q, v)
    np.testing.assert_allclose(q, [0.3, 0.1, -1.5 * 0.3 + 0.25])
    np.testing.assert_allclose(v, [2.0, 1.0, -3.0])
