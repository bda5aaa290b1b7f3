# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Patterns of block-sparse matrices: which blocks are not zero, the order of elimination, the fill."""

from __future__ import annotations

from mb_contact.core.jit import kernel


@kernel
def count_blocks(W, start):
    """Blocks that are not zero (the diagonal ones always count) and their entries."""
    m = start.shape[0] - 1
    number = 0
    entries = 0
    for i in range(m):
        for j in range(m):
            if i == j or not _zero_block(W, start, i, j):
                number += 1
                entries += (start[i + 1] - start[i]) * (start[j + 1] - start[j])
    return number, entries


@kernel
def fill_blocks(W, blocks):
    """Copy the blocks of a dense matrix."""
    start = blocks.start
    m = start.shape[0] - 1
    b = 0
    o = 0
    for i in range(m):
        blocks.first[i] = b
        for j in range(m):
            if i != j and _zero_block(W, start, i, j):
                continue
            blocks.column[b] = j
            blocks.offset[b] = o
            for r in range(start[i], start[i + 1]):
                for c in range(start[j], start[j + 1]):
                    blocks.value[o] = W[r, c]
                    o += 1
            b += 1
    blocks.first[m] = b


@kernel
def gather_blocks(W, source, start, marked, blocks):
    """The nonzero blocks of W[source][:, source] into the leading parts of ``blocks``; returns (blocks, entries).

    A block counts if it or its mirror image is not zero.  ``marked`` (m, m) uint8 is a workspace.
    """
    m = start.shape[0] - 1
    for i in range(m):
        for j in range(m):
            marked[i, j] = 0
        marked[i, i] = 1
    for i in range(m):  # along the rows of W: by blocks it takes ten times as long
        for r in range(start[i], start[i + 1]):
            s = source[r]
            for j in range(m):
                if marked[i, j] == 0:
                    for c in range(start[j], start[j + 1]):
                        if W[s, source[c]] != 0.0:
                            marked[i, j] = 1
                            marked[j, i] = 1
                            break
    b = 0
    o = 0
    for i in range(m):
        blocks.first[i] = b
        for j in range(m):
            if marked[i, j] == 0:
                continue
            blocks.column[b] = j
            blocks.offset[b] = o
            for r in range(start[i], start[i + 1]):
                for c in range(start[j], start[j + 1]):
                    blocks.value[o] = W[source[r], source[c]]
                    o += 1
            b += 1
    blocks.first[m] = b
    return b, o


@kernel
def _zero_block(W, start, i, j):
    """Whether both the block and its mirror image are zero."""
    for r in range(start[i], start[i + 1]):
        for c in range(start[j], start[j + 1]):
            if W[r, c] != 0.0 or W[c, r] != 0.0:
                return False
    return True


@kernel
def eliminate(blocks, adjacent, degree, near, order, first):
    """Order of least degree on the graph of the blocks; returns (later neighbours, entries of the factors).

    ``adjacent`` (m, m) uint8, ``degree`` and ``near`` (m,) are workspaces; afterwards ``adjacent`` holds the filled
    graph.
    """
    start = blocks.start
    m = start.shape[0] - 1
    for i in range(m):
        for j in range(m):
            adjacent[i, j] = 0
        degree[i] = 0
    for i in range(m):
        for b in range(blocks.first[i], blocks.first[i + 1]):
            j = blocks.column[b]
            if i != j:
                adjacent[i, j] = 1
                adjacent[j, i] = 1
    for i in range(m):
        for j in range(m):
            degree[i] += adjacent[i, j]
    total = 0
    entries = 0
    for k in range(m):
        best = -1
        for i in range(m):
            if degree[i] >= 0 and (best < 0 or degree[i] < degree[best]):
                best = i
        order[k] = best
        first[k] = total
        count = 0
        for j in range(m):
            if adjacent[best, j] == 1 and degree[j] >= 0:
                near[count] = j
                count += 1
        total += count
        degree[best] = -1
        d = start[best + 1] - start[best]
        entries += d * d
        for a in range(count):
            i = near[a]
            entries += 2 * d * (start[i + 1] - start[i])
            degree[i] -= 1
            for c in range(a):
                j = near[c]
                if adjacent[i, j] == 0:
                    adjacent[i, j] = 1
                    adjacent[j, i] = 1
                    degree[i] += 1
                    degree[j] += 1
    first[m] = total
    return total, entries


@kernel
def place_factors(blocks, adjacent, rank, factors):
    """Lay out the factors row by row; fills ``later``, ``place`` and ``target``; ``rank`` (m,) is a workspace."""
    start = blocks.start
    m = start.shape[0] - 1
    for k in range(m):
        rank[factors.order[k]] = k
    o = 0
    for k in range(m):
        i = factors.order[k]
        t = factors.first[k]
        for l in range(k, m):
            j = factors.order[l]
            if l > k and adjacent[i, j] == 1:
                factors.later[t] = j
                t += 1
        for l in range(m):
            j = factors.order[l]
            if i == j or adjacent[i, j] == 1:
                factors.place[i, j] = o
                o += (start[i + 1] - start[i]) * (start[j + 1] - start[j])
            else:
                factors.place[i, j] = -1
    for i in range(m):
        for b in range(blocks.first[i], blocks.first[i + 1]):
            factors.target[b] = factors.place[i, blocks.column[b]]
