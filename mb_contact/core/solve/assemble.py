# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From the rows of a step or an impact to its ``System``: blocks, islands, and one face of the operator W.

Every friction model poses the same rows; the models differ in the blocks that stand for a contact:

    Coulomb             CONTACT with the disc or a polygon of n_f vertices (J14 Eq. 10), torsion and rolling
    no slip, viscous    UNILATERAL normal, both tangents EQUALITY, with softness 1 / (dt mu_v) where viscous (D15)
    Coulomb, viscous    CONTACT, and the tangents once more as soft EQUALITY: both forces act side by side

An island is a set of trees that contacts, loops and gears couple.  The operator is posed by rows (Upsilon and Omega, as
J14 section 8 has it) where that costs less than by bodies: few contacts on long chains.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.constraints.bilateral import combine_gears
from mb_contact.core.jit import entry, kernel
from mb_contact.core.solve.by_bodies import invert_masses
from mb_contact.core.solve.gauss_seidel import own_compliance, own_terms
from mb_contact.core.solve.laws import friction_group
from mb_contact.core.solve.system import (
    BLOCKS,
    BOX,
    BY_BODIES,
    BY_ROWS,
    CONTACT,
    EQUALITY,
    ISLANDS,
    LARGEST_BLOCK,
    PIECE,
    ROWS,
    UNILATERAL,
)
from mb_contact.core.tree.compliance import compliance_terms, row_compliance
from mb_contact.core.tree.composite import composite_inertias
from mb_contact.core.tree.spatial import cross, rotate
from mb_contact.types import Surfaces

COULOMB = 0  #: friction models
NO_SLIP = 1
VISCOUS = 2
COULOMB_VISCOUS = 3

TOUCH = 1e-4  #: contacts nearer than this feel the friction of the other models [m]
IMMOBILE = 1e-12  #: part of the terms of a row's compliance that counts as rounding: nothing moves along the row
NOTHING = 1e-22  #: of the largest compliance: axes that are perpendicular but for the rounding of pi / 2
SUSPECT = 1e-9  #: of the largest compliance: rows below are looked at more closely
FLOOR = 1e-4  #: scale of an immobile row, as a part of its terms,
LEAST = 1e-6  #: and as a part of the largest compliance
PIECE_COST = 4e3  #: multiply-adds that a piece costs by bodies
DENSE_LIMIT = 512  #: rows above which the operator is never dense


class Friction(NamedTuple):
    """The friction model of a scene and what its contacts need."""

    model: np.ndarray  #: int64 (2,): COULOMB .. COULOMB_VISCOUS, and n_f, 0 for the exact cone
    viscous: np.ndarray  #: (m,), viscous coefficient of each pair of geometries [N s/m]
    surfaces: Surfaces
    mu: np.ndarray  #: (c, 2), friction coefficients along both tangents
    extra: np.ndarray  #: int64 (c,), first row of torsion and rolling, or -1


class Draft(NamedTuple):
    """Blocks in the order in which the step poses them, before they are sorted by islands."""

    count: np.ndarray  #: int64 (1,)
    kind: np.ndarray  #: int64 (B,)
    n_f: np.ndarray  #: int64 (B,)
    size: np.ndarray  #: int64 (B,)
    row: np.ndarray  #: int64 (B, 6), rows of the step
    mu: np.ndarray  #: (B, 6)
    partner: np.ndarray  #: int64 (B,), second row of a gear, or -1
    weight: np.ndarray  #: (B,), its weight
    island: np.ndarray  #: int64 (B,)
    order: np.ndarray  #: int64 (B,), by the sorted numbers
    leader: np.ndarray  #: int64 (T,)
    number: np.ndarray  #: int64 (T,), island of a tree, -1 where none
    where: np.ndarray  #: int64 (C,), entry of a piece in the present block, -1 where none
    tree: np.ndarray  #: int64 (n,), tree of each body
    I: np.ndarray  #: (n, 3, 3), composite inertias
    mc: np.ndarray  #: (n, 3)
    mass: np.ndarray  #: (n,)
    damping: np.ndarray  #: (N,), dt times the damping: part of M in a step, zero in an impact


