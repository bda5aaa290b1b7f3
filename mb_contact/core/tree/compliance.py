# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Operational-space compliance of the touched bodies (J14 section 8, J11 lemmas 5 and 12).

    Upsilon(k) = psi*(p, k) Upsilon(p) psi(p, k) + H*(k) D^-1(k) H(k)          (base to tips)
    Omega(i, j) = psi*(c, i) Upsilon(c) psi(c, j),  c the closest common ancestor-or-self

with psi(p, k) = phi(p, k) (I - G H).  Only bodies that lead to a touched body are swept.
The touched bodies and the bodies where their paths meet form a small tree of their own (the
*essential* bodies); the product Psi of the psi's along each of its edges is formed once and
every block Omega(i, j) follows from one earlier block by one 6 x 6 product:

    Omega(i, j) = Omega(i, p(j)) Psi(j),  p(j) the essential parent, j not an ancestor of i.

So the cost is O(N) for the sweep and O(n_c^2) for the blocks.  ``aggregate_compliance`` has the same for aggregates.
"""

from mb_contact.core.jit import REAL, kernel, on_demand, part, sweep
from mb_contact.core.tree.aggregate_compliance import aggregate_block, mark_aggregates, scatter_aggregates
from mb_contact.core.tree.path_compliance import block, scatter_compliances, unpack
from mb_contact.core.tree.spatial import between, moved, spatial, spatial_sum


@sweep
def mark_essential(tree, art, touched, compliance):
    """Number the essential bodies from the flags ``touched`` (n,); returns how many there are.

    Fills ``compliance.essential`` (body to number or -1), ``compliance.body`` (number to body), ``compliance.on_path``.
    """
    if art.aggregates.base.shape[0] > 0:
        return mark_aggregates(tree, art, touched, compliance)
    n = tree.parent.shape[0]
    for k in range(n):
        compliance.branches[k] = 0
    for k in range(n - 1, -1, -1):
        leads = touched[k] != 0 or compliance.branches[k] > 0
        compliance.on_path[k] = 1 if leads else 0
        m = tree.parent[k]
        if leads and m >= 0:
            compliance.branches[m] += 1
    count = 0
    for k in range(n):
        compliance.essential[k] = -1
        if touched[k] != 0 or compliance.branches[k] > 1:
            compliance.essential[k] = count
            compliance.body[count] = k
            count += 1
    return count


@sweep
def compliance_sweep(tree, kin, art, compliance):
    """Scatter Upsilon and the path products Psi over the bodies on a path (base to tips).

    For each degree of freedom, with g = U D^-1 and w = Upsilon g (``articulated`` says why r joints of one do)

        tau_bar* Upsilon tau_bar + h D^-1 h* = Upsilon - h f* - f h*,   f = w - (g . w + D^-1) h / 2.
    """
    if art.aggregates.base.shape[0] > 0:
        scatter_aggregates(tree, kin, art, compliance)
        return
    scatter_compliances(tree, kin, art, compliance, 0, tree.parent.shape[0])


@sweep
def compliance_blocks(tree, art, compliance, count):
    """All blocks Omega(i, j) of the essential bodies; ``compliance.same_tree[i, j]`` is 0 where the block is zero."""
    embedded = art.aggregates.base.shape[0] > 0
    for j in range(count):
        kj = compliance.body[j]
        unpack(compliance.Upsilon, kj, compliance.Omega, j)
        compliance.same_tree[j, j] = 1
        for i in range(j):
            same = 1 if tree.root[compliance.body[i]] == tree.root[kj] else 0
            compliance.same_tree[i, j] = compliance.same_tree[j, i] = same
            if same == 1:
                if embedded:
                    aggregate_block(art, compliance, i, j)
                else:
                    block(compliance.Omega, i, compliance.near[kj], compliance.Psi, kj, j)


@sweep
def essential_compliance(tree, kin, art, touched, compliance):
    """Omega of the bodies that ``touched`` flags and of those where their paths meet; how many these are."""
    count = mark_essential(tree, art, touched, compliance)
    compliance_sweep(tree, kin, art, compliance)
    compliance_blocks(tree, art, compliance, count)
    return count


@sweep
def compliance_of_nodes(tree, kin, art, compliance, touched, body, first, p, L):
    """Lambda of nodes at world positions p behind ``articulated_inertias``; ``touched`` flags their bodies."""
    essential_compliance(tree, kin, art, touched, compliance)
    node_compliance(compliance, kin.p, body, first, p, L)


@sweep
def node_compliance(compliance, origin, body, first, p, L):
    """Lambda = B* Omega B of nodes at world positions p (f, 3): blocks phi*(i, a) Omega(i, j) phi(j, b), stacked.

    ``first`` is 0 for a node with six rows and 3 for a point with three; body -1 has no compliance.  Fills all of L.
    """
    row = 0
    for a in range(body.shape[0]):
        column = 0
        for b in range(a + 1):
            apart = True
            if body[a] >= 0 and body[b] >= 0:
                i = compliance.essential[body[a]]
                j = compliance.essential[body[b]]
                if compliance.same_tree[i, j] != 0:
                    apart = False
                    r_a = between(p, a, origin, body[a])
                    r_b = between(p, b, origin, body[b])
                    _node_block(compliance.Omega[i, j], r_a, r_b, L, row, column, first[a], first[b])
            for c in range(6 - first[a]):
                for e in range(6 - first[b]):
                    if apart:
                        L[row + c, column + e] = 0.0
                    L[column + e, row + c] = L[row + c, column + e]
            column += 6 - first[b]
        row += 6 - first[a]


@sweep
def _node_block(omega, r_a, r_b, L, row, column, skip, skip_b):
    """L block := phi*(k, a) Omega(i, j) phi(m, b): lower rows += upper x r_a, right columns += left x r_b."""
    x, y, z = r_a
    for c in range(skip, 6):
        t = spatial(omega, c)
        if c >= 3:
            e = 1 if c == 3 else (2 if c == 4 else 0)  # row c += (upper x r)_c = row_e s - row_f t
            f = 2 if c == 3 else (0 if c == 4 else 1)
            t = spatial_sum(t, z if c == 3 else (x if c == 4 else y), spatial(omega, e))
            t = spatial_sum(t, -(y if c == 3 else (z if c == 4 else x)), spatial(omega, f))
        t = moved(t, r_b)
        at = row + c - skip
        if skip_b == 0:
            L[at, column], L[at, column + 1], L[at, column + 2] = t[:3]
        L[at, column + 3 - skip_b], L[at, column + 4 - skip_b], L[at, column + 5 - skip_b] = t[3:]


@part
def row_compliance(compliance, rows, n_rows, count, W):
    """W := B* Omega B for two-sided scalar rows (the Delassus matrix of the OS formulation).

    Row r acts on essential body ``rows.side_a[r]`` with the 6-vector ``rows.on_a[r]`` and on
    ``rows.side_b[r]`` with ``rows.on_b[r]`` (already signed); -1 stands for the inertial frame.
    Symmetric, filled for r, s < n_rows.

    The rows' index runs innermost and contiguously everywhere, so that the loops vectorise.  Rows of different trees
    are passed over in runs: of 641 contacts of 200 free bodies that leaves 1.5 per cent of the pairs.  Velocities of a
    body are asked for up to its own last row, which ``rows.touched`` names, counted from one.
    """
    y = rows.response
    for r in range(n_rows):
        for c in range(6):
            rows.a_T[c, r] = rows.on_a[r, c]
            rows.b_T[c, r] = rows.on_b[r, c]
        if rows.side_a[r] >= 0:
            rows.touched[compliance.body[rows.side_a[r]]] = r + 1
        if rows.side_b[r] >= 0:
            rows.touched[compliance.body[rows.side_b[r]]] = r + 1
    for j in range(count):
        last = min(n_rows, rows.touched[compliance.body[j]])
        for c in range(6):
            for s in range(last):
                y[j, c, s] = 0.0
        _respond(compliance, j, rows.side_a, rows.a_T, last, y)
        _respond(compliance, j, rows.side_b, rows.b_T, last, y)
    for r in range(n_rows):
        for s in range(n_rows):
            W[r, s] = 0.0
    start = 0
    while start < n_rows:
        a = rows.side_a[start]
        b = rows.side_b[start]
        end = start + 1
        while end < n_rows and rows.side_a[end] == a and rows.side_b[end] == b:
            end += 1
        s = 0
        while s < end:
            coupled = _couple(compliance.same_tree, a, b, rows.side_a[s], rows.side_b[s])
            first = s
            s += 1
            while s < end and _couple(compliance.same_tree, a, b, rows.side_a[s], rows.side_b[s]) == coupled:
                s += 1
            if not coupled:
                continue
            for r in range(start, end):
                last = min(s, r + 1)
                if a >= 0:
                    _project(rows.on_a, r, a, y, first, last, W)
                if b >= 0:
                    _project(rows.on_b, r, b, y, first, last, W)
            for t in range(first, s):
                for r in range(max(start, t + 1), end):
                    W[t, r] = W[r, t]
        start = end


@on_demand(REAL)
def compliance_terms(compliance, rows, r):
    """Sum of the absolute terms of W_rr: where it is much larger than W_rr, the latter is rounding."""
    total = 1e-300
    a = rows.side_a[r]
    b = rows.side_b[r]
    for c in range(6):
        for d in range(6):
            if a >= 0:
                total += abs(rows.on_a[r, c] * compliance.Omega[a, a, c, d] * rows.on_a[r, d])
            if b >= 0:
                total += abs(rows.on_b[r, c] * compliance.Omega[b, b, c, d] * rows.on_b[r, d])
            if a >= 0 and b >= 0 and compliance.same_tree[a, b] != 0:
                total += 2.0 * abs(rows.on_a[r, c] * compliance.Omega[a, b, c, d] * rows.on_b[r, d])
    return total


@kernel
def _couple(same_tree, a, b, c, d):
    """Whether an impulse on one of the bodies c, d moves one of a, b; -1 stands for the inertial frame."""
    if a >= 0 and ((c >= 0 and same_tree[a, c] != 0) or (d >= 0 and same_tree[a, d] != 0)):
        return True
    return b >= 0 and ((c >= 0 and same_tree[b, c] != 0) or (d >= 0 and same_tree[b, d] != 0))


@kernel
def _respond(compliance, j, side, on_T, last, y):
    """y[j, :, :last] += Omega(j, a) on: velocities of body j to unit impulses in these rows on their bodies a."""
    start = 0
    while start < last:
        a, end = side[start], start + 1
        while end < last and side[end] == a:
            end += 1
        for c in range(6 if a >= 0 and compliance.same_tree[j, a] != 0 else 0):
            u0, u1, u2, u3, u4, u5 = spatial(compliance.Omega[j, a], c)
            for s in range(start, end):
                t = y[j, c, s] + u0 * on_T[0, s]
                t = t + u1 * on_T[1, s]
                t = t + u2 * on_T[2, s]
                t = t + u3 * on_T[3, s]
                t = t + u4 * on_T[4, s]
                y[j, c, s] = t + u5 * on_T[5, s]
        start = end


@kernel
def _project(on, r, j, y, first, last, W):
    """W[r, first:last] += on[r] . y[j]."""
    u0, u1, u2, u3, u4, u5 = spatial(on, r)
    for s in range(first, last):
        t = W[r, s] + u0 * y[j, 0, s]
        t = t + u1 * y[j, 1, s]
        t = t + u2 * y[j, 2, s]
        t = t + u3 * y[j, 3, s]
        t = t + u4 * y[j, 4, s]
        W[r, s] = t + u5 * y[j, 5, s]
