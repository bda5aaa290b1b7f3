# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Laws near the place where they have two derivatives."""

from typing import NamedTuple

from mb_contact.core.gradients.workspace import EFFORT_LIMIT, GAINED, GAP, JOINT_FRICTION, LIMIT, SLIP, TOUCH

NAMES = {
    TOUCH: "touch", SLIP: "slip", GAP: "gap", LIMIT: "limit", JOINT_FRICTION: "joint_friction",
    EFFORT_LIMIT: "effort_limit", GAINED: "energy_removed",
}  # fmt: skip


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

    kind: str  #: one of NAMES, face or turned_in; these and energy_removed no derivative knows
    links: tuple  #: links of the contact, or the number of the degree of freedom
    row: int  #: number of the contact; of a joint -1
    distance: float  #: from the kink [sqrt(N s m/s)]; of a gap, of a face to its deepest point [m]; energy [J];
    #: of turned_in by how much positions were corrected [m, rad]


def kinks_of(found, links):
    """Kinks that a kernel has ``found`` (k, 4), as a tuple of Kink; ``links`` are the names of each pair."""
    out = []
    for kind, contact, of, distance in found.tolist():
        about = links[int(of)] if contact >= 0 else () if of < 0 else (int(of),)
        out.append(Kink(NAMES[int(kind)], about, int(contact), distance))
    return tuple(out)
