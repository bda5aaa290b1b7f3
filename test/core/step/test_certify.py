# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The certificate of a step and the proof of a ray against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.lcp.certificate import GAP, INFEASIBLE
from mb_contact.core.step.certify import certify_step, check_ray
from mb_contact.core.step.problem import solve
from mb_contact.core.step.step import apply_impulses
from mb_contact.core.workspace import GAIN, MOTION
from mb_contact.types import OK
from scenes.posed_steps import bar_and_ball, pose

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("model", ["coulomb_cone", "coulomb_polyhedral"])
def test_velocities_and_residuals_of_the_solution(model):
    sim = bar_and_ball(friction_model=model)
    posed, context = pose(sim), sim.context
    assert solve(context.handle, False) == OK and apply_impulses(context.handle) == OK
    r, work = context.solution.r[:4], context.work
    np.testing.assert_allclose(work.v_next, work.v_free + np.linalg.solve(posed.M, posed.J.T @ r), atol=1e-12)
    np.testing.assert_allclose(context.solution.u[:4], posed.J @ work.v_next + context.rows.offset[:4], atol=1e-11)
    assert max(context.solution.residuals[[GAP, INFEASIBLE]]) <= 1e-10
    assert min(r[0], r[3]) > 0.0 and np.hypot(r[1], r[2]) == pytest.approx(0.5 * r[0], rel=0.1)


def test_impulses_that_are_missing_are_seen():
    """Without impulses the worst row is the one that closes fastest, over the root of its compliance."""
    sim = bar_and_ball()
    posed, context = pose(sim), sim.context
    context.solution.r[:] = context.system.r[:] = 0.0
    assert apply_impulses(context.handle) == OK
    certify_step(context.handle)
    W = posed.J @ np.linalg.solve(posed.M, posed.J.T)
    want = max(-context.solution.q[i] / np.sqrt(W[i, i]) for i in (0, 3))
    assert context.solution.residuals[INFEASIBLE] == pytest.approx(want, rel=1e-9)


def test_a_ray_is_measured_by_what_it_moves_and_asks_for():
    """An impulse that does move the bodies is no ray, and its motion says so."""
    sim = bar_and_ball()
    posed, context = pose(sim), sim.context
    check_ray(context.handle)
    assert not context.solution.proof.any()
    d = np.array([2.0, 0.0, 0.0, 3.0])
    context.solution.ray[:4] = d
    check_ray(context.handle)
    W = posed.J @ np.linalg.solve(posed.M, posed.J.T)
    D = np.empty(4)
    D[context.system.source[:4]] = context.system.blocks.D[:4]
    assert context.solution.proof[MOTION] == pytest.approx(np.abs(W @ d / np.sqrt(D)).max(), rel=1e-9)
    assert context.solution.proof[GAIN] == pytest.approx(context.solution.q[:4] @ d, rel=1e-12)
    context.solution.ray[:4] = [1e-12, 5.0, 0.0, 0.0]  # outside the cone of friction
    check_ray(context.handle)
    assert context.solution.proof[MOTION] >= 5.0 * np.sqrt(D[0]) * (1.0 - 1e-9)
