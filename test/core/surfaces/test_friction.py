# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Slip of a contact against the bodies' velocities, the wrench of its friction, and the guide of a long step."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.surfaces.contact import contact_matrix, contact_pose
from mb_contact.core.surfaces.friction import LONG, settle, slip_velocity, taken, unit_friction
from mb_contact.core.surfaces.layout import DECELERATION, SLIP, SLIP_1, SLIP_2, WATCHED, make_surface_work
from mb_contact.surfaces import shapes

pytestmark = pytest.mark.nojit


def sliding(rate):
    """Workspace of an ellipsoid on a torus at some place, its coordinates moving."""
    code, data = shapes.torus(0.5, 0.1).pack(0)
    other, more = shapes.ellipsoid((0.3, 0.2, 0.1)).pack(0)
    codes = np.array([code, other])
    codes[1, 1] += len(data)
    work = make_surface_work()
    contact_pose(codes, np.concatenate((data, more)), np.array([0.3, 0.9, 0.5, 0.4, 0.7]), work)
    contact_matrix(work)
    work.rate[:] = rate
    return work


def test_slip_is_the_relative_velocity_of_the_touching_points():
    rate = np.array([0.4, -0.3, 0.6, 0.2, -1.1])
    work, watch = sliding(rate), np.zeros(WATCHED)
    slip_velocity(work, watch)
    V = rate @ work.H  # of body 2 at its origin, axes of body 1
    of_point = V[3:] + np.cross(V[:3], work.D[0, 0] - work.point[0])
    np.testing.assert_allclose(work.R[0].T @ of_point, [watch[SLIP_1], watch[SLIP_2], 0.0], atol=1e-14)
    assert watch[SLIP] == pytest.approx(np.linalg.norm(of_point), rel=1e-13)


def test_friction_is_a_unit_force_against_the_slip():
    work, watch = sliding([0.4, -0.3, 0.6, 0.2, -1.1]), np.zeros(WATCHED)
    slip_velocity(work, watch)
    *force, mx, my, mz = unit_friction(work, watch)
    want = -work.R[0] @ [watch[SLIP_1], watch[SLIP_2], 0.0] / watch[SLIP]
    np.testing.assert_allclose(force, want, atol=1e-14)
    np.testing.assert_allclose([mx, my, mz], np.cross(work.D[0, 0] - work.point[0], want), atol=1e-14)
    work.guide[:2] = -watch[SLIP_1], -watch[SLIP_2]  # at the step's start it slipped the other way: its sense stays
    np.testing.assert_allclose(unit_friction(work, watch)[:3], -want, atol=1e-14)
    work.guide[:] = 0.0, 2.0, 1.0  # a long step: along the guide
    np.testing.assert_allclose(unit_friction(work, watch)[:3], -work.R[0, :, 1], atol=1e-14)


def test_a_step_is_long_where_friction_takes_much_of_the_slip():
    watch = np.zeros(WATCHED)
    watch[SLIP], watch[DECELERATION] = 0.1, 2.0
    limit = LONG * 0.1 / 2.0
    assert taken(watch, 0.99 * limit) == 0.0
    assert taken(watch, 1.01 * limit) == pytest.approx(1.01 * limit * 2.0)
    watch[SLIP] = 0.0
    assert taken(watch, 1.0) == 0.0


def test_the_guide_of_a_long_step_turns_a_little_or_the_step_is_refused():
    """d along w = s_1' + h a d': s_1' = (0.1, 2e-4), h a = 0.3 along x."""
    watch, guide = np.zeros(WATCHED), np.array([2.0, 0.0, 0.3])
    watch[[SLIP_1, SLIP_2]] = 0.1, 2e-4
    assert settle(guide, watch)
    np.testing.assert_allclose(guide, [2.0 * 0.4 / np.hypot(0.4, 2e-4), 2.0 * 2e-4 / np.hypot(0.4, 2e-4), 0.3])
    watch[SLIP_2] = 2e-2  # by 50 mrad
    assert not settle(np.array([2.0, 0.0, 0.3]), watch)
    watch[[SLIP_1, SLIP_2]] = -0.4, 0.0  # back beyond where it began
    assert not settle(np.array([2.0, 0.0, 0.3]), watch)