def make_friction(model, n_f, viscous, surfaces, contacts):
    """For so many contacts."""
    return Friction(
        np.array([model, n_f]), viscous, surfaces, np.zeros((contacts, 2)), np.full(contacts, -1, np.int64)
    )  # fmt: skip


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
    n = len(tree)
    return Draft(
        count=np.zeros(1, np.int64),
        kind=np.zeros(blocks, np.int64),
        n_f=np.zeros(blocks, np.int64),
        size=np.zeros(blocks, np.int64),
        row=np.zeros((blocks, LARGEST_BLOCK), np.int64),
        mu=np.zeros((blocks, LARGEST_BLOCK)),
        partner=np.zeros(blocks, np.int64),
        weight=np.zeros(blocks),
        island=np.zeros(blocks, np.int64),
        order=np.zeros(blocks, np.int64),
        leader=np.zeros(len(pieces), np.int64),
        number=np.zeros(len(pieces), np.int64),
        where=np.full(int(pieces.sum()), -1, np.int64),
        tree=tree,
        I=np.zeros((n, 3, 3)),
        mc=np.zeros((n, 3)),
        mass=np.zeros(n),
        damping=np.zeros(N),
    )


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


@kernel
def draft_contacts(draft, contacts, friction, dt):
    """Blocks of the contacts, the first ones, contact by contact."""
    model = friction.model[0]
    draft.count[0] = 0
    for i in range(contacts.count[0]):
        pair = contacts.pair[i]
        coulomb = model == COULOMB or model == COULOMB_VISCOUS
        b = _open(draft, CONTACT if coulomb else UNILATERAL, friction.model[1])
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
        if model == COULOMB or contacts.gap[i] > TOUCH or (model != NO_SLIP and friction.viscous[pair] == 0.0):
            continue
        for a in range(1, 3):
            b = _open(draft, EQUALITY, 0)
            _take(draft, b, 3 * i + a, 0.0 if model == NO_SLIP else 1.0 / (dt * friction.viscous[pair]))


@kernel
def draft_joints(draft, contacts, units, start, first, bound, ratio, count, gears):
    """Blocks of joint limits, then of the ``count`` rows of loops, joint friction and gears from row ``first`` on.

    ``bound`` of a row of joint friction is its greatest impulse, 0 of other rows; the last ``gears`` rows are gears.
    """
    for unit in range(contacts, units):
        b = _open(draft, UNILATERAL, 0)
        _take(draft, b, start[unit], 0.0)
    for k in range(count):
        b = _open(draft, BOX if bound[k] > 0.0 else EQUALITY, 0)
        _take(draft, b, first + k, bound[k])
        if k >= count - gears:
            draft.partner[b] = first + k + gears
            draft.weight[b] = -ratio[k]


@kernel
def _find(leader, t):
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
            t = _find(draft.leader, draft.tree[k])
            if first >= 0:
                draft.leader[t] = _find(draft.leader, first)
            first = t
    return first


@entry
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
        t = _find(draft.leader, draft.island[b])
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
            if draft.number[_find(draft.leader, t)] == i:
                for c in range(P.bodies.tree[t], P.bodies.tree[t + 1]):
                    P.bodies.pieces[at] = c
                    at += 1
        first_piece[i + 1] = at
    P.count[BLOCKS] = count
    P.count[ISLANDS] = islands
    _place_blocks(P, draft)


@entry
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


@entry
def choose_face(P, only_rows):
    """By rows or by bodies, whichever takes fewer multiply-adds."""
    by_rows = 0.0
    by_bodies = 0.0
    for i in range(P.count[ISLANDS]):
        by_rows += float(P.blocks.start[P.island[i + 1]] - P.blocks.start[P.island[i]]) ** 3
        for k in range(P.bodies.first_piece[i], P.bodies.first_piece[i + 1]):
            c = P.bodies.pieces[k]
            t = P.bodies.tree_of[c]
            if c == P.bodies.tree[t]:
                n = P.bodies.tree[t + 1] - P.bodies.tree[t]
                by_bodies += float(PIECE * n) ** 3 if n > 1 else 0.0
            by_bodies += PIECE_COST
    fits = P.count[ROWS] <= P.factors.A.shape[0]
    P.face[0] = BY_ROWS if only_rows or (by_rows <= by_bodies and fits) else BY_BODIES


