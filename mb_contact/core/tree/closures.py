# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rows of loop closures, J14 Eq. 17 and 29: two frames on two bodies, held together in some directions.

    kind      rows  velocity of a row                        closure error c
    weld      6     e_i . (omega_a - omega_b); then point    rotation vector of R_a R_b*; then point
    axis      5     t_i . (omega_a - omega_b), t_i across    t_i . (z_b x z_a); then point
                    the axis z_b; then point
    point     3     e_i . (v_a(p_a) - v_b(p_b))              e_i . (p_a - p_b)
    distance  1     u . (v_a(p_a) - v_b(p_b)), u along s     |s| - length,  s = p_a - p_b
    planar    3     t_i as axis; z_b . (v_a(p_a) - v_b(p_a)) as axis; z_b . s
    screw     5     t_i as axis; t_i . (v_a(p_a) - v_b(p_a)) as axis; t_i . s; then the turn alpha about z_b against
                    and the thread, z_b . (v_a(p_a) -        the way along it, lead times the difference of z_b . s /
                    v_b(p_a) - lead (omega_a - omega_b))     lead and alpha, within half a turn

``constraints/loop.py`` makes rows of a step's problem of them, ``embedding.py`` a joint of several bodies.
``studies/formulations/loops.py`` has the same rows in NumPy, and a test holds the two together.
"""

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.tree.frames import angular_row, node_rows
from mb_contact.core.tree.rotations import rotation_vector
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    body_point,
    matrix,
    point_bias,
    point_velocity,
    product,
    put_matrix,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    spin,
    transposed,
    unit_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import CLOSURE_AXIS, CLOSURE_DISTANCE, CLOSURE_PLANAR, CLOSURE_SCREW, CLOSURE_WELD

LEAST_DISTANCE = 1e-12  # [m] below it a distance has no direction


@kernel
def closure_geometry(closures, i, kin, row, first, rows, loop):
    """Rows of closure i from row ``row`` on; returns the row after its last.

    ``rows.offset`` takes the part of the velocity product dG/dt v that the bodies' bias accelerations do not hold, and
    ``loop.error[row - first]`` the closure error.
    """
    kind = closures.kind[i]
    a = closures.body_a[i]
    b = closures.body_b[i]
    place_frames(closures, i, kin, loop)
    if kind == CLOSURE_WELD:
        row = _weld_angles(row, rows, loop, first)
    elif kind == CLOSURE_AXIS or kind == CLOSURE_PLANAR or kind == CLOSURE_SCREW:
        row = _axis_angles(row, a, b, kin, rows, loop, first)
    if kind == CLOSURE_PLANAR:
        return _plane(row, 2, a, b, kin, rows, loop, first)
    if kind == CLOSURE_SCREW:
        return _thread(row, a, b, closures.lead[i], kin, rows, loop, first)
    if kind == CLOSURE_DISTANCE:
        return _distance(row, a, b, closures.length[i], kin, rows, loop, first)
    return _point(row, a, b, kin, rows, loop, first)


@kernel
def place_frames(closures, i, kin, loop):
    """World poses of closure i's frames."""
    _place(closures.body_a[i], kin, closures.p_a, closures.R_a, i, loop, 0)
    _place(closures.body_b[i], kin, closures.p_b, closures.R_b, i, loop, 1)


@kernel
def _place(k, kin, p, R, i, loop, side):
    """World pose of closure i's frame on body k."""
    r = matrix(R, i)
    put_matrix(loop.axes, side, product(matrix(kin.R, k), r) if k >= 0 else r)
    put_vector(loop.point, side, body_point(kin.R, kin.p, k, vector(p, i)))


@kernel
def _point_difference(a, b, kin, loop, x, y):
    """(velocities, centripetal accelerations) of the points x of body a and y of body b, one minus the other."""
    at_a = vector(loop.point, x)
    at_b = vector(loop.point, y)
    bias = vector_sum(point_bias(kin.V, kin.p, a, at_a), -1.0, point_bias(kin.V, kin.p, b, at_b))
    return vector_sum(point_velocity(kin.V, kin.p, a, at_a), -1.0, point_velocity(kin.V, kin.p, b, at_b)), bias


@kernel
def _point(row, a, b, kin, rows, loop, first):
    """Three rows along the world's axes."""
    _, bias = _point_difference(a, b, kin, loop, 0, 1)
    for c in range(3):
        node_rows(kin.p, a, vector(loop.point, 0), b, vector(loop.point, 1), unit_vector(c), rows, row + c)
        loop.error[row + c - first] = loop.point[0, c] - loop.point[1, c]
        rows.offset[row + c] = bias[c]
    return row + 3


