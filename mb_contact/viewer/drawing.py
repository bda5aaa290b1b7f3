# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The parts of a scene that can be drawn: visual meshes, collision shapes, planes, each fixed to a link."""

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import as_matrix
from mb_contact.errors import InputError
from mb_contact.model.pairs import link_frictions
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.model.scene import Scene
from mb_contact.model.shapes.height_fields import grid_triangles
from mb_contact.model.shapes.looks import Texture
from mb_contact.model.shapes.shape_meshes import ball_profile, box_mesh, turned
from mb_contact.model.shapes.visuals import PALETTE, STILL, read_visuals, scene_visuals, shape_visuals
from mb_contact.model.world import World
from mb_contact.ros.outputs.sizes import scene_size
from mb_contact.simulation.arrows import typical_weight
from mb_contact.types import SHAPE_PLANE, WORLD

FIELD_ROWS = 256  #: and columns of a drawn height field at most
SHADY = 0.5  #: opacity of what throws a shadow, at least
SURFACE_ROWS = 40  #: and columns of a drawn chart
CUBE, SPHERE, CYLINDER, TRIANGLES = 1, 2, 3, 11  #: types of visualization_msgs/Marker


class Part(NamedTuple):
    """Triangles fixed to a link."""

    link: str
    vertices: np.ndarray  #: (v, 3), in the link's frame [m]
    triangles: np.ndarray  #: int64 (t, 3)
    colour: tuple  #: red, green, blue from 0 to 1
    opacity: float = 1.0
    texture: Texture | None = None


class Plane(NamedTuple):
    """A half-space: what is drawn is its surface, z = 0."""

    link: str
    R: np.ndarray  #: (3, 3), in the link's frame
    p: np.ndarray  #: (3,) [m]


class Drawing(NamedTuple):
    """Everything that can be drawn of a scene."""

    visuals: list  #: of Part: visual meshes, and collision shapes of links without any
    collisions: list  #: of Part
    planes: list  #: of Plane
    moving: tuple  #: links that are drawn and move
    friction: dict  #: coefficient of each pair of links that may touch
    missing: list  #: sentences about what cannot be drawn, and what the world warns of: hulls that deviate, open meshes
    weight: float = 0.0  #: of a typical object [N]; 0 where there is none
    objects: dict = {}  #: links of the scene's objects to the names of their shapes
    frames: dict = {}  #: links without a shape to one that is drawn and moves with them, and their pose in it
    floor: float | None = None  #: height of the ground [m]
    size: float = 0.0  #: of the scene, by which arrows and axes are measured [m]; 0: as far as what moves reaches


def scene_drawing(scene: Scene, world: World) -> Drawing:
    """Drawing of a Scene and its World."""
    read, missing = scene_visuals(scene, world)
    visuals = [_part(visual) for visual in read]
    seen, (collisions, planes) = {part.link for part in visuals}, _collision_shapes(world, scene)
    visuals += [part for part in collisions if part.link not in seen]
    drawn = list(dict.fromkeys(part.link for part in (*visuals, *collisions, *planes)))
    moving = tuple(link for link in drawn if world.frames[link].body != WORLD)
    of_robots = {link for model in world.robot_models for link in model.link_names}
    objects = {link: {world.geometry_names[g] for g in rows} for link, rows in world.link_geometries.items()
               if link not in of_robots}  # fmt: skip
    floor = None if scene.ground is None else float(scene.ground.height)
    carried = _carried(world, drawn)
    told, weight, size = [*world.warnings, *missing], typical_weight(world), scene_size(world)
    return Drawing(
        visuals, collisions, planes, moving, link_frictions(world), told, weight, objects, carried, floor, size
    )


def _carried(world, drawn):
    """Links that are not drawn: one that is, on the same body, and their pose in that: tool centres, mounts."""
    hosts = {world.frames[link].body: link for link in reversed(drawn) if world.frames[link].body != WORLD}
    found = {}
    for link, frame in world.frames.items():
        host = hosts.get(frame.body)
        if link not in drawn and host is not None:
            on = world.frames[host]
            found[link] = host, on.R.T @ (frame.p - on.p), matrix_to_quat(on.R.T @ frame.R)
    return found


def _part(visual):
    """The Part of a Visual."""
    return Part(
        visual.link, visual.vertices, visual.triangles, visual.colour[:3], visual.colour[3], visual.texture
    )


def _collision_shapes(world, scene):
    """Parts and Planes of all geometries."""
    visuals = shape_visuals(world, FIELD_ROWS, scene)
    planes = [Plane(v.link, v.shape.R, v.shape.p) for v in visuals if v.shape and v.shape.kind == SHAPE_PLANE]
    parts = [_part(visual) for visual in visuals if len(visual.triangles)]
    return parts, planes