@entry
def pose_bodies(P, draft, tree, kin, rows):
    """J, M and M^-1 of the islands' trees, and the diagonal of W into D; False where J does not fit."""
    bodies = P.bodies
    start = P.blocks.start
    _masses(tree, kin, draft, bodies)
    invert_masses(bodies, 0, bodies.first_piece[P.count[ISLANDS]])
    bodies.entry[0] = 0
    used = 0  # rows of J
    for b in range(P.count[BLOCKS]):
        k = draft.order[b]
        size = draft.size[k]
        bodies.entry[b + 1] = bodies.entry[b]
        for a in range(size):
            used = _row_of_J(draft, tree, kin, rows, bodies, b, size, a, draft.row[k, a], 1.0, used)
        if used >= 0 and draft.partner[k] >= 0:
            used = _row_of_J(draft, tree, kin, rows, bodies, b, size, 0, draft.partner[k], draft.weight[k], used)
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            draft.where[bodies.piece[e]] = -1
        if used < 0:
            return False
    own_compliance(start, bodies, False, P.W, P.source, 0, P.count[BLOCKS], P.work.own)
    for b in range(P.count[BLOCKS]):
        for a in range(start[b + 1] - start[b]):
            P.blocks.D[start[b] + a] = P.work.own[b, a, a]
    return True


@kernel
def _masses(tree, kin, draft, bodies):
    """M of the trees of the islands, with dt times the damping on its diagonal (J11 algorithm 4.2)."""
    for k in range(tree.parent.shape[0]):
        draft.mass[k] = tree.mass[k]
        for a in range(3):
            draft.mc[k, a] = kin.mc[k, a]
            for c in range(3):
                draft.I[k, a, c] = kin.I[k, a, c]
    composite_inertias(tree, kin.l, draft.I, draft.mc, draft.mass)
    for t in range(draft.leader.shape[0]):
        if draft.number[_find(draft.leader, t)] < 0:
            continue
        n = PIECE * (bodies.tree[t + 1] - bodies.tree[t])
        at = bodies.mass_at[t]
        for i in range(n):
            for j in range(n):
                bodies.M[at + i * n + j] = 1.0 if i == j else 0.0
    for k in range(tree.parent.shape[0]):
        t = draft.tree[k]
        if draft.number[_find(draft.leader, t)] < 0:
            continue
        for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            base = PIECE * bodies.tree[t]
            n = PIECE * bodies.tree[t + 1] - base
            _mass_row(tree, kin, draft, bodies, k, d, bodies.mass_at[t], base, n)


@kernel
def _mass_row(tree, kin, draft, bodies, k, d, at, base, n):
    """Row and column of degree of freedom d of body k: f = R(k) h* goes from hinge to hinge."""
    H = kin.H
    M = bodies.M
    nx, ny, nz = rotate(draft.I, k, H[d, 0], H[d, 1], H[d, 2])
    tx, ty, tz = cross(draft.mc[k, 0], draft.mc[k, 1], draft.mc[k, 2], H[d, 3], H[d, 4], H[d, 5])
    fx, fy, fz = cross(H[d, 0], H[d, 1], H[d, 2], draft.mc[k, 0], draft.mc[k, 1], draft.mc[k, 2])
    nx += tx
    ny += ty
    nz += tz
    fx += draft.mass[k] * H[d, 3]
    fy += draft.mass[k] * H[d, 4]
    fz += draft.mass[k] * H[d, 5]
    i = bodies.place[d] - base
    m = k
    while m >= 0:
        last = d + 1 if m == k else tree.v_start[m] + tree.nv[m]
        for e in range(tree.v_start[m], last):
            j = bodies.place[e] - base
            x = H[e, 0] * nx + H[e, 1] * ny + H[e, 2] * nz + H[e, 3] * fx + H[e, 4] * fy + H[e, 5] * fz
            M[at + i * n + j] = x
            M[at + j * n + i] = x
        x, y, z = cross(kin.l[m, 0], kin.l[m, 1], kin.l[m, 2], fx, fy, fz)
        nx += x
        ny += y
        nz += z
        m = tree.parent[m]
    M[at + i * n + i] += tree.armature[d] + draft.damping[d]


