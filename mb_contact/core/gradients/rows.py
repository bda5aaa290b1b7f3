# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The rows of a solved step, and how their velocities and efforts follow the coordinates.

Of a contact at x with directions d = n, t1, t2, w the velocity of A against B at x, and p its impulse on A:

    u_d = d.w + offset,    du_d = d.(J dv+ + dw) + w.dd + slope dg,    dw = (dV_A - dV_B)(x) + (w_A - w_B) x dx,
    d(J* p) = J* dp + (dJ)* p,    dp = sum d dr_d + a x p,    a = n x dn,

where a, the turn that takes the tangents along with n, is free about n where friction is the same in all directions.
Of unequal friction and of polygons the first tangent is the part across n of a direction, of a body, of the slip where
the step begins, or of the world, and a turns about n with it; with the slip so does a part by v.
"""

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.constraints.contact import tangential
from mb_contact.core.constraints.rows import TOUCHING
from mb_contact.core.gradients.bias import TWIST, TWIST_BY_Q, rate_along, twist_of
from mb_contact.core.gradients.geometry import level_contacts, place_contact
from mb_contact.core.gradients.loops import closure_rows
from mb_contact.core.gradients.mean_slip import asked_slip, asked_slip_along, begin_bends, bends
from mb_contact.core.gradients.motion import (
    begin_bodies,
    join_paths,
    push_outside,
    settle_push,
    turn_wrenches,
    twists_along,
    velocity_at,
)
from mb_contact.core.gradients.workspace import ARRIVES, FINE, LATER, LED, LOOP, PATH, ROWS
from mb_contact.core.handle import DRIFT_RATE, DRIFT_STEP, PUSH_RATE, PUSH_SPEED, UNIT_LENGTH
from mb_contact.core.jit import kernel, sweep, unlocked
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    spatial,
    spatial_sum,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
    wrench_at,
)
from mb_contact.core.workspace import BOX
from mb_contact.types import LOWER, UPPER


@sweep
def gap_slope(gap, settings, dt, unit):
    """Derivative of a row's offset by its gap: 1 / dt, of a penetration that of the push-out; at touching 1 / dt."""
    rate = settings[PUSH_RATE]
    if gap >= -TOUCHING * unit:
        return 1.0 / dt
    return rate / dt if -rate * gap / dt < settings[PUSH_SPEED] else 0.0


@kernel
def pose_rows(g, a, v, dt):
    """Rows of the step, and the derivative of their efforts; (status, contact)."""
    count, end, first = a.contacts.count[0], a.rows.end[0], a.bil.info[FIRST]
    rows = end + a.bil.info[COUNT]
    g.count[ROWS] = rows
    for row in range(rows):
        g.at[row] = row if row < end else first + row - end
        g.tip_a[row] = g.tip_b[row] = -1
        for j in range(g.S.shape[0]):
            g.J[row, j] = g.u_q[row, j] = g.u_v[row, j] = 0.0
    for i in range(count):
        late = g.smooth[0] != 0.0 and _is_met(a.need.met, a.contacts, i)
        for k in range(3):
            late = late or a.contacts.spread[i, k] != 0.0
        if late:
            return LATER, i
    status, i = place_contacts(g, a)
    if status != FINE:
        return status, i
    level_contacts(g, a)
    for i in range(count):
        _contact(g, a, i, v, dt)
    behind = closure_rows(g, a, v, dt, end)
    settle_push(g)
    push_outside(g, a, dt)
    turn_wrenches(g)
    for row in range(3 * count, rows):
        if status == FINE and (row < end or row >= behind):
            status = _joint(g, a, row, dt)
    return status, -1


@unlocked
def place_contacts(g, a):
    """``place`` of all contacts, at the coordinates where inverse dynamics were evaluated last; (status, contact)."""
    for i in range(a.contacts.count[0]):
        status = place_contact(g, a, i)
        if status != FINE:
            return status, i
    return FINE, -1


