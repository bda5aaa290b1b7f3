# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A start by the central path: Newton steps on smoothed laws, for large islands whose states Newton steps do not find.

Impulses of hyperstatic contacts are not unique, and the solutions that are nearest to the last impulses have many
contacts on the edge of two states: on the bound of friction without slip, in touch without a force.  There the steps
of ``newton.py`` change a few states each.  The solution in the middle of all has few such contacts, and the central
path leads to it: for a width tau [sqrt(N s m/s)] that falls to zero each law r = P(z), z = r - rho u / D, is rounded
(D is ``Blocks.S`` where it is not friction's),

    normal       P (P - z) = tau^2 / D,           P > 0
    box          P = |(z + b, 2 tau / sqrt(D))| / 2 - |(z - b, 2 tau / sqrt(D))| / 2
    friction     (|z| - p) (R - p) = tau^2 p / (D R),     P = p z / |z|, 0 <= p < R = mu P_n

(Chen, Harker, Kanzow and Smale's smoothing of the natural map; friction is rounded within its disc, polygons too).
So all impulses are inside of their cones, no state is chosen, and a linearisation of the law has the form of
``laws.py``, dr = c - G du, bounded by 1 / (eps D).  Where a step goes too far eps rises: the next one stays nearer to
where it begins, as in Levenberg and Marquardt's method.
"""

import numpy as np

from mb_contact.core.jit import INTEGER, on_demand, sweep
from mb_contact.core.solve.body_factors import order_tiles
from mb_contact.core.solve.laws import RHO, friction_group, group_point, residual
from mb_contact.core.solve.newton_step import NEAR_EPS, copy_rows, evaluate, take_step
from mb_contact.core.solve.system import BY_BODIES
from mb_contact.core.workspace import BOX, CONTACT, EQUALITY

EPS = 1e-7  #: least eps,
RAISE, LOWER = 10.0, 0.1  #: times that behind a step which was shortened to less than
SHORT = 0.25  #: or not taken, behind those that go round in circles, and behind other whole ones
WIDTH = 0.005  #: least tau at first, in parts of the largest impulse, or of the largest velocity, in the scale of W
FALL = 0.6  #: of tau, where the smoothed laws are fulfilled to tau
RISE = 50.0  #: times the least worst smoothed natural map with this tau, that a step may lead to, else it is halved,
LEAST = 0.05  #: while it is more than this part of a step, and then not taken
PATIENCE = 20  #: steps with one tau,
CIRCLES = 4  #: behind so many of which the worst map must fall
STEPS = 60  #: steps in all


@sweep
def _rounded(z, square):
    """P and P - z with P (P - z) = ``square``, both positive."""
    large = 0.5 * (abs(z) + np.sqrt(z * z + 4.0 * square))
    small = square / large
    return (large, small) if z > 0.0 else (small, large)


@sweep
def linearise_smoothed(blocks, r, u, tau, eps, first, last, c, G):
    """dr = c - G du of the smoothed laws of the blocks first <= b < last; their worst natural map."""
    worst, soft = 0.0, RHO * eps
    for b in range(first, last):
        i, kind = blocks.start[b], blocks.kind[b]
        d, least = blocks.S[i], blocks.mu[i]
        part = 1.0 / d
        G[i, 1] = G[i, 2] = 0.0
        if kind == EQUALITY:
            e = u[i] + least * r[i]
            G[i, 0] = 1.0 / (eps * d + least)
            c[i] = -e * G[i, 0]
            worst = max(worst, e * e * part)
            continue
        z, square = r[i] - RHO * part * u[i], tau * tau * part
        if kind == BOX:
            above, below = np.sqrt((z + least) ** 2 + 4.0 * square), np.sqrt((z - least) ** 2 + 4.0 * square)
            e = 0.5 * (above - below) - r[i]
            slope = 0.5 * ((z + least) / above - (z - least) / below)
            stiff = 1.0 / (1.0 - slope + slope * soft)
            c[i], G[i, 0] = e * stiff, slope * RHO * part * stiff
        else:
            p, y = _rounded(z - least, square)
            e = p + least - r[i]
            stiff = 1.0 / (y + p * soft)
            c[i], G[i, 0] = e * (p + y) * stiff, p * RHO * part * stiff
        worst = max(worst, e * e * d)
        if kind != CONTACT:
            continue
        k = i + 1
        while k < blocks.start[b + 1]:  # the bound is p + least; its change is bound - G_n du_n
            size, bound = friction_group(blocks, b, k)[1], e * p * (1.0 - soft) * stiff
            worst = max(worst, _smooth_friction(blocks, r, u, k, size, p + least, tau, eps, bound, G[i, 0], c, G))
            k += size
    return np.sqrt(worst)


@sweep
def _smooth_friction(blocks, r, u, i, size, R, tau, eps, bound, G_R, c, G):
    """``linearise_smoothed`` of the friction group of the row i; the square of its natural map."""
    y0, y1, z0, z1, d = group_point(blocks, r, u, i, size, RHO)
    worst = 0.0
    for k in range(i, i + size):
        if blocks.mu[k] == 0.0:
            c[k] = -r[k]
            G[k, 0] = G[k, 1] = G[k, 2] = 0.0
            worst = max(worst, blocks.D[k] * r[k] * r[k])
    if d == 0.0:
        return worst
    soft = RHO * eps
    s = np.sqrt(z0 * z0 + z1 * z1)
    t0, t1 = (z0 / s, z1 / s) if s > 0.0 else (1.0, 0.0)
    scale = 1.0 / d
    w = tau * tau * scale / R
    x = _rounded(R - s - w, w * R)[0]  # R - p
    y = _rounded(s - R - w, w * s)[0]  # |z| - p
    p = R - x if 2.0 * x < R else max(s - y, 0.0)
    stiff = 1.0 / (y + w + x * soft)
    along = x * stiff
    across = p / (y + p * soft) if s > 0.0 else along
    f0, f1 = p * t0 - y0, p * t1 - y1
    by_bound = (y + w * p / R) * stiff
    c_t = (f0 * t0 + f1 * t1) * (x + y + w) * stiff + by_bound * bound
    c_s = (f1 * t0 - f0 * t1) * ((s / (y + p * soft)) if s > 0.0 else (x + y + w) * stiff)
    G_n, G_t, G_s = by_bound * G_R, RHO * scale * along, RHO * scale * across
    for e in range(size):
        k = i + e
        m = blocks.mu[k]
        if m == 0.0:
            continue
        t, side = (t0, -t1) if e == 0 else (t1, t0)
        c[k] = m * (c_t * t + c_s * side)
        G[k, 0] = m * G_n * t
        G[k, 1] = m * (G_t * t * t0 - G_s * side * t1) * blocks.mu[i]
        G[k, 2] = m * (G_t * t * t1 + G_s * side * t0) * blocks.mu[i + 1] if size == 2 else 0.0
    return max(worst, d * (f0 * f0 + f1 * f1))


@on_demand(INTEGER)
def follow_central_path(P, b0, b1, c0, c1, tolerance, budget):
    """Impulses and velocities near the middle of the solutions, from those in P, into P; the Newton steps it took.

    At most ``budget`` and STEPS of them; the impulses are the last ones that fulfilled the smoothed laws to tau.
    """
    k, blocks, r, u = P.work, P.blocks, P.r, P.u
    first, last = blocks.start[b0], blocks.start[b1]
    now = evaluate(P, b0, b1, c0, c1, r)
    size, needed = 0.0, 0.0
    for i in range(first, last):
        size = max(size, np.sqrt(blocks.D[i]) * abs(r[i]))
        needed = max(needed, abs(u[i]) / np.sqrt(blocks.D[i]))
    size = size if size > 0.0 else needed
    tau = max(now, WIDTH * size)
    copy_rows(first, last, r, k.best)
    steps, since, used, eps = 0, 0, 0, EPS
    if P.form[0] == BY_BODIES:
        used = order_tiles(P.bodies, P.factors, b0, b1, c0, c1)  # they fit where Newton steps ran
    least = linearise_smoothed(blocks, r, u, tau, eps, b0, b1, k.c, k.G)
    while steps < min(budget, STEPS) and since < PATIENCE and now > tolerance:
        copy_rows(first, last, r, k.anchor)
        copy_rows(first, last, u, k.w)
        take_step(P, b0, b1, c0, c1, NEAR_EPS, used)  # not refined: the next step takes that error too
        steps, since, part, most = steps + 1, since + 1, 1.0, max(tau, RISE * least)
        worst = linearise_smoothed(blocks, r, u, tau, eps, b0, b1, k.c, k.G)
        while not worst <= most and part > LEAST:
            part *= 0.5
            for i in range(first, last):
                r[i] = 0.5 * (r[i] + k.anchor[i])
                u[i] = 0.5 * (u[i] + k.w[i])
            worst = linearise_smoothed(blocks, r, u, tau, eps, b0, b1, k.c, k.G)
        if not worst <= most:
            copy_rows(first, last, k.anchor, r)
            copy_rows(first, last, k.w, u)
            part = 0.0
        if part < SHORT or (since > CIRCLES and worst > 0.9 * least):
            eps *= RAISE
        elif part == 1.0:
            eps = max(EPS, LOWER * eps)
        if part > 0.0 and worst < tau:
            now = residual(blocks, r, u, b0, b1)
            if not now < np.inf:
                break
            copy_rows(first, last, r, k.best)
            tau, since, least = FALL * tau, 0, np.inf
        least = min(least, linearise_smoothed(blocks, r, u, tau, eps, b0, b1, k.c, k.G))
    evaluate(P, b0, b1, c0, c1, k.best)
    return steps
