# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The joint contract: pose, hinge map H(q) and bias of every joint type, the only file that knows them.

A joint with r degrees of freedom (r <= 6) moves body k relative to its parent.  In world
axes, each body about its own origin,

    V(k) = phi*(p, k) V(p) + H*(k) v(k),        l = p(k) - p(parent),

and differentiating gives ``alpha(k) = phi* alpha(p) + H* dv(k) + a(k)`` with the bias

    a(k) = [ d(H_w*)/dt v ;  omega_p x (v(k) - v(p)) + d(H_v*)/dt v ].

The functions take the few entries of the tree that they need, not the tree: a named tuple passed to a
function called for every body costs a reference count for each of its arrays.

To add a joint type: a constant in ``types.py``, a branch in each of these functions.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross, rotate_back, rotate_quaternion, set_axis_angle, set_quaternion
from mb_contact.types import JOINT_FLOATING, JOINT_PRISMATIC, JOINT_REVOLUTE


@kernel
def joint_placement(kind, s, axis, k, q, R_motion, p_motion):
    """Motion of joint k (``s`` = q_start) in its joint frame: ``R_motion[k]`` and ``p_motion[k]``."""
    p_motion[k, 0] = 0.0
    p_motion[k, 1] = 0.0
    p_motion[k, 2] = 0.0
    if kind == JOINT_REVOLUTE:
        set_axis_angle(R_motion, k, axis[k, 0], axis[k, 1], axis[k, 2], q[s])
    elif kind == JOINT_PRISMATIC:
        set_axis_angle(R_motion, k, 1.0, 0.0, 0.0, 0.0)
        for i in range(3):
            p_motion[k, i] = axis[k, i] * q[s]
    elif kind == JOINT_FLOATING:
        set_quaternion(R_motion, k, q[s + 3], q[s + 4], q[s + 5], q[s + 6])
        for i in range(3):
            p_motion[k, i] = q[s + i]


@kernel
def joint_map(kind, s, r, axis, k, R, H):
    """Rows of the hinge map H(k) (r x 6), world axes at the origin of body k, into ``H[v_start...]``.

    ``R[k]`` maps body to world; the axis of a revolute or prismatic joint is the same in the
    joint frame and in the body frame, since the motion leaves it fixed.
    """
    for i in range(r):
        for c in range(6):
            H[s + i, c] = 0.0
    if kind == JOINT_FLOATING:
        for i in range(6):
            H[s + i, i] = 1.0
    else:
        offset = 0 if kind == JOINT_REVOLUTE else 3
        for c in range(3):
            H[s, offset + c] = R[k, c, 0] * axis[k, 0] + R[k, c, 1] * axis[k, 1] + R[k, c, 2] * axis[k, 2]


@kernel
def joint_bias(kind, p, s, k, H, v, V, a):
    """Bias acceleration a(k) of joint k on parent p (``s`` = v_start) into ``a[k]`` (see the module's head)."""
    for c in range(6):
        a[k, c] = 0.0
    if p < 0:
        return
    wx = V[p, 0]
    wy = V[p, 1]
    wz = V[p, 2]
    x, y, z = cross(wx, wy, wz, V[k, 3] - V[p, 3], V[k, 4] - V[p, 4], V[k, 5] - V[p, 5])
    a[k, 3] = x
    a[k, 4] = y
    a[k, 5] = z
    if kind == JOINT_FLOATING:
        return  # H is constant in world axes
    # the axis turns with the parent: dH*/dt v = omega_p x (H* v)
    offset = 0 if kind == JOINT_REVOLUTE else 3
    x, y, z = cross(wx, wy, wz, H[s, offset] * v[s], H[s, offset + 1] * v[s], H[s, offset + 2] * v[s])
    a[k, offset] += x
    a[k, offset + 1] += y
    a[k, offset + 2] += z


@kernel
def integrate_joints(tree, v, dt, q):
    """Advance q by velocity v held for dt, on each joint's manifold, in place (exponential map)."""
    for k in range(tree.parent.shape[0]):
        s = tree.q_start[k]
        d = tree.v_start[k]
        if tree.joint_type[k] == JOINT_FLOATING:
            # a floating joint hangs on the inertial frame: world axes to joint axes is R_joint*
            x, y, z = rotate_back(tree.R_joint, k, v[d], v[d + 1], v[d + 2])
            rotate_quaternion(q, s + 3, x * dt, y * dt, z * dt)
            x, y, z = rotate_back(tree.R_joint, k, v[d + 3], v[d + 4], v[d + 5])
            q[s] += x * dt
            q[s + 1] += y * dt
            q[s + 2] += z * dt
        else:
            q[s] += v[d] * dt
