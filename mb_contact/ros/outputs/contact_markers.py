# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact points and forces of the last step for rviz, as large as the scene lets one see them."""

import math
from functools import cached_property
from typing import Any

import numpy as np

from mb_contact.model.pairs import link_frictions
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.arrays import wanted
from mb_contact.ros.outputs.fields import filled, put_stamp
from mb_contact.ros.outputs.sizes import link_boxes, scene_size
from mb_contact.simulation.arrows import COLOURS, CUT, HEAD, POINT, SHAFT, WEAK, ArrowScale, typical_weight
from mb_contact.simulation.simulator import Simulator

PLACE = "geometry_msgs/msg/Point"
SIDES = 16  #: of a drawn friction cone
NEARER = 0.5  #: the second link's arrow is drawn where its far side is nearer than so many times the first link's
_ARROW, _SPHERES, _TRIANGLES, _DELETE_ALL = 0, 7, 11, 3  #: visualization_msgs/Marker


class ContactMarkers:
    """contact_markers (visualization_msgs/MarkerArray): points, force arrows, and with ``marker_cones`` friction cones.

    Green: sticks, orange: slips, grey: separates.  An arrow shows the force on the first link, or on the second one
    where that is much thinner, and begins beyond that link, outside of what touches.  ``marker_scale`` gives its
    length; where that is 0 it is that of the web view (``ArrowScale``).
    Every message takes the place of all before it: a viewer that is too slow for some shows nothing that is gone.
    """

    def __init__(self, make: Any, simulator: Any, options: NodeOptions) -> None:
        self._make, self._options, self._simulator = make, options, simulator
        self._dt = simulator.time_step
        self._publisher = make.publisher("visualization_msgs/msg/MarkerArray", "contact_markers")
        known = isinstance(simulator, Simulator)
        self._boxes = link_boxes(simulator.world) if known else {}
        self._size = scene_size(simulator.world) if known else 1.0
        self._weight = typical_weight(simulator.world) if known else 0.0
        self._arrows, self._told = ArrowScale(self._size, self._weight), 0

    @cached_property
    def _friction(self):
        return link_frictions(self._simulator.world) if isinstance(self._simulator, Simulator) else {}

    def publish(self, stamp: int, last: Any) -> None:
        """Send the contacts of the step that led to the state stamped ``stamp``."""
        if not wanted(self._publisher):
            return
        contacts = () if last is None else last.contacts
        message = self._make.message("visualization_msgs/msg/MarkerArray")
        gone = self._marker("", 0, _ARROW)
        gone.action = _DELETE_ALL
        markers = [gone, *self._points(contacts)]
        scale = self._scale(stamp, contacts)
        for i, contact in enumerate(contacts):
            markers += self._force(i, contact, scale)
        for marker in markers:
            put_stamp(marker.header.stamp, stamp)
            marker.header.frame_id = self._options.world_frame
        message.markers = markers
        self._publisher.publish(message)

    def _scale(self, stamp, contacts):
        """Length of an arrow [m/N]."""
        if stamp < self._told:  # time was set back: another run
            self._arrows = ArrowScale(self._size, self._weight)
        self._told = stamp
        if len(contacts):
            self._arrows.see(np.asarray(contacts["impulse"]) / self._dt)
        return self._options.marker_scale or self._arrows.scale

    def _marker(self, space, number, kind):
        marker = self._make.message("visualization_msgs/msg/Marker")
        marker.ns, marker.id, marker.type = space, number, kind
        marker.pose.orientation.w = 1.0
        return marker

    def _at(self, place):
        return filled(self._make.message(PLACE), place)

    def _points(self, contacts):
        if not len(contacts):
            return []
        marker = self._marker("points", 0, _SPHERES)
        marker.scale.x = marker.scale.y = marker.scale.z = POINT * self._size
        marker.points = [self._at(contact["point"]) for contact in contacts]
        marker.colors = [self._colour(contact["state"]) for contact in contacts]
        return [marker]

    def _force(self, number, contact, scale):
        """The arrow of a contact and, where that is asked for, the cone of all forces that friction allows."""
        force = contact["impulse"] / self._dt
        size = float(np.linalg.norm(force))
        if scale * size < WEAK * POINT * self._size:  # nothing but the black back of its head would be seen
            return []
        along = force / size
        ways = [self._way_out(link, contact["point"], s * along) for link, s in self._ends(contact)]
        other = ways[1] < NEARER * ways[0]
        sign = -1.0 if other else 1.0  # the other link feels the opposite
        start = contact["point"] + sign * ways[other] * along
        marker = self._marker("forces", number, _ARROW)
        marker.points = [self._at(at) for at in (start, start + sign * min(scale * size, self._longest()) * along)]
        marker.scale.x, marker.scale.y, marker.scale.z = (self._size * POINT * part for part in (SHAFT, HEAD, HEAD))
        marker.color = self._colour(contact["state"])
        if not self._options.marker_cones:
            return [marker]
        return [marker, self._cone(number, contact, start, sign * contact["normal"], scale)]

    def _longest(self):
        """Where arrows are cut off [m], but for those of a scale of somebody's own."""
        return math.inf if self._options.marker_scale > 0.0 else CUT * self._size

    @staticmethod
    def _ends(contact):
        return (contact["link_a"], 1.0), (contact["link_b"], -1.0)

    def _way_out(self, link, point, direction):
        """From a point along a unit direction to beyond the link's box [m]; infinite of what has no extent."""
        if link not in self._boxes:
            return math.inf if self._boxes else 0.0
        position, quaternion = self._simulator.link_pose(link)
        R, (low, high) = quat_to_matrix(np.asarray(quaternion)), self._boxes[link]
        d = direction @ R
        return max(0.0, float(np.maximum(low * d, high * d).sum() - (point - position) @ direction))

    def _cone(self, number, contact, tip, normal, scale):
        marker = self._marker("cones", number, _TRIANGLES)
        marker.scale.x = marker.scale.y = marker.scale.z = 1.0
        height = min(scale * max(0.0, float(contact["impulse"] @ contact["normal"])) / self._dt, self._longest())
        across = np.cross(normal, np.eye(3)[int(np.argmin(np.abs(normal)))])
        across /= math.sqrt(float(across @ across))
        radius = height * self._friction.get((contact["link_a"], contact["link_b"]), 0.0)
        angles = np.linspace(0.0, 2.0 * math.pi, SIDES + 1)
        centre = tip + height * normal
        rim = [centre + radius * (math.cos(a) * across + math.sin(a) * np.cross(normal, across)) for a in angles]
        for before, after in zip(rim, rim[1:]):
            # from both sides: rviz draws the back of a triangle black
            marker.points += [self._at(p) for p in (tip, before, after, tip, after, before)]
        marker.color = self._colour("slip", 0.3)
        return marker

    def _colour(self, state, alpha=1.0):
        colour = self._make.message("std_msgs/msg/ColorRGBA")
        colour.r, colour.g, colour.b = (c / 255.0 for c in COLOURS[state])
        colour.a = alpha
        return colour
