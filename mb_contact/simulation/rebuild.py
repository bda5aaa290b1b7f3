# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that come and go while a simulation runs: its state, by name, in a simulator of another scene."""

from typing import NamedTuple

import numpy as np

from mb_contact.core.handle import BUDGET, TOLERANCE
from mb_contact.simulation.context import SERVO_ARRAYS
from mb_contact.simulation.state import NUMBERS
from mb_contact.simulation.values import PARTS
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
    """Put the state ``old`` into ``new``, whose scene has other objects or robots.

    Positions, velocities, efforts, warm starts, external wrenches, time, gravity where it was set and the energy
    balance go over; bodies that ``old`` does not have stay as their scene puts them, and the energy they bring counts
    as work done.

    Parameters
    ----------
    old, new : SimulationState
    """
    before, after = slots(old.context.world), slots(new.context.world)
    energy, source, target = old.energy(), old.context, new.context
    common = [(before[name], slot) for name, slot in after.items() if name in before]
    for a, b in common:
        target.q[b.q], target.v[b.v], target.effort[b.v] = source.q[a.q], source.v[a.v], source.effort[a.v]
        if (_drives(source, a) == _drives(target, b)).all():  # targets of servos are none for motions
            for name in SERVO_ARRAYS:
                getattr(target.joints, name)[b.v] = getattr(source.joints, name)[a.v]
    if tuple(source.gravity) != source.scene.gravity:  # one that was set
        target.gravity[:] = source.gravity
    for entry in (TOLERANCE, BUDGET):
        target.solver[entry] = source.solver[entry]
    for name in NUMBERS:
        setattr(new, name, getattr(old, name))
    target.wrenches.carry_over(source.wrenches)
    for key, name in PARTS.values():
        named = [[entry.name for entry in getattr(context.scene, key)] for context in (source, target)]
        for i, j in rows_of(*named):
            getattr(target.arrays, name)[j] = getattr(source.arrays, name)[i]
    new.forget()
    _carry_memory(source, target, [(a.v, b.v) for a, b in common])
    if source.attachments is not None and target.attachments is not None:
        target.attachments.carry_over(source.attachments)
    both = target.motions is not None and source.motions is not None
    if target.motions is not None:
        target.motions.place(new.time)
    if both:
        target.motions.carry_over(source.motions)
    new.start_balance()
    new.energy_start, new.work_done = old.energy_start, old.work_done + new.energy() - energy


def _drives(context, slot):
    """Which degrees of freedom of a body are driven."""
    drives = np.zeros(context.N, bool) if context.motions is None else context.motions.drives
    return drives[slot.v]


def _carry_memory(source, target, common):
    """Warm starts, and what the last step has left to read; ``common`` are the slices of v that both have."""
    if source.capacity > target.capacity:
        target.allocate(source.capacity)
    (old, old_work), (new, new_work) = (source.memory, source.work), (target.memory, target.work)
    for a, b in common:
        new.joint[b], new_work.joint_effort[b] = old.joint[a], old_work.joint_effort[a]
    names = source.couplings.closure_names, target.couplings.closure_names
    for i, j in rows_of(*names):
        new.released[j] = old.released[i]
    shapes_old, shapes_new = shape_keys(source.world), shape_keys(target.world)
    for i, j in rows_of(shapes_old, shapes_new):
        new_work.geom_impulse[j] = old_work.geom_impulse[i]
    kept = dict(rows_of(_pair_keys(source.world, shapes_old), _pair_keys(target.world, shapes_new)))
    rows = [i for i in range(int(old.count[0])) if int(old.pair[i]) in kept]
    new.count[0] = len(rows)
    both_soft = bool(len(old.stretch) and len(new.stretch))
    for j, i in enumerate(rows):
        new.pair[j] = kept[int(old.pair[i])]
        for name in ("feature", "tangent", "impulse", "moment", *(("stretch",) if both_soft else ())):
            getattr(new, name)[j] = getattr(old, name)[i]
    if both_soft:
        target.arrays.elastic[:] = new.stretch[: len(rows), 4].sum()


def _pair_keys(world, shapes):
    return [(shapes[a], shapes[b]) for a, b in np.asarray(world.geoms.pairs)]
