# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is declared of an option of the node, the same for both backends, and the checks that follow from it."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any

from mb_contact.keys.declaration import Key
from mb_contact.keys.kinds import kind_of


@dataclass(frozen=True)
class Option(Key):
    """The declaration of an option of the node: a parameter, a flag of the command line, an argument of launch files.

    It has what a key of scenes has, of which text, unit, bounds and choices count.
    """

    text: str = ""
    live: bool = False  #: whether it can be changed while the node runs
    flag: tuple[str, dict[str, Any]] | None = None  #: of the command line, with its settings for argparse
    launch: str = ""  #: name among the arguments of launch files
    launched: tuple[str, str] | None = None  #: default and text there, where they are others

    @property
    def told(self) -> str:
        """Text and unit, as ``ros2 param describe`` and ``--help`` have it."""
        return f"{self.text} [{self.unit}]" if self.unit else self.text

    def conditions(self) -> list[str]:
        """How it can be set beside ``-p``, in brackets."""
        flag = f"flag `{self.flag[0]}`" if self.flag else ""
        launch = f"launch argument `{self.launch}`" if self.launch else ""
        words = "; ".join(filter(None, ["live" if self.live else "", flag, launch]))
        return [f"({words})"] if words else []

    def reason_against(self, name: str, value: Any) -> str:
        """Why ``value`` is impossible, in one clause; empty where it is not."""
        if isinstance(value, (bool, int, float, str)):
            for place, message in kind_of(type(value), self).faults(value, name):
                return f"{place} {message}"
        return ""

    @property
    def constraints(self) -> str:
        """What the range cannot say."""
        return f"one of {', '.join(self.choices)}" if self.choices else ""


#: parameters that ROS itself has on every node, or reads of the command line without declaring them
OF_ROS = ("use_sim_time", "start_type_description_service", "qos_overrides.")


def unknown_parameters(given: Collection[str], known: Collection[str]) -> Iterator[str]:
    """A sentence for each parameter that is given and that the node has not, with the nearest that it has."""
    for name in sorted(given):
        if not name.startswith(OF_ROS):
            close = get_close_matches(name, known, n=1)
            hint = f"did you mean '{close[0]}'?" if close else "docs/node_reference.md has them all"
            yield f"the parameter '{name}' is unknown to this node and has no effect; {hint}"
