# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""simulation_interfaces: reset, steps by service and by action, state and features (releases 1.x and 2.x)."""

from typing import Any

from mb_contact.ros.names import snake_case
from mb_contact.ros.services.common import (
    OFFERS,
    PACKAGE,
    REBUILDING,
    Group,
    Refusal,
    has_type,
    refuse_if,
)

FORMATS = ("urdf", "sdf", "yaml")
SIMULATE = f"{PACKAGE}/action/SimulateSteps"
ACTIVE = 4  #: goals of simulate_steps that may wait for their turn


class SimulationServices(Group):
    """Reset, steps, state, features.

    Parameters
    ----------
    simulator_node : SimulatorNode
    spawning : SpawningServices
        Whose spawned entities a reset takes away.
    """

    def __init__(self, simulator_node: Any, spawning: Any) -> None:
        super().__init__(simulator_node)
        self._spawning, self._states = spawning, self._type("SimulationState")
        self._stopped, self._goals = False, 0
        self._offer(
            ResetSimulation=self._reset, StepSimulation=self._step, SetSimulationState=self._set_state,
            GetSimulationState=self._get_state, GetSimulatorFeatures=self._features,
        )  # fmt: skip
        self._acts = has_type(self._node, SIMULATE)
        if self._acts:
            self._node.create_action_server(SIMULATE, "simulate_steps", self._simulate, self._wants)

    def stopped(self) -> None:
        """The simulation stands at its beginning: what is paused now counts as stopped."""
        self._stopped = True

    def state(self) -> Any:
        """What the simulation does, as a constant of SimulationState."""
        if self._control.inactive:  # releases before worlds have no constants for it
            name = "STATE_LOADING_WORLD" if self._control.loading else "STATE_NO_WORLD"
            return getattr(self._states, name, self._states.STATE_STOPPED)
        if not self._control.paused:
            self._stopped = False
            return self._states.STATE_PLAYING
        return self._states.STATE_STOPPED if self._stopped else self._states.STATE_PAUSED

    def _reset(self, request, answer):
        kind = type(request)
        scope = int(request.scope)
        known = kind.SCOPE_TIME | kind.SCOPE_STATE | kind.SCOPE_SPAWNED

        def act():
            self._refuse_inactive()
            refuse_if(
                scope != kind.SCOPE_ALL and scope & ~known, self._codes.RESULT_FEATURE_UNSUPPORTED,
                f"{scope} is no sum of reset scopes",
            )
            everything = scope in (kind.SCOPE_DEFAULT, kind.SCOPE_ALL)
            rewind = everything or bool(scope & kind.SCOPE_TIME)
            if everything:
                self._spawning.restore()
            elif scope & kind.SCOPE_SPAWNED:
                self._spawning.remove_spawned()
            if everything or scope & kind.SCOPE_STATE:
                self._control.do_reset(rewind or None)  # without it as reset_rewinds_time says
            elif rewind:
                self._control.rewind()

        return self._on_physics(answer, act)

    async def _step(self, request, answer):
        """Commands, other services and the end are served meanwhile; a pause or a reset ends it early."""
        with self._outcome(answer):
            self._refuse_inactive()
            self._stopped = False
            await self._control.stepping.take(int(request.steps))
        return answer

    def _wants(self, goal):
        """Whether a goal of simulate_steps is accepted: not more than a few wait for their turn."""
        return self._goals < ACTIVE

    async def _simulate(self, goal):
        """As StepSimulation, with feedback after each step, until it is cancelled."""
        kind = self._node.message_type(SIMULATE)

        def told(done, left):
            goal.publish_feedback(kind.Feedback(completed_steps=done, remaining_steps=left))

        answer = kind.Result()
        self._goals += 1
        try:
            with self._outcome(answer):
                self._refuse_inactive()
                self._stopped = False
                await self._control.stepping.take(int(goal.request.steps), told, lambda: goal.is_cancel_requested)
        finally:
            self._goals -= 1
        done = answer.result.result == self._codes.RESULT_OK
        end = goal.succeed if done else goal.canceled if goal.is_cancel_requested else goal.abort
        end()
        return answer

    def _get_state(self, request, answer):
        answer.state.state = self.state()
        return self._answered(answer, lambda: None)

    def _set_state(self, request, answer):
        wanted, kind = int(request.state.state), type(answer)
        states = self._states

        def act():
            if wanted != states.STATE_QUITTING:
                self._refuse_inactive()
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
                self._spawning.remove_spawned()
                self._control.do_reset()
            self._control.do_pause(wanted != states.STATE_PLAYING)
            self._stopped = wanted == states.STATE_STOPPED

        return self._on_physics(answer, act)

    def _features(self, request, answer):
        kind, rebuilds = self._type("SimulatorFeatures"), self._spawning.can_rebuild
        served = [OFFERS[name] for name in OFFERS if self._control.services.serves(snake_case(name))]
        names = [name for features in served for name in features]
        names += ["STEP_SIMULATION_ACTION"] if self._acts else []
        features = [getattr(kind, name) for name in names if hasattr(kind, name)]
        lacking = set() if rebuilds else {getattr(kind, name, None) for name in REBUILDING}
        answer.features.features = sorted(number for number in features if number not in lacking)
        answer.features.spawn_formats = list(FORMATS) if rebuilds else []
        answer.features.custom_info = (
            "mb_contact: yaml is a primitive as in a scene file, urdf and sdf an object or a robot; worlds are scene "
            "files or SDF"
        )
        return answer
