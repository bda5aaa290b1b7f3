# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scales of normals: a contact that can only stick, where other scales let Newton steps go in circles."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.solve.newton import SOLVED, solve_island
from mb_contact.core.solve.normals import COUPLED, scale_normals
from mb_contact.core.solve.system import BY_ROWS, CONTACT, make_system, make_system_handle

pytestmark = pytest.mark.nojit


def test_a_contact_on_a_folded_chain_that_only_sticking_solves():
    """Open and slipping either way contradict the laws: to slip pulls the contact down harder than it presses.

    Two planar contacts of a pendulum of 100 links, hardly coupled.  Of the second one 0.5 W_nt is 34 W_nn: its normal
    would have to pull where it slips, and it would close were it open.  So it sticks, r = -W^-1 q.
    """
    W, q = np.zeros((6, 6)), np.zeros(6)
    W[:2, :2] = [[1.144586, -5.052142e-2], [-5.052142e-2, 2.674433]]
    W[3:5, 3:5] = [[8.123781e-4, 5.531722e-2], [5.531722e-2, 4.392054]]
    q[[0, 1, 3, 4]] = -1.986221, 6.87529e-2, -6.724357e-6, 2.988138e-3
    P = make_system(6, 2, 0, 6, np.zeros(0, np.int64), np.zeros(0, np.int64))
    P.count[:], P.face[0], P.island[:2] = (2, 6, 1), BY_ROWS, (0, 2)
    P.blocks.kind[:], P.blocks.start[:], P.source[:] = CONTACT, (0, 3, 6), range(6)
    P.blocks.mu[:], P.W[:], P.q[:] = (0.0, 0.5, 0.5, 0.0, 0.5, 0.5), W, q
    P.blocks.D[:] = (W[0, 0], W[1, 1] / 2, W[1, 1] / 2, W[3, 3], W[4, 4] / 2, W[4, 4] / 2)
    P.blocks.S[:] = P.blocks.D
    handle = make_system_handle(P)
    scale_normals(handle, 0, 2, COUPLED)
    posed = P.blocks.S.copy()
    status, _, _ = solve_island(handle, 0, 0, 0, 1e-10, 1e-3, False, 400, True, True)
    assert status == SOLVED
    for n in (0, 3):
        np.testing.assert_allclose(P.r[n : n + 2], np.linalg.solve(W[n : n + 2, n : n + 2], -q[n : n + 2]), rtol=1e-7)
    np.testing.assert_array_equal(P.blocks.S, posed)
