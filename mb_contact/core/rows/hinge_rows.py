# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pin hinges of a chain of free bodies as bilateral rows, and their compliance (J14 section 8, NMC/OS).

Body k = 0 ... n-1 hangs on body k-1, body 0 on the inertial frame; bodies stand about their centres of mass.  Hinge k
has five rows K: three velocities of the hinge point of body k relative to body k-1's, two rates across the pin's axis,

    K V+ + s dt K' V + gamma c / dt = 0,

with c how far the hinge is open.  J14 Eq. 19 has s = 1 and gamma = 0, and drifts.  With s = 0 the rows hold where the
step begins, as the contacts' do, and the energy stays bounded; with s = 1 fast short links gain energy.

A row is a pair of 6-vectors, ``on`` the body and ``up`` on the one before it.  Only neighbouring hinges share a body,
so K M^-1 K* is a band of half-width 9.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import cross, rotate

ROWS = 5  # of a hinge
BAND = 9  # entries of a row left of the diagonal


class HingeWork(NamedTuple):
    """Geometry of the hinges and workspaces; n bodies, room for R contact rows."""

    anchor: np.ndarray  #: (n, 3), hinge point in the body's frame [m]
    anchor_up: np.ndarray  #: (n, 3), in the frame of the body before it, or the world's
    axis: np.ndarray  #: (n, 3), in the body's frame
    across: np.ndarray  #: (n, 2, 3), orthonormal, across the axis, in the frame of the body before it
    gamma: np.ndarray  #: (2,), gamma, the part of an opening that is taken back in a step, and s
    inverse: np.ndarray  #: (n, 3, 3), inverse rotational inertias, world axes
    on: np.ndarray  #: (5 n, 6)
    up: np.ndarray  #: (5 n, 6)
    on_inverse: np.ndarray  #: (5 n, 6), M^-1 on
    up_inverse: np.ndarray  #: (5 n, 6)
    q: np.ndarray  #: (5 n,)
    band: np.ndarray  #: (5 n, 10), lower band of K M^-1 K*, diagonal last; then its Cholesky factor
    y: np.ndarray  #: (5 n,), factor^-1 q
    C: np.ndarray  #: (5 n, R), K M^-1 D of the contact rows; then factor^-1 times it
    p: np.ndarray  #: (5 n,), impulses of the hinge rows


def make_hinge_work(anchor, anchor_up, axis, across, gamma, R):
    """Workspace for chains with the given hinges (HingeWork says in which frames) and R contact rows."""
    n = len(anchor)
    m = ROWS * n
    return HingeWork(
        anchor=np.ascontiguousarray(anchor, dtype=np.float64),
        anchor_up=np.ascontiguousarray(anchor_up, dtype=np.float64),
        axis=np.ascontiguousarray(axis, dtype=np.float64),
        across=np.ascontiguousarray(across, dtype=np.float64),
        gamma=np.array(gamma, dtype=np.float64),
        inverse=np.zeros((n, 3, 3)),
        on=np.zeros((m, 6)),
        up=np.zeros((m, 6)),
        on_inverse=np.zeros((m, 6)),
        up_inverse=np.zeros((m, 6)),
        q=np.zeros(m),
        band=np.zeros((m, BAND + 1)),
        y=np.zeros(m),
        C=np.zeros((m, R)),
        p=np.zeros(m),
    )


@kernel
def hinge_rows(kin, mass, V_free, dt, g):
    """Rows of all hinges, M^-1 times them, and q = K V_free + s dt K' V + gamma c / dt."""
    for k in range(g.anchor.shape[0]):
        _invert(kin.I, k, g.inverse)
        _point_rows(kin, V_free, dt, k, g)
        _axis_rows(kin, V_free, dt, k, g)
        _respond(mass, k, k, g.inverse, g.on, g.on_inverse)
        if k > 0:
            _respond(mass, k, k - 1, g.inverse, g.up, g.up_inverse)


