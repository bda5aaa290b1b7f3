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

So the cost is O(N) for the sweep and O(n_c^2) for the blocks.
"""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross


@kernel
def mark_essential(tree, touched, com):
    """Number the essential bodies from the flags ``touched`` (n,); returns how many there are.

    Fills ``com.essential`` (body to number or -1), ``com.body`` (number to body), ``com.on_path``.
    """
    n = tree.parent.shape[0]
    for k in range(n):
        com.branches[k] = 0
    for k in range(n - 1, -1, -1):
        leads = touched[k] != 0 or com.branches[k] > 0
        com.on_path[k] = 1 if leads else 0
        m = tree.parent[k]
        if leads and m >= 0:
            com.branches[m] += 1
    count = 0
    for k in range(n):
        com.essential[k] = -1
        if touched[k] != 0 or com.branches[k] > 1:
            com.essential[k] = count
            com.body[count] = k
            count += 1
    return count


@kernel
def compliance_sweep(tree, kin, art, com):
    """Scatter Upsilon and the path products Psi over the bodies on a path (base to tips)."""
    for k in range(tree.parent.shape[0]):
        if com.on_path[k] == 0:
            continue
        m = tree.parent[k]
        s = tree.v_start[k]
        r = tree.nv[k]
        if m >= 0:
            _shifted_upsilon(com, kin, k, m)
            _remove_hinge(tree, kin, art, com, k)
            _path_product(tree, kin, art, com, k, m)
        else:
            for i in range(6):
                for j in range(6):
                    com.Upsilon[k, i, j] = 0.0
            com.near[k] = -1  # no essential ancestor
        for i in range(r):
            for j in range(r):
                d = art.D_inv[s + i, j]
                for c in range(6):
                    h = kin.H[s + i, c] * d
                    if h != 0.0:
                        for e in range(6):
                            com.Upsilon[k, c, e] += h * kin.H[s + j, e]


@kernel
def _shifted_upsilon(com, kin, k, m):
    """Upsilon(k) := phi*(m, k) Upsilon(m) phi(m, k), phi* = [[1, 0], [-l~, 1]]."""
    x = kin.l[k, 0]
    y = kin.l[k, 1]
    z = kin.l[k, 2]
    T = com.block
    for j in range(6):  # rows: lower += -l~ upper = upper x l
        a0 = com.Upsilon[m, 0, j]
        a1 = com.Upsilon[m, 1, j]
        a2 = com.Upsilon[m, 2, j]
        T[0, j] = a0
        T[1, j] = a1
        T[2, j] = a2
        T[3, j] = com.Upsilon[m, 3, j] + a1 * z - a2 * y
        T[4, j] = com.Upsilon[m, 4, j] + a2 * x - a0 * z
        T[5, j] = com.Upsilon[m, 5, j] + a0 * y - a1 * x
    for i in range(6):
        a0 = T[i, 0]
        a1 = T[i, 1]
        a2 = T[i, 2]
        com.Upsilon[k, i, 0] = a0
        com.Upsilon[k, i, 1] = a1
        com.Upsilon[k, i, 2] = a2
        com.Upsilon[k, i, 3] = T[i, 3] + a1 * z - a2 * y
        com.Upsilon[k, i, 4] = T[i, 4] + a2 * x - a0 * z
        com.Upsilon[k, i, 5] = T[i, 5] + a0 * y - a1 * x


@kernel
def _remove_hinge(tree, kin, art, com, k):
    """Upsilon(k) := tau_bar* Upsilon(k) tau_bar with tau_bar = I - G H of joint k."""
    s = tree.v_start[k]
    r = tree.nv[k]
    Y = com.Upsilon
    w = com.columns  # rows of G* Y, one per degree of freedom
    for i in range(r):
        for c in range(6):
            w[i, c] = 0.0
        for e in range(6):
            x = art.G[s + i, e]
            for c in range(6):
                w[i, c] += x * Y[k, e, c]
    g = com.gram  # G* Y G
    for i in range(r):
        for j in range(r):
            x = 0.0
            for c in range(6):
                x += w[i, c] * art.G[s + j, c]
            g[i, j] = x
    for i in range(r):
        for c in range(6):
            h = kin.H[s + i, c]
            for e in range(6):
                Y[k, c, e] -= h * w[i, e]
                Y[k, e, c] -= h * w[i, e]
        for j in range(r):
            for c in range(6):
                h = kin.H[s + i, c] * g[i, j]
                for e in range(6):
                    Y[k, c, e] += h * kin.H[s + j, e]


@kernel
def _path_product(tree, kin, art, com, k, m):
    """Psi[k] := psi product from the nearest essential ancestor down to k; ``near[k]`` names that ancestor."""
    if com.essential[m] >= 0:
        com.near[k] = com.essential[m]
    else:
        com.near[k] = com.near[m]
    if com.near[k] < 0:
        return
    s = tree.v_start[k]
    r = tree.nv[k]
    x = kin.l[k, 0]
    y = kin.l[k, 1]
    z = kin.l[k, 2]
    T = com.block
    fresh = com.essential[m] >= 0
    for i in range(6):
        if fresh:
            for j in range(6):
                T[i, j] = 0.0
            T[i, i] = 1.0
        else:
            for j in range(6):
                T[i, j] = com.Psi[m, i, j]
        # times phi(m, k) = [[1, l~], [0, 1]]: right columns += left columns l~
        a0 = T[i, 0]
        a1 = T[i, 1]
        a2 = T[i, 2]
        T[i, 3] += a1 * z - a2 * y
        T[i, 4] += a2 * x - a0 * z
        T[i, 5] += a0 * y - a1 * x
        for j in range(6):
            com.Psi[k, i, j] = T[i, j]
        for d in range(s, s + r):  # times I - G H
            t = 0.0
            for c in range(6):
                t += T[i, c] * art.G[d, c]
            for j in range(6):
                com.Psi[k, i, j] -= t * kin.H[d, j]


@kernel
def compliance_blocks(tree, com, count):
    """All blocks Omega(i, j) of the essential bodies; ``com.same_tree[i, j]`` is 0 where the block is zero."""
    for j in range(count):
        kj = com.body[j]
        for a in range(6):
            for b in range(6):
                com.Omega[j, j, a, b] = com.Upsilon[kj, a, b]
        com.same_tree[j, j] = 1
        up = com.near[kj]
        for i in range(j):
            if tree.root[com.body[i]] != tree.root[kj]:
                com.same_tree[i, j] = 0
                com.same_tree[j, i] = 0
                continue
            com.same_tree[i, j] = 1
            com.same_tree[j, i] = 1
            for a in range(6):
                for b in range(6):
                    com.Omega[i, j, a, b] = 0.0
                for c in range(6):  # the inner loop runs along rows: it vectorises
                    x = com.Omega[i, up, a, c]
                    for b in range(6):
                        com.Omega[i, j, a, b] += x * com.Psi[kj, c, b]
            for a in range(6):
                for b in range(6):
                    com.Omega[j, i, b, a] = com.Omega[i, j, a, b]


@kernel
def node_row(kin, k, px, py, pz, dx, dy, dz, row, i):
    """``row[i] := phi(k, node) [0; d]``: the velocity of the point (px, py, pz) of body k along d is row . V(k)."""
    x, y, z = cross(px - kin.p[k, 0], py - kin.p[k, 1], pz - kin.p[k, 2], dx, dy, dz)
    row[i, 0] = x
    row[i, 1] = y
    row[i, 2] = z
    row[i, 3] = dx
    row[i, 4] = dy
    row[i, 5] = dz


@kernel
def row_compliance(com, rows, n_rows, count, W):
    """W := B* Omega B for two-sided scalar rows (the Delassus matrix of the OS formulation).

    Row r acts on essential body ``rows.side_a[r]`` with the 6-vector ``rows.on_a[r]`` and on
    ``rows.side_b[r]`` with ``rows.on_b[r]`` (already signed); -1 stands for the inertial frame.
    Symmetric, filled for r, s < n_rows.

    The rows' index runs innermost and contiguously everywhere, so that the loops vectorise:
    48 rows on 9 bodies took 94 us row by row and take 25 us this way.
    """
    a_T = rows.a_T
    b_T = rows.b_T
    y = rows.response
    for r in range(n_rows):
        for c in range(6):
            a_T[c, r] = rows.on_a[r, c]
            b_T[c, r] = rows.on_b[r, c]
    start = 0
    while start < n_rows:
        a = rows.side_a[start]
        b = rows.side_b[start]
        end = start + 1
        while end < n_rows and rows.side_a[end] == a and rows.side_b[end] == b:
            end += 1
        for j in range(count):
            if rows.touched[com.body[j]] == 0:
                continue
            for c in range(6):
                for s in range(start, end):
                    y[j, c, s] = 0.0
            if a >= 0 and com.same_tree[j, a] != 0:
                _respond(com.Omega, j, a, a_T, start, end, y)
            if b >= 0 and com.same_tree[j, b] != 0:
                _respond(com.Omega, j, b, b_T, start, end, y)
        start = end
    for r in range(n_rows):
        for s in range(r + 1):
            W[r, s] = 0.0
        if rows.side_a[r] >= 0:
            _project(rows.on_a, r, rows.side_a[r], y, W)
        if rows.side_b[r] >= 0:
            _project(rows.on_b, r, rows.side_b[r], y, W)
        for s in range(r):
            W[s, r] = W[r, s]


@kernel
def _respond(Omega, j, a, on_T, start, end, y):
    """y[j, :, start:end] += Omega(j, a) on: velocities of body j to unit impulses in these rows on body a."""
    for c in range(6):
        for e in range(6):
            t = Omega[j, a, c, e]
            for s in range(start, end):
                y[j, c, s] += t * on_T[e, s]


@kernel
def _project(on, r, j, y, W):
    """W[r, :r + 1] += on[r] . y[j]."""
    for c in range(6):
        t = on[r, c]
        for s in range(r + 1):
            W[r, s] += t * y[j, c, s]
