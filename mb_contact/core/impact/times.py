# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""When within a step its impacts happen, and what follows from it for the step (docs/impacts.md).

    collides         whether a contact's path through the step reaches the surface
    predict_impact_times  the moment t at which it does, and the relative acceleration on the way there
    island_moments   one moment for all that an impact couples
    velocities_at_impact  velocities of the rows at that moment
    move_back        the path after the impact, extended back to the start of the step: q - t (v+ - v-)

The path of a gap is g + u t + a t^2 / 2 with a = (u_next - u) / dt, u_next without impacts.  Semi-implicit Euler's
positions lie on such a path whose velocity at the start is u + a dt / 2 (its own velocities are half a step late), so
there ``lag`` is 1/2; it is 0 for flows.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.contact import normal_velocity, relative_velocity
from mb_contact.core.handle import UNIT_SPEED
from mb_contact.core.jit import kernel
from mb_contact.core.step.need import is_soft, strikes
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import ZERO, put_vector, vector, vector_dot, vector_sum

STRIKING_SPEED = 1e-6  # least approach of who strikes [m/s]: after an impact without restitution rounding is left
MASKING_SPEED = 1e3  # least raise of the rows of approaching contacts for the step without impacts [m/s]


@kernel
def path_end(gap, u, u_next, lag, dt):
    """Gap after dt of a path: g + dt u_next where ``lag`` is 1/2, with the mean velocity where it is 0."""
    return gap + dt * ((0.5 - lag) * u + (0.5 + lag) * u_next)


@kernel
def first_touch(gap, u, u_next, lag, dt):
    """First root of the path from 0 to dt [s]; the nearest approach where it turns before the surface."""
    if not gap > 0.0:
        return 0.0
    a = (u_next - u) / dt
    start = u + lag * dt * a
    square = start * start - 2.0 * a * gap
    if square >= 0.0:
        speed = np.sqrt(square) - start
        t = 2.0 * gap / speed if speed > 0.0 else dt
    else:
        t = -start / a
    return min(max(t, 0.0), dt)


@kernel
def gap_now(h, i):
    """Gap of contact i, as the paths behind this step's impacts have it at the start of the step [m]."""
    return h.contacts.gap[i] + h.work.gap_shift[i]


@kernel
def _least_speed(h, i, threshold):
    """Approach from which contact i collides [m/s]: next to none of one that strikes, and is past by the next step."""
    return min(threshold, STRIKING_SPEED * h.settings[UNIT_SPEED]) if strikes(h, i) else threshold


@kernel
def collides(h, i, threshold, lag, dt):
    """Whether contact i strikes, or approaches faster than the threshold, and its path ends at the surface in dt."""
    before = normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
    if not before < -_least_speed(h, i, threshold) or is_soft(h.geoms, h.contacts.pair[i]):
        return False
    free = normal_velocity(h.geoms, h.contacts, h.kin.p, h.work.V_free, i)
    return path_end(gap_now(h, i), before, free, lag, dt) <= 0.0


@kernel
def limit_gap(tree, q, shift, k, side):
    """Distance of scalar joint k from its lower (0) or upper (1) limit, as ``gap_now`` [rad, m]."""
    position = q[tree.q_start[k]] - shift[tree.v_start[k]]
    return position - tree.lower[tree.v_start[k]] if side == 0 else tree.upper[tree.v_start[k]] - position


@kernel
def limit_touch(h, k, side, lag, dt):
    """Moment at which scalar joint k reaches a limit on its path [s], negative if it does not within dt."""
    d = h.tree.v_start[k]
    sign = 1.0 - 2.0 * side
    gap = limit_gap(h.tree, h.q, h.work.shift, k, side)
    u = sign * h.v[d]
    free = sign * h.work.v_free[d]
    if path_end(gap, u, free, lag, dt) <= 0.0:
        return first_touch(gap, u, free, lag, dt)
    if gap + dt * u <= 0.0:  # stopped short by other forces; inelastic, so no harm is done early
        return first_touch(gap, u, u, 0.0, dt)
    return -1.0


@kernel
def mask_approaching(h, threshold):
    """Raise the rows of all contacts that approach faster than the threshold: what is left is smooth motion."""
    for i in range(h.contacts.count[0]):
        speed = normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
        if speed < -_least_speed(h, i, threshold):
            h.work.row_bias[i, 0] = MASKING_SPEED * h.settings[UNIT_SPEED] - 10.0 * speed


