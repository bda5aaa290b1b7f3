# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A linear complementarity problem with bounds as one without, for methods that know only z >= 0."""

from typing import NamedTuple

import numpy as np


class Plain(NamedTuple):
    """0 <= w = M x + q _|_ x >= 0, and the way back to z of the problem with bounds."""

    M: np.ndarray
    q: np.ndarray
    bound: np.ndarray  #: bool (n,), rows that have a bound: the leading unknowns, in their order
    mirror: np.ndarray  #: (n,), -1 where a row was turned round (an upper bound alone)
    shift: np.ndarray  #: (n,), the bound that x counts from
    to_free: np.ndarray  #: free rows from x
    at_free: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    def expand(self, x):
        """z of the problem with bounds."""
        x = x[: int(self.bound.sum())]
        y = np.zeros(len(self.bound))
        y[self.bound] = x
        y[~self.bound] = self.to_free @ x + self.at_free
        return np.clip(self.mirror * (y + self.shift), self.lower, self.upper)


def without_bounds(M, q, lower, upper):
    """Free rows by a Schur complement, one bound by a shift (and mirror), two by a slack with its multiplier.

    With z = lower + x and w = w+ - w-, w- the multiplier of x <= upper - lower,

        [ w+    ]   [ M   1 ] [ x  ]   [ q + M lower   ]
        [ slack ] = [ -1  0 ] [ w- ] + [ upper - lower ]
    """
    mirror = np.where(np.isinf(lower) & np.isfinite(upper), -1.0, 1.0)
    M = M * np.outer(mirror, mirror)
    shift = np.where(mirror < 0, -upper, np.where(np.isinf(lower), 0.0, lower))
    width = np.where(mirror < 0, np.inf, upper - np.where(np.isinf(lower), -np.inf, lower))
    q = mirror * q + M @ shift
    bound = np.isfinite(lower) | np.isfinite(upper)
    free = ~bound
    eliminate = np.linalg.pinv(M[np.ix_(free, free)], rcond=1e-12) if free.any() else np.zeros((0, 0))
    to_free = -eliminate @ M[np.ix_(free, bound)]
    at_free = -eliminate @ q[free]
    two = np.flatnonzero(np.isfinite(width[bound]))
    k, m = len(two), int(bound.sum())
    big = np.zeros((m + k, m + k))
    big[:m, :m] = M[np.ix_(bound, bound)] + M[np.ix_(bound, free)] @ to_free
    big[two, m + np.arange(k)] = 1.0
    big[m + np.arange(k), two] = -1.0
    rhs = np.concatenate([q[bound] + M[np.ix_(bound, free)] @ at_free, width[bound][two]])
    return Plain(big, rhs, bound, mirror, shift, to_free, at_free, lower, upper)
