# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Poses of geometries from those of their bodies."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.collision import make_buffers
from mb_contact.core.collision.geometry import geometry_poses
from mb_contact.types import WORLD
from scenes.collision_cases import (
    Shape,
    World,
    random_rotation,
)


@pytest.mark.nojit
def test_geometry_poses_compose_body_and_geometry():
    rng = np.random.default_rng(0)
    R_body, R_geom = random_rotation(rng), random_rotation(rng)
    p_body, p_geom = rng.normal(size=3), rng.normal(size=3)
    geoms = World([Shape("sphere", (1.0,), np.zeros(3))] * 2).geoms._replace(
        body=np.array([0, WORLD]), R=np.array([R_geom, R_geom]), p=np.array([p_geom, p_geom])
    )
    buffers = make_buffers(geoms)
    geometry_poses(geoms, R_body[None].copy(), p_body[None].copy(), buffers.geom_R, buffers.geom_p)
    np.testing.assert_allclose(buffers.geom_R, [R_body @ R_geom, R_geom], atol=1e-15)
    np.testing.assert_allclose(buffers.geom_p, [p_body + R_body @ p_geom, p_geom], atol=1e-15)
