# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the rows of a block have by themselves: W_bb by bodies, and compliances C of soft materials beside W.

W_bb, which scales come from, is Y* Y with Y = U^-1 J_b*, without the rest of W; rows of U^-* add up to a tile of Y
after the other.  Beside W, C is diagonal, so that a Newton step (1 + G (W + C)) dr = c is that of W alone with other c
and G, whichever form W has:

    (1 + G' W) dr = c',    G' = (1 + G C)^-1 G,    c' = (1 + G C)^-1 c,

block by block, where 1 + G C is triangular but for the two rows of each friction group.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.jit import NOTHING, REAL, kernel, on_demand, sweep
from mb_contact.core.solve.laws import friction_group
from mb_contact.core.solve.system import ROWS, TILE
from mb_contact.core.tree.spatial import STILL, put_spatial, spatial, spatial_at, spatial_dot, spatial_sum


@kernel
def own_compliance(start, bodies, b0, b1, own, y):
    """W_bb of the blocks b0 <= b < b1 into ``own``; y holds a tile of the rows of Y meanwhile."""
    for b in range(b0, b1):
        size = start[b + 1] - start[b]
        for a in range(size):
            fill(size, own[b, a], 0.0)
        while size > 0 and not _moves(bodies, b, size - 1):  # the last rows, across the plane of a chain
            size -= 1
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            for m in range(_tiles_of_tree(bodies, b, e)):
                _tile_of_y(bodies, b, e, m, size, y)
                for a in range(size):
                    for c in range(a + 1):
                        own[b, a, c] += spatial_dot(spatial(y, a), spatial(y, c))
        for a in range(size):
            for c in range(a):
                own[b, c, a] = own[b, a, c]


@sweep
def _moves(bodies, b, a):
    """Whether row a of block b moves anything."""
    for e in range(bodies.entry[b], bodies.entry[b + 1]):
        for j in range(TILE):
            if bodies.J[bodies.at[e] + a, j] != 0.0:
                return True
    return False


@sweep
def _tiles_of_tree(bodies, b, e):
    """Tiles of Y that are not zero in the tree of entry e; 0 where an entry of the block before it has that tree."""
    t = bodies.tree_of[bodies.tile[e]]
    last = bodies.tile[e]
    for f in range(bodies.entry[b], bodies.entry[b + 1]):
        if bodies.tree_of[bodies.tile[f]] == t:
            if f < e:
                return 0
            last = max(last, bodies.tile[f])
    return last + 1 - bodies.tree[t]


@sweep
def _tile_of_y(bodies, b, e, m, size, y):
    """y = tile m of the rows of Y in the tree of entry e, the first one of block b there."""
    t = bodies.tree_of[bodies.tile[e]]
    for a in range(size):
        put_spatial(y, a, STILL)
    for f in range(e, bodies.entry[b + 1]):
        if bodies.tree_of[bodies.tile[f]] == t and bodies.tile[f] - bodies.tree[t] >= m:
            at, n = _root_at(bodies, t, f, m)
            for a in range(size):
                row = spatial(y, a)
                for j in range(TILE):
                    row = spatial_sum(row, bodies.J[bodies.at[f] + a, j], spatial_at(bodies.root, at + j * n))
                put_spatial(y, a, row)


@sweep
def _root_at(bodies, t, f, m):
    """Where tile m of the rows of U^-* of entry f's tile starts, and how far its rows are apart."""
    n = TILE * (bodies.tree[t + 1] - bodies.tree[t])
    return bodies.mass_at[t] + TILE * ((bodies.tile[f] - bodies.tree[t]) * n + m), n


@on_demand(REAL)
def own_terms(bodies, b, a):
    """The diagonal entry a of W_bb with absolute terms in Y: where it is much larger, that entry is rounding."""
    total, J = 0.0, bodies.J
    if not _moves(bodies, b, a):  # of 600 contacts of a chain in a plane 4.5 ms
        return total
    for e in range(bodies.entry[b], bodies.entry[b + 1]):
        t = bodies.tree_of[bodies.tile[e]]
        for m in range(_tiles_of_tree(bodies, b, e)):
            for k in range(TILE):
                x = 0.0
                for f in range(e, bodies.entry[b + 1]):
                    if bodies.tree_of[bodies.tile[f]] == t and bodies.tile[f] - bodies.tree[t] >= m:
                        at, n = _root_at(bodies, t, f, m)
                        for j in range(TILE):
                            x += abs(bodies.root[at + j * n + k] * J[bodies.at[f] + a, j])
                total += x * x
    return total


@on_demand(NOTHING)
def take_own(P, compliance):
    """C of the system's rows from that of the caller's, ``compliance``, and onto the diagonal of W in D."""
    blocks = P.blocks
    for i in range(P.count[ROWS]):
        blocks.own[i] = compliance[P.source[i]]
        blocks.D[i] += blocks.own[i]


@on_demand(NOTHING)
def add_own(C, first, last, x, y):
    """y += C x of the rows first <= i < last."""
    for i in range(first, last):
        y[i] += C[i] * x[i]


@on_demand(NOTHING)
def soften_step(blocks, b0, b1, c, G):
    """The Newton step dr = c - G du with W + C as one with W: c' and G' in the place of c and G."""
    for b in range(b0, b1):
        n = blocks.start[b]
        own = blocks.own[n]
        part = 1.0 / (1.0 + G[n, 0] * own)
        c[n], G[n, 0] = part * c[n], part * G[n, 0]
        i = n + 1
        while i < blocks.start[b + 1]:
            size = friction_group(blocks, b, i)[1]
            _soften_group(blocks.own, n, i, size, own, c, G)
            i += size


@sweep
def _soften_group(C, n, i, size, own, c, G):
    """``soften_step`` of the friction group whose first row is i, behind that of its normal n."""
    c[i] -= G[i, 0] * own * c[n]
    G[i, 0] -= G[i, 0] * own * G[n, 0]
    if size == 1:
        part = 1.0 / (1.0 + G[i, 1] * C[i])
        c[i], G[i, 0], G[i, 1] = part * c[i], part * G[i, 0], part * G[i, 1]
        return
    k = i + 1
    c[k] -= G[k, 0] * own * c[n]
    G[k, 0] -= G[k, 0] * own * G[n, 0]
    a, b = 1.0 + G[i, 1] * C[i], G[i, 2] * C[k]
    d, e = G[k, 1] * C[i], 1.0 + G[k, 2] * C[k]
    part = 1.0 / (a * e - b * d)
    c[i], c[k] = part * (e * c[i] - b * c[k]), part * (a * c[k] - d * c[i])
    for j in range(3):
        G[i, j], G[k, j] = part * (e * G[i, j] - b * G[k, j]), part * (a * G[k, j] - d * G[i, j])
