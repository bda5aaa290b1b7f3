# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies of benchmarks/terrain.py stay above the terrain, and no certificate tells of what does not overlap."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from paths import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import terrain  # noqa: E402 (a program, not a package)


@pytest.mark.parametrize("kind", terrain.AS)
def test_polyhedra_tumble_over_a_checkered_terrain(kind):
    for number in (1, 4, 5, 11, 13, 14):  # on the far side of ridges
        told = terrain.run((0, number, "checkered", kind, 1e-3))
        assert max(told["deep"], told["false"]) < terrain.BAD and told["residual"] < 1e-9, told


def test_the_heights_are_those_of_the_triangles():
    heights = terrain.heights_of("rough", np.random.default_rng(0))
    solid, rng = terrain.terrain_mesh(heights), np.random.default_rng(1)
    share = rng.dirichlet(np.ones(3), len(solid.faces))
    points = np.einsum("fk,fkd->fd", share, solid.triangles)[solid.face_normals[:, 2] > 1e-6]
    assert len(points) == 2 * (terrain.POINTS - 1) ** 2
    np.testing.assert_allclose(terrain.over(heights, points), 0.0, atol=1e-12)
