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
    Upsilon = com.Upsilon
    Psi = com.Psi
    T = com.block
    w = com.columns
    g = com.gram
    near = com.near
    essential = com.essential
    on_path = com.on_path
    H = kin.H
    l = kin.l
    G = art.G
    D_inv = art.D_inv
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    for k in range(parent.shape[0]):
        if on_path[k] == 0:
            continue
        m = parent[k]
        s = v_start[k]
        r = nv[k]
        near[k] = -1  # no essential ancestor
        if m >= 0:
            _shift_upsilon(Upsilon, T, l, k, m)
            _close_hinge(Upsilon, H, G, w, g, s, r, k)
            near[k] = essential[m] if essential[m] >= 0 else near[m]
            if near[k] >= 0:
                _path_product(Psi, T, l, H, G, s, r, k, m, essential[m] >= 0)
        else:
            for i in range(6):
                for j in range(6):
                    Upsilon[k, i, j] = 0.0
        for i in range(r):
            for j in range(r):
                d = D_inv[s + i, j]
                for c in range(6):
                    h = H[s + i, c] * d
                    if h != 0.0:
                        for e in range(6):
                            Upsilon[k, c, e] += h * H[s + j, e]


@kernel
def _shift_upsilon(Upsilon, T, l, k, m):
    """Upsilon(k) := phi*(m, k) Upsilon(m) phi(m, k), phi* = [[1, 0], [-l~, 1]]."""
    x = l[k, 0]
    y = l[k, 1]
    z = l[k, 2]
    for j in range(6):  # rows: lower += -l~ upper = upper x l
        a0 = Upsilon[m, 0, j]
        a1 = Upsilon[m, 1, j]
        a2 = Upsilon[m, 2, j]
        T[0, j] = a0
        T[1, j] = a1
        T[2, j] = a2
        T[3, j] = Upsilon[m, 3, j] + a1 * z - a2 * y
        T[4, j] = Upsilon[m, 4, j] + a2 * x - a0 * z
        T[5, j] = Upsilon[m, 5, j] + a0 * y - a1 * x
    for i in range(6):
        a0 = T[i, 0]
        a1 = T[i, 1]
        a2 = T[i, 2]
        Upsilon[k, i, 0] = a0
        Upsilon[k, i, 1] = a1
        Upsilon[k, i, 2] = a2
        Upsilon[k, i, 3] = T[i, 3] + a1 * z - a2 * y
        Upsilon[k, i, 4] = T[i, 4] + a2 * x - a0 * z
        Upsilon[k, i, 5] = T[i, 5] + a0 * y - a1 * x


@kernel
def _close_hinge(Upsilon, H, G, w, g, s, r, k):
    """Upsilon(k) := tau_bar* Upsilon(k) tau_bar with tau_bar = I - G H of joint k."""
    for i in range(r):  # w: rows of G* Upsilon, one per degree of freedom
        for c in range(6):
            w[i, c] = 0.0
        for e in range(6):
            x = G[s + i, e]
            for c in range(6):
                w[i, c] += x * Upsilon[k, e, c]
    for i in range(r):  # g = G* Upsilon G
        for j in range(r):
            x = 0.0
            for c in range(6):
                x += w[i, c] * G[s + j, c]
            g[i, j] = x
    for i in range(r):
        for c in range(6):
            h = H[s + i, c]
            t = w[i, c]
            for e in range(6):
                Upsilon[k, c, e] -= h * w[i, e] + t * H[s + i, e]
        for j in range(r):
            for c in range(6):
                h = H[s + i, c] * g[i, j]
                for e in range(6):
                    Upsilon[k, c, e] += h * H[s + j, e]


@kernel
def _path_product(Psi, T, l, H, G, s, r, k, m, fresh):
    """Psi[k] := Psi[m] psi(m, k), or psi(m, k) alone where the path starts at m (``fresh``)."""
    x = l[k, 0]
    y = l[k, 1]
    z = l[k, 2]
    for i in range(6):
        for j in range(6):
            T[i, j] = 0.0 if fresh else Psi[m, i, j]
        if fresh:
            T[i, i] = 1.0
        # times phi(m, k) = [[1, l~], [0, 1]]: right columns += left columns l~
        a0 = T[i, 0]
        a1 = T[i, 1]
        a2 = T[i, 2]
        T[i, 3] += a1 * z - a2 * y
        T[i, 4] += a2 * x - a0 * z
        T[i, 5] += a0 * y - a1 * x
        for j in range(6):
            Psi[k, i, j] = T[i, j]
        for d in range(s, s + r):  # times I - G H
            t = 0.0
            for c in range(6):
                t += T[i, c] * G[d, c]
            for j in range(6):
                Psi[k, i, j] -= t * H[d, j]


@kernel
def compliance_blocks(tree, com, count):
    """All blocks Omega(i, j) of the essential bodies; ``com.same_tree[i, j]`` is 0 where the block is zero."""
    Omega = com.Omega
    Upsilon = com.Upsilon
    Psi = com.Psi
    body = com.body
    near = com.near
    same_tree = com.same_tree
    root = tree.root
    for j in range(count):
        kj = body[j]
        for a in range(6):
            for b in range(6):
                Omega[j, j, a, b] = Upsilon[kj, a, b]
        same_tree[j, j] = 1
        up = near[kj]
        for i in range(j):
            same = 1 if root[body[i]] == root[kj] else 0
            same_tree[i, j] = same
            same_tree[j, i] = same
            if same == 0:
                continue
            for a in range(6):
                for b in range(6):
                    Omega[i, j, a, b] = 0.0
                for c in range(6):  # the inner loop runs along rows: it vectorises
                    x = Omega[i, up, a, c]
                    for b in range(6):
                        Omega[i, j, a, b] += x * Psi[kj, c, b]
            for a in range(6):
                for b in range(6):
                    Omega[j, i, b, a] = Omega[i, j, a, b]


@kernel
def node_row(origin, k, px, py, pz, dx, dy, dz, row, i):
    """``row[i] := phi(k, node) [0; d]``: the velocity of the point (px, py, pz) of body k along d is row . V(k)."""
    x, y, z = cross(px - origin[k, 0], py - origin[k, 1], pz - origin[k, 2], dx, dy, dz)
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

    The rows' index runs innermost and contiguously everywhere, so that the loops vectorise.
    """
    a_T = rows.a_T
    b_T = rows.b_T
    on_a = rows.on_a
    on_b = rows.on_b
    side_a = rows.side_a
    side_b = rows.side_b
    touched = rows.touched
    y = rows.response
    Omega = com.Omega
    same_tree = com.same_tree
    body = com.body
    for r in range(n_rows):
        for c in range(6):
            a_T[c, r] = on_a[r, c]
            b_T[c, r] = on_b[r, c]
    start = 0
    while start < n_rows:
        a = side_a[start]
        b = side_b[start]
        end = start + 1
        while end < n_rows and side_a[end] == a and side_b[end] == b:
            end += 1
        for j in range(count):
            if touched[body[j]] == 0:
                continue
            for c in range(6):
                for s in range(start, end):
                    y[j, c, s] = 0.0
            if a >= 0 and same_tree[j, a] != 0:
                _respond(Omega, j, a, a_T, start, end, y)
            if b >= 0 and same_tree[j, b] != 0:
                _respond(Omega, j, b, b_T, start, end, y)
        start = end
    for r in range(n_rows):
        for s in range(r + 1):
            W[r, s] = 0.0
        if side_a[r] >= 0:
            _project(on_a, r, side_a[r], y, W)
        if side_b[r] >= 0:
            _project(on_b, r, side_b[r], y, W)
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
