# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a step leaves for the next and for the user: identities, impulses, and the table of contacts."""

from __future__ import annotations

import numpy as np
import pytest

from mb_contact.core.workspace import GAP, IMPULSE, NORMAL, PAIR, POINT, SLIDING, STATE
from mb_contact.types import SLIP, STICK
from scenes.posed_steps import bar_and_ball, two_balls

pytestmark = pytest.mark.nojit


@pytest.mark.parametrize("model", ["coulomb_cone", "coulomb_polyhedral"])
def test_the_table_of_a_sliding_contact(model):
    sim = bar_and_ball(friction_model=model)
    sim.step()
    context, row = sim.context, sim.context.work.report[0]
    assert context.contacts.count[0] == 1
    np.testing.assert_allclose(row[POINT : POINT + 3], [3.0, 0.0, 0.0], atol=1.1e-4)
    np.testing.assert_allclose(row[NORMAL : NORMAL + 3], [0.0, 0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(row[IMPULSE : IMPULSE + 3], context.work.contact_impulse[0])
    assert row[GAP] == pytest.approx(-1e-4, abs=1e-12) and row[PAIR] == context.contacts.pair[0]
    u = context.solution.u[1:3]
    if model == "coulomb_cone":
        assert row[SLIDING] == pytest.approx(np.hypot(*u), rel=1e-14)
    else:  # the polygon's sigma: the largest speed against one of its directions
        angles = 2.0 * np.pi * np.arange(8) / 8
        assert row[SLIDING] == pytest.approx((-np.cos(angles) * u[0] - np.sin(angles) * u[1]).max(), rel=1e-12)
    assert row[STATE] == SLIP and 1.0 < row[SLIDING] < 1.2


def test_balls_at_rest_stick():
    sim = two_balls(apart=1.0)
    sim.step()
    sim.step()
    table = sim.context.work.report[:2]
    assert table[:, STATE].tolist() == [STICK, STICK]
    slower = 0.2 * 0.2 * 1e-4 / sim.time_step  # push-out takes a fifth of what is left in each step
    np.testing.assert_allclose(table[:, IMPULSE + 2], 9.81 * sim.time_step - slower, rtol=1e-8)


def test_the_memory_is_that_of_the_rows():
    sim = bar_and_ball()
    sim.step()
    context, memory = sim.context, sim.context.memory
    r, dof, bound = context.solution.r, context.rows.dof[3], context.rows.bound[3]
    assert memory.count[0] == 1 and memory.pair[0] == context.contacts.pair[0]
    np.testing.assert_array_equal(memory.impulse[0], r[:3])
    np.testing.assert_array_equal(memory.tangent[0], context.frames.t1[0])
    assert dof == 0 and memory.joint[dof, bound] == r[3] > 0.0
    assert np.count_nonzero(memory.joint) == 1  # of the other rows of joints nothing
