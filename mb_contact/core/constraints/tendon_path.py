# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Paths of tendons: their lengths, and the parts of which these are sums.

A tendon is a list of elements.  Points on bodies are joined by straight parts; between two points a cylinder or a
sphere may stand, around which the path goes where it would cross it, or where it would pass it on the wrong side; a
pulley begins a branch whose way counts by 1 / divisor; a joint adds its position times a coefficient.

    L = sum of w |x_a - x_b| + w (arcs) + w c q,    dL/dt = sum of w d . (v_a - v_b) + w c q',    d along x_a - x_b.

The path over a shape is a geodesic that leaves it along its tangents, so the arc has no part in dL/dt: a part ends at
the point of the shape's body where it touches.  In the plane across a cylinder's axis, or through a sphere's centre and
both points, a point at distance D and angle phi touches a circle of radius r at phi + s acos(r / D), s = 1 or -1 the
way round, and the arc is s (phi_1 - phi_0) - acos(r / D_0) - acos(r / D_1).

A path that goes through the inside of a shape (its side is there) touches it in the one point, at angle theta, that
makes it shortest: D_0 sin(theta - phi_0) / l_0 = D_1 sin(phi_1 - theta) / l_1, with l the ways to that point.
"""

import functools
from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.tree.spatial import (
    ZERO,
    body_point,
    matrix,
    point_velocity,
    product,
    put_vector,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import TENDON_CYLINDER, TENDON_JOINT, TENDON_POINT, TENDON_PULLEY

NO_WAY = 1e-12  #: length below which a part has no direction [m]
TURN = 2.0 * np.pi
HALVINGS = 53  #: of the interval in which a path touches the inside of a shape


class Tendons(NamedTuple):
    """Tendons t of e elements, with r rows and at most p parts in all."""

    first: Annotated[Integers, "t + 1"]  #: element of each tendon
    kind: Annotated[Integers, "e"]  #: TENDON_POINT ... TENDON_JOINT
    body: Annotated[Integers, "e"]  #: or WORLD; of a joint the body that it moves
    point: Annotated[Reals, "e", 3]  #: in the body's frame; of shapes their middle [m]
    axes: Annotated[Reals, "e", 3, 3]  #: of a shape in the body's; z is a cylinder's axis
    size: Annotated[Reals, "e"]  #: radius of a shape [m], divisor of a pulley, coefficient of a joint [1, m]
    side: Annotated[Reals, "e", 3]  #: from the middle of a shape to its side where the path goes, in its axes
    grip: Annotated[Reals, "e"]  #: coefficient of friction of a shape
    sided: Annotated[Integers, "e"]  #: 1 where a shape has a side, else the path goes the shorter way
    stiffness: Annotated[Reals, "t"]  #: [N/m]
    damping: Annotated[Reals, "t"]  #: [N s/m]
    slack: Annotated[Reals, "t"]  #: by which a tendon may be shorter than its rest length without a force [m]
    shortest: Annotated[Reals, "t"]  #: limits, infinite where none [m]
    longest: Annotated[Reals, "t"]
    friction: Annotated[Reals, "t"]  #: [N]
    held: Annotated[Reals, "t"]  #: length that is held, NaN for none [m]
    rest: Annotated[Reals, "t"]  #: length from which on the spring pulls [m]; as what follows a view of the state
    tension: Annotated[Reals, "t"]  #: commanded, positive where it shortens the tendon [N]
    gripped: Annotated[Integers, "t"]  #: the element of a shape with friction, -1 where there is none
    flows: Annotated[Integers, 1]  #: 1 where springs are forces of a flow's stages, which have no rows
    row_of: Annotated[Integers, "r"]  #: tendon of each row, those of one side by side
    row_kind: Annotated[Integers, "r"]  #: TENDON_SPRING ... TENDON_GRIPS
    # --- filled by the kernels
    length: Annotated[Reals, "t"]  #: [m]
    rate: Annotated[Reals, "t"]  #: [m/s]
    bend: Annotated[Reals, "t"]  #: its velocity product [m/s^2]
    turned: Annotated[Reals, "t"]  #: angle by which it turns on the shape with friction, times the coefficient
    first_part: Annotated[Integers, "t + 1"]
    joint: Annotated[Integers, "p"]  #: body that the joint of a part moves, -1 of straight parts
    weight: Annotated[Reals, "p"]
    body_a: Annotated[Integers, "p"]  #: of straight parts
    body_b: Annotated[Integers, "p"]
    end_a: Annotated[Integers, "p"]  #: elements of their ends
    end_b: Annotated[Integers, "p"]
    at_a: Annotated[Reals, "p", 3]  #: ends, world [m]
    at_b: Annotated[Reals, "p", 3]
    direction: Annotated[Reals, "p", 3]  #: from b to a
    span: Annotated[Reals, "p"]  #: length [m]


TendonsHandleType, TendonsHandle, make_tendons_handle = handle(Tendons)


@functools.cache
def no_tendons():
    """The handle of a scene's tendons that has none."""
    return make_tendons_handle(allocate(Tendons, t=0, e=0, r=0, p=0))


