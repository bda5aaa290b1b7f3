# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scans as they occur: flaps, solids that touch along an edge, holes; mass of a mesh of given density."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import SceneError
from mb_contact.model.scene import Primitive, Scene
from mb_contact.model.shapes.deviations import told
from mb_contact.model.shapes.shape_meshes import box_mesh
from mb_contact.model.shapes.triangle_meshes import CLOSED, SHEET, triangle_mesh
from mb_contact.viewer.drawing import scene_drawing


def two_boxes():
    """Two unit cubes that have one edge in common: four triangles hang together there."""
    vertices, triangles = box_mesh((0.5, 0.5, 0.5))
    return np.concatenate([vertices, vertices + (1.0, 1.0, 0.0)]), np.concatenate([triangles, triangles + 8])


def finely_divided(times=4):
    """A cube with 12 * 4**times triangles."""
    vertices, triangles = box_mesh((0.5, 0.5, 0.5))
    for _ in range(times):
        a, b, c = (vertices[triangles[:, k]] for k in range(3))
        corners = np.stack([a, b, c, 0.5 * (a + b), 0.5 * (b + c), 0.5 * (c + a)], axis=1).reshape(-1, 3)
        new = np.array([(0, 3, 5), (3, 1, 4), (5, 4, 2), (3, 4, 5)])
        vertices, triangles = corners, (new[None] + 6 * np.arange(len(triangles))[:, None, None]).reshape(-1, 3)
    return vertices, triangles


def write(path, vertices, triangles):
    lines = [f"v {x} {y} {z}" for x, y, z in vertices.tolist()] + [f"f {a} {b} {c}" for a, b, c in triangles + 1]
    path.write_text("\n".join(lines))
    return str(path)


@pytest.mark.parametrize("turned", [False, True])
def test_solids_that_touch_along_an_edge_are_solid(turned):
    vertices, triangles = two_boxes()
    mesh = triangle_mesh(vertices, triangles[:, ::-1] if turned else triangles)
    assert mesh.sided == CLOSED and mesh.volume == pytest.approx(2.0)
    assert len(np.unique(mesh.patch)) == 12 and told([mesh]) is None


def test_a_flap_of_a_scan_costs_no_solid_and_no_corner():
    """A triangle and its reverse on an edge of a box, whose tip stands out."""
    vertices, triangles = box_mesh((0.5, 0.5, 0.5))
    a, b = triangles[0, :2]
    flap = np.array([(a, b, 8), (b, a, 8)])
    mesh = triangle_mesh(np.concatenate([vertices, [(0.0, 0.0, 2.0)]]), np.concatenate([triangles, flap]))
    assert mesh.sided == CLOSED and mesh.volume == pytest.approx(1.0) and len(mesh.vertices) == 8
    leaf = triangle_mesh(np.eye(3), np.array([(0, 1, 2), (0, 2, 1)]))
    assert leaf.sided == SHEET and len(leaf.triangles) in (2, 4)  # both sides of a leaf are no flap


def test_a_mesh_with_a_small_hole_is_told_one_that_is_meant_open_is_not():
    vertices, triangles = finely_divided()
    assert told([triangle_mesh(vertices, triangles)]) is None
    message = told([triangle_mesh(vertices, triangles[1:])])
    assert message.startswith("its mesh is not closed (3 of 4608 edges")
    vertices, triangles = box_mesh((0.5, 0.5, 0.5))
    assert told([triangle_mesh(vertices, triangles[2:])]) is None


def test_mass_and_inertia_of_a_mesh_of_given_density(tmp_path):
    """An L of three cubes as a mesh, in contact its hull: its own mass, centre and inertia."""
    cubes = [np.array(at) for at in ((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), (0.0, 1.0, 0.0))]
    outline = np.array([(0, 0), (2, 0), (2, 1), (1, 1), (1, 2), (0, 2)]) - 0.5
    vertices = np.concatenate([np.column_stack([outline, np.full(6, z)]) for z in (-0.5, 0.5)])
    cap = np.array([(0, 1, 2), (0, 2, 3), (0, 3, 4), (0, 4, 5)])
    sides = [t for i in range(6) for j in [(i + 1) % 6] for t in ((i, j, j + 6), (i, j + 6, i + 6))]
    file = write(tmp_path / "l.obj", vertices, np.concatenate([cap[:, ::-1], cap + 6, sides]))
    for kind in ("convex_hull", "mesh"):
        part = Primitive("l", "mesh", mesh=file, base="free", density=2.0, collision_meshes=kind)
        tree = mb.build_world(Scene(primitives=(part,))).tree
        com = np.mean(cubes, axis=0)
        inertia = sum(2.0 * (np.eye(3) / 6.0 + (d @ d) * np.eye(3) - np.outer(d, d)) for d in (c - com for c in cubes))
        assert tree.mass[0] == pytest.approx(6.0)
        np.testing.assert_allclose(tree.com[0], com, atol=1e-12)
        np.testing.assert_allclose(tree.inertia[0], inertia, atol=1e-12)
    scaled = Primitive("l", "mesh", mesh=file, base="free", density=2.0, scale=(0.1, 0.1, -0.1))
    assert mb.build_world(Scene(primitives=(scaled,))).tree.mass[0] == pytest.approx(6e-3)
    hole = write(tmp_path / "open.obj", vertices, np.concatenate([cap[:, ::-1], sides]))
    with pytest.raises(SceneError, match=r"primitives\[0\].density: the mesh is open .* give a mass"):
        mb.build_world(Scene(primitives=(Primitive("l", "mesh", mesh=hole, base="free", density=2.0),)))


def test_the_view_tells_by_how_much_a_hull_deviates(tmp_path):
    file = write(tmp_path / "boxes.obj", *two_boxes())
    scene = Scene(primitives=(Primitive("a", "mesh", mesh=file, collision_meshes="convex_hull"),))
    (line,) = scene_drawing(scene, mb.build_world(scene)).missing
    assert "its convex hull is up to" in line and "mm from the mesh (volume +1e+06 cm^3)" in line


@pytest.mark.parametrize(("shape", "size", "volume"), [
    ("sphere", (0.5,), np.pi / 6.0), ("box", (1.0, 2.0, 3.0), 6.0), ("cylinder", (1.0, 2.0), 2.0 * np.pi),
    ("cone", (1.0, 3.0), np.pi), ("capsule", (1.0, 1.0), 7.0 / 3.0 * np.pi), ("ellipsoid", (1.0, 2.0, 3.0), np.pi),
])  # fmt: skip
def test_mass_of_shapes_of_given_density(shape, size, volume):
    body = Primitive("a", shape, size, base="free", density=3.0)
    assert mb.build_world(Scene(primitives=(body,))).tree.mass[0] == pytest.approx(3.0 * volume)
    with pytest.raises(SceneError, match="mass and density"):
        mb.build_world(Scene(primitives=(Primitive("a", shape, size, base="free", density=3.0, mass=1.0),)))
