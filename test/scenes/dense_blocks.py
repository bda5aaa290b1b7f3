# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One island of given blocks with a dense W."""

from __future__ import annotations

import numpy as np

from mb_contact.core.solve.system import BY_ROWS, CONTACT, make_system


def dense_blocks(W, q, kind, size, mu, n_f=0):
    """A System of one island by rows, with the scales that the solver asks for."""
    rows, blocks, none = len(q), len(kind), np.zeros(0, np.int64)
    P = make_system(rows, blocks, 0, rows, none, none)
    P.count[:], P.face[0], P.source[:], P.island[:2] = (blocks, rows, 1), BY_ROWS, np.arange(rows), (0, blocks)
    P.blocks.kind[:], P.blocks.start[1:], P.blocks.mu[:], P.blocks.n_f[:] = kind, np.cumsum(size), mu, n_f
    P.W[:], P.q[:], P.blocks.D[:], P.blocks.S[:] = W, q, np.diag(W), np.diag(W)
    for b, (k, n) in enumerate(zip(kind, size)):
        if k == CONTACT:  # one scale for each friction group
            i = P.blocks.start[b]
            for first, last in ((1, 3), (3, 4), (4, 6)):
                group = slice(i + first, i + min(last, n))
                m = P.blocks.mu[group]
                if len(m) and (m > 0.0).any():
                    P.blocks.D[group] = (m[m > 0.0] ** 2 * np.diag(W)[group][m > 0.0]).mean() / np.maximum(m, 1e-9) ** 2
    return P
