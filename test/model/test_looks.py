# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Colours of mesh files, URDFs and scenes: several materials, pictures, colours of vertices, what comes first."""

import json
import struct

import numpy as np
import pytest
import trimesh
from PIL import Image as Picture

import mb_contact as mb
from mb_contact.errors import SceneError
from mb_contact.model import build_world
from mb_contact.model.scene import Image, Pose, Primitive, PrimitiveVisual, Scene, Sensor, load_scene
from mb_contact.model.shapes.looks import read_painted, weights
from mb_contact.model.shapes.visuals import PALETTE, read_visuals, scene_visuals, visible
from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.normals import textured
from mb_contact.viewer.render import Camera, picture
from scenes.urdf_text import LOOKS

RED, GREEN, BLUE, WHITE = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0), (1.0, 1.0, 1.0)
#: two squares beside each other, one with a picture of two halves
OBJ = """mtllib look.mtl
v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nv 2 0 0\nv 2 1 0
vt 0 0\nvt 1 0\nvt 1 1\nvt 0 1
usemtl drawn\nf 1/1 2/2 3/3\nf 1/1 3/3 4/4
usemtl plain\nf 2/1 5/2 6/3\nf 2/1 6/3 3/4
"""
MTL = "newmtl drawn\nKd 1 1 1\nmap_Kd halves.png\nnewmtl plain\nKd 0.2 0.4 0.6\nd 0.5\n"
LINK = (
    '<robot name="r">{named}<link name="base"><visual>{material}<geometry>{geometry}</geometry></visual></link></robot>'
)


@pytest.fixture
def folder(tmp_path):
    """A folder with the two squares: the left half of the picture is red, the right one green below blue."""
    (tmp_path / "squares.obj").write_text(OBJ)
    (tmp_path / "look.mtl").write_text(MTL)
    pixels = np.array([[RED, BLUE], [RED, GREEN]])
    Picture.fromarray((255 * pixels).astype(np.uint8)).save(tmp_path / "halves.png")
    return tmp_path


def colour_at(visual, point):
    """Colour of a Visual where the line along z through a point meets it."""
    corners = visual.vertices[visual.triangles]
    shares = weights(np.tile(point, (len(corners), 1)), corners)
    row = int(np.argmin(np.linalg.norm(np.einsum("tk,tkx->tx", shares, corners) - point, axis=1)))
    return tuple(visual.texture.on(np.array([row]), np.array([point]), corners[row : row + 1])[0])


def test_an_obj_file_keeps_its_materials_and_its_picture(folder):
    parts, missing = read_painted(folder / "squares.obj")
    drawn, plain = sorted(parts, key=lambda part: part.texture is None)
    assert not missing and plain.texture is None and len(plain.triangles) == len(drawn.triangles) == 2
    np.testing.assert_allclose(plain.colour, (0.2, 0.4, 0.6, 0.5), atol=0.003)
    geometry = f'<mesh filename="{folder}/squares.obj"/>'
    visuals, _ = read_visuals(LINK.format(named="", material="", geometry=geometry))
    (seen,) = (visual for visual in visuals if visual.texture is not None)
    for point, colour in (((0.2, 0.8, 0.0), RED), ((0.9, 0.2, 0.0), GREEN), ((0.7, 0.9, 0.0), BLUE)):
        assert colour_at(seen, np.array(point)) == colour


def test_a_picture_that_is_not_there_is_told_and_costs_no_triangle(folder):
    (folder / "halves.png").unlink()
    parts, missing = read_painted(folder / "squares.obj")
    assert sum(len(part.triangles) for part in parts) == 4
    assert missing == ["'halves.png' is not there, which has its colours; put it beside the mesh"]
    (folder / "halves.png").write_text("no picture")
    assert "no picture that can be read" in read_painted(folder / "squares.obj")[1][0]
    (folder / "look.mtl").unlink()
    assert {part.colour for part in read_painted(folder / "squares.obj")[0]} == {None}


