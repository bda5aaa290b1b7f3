# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Linear complementarity problems of the literature, w = M z + q, as data.

Sources: [Murty] Linear Complementarity, Linear and Nonlinear Programming (1988); [Kostreva] Cycling in linear
complementarity problems, Math. Programming 16 (1979); [Fathi] Computational complexity of LCPs associated with positive
definite symmetric matrices, Math. Programming 17 (1979); [CPS] Cottle, Pang, Stone, The Linear Complementarity Problem
(1992); [Floudas] Handbook of Test Problems in Local and Global Optimization (1999), chapter 10.

Numbers were taken from the test suites of other solvers that quote these books (QuantEcon, Drake, Hnm4lcp, Siconos),
not from the books themselves.  Siconos gives CPS 4.1.14, 4.4.7, 4.4.16 and 4.4.23 by number, the first with its set of
solutions; Floudas prints three of them again as 10.2.2 to 10.2.4.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Problem(NamedTuple):
    """A problem, its solutions where the source gives them, and whether there is none."""

    M: np.ndarray
    q: np.ndarray
    solutions: tuple = ()
    solvable: bool = True
    family: str = ""  #: "P" for P-matrices, on which every method must succeed


def _problem(M, q, solutions=(), solvable=True, family=""):
    solutions = tuple(np.asarray(z, float) for z in solutions)
    return Problem(np.asarray(M, float), np.asarray(q, float), solutions, solvable, family)


def murty_exponential(n):
    """Murty 6.2: unit lower triangular with twos; complementary pivoting takes 2^n pivots."""
    M = np.eye(n) + 2.0 * np.tri(n, k=-1)
    return _problem(M, -np.cumsum(2.0 ** np.arange(n, 0, -1)), [2.0 ** n * np.eye(n)[0]], family="P")


def fathi_exponential(n):
    """Fathi 1979: Murty's matrix times its transpose."""
    M, q, *_ = murty_exponential(n)
    return _problem(M @ M.T, q, family="P")


def fathi_minus_one(n):
    """Fathi 1979 as Hnm4lcp's tests quote it: the same matrix with q = -1, solved by the first unit vector."""
    return _problem(murty_exponential(n).M @ murty_exponential(n).M.T, -np.ones(n), [np.eye(n)[0]], family="P")


def floudas_10_2_1(n=16):
    """Unit upper triangular with twos and q = -1, n = 16 in the book."""
    return _problem(np.eye(n) + 2.0 * np.tri(n, k=-1).T, -np.ones(n), [np.eye(n)[-1]], family="P")


LIBRARY = {
    "murty_ex_2_8": _problem(
        [[1, -1, -1, -1], [-1, 1, -1, -1], [1, 1, 2, 0], [1, 1, 0, 2]], [3, 5, -9, -5]
    ),
    "murty_ex_2_9": _problem([[-1, 0, -3], [1, -2, -5], [-2, -1, -2]], [-3, -2, -1], solvable=False),
    "murty_ex_2_11": _problem([[-1.5, 2], [-4, 4]], [-5, 17]),
    "kostreva_1979_ex_1": _problem([[1, 2, 0], [0, 1, 2], [2, 0, 1]], [-1, -1, -1], [np.full(3, 1 / 3)], family="P"),
    "kostreva_1979_ex_2": _problem([[1, -1, 3], [2, -1, 3], [-1, -2, 0]], [-1, -1, -1], solvable=False),
    "cottle_pang_stone_4_1_14": _problem(
        [[1, 1], [1, 1]], [-1, -1], [[1 - share, share] for share in (0.0, 0.25, 0.5, 1.0)]
    ),
    "cottle_pang_stone_4_4_7": _problem([[0, -1, 2], [2, 0, -2], [-1, 1, 0]], [-3, 6, -1], [[0, 1, 3]]),
    "cottle_pang_stone_4_4_16": _problem([[1, -1], [-1, 1]], [1, -1], [[0, 1], [1, 2]]),
    "cottle_pang_stone_4_4_23": _problem(
        [[0, 0, 10, 20], [0, 0, 30, 15], [10, 20, 0, 0], [30, 15, 0, 0]],
        [-1, -1, -1, -1],
        [[1 / 90, 2 / 45, 1 / 90, 2 / 45]],
    ),
    "floudas_10_2_1": floudas_10_2_1(),
    "floudas_10_2_2": _problem([[1, 1], [1, 1]], [-1, -1], [[1, 0], [0, 1], [0.5, 0.5]]),
    "floudas_10_2_3": _problem([[0, -1, 2], [2, 0, -2], [-1, 1, 0]], [-3, 6, -1], [[0, 1, 3]]),
    "floudas_10_2_4": _problem(
        [[0, 0, 10, 20], [0, 0, 30, 15], [10, 20, 0, 0], [30, 15, 0, 0]],
        [-1, -1, -1, -1],
        [[1 / 90, 2 / 45, 1 / 90, 2 / 45]],
    ),
    "infeasible_1x1": _problem([[0]], [-1], solvable=False),
    "infeasible_1x1_negative": _problem([[-1]], [-1], solvable=False),
}
for _n in (2, 4, 8, 12, 16):
    LIBRARY[f"murty_exponential_{_n}"] = murty_exponential(_n)
    LIBRARY[f"fathi_exponential_{_n}"] = fathi_exponential(_n)
    LIBRARY[f"fathi_minus_one_{_n}"] = fathi_minus_one(_n)


def murty_exponential(n):
    """Murty section 6.2: unit lower triangular with twos; Lemke's algorithm takes 2^n pivots."""
    M = np.eye(n) + 2.0 * np.tri(n, k=-1)
    q = -np.cumsum(2.0 ** np.arange(n, 0, -1))
    return M, q


def fathi_exponential(n):
    """Fathi (1979): Murty's matrix times its transpose, symmetric positive definite."""
    M, q = murty_exponential(n)
    return M @ M.T, q
