# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Checks without a simulator: when each kind of expectation is kept or broken, in many worlds, and what it says.

Covers testing/failures.py, testing/quantities.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.errors import InputError
from mb_contact.testing import Check, Expectation, Quantity, distance, height, held, message, slip, speed, tilt, touch
from mb_contact.testing.checks import BROKEN, KEPT, OPEN, Tally
from mb_contact.testing.quantities import QUANTITIES

HEIGHT = Quantity("the height", "m", lambda view, memory: view.values)


class Told:
    """A view that shows what it is told."""

    count = 1

    def __init__(self, time=0.0, values=(0.0,)):
        self.time, self.values, self.count = time, np.asarray(values, dtype=float), len(values)


def seen(expectation, curve, worlds=1, fault=""):
    """The tally of values at times 0, 0.1, ..."""
    tally = Tally(expectation, worlds)
    for i, value in enumerate(curve):
        tally.see(Told(0.1 * i, np.broadcast_to(value, worlds)))
    tally.end(0.1 * (len(curve) - 1), fault)
    return tally


@pytest.mark.parametrize(
    "when, curve, state, words",
    [
        ({}, [1, 1, 1], KEPT, "is at least 1 m all the time"),
        ({}, [1, 0.5, 1], BROKEN, "all the time; measured: 0.5 m at 0.100 s"),
        ({"after": 0.2}, [0, 0, 1], KEPT, "from 0.2 s on"),
        ({"after": 0.1, "until": 0.2}, [0, 1, 1, 0], KEPT, "from 0.1 s to 0.2 s"),
        ({"until": 0.5}, [1, 1, 1], BROKEN, "the run ended then"),
        ({"after": 3.0}, [1, 1], BROKEN, "the run ended at 0.100 s, before that"),
        ({"at": 0.1}, [0, 1, 0], KEPT, "at 0.1 s"),
        ({"at": 0.1}, [1, 0, 1], BROKEN, "measured: 0 m at 0.100 s"),
        ({"at": "end"}, [0, 0, 2], KEPT, "at the end"),
        ({"at": "end"}, [2, 2, 0], BROKEN, "measured: 0 m at 0.200 s"),
        ({"within": 0.2}, [0, 0, 1], KEPT, "once, by 0.2 s"),
        ({"within": 0.2}, [0, 0.25, 0, 1], BROKEN, "measured: 0.25 m at most by 0.200 s"),
        ({"within": 0.4, "lasting": 0.2}, [0, 1, 1, 1, 0], KEPT, "for 0.2 s on end"),
        ({"within": 0.4, "lasting": 0.2}, [0, 1, 1, 0, 1], BROKEN, "and so for 0.100 s on end only, from 0.100 s"),
        ({"within": 0.4}, [np.nan, np.nan], BROKEN, "measured: nothing"),
    ],
)
def test_when_an_expectation_is_kept(when, curve, state, words):
    tally = seen(Expectation(HEIGHT >= 1.0, **when), curve)
    assert tally.state[0] == state and words in tally.sentence(), tally.sentence()


@pytest.mark.parametrize(
    "check, when, words",
    [
        (HEIGHT >= 1.0, {}, "at least 1.25 m"),
        (HEIGHT.between(0.0, 9.0), {}, "at least 1.25 m and at most 3 m"),
        (HEIGHT >= 1.0, {"within": 0.2, "lasting": 0.1}, "1.25 m at 0.100 s"),
        (HEIGHT >= 1.0, {"at": "end"}, "2 m at 0.200 s"),
    ],
)
def test_a_check_that_is_kept_says_how_near_it_was(check, when, words):
    assert seen(Expectation(check, **when), [3.0, 1.25, 2.0]).result().measured == words
    assert seen(Expectation(HEIGHT >= 2.0), [3.0, 1.25, 2.0]).result().measured == ""


@pytest.mark.parametrize("when, passed", [({}, True), ({"until": 0.2}, True), ({"within": 0.4}, True)]
                         + [(when, False) for when in ({"at": "end"}, {"until": 0.5}, {"within": 0.9, "lasting": 0.5},
                                                       {"at": 0.7}, {"after": 0.7})])  # fmt: skip
