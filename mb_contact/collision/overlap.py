# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which geometries of a world reach into a volume, and the boxes around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import coal
import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.collision.coal_engine import TOLERANCE, _convex
from mb_contact.collision.sizes import make_shape
from mb_contact.core.collision.shapes import reach
from mb_contact.core.handle import make_geoms_handle
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.types import SHAPE_HEIGHT_FIELD, SHAPE_MESH, SHAPE_PLANE, Geoms

CORNERS = 1000  #: of a hull at most
WAYS = tuple(tuple(tuple(sign * x) for x in np.eye(3)) for sign in (-1.0, 1.0))  #: down and up along each axis


@dataclass(frozen=True)
class Volume:
    """A convex volume of the world: a shape of coal and its pose."""

    shape: Any
    pose: Any

    @classmethod
    def sphere(cls, centre: Floats, radius: float) -> Volume:
        """A ball [m]."""
        return cls(coal.Sphere(float(radius)), coal.Transform3s(np.eye(3), np.asarray(centre, dtype=float)))

    @classmethod
    def box(cls, lower: Floats, upper: Floats) -> Volume:
        """A box along the world's axes [m]."""
        lower, upper = np.asarray(lower, dtype=float), np.asarray(upper, dtype=float)
        return cls(coal.Box(*(upper - lower).tolist()), coal.Transform3s(np.eye(3), 0.5 * (lower + upper)))

    @classmethod
    def hull(cls, points: Floats) -> Volume:
        """The convex hull of points (k, 3) [m]; a flat one is made a thousandth of its width thick.

        Raises
        ------
        ValueError
            The points lie on a line.
        """
        return cls(_convex(convex_hull(np.asarray(points, dtype=float), most=CORNERS)), coal.Transform3s.Identity())


def overlaps(geoms: Geoms, g: int, R: Floats, p: Floats, volume: Volume) -> bool:
    """Whether geometry ``g`` at rotation ``R`` (3, 3) and position ``p`` (3,) [m] touches or reaches into a volume.

    A height field or a mesh counts with the box around it.
    """
    kind = int(geoms.kind[g])
    if kind == SHAPE_PLANE:
        shape = coal.Halfspace(np.array([0.0, 0.0, 1.0]), 0.0)
    elif kind in (SHAPE_HEIGHT_FIELD, SHAPE_MESH):
        shape = coal.Box(*(2.0 * geoms.size[g]).tolist())
    else:
        shape = make_shape(coal, geoms, g, _convex)
    request = coal.DistanceRequest()
    request.enable_signed_distance = True
    request.gjk_tolerance = request.epa_tolerance = TOLERANCE
    place = coal.Transform3s(np.asarray(R), np.asarray(p))
    return coal.distance(shape, place, volume.shape, volume.pose, request, coal.DistanceResult()) <= TOLERANCE


def boxes_around(geoms: Geoms, shapes: ArrayLike, R: Floats, p: Floats) -> Floats:
    """Lower and upper corners of geometries, along the axes in which ``R`` and ``p`` place them.

    Parameters
    ----------
    geoms : Geoms
    shapes : array_like of int (k,)
    R, p : ndarray (k, 3, 3), (k, 3)
        Their rotations and origins [m].

    Returns
    -------
    ndarray (k, 2, 3)
        [m]; infinite for a plane, the tightest box of every other shape.
    """
    boxes = np.empty((len(R), 2, 3))
    handle, axes = make_geoms_handle(geoms), np.zeros((len(geoms.kind), 3, 3))
    for i, g in enumerate(np.asarray(shapes, dtype=np.int64).tolist()):
        if geoms.kind[g] == SHAPE_PLANE:
            half = np.full((2, 3), np.inf)
        elif geoms.kind[g] == SHAPE_HEIGHT_FIELD:
            half = np.tile(np.abs(R[i]) @ geoms.size[g], (2, 1))
        else:
            axes[g] = R[i]
            half = np.array([[reach(handle, axes, g, way) for way in ways] for ways in WAYS])
        boxes[i] = p[i] - half[0], p[i] + half[1]
    return boxes
