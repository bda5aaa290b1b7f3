# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files as they occur in the wild, and the addresses that name them.

Covers model/resources.py.
"""

import json
import re

import numpy as np
import pytest

from mb_contact.model.resources import find_resource
from mb_contact.model.shapes.meshes import mesh_content, read_mesh

TETRAHEDRON = np.array([[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], dtype=float)
FACES = np.array([[0, 2, 1], [0, 1, 3], [1, 2, 3], [2, 0, 3]])


def binary_stl(header=b"exported", count=4, trailing=b""):
    """A binary STL file of the tetrahedron with a count of its own."""
    records = np.zeros(len(FACES), dtype=[("n", "<f4", 3), ("v", "<f4", (3, 3)), ("a", "<u2")])
    records["v"] = TETRAHEDRON[FACES]
    return header.ljust(80, b"\0") + int(count).to_bytes(4, "little") + records.tobytes() + trailing


def text_stl(end="endsolid part", indent="  "):
    """The same as text."""
    lines = ["solid part"]
    for face in FACES:
        lines += [f"{indent}facet normal 0 0 0", f"{indent}outer loop"]
        lines += [f"{indent}vertex {x:g} {y:.3e} {z:g}" for x, y, z in TETRAHEDRON[face]]
        lines += [f"{indent}endloop", f"{indent}endfacet"]
    return "\n".join([*lines, end]).encode()


@pytest.mark.parametrize("content", [
    binary_stl(), binary_stl(b"solid of a program"), binary_stl(trailing=b"saved by somebody"), binary_stl(count=0),
    binary_stl(count=99999), text_stl(), text_stl("end solid part"), text_stl(""), text_stl("endsolid", "\t"),
    text_stl().upper().replace(b"E+", b"e+"), text_stl().replace(b"\n", b"\r\n"),
])  # fmt: skip
def test_every_stl_gives_its_triangles(content):
    vertices, triangles = read_mesh(content, "stl")
    assert np.array_equal(vertices[triangles], TETRAHEDRON[FACES])


@pytest.mark.parametrize(("content", "message"), [
    (b"solid empty\nendsolid empty", "84 bytes"), (b"\0" * 100, "84 bytes"),
    (text_stl().replace(b"vertex 1", b"vertex one", 1), "three numbers"),
])
def test_what_is_no_stl_is_refused(content, message):
    with pytest.raises(ValueError, match=message):
        read_mesh(content, "stl")


def gltf(tmp_path, buffer="part%20one.bin"):
    """A glTF file of the tetrahedron, turned and moved by its node, and its buffer; also as GLB."""
    (tmp_path / "part one.bin").write_bytes(TETRAHEDRON.astype("<f4").tobytes() + FACES.astype("<u2").tobytes())
    root = {
        "asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}],
        "nodes": [{"mesh": 0, "translation": [0.0, 0.0, 5.0]}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "indices": 1, "material": 0}]}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "textures": [{"source": 0}], "images": [{"uri": "not_there.png"}],
        "accessors": [
            {"bufferView": 0, "componentType": 5126, "count": 4, "type": "VEC3", "min": [0, 0, 0], "max": [1, 1, 1]},
            {"bufferView": 1, "componentType": 5123, "count": 12, "type": "SCALAR"},
        ],
        "bufferViews": [
            {"buffer": 0, "byteOffset": 0, "byteLength": 48}, {"buffer": 0, "byteOffset": 48, "byteLength": 24},
        ],
        "buffers": [{"byteLength": 72, "uri": buffer}],
    }  # fmt: skip
    path = tmp_path / "part.gltf"
    path.write_text(json.dumps(root))
    return path


def test_gltf_and_glb_give_their_triangles(tmp_path):
    import trimesh

    path = gltf(tmp_path)
    vertices, triangles = read_mesh(mesh_content(path), "gltf")
    assert np.allclose(vertices[triangles], TETRAHEDRON[FACES] + [0.0, 0.0, 5.0])
    binary = tmp_path / "part.glb"
    binary.write_bytes(trimesh.Trimesh(TETRAHEDRON, FACES, process=False).export(file_type="glb"))
    vertices, triangles = read_mesh(mesh_content(binary), "glb")
    assert np.allclose(vertices[triangles], TETRAHEDRON[FACES])


def test_a_missing_buffer_and_an_unknown_format_are_named(tmp_path):
    with pytest.raises(ValueError, match=r"'gone.bin' cannot be read: No such file"):
        mesh_content(gltf(tmp_path, "gone.bin"))
    with pytest.raises(ValueError, match=r"'.step' is not read; save it as one of: stl, obj"):
        mesh_content(tmp_path / "part.step")


def test_addresses(tmp_path, monkeypatch):
    (tmp_path / "models" / "cup" / "meshes").mkdir(parents=True)
    file = tmp_path / "models" / "cup" / "meshes" / "my cup.stl"
    file.write_bytes(binary_stl())
    assert find_resource("models/cup/meshes/my%20cup.stl", start=tmp_path) == file
    assert find_resource(f"file://{tmp_path}/models/cup/meshes/my%20cup.stl") == file
    odd = file.with_name("50%20.stl")
    odd.write_bytes(binary_stl())
    assert find_resource("models/cup/meshes/50%20.stl", start=tmp_path) == odd
    monkeypatch.setenv("GZ_SIM_RESOURCE_PATH", str(tmp_path / "models"))
    assert find_resource("model://cup/meshes/my%20cup.stl") == file
    monkeypatch.delenv("GZ_SIM_RESOURCE_PATH")
    assert find_resource("model://cup/meshes/my cup.stl", package_dirs=[tmp_path / "models"]) == file
    with pytest.raises(FileNotFoundError, match="add the folder that holds 'cup' to GZ_SIM_RESOURCE_PATH"):
        find_resource("model://cup/meshes/my cup.stl")
    with pytest.raises(FileNotFoundError, match=re.escape("https:// addresses are not read; fetch the file")):
        find_resource("https://example.org/cup.stl")
