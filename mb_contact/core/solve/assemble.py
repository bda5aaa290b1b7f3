# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From the rows of a step or an impact to its ``System``: blocks, islands, and one form of the operator W.

Every friction model poses the same rows; the models differ in the blocks that stand for a contact:

    Coulomb             CONTACT with the disc or a polygon of n_f vertices (J14 Eq. 10), torsion and rolling
    no slip, viscous    UNILATERAL normal, both tangents EQUALITY, with softness 1 / (dt mu_v) where viscous (D15)
    Coulomb, viscous    CONTACT, and the tangents once more as soft EQUALITY: both forces act side by side

An island is a set of trees that contacts, loops and gears couple.  The operator is posed by rows (Upsilon and Omega, as
J14 section 8 has it) where that costs less than by bodies: few contacts on long chains.  One island whose contacts act
on few bodies is posed by these (``nodes.py``).
"""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.gear import combine_gears, partners
from mb_contact.core.constraints.row_by_joints import row_by_joints
from mb_contact.core.constraints.rows import row_sides
from mb_contact.core.jit import TRUTH, kernel, on_demand, part, sweep
from mb_contact.core.solve.by_bodies import factor_masses
from mb_contact.core.solve.islands import leader_of
from mb_contact.core.solve.laws import friction_group
from mb_contact.core.solve.nodes import assemble_by_nodes, choose_nodes, take_compliance
from mb_contact.core.solve.own_compliance import own_compliance, own_terms, take_own
from mb_contact.core.solve.system import BLOCKS, BY_BODIES, BY_NODES, BY_ROWS, ISLANDS, ROWS, TILE
from mb_contact.core.tree.compliance import compliance_terms, essential_compliance, row_compliance
from mb_contact.core.tree.composite import body_composites
from mb_contact.core.tree.spatial import (
    gathered,
    momentum,
    spatial,
    spatial_dot,
    vector,
)
from mb_contact.core.workspace import CONTACT, EQUALITY, UNILATERAL

IMMOBILE = 1e-12  #: part of the terms of a row's compliance that counts as rounding: nothing moves along the row
NOTHING = 1e-22  #: of the largest compliance: axes that are perpendicular but for the rounding of pi / 2
TILTED = 1e-15  #: of a contact's compliance across: normals that meet the one axis within what meshes know of them
SUSPECT = 1e-9  #: of the largest compliance: rows below are looked at more closely
FLOOR = 1e-4  #: scale of a row along which nothing moves, as a part of its terms,
LEAST = 1e-6  #: and as a part of the largest compliance
TILE_COST = 4e3  #: multiply-adds that a tile costs by bodies,
TREE_COST = 5.0  #: and times n^3 those of a tree of n velocities; by rows only contacts that act are factored
COUPLED = 0.1  #: of mu |W_nt|, mu up to 1, the least scale of a normal; more would change how redundant contacts share
DENSE_LIMIT = 512  #: rows above which the operator is never dense


@kernel
def choose_form(P, only_rows, n_rows):
    """By rows or by bodies, whichever takes fewer multiply-adds; ``only_rows`` where no bodies' masses are known.

    W holds all ``n_rows`` rows of the step, those too that stand in no block.
    """
    by_rows = 0.0
    by_bodies = 0.0
    for i in range(P.count[ISLANDS]):
        by_rows += float(P.blocks.start[P.island[i + 1]] - P.blocks.start[P.island[i]]) ** 3
        for k in range(P.bodies.first_tile[i], P.bodies.first_tile[i + 1]):
            c = P.bodies.tiles[k]
            t = P.bodies.tree_of[c]
            if c == P.bodies.tree[t]:
                n = P.bodies.tree[t + 1] - P.bodies.tree[t]
                by_bodies += TREE_COST * float(TILE * n) ** 3 if n > 1 else 0.0
            by_bodies += TILE_COST
    fits = n_rows <= P.W.shape[0]
    P.form[0] = BY_ROWS if only_rows or (by_rows <= by_bodies and fits) else BY_BODIES


@kernel
def try_by_nodes(P, forest, tree, kin, art, compliance, rows, bil):
    """Pose the problem by its touched nodes, where that costs least; False where it is not done."""
    if not choose_nodes(P, forest, tree, rows, bil):
        return False
    take_compliance(P, tree, kin, compliance, essential_compliance(tree, kin, art, rows.touched, compliance))
    if not assemble_by_nodes(P, rows, bil):
        return False
    P.form[0] = BY_NODES
    fill(P.count[ROWS], P.immobile, 0)
    if P.soft[0] != 0:
        take_own(P, rows.compliance)
    spread_scales(P.blocks, P.count[BLOCKS])
    scale_normals(P)
    return True


@on_demand(TRUTH)
def assemble_by_bodies(P, forest, tree, kin, rows, bil, again):
    """J, M and U^-* of the islands' trees, and the diagonal of W into D; False where J does not fit.

    ``again`` the diagonal of W stays, but for blocks with immobile rows: steps of 300 links with 600 contacts, which
    pose each problem twice, took 26 ms in place of 63 with it and with factors that are kept.
    """
    bodies = P.bodies
    start = P.blocks.start
    tree_masses(tree, kin, forest, bodies)
    factor_masses(bodies, 0, bodies.first_tile[P.count[ISLANDS]])
    bodies.entry[0] = 0
    used = 0  # rows of J
    for b in range(P.count[BLOCKS]):
        size = start[b + 1] - start[b]
        partner, behind, weight = partners(bil, P.source[start[b]])
        bodies.entry[b + 1] = bodies.entry[b]
        for a in range(size):
            if used >= 0:
                used = _row_of_J(forest, tree, kin, rows, bodies, b, size, a, P.source[start[b] + a], 1.0, used)
        while used >= 0 and partner < behind:
            used = _row_of_J(forest, tree, kin, rows, bodies, b, size, 0, partner, weight, used)
            partner += 1
        for e in range(bodies.entry[b], bodies.entry[b + 1]):
            forest.where[bodies.tile[e]] = -1
        if used < 0:
            return False
    for b in range(P.count[BLOCKS]):
        is_known = again
        for i in range(start[b], start[b + 1]):
            is_known = is_known and P.immobile[i] == 0
        if is_known:
            continue
        own_compliance(start, bodies, b, b + 1, P.work.own, P.work.Y)
        for a in range(start[b + 1] - start[b]):
            P.blocks.D[start[b] + a] = P.work.own[b, a, a]
    return True


@kernel
def tree_masses(tree, kin, forest, bodies):
    """M of the trees of the islands, with dt times the damping on its diagonal (J11 algorithm 4.2)."""
    body_composites(tree, kin, forest.I, forest.mc, forest.mass)
    for t in range(forest.leader.shape[0]):
        if forest.number[leader_of(forest.leader, t)] < 0:
            continue
        n = TILE * (bodies.tree[t + 1] - bodies.tree[t])
        at = bodies.mass_at[t]
        for i in range(n):
            for j in range(n):
                bodies.M[at + i * n + j] = 1.0 if i == j else 0.0
    for k in range(tree.parent.shape[0]):
        t = forest.tree[k]
        if forest.number[leader_of(forest.leader, t)] < 0:
            continue
        for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            base = TILE * bodies.tree[t]
            n = TILE * bodies.tree[t + 1] - base
            _mass_row(tree, kin, forest, bodies, k, d, bodies.mass_at[t], base, n)


@sweep
def _mass_row(tree, kin, forest, bodies, k, d, at, base, n):
    """Row and column of degree of freedom d of body k: f = R(k) h* goes from hinge to hinge."""
    M = bodies.M
    f = momentum(forest.I, forest.mc, forest.mass[k], k, spatial(kin.H, d))
    i = bodies.place[d] - base
    m = k
    while m >= 0:
        last = d + 1 if m == k else tree.v_start[m] + tree.nv[m]
        for e in range(tree.v_start[m], last):
            j = bodies.place[e] - base
            M[at + i * n + j] = M[at + j * n + i] = spatial_dot(spatial(kin.H, e), f)
        f = gathered(f, vector(kin.l, m))
        m = tree.parent[m]
    M[at + i * n + i] += tree.armature[d] + forest.damping[d]


@sweep
def _row_of_J(forest, tree, kin, rows, bodies, b, size, a, row, weight, used):
    """Add ``weight`` times a row of the step to row a of block b; returns the rows of J in use, -1 where it is full."""
    last = -1
    first = 0
    for i in range(row_by_joints(tree, kin, rows, row, forest.freedom, forest.share)):
        place = bodies.place[forest.freedom[i]]
        c = place // TILE
        if c != last and forest.where[c] < 0:
            e = bodies.entry[b + 1]
            if e == bodies.tile.shape[0] or used + size > bodies.J.shape[0]:
                return -1
            forest.where[c] = e
            bodies.tile[e] = c
            bodies.at[e] = used
            bodies.entry[b + 1] = e + 1
            for k in range(used, used + size):
                fill(TILE, bodies.J[k], 0.0)
            used += size
        if c != last:
            last, first = c, bodies.at[forest.where[c]] + a
        bodies.J[first, place - c * TILE] += weight * forest.share[i]
    return used


@part
def assemble_by_rows(P, tree, kin, art, compliance, rows, gears, n_rows):
    """W of the step's rows, and its diagonal into D; a gear's row becomes that of joint a and its partner's."""
    P.form[0] = BY_ROWS
    count = essential_compliance(tree, kin, art, rows.touched, compliance)
    row_sides(compliance, rows, n_rows)
    row_compliance(compliance, rows, n_rows, count, P.W)
    combine_gears(P.W, gears)
    for i in range(P.count[ROWS]):
        P.blocks.D[i] = P.W[P.source[i], P.source[i]]


