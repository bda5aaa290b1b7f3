# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Forward kinematics: body poses, hinge maps, spatial velocities, inertias and bias terms (ascending sweeps).

World axes, each body about its own origin: phi(p, k) is a pure shift by l(k) = p(k) - p(parent).

The sweeps keep a body's numbers in tuples of scalars (``spatial``): with stores in between everything would be loaded
again (poses of a revolute chain 107 -> 30 ns a body, inertias 38 -> 16).
"""

from mb_contact.core.jit import sweep
from mb_contact.core.tree.joints import joint_bias, joint_map, joint_motion, revolute_motion
from mb_contact.core.tree.modal import (
    has_modes,
    modal_bias,
    modal_inertias,
    modal_velocities,
    place_node,
    take_coordinates,
)
from mb_contact.core.tree.rotations import multiply
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    centripetal,
    linear,
    matrix,
    moved,
    product,
    put_matrix,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    turned,
    vector,
    vector_product,
    vector_sum,
)
from mb_contact.core.trigonometry import sines_and_cosines
from mb_contact.types import JOINT_NODE, JOINT_PRISMATIC, JOINT_REVOLUTE, JOINT_SCREW


@sweep
def body_poses(tree, q, kin):
    """Poses, offsets l and hinge maps H of all bodies at q, into ``kin``."""
    sines_and_cosines(q, kin.angle, kin.sine, kin.cosine)
    take_coordinates(kin.modal, q)
    for k in range(tree.parent.shape[0]):
        body_pose(tree, q, kin, k)


@sweep
def body_pose(tree, q, kin, k):
    """Pose, offset l and hinge map H(k) of body k, whose parent has its own; ``kin`` holds sines and cosines of q."""
    kind = tree.joint_type
    m = tree.parent[k]
    l = vector(tree.p_joint, k)
    b = matrix(tree.R_joint, k)
    if m >= 0:
        r = matrix(kin.R, m)
        l = turned(r, l)
        b = product(r, b)
    if kind[k] == JOINT_REVOLUTE:
        r, h = revolute_motion(b, vector(tree.axis, k), kin.sine[tree.q_start[k]], kin.cosine[tree.q_start[k]])
        put_matrix(kin.R, k, r)
        put_spatial(kin.H, tree.v_start[k], h + ZERO)
    elif kind[k] == JOINT_PRISMATIC:
        h = turned(b, vector(tree.axis, k))
        put_matrix(kin.R, k, b)
        put_spatial(kin.H, tree.v_start[k], ZERO + h)
        l = vector_sum(l, q[tree.q_start[k]], h)
    elif kind[k] == JOINT_SCREW:
        r, h = revolute_motion(b, vector(tree.axis, k), kin.sine[tree.q_start[k]], kin.cosine[tree.q_start[k]])
        along = turned(b, vector(tree.axis2, k))
        put_matrix(kin.R, k, r)
        put_spatial(kin.H, tree.v_start[k], h + along)
        l = vector_sum(l, q[tree.q_start[k]], along)
    else:
        put_matrix(kin.base, 0, b)
        joint_motion(kind[k], tree.q_start[k], tree.axis, tree.axis2, k, q, kin.turn, kin.shift)
        multiply(kin.base, 0, kin.turn, 0, kin.R, k)
        joint_map(kind[k], tree.v_start[k], tree.nv[k], tree.axis, tree.axis2, k, kin.base, kin.R, kin.H)
        l = vector_sum(l, 1.0, turned(b, vector(kin.shift, 0)))
        if kind[k] == JOINT_NODE:
            l = place_node(tree, kin, k, l)
    # l is built from the joint, not from a difference of large positions
    put_vector(kin.l, k, l)
    put_vector(kin.p, k, vector_sum(l, 1.0, vector(kin.p, m)) if m >= 0 else l)


@sweep
def body_velocities(tree, kin, v, V):
    """Spatial velocities ``V(k) = phi*(p, k) V(p) + H*(k) v(k)`` into V (n, 6)."""
    if has_modes(kin):
        modal_velocities(tree, kin, v, V)
        return
    for k in range(tree.parent.shape[0]):
        V_k = moved(spatial(V, tree.parent[k]), vector(kin.l, k)) if tree.parent[k] >= 0 else STILL
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            V_k = spatial_sum(V_k, v[i], spatial(kin.H, i))
        put_spatial(V, k, V_k)


@sweep
def body_inertias(tree, kin):
    """World-axes rotational inertia about the body origin and first moment, into ``kin.I`` and ``kin.mc``.

    The spatial inertia of body k is ``M(k) = [[I, m c~], [-m c~, m 1]]``.
    """
    for k in range(tree.mass.shape[0]):
        r = matrix(kin.R, k)
        cx, cy, cz = turned(r, vector(tree.com, k))
        mx, my, mz = tree.mass[k] * cx, tree.mass[k] * cy, tree.mass[k] * cz
        t = product(r, matrix(tree.inertia, k))  # R Ic
        xx = mx * cx
        yy = my * cy
        zz = mz * cz
        xy = t[0] * r[3] + t[1] * r[4] + t[2] * r[5] - mx * cy
        xz = t[0] * r[6] + t[1] * r[7] + t[2] * r[8] - mx * cz
        yz = t[3] * r[6] + t[4] * r[7] + t[5] * r[8] - my * cz
        xx, yy, zz = (
            t[0] * r[0] + t[1] * r[1] + t[2] * r[2] + yy + zz,
            t[3] * r[3] + t[4] * r[4] + t[5] * r[5] + xx + zz,
            t[6] * r[6] + t[7] * r[7] + t[8] * r[8] + xx + yy,
        )
        put_matrix(kin.I, k, (xx, xy, xz, xy, yy, yz, xz, yz, zz))
        put_vector(kin.mc, k, (mx, my, mz))
    if has_modes(kin):
        modal_inertias(kin)


@sweep
def bias_terms(tree, kin, v):
    """Coriolis accelerations a(k) and gyroscopic forces b(k) = [w x I w; w x (w x m c)], from ``kin.V``."""
    kind = tree.joint_type
    for k in range(tree.parent.shape[0]):
        w = vector(kin.V, k)
        gyroscopic = vector_product(w, turned(matrix(kin.I, k), w))
        put_spatial(kin.b, k, gyroscopic + centripetal(w, vector(kin.mc, k)))
        s = tree.v_start[k]
        m = tree.parent[k]
        if kind[k] != JOINT_REVOLUTE or m < 0:
            joint_bias(kind[k], m, s, tree.nv[k], k, kin.H, v, kin.V, kin.a)
            continue
        # the same for the most frequent joint, written out: a call with its arrays costs as much as the rest
        w = vector(kin.V, m)
        turning = vector_product(w, vector_sum(ZERO, v[s], vector(kin.H, s)))
        put_spatial(kin.a, k, turning + vector_product(w, vector_sum(linear(kin.V, k), -1.0, linear(kin.V, m))))
    if has_modes(kin):
        modal_bias(kin, v)
