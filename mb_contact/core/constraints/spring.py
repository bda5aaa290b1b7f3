# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Springs of scalar joints.

A spring is implicit, like the damping: with the force -k (q + dt v+ - rest) - d v+ at the end of the step,

    (M + dt d + dt^2 k) (v+ - v) = dt (T - k (q - rest) - (d + dt k) v - C) + J* p,

so the step with damping d + dt k and the force -k (q - rest) is that step; it is stable for any k and dt.
"""

from mb_contact.core.jit import part


@part
def stiffen(joints, dt):
    """Damping and dt times the stiffness, which is what the step's tree has for damping."""
    if joints.sprung.shape[0] + joints.servos.shape[0] > 0:
        for i in range(joints.total.shape[0]):
            joints.total[i] = joints.damping[i] + dt * joints.stiffness[i]


@part
def spring_forces(tree, joints, q, force):
    """force -= k (q - rest)."""
    for s in range(joints.sprung.shape[0]):
        k = joints.sprung[s]
        d = tree.v_start[k]
        force[d] -= joints.stiffness[d] * (q[tree.q_start[k]] - joints.rest[d])


@part
def spring_energy(tree, joints, q):
    """Energy of all springs, k (q - rest)^2 / 2 [J]."""
    total = 0.0
    for s in range(joints.sprung.shape[0]):
        k = joints.sprung[s]
        d = tree.v_start[k]
        x = q[tree.q_start[k]] - joints.rest[d]
        total += 0.5 * joints.stiffness[d] * x * x
    return total
