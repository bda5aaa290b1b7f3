# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact kinematics: pose, contact matrix and rate against rigid motions, hand-over."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import DynamicsError, InputError
from mb_contact.surfaces import shapes
from mb_contact.surfaces.contact import SurfaceContact
from scenes.surface_cases import nets, rotation, surface_of

pytestmark = pytest.mark.nojit

PAIRS = [
    ("plane", "bezier"), ("ellipsoid", "torus"), ("cylinder", "ellipsoid"), ("bezier", "sphere"),
    ("nurbs", "rational bezier"), ("torus", "torus"),
]  # fmt: skip
Q = np.array([0.37, 0.45, 0.61, 0.21, 0.8])
RATE = np.array([0.7, -0.4, 0.3, 0.9, -1.1])


def pair(base, body):
    """Two placed surfaces, the body's poses about an offset point."""
    base = surface_of(base).placed(rotation((0.0, 0.6, 0.8), 0.4), (0.1, 0.2, -0.3))
    body = surface_of(body).flipped().placed(rotation((0.6, 0.8, 0.0), -1.1), (-0.2, 0.1, 0.4))
    return SurfaceContact(base, body, offset=(0.05, -0.1, 0.15))


def rigid_velocity(contact, q, rate, h=1e-3):
    """Relative velocity at the offset point from poses alone: central differences of order 8."""
    weights = {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}
    R_dot, o_dot = np.zeros((3, 3)), np.zeros(3)
    for step, weight in weights.items():
        for sign in (1, -1):
            R, o = contact.pose(q + sign * step * h * rate)
            R_dot, o_dot = R_dot + sign * weight / h * R, o_dot + sign * weight / h * o
    spin = R_dot @ contact.pose(q)[0].T
    return np.array([spin[2, 1], spin[0, 2], spin[1, 0], *o_dot])


@pytest.mark.parametrize(("base", "body"), PAIRS)
def test_surfaces_touch_with_opposite_normals(base, body):
    contact = pair(base, body)
    R, o = contact.pose(Q)
    one, two = contact.surfaces
    np.testing.assert_allclose(o + R @ (two.point(Q[2:4]) - contact.offset), one.point(Q[:2]), atol=1e-14)
    np.testing.assert_allclose(R @ two.frame(Q[2:4])[:, 2], -one.frame(Q[:2])[:, 2], atol=1e-14)
    np.testing.assert_allclose(contact.coordinates(Q[:2], Q[2:4], R), Q, atol=1e-14)


@pytest.mark.parametrize(("base", "body"), PAIRS)
def test_contact_matrix_is_the_velocity_of_the_rigid_motion(base, body):
    contact = pair(base, body)
    H = contact.matrix(Q)
    for rate in (*np.eye(5), RATE):
        np.testing.assert_allclose(H @ rate, rigid_velocity(contact, Q, rate), atol=2e-9 * (1.0 + np.abs(H).max()))


@pytest.mark.parametrize(("base", "body"), PAIRS)
def test_its_rate_is_the_change_along_the_motion(base, body):
    contact, h = pair(base, body), 1e-3
    want = np.zeros((6, 5))
    for step, weight in {1: 4 / 5, 2: -1 / 5, 3: 4 / 105, 4: -1 / 280}.items():
        want += weight / h * (contact.matrix(Q + step * h * RATE) - contact.matrix(Q - step * h * RATE))
    got = contact.matrix_rate(Q, RATE)
    np.testing.assert_allclose(got, want, atol=2e-9 * (1.0 + np.abs(want).max()))


def test_the_sign_of_the_print_is_wrong_by_two():
    """P00 Eq. 12 has a minus before H_psi = (0 0 -1 0 0 0)*; the motion says plus."""
    contact = pair("plane", "bezier")
    H = contact.contact_frame_matrix(Q)
    np.testing.assert_allclose(H[:, 4], (0, 0, -1, 0, 0, 0), atol=1e-14)
    printed = H.copy()
    printed[:, 4] *= -1.0
    R, arm = contact.surfaces[0].frame(Q[:2]), contact.pose(Q)[1] - contact.surfaces[0].point(Q[:2])
    velocity = rigid_velocity(contact, Q, np.eye(5)[4])
    velocity = np.concatenate((R.T @ velocity[:3], R.T @ (velocity[3:] - np.cross(velocity[:3], arm))))
    assert np.abs(H[:, 4] - velocity).max() < 1e-9
    assert np.abs(printed[:, 4] - velocity).max() == pytest.approx(2.0, abs=1e-9)


@pytest.mark.parametrize(("base", "body"), PAIRS)
def test_contact_matrix_has_no_normal_velocity_and_montana_inverts_it(base, body):
    contact = pair(base, body)
    H = contact.contact_frame_matrix(Q)
    np.testing.assert_allclose(H[5], 0.0, atol=1e-13)
    np.testing.assert_allclose(H[:5] @ contact.rates(Q), np.eye(5), atol=1e-11)


def test_hand_over_changes_the_chart_and_not_the_motion():
    contact = SurfaceContact(shapes.ellipsoid((1.0, 0.7, 0.5)), shapes.sphere(0.3), (0, 0))
    q = np.array([0.3, 1.2, -0.4, 1.3, 0.5])  # both beyond the latitude their chart is meant for
    before = contact.pose(q), contact.matrix(q) @ RATE, contact.points(q)
    q_new, rate = contact.hand_over(q, RATE)
    assert contact.charts == (1, 1)
    for was, now in zip((*before[0], *before[2]), (*contact.pose(q_new), *contact.points(q_new))):
        np.testing.assert_allclose(now, was, atol=1e-14)
    np.testing.assert_allclose(contact.matrix(q_new) @ rate, before[1], atol=1e-13)


def test_the_edge_of_a_patch_is_an_error_that_says_where():
    contact = SurfaceContact(shapes.bezier(nets()[0], name="sheet"), shapes.sphere(0.05))
    with pytest.raises(DynamicsError, match="edge of sheet"):
        contact.hand_over(np.array([1.01, 0.5, 0.2, 0.3, 0.0]), RATE)


@pytest.mark.parametrize(
    ("act", "error", "words"),
    [
        (lambda c: c.pose(np.zeros(4)), InputError, "5 entries"),
        (lambda c: c.rates(np.zeros(5)), DynamicsError, "single point"),
        (lambda c: c.first_touch(np.eye(3), (0, 0, 2), (0, 0, 0)), InputError, "direction"),
        (lambda c: c.coordinates((0, 0), (0, 0), np.eye(3)), InputError, "opposite"),
    ],
)
def test_what_is_refused(act, error, words):
    with pytest.raises(error, match=words):
        act(SurfaceContact(shapes.plane(), shapes.plane()))
