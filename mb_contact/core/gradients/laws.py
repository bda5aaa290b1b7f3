# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The laws of a step's rows, differentiated in their active states, and where they have kinks.

With l the impulses of the rows that hold (du = 0) and s the direction of a contact's slip, |u_t| its speed:

    open                 dr = 0
    sticks, holds        du = 0
    slips                du_n = 0,  dr_t = -mu s dr_n + rho a - r_n s dmu,  a across s,  |u_t| / (mu r_n) rho = -a.du_t
    with two mu_i        the same of mu_i u_i and r_i / mu_i
    in a polygon         dr_t = (r_t / r_n) dr_n + rho e,  e.du_t = 0 on an edge along e, rho = 0 at a vertex
    soft equality        dr = -du / softness, as of viscous friction, beside which Coulomb's acts alone
    friction of a joint  sticks, or dr = +- d(f dt)

An impact's second phase has least normal impulses theta: "open" is dr_n = dtheta, with friction, and r - theta stands
for r where a contact is asked whether it presses.
"""

import numpy as np

from mb_contact.core.gradients.workspace import (
    EFFORT_LIMIT,
    GAINED,
    GAP,
    HELD,
    JOINT_FRICTION,
    KINKS,
    LIMIT,
    ROWS,
    SLIP,
    SOFT,
    TOUCH,
)
from mb_contact.core.handle import TOLERANCE
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.solve.friction import COULOMB_VISCOUS, DIRECTIONS, MODEL, VISCOUS
from mb_contact.core.solve.laws import EDGE, polygon_state
from mb_contact.core.workspace import BOX, CONTACT, ENERGY_REMOVED, EQUALITY, NO_BLOCK, UNILATERAL
from mb_contact.types import STICK, TOUCHING_EVENT

IMMOBILE = 1e-24  #: of the largest compliance of a row: one along which nothing moves asks for nothing
RIGID = 1e-6  #: of a row's compliance: what is less soft is solved with the rows that hold


@kernel
def active_laws(g, a, near):
    """Rows of the linear system, those that are soft first, and kinks within ``near``."""
    g.count[KINKS] = g.count[HELD] = 0
    g.mobile[0] = 0.0
    viscous = a.friction.model[MODEL] == VISCOUS or a.friction.model[MODEL] == COULOMB_VISCOUS
    for row in range(g.count[ROWS]):
        g.drag[row] = 0.0
        g.mobile[0] = max(g.mobile[0], IMMOBILE * g.compliance[row])
    for soft in (True, False):
        for row in range(g.count[ROWS]):
            kind = a.rows.law[g.at[row]]
            if kind == CONTACT or kind == UNILATERAL:
                _contact(g, a, row, kind, near, soft)
            elif kind == EQUALITY:
                _add(g, row, 1.0, 0.0, a.rows.mu[g.at[row]] + a.rows.viscous[g.at[row]], soft)
            elif kind == BOX and not soft:
                _box(g, a, row, near, soft)
            elif kind == NO_BLOCK and viscous and a.rows.viscous[row] > 0.0:
                _add(g, row, 1.0, 0.0, a.rows.viscous[row], soft)
        if soft:
            g.count[SOFT] = g.count[HELD]
    if g.smooth[0] != 0.0:
        step_kinks(g, a)


@kernel
def _add(g, row, first, second, softness, soft):
    """A row of the linear system, of two weighted rows of the step, when it is the turn of such ``soft`` ones."""
    if (softness > RIGID * g.compliance[row]) != soft or g.compliance[row] < g.mobile[0]:
        return
    e = g.count[HELD]
    g.row[e], g.weight[e, 0], g.weight[e, 1], g.softness[e] = row, first, second, softness
    g.scale[e] = 1.0 if soft else 1.0 / np.sqrt(max(g.compliance[row], 1e-300))
    g.count[HELD] = e + 1


@kernel
def _kink(g, kind, contact, of, distance):
    """A law near another state: of a contact of the pair ``of``, or, with the contact -1, of a degree of freedom."""
    k = g.count[KINKS]
    g.kink[k, 0], g.kink[k, 1], g.kink[k, 2], g.kink[k, 3] = kind, contact, of, max(distance, 0.0)
    g.count[KINKS] = k + 1


@kernel
def step_kinks(g, a):
    """Efforts at their limits, and energy that was taken out of the motion again."""
    for i in range(g.S.shape[0]):
        limit = a.tree.effort_limit[i]
        if limit > 0.0 and abs(a.effort[i]) == limit:
            _kink(g, EFFORT_LIMIT, -1, i, 0.0)
    if a.work.record[ENERGY_REMOVED] > 0.0:
        _kink(g, GAINED, -1, -1, a.work.record[ENERGY_REMOVED])


@kernel
def _contact(g, a, row, kind, near, soft):
    """A contact or a limit; its soft rows, or those that hold."""
    at, contacts = g.at[row], a.contacts
    root = np.sqrt(max(g.compliance[row], 1e-300))
    touches = row < 3 * contacts.count[0]
    least = g.least[row // 3] if touches else 0.0
    press, part = (a.sol.r[at] - least) * root, a.sol.u[at] / root
    alone = touches and least != 0.0 and g.given[row // 3] == least
    if touches:
        g.passes[row // 3] = 1 if alone else 2 if press <= part and least > 0.0 else 0
    if not soft and max(press, part) < near:
        if touches:
            _kink(g, TOUCH, row // 3, contacts.pair[row // 3], max(press, part))
        else:
            _kink(g, LIMIT, -1, a.rows.dof[at], max(press, part))
    if press <= part and (alone or least == 0.0):
        return
    if press > part:
        _add(g, row, 1.0, 0.0, 0.0, soft)
    if not soft and touches and g.slope[row // 3] != 0.0 and abs(contacts.gap[row // 3]) < TOUCHING_EVENT:
        _kink(g, GAP, row // 3, contacts.pair[row // 3], abs(contacts.gap[row // 3]))
    if kind != CONTACT:
        return
    if a.friction.model[DIRECTIONS] > 0:
        _slide_in_polygon(g, a, row, near, soft)
        return
    _slide(g, a, row, row + 1, near, soft)
    extra = a.rows.next[at + 2]
    while extra >= 0:
        if a.rows.next[extra] == extra + 1 and a.rows.mu[extra + 1] == a.rows.mu[extra] and _rolls(a, row, extra):
            _slide(g, a, row, extra, near, soft)
            return
        _turn(g, a, row, extra, near, soft)
        extra = a.rows.next[extra]


@kernel
def _rolls(a, row, extra):
    """Whether ``extra`` is the first of the two rows of rolling of a contact."""
    surfaces, i = a.friction.surfaces, row // 3
    pair = a.contacts.pair[i]
    return extra > a.friction.extra[i] or not surfaces.torsional[pair] > 0.0


@sweep
def bounding(g, a, row):
    """The impulse of the normal ``row`` that bounds friction."""
    return a.sol.r[row] - g.given[row // 3]


@sweep
def _dry(a, row, first):
    """Impulses of two rows of friction without the viscous one that acts beside Coulomb's on tangents."""
    r, u, softness = a.sol.r, a.sol.u, a.rows.viscous
    if first != row + 1 or not softness[first] > 0.0:
        return r[first], r[first + 1]
    return r[first] + u[first] / softness[first], r[first + 1] + u[first + 1] / softness[first + 1]


