# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One time step of the operational-space formulation, in two compiled calls around the narrow phase.

    begin_step    geometry poses -> AABBs -> candidate pairs
    (narrow phase: FCL fills the witnesses)
    finish_step   manifolds -> frames -> articulated sweep -> free velocity -> rows -> Upsilon, Omega, W
                  -> solver ladder -> impulse sweep -> new velocity and position -> their kinematics

Between steps ``kin`` always describes the current state.  Neither call forms the mass matrix, its
inverse or a Jacobian.  q and v are written last, so a step that fails leaves the state untouched.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.compliance import compliance_blocks, compliance_sweep, mark_essential, row_compliance
from mb_contact.core.contact_rows import (
    contact_frames,
    contact_rows,
    limit_rows,
    row_impulses,
    row_sides,
    row_velocity,
)
from mb_contact.core.broadphase import candidate_pairs
from mb_contact.core.geometry import aabbs, geometry_poses
from mb_contact.core.inverse_dynamics import mechanical_energy
from mb_contact.core.jit import kernel
from mb_contact.core.spatial import cross
from mb_contact.core.joints import integrate_joints
from mb_contact.core.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.ladder import solve_step
from mb_contact.core.manifolds import build_contacts
from mb_contact.types import NOT_FINITE, OK

RUNG = 0  # entries of StepWork.info
ITERATIONS = 1
BAD_BODY = 2
UNITS = 3


@kernel
def update_kinematics(tree, gravity, q, v, kin, work):
    """Everything that follows from the state alone: poses, velocities, inertias, bias terms, energy."""
    body_poses(tree, q, kin)
    body_velocities(tree, kin, v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, v)
    kinetic, potential = mechanical_energy(tree, kin, gravity)
    for i in range(v.shape[0]):
        kinetic += 0.5 * tree.armature[i] * v[i] * v[i]
    work.energy[0] = kinetic
    work.energy[1] = potential


@kernel
def smooth_dynamics(tree, gravity, v, effort, dt, kin, art, work):
    """Velocity after dt without contacts and limits: ``work.v_free`` and the bodies' ``work.V_free``.

    Returns (status, body of a singular hinge).
    """
    status, body = articulated_inertias(tree, kin, dt, art)
    if status != OK:
        return status, body
    for i in range(v.shape[0]):
        limit = tree.effort_limit[i]
        work.effort[i] = min(max(effort[i], -limit), limit)
    free_acceleration(tree, kin, art, gravity, work.effort, v, work.external, work.v_dot)
    for i in range(v.shape[0]):
        work.v_free[i] = v[i] + dt * work.v_dot[i]
    body_velocities(tree, kin, work.v_free, work.V_free)
    return OK, -1


@kernel
def assemble(tree, geoms, contacts, q, dt, push_rate, push_speed, kin, art, com, rows, frames, memory, cones, sol, work):
    """Rows, warm states, W = B* Omega B and q = B* V_free + offset of the OS problem (J14 Eq. 53)."""
    contact_frames(geoms, contacts, kin, memory, frames)
    contact_rows(geoms, contacts, kin, frames, memory, dt, push_rate, push_speed, rows, cones, sol.state)
    limit_rows(tree, kin, q, work.v_free, dt, push_rate, memory, rows, cones, sol.state)
    n_rows = cones.rows[0]
    if n_rows == 0:
        return
    count = mark_essential(tree, rows.touched, com)
    compliance_sweep(tree, kin, art, com)
    compliance_blocks(tree, com, count)
    row_sides(com, rows, n_rows)
    row_compliance(com, rows, n_rows, count, sol.W)
    for i in range(n_rows):
        sol.q[i] = row_velocity(rows, i, work.V_free) + rows.offset[i]


@kernel
def apply_impulses(tree, kin, art, rows, n_rows, sol, work):
    """v_next = v_free + M^-1 J* p by one impulse sweep."""
    row_impulses(rows, n_rows, sol.r, work.impulse)
    impulse_response(tree, kin, art, work.impulse, work.joint_impulse, work.dv)
    for i in range(work.dv.shape[0]):
        work.v_next[i] = work.v_free[i] + work.dv[i]


