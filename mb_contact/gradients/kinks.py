# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Laws near the place where they have two derivatives."""

from typing import NamedTuple

from mb_contact.core.gradients.workspace import GAP, JOINT_FRICTION, LIMIT, SLIP, TOUCH

KINDS = {TOUCH: "touch", SLIP: "slip", GAP: "gap", LIMIT: "limit", JOINT_FRICTION: "joint_friction"}


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

    kind: str  #: touch, slip, gap, limit, joint_friction
    links: tuple  #: links of the contact, or the number of the degree of freedom
    row: int  #: number of the contact; of a joint -1
    distance: float  #: from the kink [sqrt(N s m/s)]; of a gap [m]


def kinks_of(context, g):
    """Kinks that a kernel has found, as a tuple of Kink."""
    contacts, out = context.contacts, []
    for (kind, row), distance in zip(g.kink[: g.count[0]].tolist(), g.distance.tolist(), strict=False):
        if row < 3 * contacts.count[0]:
            links, i = tuple(context.pair_links[int(contacts.pair[row // 3])]), row // 3
        else:
            links, i = (int(context.rows.dof[g.at[row]]),), -1
        out.append(Kink(KINDS[kind], links, i, distance))
    return tuple(out)
