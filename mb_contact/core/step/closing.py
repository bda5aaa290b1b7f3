# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closure errors at the level of positions: measured, and projected away by Gauss-Newton steps in minimal coordinates.

    dq = -M^-1 G* (G M^-1 G*)^+ c,      q := q (+) dq,

which of all dq with G dq = -c is the one of least kinetic metric dq* M dq: loops close by the motion that the
bodies' inertias resist least.  M^-1 is the articulated sweep, G M^-1 G* the compliance of the bilateral rows,
redundant rows are left out; no mass matrix and no Jacobian is formed.
"""

from __future__ import annotations

from mb_contact.core.jit import entry, kernel
from mb_contact.core.rows.bilateral import (
    CLOSURE,
    COUNT,
    GEARS,
    bilateral_rows,
    combine_gears,
    factor_bilateral,
    measure_rows,
    recover_impulses,
    reduce_velocities,
    worst_closure,
)
from mb_contact.core.rows.contact_rows import row_impulses, row_sides
from mb_contact.core.rows.joint_forces import spring_energy
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.compliance import compliance_blocks, compliance_sweep, mark_essential, row_compliance
from mb_contact.core.tree.inverse_dynamics import mechanical_energy
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.types import OK

STRIDE = 0.5  # [rad, m] longest change of a coordinate in one Gauss-Newton step
STEP_LIMIT = 5  # Gauss-Newton steps after a time step; it starts within the drift of one step
LEDGER_LOOPS = 5  # entry of StepWork.ledger


@entry
def refresh(h):
    """Everything that follows from the state alone: poses, velocities, inertias, bias terms, energy.

    Joints that follow others by a gear are put where these have them: their rows hold but for rounding.
    """
    follow(h.tree, h.gears, h.q, h.v)
    body_poses(h.tree, h.q, h.kin)
    body_velocities(h.tree, h.kin, h.v, h.kin.V)
    body_inertias(h.tree, h.kin)
    bias_terms(h.tree, h.kin, h.v)
    kinetic, potential = mechanical_energy(h.tree, h.kin, h.gravity)
    for i in range(h.v.shape[0]):
        kinetic += 0.5 * h.tree.armature[i] * h.v[i] * h.v[i]
    potential += spring_energy(h.tree, h.joints, h.q)
    h.work.energy[0] = kinetic
    h.work.energy[1] = potential


@kernel
def follow(tree, gears, q, v):
    """q_a = ratio q_b + offset, v_a = ratio v_b."""
    for g in range(gears.ratio.shape[0]):
        a = gears.body_a[g]
        b = gears.body_b[g]
        q[tree.q_start[a]] = gears.ratio[g] * q[tree.q_start[b]] + gears.offset[g]
        v[tree.v_start[a]] = gears.ratio[g] * v[tree.v_start[b]]


@entry
def closure_error(h):
    """Largest closure error [m, rad] of the poses in ``h.kin``, with ``h.closing`` holding the rows."""
    c = h.closing
    for k in range(c.rows.touched.shape[0]):
        c.rows.touched[k] = 0
    bilateral_rows(h.tree, h.kin, h.q, h.closures, c.nobody, h.gears, 1.0, 0.0, 0, c.rows, h.loop, c.bil)
    return worst_closure(h.loop, c.bil)


@entry
def close_loops(h, tolerance, limit):
    """Gauss-Newton steps on q until no closure error exceeds ``tolerance``; returns the error that is left.

    The state is refreshed; velocities stay as they are.
    """
    error = closure_error(h)
    if not error > tolerance:
        return error
    for _ in range(limit):
        if not error > tolerance:
            break
        status, _ = articulated_inertias(h.tree, h.kin, 0.0, h.art)
        if status != OK:
            break
        _newton_step(h)
        body_poses(h.tree, h.q, h.kin)
        body_inertias(h.tree, h.kin)
        error = closure_error(h)
    refresh(h)
    return error


@entry
def _newton_step(h):
    """One step of q from the errors in ``h.loop``, shortened to STRIDE."""
    c = h.closing
    n_rows = c.bil.info[COUNT] + c.bil.info[GEARS]
    count = mark_essential(h.tree, c.rows.touched, h.com)
    compliance_sweep(h.tree, h.kin, h.art, h.com)
    compliance_blocks(h.tree, h.com, count)
    row_sides(h.com, c.rows, n_rows)
    row_compliance(h.com, c.rows, n_rows, count, c.W)
    combine_gears(c.W, c.bil)
    measure_rows(h.com, c.rows, c.W, c.bil)
    factor_bilateral(c.W, c.bil)
    for i in range(n_rows):
        c.bil.u[i] = h.loop.error[i] if i < c.bil.info[COUNT] else 0.0
    reduce_velocities(c.bil.u, c.bil)
    recover_impulses(c.r, c.bil)
    row_impulses(c.rows, n_rows, c.r, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, c.dq)
    longest = 0.0
    for i in range(c.dq.shape[0]):
        longest = max(longest, abs(c.dq[i]))
    integrate_joints(h.tree, c.dq, min(1.0, STRIDE / max(longest, 1e-300)), h.q)


@entry
def mend_closures(h):
    """Closure error of the new state into the certificate; with ``drift[1]`` > 0 the error is projected away first.

    The energy that the projection changes is booked as work of the loops.
    """
    if h.drift[1] > 0.0:
        before = h.work.energy[0] + h.work.energy[1]
        h.bil.judge[CLOSURE] = close_loops(h, h.drift[1], STEP_LIMIT)
        h.work.ledger[LEDGER_LOOPS] += h.work.energy[0] + h.work.energy[1] - before
    else:
        h.bil.judge[CLOSURE] = closure_error(h)
