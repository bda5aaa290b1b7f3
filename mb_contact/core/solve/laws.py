# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The law of each kind of block: its natural map, and its linearisation for a Newton step.

With z = r - rho w / D (D is ``Blocks.S`` here) and P the projection on the admissible impulses, a block is solved
where r = P(z).  The bound of friction is mu r_n (J14 Eq. 10), so P takes it at z_n: Alart and Curnier's map.  A
friction group is worked on in units of its coefficients, y_i = r_i / mu_i against mu_i u_i, where its admissible set is
the disc, or the regular polygon, of radius r_n; this covers unequal coefficients, torsion and rolling.

The problem that is linearised is anchored at r_k: w = u + eps D (r - r_k).  Each law gives dr = c - G du:

    separate                    c = theta - r,            G = 0
    normal, stick, equality     c = -w / (eps D),         G = 1 / (eps D)
    slip along t                c = -f.t + k_c c_n,       G_n = k_c G_nn + rho / D_n    (radius follows the normal)
    slip across t               c = -f / (1 - k (1 - rho eps)),    G = k rho / D / (1 - k (1 - rho eps))

with f = y - z_n t the distance from the bound and k = z_n / |z|; for a vertex of the polygon k = 0, along an edge the
row across t sticks.
"""

import numpy as np

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY
from mb_contact.types import SLIP, STICK

RHO = 3.0  #: weight of velocities in the choice of a block's state: fewest Newton steps of 1, 2, 3, 5


@kernel
def residual(blocks, r, w, first, last):
    """Worst natural map of the blocks first <= b < last for velocities w [sqrt(N s m/s)]; infinite beside a NaN."""
    worst = 0.0  # its square, which takes no root of each block
    for b in range(first, last):
        i = blocks.start[b]
        kind, d = blocks.kind[b], blocks.S[i]
        x, y = w[i], r[i]
        if kind == EQUALITY:
            x += blocks.mu[i] * y
            e = x * x / d
        elif kind == BOX:
            bound = blocks.mu[i]
            y -= min(max(y - x / d, -bound), bound)
            e = y * y * d
        else:
            y -= blocks.mu[i]
            e = (x * x / d if x < y * d else y * y * d) + 0.0 * (x + y)
            if kind == CONTACT:
                f = _disc_residual(blocks, r, w, i) if _is_disc(blocks, b) else _friction_residual(blocks, r, w, b)
                e = f if f > e or not f < np.inf else e
        if not e <= worst:
            worst = e if e < np.inf else np.inf
    return np.sqrt(worst)


@sweep
def _is_disc(blocks, b):
    """Whether all friction of a contact is one disc, with one coefficient and so with one scale: most contacts."""
    i, mu = blocks.start[b], blocks.mu
    return blocks.start[b + 1] == i + 3 and blocks.n_f[b] == 0 and mu[i + 1] == mu[i + 2] and mu[i + 1] > 0.0


@sweep
def _disc_residual(blocks, r, w, n):
    """``_friction_residual`` of the disc of the contact whose first row is n."""
    if r[n] <= 0.0 and r[n + 1] == 0.0 and r[n + 2] == 0.0:
        return 0.0 * (w[n + 1] + w[n + 2])  # no friction is right, but beside a NaN
    d = blocks.D[n + 1]
    part = 1.0 / d
    y0, y1 = part * w[n + 1], part * w[n + 2]
    z0, z1 = r[n + 1] - y0, r[n + 2] - y1
    square, bound = z0 * z0 + z1 * z1, blocks.mu[n + 1] * max(r[n], 0.0)
    if not square <= bound * bound:
        k = bound / np.sqrt(square)
        y0, y1 = r[n + 1] - k * z0, r[n + 2] - k * z1
    return d * (y0 * y0 + y1 * y1)


@kernel
def _friction_residual(blocks, r, w, b):
    """Square of the worst natural map of the friction groups of a contact."""
    n = blocks.start[b]
    end = blocks.start[b + 1]
    radius = max(r[n], 0.0)
    worst = 0.0
    i = n + 1
    while i < end:
        size = _group(end - n, i - n)
        y0, y1, z0, z1, d = group_point(blocks, r, w, i, size, 1.0)
        if d > 0.0:
            p0, p1 = _nearest(z0, z1, radius, blocks.n_f[b] if i == n + 1 else 0)
            e = d * ((y0 - p0) ** 2 + (y1 - p1) ** 2)
            if not e <= worst:
                worst = e if e < np.inf else np.inf
        for k in range(i, i + size):
            if blocks.mu[k] == 0.0:
                worst = max(worst, r[k] * r[k] * blocks.D[k])
        i += size
    return worst


@sweep
def _group(size, at):
    """Rows of the friction group that starts at row ``at`` of a contact of so many rows: 2, or 1 for torsion."""
    return 1 if at == 3 and size != 5 else 2


@sweep
def group_point(blocks, r, w, i, size, rho):
    """(y, z, scale) of a friction group in units of its coefficients; scale 0 where all of them are zero."""
    y0 = y1 = z0 = z1 = d = 0.0
    if blocks.mu[i] > 0.0:
        y0 = r[i] / blocks.mu[i]
        d = blocks.mu[i] * blocks.mu[i] * blocks.D[i]
        z0 = y0 - rho / d * blocks.mu[i] * w[i]
    if size == 2 and blocks.mu[i + 1] > 0.0:
        y1 = r[i + 1] / blocks.mu[i + 1]
        d = blocks.mu[i + 1] * blocks.mu[i + 1] * blocks.D[i + 1]
        z1 = y1 - rho / d * blocks.mu[i + 1] * w[i + 1]
    return y0, y1, z0, z1, d


@kernel
def _nearest(z0, z1, radius, n_f):
    """The point of the disc (n_f = 0) or of the regular polygon of this radius that is nearest to z."""
    if n_f == 0:
        size = np.sqrt(z0 * z0 + z1 * z1)
        if size <= radius:
            return z0, z1
        return radius * z0 / size, radius * z1 / size
    state, e0, e1, a = polygon_state(z0, z1, radius, n_f)
    if state == STICK:
        return z0, z1
    if state == VERTEX:
        return radius * e0, radius * e1
    along = a * radius - (e0 * z0 + e1 * z1)
    return z0 + along * e0, z1 + along * e1


VERTEX, EDGE = SLIP + 1, SLIP + 2  #: of a polygon, beside STICK within and SLIP on the disc's rim


@kernel
def polygon_state(z0, z1, radius, n_f):
    """(state, direction, distance of the edge for a unit radius) of a point beside the polygon."""
    step = 2.0 * np.pi / n_f
    k = np.floor(np.arctan2(z1, z0) / step)
    a = np.cos(0.5 * step)
    e0 = np.cos((k + 0.5) * step)
    e1 = np.sin((k + 0.5) * step)
    if e0 * z0 + e1 * z1 <= a * radius:
        return STICK, e0, e1, a
    along = e0 * z1 - e1 * z0
    half = radius * np.sin(0.5 * step)
    if abs(along) <= half:
        return EDGE, e0, e1, a
    if along > 0.0:
        k += 1.0
    return VERTEX, np.cos(k * step), np.sin(k * step), 1.0


@kernel
def linearise(blocks, r, w, eps, rho, first, last, c, G):
    """dr = c - G du of the blocks first <= b < last, for the problem anchored with weight eps, w its velocities."""
    for b in range(first, last):
        i = blocks.start[b]
        kind = blocks.kind[b]
        d = blocks.S[i]
        G[i, 1] = 0.0
        G[i, 2] = 0.0
        if kind == EQUALITY:
            G[i, 0] = 1.0 / (eps * d + blocks.mu[i])
            c[i] = -(w[i] + blocks.mu[i] * r[i]) * G[i, 0]
            continue
        z = r[i] - rho * w[i] / d
        if kind == BOX:
            bound = blocks.mu[i]
            if abs(z) >= bound:
                c[i] = (bound if z > 0.0 else -bound) - r[i]
                G[i, 0] = 0.0
            else:
                G[i, 0] = 1.0 / (eps * d)
                c[i] = -w[i] * G[i, 0]
            continue
        least = blocks.mu[i]
        if z > least:
            G[i, 0] = 1.0 / (eps * d)
            c[i] = -w[i] * G[i, 0]
        else:
            G[i, 0] = 0.0
            c[i] = least - r[i]
        if kind == CONTACT:
            if z > least and _is_disc(blocks, b):
                _linearise_disc(blocks, r, w, eps, rho, i, z, c, G)
            elif z > least or least > 0.0:
                _linearise_friction(blocks, r, w, eps, rho, b, max(z, least), z > least, c, G)
            else:
                for k in range(i + 1, blocks.start[b + 1]):
                    c[k] = -r[k]
                    for a in range(3):
                        G[k, a] = 0.0


@sweep
def _linearise_disc(blocks, r, w, eps, rho, n, radius, c, G):
    """``_linearise_friction`` of the disc of the contact whose first row is n, which presses."""
    d, m, keep = blocks.D[n + 1], blocks.mu[n + 1], 1.0 - rho * eps
    weight, soft = rho / d, 1.0 / (eps * d)
    z0, z1 = r[n + 1] - weight * w[n + 1], r[n + 2] - weight * w[n + 2]
    square, bound = z0 * z0 + z1 * z1, m * radius
    if square <= bound * bound:
        c[n + 1], c[n + 2] = -w[n + 1] * soft, -w[n + 2] * soft
        G[n + 1, 0] = G[n + 1, 2] = G[n + 2, 0] = G[n + 2, 1] = 0.0
        G[n + 1, 1] = G[n + 2, 2] = soft
        return
    part = 1.0 / np.sqrt(square)
    t0, t1, k = part * z0, part * z1, part * bound
    part = 1.0 / (1.0 - k * keep)
    f0, f1 = r[n + 1] - bound * t0, r[n + 2] - bound * t1
    along = m * keep * c[n] - (f0 * t0 + f1 * t1)
    across = (f0 * t1 - f1 * t0) * part
    c[n + 1], c[n + 2] = along * t0 - across * t1, along * t1 + across * t0
    slope, turn = m * (keep * G[n, 0] + rho / blocks.S[n]), k * weight * part
    G[n + 1, 0], G[n + 1, 1], G[n + 1, 2] = slope * t0, turn * t1 * t1, -turn * t0 * t1
    G[n + 2, 0], G[n + 2, 1], G[n + 2, 2] = slope * t1, -turn * t0 * t1, turn * t0 * t0


@kernel
def _linearise_friction(blocks, r, w, eps, rho, b, radius, presses, c, G):
    """The rows of friction of a contact that presses with z_n = ``radius``."""
    n = blocks.start[b]
    end = blocks.start[b + 1]
    keep = 1.0 - rho * eps
    slope = keep * G[n, 0] + rho / blocks.S[n] if presses else 0.0
    i = n + 1
    while i < end:
        size = _group(end - n, i - n)
        y0, y1, z0, z1, d = group_point(blocks, r, w, i, size, rho)
        t0 = 1.0
        t1 = 0.0
        a = 1.0
        k = 0.0
        state = STICK
        n_f = blocks.n_f[b] if i == n + 1 else 0
        if n_f > 0:
            state, t0, t1, a = polygon_state(z0, z1, radius, n_f)
        else:
            length = np.sqrt(z0 * z0 + z1 * z1)
            if length > radius:
                state = SLIP
                t0 = z0 / length
                t1 = z1 / length
                k = radius / length
        soft = 1.0 / (eps * d) if d > 0.0 else 0.0
        c_t = 0.0  # along t and across it
        c_s = 0.0
        G_tn = 0.0
        G_t = soft
        G_s = soft
        if state != STICK:
            f0 = y0 - a * radius * t0
            f1 = y1 - a * radius * t1
            G_t = 0.0
            G_tn = a * slope
            c_t = -(f0 * t0 + f1 * t1) + (a * keep * c[n] if presses else 0.0)
            if state == EDGE:
                c_s = -((y1 - z1) * t0 - (y0 - z0) * t1) * d / rho * soft
            else:
                part = 1.0 / (1.0 - k * keep)
                c_s = -(f1 * t0 - f0 * t1) * part
                G_s = k * rho / d * part
        for e in range(size):
            row = i + e
            m = blocks.mu[row]
            if m == 0.0:
                c[row] = -r[row]
                for x in range(3):
                    G[row, x] = 0.0
                continue
            if state == STICK:
                c[row] = -w[row] / (eps * blocks.D[row])
                G[row, 0] = 0.0
                G[row, 1] = 0.0
                G[row, 2] = 0.0
                G[row, 1 + e] = 1.0 / (eps * blocks.D[row])
                continue
            t = t0 if e == 0 else t1
            s = -t1 if e == 0 else t0
            c[row] = m * (c_t * t + c_s * s)
            G[row, 0] = m * G_tn * t
            G[row, 1] = m * (G_t * t * t0 - G_s * s * t1) * blocks.mu[i]
            G[row, 2] = m * (G_t * t * t1 + G_s * s * t0) * blocks.mu[i + 1] if size == 2 else 0.0
        i += size


@sweep
def friction_group(blocks, b, row):
    """First row of the friction group of ``row`` in block b, and its size: (row, 1) where it has none."""
    n = blocks.start[b]
    if blocks.kind[b] != CONTACT or row == n:
        return row, 1
    end = blocks.start[b + 1]
    i = n + 1
    while i < end:
        size = _group(end - n, i - n)
        if row < i + size:
            return i, size
        i += size
    return row, 1


@sweep
def weighted_row(blocks, G, J, b, first, row, o):
    """Row of G J: the normal's row of J and those of the friction group, at o, times those of G."""
    at, two = friction_group(blocks, b, row)
    k = o + at - first
    o, k, l = np.uint64(o), np.uint64(k), np.uint64(k + 1 if two == 2 else k)
    g0 = G[row, 0]
    g1 = G[row, 1]
    g2 = G[row, 2]
    return (
        g0 * J[o, 0] + g1 * J[k, 0] + g2 * J[l, 0],
        g0 * J[o, 1] + g1 * J[k, 1] + g2 * J[l, 1],
        g0 * J[o, 2] + g1 * J[k, 2] + g2 * J[l, 2],
        g0 * J[o, 3] + g1 * J[k, 3] + g2 * J[l, 3],
        g0 * J[o, 4] + g1 * J[k, 4] + g2 * J[l, 4],
        g0 * J[o, 5] + g1 * J[k, 5] + g2 * J[l, 5],
    )


