# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: entities of the scene, their states, spawning and deleting (releases 1.x and 2.x)."""

from __future__ import annotations

from typing import Any

import numpy as np

from mb_contact.checks import shorten
from mb_contact.errors import MbContactError
from mb_contact.model.scene import Pose, Scene
from mb_contact.ros.names import snake_case
from mb_contact.ros.outputs.fields import put, put_stamp
from mb_contact.ros.services.patterns import Pattern
from mb_contact.ros.services.resources import entries, object_of, with_entry, without
from mb_contact.ros.services.simulation import PACKAGE, RESULT, Refusal, answered, refuse_if
from mb_contact.simulation.interface import SceneSimulator

_NAME = Pattern(r"^[A-Za-z][A-Za-z0-9_./-]*$")
_LONGEST = 255  #: name [characters]
_UNIT = 1e-3  #: deviation from length one up to which a quaternion is normalised


class EntityServices:
    """Five services of a :class:`~mb_contact.ros.node.SimulatorNode`.

    Entities are the robots by their names in the scene, the free objects, and the welded primitives.
    """

    def __init__(self, simulator_node: Any) -> None:
        self._control = simulator_node
        self._node = node = simulator_node.node
        self._codes = node.message_type(RESULT)
        self._categories = node.message_type(f"{PACKAGE}/msg/EntityCategory")
        self._spawned, self._scene = [], simulator_node.simulator.scene
        for name, serve in (
            ("GetEntities", self._get_all), ("GetEntityState", self._get), ("SetEntityState", self._set),
            ("SpawnEntity", self._spawn), ("DeleteEntity", self._delete),
        ):  # fmt: skip
            simulator_node.services.create(f"{PACKAGE}/srv/{name}", snake_case(name), serve)

    @property
    def can_rebuild(self) -> bool:
        """Whether bodies can be added to this simulator and taken away."""
        return isinstance(self._control.simulator, SceneSimulator)

    # --- what there is --------------------------------------------------------------------------
    def entities(self) -> Any:
        """Name to (root link, category) of everything, in the scene's order."""
        simulator, kinds = self._control.simulator, self._categories
        world, found = simulator.world, {}
        scene: Any = simulator.scene if isinstance(simulator, SceneSimulator) else Scene()
        for entry, model in zip(scene.models, world.robot_models):
            free = model.link_names[0] in world.objects and not model.joint_names
            found[entry.name or model.name] = (
                model.link_names[0], kinds.CATEGORY_OBJECT if free else kinds.CATEGORY_ROBOT
            )  # fmt: skip
        for primitive in scene.primitives:
            free = primitive.name in world.objects
            found[primitive.name] = (primitive.name, kinds.CATEGORY_OBJECT if free else kinds.CATEGORY_STATIC_OBJECT)
        for name in world.objects:
            if name not in [link for link, _ in found.values()]:
                found[name] = (name, kinds.CATEGORY_OBJECT)
        return found

    def _get_all(self, request, answer):
        filters = request.filters

        def act():
            refuse_if(
                filters.bounds.type, self._codes.RESULT_FEATURE_UNSUPPORTED,
                "filtering by bounds is not supported",
            )
            pattern = Pattern(filters.filter)
            wanted = {int(entry.category) for entry in filters.categories}
            names = [
                name for name, (_, category) in self._control.ask(self.entities).items()
                if pattern.search(name) and (not wanted or category in wanted) and not len(filters.tags.tags)
            ]  # fmt: skip
            answer.entities = names

        return answered(self._node, answer, act)

    def _link(self, name):
        """Root link of an entity."""
        found = self.entities()
        message = f"no entity '{shorten(name)}'; there are {', '.join(found)}"
        refuse_if(name not in found, self._codes.RESULT_NOT_FOUND, message)
        return found[name][0]

    def _get(self, request, answer):
        def act():
            simulator = self._control.simulator
            link = self._link(request.entity)
            position, quaternion = simulator.link_pose(link)
            moves = isinstance(simulator, SceneSimulator) and link in simulator.world.objects
            velocity, acceleration = simulator.object_motion(link) if moves else (np.zeros(6), np.zeros(6))
            return position, quaternion, velocity, acceleration, self._control.stamp()

        def fill():
            position, quaternion, velocity, acceleration, stamp = self._control.ask(act)
            state = answer.state
            state.header.frame_id = self._control.options.world_frame
            put_stamp(state.header.stamp, stamp)
            put(state.pose.position, position)
            put(state.pose.orientation, quaternion)
            for target, six in ((state.twist, velocity), (state.acceleration, acceleration)):
                put(target.angular, six[:3])
                put(target.linear, six[3:])

        return answered(self._node, answer, fill)

    # --- changing a state -------------------------------------------------------------------------
    def _set(self, request, answer):
        def act():
            link, simulator = self._link(request.entity), self._control.simulator
            self._check_frame(request.state.header.frame_id)
            if link not in simulator.world.objects or not isinstance(simulator, SceneSimulator):
                message = f"'{shorten(request.entity)}' is no free object: its pose cannot be set"
                raise Refusal(self._codes.RESULT_OPERATION_FAILED, message)
            refuse_if(
                getattr(request, "set_acceleration", False), self._codes.RESULT_FEATURE_UNSUPPORTED,
                "accelerations follow from forces",
            )
            pose = velocity = None
            if getattr(request, "set_pose", True):
                pose = _pose(request.state.pose, getattr(type(answer), "INVALID_POSE", 101))
            if getattr(request, "set_twist", True):
                twist = request.state.twist
                velocity = np.array([getattr(part, axis) for part in (twist.angular, twist.linear) for axis in "xyz"])
                refuse_if(
                    not np.isfinite(velocity).all(), self._codes.RESULT_OPERATION_FAILED,
                    "the twist holds NaN or infinity",
                )
            simulator.set_object(link, pose, velocity)
            self._control.tell("set", link=link, pose=pose and [list(part) for part in pose], velocity=velocity)
            self._control.state_changed()

        return answered(self._node, answer, lambda: self._control.ask(act))

    def _check_frame(self, frame):
        refuse_if(
            frame not in ("", self._control.options.world_frame), self._codes.RESULT_OPERATION_FAILED,
            f"frame_id is '{shorten(frame)}'; poses are known in '{self._control.options.world_frame}' only",
        )

    # --- spawning and deleting ----------------------------------------------------------------------
    def _spawn(self, request, answer):
        kind = type(answer)

        def act():
            self._check_rebuild()
            name = self._free_name(request, kind)
            refuse_if(
                request.entity_namespace, kind.NAMESPACE_INVALID,
                "entities have no interfaces of their own: leave the namespace empty",
            )
            self._check_frame(request.initial_pose.header.frame_id)
            position, quaternion = _pose(request.initial_pose.pose, kind.INVALID_POSE)
            pose = Pose(tuple(position.tolist()), quat_xyzw=tuple(quaternion.tolist()))
            scene = self._control.simulator.scene
            resource = getattr(request, "entity_resource", request)
            key, entry = object_of(resource.uri, resource.resource_string, name, pose, scene, kind)
            try:
                self._rebuild(with_entry(scene, key, entry))
            except MbContactError as error:
                raise Refusal(kind.RESOURCE_PARSE_ERROR, str(error)) from None
            self._spawned.append(name)
            source = {"uri": resource.uri, "text": resource.resource_string}
            self._control.tell("spawn", name=name, position=position, quaternion=quaternion, **source)
            return name

        def fill():
            answer.entity_name = self._control.ask(act)

        return answered(self._node, answer, fill)

    def _check_rebuild(self):
        refuse_if(
            not self.can_rebuild, self._codes.RESULT_FEATURE_UNSUPPORTED,
            "bodies cannot be added to this kind of scene while it runs",
        )

    def _free_name(self, request, kind):
        """The entity's name, changed where it is taken and may be changed."""
        name = request.name or ("object" if request.allow_renaming else "")
        refuse_if(
            len(name) > _LONGEST or not _NAME.search(name), kind.NAME_INVALID,
            f"'{shorten(name)}' is no name; begin with a letter, then letters, digits, _ - . /, {_LONGEST} at most",
        )
        taken = set(self.entities()) | set(self._control.simulator.world.frames) | {"world", "ground"}
        if name not in taken:
            return name
        refuse_if(
            not request.allow_renaming, kind.NAME_NOT_UNIQUE,
            f"there is a body '{name}' already; allow_renaming would help",
        )
        number = 1
        while f"{name}_{number}" in taken:
            number += 1
        return f"{name}_{number}"

    def _delete(self, request, answer):
        def act():
            self._check_rebuild()
            self._link(request.entity)
            self._remove([request.entity])

        return answered(self._node, answer, lambda: self._control.ask(act))

    def _remove(self, names):
        """Rebuild the world without these objects."""
        scene, robots = self._control.simulator.scene, self._control.simulator.world.robot_models
        models = entries(scene, robots)
        for name in names:
            refuse_if(
                name in models and models[name].name not in self._spawned, self._codes.RESULT_OPERATION_FAILED,
                f"'{name}' is a robot of the scene: only objects and what was spawned can be deleted",
            )
        self._rebuild(without(scene, robots, names))
        self._control.tell("delete", names=list(names))
        self._spawned = [name for name in self._spawned if name not in names]

    def _rebuild(self, scene):
        self._control.replace_simulator(self._control.simulator.rebuilt(scene))

    def restore(self) -> None:
        """Delete what was spawned and bring back what was deleted of the scene; on the physics thread."""
        if self._control.simulator.scene is not self._scene:
            self._rebuild(self._scene)
            self._control.tell("restore")
            self._spawned = []

    def remove_spawned(self) -> None:
        """Delete everything that was spawned; on the physics thread."""
        if self._spawned:
            self._remove(list(self._spawned))


def _pose(pose, code):
    """Position (3,) and unit quaternion (4,) of a geometry_msgs/Pose, refused with ``code`` where there is none."""
    position = np.array([getattr(pose.position, axis) for axis in "xyz"])
    quaternion = np.array([getattr(pose.orientation, axis) for axis in "xyzw"])
    length = float(np.linalg.norm(quaternion))
    refuse_if(
        not np.isfinite(position).all() or not abs(length - 1.0) <= _UNIT, code,
        "the pose is not finite, or its quaternion is not of length one",
    )
    return position, quaternion / length
