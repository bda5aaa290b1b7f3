# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Residuals of the exact-cone problem: from the caller's u = W r + q and r alone, nothing of a solver in it.

For a contact with isotropic friction the residual is the textbook's: r - P_K(r - (u + mu |u_T| n)) with the Euclidean
projection.  A group with unequal coefficients is measured in the coordinates that make its ellipse a circle of the
geometric mean coefficient, which changes nothing where they are equal.  A row with coefficient zero must not push.

Beside a huge r the map loses u to rounding: r = 1e19, u = -1 would pass.  With e the exact map, u + s n - e is in
K*, r - e
in K, and the two are orthogonal, so the distances to the cones and gap / (|r| + |u + s n|) bound |e| from below
(the last to first order).  What is reported is the largest of all four.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.jit import kernel
from mb_contact.core.lcp.certificate import GAP, INFEASIBLE, VIOLATION
from mb_contact.core.lcp.cone_problem import CONE, project_normal

NATURAL = 3  #: norm of the natural map; GAP is |r* (u + s n)|, INFEASIBLE is -u_n, or |u| of bilateral rows
MEASURES = 4


@kernel
def cone_residuals(blocks, r, u, scale, out, length, slope):
    """Fill ``out`` (blocks, MEASURES) with r / scale and u scale of each block; infinite where not a number.

    ``length`` and ``slope`` are workspaces for the groups of one block.
    """
    for i in range(blocks.kind.shape[0]):
        fill(MEASURES, out[i], 0.0)
        if blocks.kind[i] == CONE:
            _contact_residuals(blocks, r, u, scale[i], out, i, length, slope)
        else:
            for a in range(blocks.start[i], blocks.start[i + 1]):
                x = u[a] * scale[i]
                out[i, NATURAL] += x * x
                out[i, INFEASIBLE] = max(out[i, INFEASIBLE], abs(x))
            out[i, NATURAL] = np.sqrt(out[i, NATURAL])
        for a in range(blocks.start[i], blocks.start[i + 1]):
            if not np.isfinite(r[a]) or not np.isfinite(u[a]):
                for k in range(MEASURES):
                    out[i, k] = np.inf


@kernel
def _contact_residuals(blocks, r, u, c, out, i, length, slope):
    n = blocks.start[i]
    first = blocks.group[i]
    groups = blocks.group[i + 1] - first
    s = 0.0
    work = 0.0
    total = 0.0
    size_r = 0.0
    size_u = 0.0
    for l in range(groups):
        g = first + l
        v = 0.0
        t = 0.0
        bound = 0.0
        for k in range(blocks.row[g], blocks.row[g] + blocks.size[g]):
            if blocks.mu[k] == 0.0:
                total += (r[k] / c) ** 2
                out[i, VIOLATION] = max(out[i, VIOLATION], abs(r[k] / c))
                continue
            f = blocks.mean[g] / blocks.mu[k]
            x = r[k] / c * f
            w = u[k] * c / f
            v += w * w
            t += (x - w) ** 2
            bound += x * x
            work += x * w
        s += blocks.mean[g] * np.sqrt(v)
        size_r += bound
        size_u += v
        length[l] = np.sqrt(t)
        slope[l] = blocks.mean[g]
        out[i, VIOLATION] = max(out[i, VIOLATION], np.sqrt(bound) - blocks.mean[g] * r[n] / c)
    normal = r[n] / c
    w = u[n] * c
    work += normal * (w + s)
    p = project_normal(normal - (w + s), length, slope, groups)
    total += (normal - p) ** 2
    for l in range(groups):
        g = first + l
        keep = slope[l] * p / length[l] if length[l] > slope[l] * p else 1.0
        for k in range(blocks.row[g], blocks.row[g] + blocks.size[g]):
            if blocks.mu[k] > 0.0:
                f = blocks.mean[g] / blocks.mu[k]
                x = r[k] / c * f
                total += (x - keep * (x - u[k] * c / f)) ** 2
    out[i, GAP] = abs(work)
    out[i, INFEASIBLE] = max(-w, 0.0)
    out[i, VIOLATION] = max(out[i, VIOLATION], -normal)
    steep = 1.0
    sizes = np.sqrt(size_r + normal * normal) + np.sqrt(size_u + (w + s) * (w + s))
    for l in range(groups):
        steep += slope[l] * slope[l]
    least = max(out[i, INFEASIBLE], out[i, VIOLATION]) / np.sqrt(steep)
    if sizes > 0.0:
        least = max(least, out[i, GAP] / sizes)
    out[i, NATURAL] = max(np.sqrt(total), least)
