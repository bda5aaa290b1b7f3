# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An island posed by its touched nodes: which they are, A and Omega from ``tree/compliance.py`` (J14 section 8)."""

import numpy as np

from mb_contact.core.constraints.bilateral import TENDONS
from mb_contact.core.constraints.gear import partners
from mb_contact.core.constraints.rows import rate_axis
from mb_contact.core.jit import NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.solve.islands import leader_of
from mb_contact.core.solve.system import BLOCKS, BY_ROWS, COORDINATES, ISLANDS, ROWS
from mb_contact.core.tree.spatial import (
    STILL,
    dot_at,
    gathered,
    moved,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
)
from mb_contact.core.workspace import CONTACT

NODES_COST = 4e3  #: multiply-adds of one Newton step beside the cube of the coordinates
SUSPECT = 1e-9  #: of the largest compliance: a problem with rows below it is posed otherwise


@on_demand(TRUTH)
def choose_nodes(P, forest, tree, rows, bil):
    """Number the nodes of the only island; False where another form costs less, or this one cannot pose the problem."""
    nodes, count = P.nodes, 0
    if P.count[ISLANDS] != 1 or nodes.node.shape[0] == 0 or bil.info[TENDONS] > 0:
        return False
    others = float(P.count[ROWS]) ** 3 if P.form[0] == BY_ROWS else _cost_by_bodies(P, forest, tree)
    if NODES_COST >= others:
        return False
    nodes.node[:] = -1
    nodes.joint[:] = -1
    for b in range(P.count[BLOCKS]):
        partner, behind, _ = partners(bil, P.source[P.blocks.start[b]])
        partner = partner if partner < behind else -1
        for i in range(P.blocks.start[b], P.blocks.start[b + 1]):
            row = P.source[i]
            nodes.at[i, 0] = nodes.at[i, 1] = -1
            for side in range(2):
                body = rows.body_a[row] if side == 0 else rows.body_b[row]
                d = rows.dof[row] if side == 0 or partner < 0 else rows.dof[partner]
                if rows.dof[row] < 0 and body >= 0:
                    count = _number(nodes.node, body, 6, count)
                    nodes.at[i, side] = nodes.node[body]
                elif rows.dof[row] >= 0 and (side == 0 or partner >= 0):
                    count = _number(nodes.joint, d, 1, count)
                    nodes.at[i, side] = nodes.joint[d]
            if count > COORDINATES:
                return False
    nodes.count[0] = count
    return float(count) ** 3 + NODES_COST < others


@sweep
def _number(first, k, size, count):
    """Give node k, of so many coordinates, the next ones behind ``count`` unless it has some; the new count."""
    if first[k] >= 0:
        return count
    first[k] = count
    return count + size


@sweep
def _cost_by_bodies(P, forest, tree):
    """Multiply-adds of one Newton step by bodies on the only island."""
    n = 0.0
    for k in range(tree.parent.shape[0]):
        if forest.number[leader_of(forest.leader, forest.tree[k])] == 0:
            n += tree.nv[k]
    return n * n * n / 3.0 + 4e3 * P.bodies.first_tile[1]


@on_demand(NOTHING)
def take_compliance(P, tree, kin, compliance, count):
    """Omega of the nodes from that of the ``count`` essential bodies."""
    nodes, Omega = P.nodes, P.nodes.Omega
    for i in range(count):
        a = nodes.node[compliance.body[i]]
        for j in range(count if a >= 0 else 0):
            b = nodes.node[compliance.body[j]]
            for k in range(6 if b >= 0 else 0):
                for l in range(6):
                    Omega[a + k, b + l] = compliance.Omega[i, j, k, l] if compliance.same_tree[i, j] != 0 else 0.0
    for k in range(tree.parent.shape[0]):
        a = nodes.joint[tree.v_start[k]] if tree.nv[k] == 1 else -1
        for j in range(count if a >= 0 else 0):
            b = nodes.node[compliance.body[j]]
            v = _unit_rate(tree, kin, compliance, k, compliance.body[j])
            for l in range(6 if b >= 0 else 0):
                Omega[a, b + l] = Omega[b + l, a] = v[l]
        for m in range(k + 1 if a >= 0 else 0):
            b = nodes.joint[tree.v_start[m]] if tree.nv[m] == 1 else -1
            if b >= 0:
                v = _unit_rate(tree, kin, compliance, k, m)
                if tree.parent[m] >= 0:
                    w = _unit_rate(tree, kin, compliance, k, tree.parent[m])
                    v = spatial_sum(v, -1.0, moved(w, vector(kin.l, m)))
                Omega[a, b] = Omega[b, a] = spatial_dot(rate_axis(kin, tree.v_start[m]), v)