@on_demand(NOTHING)
def lay_tendons(tendons, tree, q, v, kin):
    """Parts, lengths and rates of all tendons for the poses and velocities of ``kin``, which are those of q and v."""
    tendons.first_part[0] = 0
    for t in range(tendons.length.shape[0]):
        tendons.first_part[t + 1] = tendons.first_part[t]
        tendons.length[t] = tendons.rate[t] = tendons.turned[t] = 0.0
        weight, before, shape = 1.0, -1, -1
        for e in range(tendons.first[t], tendons.first[t + 1]):
            kind = tendons.kind[e]
            if kind == TENDON_JOINT:
                _turn(tendons, t, e, weight, tree, q, v)
            elif kind == TENDON_PULLEY:
                weight, before = 1.0 / tendons.size[e], -1
            elif kind == TENDON_POINT:
                if before >= 0:
                    _span(tendons, t, before, shape, e, weight, kin)
                before, shape = e, -1
            else:
                shape = e


@kernel
def _turn(tendons, t, e, weight, tree, q, v):
    """The part of a joint."""
    k, s = tendons.body[e], tendons.first_part[t + 1]
    tendons.joint[s], tendons.weight[s] = k, weight * tendons.size[e]
    tendons.first_part[t + 1] = s + 1
    tendons.length[t] += tendons.weight[s] * q[tree.q_start[k]]
    tendons.rate[t] += tendons.weight[s] * v[tree.v_start[k]]


@kernel
def _place(tendons, e, kin):
    """Place of a point, or of the middle of a shape, in the world."""
    return body_point(kin.R, kin.p, tendons.body[e], vector(tendons.point, e))


@kernel
def _span(tendons, t, one, shape, other, weight, kin):
    """From one point to the next, around the shape between them if there is one."""
    x, y = _place(tendons, one, kin), _place(tendons, other, kin)
    if shape >= 0:
        arc, angle, u, w = _wrap(tendons, shape, x, y, kin)
        if arc >= 0.0:
            tendons.turned[t] += tendons.grip[shape] * angle
            _straight(tendons, t, one, x, shape, u, weight, kin)
            _straight(tendons, t, shape, w, other, y, weight, kin)
            tendons.length[t] += weight * arc
            return
    _straight(tendons, t, one, x, other, y, weight, kin)


@kernel
def _straight(tendons, t, one, x, other, y, weight, kin):
    """A straight part from x, of element ``one``, to y, of another; of one body it is a length alone."""
    a, b = tendons.body[one], tendons.body[other]
    apart = vector_sum(x, -1.0, y)
    length = np.sqrt(vector_dot(apart, apart))
    tendons.length[t] += weight * length
    if a == b or length <= NO_WAY:
        return
    s, d = tendons.first_part[t + 1], vector_sum(ZERO, 1.0 / length, apart)
    tendons.joint[s], tendons.weight[s], tendons.span[s] = -1, weight, length
    tendons.body_a[s], tendons.body_b[s], tendons.end_a[s], tendons.end_b[s] = a, b, one, other
    put_vector(tendons.at_a, s, x)
    put_vector(tendons.at_b, s, y)
    put_vector(tendons.direction, s, d)
    tendons.first_part[t + 1] = s + 1
    u = vector_sum(point_velocity(kin.V, kin.p, a, x), -1.0, point_velocity(kin.V, kin.p, b, y))
    tendons.rate[t] += weight * vector_dot(d, u)


@kernel
def _wrap(tendons, e, x, y, kin):
    """(Arc, angle by which it turns, points where the path from x to y meets shape e and leaves it).

    The arc is -1 where the path is straight.
    """
    k, r = tendons.body[e], tendons.size[e]
    centre = _place(tendons, e, kin)
    own = matrix(tendons.axes, e)
    axes = product(matrix(kin.R, k), own) if k >= 0 else own
    back = transposed(axes)
    p, q = turned(back, vector_sum(x, -1.0, centre)), turned(back, vector_sum(y, -1.0, centre))
    side = vector(tendons.side, e)
    flat = tendons.kind[e] == TENDON_CYLINDER
    e1, e2 = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0)) if flat else _plane_of(p, q)
    p0, p1, q0, q1 = vector_dot(p, e1), vector_dot(p, e2), vector_dot(q, e1), vector_dot(q, e2)
    s0, s1 = vector_dot(side, e1), vector_dot(side, e2)
    if tendons.sided[e] != 0 and vector_dot(side, side) < r * r:
        arc, m, n = _inside(p0, p1, q0, q1, r)
    else:
        arc, m, n = _around(p0, p1, q0, q1, s0, s1, tendons.sided[e] != 0, r)
    if arc < 0.0:
        return -1.0, 0.0, x, y
    angle = arc / r
    u, w = _on_circle(m, r, e1, e2), _on_circle(n, r, e1, e2)
    if flat:
        one = np.sqrt((p0 - u[0]) ** 2 + (p1 - u[1]) ** 2)
        two = np.sqrt((q0 - w[0]) ** 2 + (q1 - w[1]) ** 2)
        slope = (q[2] - p[2]) / max(one + arc + two, NO_WAY)
        u, w = (u[0], u[1], p[2] + slope * one), (w[0], w[1], q[2] - slope * two)
        longer = np.sqrt(1.0 + slope * slope)
        arc, angle = arc * longer, angle / longer  # a helix is less curved and longer
    return arc, angle, vector_sum(centre, 1.0, turned(axes, u)), vector_sum(centre, 1.0, turned(axes, w))


