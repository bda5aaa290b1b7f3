# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""ROS names, and the ``--ros-args`` that change them."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from mb_contact.errors import CommunicationError

_TOKEN = re.compile(r"^[A-Za-z_][A-Za-z0-9_]*$")


@dataclass
class RosArguments:
    """What ``--ros-args`` says: remapping rules and parameters.

    Attributes
    ----------
    rules : list of (node or None, source, target)
    parameters : list of (node pattern, name, value)
    rest : list of str
        Arguments outside ``--ros-args``.
    """

    rules: list = field(default_factory=list)
    parameters: list = field(default_factory=list)
    rest: list = field(default_factory=list)


def parse_ros_arguments(args: Sequence[str] | None) -> Any:
    """Read ``--ros-args -r a:=b -p x:=1 --params-file f [--]`` out of ``args``.

    Raises
    ------
    CommunicationError
        A flag without its value, a rule without ``:=``, an unreadable parameter file.
    """
    result = RosArguments()
    inside = False
    queue = list(args or ())
    while queue:
        arg = queue.pop(0)
        if arg == "--ros-args":
            inside = True
        elif not inside:
            result.rest.append(arg)
        elif arg == "--":
            inside = False
        else:
            _ros_argument(arg, queue, result)
    return result


def _ros_argument(arg, queue, result):
    if arg in ("-r", "--remap"):
        left, value = _pair(arg, queue)
        node, _, source = left.rpartition(":")
        result.rules.append((node or None, source, value))
    elif arg in ("-p", "--param"):
        left, value = _pair(arg, queue)
        node, _, name = left.rpartition(":")
        result.parameters.append((node or "/**", name, _yaml_value(value)))
    elif arg == "--params-file":
        result.parameters.extend(read_parameter_file(_next(arg, queue)))
    elif arg in ("--log-level", "--log-config-file", "--enclave", "-e"):
        _next(arg, queue)  # understood by rclpy; without effect here
    elif not arg.startswith(("--enable-", "--disable-")):
        raise CommunicationError(
            f"unknown ROS argument '{arg}'; -r, -p, --params-file and --log-level are known"
        )


def _next(flag, queue):
    if not queue:
        raise CommunicationError(f"'{flag}' in --ros-args needs a value")
    return queue.pop(0)


def _pair(flag, queue):
    text = _next(flag, queue)
    left, sign, right = text.partition(":=")
    if not sign or not left:
        raise CommunicationError(f"'{flag} {text}' in --ros-args must look like name:=value")
    return left, right


def _yaml_value(text):
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError:
        return text


def read_parameter_file(path: str) -> Any:
    """Return ``[(node pattern, name, value)]`` of a ROS 2 parameter file.

    Raises
    ------
    CommunicationError
        The file cannot be read or has no ``ros__parameters``.
    """
    try:
        with open(path, encoding="utf-8") as stream:
            document = yaml.safe_load(stream) or {}
    except (OSError, yaml.YAMLError) as error:
        raise CommunicationError(f"cannot read the parameter file '{path}': {error}") from None
    found = []
    if not _collect(document, "", found) and document:
        raise CommunicationError(f"the parameter file '{path}' has no 'ros__parameters' section")
    return found


def _collect(tree, prefix, found):
    """Whether there is a section of parameters, which may be empty: launch writes such."""
    if not isinstance(tree, dict):
        return False
    sections = 0
    for key, value in tree.items():
        if key == "ros__parameters":
            found.extend((prefix or "/**", name, v) for name, v in _flatten(value or {}))
            sections += 1
        else:
            sections += _collect(value, f"{prefix}/{key}".replace("//", "/"), found)
    return sections > 0


def _flatten(tree, prefix=""):
    for key, value in tree.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


class NodeNames:
    """Resolve relative, private and absolute names for one node, remapping included.

    Parameters
    ----------
    name : str
        Node name.
    namespace : str
    arguments : RosArguments
    """

    def __init__(self, name: str, namespace: str, arguments: Any) -> None:
        for node, source, target in arguments.rules:
            if node not in (None, name):
                continue
            if source in ("__node", "__name"):
                name = target
            elif source == "__ns":
                namespace = target
        if not _TOKEN.match(name):
            raise CommunicationError(
                f"'{name}' is not a node name; use letters, digits and '_', not starting with a digit"
            )
        self.name = name
        self.namespace = "/" + namespace.strip("/")
        _check(self.namespace, "namespace")
        self.full = f"{self.namespace.rstrip('/')}/{name}"
        self._rules = {
            self._expand(source): self._expand(target)
            for node, source, target in arguments.rules
            if node in (None, name) and not source.startswith("__")
        }

    def _expand(self, text):
        text = text.removeprefix("rostopic://").removeprefix("rosservice://")
        if text == "~" or text.startswith("~/"):
            return self.full + text[1:]
        return text if text.startswith("/") else f"{self.namespace.rstrip('/')}/{text}"

    def resolve(self, text: str) -> Any:
        """Return the absolute name of a topic or service after remapping."""
        full = self._expand(text)
        full = self._rules.get(full, full)
        _check(full, "name")
        return full

    def matches(self, pattern: str) -> bool:
        """Whether a parameter file's node pattern (``/**``, ``/*/name``, ``name``) means this node."""
        if not pattern.startswith("/"):
            pattern = f"/{pattern}" if "/" in pattern else f"/**/{pattern}"
        expression = re.escape(pattern).replace(r"/\*\*", "(/[^/]+)*").replace(r"\*", "[^/]+")
        return re.fullmatch(expression, self.full) is not None


def _check(name, what):
    if name != "/" and not all(_TOKEN.match(token) for token in name[1:].split("/")):
        raise CommunicationError(
            f"'{name}' is not a valid {what}; its parts are letters, digits and '_' and start with no digit"
        )


def sanitise(text: str) -> Any:
    """Return ``text`` as one part of a topic name: foreign characters become '_'."""
    clean = re.sub(r"[^A-Za-z0-9_]", "_", text)
    return f"_{clean}" if not clean or clean[0].isdigit() else clean


def snake_case(name: str) -> Any:
    """Return ``GetEntityState`` as ``get_entity_state``."""
    return "".join(f"_{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("_")


def description_topics(robots: Sequence[Any]) -> list[tuple[str, Any]]:
    """(topic of its description, robot) of each robot.

    Examples
    --------
    >>> description_topics(["arm", "wheel"])
    [('robot_description', 'arm'), ('robot_description_2', 'wheel')]
    """
    return [(f"robot_description{f'_{i + 1}' if i else ''}", robot) for i, robot in enumerate(robots)]