@kernel
def _invert(I, k, inverse):
    """Inverse of the symmetric 3 x 3 matrix I[k]."""
    a = I[k, 0, 0]
    b = I[k, 0, 1]
    c = I[k, 0, 2]
    d = I[k, 1, 1]
    e = I[k, 1, 2]
    f = I[k, 2, 2]
    x = d * f - e * e
    y = c * e - b * f
    z = b * e - c * d
    s = 1.0 / (a * x + b * y + c * z)
    inverse[k, 0, 0] = s * x
    inverse[k, 0, 1] = inverse[k, 1, 0] = s * y
    inverse[k, 0, 2] = inverse[k, 2, 0] = s * z
    inverse[k, 1, 1] = s * (a * f - c * c)
    inverse[k, 1, 2] = inverse[k, 2, 1] = s * (b * c - a * e)
    inverse[k, 2, 2] = s * (a * d - b * b)


@kernel
def _point_rows(kin, V_free, dt, k, g):
    """Rows 0, 1, 2 of hinge k: the hinge point of body k stays at that of body k-1."""
    V = kin.V
    rx, ry, rz = rotate(kin.R, k, g.anchor[k, 0], g.anchor[k, 1], g.anchor[k, 2])
    sx = g.anchor_up[k, 0]
    sy = g.anchor_up[k, 1]
    sz = g.anchor_up[k, 2]
    cx = kin.p[k, 0] + rx
    cy = kin.p[k, 1] + ry
    cz = kin.p[k, 2] + rz
    bx, by, bz = _centripetal(V, k, rx, ry, rz)
    if k > 0:
        sx, sy, sz = rotate(kin.R, k - 1, sx, sy, sz)
        cx -= kin.p[k - 1, 0]
        cy -= kin.p[k - 1, 1]
        cz -= kin.p[k - 1, 2]
        x, y, z = _centripetal(V, k - 1, sx, sy, sz)
        bx -= x
        by -= y
        bz -= z
    rate = g.gamma[0] / dt
    product = g.gamma[1] * dt
    row = ROWS * k
    g.q[row] = product * bx + rate * (cx - sx)
    g.q[row + 1] = product * by + rate * (cy - sy)
    g.q[row + 2] = product * bz + rate * (cz - sz)
    _unit_rows(rx, ry, rz, 1.0, row, g.on)
    if k > 0:
        _unit_rows(sx, sy, sz, -1.0, row, g.up)
    for i in range(row, row + 3):
        _add_velocity(V_free, k, i, g)


@kernel
def _centripetal(V, k, x, y, z):
    """omega x (omega x r) of body k."""
    a, b, c = cross(V[k, 0], V[k, 1], V[k, 2], x, y, z)
    return cross(V[k, 0], V[k, 1], V[k, 2], a, b, c)


@kernel
def _unit_rows(x, y, z, sign, row, on):
    """Velocity of the point r = (x, y, z) of a body along the world's axes: [r x e; e]."""
    for i in range(3):
        for c in range(6):
            on[row + i, c] = 0.0
        on[row + i, 3 + i] = sign
    on[row, 1] = sign * z
    on[row, 2] = -sign * y
    on[row + 1, 0] = -sign * z
    on[row + 1, 2] = sign * x
    on[row + 2, 0] = sign * y
    on[row + 2, 1] = -sign * x


@kernel
def _axis_rows(kin, V_free, dt, k, g):
    """Rows 3, 4 of hinge k: no turning across the axis, which is fixed in body k-1."""
    V = kin.V
    across = g.across
    wx = 0.0
    wy = 0.0
    wz = 0.0
    tx = across[k, 0, 0]
    ty = across[k, 0, 1]
    tz = across[k, 0, 2]
    ux = across[k, 1, 0]
    uy = across[k, 1, 1]
    uz = across[k, 1, 2]
    if k > 0:
        wx = V[k - 1, 0]
        wy = V[k - 1, 1]
        wz = V[k - 1, 2]
        tx, ty, tz = rotate(kin.R, k - 1, tx, ty, tz)
        ux, uy, uz = rotate(kin.R, k - 1, ux, uy, uz)
    ax, ay, az = cross(tx, ty, tz, ux, uy, uz)  # the axis in body k-1
    bx, by, bz = rotate(kin.R, k, g.axis[k, 0], g.axis[k, 1], g.axis[k, 2])
    ex, ey, ez = cross(ax, ay, az, bx, by, bz)  # the turn from one axis to the other
    row = ROWS * k + 3
    for i in range(2):
        x, y, z = cross(wx, wy, wz, tx, ty, tz)
        bias = x * (V[k, 0] - wx) + y * (V[k, 1] - wy) + z * (V[k, 2] - wz)
        g.q[row + i] = g.gamma[1] * dt * bias + g.gamma[0] / dt * (tx * ex + ty * ey + tz * ez)
        for c in range(6):
            g.on[row + i, c] = g.up[row + i, c] = 0.0
        g.on[row + i, 0] = tx
        g.on[row + i, 1] = ty
        g.on[row + i, 2] = tz
        if k > 0:
            g.up[row + i, 0] = -tx
            g.up[row + i, 1] = -ty
            g.up[row + i, 2] = -tz
        _add_velocity(V_free, k, row + i, g)
        tx = ux
        ty = uy
        tz = uz


