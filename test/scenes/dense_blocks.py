# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One island of given blocks with a dense W."""

from __future__ import annotations

import numpy as np

from mb_contact.core.solve.assemble import spread_scales
from mb_contact.core.solve.system import BY_ROWS, make_system


def dense_blocks(W, q, kind, size, mu, n_f=0):
    """A System of one island by rows, with the scales of its friction groups."""
    rows, blocks, none = len(q), len(kind), np.zeros(0, np.int64)
    P = make_system(rows, blocks, 0, rows, none, none)
    P.count[:], P.form[0], P.source[:], P.island[:2] = (blocks, rows, 1), BY_ROWS, np.arange(rows), (0, blocks)
    P.blocks.kind[:], P.blocks.start[1:], P.blocks.mu[:], P.blocks.n_f[:] = kind, np.cumsum(size), mu, n_f
    P.W[:], P.q[:], P.blocks.D[:] = W, q, np.diag(W)
    spread_scales(P.blocks, blocks)
    return P
