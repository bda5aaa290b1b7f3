# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What can be seen of a scene: visuals of URDFs, of which the dynamics know nothing, and collision shapes."""

from pathlib import Path
from typing import NamedTuple

import numpy as np
from lxml import etree

from mb_contact.errors import ModelError
from mb_contact.model.resources import find_resource
from mb_contact.model.scene.bodies import kernel_size
from mb_contact.model.shapes.looks import Painted, Texture, read_painted, read_picture, tinted, wrapped
from mb_contact.model.shapes.shape_meshes import box_mesh, round_mesh, shape_mesh
from mb_contact.model.urdf.geometry import ATTRIBUTES, KINDS
from mb_contact.model.urdf.xml_reader import ElementReader
from mb_contact.types import SHAPE_BOX, SHAPE_CONVEX, SHAPE_HEIGHT_FIELD, SHAPE_MESH, WORLD

MOST = 30000  #: triangles of one mesh; of a finer one every k-th vertex cluster is drawn
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
    texture: Texture | None = None  #: picture on the triangles, whose mean is the colour


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
    root, reader = etree.fromstring(urdf.encode()), ElementReader("URDF")
    named = {entry.get("name"): entry for entry in (*root.iter("material"), *root.findall("material")) if len(entry)}
    visuals, missing = [], []
    for number, link in enumerate(root.findall("link")):
        for visual in link.findall("visual"):
            told = []
            try:
                parts, shape = _geometry(visual.find("geometry"), reader, start, package_dirs, most, told)
                R, p = reader.origin(visual)
            except (ModelError, ValueError, OSError) as error:
                missing.append(f"link '{link.get('name')}': visual left out: {error}")
                continue
            paint = _Paint(visual.find("material"), named, number, reader, start, package_dirs)
            visuals += [_placed(link.get("name"), part, shape, R, p, *paint.of(part, shape)) for part in parts]
            missing += [f"link '{link.get('name')}': {text}" for text in told + paint.missing]
    return visuals, missing


def scene_visuals(scene, world, most=MOST):
    """The visuals of all robots of a scene, each relative to the file it comes from, and those of its objects.

    Of objects these are what their ``visual`` says, and meshes as their files have them; the other objects look like
    their collision shapes.  As :func:`read_visuals`.
    """
    folder = Path() if scene.path is None else Path(scene.path).parent
    visuals, missing = [], []
    for entry, model in zip(scene.models, world.robot_models):
        start = folder
        if not str(entry.urdf).lstrip().startswith("<"):
            start = find_resource(entry.urdf, scene.package_folders(), folder).parent
        found, without = read_visuals(model.urdf, start, scene.package_folders(), most)
        visuals += found
        missing += without
    colours = shape_colours(world, scene)
    for primitive in scene.primitives:
        visual = primitive.visual or (primitive if primitive.mesh is not None else None)
        if visual is None or primitive.name not in world.frames:
            continue
        told = []
        try:
            parts, shape = _of_object(visual, scene.package_folders(), folder, most, told)
        except (ValueError, OSError) as error:
            missing.append(f"'{primitive.name}': visual left out: {error}")
            continue
        R, p = (np.eye(3), np.zeros(3)) if visual is primitive else (visual.pose.rotation(), visual.pose.origin())
        said = rgba(getattr(visual, "color", ())) or rgba(primitive.color)
        for part in parts:
            colour, texture = (said, None) if said else (part.colour or colours[primitive.name], part.texture)
            visuals.append(_placed(primitive.name, part, shape, R, p, colour, texture))
        missing += [f"'{primitive.name}': {text}" for text in told]
    return visuals, missing


def rgba(color):
    """Red, green, blue and opacity of a scene's ``color``; None where it has none."""
    return (*(float(x) for x in color), 1.0)[:4] if len(color) else None


def shape_colours(world, scene=None):
    """Colours of links by their collision shapes: what the scene says, or by turns."""
    said = {p.name: rgba(p.color) for p in scene.primitives if len(p.color)} if scene is not None else {}
    colours, turn = {}, 0
    for g, link in enumerate(world.geometry_links):
        if g in world.anchors or link in colours:
            continue
        still = world.frames[link].body == WORLD
        colours[link] = said.get(link) or (*(STILL if still else PALETTE[turn % len(PALETTE)]), 1.0)
        turn += not still
    return colours


def shape_visuals(world, most=None, scene=None):
    """The collision shapes of a world as Visuals, in the colours of a scene; a plane has no triangles.

    Of a height field's rows and columns at most ``most`` each are taken where that is given.
    """
    visuals, colours = [], shape_colours(world, scene)
    for g, link in enumerate(world.geometry_links):
        if g in world.anchors:
            continue
        frame, kind = world.frames[link], int(world.geoms.kind[g])
        R, p = frame.R.T @ world.geoms.R[g], frame.R.T @ (world.geoms.p[g] - frame.p)
        vertices, triangles = shape_mesh(world.geoms, g, most)
        shape = None if kind in MESHES else Shape(kind, world.geoms.size[g], R, p)
        visuals.append(Visual(link, vertices @ R.T + p, triangles, colours[link], shape))
    return visuals


def visible(scene, world):
    """What can be seen: the visuals of robots and objects, and the collision shapes of links without any."""
    visuals, _ = scene_visuals(scene, world, most=None)
    drawn = {visual.link for visual in visuals}
    return visuals + [visual for visual in shape_visuals(world, scene=scene) if visual.link not in drawn]


