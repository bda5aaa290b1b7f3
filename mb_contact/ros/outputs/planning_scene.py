# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a planner has to avoid: the objects of the scene as MoveIt's collision objects, told as differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.shapes.shape_meshes import shape_mesh
from mb_contact.ros.options import NodeOptions
from mb_contact.ros.outputs.fields import filled, put, put_stamp
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CYLINDER,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    WORLD,
)

TYPE = "moveit_msgs/msg/PlanningScene"
_BOX, _SPHERE, _CYLINDER, _CONE = 1, 2, 3, 4  #: shape_msgs/SolidPrimitive
_ROWS = 64  #: and columns of a height field's mesh at most


class PlanningScene:
    """planning_scene (moveit_msgs/PlanningScene): a whole to a new listener, then what came, moved or went.

    Robots are left out: they are the planner's own.  ``former`` is that of the world before, whose listeners know it.
    """

    def __init__(self, make: Any, simulator: Any, options: NodeOptions, former: PlanningScene | None = None) -> None:
        self._make, self._simulator, self._frame = make, simulator, options.world_frame
        self._publisher = make.publisher(TYPE, "planning_scene") if make.has(TYPE, "planning_scene") else None
        self._told: dict[str, tuple] = {} if former is None else former._told  #: shapes and pose of each object
        self._listeners: int = 0 if former is None else former._listeners
        self._objects = _objects(simulator.world)

    def publish(self, stamp: int) -> None:
        """Tell what is new, if somebody listens."""
        if self._publisher is None:
            return
        listeners = self._publisher.get_subscription_count() + (self._publisher.tap is not None)
        everything, self._listeners = listeners > self._listeners, listeners
        if not listeners:
            self._told = {}
            return
        changes = self._changes(everything)
        if not changes:
            return
        message = self._make.message(TYPE)
        message.is_diff = message.robot_state.is_diff = True
        for change in changes:
            change.header.frame_id = self._frame
            put_stamp(change.header.stamp, stamp)
        message.world.collision_objects = changes
        self._publisher.publish(message)

    def _changes(self, everything):
        """CollisionObjects that came, moved or went since the last message."""
        changes, before, self._told = [], self._told, {}
        for name, rows in self._objects.items():
            shapes, pose = _shape_key(self._simulator.world.geoms, rows), self._pose(rows)
            self._told[name] = shapes, pose
            if everything or name not in before or before[name][0] != shapes:
                changes.append(self._whole(name, rows, pose))
            elif before[name][1] != pose:
                changes.append(self._change(name, "MOVE", pose))
        return changes + [self._change(name, "REMOVE") for name in before if name not in self._objects]

    def _pose(self, rows):
        """Position and quaternion of an object's body, as a tuple of seven numbers."""
        world = self._simulator.world
        body = int(world.geoms.body[rows[0]])
        if body == WORLD:
            return (0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0)
        position, quaternion = self._simulator.link_pose(world.body_names[body])
        return (*position.tolist(), *quaternion.tolist())

    def _change(self, name, operation, pose=None):
        change = self._make.message("moveit_msgs/msg/CollisionObject")
        change.id, change.operation = name, getattr(change, operation)
        if pose is not None:
            put(change.pose.position, pose[:3])
            put(change.pose.orientation, pose[3:])
        return change

    def _whole(self, name, rows, pose):
        """An object with its shapes; poses of shapes are in the axes of the object."""
        change = self._change(name, "ADD", pose)
        for g in rows:
            self._add_shape(change, g)
        return change

    def _add_shape(self, change, g):
        geoms = self._simulator.world.geoms
        kind, size, R, p = int(geoms.kind[g]), geoms.size[g], geoms.R[g], geoms.p[g]
        if kind == SHAPE_PLANE:
            change.planes.append(self._make.message("shape_msgs/msg/Plane"))
            change.planes[-1].coef = [0.0, 0.0, 1.0, 0.0]
            change.plane_poses.append(self._pose_message(p, R))
        elif (solids := _solids(kind, size)) is None:
            change.meshes.append(self._mesh(g))
            change.mesh_poses.append(self._pose_message(p, R))
        else:
            for solid, dimensions, along in solids:
                change.primitives.append(self._make.message("shape_msgs/msg/SolidPrimitive"))
                change.primitives[-1].type, change.primitives[-1].dimensions = solid, dimensions
                change.primitive_poses.append(self._pose_message(p + along * R[:, 2], R))

    def _pose_message(self, position, R):
        pose = self._make.message("geometry_msgs/msg/Pose")
        put(pose.position, position)
        put(pose.orientation, matrix_to_quat(R))
        return pose

    def _mesh(self, g):
        mesh = self._make.message("shape_msgs/msg/Mesh")
        vertices, triangles = shape_mesh(self._simulator.world.geoms, g, _ROWS)
        mesh.vertices = [filled(self._make.message("geometry_msgs/msg/Point"), row) for row in vertices.tolist()]
        for corners in triangles.tolist():
            mesh.triangles.append(self._make.message("shape_msgs/msg/MeshTriangle"))
            mesh.triangles[-1].vertex_indices = corners
        return mesh


def _solids(kind, size):
    """(SolidPrimitive's type, dimensions, place along the z axis) of the parts of a shape; None where it is a mesh."""
    radius, half = float(size[0]), float(size[1])
    if kind == SHAPE_CAPSULE:
        ends = [(_SPHERE, [radius], z) for z in (-half, half)]
        return [(_CYLINDER, [2.0 * half, radius], 0.0), *ends]
    return {
        SHAPE_BOX: [(_BOX, (2.0 * size).tolist(), 0.0)],
        SHAPE_SPHERE: [(_SPHERE, [radius], 0.0)],
        SHAPE_CYLINDER: [(_CYLINDER, [2.0 * half, radius], 0.0)],
        SHAPE_CONE: [(_CONE, [2.0 * half, radius], 0.0)],
    }.get(kind)


def _objects(world):
    """Name to rows of geometries of everything that is no robot."""
    robots, roots = set(), {}
    for model in getattr(world, "robot_models", ()):
        if model.joint_names or model.link_names[0] not in world.objects:
            robots.update(model.link_names)
        else:
            roots.update(dict.fromkeys(model.link_names, model.link_names[0]))
    found: dict[str, list[int]] = {}
    for g, link in enumerate(getattr(world, "geometry_links", ())):
        if link not in robots and g not in world.anchors:
            found.setdefault(roots.get(link, link), []).append(g)
    return found


def _shape_key(geoms, rows):
    """What tells one object's shapes from another's of the same name."""
    ends = [(geoms.first_vertex[g], geoms.first_vertex[g + 1]) for g in rows]
    numbers = [geoms.kind[rows], geoms.size[rows], geoms.R[rows], geoms.p[rows]]
    numbers += [geoms.vertices[a:b] for a, b in ends]
    return b"".join(np.ascontiguousarray(array).tobytes() for array in numbers)