@kernel
def _row_of_J(draft, tree, kin, rows, bodies, b, size, a, row, weight, used):
    """Add ``weight`` times a row of the step to row a of block b; returns the rows of J in use, -1 where it is full.

    The 6-vector of a row goes from hinge to hinge, as a force does; a joint's own row is its degree of freedom alone.
    """
    H = kin.H
    for side in range(1 if rows.dof[row] >= 0 else 2):
        on = rows.on_a if side == 0 else rows.on_b
        k = rows.body_a[row] if side == 0 else rows.body_b[row]
        if k < 0:
            continue
        nx = weight * on[row, 0]
        ny = weight * on[row, 1]
        nz = weight * on[row, 2]
        fx = weight * on[row, 3]
        fy = weight * on[row, 4]
        fz = weight * on[row, 5]
        while k >= 0:
            for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                c = bodies.place[d] // PIECE
                if draft.where[c] < 0:
                    e = bodies.entry[b + 1]
                    if e == bodies.piece.shape[0] or used + size > bodies.J.shape[0]:
                        return -1
                    draft.where[c] = e
                    bodies.piece[e] = c
                    bodies.at[e] = used
                    bodies.entry[b + 1] = e + 1
                    for i in range(used, used + size):
                        for j in range(PIECE):
                            bodies.J[i, j] = 0.0
                    used += size
                at = bodies.at[draft.where[c]] + a
                if rows.dof[row] >= 0:
                    bodies.J[at, bodies.place[d] % PIECE] += weight * (1.0 - 2.0 * (rows.dof[row] % 2))
                else:
                    bodies.J[at, bodies.place[d] % PIECE] += (
                        H[d, 0] * nx + H[d, 1] * ny + H[d, 2] * nz + H[d, 3] * fx + H[d, 4] * fy + H[d, 5] * fz
                    )
            if rows.dof[row] >= 0:
                break
            x, y, z = cross(kin.l[k, 0], kin.l[k, 1], kin.l[k, 2], fx, fy, fz)
            nx += x
            ny += y
            nz += z
            k = tree.parent[k]
    return used


@entry
def pose_rows(P, com, rows, gears, n_rows, count):
    """W of the step's rows, and its diagonal into D; a gear's row becomes that of joint a and its partner's."""
    row_compliance(com, rows, n_rows, count, P.W)
    combine_gears(P.W, gears)
    for i in range(P.count[ROWS]):
        P.blocks.D[i] = P.W[P.source[i], P.source[i]]


@entry
def set_scales(P, com, rows):
    """Scales D from the diagonal of W that stands in D, and which rows nothing moves."""
    blocks = P.blocks
    D = blocks.D
    largest = 0.0
    for i in range(P.count[ROWS]):
        largest = max(largest, D[i])
        P.immobile[i] = 0
    for b in range(P.count[BLOCKS]):
        n = blocks.start[b]
        for i in range(n, blocks.start[b + 1]):
            if D[i] > SUSPECT * largest:
                continue
            if P.face[0] == BY_ROWS:
                terms = compliance_terms(com, rows, P.source[i])
            else:
                terms = own_terms(P.bodies, b, i - n)
            if D[i] <= max(IMMOBILE * terms, NOTHING * largest):
                D[i] = max(FLOOR * terms, LEAST * largest)
                P.immobile[i] = 1
                if blocks.kind[b] == EQUALITY:
                    blocks.mu[i] = D[i]  # any impulse would fulfil it: none
    spread_scales(blocks, P.count[BLOCKS])


@kernel
def spread_scales(blocks, count):
    """One scale for each friction group: the mean of mu^2 D over its rows, over the mu^2 of each."""
    D = blocks.D
    for b in range(count):
        i = blocks.start[b] + 1
        while blocks.kind[b] == CONTACT and i < blocks.start[b + 1]:
            size = friction_group(blocks, b, i)[1]
            mean = 0.0
            rough = 0
            for k in range(i, i + size):
                if blocks.mu[k] > 0.0:
                    mean += blocks.mu[k] * blocks.mu[k] * D[k]
                    rough += 1
            for k in range(i, i + size):
                if blocks.mu[k] > 0.0:
                    D[k] = mean / (rough * blocks.mu[k] * blocks.mu[k])
            i += size


@entry
def set_velocities(P, q):
    """q of the rows from the caller's; along an immobile row nothing is asked for, and a normal parts."""
    for b in range(P.count[BLOCKS]):
        kind = P.blocks.kind[b]
        n = P.blocks.start[b]
        for i in range(n, P.blocks.start[b + 1]):
            P.q[i] = q[P.source[i]]
            if P.immobile[i] != 0:
                one_sided = i == n and (kind == CONTACT or kind == UNILATERAL)
                P.q[i] = max(P.q[i], np.sqrt(P.blocks.D[i])) if one_sided else 0.0
