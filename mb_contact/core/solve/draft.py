# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Blocks of the contact problem as the step finds them, then sorted by islands: trees that rows couple."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel, part
from mb_contact.core.solve.system import BLOCKS, BOX, CONTACT, EQUALITY, ISLANDS, LARGEST_BLOCK, PIECE, ROWS, UNILATERAL
from mb_contact.types import TOUCHING_FRICTION, FrictionParameters

COULOMB = 0  #: friction models
NO_SLIP = 1
VISCOUS = 2
COULOMB_VISCOUS = 3


MODEL, DIRECTIONS, HALVES = range(3)  #: entries of Friction.model


class Friction(NamedTuple):
    """The friction model of a scene and what its contacts need."""

    #: COULOMB .. COULOMB_VISCOUS; n_f, 0 for the exact cone; halves of the step in which viscous friction acts: 2, or
    #: 1 where rows are the sum of the slips at both ends
    model: Annotated[Integers, 3]
    viscous: Annotated[Reals, "m"]  #: viscous coefficient of each pair of geometries [N s/m]
    surfaces: FrictionParameters
    mu: Annotated[Reals, "c", 2]  #: friction coefficients along both tangents
    extra: Annotated[Integers, "c"]  #: first row of torsion and rolling, or -1


class Draft(NamedTuple):
    """Blocks in the order in which the step poses them, before they are sorted by islands."""

    count: Annotated[Integers, 1]
    kind: Annotated[Integers, "B"]
    n_f: Annotated[Integers, "B"]
    size: Annotated[Integers, "B"]
    row: Annotated[Integers, "B", LARGEST_BLOCK]  #: rows of the step
    mu: Annotated[Reals, "B", LARGEST_BLOCK]
    partner: Annotated[Integers, "B"]  #: second row of a gear, or -1
    weight: Annotated[Reals, "B"]  #: its weight
    island: Annotated[Integers, "B"]
    order: Annotated[Integers, "B"]  #: by the sorted numbers
    leader: Annotated[Integers, "T"]
    number: Annotated[Integers, "T"]  #: island of a tree, -1 where none
    where: Annotated[Integers, "C"]  #: entry of a piece in the present block, -1 where none
    freedom: Annotated[Integers, "N"]  #: degrees of freedom that the present row acts on,
    share: Annotated[Reals, "N"]  #: and its share of each
    tree: Annotated[Integers, "n"]  #: tree of each body
    I: Annotated[Reals, "n", 3, 3]  #: composite inertias
    mc: Annotated[Reals, "n", 3]
    mass: Annotated[Reals, "n"]
    damping: Annotated[Reals, "N"]  #: dt times the damping: part of M in a step, zero in an impact


def make_friction(model, n_f, halves, viscous, surfaces, contacts):
    """For so many contacts."""
    model, extra = np.array([model, n_f, halves]), np.full(contacts, -1, np.int64)
    return allocate(Friction, c=contacts, model=model, viscous=viscous, surfaces=surfaces, extra=extra)


