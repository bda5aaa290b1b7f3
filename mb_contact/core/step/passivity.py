# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy that a step has gained although no force did the work for it, taken out of the motion again.

A group is all trees that contacts and loops couple.  Its velocities v are slowed down by one factor,

    v := s v,   s^2 = 1 - gain / T,

about its centre of mass where all of it floats and nothing of it touches the world, so that linear momentum stays.
All that rests in a contact or a loop stays at rest.

* Where contact points wander within a step, or loops close, each group loses what its own contacts and loops have added
  to it: to second order contacts do no work but that of friction and push-out (``kept_contacts.py``).  Push-out too is
  taken out of what moves: a point that sinks by the third order of a step has sped its body up.
* What an integrator's terms add grows with the square of the angle by which bodies turn in a step, so of all that
  moves each group loses its part of the gain in proportion to w_max^2 T.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.bilateral import COUNT, FIRST
from mb_contact.core.handle import UNIT_SPEED
from mb_contact.core.jit import kernel
from mb_contact.core.solve.islands import leader_of
from mb_contact.core.step.closing import refresh
from mb_contact.core.tree.inverse_dynamics import body_kinetic_energy
from mb_contact.core.tree.modal_dynamics import modal_rate_energy, modal_rate_momentum
from mb_contact.core.tree.spatial import (
    ZERO,
    add_vector,
    linear,
    put_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.workspace import LIFTED
from mb_contact.types import JOINT_FLOATING

SLOWEST = 0.5  #: least factor on velocities
LIGHT, HEAVY = 1e-6, 1e-2  #: parts of a group's energy between which push-out is taken out of it: more lifts what rests
CREEP = 1e-11  #: velocity of contacts whose work is rounding [m/s]


@kernel
def remove_gain(h, gain):
    """Take a gain [J] of the whole motion out of what turns; returns the energy that was removed [J].

    Reads: art, bil, contacts, forest, gears, gravity, joints, kin, q, rows, soft, sol, tendons, tree, v, work.
    Writes: art, forest, kin, q, tendons, v, work.
    """
    work = h.work
    _measure_groups(h)
    total = 0.0
    for t in range(h.forest.leader.shape[0]):
        total += work.group_energy[t] * work.group_turn[t]
    for t in range(h.forest.leader.shape[0]):
        share = work.group_energy[t] * work.group_turn[t] / total if total > 0.0 else 0.0
        work.group_gain[t] = gain * share
    return _slow_groups(h)


@kernel
def remove_contact_gains(h, contact_work):
    """Take what contacts have added to each group out of it again; returns the energy that was removed [J].

    Reads: art, bil, contacts, forest, gears, gravity, joints, kin, q, rows, settings, soft, sol, tendons, tree, v,
    work.
    Writes: art, forest, kin, q, tendons, v, work.
    """
    work = h.work
    fill(h.forest.leader.shape[0], work.group_gain, 0.0)
    fill(h.forest.leader.shape[0], work.group_push, 0.0)
    for k in range(h.tree.parent.shape[0]):
        if h.tree.root[k] == k:
            work.group_gain[_group_of(h, k)] += contact_work[k]
    for r in range(0, 3 * h.contacts.count[0], 3):
        pushed = h.sol.r[r] * max(CREEP * h.settings[UNIT_SPEED], h.work.row_bias[r // 3, 0] - h.rows.offset[r])
        k = h.rows.body_a[r] if h.rows.body_a[r] >= 0 else h.rows.body_b[r]
        if k >= 0:
            work.group_push[_group_of(h, k)] += pushed
    _measure_groups(h)
    for t in range(h.forest.leader.shape[0]):
        gain = work.group_gain[t]
        if LIGHT * work.group_energy[t] < gain < HEAVY * work.group_energy[t]:
            work.contact_energy[LIFTED] += min(gain, work.group_push[t])
        else:
            gain -= work.group_push[t]
        work.group_gain[t] = max(gain, 0.0)
    return _slow_groups(h)


@kernel
def _group_of(h, k):
    """Number of body k's group."""
    return leader_of(h.forest.leader, h.forest.tree[k])


@kernel
def _measure_groups(h):
    """Of each group: kinetic energy, about the centre of mass where it is not held; its velocity; w_max^2."""
    work = h.work
    groups = h.forest.leader.shape[0]
    fill(groups, work.group_energy, 0.0)
    fill(groups, work.group_turn, 0.0)
    fill(groups, work.group_mass, 0.0)
    fill(groups, work.group_held, 0)
    for t in range(groups):
        put_vector(work.group_velocity, t, ZERO)
    for k in range(h.tree.parent.shape[0]):
        t = _group_of(h, k)
        w = vector(h.kin.V, k)
        m = h.tree.mass[k]
        work.group_energy[t] += body_kinetic_energy(m, h.kin.I, h.kin.mc, h.kin.V, k)
        for i in range(h.tree.v_start[k], h.tree.v_start[k] + h.tree.nv[k]):
            work.group_energy[t] += 0.5 * h.tree.armature[i] * h.v[i] * h.v[i]
        work.group_turn[t] = max(work.group_turn[t], vector_dot(w, w))
        work.group_mass[t] += m
        add_vector(work.group_velocity, t, vector_product(w, vector(h.kin.mc, k)))
        add_vector(work.group_velocity, t, vector_sum(ZERO, m, linear(h.kin.V, k)))
        if h.tree.parent[k] < 0 and h.tree.joint_type[k] != JOINT_FLOATING:
            work.group_held[t] = 1
    for f in range(h.kin.modal.link.shape[0]):
        t = _group_of(h, h.kin.modal.link[f])
        work.group_energy[t] += modal_rate_energy(h.kin.modal, h.kin.V, f)
        add_vector(work.group_velocity, t, modal_rate_momentum(h.kin.modal, f)[3:])
    _hold(h, 0, 3 * h.contacts.count[0], 3)
    _hold(h, h.bil.info[FIRST], h.bil.info[FIRST] + h.bil.info[COUNT], 1)
    for t in range(groups):
        if work.group_held[t] == 0 and work.group_mass[t] > 0.0:
            u = vector_sum(ZERO, 1.0 / work.group_mass[t], vector(work.group_velocity, t))
            put_vector(work.group_velocity, t, u)
            work.group_energy[t] -= 0.5 * work.group_mass[t] * vector_dot(u, u)
        else:
            put_vector(work.group_velocity, t, ZERO)


@kernel
def _hold(h, first, last, stride):
    """Groups that rows from first to last hold to the world by an impulse."""
    for r in range(first, last, stride):
        a, b = h.rows.body_a[r], h.rows.body_b[r]
        if h.sol.r[r] != 0.0 and h.rows.dof[r] < 0 and min(a, b) < 0 <= max(a, b):
            h.work.group_held[_group_of(h, max(a, b))] = 1


@kernel
def _slow_groups(h):
    """Slow down each group until it has lost its gain; returns the energy that was removed [J]."""
    work = h.work
    any_gain = False
    for t in range(h.forest.leader.shape[0]):
        gain, energy = work.group_gain[t], work.group_energy[t]
        any_gain = any_gain or gain > 0.0
        work.group_gain[t] = np.sqrt(max(1.0 - gain / energy, SLOWEST * SLOWEST)) if energy > 0.0 else 1.0
    if not any_gain:
        return 0.0
    before = work.energy[0]
    for k in range(h.tree.parent.shape[0]):
        t = _group_of(h, k)
        if work.group_gain[t] != 1.0:
            _slow_down(h, k, work.group_gain[t], vector(work.group_velocity, t))
    refresh(h)
    return before - work.energy[0]


@kernel
def _slow_down(h, k, factor, mean):
    """Velocities of body k's joint times ``factor``, those of a floating root relative to ``mean``."""
    d = h.tree.v_start[k]
    floats = h.tree.joint_type[k] == JOINT_FLOATING and h.tree.parent[k] < 0
    for i in range(h.tree.nv[k]):
        kept = mean[i - 3] if floats and i >= 3 else 0.0
        h.v[d + i] = kept + factor * (h.v[d + i] - kept)