@kernel
def _is_met(met, contacts, i):
    """Whether contact i is one of those of a moment of meeting."""
    for j in range(met.count[0]):
        same = met.pair[j] == contacts.pair[i]
        for k in range(3):
            same = same and met.point[j, k] == contacts.point[i, k]
        if same:
            return True
    return False


@sweep
def placed(g, i, j, V_a, V_b):
    """Derivative of entry j of normal, point and gap of contact i for the twists of A and B."""
    out = 0.0
    for c in range(6):
        out += g.place[i, j, c] * V_a[c] + g.place[i, j, 6 + c] * V_b[c]
    return out


@sweep
def _twist(g, k):
    """Twist of body k at the end of the step."""
    return spatial(g.end_twist, k) if k >= 0 else STILL


@sweep
def contact_impulse(a, i):
    """Impulse of contact i on A, world axes."""
    r, row = a.sol.r, 3 * i
    p = vector_sum(vector_sum(ZERO, r[row], vector(a.contacts.normal, i)), r[row + 1], vector(a.frames.t1, i))
    return vector_sum(p, r[row + 2], vector(a.frames.t2, i))


@kernel
def _contact(g, a, i, before, dt):
    """Rows of contact i, and what its impulse pushes."""
    pair = a.contacts.pair[i]
    k, m = a.geoms.body[a.geoms.pairs[pair, 0]], a.geoms.body[a.geoms.pairs[pair, 1]]
    if begin_bodies(g, a, k, m):
        begin_bends(g, a, k, m, before)
    row, x, n = 3 * i, vector(a.contacts.point, i), vector(a.contacts.normal, i)
    t1, t2 = vector(a.frames.t1, i), vector(a.frames.t2, i)
    p = contact_impulse(a, i)
    half = 0.5 * max(a.contacts.gap[i], 0.0) if g.apart[i] != 0 else 0.0
    x_a, x_b = vector_sum(x, half, n), vector_sum(x, -half, n)
    w = vector_sum(velocity_at(_twist(g, k), x_a), -1.0, velocity_at(_twist(g, m), x_b))
    asks = g.smooth[0] != 0.0 and a.sol.pushed[row] == 0.0
    g.slope[i] = gap_slope(a.contacts.gap[i], a.settings, dt, a.settings[UNIT_LENGTH]) if asks else 0.0
    for d in range(row, row + 3):
        g.tip_a[d], g.tip_b[d] = g.tip[k] if k >= 0 else -1, g.tip[m] if m >= 0 else -1
    for j in range(g.S.shape[0]):
        g.turn[i, 0, j] = g.turn[i, 1, j] = g.turn[i, 2, j] = g.spin_v[i, j] = g.gap_q[i, j] = 0.0
    extra, sizes, bent = a.friction.extra[i], moment_rows(a, pair), bends(g, a, i)
    asked = asked_slip(g, a, k, m, x, dt) if bent else ZERO
    lead, directed = vector(a.frames.lead, i), _has_directions(a, i)
    size = tangential(lead, n)[1] if directed else 0.0
    for e in range(g.count[PATH]):
        j, side = g.path[e], g.side[e]
        S_a, S_b = twists_along(g, e)
        dn = placed(g, i, 0, S_a, S_b), placed(g, i, 1, S_a, S_b), placed(g, i, 2, S_a, S_b)
        dx = placed(g, i, 3, S_a, S_b), placed(g, i, 4, S_a, S_b), placed(g, i, 5, S_a, S_b)
        turn = vector_product(n, dn)
        if size > 0.0:
            of_q, of_v = _lead_rates(g, a, i, e, x, dx)
            turn = vector_sum(turn, (vector_dot(t2, of_q) - vector_dot(lead, n) * vector_dot(t2, dn)) / size, n)
            g.spin_v[i, j] = spins = vector_dot(t2, of_v) / size
            g.u_v[row + 1, j] += spins * vector_dot(t2, vector_sum(w, 1.0, asked))
            g.u_v[row + 2, j] -= spins * vector_dot(t1, vector_sum(w, 1.0, asked))
        g.turn[i, 0, j], g.turn[i, 1, j], g.turn[i, 2, j] = turn
        g.gap_q[i, j] = rise = placed(g, i, 6, S_a, S_b)
        widens = vector_sum(ZERO, half, dn)
        if rise != 0.0 and half != 0.0:
            widens = vector_sum(widens, 0.5 * rise, n)
        dx_a, dx_b = vector_sum(dx, 1.0, widens), vector_sum(dx, -1.0, widens)
        v = vector_sum(velocity_at(S_a, x_a), -1.0, velocity_at(S_b, x_b))
        g.J[row, j], g.J[row + 1, j], g.J[row + 2, j] = vector_dot(n, v), vector_dot(t1, v), vector_dot(t2, v)
        by_a, by_b = spatial(g.turned_a, j) if side != 2 else STILL, spatial(g.turned_b, j) if side != 1 else STILL
        dw = vector_sum(velocity_at(by_a, x_a), 1.0, vector_product(_twist(g, k)[:3], dx_a))
        dw = vector_sum(dw, -1.0, velocity_at(by_b, x_b))
        dw = vector_sum(dw, -1.0, vector_product(_twist(g, m)[:3], dx_b))
        dw = vector_sum(dw, 1.0, vector_product(w, turn))  # d.(w x turn) = w.(turn x d)
        g.u_q[row, j] = vector_dot(n, dw) + g.slope[i] * rise
        if bent:
            by_q, by_v = asked_slip_along(g, a, k, m, e, x, dx, dt)
            dw = vector_sum(vector_sum(dw, 1.0, by_q), 1.0, vector_product(asked, turn))
            g.u_v[row + 1, j] += vector_dot(t1, by_v)
            g.u_v[row + 2, j] += vector_dot(t2, by_v)
        g.u_q[row + 1, j], g.u_q[row + 2, j] = vector_dot(t1, dw), vector_dot(t2, dw)
        turned = vector_product(turn, p)
        rolls = ZERO
        if sizes > 0:
            moves, by = spatial_sum(S_a, -1.0, S_b), spatial_sum(by_a, -1.0, by_b)
            rolls = _moment_rows(g, a, i, extra, j, moves, by, spatial_sum(_twist(g, k), -1.0, _twist(g, m)), turn)
        for on_a in (True, False):
            moment = vector_product(dx_a if on_a else dx_b, p)
            moment = vector_sum(moment, 1.0, vector_product(x_a if on_a else x_b, turned))
            add_spatial(g.push if on_a else g.pull, j, vector_sum(moment, 1.0, rolls) + turned)
    moment = rolling_moment(a, i, extra) if sizes > 0 else ZERO
    if sizes > 0:
        _moment_tips(g, extra, row, sizes)
    if k >= 0:
        add_spatial(g.total, k, spatial_sum(wrench_at(x_a, p), 1.0, moment + ZERO))
    if m >= 0:
        add_spatial(g.total, m, spatial_sum(STILL, -1.0, spatial_sum(wrench_at(x_b, p), 1.0, moment + ZERO)))


