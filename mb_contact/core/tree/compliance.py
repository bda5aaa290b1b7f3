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

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import cross


@sweep
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


@sweep
def compliance_sweep(tree, kin, art, com):
    """Scatter Upsilon and the path products Psi over the bodies on a path (base to tips).

    For each degree of freedom, with g = U D^-1 and w = Upsilon g (``articulated`` says why r joints of one do)

        tau_bar* Upsilon tau_bar + h D^-1 h* = Upsilon - h f* - f h*,   f = w - (g . w + D^-1) h / 2.
    """
    Upsilon = com.Upsilon
    Psi = com.Psi
    near = com.near
    essential = com.essential
    on_path = com.on_path
    H = kin.H
    l = kin.l
    U = art.U
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
        a0 = a1 = a2 = a3 = a4 = a5 = 0.0
        e0 = e1 = e2 = e3 = e4 = e5 = e6 = e7 = e8 = 0.0
        c0 = c1 = c2 = c3 = c4 = c5 = 0.0
        if m >= 0:
            near[k] = essential[m] if essential[m] >= 0 else near[m]
            if near[k] >= 0:
                _path_product(Psi, l, H, U, D_inv, s, r, k, m, essential[m] >= 0)
            # phi* Upsilon phi, phi* = [[1, 0], [-l~, 1]]: A' = A, B' = B + A l~, C' = C - l~ B' + B* l~
            x = l[k, 0]
            y = l[k, 1]
            z = l[k, 2]
            a0 = Upsilon[m, 0]
            a1 = Upsilon[m, 1]
            a2 = Upsilon[m, 2]
            a3 = Upsilon[m, 3]
            a4 = Upsilon[m, 4]
            a5 = Upsilon[m, 5]
            b0 = Upsilon[m, 6]
            b1 = Upsilon[m, 7]
            b2 = Upsilon[m, 8]
            b3 = Upsilon[m, 9]
            b4 = Upsilon[m, 10]
            b5 = Upsilon[m, 11]
            b6 = Upsilon[m, 12]
            b7 = Upsilon[m, 13]
            b8 = Upsilon[m, 14]
            e0 = b0 + a1 * z - a2 * y
            e1 = b1 + a2 * x - a0 * z
            e2 = b2 + a0 * y - a1 * x
            e3 = b3 + a3 * z - a4 * y
            e4 = b4 + a4 * x - a1 * z
            e5 = b5 + a1 * y - a3 * x
            e6 = b6 + a4 * z - a5 * y
            e7 = b7 + a5 * x - a2 * z
            e8 = b8 + a2 * y - a4 * x
            c0 = Upsilon[m, 15] - (y * e6 - z * e3) + (b3 * z - b6 * y)
            c1 = Upsilon[m, 16] - (y * e7 - z * e4) + (b6 * x - b0 * z)
            c2 = Upsilon[m, 17] - (y * e8 - z * e5) + (b0 * y - b3 * x)
            c3 = Upsilon[m, 18] - (z * e1 - x * e7) + (b7 * x - b1 * z)
            c4 = Upsilon[m, 19] - (z * e2 - x * e8) + (b1 * y - b4 * x)
            c5 = Upsilon[m, 20] - (x * e5 - y * e2) + (b2 * y - b5 * x)
        for i in range(s, s + r):
            h0 = H[i, 0]
            h1 = H[i, 1]
            h2 = H[i, 2]
            h3 = H[i, 3]
            h4 = H[i, 4]
            h5 = H[i, 5]
            d = D_inv[i]
            g0 = U[i, 0] * d
            g1 = U[i, 1] * d
            g2 = U[i, 2] * d
            g3 = U[i, 3] * d
            g4 = U[i, 4] * d
            g5 = U[i, 5] * d
            f0 = a0 * g0 + a1 * g1 + a2 * g2 + e0 * g3 + e1 * g4 + e2 * g5
            f1 = a1 * g0 + a3 * g1 + a4 * g2 + e3 * g3 + e4 * g4 + e5 * g5
            f2 = a2 * g0 + a4 * g1 + a5 * g2 + e6 * g3 + e7 * g4 + e8 * g5
            f3 = e0 * g0 + e3 * g1 + e6 * g2 + c0 * g3 + c1 * g4 + c2 * g5
            f4 = e1 * g0 + e4 * g1 + e7 * g2 + c1 * g3 + c3 * g4 + c4 * g5
            f5 = e2 * g0 + e5 * g1 + e8 * g2 + c2 * g3 + c4 * g4 + c5 * g5
            t = 0.5 * (g0 * f0 + g1 * f1 + g2 * f2 + g3 * f3 + g4 * f4 + g5 * f5 + d)
            f0 -= t * h0
            f1 -= t * h1
            f2 -= t * h2
            a0 -= 2.0 * h0 * f0
            a1 -= h0 * f1 + h1 * f0
            a2 -= h0 * f2 + h2 * f0
            a3 -= 2.0 * h1 * f1
            a4 -= h1 * f2 + h2 * f1
            a5 -= 2.0 * h2 * f2
            if h3 != 0.0 or h4 != 0.0 or h5 != 0.0:  # not a pure rotation
                f3 -= t * h3
                f4 -= t * h4
                f5 -= t * h5
                e0 -= f0 * h3
                e1 -= f0 * h4
                e2 -= f0 * h5
                e3 -= f1 * h3
                e4 -= f1 * h4
                e5 -= f1 * h5
                e6 -= f2 * h3
                e7 -= f2 * h4
                e8 -= f2 * h5
                c0 -= 2.0 * h3 * f3
                c1 -= h3 * f4 + h4 * f3
                c2 -= h3 * f5 + h5 * f3
                c3 -= 2.0 * h4 * f4
                c4 -= h4 * f5 + h5 * f4
                c5 -= 2.0 * h5 * f5
            e0 -= h0 * f3
            e1 -= h0 * f4
            e2 -= h0 * f5
            e3 -= h1 * f3
            e4 -= h1 * f4
            e5 -= h1 * f5
            e6 -= h2 * f3
            e7 -= h2 * f4
            e8 -= h2 * f5
        Upsilon[k, 0] = a0
        Upsilon[k, 1] = a1
        Upsilon[k, 2] = a2
        Upsilon[k, 3] = a3
        Upsilon[k, 4] = a4
        Upsilon[k, 5] = a5
        Upsilon[k, 6] = e0
        Upsilon[k, 7] = e1
        Upsilon[k, 8] = e2
        Upsilon[k, 9] = e3
        Upsilon[k, 10] = e4
        Upsilon[k, 11] = e5
        Upsilon[k, 12] = e6
        Upsilon[k, 13] = e7
        Upsilon[k, 14] = e8
        Upsilon[k, 15] = c0
        Upsilon[k, 16] = c1
        Upsilon[k, 17] = c2
        Upsilon[k, 18] = c3
        Upsilon[k, 19] = c4
        Upsilon[k, 20] = c5


