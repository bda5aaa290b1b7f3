# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""This package's side of the comparison: one function for each algorithm.

Each returns an ``Entry``: ``loop(R)`` repeats the complete work, from (q, v, effort) to the result, R times in
compiled code and cycles through the states; ``value(s)`` is the result at state s; ``call(s)`` is the friendly
function of :mod:`mb_contact.dynamics`, for the column "called from Python".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from cases import GRAVITY, mb
from numba import njit

from mb_contact.core.tree.evaluate import compliance_at, forward_dynamics_at, inverse_dynamics_at, mass_matrix_at
from mb_contact.dynamics.evaluator import Evaluator


class Entry(NamedTuple):
    loop: object
    value: object
    call: object


class Work:
    """States as arrays and the handle of the model's tree."""

    def __init__(self, case):
        self.Q, self.V, self.E, self.A = (np.array(rows) for rows in zip(*case.states))
        self.evaluator = Evaluator(case.model)
        self.handle, self.N = self.evaluator.handle, self.evaluator.N
        self.out = np.zeros(self.N)


@njit(error_model="numpy")
def _aba(h, gravity, Q, V, E, out, first, R):
    tree, kin, art, still = h.tree, h.kin, h.art, h.still
    for r in range(first, first + R):
        s = r % Q.shape[0]
        forward_dynamics_at(tree, kin, art, still, Q[s], V[s], E[s], gravity, out)


def ours_aba(case):
    w = Work(case)

    def loop(R, first=0):
        _aba(w.handle, GRAVITY, w.Q, w.V, w.E, w.out, first, R)

    return Entry(loop, lambda s: (loop(1, s), w.out.copy())[1],
                 lambda s: mb.forward_dynamics(case.model, w.Q[s], w.V[s], w.E[s]))


@njit(error_model="numpy")
def _crba(h, M, Q, first, R):
    tree, kin, mass, top, screws = h.tree, h.kin, h.mass, h.top, h.screws
    for r in range(first, first + R):
        mass_matrix_at(tree, kin, mass, top, screws, Q[r % Q.shape[0]], M)  # one triangle, as theirs


def ours_crba(case):
    w = Work(case)
    M = np.zeros((w.N, w.N))

    def loop(R, first=0):
        _crba(w.handle, M, w.Q, first, R)

    return Entry(loop, lambda s: (loop(1, s), np.tril(M) + np.tril(M, -1).T)[1],
                 lambda s: mb.mass_matrix(case.model, w.Q[s]))


@njit(error_model="numpy")
def _rnea(h, gravity, Q, V, A, out, first, R):
    tree, kin, alpha, force = h.tree, h.kin, h.alpha, h.force
    for r in range(first, first + R):
        s = r % Q.shape[0]
        inverse_dynamics_at(tree, kin, alpha, force, Q[s], V[s], A[s], gravity, out)


def ours_rnea(case):
    w = Work(case)

    def loop(R, first=0):
        _rnea(w.handle, GRAVITY, w.Q, w.V, w.A, w.out, first, R)

    return Entry(loop, lambda s: (loop(1, s), w.out.copy())[1],
                 lambda s: mb.inverse_dynamics(case.model, w.Q[s], w.V[s], w.A[s]))


@njit(error_model="numpy")
def _oscm(h, nodes, L, Q, first, R):
    tree, kin, art, com, touched = h.tree, h.kin, h.art, nodes.compliance, nodes.touched
    body, rows, R_frame, p_frame, turn, p = nodes.body, nodes.first, nodes.R_frame, nodes.p_frame, nodes.R, nodes.p
    for r in range(first, first + R):
        s = r % Q.shape[0]
        compliance_at(tree, kin, art, com, touched, body, rows, R_frame, p_frame, turn, p, Q[s], L)


def ours_oscm(case):
    w = Work(case)
    nodes = case.links if case.size == 6 else tuple(mb.Point(link, tuple(case.offset)) for link in case.links)
    handle, rows = w.evaluator.nodes(case.model, nodes)
    L = np.zeros((rows, rows))

    def loop(R, first=0):
        _oscm(w.handle, handle, L, w.Q, first, R)

    return Entry(loop, lambda s: (loop(1, s), L.copy())[1],
                 lambda s: mb.operational_compliance(case.model, w.Q[s], nodes))
