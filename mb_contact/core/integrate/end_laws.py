# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What contacts ask of the velocities where a step ends: the laws of kept contacts with their rows of the end."""

import numpy as np

from mb_contact.core.constraints.contact import relative_velocity
from mb_contact.core.constraints.rows import row_dot
from mb_contact.core.handle import UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.jit import kernel
from mb_contact.core.solve.friction import COULOMB_VISCOUS, MODEL, NO_SLIP, VISCOUS
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import ZERO, linear, vector, vector_dot, vector_product, vector_sum

KEPT_GAP = 1e-5  #: gap up to which a contact without an impulse counts as kept [m]
SLIDING = 1e-6  #: slip at both ends from which friction opposes their mean [m/s]


@kernel
def is_kept(h, i):
    """Whether contact i carries an impulse or touches."""
    return h.sol.r[3 * i] > 0.0 or h.contacts.gap[i] <= KEPT_GAP * h.settings[UNIT_LENGTH]


@kernel
def ask_at_end(h, f):
    """What the step's own rows miss of the kept contacts' rows at its end.

    The velocities that friction and normal laws are asked of go to ``work.row_bias``, as what they have beyond the
    linear model of the step's rows, and into the velocities of the problem: solved again, it is about the end.  Returns
    the largest change of ``row_bias`` [m/s].
    """
    body_velocities(h.tree, f.kin, f.v_end, f.kin.V)
    end = h.end
    worst = 0.0
    for i in range(h.contacts.count[0]):
        if not is_kept(h, i):
            continue
        pair = h.geoms.pairs[h.contacts.pair[i]]
        on_a = _arm_velocity(f.kin.V, h.geoms.body[pair[0]], end.arm_a, i)
        u = vector_sum(on_a, -1.0, _arm_velocity(f.kin.V, h.geoms.body[pair[1]], end.arm_b, i))
        there = vector_dot(u, vector(end.normal, i)), vector_dot(u, vector(end.t1, i)), vector_dot(u, vector(end.t2, i))
        start = relative_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
        slip = vector_dot(start, vector(h.frames.t1, i)), vector_dot(start, vector(h.frames.t2, i))
        here = vector_dot(start, vector(h.contacts.normal, i)), slip[0], slip[1]
        x, y = _slip_law(h, slip, there[1], there[2])
        law = there[0], x, y
        no_slip = h.friction.model[MODEL] == NO_SLIP  # rows of points of one face would contradict each other
        for c in range(3):
            row = 3 * i + c
            linear_model = h.sol.u[row] - h.rows.offset[row]
            end.ahead[i, c] = there[c] - linear_model + here[c] - row_dot(h.rows, row, h.kin.V)
            if c > 0 and no_slip:
                continue
            change = law[c] - linear_model - h.work.row_bias[i, c]
            worst = max(worst, abs(change))
            h.work.row_bias[i, c] += change
            h.rows.offset[row] += change
            h.sol.q[row] += change
        _ask_moments(h, f, i)
    return worst


@kernel
def _ask_moments(h, f, i):
    """The same of contact i's rows of torsion and rolling, whose offsets hold nothing else."""
    at = h.friction.extra[i]
    pair = h.contacts.pair[i]
    if at < 0:
        return
    end = h.end
    spin = _relative_spin(h, f.kin.V, pair)
    if h.friction.surfaces.torsional[pair] > 0.0:
        _ask(h, at, vector_dot(spin, vector(end.normal, i)))
        at += 1
    if h.friction.surfaces.rolling[pair] > 0.0:
        start = _relative_spin(h, h.kin.V, pair)
        x, y = _mean_direction(
            vector_dot(start, vector(h.frames.t1, i)), vector_dot(start, vector(h.frames.t2, i)),
            vector_dot(spin, vector(end.t1, i)), vector_dot(spin, vector(end.t2, i)),
            SLIDING * h.settings[UNIT_SPEED],
        )  # fmt: skip
        _ask(h, at, x)
        _ask(h, at + 1, y)


@kernel
def _ask(h, row, law):
    """The law of a row at the end, instead of its linear model."""
    change = law - h.sol.u[row]
    h.rows.offset[row] += change
    h.sol.q[row] += change


@kernel
def _relative_spin(h, V, pair):
    """Angular velocity of A against B of a pair, with bodies' velocities V."""
    a, b = h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]]
    return vector_sum(vector(V, a) if a >= 0 else ZERO, -1.0, vector(V, b) if b >= 0 else ZERO)


@kernel
def _arm_velocity(V, k, arm, i):
    """Velocity of the point of body k at ``arm[i]`` from its origin."""
    if k < 0:
        return ZERO
    return vector_sum(linear(V, k), 1.0, vector_product(vector(V, k), vector(arm, i)))


@kernel
def _slip_law(h, slip, x, y):
    """Slip that friction opposes, from that of the start and that of the end (x, y).

    Coulomb's: as large as there, along the mean of both ends, or there alone where it turns round.  Viscous: the sum of
    both ends, whose friction is that of half of the step (``friction.contact_laws``).
    """
    a, b = slip
    model, little = h.friction.model[MODEL], SLIDING * h.settings[UNIT_SPEED]
    if model == VISCOUS:
        return x + a, y + b
    if model == COULOMB_VISCOUS and not _turns_round(a, b, x, y, little):
        return a + x, b + y
    return _mean_direction(a, b, x, y, little)


@kernel
def _mean_direction(a, b, x, y, little):
    """As long as (x, y), along the mean of (a, b) and (x, y); (x, y) itself where it is little or has turned round."""
    if _turns_round(a, b, x, y, little):
        return x, y
    size = np.sqrt((x * x + y * y) / ((a + x) ** 2 + (b + y) ** 2))
    return size * (a + x), size * (b + y)


@kernel
def _turns_round(a, b, x, y, little):
    """Whether a slip (a, b) that ends as (x, y) is little there, or has turned by more than 60 degrees."""
    size = np.sqrt(x * x + y * y)
    return size < little or a * x + b * y <= 0.5 * size * np.sqrt(a * a + b * b)
