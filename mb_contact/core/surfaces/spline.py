# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Tensor-product NURBS with all derivatives up to the third; a Bezier patch is one without inner knots.

Outside its knots a surface continues as the polynomial of its last span: a stage of an integrator may look there.
"""

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.layout import (
    COUNT_S,
    COUNT_T,
    DEGREE_S,
    DEGREE_T,
    KNOTS,
    RATIONAL,
    START,
)


@kernel
def knot_span(data, first, degree, count, u):
    """Index i of the knot span with knot[i] <= u < knot[i + 1], degree <= i < count; u may be complex."""
    low = degree
    high = count
    while high - low > 1:
        middle = (low + high) // 2
        if u.real < data[first + middle]:
            high = middle
        else:
            low = middle
    return low


@kernel
def spline_basis(data, first, degree, span, u, which, basis):
    """Basis functions of one span and their first three derivatives into ``basis[which, order, 0:degree + 1]``.

    Cox and de Boor's recursion up to degree - order, then ``order`` times
    N_i,d' = d (N_i,d-1 / (u_i+d - u_i) - N_i+1,d-1 / (u_i+d+1 - u_i+1)).
    """
    orders = min(4, degree + 1)
    for order in range(4):
        for j in range(degree + 1):
            basis[which, order, j] = 1.0 if j == 0 and order < orders else 0.0
    for d in range(1, degree + 1):
        right = 0.0  # each length of knots is divided by once, for all orders
        for j in range(d, -1, -1):
            i = first + span - d + j
            left = 1.0 / (data[i + d] - data[i]) if j > 0 else 0.0
            for order in range(orders):
                derive = d > degree - order
                value = 0.0 * u
                if j > 0:
                    value += basis[which, order, j - 1] * (d * left if derive else (u - data[i]) * left)
                if j < d:
                    value += basis[which, order, j] * (-d * right if derive else (data[i + d + 1] - u) * right)
                basis[which, order, j] = value
            right = left


@kernel
def spline_derivatives(code, data, k, s, t, basis, partial, homogeneous, D):
    """Derivatives of a spline surface into ``D[k]``, its own axes."""
    p = code[k, DEGREE_S]
    r = code[k, DEGREE_T]
    n = code[k, COUNT_S]
    m = code[k, COUNT_T]
    knots_s = code[k, START] + KNOTS
    knots_t = knots_s + n + p + 1
    net = knots_t + m + r + 1
    span_s = knot_span(data, knots_s, p, n, s)
    span_t = knot_span(data, knots_t, r, m, t)
    spline_basis(data, knots_s, p, span_s, s, 0, basis)
    spline_basis(data, knots_t, r, span_t, t, 1, basis)
    parts = 4 if code[k, RATIONAL] else 3  # weights that are all equal say nothing
    for order in range(4):
        for i in range(p + 1):
            at = net + 4 * ((span_s - p + i) * m + span_t - r)
            for c in range(parts):
                total = 0.0 * t
                for j in range(r + 1):
                    total += basis[1, order, j] * data[at + 4 * j + c]
                partial[order, i, c] = total
    row = 0
    for total_order in range(4):  # rows of D: c, s t, ss st tt, sss sst stt ttt
        for order_t in range(total_order + 1):
            order_s = total_order - order_t
            for c in range(parts):
                total = 0.0 * s
                for i in range(p + 1):
                    total += basis[0, order_s, i] * partial[order_t, i, c]
                homogeneous[row, c] = total
            row += 1
    if code[k, RATIONAL]:
        _divide(homogeneous, k, D)
    else:
        inverse = 1.0 / data[net + 3]
        for row in range(10):
            for c in range(3):
                D[k, row, c] = homogeneous[row, c] * inverse


@kernel
def _divide(homogeneous, k, D):
    """Quotient rule: w c = A differentiated, w c_kl = A_kl - sum binomials w_ij c_k-i,l-j."""
    w = homogeneous
    inverse = 1.0 / w[0, 3]
    for c in range(3):
        x = w[0, c] * inverse
        x_s = (w[1, c] - w[1, 3] * x) * inverse
        x_t = (w[2, c] - w[2, 3] * x) * inverse
        x_ss = (w[3, c] - 2.0 * w[1, 3] * x_s - w[3, 3] * x) * inverse
        x_st = (w[4, c] - w[1, 3] * x_t - w[2, 3] * x_s - w[4, 3] * x) * inverse
        x_tt = (w[5, c] - 2.0 * w[2, 3] * x_t - w[5, 3] * x) * inverse
        D[k, 0, c] = x
        D[k, 1, c] = x_s
        D[k, 2, c] = x_t
        D[k, 3, c] = x_ss
        D[k, 4, c] = x_st
        D[k, 5, c] = x_tt
        D[k, 6, c] = (w[6, c] - 3.0 * w[1, 3] * x_ss - 3.0 * w[3, 3] * x_s - w[6, 3] * x) * inverse
        rest = 2.0 * w[1, 3] * x_st + w[3, 3] * x_t + w[2, 3] * x_ss + 2.0 * w[4, 3] * x_s + w[7, 3] * x
        D[k, 7, c] = (w[7, c] - rest) * inverse
        rest = 2.0 * w[2, 3] * x_st + w[5, 3] * x_s + w[1, 3] * x_tt + 2.0 * w[4, 3] * x_t + w[8, 3] * x
        D[k, 8, c] = (w[8, c] - rest) * inverse
        D[k, 9, c] = (w[9, c] - 3.0 * w[2, 3] * x_tt - 3.0 * w[5, 3] * x_t - w[9, 3] * x) * inverse
