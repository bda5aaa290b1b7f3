# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact points of the last step for programs: ros_gz_interfaces/Contacts."""

from typing import Any

import numpy as np

from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.arrays import wanted
from mb_contact.ros.outputs.fields import filled, put_stamp
from mb_contact.simulation.results import CONTACT_DTYPE

CONTACTS = "ros_gz_interfaces/msg/Contacts"
VECTOR = "geometry_msgs/msg/Vector3"
_LINK = 3  #: ros_gz_interfaces/Entity LINK


class Contacts:
    """contacts (ros_gz_interfaces/Contacts), where that package is present; one entry for each pair of links.

    Normals point from collision2 to collision1; ``depths`` are positive where bodies overlap.  A wrench belongs to
    the point of the same number: force on body 1 (and its opposite on body 2) in world axes, about that point, the
    mean of the last step; impacts of the step are not in it.
    """

    def __init__(self, make: Any, simulator: Any, options: NodeOptions) -> None:
        self._make, self._options = make, options
        self._dt = simulator.time_step
        self._publisher = make.publisher(CONTACTS, "contacts") if make.has(CONTACTS, "contacts") else None
        self._shape: tuple[Any, ...] | None = None  #: of the message before: pairs of links and how many points
        self._filled: _FilledContacts | None = None

    def publish(self, stamp: int, last: Any) -> None:
        """Send the contacts of the step that led to the state stamped ``stamp``."""
        if self._publisher is None or not wanted(self._publisher):
            return
        contacts = np.empty(0, CONTACT_DTYPE) if last is None else last.contacts
        pairs: dict[Any, list[int]] = {}
        for i, links in enumerate(zip(contacts["link_a"].tolist(), contacts["link_b"].tolist())):
            pairs.setdefault(links, []).append(i)
        contacts = contacts[[i for rows in pairs.values() for i in rows]]
        counts = [(links, len(rows)) for links, rows in pairs.items()]
        shape = (self._options.world_frame, *counts)
        if shape != self._shape:  # a template of what changes from message to message is not worth it
            self._shape, self._filled = shape, None
            self._publisher.publish(self._message(stamp, counts, contacts))
            return
        if self._filled is None:
            self._filled = _FilledContacts(self._publisher.prepare(self._message(stamp, counts, contacts)), counts)
        self._filled.publish(stamp, contacts, self._dt)

    def _message(self, stamp, counts, contacts):
        message = self._make.message(CONTACTS)
        _head(message.header, stamp, self._options.world_frame)
        first = 0
        for links, count in counts:
            message.contacts.append(self._pair(message.header, links, contacts[first : first + count]))
            first += count
        return message

    def _pair(self, header, links, points):
        entry = self._make.message("ros_gz_interfaces/msg/Contact")
        for collision, link in zip((entry.collision1, entry.collision2), links):
            collision.name, collision.type = link, _LINK
        entry.depths = [max(0.0, -float(point["gap"])) for point in points]
        for point in points:
            entry.positions.append(filled(self._make.message(VECTOR), point["point"]))
            entry.normals.append(filled(self._make.message(VECTOR), point["normal"]))
            wrench = self._make.message("ros_gz_interfaces/msg/JointWrench")
            wrench.header = header
            wrench.body_1_name.data, wrench.body_2_name.data = links
            force = point["impulse"] / self._dt
            wrench.body_1_wrench.force = filled(self._make.message(VECTOR), force)
            wrench.body_2_wrench.force = filled(self._make.message(VECTOR), -force)
            entry.wrenches.append(wrench)
        return entry


class _FilledContacts:
    """A prepared message of contacts between known pairs of links, and where its numbers are."""

    def __init__(self, message, counts):
        self._message, self._parts, first = message, [], 0
        for i, (_, count) in enumerate(counts):
            rows, at = slice(first, first + count), f"contacts.{i}"
            views = [message.array(f"{at}.{name}.0.x", 3 * count) for name in ("positions", "normals")]
            self._parts.append((rows, message.array(f"{at}.depths"), *views))
            first += count
        wrenches = [f"contacts.{i}.wrenches.{j}" for i, (_, count) in enumerate(counts) for j in range(count)]
        self._stamps = ["header.stamp", *(f"{at}.header.stamp" for at in wrenches)]
        self._forces = [
            [message.array(f"{at}.body_{body}_wrench.force.x", 3) for at in wrenches] for body in (1, 2)
        ]

    def publish(self, stamp, contacts, dt):
        """Send these contacts, sorted by pairs."""
        depths, forces = np.maximum(-contacts["gap"], 0.0), contacts["impulse"] / dt
        points, normals = contacts["point"].reshape(-1), contacts["normal"].reshape(-1)
        for rows, *views in self._parts:
            numbers = slice(3 * rows.start, 3 * rows.stop)
            for view, values in zip(views, (depths[rows], points[numbers], normals[numbers])):
                view[:] = values
        for views, values in zip(self._forces, (forces, -forces)):
            for view, value in zip(views, values):
                view[:] = value
        for path in self._stamps:
            self._message.stamp(path, stamp)
        self._message.publish()


def _head(header, stamp, frame):
    put_stamp(header.stamp, stamp)
    header.frame_id = frame
