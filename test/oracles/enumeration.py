# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Linear complementarity problems by enumeration of all bases, and their residual."""

from __future__ import annotations

import itertools

import numpy as np


def residual(M, q, z):
    """Largest |min(z_i, w_i)|, in the test's own words."""
    w = np.asarray(M, float) @ z + np.asarray(q, float)
    return max((abs(min(a, b)) for a, b in zip(z, w)), default=0.0)


def all_solutions(M, q):
    """Every solution by trying all complementary bases (nondegenerate problems: one each)."""
    M, q = np.asarray(M, float), np.asarray(q, float)
    n, found = len(q), []
    for pattern in itertools.product((False, True), repeat=n):
        basic = np.flatnonzero(pattern)
        z = np.zeros(n)
        if len(basic):
            block = M[np.ix_(basic, basic)]
            if abs(np.linalg.det(block)) < 1e-12:
                continue
            z[basic] = np.linalg.solve(block, -q[basic])
        if z.min() >= -1e-9 and (M @ z + q).min() >= -1e-9 and not any(np.allclose(z, x) for x in found):
            found.append(z)
    return found
