# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files as they occur: STL whose header or count is wrong, glTF with its buffers in files beside it."""

import base64
import json
import re
from pathlib import Path
from urllib.parse import unquote

import numpy as np

HEADER, RECORD = 84, 50  #: bytes of a binary STL file: before the triangles, and of each
NUMBER = rb"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
VERTEX = re.compile(rb"\bvertex\s+(" + NUMBER + rb")\s+(" + NUMBER + rb")\s+(" + NUMBER + rb")", re.IGNORECASE)


def read_stl(content):
    """Corners (3 t, 3) and triangles (t, 3) of an STL file.

    Text counts where it has facets, however it begins and ends; a binary file has as many triangles as its count says,
    or as fit where it is too short for them; what follows them is passed over.

    Raises
    ------
    ValueError
        It is neither, or holds no whole triangle.
    """
    start = content[:4096].lower()
    if b"facet" in start and b"vertex" in start and b"\0" not in start:
        corners = np.array([[float(x) for x in found] for found in VERTEX.findall(content)]).reshape(-1, 3)
        if re.search(rb"\bvertex\b", content) and len(corners) != len(re.findall(rb"\bvertex\b", content, re.I)):
            raise ValueError("a vertex has other than three numbers")
    else:
        if len(content) < HEADER + RECORD:
            raise ValueError("neither text with facets nor a header of 84 bytes and a triangle")
        fit = (len(content) - HEADER) // RECORD
        count = int.from_bytes(content[80:84], "little")
        if count == 0 or count > fit:
            count = fit
        data = np.frombuffer(content, np.uint8, count * RECORD, HEADER).reshape(count, RECORD)
        corners = np.ascontiguousarray(data[:, 12:48]).view("<f4").astype(np.float64).reshape(-1, 3)
    if len(corners) == 0 or len(corners) % 3:
        raise ValueError(f"{len(corners)} vertices make no triangles")
    return corners, np.arange(len(corners)).reshape(-1, 3)


def with_buffers(content, folder):
    """A glTF file with the buffers that it names put into it, for what reads it without its folder.

    Raises
    ------
    ValueError
        It is no JSON, or a buffer is not there.
    """
    root = json.loads(content)
    for buffer in root.get("buffers", ()):
        address = buffer.get("uri", "")
        if not address or address.startswith("data:"):
            continue
        if "://" in address:
            raise ValueError(f"its buffer '{address}' is not a file beside it; fetch it and name it by its path")
        file = Path(folder) / unquote(address)
        try:
            data = base64.b64encode(file.read_bytes()).decode()
        except OSError as error:
            raise ValueError(f"its buffer '{address}' cannot be read: {error.strerror}") from None
        buffer["uri"] = f"data:application/octet-stream;base64,{data}"
    for name in ("images", "textures", "materials"):  # a picture that is not there would cost it its triangles
        root.pop(name, None)
    for mesh in root.get("meshes", ()):
        for primitive in mesh.get("primitives", ()):
            primitive.pop("material", None)
    return json.dumps(root).encode()
