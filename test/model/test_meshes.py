# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files become convex hulls: formats, scales, faces, what is left out, what is kept on disk.

Covers model/urdf/geometry.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial import ConvexHull

from mb_contact.collision import coal_engine, fcl_engine
from mb_contact.collision.sizes import make_shape
from mb_contact.errors import ModelError, SceneError
from mb_contact.model import Primitive, Scene, build_world, load_scene, load_urdf
from mb_contact.model.shapes import meshes as meshes_module
from mb_contact.model.shapes.hulls import MOST_VERTICES
from mb_contact.model.shapes.inertia import solid
from mb_contact.model.shapes.meshes import convex_bodies, read_mesh
from mb_contact.types import SHAPE_BOX, SHAPE_CONVEX
from oracles.pinocchio_peer import example_robots
from scenes.hull_cases import is_sound
from scenes.urdf_text import SOLID, joint, link, robot


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(meshes_module, "cache_folder", lambda kind: tmp_path / "hulls")


def write_box(path, extents=(0.1, 0.2, 0.3), at=(1.0, 0.0, 0.0)):
    """A box of these extents about ``at``, in the format of the path."""
    trimesh = pytest.importorskip("trimesh")
    mesh = trimesh.creation.box(extents)
    mesh.apply_translation(at)
    if path.suffix == ".dae":
        pytest.importorskip("collada")
    mesh.export(path)
    return path


# --- hulls ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("most", [40, 600])
def test_a_scene_may_ask_for_more_or_fewer_vertices(tmp_path, most):
    trimesh = pytest.importorskip("trimesh")
    ball = trimesh.creation.icosphere(subdivisions=3)
    path = tmp_path / "ball.ply"
    ball.export(path)
    scene = tmp_path / "scene.yaml"
    scene.write_text(f"primitives: [{{name: a, shape: mesh, mesh: {path}, hull_vertices: {most}}}]", encoding="utf-8")
    world = build_world(load_scene(scene))
    count = int(np.diff(world.geoms.first_vertex)[0])
    assert count == most if most < MOST_VERTICES else MOST_VERTICES < count <= most
    for engine, library in ((coal_engine, coal_engine.coal), (fcl_engine, fcl_engine.fcl)):  # neither thins it again
        shape = make_shape(library, world.geoms, 0, engine._convex)
        assert getattr(shape, "num_points", count) == count
    scene.write_text(scene.read_text().replace(str(most), "4.5"), encoding="utf-8")
    with pytest.raises(SceneError, match="hull_vertices: must be a whole number from 4 to 4095, got 4.5"):
        load_scene(scene)


# --- files ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("suffix", [".stl", ".obj", ".ply", ".dae", ".STL"])
@pytest.mark.parametrize("scale", [(1.0, 1.0, 1.0), (0.001, 0.001, 0.001), (1.0, -2.0, 1.0), (-1.0, -1.0, -1.0)])
def test_formats_and_scales(suffix, scale, tmp_path):
    hull, = convex_bodies(write_box(tmp_path / f"box{suffix}"), scale)
    np.testing.assert_allclose(hull.centre, np.array([1.0, 0.0, 0.0]) * scale, atol=1e-6)
    np.testing.assert_allclose(hull.half, np.array([0.05, 0.1, 0.15]) * np.abs(scale), rtol=1e-6)
    assert len(hull.faces) == 6
    is_sound(hull, hull.vertices + hull.centre)


def test_a_texture_that_is_not_there_costs_a_collada_file_nothing(tmp_path):
    """Blender leaves such references behind; ANYmal's shanks have them."""
    text = write_box(tmp_path / "box.dae").read_text()
    broken = (
        '<profile_COMMON><newparam sid="s"><sampler2D><source>gone-surface</source></sampler2D></newparam>'
        '<technique sid="common"><lambert><diffuse><texture texture="s" texcoord="t"/></diffuse></lambert></technique>'
        "</profile_COMMON>"
    )
    assert "<profile_COMMON>" in text
    start, end = text.index("<profile_COMMON>"), text.index("</profile_COMMON>") + len("</profile_COMMON>")
    wanted, found = (read_mesh(t.encode(), "dae") for t in (text, text[:start] + broken + text[end:]))
    np.testing.assert_array_equal(found[0], wanted[0])
    np.testing.assert_array_equal(found[1], wanted[1])