@kernel
def _distance(row, a, b, length, kin, rows, loop, first):
    """One row along the line between the origins; du/dt is the rate across it, over the distance."""
    s = between(loop.point, 0, loop.point, 1)
    d = np.sqrt(vector_dot(s, s))
    if d < LEAST_DISTANCE:
        s, d = (LEAST_DISTANCE, 0.0, 0.0), LEAST_DISTANCE
    n = s[0] / d, s[1] / d, s[2] / d
    node_rows(kin.p, a, vector(loop.point, 0), b, vector(loop.point, 1), n, rows, row)
    u, bias = _point_difference(a, b, kin, loop, 0, 1)
    across = vector_dot(u, u) - vector_dot(n, u) ** 2
    rows.offset[row] = vector_dot(n, bias) + across / d
    loop.error[row - first] = d - length
    return row + 1


@kernel
def _plane(row, c, a, b, kin, rows, loop, first):
    """The origin on A stays in the plane through that on B: n . s = 0, n the axis c of B, s = p_a - p_b."""
    n = loop.axes[1, 0, c], loop.axes[1, 1, c], loop.axes[1, 2, c]
    node_rows(kin.p, a, vector(loop.point, 0), b, vector(loop.point, 0), n, rows, row)
    s = between(loop.point, 0, loop.point, 1)
    w = spin(kin.V, b)
    turning = vector_product(w, n)  # dn/dt
    u, bias = _point_difference(a, b, kin, loop, 0, 1)
    rows.offset[row] = vector_dot(vector_product(w, turning), s) + 2.0 * vector_dot(turning, u) + vector_dot(n, bias)
    loop.error[row - first] = vector_dot(n, s)
    return row + 1


@kernel
def _thread(row, a, b, lead, kin, rows, loop, first):
    """The origin on A stays on the axis of B, and goes along it by ``lead`` with each radian of A's turn against B."""
    for c in range(3):
        _plane(row + c, c, a, b, kin, rows, loop, first)
    row += 2
    R = loop.axes
    z = R[1, 0, 2], R[1, 1, 2], R[1, 2, 2]
    if a >= 0:
        put_spatial(rows.on_a, row, spatial_sum(spatial(rows.on_a, row), -lead, z + ZERO))
    if b >= 0:
        put_spatial(rows.on_b, row, spatial_sum(spatial(rows.on_b, row), lead, z + ZERO))
    w = spin(kin.V, b)
    rows.offset[row] -= lead * vector_dot(vector_product(w, z), vector_sum(spin(kin.V, a), -1.0, w))
    x = R[0, 0, 0], R[0, 1, 0], R[0, 2, 0]
    turn = np.arctan2(
        vector_dot((R[1, 0, 1], R[1, 1, 1], R[1, 2, 1]), x), vector_dot((R[1, 0, 0], R[1, 1, 0], R[1, 2, 0]), x)
    )
    apart = loop.error[row - first] / lead - turn
    loop.error[row - first] = lead * (apart - 2.0 * np.pi * np.rint(apart / (2.0 * np.pi)))
    return row + 1


@kernel
def _axis_angles(row, a, b, kin, rows, loop, first):
    """Two rows across the axis of B; dt_i/dt = omega_b x t_i."""
    w = spin(kin.V, b)
    apart = vector_sum(spin(kin.V, a), -1.0, w)
    R = loop.axes
    error = vector_product((R[1, 0, 2], R[1, 1, 2], R[1, 2, 2]), (R[0, 0, 2], R[0, 1, 2], R[0, 2, 2]))
    for c in range(2):
        t = R[1, 0, c], R[1, 1, c], R[1, 2, c]
        angular_row(rows, row + c, t)
        rows.offset[row + c] = vector_dot(vector_product(w, t), apart)
        loop.error[row + c - first] = vector_dot(t, error)
    return row + 2


@kernel
def _weld_angles(row, rows, loop, first):
    """Three rows along the world's axes; the error is the rotation vector of R_a R_b*."""
    turn = rotation_vector(product(matrix(loop.axes, 0), transposed(matrix(loop.axes, 1))))
    for c in range(3):
        angular_row(rows, row + c, unit_vector(c))
        rows.offset[row + c] = 0.0
        loop.error[row + c - first] = turn[c]
    return row + 3
