# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Gradients of rollouts of worlds: those of single simulators, whatever the number of threads."""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError

SPEEDS = [0.1, 0.2, 0.3]


def pushed(threads):
    """Boxes that slide on tables."""
    worlds = mb.Worlds("package://mb_contact/config/box_on_table.yaml", 3, threads=threads)
    worlds.v[:, 3] = SPEEDS
    return worlds


def at_end(w, k, q, v):
    return ((w + 1.0) * q[0], (w + 1.0) * np.eye(6)[3], np.zeros(6)) if k == 30 else None


def test_the_same_bits_with_any_number_of_threads():
    one, many = (mb.worlds.rollout_gradients(pushed(n), np.zeros((3, 30, 0)), at_end, ["friction"]) for n in (1, 3))
    sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    for w, (a, b) in enumerate(zip(one, many, strict=True)):
        sim.reset()
        sim.set_object("box", velocity=[0, 0, 0, SPEEDS[w], 0, 0])
        alone = mb.rollout_gradient(sim, np.zeros((30, 0)), lambda k, q, v, w=w: at_end(w, k, q, v), ["friction"])
        for x in (b, alone):
            assert (
                a.cost == x.cost and (a.v == x.v).all() and (a.parameters["friction"] == x.parameters["friction"]).all()
            )
        assert a.parameters["friction"][0] < 0.0


def test_worlds_with_values_of_their_own_are_refused():
    worlds = pushed(1)
    with pytest.raises(InputError, match="efforts must be of 3 worlds"):
        mb.worlds.rollout_gradients(worlds, np.zeros((2, 30, 0)), at_end)
    worlds.set("friction", [0.1, 0.2, 0.3])
    with pytest.raises(InputError, match="values of their own"):
        mb.worlds.rollout_gradients(worlds, np.zeros((3, 30, 0)), at_end)
