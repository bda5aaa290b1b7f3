# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of given contact points and bilateral constraints, and their accelerations (D15 16-18, 29).

Bilateral rows come first, then three rows for each contact: normal, tangent 1, tangent 2.  The acceleration
of a row is ``on_a . alpha(a) + on_b . alpha(b)`` plus a velocity product (dJ/dt v, dN/dt v).  For a contact
the product depends on how the surfaces curve, because the contact point is no material point: with a ball
of radius r_a (0: a vertex) about c = x + r_a n fixed to A, and a plane fixed to B,

    d^2 gap/dt^2 = n . (a_A(c) - a_B(c)) + 2 (omega_B x n) . (v_A(c) - v_B(c)),

mirrored where B carries the ball and A the plane, and for two balls

    d^2 gap/dt^2 = n . (a_A(c_A) - a_B(c_B)) + |v_t|^2 / (r_a + r_b),

with v_t the tangential part of v_A(c_A) - v_B(c_B).  A rolling ball then keeps its height.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.rows import row_dot, two_sides
from mb_contact.core.jit import kernel
from mb_contact.core.tree.frames import angular_row
from mb_contact.core.tree.spatial import (
    linear,
    point_bias,
    point_velocity,
    spin,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@kernel
def bilateral_rows(origin, body_a, body_b, point, direction, angular, rows):
    """Rows 0 ... of the constraints: relative velocity along (or rate about, where ``angular``) a direction is zero."""
    fill(rows.touched.shape[0], rows.touched, 0)
    for i in range(body_a.shape[0]):
        two_sides(origin, body_a[i], body_b[i], point, direction, i, rows, i)
        if angular[i] != 0:
            angular_row(rows, i, vector(direction, i))


@kernel
def point_rows(origin, body_a, body_b, point, normal, t1, t2, first, rows):
    """Three rows for each contact from row ``first`` on."""
    for i in range(body_a.shape[0]):
        row = first + 3 * i
        two_sides(origin, body_a[i], body_b[i], point, normal, i, rows, row)
        two_sides(origin, body_a[i], body_b[i], point, t1, i, rows, row + 1)
        two_sides(origin, body_a[i], body_b[i], point, t2, i, rows, row + 2)


@kernel
def row_accelerations(rows, n_rows, alpha, gravity, u):
    """``u = on . alpha``, without velocity products; ``alpha`` as the sweep leaves it, gravity taken off."""
    g = gravity[0], gravity[1], gravity[2]
    for r in range(n_rows):
        x = row_dot(rows, r, alpha)
        if rows.body_a[r] >= 0:
            x += vector_dot(linear(rows.on_a, r), g)
        if rows.body_b[r] >= 0:
            x += vector_dot(linear(rows.on_b, r), g)
        u[r] = x


@kernel
def bilateral_products(origin, V, body_a, body_b, point, direction, angular, u):
    """u[i] += dJ/dt v: the direction is fixed to body b, the point to body a."""
    for i in range(body_a.shape[0]):
        a = body_a[i]
        b = body_b[i]
        d = vector(direction, i)
        if angular[i] == 0:
            u[i] += _plane_product(origin, V, a, b, b, vector(point, i), d)
        else:
            u[i] += vector_dot(vector_product(spin(V, b), d), vector_sum(spin(V, a), -1.0, spin(V, b)))


@kernel
def normal_products(origin, V, body_a, body_b, point, normal, radius_a, radius_b, first, u):
    """u[first + 3 i] += dN/dt v of contact i (see the module's head); an infinite radius is a plane."""
    for i in range(body_a.shape[0]):
        a = body_a[i]
        b = body_b[i]
        n = vector(normal, i)
        x = vector(point, i)
        ra = radius_a[i]
        rb = radius_b[i]
        if np.isinf(rb):
            product = _plane_product(origin, V, a, b, b, vector_sum(x, 0.0 if np.isinf(ra) else ra, n), n)
        elif np.isinf(ra):
            product = _plane_product(origin, V, a, b, a, vector_sum(x, -rb, n), n)
        else:
            x_a = vector_sum(x, ra, n)
            x_b = vector_sum(x, -rb, n)
            product = vector_dot(n, point_bias(V, origin, a, x_a)) - vector_dot(n, point_bias(V, origin, b, x_b))
            slip = vector_sum(point_velocity(V, origin, a, x_a), -1.0, point_velocity(V, origin, b, x_b))
            product += (vector_dot(slip, slip) - vector_dot(slip, n) ** 2) / (ra + rb)
        u[first + 3 * i] += product


@kernel
def _plane_product(origin, V, a, b, turning, x, n):
    """n . (centripetal at a - at b) + 2 (omega x n) . (v_a - v_b) at one point; omega of the body ``turning``."""
    bias = vector_dot(n, vector_sum(point_bias(V, origin, a, x), -1.0, point_bias(V, origin, b, x)))
    slip = vector_sum(point_velocity(V, origin, a, x), -1.0, point_velocity(V, origin, b, x))
    return bias + 2.0 * vector_dot(vector_product(spin(V, turning), n), slip)