@kernel
def _slide(g, a, row, first, near, soft):
    """Two rows of friction from ``first`` on, of the contact whose normal is ``row`` and presses.

    With two coefficients m_i the law is that of equal ones between x_i = m_i u_i and r_i / m_i, here both over ``m``.
    """
    m_x, m_y = a.rows.mu[first], a.rows.mu[first + 1]
    m = mean_friction(a.rows, first)
    m = m if m > 0.0 else max(m_x, m_y)  # a skate has none along it
    if m == 0.0:
        return
    f_x, f_y, normal = m_x / m, m_y / m, bounding(g, a, row)
    r_x, r_y = _dry(a, row, first)
    x, y = f_x * a.sol.u[first], f_y * a.sol.u[first + 1]
    p, q = r_x / f_x if m_x > 0.0 else 0.0, r_y / f_y if m_y > 0.0 else 0.0
    speed, force = np.sqrt(x * x + y * y), np.sqrt(p * p + q * q)
    scale = _both_ways(g, first, f_x, f_y)
    left, part = (m * normal - force) * scale, speed / scale
    if not soft and max(left, part) < near:
        _kink(g, SLIP, row // 3, a.contacts.pair[row // 3], max(left, part))
    if left >= part or max(left, part) < a.solver[TOLERANCE]:  # which the solver does not tell apart
        if m_x > 0.0:
            _add(g, first, 1.0, 0.0, 0.0, soft)
        if m_y > 0.0:
            _add(g, first + 1, 1.0, 0.0, 0.0, soft)
        return
    s, t = (x / speed, y / speed) if speed > 0.0 else (-p / force, -q / force)
    if m_x * m_y > 0.0:
        _add(g, first, -t * f_x, s * f_y, speed / (m * normal), soft)
    g.drag[first], g.drag[first + 1] = -m_x * s, -m_y * t


@kernel
def _slide_in_polygon(g, a, row, near, soft):
    """As ``_slide``, of the tangents of a contact whose friction is the vertex or the edge of a polygon.

    At a vertex the impulse follows the normal alone, on an edge what moves along the edge sticks.
    """
    first, m, n_f = row + 1, a.rows.mu[row + 1], a.friction.model[DIRECTIONS]
    if m == 0.0:
        return
    scale, radius = _both_ways(g, first, 1.0, 1.0), m * bounding(g, a, row)
    (p, q), x, y = _dry(a, row, first), a.sol.u[first], a.sol.u[first + 1]
    state, e_x, e_y, apothem = polygon_state(p - x / scale**2, q - y / scale**2, radius, n_f)
    half = 0.5 * (2.0 * np.pi / n_f)
    if state == STICK:
        left = apothem * radius - e_x * p - e_y * q
    elif state == EDGE:
        left = radius * np.sin(half) - abs(e_x * q - e_y * p)
    else:  # an edge beside it would stick
        c, s = np.cos(half), np.sin(half)
        one, other = (c * e_y - s * e_x, -c * e_x - s * e_y), (c * e_y + s * e_x, -c * e_x + s * e_y)
        left = min(abs(one[0] * x + one[1] * y), abs(other[0] * x + other[1] * y)) / scale**2
    part = np.sqrt(x * x + y * y) / scale
    if not soft and (left * scale < near or (state != STICK and part < near)):
        _kink(g, SLIP, row // 3, a.contacts.pair[row // 3], left * scale if state == STICK else min(left * scale, part))
    if state == STICK:
        _add(g, first, 1.0, 0.0, 0.0, soft)
        _add(g, first + 1, 1.0, 0.0, 0.0, soft)
        return
    if state == EDGE:
        _add(g, first, -e_y, e_x, 0.0, soft)
    g.drag[first], g.drag[first + 1] = p / bounding(g, a, row), q / bounding(g, a, row)


@sweep
def mean_friction(rows, first):
    """Mean coefficient of two rows of friction, by which derivatives are: both grow in proportion."""
    x, y = rows.mu[first], rows.mu[first + 1]
    return x if x == y else np.sqrt(x * y)


@kernel
def _both_ways(g, first, x, y):
    """Square root of the mean compliance of two tangents times x^2 and y^2, or of the one along which anything moves.
    """
    u, v = g.compliance[first], g.compliance[first + 1]
    u, v = x * x * (u if u >= g.mobile[0] else v), y * y * (v if v >= g.mobile[0] else u)
    u, v = u if u > 0.0 else v, v if v > 0.0 else u
    return max(u, 1e-300) ** 0.25 * max(v, 1e-300) ** 0.25


@kernel
def _turn(g, a, row, at, near, soft):
    """A row of torsion of the contact whose normal is ``row`` and presses."""
    m, u, r = a.rows.mu[at], a.sol.u[at], a.sol.r[at]
    scale = np.sqrt(max(g.compliance[at], 1e-300))
    left, part = (m * bounding(g, a, row) - abs(r)) * scale, abs(u) / scale
    if not soft and max(left, part) < near:
        _kink(g, SLIP, row // 3, a.contacts.pair[row // 3], max(left, part))
    if left >= part or max(left, part) < a.solver[TOLERANCE]:
        _add(g, at, 1.0, 0.0, 0.0, soft)
    else:
        g.drag[at] = -m if u > 0.0 or (u == 0.0 and r < 0.0) else m


@kernel
def _box(g, a, row, near, soft):
    """Friction of a joint."""
    at = g.at[row]
    root, bound = np.sqrt(max(g.compliance[row], 1e-300)), a.rows.mu[at]
    left, part = (bound - abs(a.sol.r[at])) * root, abs(a.sol.u[at]) / root
    if max(left, part) < near and bound > 0.0:
        _kink(g, JOINT_FRICTION, -1, a.rows.dof[at], max(left, part))
    if left >= part:
        _add(g, row, 1.0, 0.0, 0.0, soft)
    else:
        g.drag[row] = 1.0 if a.sol.r[at] > 0.0 else -1.0
