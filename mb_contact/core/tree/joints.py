# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The joint contract: pose, hinge map H(q) and bias of every joint type, the only file that knows them.

A joint with r degrees of freedom (r <= 6) moves body k relative to its parent.  In world
axes, each body about its own origin,

    V(k) = phi*(p, k) V(p) + H*(k) v(k),        l = p(k) - p(parent),

and differentiating gives ``alpha(k) = phi* alpha(p) + H* dv(k) + a(k)`` with the bias

    a(k) = [ d(H_w*)/dt v ;  omega_p x (v(k) - v(p)) + d(H_v*)/dt v ].

Every row of every H is fixed in the parent, but for the floating joint, whose rows are fixed in the world, and the
second axis of a universal joint, which the first one turns.  The row of a screw is a rotation with a displacement along
its axis, [axis; pitch / 2 pi axis]; every other row is a pure rotation or a pure displacement.
The functions take the few entries of the tree that they need, not the tree: a named tuple passed to a
function called for every body costs a reference count for each of its arrays.

To add a joint type: its constants in ``types.py``, a branch in ``joint_motion``, ``joint_map``, ``map_rate``,
``joint_bias``, ``integrate_joints``.
"""

from mb_contact.core.jit import kernel, part, sweep
from mb_contact.core.tree.rotations import rotate_quaternion, set_axis_angle, set_quaternion, turn_about
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    linear,
    matrix,
    put_spatial,
    put_vector,
    spatial_sum,
    spin,
    transposed,
    turned,
    vector,
    vector_product,
    vector_sum,
)
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_PLANAR,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
)


@sweep
def comes_before(kind, i, j):
    """Whether number i of a joint's degrees of freedom carries the axis of number j along."""
    if kind == JOINT_FLOATING:
        return i >= 3 and j < 3
    if kind == JOINT_PLANAR:
        return i < 2 and j == 2
    return kind == JOINT_UNIVERSAL and i < j


@sweep
def revolute_motion(b, axis, s, c):
    """Body axes and world axis of a revolute joint: (R by rows, h) from the joint frame's axes b.

    s and c are the sine and cosine of the angle.

    Row i of R is row i of b turned about the axis: c b_i + s (b_i x axis) + (1 - c) h_i axis, h = b axis (Rodrigues).
    """
    hx, hy, hz = turned(b, axis)
    x, y, z = axis
    sx, sy, sz = s * x, s * y, s * z
    dx, dy, dz = (1.0 - c) * x, (1.0 - c) * y, (1.0 - c) * z
    r = (
        c * b[0] + (b[1] * sz - b[2] * sy) + hx * dx,
        c * b[1] + (b[2] * sx - b[0] * sz) + hx * dy,
        c * b[2] + (b[0] * sy - b[1] * sx) + hx * dz,
        c * b[3] + (b[4] * sz - b[5] * sy) + hy * dx,
        c * b[4] + (b[5] * sx - b[3] * sz) + hy * dy,
        c * b[5] + (b[3] * sy - b[4] * sx) + hy * dz,
        c * b[6] + (b[7] * sz - b[8] * sy) + hz * dx,
        c * b[7] + (b[8] * sx - b[6] * sz) + hz * dy,
        c * b[8] + (b[6] * sy - b[7] * sx) + hz * dz,
    )
    return r, (hx, hy, hz)


@kernel
def joint_motion(kind, s, axis, axis2, k, q, turn, shift):
    """Motion of joint k (``s`` = q_start) in its joint frame: rotation ``turn[0]`` and displacement ``shift[0]``.

    For joints of several degrees of freedom, ``body_poses`` places the others itself; ``turn`` (2, 3, 3) and ``shift``
    (1, 3) are scratch.
    """
    put_vector(shift, 0, ZERO)
    x, y, z = vector(axis, k)
    second = vector(axis2, k)
    if kind == JOINT_FLOATING:
        set_quaternion(turn, 0, q[s + 3], q[s + 4], q[s + 5], q[s + 6])
        for i in range(3):
            shift[0, i] = q[s + i]
    elif kind == JOINT_PLANAR:
        set_axis_angle(turn, 0, x, y, z, q[s + 2])
        across = vector_product((x, y, z), second)
        put_vector(shift, 0, vector_sum(vector_sum(ZERO, q[s], second), q[s + 1], across))
    elif kind == JOINT_SPHERICAL:
        set_quaternion(turn, 0, q[s], q[s + 1], q[s + 2], q[s + 3])
    elif kind == JOINT_UNIVERSAL:
        set_axis_angle(turn, 1, x, y, z, q[s])
        turn_about(turn, 1, second[0], second[1], second[2], q[s + 1], turn, 0)
    else:  # a contact of surfaces: its motion already stands in R_joint and p_joint (surfaces/tree.py)
        set_quaternion(turn, 0, 0.0, 0.0, 0.0, 1.0)


