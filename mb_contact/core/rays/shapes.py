# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One ray o + t d against one shape, in closed form: where it meets the surface, and the surface's normal there.

All shapes are convex, so a ray is inside one over an interval (start, end) of t, NOWHERE if it misses.  Shapes stand
in their own frames, as SHAPE_* says; d has any length.
"""

import math

from mb_contact.core.jit import kernel
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

NOWHERE = (math.inf, -math.inf)
EVERYWHERE = (-math.inf, math.inf)


@kernel
def distance(kind, size, o, d):
    """First t > 0 at which a ray meets a shape's surface, where it enters or, from inside, leaves; inf if never."""
    start, end = inside(kind, size, o, d)
    if start > end or not end > 0.0:
        return math.inf
    return start if start > 0.0 else end


@kernel
def inside(kind, size, o, d):
    """Interval (start, end) of t over which a ray is inside a shape, NOWHERE if it misses."""
    if kind == SHAPE_PLANE:
        return _below(o[2], d[2])
    if kind == SHAPE_BOX:
        sides = _both(_between(size[0], o[0], d[0]), _between(size[1], o[1], d[1]))
        return _both(sides, _between(size[2], o[2], d[2]))
    if kind == SHAPE_SPHERE:
        return _ball(size[0], o, d)
    if kind == SHAPE_ELLIPSOID:
        squeezed = (o[0] / size[0], o[1] / size[1], o[2] / size[2])
        return _ball(1.0, squeezed, (d[0] / size[0], d[1] / size[1], d[2] / size[2]))
    if kind == SHAPE_CYLINDER:
        return _cylinder(size, o, d)
    if kind == SHAPE_CAPSULE:
        return _capsule(size, o, d)
    return _cone(size, o, d)


@kernel
def _both(one, other):
    return max(one[0], other[0]), min(one[1], other[1])


@kernel
def _either(one, other):
    """The interval over both, which overlap where neither is empty."""
    if one[0] > one[1]:
        return other
    if other[0] > other[1]:
        return one
    return min(one[0], other[0]), max(one[1], other[1])


@kernel
def _below(o, d):
    """o + t d <= 0."""
    if d == 0.0:
        return EVERYWHERE if o <= 0.0 else NOWHERE
    return (-o / d, math.inf) if d < 0.0 else (-math.inf, -o / d)


@kernel
def _between(half, o, d):
    """|o + t d| <= half."""
    if d == 0.0:
        return EVERYWHERE if abs(o) <= half else NOWHERE
    first, second = (-half - o) / d, (half - o) / d
    return min(first, second), max(first, second)


@kernel
def _roots(a, b, c):
    """Roots of a t^2 + 2 b t + c, real ones, in their order; none is a difference of numbers of one size."""
    far = -b - math.copysign(math.sqrt(max(0.0, b * b - a * c)), b)
    if far == 0.0:
        return 0.0, 0.0
    first, second = far / a if a != 0.0 else math.copysign(math.inf, far), c / far
    return min(first, second), max(first, second)


@kernel
def _quadric(a, b, c):
    """a t^2 + 2 b t + c <= 0, a >= 0."""
    if a == 0.0:
        return EVERYWHERE if c <= 0.0 else NOWHERE  # b is 0 too
    return _roots(a, b, c) if b * b >= a * c else NOWHERE


@kernel
def _ball(radius, o, d):
    a = d[0] * d[0] + d[1] * d[1] + d[2] * d[2]
    b = o[0] * d[0] + o[1] * d[1] + o[2] * d[2]
    return _quadric(a, b, o[0] * o[0] + o[1] * o[1] + o[2] * o[2] - radius * radius)


@kernel
def _cylinder(size, o, d):
    b, c = o[0] * d[0] + o[1] * d[1], o[0] * o[0] + o[1] * o[1] - size[0] * size[0]
    return _both(_quadric(d[0] * d[0] + d[1] * d[1], b, c), _between(size[1], o[2], d[2]))


@kernel
def _capsule(size, o, d):
    """A cylinder and two balls, which no ray leaves in between."""
    balls = _either(_ball(size[0], (o[0], o[1], o[2] - size[1]), d), _ball(size[0], (o[0], o[1], o[2] + size[1]), d))
    return _either(_cylinder(size, o, d), balls)


@kernel
def _cone(size, o, d):
    """x^2 + y^2 <= k^2 (h - z)^2 between the base and the tip: the same with h - z < 0 is the half above the tip."""
    k, height, sink = 0.5 * size[0] / size[1], size[1] - o[2], -d[2]
    a = d[0] * d[0] + d[1] * d[1] - k * k * sink * sink
    b = o[0] * d[0] + o[1] * d[1] - k * k * height * sink
    c = o[0] * o[0] + o[1] * o[1] - k * k * height * height
    if a < 0.0:  # inside both halves, in the lower one where the ray goes down for ever; roots are real
        low, high = _roots(a, b, c)
        inside = (high, math.inf) if sink > 0.0 else (-math.inf, low)
    else:
        inside = _roots(a, b, c) if b * b >= a * c else NOWHERE
    return _both(inside, _between(size[1], o[2], d[2]))


@kernel
def normal(kind, size, x):
    """Outward normal, of any length, at a point x of a shape's surface."""
    if kind == SHAPE_PLANE:
        return 0.0, 0.0, 1.0
    if kind == SHAPE_BOX:
        p, q, r = x[0] / size[0], x[1] / size[1], x[2] / size[2]
        if abs(p) >= abs(q) and abs(p) >= abs(r):
            return p, 0.0, 0.0
        return (0.0, q, 0.0) if abs(q) >= abs(r) else (0.0, 0.0, r)
    if kind == SHAPE_SPHERE:
        return x
    if kind == SHAPE_ELLIPSOID:
        return x[0] / size[0] ** 2, x[1] / size[1] ** 2, x[2] / size[2] ** 2
    if kind == SHAPE_CAPSULE:
        return x[0], x[1], x[2] - min(size[1], max(-size[1], x[2]))
    return _turned_normal(kind, size, x)


@kernel
def _turned_normal(kind, size, x):
    """Of a cylinder or cone: that of the nearer one of side and flat end."""
    slope = 0.5 * size[0] / size[1] if kind == SHAPE_CONE else 0.0
    around = math.sqrt(x[0] * x[0] + x[1] * x[1])
    side = slope * (size[1] - x[2]) if kind == SHAPE_CONE else size[0]
    if size[1] - abs(x[2]) < abs(side - around):
        return 0.0, 0.0, x[2]
    return x[0], x[1], slope * around
