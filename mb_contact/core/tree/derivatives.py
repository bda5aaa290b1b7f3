# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of inverse and forward dynamics with respect to coordinates and velocities, in O(N d), d the depth.

All spatial quantities are taken in world axes at one fixed point o, where the root of the tree happens to be, so that
those of bodies add up without shifts.  A degree of freedom i of body k moves the subtree of k with the twist S_i.  It
comes *before* another one, j, if it carries the axis of j along: those of the bodies between k and the root come before
those of k; within a joint, displacements before rotations, and the first axis of a universal joint before the second.
Then d S_j / d q_i = S_i x S_j, and otherwise 0.  With the velocity W_i and the acceleration B_i of what i does not
carry along (its parent and those of its own joint that do not come after it),

    psi_i = W_i x S_i,    chi_i = B_i x S_i + W_i x psi_i

are what a motion along q_i adds to velocities and accelerations of the subtree beside turning them with it:

    dV/dq_i = S_i x V + psi_i,    dA/dq_i = S_i x A + chi_i + psi_i x V,
    dV/dv_i = S_i,                dA/dv_i = S_i x V + psi_i + dS_i/dt.

Forces f = I A + V x* I V turn with it too, and what is left is ``I chi + C psi`` and ``I (psi + dS/dt) + C S`` with

    C x = I (x x V) + x x* (I V) + V x* (I x) = [P w; 2 w x h]    of x = [w; .],

    P w = tr(J) w x omega + 2 omega x J w + 2 m c x (w x v),    h the linear momentum,

