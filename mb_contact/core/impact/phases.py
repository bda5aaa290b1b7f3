# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Stages of an impact (J14 section 7) on the step's own rows and solvers: velocities jump, positions stay.

    impacts_due      which contacts collide (equations of docs/impacts.md)
    predict_impact_times  when (``times.py``)
    assemble_impact  rows of what collides or touches, W without damping, q = B* V- at that moment
    ..._compression  J14 (54): the contact problem with dt = 0, before and after ``problem.solve``
    ..._decompression  J14 (57) with the friction of the chosen law, likewise
    apply_impact     v+ = v- + M^-1 J* (p_c + theta + p) by one impulse sweep
    move_back        positions as if v+ had been from the start, and the impact where it happened

Both phases are the contact problem of the step (``h.system``) with other velocities q; the step poses its own later.
Anitescu and Potra's decompression, r_n = theta + F_n with F_n >= 0 complementary to u_n and friction at most mu r_n, is
that problem with a least normal impulse theta.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.belts import carry_rows, turn_along
from mb_contact.core.constraints.bilateral import COUNT, FIRST, LOADS, bilateral_rows
from mb_contact.core.constraints.contact import contact_frames, contact_rows, normal_velocity, turn_frames
from mb_contact.core.constraints.driven import row_motions
from mb_contact.core.constraints.gear import combine_velocities, partner_impulses
from mb_contact.core.constraints.joint_friction import begin_loads, bound_friction, first_gripping
from mb_contact.core.constraints.rows import row_impulses, row_velocities
from mb_contact.core.constraints.torsion_rolling import moment_rows
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.handle import DRIVEN, DT, EVERY, HAPPEN, LAG, ONLY_ROWS, SLIP_SPEED, THRESHOLD, UNIT_LENGTH
from mb_contact.core.impact.selection import pick_contacts, reached_limits
from mb_contact.core.impact.times import (
    collides,
    gap_now,
    island_moments,
    limit_touch,
    velocities_at_impact,
)
from mb_contact.core.jit import TRUTH, kernel, on_demand
from mb_contact.core.solve.certificate import GAP, certify
from mb_contact.core.solve.friction import contact_laws
from mb_contact.core.solve.system import BY_ROWS, ISLANDS, ROWS
from mb_contact.core.step.certify import island_velocities
from mb_contact.core.step.need import MASKED, strikes
from mb_contact.core.step.problem import rows_in_use, start_phase
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.inverse_dynamics import kinetic_energy
from mb_contact.core.tree.kinematics import bias_terms, body_velocities
from mb_contact.core.workspace import BAD_BODY
from mb_contact.types import CONTACTS_CHANGED, IN_PARTS, NOT_FINITE, OK, TOUCHING_IMPACT

ANITESCU_POTRA, PAPERS, NEWTON = range(3)  # laws of restitution
BEFORE = 0  # entries of ImpactWork.energy: kinetic energy before,
COMPRESSED = 1  # its change in compression,
RECOVERED = 2  # and in decompression
AFTER = 3  # recomputed from the new velocities


class ImpactWork(NamedTuple):
    """Workspace of one impact; c contacts, R scalar rows."""

    collides: Annotated[Integers, "c"]  #: marks of the step's contacts
    eps: Annotated[Reals, "c"]  #: their restitution
    speed: Annotated[Reals, "c"]  #: normal velocity before [m/s]
    u: Annotated[Reals, "R"]  #: velocities of the rows before
    p_c: Annotated[Reals, "R"]  #: impulses of compression
    u_c: Annotated[Reals, "R"]  #: velocities after it
    theta: Annotated[Reals, "R"]  #: recovered normal impulses
    p_d: Annotated[Reals, "R"]  #: recovered and additional impulses
    q: Annotated[Reals, "R"]  #: velocities before the second phase
    moved: Annotated[Reals, "R"]  #: W times impulses
    total: Annotated[Reals, "R"]  #: p_c + p_d
    residuals_c: Annotated[Reals, 4]  #: certificate of compression
    residuals_d: Annotated[Reals, 4]  #: and of decompression
    energy: Annotated[Reals, 4]  #: [J]
    when: Annotated[Reals, "c"]  #: moments of the step's marked contacts, from its start [s]
    path_acceleration: Annotated[Reals, "c", 3]  #: their relative accelerations until then [m/s^2]
    picked_acceleration: Annotated[Reals, "c", 3]  #: of those that take part
    moment: Annotated[Reals, "R"]  #: of the blocks that take part; infinite where one only touches
    ahead: Annotated[Reals, "R"]  #: what u has gained since the start of the step
    label: Annotated[Integers, "n"]  #: island of each body
    body_moment: Annotated[Reals, "n"]  #: [s]
    first: Annotated[Reals, 1]  #: the earliest of them
    v_before: Annotated[Reals, "N"]


