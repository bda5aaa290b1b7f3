# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rates of bodies' twists with constant joint rates, and how they follow q and v: what is of second order in a step.

Of a body k and the degrees of freedom j on its path to the root, with twists S_j at the world's origin,

    A = sum_j (C_j x S_j) v_j,    C_j the twist of what carries j,    a(x) = A at x + w x V(x),
    dA/dv_j = C_j x S_j + S_j x W_j,    W_j the twist of what j carries,
    dA/dq_j = S_j x A_j - (S_j x X_j) x B + sum_m (C_m x (S_j x S_m)) v_m,

A_j and B what joints behind that of j add to A and to the twist, X_j the twist up to j with those of its joint that it
does not carry, and the sum over those that it does.  The first two terms are those of joints behind it,
(S x (C - X)) x S' + C x (S x S') each, by Jacobi's identity.
"""

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.derivatives import comes_before, motion_cross
from mb_contact.core.tree.spatial import STILL, put_spatial, spatial, spatial_sum

RATE_BY_Q, RATE_BY_V, TWIST_BY_Q = range(3)  #: parts of ``bias``: dA/dq, dA/dv and dV/dq, the first behind
TWIST, RATE, FIRST = range(3)  #: the twist V and A


@kernel
def bias_of(g, k, v, side):
    """Twist of body k at velocities v, its rate with these kept, and their derivatives, into ``bias[side]``."""
    out, tree, tip = g.bias[side], g.d.tree, g.tip[k] if k >= 0 else -1
    V = A = beyond = STILL
    j = tip
    while j >= 0:
        V = spatial_sum(V, v[j], spatial(g.S, j))
        j = g.d.before[j]
    last = tip
    while last >= 0:
        first, kind = tree.v_start[g.body[last]], tree.joint_type[g.body[last]]
        own = added = STILL
        for j in range(first, last + 1):
            own = spatial_sum(own, v[j], spatial(g.S, j))
        below = spatial_sum(spatial_sum(V, -1.0, beyond), -1.0, own)
        for j in range(first, last + 1):
            S, C, W, X = spatial(g.S, j), _carrier(g, v, kind, first, last, j, below), beyond, below
            turned = motion_cross(S, A)
            for m in range(first, last + 1):
                other = spatial(g.S, m)
                if comes_before(kind, j - first, m - first):
                    W = spatial_sum(W, v[m], other)
                    carrier = _carrier(g, v, kind, first, last, m, below)
                    turned = spatial_sum(turned, v[m], motion_cross(carrier, motion_cross(S, other)))
                else:
                    X = spatial_sum(X, v[m], other)
            rate, by_q = motion_cross(C, S), motion_cross(S, W)
            added = spatial_sum(added, v[j], rate)
            put_spatial(out[RATE_BY_Q], FIRST + j, spatial_sum(turned, -1.0, motion_cross(motion_cross(S, X), beyond)))
            put_spatial(out[RATE_BY_V], j, spatial_sum(rate, 1.0, by_q))
            put_spatial(out[TWIST_BY_Q], j, by_q)
        A, beyond = spatial_sum(A, 1.0, added), spatial_sum(beyond, 1.0, own)
        last = g.d.before[first]
    put_spatial(out[RATE_BY_Q], TWIST, V)
    put_spatial(out[RATE_BY_Q], RATE, A)


@kernel
def _carrier(g, v, kind, first, last, j, below):
    """Twist of what carries j: ``below`` it, and what of its own joint does."""
    for m in range(first, last + 1):
        if comes_before(kind, m - first, j - first):
            below = spatial_sum(below, v[m], spatial(g.S, m))
    return below


@sweep
def twist_of(g, side, which):
    """TWIST or RATE of the body of a side."""
    return _entry(g.bias, side, RATE_BY_Q, which)


@sweep
def rate_along(g, e, side, part):
    """Of the body of a side and entry e of the path a part of ``bias``; zero where that does not move it."""
    j = g.path[e]
    moves = g.side[e] != (2 if side == 0 else 1)
    return _entry(g.bias, side, part, FIRST + j if part == RATE_BY_Q else j) if moves else STILL


@sweep
def _entry(bias, side, part, j):
    x = bias[side, part, j]
    return x[0], x[1], x[2], x[3], x[4], x[5]
