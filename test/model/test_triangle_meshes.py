# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a triangle mesh knows of itself, and what hulls and pieces say that they deviate from it.

Covers model/shapes/deviations.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.model.shapes.inertia import shell
from mb_contact.model.shapes.meshes import convex_bodies
from mb_contact.model.shapes.triangle_meshes import CLOSED, SHEET, triangle_mesh
from mb_contact.types import SHAPE_CONVEX, SHAPE_MESH
from scenes.mesh_bodies import bowl, circle, closed_around, half_circle, hollow_sphere, ring, sheet_of, wheel, write_obj


def made(corners):
    """A mesh of triangles (t, 3, 3)."""
    return triangle_mesh(corners.reshape(-1, 3), np.arange(3 * len(corners)).reshape(-1, 3))


def box():
    """A cube of side 2 with a square bore of side 1."""
    return wheel(np.sqrt(2.0) * circle(4, 0.5), np.sqrt(0.5), 2.0)


def test_planes_ridges_and_peaks_of_a_box_with_a_bore():
    body = made(box())
    assert body.sided == CLOSED and body.volume == pytest.approx(8.0 - 2.0, rel=1e-12)
    assert len(np.unique(body.patch)) == 10 and len(body.vertices) == 16
    assert len(body.ridge) == 12 + 8  # the four upright edges of the bore are hollow
    assert len(body.peak) == 16 and sorted(body.goes_on) == 12 * [0] + 8 * [12]  # rims of the bore end in hollows


def test_a_divided_ridge_is_one():
    points = np.array([(0, 0, 0), (1, 0, 0), (2, 0, 0), (2, 1, 0), (0, 1, 0), (0, 0, 1), (1, 0, 1), (2, 0, 1),
                       (2, 1, 1), (0, 1, 1)], dtype=float)  # fmt: skip
    faces = [(0, 4, 1), (4, 3, 1), (3, 2, 1), (5, 6, 9), (6, 8, 9), (6, 7, 8), (0, 1, 6), (0, 6, 5), (1, 2, 7),
             (1, 7, 6), (2, 3, 8), (2, 8, 7), (3, 4, 9), (3, 9, 8), (4, 0, 5), (4, 5, 9)]  # fmt: skip
    body = triangle_mesh(points, faces)
    assert body.sided == CLOSED and len(np.unique(body.patch)) == 6 and len(body.peak) == 8
    upper = [r for r, ends in enumerate(body.ridge.tolist()) if (body.vertices[ends][:, 1:] == [-0.5, 0.5]).all()]
    assert sorted(body.goes_on[upper].tolist()) in ([1, 2], [1, 1], [2, 2])
    middle = np.flatnonzero((body.vertices == [0.0, -0.5, 0.5]).all(axis=1))
    assert not np.isin(middle, body.peak).any()


