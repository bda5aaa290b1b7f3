# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loops and gears closed at the level of positions: of the initial state, and after a step with drift projection."""

from mb_contact.core.constraints.bilateral import CLOSURE
from mb_contact.core.handle import PROJECTION
from mb_contact.core.step import closing as _closing
from mb_contact.core.workspace import LOOPS
from mb_contact.types import OK

STEP_LIMIT = 5  #: Gauss-Newton steps after a time step; it starts within the drift of one step


def close_loops(handle, tolerance, limit):
    """Gauss-Newton steps on q until no closure error exceeds ``tolerance``; returns the error that is left [m, rad].

    The state is refreshed; velocities stay as they are.
    """
    error = _closing.closure_error(handle)
    if not error > tolerance:
        return error
    for _ in range(limit):
        if not error > tolerance or _closing.begin_closing(handle) != OK:
            break
        _closing.newton_step(handle)
        error = _closing.closure_error(handle)
    _closing.refresh(handle)
    return error


def project(context):
    """Close the loops of the new state; the energy that this changes is booked as work of the loops.

    Parameters
    ----------
    context : StepContext
    """
    work = context.work
    before = work.energy.sum()
    context.bilateral.residuals[CLOSURE] = close_loops(context.handle, context.drift[PROJECTION], STEP_LIMIT)
    work.work_terms[LOOPS] += work.energy.sum() - before
