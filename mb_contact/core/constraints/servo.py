# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Servos of scalar joints: position and velocity actuators.

A servo's effort is taken at the end of the step, with T the effort that is commanded beside it,

    T_s = T + k (q* - q - dt v+) + d (v* - v+),

so it is a spring and a damper to the step (``spring.py``), stable for any gains and dt.  Flows of other integrators
take it in their middle, which is the same with half the step (``core/integrate/held_servos.py``).  Where |T_s| would
exceed the joint's limit it is that limit.  Which servos are at their limits is known when the step is solved: then
those that were taken wrong change and the step is solved again.  A servo that comes to its limit in a step stays there
in that step, so that there are at most two rounds a servo.
"""

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.jit import kernel, part


@part
def servo_damping(tree, joints, dt):
    """Add d + dt k of the servos that are not at their limits."""
    for s in range(joints.servos.shape[0]):
        i = tree.v_start[joints.servos[s]]
        if joints.saturation[i] == 0.0:
            joints.total[i] += joints.rate_gain[i] + dt * joints.gain[i]


@part
def implicit_damping(tree, joints, dt):
    """Damping of the joints and of their servos, implicit for ``dt``, into ``joints.total``."""
    copy(joints.total.shape[0], joints.damping, joints.total)
    servo_damping(tree, joints, dt)


@part
def servo_forces(tree, joints, q, force):
    """What does not depend on v+: k (q* - q) + d v* beside the commanded effort, or the limit."""
    for s in range(joints.servos.shape[0]):
        k = joints.servos[s]
        i = tree.v_start[k]
        if joints.saturation[i] == 0.0:
            error = joints.target[i] - q[tree.q_start[k]]
            force[i] += joints.gain[i] * error + joints.rate_gain[i] * joints.target_rate[i]
        else:
            force[i] = np.sign(joints.saturation[i]) * tree.effort_limit[i]


@kernel
def asked_effort(tree, joints, q, dt, k, effort, v_next):
    """T_s of the servo of body k without a limit, for the commanded effort T and v+."""
    i = tree.v_start[k]
    error = joints.target[i] - q[tree.q_start[k]] - dt * v_next[i]
    return effort[i] + joints.gain[i] * error + joints.rate_gain[i] * (joints.target_rate[i] - v_next[i])


@part
def change_saturation(tree, joints, q, dt, effort, v_next):
    """Put servos to their limits that exceed them, and take others away that do not; whether any has changed."""
    changed = False
    for s in range(joints.servos.shape[0]):
        k = joints.servos[s]
        i = tree.v_start[k]
        asked = asked_effort(tree, joints, q, dt, k, effort, v_next)
        if joints.saturation[i] == 0.0 and abs(asked) > tree.effort_limit[i]:
            joints.saturation[i] = 2.0 * np.sign(asked)
            changed = True
        elif abs(joints.saturation[i]) == 1.0 and joints.saturation[i] * asked < tree.effort_limit[i]:
            joints.saturation[i] = 0.0
            changed = True
    return changed


@part
def servo_efforts(tree, joints, q, dt, v_next, commanded, effort):
    """Efforts that act for v+, into ``effort``; those of joints without a servo are left alone."""
    for s in range(joints.servos.shape[0]):
        k = joints.servos[s]
        i = tree.v_start[k]
        if joints.saturation[i] == 0.0:
            effort[i] = asked_effort(tree, joints, q, dt, k, commanded, v_next)
        else:
            effort[i] = np.sign(joints.saturation[i]) * tree.effort_limit[i]


@part
def limited_efforts(tree, joints, q, v, commanded, effort):
    """The same at a state, each servo within its limit."""
    for s in range(joints.servos.shape[0]):
        k = joints.servos[s]
        i = tree.v_start[k]
        limit = tree.effort_limit[i]
        effort[i] = min(max(asked_effort(tree, joints, q, 0.0, k, commanded, v), -limit), limit)


@part
def release_servos(tree, joints):
    """The step is over: what is at its limit may leave it in the next one."""
    for s in range(joints.servos.shape[0]):
        i = tree.v_start[joints.servos[s]]
        joints.saturation[i] = np.sign(joints.saturation[i])
