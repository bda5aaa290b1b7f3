# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inertias of solids, and of bodies welded together.

Covers model/shapes/primitives.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.model.rotations import rpy_to_matrix
from mb_contact.model.shapes.inertia import RigidInertia, solid, weld
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CYLINDER,
    SHAPE_SPHERE,
)

pytestmark = pytest.mark.quick


@pytest.mark.parametrize(
    ("kind", "size"),
    [
        (SHAPE_SPHERE, (0.3, 0.0, 0.0)),
        (SHAPE_CAPSULE, (0.2, 0.4, 0.0)),
        (SHAPE_CYLINDER, (0.2, 0.4, 0.0)),
        (SHAPE_BOX, (0.1, 0.2, 0.3)),
    ],
)
def test_inertia_of_a_solid_against_sampling(kind, size):
    rng = np.random.default_rng(3)
    x = rng.uniform(-0.6, 0.6, (200_000, 3))
    radial, along = np.hypot(x[:, 0], x[:, 1]), np.abs(x[:, 2])
    inside = {
        SHAPE_SPHERE: np.hypot(radial, along) < size[0],
        SHAPE_CAPSULE: np.hypot(radial, np.maximum(along - size[1], 0.0)) < size[0],
        SHAPE_CYLINDER: (radial < size[0]) & (along < size[1]),
        SHAPE_BOX: (np.abs(x) < np.array(size)).all(axis=1),
    }[kind]
    x = x[inside]
    sampled = np.eye(3) * (x**2).sum() / len(x) - x.T @ x / len(x)
    np.testing.assert_allclose(solid(kind, size, 5.0), 5.0 * sampled, atol=5.0 * 0.03 * sampled.max())


def test_welding_two_halves_gives_the_whole():
    half = RigidInertia(1.0, np.array([0.0, 0.0, 0.5]), solid(SHAPE_BOX, (0.1, 0.2, 0.5), 1.0))
    turned = half.transformed(rpy_to_matrix([np.pi, 0.0, 0.0]), np.zeros(3))
    whole = weld([half, turned])
    assert whole.mass == 2.0
    np.testing.assert_allclose(whole.com, 0.0, atol=1e-15)
    np.testing.assert_allclose(whole.inertia, solid(SHAPE_BOX, (0.1, 0.2, 1.0), 2.0), atol=1e-15)
