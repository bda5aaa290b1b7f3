# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivative of the velocities from which a flow has taken what contacts have added (core/step/passivity.py).

Of a group of coupled trees, about the velocity u of its centre of mass where nothing holds it, else u = 0:

    v+ = u + s (v - u),     s^2 = 1 - gain / T,     2 s ds = (gain dT / T - dgain) / T.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.constraints.bilateral import COUNT, FIRST
from mb_contact.core.gradients.step import mass_wrench
from mb_contact.core.handle import UNIT_SPEED
from mb_contact.core.solve.islands import leader_of
from mb_contact.core.step.passivity import CREEP, HEAVY, LIGHT, SLOWEST
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.motion import skew
from mb_contact.types import JOINT_FLOATING


class Gain(NamedTuple):
    """What contacts have added to each body's tree, at its root, and what push-out has on a body of each contact."""

    work: Any  #: (n,) [J]
    by_work: Any  #: (n, columns)
    push: Any  #: (n,) [J]
    by_push: Any  #: (n, columns)


def slowed(context, start, masses, bodies, v, by_q, by_v, gain):
    """(v+ (N,), its derivative (N, columns)) of velocities v at the end of a flow.

    Parameters
    ----------
    context : StepContext
    start : DerivativeArrays, their handle
    masses : slice or None
        Columns of masses.
    bodies : Bodies
        At the end of the flow.
    by_q, by_v : ndarray (N, columns)
        Of coordinates and velocities there.
    gain : Gain
    """
    c, tree, (d, handle) = context, context.tree, start
    n, N = c.n, len(v)
    group = np.array([leader_of(c.forest.leader, c.forest.tree[k]) for k in range(n)])
    evaluate_inverse_derivatives(handle, c.q, np.zeros(N), v, np.zeros(3))
    felt = np.array([mass_wrench(handle, k) for k in range(n)])
    by_mass = 0.5 * np.einsum("kj,kj->k", d.A, felt)
    momentum, turned = d.M @ v, 0.5 * v @ d.d_q
    arm = np.einsum("kij,kj->ki", bodies.R[:n], tree.com)
    rates = bodies.V_q[:n] @ by_q + bodies.X[:n] @ by_v
    speed = bodies.V[:n, 3:] + np.cross(bodies.V[:n, :3], arm)
    turns = -skew(arm) @ (bodies.X[:n, :3] @ by_q)
    by_speed = rates[:, 3:] - skew(arm) @ rates[:, :3] + skew(bodies.V[:n, :3]) @ turns
    out, by = v.copy(), by_v.copy()
    for t in np.unique(group):
        own = group == t
        dofs = np.repeat(own, tree.nv)
        T, by_T = 0.5 * v[dofs] @ momentum[dofs], momentum[dofs] @ by_v[dofs] + turned[dofs] @ by_q[dofs]
        u, by_u, mass = np.zeros(3), np.zeros((3, by.shape[1])), tree.mass[own]
        if masses is not None:
            by_T[masses][own] += by_mass[own]
        if not is_held(c, own):
            u = mass @ speed[own] / mass.sum()
            by_u = np.einsum("k,kjc->jc", mass, by_speed[own]) / mass.sum()
            if masses is not None:
                by_u[:, masses][:, own] += (speed[own] - u).T / mass.sum()
                by_T[masses][own] -= 0.5 * u @ u
            T -= 0.5 * mass.sum() * u @ u
            by_T -= mass.sum() * u @ by_u
        more, by_more, pushed = gain.work[own].sum(), gain.by_work[own].sum(axis=0), gain.push[own].sum()
        if not LIGHT * T < more < HEAVY * T:
            more, by_more = more - pushed, by_more - gain.by_push[own].sum(axis=0)
        if not more > 0.0 or 1.0 - more / T < SLOWEST**2:
            continue
        s = np.sqrt(1.0 - more / T)
        by_s = (more / T * by_T - by_more) / (2.0 * s * T)
        kept, by_kept = np.zeros(N), np.zeros_like(by)
        for k in np.flatnonzero(own & (tree.parent < 0) & (tree.joint_type == JOINT_FLOATING)):
            at = slice(tree.v_start[k] + 3, tree.v_start[k] + 6)
            kept[at], by_kept[at] = u, by_u
        out[dofs] = (kept + s * (v - kept))[dofs]
        by[dofs] = (by_kept + s * (by_v - by_kept) + np.outer(v - kept, by_s))[dofs]
    return out, by


def is_held(context, own):
    """Whether the bodies ``own`` of a group hang on the world, by a joint or by an impulse."""
    c, tree, rows, info = context, context.tree, context.rows, context.bilateral.info
    if (own & (tree.parent < 0) & (tree.joint_type != JOINT_FLOATING)).any():
        return True
    touch = [*range(0, 3 * int(c.contacts.count[0]), 3), *range(info[FIRST], info[FIRST] + info[COUNT])]
    for r in touch:
        a, b = sorted((rows.body_a[r], rows.body_b[r]))
        if c.solution.r[r] != 0.0 and rows.dof[r] < 0 and a < 0 <= b and own[b]:
            return True
    return False


def push_out(context, by_offset, dr):
    """(push (n,), its derivative (n, columns)) of contacts, by derivatives (R, columns) of offsets and impulses."""
    c = context
    push, by = np.zeros(c.n), np.zeros((c.n, dr.shape[1]))
    creep = CREEP * c.settings[UNIT_SPEED]
    for i in range(int(c.contacts.count[0])):
        r, k = 3 * i, max(c.rows.body_a[3 * i], c.rows.body_b[3 * i])
        k = c.rows.body_a[r] if c.rows.body_a[r] >= 0 else k
        asked = c.work.row_bias[i, 0] - c.rows.offset[r]
        push[k] += c.solution.r[r] * max(creep, asked)
        by[k] += dr[r] * max(creep, asked) - c.solution.r[r] * (asked > creep) * by_offset[r]
    return push, by
