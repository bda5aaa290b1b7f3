# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What can be seen of a scene: visuals of URDFs, of which the dynamics know nothing, and collision shapes."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree

from mb_contact.checks import as_number
from mb_contact.model.resources import find_resource
from mb_contact.model.rotations import rpy_to_matrix
from mb_contact.model.scene.bodies import kernel_size
from mb_contact.model.shapes.meshes import mesh_content, read_mesh
from mb_contact.model.shapes.shape_meshes import box_mesh, round_mesh, shape_mesh
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_HEIGHT_FIELD,
    SHAPE_MESH,
    SHAPE_SPHERE,
    WORLD,
)

MOST = 30000  #: triangles of one mesh; of a finer one every k-th vertex cluster is drawn
ROUND_SHAPES = {"sphere": SHAPE_SPHERE, "cylinder": SHAPE_CYLINDER, "capsule": SHAPE_CAPSULE}
MESHES = (SHAPE_CONVEX, SHAPE_HEIGHT_FIELD, SHAPE_MESH)  #: shapes that are their triangles
FINE = 320  #: clusters along the longest side of such a mesh
LIGHT, DARK, ACCENT = (0.80, 0.81, 0.83), (0.32, 0.34, 0.38), (0.90, 0.55, 0.24)  #: where the file gives no colour
STILL = (0.62, 0.63, 0.64)  #: colour of what is welded to the world
PALETTE = (  #: colours of objects, by turns
    (0.86, 0.37, 0.25), (0.24, 0.48, 0.72), (0.95, 0.72, 0.27), (0.35, 0.64, 0.42), (0.58, 0.40, 0.68),
    (0.93, 0.56, 0.60), (0.36, 0.70, 0.72), (0.70, 0.55, 0.38), (0.55, 0.60, 0.28), (0.45, 0.45, 0.55),
)  # fmt: skip


class Shape(NamedTuple):
    """A shape with a closed form."""

    kind: int  #: SHAPE_*
    size: np.ndarray  #: (3,), as SHAPE_* says [m]
    R: np.ndarray  #: (3, 3), its axes in the link's
    p: np.ndarray  #: (3,), its origin in the link's frame [m]


class Visual(NamedTuple):
    """What one ``<visual>`` or one collision shape looks like."""

    link: str
    vertices: np.ndarray  #: (v, 3), in the link's frame [m]
    triangles: np.ndarray  #: int64 (t, 3)
    colour: tuple  #: red, green, blue, opacity, from 0 to 1
    shape: Shape | None = None  #: what the triangles stand for; None where they are all there is


def read_visuals(urdf, start=None, package_dirs=(), most=MOST):
    """All visuals of a robot, and a sentence for each that cannot be drawn.

    Parameters
    ----------
    urdf : str
        Text of the URDF (``Model.urdf``).
    start : path, optional
        Folder that relative mesh files start from.
    package_dirs : sequence of path
    most : int or None
        Finer meshes are thinned to about so many triangles.

    Returns
    -------
    visuals : list of Visual
    missing : list of str
    """
    root = etree.fromstring(urdf.encode())
    named = {entry.get("name"): entry for entry in root.findall("material")}
    visuals, missing = [], []
    for number, link in enumerate(root.findall("link")):
        for visual in link.findall("visual"):
            try:
                (vertices, triangles), kind, size = _geometry(visual.find("geometry"), start, package_dirs, most)
                R, p = _origin(visual.find("origin"))
            except (ValueError, OSError) as error:
                missing.append(f"link '{link.get('name')}': visual left out: {error}")
                continue
            colour = _colour(visual.find("material"), named, number)
            shape = None if kind is None else Shape(kind, size, R, p)
            visuals.append(Visual(link.get("name"), vertices @ R.T + p, triangles, colour, shape))
    return visuals, missing


def scene_visuals(scene, world, most=MOST):
    """The visuals of all robots of a scene, each relative to the file it comes from; as :func:`read_visuals`."""
    folder = Path() if scene.path is None else Path(scene.path).parent
    visuals, missing = [], []
    for entry, model in zip(scene.models, world.robot_models):
        start = folder
        if not str(entry.urdf).lstrip().startswith("<"):
            start = find_resource(entry.urdf, scene.package_folders(), folder).parent
        found, without = read_visuals(model.urdf, start, scene.package_folders(), most)
        visuals += found
        missing += without
    return visuals, missing


