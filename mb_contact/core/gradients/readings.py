# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What derivatives of sensors' readings are made of, behind ``differentiate``.

Of a contact at x whose impulse on A is p, with its moment m of torsion and rolling, the wrench at the world's origin

    W = (x x p + m, p),    dW = sum_d dr_d (x x d, d) + (dx x p + x x (a x p) + a x m, a x p),    a = n x dn.

Bodies that move with the twist X (displacement) along the columns of dq carry what acts on them; of a wrench f on the
subtree of the degree of freedom i, whose carriers move with X_i,

    d(S_i . f) = S_i . (df - X_i x* f).

Derivatives of twists and of forces of subtrees are those of ``core/tree/derivatives.py``.
"""

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.gradients.laws import bounding, mean_friction
from mb_contact.core.gradients.motion import begin_twists, twists_along, velocity_at
from mb_contact.core.gradients.rows import contact_impulse, moment_axis, moment_rows, placed, rolling_moment
from mb_contact.core.gradients.solve import add_spans
from mb_contact.core.gradients.workspace import (
    BY_DAMPING,
    BY_EFFORT,
    BY_FRICTION,
    BY_JOINT_FRICTION,
    BY_LEAST,
    BY_Q,
    BY_V,
    HELD,
    PATH,
    ROWS,
    SOFT,
)
from mb_contact.core.jit import NOTHING, REAL, kernel, on_demand, sweep, unlocked
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.tree.derivatives import expand_right, factor, reduce_right
from mb_contact.core.tree.joints import comes_before
from mb_contact.core.tree.modal import has_modes
from mb_contact.core.tree.modal_derivatives import modal_body_rates, modal_subtree_force
from mb_contact.core.tree.modal_rates import column_at, column_change
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    between,
    force_cross,
    linear,
    matrix,
    momentum,
    motion_cross,
    put_spatial,
    spatial,
    spatial_dot,
    spatial_sum,
    turned,
    vector,
    vector_product,
    vector_sum,
    wrench_at,
)
from mb_contact.core.workspace import BOX

#: of ``body_rates``: displacement of a body by q; its twist by q and v; the rate of that by q, v and v_dot
MOVED, TWIST_Q, TWIST_V, RATE_Q, RATE_V, RATE_A = range(6)


@unlocked
def contact_wrenches(g, a, dt, T, dr, out):
    """Derivatives of the rows' impulses, and of the contacts' wrenches on A about the world's origin.

    Parameters
    ----------
    T : ndarray
        That of ``differentiate``, which was called for the same columns.
    dr : ndarray (rows, columns)
        [N s, N m s]
    out : ndarray (contacts, 6, columns)
        Moment first, world axes [N m s, N s].
    """
    _row_impulses(g, a, dt, T, dr)
    for i in range(out.shape[0]):
        _contact_wrench(g, a, i, dr, out[i])


@kernel
def _row_impulses(g, a, dt, T, dr):
    """Derivatives of the impulses of all rows, directions fixed."""
    held, first, width, count = g.count[HELD], g.first, dr.shape[1], a.contacts.count[0]
    for row in range(g.count[ROWS]):
        fill(width, dr[row], 0.0)
    for p in range(held):
        e = p if p < g.count[SOFT] else g.order[p]
        row, other = g.row[e], g.weight[e, 1]
        add_spans(g, g.weight[e, 0], T[p], dr[row])
        if other != 0.0:
            add_spans(g, other, T[p], dr[row + 1])
        elif row % 3 == 0 and row < 3 * count:
            f = a.rows.next[row]
            while f >= 0:
                add_spans(g, g.drag[f], T[p], dr[f])
                f = a.rows.next[f]
    if first[BY_FRICTION + 1] > first[BY_FRICTION]:
        for row in range(3 * count):
            mean = mean_friction(a.rows, row - row % 3 + 1)
            if g.drag[row] != 0.0 and mean > 0.0:
                by = g.drag[row] / mean * bounding(g, a, row - row % 3)
                dr[row, first[BY_FRICTION] + a.contacts.pair[row // 3]] += by
    for c in range(first[BY_LEAST + 1] - first[BY_LEAST]):
        row = 3 * c
        while g.passes[c] != 0 and row >= 0:
            dr[row, first[BY_LEAST] + c] += 1.0 if row == 3 * c else g.drag[row]
            row = a.rows.next[row] if g.passes[c] == 2 else -1
    wanted = first[BY_JOINT_FRICTION + 1] > first[BY_JOINT_FRICTION]
    for row in range(g.count[ROWS] if wanted else 0):
        at = g.at[row]
        if a.rows.law[at] == BOX and a.rows.dof[at] >= 0:
            dr[row, first[BY_JOINT_FRICTION] + a.rows.dof[at]] += dt * g.drag[row]


@sweep
def _add(out, f, x):
    for c in range(out.shape[0]):
        out[c] += f * x[c]


@kernel
def _add_wrench(out, w, x):
    """Add the wrench ``w`` times each entry of x to the columns of ``out``."""
    for c in range(out.shape[1]):
        for j in range(6):
            out[j, c] += w[j] * x[c]


@kernel
def _contact_wrench(g, a, i, dr, out):
    """Derivative of the wrench of contact i on A, about the world's origin."""
    pair, row, x, q = a.contacts.pair[i], 3 * i, vector(a.contacts.point, i), g.first[BY_Q]
    for j in range(6):
        fill(out.shape[1], out[j], 0.0)
    _add_wrench(out, wrench_at(x, vector(a.contacts.normal, i)), dr[row])
    _add_wrench(out, wrench_at(x, vector(a.frames.t1, i)), dr[row + 1])
    _add_wrench(out, wrench_at(x, vector(a.frames.t2, i)), dr[row + 2])
    moments = moment_rows(a, pair)
    for c in range(moments):
        _add_wrench(out, moment_axis(a, i, c) + ZERO, dr[a.friction.extra[i] + c])
    if g.first[BY_V + 1] > g.first[BY_V] and a.friction.model[DIRECTIONS] > 0:
        turned = wrench_at(x, vector_product(vector(a.contacts.normal, i), contact_impulse(a, i)))
        for j in range(6):
            for c in range(g.S.shape[0]):
                out[j, g.first[BY_V] + c] += turned[j] * g.spin_v[i, c]
    if g.first[BY_Q + 1] == q:
        return
    p, moment = contact_impulse(a, i), rolling_moment(a, i, a.friction.extra[i]) if moments > 0 else ZERO
    k, m = a.geoms.body[a.geoms.pairs[pair, 0]], a.geoms.body[a.geoms.pairs[pair, 1]]
    begin_twists(g, k, m)
    for e in range(g.count[PATH]):
        j = g.path[e]
        S_a, S_b = twists_along(g, e)
        dx = placed(g, i, 3, S_a, S_b), placed(g, i, 4, S_a, S_b), placed(g, i, 5, S_a, S_b)
        turn = (g.turn[i, 0, j], g.turn[i, 1, j], g.turn[i, 2, j])
        df = vector_product(turn, p)
        dm = vector_sum(vector_product(dx, p), 1.0, vector_product(x, df))
        dm = vector_sum(dm, 1.0, vector_product(turn, moment))
        for c in range(3):
            out[c, q + j] += dm[c]
            out[3 + c, q + j] += df[c]
    g.count[PATH] = 0


