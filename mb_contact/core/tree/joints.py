# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The joint contract: pose, hinge map H(q) and bias of every joint type, the only file that knows them.

A joint with r degrees of freedom (r <= 6) moves body k relative to its parent.  In world
axes, each body about its own origin,

    V(k) = phi*(p, k) V(p) + H*(k) v(k),        l = p(k) - p(parent),

and differentiating gives ``alpha(k) = phi* alpha(p) + H* dv(k) + a(k)`` with the bias

    a(k) = [ d(H_w*)/dt v ;  omega_p x (v(k) - v(p)) + d(H_v*)/dt v ].

Every row of every H is either a pure rotation or a pure displacement, fixed in the parent; but for the floating joint,
whose rows are fixed in the world, and the second axis of a universal joint, which the first one turns.
The functions take the few entries of the tree that they need, not the tree: a named tuple passed to a
function called for every body costs a reference count for each of its arrays.

To add a joint type: its constants in ``types.py``, a branch in ``joint_motion``, ``joint_map``, ``map_rate``,
``joint_bias``, ``integrate_joints``.
"""

from __future__ import annotations

from mb_contact.core.jit import inlined, kernel
from mb_contact.core.tree.spatial import (
    cross,
    rotate,
    rotate_back,
    rotate_quaternion,
    set_axis_angle,
    set_quaternion,
    turn_about,
)
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_PLANAR,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
)


@inlined
def revolute_motion(b, axis, s, c):
    """Body axes and world axis of a revolute joint: (R as 9 scalars by rows, h) from the joint frame's axes b.

    s and c are the sine and cosine of the angle.

    Row i of R is row i of b turned about the axis: c b_i + s (b_i x axis) + (1 - c) h_i axis, h = b axis (Rodrigues).
    """
    b00, b01, b02, b10, b11, b12, b20, b21, b22 = b
    x, y, z = axis
    hx = b00 * x + b01 * y + b02 * z
    hy = b10 * x + b11 * y + b12 * z
    hz = b20 * x + b21 * y + b22 * z
    d = 1.0 - c
    sx = s * x
    sy = s * y
    sz = s * z
    dx = d * x
    dy = d * y
    dz = d * z
    return (
        c * b00 + (b01 * sz - b02 * sy) + hx * dx,
        c * b01 + (b02 * sx - b00 * sz) + hx * dy,
        c * b02 + (b00 * sy - b01 * sx) + hx * dz,
        c * b10 + (b11 * sz - b12 * sy) + hy * dx,
        c * b11 + (b12 * sx - b10 * sz) + hy * dy,
        c * b12 + (b10 * sy - b11 * sx) + hy * dz,
        c * b20 + (b21 * sz - b22 * sy) + hz * dx,
        c * b21 + (b22 * sx - b20 * sz) + hz * dy,
        c * b22 + (b20 * sy - b21 * sx) + hz * dz,
        hx,
        hy,
        hz,
    )  # fmt: skip


@kernel
def joint_motion(kind, s, axis, axis2, k, q, turn, shift):
    """Motion of joint k (``s`` = q_start) in its joint frame: rotation ``turn[0]`` and displacement ``shift[0]``.

    For joints of several degrees of freedom, ``body_poses`` places the others itself; ``turn`` (2, 3, 3) and ``shift``
    (1, 3) are scratch.
    """
    shift[0, 0] = 0.0
    shift[0, 1] = 0.0
    shift[0, 2] = 0.0
    if kind == JOINT_FLOATING:
        set_quaternion(turn, 0, q[s + 3], q[s + 4], q[s + 5], q[s + 6])
        for i in range(3):
            shift[0, i] = q[s + i]
    elif kind == JOINT_PLANAR:
        set_axis_angle(turn, 0, axis[k, 0], axis[k, 1], axis[k, 2], q[s + 2])
        x, y, z = cross(axis[k, 0], axis[k, 1], axis[k, 2], axis2[k, 0], axis2[k, 1], axis2[k, 2])
        shift[0, 0] = q[s] * axis2[k, 0] + q[s + 1] * x
        shift[0, 1] = q[s] * axis2[k, 1] + q[s + 1] * y
        shift[0, 2] = q[s] * axis2[k, 2] + q[s + 1] * z
    elif kind == JOINT_SPHERICAL:
        set_quaternion(turn, 0, q[s], q[s + 1], q[s + 2], q[s + 3])
    elif kind == JOINT_UNIVERSAL:
        set_axis_angle(turn, 1, axis[k, 0], axis[k, 1], axis[k, 2], q[s])
        turn_about(turn, 1, axis2[k, 0], axis2[k, 1], axis2[k, 2], q[s + 1], turn, 0)
    else:  # a contact of surfaces: its motion already stands in R_joint and p_joint (surfaces/tree.py)
        set_quaternion(turn, 0, 0.0, 0.0, 0.0, 1.0)


@kernel
def joint_map(kind, s, r, axis, axis2, k, B, R, H):
    """Rows of the hinge map H(k) (r x 6), world axes at the origin of body k, into ``H[s:s + r]`` (``s`` = v_start).

    ``B[0]`` maps the joint frame (fixed in the parent) to the world, ``R[k]`` the body.  For joints of
    several degrees of freedom.
    """
    for i in range(r):
        for c in range(6):
            H[s + i, c] = 0.0
    if kind == JOINT_FLOATING:
        for i in range(6):
            H[s + i, i] = 1.0
    elif kind == JOINT_PLANAR:
        x, y, z = cross(axis[k, 0], axis[k, 1], axis[k, 2], axis2[k, 0], axis2[k, 1], axis2[k, 2])
        H[s, 3], H[s, 4], H[s, 5] = rotate(B, 0, axis2[k, 0], axis2[k, 1], axis2[k, 2])
        H[s + 1, 3], H[s + 1, 4], H[s + 1, 5] = rotate(B, 0, x, y, z)
        H[s + 2, 0], H[s + 2, 1], H[s + 2, 2] = rotate(B, 0, axis[k, 0], axis[k, 1], axis[k, 2])
    elif kind == JOINT_SPHERICAL:
        for i in range(3):
            for c in range(3):
                H[s + i, c] = B[0, c, i]
    elif kind == JOINT_UNIVERSAL:  # the second axis stays where it is in the body
        H[s, 0], H[s, 1], H[s, 2] = rotate(B, 0, axis[k, 0], axis[k, 1], axis[k, 2])
        H[s + 1, 0], H[s + 1, 1], H[s + 1, 2] = rotate(R, k, axis2[k, 0], axis2[k, 1], axis2[k, 2])


@kernel
def map_rate(kind, p, s, r, H, V, v, H_dot):
    """Rates of the rows of H(k) into ``H_dot[s:s + r]``: omega x h, omega of what carries the axis; p the parent."""
    for i in range(s, s + r):
        wx = 0.0
        wy = 0.0
        wz = 0.0
        if p >= 0 and kind != JOINT_FLOATING:
            wx = V[p, 0]
            wy = V[p, 1]
            wz = V[p, 2]
        if kind == JOINT_UNIVERSAL and i > s:
            wx += H[s, 0] * v[s]
            wy += H[s, 1] * v[s]
            wz += H[s, 2] * v[s]
        H_dot[i, 0], H_dot[i, 1], H_dot[i, 2] = cross(wx, wy, wz, H[i, 0], H[i, 1], H[i, 2])
        H_dot[i, 3], H_dot[i, 4], H_dot[i, 5] = cross(wx, wy, wz, H[i, 3], H[i, 4], H[i, 5])


@kernel
def joint_bias(kind, p, s, r, k, H, v, V, a):
    """Bias acceleration a(k) of joint k on parent p (``s`` = v_start) into ``a[k]`` (see the module's head)."""
    wx = 0.0
    wy = 0.0
    wz = 0.0
    x = 0.0
    y = 0.0
    z = 0.0
    if p >= 0:
        wx = V[p, 0]
        wy = V[p, 1]
        wz = V[p, 2]
        x, y, z = cross(wx, wy, wz, V[k, 3] - V[p, 3], V[k, 4] - V[p, 4], V[k, 5] - V[p, 5])
    a[k, 0] = 0.0
    a[k, 1] = 0.0
    a[k, 2] = 0.0
    a[k, 3] = x
    a[k, 4] = y
    a[k, 5] = z
    if kind == JOINT_FLOATING:
        return  # H is constant in world axes
    for i in range(s, s + r):  # the rows turn with the parent: dh*/dt v = omega_p x h* v
        x, y, z = cross(wx, wy, wz, H[i, 0] * v[i], H[i, 1] * v[i], H[i, 2] * v[i])
        a[k, 0] += x
        a[k, 1] += y
        a[k, 2] += z
        x, y, z = cross(wx, wy, wz, H[i, 3] * v[i], H[i, 4] * v[i], H[i, 5] * v[i])
        a[k, 3] += x
        a[k, 4] += y
        a[k, 5] += z
    if kind == JOINT_UNIVERSAL:  # and the second axis with the first as well
        x, y, z = cross(H[s, 0], H[s, 1], H[s, 2], H[s + 1, 0], H[s + 1, 1], H[s + 1, 2])
        a[k, 0] += x * v[s] * v[s + 1]
        a[k, 1] += y * v[s] * v[s + 1]
        a[k, 2] += z * v[s] * v[s + 1]


@kernel
def integrate_joints(tree, v, dt, q):
    """Advance q by velocity v held for dt, on each joint's manifold, in place (exponential map)."""
    for k in range(tree.parent.shape[0]):
        s = tree.q_start[k]
        d = tree.v_start[k]
        kind = tree.joint_type[k]
        if kind == JOINT_FLOATING:
            # a floating joint hangs on the inertial frame: world axes to joint axes is R_joint*
            x, y, z = rotate_back(tree.R_joint, k, v[d], v[d + 1], v[d + 2])
            rotate_quaternion(q, s + 3, x * dt, y * dt, z * dt)
            x, y, z = rotate_back(tree.R_joint, k, v[d + 3], v[d + 4], v[d + 5])
            q[s] += x * dt
            q[s + 1] += y * dt
            q[s + 2] += z * dt
        elif kind == JOINT_SPHERICAL:
            rotate_quaternion(q, s, v[d] * dt, v[d + 1] * dt, v[d + 2] * dt)
        else:
            for i in range(tree.nv[k]):
                q[s + i] += v[d + i] * dt
