# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies whose sides are flush with those of what they stand on, and sheets on all that has triangles.

Covers core/collision/height_ridges.py, core/collision/mesh_pairs.py, core/collision/manifold_clip.py,
core/step/sheet_sides.py.
"""

from dataclasses import replace

import numpy as np
import pytest
import trimesh
from scipy.spatial.transform import Rotation

import mb_contact as mb

Pose, Primitive = mb.model.Pose, mb.model.Primitive
LEAST, SIZES = 2e-7, (0.05, 0.1, 0.2)  #: files of triangles have single precision


def stand(kind, size, pose, folder, ending="stl"):
    """What stands still, its upper side at ``size[2]``."""
    if kind == "height_field":
        grid = ((float(size[2]),) * 4,) * 5
        heights = mb.model.scene.Heights(grid=grid)
        return Primitive("stand", "height_field", tuple(size[:2]), heights=heights, pose=pose)
    if kind == "box":
        x, y, z = (pose.position[i] + (size[2] / 2 if i == 2 else 0.0) for i in range(3))
        return Primitive("stand", "box", tuple(size), pose=replace(pose, position=(x, y, z)))
    body = trimesh.creation.box(size)
    if kind == "fine_mesh":
        body = body.subdivide().subdivide()
    body.apply_translation((0, 0, size[2] / 2))
    body.export(folder / f"stand.{ending}")
    return Primitive("stand", "mesh", mesh=str(folder / f"stand.{ending}"), pose=pose,
                     collision_meshes="convex_hull" if kind == "convex_hull" else "mesh")  # fmt: skip


def body(kind, size, pose, folder, ending="stl"):
    """What falls."""
    if kind == "box":
        return Primitive("body", "box", tuple(size), pose=pose, base="free", mass=1.0)
    if kind == "cylinder":
        return Primitive("body", "cylinder", (min(size[:2]) / 2, size[2]), pose=pose, base="free", mass=1.0)
    shape = trimesh.creation.box(size)
    (shape.subdivide().subdivide() if kind == "fine_mesh" else shape).export(folder / f"body.{ending}")
    return Primitive("body", "mesh", mesh=str(folder / f"body.{ending}"), pose=pose, base="free", mass=1.0,
                     collision_meshes="convex_hull" if kind == "convex_hull" else "mesh")  # fmt: skip


def offset(rng, room, width):
    """Places at which sides are flush, but for as much as rounding or more, or at which they are not."""
    flush = (room, -room, 0.0, room + rng.choice([-1, 1]) * 10.0 ** rng.uniform(-12, -4))
    return np.clip((*flush, rng.uniform(-0.25, 0.25) * width)[rng.integers(5)], -0.45 * width, 0.45 * width)


@pytest.mark.parametrize("kind", ["box", "convex_hull", "cylinder", "mesh"])
@pytest.mark.parametrize("below", ["mesh", "fine_mesh", "height_field"])
def test_a_body_rests_on_what_its_sides_are_flush_with(tmp_path, kind, below):
    rng = np.random.default_rng([len(kind), len(below)])
    for _ in range(12):
        width, size = rng.choice(SIZES, 3), rng.choice(SIZES, 3)
        place = [offset(rng, 0.5 * (w - s), w) for w, s in zip(width[:2], size[:2], strict=True)]
        turn, gap = rng.choice([0.0, 0.7]), rng.choice([0.0, 1e-9, 1e-6, 1e-3])
        c, s = np.cos(turn), np.sin(turn)
        at = (c * place[0] - s * place[1], s * place[0] + c * place[1], width[2] + size[2] / 2 + gap)
        scene = mb.Scene(primitives=(
            stand(below, width, Pose((0, 0, 0), (0, 0, turn)), tmp_path),
            body(kind, size, Pose(at, (0, 0, turn)), tmp_path),
        ))  # fmt: skip
        sim = mb.Simulator(scene)
        for _ in range(80):
            assert sim.step().certificate.end_gap > -LEAST
        assert abs(sim.link_pose("body")[0][2] - width[2] - size[2] / 2) < LEAST, (width, size, place, gap)


def test_a_body_is_pushed_against_a_side_of_its_own_size(tmp_path):
    wall = stand("mesh", (0.1, 0.1, 0.1), Pose((0, 0, 0)), tmp_path)
    box = body("box", (0.1, 0.1, 0.1), Pose((0.11, 0, 0.05)), tmp_path)
    sim = mb.Simulator(mb.Scene(primitives=(wall, box), ground=mb.model.Ground(), gravity=(-6.0, 0.0, -9.81)))
    sim.step(steps=200)
    assert sim.link_pose("body")[0] == pytest.approx([0.1, 0.0, 0.05], abs=LEAST)


@pytest.mark.parametrize("winding", [1, -1])
@pytest.mark.parametrize("below", ["mesh", "fine_mesh", "sheet", "height_field"])
@pytest.mark.parametrize("rpy", [(0.0, 0.0, 0.0), (0.1, 0.2, 0.3)])
@pytest.mark.parametrize("bent", [False, True])
def test_a_sheet_rests_on_triangles(tmp_path, below, winding, rpy, bent):
    corners = np.array([[-3, -3, 0], [3, -3, 0], [3, 3, 0], [-3, 3, 0], [3, -3, 4], [3, 3, 4]]) / 100.0
    triangles = np.array([[0, 1, 2], [0, 2, 3], [1, 4, 2], [2, 4, 5]] if bent else [[0, 1, 2], [0, 2, 3]])
    trimesh.Trimesh(corners, triangles[:, ::winding], process=False).export(tmp_path / "sheet.stl")
    if below == "sheet":
        trimesh.Trimesh(10 * corners[:4], triangles[:2]).export(tmp_path / "floor.stl")
        floor = Primitive("stand", "mesh", mesh=str(tmp_path / "floor.stl"), collision_meshes="mesh",
                          pose=Pose((0.013, 0.017, 0.1)))  # fmt: skip
    else:
        floor = stand(below, (0.3, 0.4, 0.1), Pose((0.013, 0.017, 0)), tmp_path)
    sheet = Primitive("body", "mesh", mesh=str(tmp_path / "sheet.stl"), collision_meshes="mesh", base="free", mass=0.1,
                      pose=Pose((0, 0, 0.12), rpy))  # fmt: skip
    sim = mb.Simulator(mb.Scene(primitives=(floor, sheet)))
    for _ in range(400):
        assert sim.step().certificate.end_gap > -LEAST
    p, turn = sim.link_pose("body")
    lowest = (p + Rotation.from_quat(turn).apply(corners[: triangles.max() + 1]))[:, 2].min()
    assert abs(lowest - 0.1) < LEAST


def test_a_sheet_that_lies_on_a_sheet_is_lifted_as_if_it_were_alone(tmp_path):
    """Both sides of both touch; only those that face each other hold."""
    corners = np.array([[-3, -3, 0], [3, -3, 0], [3, 3, 0], [-3, 3, 0]]) / 100.0
    trimesh.Trimesh(corners, [[0, 1, 2], [0, 2, 3]]).export(tmp_path / "sheet.stl")
    trimesh.Trimesh(10 * corners, [[0, 1, 2], [0, 2, 3]]).export(tmp_path / "floor.stl")
    floor, sheet = (
        Primitive(name, "mesh", mesh=str(tmp_path / f"{name}.stl"), collision_meshes="mesh", pose=Pose((0, 0, z)), **m)
        for name, z, m in (("floor", 0.0, {}), ("sheet", 1e-3, {"base": "free", "mass": 0.1}))
    )
    sim = mb.Simulator(mb.Scene(primitives=(floor, sheet)))
    sim.step(steps=50)
    assert abs(sim.link_pose("sheet")[0][2]) < LEAST
    sim.set_external_wrench("sheet", [0, 0, 0, 0, 0, 2.0])
    for k in range(1, 20):
        sim.step()
        assert sim.v[5] == pytest.approx(k * 1e-3 * (20.0 - 9.81), rel=1e-9)


def test_the_event_scheme_has_room_for_all_points_of_a_mesh(tmp_path):
    """A box in the corner of a trough has more than four contacts with it."""
    walls = [((0.4, 0.4, 0.02), (0, 0, -0.01)), ((0.02, 0.4, 0.2), (0.19, 0, 0.1)), ((0.4, 0.02, 0.2), (0, 0.19, 0.1))]
    trimesh.util.concatenate([
        trimesh.creation.box(size, trimesh.transformations.translation_matrix(middle)) for size, middle in walls
    ]).export(tmp_path / "trough.stl")  # fmt: skip
    trough = Primitive("trough", "mesh", mesh=str(tmp_path / "trough.stl"), collision_meshes="mesh")
    box = Primitive("box", "box", (0.1,) * 3, pose=Pose((0.12, 0.12, 0.06)), base="free", mass=1.0)
    sim = mb.Simulator(mb.Scene(primitives=(trough, box), gravity=(6.0, 6.0, -9.81), collision_scheme="event"))
    most = max(len(sim.step().contacts) for _ in range(150))
    assert most > 4 and sim.link_pose("box")[0] == pytest.approx([0.13, 0.13, 0.05], abs=1e-4)


@pytest.mark.parametrize("speed, turn, friction", [(0.1, 0.3, 0.5), (0.3, 0.3, 0.5), (0.1, 0.0, 0.0)])
def test_a_sheet_slides_over_the_border_of_another(tmp_path, speed, turn, friction):
    """Without friction its corners reach the border exactly."""
    corners = np.array([[-3, -3, 0], [3, -3, 0], [3, 3, 0], [-3, 3, 0]]) / 100.0
    trimesh.Trimesh(corners, [[0, 1, 2], [0, 2, 3]]).export(tmp_path / "sheet.obj")
    trimesh.Trimesh(2 * corners, [[0, 1, 2], [0, 2, 3]]).export(tmp_path / "floor.obj")
    floor, sheet = (
        Primitive(name, "mesh", mesh=str(tmp_path / f"{name}.obj"), collision_meshes="mesh", material="m", **more)
        for name, more in (("floor", {}), ("sheet", {
            "base": "free", "mass": 0.1, "pose": Pose((0.02 if turn == 0.0 else 0.0, 0.004, 0.0), (0, 0, turn)),
            "velocity": mb.model.Velocity(linear=(speed, 0.0, 0.0)),
        }))
    )  # fmt: skip
    materials = {"m": mb.model.Material(friction)}
    sim = mb.Simulator(mb.Scene(primitives=(floor, sheet), materials=materials))
    for _ in range(150):
        sim.step()
        if sim.link_pose("sheet")[0][0] < 0.055:  # its middle is over the floor
            assert abs(sim.link_pose("sheet")[0][2]) < LEAST


def on_tiles(kind, below, width, x, folder, **changes):
    """A body without friction on three tiles of ice whose upper sides are flush."""
    # files of single precision put no edge exactly at a seam
    ice = {"ice": mb.model.Material(0.0)}
    tiles = [stand(below, (0.2, 0.1, 0.05), Pose((0.2 * i, 0.0, -0.05)), folder, "obj") for i in range(3)]
    tiles = [replace(tile, name=f"tile_{i}", material="ice") for i, tile in enumerate(tiles)]
    moves = replace(body(kind, (0.1, width, 0.1), Pose((x, 0.0, 0.05)), folder, "obj"), material="ice")
    return mb.Simulator(mb.Scene(primitives=(*tiles, moves), materials=ice, **changes))


@pytest.mark.parametrize("kind", ["box", "convex_hull", "cylinder", "mesh", "fine_mesh"])
@pytest.mark.parametrize("below", ["mesh", "fine_mesh", "height_field", "convex_hull", "box"])
def test_a_body_passes_a_seam_that_its_edge_reaches_exactly(tmp_path, kind, below):
    """Its edge and that of the next tile touch along many normals; none of them may stop it, moving or at rest."""
    for width in (0.05, 0.1, 0.3):
        for x in (0.04, 0.03, 0.0405):  # the edge is at the seam behind a whole number of steps, or half of one
            sim = on_tiles(kind, below, width, x, tmp_path)
            sim.set_object("body", velocity=(0, 0, 0, 1.0, 0, 0))
            sim.step(steps=150)
            assert sim.v == pytest.approx([0, 0, 0, 1.0, 0, 0], abs=1e-7), (width, x)
            assert sim.link_pose("body")[0] == pytest.approx([x + 0.15, 0.0, 0.05], abs=1e-8)
        sim = on_tiles(kind, below, width, 0.05, tmp_path)
        sim.step(steps=5)
        sim.set_gravity((5.0, 0.0, -9.81))
        sim.step(steps=100)
        assert sim.v == pytest.approx([0, 0, 0, 0.5, 0, 0], abs=1e-7), width


@pytest.mark.parametrize("kind", ["box", "convex_hull", "cylinder", "mesh", "fine_mesh"])
@pytest.mark.parametrize("below", ["mesh", "fine_mesh", "height_field", "convex_hull", "box"])
def test_an_edge_as_long_as_what_it_is_on_is_wide_rests_on_it(tmp_path, kind, below):
    """Both of its ends are at borders, and all of it is over the plane."""
    edge, lying = (0.0, 0.3, 0.0), (np.pi / 2, 0.0, 0.0)
    low = 0.05 * (1.0 if kind == "cylinder" else np.cos(0.3) + np.sin(0.3))
    pose = Pose((0.0, 0.0, 0.1 + low + 1e-3), lying if kind == "cylinder" else edge)
    stands = stand(below, (0.4, 0.1, 0.1), Pose((0, 0, 0)), tmp_path)
    sim = mb.Simulator(mb.Scene(primitives=(stands, body(kind, (0.1, 0.1, 0.1), pose, tmp_path))))
    for _ in range(100):
        assert sim.step().certificate.end_gap > -LEAST
    assert abs(sim.link_pose("body")[0][2] - 0.15) < (LEAST if kind == "cylinder" else 0.022)


@pytest.mark.parametrize("kind", ["box", "convex_hull", "mesh", "fine_mesh"])
@pytest.mark.parametrize("below", ["mesh", "fine_mesh", "height_field", "convex_hull", "box"])
def test_a_body_tips_over_an_edge_as_long_as_it_is_wide(tmp_path, kind, below):
    """The ends of the edge are at borders of the body's lower side, which leans farther from step to step."""
    stands = stand(below, (0.1, 0.1, 0.1), Pose((0, 0, 0)), tmp_path)
    tips = body(kind, (0.2, 0.1, 0.1), Pose((0.07, 0.0, 0.15)), tmp_path)
    sim = mb.Simulator(mb.Scene(primitives=(stands, tips)))
    angle = 0.0
    while angle < 0.3:
        assert sim.step().certificate.end_gap > -LEAST
        p, turn = sim.link_pose("body")
        (right, _, up) = Rotation.from_quat(turn).as_matrix().T
        angle = np.arcsin(-right[2])
        depth = np.dot(up, [0.05, 0.0, 0.1] - p) + 0.05
        assert abs(depth) < 1e-6, (angle, depth)


@pytest.mark.parametrize("overlap", [1e-7, 1e-6, 1e-5, 1e-4])
def test_a_mesh_leaves_the_edge_of_another_as_a_box_that_of_a_box(tmp_path, overlap):
    """Its corner, just over the edge, is not deep in the side below."""
    ends = []
    for kind in ("box", "mesh"):
        stands = stand(kind, (0.1, 0.1, 0.1), Pose((0, 0, 0)), tmp_path)
        tips = body(kind, (0.1, 0.1, 0.1), Pose((0.1 - overlap, 0.0, 0.15)), tmp_path)
        sim = mb.Simulator(mb.Scene(primitives=(stands, tips), time_step=1e-4))
        for _ in range(150):
            assert sim.step().certificate.end_gap > -LEAST
        ends.append(sim.link_pose("body")[0])
    assert ends[1] == pytest.approx(ends[0], abs=1e-6)
