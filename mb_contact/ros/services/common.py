# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What all services of simulation_interfaces share: result codes, refusals, and what each stands for."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mb_contact.checks import shorten
from mb_contact.errors import CommunicationError, MbContactError
from mb_contact.ros.names import snake_case

PACKAGE = "simulation_interfaces"
RESULT = f"{PACKAGE}/msg/Result"

#: Services, and the features that each stands for where it is served, by the names of SimulatorFeatures' constants.
OFFERS: dict[str, tuple[str, ...]] = {
    "GetSimulatorFeatures": (),
    "ResetSimulation": ("SIMULATION_RESET", "SIMULATION_RESET_TIME", "SIMULATION_RESET_STATE"),
    "StepSimulation": ("STEP_SIMULATION_SINGLE", "STEP_SIMULATION_MULTIPLE"),
    "SetSimulationState": ("SIMULATION_STATE_SETTING", "SIMULATION_STATE_PAUSE"),
    "GetSimulationState": ("SIMULATION_STATE_GETTING",),
    "GetEntities": ("ENTITY_TAGS", "ENTITY_CATEGORIES", "ENTITY_BOUNDS_BOX", "ENTITY_BOUNDS_CONVEX"),
    "GetEntitiesStates": (),
    "GetEntityState": ("ENTITY_STATE_GETTING",),
    "GetEntityInfo": ("ENTITY_INFO_GETTING",),
    "SetEntityInfo": ("ENTITY_INFO_SETTING",),
    "GetEntityBounds": ("ENTITY_BOUNDS",),
    "SetEntityState": ("ENTITY_STATE_SETTING",),
    "SpawnEntity": ("SPAWNING", "SPAWNING_RESOURCE_STRING", "SIMULATION_RESET_SPAWNED"),
    "SpawnEntities": ("SPAWNING_ENTITIES",),
    "DeleteEntity": ("DELETING",),
    "GetSpawnables": ("SPAWNABLES",),
    "GetNamedPoses": ("NAMED_POSES",),
    "GetNamedPoseBounds": ("POSE_BOUNDS",),
    "LoadWorld": ("WORLD_LOADING", "WORLD_RESOURCE_STRING"),
    "UnloadWorld": ("WORLD_UNLOADING",),
    "GetCurrentWorld": ("WORLD_INFO_GETTING",),
    "GetAvailableWorlds": ("AVAILABLE_WORLDS", "WORLD_TAGS"),
}
#: Those of scenes whose bodies can come and go; smooth surfaces in contact coordinates have none of them.
REBUILDING = {"SPAWNING", "SPAWNING_RESOURCE_STRING", "SIMULATION_RESET_SPAWNED", "SPAWNING_ENTITIES", "DELETING",
              "SPAWNABLES", "ENTITY_STATE_SETTING", "ENTITY_BOUNDS", "ENTITY_BOUNDS_BOX",
              "ENTITY_BOUNDS_CONVEX"}  # fmt: skip


class Refusal(CommunicationError):
    """A request that fails with a code of its own."""

    def __init__(self, code: int, message: Any) -> None:
        super().__init__(message)
        self.code = code


def refuse_if(broken: Any, code: int, message: Any) -> None:
    """Raise a Refusal where a rule is broken."""
    if broken:
        raise Refusal(code, message)


def has_type(node: Any, type_name: str) -> bool:
    """Whether this ROS has a type."""
    try:
        node.message_type(type_name)
    except CommunicationError:
        return False
    return True


def available(node: Any) -> bool:
    """Whether this ROS has simulation_interfaces."""
    return has_type(node, RESULT)


@contextmanager
def outcome(node: Any, answer: Any) -> Iterator[None]:
    """Fill in ``answer.result`` with how the block ends.

    A :class:`Refusal` gives its code, any other error RESULT_OPERATION_FAILED; the sentence goes to error_message.
    """
    codes = node.message_type(RESULT)
    answer.result.result = codes.RESULT_OK
    try:
        yield
    except Refusal as error:
        answer.result.result, answer.result.error_message = error.code, str(error)
    except MbContactError as error:
        answer.result.result, answer.result.error_message = codes.RESULT_OPERATION_FAILED, str(error)


def tags_match(wanted: Any, tags: Any) -> bool:
    """Whether something with these tags passes a TagsFilter."""
    asked = set(wanted.tags)
    if not asked:
        return True
    found = asked & set(tags)
    return found == asked if wanted.filter_mode == wanted.FILTER_MODE_ALL else bool(found)


class Group:
    """Some of the services of a :class:`~mb_contact.ros.node.SimulatorNode`."""

    def __init__(self, simulator_node: Any) -> None:
        self._control = simulator_node
        self._node = simulator_node.node
        self._codes = self._node.message_type(RESULT)

    def _offer(self, **handlers: Callable[..., Any]) -> None:
        """Serve these, as far as this release of simulation_interfaces has them."""
        for name, serve in handlers.items():
            kind = f"{PACKAGE}/srv/{name}"
            if has_type(self._node, kind):
                self._control.services.create(kind, snake_case(name), serve)

    def _type(self, name):
        return self._node.message_type(f"{PACKAGE}/msg/{name}")

    def _outcome(self, answer):
        return outcome(self._node, answer)

    def _answered(self, answer, action):
        with self._outcome(answer):
            action()
        return answer

    def _on_physics(self, answer, action):
        """The answer to what the physics thread does between two steps."""
        return self._answered(answer, lambda: self._control.ask(action))

    def _refuse_inactive(self):
        """Nothing can change where there is no world, or one is being loaded."""
        refuse_if(self._control.inactive, self._codes.RESULT_INCORRECT_STATE, self._control.inactive)

    def _not_found(self, what, name, known):
        return Refusal(self._codes.RESULT_NOT_FOUND, f"no {what} '{shorten(name)}'; there are {', '.join(known)}")
