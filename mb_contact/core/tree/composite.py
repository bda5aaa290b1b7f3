# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Composite-body mass matrix (J11 lemma 4, algorithm 4.2): R(k) = sum phi(k, j) R(j) phi*(k, j) + M(k).

A composite is again a rigid body, so R(k) is carried as mass, first moment and rotational inertia
about the body origin (10 numbers), and shifted by the parallel-axis rule.
"""

import numpy as np

from mb_contact.core.jit import sweep
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.modal_dynamics import modal_mass_matrix
from mb_contact.core.tree.spatial import (
    add_vector,
    gathered,
    matrix,
    momentum,
    put_matrix,
    put_vector,
    spatial,
    spatial_dot,
    vector,
)
from mb_contact.types import JOINT_FLOATING

LONG_RUN = 16  # degrees of freedom of a run from which on whole runs pay (300 bodies in a chain: 185 -> 36 us)


@sweep
def composite_inertias(tree, l, I, mc, mass):
    """Turn inertias I (n, 3, 3), first moments mc (n, 3) and masses (n,) from body to composite values, in place."""
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        m = tree.parent[k]
        if m < 0:
            continue
        x, y, z = vector(l, k)
        cx, cy, cz = vector(mc, k)
        w = mass[k]
        # I' = I - (l~ mc~ + mc~ l~) - m l~ l~ with s~ t~ = t s* - (s . t) 1
        lc = x * cx + y * cy + z * cz
        ll = x * x + y * y + z * z
        d = 2.0 * lc + w * ll
        I[m, 0, 0] += I[k, 0, 0] + d - 2.0 * x * cx - w * x * x
        I[m, 1, 1] += I[k, 1, 1] + d - 2.0 * y * cy - w * y * y
        I[m, 2, 2] += I[k, 2, 2] + d - 2.0 * z * cz - w * z * z
        I[m, 0, 1] += I[k, 0, 1] - x * cy - y * cx - w * x * y
        I[m, 0, 2] += I[k, 0, 2] - x * cz - z * cx - w * x * z
        I[m, 1, 2] += I[k, 1, 2] - y * cz - z * cy - w * y * z
        I[m, 1, 0] = I[m, 0, 1]
        I[m, 2, 0] = I[m, 0, 2]
        I[m, 2, 1] = I[m, 1, 2]
        add_vector(mc, m, (cx + w * x, cy + w * y, cz + w * z))
        mass[m] += w


@sweep
def body_composites(tree, kin, I, mc, mass):
    """``composite_inertias`` of the bodies as they stand, whose own values stay in ``kin``."""
    for k in range(tree.parent.shape[0]):
        mass[k] = tree.mass[k]
        put_vector(mc, k, vector(kin.mc, k))
        put_matrix(I, k, matrix(kin.I, k))
    composite_inertias(tree, kin.l, I, mc, mass)


@sweep
def mass_matrix(tree, kin, I, mc, mass, top, screws, M):
    """Lower triangle of M (N, N) from the composite values; degrees of freedom with no path between them keep their 0.

    Row of a degree of freedom h of body k: the force f = R(k) h*, shifted by phi to every hinge on the path, and
    M_ij = h_j phi(j, k) f.  ``M`` must hold zeros where nothing is written: only what is on paths is filled.
    ``top`` (n,) and ``screws`` (9, N) are workspaces.
    """
    by_runs = serial_runs(tree.parent, tree.v_start, tree.nv, top) >= LONG_RUN
    if by_runs:
        joint_screws(tree.v_start, tree.nv, kin.H, kin.p, screws)
    for k in range(tree.v_start.shape[0]):
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            f = momentum(I, mc, mass[k], k, spatial(kin.H, i))  # f = R(k) h
            if by_runs:
                _row_by_runs(tree.parent, tree.v_start, tree.nv, kin.p, top, screws, k, i, f, M)
            else:
                _row_by_hinges(tree.parent, tree.joint_type, tree.v_start, tree.nv, kin.l, kin.H, k, i, f, M)
            M[i, i] += tree.armature[i]
    if has_modes(kin):
        modal_mass_matrix(tree, kin, I, mc, mass, M)


@sweep
def _row_by_hinges(parent, kind, v_start, nv, l, H, k, i, f, M):
    """Row i up the path of body k: f goes from hinge to hinge."""
    m = k
    while m >= 0:
        s = v_start[m]
        if kind[m] == JOINT_FLOATING and m != k:  # H = 1, at the root (a quadruped: 0.89 -> 0.73 us)
            M[i, s], M[i, s + 1], M[i, s + 2], M[i, s + 3], M[i, s + 4], M[i, s + 5] = f
            break
        last = i + 1 if m == k else s + nv[m]  # within its own joint only up to itself
        for j in range(s, last):
            M[i, j] = spatial_dot(spatial(H, j), f)
        f = gathered(f, vector(l, m))
        m = parent[m]


@sweep
def serial_runs(parent, v_start, nv, top):
    """First body of the serial run that each body stands in, into top; returns the degrees of freedom of the longest.

    In a run every body is the parent of the next and numbered just before it.  A path to the root is a few runs, and
    the degrees of freedom of a run stand side by side (the serial-chain segments of J11 section 7).
    """
    longest = 0
    for k in range(parent.shape[0]):
        top[k] = top[k - 1] if k > 0 and parent[k] == k - 1 else k
        longest = max(longest, v_start[k] + nv[k] - v_start[top[k]])
    return longest


@sweep
def joint_screws(v_start, nv, H, p, screws):
    """Hinge maps and origins by component, ``screws`` (9, N): h (6) and p (3); those of a run are contiguous."""
    for k in range(v_start.shape[0]):
        for i in range(v_start[k], v_start[k] + nv[k]):
            for c in range(6):
                screws[c, i] = H[i, c]
            for c in range(3):
                screws[6 + c, i] = p[k, c]


@sweep
def _row_by_runs(parent, v_start, nv, p, top, screws, k, i, f, M):
    """Row i up the path of body k, a whole run at once: M_ij = h_j [N + (p_k - p_j) x F; F], a loop that vectorises."""
    nx, ny, nz, fx, fy, fz = f
    m = k
    while m >= 0:
        last = i + 1 if m == k else v_start[m] + nv[m]
        first = v_start[top[m]]
        _along_run(screws, first, last, p[k, 0], p[k, 1], p[k, 2], nx, ny, nz, fx, fy, fz, M[i])
        m = parent[top[m]]


@sweep
def _along_run(screws, first, last, px, py, pz, nx, ny, nz, fx, fy, fz, row):
    """``row[j]`` := h_j [N + (p - p_j) x F; F] for the degrees of freedom first <= j < last."""
    hx = screws[0]
    hy = screws[1]
    hz = screws[2]
    vx = screws[3]
    vy = screws[4]
    vz = screws[5]
    ox = screws[6]
    oy = screws[7]
    oz = screws[8]
    for j in range(np.uint64(first), np.uint64(last)):  # an index that may be negative would not vectorise
        x = px - ox[j]
        y = py - oy[j]
        z = pz - oz[j]
        m = hx[j] * (nx + (y * fz - z * fy)) + hy[j] * (ny + (z * fx - x * fz)) + hz[j] * (nz + (x * fy - y * fx))
        row[j] = m + (vx[j] * fx + vy[j] * fy + vz[j] * fz)


@sweep
def mirror(M):
    """Upper triangle of the symmetric M from the lower one, in tiles that stay in the cache."""
    N = M.shape[0]
    for top in range(0, N, 16):
        bottom = min(top + 16, N)
        for left in range(0, bottom, 16):
            for i in range(top, bottom):
                for j in range(left, min(left + 16, i)):
                    M[j, i] = M[i, j]
