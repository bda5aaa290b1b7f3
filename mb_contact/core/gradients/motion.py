# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a tree's twists and wrenches change with its coordinates, along the paths of bodies to the root.

All twists and wrenches are taken in world axes at the world's origin.  S_j is the twist of the degree of freedom j.
One that carries j, i, turns it: dS_j/dq_i = S_i x S_j (``core/tree/derivatives.py``).
"""

from mb_contact.core.arrays import copy, fill
from mb_contact.core.gradients.workspace import BODY_A, BODY_B, PATH
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.derivatives import comes_before, evaluate_inverse_derivatives, force_cross, motion_cross
from mb_contact.core.tree.spatial import (
    STILL,
    add_spatial,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_product,
    vector_sum,
)


@sweep
def velocity_at(V, x):
    """Velocity of the point at x of a body with the twist V."""
    return vector_sum(V[3:], 1.0, vector_product(V[:3], x))


@kernel
def move_twists(g, a, q, v, moving, gravity, dt):
    """Derivatives of inverse dynamics at the velocities ``moving``, and the twists S; nothing pushes yet."""
    d = g.d
    for i in range(v.shape[0]):
        g.rate[i] = (a.v[i] - v[i]) / dt
        fill(v.shape[0], g.efforts[i], 0.0)
    evaluate_inverse_derivatives(d, q, moving, g.rate, gravity)
    for i in range(v.shape[0]):
        h = spatial(d.kin.H, i)
        put_spatial(g.S, i, h[:3] + vector_sum(h[3:], 1.0, vector_product(vector(d.kin.p, g.body[i]), h[:3])))
    for k in range(g.total.shape[0]):
        put_spatial(g.total, k, STILL)
        V = spatial(g.end_twist, d.tree.parent[k]) if d.tree.parent[k] >= 0 else STILL
        for i in range(d.tree.v_start[k], d.tree.v_start[k] + d.tree.nv[k]):
            V = spatial_sum(V, a.v[i], spatial(g.S, i))
        put_spatial(g.end_twist, k, V)
    copy(q.shape[0], q, g.q)
    g.count[PATH], g.count[BODY_A], g.count[BODY_B] = 0, -2, -2


@kernel
def turn_twists(g, k, v, out):
    """dV/dq of body k at velocities v, into rows of ``out``: S_i x the sum of S_j v_j that i carries."""
    tree = g.d.tree
    beyond = STILL
    i = g.tip[k] if k >= 0 else -1
    while i >= 0:
        first = tree.v_start[g.body[i]]
        kind = tree.joint_type[g.body[i]]
        for m in range(first, i + 1):
            carried = beyond
            for j in range(first, i + 1):
                if comes_before(kind, m - first, j - first):
                    carried = spatial_sum(carried, v[j], spatial(g.S, j))
            put_spatial(out, m, motion_cross(spatial(g.S, m), carried))
        for j in range(first, i + 1):
            beyond = spatial_sum(beyond, v[j], spatial(g.S, j))
        i = g.d.before[first]


@kernel
def join_paths(g, i, j):
    """``path`` and ``side`` of the paths from the degrees of freedom i (of A) and j (of B) to the root."""
    count = 0
    while i >= 0 or j >= 0:
        at = max(i, j)
        g.path[count] = at
        g.side[count] = (1 if i == at else 0) + (2 if j == at else 0)
        i = g.d.before[i] if i == at else i
        j = g.d.before[j] if j == at else j
        count += 1
    g.count[PATH] = count


@kernel
def begin_bodies(g, a, k, m):
    """Paths and turned twists of bodies k and m; False where they are those of the last contact."""
    if g.count[BODY_A] == k and g.count[BODY_B] == m:
        return False
    settle_push(g)
    g.count[BODY_A], g.count[BODY_B] = k, m
    join_paths(g, g.tip[k] if k >= 0 else -1, g.tip[m] if m >= 0 else -1)
    turn_twists(g, k, a.v, g.turned_a)
    turn_twists(g, m, a.v, g.turned_b)
    for i in range(g.count[PATH]):
        put_spatial(g.push, g.path[i], STILL)
        put_spatial(g.pull, g.path[i], STILL)
    return True


@kernel
def settle_push(g):
    """Efforts of what ``push`` and ``pull`` have gathered for the present pair of bodies."""
    for i in range(g.count[PATH]):
        row, side = g.path[i], g.side[i]
        S = spatial(g.S, row)
        for j in range(g.count[PATH]):
            column = g.path[j]
            if side != 2:
                g.efforts[row, column] += spatial_dot(S, spatial(g.push, column))
            if side != 1:
                g.efforts[row, column] -= spatial_dot(S, spatial(g.pull, column))
    g.count[PATH] = 0
    g.count[BODY_A] = g.count[BODY_B] = -2


@kernel
def push_outside(g, a, dt):
    """Impulses of external wrenches, which act at the origins of bodies, and how they follow these."""
    for k in range(g.total.shape[0] if g.smooth[0] != 0.0 else 0):
        w = spatial(a.work.external, k)
        if spatial_dot(w, w) == 0.0:
            continue
        p = vector(g.d.kin.p, k)
        add_spatial(g.total, k, spatial_sum(STILL, dt, vector_sum(w[:3], 1.0, vector_product(p, w[3:])) + w[3:]))
        begin_bodies(g, a, k, -1)
        for i in range(g.count[PATH]):
            moved = vector_product(velocity_at(spatial(g.S, g.path[i]), p), w[3:])
            add_spatial(g.push, g.path[i], spatial_sum(STILL, dt, moved + (0.0, 0.0, 0.0)))
    settle_push(g)


@kernel
def turn_wrenches(g):
    """Add the derivative by q of the efforts J* f of the wrenches ``total``, which stay what they are."""
    tree = g.d.tree
    for k in range(g.total.shape[0] - 1, -1, -1):
        first = tree.v_start[k]
        f = spatial(g.total, k)
        for i in range(first, first + tree.nv[k]):
            turned = force_cross(spatial(g.S, i), f)
            for j in range(first, first + tree.nv[k]):
                if comes_before(tree.joint_type[k], j - first, i - first):
                    g.efforts[i, j] += spatial_dot(turned, spatial(g.S, j))
            j = g.d.before[first]
            while j >= 0:
                g.efforts[i, j] += spatial_dot(turned, spatial(g.S, j))
                j = g.d.before[j]
        if tree.parent[k] >= 0:
            add_spatial(g.total, tree.parent[k], f)