def make_impact_work(capacity, rows, bodies, dof):
    """Workspace for so many contacts, scalar rows, bodies and degrees of freedom."""
    return allocate(ImpactWork, c=capacity, R=rows, n=bodies, N=dof)


@kernel
def impacts_due(h, eps, every, threshold, lag, dt):
    """How many contacts collide in this step; rows that were raised for the time without impacts are no longer.

    Parameters
    ----------
    eps : (m,)
        Restitution of each pair of geometries.
    every : bool
        Contacts without restitution and joint limits count too.
    threshold : float
        Least approach speed [m/s].
    lag : float
        See ``times.py``; the free velocity is that of ``work.V_free``.
    dt : float
        [s]
    """
    due = 0
    for i in range(h.contacts.count[0]):
        h.work.row_bias[i, 0] = 0.0
        if (every or strikes(h, i) or eps[h.contacts.pair[i]] > 0.0) and collides(h, i, threshold, lag, dt):
            due += 1
    if every:
        due += limits_hit(h, threshold, lag, dt)
    return due


@on_demand(TRUTH)
def step_collides(h):
    """Whether a step of the scene, behind its free motion, has an impact."""
    rule = h.impact
    return impacts_due(h, h.restitution, rule[EVERY] != 0.0, rule[THRESHOLD], rule[LAG], h.settings[DT]) > 0


@kernel
def came_fast(h, status):
    """IN_PARTS for CONTACTS_CHANGED where contacts that have come in collide; any other status as it is."""
    if status == CONTACTS_CHANGED and h.impact[HAPPEN] != 0.0 and h.need.info[MASKED] == 0 and step_collides(h):
        return IN_PARTS
    return status


@kernel
def limits_hit(h, threshold, lag, dt):
    """How many joint limits are passed on their free paths within dt, approached faster than the threshold."""
    hit = 0
    for k in range(h.tree.parent.shape[0]):
        if h.tree.nv[k] != 1:
            continue
        v = h.v[h.tree.v_start[k]]
        for side in range(2):
            if (1.0 - 2.0 * side) * v < -threshold and limit_touch(h, k, side, lag, dt) >= 0.0:
                hit += 1
    return hit


@kernel
def mark_collisions(h, imp, threshold, lag, dt):
    """Mark the contacts that collide in this step, with or without restitution."""
    for i in range(h.contacts.count[0]):
        imp.collides[i] = 1 if collides(h, i, threshold, lag, dt) else 0


@kernel
def next_pair(h, imp):
    """Pair of geometries that collides first, then the fastest; -1 if none does."""
    best = -1
    soonest = 0.0
    fastest = 0.0
    for i in range(h.contacts.count[0]):
        pair = h.contacts.pair[i]
        if imp.collides[i] == 0:
            continue
        speed = -normal_velocity(h.geoms, h.contacts, h.kin.p, h.kin.V, i)
        time = gap_now(h, i) / speed if gap_now(h, i) > TOUCHING_IMPACT * h.settings[UNIT_LENGTH] else 0.0
        if best < 0 or time < soonest or (time == soonest and speed > fastest):
            best = pair
            soonest = time
            fastest = speed
    return best


