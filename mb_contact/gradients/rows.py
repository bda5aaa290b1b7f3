# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The rows of a solved step, and how their velocities and efforts follow the coordinates.

Of a contact at x with directions d = n, t1, t2, w the velocity of A against B at x, and p its impulse on A:

    u_d = d.w + offset,    du_d = d.(J dv+ + dw) + w.dd + slope dg,    dw = (dV_A - dV_B)(x) + (w_A - w_B) x dx,
    d(J* p) = J* dp + (dJ)* p,    dp = sum d dr_d + a x p,    a = n x dn,

where a, the turn that takes the tangents along with n, is free about n: friction has no direction of its own.
"""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.constraints.rows import TOUCHING
from mb_contact.core.handle import DRIFT_RATE, DRIFT_STEP, PUSH_RATE, PUSH_SPEED, UNIT_LENGTH
from mb_contact.core.workspace import BOX
from mb_contact.errors import InputError
from mb_contact.gradients.motion import point_map, skew, wrench_at
from mb_contact.types import LOWER, UPPER


class Rows(NamedTuple):
    """m scalar rows of a step, N degrees of freedom: contacts first, three of each."""

    J: Floats  #: (m, N)
    u_q: Floats  #: (m, N), derivative of the rows' velocities at the velocities v+
    efforts_q: Floats  #: (N, N), derivative of J* r at the impulses r
    turn: Floats  #: (contacts, 3, N), a of each contact
    at: Floats  #: int (m,), where each row stands among those of the context


def gap_slope(gap, push_rate, push_speed, dt, unit):
    """Derivative of a row's offset by its gap: 1 / dt, of a penetration that of the push-out; at touching 1 / dt."""
    if gap >= -TOUCHING * unit:
        return 1.0 / dt
    return push_rate / dt if -push_rate * gap / dt < push_speed else 0.0


def step_rows(context, geometry, motion):
    """Rows of the step that a context has taken last.

    Parameters
    ----------
    context : StepContext
    geometry : Geometry
    motion : Motion
        At the start of the step.

    Returns
    -------
    Rows
    """
    c, N = context, len(motion.v_next)
    count, end = int(c.contacts.count[0]), int(c.rows.end[0])
    info = c.bilateral.info
    at = np.concatenate((np.arange(end), np.arange(info[0], info[0] + info[1])))
    J, u_q = np.zeros((len(at), N)), np.zeros((len(at), N))
    turn, efforts_q = np.zeros((count, 3, N)), np.zeros((N, N))
    wrenches = np.zeros((len(motion.R), 6))
    by_poses, turned = _levelled(c, geometry, motion), {}
    for i in range(count):
        own = slice(3 * i, 3 * i + 3)
        J[own], u_q[own], efforts, turn[i], wrench, bodies = _contact(c, geometry, motion, i, by_poses[i], turned)
        efforts_q += efforts
        for body, sign in zip(bodies, (1.0, -1.0), strict=True):
            if body >= 0:
                wrenches[body] += sign * wrench
    efforts_q += motion.efforts_by_q(wrenches)
    for row in range(3 * count, len(at)):
        _joint(c, motion.layout.body, int(at[row]), J[row], u_q[row])
    return Rows(J, u_q, efforts_q, turn, at)


def _contact(c, geometry, motion, i, by_pose, turned):
    """J, u_q (3, N), effort derivatives (N, N), turn, wrench and bodies of contact i.

    ``turned`` keeps what a body has for all of its contacts.
    """
    contacts, solution = c.contacts, c.solution
    pair, x, n, gap = int(contacts.pair[i]), contacts.point[i], contacts.normal[i], float(contacts.gap[i])
    if contacts.spread[i].any():
        raise geometry.refuse(pair, "it came in at the moment of meeting within the step; take a shorter step")
    bodies = [int(c.world.geoms.body[g]) for g in c.world.geoms.pairs[pair]]
    for k in bodies:
        if k not in turned:
            turned[k] = motion.jacobian(k), motion.twist_by_q(k)
    of = [turned[k][0] for k in bodies]
    by_pose = by_pose @ np.concatenate(of)
    dn, dx, dgap = by_pose[:3], by_pose[3:6], by_pose[6]
    frame = np.stack((n, c.frames.t1[i], c.frames.t2[i]))
    relative = of[0] - of[1]
    J_x = point_map(x) @ relative
    twist = relative @ motion.v_next
    w = point_map(x) @ twist
    turn = skew(n) @ dn
    dw = point_map(x) @ (turned[bodies[0]][1] - turned[bodies[1]][1]) + skew(twist[:3]) @ dx
    u_q = frame @ dw - np.stack([w @ skew(d) @ turn for d in frame])
    s, unit = c.settings, c.settings[UNIT_LENGTH]
    if not solution.pushed[3 * i]:
        u_q[0] += gap_slope(gap, s[PUSH_RATE], s[PUSH_SPEED], c.last.dt, unit) * dgap
    p = frame.T @ solution.r[3 * i : 3 * i + 3]
    efforts = -relative[:3].T @ skew(p) @ dx - J_x.T @ skew(p) @ turn
    return frame @ J_x, u_q, efforts, turn, wrench_at(x, p), bodies


def _levelled(c, geometry, motion):
    """Derivatives (7, 12) of each contact; points of one face at the height of its deepest (``flat_manifolds.py``)."""
    contacts, count = c.contacts, int(c.contacts.count[0])
    pair, n, x, gap = contacts.pair, contacts.normal, contacts.point, contacts.gap
    sides = {}
    own = [geometry.contact(int(pair[i]), n[i], x[i], float(gap[i]), motion, sides) for i in range(count)]
    levelled = []
    for i, by in enumerate(own):
        face = [j for j in range(count) if pair[j] == pair[i] and (n[j] == n[i]).all()]
        low = face[int(np.argmin(gap[face]))]
        if low != i:  # x := x + (h_low - h) n, and both heights are the same behind it
            rise = n[i] @ (own[low][3:6] - by[3:6]) + (x[low] - x[i]) @ by[:3]
            by = by.copy()
            by[3:6] += np.outer(n[i], rise)
        levelled.append(by)
    return levelled


def _joint(c, body, at, J, u_q):
    """Row of a limit, of joint friction or of a gear, into J and u_q (N,)."""
    rows, info = c.rows, c.bilateral.info
    dof, sign, gears = int(rows.dof[at]), float(rows.sign[at]), at - (info[0] + info[1] - info[2])
    if dof < 0:
        raise InputError("no derivative of the rows of loop closures; leave them out, or embed them (loops: embedded)")
    J[dof] = sign
    if at < info[0] and LOWER <= rows.bound[at] <= UPPER:
        k = int(body[dof])
        x = c.last.q[c.tree.q_start[k]]
        gap = x - c.tree.lower[dof] if rows.bound[at] == LOWER else c.tree.upper[dof] - x
        s = c.settings
        u_q[dof] = sign * gap_slope(gap, s[PUSH_RATE], s[PUSH_SPEED], c.last.dt, 1.0)
    elif at >= info[0] and gears >= 0 and rows.law[at] != BOX:
        other = int(rows.dof[at + info[2]])
        ratio = float(c.bilateral.ratio[at - info[0]])
        J[other] -= ratio * float(rows.sign[at + info[2]])
        dt = c.last.dt
        u_q[:] = c.drift[DRIFT_RATE] * min(1.0, dt / c.drift[DRIFT_STEP]) / dt * J
