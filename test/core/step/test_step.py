# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The smooth part of a step, how its state moves, and limits that a step passes unforeseen."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.step.step import advance, limits_missed, smooth_dynamics
from mb_contact.types import OK
from scenes.posed_steps import DAMPING, bar_and_ball, mass_matrix, pose

pytestmark = pytest.mark.nojit


def test_free_velocities_have_implicit_damping_and_clamped_efforts():
    """(M + dt d) (v_free - v) = dt (effort - d v - C - g)."""
    sim = bar_and_ball()
    v = np.concatenate(([-0.7], sim.v[1:]))
    sim.set_state(sim.q, v)
    context, dt = sim.context, sim.time_step
    context.effort[:1] = 20.0  # the hinge bears 9
    assert smooth_dynamics(context.handle) == OK
    force = -mb.dynamics.nonlinear_effects(sim.world, sim.q, v)
    force[0] += 9.0 - DAMPING * v[0]
    np.testing.assert_allclose(context.work.effort[0], 9.0)
    np.testing.assert_allclose(mass_matrix(sim) @ (context.work.v_free - v), dt * force, atol=1e-13)


def test_positions_move_with_the_new_velocity():
    sim = bar_and_ball()
    context, dt, q = sim.context, sim.time_step, sim.q
    context.work.v_next[:] = [-0.3, 0.0, 0.0, 2.0, 1.0, -0.5, 0.25]  # the ball turns about z, and moves
    advance(context.handle)
    np.testing.assert_array_equal(sim.v, context.work.v_next)
    assert sim.q[0] == pytest.approx(q[0] - 0.3 * dt, abs=1e-15)
    np.testing.assert_allclose(sim.q[1:4], q[1:4] + dt * np.array([1.0, -0.5, 0.25]), atol=1e-15)
    np.testing.assert_allclose(sim.q[4:], [0.0, 0.0, np.sin(dt), np.cos(dt)], atol=1e-15)
    np.testing.assert_allclose(context.kin.p[1], sim.q[1:4], atol=1e-15)  # the kinematics follow


def test_a_limit_out_of_reach_comes_in_when_impulses_drive_the_joint_past_it():
    sim = bar_and_ball()
    sim.set_state(np.concatenate(([-0.5], sim.q[1:])), sim.v)
    pose(sim)
    context = sim.context
    assert context.blocks.rows[0] == 3  # the ball's contact alone
    context.work.v_next[:] = 0.0
    assert not limits_missed(context.handle)
    context.work.v_next[0] = 0.6 / sim.time_step
    assert limits_missed(context.handle)
    assert context.work.speed[0] == context.work.v_next[0]
    assert not limits_missed(context.handle)  # with that speed it is in the problem now