@kernel
def remember(contacts, frames, cones, rows, memory, sol):
    """Identities, frames and states for the next step's warm start."""
    c = contacts.count[0]
    memory.count[0] = c
    for i in range(c):
        memory.pair[i] = contacts.pair[i]
        memory.feature[i] = contacts.feature[i]
        memory.state[i] = sol.state[i]
        for a in range(3):
            memory.tangent[i, a] = frames.t1[i, a]
    for i in range(c, cones.count[0]):
        dof = rows.dof[cones.start[i]]
        memory.limit_state[dof // 2, dof % 2] = sol.state[i]


@kernel
def contact_impulses(geoms, contacts, kin, frames, sol, work):
    """Impulse vector of every contact (on A) and the sums on the geometries."""
    for g in range(work.geom_impulse.shape[0]):
        for a in range(6):
            work.geom_impulse[g, a] = 0.0
    for i in range(contacts.count[0]):
        for a in range(3):
            work.contact_impulse[i, a] = (
                sol.r[3 * i] * contacts.normal[i, a]
                + sol.r[3 * i + 1] * frames.t1[i, a]
                + sol.r[3 * i + 2] * frames.t2[i, a]
            )
        _add_impulse(geoms, contacts, kin, i, 0, 1.0, work)
        _add_impulse(geoms, contacts, kin, i, 1, -1.0, work)


@kernel
def _add_impulse(geoms, contacts, kin, i, side, sign, work):
    """Add contact i's impulse to one of its geometries, about the body origin (world origin for world bodies)."""
    g = geoms.pairs[contacts.pair[i], side]
    k = geoms.body[g]
    x = contacts.point[i, 0]
    y = contacts.point[i, 1]
    z = contacts.point[i, 2]
    if k >= 0:
        x -= kin.p[k, 0]
        y -= kin.p[k, 1]
        z -= kin.p[k, 2]
    fx = sign * work.contact_impulse[i, 0]
    fy = sign * work.contact_impulse[i, 1]
    fz = sign * work.contact_impulse[i, 2]
    mx, my, mz = cross(x, y, z, fx, fy, fz)
    work.geom_impulse[g, 0] += mx
    work.geom_impulse[g, 1] += my
    work.geom_impulse[g, 2] += mz
    work.geom_impulse[g, 3] += fx
    work.geom_impulse[g, 4] += fy
    work.geom_impulse[g, 5] += fz


@kernel
def keep_books(tree, dt, v, kin, rows, cones, sol, work):
    """Joint efforts and the work of efforts, damping, contacts and limits in this step.

    At fixed configuration the kinetic energy changes by exactly impulse times mean velocity.
    """
    for i in range(work.ledger.shape[0]):
        work.ledger[i] = 0.0
    for i in range(v.shape[0]):
        mean = 0.5 * (v[i] + work.v_next[i]) * dt
        passive = -tree.damping[i] * work.v_next[i]
        work.joint_effort[i] = work.effort[i] + passive
        work.ledger[0] += work.effort[i] * mean
        work.ledger[1] += passive * mean
    for r in range(cones.rows[0]):
        mean = 0.5 * (row_velocity(rows, r, kin.V) + sol.u[r] - rows.offset[r])
        dof = rows.dof[r]
        if dof < 0:
            work.ledger[2] += sol.r[r] * mean
        else:
            work.ledger[3] += sol.r[r] * mean
            work.joint_effort[dof // 2] += (1.0 - 2.0 * (dof % 2)) * sol.r[r] / dt


@kernel
def begin_step(geoms, kin, buffers):
    """Geometry poses, AABBs and candidate pairs of the current state; returns the number of candidates."""
    geometry_poses(geoms, kin.R, kin.p, buffers.geom_R, buffers.geom_p)
    aabbs(geoms, buffers.geom_R, buffers.geom_p, buffers.lower, buffers.upper)
    return candidate_pairs(geoms, buffers.geom_R, buffers.geom_p, buffers.lower, buffers.upper, buffers.candidates)


@kernel
def finish_step(
    tree, geoms, gravity, settings, q, v, effort, candidates, buffers, contacts,
    kin, art, com, rows, frames, memory, cones, sol, piv, lem, work,
):  # fmt: skip
    """All that follows the narrow phase; advances q, v and ``kin`` in place and returns a status.

    ``settings`` = (dt [s], push-out rate, push-out speed [m/s]).
    """
    dt = settings[0]
    status = build_contacts(
        geoms, buffers.geom_R, buffers.geom_p, buffers.candidates, candidates, buffers.witness, buffers.work, contacts
    )
    if status != OK:
        return status
    status, body = smooth_dynamics(tree, gravity, v, effort, dt, kin, art, work)
    if status != OK:
        work.info[BAD_BODY] = body
        return status
    assemble(
        tree, geoms, contacts, q, dt, settings[1], settings[2], kin, art, com, rows, frames, memory, cones, sol, work
    )
    rung, iterations = solve_step(sol, cones, piv, lem)
    work.info[RUNG] = rung
    work.info[ITERATIONS] = iterations
    work.info[UNITS] = cones.count[0]
    apply_impulses(tree, kin, art, rows, cones.rows[0], sol, work)
    for i in range(v.shape[0]):
        if not np.isfinite(work.v_next[i]):
            return NOT_FINITE
    contact_impulses(geoms, contacts, kin, frames, sol, work)
    keep_books(tree, dt, v, kin, rows, cones, sol, work)
    remember(contacts, frames, cones, rows, memory, sol)
    for i in range(v.shape[0]):
        v[i] = work.v_next[i]
    integrate_joints(tree, v, dt, q)
    update_kinematics(tree, gravity, q, v, kin, work)
    return OK