def test_what_a_fault_of_something_else_has_cut_off_is_not_decided(when, passed):
    tally = seen(Expectation(HEIGHT >= 1.0, **when), [2.0, 2.0, 2.0], fault="the gripper burns")
    result = tally.result()
    assert (result.passed, result.undecided) == (passed, not passed)
    words = "not decided, because the run ended at 0.200 s: the gripper burns; expected: the height is at least 1 m"
    assert result.text.startswith(words) != passed
    assert not seen(Expectation(HEIGHT >= 3.0), [2.0, 2.0], fault="it burns").result().undecided


def test_opposites_are_of_truths_alone():
    assert (~touch("box")).text == "box is not touched by anything"
    assert (~~touch("box")).text == "box is touched by anything"
    for other in (lambda: ~HEIGHT, lambda: ~(HEIGHT >= 1.0)):
        with pytest.raises(InputError, match="expected a check|~ is for what is so or not"):
            other()


def test_each_world_has_its_own_verdict():
    curve = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.5], [1.0, 1.0, 0.5]]
    tally = seen(Expectation(HEIGHT.between(1.0, 2.0), within=0.2, lasting=0.1), curve, worlds=3)
    assert tally.state.tolist() == [KEPT, BROKEN, BROKEN]
    assert "from 1 to 2 m" in tally.sentence(2) and "0.5 m at most" in tally.sentence(2)


def test_a_tally_is_open_until_it_is_decided():
    tally = Tally(Expectation(HEIGHT <= 1.0, until=1.0))
    tally.see(Told(0.5, [0.5]))
    assert tally.state[0] == OPEN
    tally.see(Told(0.6, [1.5]))
    tally.see(Told(0.7, [0.5]))
    assert tally.state[0] == BROKEN and tally.when[0] == 0.6 and tally.value[0] == 1.5


@pytest.mark.parametrize(
    "wrong, words",
    [
        ({"until": 1.0, "within": 2.0}, "until and within"),
        ({"lasting": 1.0}, "no 'within'"),
        ({"within": 1.0, "lasting": 2.0}, "ends at 1 s, before"),
    ],
)
def test_times_that_contradict_each_other_are_refused(wrong, words):
    with pytest.raises(InputError, match=words):
        Expectation(HEIGHT >= 1.0, **wrong)


class Place:
    """A view of links at poses; the ball rolls."""

    count, time = 1, 0.0

    def pose(self, link):
        p = {"ball": [self.time, 0.0, 0.5], "hand": [0.0, 0.0, 0.2]}[link]
        a = self.time
        turned = np.array([[1, 0, 0], [0, np.cos(a), -np.sin(a)], [0, np.sin(a), np.cos(a)]])
        return np.array([p]), turned[None] if link == "ball" else np.eye(3)[None]

    def start(self, link):
        now, self.time = self.time, 0.0
        found, self.time = self.pose(link), now
        return found

    def force(self, link, by=(), others=False):
        forces = {"hand": 3.0, "floor": 0.0}
        chosen = [f for name, f in forces.items() if not by or (name in by) is not others]
        return np.array([[0.0, 0.0, sum(chosen)]])


def test_what_quantities_read():
    view, memories = Place(), {}

    def read(quantity):
        return float(quantity.read(view, memories.setdefault(quantity.text, {}))[0])

    slipped, fast = slip("ball", "hand"), speed("ball")
    assert read(slipped) == 0.0 and read(fast) == 0.0
    view.time = 0.5
    assert read(slipped) == 0.5 and read(fast) == 1.0 and read(tilt("ball")) == pytest.approx(0.5)
    assert read(height("ball", "hand")) == pytest.approx(0.3) and read(distance("ball", (0.5, 0, 0))) == 0.5
    assert read(distance("ball")) == 0.5 and read(touch("ball", "hand")) == 1.0 and read(touch("ball", "floor")) == 0.0
    assert read(held("ball", ["hand"])) == 3.0 and read(held("ball", ["floor"])) == 0.0  # the hand is another


def test_sentences_of_checks():
    assert (height("box", above="start") >= 0.2).text == "the height of box above its start is at least 0.2 m"
    assert (touch("box", ["left", "right"]) <= 0).text == "box is not touched by left and right"
    assert Check(distance("box", (0, 0, 1)), high=0.1).text == "the distance of box from (0, 0, 1) is at most 0.1 m"
    assert message("/state", "std_msgs/msg/Float64").entry[0] is message
    for name, make in QUANTITIES.items():
        assert make.__doc__ and isinstance(make.unit, str) and make.__name__ == name
    with pytest.raises(InputError, match="height"):
        height()
