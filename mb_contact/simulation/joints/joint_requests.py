# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What is asked of joints by name, beside efforts: another position, and targets of their actuators."""

import numpy as np

from mb_contact.checks import as_vector, instead_of, shorten
from mb_contact.errors import InputError

#: What servos can be asked for: the array of gains that it needs, the array that takes it, its name in messages.
_TARGETS = (("gain", "target", "position"), ("rate_gain", "target_rate", "velocity"))


def _listed(names):
    if isinstance(names, str):
        raise InputError(f"names must be a list of joints, got '{shorten(names)}'; write ['{shorten(names)}']")
    return list(names)


def _rows(world, names):
    """Places of joints among ``world.joint_names``."""
    unknown = [name for name in names if name not in world.joint_names]
    if unknown:
        name = shorten(unknown[0])
        raise InputError(f"no joint '{name}'; {instead_of(name, world.joint_names, 'known are')}")
    if len(set(names)) != len(names):
        raise InputError("a joint is named twice")
    return [world.joint_names.index(name) for name in names]


def placed(context, names, positions, velocities):
    """q and v of a state whose joints are elsewhere; see ``Simulator.set_joints``."""
    world, q, v = context.world, context.q.copy(), context.v.copy()
    names = _listed(names)
    rows = _rows(world, names)
    of = world.joint_v[rows]
    led = [] if context.motions is None else context.motions.led()
    for name, d in zip(names, of):
        if d in led and (positions is not None or velocities is not None):
            raise InputError(f"joint '{name}' is on the path of its motion; set_targets leads it elsewhere")
    if positions is not None:
        q[world.joint_q[rows]] = wanted = as_vector(positions, len(rows), "positions")
        refuse_outside(world.tree, names, of, wanted, True)
    if velocities is not None:
        v[of] = as_vector(velocities, len(rows), "velocities")
    return q, v


def refuse_outside(tree, names, of, wanted, asked):
    """Raise InputError for the first position (..., joints) out of its joint's range, of those ``asked``."""
    outside = np.argwhere(asked & ((wanted < tree.lower[of]) | (wanted > tree.upper[of]))).tolist()
    if outside:
        i = outside[0][-1]
        low, high = tree.lower[of[i]], tree.upper[of[i]]
        raise InputError(f"joint '{names[i]}' goes from {low:g} to {high:g}, {wanted[tuple(outside[0])]:g} is beyond")


def ask_servos(context, names, positions, velocities):
    """Set targets of servos and of driven joints; see ``Simulator.set_targets``."""
    if positions is None and velocities is None:
        return
    joints, names, new = context.joints, _listed(names), {}
    of = context.world.joint_v[_rows(context.world, names)]
    drives = np.zeros(len(of), bool) if context.motions is None else context.motions.drives[of]
    for (gain, target, kind), values in zip(_TARGETS, (positions, velocities)):
        if values is None:
            continue
        lacking = np.flatnonzero((getattr(joints, gain)[of] == 0.0) & ~drives)
        if len(lacking):
            message = f"joint '{names[lacking[0]]}' has no actuator that a {kind} can be asked of, and no motion"
            raise InputError(f"{message}; the scene's actuators and motions give one")
        new[target] = as_vector(values, len(of), kind)
    if "target" in new and drives.any():
        refuse_outside(context.world.tree, names, of, new["target"], drives)
    for target, values in new.items():
        getattr(joints, target)[of[~drives]] = values[~drives]
    for i in np.flatnonzero(drives):
        asked = (new[name][i] if name in new else None for name in ("target", "target_rate"))
        context.motions.aim(of[i], *asked)