@part
def _terms(P, compliance, rows, b, i):
    """Sum of the absolute terms of the compliance of row i, of block b."""
    if P.form[0] == BY_ROWS:
        return compliance_terms(compliance, rows, P.source[i])
    return own_terms(P.bodies, b, i - P.blocks.start[b])


@part
def set_scales(P, compliance, rows):
    """Scales D from the diagonal of W that stands in D, and which rows are immobile: nothing moves along them.

    Of contacts that is told by the normal.
    """
    blocks, D = P.blocks, P.blocks.D
    if P.soft[0] != 0:
        take_own(P, rows.compliance)
    largest, best, of = 0.0, -1, 0
    for b in range(P.count[BLOCKS]):
        for i in range(blocks.start[b], blocks.start[b + 1]):
            P.immobile[i] = 0
            if D[i] > largest:
                largest, best, of = D[i], i, b
    suspect = SUSPECT * largest
    if best >= 0 and largest <= IMMOBILE * _terms(P, compliance, rows, of, best):
        suspect = largest  # contacts within an embedded loop that leaves none of them a motion
    for b in range(P.count[BLOCKS]):
        n = blocks.start[b]
        for i in range(n, blocks.start[b + 1]):
            if D[i] > suspect:
                continue
            terms = _terms(P, compliance, rows, b, i)
            across = max(D[i + 1], D[i + 2]) if blocks.kind[b] == CONTACT and i == n else 0.0
            if D[i] <= max(IMMOBILE * terms, NOTHING * largest, TILTED * across):
                D[i] = max(FLOOR * terms, LEAST * largest)
                # friction across a normal that moves keeps its velocity: other impulses reach it by 1e-6 and more
                P.immobile[i] = 1 if blocks.kind[b] != CONTACT or i == n or P.immobile[n] != 0 else 0
                if blocks.kind[b] == EQUALITY:
                    blocks.mu[i] = D[i]  # any impulse would fulfil it: none
    spread_scales(blocks, P.count[BLOCKS])
    scale_normals(P)