@sweep
def _path_product(Psi, l, H, U, D_inv, s, r, k, m, fresh):
    """Psi[k] := Psi[m] psi(m, k), or psi(m, k) alone where the path starts at m (``fresh``); psi = phi (1 - G H)."""
    x = l[k, 0]
    y = l[k, 1]
    z = l[k, 2]
    for a in range(6):
        if fresh:
            t0 = 1.0 if a == 0 else 0.0
            t1 = 1.0 if a == 1 else 0.0
            t2 = 1.0 if a == 2 else 0.0
            t3 = 1.0 if a == 3 else 0.0
            t4 = 1.0 if a == 4 else 0.0
            t5 = 1.0 if a == 5 else 0.0
        else:
            t0 = Psi[m, a, 0]
            t1 = Psi[m, a, 1]
            t2 = Psi[m, a, 2]
            t3 = Psi[m, a, 3]
            t4 = Psi[m, a, 4]
            t5 = Psi[m, a, 5]
        t3 += t1 * z - t2 * y  # times phi = [[1, l~], [0, 1]]
        t4 += t2 * x - t0 * z
        t5 += t0 * y - t1 * x
        for i in range(s, s + r):
            g = t0 * U[i, 0] + t1 * U[i, 1] + t2 * U[i, 2] + t3 * U[i, 3] + t4 * U[i, 4] + t5 * U[i, 5]
            g *= D_inv[i]
            t0 -= g * H[i, 0]
            t1 -= g * H[i, 1]
            t2 -= g * H[i, 2]
            t3 -= g * H[i, 3]
            t4 -= g * H[i, 4]
            t5 -= g * H[i, 5]
        Psi[k, a, 0] = t0
        Psi[k, a, 1] = t1
        Psi[k, a, 2] = t2
        Psi[k, a, 3] = t3
        Psi[k, a, 4] = t4
        Psi[k, a, 5] = t5


