# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a hull must fulfil."""

from __future__ import annotations

import numpy as np

CUBE = np.array([[x, y, z] for x in (-1.0, 1.0) for y in (-1.0, 1.0) for z in (-1.0, 1.0)])


def is_sound(hull, points):
    """Closed, outward, counterclockwise, and around all points and its origin."""
    height = hull.faces @ (points - hull.centre).T
    middle = [hull.vertices[hull.corners[hull.first_corner[f]]] for f in range(len(hull.faces))]
    tolerance = 2e-5 * np.linalg.norm(2.0 * hull.half) + hull.loss
    assert (height.max(axis=1) <= np.einsum("ij,ij->i", hull.faces, middle) + tolerance).all()
    for f, normal in enumerate(hull.faces):
        corners = hull.vertices[hull.corners[hull.first_corner[f] : hull.first_corner[f + 1]]]
        turns = np.cross(np.roll(corners, -1, axis=0) - corners, np.roll(corners, -2, axis=0) - corners)
        assert (turns @ normal > -1e-12).all()
    assert (np.einsum("ij,ij->i", hull.faces, middle) > 0.0).all()  # the origin is inside
    np.testing.assert_allclose(np.abs(hull.vertices).max(axis=0), hull.half, atol=1e-12)
