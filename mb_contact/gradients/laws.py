# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The laws of a step's rows, differentiated in their active states, and where they have kinks.

With l the impulses of the rows that hold (du = 0) and s the direction of a contact's slip, |u_t| its speed:

    open                 dr = 0
    sticks, holds        du = 0
    slips                du_n = 0,  dr_t = -mu s dr_n - K du_t - r_n s dmu,  K = mu r_n / |u_t| (1 - s s*)
    soft equality        dr = -du / softness                                 K = 1 / softness
    friction of a joint  sticks, or dr = +- d(f dt)

so that a step is  (A + J* K J) dv+ = db + B dl,  C dv+ = dg,  with B the columns of J* of what holds, those of slip
less mu s J_t*.
"""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY, UNILATERAL
from mb_contact.errors import InputError
from mb_contact.types import TOUCHING_EVENT


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


class States(NamedTuple):
    """m rows in their states."""

    hold: Floats  #: int (h,), rows with du = 0
    slide: dict  #: by the first row of a contact that slips: (s (2,), mu)
    soft: list  #: of (rows, K): dr = -K du
    bound: dict  #: by a row of joint friction that slips, the sign of its impulse
    kinks: tuple  #: of Kink


def states(context, rows, compliance, near):
    """States of the rows of a solved step.

    Parameters
    ----------
    context : StepContext
    rows : Rows
    compliance : ndarray (m,)
        Of each row, W_ii.
    near : float
        Laws so near a kink are named [sqrt(N s m/s)].

    Returns
    -------
    States
    """
    c, solution = context, context.solution
    hold, slide, soft, bound, kinks = [], {}, [], {}, []
    count = int(c.contacts.count[0])
    root = np.sqrt(np.maximum(compliance, 1e-300))
    r, u = solution.r[rows.at], solution.u[rows.at]
    law, mu, viscous = c.rows.law[rows.at], c.rows.mu[rows.at], c.rows.viscous[rows.at]
    for row in range(len(rows.at)):
        kind = law[row]
        if kind in (CONTACT, UNILATERAL):
            press, part = float(r[row] * root[row]), float(u[row] / root[row])
            if max(press, part) < near:
                kinks.append(_kink(c, rows, row, "touch", max(press, part)))
            if press <= part:
                continue
            hold.append(row)
            if row % 3 == 0 and row < 3 * count and abs(c.contacts.gap[row // 3]) < TOUCHING_EVENT:
                kinks.append(_kink(c, rows, row, "gap", abs(float(c.contacts.gap[row // 3]))))
            if kind == CONTACT:
                _friction(c, rows, row, root, r, u, mu, near, hold, slide, soft, kinks)
        elif kind == EQUALITY:
            softness = mu[row] + viscous[row]
            if softness > 0.0:
                soft.append(([row], np.array([[1.0 / softness]])))
            else:
                hold.append(row)
        elif kind == BOX:
            left, part = float((mu[row] - abs(r[row])) * root[row]), float(abs(u[row]) / root[row])
            if max(left, part) < near and mu[row] > 0.0:
                kinks.append(_kink(c, rows, row, "joint_friction", max(left, part)))
            if left >= part:
                hold.append(row)
            else:
                bound[row] = float(np.sign(r[row]))
    return States(np.array(hold, int), slide, soft, bound, tuple(kinks))


def _friction(c, rows, row, root, r, u, mu, near, hold, slide, soft, kinks):
    """Friction of the contact whose first row is ``row`` and which presses, into the states."""
    tangent = slice(row + 1, row + 3)
    m = float(mu[row + 1])
    if m == 0.0:
        return
    speed, force = float(np.linalg.norm(u[tangent])), float(np.linalg.norm(r[tangent]))
    scale = float(np.sqrt(root[row + 1] * root[row + 2]))
    left, part = (m * float(r[row]) - force) * scale, speed / scale
    if max(left, part) < near:
        kinks.append(_kink(c, rows, row, "slip", max(left, part)))
    if left >= part:
        hold.extend((row + 1, row + 2))
        return
    s = u[tangent] / speed if speed > 0.0 else -r[tangent] / force
    slide[row] = s, m
    across = np.array((-s[1], s[0]))
    soft.append(([row + 1, row + 2], m * float(r[row]) / max(speed, 1e-300) * np.outer(across, across)))


def _kink(c, rows, row, kind, distance):
    """Kink of the law of a row."""
    i = row // 3
    if row < 3 * int(c.contacts.count[0]):
        return Kink(kind, tuple(c.pair_links[int(c.contacts.pair[i])]), i, max(distance, 0.0))
    name = "limit" if kind == "touch" else kind
    return Kink(name, (int(c.rows.dof[rows.at[row]]),), -1, max(distance, 0.0))


def refuse_laws(context):
    """InputError about a law whose derivative is not known."""
    friction, count = context.friction, int(context.contacts.count[0])
    if friction.model[1] > 0:
        raise InputError("no derivative of friction in polygons; set friction_model: coulomb_cone")
    if (friction.extra[:count] >= 0).any() or (friction.mu[:count, 0] != friction.mu[:count, 1]).any():
        raise InputError("no derivative of torsion, rolling friction and unequal coefficients; leave them out")
    if context.rows.viscous[: 3 * count][context.rows.law[: 3 * count] != EQUALITY].any():
        raise InputError("no derivative of friction_model coulomb_viscous; use coulomb_cone or viscous")