@unlocked
def joint_effort_rates(g, a, dt, dr, dv, out):
    """Derivative of the efforts that act in the joints, of limits, friction and drives too, into ``out`` (N, columns).

    Of a servo T + k (q* - q - dt v+) + d (v* - v+), of damping -d v+; ``dr`` is that of ``contact_wrenches``.
    """
    first, joints = g.first, a.joints
    for i in range(out.shape[0]):
        free = joints.saturation[i] == 0.0
        stiff = joints.gain[i] if free else 0.0
        slope = -joints.damping[i] - (joints.rate_gain[i] + dt * stiff if free else 0.0)
        for c in range(out.shape[1]):
            out[i, c] = slope * dv[i, c]
        if first[BY_Q + 1] > first[BY_Q]:
            out[i, first[BY_Q] + i] -= stiff
        if first[BY_DAMPING + 1] > first[BY_DAMPING]:
            out[i, first[BY_DAMPING] + i] -= a.v[i]
    for c in range(first[BY_EFFORT + 1] - first[BY_EFFORT]):
        i = g.joint_v[c]
        if abs(a.effort[i]) < a.tree.effort_limit[i] and joints.saturation[i] == 0.0:
            out[i, first[BY_EFFORT] + c] += 1.0
    for row in range(3 * a.contacts.count[0], g.count[ROWS]):
        at = g.at[row]
        i = a.rows.dof[at]
        if i >= 0 and at < a.bil.info[FIRST]:
            _add(out[i], a.rows.sign[at] / dt, dr[row])
        elif i >= 0 and (a.rows.law[at] == BOX or _drives(a.bil, at)):
            _add(out[i], 1.0 / dt, dr[row])


