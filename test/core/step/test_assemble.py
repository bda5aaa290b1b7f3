# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows, free velocities and warm impulses of a posed step against dense matrices.

Covers core/constraints/contact.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.workspace import CONTACT, NO_BLOCK, UNILATERAL
from scenes.posed_steps import bar_and_ball, pose

pytestmark = pytest.mark.nojit

DEPTH = 1e-4  # [m] of the ball in the ground


def test_rows_are_the_contact_s_and_the_limit_s():
    sim = bar_and_ball()
    posed, rows = pose(sim), sim.context.rows
    assert rows.contacts[0] == 1 and rows.end[0] == posed.n_rows == 4
    assert rows.law[:4].tolist() == [CONTACT, NO_BLOCK, NO_BLOCK, UNILATERAL]
    assert rows.next[:4].tolist() == [1, 2, -1, -1]
    t1, t2 = sim.context.frames.t1[0], sim.context.frames.t2[0]
    np.testing.assert_allclose(posed.J[0], [0, 0, 0, 0, 0, 0, 1], atol=1e-12)  # up
    for row, t in ((1, t1), (2, t2)):  # at the lowest point: v + omega x (-r e_z)
        turning = np.cross(t, [0.0, 0.0, -0.1])
        np.testing.assert_allclose(posed.J[row], [0, *(-turning), *t], atol=1e-4)
        assert abs(t[2]) <= 1e-12 and np.linalg.norm(t) == pytest.approx(1.0)
    np.testing.assert_allclose(posed.J[3], [-1, 0, 0, 0, 0, 0, 0], atol=1e-12)  # against the upper limit
    np.testing.assert_allclose(t1, [1 / np.sqrt(1.25), 0.5 / np.sqrt(1.25), 0.0], atol=1e-4)  # along the slip


def test_free_velocities_have_the_offsets_of_gap_and_penetration():
    sim = bar_and_ball()
    posed, context, dt = pose(sim), sim.context, sim.time_step
    offset = context.rows.offset[:4]
    np.testing.assert_allclose(offset, [-0.2 * DEPTH / dt, 0.0, 0.0, 0.0], atol=1e-9)
    np.testing.assert_allclose(context.solution.q[:4], posed.J @ context.work.v_free + offset, atol=1e-13)


def test_the_last_impulses_are_the_start():
    sim = bar_and_ball()
    pose(sim)
    assert not sim.context.solution.r.any()
    sim.step()
    last, turned = sim.context.solution.r[:4].copy(), sim.context.frames.t1[0].copy()
    pose(sim)
    assert last[0] > 0.0 and last[3] > 0.0
    start = sim.context.solution.r[:4]
    np.testing.assert_allclose(start[[0, 3]], last[[0, 3]], rtol=1e-12)
    across = sim.context.frames.t1[0] * start[1] + sim.context.frames.t2[0] * start[2]
    assert across @ turned == pytest.approx(last[1], rel=1e-6)
