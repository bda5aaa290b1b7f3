# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Ways to break worlds: each ends in one sentence, and leaves all others as they are."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.compile.decorated import DISABLE_JIT
from mb_contact.model.scene import Ground, Pose, Primitive, Scene


def arms(count=3, threads=1):
    return mb.Worlds(mb.pendulum(2).scene(), count, threads=threads)


def bodies():
    return mb.Worlds(mb.pendulum(1).scene(coordinates="bodies"), 2)


def raises(time, world, q, v, effort, data):
    if world == 1 and time > 0.0015:
        raise ValueError("no law for this")


def unknown(time, world, q, v, effort, data):
    effort[0] = no_such_name  # noqa: F821


def short(q, v, effort):
    effort[0] = 0.0


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda worlds: worlds.step(np.zeros((2, 2))), r"efforts must have the shape \(3, 2\), got \(2, 2\)"),
        (lambda worlds: worlds.step([np.nan, 0.0]), r"efforts\[.*\] is nan; every entry must be finite"),
        (lambda _: bodies().step(np.zeros((2, 0))), "worlds have no efforts with coordinates: bodies; use a Simulator"),
        (lambda worlds: worlds.step("full"), "efforts must hold numbers"),
        (lambda worlds: worlds.step([1.0, 0.0], steps=0), "steps must be a whole number of at least 1, got 0"),
        (lambda worlds: worlds.step([1.0, 0.0], mask=[3]), "by numbers from 0 to 2"),
        (lambda worlds: worlds.step([1.0, 0.0], controller=short), "a controller takes .time, world,.* this one .q, v"),
        (lambda worlds: worlds.step([1.0, 0.0], controller=7), "a controller must be a function, got 7"),
        (lambda worlds: worlds.step([1.0, 0.0], data=np.zeros((2, 1))), "float64 array of 3 rows"),
        (lambda worlds: worlds.reset([True, False]), "a mask must have 3 entries"),
        (lambda worlds: worlds.reset([0, 0]), "named once only"),
        (lambda worlds: worlds.reset(None, (np.zeros((2, 2)), np.zeros(2))), r"q must have the shape \(3, 2\)"),
        (lambda worlds: worlds.reset(None, 1.0), "a WorldsState or two arrays"),
        (lambda worlds: worlds.restore(None), "take one from save"),
        (lambda worlds: worlds.set("mass", -1.0), "mass must be finite and above 0, got -1"),
        (lambda worlds: worlds.set("damping", np.nan), "damping must be finite and at least 0, got nan"),
        (lambda worlds: worlds.set("colour", 1.0), "no value 'colour'.*they have mass"),
        (lambda worlds: worlds.randomise("mass", 2.0, 1.0), "low must not be above high"),
        (lambda worlds: worlds.randomise("mass", 0.5, 2.0, seed="now"), "seed must be a whole number"),
        (lambda worlds: worlds.contacts(3), "no world 3; the worlds are 0 to 2"),
        (lambda worlds: worlds.link_poses("head"), "no link 'head'"),
        (lambda worlds: mb.rollout(worlds, None, np.zeros((9, 4, 2))), "of 9 worlds needs as many, and there are 3"),
        (lambda worlds: mb.rollout(worlds, None, np.zeros((3, 4, 5))), "controls must be"),
        (lambda worlds: mb.rollout(worlds, None, None, steps=0), "needs steps"),
        (lambda worlds: arms(0), "count must be a whole number of at least 1, got 0"),
        (lambda worlds: arms(2.0), "count must be a whole number"),
        (lambda worlds: arms(threads=0), "threads must be a whole number of at least 1, got 0"),
    ],
)
def test_what_cannot_be_is_refused_and_nothing_has_changed(call, words):
    worlds, other = arms(), arms()
    with pytest.raises(mb.InputError, match=words) as refused:
        call(worlds)
    assert "\n" not in str(refused.value)
    for name, array in worlds.save().arrays.items():
        np.testing.assert_array_equal(array, other.save().arrays[name])


def test_a_controller_that_numba_does_not_compile_is_refused():
    if DISABLE_JIT:
        pytest.skip("nothing is compiled")
    with pytest.raises(mb.InputError, match="cannot be compiled: NameError: name 'no_such_name'"):
        arms().step(controller=unknown)


@pytest.mark.parametrize("threads", [1, 2])
def test_a_controller_that_raises_ends_its_world_alone(threads, capfd):
    worlds, well = arms(4, threads), arms(4)
    worlds.step(steps=4, controller=raises)
    well.step(steps=4)
    assert list(worlds.failures) == [1] and "has raised an exception" in worlds.failures[1]
    np.testing.assert_array_equal(worlds.q[[0, 2, 3]], well.q[[0, 2, 3]])
    np.testing.assert_array_equal(worlds.times(), [0.004, 0.002, 0.004, 0.004])
    assert capfd.readouterr().err == ""


def test_states_that_are_no_numbers_and_efforts_beyond_all_bounds_end_their_worlds_alone():
    box = Primitive("box", "box", (0.1,) * 3, Pose((0.0, 0.0, 0.05)), "free", 1.0)
    worlds = mb.Worlds(Scene(primitives=(box,), ground=Ground()), 5, threads=2)
    well = mb.Worlds(worlds.scene, 1)
    worlds.q[1, 0], worlds.v[3, 2] = np.nan, np.inf
    worlds.step(steps=3)
    well.step(steps=3)
    assert {w: "not finite" in why for w, why in worlds.failures.items()} == {1: True, 3: True}
    for w in (0, 2, 4):
        np.testing.assert_array_equal(worlds.q[w], well.q[0])
    worlds.reset([1, 3])
    worlds.step(steps=3, mask=[1, 3])
    np.testing.assert_array_equal(worlds.q[[1, 3]], well.q[[0, 0]])
    strong = arms()
    strong.step(np.array([[0.0, 0.0], [1e300, 0.0], [0.0, 0.0]]), steps=2)
    assert list(strong.failures) == [1] and np.isfinite(strong.q).all()


def test_closed_worlds_say_so():
    worlds = arms()
    worlds.close()
    with pytest.raises(mb.InputError, match="are closed"):
        worlds.step()
