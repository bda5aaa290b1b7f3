# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics by one scatter and one gather: alpha = phi*(H* v_dot + a), f = phi(M alpha + b), T = H f."""

from __future__ import annotations

from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.spatial import cross, rotate


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
    H = kin.H
    l = kin.l
    I = kin.I
    mc = kin.mc
    a = kin.a
    b = kin.b
    parent = tree.parent
    v_start = tree.v_start
    nv = tree.nv
    mass = tree.mass
    armature = tree.armature
    n = parent.shape[0]
    for k in range(n):
        m = parent[k]
        ax = a[k, 0]
        ay = a[k, 1]
        az = a[k, 2]
        x = a[k, 3]
        y = a[k, 4]
        z = a[k, 5]
        if m >= 0:
            ux = alpha[m, 0]
            uy = alpha[m, 1]
            uz = alpha[m, 2]
            tx, ty, tz = cross(ux, uy, uz, l[k, 0], l[k, 1], l[k, 2])
            ax += ux
            ay += uy
            az += uz
            x += alpha[m, 3] + tx
            y += alpha[m, 4] + ty
            z += alpha[m, 5] + tz
        else:
            x -= gravity[0]
            y -= gravity[1]
            z -= gravity[2]
        s = v_start[k]
        for i in range(s, s + nv[k]):
            u = v_dot[i]
            ax += H[i, 0] * u
            ay += H[i, 1] * u
            az += H[i, 2] * u
            x += H[i, 3] * u
            y += H[i, 4] * u
            z += H[i, 5] * u
        alpha[k, 0] = ax
        alpha[k, 1] = ay
        alpha[k, 2] = az
        alpha[k, 3] = x
        alpha[k, 4] = y
        alpha[k, 5] = z
        cx = mc[k, 0]
        cy = mc[k, 1]
        cz = mc[k, 2]
        w = mass[k]
        ux, uy, uz = rotate(I, k, ax, ay, az)
        tx, ty, tz = cross(cx, cy, cz, x, y, z)
        force[k, 0] = b[k, 0] + ux + tx  # f = M alpha + b
        force[k, 1] = b[k, 1] + uy + ty
        force[k, 2] = b[k, 2] + uz + tz
        tx, ty, tz = cross(ax, ay, az, cx, cy, cz)
        force[k, 3] = b[k, 3] + w * x + tx
        force[k, 4] = b[k, 4] + w * y + ty
        force[k, 5] = b[k, 5] + w * z + tz
    for k in range(n - 1, -1, -1):
        ax = force[k, 0]
        ay = force[k, 1]
        az = force[k, 2]
        x = force[k, 3]
        y = force[k, 4]
        z = force[k, 5]
        s = v_start[k]
        for i in range(s, s + nv[k]):  # T = H f
            u = H[i, 0] * ax + H[i, 1] * ay + H[i, 2] * az + H[i, 3] * x + H[i, 4] * y + H[i, 5] * z
            effort[i] = u + armature[i] * v_dot[i]
        m = parent[k]
        if m >= 0:
            tx, ty, tz = cross(l[k, 0], l[k, 1], l[k, 2], x, y, z)
            force[m, 0] += ax + tx
            force[m, 1] += ay + ty
            force[m, 2] += az + tz
            force[m, 3] += x
            force[m, 4] += y
            force[m, 5] += z


@kernel
def body_kinetic_energy(m, I, mc, V, k):
    """Kinetic energy [J] of body k of mass m at the velocities V (n, 6)."""
    kinetic = 0.0
    wx, wy, wz = V[k, 0], V[k, 1], V[k, 2]
    vx, vy, vz = V[k, 3], V[k, 4], V[k, 5]
    for i in range(3):
        for j in range(3):
            kinetic += 0.5 * V[k, i] * I[k, i, j] * V[k, j]
    kinetic += 0.5 * m * (vx * vx + vy * vy + vz * vz)
    x, y, z = cross(wx, wy, wz, mc[k, 0], mc[k, 1], mc[k, 2])
    return kinetic + vx * x + vy * y + vz * z


@kernel
def kinetic_energy(tree, kin, V, v):
    """Kinetic energy [J] of all bodies and rotors at velocities V (n, 6) and v (N,)."""
    total = 0.0
    for k in range(tree.parent.shape[0]):
        total += body_kinetic_energy(tree.mass[k], kin.I, kin.mc, V, k)
    for i in range(v.shape[0]):
        total += 0.5 * tree.armature[i] * v[i] * v[i]
    return total


@kernel
def mechanical_energy(tree, kin, gravity):
    """Kinetic and potential energy [J] of all bodies, without rotors, from ``kin`` at the current state."""
    kinetic = 0.0
    potential = 0.0
    for k in range(tree.parent.shape[0]):
        kinetic += body_kinetic_energy(tree.mass[k], kin.I, kin.mc, kin.V, k)
        for c in range(3):
            potential -= gravity[c] * (tree.mass[k] * kin.p[k, c] + kin.mc[k, c])
    return kinetic, potential
