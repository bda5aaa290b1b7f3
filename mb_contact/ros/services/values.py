# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""set_values, and parameters of the node by the same names: values of the scene that change while it runs.

``mass.box``, ``friction.box.ground`` or ``gravity.box`` is one of ``Simulator.set`` and what it is of, ``mass`` that of
all, ``gravity`` the scene's.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from mb_contact.checks import shorten
from mb_contact.errors import CommunicationError, InputError, MbContactError
from mb_contact.ros.handling import act
from mb_contact.ros.parameters import Option
from mb_contact.ros.services.requests import Request
from mb_contact.simulation.values import PARTS, RANGES, SHAPES

SET = "rcl_interfaces/srv/SetParameters"
RESULT = "rcl_interfaces/msg/SetParametersResult"
NUMBERS = {2: "integer_value", 3: "double_value", 7: "integer_array_value", 8: "double_array_value"}
UNSET = 0  #: type of a parameter that takes a value back
KEPT = [name for name in RANGES if name not in PARTS]  #: values that can be parameters: no reset changes them


class SceneValues:
    """The service and the parameters of a :class:`~mb_contact.ros.node.SimulatorNode`.

    Parameters
    ----------
    simulator_node : SimulatorNode
    hand_over : callable
        Takes a Request that nobody waits for.

    Raises
    ------
    CommunicationError
        The option value_parameters names what is no value.
    """

    def __init__(self, simulator_node: Any, hand_over: Callable[[Request], None]) -> None:
        self._control, self._hand_over = simulator_node, hand_over
        self._declared: dict[str, tuple[str, Any]] = {}  # parameters: the value and what it is of
        self.stale = False  #: whether parameters may tell another value than there is
        self._wanted = [name for name in simulator_node.options.value_parameters if name]
        for name in self._wanted:
            if name.partition(".")[0] not in KEPT:
                raise CommunicationError(f"value_parameters: '{shorten(name)}' is none of {', '.join(KEPT)}")
        simulator_node.services.create(SET, "set_values", self._serve)
        self._follow()

    def look(self) -> None:
        """Let the parameters tell what is; on the executor's thread."""
        if self.stale:
            self.stale = False
            self._follow()

    def take(self, changed: dict[str, Any]) -> str:
        """Set what changed parameters stand for; the reason against it, or ''."""
        simulator = self._control.simulator
        try:
            asked = [(*self._declared[name], value) for name, value in changed.items() if name in self._declared]
            new = [(value, of, number) for value, of, number in asked if _of_now(simulator, value, of) != number]
            if new:
                self._control.ask(lambda: self._set_all(new))
        except MbContactError as error:
            return str(error)
        return ""

    def _set_all(self, new):
        """Set them all, or none."""
        former = []
        try:
            for value, of, numbers in new:
                before = _of_now(self._control.simulator, value, of)
                self._set(value, of, numbers)
                former.append((value, of, before))
        except MbContactError:
            for undone in reversed(former):
                self._set(*undone)
            raise

    def _set(self, value, of, numbers):
        fields = {"name": value, "values": numbers, "of": of}
        act(self._control.simulator, "value", fields)
        self._control.tell("value", **fields)

    def _serve(self, request, answer):
        try:
            answer.results = self._control.ask(lambda: [self._answered(parameter) for parameter in request.parameters])
        except MbContactError as error:  # the simulation does not run
            result = self._control.node.message_type(RESULT)
            answer.results = [result(successful=False, reason=str(error)) for _ in request.parameters]
        self.stale = True
        return answer

    def _answered(self, parameter):
        result = self._control.node.message_type(RESULT)()
        try:
            kind, numbers = int(parameter.value.type), None
            if kind not in (UNSET, *NUMBERS):
                raise InputError(f"{shorten(parameter.name)} must be a number or numbers")
            if kind != UNSET:
                numbers = np.asarray(getattr(parameter.value, NUMBERS[kind]), float).tolist()
            self._set(*place_of(self._control.simulator, parameter.name), numbers)
            result.successful = True
        except MbContactError as error:
            result.reason = str(error)
        return result

    # --- parameters ---------------------------------------------------------------------------

    def _follow(self):
        """Declare what has come, and put what has changed."""
        simulator, node = self._control.simulator, self._control.node
        changed = {}
        for name, value, of, now in self._named(simulator) if self._wanted and hasattr(simulator, "values") else ():
            if name in self._declared:
                changed[name] = now
                continue
            self._declared[name] = value, of
            given = node.declare_parameter(name, now, _about(value, of)).value
            if _plain(given) != now:
                self._hand_over(Request(lambda value=value, of=of, given=given: self._begin(value, of, _plain(given))))
        if changed:
            node.put_parameters(changed)

    def _begin(self, value, of, numbers):
        """What the command line gives."""
        try:
            self._set(value, of, numbers)
        except MbContactError as error:
            self._control.node.get_logger().error(f"a value of the command line does not act: {error}")
            self.stale = True

    def _named(self, simulator) -> Iterator[tuple[str, str, Any, Any]]:
        """Name, value, what it is of, and number or numbers of now, of all parameters of this world."""
        for wanted in self._wanted:
            value = wanted.partition(".")[0]
            if wanted == "gravity":
                yield wanted, value, None, simulator.gravity.tolist()
            for key, now in simulator.values(value).items():
                for name in names_of(value, key):
                    if wanted in (value, name):
                        yield name, value, [key], now
                        break


def names_of(value: str, key: Any) -> list[str]:
    """Names by which ROS asks for a value of a key."""
    both = (key, key[::-1]) if isinstance(key, tuple) else ((key,),)
    return [f"{value}.{'.'.join(order)}" for order in both]


def place_of(simulator: Any, name: str) -> tuple[str, Any]:
    """Value and ``of`` of Simulator.set for a name.

    Raises
    ------
    InputError
        The scene has no such value.
    """
    if not hasattr(simulator, "values"):
        raise InputError("scenes of smooth surfaces in contact coordinates have no values that can be set")
    value, dot, rest = name.partition(".")
    keys = simulator.values(value)
    if not dot:
        return value, None
    found = [key for key in keys if name in names_of(value, key)]
    return value, found or [rest]  # what is not there is told by set


def _of_now(simulator, value, of):
    if of is None:
        return simulator.gravity.tolist()
    return simulator.values(value).get(of[0])


def _plain(given):
    """A parameter's value as numbers of Python."""
    return np.asarray(given, float).tolist()


def _about(value, of):
    """What is declared of a parameter."""
    what = "of the scene" if of is None else f"of {' and '.join(of[0]) if isinstance(of[0], tuple) else of[0]}"
    low, high = RANGES[value]
    if value in SHAPES:
        return Option(f"{value} {what}, as Simulator.set has it", live=True)
    return Option(f"{value} {what}, as Simulator.set has it", live=True, low=low, high=high)
