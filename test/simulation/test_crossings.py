# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The first closing of gaps that are formulas of time."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.simulation.stepping.crossings import Crossings


def search(*gaps, end=1.0, may_dip=True, way=10.0, slack=0.0, tolerance=0.0):
    """(time of the first closing or None, gaps that have to be held) of functions of time."""
    count = len(gaps)

    def at(time):
        return np.array([gap(time) for gap in gaps])

    crossings = Crossings(
        at, lambda i, time: float(gaps[i](time)), np.full(count, tolerance), np.full(count, may_dip),
        np.full(count, way), slack, 0.0,
    )  # fmt: skip
    return crossings.search(0.0, at(0.0), end, at(end)), crossings.stuck


def test_the_first_of_several_gaps_closes():
    time, stuck = search(lambda t: 1.0 - 2.0 * t, lambda t: 1.0 - 3.7 * t, lambda t: 1.0 + t)
    assert time == pytest.approx(1.0 / 3.7, abs=1e-15) and not stuck


def test_no_gap_closes():
    assert search(lambda t: 1.0 - 0.5 * t, lambda t: 2.0) == (None, [])


def test_a_gap_that_opens_again_before_the_end_is_found():
    time, _ = search(lambda t: (t - 0.3) * (t - 0.6), slack=2.0)
    assert time == pytest.approx(0.3, abs=1e-14)


def test_a_gap_that_cannot_dip_is_not_looked_into():
    assert search(lambda t: (t - 0.3) * (t - 0.6), slack=2.0, may_dip=False)[0] is None


def test_a_contact_that_leaves_and_comes_back():
    """It starts on the surface, with a rounding error below it: the end of the hop counts."""
    time, stuck = search(lambda t: 2.0 * t * (0.4 - t) - 1e-17)
    assert time == pytest.approx(0.4, abs=1e-14) and not stuck


def test_a_contact_that_never_opens_has_to_be_held():
    assert search(lambda t: -1e-3 * t) == (0.0, [0])


def test_shallow_depths_within_the_tolerance_are_open():
    assert search(lambda t: -1e-11 * t, tolerance=1e-10)[0] is None


def test_a_gap_that_breaks_down_ends_with_an_error():
    calls = iter(range(1000))

    def gap(time):
        return 1.0 if next(calls) > 1 else 1.0 - 2.0 * time  # another sign than at the end, once it is asked again

    with pytest.raises(mb.DynamicsError, match="time of a collision"):
        search(gap)


def test_a_gap_that_is_another_one_at_the_start_is_sought_from_where_it_is_open():
    """The bracket's gap at the start is that of a point which rounding names otherwise when it is flown to."""

    def gap(time):
        return -1e-7 if time == 0.0 else 0.3 - time

    one = np.zeros(1)
    crossings = Crossings(lambda time: np.array([gap(time)]), lambda i, time: gap(time), one, one > 0.0, one, 0.0, 0.0)
    assert crossings.search(0.0, np.array([0.3]), 0.5, np.array([gap(0.5)])) == pytest.approx(0.3, abs=1e-14)
    assert not crossings.stuck
