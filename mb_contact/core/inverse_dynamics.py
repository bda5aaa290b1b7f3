# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Inverse dynamics by one scatter and one gather: alpha = phi*(H* v_dot + a), f = phi(M alpha + b), T = H f."""

from __future__ import annotations

from mb_contact.core.jit import kernel
from mb_contact.core.kinematics import inertia_times
from mb_contact.core.spatial import cross


@kernel
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
    for k in range(n):
        m = tree.parent[k]
        if m >= 0:
            x, y, z = cross(alpha[m, 0], alpha[m, 1], alpha[m, 2], kin.l[k, 0], kin.l[k, 1], kin.l[k, 2])
            for c in range(6):
                alpha[k, c] = alpha[m, c] + kin.a[k, c]
            alpha[k, 3] += x
            alpha[k, 4] += y
            alpha[k, 5] += z
        else:
            for c in range(3):
                alpha[k, c] = kin.a[k, c]
                alpha[k, 3 + c] = kin.a[k, 3 + c] - gravity[c]
        s = tree.v_start[k]
        for i in range(s, s + tree.nv[k]):
            for c in range(6):
                alpha[k, c] += kin.H[i, c] * v_dot[i]
        inertia_times(kin.I, kin.mc, tree.mass[k], k, alpha, k, force, k)
        for c in range(6):
            force[k, c] += kin.b[k, c]
    for k in range(n - 1, -1, -1):
        s = tree.v_start[k]
        for i in range(s, s + tree.nv[k]):
            x = tree.armature[i] * v_dot[i]
            for c in range(6):
                x += kin.H[i, c] * force[k, c]
            effort[i] = x
        m = tree.parent[k]
        if m >= 0:
            x, y, z = cross(kin.l[k, 0], kin.l[k, 1], kin.l[k, 2], force[k, 3], force[k, 4], force[k, 5])
            for c in range(6):
                force[m, c] += force[k, c]
            force[m, 0] += x
            force[m, 1] += y
            force[m, 2] += z


@kernel
def mechanical_energy(tree, kin, gravity):
    """Kinetic and potential energy [J] of all bodies, without rotors, from ``kin`` at the current state."""
    kinetic = 0.0
    potential = 0.0
    V = kin.V
    for k in range(tree.parent.shape[0]):
        m = tree.mass[k]
        wx, wy, wz = V[k, 0], V[k, 1], V[k, 2]
        vx, vy, vz = V[k, 3], V[k, 4], V[k, 5]
        for i in range(3):
            for j in range(3):
                kinetic += 0.5 * V[k, i] * kin.I[k, i, j] * V[k, j]
        kinetic += 0.5 * m * (vx * vx + vy * vy + vz * vz)
        x, y, z = cross(wx, wy, wz, kin.mc[k, 0], kin.mc[k, 1], kin.mc[k, 2])
        kinetic += vx * x + vy * y + vz * z
        for c in range(3):
            potential -= gravity[c] * (m * kin.p[k, c] + kin.mc[k, c])
    return kinetic, potential
