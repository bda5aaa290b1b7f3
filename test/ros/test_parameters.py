# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What an option refuses, in one clause that names it.

Covers ros/options.py.
"""

from __future__ import annotations

import pytest

from mb_contact.ros.parameters import Option, unknown_parameters


@pytest.mark.parametrize("option, value, reason", [
    (Option("any"), 7, ""), (Option("any"), "word", ""), (Option("any"), ["a", "b"], ""), (Option("any"), True, ""),
    (Option("any"), float("nan"), "it must be finite, got nan"),
    (Option("depth", low=0, high=5), 7, "it must be a whole number from 0 to 5, got 7"),
    (Option("rate", low=-1.0, high=1e4), -2.0, "it must be at least -1, got -2"),
    (Option("rate", low=-1.0, high=1e4), 2e4, "it must be at most 10000, got 20000"),
    (Option("policy", choices=("hold", "zero")), "drop", "it 'drop' is not known; available: hold, zero"),
])  # fmt: skip
def test_reasons(option, value, reason):
    assert option.reason_against("it", value) == reason


def test_what_describes_it():
    option = Option("pace", unit="s", live=True, choices=("a", "b"), flag=("--pace", {}), launch="pace")
    assert option.told == "pace [s]" and option.constraints == "one of a, b"
    assert option.sentences() == "pace (live; flag `--pace`; launch argument `pace`) [s]"


def test_misspelled_parameters_are_told():
    given = ("real_time_factr", "qos_overrides./clock.publisher.depth", "use_sim_time", "x")
    assert list(unknown_parameters(given, ("real_time_factor",))) == [
        "the parameter 'real_time_factr' is unknown to this node and has no effect; did you mean 'real_time_factor'?",
        "the parameter 'x' is unknown to this node and has no effect; docs/node_reference.md has them all",
    ]
