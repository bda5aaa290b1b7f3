# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closest points of two surfaces where they are known: spheres, a sphere over a plane, along a direction."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.surfaces.closest import NOT_CONVERGED, closest_points
from mb_contact.core.surfaces.contact import SINGULAR_CONTACT
from mb_contact.core.surfaces.layout import make_surface_work
from mb_contact.surfaces import shapes
from mb_contact.types import OK

pytestmark = pytest.mark.nojit

LIMIT = 1e-13


def closest(first, second, R, p, guess, direction=(0.0, 0.0, 0.0)):
    """(status, x) of two surfaces, the second one placed by R and p."""
    code, data = first.pack(0)
    other, more = second.pack(0)
    codes = np.array([code, other])
    codes[1, 1] += len(data)
    x, work = np.array(guess, float), make_surface_work()
    status = closest_points(
        codes, np.concatenate((data, more)), np.array([R]), np.array([p], float), x, np.array(direction, float), work,
        np.zeros((5, 5)), np.zeros(5, np.int64), LIMIT,
    )  # fmt: skip
    return status, x


def about_x(angle):
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1.0, 0.0, 0.0], [0.0, c, -s], [0.0, s, c]])


@pytest.mark.parametrize("distance", [1.0, 0.7, 0.5, 0.45])
def test_spheres_are_nearest_on_the_line_of_their_centres(distance):
    """Apart, in touch (radii 0.3 and 0.2) and in each other."""
    first, second = shapes.sphere(0.3), shapes.sphere(0.2)
    axis = np.array([0.8, 0.36, 0.48])
    status, x = closest(first, second, np.eye(3), distance * axis, [0.3, 0.4, -2.5, -0.6, 0.1])
    assert status == OK
    np.testing.assert_allclose(first.point(x[:2]), 0.3 * axis, atol=1e-12)
    np.testing.assert_allclose(second.point(x[2:4]), -0.2 * axis, atol=1e-12)
    assert x[4] == pytest.approx(distance - 0.5, abs=1e-12)


def test_an_ellipsoid_over_a_plane():
    """Turned about x by 0.4: the support function says how low it reaches."""
    axes, R = np.array([0.3, 0.2, 0.1]), about_x(0.4)
    status, x = closest(shapes.plane(), shapes.ellipsoid(axes), R, [0.5, -0.2, 1.0], [0.5, -0.2, -1.5, -0.8, 0.8])
    assert status == OK
    assert x[4] == pytest.approx(1.0 - np.sqrt(((axes * R[2]) ** 2).sum()), abs=1e-12)


def test_travel_along_a_direction():
    """A sphere that comes down a slope of 45 degrees to the plane travels root 2 times its height."""
    down = np.array([1.0, 0.0, -1.0]) / np.sqrt(2.0)
    status, x = closest(
        shapes.plane(), shapes.sphere(0.1), about_x(1.0), [0.0, 0.0, 0.6], [0.4, 0.0, -1.5, -0.5, 0.6], -down
    )
    assert status == OK and x[4] == pytest.approx(0.5 * np.sqrt(2.0), abs=1e-12)
    np.testing.assert_allclose(x[:2], [0.5, 0.0], atol=1e-12)


def test_what_has_no_answer_is_named():
    """Along a direction in which it never meets the plane; and from a guess that is no number."""
    place = shapes.plane(), shapes.sphere(0.1), about_x(1.0), [0.0, 0.0, 0.6]
    assert closest(*place, [0.0, 0.0, -1.5, -0.5, 0.6], (1.0, 0.0, 0.0))[0] in (NOT_CONVERGED, SINGULAR_CONTACT)
    assert closest(*place, [0.0, 0.0, -1.5, -0.5, np.nan])[0] in (NOT_CONVERGED, SINGULAR_CONTACT)