@sweep
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
        _unpack(Upsilon, kj, Omega, j)
        same_tree[j, j] = 1
        up = near[kj]
        for i in range(j):
            same = 1 if root[body[i]] == root[kj] else 0
            same_tree[i, j] = same
            same_tree[j, i] = same
            if same == 1:
                _block(Omega, i, up, Psi, kj, j)


@sweep
def _unpack(Upsilon, k, Omega, j):
    """Omega(j, j) := Upsilon(k) of the body k with number j."""
    c = 0
    for a in range(3):
        for b in range(a, 3):
            Omega[j, j, a, b] = Upsilon[k, c]
            Omega[j, j, b, a] = Upsilon[k, c]
            Omega[j, j, 3 + a, 3 + b] = Upsilon[k, 15 + c]
            Omega[j, j, 3 + b, 3 + a] = Upsilon[k, 15 + c]
            c += 1
    for a in range(3):
        for b in range(3):
            Omega[j, j, a, 3 + b] = Upsilon[k, 6 + 3 * a + b]
            Omega[j, j, 3 + b, a] = Upsilon[k, 6 + 3 * a + b]


@sweep
def _block(Omega, i, up, Psi, k, j):
    """Omega(i, j) := Omega(i, up) Psi(k), and its transpose."""
    for a in range(6):
        x0 = Omega[i, up, a, 0]
        x1 = Omega[i, up, a, 1]
        x2 = Omega[i, up, a, 2]
        x3 = Omega[i, up, a, 3]
        x4 = Omega[i, up, a, 4]
        x5 = Omega[i, up, a, 5]
        for b in range(6):
            x = x0 * Psi[k, 0, b] + x1 * Psi[k, 1, b] + x2 * Psi[k, 2, b]
            x += x3 * Psi[k, 3, b] + x4 * Psi[k, 4, b] + x5 * Psi[k, 5, b]
            Omega[i, j, a, b] = x
            Omega[j, i, b, a] = x


@sweep
def compliance_of_nodes(tree, kin, art, com, touched, body, first, p, L):
    """Lambda of nodes at world positions p behind ``articulated_inertias``; ``touched`` flags their bodies."""
    count = mark_essential(tree, touched, com)
    compliance_sweep(tree, kin, art, com)
    compliance_blocks(tree, com, count)
    node_compliance(com, kin.p, body, first, p, L)


@sweep
def node_compliance(com, origin, body, first, p, L):
    """Lambda = B* Omega B of nodes at world positions p (f, 3): blocks phi*(i, a) Omega(i, j) phi(j, b), stacked.

    ``first`` is 0 for a node with six rows and 3 for a point with three; body -1 has no compliance.  Fills all of L.
    """
    Omega = com.Omega
    essential = com.essential
    same_tree = com.same_tree
    row = 0
    for a in range(body.shape[0]):
        column = 0
        for b in range(a + 1):
            apart = True
            if body[a] >= 0 and body[b] >= 0:
                i = essential[body[a]]
                j = essential[body[b]]
                if same_tree[i, j] != 0:
                    apart = False
                    _node_block(Omega, i, j, origin, body[a], body[b], p, a, b, L, row, column, first[a], first[b])
            if apart:
                for c in range(6 - first[a]):
                    for e in range(6 - first[b]):
                        L[row + c, column + e] = 0.0
            for c in range(6 - first[a]):
                for e in range(6 - first[b]):
                    L[column + e, row + c] = L[row + c, column + e]
            column += 6 - first[b]
        row += 6 - first[a]