# --- one visual -----------------------------------------------------------------------------------


def _geometry(geometry, reader, start, package_dirs, most, told):
    """Parts of a ``<geometry>`` (list of Painted), its (SHAPE_*, size) or None.

    A ModelError, ValueError or OSError says why not.
    """
    shapes = [] if geometry is None else [child for child in geometry if isinstance(child.tag, str)]
    if len(shapes) != 1:
        raise ValueError("it needs one shape")
    shape = shapes[0]
    if shape.tag == "mesh":
        scale = reader.vector(shape, "scale", 3, np.ones(3))
        return _mesh(shape.get("filename") or "", scale, package_dirs, start, most, told), None
    if shape.tag not in KINDS:
        raise ValueError(f"<{shape.tag}> is not drawn")
    numbers = [reader.vector(shape, key, 3 if key == "size" else 1) for key in ATTRIBUTES[shape.tag]]
    return _solid(KINDS[shape.tag], kernel_size(KINDS[shape.tag], np.concatenate(numbers)))


def _solid(kind, size):
    """The part of a shape with a closed form, and the shape."""
    return [Painted(*(box_mesh(size) if kind == SHAPE_BOX else round_mesh(kind, size)))], (kind, size)


def _of_object(visual, package_dirs, start, most, told):
    """The same of an object's mesh, or of its ``visual``."""
    if visual.shape == "mesh":
        return _mesh(visual.mesh, visual.scale, package_dirs, start, most, told), None
    return _solid(visual.kind(), visual.kernel_size())


def _mesh(address, scale, package_dirs, start, most, told):
    """Parts of a mesh file, scaled and thinned; what is missing of its looks is ``told``."""
    parts, missing = read_painted(find_resource(address, package_dirs, start))
    told += missing
    whole, found = sum(len(part.triangles) for part in parts), []
    size = np.ptp(np.concatenate([part.vertices for part in parts]) * scale, axis=0).max()
    for part in parts:
        vertices, triangles, rows = part.vertices * scale, part.triangles, slice(None)
        if most is not None and whole > most:
            vertices, triangles, rows = thinned(vertices, triangles, 0, size)
        texture = None if part.texture is None else part.texture._replace(corners=part.texture.corners[rows])
        places = None if part.places is None else part.places[rows]
        found.append(part._replace(vertices=vertices, triangles=triangles, texture=texture, places=places))
    return [part for part in found if len(part.triangles)]


def _placed(link, part, shape, R, p, colour, texture):
    """A Visual of a Painted part; a shape with a picture is its triangles."""
    solid = None if shape is None or texture is not None else Shape(*shape, R, p)
    return Visual(link, part.vertices @ R.T + p, part.triangles, colour, solid, texture)


def thinned(vertices, triangles, most=MOST, size=None):
    """A mesh of more than ``most`` triangles with its vertices moved to a grid, and what vanishes left out.

    Returns vertices, triangles, and of each triangle which one it was; ``size`` is the longest side of the whole [m].
    """
    if len(triangles) <= most:
        return vertices, triangles, np.arange(len(triangles))
    low = vertices.min(axis=0)
    cell = (np.ptp(vertices, axis=0).max() if size is None else size) / FINE
    grid, index = np.unique(np.round((vertices - low) / cell).astype(np.int64), axis=0, return_inverse=True)
    triangles = index.reshape(-1)[triangles]
    a, b, c = triangles.T
    kept = np.flatnonzero((a != b) & (b != c) & (c != a))
    triangles, once = np.unique(triangles[kept], axis=0, return_index=True)
    return low + cell * grid, triangles, kept[once]


class _Paint:
    """Colours of one ``<visual>``: those of its mesh file, then its own material's, then light and dark by turns."""

    def __init__(self, material, named, number, reader, start, package_dirs):
        entry = material
        if entry is not None and entry.find("color") is None and entry.find("texture") is None:
            entry = named.get(entry.get("name"))
        self.colour, self.picture, self.missing = None, None, []
        self.default = (*(LIGHT, DARK, LIGHT, ACCENT)[number % 4], 1.0)
        colour, texture = (None, None) if entry is None else (entry.find("color"), entry.find("texture"))
        try:
            if colour is not None:
                self.colour = tuple(float(x) for x in np.clip(reader.vector(colour, "rgba", 4), 0.0, 1.0))
            if texture is not None and texture.get("filename"):  # exporters write empty ones
                picture = read_picture(find_resource(texture.get("filename"), package_dirs, start))
                self.picture = tinted(picture, None if self.colour is None else self.colour[:3])
        except (ModelError, ValueError, OSError) as error:
            self.missing.append(f"material '{material.get('name')}': {error}")

    def of(self, part, shape):
        """(colour, Texture or None) of a part."""
        if part.colour is not None:  # as RViz has it: the file's own materials count
            return part.colour, part.texture
        if self.picture is not None and (shape is not None or part.places is not None):
            texture = Texture(self.picture, part.places) if shape is None else wrapped(
                shape[0], part.vertices, part.triangles, self.picture)  # fmt: skip
            return (*texture.mean(), 1.0 if self.colour is None else self.colour[3]), texture
        return self.colour or self.default, None
