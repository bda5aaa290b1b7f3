# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The shapes of the scene's objects for rviz; robots it draws from their descriptions."""

import time
from typing import Any
from xml.etree import ElementTree

import numpy as np

from mb_contact.core.rays.light import GROUND
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.shapes.shape_meshes import shape_mesh
from mb_contact.model.shapes.visuals import shape_visuals
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
    SHAPE_MESH,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    WORLD,
)

_CUBE, _SPHERE, _CYLINDER, _TRIANGLES = 1, 2, 3, 11  #: visualization_msgs/Marker
#: corners of two triangles that stand for a half-space [m]
_PLANE = ((-2.0, -2.0), (2.0, -2.0), (2.0, 2.0), (-2.0, -2.0), (2.0, 2.0), (-2.0, 2.0))
AGAIN = 1.0  #: [s] of the wall clock
ARRAY = "visualization_msgs/msg/MarkerArray"
_ROWS = 64  #: and columns of a drawn height field at most: 7938 triangles


def links_without_visuals(urdf: str) -> set[Any]:
    """Names of the links that a robot's description gives nothing to draw."""
    links = ElementTree.fromstring(urdf.encode()).findall("link") if urdf else []
    return {link.get("name") for link in links if link.find("visual") is None}


class ObjectMarkers:
    """object_markers (visualization_msgs/MarkerArray), latched: each shape once, locked to the frame in /tf.

    While somebody listens they are sent again every ``AGAIN`` seconds: rviz marks a shape whose frame it has not heard
    of yet as an error until the shape comes once more, and forgets all where time is set back.
    """

    def __init__(self, make: Any, simulator: Any, options: NodeOptions) -> None:
        self._make, self._world = make, simulator.world
        self._frame, self._prefix = options.world_frame, options.frame_prefix
        self._publisher = make.publisher(ARRAY, "object_markers", LATCHED)
        self.tell()

    def tell(self) -> None:
        """Send all shapes in the place of all before (a recording has begun, or objects have come or gone)."""
        message, again = self._make.message(ARRAY), self._make.message(ARRAY)
        known = hasattr(self._world, "geometry_links")
        self._colours = {visual.link: visual.colour for visual in (shape_visuals(self._world, 2) if known else ())}
        gone = self._make.message("visualization_msgs/msg/Marker")
        gone.action = 3  # DELETEALL
        again.markers = [marker for number in self._rows() for marker in self._markers(number)]
        message.markers = [gone, *again.markers]
        self._publisher.publish(message)
        self._again, self._due = self._publisher.prepare(again), time.monotonic() + AGAIN

    def publish(self, _stamp: int) -> None:
        """Send them again where that is due and somebody listens."""
        now = time.monotonic()
        if now >= self._due:
            self._due = now + AGAIN
            if self._publisher.get_subscription_count():
                self._again.publish()

    def _rows(self):
        """The geometries of objects, and of robots' links without visuals, of which their description draws nothing."""
        drawn = set()
        for model in getattr(self._world, "robot_models", ()):
            drawn |= set(model.link_names) - links_without_visuals(model.urdf)
        links = getattr(self._world, "geometry_links", ())
        anchors = getattr(self._world, "anchors", ())
        return [i for i, link in enumerate(links) if link not in drawn and i not in anchors]

    def _markers(self, number):
        """The markers of one geometry: a capsule takes three."""
        geoms = self._world.geoms
        kind, size = int(geoms.kind[number]), geoms.size[number]
        if kind == SHAPE_CAPSULE:
            radius, half = size[0], size[1]
            ends = [self._solid(number, k, _SPHERE, (2 * radius,) * 3, z) for k, z in ((1, -half), (2, half))]
            return [self._solid(number, 0, _CYLINDER, (2 * radius, 2 * radius, 2 * half)), *ends]
        if kind in (SHAPE_CONE, SHAPE_CONVEX, SHAPE_HEIGHT_FIELD, SHAPE_MESH):
            marker = self._solid(number, 0, _TRIANGLES, (1.0, 1.0, 1.0))
            vertices, triangles = shape_mesh(geoms, number, _ROWS)
            points = [filled(self._make.message("geometry_msgs/msg/Point"), p) for p in vertices.tolist()]
            marker.points = [points[corner] for corner in triangles.ravel().tolist()]
            return [marker]
        if kind == SHAPE_PLANE:
            marker = self._solid(number, 0, _TRIANGLES, (1.0, 1.0, 1.0))
            marker.points = [filled(self._make.message("geometry_msgs/msg/Point"), (*at, 0.0)) for at in _PLANE]
            marker.colors = [marker.color] * len(_PLANE)  # rviz, whose lamp is at the camera, shows these without light
            return [marker]
        drawn, extents = {
            SHAPE_BOX: (_CUBE, 2.0 * size),
            SHAPE_SPHERE: (_SPHERE, 2.0 * np.full(3, size[0])),
            SHAPE_ELLIPSOID: (_SPHERE, 2.0 * size),
            SHAPE_CYLINDER: (_CYLINDER, (2.0 * size[0], 2.0 * size[0], 2.0 * size[1])),
        }[kind]
        return [self._solid(number, 0, drawn, extents)]

    def _solid(self, number, part, kind, extents, along=0.0):
        """A marker at a geometry, ``along`` its z axis."""
        geoms = self._world.geoms
        marker = self._make.message("visualization_msgs/msg/Marker")
        free = int(geoms.body[number]) != WORLD
        link, R, p = self._world.geometry_links[number], geoms.R[number], geoms.p[number]
        if free:
            frame = self._world.frames[link]
            R, p = frame.R.T @ R, frame.R.T @ (p - frame.p)
        marker.header.frame_id = self._prefix + link if free else self._frame
        marker.frame_locked = True
        marker.ns, marker.id, marker.type = self._world.geometry_names[number], part, kind
        put(marker.pose.position, p + along * R[:, 2])
        put(marker.pose.orientation, matrix_to_quat(R))
        put(marker.scale, extents)
        colour = (*GROUND, 1.0) if int(geoms.kind[number]) == SHAPE_PLANE else self._colours[link]
        marker.color.r, marker.color.g, marker.color.b, marker.color.a = colour
        return marker
