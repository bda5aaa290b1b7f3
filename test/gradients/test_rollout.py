# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The adjoint of rollouts: closed forms, central differences, and the same bits as the steps taken one by one.

Covers core/gradients/adjoint.py.
"""

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.errors import InputError
from mb_contact.gradients import rollout

G, DT = 9.81, 1e-3


def arm(effort):
    """A pendulum of two links under efforts (T, 2), and a cost of its end and its middle."""
    sim, goal = mb.Simulator(mb.pendulum(2, length=1.0, angle=0.4).scene()), np.array([0.2, -0.1])

    def cost(k, q, v):
        if k not in (len(effort), len(effort) // 2):
            return None
        return 0.5 * (q - goal) @ (q - goal) + 0.05 * v @ v, q - goal, 0.1 * v

    return sim, cost


def test_an_arm_beside_differences():
    effort = 0.3 * np.random.default_rng(3).normal(size=(30, 2))
    sim, cost = arm(effort)
    q, v = sim.q, sim.v
    found = mb.rollout_gradient(sim, effort, cost)

    def value(q, v, effort):
        sim.set_state(q, v)
        total = 0.0
        for k in range(len(effort) + 1):
            told = cost(k, sim.q, sim.v)
            total += told[0] if told else 0.0
            if k < len(effort):
                sim.step(effort[k])
        return total

    assert found.cost == value(q, v, effort)
    d, h = np.array([0.3, -0.8]), 1e-5
    for by, at in (
        (found.q @ d, lambda s: value(q + s * d, v, effort)),
        (found.v @ d, lambda s: value(q, v + s * d, effort)),
        (found.effort.sum(axis=0) @ d, lambda s: value(q, v, effort + s * d)),
    ):
        np.testing.assert_allclose(by, (at(h) - at(-h)) / (2.0 * h), rtol=1e-7)
    sim.set_state(q, v)
    assert np.array_equal(sim.q, q)


def test_the_state_is_the_same_behind_the_call():
    sim, cost = arm(np.zeros((7, 2)))
    before = sim.state.copy()
    mb.rollout_gradient(sim, np.zeros((7, 2)), cost)
    assert np.array_equal(before, sim.state)


def test_steps_that_are_taken_again_give_the_same_bits(monkeypatch):
    """Records of all steps, or of a few at a time, with the steps between states that were kept taken again."""
    effort = 0.3 * np.random.default_rng(5).normal(size=(23, 2))
    found = []
    for room in (rollout.RECORDS, 0):
        monkeypatch.setattr(rollout, "RECORDS", room)
        sim, cost = arm(effort)
        asked = []
        found.append(mb.rollout_gradient(sim, effort, lambda k, q, v: asked.append(k) or cost(k, q, v), ["damping"]))  # noqa: B023
        assert len(asked) == (24 if room else 24 + 18)  # 9 steps at a time, the last ones once
    for a, b in zip(*found, strict=True):
        np.testing.assert_equal(a, b)


def test_stopping_distance_by_friction_and_speed():
    """d = v^2 / (2 mu g), up to the step's length: d/dmu = -v^2 / (2 mu^2 g), d/dv = v / (mu g)."""
    speed, mu, steps = 0.2, 0.5, 60
    sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    sim.set_object("box", velocity=[0, 0, 0, speed, 0, 0])
    end = {}

    def at_end(k, q, v):
        if k == steps:
            end["way"], end["v"] = q[0], v
            return q[0], [0, 0, 0, 1.0, 0, 0], np.zeros(6)
        return None

    found = mb.rollout_gradient(sim, np.zeros((steps, 0)), at_end, ["friction", "mass"])
    assert np.abs(end["v"]).max() < 1e-9  # it has stopped
    n = int(speed / (mu * G * DT))  # steps in which it slides to their end
    np.testing.assert_allclose(found.parameters["friction"], [-0.5 * n * (n + 1) * G * DT * DT], rtol=1e-6)
    np.testing.assert_allclose(found.parameters["friction"], [-(speed**2) / (2.0 * mu**2 * G)], rtol=0.05)
    np.testing.assert_allclose(found.v[3], n * DT, rtol=1e-6)
    np.testing.assert_allclose(found.v[3], speed / (mu * G), rtol=0.03)
    assert abs(found.parameters["mass"]).max() < 1e-9  # which does not matter


def test_errors():
    sim, cost = arm(np.zeros((3, 2)))
    with pytest.raises(InputError, match="efforts must be any x 2"):
        mb.rollout_gradient(sim, np.zeros((3, 1)), cost)
    for wrong in (None, [1.0]):
        with pytest.raises(InputError, match="the cost's derivative by q"):
            mb.rollout_gradient(sim, np.zeros((3, 2)), lambda k, q, v, wrong=wrong: (0.0, wrong, np.zeros(2)))
    with pytest.raises(InputError, match="parameters"):
        mb.rollout_gradient(sim, np.zeros((3, 2)), cost, ["colour"])
