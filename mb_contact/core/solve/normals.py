# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scales S of normals in the solver's steps: at least a part of mu |W_nt|, by which friction moves a contact.

Contacts of folded chains give way to 1e-8 along their normals and to 1 across: with S = D the bound of friction would
follow rounding of u_n, and 400 Newton steps did not solve single contacts that now take 2 to 131.
"""

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.solve.system import BY_ROWS, CONTACT

COUPLED = 0.1  #: the part; more would change how redundant contacts share


@kernel
def scale_normals(P, b0, b1, part):
    """Scale the normals of blocks b0 <= b < b1: S = D, at least ``part`` of mu |W_nt|; returns whether one changed."""
    blocks, own, source, changed = P.blocks, P.work.own, P.source, False
    for b in range(b0, b1):
        n = blocks.start[b]
        if blocks.kind[b] != CONTACT:
            continue
        x, y = min(blocks.mu[n + 1], 1.0), min(blocks.mu[n + 2], 1.0)
        if P.face[0] == BY_ROWS:
            x, y = x * P.W[source[n], source[n + 1]], y * P.W[source[n], source[n + 2]]
        else:
            x, y = x * own[b, 0, 1], y * own[b, 0, 2]
        scale = max(blocks.D[n], part * np.sqrt(x * x + y * y))
        changed = changed or scale != blocks.S[n]
        blocks.S[n] = scale
    return changed

