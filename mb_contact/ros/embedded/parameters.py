# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Parameters of an embedded node: declared values, overrides, changes, and the services that other nodes use."""

import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import message_class
from mb_contact.ros.names import snake_case
from mb_contact.ros.parameters import Option
from mb_contact.ros.qos import QoS

EVENTS = QoS(depth=1000)  #: /parameter_events
NOT_SET = 0
#: ParameterType by Python type, and the field of ParameterValue.
_SCALARS = {bool: (1, "bool_value"), int: (2, "integer_value"), float: (3, "double_value"), str: (4, "string_value")}
_ARRAYS = {
    bool: (6, "bool_array_value"), int: (7, "integer_array_value"), float: (8, "double_array_value"),
    str: (9, "string_array_value"),
}  # fmt: skip
_FIELDS = {code: field for table in (_SCALARS, _ARRAYS) for code, field in table.values()} | {5: "byte_array_value"}


def type_code(value: Any) -> Any:
    """ParameterType of a Python value; an empty list counts as one of texts."""
    if value is None:
        return NOT_SET
    if isinstance(value, (list, tuple)):
        return _ARRAYS[type(value[0]) if value else str][0]
    return _SCALARS[type(value)][0]


def to_message(value: Any) -> Any:
    """Return a rcl_interfaces/ParameterValue."""
    message = message_class("rcl_interfaces/msg/ParameterValue")()
    message.type = type_code(value)
    if message.type:
        setattr(message, _FIELDS[message.type], list(value) if isinstance(value, (list, tuple)) else value)
    return message


def from_message(message: Any) -> Any:
    """Return the Python value of a rcl_interfaces/ParameterValue.

    Raises
    ------
    CommunicationError
        A type that does not exist.
    """
    code = int(message.type)
    if code == NOT_SET:
        return None
    if code not in _FIELDS:
        raise CommunicationError(f"{code} is no parameter type")
    value = getattr(message, _FIELDS[code])
    if isinstance(value, np.ndarray):
        return value.tolist()
    return list(value) if isinstance(value, list) else value


class Parameter:
    """A declared parameter."""

    def __init__(self, name: str, value: Any, description: Any) -> None:
        self.name = name
        self.value = value
        self.description = description


class Parameters:
    """Declared parameters, the overrides of the command line, and changes while the node runs."""

    def __init__(self, names: Any, arguments: Any) -> None:
        self._overrides = {
            name: value for pattern, name, value in arguments.parameters if names.matches(pattern)
        }
        self._declared = {}
        self._callbacks = []
        self.changed = None  #: called with the list of (name, value) that have changed, and whether they are new
        self.lock = threading.RLock()

    def override(self, name: str, default: Any = None) -> Any:
        """The command line's value of a parameter, declared or not."""
        return self._overrides.get(name, default)

    def declare(self, name: str, default: Any, description: Any = None) -> Any:
        """Declare one; an override must have the default's type.

        Raises
        ------
        CommunicationError
            Declared twice, an override of another type, or one that the description does not allow.
        """
        if name in self._declared:
            raise CommunicationError(f"the parameter '{name}' is already declared")
        value = self._overrides.get(name, default)
        if default is not None and value is not default:
            value = converted(name, value, default)
        description = description or Option()
        reason = description.reason_against(name, value)
        if reason:
            raise CommunicationError(reason)
        self._declared[name] = Parameter(name, value, description)
        if self.changed is not None:
            self.changed([(name, value)], True)
        return self._declared[name]

    def undeclared(self) -> list[str]:
        """Names that the command line gives and nobody has declared."""
        return [name for name in self._overrides if name not in self._declared]

    def get(self, name: str) -> Any:
        """Return a declared parameter."""
        if name not in self._declared:
            raise CommunicationError(f"the parameter '{name}' is not declared")
        return self._declared[name]

    def find(self, name: str) -> Any:
        """Return a declared parameter or None."""
        return self._declared.get(name)

    def names(self) -> Any:
        """Names of all declared parameters, sorted."""
        return sorted(self._declared)

    def on_set(self, callback: Callable[..., Any]) -> None:
        """Ask ``callback(dict)`` before every change; what it returns, if not empty, is the reason against it."""
        self._callbacks.append(callback)

    def set(self, values: Any) -> Any:
        """Change declared parameters together, or none of them.

        Parameters
        ----------
        values : dict

        Returns
        -------
        str
            Empty, or why nothing has changed.
        """
        with self.lock:
            checked = {}
            for name, value in values.items():
                reason, value = self._judge(name, value)
                if reason:
                    return reason
                checked[name] = value
            for callback in self._callbacks:
                reason = callback(checked)
                if reason:
                    return reason
            for name, value in checked.items():
                self._declared[name].value = value
        if self.changed is not None:
            self.changed(list(checked.items()), False)
        return ""

    def _judge(self, name, value):
        """(reason against this change or '', value of the declared type)."""
        parameter = self._declared.get(name)
        if parameter is None:
            return f"the parameter '{name}' is not declared; known are {', '.join(self.names())}", None
        if not parameter.description.live:
            return f"'{name}' is read only: give it when the node starts", None
        try:
            value = converted(name, value, parameter.value)
        except CommunicationError as error:
            return str(error), None
        return parameter.description.reason_against(name, value), value