@sweep
def contact_rows(G, J, n, o):
    """Rows of G J of a contact, normal and tangents, whose first row is n, at o in J."""
    n, o = np.uint64(n), np.uint64(o)
    p, q = o + np.uint64(1), o + np.uint64(2)
    x = G[n, 0]
    b0, b1, b2 = G[n + np.uint64(1), 0], G[n + np.uint64(1), 1], G[n + np.uint64(1), 2]
    c0, c1, c2 = G[n + np.uint64(2), 0], G[n + np.uint64(2), 1], G[n + np.uint64(2), 2]
    return (
        (x * J[o, 0], x * J[o, 1], x * J[o, 2], x * J[o, 3], x * J[o, 4], x * J[o, 5]),
        (
            b0 * J[o, 0] + b1 * J[p, 0] + b2 * J[q, 0], b0 * J[o, 1] + b1 * J[p, 1] + b2 * J[q, 1],
            b0 * J[o, 2] + b1 * J[p, 2] + b2 * J[q, 2], b0 * J[o, 3] + b1 * J[p, 3] + b2 * J[q, 3],
            b0 * J[o, 4] + b1 * J[p, 4] + b2 * J[q, 4], b0 * J[o, 5] + b1 * J[p, 5] + b2 * J[q, 5],
        ),
        (
            c0 * J[o, 0] + c1 * J[p, 0] + c2 * J[q, 0], c0 * J[o, 1] + c1 * J[p, 1] + c2 * J[q, 1],
            c0 * J[o, 2] + c1 * J[p, 2] + c2 * J[q, 2], c0 * J[o, 3] + c1 * J[p, 3] + c2 * J[q, 3],
            c0 * J[o, 4] + c1 * J[p, 4] + c2 * J[q, 4], c0 * J[o, 5] + c1 * J[p, 5] + c2 * J[q, 5],
        ),
    )  # fmt: skip


@kernel
def apart_from_cones(blocks, d, first, last):
    """Farthest that the direction d is from those in which the blocks' impulses may grow for ever, times root D."""
    worst = 0.0
    for b in range(first, last):
        i = blocks.start[b]
        kind = blocks.kind[b]
        if kind == EQUALITY:
            continue
        s = np.sqrt(blocks.D[i])
        if kind == BOX:
            worst = max(worst, abs(d[i]) * s)
            continue
        worst = max(worst, -d[i] * s)
        k = i + 1
        while k < blocks.start[b + 1]:
            size = friction_group(blocks, b, k)[1]
            square = 0.0
            for row in range(k, k + size):
                if blocks.mu[row] > 0.0:
                    square += (d[row] / blocks.mu[row]) ** 2
                else:
                    worst = max(worst, abs(d[row]) * np.sqrt(blocks.D[row]))
            worst = max(worst, (np.sqrt(square) - max(d[i], 0.0)) * s)
            k += size
    return worst