@sweep
def _unit_rate(tree, kin, compliance, k, body):
    """Velocity of an essential body under a unit impulse of scalar joint k, which acts between k and its parent."""
    h, m, e = rate_axis(kin, tree.v_start[k]), tree.parent[k], compliance.essential[body]
    v = _essential_velocity(compliance, e, compliance.essential[k], h)
    if m >= 0:
        w = _essential_velocity(compliance, e, compliance.essential[m], gathered(h, vector(kin.l, k)))
        v = spatial_sum(v, -1.0, w)
    return v


@sweep
def _essential_velocity(compliance, e, f, impulse):
    """Omega(e, f) times an impulse."""
    if compliance.same_tree[e, f] == 0:
        return STILL
    W = compliance.Omega[e, f]
    x = (spatial_dot(spatial(W, 0), impulse), spatial_dot(spatial(W, 1), impulse), spatial_dot(spatial(W, 2), impulse))
    y = (spatial_dot(spatial(W, 3), impulse), spatial_dot(spatial(W, 4), impulse), spatial_dot(spatial(W, 5), impulse))
    return x + y


@on_demand(TRUTH)
def assemble_by_nodes(P, rows, bil):
    """A of the nodes, the diagonal of W into D; False where some of it is rounding."""
    _node_rows(P, rows, bil)
    largest = 0.0
    least = np.inf
    for i in range(P.count[ROWS]):
        largest = max(largest, P.blocks.D[i])
        least = min(least, P.blocks.D[i])
    return not least <= SUSPECT * largest


@sweep
def _node_rows(P, rows, bil):
    """A of the rows, the diagonal of W, and W_nt of the contacts."""
    nodes, A, D, own = P.nodes, P.nodes.A, P.blocks.D, P.work.own
    for b in range(P.count[BLOCKS]):
        n, end = P.blocks.start[b], P.blocks.start[b + 1]
        partner, behind, weight = partners(bil, P.source[n])
        for i in range(n, end):
            row = P.source[i]
            for c in range(6):
                A[0, i, c] = rows.on_a[row, c] if rows.dof[row] < 0 and nodes.at[i, 0] >= 0 else 0.0
                A[1, i, c] = rows.on_b[row, c] if rows.dof[row] < 0 and nodes.at[i, 1] >= 0 else 0.0
            if rows.dof[row] >= 0:
                A[0, i, 0] = rows.sign[row]
            if partner < behind:
                A[1, i, 0] = weight * rows.sign[partner]
        for i in range(n, end):
            on_a, on_b = _unit_velocity(nodes, i, 0), _unit_velocity(nodes, i, 1)
            D[i] = spatial_dot(spatial(A[0], i), on_a) + spatial_dot(spatial(A[1], i), on_b)
            for k in range(1, 3 if i == n and P.blocks.kind[b] == CONTACT else 1):
                own[b, 0, k] = spatial_dot(spatial(A[0], n + k), on_a) + spatial_dot(spatial(A[1], n + k), on_b)


@sweep
def _unit_velocity(nodes, i, side):
    """Velocity of one of the nodes of row i under a unit impulse of the row; zero where there is none."""
    v = (0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    a, W = nodes.at[i, side], nodes.Omega
    for other in range(2 if a >= 0 else 0):
        b = nodes.at[i, other]
        if b >= 0:
            f = spatial(nodes.A[other], i)
            x = (dot_at(W[a], b, f), dot_at(W[a + 1], b, f), dot_at(W[a + 2], b, f))
            v = spatial_sum(v, 1.0, x + (dot_at(W[a + 3], b, f), dot_at(W[a + 4], b, f), dot_at(W[a + 5], b, f)))
    return v
