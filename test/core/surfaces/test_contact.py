# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact kinematics of two surfaces: points and normals that meet, the contact matrix and its rate by differences."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.surfaces.contact import contact_matrix, contact_matrix_rate, contact_pose, relative_velocity
from mb_contact.core.surfaces.layout import make_surface_work
from scenes.surface_cases import surface_of

pytestmark = pytest.mark.nojit

PAIRS = [("plane", "sphere"), ("torus", "ellipsoid"), ("bezier", "cylinder"), ("nurbs", "torus")]
Q = np.array([0.37, 0.45, 0.21, 0.33, 0.7])
V = np.array([0.3, -0.2, 0.5, 0.4, -0.6])


def packed(first, second):
    """Both surfaces in one array each."""
    codes, data, at = [], [], 0
    for kind in (first, second):
        code, own = surface_of(kind).pack(0)
        codes.append(code.copy())
        codes[-1][1] += at
        data.append(own)
        at += len(own)
    return np.array(codes), np.concatenate(data)


def at(code, data, q):
    work = make_surface_work()
    contact_pose(code, data, q, work)
    contact_matrix(work)
    return work


@pytest.mark.parametrize("pair", PAIRS)
def test_points_meet_with_opposite_normals(pair):
    work = at(*packed(*pair), Q)
    R, o = work.turn[0], work.point[0]
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-14)
    assert np.linalg.det(R) == pytest.approx(1.0)
    np.testing.assert_allclose(o + R @ work.D[1, 0], work.D[0, 0], atol=1e-14)
    np.testing.assert_allclose(R @ work.R[1, :, 2], -work.R[0, :, 2], atol=1e-14)
    cosine = (R @ work.R[1, :, 0]) @ work.R[0, :, 0]  # psi is between both x axes
    assert cosine == pytest.approx(np.cos(Q[4]), abs=1e-14)


@pytest.mark.parametrize("pair", PAIRS)
def test_the_contact_matrix_is_the_motion_of_body_2(pair):
    code, data = packed(*pair)
    work, h = at(code, data, Q), 1e-6
    relative_velocity(5, V, work, work.V)
    ends = []
    for sign in (-1.0, 1.0):
        end = at(code, data, Q + sign * h * V)
        ends.append((end.turn[0].copy(), end.point[0].copy()))
    R_dot, o_dot = (ends[1][0] - ends[0][0]) / (2 * h), (ends[1][1] - ends[0][1]) / (2 * h)
    spin = R_dot @ work.turn[0].T
    np.testing.assert_allclose(work.V[:3], [spin[2, 1], spin[0, 2], spin[1, 0]], atol=1e-7)
    np.testing.assert_allclose(work.V[3:], o_dot, atol=1e-7)


@pytest.mark.parametrize("pair", PAIRS)
def test_its_rate(pair):
    code, data = packed(*pair)
    work, h = at(code, data, Q), 1e-6
    contact_matrix_rate(V, work)
    want = (at(code, data, Q + h * V).H - at(code, data, Q - h * V).H) / (2 * h)
    np.testing.assert_allclose(work.H_dot, want, atol=1e-6)