@sweep
def _has_directions(a, i):
    """Whether friction of contact i is not the same in all directions, so that its tangents' turns count."""
    return a.friction.model[DIRECTIONS] > 0 or a.friction.mu[i, 0] != a.friction.mu[i, 1]


@kernel
def _lead_rates(g, a, i, e, x, dx):
    """Derivatives of the direction that the first tangent of contact i has from by entry e of the path, by q and v.

    It is one of a body, the slip where the step begins, or constant; x moves by dx.
    """
    S_a, S_b = twists_along(g, e)
    if a.friction.model[DIRECTIONS] == 0:
        side = a.friction.surfaces.side[a.contacts.pair[i]]
        return vector_product((S_a if side == 0 else S_b)[:3], vector(a.frames.lead, i)), ZERO
    if a.frames.aligned[i] == 0:
        return ZERO, ZERO
    dV = spatial_sum(rate_along(g, e, 0, TWIST_BY_Q), -1.0, rate_along(g, e, 1, TWIST_BY_Q))
    turning = vector_sum(twist_of(g, 0, TWIST)[:3], -1.0, twist_of(g, 1, TWIST)[:3])
    by_q = vector_sum(velocity_at(dV, x), 1.0, vector_product(turning, dx))
    return by_q, velocity_at(spatial_sum(S_a, -1.0, S_b), x)


