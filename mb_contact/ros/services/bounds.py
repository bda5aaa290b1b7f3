# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bounds of simulation_interfaces: boxes around entities, and which of them reach into a volume."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.collision.overlap import CORNERS, Volume, boxes_around, overlaps
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene.places import is_box, is_hull
from mb_contact.ros.outputs.fields import filled
from mb_contact.ros.services.common import refuse_if
from mb_contact.types import WORLD


def volume_of(bounds: Any, codes: Any) -> Volume | None:
    """The volume of a Bounds message in world axes; None where it is unbounded."""
    kind, count = int(bounds.type), len(bounds.points)
    if kind == bounds.TYPE_EMPTY:
        return None
    known = (bounds.TYPE_BOX, bounds.TYPE_SPHERE, bounds.TYPE_CONVEX_HULL)
    refuse_if(kind not in known, codes.RESULT_FEATURE_UNSUPPORTED, f"there are no bounds of type {kind}")
    bad = codes.RESULT_OPERATION_FAILED
    refuse_if(count > CORNERS, bad, f"bounds have {CORNERS} points at most, these have {count}")
    points = np.array([[point.x, point.y, point.z] for point in bounds.points]).reshape(count, 3)
    used = points[:1] if kind == bounds.TYPE_SPHERE else points
    refuse_if(not np.isfinite(used).all() or np.abs(used).max(initial=0.0) > 1e9, bad, "the bounds are not finite")
    if kind == bounds.TYPE_SPHERE:
        right = count == 2 and 0.0 < points[1, 0] < 1e9
        refuse_if(not right, bad, "a sphere is its centre and, as x of a second point, its radius")
        return Volume.sphere(points[0], points[1, 0])
    if kind == bounds.TYPE_BOX:
        refuse_if(not is_box(points), bad, "a box is its upper right and its lower left corner, apart in every axis")
        return Volume.box(points[1], points[0])
    refuse_if(not is_hull(points), bad, "a hull has three points at least that lie on no line")
    return Volume.hull(points)


def _placed(simulator: Any, links: Sequence[str]) -> Iterator[tuple[int, Floats, Floats]]:
    """Each geometry of these links with its rotation (3, 3) and position (3,) [m] in the world."""
    world = simulator.world
    geoms = world.geoms
    for g in (g for link in links for g in world.link_geometries.get(link, ())):
        R, p, body = geoms.R[g], geoms.p[g], int(geoms.body[g])
        if body != WORLD:
            origin, quaternion = simulator.link_pose(world.body_names[body])
            axes = quat_to_matrix(quaternion)
            R, p = axes @ R, origin + axes @ p
        yield g, R, p


def reaches(simulator: Any, links: Sequence[str], volume: Volume) -> bool:
    """Whether any shape of these links touches a volume."""
    return any(overlaps(simulator.world.geoms, g, R, p, volume) for g, R, p in _placed(simulator, links))


def extent(simulator: Any, link: str, links: Sequence[str]) -> tuple[Floats, Floats] | None:
    """Lower and upper corner (3,) [m] around the shapes of these links, in the axes of ``link``; None without any."""
    origin, quaternion = simulator.link_pose(link)
    axes = quat_to_matrix(quaternion)
    placed = [(g, axes.T @ R, axes.T @ (p - origin)) for g, R, p in _placed(simulator, links)]
    if not placed:
        return None
    shapes, R, p = map(np.array, zip(*placed))
    boxes = boxes_around(simulator.world.geoms, shapes, R, p)
    return boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)


def fill_bounds(node: Any, bounds: Any, box: tuple[Floats, Floats] | None) -> None:
    """A Bounds message of a box, unbounded for what has no shape or no end."""
    bounds.type = bounds.TYPE_EMPTY
    if box is not None and np.isfinite(box).all():
        bounds.type = bounds.TYPE_BOX
        bounds.points = [filled(node.message_type("geometry_msgs/msg/Vector3")(), corner) for corner in box[::-1]]