def test_the_unit_of_a_collada_file_counts(tmp_path):
    path = write_box(tmp_path / "box.dae")
    text = path.read_text()
    assert "<unit" not in text and "<asset>" in text
    inches = text.replace("<asset>", '<asset><unit name="inch" meter="0.0254"/>')
    vertices, _ = read_mesh(inches.encode(), "dae")
    np.testing.assert_allclose(np.ptp(vertices, axis=0), 0.0254 * np.array([0.1, 0.2, 0.3]), rtol=1e-6)


@pytest.mark.parametrize(
    "file",
    [
        "panda_description/urdf/panda.urdf",
        "ur_description/urdf/ur5_robot.urdf",
        "icub_description/robots/icub_reduced.urdf",
    ],
)
def test_meshes_of_robots_are_as_large_and_where_pinocchio_has_them(file):
    """STL, and Collada with Y up and with a unit."""
    pin = pytest.importorskip("pinocchio")
    folder = example_robots()
    if folder is None or not (folder / file).exists():
        pytest.skip("example-robot-data has no such file")
    path = folder / file
    model = load_urdf(path, mimic="independent", inertia_errors="warn")
    other = pin.buildModelFromUrdf(str(path))
    theirs = pin.buildGeomFromUrdf(other, str(path), pin.GeometryType.COLLISION, [str(folder.parent.parent)])
    ours = [shape for shape in model.geometries if shape.hull is not None]
    sizes = []
    for shape in theirs.geometryObjects:
        if "." in shape.meshPath:
            shape.geometry.computeLocalAABB()
            box = shape.geometry.aabb_local
            sizes.append(np.concatenate([np.subtract(box.max_, box.min_), np.add(box.max_, box.min_)]) / 2.0)
    assert len(sizes) == len(ours)
    mine = [np.concatenate([shape.hull.half, shape.hull.centre]) for shape in ours]
    loss = max(shape.hull.loss for shape in ours)
    np.testing.assert_allclose(sorted(map(tuple, mine)), sorted(map(tuple, sizes)), atol=1e-6 + loss)


@pytest.mark.parametrize("method", ["convex_hull", "mesh"])
def test_bodies_are_kept_by_content(tmp_path, monkeypatch, method):
    path = write_box(tmp_path / "box.stl")
    first, = convex_bodies(path, method=method)
    real = meshes_module.read_mesh
    monkeypatch.setattr(meshes_module, "read_mesh", lambda *_: pytest.fail("read again"))
    again, = convex_bodies(path, method=method)
    assert type(again) is type(first)
    for one, other in zip(first, again):
        np.testing.assert_array_equal(one, other)
        assert type(one) is type(other)
    kept, = (tmp_path / "hulls").iterdir()
    monkeypatch.setattr(meshes_module, "read_mesh", real)
    kept.write_bytes(b"half a file")
    repaired, = convex_bodies(path, method=method)
    np.testing.assert_array_equal(repaired.vertices, first.vertices)
    write_box(path, extents=(0.4, 0.2, 0.3))
    changed, = convex_bodies(path, method=method)
    assert changed.half[0] == pytest.approx(0.2)
    assert convex_bodies(path, (2.0, 1.0, 1.0), method)[0].half[0] == pytest.approx(0.4)


