# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Small pieces of clipping in the plane, and the list that collects contact points."""

from __future__ import annotations

import math

from mb_contact.core.jit import kernel

# Weights of the feature ids of X and Y in the identity of a point within its pair.
W_X = 256
W_Y = 4

# regions of the plane, centred at the origin
RECTANGLE = 0  #: half lengths h0, h1
DISC = 1  #: radius h0
EVERYWHERE = 2


@kernel
def contains(region, h0, h1, x, y, tol):
    """Whether a point is in a region, with some play."""
    if region == RECTANGLE:
        return abs(x) <= h0 + tol and abs(y) <= h1 + tol
    if region == DISC:
        return x * x + y * y <= (h0 + tol) ** 2
    return True


@kernel
def clip_interval(region, h0, h1, cx, cy, dx, dy, tol):
    """Part of the segment c + t d, -1 <= t <= 1, that is in a region.

    An end that is outside by no more than ``tol`` stays: an edge that lies on the outline of
    the region must not come and go with rounding.

    Returns
    -------
    t0, t1 : float
        Empty where t0 > t1.
    side0, side1 : int
        Side of the region that cut the end (0..3: +x, -x, +y, -y; disc: 0), or -1 if it stayed.
    """
    if region == DISC:
        return clip_disc(h0, cx, cy, dx, dy, tol)
    t0, t1, side0, side1 = -1.0, 1.0, -1, -1
    if region == RECTANGLE:
        for axis in range(2):
            h = h0 if axis == 0 else h1
            c = cx if axis == 0 else cy
            d = dx if axis == 0 else dy
            t0, t1, side0, side1 = clip_strip(h, c, d, tol, t0, t1, side0, side1, 2 * axis)
    return t0, t1, side0, side1


@kernel
def clip_strip(h, c, d, tol, t0, t1, side0, side1, first):
    """Clip [t0, t1] to |c + t d| <= h; ``first`` is the name of the side at +h, ``first + 1`` at -h."""
    if d == 0.0:
        if abs(c) > h + tol:
            return 1.0, -1.0, side0, side1
        return t0, t1, side0, side1
    low = (-h - c) / d if d > 0.0 else (h - c) / d
    high = (h - c) / d if d > 0.0 else (-h - c) / d
    low_side = first + 1 if d > 0.0 else first
    high_side = first if d > 0.0 else first + 1
    play = tol / abs(d)
    if low - play > -1.0 and low > t0:
        t0 = low
        side0 = low_side
    if high + play < 1.0 and high < t1:
        t1 = high
        side1 = high_side
    return t0, t1, side0, side1


@kernel
def clip_disc(radius, cx, cy, dx, dy, tol):
    """Clip the segment to a disc."""
    a = dx * dx + dy * dy
    b = cx * dx + cy * dy
    outer = (radius + tol) ** 2
    middle = cx * cx + cy * cy
    start_in = middle - 2.0 * b + a <= outer
    end_in = middle + 2.0 * b + a <= outer
    if start_in and end_in:
        return -1.0, 1.0, -1, -1
    if a == 0.0:
        return 1.0, -1.0, -1, -1
    discriminant = b * b - a * (middle - radius * radius)
    if discriminant < 0.0:
        if not (start_in or end_in):
            return 1.0, -1.0, -1, -1
        discriminant = 0.0
    root = math.sqrt(discriminant)
    t0 = -1.0 if start_in else max(-1.0, (-b - root) / a)
    t1 = 1.0 if end_in else min(1.0, (-b + root) / a)
    return t0, t1, (-1 if start_in else 0), (-1 if end_in else 0)


@kernel
def add_point(points, ids, count, x, y, gap, code, margin, tol):
    """Append a point if its gap is within the margin and no earlier point is at the same place."""
    if not gap <= margin or count >= points.shape[0]:
        return count
    for i in range(count):
        dx = points[i, 0] - x
        dy = points[i, 1] - y
        if dx * dx + dy * dy <= 16.0 * tol * tol:
            return count
    points[count, 0] = x
    points[count, 1] = y
    points[count, 2] = gap
    ids[count] = code
    return count + 1
