# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Energy that a step has gained although no force did the work for it, taken out of the motion again.

Explicit terms of an integrator and contact points that wander within a step can add energy.  What they add grows with
the square of the angle by which bodies turn in a step, so of all that moves each group of coupled trees is slowed
down in proportion to it:

    v := s v,   s^2 = 1 - beta w_max^2,   sum over groups of (1 - s^2) T = the gain.

A group without contacts, loops or limits whose root floats keeps its linear momentum: only its motion about the centre
of mass is slowed down.  All that rests in a contact or a loop stays at rest.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import entry
from mb_contact.core.solve.draft import leader_of
from mb_contact.core.step.closing import refresh
from mb_contact.core.tree.inverse_dynamics import body_kinetic_energy
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
from mb_contact.types import JOINT_FLOATING

SLOWEST = 0.5  #: least factor on velocities


@entry
def remove_gain(h, gain):
    """Slow down what turns until the energy is lower by ``gain`` [J]; returns the energy that was removed [J]."""
    before = h.work.energy[0]
    _measure_groups(h)
    work = h.work
    total = 0.0
    for t in range(h.draft.leader.shape[0]):
        total += work.group_energy[t] * work.group_turn[t]
    if not total > 0.0:
        return 0.0
    for t in range(h.draft.leader.shape[0]):
        work.group_turn[t] = np.sqrt(max(1.0 - gain / total * work.group_turn[t], SLOWEST * SLOWEST))
    for k in range(h.tree.parent.shape[0]):
        t = leader_of(h.draft.leader, h.draft.tree[k])
        _slow_down(h, k, work.group_turn[t], vector(work.group_velocity, t) if _flies(h, k) else ZERO)
    refresh(h)
    return before - h.work.energy[0]


@entry
def _flies(h, k):
    """Whether body k is a floating root of a tree that nothing touches."""
    t = leader_of(h.draft.leader, h.draft.tree[k])
    return h.tree.joint_type[k] == JOINT_FLOATING and h.tree.parent[k] < 0 and h.draft.number[t] < 0


@entry
def _measure_groups(h):
    """Of each group: kinetic energy, about the centre of mass where it flies; its velocity; w_max^2."""
    work = h.work
    groups = h.draft.leader.shape[0]
    fill(groups, work.group_energy, 0.0)
    fill(groups, work.group_turn, 0.0)
    fill(groups, work.group_mass, 0.0)
    for t in range(groups):
        put_vector(work.group_velocity, t, ZERO)
    for k in range(h.tree.parent.shape[0]):
        t = leader_of(h.draft.leader, h.draft.tree[k])
        w = vector(h.kin.V, k)
        m = h.tree.mass[k]
        work.group_energy[t] += body_kinetic_energy(m, h.kin.I, h.kin.mc, h.kin.V, k)
        for i in range(h.tree.v_start[k], h.tree.v_start[k] + h.tree.nv[k]):
            work.group_energy[t] += 0.5 * h.tree.armature[i] * h.v[i] * h.v[i]
        work.group_turn[t] = max(work.group_turn[t], vector_dot(w, w))
        work.group_mass[t] += m
        add_vector(work.group_velocity, t, vector_product(w, vector(h.kin.mc, k)))
        add_vector(work.group_velocity, t, vector_sum(ZERO, m, linear(h.kin.V, k)))
    for k in range(h.tree.parent.shape[0]):
        if _flies(h, k):
            t = leader_of(h.draft.leader, h.draft.tree[k])
            u = vector_sum(ZERO, 1.0 / work.group_mass[t], vector(work.group_velocity, t))
            put_vector(work.group_velocity, t, u)
            work.group_energy[t] -= 0.5 * work.group_mass[t] * vector_dot(u, u)


@entry
def _slow_down(h, k, factor, mean):
    """Velocities of body k's joint times ``factor``, those of a flying root relative to ``mean``."""
    d = h.tree.v_start[k]
    flies = _flies(h, k)
    for i in range(h.tree.nv[k]):
        kept = mean[i - 3] if flies and i >= 3 else 0.0
        h.v[d + i] = kept + factor * (h.v[d + i] - kept)