@kernel
def predict_impact_times(h, imp, lag, dt):
    """Moments ``imp.when`` (c,) of the marked contacts, ``path_acceleration`` (c, 3), from ``v_next``.

    v_next is that of the step's problem with the approaching contacts masked.  Where it jumps by more than the
    approach itself (something else was stopped), the free velocity serves.
    """
    V = h.bil.V
    body_velocities(h.tree, h.kin, h.work.v_next, V)
    for i in range(h.contacts.count[0]):
        imp.when[i] = 0.0
        put_vector(imp.path_acceleration, i, ZERO)
        if imp.collides[i] == 0:
            continue
        n = vector(h.contacts.normal, i)
        u = relative_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
        free = relative_velocity(h.geoms, h.contacts, h.kin.p, h.work.V_free, i)
        after = relative_velocity(h.geoms, h.contacts, h.kin.p, V, i)
        if not abs(vector_dot(n, after) - vector_dot(n, free)) < abs(vector_dot(n, u)):
            after = free
        imp.when[i] = first_touch(gap_now(h, i), vector_dot(n, u), vector_dot(n, after), lag, dt)
        x, y, z = vector_sum(after, -1.0, u)
        put_vector(imp.path_acceleration, i, (x / dt, y / dt, z / dt))


@kernel
def forget_times(imp):
    """All collisions are now: the event scheme is at their time already."""
    for i in range(imp.when.shape[0]):
        imp.when[i] = 0.0
        put_vector(imp.path_acceleration, i, ZERO)


@kernel
def island_moments(h, imp, picked):
    """``imp.body_moment`` (n,): the earliest of ``imp.moment`` of all contacts and limits that a body is coupled to.

    Bodies are coupled by joints, aggregates, loops, gears and the contacts that take part.
    Impulses of an island act at one moment, or those that answer others would leave gaps open or closed.
    """
    label = imp.label
    n = label.shape[0]
    for k in range(n):
        label[k] = h.tree.root[k]
        imp.body_moment[k] = np.inf
    for i in range(h.closures.body_a.shape[0]):
        if h.closures.released[i] == 0:
            _join(label, h.closures.body_a[i], h.closures.body_b[i])
    for i in range(h.gears.body_a.shape[0]):
        _join(label, h.gears.body_a[i], h.gears.body_b[i])
    for i in range(picked.count[0]):
        pair = picked.pair[i]
        _join(label, h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]])
    contacts = h.rows.contacts[0]
    for i in range(h.rows.end[0] - 2 * contacts):  # contacts, then limits
        body = _body_of(h.rows, 3 * i if i < contacts else i + 2 * contacts)
        if body >= 0:
            imp.body_moment[label[body]] = min(imp.body_moment[label[body]], imp.moment[i])
    imp.first[0] = np.inf
    for k in range(n - 1, -1, -1):
        earliest = imp.body_moment[label[k]]
        imp.first[0] = min(imp.first[0], earliest)
        imp.body_moment[k] = earliest if earliest < np.inf else 0.0
    if not imp.first[0] < np.inf:
        imp.first[0] = 0.0


@kernel
def _body_of(rows, row):
    """A moving body that a row acts on, -1 if none."""
    return rows.body_a[row] if rows.body_a[row] >= 0 else rows.body_b[row]


@kernel
def _join(label, a, b):
    """One label for the islands of two bodies, the smaller one."""
    if a < 0 or b < 0 or label[a] == label[b]:
        return
    low = min(label[a], label[b])
    high = max(label[a], label[b])
    for k in range(label.shape[0]):
        if label[k] == high:
            label[k] = low


@kernel
def velocities_at_impact(h, imp, picked, lag, dt):
    """Bring the velocities ``imp.u`` of the rows of colliding contacts to their moment: + (lag dt + t) a.

    Of contacts with restitution alone: where a contact is to stay, the step's own problem holds it from then on.
    The change of each row is kept in ``imp.ahead``.
    """
    fill(h.rows.end[0], imp.ahead, 0.0)
    for i in range(picked.count[0]):
        if imp.eps[i] == 0.0 or imp.moment[i] == np.inf:
            continue
        t = lag * dt + imp.body_moment[_body_of(h.rows, 3 * i)]
        gain = vector_sum(ZERO, t, vector(imp.picked_acceleration, i))
        normal = vector_dot(gain, vector(picked.normal, i))
        if not imp.u[3 * i] + normal < 0.0:
            continue
        imp.ahead[3 * i] = normal
        imp.ahead[3 * i + 1] = vector_dot(gain, vector(h.frames.t1, i))
        imp.ahead[3 * i + 2] = vector_dot(gain, vector(h.frames.t2, i))
        for d in range(3):
            imp.u[3 * i + d] += imp.ahead[3 * i + d]


@kernel
def move_back(h, imp):
    """Add t (v+ - v-) of every body to ``work.shift``, by which the step starts behind q; gaps go with it."""
    tree = h.tree
    work = h.work
    moved = False
    for k in range(tree.parent.shape[0]):
        t = imp.body_moment[k]
        if t > 0.0:
            moved = True
            for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                work.shift[d] += t * (h.v[d] - imp.v_before[d])
    if not moved:
        return
    V = h.bil.V
    body_velocities(tree, h.kin, work.shift, V)
    for i in range(h.contacts.count[0]):
        work.gap_shift[i] = -normal_velocity(h.geoms, h.contacts, h.kin.p, V, i)


@kernel
def clear_shift(work):
    """A step without impacts: it starts where the state is."""
    fill(work.shift.shape[0], work.shift, 0.0)
    fill(work.gap_shift.shape[0], work.gap_shift, 0.0)