@kernel
def joint_map(kind, s, r, axis, axis2, k, B, R, H):
    """Rows of the hinge map H(k) (r x 6), world axes at the origin of body k, into ``H[s:s + r]`` (``s`` = v_start).

    ``B[0]`` maps the joint frame (fixed in the parent) to the world, ``R[k]`` the body.  For joints of
    several degrees of freedom.
    """
    for i in range(r):
        put_spatial(H, s + i, STILL)
    base = matrix(B, 0)
    first = vector(axis, k)
    second = vector(axis2, k)
    if kind == JOINT_FLOATING:
        for i in range(6):
            H[s + i, i] = 1.0
    elif kind == JOINT_PLANAR:
        put_spatial(H, s, ZERO + turned(base, second))
        put_spatial(H, s + 1, ZERO + turned(base, vector_product(first, second)))
        put_vector(H, s + 2, turned(base, first))
    elif kind == JOINT_SPHERICAL:
        for i in range(3):
            for c in range(3):
                H[s + i, c] = B[0, c, i]
    elif kind == JOINT_UNIVERSAL:  # the second axis stays where it is in the body
        put_vector(H, s, turned(base, first))
        put_vector(H, s + 1, turned(matrix(R, k), second))


@kernel
def map_rate(kind, p, s, r, H, V, v, H_dot):
    """Rates of the rows of H(k) into ``H_dot[s:s + r]``: omega x h, omega of what carries the axis; p the parent."""
    for i in range(s, s + r):
        w = ZERO if kind == JOINT_FLOATING else spin(V, p)
        if kind == JOINT_UNIVERSAL and i > s:
            w = vector_sum(w, v[s], vector(H, s))
        put_spatial(H_dot, i, _turning(w, H, i))


@sweep
def _turning(w, H, i):
    """``w x h`` of both parts of the row h = ``H[i]``."""
    return vector_product(w, vector(H, i)) + vector_product(w, linear(H, i))


@kernel
def joint_bias(kind, p, s, r, k, H, v, V, a):
    """Bias acceleration a(k) of joint k on parent p (``s`` = v_start) into ``a[k]`` (see the module's head)."""
    w = spin(V, p)
    bias = STILL
    if p >= 0:
        bias = ZERO + vector_product(w, vector_sum(linear(V, k), -1.0, linear(V, p)))
    if kind != JOINT_FLOATING:  # whose H is constant in world axes
        for i in range(s, s + r):  # the rows turn with the parent: dh*/dt v = omega_p x h* v
            bias = spatial_sum(bias, v[i], _turning(w, H, i))
    if kind == JOINT_UNIVERSAL:  # and the second axis with the first as well
        bias = spatial_sum(bias, v[s] * v[s + 1], _turning(vector(H, s), H, s + 1))
    put_spatial(a, k, bias)


@kernel
def integrate_joints(tree, v, dt, q):
    """Advance q by velocity v held for dt, on each joint's manifold, in place (exponential map)."""
    for k in range(tree.parent.shape[0]):
        integrate_joint(tree, k, v, dt, q)


@part
def integrate_joint(tree, k, v, dt, q):
    """``integrate_joints`` of joint k alone."""
    s = tree.q_start[k]
    d = tree.v_start[k]
    kind = tree.joint_type[k]
    if kind == JOINT_FLOATING:
        # a floating joint hangs on the inertial frame: world axes to joint axes is R_joint*
        back = transposed(matrix(tree.R_joint, k))
        x, y, z = turned(back, (v[d], v[d + 1], v[d + 2]))
        rotate_quaternion(q, s + 3, x * dt, y * dt, z * dt)
        x, y, z = turned(back, (v[d + 3], v[d + 4], v[d + 5]))
        q[s], q[s + 1], q[s + 2] = vector_sum((q[s], q[s + 1], q[s + 2]), dt, (x, y, z))
    elif kind == JOINT_SPHERICAL:
        rotate_quaternion(q, s, v[d] * dt, v[d + 1] * dt, v[d + 2] * dt)
    else:
        for i in range(tree.nv[k]):
            q[s + i] += v[d + i] * dt
