# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: which entities there are, what they are, where, and how large (releases 1.x and 2.x)."""

import dataclasses
from typing import Any

import numpy as np

from mb_contact.checks import shorten
from mb_contact.errors import InputError
from mb_contact.model.scene import Pose, Scene
from mb_contact.model.scene.places import CATEGORIES, EntityInfo
from mb_contact.ros.outputs.fields import put, put_stamp
from mb_contact.ros.services.bounds import extent, fill_bounds, reaches, volume_of
from mb_contact.ros.services.common import Group, Refusal, refuse_if, tags_match
from mb_contact.ros.services.frames import in_world, pose_of
from mb_contact.ros.services.patterns import Pattern
from mb_contact.ros.services.resources import moved
from mb_contact.simulation.simulator import Simulator

LONGEST_TEXT, MOST_TAGS = 10_000, 100  #: of what SetEntityInfo keeps [characters, texts]


@dataclasses.dataclass(frozen=True)
class Entity:
    """Something with a name: a robot, an object, a welded primitive.

    Attributes
    ----------
    link : str
        Whose frame is the entity's.
    links : tuple of str
        All of it.
    category : str
        One of :data:`~mb_contact.model.scene.places.CATEGORIES`.
    """

    link: str
    links: tuple[str, ...]
    category: str


