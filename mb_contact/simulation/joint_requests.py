# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is asked of joints by name, beside efforts: another position, and targets of their actuators."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_vector, shorten
from mb_contact.errors import InputError

#: What servos can be asked for: the array of gains that it needs, the array that takes it, its name in messages.
_TARGETS = (("gain", "target", "position"), ("rate_gain", "target_rate", "velocity"))


def _rows(world, names):
    """Places of joints among ``world.joint_names``."""
    unknown = [name for name in names if name not in world.joint_names]
    if unknown:
        raise InputError(f"no joint '{shorten(unknown[0])}'; known are {', '.join(world.joint_names)}")
    if len(set(names)) != len(names):
        raise InputError("a joint is named twice")
    return [world.joint_names.index(name) for name in names]


def placed(context, names, positions, velocities):
    """q and v of a state whose joints are elsewhere; see ``Simulator.set_joints``."""
    world, q, v = context.world, context.q.copy(), context.v.copy()
    names = list(names)
    rows = _rows(world, names)
    of = world.joint_v[rows]
    if positions is not None:
        q[world.joint_q[rows]] = wanted = as_vector(positions, len(rows), "positions")
        outside = np.flatnonzero((wanted < world.tree.lower[of]) | (wanted > world.tree.upper[of]))
        if len(outside):
            i = outside[0]
            low, high = world.tree.lower[of[i]], world.tree.upper[of[i]]
            raise InputError(f"joint '{names[i]}' goes from {low:g} to {high:g}, {wanted[i]:g} is beyond")
    if velocities is not None:
        v[of] = as_vector(velocities, len(rows), "velocities")
    return q, v


def ask_servos(context, names, positions, velocities):
    """Set targets of servos; see ``Simulator.set_targets``."""
    joints, names, new = context.joints, list(names), []
    of = context.world.joint_v[_rows(context.world, names)]
    for (gain, target, kind), values in zip(_TARGETS, (positions, velocities)):
        if values is None:
            continue
        lacking = np.flatnonzero(getattr(joints, gain)[of] == 0.0)
        if len(lacking):
            message = f"joint '{names[lacking[0]]}' has no actuator that a {kind} can be asked of"
            raise InputError(f"{message}; the scene's actuators give one")
        new.append((target, as_vector(values, len(of), kind)))
    for target, values in new:
        getattr(joints, target)[of] = values
