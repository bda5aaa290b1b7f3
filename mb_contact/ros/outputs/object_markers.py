# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The shapes of the scene's objects for rviz; robots it draws from robot_description."""

from typing import Any

import numpy as np

from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.shape_meshes import shape_mesh
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.fields import filled, put
from mb_contact.ros.qos import LATCHED
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    WORLD,
)

_CUBE, _SPHERE, _CYLINDER, _TRIANGLES = 1, 2, 3, 11  #: visualization_msgs/Marker
_PLANE = (4.0, 4.0, 1e-3)  #: extents of what stands for a half-space [m]
_ROWS = 64  #: and columns of a drawn height field at most: 7938 triangles
_FREE, _FIXED = (0.80, 0.60, 0.35, 1.0), (0.55, 0.57, 0.60, 0.6)  #: colours of free and of welded objects


class ObjectMarkers:
    """object_markers (visualization_msgs/MarkerArray), latched: each shape once, locked to the frame in /tf."""

    def __init__(self, make: Any, simulator: Any, options: NodeOptions) -> None:
        self._make, self._world = make, simulator.world
        self._frame, self._prefix = options.world_frame, options.frame_prefix
        self._publisher = make.publisher("visualization_msgs/msg/MarkerArray", "object_markers", LATCHED)
        self.publish()

    def publish(self) -> None:
        """Send all shapes (again: a recording has begun, or objects have come or gone)."""
        message = self._make.message("visualization_msgs/msg/MarkerArray")
        gone = self._make.message("visualization_msgs/msg/Marker")
        gone.action = 3  # DELETEALL
        message.markers = [gone]
        for number in self._rows():
            message.markers += self._markers(number)
        self._publisher.publish(message)

    def _rows(self):
        world = self._world
        of_robots = {link for model in getattr(world, "robot_models", ()) for link in model.link_names}
        links = getattr(world, "geometry_links", ())
        anchors = getattr(world, "anchors", ())
        return [i for i, link in enumerate(links) if link not in of_robots and i not in anchors]

    def _markers(self, number):
        """The markers of one geometry: a capsule takes three."""
        geoms = self._world.geoms
        kind, size = int(geoms.kind[number]), geoms.size[number]
        if kind == SHAPE_CAPSULE:
            radius, half = size[0], size[1]
            ends = [self._solid(number, k, _SPHERE, (2 * radius,) * 3, z) for k, z in ((1, -half), (2, half))]
            return [self._solid(number, 0, _CYLINDER, (2 * radius, 2 * radius, 2 * half)), *ends]
        if kind in (SHAPE_CONE, SHAPE_CONVEX, SHAPE_HEIGHT_FIELD):
            marker = self._solid(number, 0, _TRIANGLES, (1.0, 1.0, 1.0))
            vertices, triangles = shape_mesh(geoms, number, _ROWS)
            points = [filled(self._make.message("geometry_msgs/msg/Point"), p) for p in vertices.tolist()]
            marker.points = [points[corner] for corner in triangles.ravel().tolist()]
            return [marker]
        drawn, extents = {
            SHAPE_BOX: (_CUBE, 2.0 * size),
            SHAPE_SPHERE: (_SPHERE, 2.0 * np.full(3, size[0])),
            SHAPE_ELLIPSOID: (_SPHERE, 2.0 * size),
            SHAPE_CYLINDER: (_CYLINDER, (2.0 * size[0], 2.0 * size[0], 2.0 * size[1])),
            SHAPE_PLANE: (_CUBE, _PLANE),
        }[kind]
        return [self._solid(number, 0, drawn, extents, -0.5 * _PLANE[2] if kind == SHAPE_PLANE else 0.0)]

    def _solid(self, number, part, kind, extents, along=0.0):
        """A marker at a geometry, ``along`` its z axis."""
        geoms = self._world.geoms
        marker = self._make.message("visualization_msgs/msg/Marker")
        free = int(geoms.body[number]) != WORLD
        marker.header.frame_id = self._prefix + self._world.geometry_links[number] if free else self._frame
        marker.frame_locked = True
        marker.ns, marker.id, marker.type = self._world.geometry_names[number], part, kind
        R, p = geoms.R[number], geoms.p[number]
        put(marker.pose.position, p + along * R[:, 2])
        put(marker.pose.orientation, matrix_to_quat(R))
        put(marker.scale, extents)
        colour = _FREE if free else _FIXED
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
        return marker
