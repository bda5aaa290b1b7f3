# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: the named poses of a scene, and the free space around them."""

from typing import Any

from mb_contact.ros.outputs.fields import filled, put
from mb_contact.ros.services.common import Group, tags_match


class PlaceServices(Group):
    """Named poses and their bounds."""

    def __init__(self, simulator_node: Any) -> None:
        super().__init__(simulator_node)
        self._offer(GetNamedPoses=self._get_poses, GetNamedPoseBounds=self._get_bounds)

    def _places(self):
        return getattr(self._control.simulator.scene, "named_poses", ())

    def _get_poses(self, request, answer):
        def act():
            poses = []
            for place in self._places():
                if tags_match(request.tags, place.tags):
                    poses.append(self._type("NamedPose")())
                    poses[-1].name, poses[-1].description = place.name, place.description
                    poses[-1].tags = list(place.tags)
                    put(poses[-1].pose.position, place.pose.origin())
                    put(poses[-1].pose.orientation, place.pose.quaternion())
            answer.poses = poses

        return self._on_physics(answer, act)

    def _get_bounds(self, request, answer):
        def act():
            known = {place.name: place for place in self._places()}
            if request.name not in known:
                raise self._not_found("named pose", request.name, known)
            self._fill(answer.bounds, known[request.name])

        return self._on_physics(answer, act)

    def _fill(self, bounds, place):
        kind, points = bounds.TYPE_EMPTY, ()
        if place.box:
            kind, points = bounds.TYPE_BOX, place.box
        elif place.hull:
            kind, points = bounds.TYPE_CONVEX_HULL, place.hull
        elif place.sphere is not None:
            kind, points = bounds.TYPE_SPHERE, (place.sphere[:3], (place.sphere[3], 0.0, 0.0))
        make = self._node.message_type("geometry_msgs/msg/Vector3")
        bounds.type, bounds.points = kind, [filled(make(), point) for point in points]