@kernel
def _drives(bil, at):
    """Whether a row is that of a driven joint, a gear of ratio 0 on itself."""
    i = at - bil.info[FIRST]
    return i >= bil.info[COUNT] - bil.info[GEARS] and bil.ratio[i] == 0.0


@unlocked
def body_rates(d, k, out):
    """How body k moves, behind ``evaluate_inverse_derivatives``: ``out`` (6, 6, N) by MOVED ... RATE_A.

    All twists and their rates are taken at the fixed point o of ``core/tree/derivatives.py``, in world axes.
    """
    for part in range(6):
        for j in range(6):
            fill(out.shape[2], out[part, j], 0.0)
    if has_modes(d.kin):
        modal_body_rates(d, k, out)
        return
    V, A = spatial(d.V, k), spatial(d.A, k)
    i = d.tip[k]
    while i >= 0:
        S, psi = spatial(d.S, i), spatial(d.psi, i)
        rate_q = spatial_sum(motion_cross(S, A), 1.0, spatial_sum(spatial(d.chi, i), 1.0, motion_cross(psi, V)))
        _put_column(out[MOVED], i, S)
        _put_column(out[TWIST_Q], i, spatial_sum(motion_cross(S, V), 1.0, psi))
        _put_column(out[TWIST_V], i, S)
        _put_column(out[RATE_Q], i, rate_q)
        _put_column(out[RATE_V], i, spatial_sum(motion_cross(S, V), 1.0, spatial(d.bend, i)))
        _put_column(out[RATE_A], i, S)
        i = d.before[i]


@sweep
def _put_column(out, i, x):
    out[0, i], out[1, i], out[2, i], out[3, i], out[4, i], out[5, i] = x


@unlocked
def subtree_wrench(d, k, out):
    """Derivative of the forces ``f`` of the subtree of body k by q, v and v_dot, side by side in ``out`` (6, 3 N).

    About the world's origin, behind ``evaluate_inverse_derivatives``.
    """
    tree, N = d.tree, d.v_dot.shape[0]
    for j in range(6):
        fill(3 * N, out[j], 0.0)
    if has_modes(d.kin):
        modal_subtree_force(d, k, out)
        for c in range(3 * N):
            _put_column(out, c, _from_world(_column(out, c), vector(d.kin.p, tree.root[k])))
        return
    i = d.tip[k]
    while i >= 0:
        _force_columns(d, k, i, out)
        i = d.before[i]
    for m in range(k + 1, tree.parent.shape[0]):
        p = tree.parent[m]
        while p > k:
            p = tree.parent[p]
        if p == k:
            for i in range(tree.v_start[m], tree.v_start[m] + tree.nv[m]):
                _force_columns(d, m, i, out)


@kernel
def _force_columns(d, k, i, out):
    """Columns of the degree of freedom i, which moves all of the subtree of body k."""
    N, P, h, S, o = d.v_dot.shape[0], matrix(d.P, k), vector(d.h, k), spatial(d.S, i), vector(d.kin.p, d.tree.root[k])
    by_q = _moving_force(d, k, P, h, spatial(d.psi, i), spatial(d.chi, i))
    by_q = spatial_sum(by_q, 1.0, force_cross(S, spatial(d.f, k)))
    _put_column(out, i, _from_world(by_q, o))
    _put_column(out, N + i, _from_world(_moving_force(d, k, P, h, S, spatial(d.bend, i)), o))
    _put_column(out, 2 * N + i, _from_world(momentum(d.J, d.mc, d.mass[k], k, S), o))


@sweep
def _moving_force(d, k, P, h, x, y):
    """``C x + I y`` of the subtree of body k (``core/tree/derivatives.py``)."""
    bent = turned(P, x[:3]) + vector_sum(ZERO, 2.0, vector_product(x[:3], h))
    return spatial_sum(bent, 1.0, momentum(d.J, d.mc, d.mass[k], k, y))


@sweep
def _from_world(f, o):
    """A wrench about o as one about the world's origin."""
    return vector_sum(f[:3], 1.0, vector_product(o, f[3:])) + f[3:]


