# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Servos of position and velocity actuators in flows.

**midpoint** takes them in the middle of its step, implicitly like the damping: T_s = T + k (q* - q') + d (v* - v').

**Explicit stages** would diverge where X = dt d / 2 + dt^2 k / 4 is large beside M.  So where the gains are soft servos
act in the stages with their efforts at (q, v), within their limits, and the integrator keeps its order.  Otherwise the
efforts of all servos are constant in the flow, of second order:

    T_s = T + k (q* - (q0 + q1) / 2) + d (v* - (q1 - q0) / dt).

What they do is T_s (q1 - q0), which never adds to what their springs hold, whatever the gains, the motion and dt.  They
are found by flows: the first has the T_s that a half step of implicit Euler ends with, which is the same where M is
constant; then T_s is changed by -F + X (M + X)^-1 F, with F what it differs from the law, until that is rounding.

Soft is det(M + X) <= (1 + SOFT) det M, which bounds the largest eigenvalue of M^-1 X by SOFT; Kutta's method is stable
up to 2 for stiffness and 1.39 for damping.

A constant force of the step gains (M + X)^-1 of velocity where servos act as in the middle, and with dt^2 k / 6 in
place of dt^2 k / 4 where they act in stages: that is the compliance of the contact problem.
"""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.servo import (
    asked_effort,
    change_saturation,
    servo_damping,
    servo_efforts,
    servo_forces,
)
from mb_contact.core.constraints.spring import spring_forces, stiffen
from mb_contact.core.handle import DT
from mb_contact.core.integrate.flow import body_forces
from mb_contact.core.jit import kernel
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.spatial import STILL, put_spatial
from mb_contact.core.workspace import BAD_BODY
from mb_contact.types import OK, STEP_TOO_SMALL

SOFT = 0.25  #: most that servos of explicit stages add to the determinant of M, as part of it
SETTLED = 1e-12  #: relative change of velocities at which constant efforts agree with their flow
ROUGH = 1e-8  #: the same where changes no longer fall
LEAST, ROUNDING = 1e-16, 1e-13  #: changes of positions that are none, and where changes no longer fall [rad, m]
SLOWEST = 0.9  #: part of its predecessor to which a change falls at least


@kernel
def hold_servos(h, f, dt):
    """Decide how servos act in the flow over dt of explicit stages; where they are stiff, their efforts. A status."""
    tree, joints, kin = h.tree, h.joints, f.kin_end
    f.middle[0] = 0
    if joints.servos.shape[0] == 0:
        return OK
    half = 0.5 * dt
    body_poses(tree, f.q_start, kin)
    body_velocities(tree, kin, f.v_start, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, f.v_start)
    body_forces(h, f)
    if _soft(h, f):
        return OK
    f.middle[0] = 1
    f.change[0] = np.inf
    copy(f.q_start.shape[0], f.q_start, f.q_first)
    copy(f.v_start.shape[0], f.v_start, f.v_first)
    stiffen(joints, half)
    servo_damping(tree, joints, half)
    status, body = articulated_inertias(tree, kin, half, f.art_held)
    if status == OK:
        copy(f.force.shape[0], h.work.effort, f.force)
        servo_forces(tree, joints, f.q_start, f.force)
        for i in range(f.force.shape[0]):
            f.force[i] += f.joint_force[i]
        spring_forces(tree, joints, f.q_start, f.force)
        free_acceleration(tree, kin, f.art_held, h.gravity, f.force, f.v_start, f.body_force, f.v_dot)
        for i in range(f.v.shape[0]):
            f.v[i] = f.v_start[i] + half * f.v_dot[i]
        servo_efforts(tree, joints, f.q_start, half, f.v, h.work.effort, f.effort)
    else:
        h.work.info[BAD_BODY] = body
    copy(f.force.shape[0], joints.damping, joints.total)
    return status


@kernel
def servos_agree(h, f, dt):
    """(A status, whether constant efforts agree with the flow over dt that they have made); else they are changed.

    Then the flow is to be made again, and begins again where it began.  STEP_TOO_SMALL where they come to no agreement.
    """
    if f.middle[0] == 0:
        return OK, True
    tree, joints = h.tree, h.joints
    half = 0.5 * dt
    fill(f.force.shape[0], f.force, 0.0)
    for s in range(joints.servos.shape[0]):
        k = joints.servos[s]
        i = tree.v_start[k]
        if joints.saturation[i] == 0.0:
            f.v[i] = (f.q_end[tree.q_start[k]] - f.q_first[tree.q_start[k]]) / dt
            f.force[i] = f.effort[i] - asked_effort(tree, joints, f.q_first, half, k, h.work.effort, f.v)
    for k in range(f.gathered.shape[0]):
        put_spatial(f.gathered, k, STILL)
    impulse_response(tree, f.kin_end, f.art_held, f.gathered, f.force, f.v_dot)
    change = 0.0
    scale = 0.0
    for i in range(f.v.shape[0]):
        change = max(change, dt * abs(f.v_dot[i]))
        scale = max(scale, abs(f.v_first[i]), abs(f.v_end[i]), dt * abs(f.effort[i]) * f.art_held.D_inv[i])
    if change <= SETTLED * scale or dt * change <= LEAST:
        return OK, True
    if not change < SLOWEST * f.change[0]:
        return OK if change <= ROUGH * scale or dt * change <= ROUNDING else STEP_TOO_SMALL, True
    f.change[0] = change
    for i in range(f.v.shape[0]):
        X = half * (joints.rate_gain[i] + half * joints.gain[i])
        if f.force[i] != 0.0:
            f.effort[i] += X * f.v_dot[i] - f.force[i]
    copy(f.q_start.shape[0], f.q_first, f.q_start)
    copy(f.v_start.shape[0], f.v_first, f.v_start)
    return OK, False


@kernel
def _soft(h, f):
    """Whether servos may act in explicit stages of the whole step: det(M + X) <= (1 + SOFT) det M."""
    tree, joints = h.tree, h.joints
    half = 0.5 * h.settings[DT]
    N = f.v.shape[0]
    status, _ = articulated_inertias(tree, f.kin_end, 0.0, f.art_held)
    copy(N, f.art_held.D_inv, f.mean)
    fill(N, joints.total, 0.0)
    for s in range(joints.servos.shape[0]):  # those at their limits too: they may leave them
        i = tree.v_start[joints.servos[s]]
        joints.total[i] = joints.rate_gain[i] + half * joints.gain[i]
    if status == OK:
        status, _ = articulated_inertias(tree, f.kin_end, half, f.art_held)
    copy(N, joints.damping, joints.total)
    ratio = 1.0
    for i in range(N):
        ratio *= f.mean[i] / f.art_held.D_inv[i]
    return status != OK or ratio <= 1.0 + SOFT


@kernel
def saturate_flow(h, f):
    """Whether servos were taken at their limits, or not, that are otherwise for the settled velocities."""
    for i in range(f.v.shape[0]):
        f.v[i] = 0.5 * (h.v[i] + h.work.v_next[i])
    return change_saturation(h.tree, h.joints, h.q, 0.5 * h.settings[DT], h.work.effort, f.v)
