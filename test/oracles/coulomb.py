# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Judges of Coulomb's law on the pyramid and on the cone, by dense matrices; they share nothing with the package.

That of the pyramid writes J14 Eq. 53 out as full matrices, splits the friction impulses anew, and measures every pair
(z, w) as z sqrt(W_ii), w / sqrt(W_ii); that of the cone measures normal pairs alike, and friction by its distance from
the point of the disc that is nearest to r - u / W_tt.
"""

from __future__ import annotations

import numpy as np

CONE = 0  #: n_f of the disc


def friction_directions(n_f):
    """Unit tangents d_1 ... d_nf as rows."""
    angle = 2 * np.pi * np.arange(n_f) / n_f
    return np.column_stack((np.cos(angle), np.sin(angle)))


def dense_lcp(W, q, mu, dim, n_f):
    """M, h of J14 Eq. 53 with z = [F_n, beta ... of each contact; limits; sigma], and Z: r = Z z."""
    contacts = int((np.asarray(dim) == 3).sum())
    forces = sum(n_f + 1 if d == 3 else 1 for d in dim)
    Z = np.zeros((len(q), forces + contacts))
    M = np.zeros((forces + contacts, forces + contacts))
    column, row, sigma = 0, 0, forces
    for i, d in enumerate(dim):
        Z[row, column] = 1.0
        if d == 3:
            Z[row + 1 : row + 3, column + 1 : column + 1 + n_f] = friction_directions(n_f).T
            M[column + 1 : column + 1 + n_f, sigma] = 1.0
            M[sigma, column] = mu[i]
            M[sigma, column + 1 : column + 1 + n_f] = -1.0
            sigma += 1
        column += n_f + 1 if d == 3 else 1
        row += d
    M += Z.T @ W @ Z
    return M, Z.T @ q, Z


def split(r, u, mu, dim, n_f):
    """z from the impulses r: friction on the two neighbouring directions, sigma the closing speed."""
    D = friction_directions(n_f)
    z, sigma, row = [], [], 0
    for d in dim:
        z.append(r[row])
        if d == 3:
            x, beta = r[row + 1 : row + 3], np.zeros(n_f)
            turn = (np.arctan2(x[1], x[0]) % (2 * np.pi)) * n_f / (2 * np.pi)
            k = int(turn) % n_f
            pair = [k, (k + 1) % n_f]
            beta[pair] = np.linalg.solve(D[pair].T, x)
            z.extend(beta)
            sigma.append(max(0.0, (-D @ u[row + 1 : row + 3]).max()))
        row += d
    return np.array(z + sigma)


def dense_residual(W, q, mu, dim, n_f, r):
    """Largest scaled |min(z, w)| over all pairs of the written-out problem."""
    M, h, Z = dense_lcp(W, q, mu, dim, n_f)
    u = W @ r + q
    z = split(r, u, mu, dim, n_f)
    np.testing.assert_allclose(Z @ z, r, atol=1e-12 * max(1.0, np.abs(r).max(initial=0.0)))
    w = M @ z + h
    scale, tangential, row = [], [], 0
    for d in dim:
        scale.append(np.sqrt(W[row, row]))
        if d == 3:
            t = np.sqrt(0.5 * (W[row + 1, row + 1] + W[row + 2, row + 2]))
            scale.extend([t] * n_f)
            tangential.append(1.0 / t)  # of the pair (sigma [m/s], friction slack [N s])
        row += d
    s = np.array(scale + tangential)
    return np.abs(np.minimum(z * s, w / s)).max(initial=0.0)


def cone_residual(W, q, mu, dim, r):
    """Largest scaled violation of Coulomb's law on the cone."""
    u = W @ r + q
    worst, row = 0.0, 0
    for i, d in enumerate(dim):
        s = np.sqrt(W[row, row])
        worst = max(worst, abs(min(r[row] * s, u[row] / s)))
        if d == 3:
            t = np.sqrt(0.5 * (W[row + 1, row + 1] + W[row + 2, row + 2]))
            x, radius = r[row + 1 : row + 3], mu[i] * max(r[row], 0.0)
            z = x - u[row + 1 : row + 3] / t**2
            z *= min(1.0, radius / max(np.linalg.norm(z), 1e-300))
            worst = max(worst, t * np.linalg.norm(x - z))
        row += d
    return worst