def converted(name: str, value: Any, default: Any) -> Any:
    """``value`` in the type of ``default``; an integer may stand for a float.

    Raises
    ------
    CommunicationError
        Another type.
    """
    if isinstance(default, float) and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if isinstance(default, (list, tuple)) and isinstance(value, (list, tuple)):
        kind = type(default[0]) if default else str
        return [converted(name, item, kind()) for item in value]
    if type(value) is not type(default):
        wanted = "list" if isinstance(default, (list, tuple)) else type(default).__name__
        raise CommunicationError(f"the parameter '{name}' must be a {wanted}, got {value!r}")
    return value


class ParameterServices:
    """The six parameter services of a node, and /parameter_events."""

    def __init__(self, node: Any, parameters: Any) -> None:
        self._node, self._parameters = node, parameters
        for name, field, make in (
            ("DescribeParameters", "descriptors", lambda request: [self._descriptor(entry) for entry in request.names]),
            ("GetParameterTypes", "types", lambda request: [type_code(value) for value in self._padded(request)]),
            ("GetParameters", "values", lambda request: [to_message(value) for value in self._padded(request)]),
            ("SetParameters", "results", lambda request: [self._result([entry]) for entry in request.parameters]),
            ("SetParametersAtomically", "result", lambda request: self._result(request.parameters)),
        ):
            serve = partial(_answered, field, make)
            node.create_service(f"rcl_interfaces/srv/{name}", f"~/{snake_case(name)}", serve)
        node.create_service("rcl_interfaces/srv/ListParameters", "~/list_parameters", self._list)
        self._events = node.create_publisher(
            "rcl_interfaces/msg/ParameterEvent", "/parameter_events", EVENTS, overridable=False
        )
        parameters.changed = self._announce

    def _announce(self, values, new):
        event = message_class("rcl_interfaces/msg/ParameterEvent")()
        event.stamp.sec, event.stamp.nanosec = divmod(time.time_ns(), 1_000_000_000)
        event.node = self._node.get_fully_qualified_name()
        parameters = []
        for name, value in values:
            parameter = message_class("rcl_interfaces/msg/Parameter")()
            parameter.name, parameter.value = name, to_message(value)
            parameters.append(parameter)
        setattr(event, "new_parameters" if new else "changed_parameters", parameters)
        self._events.publish(event)

    def _padded(self, request):
        """One value a name, None where it is not declared."""
        found = [self._parameters.find(name) for name in request.names]
        return [None if parameter is None else parameter.value for parameter in found]

    def _descriptor(self, name):
        descriptor = message_class("rcl_interfaces/msg/ParameterDescriptor")()
        descriptor.name = name
        parameter = self._parameters.find(name)
        if parameter is None:
            return descriptor
        about = parameter.description
        descriptor.type = type_code(parameter.value)
        descriptor.description, descriptor.additional_constraints = about.told, about.constraints
        descriptor.read_only = not about.live
        if about.low is not None and isinstance(parameter.value, float):
            span = message_class("rcl_interfaces/msg/FloatingPointRange")()
            span.from_value = float(about.low)
            span.to_value = sys.float_info.max if about.high is None else float(about.high)
            descriptor.floating_point_range = [span]
        return descriptor

    def _list(self, request, answer):
        """Names below the prefixes, at most ``depth`` levels deep (0: all)."""
        depth, prefixes = int(request.depth), list(request.prefixes)
        names = []
        for name in self._parameters.names():
            for prefix in prefixes or [""]:
                inside = not prefix or name == prefix or name.startswith(f"{prefix}.")
                rest = name[len(prefix) :].lstrip(".") if prefix else name
                if inside and (depth == 0 or rest.count(".") < depth):
                    names.append(name)
                    break
        answer.result.names = names
        answer.result.prefixes = sorted({name.rsplit(".", 1)[0] for name in names if "." in name})
        return answer

    def _result(self, parameters):
        result = message_class("rcl_interfaces/msg/SetParametersResult")()
        try:
            result.reason = self._parameters.set({p.name: from_message(p.value) for p in parameters})
        except CommunicationError as error:
            result.reason = str(error)
        result.successful = not result.reason
        return result


def _answered(field, make, request, answer):
    """The answer with what is made of the request."""
    setattr(answer, field, make(request))
    return answer
