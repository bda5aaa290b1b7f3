# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How a tree's twists and wrenches change with its coordinates, along the paths of bodies to the root.

All twists and wrenches are taken in world axes at the world's origin.  S_j is the twist of the degree of freedom j.
One that carries j, i, turns it: dS_j/dq_i = S_i x S_j (``core/tree/derivatives.py``).  A mode of a flexible link moves
each node by a twist of its own, and what a node carries by that of the node (``core/tree/modal_rates.py``).
"""

from mb_contact.core.arrays import copy, fill
from mb_contact.core.gradients.workspace import BODY_A, BODY_B, PATH
from mb_contact.core.jit import NOTHING, kernel, on_demand, sweep
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.core.tree.joints import comes_before
from mb_contact.core.tree.modal import has_modes, node_motion
from mb_contact.core.tree.modal_rates import column_at, column_change, put_columns, turn_columns
from mb_contact.core.tree.spatial import (
    STILL,
    add_spatial,
    force_cross,
    motion_cross,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_product,
    vector_sum,
)


@sweep
def at_origin(V, p):
    """The twist V about p at the world's origin."""
    return V[:3] + vector_sum(V[3:], 1.0, vector_product(p, V[:3]))


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
        put_spatial(g.S, i, at_origin(h, vector(d.kin.p, g.body[i])))
    for k in range(g.total.shape[0]):
        put_spatial(g.total, k, STILL)
        V = spatial(g.end_twist, d.tree.parent[k]) if d.tree.parent[k] >= 0 else STILL
        for i in range(d.tree.v_start[k], d.tree.v_start[k] + d.tree.nv[k]):
            V = spatial_sum(V, a.v[i], spatial(g.S, i))
        if has_modes(d.kin):
            V = spatial_sum(V, 1.0, at_origin(node_motion(d.kin.modal, k, a.v), vector(d.kin.p, k)))
        put_spatial(g.end_twist, k, V)
    copy(q.shape[0], q, g.q)
    g.count[PATH], g.count[BODY_A], g.count[BODY_B] = 0, -2, -2


@kernel
def body_twists(g, k, out):
    """S_j of body k for the degrees of freedom on its path, into rows of ``out``: modes move each node by its own."""
    i = g.tip[k] if k >= 0 else -1
    while i >= 0:
        put_spatial(out, i, spatial(g.S, i))
        i = g.d.before[i]
    while has_modes(g.d.kin) and k >= 0:
        e = g.d.kin.modal.node_of[k]
        if e >= 0:
            put_columns(g.d.kin, e, vector(g.d.kin.p, k), out)
        k = g.d.tree.parent[k]


@kernel
def turn_twists(g, k, v, out):
    """dV/dq of body k at velocities v, into rows of ``out``: S_i x the sum of S_j v_j that i carries."""
    tree, beyond = g.d.tree, STILL
    while k >= 0:
        first, behind, kind = tree.v_start[k], tree.v_start[k] + tree.nv[k], tree.joint_type[k]
        for m in range(first, behind):
            carried = beyond
            for j in range(first, behind):
                if comes_before(kind, m - first, j - first):
                    carried = spatial_sum(carried, v[j], spatial(g.S, j))
            put_spatial(out, m, motion_cross(spatial(g.S, m), carried))
        for j in range(first, behind):
            beyond = spatial_sum(beyond, v[j], spatial(g.S, j))
        if has_modes(g.d.kin) and g.d.kin.modal.node_of[k] >= 0:
            beyond = turn_columns(g.d.kin, g.d.kin.modal.node_of[k], v, beyond, out)
        k = tree.parent[k]


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
def begin_twists(g, k, m):
    """Paths of bodies k and m, and the twists along them."""
    join_paths(g, g.tip[k] if k >= 0 else -1, g.tip[m] if m >= 0 else -1)
    body_twists(g, k, g.twist_a)
    body_twists(g, m, g.twist_b)


@sweep
def twists_along(g, e):
    """Twists of entry e of the path, where it moves A and where it moves B."""
    j, side = g.path[e], g.side[e]
    return spatial(g.twist_a, j) if side != 2 else STILL, spatial(g.twist_b, j) if side != 1 else STILL


@kernel
def begin_bodies(g, a, k, m):
    """Paths and turned twists of bodies k and m; False where they are those of the last contact."""
    if g.count[BODY_A] == k and g.count[BODY_B] == m:
        return False
    settle_push(g)
    g.count[BODY_A], g.count[BODY_B] = k, m
    begin_twists(g, k, m)
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
        S_a, S_b = twists_along(g, i)
        for j in range(g.count[PATH]):
            column = g.path[j]
            if side != 2:
                g.efforts[row, column] += spatial_dot(S_a, spatial(g.push, column))
            if side != 1:
                g.efforts[row, column] -= spatial_dot(S_b, spatial(g.pull, column))
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
            moved = vector_product(velocity_at(twists_along(g, i)[0], p), w[3:])
            add_spatial(g.push, g.path[i], spatial_sum(STILL, dt, moved + (0.0, 0.0, 0.0)))
    settle_push(g)


@kernel
def turn_wrenches(g):
    """Add the derivative by q of the efforts J* f of the wrenches ``total``, which stay what they are."""
    tree = g.d.tree
    for k in range(g.total.shape[0] - 1, -1, -1):
        first = tree.v_start[k]
        f = spatial(g.total, k)
        if has_modes(g.d.kin) and g.d.kin.modal.node_of[k] >= 0:
            _turn_node_wrench(g, k, f)
        for i in range(first, first + tree.nv[k]):
            turned = force_cross(spatial(g.S, i), f)
            for j in range(first, first + tree.nv[k]):
                if comes_before(tree.joint_type[k], j - first, i - first):
                    g.efforts[i, j] += spatial_dot(turned, spatial(g.S, j))
            _carry(g, k, i, g.d.before[first], turned)
        if tree.parent[k] >= 0:
            add_spatial(g.total, tree.parent[k], f)


@kernel
def _carry(g, k, i, j, turned):
    """Efforts of i by the degrees of freedom from j on, which carry its axis; S_i x* f is ``turned``."""
    if has_modes(g.d.kin):
        body_twists(g, g.d.tree.parent[k], g.twist_a)
    while j >= 0:
        g.efforts[i, j] += spatial_dot(turned, spatial(g.twist_a if has_modes(g.d.kin) else g.S, j))
        j = g.d.before[j]


@on_demand(NOTHING)
def _turn_node_wrench(g, k, f):
    """Efforts on the modes of the node that is body k, which has the wrench f."""
    modal = g.d.kin.modal
    e, x = modal.node_of[k], vector(g.d.kin.p, k)
    first, behind = modal.first_mode[modal.link_of[e]], modal.first_mode[modal.link_of[e] + 1]
    start = modal.v_start[modal.link_of[e]]
    for i in range(behind - first):
        _carry(g, k, start + i, g.d.before[start], force_cross(column_at(modal, e, i, x), f))
        for j in range(behind - first):
            g.efforts[start + i, start + j] += spatial_dot(column_change(g.d.kin, e, i, j, x), f)
