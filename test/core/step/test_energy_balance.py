# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Work of each force and impulses on shapes against J, M and the impulses of a step."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.step.problem import solve
from mb_contact.core.step.step import apply_impulses, record_step
from mb_contact.core.workspace import CONTACTS, DAMPING, EFFORTS, GAINED, LIMITS, PUSHED_OUT
from mb_contact.types import OK
from scenes.posed_steps import DAMPING as HINGE_DAMPING, bar_and_ball, pose

pytestmark = pytest.mark.nojit


@pytest.fixture
def recorded():
    """A solved step of bar and ball under an effort, with its matrices, before the state moves."""
    sim = bar_and_ball()
    sim.set_state(sim.q, np.concatenate(([0.4], sim.v[1:])))
    sim.context.effort[0] = 3.0
    posed = pose(sim)
    assert solve(sim.context.handle, False) == OK and apply_impulses(sim.context.handle) == OK
    record_step(sim.context.handle)
    return sim, posed


def test_work_is_force_times_mean_velocity(recorded):
    sim, posed = recorded
    work, r, dt = sim.context.work, sim.context.solution.r[:4], sim.time_step
    each = r * (posed.J @ (0.5 * (sim.v + work.v_next)))
    assert work.work_terms[CONTACTS] == pytest.approx(each[:3].sum(), rel=1e-9) and each[:3].sum() < 0.0
    assert work.work_terms[LIMITS] == pytest.approx(each[3], rel=1e-9) and r[3] > 0.0
    mean = 0.5 * (sim.v[0] + work.v_next[0]) * dt
    assert work.work_terms[EFFORTS] == pytest.approx(3.0 * mean, rel=1e-12)
    assert work.work_terms[DAMPING] == pytest.approx(-HINGE_DAMPING * work.v_next[0] * mean, abs=1e-15)


def test_impulses_change_the_free_motion_s_energy_by_what_is_booked(recorded):
    """T(v+) - T(v_free) with dt d in M, and no more of it than push-out gives."""
    sim, posed = recorded
    work = sim.context.work
    want = 0.5 * (work.v_next @ posed.M @ work.v_next - work.v_free @ posed.M @ work.v_free)
    assert work.contact_energy[GAINED] == pytest.approx(want, rel=1e-9)
    push = -np.minimum(sim.context.rows.offset[:4], 0.0)
    assert work.contact_energy[PUSHED_OUT] == pytest.approx(sim.context.solution.r[:4] @ push, rel=1e-12)
    assert want <= work.contact_energy[PUSHED_OUT] and push[0] > 0.0


def test_the_joint_s_effort_has_damping_and_limit_in_it(recorded):
    sim, _ = recorded
    work, r = sim.context.work, sim.context.solution.r
    assert work.joint_effort[0] == pytest.approx(3.0 - HINGE_DAMPING * work.v_next[0] - r[3] / sim.time_step, rel=1e-12)


def test_impulses_on_shapes_are_the_rows_along_their_directions(recorded):
    sim, _ = recorded
    context, r = sim.context, sim.context.solution.r
    n, t1, t2 = context.contacts.normal[0], context.frames.t1[0], context.frames.t2[0]
    impulse = r[0] * n + r[1] * t1 + r[2] * t2
    np.testing.assert_allclose(context.work.contact_impulse[0], impulse, rtol=1e-14)
    arm = context.contacts.point[0] - context.kin.p[1]
    shapes = context.world.geoms.pairs[context.contacts.pair[0]]
    for g, sign in zip(shapes, (1.0, -1.0)):
        about = arm if context.world.geoms.body[g] == 1 else context.contacts.point[0]
        want = sign * np.concatenate((np.cross(about, impulse), impulse))
        np.testing.assert_allclose(context.work.geom_impulse[g], want, atol=1e-14)
