# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of one step by implicit differentiation of the equations that it has solved.

A step of the default integrator solves, with a = (v+ - v) / dt and ID the inverse dynamics,

    dt (ID(q, v, a) + D v+ - f) = J* r,    laws of u = J v+ + offset and r,    q+ = q o exp(dt v+),

D the damping of joints with what springs and servos add to it, f the efforts, springs and servos.  Its derivative is

    A dv+ = J* dr + d(J* r) - dt dID - dt dD v+ + dt df + M dv,    A = M + dt D,

and the laws' (``laws.py``).
"""


from mb_contact.core.arrays import fill
from mb_contact.core.gradients.laws import active_laws, bounding, mean_friction
from mb_contact.core.gradients.motion import body_twists, move_twists
from mb_contact.core.gradients.rows import contact_impulse, pose_rows
from mb_contact.core.gradients.solve import add_spans, reduce_rows, solve_held
from mb_contact.core.gradients.workspace import (
    BY_DAMPING,
    BY_EFFORT,
    BY_FRICTION,
    BY_JOINT_FRICTION,
    BY_LEAST,
    BY_MASS,
    BY_Q,
    BY_SHIFT,
    BY_V,
    FINE,
    HELD,
    KINKS,
    LED,
    ROWS,
    SOFT,
    UNIQUE,
)
from mb_contact.core.jit import kernel, unlocked
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.tree.derivatives import expand_right, factor, reduce_right
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.rotations import left_jacobian, turn_factors
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    body_vector,
    matrix,
    product,
    spatial,
    spatial_dot,
    spatial_sum,
    transposed,
    turned,
    unit_vector,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.workspace import BOX
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL


@unlocked
def pose_step(g, a, q, v, moving, gravity, dt):
    """The rows of the step from (q, v); (status, contact).  Behind it, ``count[ROWS]`` says how large T has to be.

    ``moving`` is v; without it and gravity this is a phase of an impact, which takes v to a.v.
    """
    move_twists(g, a, q, v, moving, gravity, dt)
    return pose_rows(g, a, v, dt)


@unlocked
def differentiate(g, a, q, v, moving, gravity, dt, near, out, dp, T):
    """Derivatives of the step by the names with columns in ``first``; (status, contact, unique, kinks).

    Parameters
    ----------
    q, v, moving, gravity : ndarray
        As of ``pose_step``.
    out : ndarray (2, N, columns)
        Of coordinates and velocities behind the step.
    dp : ndarray (contacts, 3, columns)
        Of their impulses on A, world axes.
    T : ndarray (rows + 1, rows + columns)
        Scratch.
    """
    status, contact = pose_step(g, a, q, v, moving, gravity, dt)
    if status != FINE:
        return status, contact, 0, 0
    dq, dv = out[0], out[1]
    linearise(g, a, dt, near, dv)
    reduce_right(g.d.before, g.d.M, dv)
    g.count[UNIQUE] = 1
    if g.count[HELD] > 0:
        solve_held(g, a, dv, T)
    expand_right(g.d.before, g.d.M, dv)
    _impulses(g, a, dp, T)
    _coordinates(g, a, dt, dq, dv)
    follow(g, a, dq)
    follow(g, a, dv)
    return FINE, -1, g.count[UNIQUE], g.count[KINKS]


@kernel
def linearise(g, a, dt, near, Z):
    """Efforts by all names at fixed v+ and free impulses into Z (N, columns), factors, and the rows that hold."""
    _pose_right(g, a, dt, Z)
    for k in range(g.d.M.shape[0]):
        g.d.M[k, k] += a.work.implicit[k] * g.smooth[0]
    factor(g.d.before, g.d.M)
    reduce_rows(g)
    active_laws(g, a, near)
    _push_bounds(g, a, dt, Z)


@kernel
def _pose_right(g, a, dt, Z):
    """db, the efforts by all names at fixed v+ and r."""
    d, first = g.d, g.first
    N = g.S.shape[0]
    for i in range(N):
        fill(Z.shape[1], Z[i], 0.0)
        if first[BY_Q + 1] > first[BY_Q]:
            for j in range(N):
                Z[i, first[BY_Q] + j] = g.efforts[i, j] - dt * d.d_q[i, j]
            spring = a.joints.stiffness[i] + (a.joints.gain[i] if a.joints.saturation[i] == 0.0 else 0.0)
            Z[i, first[BY_Q] + i] -= dt * spring * g.smooth[0]
        if first[BY_V + 1] > first[BY_V]:
            for j in range(N):
                Z[i, first[BY_V] + j] = d.M[i, j] - dt * d.d_v[i, j]
        if first[BY_DAMPING + 1] > first[BY_DAMPING]:
            Z[i, first[BY_DAMPING] + i] = -dt * a.v[i]
    if first[BY_V + 1] > first[BY_V] and a.friction.model[DIRECTIONS] > 0:
        for row in range(0, 3 * a.contacts.count[0], 3):
            x, y = a.sol.r[row + 1], a.sol.r[row + 2]
            for i in range(N):
                f = g.J[row + 2, i] * x - g.J[row + 1, i] * y
                for j in range(N):
                    Z[i, first[BY_V] + j] += f * g.spin_v[row // 3, j]
    for c in range(first[BY_EFFORT + 1] - first[BY_EFFORT]):
        i = g.joint_v[c]
        if abs(a.effort[i]) < a.tree.effort_limit[i] and a.joints.saturation[i] == 0.0:
            Z[i, first[BY_EFFORT] + c] = dt
    if first[BY_MASS + 1] > first[BY_MASS]:
        for k in range(g.total.shape[0]):
            _mass(g, k, dt, Z)


@kernel
def _mass(g, k, dt, Z):
    """Column of the mass of body k."""
    d = g.d
    f, o = mass_wrench(d, k), vector(d.kin.p, d.tree.root[k])
    f = vector_sum(f[:3], 1.0, vector_product(o, f[3:])) + f[3:]
    i = g.tip[k]
    body_twists(g, k, g.twist_a)
    while i >= 0:
        Z[i, g.first[BY_MASS] + k] = -dt * spatial_dot(spatial(g.twist_a, i), f)
        i = d.before[i]
    for j in range(d.kin.modal.link.shape[0]):
        if d.kin.modal.link[j] == k:
            first = d.kin.modal.v_start[j]
            for i in range(first, first + d.kin.modal.first_mode[j + 1] - d.kin.modal.first_mode[j]):
                Z[i, g.first[BY_MASS] + k] -= dt * d.along.effort[i] / d.tree.mass[k]


@kernel
def mass_wrench(d, k):
    """The wrench of the inertia of body k per mass about o, (I A + V x* I V) / m; 0 of one without mass.

    A is the rate of the twist at the fixed point o: that of the mass centre has w x (v + w x c) beside it.
    """
    m = d.tree.mass[k]
    if not m > 0.0:
        return STILL
    if has_modes(d.kin):
        return spatial_sum(STILL, 1.0 / m, spatial(d.along.own, k))
    R, o = matrix(d.kin.R, k), vector(d.kin.p, d.tree.root[k])
    V, A = spatial(d.V, k), spatial(d.A, k)
    c = vector_sum(vector_sum(body_vector(d.kin.R, k, vector(d.tree.com, k)), 1.0, vector(d.kin.p, k)), -1.0, o)
    w, turning = V[:3], A[:3]
    f = vector_sum(A[3:], 1.0, vector_product(turning, c))
    f = vector_sum(f, 1.0, vector_product(w, vector_sum(V[3:], 1.0, vector_product(w, c))))
    I = product(product(R, matrix(d.tree.inertia, k)), transposed(R))
    n = vector_sum(turned(I, turning), 1.0, vector_product(w, turned(I, w)))
    return vector_sum(vector_sum(ZERO, 1.0 / m, n), 1.0, vector_product(c, f)) + f


@kernel
def _push_bounds(g, a, dt, Z):
    """Impulses by the bounds of friction that slips, which are known at once, into Z."""
    first = g.first
    wanted = first[BY_FRICTION + 1] > first[BY_FRICTION]
    for i in range(a.contacts.count[0] if wanted else 0):
        for row in range(3 * i + 1, 3 * i + 3):
            f, c = _by_friction(g, a, row), first[BY_FRICTION] + a.contacts.pair[i]
            if f != 0.0:
                for k in range(Z.shape[0]):
                    Z[k, c] += f * g.J[row, k]
    wanted = first[BY_LEAST + 1] > first[BY_LEAST]
    for i in range(a.contacts.count[0] if wanted else 0):
        c, row = first[BY_LEAST] + i, 3 * i
        while g.passes[i] != 0 and row >= 0:
            f = 1.0 if row == 3 * i else g.drag[row]
            for k in range(Z.shape[0]):
                Z[k, c] += f * g.J[row, k]
            row = a.rows.next[row] if g.passes[i] == 2 else -1
    wanted = first[BY_JOINT_FRICTION + 1] > first[BY_JOINT_FRICTION]
    for row in range(g.count[ROWS] if wanted else 0):
        at = g.at[row]
        if a.rows.law[at] == BOX and a.rows.dof[at] >= 0 and g.drag[row] != 0.0:
            for k in range(Z.shape[0]):
                Z[k, first[BY_JOINT_FRICTION] + a.rows.dof[at]] += dt * g.drag[row] * g.J[row, k]


@kernel
def _by_friction(g, a, row):
    """Impulse of a tangent that slips by the coefficient of friction, at the normal impulse that it has."""
    normal = row - row % 3
    mean = mean_friction(a.rows, normal + 1)
    return g.drag[row] / mean * bounding(g, a, normal) if mean > 0.0 else 0.0


@kernel
def _impulses(g, a, dp, T):
    """Derivatives of the contacts' impulses, in the world's axes."""
    held, width = g.count[HELD], dp.shape[2]
    for i in range(dp.shape[0]):
        for j in range(3):
            fill(width, dp[i, j], 0.0)
    for p in range(held):
        e = p if p < g.count[SOFT] else g.order[p]
        row = g.row[e]
        if row >= 3 * dp.shape[0]:
            continue
        i = row // 3
        for j in range(3):
            if row % 3 == 0:
                f = a.contacts.normal[i, j] + g.drag[row + 1] * a.frames.t1[i, j] + g.drag[row + 2] * a.frames.t2[i, j]
            elif row % 3 == 1:
                f = g.weight[e, 0] * a.frames.t1[i, j] + g.weight[e, 1] * a.frames.t2[i, j]
            else:
                f = a.frames.t2[i, j]
            add_spans(g, f, T[p], dp[i, j])
    for i in range(dp.shape[0]):
        _turned_impulse(g, a, i, dp)


@kernel
def _turned_impulse(g, a, i, dp):
    """What the impulse of contact i turns with its normal, and what its bound of friction makes of it."""
    t1, t2, first, row = vector(a.frames.t1, i), vector(a.frames.t2, i), g.first, 3 * i
    if first[BY_FRICTION + 1] > first[BY_FRICTION]:
        x, y = _by_friction(g, a, row + 1), _by_friction(g, a, row + 2)
        for j in range(3):
            dp[i, j, first[BY_FRICTION] + a.contacts.pair[i]] += x * t1[j] + y * t2[j]
    if first[BY_LEAST + 1] > first[BY_LEAST] and g.passes[i] != 0:
        x, y = (g.drag[row + 1], g.drag[row + 2]) if g.passes[i] == 2 else (0.0, 0.0)
        for j in range(3):
            dp[i, j, first[BY_LEAST] + i] += a.contacts.normal[i, j] + x * t1[j] + y * t2[j]
    if first[BY_V + 1] > first[BY_V] and a.friction.model[DIRECTIONS] > 0:
        by = vector_product(vector(a.contacts.normal, i), contact_impulse(a, i))
        for c in range(g.S.shape[0]):
            for j in range(3):
                dp[i, j, first[BY_V] + c] += g.spin_v[i, c] * by[j]
    if first[BY_Q + 1] > first[BY_Q]:
        p = contact_impulse(a, i)
        for c in range(g.S.shape[0]):
            by = vector_product((g.turn[i, 0, c], g.turn[i, 1, c], g.turn[i, 2, c]), p)
            for j in range(3):
                dp[i, j, first[BY_Q] + c] += by[j]


@kernel
def _coordinates(g, a, dt, dq, dv):
    """Derivatives of q+ = q o exp(dt v+ - shift), the shift that of impacts."""
    tree, first, back = g.d.tree, g.first, a.work.shift
    for i in range(dv.shape[0]):
        for c in range(dv.shape[1]):
            dq[i, c] = dt * dv[i, c]
        if first[BY_SHIFT + 1] > first[BY_SHIFT]:
            dq[i, first[BY_SHIFT] + i] -= 1.0
    for k in range(tree.parent.shape[0]):
        start, kind = tree.v_start[k], tree.joint_type[k]
        turns = 3 if kind == JOINT_FLOATING or kind == JOINT_SPHERICAL else 0
        for i in range(start + turns, start + tree.nv[k]):
            if first[BY_Q + 1] > first[BY_Q]:
                dq[i, first[BY_Q] + i] += 1.0
        if turns:
            i, j, m = start, start + 1, start + 2
            _turn(g, start, (dt * a.v[i] - back[i], dt * a.v[j] - back[j], dt * a.v[m] - back[m]), dq)


@kernel
def _turn(g, i, w, dq):
    """R+ = exp(w~) R has d(theta+) = exp(w~) d(theta) + J_l(w) dw, exp(w~) = 1 + (1 - s a^2) w~ + c w~^2."""
    square = vector_dot(w, w)
    c, s, _, _ = turn_factors(square)
    for j in range(dq.shape[1]):
        dq[i, j], dq[i + 1, j], dq[i + 2, j] = left_jacobian(c, s, w, (dq[i, j], dq[i + 1, j], dq[i + 2, j]))
    if g.first[BY_Q + 1] > g.first[BY_Q]:
        for j in range(3):
            x = unit_vector(j)
            once = vector_product(w, x)
            x = vector_sum(vector_sum(x, 1.0 - s * square, once), c, vector_product(w, once))
            for m in range(3):
                dq[i + m, g.first[BY_Q] + i + j] += x[m]


@kernel
def follow(g, a, X):
    """Joints that follow others by gears are put where these have them, before a step and behind it.

    Of driven joints that are off their paths the velocities at the start count for nothing.
    """
    gears, tree = a.gears, g.d.tree
    for e in range(gears.ratio.shape[0]):
        i, j, ratio = tree.v_start[gears.body_a[e]], tree.v_start[gears.body_b[e]], gears.ratio[e]
        if g.drive[e] != LED:
            for k in range(X.shape[0] if g.first[BY_V + 1] > g.first[BY_V] else 0):
                X[k, g.first[BY_V] + i] = 0.0
            continue
        for name in (BY_Q, BY_V):
            if g.first[name + 1] > g.first[name]:
                c = g.first[name]
                for k in range(X.shape[0]):
                    X[k, c + j] += ratio * X[k, c + i]
                    X[k, c + i] = 0.0
        for c in range(X.shape[1]):
            X[i, c] = ratio * X[j, c]
