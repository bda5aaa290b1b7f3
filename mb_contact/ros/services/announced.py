# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Services from a node's start on: until a simulator serves them, they answer what the node is doing."""

import functools
import inspect
from collections.abc import Callable
from typing import Any

from mb_contact.ros.names import snake_case
from mb_contact.ros.services.common import OFFERS, PACKAGE, RESULT, available, has_type
from mb_contact.ros.services.standard import SET_BOOL, TRIGGER

STANDARD = {"~/reset": TRIGGER, "~/step": TRIGGER, "~/pause": SET_BOOL}
STATE, GET_STATE = f"{PACKAGE}/msg/SimulationState", "get_simulation_state"
COROUTINES = {"~/step", "step_simulation", "load_world"}  #: served by coroutines


class Services:
    """The services of a node.

    Parameters
    ----------
    node : object
    """

    def __init__(self, node: Any) -> None:
        self._node = node
        self._handlers: dict[str, Callable[..., Any]] = {}  # of services that were announced
        self._served: set[str] = set()

    def create(self, kind: str, name: str, handler: Callable[..., Any]) -> None:
        """Serve ``name`` from now on."""
        self._served.add(name)
        if name in self._handlers:
            self._handlers[name] = handler
        else:
            self._node.create_service(kind, name, handler)

    def serves(self, name: str) -> bool:
        """Whether there is such a service."""
        return name in self._served

    def announce(self, doing: Callable[[], str]) -> None:
        """Answer all services of a simulation with ``doing()`` until they are created.

        No service is taken away and made again for that: a request in between would be lost.
        """
        kinds = dict(STANDARD)
        if available(self._node):
            kinds |= {snake_case(name): f"{PACKAGE}/srv/{name}" for name in OFFERS}
            kinds = {name: kind for name, kind in kinds.items() if has_type(self._node, kind)}
        for name, kind in kinds.items():
            self._handlers[name] = functools.partial(self._refuse, name, doing)
            serve = self._serve_long if name in COROUTINES else self._serve
            self._node.create_service(kind, name, functools.partial(serve, name))

    def _serve(self, name, request, answer):
        return self._handlers[name](request, answer)

    async def _serve_long(self, name, request, answer):
        given = self._handlers[name](request, answer)
        return await given if inspect.iscoroutine(given) else given

    def _refuse(self, name, doing, _request, answer):
        sentence = f"not simulating yet: {doing()}"
        if name in STANDARD:
            answer.success, answer.message = False, sentence
        elif name == "get_simulator_features":  # whose answer has no result
            answer.features.custom_info = sentence
        else:
            answer.result.result = self._node.message_type(RESULT).RESULT_OPERATION_FAILED
            answer.result.error_message = sentence
        loading = getattr(self._node.message_type(STATE), "STATE_LOADING_WORLD", None) if name == GET_STATE else None
        if loading is not None:  # release 1.x has no such state
            answer.state.state, answer.result.result = loading, self._node.message_type(RESULT).RESULT_OK
        return answer
