# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Tests of many cases (test/each.py) run over all of them and name those that fail."""

from __future__ import annotations

import pytest

from each import of_each


def test_all_cases_run_and_those_that_fail_are_named():
    seen = []

    @of_each([(1, "one"), (2, "two"), (3, "three")])
    def small(number, word):
        seen.append(word)
        assert number == 2, "is not two"

    is_not = r": AssertionError: is not two"
    with pytest.raises(AssertionError, match=rf"(?s)\(1, 'one'\){is_not}.*\(3, 'three'\){is_not}") as told:
        small()
    assert seen == ["one", "two", "three"] and "'two'" not in str(told.value) and small.__name__ == "small"


def test_a_list_without_cases_is_a_mistake():
    with pytest.raises(AssertionError, match="no case"):
        of_each([])(print)()


def test_cases_that_hold_pass():
    of_each(["a", "b"])(lambda letter: None)()
