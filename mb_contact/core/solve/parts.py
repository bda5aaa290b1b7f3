# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A part of a large island, as one more island behind all others; the impulses of all other contacts stay.

    u' = W' r' + q',    q' = u - W' r'  at the impulses and velocities of the island.

The acting part is the contacts that press or are not solved: of 100 contacts that a folded chain has near itself some
ten.  Its solution is the island's, unless other contacts approach then: these are in the next part.  It is posed by
rows; of an island by bodies only where it has few rows beside the velocities n of the largest tree there: a Newton step
on all takes n^3 (300 links with 160 contacts: steps of 82 ms become 53, the longest 145 ms where it was 590).

By bodies a few Newton steps from the last impulses solve most contacts of a heap, but not the few whose states change,
and more steps on all of them would change the states of these one after the other.  So the part is all contacts of the
bodies that unsolved contacts touch, and few Newton steps on the whole island follow, for the part's neighbours.
"""

from mb_contact.core.jit import TRUTH, kernel, on_demand, sweep
from mb_contact.core.solve.laws import residual
from mb_contact.core.solve.newton_step import apply_operator, apply_rigid, attainable, copy_rows
from mb_contact.core.solve.system import BY_BODIES, ISLANDS, TILE

WORST = 1e-3  #: by bodies, residual of a contact that is not solved, in parts of the largest
MOST_OF_ALL = 0.4  #: blocks of the part at most, in parts of the island's
FEW = 0.3  #: rows of the acting part of an island by bodies at most, in parts of its largest tree's velocities


@on_demand(TRUTH)
def pose_part(P, island, tolerance, acting):
    """Append the part of an island; False where it is empty or too large, or there is no room for it.

    P.r and P.u are impulses and velocities of the island; in the part's rows P.u is overwritten.
    The ``acting`` part has W by rows, the other one the form of the island.
    """
    blocks, chosen = P.blocks, P.work.c  # of a block at its first row: 1 in the part, else 0
    b0, b1, part, by_bodies = P.island[island], P.island[island + 1], P.count[ISLANDS], P.form[0] == BY_BODIES
    if acting:
        _choose_acting(P, b0, b1, tolerance, chosen)
    else:
        _choose_neighbours(P, island, tolerance, chosen)
    end = P.island[part]
    most = min(blocks.kind.shape[0], end + int(MOST_OF_ALL * (b1 - b0)))
    for b in range(b0, b1):
        if chosen[blocks.start[b]] != 0.0:
            if end == most or not _copy_block(P, b, end, by_bodies):
                return False
            end += 1
    if end == P.island[part]:
        return False
    P.island[part + 1] = end
    if by_bodies:
        _copy_tiles(P, part, P.bodies.first_tile[island], P.bodies.first_tile[island + 1])
    first, last = blocks.start[P.island[part]], blocks.start[end]
    copy_rows(first, last, P.u, P.q)
    apply_operator(P, P.island[part], end, P.bodies.first_tile[part], P.bodies.first_tile[part + 1], P.r, P.u)
    for i in range(first, last):
        P.q[i] -= P.u[i]
    return not (acting and by_bodies) or _take_rows(P, part)


@kernel
def largest_tree(P, island):
    """Velocities of the largest tree of an island by bodies."""
    most, bodies = 0, P.bodies
    for c in range(bodies.first_tile[island], bodies.first_tile[island + 1]):
        t = bodies.tree_of[bodies.tiles[c]]
        most = max(most, TILE * (bodies.tree[t + 1] - bodies.tree[t]))
    return most


@kernel
def _take_rows(P, part):
    """W of the rows of a part by bodies, column by column; False where they are many."""
    b0, b1, x, y = P.island[part], P.island[part + 1], P.work.dr, P.work.du
    first, last = P.blocks.start[b0], P.blocks.start[b1]
    c0, c1 = P.bodies.first_tile[part], P.bodies.first_tile[part + 1]
    if last - first > min(P.W.shape[0], FEW * largest_tree(P, part)):
        return False
    for i in range(first, last):
        x[i], P.source[i] = 0.0, i - first
    for j in range(first, last):
        x[j] = 1.0
        apply_rigid(P, b0, b1, c0, c1, x, y)
        x[j] = 0.0
        for i in range(first, last):
            P.W[i - first, j - first] = y[i]
    return True


@sweep
def _choose_acting(P, b0, b1, tolerance, chosen):
    """The blocks that press or are not solved."""
    start = P.blocks.start
    least = attainable(P, start[b0], start[b1], tolerance)
    for b in range(b0, b1):
        acts = residual(P.blocks, P.r, P.u, b, b + 1) > least
        for i in range(start[b], start[b + 1]):
            acts = acts or P.r[i] != 0.0
        chosen[start[b]] = 1.0 if acts else 0.0


@sweep
def _choose_neighbours(P, island, tolerance, chosen):
    """All blocks of the bodies whose contacts are not solved."""
    blocks, bodies = P.blocks, P.bodies
    marked = P.factors.degree  # tiles: 1 with a contact that is not solved, later 2 of a tree that the part touches
    b0, b1, largest = P.island[island], P.island[island + 1], 0.0
    for b in range(b0, b1):
        now = residual(blocks, P.r, P.u, b, b + 1)
        chosen[blocks.start[b]], largest = now, max(largest, now)
    for c in range(bodies.first_tile[island], bodies.first_tile[island + 1]):
        marked[bodies.tiles[c]] = 0
    for b in range(b0, b1):
        if chosen[blocks.start[b]] > max(tolerance, WORST * largest):
            for e in range(bodies.entry[b], bodies.entry[b + 1]):
                marked[bodies.tile[e]] = 1
    for b in range(b0, b1):
        chosen[blocks.start[b]] = 0.0
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            if marked[bodies.tile[e]] == 1:
                chosen[blocks.start[b]] = 1.0


@sweep
def _copy_block(P, b, to, by_bodies):
    """Append block b as the block ``to``, its rows with their impulses and velocities; False where it does not fit."""
    blocks, bodies = P.blocks, P.bodies
    i, n, entry = blocks.start[to], blocks.start[b + 1] - blocks.start[b], bodies.entry[to]
    entries = bodies.entry[b + 1] - bodies.entry[b] if by_bodies else 0
    if i + n > P.r.shape[0] or entry + entries > bodies.tile.shape[0]:
        return False
    blocks.kind[to], blocks.n_f[to] = blocks.kind[b], blocks.n_f[b]
    for a in range(n):
        k = blocks.start[b] + a
        blocks.mu[i + a], blocks.D[i + a], blocks.S[i + a] = blocks.mu[k], blocks.D[k], blocks.S[k]
        blocks.own[i + a] = blocks.own[k]
        P.r[i + a], P.u[i + a], P.immobile[i + a] = P.r[k], P.u[k], P.immobile[k]
        P.work.before[i + a], P.source[i + a], P.origin[i + a] = P.work.before[k], P.source[k], k
    for e in range(entries):
        k = bodies.entry[b] + e
        bodies.tile[entry + e], bodies.at[entry + e] = bodies.tile[k], bodies.at[k]
    blocks.start[to + 1], bodies.entry[to + 1] = i + n, entry + entries
    return True


@sweep
def _copy_tiles(P, part, c0, c1):
    """Append the tiles of all trees that the part touches."""
    bodies, marked, end = P.bodies, P.factors.degree, P.bodies.first_tile[part]
    for c in range(c0, c1):
        marked[bodies.tiles[c]] = 0
    for e in range(bodies.entry[P.island[part]], bodies.entry[P.island[part + 1]]):
        t = bodies.tree_of[bodies.tile[e]]
        for c in range(bodies.tree[t], bodies.tree[t + 1]):
            marked[c] = 2
    for c in range(c0, c1):
        if marked[bodies.tiles[c]] == 2:
            bodies.tiles[end] = bodies.tiles[c]
            end += 1
    bodies.first_tile[part + 1] = end


@sweep
def take_part(P):
    """The impulses of the part, which ``pose_part`` has appended, into those of the island."""
    part = P.count[ISLANDS]
    for i in range(P.blocks.start[P.island[part]], P.blocks.start[P.island[part + 1]]):
        P.r[P.origin[i]] = P.r[i]