def test_colours_that_cannot_be_read_are_told(tmp_path):
    """A Collada file whose mesh names no material in the place where one has to stand: its triangles are there."""
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    box.visual = trimesh.visual.TextureVisuals(uv=np.zeros((8, 2)), material=trimesh.visual.material.SimpleMaterial())
    (tmp_path / "box.dae").write_bytes(box.export(file_type="dae").replace(b"target=", b"targett="))
    (part,), missing = read_painted(tmp_path / "box.dae")
    assert len(part.triangles) == 12 and part.colour is None
    assert len(missing) == 1 and missing[0].startswith("its colours cannot be read and are left out (")


@pytest.mark.parametrize("kind", ["glb", "gltf", "dae", "ply"])
def test_other_files_have_their_colours(tmp_path, kind):
    box = trimesh.creation.box((1.0, 1.0, 1.0))
    if kind == "ply":
        box.visual = trimesh.visual.ColorVisuals(box, face_colors=[(255, 0, 0)] * 6 + [(0, 0, 255)] * 6)
    else:
        material = trimesh.visual.material.PBRMaterial(baseColorFactor=(255, 55, 0, 255))
        box.visual = trimesh.visual.TextureVisuals(uv=np.zeros((8, 2)), material=material)
    if kind == "gltf":
        for name, content in trimesh.exchange.gltf.export_gltf(box).items():
            (tmp_path / ("box.gltf" if name.endswith(".gltf") else name)).write_bytes(content)
    else:
        box.export(tmp_path / f"box.{kind}")
    (part,), missing = read_painted(tmp_path / f"box.{kind}")
    assert not missing and len(part.triangles) == 12
    if kind == "ply":
        corners = part.vertices[part.triangles]
        colours = part.texture.on(np.arange(12), corners.mean(axis=1), corners)
        np.testing.assert_array_equal(colours, [RED] * 6 + [BLUE] * 6)
        return
    linear = kind in ("glb", "gltf")  # 55 of 255 is 128 in sRGB
    np.testing.assert_allclose(part.colour, (1.0, 0.503 if linear else 55 / 255, 0.0, 1.0), atol=0.01)


def test_a_mesh_without_colours_has_those_of_the_urdf_one_with_colours_keeps_them(folder):
    named, by_name = '<material name="m"><color rgba="0 0 0 1"/></material>', '<material name="m"/>'
    geometry = f'<mesh filename="{folder}/squares.obj"/>'
    visuals, _ = read_visuals(LINK.format(named=named, material=by_name, geometry=geometry))
    assert (0.0, 0.0, 0.0, 1.0) not in {visual.colour for visual in visuals}
    (folder / "look.mtl").unlink()
    visuals, _ = read_visuals(LINK.format(named=named, material=by_name, geometry=geometry))
    assert {visual.colour for visual in visuals} == {(0.0, 0.0, 0.0, 1.0)}
    picture = f'<material name="p"><texture filename="{folder}/halves.png"/></material>'
    visuals, _ = read_visuals(LINK.format(named="", material=picture, geometry=geometry))
    assert all(visual.texture is not None for visual in visuals)


def test_pictures_on_shapes_and_materials_named_in_another_link(folder):
    picture = f'<material name="p"><texture filename="{folder}/halves.png"/></material>'
    for geometry, point, colour in (
        ('<box size="2 2 2"/>', (0.5, -0.5, 1.0), GREEN), ('<box size="2 2 2"/>', (-0.5, 0.5, 1.0), RED),
        ('<cylinder radius="1" length="2"/>', (0.0, 1.0, 0.5), RED),
        ('<cylinder radius="1" length="2"/>', (0.0, -1.0, -0.5), GREEN),
    ):  # fmt: skip
        (visual,), missing = read_visuals(LINK.format(named="", material=picture, geometry=geometry))
        assert not missing and visual.shape is None and colour_at(visual, np.array(point)) == colour
    gone = picture.replace("halves", "gone")
    visuals, missing = read_visuals(LINK.format(named="", material=gone, geometry='<sphere radius="1"/>'))
    assert len(visuals) == 1 and len(missing) == 1 and "gone.png" in missing[0]
    again = LOOKS.replace('<material name="blue"/>', '<material name="m"/>')  # which the other link has
    assert read_visuals(again.format(mesh="gone.stl", turn=""))[0][0].colour == (1.0, 0.0, 0.0, 1.0)