@sweep
def _node_block(Omega, i, j, origin, k, m, p, a, b, L, row, column, skip, skip_b):
    """L block := phi*(k, a) Omega(i, j) phi(m, b): lower rows += upper x r_a, right columns += left x r_b."""
    x = p[a, 0] - origin[k, 0]
    y = p[a, 1] - origin[k, 1]
    z = p[a, 2] - origin[k, 2]
    u = p[b, 0] - origin[m, 0]
    v = p[b, 1] - origin[m, 1]
    w = p[b, 2] - origin[m, 2]
    for c in range(skip, 6):
        t0 = Omega[i, j, c, 0]
        t1 = Omega[i, j, c, 1]
        t2 = Omega[i, j, c, 2]
        t3 = Omega[i, j, c, 3]
        t4 = Omega[i, j, c, 4]
        t5 = Omega[i, j, c, 5]
        if c >= 3:
            e = 1 if c == 3 else (2 if c == 4 else 0)  # row c += (upper x r)_c = row_e s - row_f t
            f = 2 if c == 3 else (0 if c == 4 else 1)
            s = z if c == 3 else (x if c == 4 else y)
            t = y if c == 3 else (z if c == 4 else x)
            t0 += Omega[i, j, e, 0] * s - Omega[i, j, f, 0] * t
            t1 += Omega[i, j, e, 1] * s - Omega[i, j, f, 1] * t
            t2 += Omega[i, j, e, 2] * s - Omega[i, j, f, 2] * t
            t3 += Omega[i, j, e, 3] * s - Omega[i, j, f, 3] * t
            t4 += Omega[i, j, e, 4] * s - Omega[i, j, f, 4] * t
            t5 += Omega[i, j, e, 5] * s - Omega[i, j, f, 5] * t
        at = row + c - skip
        if skip_b == 0:
            L[at, column] = t0
            L[at, column + 1] = t1
            L[at, column + 2] = t2
        L[at, column + 3 - skip_b] = t3 + t1 * w - t2 * v
        L[at, column + 4 - skip_b] = t4 + t2 * u - t0 * w
        L[at, column + 5 - skip_b] = t5 + t0 * v - t1 * u


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

    The rows' index runs innermost and contiguously everywhere, so that the loops vectorise.  Rows of different trees
    are passed over in runs: of 641 contacts of 200 free bodies that leaves 1.5 per cent of the pairs.
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
        for s in range(n_rows):
            W[r, s] = 0.0
    start = 0
    while start < n_rows:
        a = side_a[start]
        b = side_b[start]
        end = start + 1
        while end < n_rows and side_a[end] == a and side_b[end] == b:
            end += 1
        s = 0
        while s < end:
            coupled = _couple(same_tree, a, b, side_a[s], side_b[s])
            first = s
            s += 1
            while s < end and _couple(same_tree, a, b, side_a[s], side_b[s]) == coupled:
                s += 1
            if not coupled:
                continue
            for r in range(start, end):
                last = min(s, r + 1)
                if a >= 0:
                    _project(on_a, r, a, y, first, last, W)
                if b >= 0:
                    _project(on_b, r, b, y, first, last, W)
                for t in range(first, min(last, r)):
                    W[t, r] = W[r, t]
        start = end


@kernel
def compliance_terms(com, rows, r):
    """Sum of the absolute terms of W_rr: where it is much larger than W_rr, the latter is rounding."""
    total = 1e-300
    a = rows.side_a[r]
    b = rows.side_b[r]
    for c in range(6):
        for d in range(6):
            if a >= 0:
                total += abs(rows.on_a[r, c] * com.Omega[a, a, c, d] * rows.on_a[r, d])
            if b >= 0:
                total += abs(rows.on_b[r, c] * com.Omega[b, b, c, d] * rows.on_b[r, d])
            if a >= 0 and b >= 0 and com.same_tree[a, b] != 0:
                total += 2.0 * abs(rows.on_a[r, c] * com.Omega[a, b, c, d] * rows.on_b[r, d])
    return total


@kernel
def _couple(same_tree, a, b, c, d):
    """Whether an impulse on one of the bodies c, d moves one of a, b; -1 stands for the inertial frame."""
    if a >= 0 and ((c >= 0 and same_tree[a, c] != 0) or (d >= 0 and same_tree[a, d] != 0)):
        return True
    return b >= 0 and ((c >= 0 and same_tree[b, c] != 0) or (d >= 0 and same_tree[b, d] != 0))


@kernel
def _respond(Omega, j, a, on_T, start, end, y):
    """y[j, :, start:end] += Omega(j, a) on: velocities of body j to unit impulses in these rows on body a."""
    for c in range(6):
        for e in range(6):
            t = Omega[j, a, c, e]
            for s in range(start, end):
                y[j, c, s] += t * on_T[e, s]


@kernel
def _project(on, r, j, y, first, last, W):
    """W[r, first:last] += on[r] . y[j]."""
    for c in range(6):
        t = on[r, c]
        for s in range(first, last):
            W[r, s] += t * y[j, c, s]