@unlocked
def carried_efforts(d, dq, force, dforce, moves, out):
    """Derivative of the efforts J* f of wrenches on bodies, of which bodies carry the origins, into ``out``.

    Parameters
    ----------
    dq : ndarray (N, columns)
        Of the coordinates at which ``evaluate_inverse_derivatives`` was called.
    force, dforce : ndarray (n, 6), (n, 6, columns)
        About the bodies' origins, world axes; behind the call of whole subtrees, about o.
    moves : ndarray (n, 6, columns)
        Scratch.
    out : ndarray (N, columns)
    """
    tree, kin, width = d.tree, d.kin, dq.shape[1]
    for k in range(tree.parent.shape[0]):
        x, f, m = between(kin.p, k, kin.p, tree.root[k]), linear(force, k), tree.parent[k]
        put_spatial(force, k, vector_sum(vector(force, k), 1.0, vector_product(x, f)) + f)
        for c in range(width):
            X = _column(moves[m], c) if m >= 0 else STILL
            for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                X = spatial_sum(X, dq[i, c], spatial(d.S, i))
            if has_modes(kin) and kin.modal.node_of[k] >= 0:
                X = spatial_sum(X, 1.0, _node_column(kin, kin.modal.node_of[k], dq, c, x))
            _put_column(moves[k], c, X)
            df = _column(dforce[k], c)
            moment = vector_sum(df[:3], 1.0, vector_product(velocity_at(X, x), f))
            _put_column(dforce[k], c, vector_sum(moment, 1.0, vector_product(x, df[3:])) + df[3:])
    for i in range(out.shape[0]):
        fill(width, out[i], 0.0)
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        m, first, last = tree.parent[k], tree.v_start[k], tree.v_start[k] + tree.nv[k]
        f = spatial(force, k)
        if has_modes(kin) and kin.modal.node_of[k] >= 0:
            _node_efforts(d, k, dq, f, dforce[k], moves[m], out)
        for c in range(width):
            df, base = _column(dforce[k], c), _column(moves[m], c) if m >= 0 else STILL
            for i in range(first, last):
                X = base
                for j in range(first, last):
                    if comes_before(tree.joint_type[k], j - first, i - first):
                        X = spatial_sum(X, dq[j, c], spatial(d.S, j))
                out[i, c] += spatial_dot(spatial(d.S, i), spatial_sum(df, -1.0, force_cross(X, f)))
            if m >= 0:
                _put_column(dforce[m], c, spatial_sum(_column(dforce[m], c), 1.0, df))
        if m >= 0:
            put_spatial(force, m, spatial_sum(spatial(force, m), 1.0, f))


@on_demand((REAL,) * 6)
def _node_column(kin, e, dq, c, x):
    """``sum C_i dq_i`` of node e, of column c."""
    f, total = kin.modal.link_of[e], STILL
    for i in range(kin.modal.first_mode[f + 1] - kin.modal.first_mode[f]):
        total = spatial_sum(total, dq[kin.modal.v_start[f] + i, c], column_at(kin.modal, e, i, x))
    return total


@on_demand(NOTHING)
def _node_efforts(d, k, dq, f, df, base, out):
    """What the force f of the subtree of the node that is body k does to its modes, as of ``carried_efforts``."""
    kin = d.kin
    g, e, x = kin.modal, kin.modal.node_of[k], between(kin.p, k, kin.p, d.tree.root[k])
    link = g.link_of[e]
    start, r = g.v_start[link], g.first_mode[link + 1] - g.first_mode[link]
    for i in range(r):
        C = column_at(g, e, i, x)
        for c in range(dq.shape[1]):
            change = spatial_sum(_column(df, c), -1.0, force_cross(_column(base, c), f))
            out[start + i, c] += spatial_dot(C, change)
        for j in range(r):
            along = spatial_dot(column_change(kin, e, i, j, x), f)
            for c in range(dq.shape[1]):
                out[start + i, c] += along * dq[start + j, c]


@sweep
def _column(A, c):
    return A[0, c], A[1, c], A[2, c], A[3, c], A[4, c], A[5, c]


@unlocked
def acceleration_rates(d, dq, dv, Z):
    """``Z := M^-1 (Z - dID/dq dq - dID/dv dv)``, behind ``evaluate_inverse_derivatives``, of which M is used up."""
    N, width = Z.shape
    for i in range(N):
        for j in range(N):
            by_q, by_v = d.d_q[i, j], d.d_v[i, j]
            for c in range(width):
                Z[i, c] -= by_q * dq[j, c] + by_v * dv[j, c]
    factor(d.before, d.M)
    reduce_right(d.before, d.M, Z)
    expand_right(d.before, d.M, Z)