def test_a_picture_reads_from_outside_on_all_six_sides_of_a_box(folder):
    """Seen from outside a corner of the picture and its two edges from there are right-handed, as in the file."""
    picture = f'<material name="p"><texture filename="{folder}/halves.png"/></material>'
    (box,), _ = read_visuals(LINK.format(named="", material=picture, geometry='<box size="2 4 6"/>'))
    corners, places = box.vertices[box.triangles], box.texture.corners
    normals = np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
    assert {tuple(np.sign(normal)) for normal in normals} == {tuple(s * row) for row in np.eye(3) for s in (1.0, -1.0)}
    (ax, ay), (bx, by) = (places[:, 1] - places[:, 0]).T, (places[:, 2] - places[:, 0]).T
    np.testing.assert_allclose(ax * by - ay * bx, 1.0)  # triangles are counterclockwise from outside
    upright = np.abs(normals[:, 2]) < 1e-9
    np.testing.assert_allclose(places[upright, :, 1], (corners[upright, :, 2] + 3.0) / 6.0)


def test_cones_and_ellipsoids_are_drawn():
    material = '<material name="red"><color rgba="1 0 0 1"/></material>'
    for geometry, half, kind in (('<cone radius="0.1" length="0.4"/>', (0.1, 0.1, 0.2), mb.types.SHAPE_CONE),
                                 ('<ellipsoid size="0.2 0.4 0.6"/>', (0.1, 0.2, 0.3), mb.types.SHAPE_ELLIPSOID)):
        (visual,), missing = read_visuals(LINK.format(named="", material=material, geometry=geometry))
        assert not missing and visual.shape.kind == kind and visual.colour == (1.0, 0.0, 0.0, 1.0)
        np.testing.assert_allclose(visual.vertices.max(axis=0), half, atol=1e-12)


def glb(path, material, colours=None, scale=(1.0, 1.0, 1.0)):
    """A binary glTF file of a square whose normal is x, from y = 0 and z = 0 to 1."""
    points = np.array([[0, 0, 0], [0, 1, 0], [0, 1, 1], [0, 0, 1]], "<f4")
    blocks = [points, np.array([0, 1, 2, 0, 2, 3], "<u2")] + ([] if colours is None else [np.array(colours)])
    kinds = {"f": 5126, "u": 5123}
    content, views = b"", []
    for block in blocks:
        views.append({"buffer": 0, "byteOffset": len(content), "byteLength": block.nbytes})
        content += block.tobytes()
    accessors = [
        {"bufferView": k, "componentType": kinds[block.dtype.kind], "count": block.size if k == 1 else 4,
         "type": "SCALAR" if k == 1 else f"VEC{block.shape[1]}", "normalized": k == 2 and block.dtype.kind == "u"}
        for k, block in enumerate(blocks)
    ]  # fmt: skip
    accessors[0].update(min=[0, 0, 0], max=[0, 1, 1])
    attributes = {"POSITION": 0} | ({} if colours is None else {"COLOR_0": 2})
    primitive = {"attributes": attributes, "indices": 1, "material": 0}
    text = json.dumps({
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0, "scale": scale}],
        "meshes": [{"primitives": [primitive]}], "materials": [material], "buffers": [{"byteLength": len(content)}],
        "bufferViews": views, "accessors": accessors,
    }).encode()  # fmt: skip
    text += b" " * (-len(text) % 4)
    whole = 12 + 8 + len(text) + 8 + len(content)
    path.write_bytes(struct.pack("<4sII", b"glTF", 2, whole) + struct.pack("<I4s", len(text), b"JSON") + text
                     + struct.pack("<I4s", len(content), b"BIN\0") + content)  # fmt: skip
    return path


