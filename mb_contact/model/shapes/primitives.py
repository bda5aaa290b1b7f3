# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene's primitives are made of: hulls of their files, height fields, inertias, the tree of a free body."""

from dataclasses import replace
from pathlib import Path

import numpy as np

from mb_contact.model.resources import find_resource
from mb_contact.model.shapes.height_fields import height_field
from mb_contact.model.shapes.heights import read_heights, terrain
from mb_contact.model.shapes.hulls import MOST_VERTICES
from mb_contact.model.shapes.inertia import RigidInertia, shell, solid, solid_polyhedra, volume_of
from mb_contact.model.shapes.meshes import convex_bodies
from mb_contact.model.shapes.triangle_meshes import SHEET, TriangleMesh
from mb_contact.types import (
    JOINT_FLOATING,
    SHAPE_CONE,
    WORLD,
    Tree,
)


def scene_shapes(scene, primitive, key):
    """By file the hulls of a mesh, the height field in place of one, or None of a shape that its size says all of."""
    make = {"mesh": _hulls, "height_field": _height_field}.get(primitive.shape)
    return [[None]] if make is None else make(scene, primitive, key)


def scene_file(scene, address, key):
    """A file that the scene names, relative to the scene's own."""
    start = scene.path.parent if scene.path is not None else Path()
    try:
        path = find_resource(address, scene.package_folders(), start)
    except FileNotFoundError as error:
        raise scene.error(key, str(error)) from None
    scene.refuse_if(path.is_dir(), key, f"{path} is a folder; name a file in it")
    return path


def flexible_links(scene, entry, key):
    """The flexible links of a robot, files of modal data where they are found."""
    return {
        name: link if link.file is None else replace(link, file=str(scene_file(scene, link.file, f"{key}.{name}.file")))
        for name, link in entry.flexible_links.items()
    }


def _hulls(scene, primitive, key):
    """Convex bodies of each file of a mesh."""
    files = [(f"{key}.mesh", primitive.mesh)] if primitive.mesh is not None else [
        (f"{key}.pieces[{i}]", piece) for i, piece in enumerate(primitive.pieces)]  # fmt: skip
    bodies, method = [], primitive.collision_meshes
    if method == "auto" and (primitive.pieces or primitive.hull_vertices):
        method = "convex_hull"
    for place, file in files:
        try:
            bodies.append(convex_bodies(
                scene_file(scene, file, place), primitive.scale, method,
                primitive.hull_vertices or MOST_VERTICES, primitive.pieces_tolerance,
            ))  # fmt: skip
        except ValueError as error:
            raise scene.error(place, f"'{file}': {error}") from None
    return bodies


def _height_field(scene, primitive, key):
    """The height field of a primitive, in place of a hull."""
    heights, key = primitive.heights, f"{key}.heights"
    try:
        if heights.generator is not None:
            grid = terrain(heights, primitive.size)
        elif heights.file is not None:
            key = f"{key}.file"
            grid = read_heights(scene_file(scene, heights.file, key))
        else:
            grid = np.array(heights.grid, dtype=np.float64)
        return [[height_field(heights.factor * grid, primitive.size)]]
    except ValueError as error:
        raise scene.error(key, str(error)) from None


def primitive_inertia(scene, primitive, hulls, key):
    """RigidInertia of a free primitive: the solid's, with the moments that the scene gives instead of its own."""
    kind, size, mass = primitive.kind(), primitive.kernel_size(), primitive.mass
    if primitive.density is not None:
        hulls = _solids(scene, primitive, hulls, key)
        mass = primitive.density * (sum(map(_volume, hulls)) if hulls[0] is not None else volume_of(kind, size))
    if isinstance(hulls[0], TriangleMesh) and hulls[0].sided == SHEET:
        body = shell((hulls[0].vertices + hulls[0].centre)[hulls[0].triangles], mass)
    elif hulls[0] is not None:
        body = solid_polyhedra([(hull.vertices + hull.centre, hull.triangles) for hull in hulls], mass)
    else:
        com = np.array([0.0, 0.0, -0.5 * size[1] if kind == SHAPE_CONE else 0.0])
        body = RigidInertia(mass, com, solid(kind, size, mass))
    if primitive.inertia is None:
        moments = np.diag(body.inertia)
        if not (np.isfinite(body.inertia).all() and (moments > 0.0).all()):
            words = ", ".join(f"{moment:g}" for moment in moments)
            message = f"this mass and size give moments of {words} kg m^2; no body is so small or so large"
            raise scene.error(f"{key}.{'mass' if primitive.density is None else 'density'}", message)
        return body
    low, middle, high = sorted(primitive.inertia)
    scene.refuse_if(
        low <= 0.0 or high > (low + middle) * (1.0 + 1e-6), f"{key}.inertia",
        f"no body has the principal moments {list(primitive.inertia)} kg m^2; each must be "
        "above zero and at most the sum of the others",
    )
    return body._replace(inertia=np.diag(primitive.inertia))


def _solids(scene, primitive, hulls, key):
    """What a density fills: pieces of one's own as they are, a mesh file's own triangles, which must be closed."""
    if primitive.mesh is None:
        return hulls
    (mesh,) = convex_bodies(scene_file(scene, primitive.mesh, f"{key}.mesh"), primitive.scale, "mesh")
    message = "the mesh is open and encloses no volume; close it where edges have one triangle, or give a mass"
    scene.refuse_if(mesh.sided == SHEET, f"{key}.density", message)
    return [mesh]


def _volume(body):
    """Of a closed polyhedron [m^3]."""
    return float(np.linalg.det(body.vertices[body.triangles]).sum()) / 6.0


def free_body(body):
    """The one-body tree of a free primitive."""
    return Tree(
        parent=np.array([WORLD]), joint_type=np.array([JOINT_FLOATING]), q_start=np.zeros(1, dtype=np.int64),
        v_start=np.zeros(1, dtype=np.int64), nv=np.array([6]), root=np.zeros(1, dtype=np.int64),
        R_joint=np.eye(3)[None], p_joint=np.zeros((1, 3)), axis=np.zeros((1, 3)), axis2=np.zeros((1, 3)),
        mass=np.array([body.mass]), com=body.com[None], inertia=body.inertia[None],
        armature=np.zeros(6), damping=np.zeros(6), effort_limit=np.zeros(6),
        lower=np.full(6, -np.inf), upper=np.full(6, np.inf), body_gravity=np.full((1, 3), np.nan),
    )


def moved_frame(frame, R, p, first):
    """A robot's frame in the world: welded ones move with it, the others get their body's new number."""
    if frame.body == WORLD:
        return frame._replace(R=R @ frame.R, p=p + R @ frame.p)
    return frame._replace(body=first + frame.body)
