# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a file is that somebody gives as a scene and that is none, and what takes it."""

import re
from pathlib import Path
from shlex import quote

HEAD = 4096  #: bytes that are looked at

_MESH = "a mesh; a scene has it in a primitive: {{name: part, shape: mesh, mesh: {name}, mass: 1.0, base: free}}"
#: endings of meshes that nothing at their beginning tells apart
_MESHES = (".stl", ".obj", ".dae", ".ply", ".glb", ".gltf", ".off", ".3mf")
#: first bytes of a file, what it is and what takes it
_BYTES = (
    (b"\x89MCAP", "a recording; mb-contact view {path} plays it, mb-contact replay SCENE {path} runs its scene again"),
    (b"SQLite format 3", "a database, such as bags of rosbag2 are; mb-contact replay takes the folder that it is in"),
    (b"PK\x03\x04", "an archive"),
    (b"glTF", _MESH),
    (b"\x1f\x8b", "compressed"),
)
#: root elements of XML files
_ROOTS = {
    "mujoco": "a model of MuJoCo; mb-contact import {path} --out FOLDER makes a scene of it",
    "sdf": "a world or model in SDF; with a name that ends in .sdf or .world it is the scene of that",
    "robot": "a robot; with a name that ends in .urdf it is the scene of that robot, or a scene names it under models",
    "COLLADA": _MESH,
    "launch": "a launch file; ros2 launch takes it",
    "package": "a package manifest",
}
#: What YAML files of other kinds have in them.
_YAML = (
    (rb"^\s+ros__parameters:", "parameters of a node; mb-contact run SCENE --ros-args --params-file {path} takes them"),
    (rb"^expect:", "expectations; mb-contact test SCENE --expect {path} takes them"),
)
_SRDF = "a semantic description; a scene names it with its robot: models: [{{urdf: …, srdf: {name}}}]"


def other_kind(path: Path, content: bytes) -> str:
    """What the file is, in a clause that names what takes it; empty where it may be YAML or nobody knows."""
    head, names = content[:HEAD], {"name": path.name, "path": quote(str(path))}
    for start, what in _BYTES:
        if head.startswith(start):
            return what.format(**names)
    text = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    while text.startswith((b"<?", b"<!")):  # the declaration, comments, a document type
        text = text.partition(b"-->" if text.startswith(b"<!--") else b">")[2].lstrip()
    root = re.match(rb"<([A-Za-z]\w*)", text)
    if path.suffix.lower() in _MESHES:
        return _MESH.format(**names)
    if path.suffix.lower() == ".srdf":
        return _SRDF.format(**names)
    for words, what in _YAML:
        if re.search(words, content, re.MULTILINE):
            return what.format(**names)
    if path.suffix.lower() == ".py":
        return f"a program; python {names['path']} runs it, or ros2 launch where it is a launch file"
    if root is not None:
        element = root[1].decode()
        return _ROOTS.get(element, f"XML with the root <{element}>").format(**names)
    return "no text" if b"\0" in head and path.suffix.lower() not in (".yaml", ".yml") else ""