def test_gltf_colours_of_vertices_beside_a_material_are_its_factors(tmp_path):
    halves = np.array([[0.5, 1.0, 1.0], [0.5, 1.0, 1.0], [0.5, 1.0, 1.0], [0.5, 1.0, 1.0]], "<f4")
    plain, tint = {"pbrMetallicRoughness": {}}, {"pbrMetallicRoughness": {"baseColorFactor": [1.0, 0.0, 1.0, 1.0]}}
    for material, colour in ((plain, (0.735, 1.0, 1.0)), (tint, (0.735, 0.0, 1.0))):  # 0.5 of linear light in sRGB
        (part,), missing = read_painted(glb(tmp_path / "a.glb", material, halves))
        assert not missing
        np.testing.assert_allclose(part.colour, (*colour, 1.0), atol=0.005)
    ends = np.array([[65535, 0, 0, 65535], [65535, 0, 0, 65535], [0, 0, 65535, 65535], [0, 0, 65535, 65535]], "<u2")
    (part,), _ = read_painted(glb(tmp_path / "b.glb", plain, ends))
    corners = part.vertices[part.triangles]
    seen = part.texture.on(np.arange(2), corners.mean(axis=1), corners)
    np.testing.assert_allclose(seen, [[0.835, 0.0, 0.612], [0.612, 0.0, 0.835]], atol=0.005)  # 2/3 and 1/3


@pytest.mark.parametrize(("mode", "opacity"), [({}, 1.0), ({"alphaMode": "OPAQUE"}, 1.0), ({"alphaMode": "BLEND"}, 0.3),
                                               ({"alphaMode": "MASK"}, 1.0)])  # fmt: skip
def test_gltf_is_opaque_unless_it_blends(tmp_path, mode, opacity):
    material = {"pbrMetallicRoughness": {"baseColorFactor": [1.0, 0.0, 0.0, 0.3]}, **mode}
    (part,), _ = read_painted(glb(tmp_path / "a.glb", material))
    np.testing.assert_allclose(part.colour, (1.0, 0.0, 0.0, opacity), atol=0.005)


def test_nodes_of_gltf_that_mirror_keep_outside_outside(tmp_path):
    for scale, to in (((1.0, 1.0, 1.0), 1.0), ((2.0, -3.0, 1.0), 1.0), ((-1.0, 1.0, 1.0), -1.0)):
        (part,), _ = read_painted(glb(tmp_path / "a.glb", {"pbrMetallicRoughness": {}}, scale=scale))
        a, b, c = part.vertices[part.triangles[0]]
        assert np.sign(np.cross(b - a, c - a)[0]) == to and np.abs(part.vertices[:, 1]).max() == abs(scale[1])


def test_a_picture_without_a_place_on_its_triangles_is_told(folder):
    (folder / "squares.obj").write_text(OBJ.replace("f 1/1 3/3 4/4", "f 1 3 4"))
    parts, missing = read_painted(folder / "squares.obj")
    assert missing == ["picture 'halves.png' is left out: its triangles have no texture coordinates"]
    assert sum(len(part.triangles) for part in parts) == 4 and all(part.texture is None for part in parts)
    (folder / "squares.obj").write_text(OBJ.replace("vt 0 1", "vt nan 1"))
    with np.errstate(invalid="raise"):
        parts, missing = read_painted(folder / "squares.obj")
    assert not missing and any(part.texture is not None for part in parts)


def test_objects_look_as_the_scene_says_apart_from_what_collides(folder):
    mesh, file = {"shape": "mesh", "collision_meshes": "convex_hull"}, str(folder / "squares.obj")
    ball = PrimitiveVisual("sphere", (0.3,), pose=Pose((0.0, 0.0, 1.0)), color=(0.0, 0.5, 0.0, 0.25))
    scene = Scene(primitives=(
        Primitive("own", mesh=file, **mesh), Primitive("red", mesh=file, color=RED, **mesh),
        Primitive("box", "box", (1.0, 1.0, 1.0), color=BLUE), Primitive("egg", "box", (1.0, 1.0, 1.0), visual=ball),
        Primitive("dressed", "sphere", (0.1,), base="free", mass=1.0, visual=PrimitiveVisual(mesh=file)),
        Primitive("next", "sphere", (0.1,), base="free", mass=1.0),
    ))  # fmt: skip
    seen = {}
    for visual in visible(scene, build_world(scene)):
        seen.setdefault(visual.link, []).append(visual)
    assert [len(seen[name]) for name in ("own", "red", "box", "egg", "dressed", "next")] == [2, 2, 1, 1, 2, 1]
    assert {v.colour for v in seen["red"]} == {(*RED, 1.0)} and all(v.texture is None for v in seen["red"])
    assert seen["box"][0].colour == (*BLUE, 1.0) and seen["box"][0].shape is not None
    assert seen["egg"][0].colour == (0.0, 0.5, 0.0, 0.25)
    np.testing.assert_allclose(seen["egg"][0].vertices.max(axis=0), (0.3, 0.3, 1.3), atol=1e-12)
    assert any(v.texture is not None for v in seen["dressed"]) and seen["next"][0].colour[:3] == PALETTE[1]


