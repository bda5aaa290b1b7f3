# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a run comes to: a result for each check, and the exception of one that failed."""

from typing import NamedTuple


class CheckFailed(AssertionError):
    """A check failed, a controller died, or a budget is spent; the text says what was expected and measured."""


class Result(NamedTuple):
    """What became of one expectation, or of the controllers."""

    name: str
    passed: bool
    text: str  #: what was expected and measured
    time: float  #: of the decision, simulated [s]
    measured: str = ""  #: of a check that passed: how near it was
    undecided: bool = False  #: whether it did not pass for another fault: the run was over before its time