@kernel
def assemble_impact(h, imp, picked, eps, touch, threshold, lag, dt, only_pair):
    """Rows of the contacts that are marked or touch and of the limits that are reached; returns a status.

    Parameters
    ----------
    picked : Contacts, out
        Those that take part, with zero gaps.
    touch : float
        Gap up to which contacts touch [m].
    threshold, lag, dt : float
        As in ``impacts_due``; with dt = 0 all of it happens now.
    only_pair : int
        The one pair of geometries that takes part, or -1 for all.
    """
    pick_contacts(h, imp, picked, eps, touch, only_pair)
    status, body = articulated_inertias(h.tree, h.kin, 0.0, h.art)
    if status != OK:
        h.work.info[BAD_BODY] = body
        return status
    contact_frames(h.geoms, picked, h.kin, h.memory, h.settings[SLIP_SPEED], h.frames)
    if h.belts.of.shape[0] > 0:
        turn_along(h.belts, h.geoms, picked, h.kin, h.settings[SLIP_SPEED], h.frames)
    turn_frames(h.friction.surfaces, h.geoms, picked, h.kin, h.frames, h.friction.mu)
    contact_rows(h.geoms, picked, h.kin, h.frames, 1.0, 0.0, 0.0, h.rows)
    if h.soft.start.shape[0] > 0:
        fill(h.rows.compliance.shape[0], h.rows.compliance, 0.0)
    reached_limits(h, imp, threshold, lag, dt)
    island_moments(h, imp, picked)
    moment_rows(h.friction.surfaces, picked, h.frames, h.rows, h.friction.extra)
    threads = h.joints.rubbing[first_gripping(h.joints.rubbing, h.closures) :]
    bilateral_rows(
        h.tree, h.kin, h.q, h.closures, h.closing.none, threads, h.gears, 1.0, 0.0, h.rows.end[0], h.rows, h.loop,
        h.bil,
    )  # fmt: skip  # other friction of joints, springs and tendons have no time to act
    bound_friction(h.tree, h.joints, threads, h.closures, 0.0, h.rows, h.bil)
    row_velocities(h.rows, rows_in_use(h), h.kin.V, imp.u)
    velocities_at_impact(h, imp, picked, lag, dt)
    combine_velocities(imp.u, h.bil)
    if h.belts.of.shape[0] > 0:  # against surfaces that move, as friction acts
        carry_rows(h.belts, h.geoms, picked, h.kin, h.frames, h.friction, h.rows)
        for r in range(h.rows.end[0]):
            imp.u[r] += h.rows.carried[r]
    if h.drift[DRIVEN] != 0.0:
        row_motions(h.kin, h.closures, h.gears, h.rows, h.bil, h.sol.q)
        for r in range(h.bil.info[FIRST], h.bil.info[FIRST] + h.bil.info[COUNT]):
            imp.u[r] -= h.sol.q[r]
    fill(h.v.shape[0], h.forest.damping, 0.0)
    contact_laws(h.rows, picked, h.friction, 1.0, h.settings[UNIT_LENGTH])
    for i in range(picked.count[0]):
        imp.speed[i] = imp.u[3 * i]
    copy(h.v.shape[0], h.v, imp.v_before)
    imp.energy[BEFORE] = kinetic_energy(h.tree, h.kin, h.kin.V, h.v)
    return OK


@kernel
def begin_compression(h, imp):
    """J14 (54): the problem of compression, posed before, with the velocities before the impact."""
    for i in range(imp.theta.shape[0]):
        imp.theta[i] = 0.0
        imp.p_d[i] = 0.0
    start_phase(h, imp.u, imp.theta)
    if h.bil.info[LOADS] != 0:
        begin_loads(h.bil, h.system, h.system.count[ROWS], h.rows)


@kernel
def end_compression(h, imp):
    """p_c, u_c and the energy of compression, from the solution."""
    _end_phase(h, imp.u, imp.p_c, imp.u_c)
    copy(rows_in_use(h), imp.u_c, imp.moved)
    _certify_phase(h, imp.u, imp.moved, imp.residuals_c)
    imp.energy[COMPRESSED] = 0.0
    imp.energy[RECOVERED] = 0.0
    for i in range(h.bil.info[FIRST] + h.bil.info[COUNT]):
        imp.energy[COMPRESSED] += 0.5 * imp.p_c[i] * (imp.u[i] + imp.u_c[i])
    fill(4, imp.residuals_d, 0.0)


@kernel
def _end_phase(h, q, r, u):
    """Impulses of the solved rows into r, velocities after them into u."""
    n_rows = rows_in_use(h)
    copy(n_rows, h.sol.r, r)
    apply_compliance(h, r, u)
    for i in range(n_rows):
        u[i] += q[i]
    _leave_immobile(h.system, u)


@kernel
def _certify_phase(h, q, u, residuals):
    """The certificate of the solved phase from its velocities u, which are taken from W where there is one.

    As in ``certify_step``: impulses of 4e5 N s move a contact of compliance 2e-11 by sums whose rounding of
    2e-11 m/s the scale of that contact makes 5e-6 of.
    """
    P = h.system
    if P.form[0] == BY_ROWS and P.tied[0] == 0:
        for i in range(P.count[ISLANDS]):
            first, last = P.blocks.start[P.island[i]], P.blocks.start[P.island[i + 1]]
            island_velocities(P.W, P.source, first, last, P.r, q, u)
        _leave_immobile(P, u)
    certify(P, u, h.bil.info[FIRST], residuals, h.sol.loops)
    if h.bil.info[LOADS] != 0:
        residuals[GAP] = max(residuals[GAP], h.sol.loops[0])