@pytest.mark.parametrize(("words", "message"), [
    ("color: [1, 2, 0]", "at most 1"), ("color: [1, 0]", "red, green, blue"), ("visual: {shape: box}", "size"),
    ("visual: {}", "mesh"), ("visual: {shape: plane}", "plane"),
])  # fmt: skip
def test_what_is_no_colour_and_no_look_is_refused(tmp_path, words, message):
    (tmp_path / "scene.yaml").write_text(f"primitives:\n  - {{name: a, shape: sphere, size: 0.1, {words}}}\n")
    with pytest.raises(SceneError, match=message):
        load_scene(tmp_path / "scene.yaml")


def test_a_visual_that_is_not_there_is_told(tmp_path):
    look = PrimitiveVisual(mesh=str(tmp_path / "gone.obj"))
    scene = Scene(primitives=(Primitive("a", "sphere", (0.1,), visual=look),))
    visuals, missing = scene_visuals(scene, build_world(scene))
    assert visuals == [] and len(missing) == 1 and "gone.obj" in missing[0]


def test_a_picture_is_seen_by_cameras_in_pictures_and_in_the_view(folder):
    """The left of the square red, its right green below blue, one pixel of the picture beside the other."""
    look = PrimitiveVisual(mesh=str(folder / "squares.obj"))
    image = Image(64, 64, 0.6, colour=True)
    eye = Sensor("eye", "camera", link="world", pose=Pose((0.5, 0.5, 2.0), rpy=(0.0, np.pi / 2, 0.0)), image=image)
    scene = Scene(primitives=(Primitive("a", "box", (0.1, 0.1, 0.1), visual=look),), sensors=(eye,))
    seen = mb.Simulator(scene).sensors.read("eye").colour
    for row, column, colour in ((20, 20, BLUE), (20, 44, GREEN), (44, 20, RED), (44, 44, RED)):  # x is up
        assert tuple(seen[row, column] > 127) == tuple(x > 0.5 for x in colour)
    drawing = scene_drawing(scene, build_world(scene))
    (part,) = (part for part in drawing.visuals if part.texture is not None)
    above = Camera((0.5, 0.5, 2.0), (0.5, 0.5, 0.0), width=64, height=64)
    drawn = picture(drawing._replace(visuals=[part]), {"a": (np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0]))}, above)
    for row, column, colour in ((20, 20, RED), (44, 20, RED), (20, 44, BLUE), (44, 44, GREEN)):
        assert tuple(drawn[row, column] > 127) == tuple(x > 0.5 for x in colour)
    sent = textured(part)
    assert sent.visual.material.baseColorTexture.size == (2, 2) and len(sent.faces) == 2
    assert b"image/png" in sent.export(file_type="glb")


@pytest.mark.parametrize("texture", ["<texture/>", '<texture filename=""/>'])
def test_an_empty_texture_is_none(texture):
    """As SolidWorks' exporter writes it: the colour counts, and nothing is missing."""
    material = f'<material name="p"><color rgba="1 0 0 1"/>{texture}</material>'
    (visual,), missing = read_visuals(LINK.format(named="", material=material, geometry='<box size="2 2 2"/>'))
    assert visual.colour == (1.0, 0.0, 0.0, 1.0) and not missing
