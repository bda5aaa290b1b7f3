# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sums over substeps: impulses and work add up, efforts are means over time, the worst certificate is kept."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from mb_contact.core.lcp.certificate import GAP, INFEASIBLE
from mb_contact.core.workspace import ITERATIONS, STAGE
from mb_contact.simulation.stepping.step_sums import StepSums

pytestmark = pytest.mark.nojit


def context_of():
    """The parts of a StepContext that sums read and write."""
    work = SimpleNamespace(
        geom_impulse=np.zeros((1, 6)), joint_effort=np.zeros(2), work_terms=np.zeros(6), contact_energy=np.zeros(2),
        info=np.zeros(4, np.int64),
    )  # fmt: skip
    return SimpleNamespace(
        work=work, solution=SimpleNamespace(residuals=np.zeros(4)), loop_impulses=lambda: np.array([2.0]),
        couplings=SimpleNamespace(rows=1), joints=SimpleNamespace(rubbing=()),
    )  # fmt: skip


def substep(context, impulse, effort, gap, infeasible, stage, iterations):
    """What a substep leaves."""
    work = context.work
    work.geom_impulse[:], work.joint_effort[:], work.work_terms[:] = impulse, effort, 10.0 * impulse
    context.solution.residuals[[GAP, INFEASIBLE]] = gap, infeasible
    work.info[[STAGE, ITERATIONS]] = stage, iterations


def test_two_substeps_of_one_step():
    context = context_of()
    sums = StepSums(context)
    for _ in range(2):  # a second step begins anew
        sums.clear()
        substep(context, 1.0, 6.0, 1e-12, 3e-11, 2, 7)
        sums.add(0.1)
        substep(context, 0.5, 2.0, 2e-11, 0.0, 1, 5)
        sums.add(0.3)
        sums.publish(0.4)
        work = context.work
        np.testing.assert_allclose(work.geom_impulse, 1.5)
        np.testing.assert_allclose(work.work_terms, 15.0)
        np.testing.assert_allclose(work.joint_effort, (0.1 * 6.0 + 0.3 * 2.0) / 0.4)
        np.testing.assert_allclose(context.solution.residuals[[GAP, INFEASIBLE]], [1e-12, 3e-11])  # the first was worse
        assert work.info[STAGE] == 2 and work.info[ITERATIONS] == 12
        np.testing.assert_allclose(sums.loop_impulse, [4.0])