@sweep
def moment_rows(a, pair):
    """Rows of torsion and rolling of a contact of a pair."""
    surfaces = a.friction.surfaces
    return (1 if surfaces.torsional[pair] > 0.0 else 0) + (2 if surfaces.rolling[pair] > 0.0 else 0)


@sweep
def moment_axis(a, i, c):
    """Direction of number c of the rows of torsion and rolling of contact i."""
    c = c if a.friction.surfaces.torsional[a.contacts.pair[i]] > 0.0 else c + 1
    return vector(a.contacts.normal, i) if c == 0 else vector(a.frames.t1, i) if c == 1 else vector(a.frames.t2, i)


@kernel
def rolling_moment(a, i, extra):
    """Moment of torsion and rolling on A."""
    total = ZERO
    for c in range(moment_rows(a, a.contacts.pair[i])):
        total = vector_sum(total, a.sol.r[extra + c], moment_axis(a, i, c))
    return total


@kernel
def _moment_rows(g, a, i, extra, j, moves, by, V, turn):
    """Entries j of the rows of torsion and rolling; the derivative of their moment."""
    dw = vector_sum(by[:3], 1.0, vector_product(V[:3], turn))
    for c in range(moment_rows(a, a.contacts.pair[i])):
        axis = moment_axis(a, i, c)
        g.J[extra + c, j], g.u_q[extra + c, j] = vector_dot(axis, moves[:3]), vector_dot(axis, dw)
    return vector_product(turn, rolling_moment(a, i, extra))


@kernel
def _moment_tips(g, extra, row, sizes):
    """Paths of the rows of torsion and rolling of the contact that begins with ``row``."""
    for r in range(extra, extra + sizes):
        g.tip_a[r], g.tip_b[r] = g.tip_a[row], g.tip_b[row]


@kernel
def _joint(g, a, row, dt):
    """Row of a limit, of joint friction or of a gear; a status."""
    at, rows, info = g.at[row], a.rows, a.bil.info
    dof = rows.dof[at]
    if dof < 0:
        return FINE if at < info[FIRST] else LOOP
    sign = rows.sign[at]
    g.J[row, dof], g.tip_a[row] = sign, dof
    smooth = g.smooth[0] != 0.0
    if smooth and at < info[FIRST] and rows.bound[at] >= LOWER and rows.bound[at] <= UPPER:
        x = g.q[a.tree.q_start[g.body[dof]]]
        gap = x - a.tree.lower[dof] if rows.bound[at] == LOWER else a.tree.upper[dof] - x
        g.u_q[row, dof] = sign * gap_slope(gap, a.settings, dt, 1.0)
    gear = at - (info[FIRST] + info[COUNT] - info[GEARS])
    if at >= info[FIRST] and gear >= 0 and rows.law[at] != BOX:
        partner = at + info[GEARS]
        other = rows.dof[partner]
        g.J[row, other] -= a.bil.ratio[at - info[FIRST]] * rows.sign[partner]
        g.tip_b[row] = other
        slope = a.drift[DRIFT_RATE] * min(1.0, dt / a.drift[DRIFT_STEP]) / dt if smooth else 0.0
        g.u_q[row, dof], g.u_q[row, other] = slope * g.J[row, dof], slope * g.J[row, other]
        if g.drive[gear] != LED and smooth:  # v+ = (target - q) / dt, or what it is given
            g.u_q[row, dof] = 1.0 / dt if g.drive[gear] == ARRIVES else 0.0
    return FINE


@kernel
def row_path(g, row):
    """``path`` of a row."""
    join_paths(g, g.tip_a[row], g.tip_b[row])
