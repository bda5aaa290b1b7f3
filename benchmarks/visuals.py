# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Triangles of a robot's visual meshes and shapes, for pictures."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from lxml import etree
from render import shape_triangles

from mb_contact.model.meshes import read_mesh
from mb_contact.model.pairs import hull_arrays
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import rpy_to_matrix
from mb_contact.types import SHAPE_BOX, SHAPE_CYLINDER, SHAPE_SPHERE, Geoms

MOST = 30000  #: triangles of one mesh; of a finer one every k-th vertex cluster is drawn
LIGHT, DARK, ACCENT = (0.80, 0.81, 0.83), (0.32, 0.34, 0.38), (0.90, 0.55, 0.24)


def visual_triangles(file, link_pose):
    """Triangles (t, 3, 3) [m] in world axes and colours (t, 3) of all visuals of a URDF file.

    ``link_pose`` gives the position and rotation matrix of a link.  What cannot be read is left out.
    """
    root = etree.parse(str(file)).getroot()
    named = {entry.get("name"): entry for entry in root.findall("material")}
    triangles, colours, missing = [], [], []
    for number, link in enumerate(root.findall("link")):
        for visual in link.findall("visual"):
            try:
                mesh = _geometry(visual.find("geometry"), Path(file).parent)
            except (ValueError, OSError) as error:
                missing.append(f"{link.get('name')}: {error}")
                continue
            origin = visual.find("origin")
            xyz, rpy = (_numbers(origin, key, (0.0, 0.0, 0.0)) for key in ("xyz", "rpy"))
            p, R = link_pose(link.get("name"))
            triangles.append((mesh @ rpy_to_matrix(rpy).T + xyz) @ R.T + p)
            colours.append(np.tile(_colour(visual, named, number), (len(mesh), 1)))
    return np.concatenate(triangles), np.concatenate(colours), missing


def _numbers(element, key, default):
    text = None if element is None else element.get(key)
    return np.array(default if text is None else text.split(), dtype=np.float64)


def _geometry(geometry, folder):
    """Triangles of a visual geometry in the frame of its origin."""
    shape = next(child for child in geometry if isinstance(child.tag, str))
    if shape.tag == "mesh":
        path = find_resource(shape.get("filename"), start=folder)
        vertices, faces = read_mesh(path.read_bytes(), path.suffix.lower()[1:])
        vertices = vertices * _numbers(shape, "scale", (1.0, 1.0, 1.0))
        return _thinned(vertices[faces])
    if shape.tag == "sphere":
        kind, size = SHAPE_SPHERE, [float(shape.get("radius")), 0.0, 0.0]
    elif shape.tag == "cylinder":
        kind, size = SHAPE_CYLINDER, [float(shape.get("radius")), 0.5 * float(shape.get("length")), 0.0]
    else:
        kind, size = SHAPE_BOX, 0.5 * _numbers(shape, "size", ())
    one = np.zeros(1, dtype=np.int64)
    geoms = Geoms(one, np.array([kind]), np.array([size]), np.eye(3)[None], np.zeros((1, 3)), np.zeros((0, 2)),
                  np.zeros(0), np.zeros(1), first_row=one, **hull_arrays([None]))  # fmt: skip
    return shape_triangles(geoms, 0)


def _thinned(triangles):
    """Vertices moved to the corners of a grid that is fine enough for a picture; triangles that vanish left out."""
    if len(triangles) <= MOST:
        return triangles
    low = triangles.min(axis=(0, 1))
    cell = np.ptp(triangles.reshape(-1, 3), axis=0).max() / 320.0
    index = np.round((triangles - low) / cell).astype(np.int64)
    flat = (index == np.roll(index, 1, axis=1)).all(axis=2).any(axis=1)
    return low + cell * np.unique(index[~flat], axis=0)


def _colour(visual, named, number):
    """Colour of a visual as its file gives it, or light and dark by turns."""
    material = visual.find("material")
    if material is not None:
        entry = material if material.find("color") is not None else named.get(material.get("name"))
        if entry is not None and entry.find("color") is not None:
            return np.clip(_numbers(entry.find("color"), "rgba", (1, 1, 1, 1))[:3], 0.08, 0.92)
    return np.array((LIGHT, DARK, LIGHT, ACCENT)[number % 4])
