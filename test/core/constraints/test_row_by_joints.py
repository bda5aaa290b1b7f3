# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A row by degrees of freedom, beside the velocities of bodies for each velocity alone.

Covers core/constraints/rows.py.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.constraints.row_by_joints import row_by_joints
from mb_contact.core.constraints.rows import two_sides
from mb_contact.model.scene import Pose
from scenes.posed_steps import bar_and_ball, rows_as_matrix

LINKS = 40


def row_between(sim, a, b, seed):
    """Its shares (N,), its degrees of freedom, and the same row by the velocities of the bodies."""
    context, rng = sim.context, np.random.default_rng(seed)
    point = context.kin.p[max(a, b)] + 0.01 * rng.normal(size=3)
    two_sides(context.kin.p, a, b, point[None], rng.normal(size=(1, 3)), 0, context.rows, 0)
    freedom, share = np.zeros(context.N, np.int64), np.zeros(context.N)
    count = row_by_joints(context.tree, context.kin, context.rows, 0, freedom, share)
    found = np.zeros(context.N)
    found[freedom[:count]] = share[:count]
    return found, set(freedom[:count].tolist()), rows_as_matrix(sim, 1)[0]


@pytest.mark.parametrize("away", [0.0, 10.0, 300.0])  # of the base from the origin [m]
@pytest.mark.parametrize("a, b", [(3, 9), (30, 29), (12, 39), (-1, 20), (17, -1)])
def test_a_row_of_a_chain_acts_on_the_joints_between_its_bodies(a, b, away):
    scene = mb.pendulum(LINKS, "j14").scene()
    models = tuple(replace(model, pose=Pose((away, 0.0, 0.7 * away))) for model in scene.models)
    sim = mb.Simulator(replace(scene, models=models, ground=None))
    rng = np.random.default_rng(1)
    for seed in range(10):
        sim.set_state(rng.uniform(-2.0, 2.0, LINKS), np.zeros(LINKS))
        found, freedoms, expected = row_between(sim, a, b, seed)
        np.testing.assert_allclose(found, expected, atol=1e-12 + 1e-14 * away)
        assert freedoms <= set(range(min(a, b) + 1, max(a, b) + 1)) and found.any()


def test_bodies_of_two_trees_are_moved_down_to_their_roots():
    sim = bar_and_ball()
    found, freedoms, expected = row_between(sim, 0, 1, 0)
    np.testing.assert_allclose(found, expected, atol=1e-14)
    assert len(freedoms) > 1


def test_a_row_of_a_joint_is_its_own_freedom():
    sim = bar_and_ball()
    rows = sim.context.rows
    rows.dof[0], rows.sign[0] = 3, -1.0
    freedom, share = np.zeros(sim.context.N, np.int64), np.zeros(sim.context.N)
    assert row_by_joints(sim.context.tree, sim.context.kin, rows, 0, freedom, share) == 1
    assert freedom[0] == 3 and share[0] == -1.0
