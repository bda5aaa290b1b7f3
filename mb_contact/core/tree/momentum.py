# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Momentum of all moving bodies together: centre of mass, momentum about a point, momentum matrix."""

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.modal_dynamics import modal_momentum_matrix, modal_rate_momentum
from mb_contact.core.tree.spatial import STILL, gathered, momentum, spatial, spatial_sum, vector, vector_dot


@kernel
def centre_of_mass(tree, kin, c):
    """Centre of mass of all bodies into c (3,), world axes [m]; returns their mass [kg], c is 0 if that is 0."""
    total = 0.0
    for k in range(tree.mass.shape[0]):
        total += tree.mass[k]
    for a in range(3):
        c[a] = 0.0
        if total > 0.0:
            start = kin.p[0, a]  # from there, so that the digits do not depend on the distance to the world's origin
            x = 0.0
            for k in range(tree.mass.shape[0]):
                x += tree.mass[k] * (kin.p[k, a] - start) + kin.mc[k, a]
            c[a] = start + x / total
    return total


@kernel
def total_momentum(tree, kin, point, h):
    """Momentum [angular about ``point``; linear] of all bodies into h (6,), from ``kin.V``."""
    total = STILL
    for k in range(tree.parent.shape[0]):
        h_k = momentum(kin.I, kin.mc, tree.mass[k], k, spatial(kin.V, k))
        total = spatial_sum(total, 1.0, gathered(h_k, _from_point(kin, k, point)))
    for f in range(kin.modal.link.shape[0]):
        h_f = modal_rate_momentum(kin.modal, f)
        total = spatial_sum(total, 1.0, gathered(h_f, _from_point(kin, kin.modal.link[f], point)))
    h[0], h[1], h[2], h[3], h[4], h[5] = total


@sweep
def _from_point(kin, k, point):
    """From the point (3,) to the origin of body k."""
    return kin.p[k, 0] - point[0], kin.p[k, 1] - point[1], kin.p[k, 2] - point[2]


@kernel
def momentum_matrix(tree, kin, I, mc, mass, point, A):
    """Matrix A (6, N) with h = A v, moments about ``point`` (3,), from the composite values (``composite``).

    Column of a degree of freedom h of body k: R(k) h*, the momentum of all that it moves, shifted to the point.
    """
    for k in range(tree.parent.shape[0]):
        r = _from_point(kin, k, point)
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            f = gathered(momentum(I, mc, mass[k], k, spatial(kin.H, i)), r)
            A[0, i], A[1, i], A[2, i], A[3, i], A[4, i], A[5, i] = f
    if has_modes(kin):
        modal_momentum_matrix(kin, I, mc, mass, point, A)


@kernel
def locked_inertia(tree, kin, com, total):
    """Spatial inertia (6, 6) about the centre of mass (3,) of all bodies frozen together.

    Parallel axes from each body's origin at r: I + 2 (r . mc) 1 - r mc* - mc r* + m (r . r 1 - r r*).
    """
    for k in range(tree.mass.shape[0]):
        m, r, c = tree.mass[k], _from_point(kin, k, com), vector(kin.mc, k)
        for a in range(3):
            total[3 + a, 3 + a] += m
            total[a, a] += 2.0 * vector_dot(r, c) + m * vector_dot(r, r)
            for b in range(3):
                total[a, b] += kin.I[k, a, b] - r[a] * c[b] - c[a] * r[b] - m * r[a] * r[b]


@kernel
def forces_about(tree, kin, force, point, total):
    """Sum of the forces through the joints of the root bodies (``inverse_dynamics``) about a point, into total (6,)."""
    f = STILL
    for k in range(tree.parent.shape[0]):
        if tree.parent[k] < 0:
            f = spatial_sum(f, 1.0, gathered(spatial(force, k), _from_point(kin, k, point)))
    total[0], total[1], total[2], total[3], total[4], total[5] = f
