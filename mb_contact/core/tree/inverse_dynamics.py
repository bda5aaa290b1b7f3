# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics by one scatter and one gather: alpha = phi*(H* v_dot + a), f = phi(M alpha + b), T = H f."""

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.gravity import gravity_of, own_weight
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.modal_dynamics import (
    modal_accelerations,
    modal_efforts,
    modal_kinetic_energy,
    modal_rate_energy,
    modal_rate_momentum,
)
from mb_contact.core.tree.spatial import (
    add_spatial,
    gathered,
    linear,
    momentum,
    moved,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)


@sweep
def inverse_dynamics(tree, kin, gravity, v_dot, alpha, force, effort):
    """Generalised forces for accelerations ``v_dot`` at the velocity held in ``kin``; without joint damping.

    Parameters
    ----------
    gravity : (3,)
    alpha, force : (n, 6)
        Spatial accelerations (relative to free fall) and forces through the joints, output.
    effort : (N,)
        Output.
    """
    n = tree.parent.shape[0]
    base = (0.0, 0.0, 0.0, -gravity[0], -gravity[1], -gravity[2])
    if has_modes(kin):
        modal_accelerations(tree, kin, gravity, base, v_dot, alpha, force)
    else:
        for k in range(n):
            x = moved(spatial(alpha, tree.parent[k]), vector(kin.l, k)) if tree.parent[k] >= 0 else base
            x = spatial_sum(x, 1.0, spatial(kin.a, k))
            for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                x = spatial_sum(x, v_dot[i], spatial(kin.H, i))
            put_spatial(alpha, k, x)
            inertial = momentum(kin.I, kin.mc, tree.mass[k], k, x)
            f = spatial_sum(inertial, 1.0, spatial(kin.b, k))  # M alpha + b
            put_spatial(force, k, spatial_sum(f, -1.0, own_weight(tree, kin.mc, gravity, k)))
    for k in range(n - 1, -1, -1):
        f = spatial(force, k)
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):  # T = H f
            effort[i] = spatial_dot(spatial(kin.H, i), f) + tree.armature[i] * v_dot[i]
        if tree.parent[k] >= 0:
            add_spatial(force, tree.parent[k], gathered(f, vector(kin.l, k)))
    if has_modes(kin):
        modal_efforts(kin.modal, v_dot, alpha, force, effort)


@kernel
def body_kinetic_energy(m, I, mc, V, k):
    """Kinetic energy [J] of body k of mass m at the velocities V (n, 6)."""
    V_k = spatial(V, k)
    return 0.5 * spatial_dot(V_k, momentum(I, mc, m, k, V_k))


@kernel
def kinetic_energy(tree, kin, V, v):
    """Kinetic energy [J] of all bodies and rotors at velocities V (n, 6) and v (N,)."""
    total = 0.0
    for k in range(tree.parent.shape[0]):
        total += body_kinetic_energy(tree.mass[k], kin.I, kin.mc, V, k)
    for i in range(v.shape[0]):
        total += 0.5 * tree.armature[i] * v[i] * v[i]
    for f in range(kin.modal.link.shape[0]):
        total += modal_kinetic_energy(kin.modal, V, f, v)
    return total


@kernel
def mechanical_energy(tree, kin, gravity):
    """Kinetic and potential energy [J] of all bodies, without rotors, from ``kin`` at the current state."""
    kinetic = 0.0
    potential = 0.0
    for k in range(tree.parent.shape[0]):
        kinetic += body_kinetic_energy(tree.mass[k], kin.I, kin.mc, kin.V, k)
        moment = vector_sum(vector(kin.mc, k), tree.mass[k], vector(kin.p, k))
        potential -= vector_dot(gravity_of(tree, gravity, k), moment)
    for f in range(kin.modal.link.shape[0]):
        kinetic += modal_rate_energy(kin.modal, kin.V, f)
    return kinetic, potential


@kernel
def gravity_power(tree, kin, gravity):
    """Power of gravity on all bodies [W], from ``kin`` at the current state."""
    power = 0.0
    g = gravity[0], gravity[1], gravity[2]
    for k in range(tree.parent.shape[0]):
        turning = vector_product(vector(kin.V, k), vector(kin.mc, k))
        along = vector_sum(turning, tree.mass[k], linear(kin.V, k))
        power += vector_dot(gravity_of(tree, gravity, k), along)
    for f in range(kin.modal.link.shape[0]):
        power += vector_dot(g, modal_rate_momentum(kin.modal, f)[3:])
    return power