def test_a_folder_that_cannot_be_written_to_is_no_error(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(meshes_module, "cache_folder", lambda kind: tmp_path / "file" / "hulls")
    assert len(convex_bodies(write_box(tmp_path / "box.stl"))) == 1


def test_pieces_fill_less_than_the_hull(tmp_path):
    pytest.importorskip("vhacdx")
    trimesh = pytest.importorskip("trimesh")
    parts = [trimesh.creation.box((0.1, 0.1, 0.4)), trimesh.creation.box((0.4, 0.1, 0.1))]
    parts[1].apply_translation((0.15, 0.0, -0.15))
    path = tmp_path / "corner.stl"
    trimesh.util.concatenate(parts).export(path)
    whole, = convex_bodies(path)
    pieces = convex_bodies(path, method="convex_pieces")
    volume = sum(ConvexHull(hull.vertices).volume for hull in pieces)
    assert len(pieces) > 1 and volume < 0.8 * ConvexHull(whole.vertices).volume
    text = robot(link("hand", f'<collision name="c"><geometry><mesh filename="{path}"/></geometry></collision>'))
    choice = {"default": "skip", "links": {"hand": "convex_pieces"}}
    names = [shape.name for shape in load_urdf(text, collision_meshes=choice).geometries]
    assert names == ["c", *(f"c_{i}" for i in range(1, len(pieces)))]


# --- in robots and scenes ------------------------------------------------------------------------


def with_mesh(attributes):
    tip = SOLID + f"<collision><geometry><mesh {attributes}/></geometry></collision>"
    return robot(link("base") + "\n" + link("tip", tip) + joint("j", "base", "tip", "fixed"))


def test_a_mesh_stands_where_the_file_puts_it(tmp_path):
    write_box(tmp_path / "box.stl")
    collision = (
        '<collision><origin xyz="0 0 2" rpy="0 0 1.5707963267948966"/>'
        '<geometry><mesh filename="box.stl" scale="1 1 -1"/></geometry></collision>'
    )
    file = tmp_path / "a.urdf"
    file.write_text(robot(link("base", collision)))
    model = load_urdf(file)
    shape, = model.geometries
    assert shape.kind == SHAPE_CONVEX and model.warnings == ()
    np.testing.assert_allclose(shape.p, [0.0, 1.0, 2.0], atol=1e-6)
    np.testing.assert_allclose(shape.size, [0.05, 0.1, 0.15], rtol=1e-6)
    assert not shape.hull.vertices.flags.writeable


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ("", ":3: link 'tip': <mesh> has no attribute 'filename'"),
        ('filename="gone.stl"', ":3: link 'tip': collision mesh 'gone.stl': 'gone.stl' does not exist; mend it"),
        ('filename="package://nobody/a.stl"', ":3: .*'package://nobody/a.stl' not found; looked at"),
        ('filename="box.stl" scale="1 1"', ':3: <mesh scale="1 1"> must have 3 numbers'),
        ('filename="box.stl" scale="1 0 1"', ":3: .* makes it flat; no factor may be zero"),
        ('filename="box.step"', ":3: .*: the format '.step' is not read; save it as one of: stl, obj, dae, ply"),
        ('filename="bad.stl"', ":3: .*: (is no stl mesh that can be read|holds no triangle)"),
    ],
)
def test_a_mesh_that_cannot_be_used_is_refused_with_its_line(attributes, message, tmp_path, monkeypatch):
    write_box(tmp_path / "box.stl")
    (tmp_path / "box.step").write_text("x")
    (tmp_path / "bad.stl").write_text("solid nothing")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ModelError, match=message):
        load_urdf(with_mesh(attributes))


def test_what_cannot_be_read_may_be_left_out(tmp_path):
    model = load_urdf(with_mesh('filename="gone.stl"'), collision_meshes="warn")
    assert model.geometries == () and "'gone.stl' does not exist; left out, nothing will touch it" in model.warnings[0]
    assert model.lenient == (("collision_meshes", "skip"),)


