# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Points of parametric surfaces and their partial derivatives up to the third, exact for every kind."""

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.layout import (
    CHART,
    CYLINDER,
    ELLIPSOID,
    KIND,
    PLANE,
    SHIFT,
    SIZE,
    SPLINE,
    START,
    TURN,
)
from mb_contact.core.surfaces.spline import spline_derivatives


@kernel
def surface_derivatives(code, data, k, s, t, basis, partial, homogeneous, D):
    """Point and partial derivatives of surface k at (s, t) into ``D[k]`` (10, 3), axes and origin of its body.

    Rows: c; c_s, c_t; c_ss, c_st, c_tt; c_sss, c_sst, c_stt, c_ttt [m per units of s and t].
    """
    kind = code[k, KIND]
    if kind == SPLINE:
        spline_derivatives(code, data, k, s, t, basis, partial, homogeneous, D)
    elif kind == PLANE:
        for row in range(10):
            for c in range(3):
                D[k, row, c] = 0.0
        D[k, 0, 0] = s
        D[k, 0, 1] = t
        D[k, 1, 0] = 1.0
        D[k, 2, 1] = 1.0
    else:
        _turned_curve(code, data, k, s, t, D)
    at = code[k, START]
    for row in range(10):
        x = D[k, row, 0]
        y = D[k, row, 1]
        z = D[k, row, 2]
        for c in range(3):
            turn = at + TURN + 3 * c
            D[k, row, c] = data[turn] * x + data[turn + 1] * y + data[turn + 2] * z
    for c in range(3):
        D[k, 0, c] += data[at + SHIFT + c]


@kernel
def _turned_curve(code, data, k, s, t, D):
    """(a f(t) cos s, b f(t) sin s, g(t)): ellipsoid, cylinder and torus; its three axes begin with axis ``CHART``."""
    kind = code[k, KIND]
    at = code[k, START] + SIZE
    chart = code[k, CHART]
    cos_s = np.cos(s)
    sin_s = np.sin(s)
    cos_t = np.cos(t)
    sin_t = np.sin(t)
    a = 1.0
    b = 1.0
    f0 = 0.0 * t + data[at]
    f1 = 0.0 * t
    f2 = 0.0 * t
    f3 = 0.0 * t
    g0 = t
    g1 = 0.0 * t + 1.0
    g2 = 0.0 * t
    g3 = 0.0 * t
    if kind == ELLIPSOID:
        a = data[at + chart]
        b = data[at + (chart + 1) % 3]
        f0, f1, f2, f3 = cos_t, -sin_t, -cos_t, sin_t
        c = data[at + (chart + 2) % 3]
        g0, g1, g2, g3 = c * sin_t, c * cos_t, -c * sin_t, -c * cos_t
    elif kind != CYLINDER:  # torus
        r = data[at + 1]
        f0 = data[at] + r * cos_t
        f1, f2, f3 = -r * sin_t, -r * cos_t, r * sin_t
        g0, g1, g2, g3 = r * sin_t, r * cos_t, -r * sin_t, -r * cos_t
    x = chart
    y = (chart + 1) % 3
    z = (chart + 2) % 3
    row = 0
    for order in range(4):
        for order_t in range(order + 1):
            order_s = order - order_t
            f = f0
            g = g0
            if order_t == 1:
                f, g = f1, g1
            elif order_t == 2:
                f, g = f2, g2
            elif order_t == 3:
                f, g = f3, g3
            u, v = cos_s, sin_s
            if order_s == 1:
                u, v = -sin_s, cos_s
            elif order_s == 2:
                u, v = -cos_s, -sin_s
            elif order_s == 3:
                u, v = sin_s, -cos_s
            D[k, row, x] = a * f * u
            D[k, row, y] = b * f * v
            D[k, row, z] = g if order_s == 0 else 0.0 * g
            row += 1