which needs the angular part of x alone.  I, P, h and f are summed over subtrees on the way down.
"""

from typing import Annotated, NamedTuple

from mb_contact.compile.handles import handle
from mb_contact.core.arrays import copy
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.evaluate import finite, forward_dynamics_at, move
from mb_contact.core.tree.joints import comes_before
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.modal_derivatives import modal_inverse_derivatives
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    add_vector,
    between,
    force_cross,
    matrix,
    momentum,
    motion_cross,
    put_matrix,
    put_spatial,
    put_vector,
    spatial,
    spatial_dot,
    spatial_sum,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.tree_workspace import (
    Articulated,
    Kinematics,
    flexible_aggregates,
    make_articulated,
    make_kinematics,
    make_modal,
)
from mb_contact.types import NOT_FINITE, OK, Tree


class Tangents(NamedTuple):
    """Of n bodies along a column of the derivatives (``modal_derivatives.py``)."""

    X: Annotated[Reals, "n", 6]  #: twist by which they move
    V: Annotated[Reals, "n", 6]  #: change of V
    A: Annotated[Reals, "n", 6]
    f: Annotated[Reals, "n", 6]  #: of forces of single bodies, then of whole subtrees
    own: Annotated[Reals, "n", 6]  #: forces of single bodies
    v: Annotated[Reals, "N"]  #: velocities at which they were evaluated
    effort: Annotated[Reals, "N"]  #: of flexible links themselves on their modes


class DerivativeArrays(NamedTuple):
    """A tree, n bodies and N degrees of freedom, with workspaces and results."""

    tree: Tree
    kin: Kinematics
    art: Articulated
    along: Tangents  #: of trees with flexible links
    before: Annotated[Integers, "N"]  #: the next degree of freedom towards the root, -1 at it
    tip: Annotated[Integers, "n"]  #: the last degree of freedom that moves a body, or -1
    still: Annotated[Reals, "n", 6]  #: zeros
    v_dot: Annotated[Reals, "N"]
    S: Annotated[Reals, "N", 6]
    S_dot: Annotated[Reals, "N", 6]
    psi: Annotated[Reals, "N", 6]
    chi: Annotated[Reals, "N", 6]
    bend: Annotated[Reals, "N", 6]  #: psi + dS/dt
    V: Annotated[Reals, "n", 6]
    A: Annotated[Reals, "n", 6]
    J: Annotated[Reals, "n", 3, 3]  #: from here on of whole subtrees: moment of inertia about o
    mc: Annotated[Reals, "n", 3]
    mass: Annotated[Reals, "n"]
    P: Annotated[Reals, "n", 3, 3]
    h: Annotated[Reals, "n", 3]
    f: Annotated[Reals, "n", 6]
    M: Annotated[Reals, "N", "N"]  #: mass matrix, or its factors
    d_q: Annotated[Reals, "N", "N"]  #: of the efforts
    d_v: Annotated[Reals, "N", "N"]
    out: Annotated[Reals, "N", "3 * N"]  #: d v_dot by q, v and effort, side by side


DerivativeArraysHandleType, DerivativeArraysHandle, make_derivative_handle = handle(DerivativeArrays)


def make_derivative_arrays(tree, links=()):
    """DerivativeArrays of a Tree, ``links`` the FlexibleBody of its flexible links.

    Modes stand behind one another on the paths of what the nodes of their link carry.
    """
    n, N = len(tree.parent), len(tree.armature)
    art = make_articulated(n, N, flexible_aggregates(tree, links))
    kin = make_kinematics(n, N, make_modal(tree, links))
    along = allocate(Tangents, n=n, N=N) if links else allocate(Tangents, n=0, N=0)
    arrays = allocate(DerivativeArrays, n=n, N=N, tree=tree, kin=kin, art=art, along=along)
    behind = {mode: link.modes[i] for link in links for i, mode in enumerate(link.modes[1:])}
    behind |= {node: link.modes[-1] for link in links for node in link.nodes}
    for k in range(n):
        m = behind.get(k, tree.parent[k])
        tip = arrays.tip[m] if m >= 0 else -1
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            arrays.before[i], tip = tip, i
        arrays.tip[k] = tip
    return arrays


@kernel
def _ascend(d, v, gravity):
    """Twists, velocities, accelerations, psi, chi; inertias and forces of single bodies."""
    tree = d.tree
    kin = d.kin
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    for k in range(tree.parent.shape[0]):
        m = tree.parent[k]
        x = between(kin.p, k, kin.p, tree.root[k])
        V_m = spatial(d.V, m) if m >= 0 else STILL
        A_m = spatial(d.A, m) if m >= 0 else base
        kind = tree.joint_type[k]
        first = tree.v_start[k]
        last = first + tree.nv[k]
        V_k = V_m
        for i in range(first, last):
            h = spatial(kin.H, i)
            put_spatial(d.S, i, h[:3] + vector_sum(h[3:], -1.0, vector_product(h[:3], x)))
            V_k = spatial_sum(V_k, v[i], spatial(d.S, i))
        A_k = A_m
        for i in range(first, last):
            carrying = V_m
            for j in range(first, last):
                if comes_before(kind, j - first, i - first):
                    carrying = spatial_sum(carrying, v[j], spatial(d.S, j))
            put_spatial(d.S_dot, i, motion_cross(carrying, spatial(d.S, i)))
            A_k = spatial_sum(spatial_sum(A_k, d.v_dot[i], spatial(d.S, i)), v[i], spatial(d.S_dot, i))
        for i in range(first, last):
            S = spatial(d.S, i)
            W = V_k
            B = A_k
            for j in range(first, last):
                if comes_before(kind, i - first, j - first):
                    W = spatial_sum(W, -v[j], spatial(d.S, j))
                    B = spatial_sum(spatial_sum(B, -d.v_dot[j], spatial(d.S, j)), -v[j], spatial(d.S_dot, j))
            psi = motion_cross(W, S)
            put_spatial(d.psi, i, psi)
            put_spatial(d.chi, i, spatial_sum(motion_cross(B, S), 1.0, motion_cross(W, psi)))
            put_spatial(d.bend, i, spatial_sum(psi, 1.0, spatial(d.S_dot, i)))
        put_spatial(d.V, k, V_k)
        put_spatial(d.A, k, A_k)
        _body(d, k, x, V_k, A_k)


@sweep
def _body(d, k, x, V, A):
    """Inertia, P, linear momentum and force of body k, whose origin is at x from o."""
    m = d.tree.mass[k]
    c = vector(d.kin.mc, k)
    s = 2.0 * vector_dot(x, c) + m * vector_dot(x, x)
    y = vector_sum(c, m, x)  # J = I + (2 x.c + m x.x) 1 - x c* - (c + m x) x*
    i = matrix(d.kin.I, k)
    J = (
        i[0] + s - x[0] * c[0] - y[0] * x[0],
        i[1] - x[0] * c[1] - y[0] * x[1],
        i[2] - x[0] * c[2] - y[0] * x[2],
        i[3] - x[1] * c[0] - y[1] * x[0],
        i[4] + s - x[1] * c[1] - y[1] * x[1],
        i[5] - x[1] * c[2] - y[1] * x[2],
        i[6] - x[2] * c[0] - y[2] * x[0],
        i[7] - x[2] * c[1] - y[2] * x[1],
        i[8] + s - x[2] * c[2] - y[2] * x[2],
    )
    put_matrix(d.J, k, J)
    put_vector(d.mc, k, y)
    d.mass[k] = m
    at = momentum(d.J, d.mc, m, k, V)
    put_vector(d.h, k, at[3:])
    put_spatial(d.f, k, spatial_sum(momentum(d.J, d.mc, m, k, A), 1.0, force_cross(V, at)))
    columns = (
        _turning(J, y, V, (1.0, 0.0, 0.0)) + _turning(J, y, V, (0.0, 1.0, 0.0)) + _turning(J, y, V, (0.0, 0.0, 1.0))
    )
    put_matrix(d.P, k, transposed(columns))


@sweep
def _turning(J, c, V, w):
    """``P w``, with c the first moment."""
    spin = V[:3]
    a = vector_sum(ZERO, J[0] + J[4] + J[8], vector_product(w, spin))
    a = vector_sum(a, 2.0, vector_product(spin, turned(J, w)))
    return vector_sum(a, 2.0, vector_product(c, vector_product(w, V[3:])))


@kernel
def _descend(d):
    """Sums over subtrees, and from them ``d_q``, ``d_v`` and ``M``."""
    tree = d.tree
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        m = tree.parent[k]
        first = tree.v_start[k]
        last = first + tree.nv[k]
        P = matrix(d.P, k)
        h = vector(d.h, k)
        f = spatial(d.f, k)
        for i in range(first, last):
            S = spatial(d.S, i)
            left = _force(d, k, P, h, spatial(d.psi, i), spatial(d.chi, i))
            turned_too = spatial_sum(left, 1.0, force_cross(S, f))
            by_v = _force(d, k, P, h, S, spatial(d.bend, i))
            push = momentum(d.J, d.mc, d.mass[k], k, S)
            back = vector_sum(turned(transposed(P), S[:3]), 2.0, vector_product(h, S[3:]))  # C* S
            for j in range(first, last):
                other = spatial(d.S, j)
                carried = comes_before(tree.joint_type[k], i - first, j - first)
                d.d_q[j, i] = spatial_dot(other, left if carried else turned_too)
                d.d_v[j, i] = spatial_dot(other, by_v)
                d.M[j, i] = spatial_dot(other, push)
            d.M[i, i] += tree.armature[i]
            j = d.before[first]
            while j >= 0:
                other = spatial(d.S, j)
                d.d_q[j, i] = spatial_dot(other, turned_too)
                d.d_v[j, i] = spatial_dot(other, by_v)
                d.d_q[i, j] = vector_dot(back, vector(d.psi, j)) + spatial_dot(push, spatial(d.chi, j))
                d.d_v[i, j] = vector_dot(back, other[:3]) + spatial_dot(push, spatial(d.bend, j))
                d.M[i, j] = spatial_dot(push, other)
                d.M[j, i] = d.M[i, j]
                j = d.before[j]
        if m >= 0:
            for a in range(3):
                add_vector(d.J[m], a, vector(d.J[k], a))
                add_vector(d.P[m], a, vector(d.P[k], a))
            add_vector(d.mc, m, vector(d.mc, k))
            add_vector(d.h, m, h)
            add_spatial(d.f, m, f)
            d.mass[m] += d.mass[k]


@sweep
def _force(d, k, P, h, x, y):
    """``C x + I y`` of the subtree of body k."""
    return spatial_sum(
        turned(P, x[:3]) + vector_sum(ZERO, 2.0, vector_product(x[:3], h)), 1.0, momentum(d.J, d.mc, d.mass[k], k, y)
    )


@kernel
def _differentiate(d, v, gravity):
    """``d_q``, ``d_v`` and ``M`` at the accelerations v_dot."""
    if has_modes(d.kin):
        modal_inverse_derivatives(d, v, gravity)
        return
    _ascend(d, v, gravity)
    _descend(d)


@kernel
def evaluate_inverse_derivatives(d, q, v, v_dot, gravity):
    """``d_q``, ``d_v`` and ``M`` of the efforts for accelerations v_dot; (status, body)."""
    if not finite(v_dot) or not finite(gravity):
        return NOT_FINITE, -1
    status, body = move(d.tree, d.kin, q, v)
    if status == OK:
        copy(v.shape[0], v_dot, d.v_dot)
        _differentiate(d, v, gravity)
    return status, body


@kernel
def evaluate_forward_derivatives(d, q, v, effort, gravity):
    """``out`` of the accelerations that ``effort`` makes, joint damping included; (status, body)."""
    status, body = forward_dynamics_at(d.tree, d.kin, d.art, d.still, q, v, effort, gravity, d.v_dot)
    if status != OK:
        return status, body
    _differentiate(d, v, gravity)
    factor(d.before, d.M)
    N = v.shape[0]
    for i in range(N):
        for j in range(N):
            d.out[i, j] = -d.d_q[i, j]
            d.out[i, N + j] = -d.d_v[i, j]
            d.out[i, 2 * N + j] = 0.0
        d.out[i, N + i] -= d.tree.damping[i]
        d.out[i, 2 * N + i] = 1.0
    reduce_right(d.before, d.M, d.out)
    expand_right(d.before, d.M, d.out)
    return OK, -1


@kernel
def factor(before, M):
    """``M = L* D L`` in place, L with a unit diagonal and entries where ``before`` leads: no fill."""
    for k in range(before.shape[0] - 1, -1, -1):
        i = before[k]
        while i >= 0:
            a = M[k, i] / M[k, k]
            j = i
            while j >= 0:
                M[i, j] -= a * M[k, j]
                j = before[j]
            M[k, i] = a
            i = before[i]


@sweep
def reduce_right(before, M, X):
    """``X := L^-* X`` with the factors of ``factor``, rows of X at a time."""
    for i in range(before.shape[0] - 1, -1, -1):
        j = before[i]
        while j >= 0:
            for c in range(X.shape[1]):
                X[j, c] -= M[i, j] * X[i, c]
            j = before[j]


@sweep
def expand_right(before, M, X):
    """``X := L^-1 D^-1 X``, behind which M^-1 of what ``reduce_right`` was given stands there."""
    for i in range(before.shape[0]):
        for c in range(X.shape[1]):
            X[i, c] /= M[i, i]
        j = before[i]
        while j >= 0:
            for c in range(X.shape[1]):
                X[i, c] -= M[i, j] * X[j, c]
            j = before[j]
