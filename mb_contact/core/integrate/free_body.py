# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step of a free rigid body that keeps energy and momenta: implicit midpoint on Euler's equation.

In body axes, with W = R* omega, W' = (W0 + W1) / 2 and N the moment about the centre of mass, constant in world axes,

    I W1 = cay(-dt W') (I W0 + dt R0* N),     R1 = R0 cay(dt W'),

so R1 I W1 = R0 I W0 + dt N: the angular momentum is exact, and the kinetic energy changes by dt N . R0 W', which is
the work of N.  cay(a) is the rotation by 2 atan(|a| / 2) about a.
"""

import numpy as np

from mb_contact.core.integrate.flow import FIRST_TREE
from mb_contact.core.jit import kernel, sweep
from mb_contact.core.tree.gravity import gravity_of
from mb_contact.core.tree.spatial import (
    ZERO,
    gathered,
    matrix,
    spatial,
    spatial_dot,
    spatial_sum,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.workspace import CONTACTS, WRENCHES

NEWTON = 30  # iterations at most; a handful are the rule
SETTLED = 1e-15  # relative change at which an iteration ends at once
ROUNDING = 1e-9  # relative change below which one that no longer falls is rounding


@kernel
def free_body_step(tree, R, k, gravity, contact, external, q_start, v_start, dt, q_end, v_end, work):
    """The step of free body k, whose pose at the start is R[k]; False where Newton's iteration does not converge.

    Forces ``contact`` and ``external`` (n, 6) are those half-way, about the bodies' origins.
    ``work`` is that of FlowArrays.
    """
    d = tree.v_start[k]
    m = tree.mass[k]
    r = matrix(R, k)
    c = turned(r, vector(tree.com, k))
    w = _three(v_start, d)
    half = vector_sum(c, 0.5 * dt, vector_product(w, c))  # the centre of mass half-way, to second order
    touch, push = _about_centre(half, spatial(contact, k)), _about_centre(half, spatial(external, k))
    both = spatial_sum(touch, 1.0, push)
    v = vector_sum(_three(v_start, d + 3), 1.0, vector_product(w, c))  # velocity of the centre of mass, then its mean
    u = vector_sum(vector_sum(v, dt / m, both[3:]), dt, gravity_of(tree, gravity, k))
    v = vector_sum(vector_sum(ZERO, 0.5, v), 0.5, u)
    back = transposed(r)
    a = turned(back, w)
    converged, e = euler_spin(tree.inertia, k, a, vector_sum(ZERO, dt, turned(back, both[:3])), dt)
    if not converged:
        return False
    s = turned(r, vector_sum(vector_sum(ZERO, 0.5, a), 0.5, e))  # R0 W'
    mean = s + v
    contact_work = dt * spatial_dot(mean, touch)
    work[CONTACTS] += contact_work
    work[FIRST_TREE + k] += contact_work
    work[WRENCHES] += dt * spatial_dot(mean, push)
    s = vector_sum(ZERO, 0.5 * dt, s)
    change = _cayley_change(s, c)
    _move(tree, k, q_start, s, vector_sum(vector_sum(ZERO, dt, v), -1.0, change), q_end)
    w = turned(r, e)
    w = vector_sum(w, 1.0, _cayley_change(s, w))
    u = vector_sum(u, -1.0, vector_product(w, vector_sum(c, 1.0, change)))
    v_end[d], v_end[d + 1], v_end[d + 2], v_end[d + 3], v_end[d + 4], v_end[d + 5] = w + u
    return True


@sweep
def _three(a, d):
    """The three entries of a from d on."""
    return a[d], a[d + 1], a[d + 2]


@sweep
def _about_centre(c, f):
    """The force f about the centre of mass, which is at c."""
    return gathered(f, vector_sum(ZERO, -1.0, c))


@kernel
def _cayley_change(t, r):
    """(cay(2 t) - 1) r = 2 (t x r + t x (t x r)) / (1 + |t|^2)."""
    once = vector_product(t, r)
    return vector_sum(ZERO, 2.0 / (1.0 + vector_dot(t, t)), vector_sum(once, 1.0, vector_product(t, once)))


@kernel
def _move(tree, k, q_start, t, d, q_end):
    """Pose of body k turned by cay(2 t), its origin moved by d; quaternion (t, 1) from the left."""
    s = tree.q_start[k]
    back = transposed(matrix(tree.R_joint, k))
    q_end[s], q_end[s + 1], q_end[s + 2] = vector_sum(_three(q_start, s), 1.0, turned(back, d))
    t = turned(back, t)
    v = _three(q_start, s + 3)
    w = q_start[s + 6]
    x, y, z = vector_sum(vector_sum(v, w, t), 1.0, vector_product(t, v))
    w -= vector_dot(t, v)
    norm = np.sqrt(x * x + y * y + z * z + w * w)
    q_end[s + 3], q_end[s + 4], q_end[s + 5], q_end[s + 6] = x / norm, y / norm, z / norm, w / norm


@kernel
def euler_spin(I, k, a, b, dt):
    """W1 of I W1 = cay(-dt W') (I W0 + b) by Newton's method: (converged, W1), W0 = a, body axes.

    F(W1) = I W1 - A + dt/2 W' x (I W1 + A) with A = I W0 + b, dF = I + dt/2 (W'~ I - (I W1 + A)~ / 2).
    """
    J = matrix(I, k)
    A = vector_sum(turned(J, a), 1.0, b)
    w = a
    before = np.inf
    for _ in range(NEWTON):
        h = turned(J, w)
        m = vector_sum(vector_sum(ZERO, 0.25 * dt, a), 0.25 * dt, w)
        s = vector_sum(h, 1.0, A)
        f = vector_sum(vector_sum(h, -1.0, A), 1.0, vector_product(m, s))
        t = 0.25 * dt
        x = _column(J[0], J[3], J[6], m, (0.0, -t * s[2], t * s[1]))
        y = _column(J[1], J[4], J[7], m, (t * s[2], 0.0, -t * s[0]))
        z = _column(J[2], J[5], J[8], m, (-t * s[1], t * s[0], 0.0))
        u = vector_product(y, z)
        det = vector_dot(x, u)
        e = (
            vector_dot(u, f) / det,
            vector_dot(vector_product(z, x), f) / det,
            vector_dot(vector_product(x, y), f) / det,
        )
        w = vector_sum(w, -1.0, e)
        change = max(abs(e[0]), max(abs(e[1]), abs(e[2])))
        scale = max(abs(w[0]), max(abs(w[1]), abs(w[2])))
        if not np.isfinite(w[0] + w[1] + w[2]):
            return False, w
        if change <= SETTLED * scale or (change >= before and change <= ROUNDING * scale):
            return True, w
        before = change
    return False, w


@sweep
def _column(x, y, z, m, c):
    """``a + m x a + c`` of a column a = (x, y, z) of the inertia."""
    return vector_sum(vector_sum((x, y, z), 1.0, vector_product(m, (x, y, z))), 1.0, c)