def shape_visuals(world, most=None):
    """The collision shapes of a world as Visuals; a plane has no triangles.

    Of a height field's rows and columns at most ``most`` each are taken where that is given.
    """
    visuals, colours = [], {}
    for g, link in enumerate(world.geometry_links):
        if g in world.anchors:
            continue
        frame, kind = world.frames[link], int(world.geoms.kind[g])
        R, p = frame.R.T @ world.geoms.R[g], frame.R.T @ (world.geoms.p[g] - frame.p)
        vertices, triangles = shape_mesh(world.geoms, g, most)
        colour = STILL if frame.body == WORLD else colours.setdefault(link, PALETTE[len(colours) % len(PALETTE)])
        shape = None if kind in MESHES else Shape(kind, world.geoms.size[g], R, p)
        visuals.append(Visual(link, vertices @ R.T + p, triangles, (*colour, 1.0), shape))
    return visuals


def visible(scene, world):
    """What can be seen: the visuals of the robots, and the collision shapes of links without any."""
    visuals, _ = scene_visuals(scene, world, most=None)
    drawn = {visual.link for visual in visuals}
    return visuals + [visual for visual in shape_visuals(world) if visual.link not in drawn]


# --- one visual -----------------------------------------------------------------------------------


def _geometry(geometry, start, package_dirs, most):
    """(vertices, triangles), SHAPE_* or None and size of a ``<geometry>``; ValueError or OSError says why not."""
    shapes = [] if geometry is None else [child for child in geometry if isinstance(child.tag, str)]
    if len(shapes) != 1:
        raise ValueError("it needs one shape")
    shape = shapes[0]
    if shape.tag == "mesh":
        return _mesh(shape, start, package_dirs, most), None, None
    if shape.tag == "box":
        size = kernel_size(SHAPE_BOX, _numbers(shape, "size", 3))
        return box_mesh(size), SHAPE_BOX, size
    if shape.tag not in ROUND_SHAPES:
        raise ValueError(f"<{shape.tag}> is not drawn")
    length = np.zeros(1) if shape.tag == "sphere" else _numbers(shape, "length", 1)
    kind = ROUND_SHAPES[shape.tag]
    size = kernel_size(kind, (*_numbers(shape, "radius", 1), *length))
    return round_mesh(kind, size), kind, size


def _mesh(shape, start, package_dirs, most):
    path = find_resource(shape.get("filename") or "", package_dirs, start)
    kind = path.suffix.lower()[1:]
    vertices, triangles = read_mesh(mesh_content(path), kind)
    vertices = vertices * _numbers(shape, "scale", 3, np.ones(3))
    return (vertices, triangles) if most is None else thinned(vertices, triangles, most)


def thinned(vertices, triangles, most=MOST):
    """A mesh of more than ``most`` triangles with its vertices moved to a grid, and what vanishes left out."""
    if len(triangles) <= most:
        return vertices, triangles
    low = vertices.min(axis=0)
    cell = np.ptp(vertices, axis=0).max() / FINE
    grid, index = np.unique(np.round((vertices - low) / cell).astype(np.int64), axis=0, return_inverse=True)
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    return low + cell * grid, np.unique(triangles[(a != b) & (b != c) & (c != a)], axis=0)


def _numbers(element, key, count, default=None):
    text = None if element is None else element.get(key)
    if text is None and default is not None:
        return default
    numbers = np.array([as_number(word) for word in (text or "").split()])
    if len(numbers) != count:
        raise ValueError(f"'{key}' needs {count} numbers, got '{text}'")
    return numbers


def _origin(element):
    p = _numbers(element, "xyz", 3, np.zeros(3))
    return rpy_to_matrix(_numbers(element, "rpy", 3, np.zeros(3))), p


def _colour(material, named, number):
    """Colour of a visual as its file gives it, or light and dark by turns."""
    entry = material
    if entry is not None and entry.find("color") is None:
        entry = named.get(entry.get("name"))
    if entry is not None and entry.find("color") is not None:
        try:
            rgba = _numbers(entry.find("color"), "rgba", 4)
            return (*(float(x) for x in np.clip(rgba[:3], 0.08, 0.92)), float(np.clip(rgba[3], 0.0, 1.0)))
        except ValueError:
            pass  # a colour is not worth a refusal
    return (*(LIGHT, DARK, LIGHT, ACCENT)[number % 4], 1.0)