class EntityServices(Group):
    """Entities, their information, bounds and states.

    Entities are the robots by their names in the scene, the free objects, and the welded primitives.
    """

    def __init__(self, simulator_node: Any) -> None:
        super().__init__(simulator_node)
        self._told: dict[str, EntityInfo] = {}  #: by SetEntityInfo
        self._offer(
            GetEntities=self._get_all, GetEntitiesStates=self._get_states, GetEntityState=self._get,
            SetEntityState=self._set, GetEntityInfo=self._get_info, SetEntityInfo=self._set_info,
            GetEntityBounds=self._get_bounds,
        )  # fmt: skip

    # --- what there is --------------------------------------------------------------------------
    def entities(self) -> dict[str, Entity]:
        """Everything by name, in the scene's order."""
        simulator = self._control.simulator
        world, found = simulator.world, {}
        scene: Any = simulator.scene if isinstance(simulator, Simulator) else Scene()
        for entry, model in zip(scene.models, world.robot_models):
            free = model.link_names[0] in world.objects and not model.joint_names
            category = "object" if free else "robot"
            found[entry.name or model.name] = Entity(model.link_names[0], tuple(model.link_names), category)
        for primitive in scene.primitives:
            category = "object" if primitive.name in world.objects else "static_object"
            found[primitive.name] = Entity(primitive.name, (primitive.name,), category)
        known = {link for entity in found.values() for link in entity.links}
        return found | {name: Entity(name, (name,), "object") for name in world.objects if name not in known}

    def find(self, name: str) -> Entity:
        """An entity by its name."""
        found = self.entities()
        if name not in found:
            raise self._not_found("entity", name, found)
        return found[name]

    def info(self, name: str, entity: Entity) -> EntityInfo:
        """What an entity is: by SetEntityInfo, by the scene, or by what the scene makes of it."""
        said = self._told.get(name) or getattr(self._control.simulator.scene, "entities", {}).get(name, EntityInfo())
        return said if said.category else dataclasses.replace(said, category=entity.category)

    def forget(self) -> None:
        """Entities are what their scene says again."""
        self._told.clear()

    def _code(self, category):
        return getattr(self._type("EntityCategory"), f"CATEGORY_{category.upper()}", 0)  # early releases have fewer

    # --- filters ----------------------------------------------------------------------------------
    def _chosen(self, filters):
        """Entities that pass all filters, by name; on the physics thread."""
        pattern, volume = Pattern(filters.filter), volume_of(filters.bounds, self._codes)
        wanted, found = {int(entry.category) for entry in filters.categories}, {}
        if volume is not None:
            self._refuse_without_shapes()
        for name, entity in self.entities().items():
            info = self.info(name, entity)
            if (
                pattern.search(name) and (not wanted or self._code(info.category) in wanted)
                and tags_match(filters.tags, info.tags)
                and (volume is None or reaches(self._control.simulator, entity.links, volume))
            ):  # fmt: skip
                found[name] = entity
        return found

    def _refuse_without_shapes(self):
        refuse_if(
            not isinstance(self._control.simulator, Simulator), self._codes.RESULT_FEATURE_UNSUPPORTED,
            "smooth surfaces in contact coordinates have no bounds",
        )

    def _get_all(self, request, answer):
        def act():
            answer.entities = list(self._chosen(request.filters))

        return self._on_physics(answer, act)

    def _get_states(self, request, answer):
        def act():
            found = self._chosen(request.filters)
            answer.entities, states = list(found), []
            for entity in found.values():
                states.append(self._type("EntityState")())
                self._fill_state(states[-1], entity)
            answer.states = states

        return self._on_physics(answer, act)

    # --- information and bounds -------------------------------------------------------------------
    def _get_info(self, request, answer):
        def act():
            info = self.info(request.entity, self.find(request.entity))
            answer.info.category.category = self._code(info.category)
            answer.info.description, answer.info.tags = info.description, list(info.tags)

        return self._on_physics(answer, act)

    def _set_info(self, request, answer):
        codes = {self._code(category): category for category in CATEGORIES}

        def act():
            self._refuse_inactive()
            self.find(request.entity)
            number, tags = int(request.info.category.category), list(request.info.tags)
            failed = self._codes.RESULT_OPERATION_FAILED
            refuse_if(number not in codes, failed, f"{number} is no category; there are {sorted(codes)}")
            size = sum(map(len, tags)) + len(request.info.description)
            message = f"an entity has {MOST_TAGS} tags and {LONGEST_TEXT} characters of information at most"
            refuse_if(len(tags) > MOST_TAGS or size > LONGEST_TEXT, failed, message)
            self._told[request.entity] = EntityInfo(codes[number], request.info.description, tuple(tags))

        return self._on_physics(answer, act)

    def _get_bounds(self, request, answer):
        def act():
            entity = self.find(request.entity)
            self._refuse_without_shapes()
            fill_bounds(self._node, answer.bounds, extent(self._control.simulator, entity.link, entity.links))

        return self._on_physics(answer, act)

    # --- states -----------------------------------------------------------------------------------
    def _get(self, request, answer):
        return self._on_physics(answer, lambda: self._fill_state(answer.state, self.find(request.entity)))

    def _fill_state(self, state, entity):
        simulator, link = self._control.simulator, entity.link
        position, quaternion = simulator.link_pose(link)
        moves = isinstance(simulator, Simulator) and link in simulator.world.objects
        velocity, acceleration = simulator.object_motion(link) if moves else (np.zeros(6), np.zeros(6))
        state.header.frame_id = self._control.options.world_frame
        put_stamp(state.header.stamp, self._control.stamp())
        put(state.pose.position, position)
        put(state.pose.orientation, quaternion)
        for target, six in ((state.twist, velocity), (state.acceleration, acceleration)):
            put(target.angular, six[:3])
            put(target.linear, six[3:])

    def _set(self, request, answer):
        """Put a free object somewhere, with a velocity; or build the world anew with something welded elsewhere."""

        def act():
            self._refuse_inactive()
            entity, control, failed = self.find(request.entity), self._control, self._codes.RESULT_OPERATION_FAILED
            unsupported = self._codes.RESULT_FEATURE_UNSUPPORTED
            refuse_if(not isinstance(control.simulator, Simulator), unsupported, "this scene's bodies are not set")
            wants = getattr(request, "set_acceleration", False)
            refuse_if(wants, unsupported, "accelerations follow from forces")
            pose, turn = None, np.eye(3)
            if getattr(request, "set_pose", True):
                bad = getattr(type(answer), "INVALID_POSE", 101)
                *pose, turn = in_world(control, request.state.header.frame_id, pose_of(request.state.pose, bad), bad)
            velocity = _six(request.state.twist, turn) if getattr(request, "set_twist", True) else None
            finite = velocity is None or np.isfinite(velocity).all()
            refuse_if(not finite, failed, "the twist holds NaN or infinity")
            if entity.link in control.simulator.world.objects:
                control.simulator.set_object(entity.link, pose, velocity)
                control.tell("set", link=entity.link, pose=pose and [list(part) for part in pose], velocity=velocity)
            else:
                message = f"'{shorten(request.entity)}' is no free object: it has no twist"
                refuse_if(velocity is not None and velocity.any(), failed, message)
                self._weld_elsewhere(request.entity, pose)
            control.state_was_set()

        return self._on_physics(answer, act)

    def _weld_elsewhere(self, name, pose):
        """Something that is welded stands somewhere else from now on; its joints stay as they are."""
        if pose is None:
            return
        simulator = self._control.simulator
        position, quaternion = pose
        place = Pose(tuple(position.tolist()), quat_xyzw=tuple(quaternion.tolist()))
        try:
            new = simulator.rebuilt(moved(simulator.scene, simulator.world.robot_models, name, place))
        except InputError as error:
            raise Refusal(self._codes.RESULT_OPERATION_FAILED, str(error)) from None
        self._control.replace_simulator(new)
        self._control.tell("move", name=name, position=position, quaternion=quaternion)


def _six(twist, turn):
    """A geometry_msgs/Twist in axes that ``turn`` turns into the world's: (6,), angular first."""
    parts = [np.array([getattr(part, axis) for axis in "xyz"]) for part in (twist.angular, twist.linear)]
    return np.concatenate([turn @ part for part in parts])
