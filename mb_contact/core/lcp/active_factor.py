# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Cholesky factor of the active block of the modified principal pivoting method: appended to and cut from."""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel

# entries of PpmWork.info
ACTIVE = 0  # active indices
PIVOTS = 1  # indices added or removed
RULE = 2  # ALGORITHM_1, MONOTONE or LEAST_INDEX
DROP = 3  # position that leaves when the next index enters, or -1
SEEN = 4  # active sets remembered
MOST = 5  # most active indices at once
RAY = 6  # 1 where the last exchange was not bounded
INFO = 7
HISTORY = 512  # active sets remembered under one rule
DEPENDENT = 1e-12  # part of a column's diagonal that must be left over by the active ones


@kernel
def solve_active(e, x, work):
    """x = -A^-1 e of the active block (line 12)."""
    k = work.info[ACTIVE]
    for s in range(k):
        x[s] = -e[work.active[s]]
    _forward(work.L, k, x)
    back_substitute(work.L, k, x)


@kernel
def _forward(L, k, x):
    for i in range(k):
        t = x[i]
        for j in range(i):
            t -= L[i, j] * x[j]
        x[i] = t / L[i, i]


@kernel
def back_substitute(L, k, x):
    for i in range(k - 1, -1, -1):
        t = x[i] / L[i, i]
        x[i] = t
        for j in range(i):
            x[j] -= L[i, j] * t


@kernel
def append(i, work):
    """One more row of L for index i (z = 0); False, with ``work.l`` left, if it depends on the active ones."""
    k = work.info[ACTIVE]
    column = work.slot[k]
    for s in range(k):
        work.l[s] = work.columns[column, work.active[s]]
    _forward(work.L, k, work.l)
    d = work.columns[column, i]
    for s in range(k):
        d -= work.l[s] * work.l[s]
    if not d > DEPENDENT * work.weight[i] or k + 1 >= work.active.shape[0]:
        return False
    copy(k, work.l, work.L[k])
    work.L[k, k] = np.sqrt(d)
    work.active[k] = i
    work.is_active[i] = 1
    work.z[k] = 0.0
    work.info[ACTIVE] = k + 1
    work.info[PIVOTS] += 1
    work.info[MOST] = max(work.info[MOST], k + 1)
    return True


@kernel
def remove(p, work):
    """Take position p out of L by Givens rotations; the column in the first free slot stays first free."""
    k = work.info[ACTIVE] - 1
    freed = work.slot[p]
    work.is_active[work.active[p]] = 0
    for s in range(p, k):
        work.active[s] = work.active[s + 1]
        work.z[s] = work.z[s + 1]
        copy(s + 2, work.L[s + 1], work.L[s])
    for s in range(p, k + 1):
        work.slot[s] = work.slot[s + 1]
    work.slot[k + 1] = freed
    for c in range(p, k):  # row c now reaches column c + 1
        a = work.L[c, c]
        b = work.L[c, c + 1]
        r = np.hypot(a, b)
        ca = a / r
        sb = b / r
        work.L[c, c] = r
        work.L[c, c + 1] = 0.0
        for s in range(c + 1, k):
            a = work.L[s, c]
            b = work.L[s, c + 1]
            work.L[s, c] = ca * a + sb * b
            work.L[s, c + 1] = ca * b - sb * a
    work.info[ACTIVE] = k
    work.info[PIVOTS] += 1


@kernel
def copy_column(F, n, i, work):
    t = work.slot[work.info[ACTIVE]]
    copy(n, F[i], work.columns[t])


class PpmWork(NamedTuple):
    """Workspace of the modified method for n unknowns and at most m - 1 active ones."""

    L: Annotated[Reals, "m", "m"]  #: Cholesky factor of the active block
    columns: Annotated[Reals, "m", "n"]  #: columns of F by slot
    active: Annotated[Integers, "m"]  #: active indices in the order of L
    slot: Annotated[Integers, "m"]  #: slot of each; from ``info[ACTIVE]`` on the free ones
    z: Annotated[Reals, "m"]  #: of the active ones
    target: Annotated[Reals, "m"]  #: where w of the active ones is zero
    l: Annotated[Reals, "m"]  #: scratch
    w: Annotated[Reals, "n"]
    is_active: Annotated[Integers, "n"]
    refused: Annotated[Integers, "n"]  #: indices that only rounding makes negative
    weight: Annotated[Reals, "n"]  #: what a diagonal entry is measured against
    seen: Annotated[Integers, HISTORY]
    info: Annotated[Integers, INFO]


def make_ppm_work(n, m):
    """Workspace for n unknowns, at most m of them active; ``weight`` is one."""
    m = min(n, m) + 1
    return allocate(PpmWork, n=n, m=m, slot=np.arange(m), weight=np.ones(n))