@pytest.mark.parametrize("wind", [
    lambda shells, half: shells, lambda shells, half: shells[:, ::-1],
    lambda shells, half: np.concatenate([shells[:half, ::-1], shells[half:]]),
    lambda shells, half: np.concatenate([shells[:1, ::-1], shells[1:]]),
])  # fmt: skip
def test_a_cavity_is_one_however_it_is_wound(wind):
    shells = hollow_sphere(0.05, 0.06, 9, 16)
    body = made(wind(shells, len(shells) // 2))
    assert body.sided == CLOSED
    assert body.volume == pytest.approx(made(shells).volume, rel=1e-12) and 3.5e-4 < body.volume < 3.6e-4


def test_parts_that_overlap_are_solid_however_they_are_wound():
    """As a key's bit in its shaft, and a ward behind its plate: none of them is inside of the other."""
    shaft, bit = box(), 0.5 * box() + (0.5, 0.1, 0.2)
    body = made(np.concatenate([shaft, bit[:, ::-1]]))
    assert body.volume == pytest.approx(made(shaft).volume + 0.5 * 0.9 - 0.25 * 0.5)  # of the bit what is in the bore


def test_a_corner_knows_where_its_plane_ends():
    """Also where the edges at it are those of other triangles: half of those at the corners of a ring's wall."""
    body = made(ring(0.01, 0.02, 0.03, 8))
    edges, corners = body.border[:, :3], body.border[:, 3:].reshape(-1, 3, 2)
    for k in range(3):
        for ridge in (edges[:, k], edges[:, k - 1]):
            own = (ridge[:, None] == corners[:, k]).any(axis=1)
            assert own[ridge >= 0].all()
    assert (corners[..., 0] >= 0).all() and (edges < 0).any()


def test_a_sheet_has_every_triangle_twice():
    x, y = np.meshgrid([-1.0, 1.0], [-2.0, 2.0])
    sheet = made(sheet_of(np.stack([x, y, np.zeros((2, 2))], axis=2)))
    assert sheet.sided == SHEET and len(sheet.triangles) == 4 and len(sheet.ridge) == 4 and len(sheet.peak) == 4
    assert sorted(sheet.faces[:, 2].tolist()) == [-1.0, -1.0, 1.0, 1.0] and sheet.half[2] == 0.0
    for shift in (0.0, 1e6):
        body = shell(sheet.vertices[sheet.triangles] + shift, 12.0)
        assert np.allclose(np.diag(body.inertia), [16.0, 4.0, 20.0]) and np.allclose(body.com, shift)


def test_the_tree_of_boxes_holds_every_triangle_once():
    body = made(bowl(0.05, 0.005, 7, 24))
    leaves = body.child[body.child[:, 0] < 0]
    assert sorted(body.order.tolist()) == list(range(len(body.triangles))) and leaves[:, 1].sum() == len(body.order)
    for (lower, upper), (first, count) in zip(body.box, body.child):
        if first < 0:
            corners = body.vertices[body.triangles[body.order[-1 - first : -1 - first + count]]].reshape(-1, 3)
            assert (corners >= lower).all() and (corners <= upper).all()


@pytest.mark.parametrize(("corners", "gap"), [
    (ring(0.01, 0.02, 0.03, 4, 0.5), 0.01 * np.sqrt(0.5)), (box(), np.sqrt(0.5) * np.sqrt(0.5)),
], ids=["ring", "bore"])  # fmt: skip
def test_a_hull_tells_how_far_it_is_from_its_mesh(tmp_path, monkeypatch, corners, gap):
    monkeypatch.setenv("MB_CONTACT_CACHE_DIR", str(tmp_path))
    file = write_obj(tmp_path / "mesh.obj", corners)
    (hull,) = convex_bodies(file)
    body = made(corners)
    whole = np.ptp(body.vertices, axis=0).prod()
    assert hull.gap == pytest.approx(gap, rel=0.03) and hull.excess == pytest.approx(whole - body.volume, rel=1e-9)
    again = convex_bodies(file)[0]
    assert (again.gap, again.excess) == (hull.gap, hull.excess)


@pytest.mark.parametrize("count, told", [(2, 2), (4, 1)])
def test_many_hulls_of_one_robot_are_told_of_in_one_sentence(tmp_path, count, told):
    write_obj(tmp_path / "bowl.obj", bowl(0.05, 0.005, 7, 24))
    mesh = f'<mesh filename="{tmp_path}/bowl.obj" scale="{{0}} {{0}} {{0}}"/>'
    links = "".join(
        f'<link name="bowl_{i}"><collision><geometry>{mesh.format(1 + i)}</geometry></collision></link>'
        for i in range(count)
    )
    joints = "".join(
        f'<joint name="j{i}" type="fixed"><parent link="bowl_0"/><child link="bowl_{i}"/></joint>'
        for i in range(1, count)
    )
    warnings = mb.load_urdf(f'<robot name="r">{links}{joints}</robot>').warnings
    assert len(warnings) == told and all("its convex hull is up to" in line for line in warnings)
    if told == 1:
        assert "link 'bowl_3'" in warnings[0] and "by less those of 'bowl_2' 147" in warnings[0]
        assert warnings[0].index("'bowl_1' 9") < warnings[0].index("'bowl_0' 4")


def test_a_scene_tells_what_a_hull_closes(tmp_path):
    file = write_obj(tmp_path / "bowl.obj", bowl(0.05, 0.005, 7, 24))
    primitive = mb.model.Primitive(
        "bowl", "mesh", mesh=str(file), base="free", mass=0.2, collision_meshes="convex_hull"
    )
    (warning,) = mb.build_world(mb.Scene(primitives=(primitive,))).warnings
    assert "primitives[0] (bowl): its convex hull is up to 49" in warning and "collision_meshes: mesh" in warning
    for choice in ("mesh", "auto"):
        exact = mb.model.Primitive("bowl", "mesh", mesh=str(file), base="free", mass=0.2, collision_meshes=choice)
        world = mb.build_world(mb.Scene(primitives=(exact,)))
        assert world.warnings == () and world.geoms.kind[0] == SHAPE_MESH


def test_a_mesh_that_is_convex_in_truth_is_its_hull(tmp_path):
    """By default; and so is one for which the scene gives the number of its vertices."""
    convex = write_obj(tmp_path / "ball.obj", sheet_of(closed_around(half_circle(0.05, 9), 16)))
    concave = write_obj(tmp_path / "bowl.obj", bowl(0.05, 0.005, 7, 24))
    for file, more in ((convex, {}), (concave, {"hull_vertices": 30})):
        body = mb.model.Primitive("body", "mesh", mesh=str(file), base="free", mass=0.2, **more)
        assert mb.build_world(mb.Scene(primitives=(body,))).geoms.kind[0] == SHAPE_CONVEX


@pytest.mark.slow
def test_pieces_are_cut_finer_down_to_a_tolerance(tmp_path, monkeypatch):
    pytest.importorskip("vhacdx")
    monkeypatch.setenv("MB_CONTACT_CACHE_DIR", str(tmp_path))
    file = write_obj(tmp_path / "box.obj", box())
    pieces = convex_bodies(file, method="convex_pieces", tolerance=0.2)
    assert len(pieces) > 1 and pieces[0].gap <= 0.2
