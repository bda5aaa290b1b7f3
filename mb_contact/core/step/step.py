# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The stages of one time step of the operational-space formulation; simulation/contact_step.py calls them in order.

    begin_step       geometry poses -> AABBs -> candidate pairs
    (narrow phase: FCL fills the witnesses)
    find_contacts    manifolds
    smooth_dynamics  articulated sweep -> free velocity
    assemble         frames -> rows -> drafted blocks, q, warm start
    pose             blocks in islands, W by rows or by bodies (problem.py)
    solve            proximal Newton steps, island by island (problem.py, core/solve)
    settle           impulse sweep -> new velocity; again with a limit more if it passes one
    conclude         certificate, energy, warm start, report; new velocity and position -> their kinematics

Between steps ``kin`` always describes the current state.  q and v are written last, so a step that fails leaves the
state untouched.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.collision.broadphase import candidate_pairs
from mb_contact.core.collision.geometry import aabbs, geometry_poses, shape_travel
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.constraints.bilateral import (
    CLOSURE,
    COUNT,
    FIRST,
    GEARS,
    SPEED,
    VELOCITY,
    bilateral_rows,
    combine_velocities,
    partner_impulses,
)
from mb_contact.core.constraints.contact_rows import (
    NEAR_LIMIT,
    contact_frames,
    contact_rows,
    limit_reach,
    limit_rows,
    row_impulses,
    row_velocities,
)
from mb_contact.core.constraints.flat_manifolds import level_offsets, level_points
from mb_contact.core.constraints.joint_forces import bound_friction, spring_forces, stiffen
from mb_contact.core.constraints.surface_rows import contact_moments, moment_rows, turn_frames, warm_impulses
from mb_contact.core.jit import entry, kernel
from mb_contact.core.solve.assemble import draft_contacts
from mb_contact.core.solve.certificate import certify
from mb_contact.core.solve.system import BLOCKS, BOX, BY_ROWS, CONTACT, EQUALITY, ROWS
from mb_contact.core.step.closing import closure_error, refresh
from mb_contact.core.step.problem import rows_in_use
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import cross
from mb_contact.types import (
    LIMIT_MISSED,
    LOWER,
    NOT_FINITE,
    OK,
    RUB,
    SEPARATE,
    SLIP,
    STICK,
    UPPER,
)

BAD_BODY = 2  # entries of StepWork.info, beside those of problem.py
LANDED = 3
SIGMA = 10  # entry of a row of StepWork.report
STILL = 1e-9  # slip up to which a contact sticks [m/s]


@entry
def find_contacts(h, candidates):
    """Manifolds of the candidate pairs, from the narrow phase's witnesses."""
    b = h.buffers
    status = build_contacts(
        h.geoms, b.geom_R, b.geom_p, b.travel, b.candidates, candidates, b.reach, b.witness, b.work, h.contacts
    )
    level_points(h.contacts)
    return status


@entry
def smooth_dynamics(h):
    """Velocity after dt without contacts and limits: ``work.v_free`` and the bodies' ``work.V_free``."""
    tree = h.tree
    work = h.work
    dt = h.settings[0]
    stiffen(h.joints, dt)
    status, body = articulated_inertias(tree, h.kin, dt, h.art)
    if status != OK:
        work.info[BAD_BODY] = body
        return status
    for i in range(h.v.shape[0]):
        limit = tree.effort_limit[i]
        work.effort[i] = min(max(h.effort[i], -limit), limit)
        work.force[i] = work.effort[i]
    spring_forces(tree, h.joints, h.q, work.force)
    free_acceleration(tree, h.kin, h.art, h.gravity, work.force, h.v, work.external, work.v_dot)
    for i in range(h.v.shape[0]):
        work.v_free[i] = h.v[i] + dt * work.v_dot[i]
        work.speed[i] = abs(work.v_free[i])
    body_velocities(tree, h.kin, work.v_free, work.V_free)
    return OK


