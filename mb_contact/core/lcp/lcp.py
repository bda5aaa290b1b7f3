# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The OS problem as J14 Eq. 53 writes it: M z + q with z = [beta_ul; sigma], n_f + 2 unknowns a contact.

    u_n           _|_  F_n            (10a)
    sigma + D* u  _|_  beta           (10b)
    mu F_n - E* beta  _|_  sigma      (10c)

Order of z: for each contact F_n, beta_1 ... beta_nf; then the impulses of scalar blocks; then all sigma.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel


class Pyramids(NamedTuple):
    """Rows of a polyhedral problem: contacts of three rows, and scalar limits."""

    count: Annotated[Integers, 1]  #: blocks
    start: Annotated[Integers, "B"]  #: first row of a block
    dim: Annotated[Integers, "B"]  #: 3 or 1
    mu: Annotated[Reals, "B"]
    cosine: Annotated[Reals, "n_f"]  #: friction directions in the tangent basis
    sine: Annotated[Reals, "n_f"]


def make_pyramids(blocks, n_f):
    """For so many contacts and limits, and directions of friction."""
    angle = 2.0 * np.pi * np.arange(n_f) / n_f
    return allocate(Pyramids, B=blocks, cosine=np.cos(angle), sine=np.sin(angle))


@kernel
def lcp_size(blocks):
    """Number of unknowns, n_u (n_f + 2) + scalar blocks."""
    n_f = blocks.cosine.shape[0]
    size = 0
    for i in range(blocks.count[0]):
        size += n_f + 2 if blocks.dim[i] == 3 else 1
    return size


@kernel
def _direction(blocks, j):
    """Weights of (normal, t1, t2) of unknown j of a contact: F_n first, then the n_f directions."""
    if j == 0:
        return 1.0, 0.0, 0.0
    return 0.0, blocks.cosine[j - 1], blocks.sine[j - 1]


@kernel
def lcp_assemble(W, q, blocks, M, h):
    """Fill M and h (the constant term) of the linear complementarity problem; returns its size."""
    n_f = blocks.cosine.shape[0]
    size = lcp_size(blocks)
    for i in range(size):
        h[i] = 0.0
        fill(size, M[i], 0.0)
    count = blocks.count[0]
    forces = 0
    for i in range(count):
        forces += n_f + 1 if blocks.dim[i] == 3 else 1
    row = 0
    sigma = forces
    for i in range(count):
        height = n_f + 1 if blocks.dim[i] == 3 else 1
        column = 0
        for j in range(count):
            width = n_f + 1 if blocks.dim[j] == 3 else 1
            _fill_block(W, blocks, i, j, row, column, height, width, M)
            column += width
        for a in range(height):
            n, x, y = _direction(blocks, a)
            h[row + a] = n * q[blocks.start[i]]
            if height > 1:
                h[row + a] += x * q[blocks.start[i] + 1] + y * q[blocks.start[i] + 2]
        if height > 1:
            M[sigma, row] = blocks.mu[i]
            for a in range(1, height):
                M[row + a, sigma] = 1.0
                M[sigma, row + a] = -1.0
            sigma += 1
        row += height
    return size


@kernel
def _fill_block(W, blocks, i, j, row, column, height, width, M):
    """D_ul*(i) W D_ul(j)."""
    si = blocks.start[i]
    sj = blocks.start[j]
    for a in range(height):
        n, x, y = _direction(blocks, a)
        w0 = n * W[si, sj]
        w1 = 0.0
        w2 = 0.0
        if height > 1:
            w0 += x * W[si + 1, sj] + y * W[si + 2, sj]
        if width > 1:
            w1 = n * W[si, sj + 1]
            w2 = n * W[si, sj + 2]
            if height > 1:
                w1 += x * W[si + 1, sj + 1] + y * W[si + 2, sj + 1]
                w2 += x * W[si + 1, sj + 2] + y * W[si + 2, sj + 2]
        for b in range(width):
            n2, x2, y2 = _direction(blocks, b)
            M[row + a, column + b] = n2 * w0 + x2 * w1 + y2 * w2


@kernel
def impulses_of(blocks, z, r):
    """Scalar-row impulses r from z = [beta_ul; sigma]."""
    n_f = blocks.cosine.shape[0]
    k = 0
    for i in range(blocks.count[0]):
        row = blocks.start[i]
        r[row] = z[k]
        k += 1
        if blocks.dim[i] == 3:
            r[row + 1] = 0.0
            r[row + 2] = 0.0
            for j in range(n_f):
                r[row + 1] += z[k + j] * blocks.cosine[j]
                r[row + 2] += z[k + j] * blocks.sine[j]
            k += n_f
