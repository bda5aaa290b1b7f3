# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What every engine asks of a geometry: its size, checked, and the vertices of a hull."""

from collections.abc import Callable
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import CollisionError
from mb_contact.model.shapes.hulls import Hull, convex_hull
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_MESH,
    SHAPE_NAMES,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    Geoms,
)

#: Shapes that never reach an engine: kernels of this package have their contacts.
OWN = (SHAPE_PLANE, SHAPE_HEIGHT_FIELD, SHAPE_MESH)
#: How many entries of its size a shape uses.
USED = {SHAPE_SPHERE: 1, SHAPE_CAPSULE: 2, SHAPE_CYLINDER: 2, SHAPE_CONE: 2, SHAPE_BOX: 3, SHAPE_ELLIPSOID: 3,
        SHAPE_CONVEX: 3}


def checked_size(geoms: Geoms, g: int) -> Floats:
    """Entries of the size of geometry g that its shape uses; a plane has none.

    Raises
    ------
    CollisionError
        The kind is not known, a size is not positive and finite, or a hull has no vertices.
    """
    kind = int(geoms.kind[g])
    if kind not in USED:
        raise CollisionError(f"geometry {g}: no engine has a shape for kind {kind}; known kinds: {SHAPE_NAMES}")
    size = geoms.size[g, :USED[kind]]
    if not (np.isfinite(size).all() and (size > 0.0).all()):
        name = SHAPE_NAMES[kind]
        raise CollisionError(f"geometry {g} ({name}): size {size.tolist()} must be positive and finite")
    if kind == SHAPE_CONVEX and len(hull_vertices(geoms, g)) < 4:
        raise CollisionError(f"geometry {g} (convex): a hull needs at least four vertices")
    return size


def hull_vertices(geoms: Geoms, g: int) -> Floats:
    """Vertices (k, 3) of the hull of geometry g in its frame [m]; none of another shape."""
    return geoms.vertices[geoms.first_vertex[g]:geoms.first_vertex[g + 1]]


def order_key(geoms: Geoms, g: int) -> tuple[int, list[float], list[list[float]]]:
    """Sort key of a geometry that does not depend on its number."""
    return int(geoms.kind[g]), geoms.size[g].tolist(), hull_vertices(geoms, g).tolist()


def make_shape(library: Any, geoms: Geoms, g: int, convex: Callable[[Hull], Any]) -> Any:
    """The shape of geometry g in an engine's classes, which have the same names; of a hull ``convex(Hull)``.

    Returns
    -------
    shape or None
        None for a plane, a height field or a mesh, which never reach an engine.
    """
    kind = int(geoms.kind[g])
    if kind in OWN:
        return None
    size = checked_size(geoms, g)
    if kind == SHAPE_CONVEX:
        vertices = hull_vertices(geoms, g)
        return convex(convex_hull(vertices, most=len(vertices)))
    if kind in (SHAPE_CAPSULE, SHAPE_CYLINDER, SHAPE_CONE):
        make = {SHAPE_CAPSULE: library.Capsule, SHAPE_CYLINDER: library.Cylinder, SHAPE_CONE: library.Cone}[kind]
        return make(float(size[0]), 2.0 * float(size[1]))
    make = {SHAPE_SPHERE: library.Sphere, SHAPE_BOX: library.Box, SHAPE_ELLIPSOID: library.Ellipsoid}[kind]
    return make(*(2.0 * size if kind == SHAPE_BOX else size).tolist())