def test_a_mesh_as_an_object_of_a_scene(tmp_path):
    path = write_box(tmp_path / "box.stl")
    mesh = Primitive("block", "mesh", mesh=str(path), base="free", mass=3.0)
    world = build_world(Scene(primitives=(mesh,)))
    np.testing.assert_allclose(world.tree.com[0], [1.0, 0.0, 0.0], atol=1e-6)
    np.testing.assert_allclose(world.tree.inertia[0], solid(SHAPE_BOX, np.array([0.05, 0.1, 0.15]), 3.0), atol=1e-8)
    assert world.geoms.kind[0] == SHAPE_CONVEX and len(world.geoms.vertices) == 8
    with pytest.raises(SceneError, match=r"hull_vertices: must be a whole number from 4 to 4095, got 5000"):
        build_world(Scene(primitives=(Primitive("block", "mesh", mesh=str(path), hull_vertices=5000),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].mesh: '.*gone.stl' does not exist"):
        build_world(Scene(primitives=(Primitive("block", "mesh", mesh="gone.stl"),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].size: must be a list, got None"):
        build_world(Scene(primitives=(Primitive("block", "mesh", None, mesh=str(path)),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].mesh: a mesh needs the address of its file"):
        build_world(Scene(primitives=(Primitive("block", "mesh"),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].mesh: a primitive of shape .* has no mesh; leave it out"):
        build_world(Scene(primitives=(Primitive("block", "sphere", (1.0,), mesh="a.stl"),)))


@pytest.mark.parametrize("method", ["convex_hull", "mesh"])
def test_a_mesh_far_off_its_origin_has_its_inertia_and_is_told(tmp_path, method):
    path = write_box(tmp_path / "box.obj", at=(1000.0, 2000.0, -500.0))
    block = Primitive("block", "mesh", mesh=str(path), base="free", density=500.0, collision_meshes=method)
    world = build_world(Scene(primitives=(block,)))
    assert world.tree.mass[0] == pytest.approx(3.0, rel=1e-6)
    np.testing.assert_allclose(world.tree.com[0], [1000.0, 2000.0, -500.0], atol=1e-6)
    np.testing.assert_allclose(world.tree.inertia[0], solid(SHAPE_BOX, np.array([0.05, 0.1, 0.15]), 3.0), atol=1e-7)
    (told,) = world.warnings
    assert told.startswith("primitives[0] (block): its mesh is 0.374 m large and 2.29e+03 m off the origin")
    path = write_box(tmp_path / "near.obj", at=(30.0, 0.0, 0.0))
    assert build_world(Scene(primitives=(replace(block, mesh=str(path)),))).warnings == ()


def test_a_concave_piece_is_told_as_its_hull(tmp_path):
    import trimesh

    walls = [trimesh.creation.box((0.01, 0.1, 0.1), trimesh.transformations.translation_matrix((x, 0.0, 0.05)))
             for x in (-0.05, 0.05)]  # fmt: skip
    trimesh.boolean.union([trimesh.creation.box((0.11, 0.1, 0.01)), *walls]).export(tmp_path / "u.stl")
    pieces = (str(write_box(tmp_path / "a.stl")), str(tmp_path / "u.stl"))
    (told,) = build_world(Scene(primitives=(Primitive("o", "mesh", pieces=pieces, base="free", mass=1.0),))).warnings
    assert told.startswith("primitives[0].pieces[1] (o): its convex hull is up to 4")


def test_a_mesh_in_convex_pieces_of_the_users_own(tmp_path):
    """Each file is a hull of its own, all of one body; with a piece missing the error says which."""
    first, second = write_box(tmp_path / "a.stl"), write_box(tmp_path / "b.stl")
    block = Primitive("block", "mesh", pieces=(str(first), str(second)), base="free", mass=3.0)
    world = build_world(Scene(primitives=(block,)))
    assert world.geometry_names == ("block", "block_1") and set(world.geoms.body.tolist()) == {0}
    assert world.warnings == ()
    np.testing.assert_allclose(world.tree.com[0], [1.0, 0.0, 0.0], atol=1e-6)
    with pytest.raises(SceneError, match=r"primitives\[0\].pieces\[1\]: '.*gone.stl' does not exist"):
        build_world(Scene(primitives=(Primitive("block", "mesh", pieces=(str(first), "gone.stl")),)))
    with pytest.raises(SceneError, match=r"primitives\[0\]: has both mesh and pieces; keep one of them"):
        build_world(Scene(primitives=(Primitive("block", "mesh", mesh=str(first), pieces=(str(first),)),)))
    with pytest.raises(SceneError, match=r"primitives\[0\].pieces: a primitive of shape .* has no pieces"):
        build_world(Scene(primitives=(Primitive("block", "sphere", (1.0,), pieces=("a.stl",)),)))