@kernel
def _add_velocity(V_free, k, row, g):
    """q[row] += on V(k) + up V(k-1)."""
    x = 0.0
    for c in range(6):
        x += g.on[row, c] * V_free[k, c]
    if k > 0:
        for c in range(6):
            x += g.up[row, c] * V_free[k - 1, c]
    g.q[row] += x


@kernel
def hinge_velocities(V, g):
    """q = K V alone, for an impact: no time passes."""
    for k in range(g.anchor.shape[0]):
        for row in range(ROWS * k, ROWS * k + ROWS):
            g.q[row] = 0.0
            _add_velocity(V, k, row, g)


@kernel
def _respond(mass, k, body, inverse, on, out):
    """out = M^-1(body) on, for the rows of hinge k."""
    light = 1.0 / mass[body]
    for row in range(ROWS * k, ROWS * k + ROWS):
        for i in range(3):
            out[row, i] = (
                inverse[body, i, 0] * on[row, 0] + inverse[body, i, 1] * on[row, 1] + inverse[body, i, 2] * on[row, 2]
            )
            out[row, 3 + i] = light * on[row, 3 + i]


@kernel
def hinge_compliance(g):
    """Lower band of K M^-1 K*."""
    for k in range(g.anchor.shape[0]):
        for a in range(ROWS):
            i = ROWS * k + a
            for c in range(BAND + 1):
                g.band[i, c] = 0.0
            for b in range(a + 1):
                j = ROWS * k + b
                x = _dot(g.on, i, g.on_inverse, j)
                if k > 0:
                    x += _dot(g.up, i, g.up_inverse, j)
                g.band[i, BAND - i + j] = x
            if k > 0:
                for b in range(ROWS):
                    j = ROWS * (k - 1) + b
                    g.band[i, BAND - i + j] = _dot(g.up, i, g.on_inverse, j)


@kernel
def contact_coupling(rows, n_rows, g):
    """C = K M^-1 D of the contact rows: only the two hinges of a touched body are not zero."""
    C = g.C
    for i in range(C.shape[0]):
        for r in range(n_rows):
            C[i, r] = 0.0
    for r in range(n_rows):
        if rows.body_a[r] >= 0:
            _couple(rows.body_a[r], rows.on_a, r, g)
        if rows.body_b[r] >= 0:
            _couple(rows.body_b[r], rows.on_b, r, g)


@kernel
def _couple(k, on, r, g):
    for i in range(ROWS * k, ROWS * k + ROWS):
        g.C[i, r] += _dot(g.on_inverse, i, on, r)
    if k + 1 < g.anchor.shape[0]:
        for i in range(ROWS * (k + 1), ROWS * (k + 1) + ROWS):
            g.C[i, r] += _dot(g.up_inverse, i, on, r)


@kernel
def _dot(x, i, y, j):
    s = 0.0
    for c in range(6):
        s += x[i, c] * y[j, c]
    return s


@kernel
def add_hinge_impulses(g, impulse):
    """Spatial impulses K* p on the bodies, added to ``impulse`` (n, 6)."""
    for k in range(g.anchor.shape[0]):
        for row in range(ROWS * k, ROWS * k + ROWS):
            for c in range(6):
                impulse[k, c] += g.on[row, c] * g.p[row]
            if k > 0:
                for c in range(6):
                    impulse[k - 1, c] += g.up[row, c] * g.p[row]
