# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The smooth part of a step, how its state moves, and limits that a step passes unforeseen."""

from __future__ import annotations

import numpy as np
import pytest

import mb_contact as mb
from mb_contact.core.solve.system import BY_BODIES
from mb_contact.core.step.problem import STEP, solve
from mb_contact.core.step.step import advance, apply_impulses, limits_missed, settle, smooth_dynamics
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.model.scene import Ground, Pose, Primitive, Scene
from mb_contact.types import OK, SOLVER_NEWTON
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
    assert context.rows.end[0] == 3  # the ball's contact alone
    context.work.v_next[:] = 0.0
    assert not limits_missed(context.handle)
    context.work.v_next[0] = 0.6 / sim.time_step
    assert limits_missed(context.handle)
    assert context.work.speed[0] == context.work.v_next[0]
    assert not limits_missed(context.handle)  # with that speed it is in the problem now


def tower():
    """Ten boxes on each other, posed by bodies with masses that are off by 2e-7, and how far its step's solution is."""
    places = [Pose((0.0, 0.0, 0.05 + 0.1 * i)) for i in range(10)]
    boxes = [Primitive(f"box_{i}", "box", (0.1,) * 3, pose, "free", 1.0) for i, pose in enumerate(places)]
    sim = mb.Simulator(Scene(primitives=tuple(boxes), ground=Ground()))
    pose(sim)
    P, context = sim.context.system, sim.context
    assert P.form[0] == BY_BODIES
    P.bodies.root[:] *= 1.0 + 1e-7
    P.bodies.M[:] /= (1.0 + 1e-7) ** 2
    return context, lambda: max(context.solution.residuals[:2])


def test_what_the_operator_misses_of_the_impulse_sweep_is_corrected():
    context, off = tower()
    assert solve(context.handle, STEP) == OK and apply_impulses(context.handle) == OK
    assert 5e-10 < off() < 1e-7
    steps = context.work.info[ITERATIONS]
    assert settle(context.handle) == OK and context.work.info[ITERATIONS] > steps > 3
    assert off() <= 1e-10 and context.work.info[STAGE] == SOLVER_NEWTON
    weights = 9.81 * context.dt * np.arange(1, 11).sum()  # each box on those below it
    assert context.solution.r[:120:3].sum() == pytest.approx(weights, rel=1e-8)


def test_what_another_solver_has_found_is_left_alone():
    context, off = tower()
    context.solution.r[:] = 1e-3
    impulses = context.solution.r.copy()
    assert settle(context.handle) == OK
    assert off() > 1e-4
    np.testing.assert_array_equal(context.solution.r, impulses)
