# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An island posed by its touched nodes: which they are, A and Omega.

Omega comes from the sweeps of ``tree/compliance.py`` (J14 section 8), or, where loops and gears couple the joints, from
the mass matrix of what these leave (``elimination.py``).
"""

import numpy as np

from mb_contact.core.constraints.rows import rate_axis
from mb_contact.core.jit import NOTHING, TRUTH, on_demand, sweep
from mb_contact.core.lcp.linear import dot
from mb_contact.core.solve.by_nodes import COUNT, FOLLOWERS, GONE, LEFT, SIZE, WAITED
from mb_contact.core.solve.draft import leader_of
from mb_contact.core.solve.elimination import eliminate
from mb_contact.core.solve.system import BLOCKS, BY_ROWS, CONTACT, COORDINATES, EQUALITY, FREEDOMS, ISLANDS, PIECE
from mb_contact.core.tree.spatial import (
    STILL,
    cross,
    dot_at,
    gathered,
    moved,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
)

NODES_COST = 4e3  #: multiply-adds of one Newton step beside the cube of the coordinates
SUSPECT = 1e-9  #: of the largest compliance: a problem with rows below it is posed otherwise


@on_demand(TRUTH)
def choose_nodes(P, draft, tree, rows, first_bilateral, embedded):
    """Number the nodes of the only island; False where another face costs less, or this one cannot pose the problem.

    ``embedded`` is whether the tree has aggregates, whose mass matrix nobody knows.
    """
    nodes = P.nodes
    others = float(P.blocks.start[P.count[BLOCKS]]) ** 3 if P.face[0] == BY_ROWS else np.inf
    if P.count[ISLANDS] != 1 or nodes.node.shape[0] == 0 or NODES_COST >= others:
        return False
    left = P.count[BLOCKS]
    while left > 0:
        k = draft.order[left - 1]
        if P.blocks.kind[left - 1] != EQUALITY or draft.row[k, 0] < first_bilateral or draft.mu[k, 0] != 0.0:
            break
        left -= 1
    gone = P.count[BLOCKS] - left
    for i in range(nodes.node.shape[0]):
        nodes.node[i] = -1
    for d in range(nodes.local.shape[0]):
        nodes.joint[d] = nodes.local[d] = -1
    size = 0
    last, inside = -1, False
    for k in range(tree.parent.shape[0]):
        if draft.tree[k] != last:
            last = draft.tree[k]
            inside = draft.number[leader_of(draft.leader, last)] == 0
        if inside:
            for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                nodes.local[d] = size
                size += 1
    if gone > 0 and (embedded or gone + size >= FREEDOMS):
        return False
    count = 0
    for b in range(left):
        for i in range(P.blocks.start[b], P.blocks.start[b + 1]):
            row = P.source[i]
            nodes.at[i, 0] = nodes.at[i, 1] = -1
            d = rows.dof[row]
            if d >= 0:
                if nodes.joint[d] < 0:
                    nodes.joint[d] = count
                    count += 1
                nodes.at[i, 0] = nodes.joint[d]
            else:
                for side in range(2):
                    body = rows.body_a[row] if side == 0 else rows.body_b[row]
                    if body >= 0:
                        if nodes.node[body] < 0:
                            nodes.node[body] = count
                            count += 6
                        nodes.at[i, side] = nodes.node[body]
            if count > COORDINATES:
                return False
    if P.face[0] != BY_ROWS:
        n = float(size)
        others = n * n * n / 3.0 + 4e3 * P.bodies.first_piece[1]
    if float(count) ** 3 + NODES_COST >= others:
        return False
    nodes.info[COUNT], nodes.info[LEFT], nodes.info[SIZE], nodes.info[GONE] = count, left, size, gone
    return True


@on_demand(TRUTH)
def take_masses(P, draft, tree, kin, rows):
    """Omega of the nodes where rows are eliminated; ``bodies.M`` has the masses.  False where that fails."""
    nodes = P.nodes
    _take_masses(P.bodies, draft, tree, nodes)
    eliminate(P, draft, tree, kin, rows)
    if not _reduce_masses(P):
        return False
    _node_velocities(tree, kin, nodes)
    _compliance(nodes)
    return True


@on_demand(NOTHING)
def take_compliance(P, tree, kin, compliance, count):
    """Omega of the nodes from that of the ``count`` essential bodies; no row is eliminated."""
    nodes, Omega = P.nodes, P.nodes.Omega
    nodes.info[FOLLOWERS] = nodes.info[WAITED] = 0
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
def assemble_by_nodes(P, rows):
    """A of the nodes, the diagonal of W into D; False where some of it is rounding."""
    nodes = P.nodes
    _node_rows(P, rows, nodes)
    largest = 0.0
    least = np.inf
    for i in range(P.blocks.start[nodes.info[LEFT]]):
        largest = max(largest, P.blocks.D[i])
        least = min(least, P.blocks.D[i])
    return not least <= SUSPECT * largest


@sweep
def _take_masses(bodies, draft, tree, nodes):
    """M of the island without the pieces' padding."""
    size = nodes.info[SIZE]
    for i in range(size):
        for j in range(size):
            nodes.M[i, j] = 0.0
    for k in range(tree.parent.shape[0]):
        t = draft.tree[k]
        base = PIECE * bodies.tree[t]
        n = PIECE * bodies.tree[t + 1] - base
        for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            i = nodes.local[d]
            if i < 0:
                continue
            row = bodies.mass_at[t] + (bodies.place[d] - base) * n - base
            m = k
            while m >= 0:
                for e in range(tree.v_start[m], tree.v_start[m] + tree.nv[m]):
                    x = bodies.M[row + bodies.place[e]]
                    nodes.M[i, nodes.local[e]] = x
                    nodes.M[nodes.local[e], i] = x
                m = tree.parent[m]


