# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A step that would make energy, or ends in no state, taken again in shorter pieces.

Impulses are held over a step while bodies turn and a fold of links opens, so a stuck contact can do work that no law
allows, and an integrator's error in fast motion grows with the length of its step.  Such a step is taken again in
halves, those that fail in halves again, and what is left after HALVINGS of them by Euler's rule: its rows hold at the
new velocity, so contacts add nothing, and what its motion gains is taken out.  The certificate has the ``pieces`` and
how many of them were taken ``by_euler``.
"""

from contextlib import contextmanager

from mb_contact.core.handle import GAIN_LEFT, GAIN_MOST, PUSH_RATE
from mb_contact.core.integrate.whole import account
from mb_contact.core.step import closing as _closing
from mb_contact.core.step.need import MEAN
from mb_contact.core.workspace import BY_EULER, PIECES
from mb_contact.simulation.context import NEVER
from mb_contact.simulation.stepping.step_sums import StepSums
from mb_contact.types import GAINED_ENERGY, LOOP_LOST, NOT_FINITE, OK, SINGULAR_HINGE, STEP_TOO_SMALL

HALVINGS = 4  #: of a step; pieces that still gain are taken by Euler's rule
#: statuses of steps that shorter pieces may mend
REFUSED = (GAINED_ENERGY, NOT_FINITE, STEP_TOO_SMALL, LOOP_LOST, SINGULAR_HINGE)


def undone_unless_ok(context, take):
    """The status that ``take()`` returns; where it is not OK, or it raises, all is as before.

    That is the state, and what a finished step leaves in the workspaces for the next one and for the user.
    """
    state, contacts, status = context.state.copy(), context.contact_state.copy(), None
    left = [array.copy() for array in _left(context.work)]
    try:
        status = take()
    finally:
        if status != OK:
            context.state[:] = state
            context.contact_state[:] = context.layout.fitted(contacts, context.capacity)  # it may have grown
            for array, old in zip(_left(context.work), left):
                array[:] = old
            _closing.derive(context.handle)
    return status


def _left(work):
    """What a step leaves beside the state."""
    return work.work_terms, work.contact_energy, work.info


@contextmanager
def pushing_out(context, part):
    """Steps that are this part of the scene's, with its push-out velocities: shorter ones would have faster ones."""
    rate = context.settings[PUSH_RATE]
    context.settings[PUSH_RATE] = part * rate
    try:
        yield
    finally:
        context.settings[PUSH_RATE] = rate


@contextmanager
def by_euler(context):
    """Steps by Euler's rule, which are accepted because all that they gain is taken out."""
    mean, gains = context.need_rule[MEAN], context.settings[[GAIN_LEFT, GAIN_MOST]]
    context.settings[[GAIN_LEFT, GAIN_MOST]] = 0.0, NEVER
    context.need_rule[MEAN] = 0.0
    context.work.row_bias[:] = context.end.ahead[:] = 0.0  # of the flow that was refused
    context.flow_arrays.end_known[:] = 0
    try:
        with context.integrator.by_euler():
            yield
    finally:
        context.settings[[GAIN_LEFT, GAIN_MOST]], context.need_rule[MEAN] = gains, mean


class Pieces:
    """Steps in pieces.

    Parameters
    ----------
    context : StepContext
    begin : callable
        ``begin(time, length)`` readies motions and wrenches.
    move : callable
        ``move(time)`` takes a step of ``context.dt`` [s]; a status.
    """

    def __init__(self, context, begin, move):
        self._context, self._begin, self._move = context, begin, move

    def take(self, time, dt):
        """The step of dt [s] from a time on, which cannot be taken as a whole; a status.

        Where it is not OK the state is that before.
        """
        context = self._context
        try:
            status = undone_unless_ok(context, lambda: self._take(time, dt))
        finally:
            context.dt = dt
        if status != OK:
            return status
        self._sums.publish(dt)
        done = 0.0
        if self._kept is not None:
            context.impacts = self._impacts
            _put(self._impacts, self._kept)
            done = self._impacts.work_done
        account(context.handle, done)
        context.work.record[[PIECES, BY_EULER]] = self._counts
        return OK

    def _take(self, time, dt):
        self._sums, self._counts = StepSums(self._context), [0, 0]
        self._impacts, self._kept = self._context.impacts, None
        least = dt / 2**HALVINGS
        done, size = 0, 2 ** (HALVINGS - 1)  # in units of the least piece
        while done < 2**HALVINGS:
            start, length = time + done * least, size * least
            with pushing_out(self._context, length / dt):
                status = self._piece(start, length)
                if status in REFUSED and size == 1:
                    with by_euler(self._context):
                        status = self._piece(start, length)
                    self._counts[1] += 1
            if status in REFUSED and size > 1:
                size //= 2
                continue
            if status != OK:
                return status
            self._add(length)
            done += size
            size = min(2 * size, done & -done)
        return OK

    def _piece(self, time, length):
        """One piece; a status."""
        context = self._context
        context.dt = length
        self._begin(time, length)
        if context.impacts is not None:
            context.impacts.begin(time)
        return self._move(time)

    def _add(self, length):
        """What a piece has left to the sums of the step."""
        self._sums.add(length)
        self._counts[0] += 1
        if self._context.impacts is not None:  # one is lent to a scene that has none
            self._impacts = self._context.impacts
            self._kept = _joined(self._kept, self._impacts)


def _joined(earlier, impacts):
    """What the Impacts of this piece have done behind what those of ``earlier`` ones have, None for none."""
    events, pairs, work, loops, happened, v_after = earlier or ([], [], 0.0, 0.0, False, None)
    return (
        events + impacts.events, pairs + impacts.pairs, work + impacts.work_done, loops + impacts.loop_impulse,
        happened or impacts.happened, impacts.v_after if impacts.happened else v_after,
    )  # fmt: skip


def _put(impacts, joined):
    """What ``_joined`` returned, where a step leaves it."""
    impacts.events, impacts.pairs, impacts.work_done, loops, impacts.happened, impacts.v_after = joined
    impacts.loop_impulse[:] = loops
