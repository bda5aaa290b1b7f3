# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which geometries of a world reach into a volume, and the boxes around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import coal
import numpy as np

from mb_contact.checks import Floats
from mb_contact.collision.coal_engine import TOLERANCE, _convex
from mb_contact.collision.sizes import make_shape
from mb_contact.core.collision.shapes import reach
from mb_contact.core.handle import make_geoms_handle
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.types import SHAPE_HEIGHT_FIELD, SHAPE_MESH, SHAPE_PLANE, Geoms

CORNERS = 1000  #: of a hull at most


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


def box_around(geoms: Geoms, g: int, R: Floats, p: Floats) -> tuple[Floats, Floats]:
    """Lower and upper corner (3,) [m] of geometry ``g`` along the axes in which ``R`` and ``p`` place it.

    Infinite for a plane; the tightest box of every other shape.
    """
    if geoms.kind[g] == SHAPE_PLANE:
        return np.full(3, -np.inf), np.full(3, np.inf)
    if geoms.kind[g] == SHAPE_HEIGHT_FIELD:
        half = np.abs(R) @ geoms.size[g]
        return p - half, p + half
    handle, axes = make_geoms_handle(geoms), np.zeros((g + 1, 3, 3))
    axes[g] = R
    below, above = ([reach(handle, axes, g, tuple(sign * x)) for x in np.eye(3)] for sign in (-1.0, 1.0))
    return p - below, p + above