@on_demand(TRUTH)
def _reduce_masses(P):
    """Cholesky factor of M_f = E* M E; False where it is not positive definite."""
    nodes = P.nodes
    size, rank = nodes.info[SIZE], nodes.info[FOLLOWERS]
    n = size - rank
    M, ME, X, L = nodes.M, nodes.ME, nodes.X, nodes.L
    for a in range(size):
        for j in range(n):
            ME[a, j] = M[a, nodes.free[j]]
        for p in range(rank):
            x = M[a, nodes.pivot[p]]
            for j in range(nodes.window[p, 0], nodes.window[p, 1] if x != 0.0 else 0):
                ME[a, j] += x * X[p, j]
    for i in range(n):
        for j in range(i + 1):
            L[i, j] = ME[nodes.free[i], j]
    for p in range(rank):
        for i in range(nodes.window[p, 0], nodes.window[p, 1]):
            for j in range(i + 1):
                L[i, j] += X[p, i] * ME[nodes.pivot[p], j]
    for i in range(n):
        for j in range(i):
            L[i, j] = (L[i, j] - dot(L[i], L[j], 0, j)) / L[j, j]
        x = L[i, i] - dot(L[i], L[i], 0, i)
        if not x > 0.0:
            return False
        L[i, i] = np.sqrt(x)
    return True


@sweep
def _node_velocities(tree, kin, nodes):
    """Velocities of the nodes by degrees of freedom."""
    J = nodes.J
    for i in range(nodes.info[SIZE]):
        for k in range(nodes.info[COUNT]):
            J[i, k] = 0.0
    for body in range(tree.parent.shape[0]):
        at = nodes.node[body]
        k = body if at >= 0 else -1
        while k >= 0:
            x, y, z = kin.p[body, 0] - kin.p[k, 0], kin.p[body, 1] - kin.p[k, 1], kin.p[body, 2] - kin.p[k, 2]
            for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                w0, w1, w2 = kin.H[d, 0], kin.H[d, 1], kin.H[d, 2]
                v0, v1, v2 = cross(w0, w1, w2, x, y, z)
                i = nodes.local[d]
                J[i, at], J[i, at + 1], J[i, at + 2] = w0, w1, w2
                J[i, at + 3], J[i, at + 4], J[i, at + 5] = kin.H[d, 3] + v0, kin.H[d, 4] + v1, kin.H[d, 5] + v2
            k = tree.parent[k]
    for d in range(nodes.joint.shape[0]):
        if nodes.joint[d] >= 0:
            J[nodes.local[d], nodes.joint[d]] = 1.0


@sweep
def _compliance(nodes):
    """Omega = Z* Z with Z = L^-1 E* J*."""
    count, rank = nodes.info[COUNT], nodes.info[FOLLOWERS]
    n = nodes.info[SIZE] - rank
    J, Z = nodes.J, nodes.Z
    for i in range(n):
        for k in range(count):
            Z[i, k // 4, k % 4] = J[nodes.free[i], k]
    for p in range(rank):
        for i in range(nodes.window[p, 0], nodes.window[p, 1]):
            for k in range(count):
                Z[i, k // 4, k % 4] += nodes.X[p, i] * J[nodes.pivot[p], k]
    for m in range((count + 3) // 4):
        for i in range(n):
            _solve_row(nodes.L, Z, i, m)
    for j in range(count):
        for m in range((count + 3) // 4):
            _product_row(Z, n, j, m, nodes.fours)


@sweep
def _solve_row(L, Z, i, m):
    """Four columns of row i of L^-1 Z, behind the rows before it."""
    z0, z1, z2, z3 = Z[i, m, 0], Z[i, m, 1], Z[i, m, 2], Z[i, m, 3]
    for l in range(i):
        x = L[i, l]
        z0, z1, z2, z3 = z0 - x * Z[l, m, 0], z1 - x * Z[l, m, 1], z2 - x * Z[l, m, 2], z3 - x * Z[l, m, 3]
    x = 1.0 / L[i, i]
    Z[i, m, 0], Z[i, m, 1], Z[i, m, 2], Z[i, m, 3] = x * z0, x * z1, x * z2, x * z3


@sweep
def _product_row(Z, n, j, m, Omega):
    """Four columns of row j of Z* Z."""
    s0 = s1 = s2 = s3 = 0.0
    for i in range(n):
        x = Z[i, j // 4, j % 4]
        s0, s1, s2, s3 = s0 + x * Z[i, m, 0], s1 + x * Z[i, m, 1], s2 + x * Z[i, m, 2], s3 + x * Z[i, m, 3]
    Omega[j, m, 0], Omega[j, m, 1], Omega[j, m, 2], Omega[j, m, 3] = s0, s1, s2, s3


@sweep
def _node_rows(P, rows, nodes):
    """A of the rows that are left, the diagonal of W, and W_nt of the contacts."""
    A, D, own = nodes.A, P.blocks.D, P.work.own
    for b in range(nodes.info[LEFT]):
        n, end = P.blocks.start[b], P.blocks.start[b + 1]
        for i in range(n, end):
            row = P.source[i]
            for k in range(6):
                A[0, i, k] = rows.on_a[row, k] if rows.dof[row] < 0 and nodes.at[i, 0] >= 0 else 0.0
                A[1, i, k] = rows.on_b[row, k] if nodes.at[i, 1] >= 0 else 0.0
            if rows.dof[row] >= 0:
                A[0, i, 0] = rows.sign[row]
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