def marker_parts(markers: Iterable[Any], world_frame: str = "world") -> list[Part]:
    """Parts of visualization_msgs/Marker of one shape each: cubes, spheres, cylinders, triangles; others are left out.

    Those in ``world_frame`` do not move.

    Raises
    ------
    InputError
        A pose that is none, corners that are no triangles.
    """
    parts: list[Part] = []
    colours: dict[str, tuple[float, float, float]] = {}
    for marker in markers:
        mesh = _marker_mesh(marker)
        if mesh is None:
            continue
        vertices, triangles = mesh
        p, o, link = marker.pose.position, marker.pose.orientation, marker.header.frame_id
        placed = vertices @ quat_to_matrix(np.array((o.x, o.y, o.z, o.w))).T + (p.x, p.y, p.z)
        colour = STILL if link == world_frame else colours.setdefault(link, PALETTE[-1 - len(colours) % len(PALETTE)])
        parts.append(Part(link, placed, triangles, colour))
    return parts


def _marker_mesh(marker):
    half = 0.5 * np.array((marker.scale.x, marker.scale.y, marker.scale.z))
    if marker.type == CUBE:
        return box_mesh(half)
    if marker.type == SPHERE:
        return turned(*ball_profile(), half)
    if marker.type == CYLINDER:
        return turned(np.array([0.0, 1.0, 1.0, 0.0]), np.array([-1.0, -1.0, 1.0, 1.0]), half)
    if marker.type == TRIANGLES and len(marker.points):
        points = [(point.x, point.y, point.z) for point in marker.points]
        corners = as_matrix(points, (None, 3), f"marker '{marker.ns}'")
        if len(corners) % 3:
            raise InputError(f"marker '{marker.ns}' has {len(corners)} corners; triangles have three each")
        return corners, np.arange(len(corners)).reshape(-1, 3)
    return None


def surface_drawing(simulator: Any) -> Drawing:
    """Drawing of a simulator of smooth surfaces: every chart as a grid, a robot by its visuals, others as ever."""
    parts, missing = _grids_of(simulator), []
    if isinstance(simulator.world, World):
        return _among_others(simulator, parts)
    for model in simulator.world.robot_models:
        visuals, without = read_visuals(model.urdf, simulator.scene.path.parent)
        parts += [_part(visual) for visual in visuals]
        missing += without
    moving = tuple(dict.fromkeys(part.link for part in parts if part.link != "world"))
    return Drawing(parts, [], [], moving, {}, missing)


def _among_others(simulator, grids):
    """Drawing of a simulator of both kinds: its surfaces as ``grids`` of Parts, all else as in every scene."""
    drawing = scene_drawing(simulator.scene, simulator.world)
    drawn = {end for part in simulator.surface_scene.contacts for end in (part.body.name, part.base_name())}
    others = [part for part in drawing.visuals if part.link not in drawn]
    moving = dict.fromkeys((*drawing.moving, *(part.link for part in grids if part.link != "world")))
    return drawing._replace(
        visuals=grids + others, planes=[plane for plane in drawing.planes if plane.link not in drawn],
        moving=tuple(moving),
    )  # fmt: skip


def _grids_of(simulator):
    """Parts of all surfaces of a simulator of them."""
    parts = []
    for i, (link, surface, opacity) in enumerate(_surfaces(simulator)):
        colour = STILL if link == "world" else PALETTE[i % len(PALETTE)]
        parts.append(Part(link, *_grid_of(surface), colour, opacity))
    return parts


def _surfaces(simulator):
    """(link, surface, opacity) of all surfaces of a simulator of them; below, they are drawn a little transparent."""
    tree = simulator.tree
    bodies = [(contact.name, pair.surfaces[1], 1.0) for contact, pair in zip(tree.contacts, tree.pairs)]
    return bodies + [(c.parent or "world", pair.surfaces[0], 0.8) for c, pair in zip(tree.contacts, tree.pairs)]


def _grid_of(surface):
    """Vertices and triangles of a surface, those of each chart on its grid, in the frame of its body."""
    vertices, triangles, count = [], [], 0
    for chart in range(len(surface.charts)):
        vertices.append(surface.samples(chart, SURFACE_ROWS)[1])
        rows = round(len(vertices[-1]) ** 0.5)
        triangles.append(grid_triangles(rows, rows) + count)
        count += len(vertices[-1])
    return np.concatenate(vertices), np.concatenate(triangles)
