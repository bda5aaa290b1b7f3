# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is declared of an option of the node, and the checks of its value, the same for both backends."""

import math
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Description:
    """Description of an option: a parameter, a flag of the command line, an argument of launch files.

    Parameters
    ----------
    text : str
        What it is, in one sentence.
    live : bool
        Whether it can be changed while the node runs.
    low, high : float, optional
        Range of a number, ends included.
    choices : sequence of str
        Allowed words, empty: any.
    unit : str
    example : str
        As ROS's ``-p name:=`` takes it; by default made of the default.
    flag : tuple of str and dict
        Of the command line, with its settings for argparse.
    launch : str
        Name among the arguments of launch files.
    launched : tuple of str
        Default and text there, where they are others.
    """

    text: str = ""
    live: bool = False
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    unit: str = ""
    example: str = ""
    flag: tuple[str, dict[str, Any]] | None = None
    launch: str = ""
    launched: tuple[str, str] | None = None

    @property
    def sentence(self) -> str:
        """Text and unit, as ``ros2 param describe`` and ``--help`` have it."""
        return f"{self.text} [{self.unit}]" if self.unit else self.text

    def reason_against(self, name: str, value: Any) -> str:
        """Why ``value`` is impossible, in one clause; empty where it is not."""
        if self.choices and value not in self.choices:
            return f"{name} is '{value}'; it must be one of {', '.join(self.choices)}"
        if isinstance(value, float) and not math.isfinite(value):
            return f"{name} is {value}; it must be finite"
        if isinstance(value, (int, float)) and not isinstance(value, bool) and self.low is not None:
            if self.low == 0.0 and self.high is None and value < 0.0:
                return f"{name} is {value}; it must not be negative"
            if value < self.low or (self.high is not None and value > self.high):
                return f"{name} is {value}; it must be from {self.low:g} to {self.high:g}"
        return ""

    @property
    def constraints(self) -> Any:
        """What the range cannot say."""
        return f"one of {', '.join(self.choices)}" if self.choices else ""