@kernel
def _on_circle(angle, r, e1, e2):
    """The point of a circle at an angle."""
    return vector_sum(vector_sum(ZERO, r * np.cos(angle), e1), r * np.sin(angle), e2)


@kernel
def _plane_of(p, q):
    """Two perpendicular unit vectors of the plane through the origin, p and q; the first one along p."""
    e1 = vector_sum(ZERO, 1.0 / max(np.sqrt(vector_dot(p, p)), NO_WAY), p)
    normal = vector_product(p, q)
    size = np.sqrt(vector_dot(normal, normal))
    if size <= NO_WAY * np.sqrt(vector_dot(p, p) * vector_dot(q, q)):  # on one line: any plane through it
        other = (1.0, 0.0, 0.0) if abs(e1[0]) < 0.6 else (0.0, 1.0, 0.0)
        normal = vector_product(e1, other)
        size = np.sqrt(vector_dot(normal, normal))
    return e1, vector_product(vector_sum(ZERO, 1.0 / size, normal), e1)


@kernel
def _around(p0, p1, q0, q1, s0, s1, sided, r):
    """(arc, angles of its ends) of the way from p to q around a circle; -1 where it is straight.

    The long way where it is ``sided`` and the ray from the middle away from s goes between p and q; otherwise the short
    one, where the straight way crosses the circle.  Straight, too, where an end is within the circle.
    """
    D, E = np.sqrt(p0 * p0 + p1 * p1), np.sqrt(q0 * q0 + q1 * q1)
    if D <= r or E <= r:
        return -1.0, 0.0, 0.0
    nx, ny = _nearest(p0, p1, q0, q1)
    turn = np.arctan2(p0 * q1 - p1 * q0, p0 * q0 + p1 * q1)
    s = 1.0 if turn >= 0.0 else -1.0
    long = sided and s * (s0 * p1 - s1 * p0) > 0.0 and s * (q0 * s1 - q1 * s0) > 0.0
    if not long and nx * nx + ny * ny >= r * r:
        return -1.0, 0.0, 0.0
    way = TURN - abs(turn) if long else abs(turn)
    s = -s if long else s
    a, b, phi = np.arccos(r / D), np.arccos(r / E), np.arctan2(p1, p0)
    return r * max(way - a - b, 0.0), phi + s * a, phi + s * (way - b)


@kernel
def _nearest(p0, p1, q0, q1):
    """The point of the segment from p to q that is nearest to the middle of the circle."""
    dx, dy = q0 - p0, q1 - p1
    along = min(max(-(p0 * dx + p1 * dy) / max(dx * dx + dy * dy, NO_WAY * NO_WAY), 0.0), 1.0)
    return p0 + along * dx, p1 + along * dy


@kernel
def _inside(p0, p1, q0, q1, r):
    """(0, angle of the point where the shortest way from p to q through a circle touches it, the same).

    -1 where the straight way goes through the circle, or one of its ends is within.
    """
    D, E = np.sqrt(p0 * p0 + p1 * p1), np.sqrt(q0 * q0 + q1 * q1)
    nx, ny = _nearest(p0, p1, q0, q1)
    if D <= r or E <= r or nx * nx + ny * ny <= r * r:
        return -1.0, 0.0, 0.0
    phi = np.arctan2(p1, p0)
    turn = np.arctan2(p0 * q1 - p1 * q0, p0 * q0 + p1 * q1)
    low, high = 0.0, 1.0
    for _ in range(HALVINGS):
        part = 0.5 * (low + high)
        x, y = part * turn, turn - part * turn
        one = np.sqrt(D * D + r * r - 2.0 * D * r * np.cos(x))
        two = np.sqrt(E * E + r * r - 2.0 * E * r * np.cos(y))
        if D * abs(np.sin(x)) * two < E * abs(np.sin(y)) * one:
            low = part
        else:
            high = part
    angle = phi + 0.5 * (low + high) * turn
    return 0.0, angle, angle
