# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: reset, step, state and features of the simulation (releases 1.x and 2.x)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError, MbContactError
from mb_contact.ros.names import snake_case

PACKAGE = "simulation_interfaces"
RESULT = f"{PACKAGE}/msg/Result"

#: What this simulator can do, by the names of SimulatorFeatures' constants.
FEATURES = (
    "SPAWNING", "DELETING", "SPAWNING_RESOURCE_STRING", "ENTITY_CATEGORIES", "ENTITY_STATE_GETTING",
    "ENTITY_STATE_SETTING", "SIMULATION_RESET", "SIMULATION_RESET_TIME", "SIMULATION_RESET_STATE",
    "SIMULATION_RESET_SPAWNED", "SIMULATION_STATE_GETTING", "SIMULATION_STATE_SETTING", "SIMULATION_STATE_PAUSE",
    "STEP_SIMULATION_SINGLE", "STEP_SIMULATION_MULTIPLE",
)  # fmt: skip
FORMATS = ("urdf", "yaml")


class Refusal(CommunicationError):
    """A request that fails with a code of its own."""

    def __init__(self, code: int, message: Any) -> None:
        super().__init__(message)
        self.code = code


def refuse_if(broken: Any, code: int, message: Any) -> None:
    """Raise a Refusal where a rule is broken."""
    if broken:
        raise Refusal(code, message)


def available(node: Any) -> bool:
    """Whether this ROS has simulation_interfaces."""
    try:
        node.message_type(RESULT)
    except CommunicationError:
        return False
    return True


def answered(node: Any, answer: Any, action: Callable[[], Any]) -> Any:
    """Fill in ``answer.result`` with the outcome of ``action()``; returns the answer.

    A :class:`Refusal` gives its code, any other error RESULT_OPERATION_FAILED; the sentence goes to error_message.
    """
    codes = node.message_type(RESULT)
    answer.result.result = codes.RESULT_OK
    try:
        action()
    except Refusal as error:
        answer.result.result, answer.result.error_message = error.code, str(error)
    except MbContactError as error:
        answer.result.result, answer.result.error_message = codes.RESULT_OPERATION_FAILED, str(error)
    return answer


class SimulationServices:
    """Five services of a :class:`~mb_contact.ros.node.SimulatorNode`."""

    def __init__(self, simulator_node: Any, entities: Any) -> None:
        self._control, self._entities = simulator_node, entities
        self._node = node = simulator_node.node
        self._states = node.message_type(f"{PACKAGE}/msg/SimulationState")
        self._codes = node.message_type(RESULT)
        self._stopped = False
        for name, serve in (
            ("ResetSimulation", self._reset), ("StepSimulation", self._step), ("SetSimulationState", self._set_state),
            ("GetSimulationState", self._get_state), ("GetSimulatorFeatures", self._features),
        ):  # fmt: skip
            simulator_node.services.create(f"{PACKAGE}/srv/{name}", snake_case(name), serve)

    def state(self) -> Any:
        """STATE_STOPPED, STATE_PLAYING or STATE_PAUSED."""
        if not self._control.paused:
            self._stopped = False
            return self._states.STATE_PLAYING
        return self._states.STATE_STOPPED if self._stopped else self._states.STATE_PAUSED

    def _reset(self, request, answer):
        kind = type(request)
        scope = int(request.scope)
        known = kind.SCOPE_TIME | kind.SCOPE_STATE | kind.SCOPE_SPAWNED

        def act():
            refuse_if(
                scope != kind.SCOPE_ALL and scope & ~known, self._codes.RESULT_FEATURE_UNSUPPORTED,
                f"{scope} is no sum of reset scopes",
            )
            everything = scope in (kind.SCOPE_DEFAULT, kind.SCOPE_ALL)
            rewind = everything or bool(scope & kind.SCOPE_TIME)
            if everything:
                self._entities.restore()
            elif scope & kind.SCOPE_SPAWNED:
                self._entities.remove_spawned()
            if everything or scope & kind.SCOPE_STATE:
                self._control.do_reset(rewind or None)  # without it as reset_rewinds_time says
            elif rewind:
                self._control.rewind()

        return answered(self._node, answer, lambda: self._control.ask(act))

    async def _step(self, request, answer):
        """Commands, other services and the end are served meanwhile; a pause or a reset ends it early."""
        self._stopped, failed = False, None
        try:
            await self._control.stepping.take(int(request.steps))
        except MbContactError as error:
            failed = error

        def act():
            if failed is not None:
                raise failed

        return answered(self._node, answer, act)

    def _get_state(self, request, answer):
        answer.state.state = self.state()
        return answered(self._node, answer, lambda: None)

    def _set_state(self, request, answer):
        wanted, kind = int(request.state.state), type(answer)
        states = self._states

        def act():
            if wanted not in (
                states.STATE_STOPPED, states.STATE_PLAYING, states.STATE_PAUSED, states.STATE_QUITTING
            ):  # fmt: skip
                raise Refusal(self._codes.RESULT_FEATURE_UNSUPPORTED, f"there is no way into the state {wanted}")
            if wanted == self.state() and not (self._control.stepping and wanted == states.STATE_PAUSED):
                raise Refusal(kind.ALREADY_IN_TARGET_STATE, "the simulation is in this state already")
            refuse_if(
                wanted == states.STATE_PAUSED and self.state() == states.STATE_STOPPED, kind.INCORRECT_TRANSITION,
                "a stopped simulation cannot be paused: play it first",
            )
            if wanted == states.STATE_QUITTING:
                self._control.stop()
                return
            if wanted == states.STATE_STOPPED:
                self._entities.remove_spawned()
                self._control.do_reset()
            self._control.do_pause(wanted != states.STATE_PLAYING)
            self._stopped = wanted == states.STATE_STOPPED

        return answered(self._node, answer, lambda: self._control.ask(act))

    def _features(self, request, answer):
        kind = self._node.message_type(f"{PACKAGE}/msg/SimulatorFeatures")
        features = [name for name in FEATURES if self._entities.can_rebuild or not name.startswith(("SPAWN", "DELET"))]
        answer.features.features = [getattr(kind, name) for name in features]
        answer.features.spawn_formats = list(FORMATS) if self._entities.can_rebuild else []
        answer.features.custom_info = "mb_contact: yaml is a primitive as in a scene file, urdf an object or a robot"
        return answer
