# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rollouts and compiled controllers are the steps that a loop in Python takes.

Covers core/worlds/controller.py, worlds/controllers.py.
"""

from __future__ import annotations

import numpy as np

import mb_contact as mb
from mb_contact.model.scene import Ground, Pose, Primitive, Scene
from mb_contact.programs.bench.legged import legged_scene

GAINS = np.array([30.0, 2.0])


def law(time, world, q, v, effort, data):
    """A spring and a damper on the last joint; the data count the calls."""
    effort[1] += -GAINS[0] * q[1] - GAINS[1] * v[1] + np.sin(50.0 * time) * (world + 1)
    data[0] += 1.0


def test_a_rollout_is_the_steps_of_a_simulator():
    scene, rng = legged_scene(), np.random.default_rng(1)
    controls = rng.uniform(-2.0, 2.0, (3, 15, 30))
    trajectory = mb.rollout(scene, None, controls, threads=2)
    sim = mb.Simulator(scene)
    for t in range(15):
        residual = sim.step(controls[2, t]).certificate.residual
        np.testing.assert_array_equal(trajectory.q[2, t], sim.q)
        np.testing.assert_array_equal(trajectory.v[2, t], sim.v)
        assert trajectory.residual[2, t] == residual
    assert trajectory.failures == {}


def test_rollouts_of_the_same_worlds_start_where_they_are_told():
    worlds = mb.Worlds(mb.pendulum(2).scene(), 5, threads=1)
    states = np.array([[0.1, 0.2], [0.3, 0.4], [0.5, 0.6]]), np.zeros((1, 2))
    first = mb.rollout(worlds, states, np.zeros((3, 20, 2)))
    again = mb.rollout(worlds, states, np.zeros((3, 20, 2)))
    np.testing.assert_array_equal(first.q, again.q)
    saved = worlds.save([0, 1, 2])
    further = mb.rollout(worlds, saved, None, steps=4)
    longer = mb.rollout(worlds, states, np.zeros((3, 24, 2)))
    np.testing.assert_array_equal(further.q, longer.q[:, 20:])


def test_a_compiled_controller_is_the_same_law_in_python():
    worlds = mb.Worlds(mb.pendulum(2).scene(), 3, threads=2)
    data = np.zeros((3, 1))
    efforts = np.array([0.5, 0.0])
    worlds.step(efforts, steps=40, controller=law, data=data)
    assert (data == 40.0).all()
    other = mb.Worlds(mb.pendulum(2).scene(), 3, threads=1)
    for t in range(40):
        commands = np.tile(efforts, (3, 1))
        for w in range(3):
            law(t * 0.001, w, other.q[w], other.v[w], commands[w], np.zeros(1))
        other.step(commands)
    np.testing.assert_allclose(worlds.q, other.q, atol=1e-13)  # the law's own rounding: products may be fused
    kept = mb.rollout(worlds, None, None, steps=7, controller=law, data=np.zeros((3, 1)))
    assert kept.q.shape == (3, 7, 2)


def test_a_controller_is_called_once_a_step_also_where_workspaces_have_to_grow():
    boxes = tuple(Primitive(f"b{i}", "box", (0.1,) * 3, Pose((0.2 * i, 0.0, 0.05)), "free", 1.0) for i in range(20))
    worlds, data = mb.Worlds(Scene(primitives=boxes, ground=Ground()), 2, threads=1), np.zeros((2, 1))

    def count(time, world, q, v, effort, data):
        data[0] += 1.0

    worlds.step(steps=3, controller=count, data=data)
    assert worlds.certificates["contacts"].tolist() == [80.0, 80.0]  # more than a simulator has room for at first
    assert (data == 3.0).all()