@entry
def assemble(h):
    """Rows, drafted blocks, free velocities ``sol.q`` and warm impulses ``sol.r`` of the step."""
    dt = h.settings[0]
    contact_frames(h.geoms, h.contacts, h.kin, h.memory, h.settings[3], h.frames)
    turn_frames(h.friction.surfaces, h.geoms, h.contacts, h.kin, h.frames, h.friction.mu)
    contact_rows(h.geoms, h.contacts, h.kin, h.frames, dt, h.settings[1], h.settings[2], h.rows, h.cones)
    limit_rows(
        h.tree, h.joints.velocity_limit, h.kin, h.q, h.work.speed, dt, h.settings[1], h.settings[2], h.rows, h.cones
    )
    _shift_offsets(h, dt)
    moment_rows(h.friction.surfaces, h.contacts, h.frames, h.rows, h.cones, h.friction.extra)
    rate = h.drift[0] * min(1.0, dt / h.drift[2])  # a shorter step takes back a smaller part
    bilateral_rows(
        h.tree, h.kin, h.q, h.closures, h.joints.rubbing, h.gears, dt, rate, h.cones.rows[0], h.rows, h.loop, h.bil
    )
    bound_friction(h.tree, h.joints, dt, h.bil)
    draft_contacts(h.draft, h.contacts, h.friction, dt)
    for i in range(h.v.shape[0]):
        h.draft.damping[i] = dt * h.tree.damping[i]
    n_rows = rows_in_use(h)
    row_velocities(h.rows, n_rows, h.work.V_free, h.sol.q)
    combine_velocities(h.sol.q, h.bil)
    for i in range(n_rows):
        h.sol.q[i] += h.rows.offset[i]
        h.sol.r[i] = 0.0
    warm_impulses(h.contacts, h.frames, h.memory, h.friction.extra, h.friction.surfaces, h.sol.r)
    for i in range(3 * h.contacts.count[0], n_rows):
        dof = h.rows.dof[i]
        if dof >= 0 and dof % 8 < RUB:
            h.sol.r[i] = h.memory.joint[dof // 8, dof % 8]
    for i in range(h.bil.info[COUNT]):
        h.sol.r[h.bil.info[FIRST] + i] = h.memory.loop[i]


@entry
def _shift_offsets(h, dt):
    """Offsets of the rows with what impacts and second-order terms move, those of a flat face as one rigid motion's."""
    for i in range(h.contacts.count[0]):
        h.rows.offset[3 * i] += h.work.gap_shift[i] / dt
        for a in range(3):
            h.rows.offset[3 * i + a] += h.work.row_bias[i, a]
    level_offsets(h.contacts, dt, h.rows.offset)
    for row in range(3 * h.contacts.count[0], h.cones.rows[0]):
        which = h.rows.dof[row] % 8
        if which == LOWER or which == UPPER:
            h.rows.offset[row] -= (1.0 - 2.0 * which) * h.work.shift[h.rows.dof[row] // 8] / dt


@entry
def apply_impulses(h):
    """v_next = v_free + M^-1 J* p by the impulse sweep, velocities of the rows, and the certificate; a status."""
    work = h.work
    n_rows = rows_in_use(h)
    check_ray(h)
    if n_rows > 0:
        partner_impulses(h.sol.r, h.bil)
        row_impulses(h.rows, n_rows, h.sol.r, work.impulse)
        impulse_response(h.tree, h.kin, h.art, work.impulse, work.joint_impulse, work.dv)
    for i in range(work.dv.shape[0]):
        work.v_next[i] = work.v_free[i]
        if n_rows > 0:
            work.v_next[i] += work.dv[i]
        if not np.isfinite(work.v_next[i]):
            return NOT_FINITE
    judge(h)
    return OK


@entry
def check_ray(h):
    """Judge the ray by the impulse sweep: ``sol.proof`` holds its largest velocity and q* d, both in units of its size.

    Impulses d within their bounds that move nothing (u = J v + q then has u* d = q* d whatever v is) while q* d < 0:
    no velocity v has u in the dual cones, which would make u* d >= 0.
    """
    h.sol.proof[0] = 0.0
    h.sol.proof[1] = 0.0
    n_rows = rows_in_use(h)
    found = False
    for i in range(n_rows):
        found = found or h.sol.ray[i] != 0.0
    if not found:
        return
    partner_impulses(h.sol.ray, h.bil)
    row_impulses(h.rows, n_rows, h.sol.ray, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, h.work.dv)
    row_velocities(h.rows, n_rows, h.art.alpha, h.sol.before)
    combine_velocities(h.sol.before, h.bil)
    P = h.system
    for i in range(P.count[ROWS]):
        row = P.source[i]
        h.sol.proof[0] = max(h.sol.proof[0], abs(h.sol.before[row]) / np.sqrt(P.blocks.D[i]))
        h.sol.proof[1] += h.sol.ray[row] * (h.sol.q[row] + h.sol.pushed[row])
    for b in range(P.count[BLOCKS]):
        h.sol.proof[0] = max(h.sol.proof[0], _outside(h, P, b))


@entry
def _outside(h, P, b):
    """How far the ray is outside the cone of one block, scaled."""
    i = P.blocks.start[b]
    if P.blocks.kind[b] == EQUALITY:
        return 0.0
    normal = h.sol.ray[P.source[i]]
    scale = np.sqrt(P.blocks.D[i])
    if P.blocks.kind[b] == BOX:
        return abs(normal) * scale
    worst = max(-normal, 0.0)
    if P.blocks.kind[b] == CONTACT:
        x = h.sol.ray[P.source[i + 1]]
        y = h.sol.ray[P.source[i + 2]]
        mu = max(P.blocks.mu[i + 1], P.blocks.mu[i + 2])
        worst = max(worst, np.sqrt(x * x + y * y) - mu * max(normal, 0.0))
    return worst * scale


@entry
def judge(h):
    """Velocities ``sol.u`` of the rows, from W or by the impulse sweep, and from them the certificate of the problem.

    W where there is one: beside a compliance of 1e-12 the sweep's rounding of 1e-11 m/s would count as 1e-5.
    """
    n_rows = rows_in_use(h)
    P = h.system
    if P.count[BLOCKS] > 0 and P.face[0] == BY_ROWS:
        own = n_rows - h.bil.info[GEARS]  # a gear's row has its partner's part already
        for i in range(own):
            h.sol.u[i] = h.sol.q[i]
            for j in range(own):
                h.sol.u[i] += P.W[i, j] * h.sol.r[j]
    else:
        V = h.bil.V
        for k in range(V.shape[0]):
            for c in range(6):
                V[k, c] = h.work.V_free[k, c] + (h.art.alpha[k, c] if n_rows > 0 else 0.0)
        row_velocities(h.rows, n_rows, V, h.sol.u)
        combine_velocities(h.sol.u, h.bil)
        for i in range(n_rows):
            h.sol.u[i] += h.rows.offset[i]
    for i in range(h.system.count[ROWS]):
        if h.system.immobile[i] != 0:
            row = h.system.source[i]
            h.sol.u[row] = min(max(h.sol.q[row], 0.0), h.system.q[i])
    loops = h.sol.loops
    certify(h.system, h.sol.u, h.bil.info[FIRST], h.sol.judge, loops)
    h.bil.judge[VELOCITY] = loops[0]
    h.bil.judge[SPEED] = loops[1]


@entry
def remember(h):
    """Identities, frames and impulses for the next step's warm start."""
    memory = h.memory
    c = h.contacts.count[0]
    memory.count[0] = c
    for i in range(c):
        memory.pair[i] = h.contacts.pair[i]
        memory.feature[i] = h.contacts.feature[i]
        for a in range(3):
            memory.tangent[i, a] = h.frames.t1[i, a]
            memory.impulse[i, a] = h.sol.r[3 * i + a]
    for d in range(memory.joint.shape[0]):
        for i in range(memory.joint.shape[1]):
            memory.joint[d, i] = 0.0
    for i in range(3 * c, h.bil.info[FIRST]):
        dof = h.rows.dof[i]
        if dof >= 0:
            memory.joint[dof // 8, dof % 8] = h.sol.r[i]
    for i in range(h.bil.info[COUNT]):
        memory.loop[i] = h.sol.r[h.bil.info[FIRST] + i]


@kernel
def contact_impulses(geoms, contacts, kin, frames, sol, work):
    """Impulse vector of every contact (on A) and the sums on the geometries."""
    normal = contacts.normal
    t1 = frames.t1
    t2 = frames.t2
    r = sol.r
    impulse = work.contact_impulse
    total = work.geom_impulse
    pairs = geoms.pairs
    body = geoms.body
    for g in range(total.shape[0]):
        for a in range(6):
            total[g, a] = 0.0
    for i in range(contacts.count[0]):
        for a in range(3):
            impulse[i, a] = r[3 * i] * normal[i, a] + r[3 * i + 1] * t1[i, a] + r[3 * i + 2] * t2[i, a]
        for side in range(2):
            g = pairs[contacts.pair[i], side]
            _add_impulse(contacts.point, impulse, i, kin.p, body[g], 1.0 - 2.0 * side, total, g)


@kernel
def _add_impulse(point, impulse, i, origin, k, sign, total, g):
    """Add contact i's impulse to geometry g, about the origin of its body k (the world's for the inertial frame)."""
    x = point[i, 0]
    y = point[i, 1]
    z = point[i, 2]
    if k >= 0:
        x -= origin[k, 0]
        y -= origin[k, 1]
        z -= origin[k, 2]
    fx = sign * impulse[i, 0]
    fy = sign * impulse[i, 1]
    fz = sign * impulse[i, 2]
    mx, my, mz = cross(x, y, z, fx, fy, fz)
    total[g, 0] += mx
    total[g, 1] += my
    total[g, 2] += mz
    total[g, 3] += fx
    total[g, 4] += fy
    total[g, 5] += fz


@kernel
def keep_books(joints, dt, v, kin, alpha, rows, cones, sol, bil, work):
    """Joint efforts and the work of efforts, damping, contacts, limits, external wrenches and loops in this step.

    At fixed configuration the kinetic energy changes by exactly impulse times mean velocity; ``alpha`` is the bodies'
    velocity jump of the impulses.
    """
    for i in range(work.ledger.shape[0]):
        work.ledger[i] = 0.0
    for i in range(v.shape[0]):
        mean = 0.5 * (v[i] + work.v_next[i]) * dt
        passive = -joints.damping[i] * work.v_next[i]
        work.joint_effort[i] = work.effort[i] + passive
        work.ledger[0] += work.effort[i] * mean
        work.ledger[1] += passive * mean
    n_rows = bil.info[FIRST] + bil.info[COUNT] + bil.info[GEARS]
    row_velocities(rows, n_rows, kin.V, sol.before)
    combine_velocities(sol.before, bil)
    for r in range(cones.rows[0]):
        mean = 0.5 * (sol.before[r] + sol.u[r] - rows.offset[r])
        dof = rows.dof[r]
        if dof < 0:
            work.ledger[2] += sol.r[r] * mean
        else:
            work.ledger[3] += sol.r[r] * mean
            work.joint_effort[dof // 8] += (1.0 - 2.0 * (dof % 2)) * sol.r[r] / dt
    for k in range(work.external.shape[0]):
        for c in range(6):
            if work.external[k, c] != 0.0:
                after = work.V_free[k, c] + (alpha[k, c] if n_rows > 0 else 0.0)
                work.ledger[4] += 0.5 * dt * work.external[k, c] * (kin.V[k, c] + after)
    for r in range(bil.info[FIRST], bil.info[FIRST] + bil.info[COUNT]):
        work.ledger[5] += 0.5 * sol.r[r] * (sol.before[r] + sol.u[r] - rows.offset[r])
        if bil.bound[r - bil.info[FIRST]] > 0.0:
            work.joint_effort[rows.dof[r] // 8] += sol.r[r] / dt
    _contact_energy(rows, cones.rows[0], sol, work.contact_energy)


@kernel
def _contact_energy(rows, n_rows, sol, energy):
    """What the impulses do to the free motion, ``energy`` (2,): T(v+) - T(v_free) and sum p_n v_push [J].

    T(v+) - T(v_free) = r* (u_free + u+) / 2 with M + dt d in T, and where the rows complement each other
    r* u+ <= sum p_n v_push, so the first never exceeds the second: the difference is r* W r / 2 and friction's loss.
    """
    energy[0] = 0.0
    energy[1] = 0.0
    for r in range(n_rows):
        energy[0] += sol.r[r] * (0.5 * (sol.q[r] + sol.u[r]) - rows.offset[r])
        energy[1] += sol.r[r] * max(0.0, -rows.offset[r])


@entry
def report(h):
    """What a user reads of the contacts, one row of ``work.report`` each (REPORT_*)."""
    out = h.work.report
    h.work.info[LANDED] = 0
    for i in range(h.contacts.count[0]):
        if h.sol.before[3 * i] < -h.settings[4] and h.sol.r[3 * i] > 0.0:
            h.work.info[LANDED] += 1
        for a in range(3):
            out[i, a] = h.contacts.point[i, a]
            out[i, 3 + a] = h.contacts.normal[i, a]
            out[i, 6 + a] = h.work.contact_impulse[i, a]
        out[i, 9] = h.contacts.gap[i]
        x = h.sol.u[3 * i + 1]
        y = h.sol.u[3 * i + 2]
        sigma = np.sqrt(x * x + y * y)
        n_f = h.friction.model[1]
        if n_f > 0:  # the largest closing speed along one of the polygon's directions
            sigma = 0.0
            for d in range(n_f):
                angle = 2.0 * np.pi * d / n_f
                sigma = max(sigma, -(np.cos(angle) * x + np.sin(angle) * y))
        out[i, SIGMA] = sigma
        out[i, 11] = SEPARATE if h.sol.r[3 * i] <= 0.0 else (SLIP if sigma > STILL else STICK)
        out[i, 12] = h.contacts.pair[i]
        out[i, 13] = h.contacts.feature[i]


@entry
def begin_step(h):
    """Geometry poses, AABBs and candidate pairs of the current state; returns the number of candidates."""
    b = h.buffers
    geometry_poses(h.geoms, h.kin.R, h.kin.p, b.geom_R, b.geom_p)
    shape_travel(h.geoms, h.kin.p, h.kin.V, b.geom_p, h.settings[0], b.travel)
    aabbs(h.geoms, b.geom_R, b.geom_p, b.travel, b.lower, b.upper)
    return candidate_pairs(h.geoms, b.geom_R, b.geom_p, b.lower, b.upper, b.travel, b.order, b.candidates, b.reach)


@entry
def advance(h):
    """Write the new velocity and position, and all that follows from them."""
    shifted = False
    for i in range(h.v.shape[0]):
        h.v[i] = h.work.v_next[i]
        h.work.dv[i] = h.settings[0] * h.v[i] - h.work.shift[i]
        shifted = shifted or h.work.shift[i] != 0.0
    if shifted:
        integrate_joints(h.tree, h.work.dv, 1.0, h.q)
    else:
        integrate_joints(h.tree, h.v, h.settings[0], h.q)
    refresh(h)


@entry
def limits_missed(h):
    """Whether impulses drive a joint past a limit that was not in the problem; its ``work.speed`` is raised.

    Most limits of a robot are out of reach in most steps and cost nothing that way; but the impulse of a
    contact or of another limit can throw a joint that was at rest.
    """
    dt = h.settings[0]
    missed = False
    for k in range(h.tree.parent.shape[0]):
        if h.tree.nv[k] != 1:
            continue
        d = h.tree.v_start[k]
        reach = limit_reach(h.work.speed[d], dt)
        position = h.q[h.tree.q_start[k]] - h.work.shift[d]
        after = position + dt * h.work.v_next[d]
        fast = h.joints.velocity_limit[d]
        if abs(h.work.v_next[d]) > fast and h.work.speed[d] <= NEAR_LIMIT * fast:
            h.work.speed[d] = abs(h.work.v_next[d])
            missed = True
        below = position - h.tree.lower[d] >= reach and after < h.tree.lower[d]
        above = h.tree.upper[d] - position >= reach and after > h.tree.upper[d]
        if below or above:
            h.work.speed[d] = abs(h.work.v_next[d])
            missed = True
    return missed


@entry
def settle(h):
    """Impulses to velocities; LIMIT_MISSED where the step has to be solved again with a limit more."""
    status = apply_impulses(h)
    if status == OK and limits_missed(h):
        return LIMIT_MISSED
    return status


@entry
def close_books(h):
    """What follows from solved impulses: impulses on the shapes, work and energy, warm start, report."""
    contact_impulses(h.geoms, h.contacts, h.kin, h.frames, h.sol, h.work)
    keep_books(h.joints, h.settings[0], h.v, h.kin, h.art.alpha, h.rows, h.cones, h.sol, h.bil, h.work)
    remember(h)
    contact_moments(
        h.friction.surfaces, h.geoms, h.contacts, h.frames, h.friction.extra, h.sol.r, h.memory, h.work.geom_impulse
    )
    report(h)


@entry
def conclude(h):
    """From solved impulses to the next state."""
    close_books(h)
    advance(h)
    if h.bil.info[COUNT] > 0:
        h.bil.judge[CLOSURE] = closure_error(h)
