# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Convex hulls: faces, rounding, thinning, inertia."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from mb_contact.model.shapes import meshes as meshes_module
from mb_contact.model.shapes.hulls import MOST_VERTICES, convex_hull, sharpest_angle
from mb_contact.model.shapes.inertia import solid, solid_polyhedra
from mb_contact.types import SHAPE_BOX, SHAPE_CONE, SHAPE_ELLIPSOID
from scenes.hull_cases import CUBE, is_sound

pytestmark = pytest.mark.quick


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(meshes_module, "cache_folder", lambda kind: tmp_path / "hulls")


def test_the_sharpest_angle_of_a_hull():
    assert sharpest_angle(convex_hull(CUBE)) == pytest.approx(np.pi / 2, abs=1e-12)
    corners = np.array([(1.0, 1.0, 1.0), (1.0, -1.0, -1.0), (-1.0, 1.0, -1.0), (-1.0, -1.0, 1.0)])
    assert sharpest_angle(convex_hull(corners)) == pytest.approx(np.arccos(1.0 / 3.0), abs=1e-12)
    wedge = np.array([(x, y, 0.0) for x in (0.0, 1.0) for y in (0.0, 1.0)] + [(1.0, y, 0.2) for y in (0.0, 1.0)])
    assert sharpest_angle(convex_hull(wedge)) == pytest.approx(np.arctan(0.2), abs=1e-12)
    around = np.arange(6) * np.pi / 3.0  # a needle, whose edges are blunt: its opposite sides
    needle = np.append(np.column_stack([np.cos(around), np.sin(around), np.zeros(6)]), [[0.0, 0.0, 5.0]], axis=0)
    assert sharpest_angle(convex_hull(needle)) == pytest.approx(2.0 * np.arctan(np.sqrt(0.75) / 5.0), abs=1e-12)


def test_a_cube_has_six_square_faces():
    hull = convex_hull(CUBE + [3.0, 0.0, 0.0])
    assert len(hull.vertices) == 8 and len(hull.faces) == 6
    assert (np.diff(hull.first_corner) == 4).all()
    np.testing.assert_allclose(np.abs(hull.faces).max(axis=1), 1.0, atol=1e-12)
    np.testing.assert_allclose(hull.centre, [3.0, 0.0, 0.0])
    is_sound(hull, CUBE + [3.0, 0.0, 0.0])


def test_the_origin_of_a_hull_is_well_inside_of_it():
    corner = np.array([(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)], float)  # the middle of its box is beyond a face
    wedge = CUBE[np.abs(CUBE[:, 0] - CUBE[:, 2]).argsort()[:6]]
    for points, least in ((corner, 0.14), (wedge, 0.2), (CUBE, 0.49)):
        hull = convex_hull(points)
        planes = ConvexHull(hull.vertices).equations
        assert -planes[:, 3].max() > least * np.ptp(points, axis=0).min()
        is_sound(hull, points)


def test_rounding_of_a_file_does_not_split_a_face():
    angles = np.linspace(0.0, 2.0 * np.pi, 24, endpoint=False)
    ring = np.column_stack([np.cos(angles), np.sin(angles), np.zeros(24)])
    points = np.float32(np.concatenate([ring, ring + [0.0, 0.0, 0.5]]) + [0.1, 0.2, 0.3])
    hull = convex_hull(points)
    assert len(hull.faces) == 26 and np.diff(hull.first_corner).max() == 24
    is_sound(hull, points)


def test_random_hulls_are_sound():
    rng = np.random.default_rng(0)
    for _ in range(5):
        points = rng.normal(size=(60, 3)) * rng.uniform(0.01, 1.0, 3)
        hull = convex_hull(points)
        assert hull.loss == 0.0 and not hull.flat
        assert ConvexHull(hull.vertices).volume == pytest.approx(ConvexHull(points).volume, rel=1e-12)
        is_sound(hull, points)


def test_a_hull_of_very_many_vertices_is_thinned_and_says_by_how_much():
    rng = np.random.default_rng(0)
    points = rng.normal(size=(3000, 3))
    points /= np.linalg.norm(points, axis=1)[:, None]
    hull = convex_hull(points)
    planes = ConvexHull(hull.vertices).equations
    out = ((points - hull.centre) @ planes[:, :3].T + planes[:, 3]).max()
    assert len(hull.vertices) == MOST_VERTICES
    assert out == pytest.approx(hull.loss, abs=1e-9) and 0.0 < hull.loss < 0.03
    is_sound(hull, points)


def test_flat_points_get_a_thickness_and_lines_are_refused():
    hull = convex_hull(CUBE * [1.0, 1.0, 0.0])
    assert hull.flat and hull.half[2] == pytest.approx(0.5 * 1e-3 * np.sqrt(8.0))
    with pytest.raises(ValueError, match="in a line"):
        convex_hull(CUBE * [1.0, 0.0, 0.0])
    with pytest.raises(ValueError, match="in one place"):
        convex_hull(0.0 * CUBE)
    with pytest.raises(ValueError, match="three finite points"):
        convex_hull(CUBE * np.nan)


@pytest.mark.parametrize("kind", [SHAPE_CONE, SHAPE_ELLIPSOID, SHAPE_BOX])
def test_inertia_of_solids_is_that_of_a_fine_polyhedron(kind):
    size = np.array([0.3, 0.5, 0.0 if kind == SHAPE_CONE else 0.2])
    if kind == SHAPE_BOX:
        points = CUBE * size
    elif kind == SHAPE_CONE:
        angles = np.linspace(0.0, 2.0 * np.pi, 200, endpoint=False)
        rim = np.column_stack([0.3 * np.cos(angles), 0.3 * np.sin(angles), np.full(200, -0.5)])
        points = np.vstack([rim, [[0.0, 0.0, 0.5]]])
    else:
        rng = np.random.default_rng(0)
        points = rng.normal(size=(4000, 3))
        points = points / np.linalg.norm(points, axis=1)[:, None] * size
    hull = ConvexHull(points)
    triangles = hull.simplices.copy()
    corners = points[triangles]
    inward = np.einsum("ij,ij->i", np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]),
                       hull.equations[:, :3]) < 0  # fmt: skip
    triangles[inward] = triangles[inward][:, ::-1]
    body = solid_polyhedra([(points, triangles)], 2.0)
    np.testing.assert_allclose(body.inertia, solid(kind, size, 2.0), rtol=5e-3, atol=2e-4)
    np.testing.assert_allclose(body.com, [0.0, 0.0, -0.25 if kind == SHAPE_CONE else 0.0], atol=2e-3)
