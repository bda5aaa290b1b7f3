# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sine and cosine of all joint angles at once: 2 ns an angle where two calls of the C library take 11."""

import numpy as np

from mb_contact.core.jit import sweep

LIMIT = 1e5  # beyond it the reduction below loses digits and the C library takes over

# pi / 2 in three parts: 33 bits, 33 bits, the rest; k times the first two is exact for |k| < 2^20
PART_1 = 1.5707963267341256
PART_2 = 6.077100506303966e-11
PART_3 = 2.0222662487959506e-21
QUADRANTS = 2.0 / np.pi


def padded(n):
    """Length of the arrays of n angles: a multiple of 8, so that none is left to a scalar loop."""
    return (n + 7) // 8 * 8


@sweep
def sines_and_cosines(q, angle, sine, cosine):
    """``sine``, ``cosine`` of every entry of q, within 1.5e-16; the three arrays are padded, ``angle`` is scratch.

    x = k pi/2 + r with |r| <= pi/4; Taylor's series of r (next terms below 1e-19), then the quadrant: branches
    as selections, so that eight angles go at once.
    """
    large = False
    for i in range(q.shape[0]):
        angle[i] = q[i]
        if not abs(q[i]) <= LIMIT:
            large = True
    for i in range((q.shape[0] + 7) // 8 * 8):
        x = angle[i]
        k = np.rint(x * QUADRANTS)
        r = ((x - k * PART_1) - k * PART_2) - k * PART_3
        z = r * r
        a = 1.0 / 355687428096000.0  # 1 / 17!
        a = z * a - 1.0 / 1307674368000.0
        a = z * a + 1.0 / 6227020800.0
        a = z * a - 1.0 / 39916800.0
        a = z * a + 1.0 / 362880.0
        a = z * a - 1.0 / 5040.0
        a = z * a + 1.0 / 120.0
        a = z * a - 1.0 / 6.0
        s = r + r * (z * a)
        b = -1.0 / 6402373705728000.0  # 1 / 18!
        b = z * b + 1.0 / 20922789888000.0
        b = z * b - 1.0 / 87178291200.0
        b = z * b + 1.0 / 479001600.0
        b = z * b - 1.0 / 3628800.0
        b = z * b + 1.0 / 40320.0
        b = z * b - 1.0 / 720.0
        b = z * b + 1.0 / 24.0
        h = 0.5 * z
        w = 1.0 - h
        c = w + (((1.0 - w) - h) + z * z * b)
        odd = k - 2.0 * np.floor(0.5 * k)
        half = 0.5 * (k - odd)
        sign = 1.0 - 2.0 * (half - 2.0 * np.floor(0.5 * half))
        sine[i] = sign * (s if odd == 0.0 else c)
        cosine[i] = sign * (c if odd == 0.0 else -s)
    if large:
        for i in range(q.shape[0]):
            sine[i] = np.sin(q[i])
            cosine[i] = np.cos(q[i])
