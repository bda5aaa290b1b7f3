# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that come and go while a simulation runs: its state, by name, in a simulator of another scene."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.types import JOINT_NQ


class Slots(NamedTuple):
    """Where a body's entries stand."""

    q: slice
    v: slice


def slots(world):
    """Slots of every body by name, which is that of its link."""
    tree = world.tree
    return {
        name: Slots(
            slice(tree.q_start[k], tree.q_start[k] + JOINT_NQ[tree.joint_type[k]]),
            slice(tree.v_start[k], tree.v_start[k] + tree.nv[k]),
        )
        for k, name in enumerate(world.body_names)
    }


def shape_keys(world):
    """A name of every geometry that does not depend on the others: (link, its number on this link)."""
    return [(link, world.link_geometries[link].index(g)) for g, link in enumerate(world.geometry_links)]


def rows_of(old, new):
    """Pairs of rows (old, new) of what both lists hold."""
    place = {key: i for i, key in enumerate(new)}
    return [(i, place[key]) for i, key in enumerate(old) if key in place]


def carry_over(old, new):
    """Put the state of simulator ``old`` into ``new``, whose scene has other objects or robots.

    Positions, velocities, efforts, warm starts, external wrenches, time, gravity and the energy's books go over;
    bodies that ``old`` does not have stay as their scene puts them, and the energy they bring counts as work done.
    """
    before, after = slots(old.world), slots(new.world)
    energy = old.energy()
    for name, slot in after.items():
        if name in before:
            new._q[slot.q], new._v[slot.v] = old._q[before[name].q], old._v[before[name].v]
    new._gravity[:] = old._gravity
    new.solver_tolerance, new.newton_budget = old.solver_tolerance, old.newton_budget
    new.step_count = old.step_count
    new._even_steps, new._time_before = old._even_steps, old._time_before
    held = [(link, wrench) for link, wrench in old._wrenches.save() if link in new.world.frames]
    new._wrenches.restore(held)
    new._forget()
    _carry_memory(old, new, before, after)
    new._refresh()
    new._energy_start = old._energy_start
    new._work_done = old._work_done + new.energy() - energy


def _carry_memory(old, new, before, after):
    """Warm starts, and what the last step has left to read."""
    common = [(before[name].v, slot.v) for name, slot in after.items() if name in before]
    shapes_old, shapes_new = shape_keys(old.world), shape_keys(new.world)
    kept = {i: j for i, j in rows_of(*(_pair_keys(s.world, k) for s, k in ((old, shapes_old), (new, shapes_new))))}
    if old._capacity > new._capacity:
        new._allocate(old._capacity)
    source, target = old._memory, new._memory
    for a, b in common:
        target.joint[b] = source.joint[a]
        new._effort[b] = old._effort[a]
        new._work.joint_effort[b] = old._work.joint_effort[a]
    for i, j in rows_of(shapes_old, shapes_new):
        new._work.geom_impulse[j] = old._work.geom_impulse[i]
    rows = [i for i in range(int(source.count[0])) if int(source.pair[i]) in kept]
    target.count[0] = len(rows)
    for j, i in enumerate(rows):
        target.pair[j] = kept[int(source.pair[i])]
        for name in ("feature", "tangent", "impulse", "moment"):
            getattr(target, name)[j] = getattr(source, name)[i]


def _pair_keys(world, shapes):
    return [(shapes[a], shapes[b]) for a, b in np.asarray(world.geoms.pairs)]
