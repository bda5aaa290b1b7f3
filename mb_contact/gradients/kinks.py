# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Laws near the place where they have two derivatives."""

from typing import NamedTuple

import numpy as np

from mb_contact.core.gradients.workspace import GAP, JOINT_FRICTION, KINKS, LIMIT, SLIP, TOUCH
from mb_contact.core.workspace import ENERGY_REMOVED

NAMES = {TOUCH: "touch", SLIP: "slip", GAP: "gap", LIMIT: "limit", JOINT_FRICTION: "joint_friction"}


class Kink(NamedTuple):
    """A law near the place where it has two derivatives; that of its present state was taken.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> _ = sim.step()
    >>> kink = sim.step_derivatives().kinks[0]
    >>> kink.kind, kink.links  # it just touches
    ('gap', ('table', 'box'))
    """

    kind: str  #: one of NAMES, or effort_limit; energy_removed and face, which no derivative knows
    links: tuple  #: links of the contact, or the number of the degree of freedom
    row: int  #: number of the contact; of a joint -1
    distance: float  #: from the kink [sqrt(N s m/s)]; of a gap, of a face to its deepest point [m]; energy [J]


def kinks_of(context, g, gained=True):
    """Kinks that a kernel has found, as a tuple of Kink; g is None where a step has no rows.

    ``gained`` is whether energy was removed whose derivative is not known.
    """
    contacts, out = context.contacts, []
    found = 0 if g is None else int(g.count[KINKS])
    pair, count, links = contacts.pair.tolist() if found else [], 3 * int(contacts.count[0]), {}
    named = zip(g.kink[:found].tolist(), g.distance[:found].tolist(), strict=True) if found else ()
    for (kind, row), distance in named:
        if row >= count:
            out.append(Kink(NAMES[kind], (int(context.rows.dof[g.at[row]]),), -1, distance))
            continue
        at = pair[row // 3]
        if at not in links:
            links[at] = context.pair_links[at]
        out.append(Kink(NAMES[kind], links[at], row // 3, distance))
    limit = context.tree.effort_limit
    for dof in np.flatnonzero((np.abs(context.effort) == limit) & (limit > 0.0)).tolist():
        out.append(Kink("effort_limit", (dof,), -1, 0.0))
    if gained and (removed := float(context.work.record[ENERGY_REMOVED])) > 0.0:
        out.append(Kink("energy_removed", (), -1, removed))
    return tuple(out)
