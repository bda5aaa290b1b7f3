# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the stages of a step with impacts have solved, for its derivative (``gradients/impacts.py``)."""

from typing import Any, NamedTuple

from mb_contact.core.constraints.bilateral import COUNT, FIRST

CONTACT = ("pair", "gap", "point", "normal", "spread", "count")
ROW = ("law", "next", "mu", "viscous", "dof", "bound", "sign", "end")
SOLVED = ("r", "u", "pushed")


class Page(NamedTuple):
    """Arrays of a StepContext as one problem had them: pairs of an array and a copy of its first entries."""

    arrays: list

    def load(self):
        """Put the context's arrays to what they were."""
        for array, kept in self.arrays:
            array[: len(kept)] = kept


class Moment(NamedTuple):
    """One impact of a step: the motion without it, and its phases.  Vectors are those of ImpactWork."""

    meeting: Page  #: the step without what collides
    v_meeting: Any  #: (N,) its velocities
    v_free: Any  #: (N,) those without any contact
    phases: Page
    eps: Any  #: of the contacts that take part
    scale: float  #: on all of them
    moment: Any  #: of each contact that takes part, then of each limit, infinite where it is only touched [s]
    body_moment: Any
    ahead: Any
    u: Any
    p_c: Any
    u_c: Any
    theta: Any
    total: Any
    u_after: Any
    at_once: bool  #: at the start of the step
    v_before: Any
    v_after: Any
    shift: Any  #: way back of coordinates by all impacts so far


def page(context, contacts=None):
    """Page of the present problem, of the step's own contacts or of others."""
    c, own = context, context.contacts
    contacts = own if contacts is None else contacts
    count, info = int(contacts.count[0]), c.bilateral.info
    rows = int(info[FIRST] + info[COUNT] + c.couplings.rows + 1)
    arrays = [(getattr(own, name), getattr(contacts, name)[: max(count, 1)].copy()) for name in CONTACT]
    arrays += [(array, array[:count].copy()) for array in (
        c.frames.t1, c.frames.t2, c.frames.lead, c.frames.aligned, c.friction.mu, c.friction.extra)]  # fmt: skip
    arrays += [(array, array[:rows].copy()) for array in (*(getattr(c.rows, name) for name in ROW),
                                                          *(getattr(c.solution, name) for name in SOLVED))]  # fmt: skip
    work, info = c.work, c.bilateral
    return Page([*arrays, *((array, array.copy()) for array in (
        info.info, info.ratio, work.implicit, work.shift, work.gap_shift, c.v))])  # fmt: skip


def moment(context, impacts, meeting, scale, at_once):
    """Moment of the impact that was just resolved; ``meeting`` is (page, velocities, velocities without contacts)."""
    imp = impacts.work
    count, rows = int(impacts.picked.count[0]), int(context.bilateral.info[FIRST] + context.bilateral.info[COUNT])
    limits = int((context.rows.dof[3 * count : context.rows.end[0]] >= 0).sum())
    vectors = (imp.ahead, imp.u, imp.p_c, imp.u_c, imp.theta, imp.total)
    ahead, u, p_c, u_c, theta, total = (vector[:rows].copy() for vector in vectors)
    return Moment(
        *meeting, page(context, impacts.picked), imp.eps[:count].copy(), scale,
        imp.moment[: count + limits].copy(),
        imp.body_moment.copy(), ahead, u, p_c, u_c, theta, total, u_c + imp.moved[:rows] * bool(imp.eps[:count].any()),
        at_once, imp.v_before.copy(), context.v.copy(), context.work.shift.copy(),
    )  # fmt: skip
