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

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.declare import Reals, allocate
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.frames import node_row
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    body_point,
    body_vector,
    linear,
    matrix,
    point_bias,
    put_matrix,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    spin,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)

ROWS = 5  # of a hinge
BAND = 9  # entries of a row left of the diagonal


class HingeWork(NamedTuple):
    """Geometry of the hinges and workspaces; n bodies, room for R contact rows."""

    anchor: Annotated[Reals, "n", 3]  #: hinge point in the body's frame [m]
    anchor_up: Annotated[Reals, "n", 3]  #: in the frame of the body before it, or the world's
    axis: Annotated[Reals, "n", 3]  #: in the body's frame
    across: Annotated[Reals, "n", 2, 3]  #: orthonormal, across the axis, in the frame of the body before it
    gamma: Annotated[Reals, 2]  #: gamma, the part of an opening that is taken back in a step, and s
    inverse: Annotated[Reals, "n", 3, 3]  #: inverse rotational inertias, world axes
    on: Annotated[Reals, "5 * n", 6]
    up: Annotated[Reals, "5 * n", 6]
    on_inverse: Annotated[Reals, "5 * n", 6]  #: M^-1 on
    up_inverse: Annotated[Reals, "5 * n", 6]
    q: Annotated[Reals, "5 * n"]
    band: Annotated[Reals, "5 * n", 10]  #: lower band of K M^-1 K*, diagonal last; then its Cholesky factor
    y: Annotated[Reals, "5 * n"]  #: factor^-1 q
    C: Annotated[Reals, "5 * n", "R"]  #: K M^-1 D of the contact rows; then factor^-1 times it
    p: Annotated[Reals, "5 * n"]  #: impulses of the hinge rows


def make_hinge_work(anchor, anchor_up, axis, across, gamma, R):
    """Workspace for chains with the given hinges (HingeWork says in which frames) and R contact rows."""
    given = {"anchor": anchor, "anchor_up": anchor_up, "axis": axis, "across": across, "gamma": gamma}
    given = {name: np.ascontiguousarray(value, dtype=np.float64) for name, value in given.items()}
    return allocate(HingeWork, n=len(anchor), R=R, **given)


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
    a, b, c, _, d, e, _, _, f = matrix(I, k)
    x = d * f - e * e
    y = c * e - b * f
    z = b * e - c * d
    s = 1.0 / (a * x + b * y + c * z)
    m = s * (b * c - a * e)
    put_matrix(inverse, k, (s * x, s * y, s * z, s * y, s * (a * f - c * c), m, s * z, m, s * (a * d - b * b)))


@kernel
def _point_rows(kin, V_free, dt, k, g):
    """Rows 0, 1, 2 of hinge k: the hinge point of body k stays at that of body k-1."""
    at_k = body_point(kin.R, kin.p, k, vector(g.anchor, k))
    at_up = body_point(kin.R, kin.p, k - 1, vector(g.anchor_up, k))
    bias = vector_sum(point_bias(kin.V, kin.p, k, at_k), -1.0, point_bias(kin.V, kin.p, k - 1, at_up))
    open_by = vector_sum(at_k, -1.0, at_up)
    for c in range(3):
        row = ROWS * k + c
        g.q[row] = g.gamma[1] * dt * bias[c] + g.gamma[0] / dt * open_by[c]
        axis = 1.0 if c == 0 else 0.0, 1.0 if c == 1 else 0.0, 1.0 if c == 2 else 0.0
        node_row(kin.p, k, at_k, axis, g.on, row)
        if k > 0:
            node_row(kin.p, k - 1, at_up, vector_sum(ZERO, -1.0, axis), g.up, row)
        _add_velocity(V_free, k, row, g)


@kernel
def _axis_rows(kin, V_free, dt, k, g):
    """Rows 3, 4 of hinge k: no turning across the axis, which is fixed in body k-1."""
    w = spin(kin.V, k - 1)
    turning = vector_sum(vector(kin.V, k), -1.0, w)
    t = body_vector(kin.R, k - 1, vector(g.across[k], 0))
    u = body_vector(kin.R, k - 1, vector(g.across[k], 1))
    axis = vector_product(t, u)  # in body k-1
    error = vector_product(axis, body_vector(kin.R, k, vector(g.axis, k)))  # the turn from one axis to the other
    for row in range(ROWS * k + 3, ROWS * k + 5):
        bias = vector_dot(vector_product(w, t), turning)
        g.q[row] = g.gamma[1] * dt * bias + g.gamma[0] / dt * vector_dot(t, error)
        put_spatial(g.on, row, t + ZERO)
        put_spatial(g.up, row, spatial_sum(STILL, -1.0, t + ZERO) if k > 0 else STILL)
        _add_velocity(V_free, k, row, g)
        t = u


@kernel
def _add_velocity(V_free, k, row, g):
    """q[row] += on V(k) + up V(k-1)."""
    g.q[row] += _dot(g.on, row, V_free, k)
    if k > 0:
        g.q[row] += _dot(g.up, row, V_free, k - 1)


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
    for row in range(ROWS * k, ROWS * k + ROWS):
        put_spatial(out, row, velocity_change(mass, body, inverse, on, row))


@sweep
def velocity_change(mass, k, inverse, f, i):
    """M^-1(k) f[i]: what the impulse f[i] adds to the velocity of body k alone."""
    return turned(matrix(inverse, k), vector(f, i)) + vector_sum(ZERO, 1.0 / mass[k], linear(f, i))


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
    return spatial_dot(spatial(x, i), spatial(y, j))


@kernel
def add_hinge_impulses(g, impulse):
    """Spatial impulses K* p on the bodies, added to ``impulse`` (n, 6)."""
    for k in range(g.anchor.shape[0]):
        for row in range(ROWS * k, ROWS * k + ROWS):
            add_spatial(impulse, k, spatial_sum(STILL, g.p[row], spatial(g.on, row)))
            if k > 0:
                add_spatial(impulse, k - 1, spatial_sum(STILL, g.p[row], spatial(g.up, row)))