def tree_layout(parent, root, v_start, nv):
    """(tree of each body, pieces of each tree, place of each velocity) of a forest; each tree has pieces of its own."""
    roots, tree = np.unique(root, return_inverse=True)
    sizes = np.bincount(tree, weights=nv, minlength=len(roots)).astype(np.int64)
    pieces = -(-sizes // PIECE)
    used = PIECE * (np.cumsum(pieces) - pieces)
    place = np.zeros(int(sizes.sum()), np.int64)
    for k in range(len(parent)):
        place[v_start[k] : v_start[k] + nv[k]] = used[tree[k]] + np.arange(nv[k])
        used[tree[k]] += nv[k]
    return tree.astype(np.int64), pieces, place


def make_draft(blocks, tree, pieces, N):
    """For so many blocks, the forest's ``tree_layout`` and N degrees of freedom."""
    where = np.full(int(pieces.sum()), -1, np.int64)
    return allocate(Draft, B=blocks, T=len(pieces), n=len(tree), N=N, tree=tree, where=where)


@kernel
def _open(draft, kind, n_f):
    """A new block without rows; returns its number."""
    b = draft.count[0]
    draft.count[0] = b + 1
    draft.kind[b] = kind
    draft.n_f[b] = n_f
    draft.size[b] = 0
    draft.partner[b] = -1
    return b


@kernel
def _take(draft, b, row, mu):
    """One more row of block b."""
    draft.row[b, draft.size[b]] = row
    draft.mu[b, draft.size[b]] = mu
    draft.size[b] += 1


@part
def draft_contacts(draft, contacts, friction, dt, unit):
    """Blocks of the contacts, the first ones, contact by contact; ``unit`` of length."""
    model = friction.model[MODEL]
    acting = 0.5 * dt * friction.model[HALVES]
    draft.count[0] = 0
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        coulomb = model == COULOMB or model == COULOMB_VISCOUS
        b = _open(draft, CONTACT if coulomb else UNILATERAL, friction.model[DIRECTIONS])
        _take(draft, b, 3 * i, 0.0)
        if coulomb:
            _take(draft, b, 3 * i + 1, friction.mu[i, 0])
            _take(draft, b, 3 * i + 2, friction.mu[i, 1])
            at = friction.extra[i]
            if at >= 0 and friction.surfaces.torsional[pair] > 0.0:
                _take(draft, b, at, friction.surfaces.torsional[pair])
                at += 1
            if at >= 0 and friction.surfaces.rolling[pair] > 0.0:
                _take(draft, b, at, friction.surfaces.rolling[pair])
                _take(draft, b, at + 1, friction.surfaces.rolling[pair])
        if model == COULOMB or contacts.gap[i] > TOUCHING_FRICTION * unit:
            continue
        if model != NO_SLIP and friction.viscous[pair] == 0.0:
            continue
        for a in range(1, 3):
            b = _open(draft, EQUALITY, 0)
            _take(draft, b, 3 * i + a, 0.0 if model == NO_SLIP else 1.0 / (acting * friction.viscous[pair]))


@part
def draft_joints(draft, contacts, blocks, start, first, bound, soft, ratio, count, gears):
    """Blocks of joint limits, then of the ``count`` rows of loops, joint friction and gears from row ``first`` on.

    ``bound`` of a row of joint friction is its greatest impulse, 0 of other rows, ``soft`` the softness of damping in
    hinges; the last ``gears`` rows are gears.
    """
    for block in range(contacts, blocks):
        b = _open(draft, UNILATERAL, 0)
        _take(draft, b, start[block], 0.0)
    for k in range(count):
        if bound[k] > 0.0:
            _take(draft, _open(draft, BOX, 0), first + k, bound[k])
        elif soft[k] > 0.0:
            _take(draft, _open(draft, EQUALITY, 0), first + k, soft[k])
    for k in range(count):  # the last blocks: a face may eliminate them
        if bound[k] > 0.0 or soft[k] > 0.0:
            continue
        b = _open(draft, EQUALITY, 0)
        _take(draft, b, first + k, 0.0)
        if k >= count - gears:
            draft.partner[b] = first + k + gears
            draft.weight[b] = -ratio[k]


@kernel
def leader_of(leader, t):
    """Leader of the trees that tree t is coupled with."""
    while leader[t] != t:
        leader[t] = leader[leader[t]]
        t = leader[t]
    return t


@kernel
def _couple(draft, rows, row, first):
    """Couple the trees of one row with tree ``first`` (-1 for none yet); returns a tree of theirs."""
    for side in range(2):
        k = rows.body_a[row] if side == 0 else rows.body_b[row]
        if k >= 0:
            t = leader_of(draft.leader, draft.tree[k])
            if first >= 0:
                draft.leader[t] = leader_of(draft.leader, first)
            first = t
    return first


@part
def sort_islands(P, draft, rows):
    """Blocks in the order of their islands, with their rows; islands in the order of their first blocks."""
    count = draft.count[0]
    for t in range(draft.leader.shape[0]):
        draft.leader[t] = t
        draft.number[t] = -1
    for b in range(count):
        t = _couple(draft, rows, draft.row[b, 0], -1)
        if draft.partner[b] >= 0:
            t = _couple(draft, rows, draft.partner[b], t)
        draft.island[b] = t
    islands = 0
    for b in range(count):
        t = leader_of(draft.leader, draft.island[b])
        if draft.number[t] < 0:
            draft.number[t] = islands
            P.island[islands + 1] = 0
            islands += 1
        draft.island[b] = draft.number[t]
        P.island[draft.island[b] + 1] += 1
    P.island[0] = 0
    for i in range(islands):
        P.island[i + 1] += P.island[i]
    first_piece = P.bodies.first_piece
    first_piece[0] = 0
    at = 0
    for i in range(islands):
        for t in range(draft.leader.shape[0]):
            if draft.number[leader_of(draft.leader, t)] == i:
                for c in range(P.bodies.tree[t], P.bodies.tree[t + 1]):
                    P.bodies.pieces[at] = c
                    at += 1
        first_piece[i + 1] = at
    P.count[BLOCKS] = count
    P.count[ISLANDS] = islands
    _place_blocks(P, draft)


@part
def _place_blocks(P, draft):
    """Kinds, rows and coefficients of the blocks, sorted; ``draft.order`` has the number that each had."""
    blocks = P.blocks
    islands = P.count[ISLANDS]
    for i in range(islands):
        P.report[i, 0] = P.island[i]
    for b in range(draft.count[0]):
        i = draft.island[b]
        to = np.int64(P.report[i, 0])
        P.report[i, 0] += 1.0
        draft.order[to] = b
        blocks.start[to + 1] = draft.size[b]
        blocks.kind[to] = draft.kind[b]
        blocks.n_f[to] = draft.n_f[b]
    blocks.start[0] = 0
    for b in range(draft.count[0]):
        blocks.start[b + 1] += blocks.start[b]
    for b in range(draft.count[0]):
        at = blocks.start[b]
        for a in range(draft.size[draft.order[b]]):
            P.source[at + a] = draft.row[draft.order[b], a]
            blocks.mu[at + a] = draft.mu[draft.order[b], a]
    P.count[ROWS] = blocks.start[draft.count[0]]