@kernel
def scale_normals(P):
    """Scale S of the normals: where friction moves a contact along its normal more than the normal impulse does.

    Contacts of folded chains give way to 1e-8 along their normals and to 1 across: with S = D the bound of friction
    would follow rounding of u_n, and 400 Newton steps did not solve single contacts that now take 2 to 131.
    """
    blocks, own, source = P.blocks, P.work.own, P.source
    for b in range(P.count[BLOCKS]):
        n = blocks.start[b]
        if blocks.kind[b] != CONTACT:
            continue
        x, y = min(blocks.mu[n + 1], 1.0), min(blocks.mu[n + 2], 1.0)
        if P.form[0] == BY_ROWS:
            x, y = x * P.W[source[n], source[n + 1]], y * P.W[source[n], source[n + 2]]
        else:
            x, y = x * own[b, 0, 1], y * own[b, 0, 2]
        blocks.S[n] = max(blocks.D[n], COUPLED * np.sqrt(x * x + y * y))


@kernel
def spread_scales(blocks, count):
    """One scale for each friction group: the mean of mu^2 D over its rows, over the mu^2 of each; S = D."""
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
    copy(blocks.start[count], D, blocks.S)


@part
def set_velocities(P, q):
    """q of the rows from the caller's; along an immobile row nothing is asked for, and a normal parts."""
    for i in range(P.count[ROWS]):
        P.q[i] = q[P.source[i]]
    free_immobile(P)


@kernel
def free_immobile(P):
    """q of the immobile rows such that they ask for nothing."""
    for b in range(P.count[BLOCKS]):
        kind, n = P.blocks.kind[b], P.blocks.start[b]
        for i in range(n, P.blocks.start[b + 1]):
            if P.immobile[i] != 0:
                one_sided = i == n and (kind == CONTACT or kind == UNILATERAL)
                P.q[i] = max(P.q[i], np.sqrt(P.blocks.D[i])) if one_sided else 0.0