@kernel
def _leave_immobile(P, u):
    """Velocities of immobile rows as they are asked for."""
    for i in range(P.count[ROWS]):
        if P.immobile[i] != 0 and P.follower[i] == 0:
            u[P.source[i]] = P.q[i]


@kernel
def apply_compliance(h, r, u):
    """u = W r, by the impulse sweep, or by W itself where other formulations have made it."""
    n_rows = rows_in_use(h)
    if h.solver[ONLY_ROWS] != 0.0:
        for i in range(n_rows):
            u[i] = 0.0
            for j in range(n_rows):
                u[i] += h.system.W[i, j] * r[j]
        return
    partner_impulses(r, h.bil)
    row_impulses(h.rows, n_rows, r, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, h.work.dv)
    row_velocities(h.rows, n_rows, h.art.alpha, u)
    combine_velocities(u, h.bil)


@kernel
def begin_decompression(h, imp, law, scale):
    """J14 (57) with the friction of ``law`` and all eps times ``scale``: its problem."""
    n_rows = h.bil.info[FIRST] + h.bil.info[COUNT]
    for i in range(n_rows):
        imp.theta[i] = 0.0
        imp.q[i] = imp.u[i] if law == NEWTON else imp.u_c[i]
    for i in range(h.rows.contacts[0]):
        row = 3 * i
        if law == NEWTON:  # u_n+ >= eps |u_n-|
            imp.q[row] += scale * imp.eps[i] * min(imp.u[row], 0.0)
        else:
            imp.theta[row] = scale * imp.eps[i] * imp.p_c[row]
    if law == PAPERS:
        apply_compliance(h, imp.theta, imp.moved)
        for i in range(n_rows):
            imp.q[i] += imp.moved[i]
            imp.total[i] = 0.0
        start_phase(h, imp.q, imp.total)
    else:
        start_phase(h, imp.q, imp.theta)
    if h.bil.info[LOADS] != 0:
        begin_loads(h.bil, h.system, h.system.count[ROWS], h.rows)


@kernel
def end_decompression(h, imp, law):
    """p_d from the solution; returns the change of kinetic energy over both phases [J]."""
    _end_phase(h, imp.q, imp.p_d, imp.moved)
    _certify_phase(h, imp.q, imp.moved, imp.residuals_d)
    return recovered(h, imp, law)


@kernel
def recovered(h, imp, law):
    """From the impulses of the second problem in p_d to all that decompression adds; the energy of both phases."""
    n_rows = h.bil.info[FIRST] + h.bil.info[COUNT]
    for i in range(n_rows):
        if law == NEWTON:
            imp.p_d[i] -= imp.p_c[i]
        elif law == PAPERS:
            imp.p_d[i] += imp.theta[i]
        imp.total[i] = imp.p_c[i] + imp.p_d[i]
    apply_compliance(h, imp.p_d, imp.moved)
    imp.energy[RECOVERED] = 0.0
    for i in range(n_rows):
        imp.energy[RECOVERED] += imp.p_d[i] * (imp.u_c[i] + 0.5 * imp.moved[i])
    return imp.energy[COMPRESSED] + imp.energy[RECOVERED]


@kernel
def apply_impact(h, imp):
    """Velocities after the impact and what follows from them, from p_c and p_d; returns a status."""
    for i in range(h.bil.info[FIRST] + h.bil.info[COUNT]):
        imp.total[i] = imp.p_c[i] + imp.p_d[i]
    partner_impulses(imp.total, h.bil)
    row_impulses(h.rows, rows_in_use(h), imp.total, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, h.work.dv)
    for i in range(h.v.shape[0]):
        if not np.isfinite(h.work.dv[i]):
            return NOT_FINITE
    for i in range(h.v.shape[0]):
        h.v[i] += h.work.dv[i]
    body_velocities(h.tree, h.kin, h.v, h.kin.V)
    bias_terms(h.tree, h.kin, h.v)
    energy_after(h, imp)
    return OK


@kernel
def energy_after(h, imp):
    """Kinetic energy from the new velocities; the impulses met rows that were ``ahead`` of those at the start."""
    imp.energy[AFTER] = kinetic_energy(h.tree, h.kin, h.kin.V, h.v)
    for i in range(h.rows.end[0]):
        imp.energy[AFTER] += imp.total[i] * imp.ahead[i]


@kernel
def set_velocity(h, v):
    """Back to the velocity v, with all that follows from it; positions have not moved."""
    copy(h.v.shape[0], v, h.v)
    body_velocities(h.tree, h.kin, h.v, h.kin.V)
    bias_terms(h.tree, h.kin, h.v)
