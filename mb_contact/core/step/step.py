# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The stages of one time step of the operational-space formulation; simulation/contact_step.py calls them in order.

    begin_step       geometry poses -> AABBs -> candidate pairs
    (narrow phase: FCL fills the witnesses)
    find_contacts    manifolds
    smooth_dynamics  articulated sweep -> free velocity
    solve_contacts   frames -> rows -> Upsilon, Omega, W -> loops and gears eliminated -> solver ladder
    settle           impulse sweep -> new velocity; again with a limit more if it passes one
    conclude         books, warm start, report; new velocity and position -> their kinematics

Between steps ``kin`` always describes the current state.  No stage forms the mass matrix, its inverse or
a Jacobian.  q and v are written last, so a step that fails leaves the state untouched.
"""

from __future__ import annotations

import numpy as np

from mb_contact.core.collision.broadphase import candidate_pairs
from mb_contact.core.collision.geometry import aabbs, geometry_poses, shape_travel
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.jit import entry, kernel
from mb_contact.core.lcp.ladder import LEMKE_ATTEMPTS, solve_rungs, solve_step
from mb_contact.core.rows.bilateral import (
    COUNT,
    FIRST,
    GEARS,
    PICKED,
    ROUNDS,
    bilateral_residuals,
    bilateral_rows,
    combine_gears,
    combine_velocities,
    correct_impulses,
    factor_bilateral,
    fixed_impulses,
    hold_rows,
    measure_rows,
    recover_impulses,
    reduce_velocities,
)
from mb_contact.core.rows.contact_rows import (
    NEAR_LIMIT,
    contact_frames,
    contact_rows,
    limit_reach,
    limit_rows,
    row_impulses,
    row_sides,
    row_velocities,
)
from mb_contact.core.rows.flat_manifolds import level_offsets, level_points
from mb_contact.core.rows.joint_forces import friction_changes, pose_friction, spring_forces, stiffen
from mb_contact.core.step.closing import mend_closures, refresh
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.tree.compliance import compliance_blocks, compliance_sweep, mark_essential, row_compliance
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import cross
from mb_contact.types import LIMIT_MISSED, LOWER, NOT_FINITE, OK, RUB, SOLVER_FAILED, SOLVER_NO_PUSH_OUT, UPPER

RUNG = 0  # entries of StepWork.info
ITERATIONS = 1
BAD_BODY = 2
LANDED = 3
CORRECT_FROM = 1e-13  # [sqrt(N s m/s)] residual of loops and gears from which on their impulses are refined
TOUCHING = 1e-9  # [m]
MANY = 60  # contacts and limits from which on Lemke's algorithm takes seconds: it comes last there
SIGMA = 10  # entry of a row of StepWork.report


@entry
def find_contacts(h, candidates):
    """Manifolds of the candidate pairs, from the narrow phase's witnesses; the joints' friction starts as it ended."""
    b = h.buffers
    h.bil.info[ROUNDS] = 0
    for i in range(h.bil.state.shape[0]):
        h.bil.state[i] = h.memory.limit_state[i, RUB]
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
    """Rows, warm states, W and q of the OS problem (J14 Eq. 53)."""
    pose_frames(h)
    pose_rows(h)
    row_system(h)


@entry
def pose_frames(h):
    """Tangents of the contacts."""
    contact_frames(h.geoms, h.contacts, h.kin, h.memory, h.settings[3], h.frames)


@entry
def pose_rows(h):
    """Rows and warm states of contacts and limits."""
    dt = h.settings[0]
    contact_rows(
        h.geoms, h.contacts, h.kin, h.frames, h.memory, dt, h.settings[1], h.settings[2], h.rows, h.cones, h.sol.state
    )
    limit_rows(
        h.tree, h.joints.velocity_limit, h.kin, h.q, h.work.speed, dt, h.settings[1], h.settings[2], h.memory, h.rows,
        h.cones, h.sol.state,
    )  # fmt: skip
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
def pose_bilateral(h):
    """Rows of loops and gears behind all that stand in ``h.cones``; returns the number of rows in use."""
    first = h.cones.rows[0]
    rate = h.drift[0] * min(1.0, h.settings[0] / h.drift[2])  # a shorter step takes back a smaller part
    bilateral_rows(
        h.tree, h.kin, h.q, h.closures, h.joints.rubbing, h.gears, h.settings[0], rate, first, h.rows,
        h.loop, h.bil,
    )  # fmt: skip
    pose_friction(h.joints, h.settings[0], h.work.v_free, h.bil)
    return rows_in_use(h)


@entry
def rows_in_use(h):
    """Rows of contacts, limits, loops and gears, with the partner rows of the gears."""
    return h.bil.info[FIRST] + h.bil.info[COUNT] + h.bil.info[GEARS]


@entry
def row_system(h):
    """W = B* Omega B and q = B* V_free + offset of all rows, what loops and gears leave of them."""
    n_rows = pose_bilateral(h)
    if n_rows == 0:
        return
    count = mark_essential(h.tree, h.rows.touched, h.com)
    compliance_sweep(h.tree, h.kin, h.art, h.com)
    compliance_blocks(h.tree, h.com, count)
    row_sides(h.com, h.rows, n_rows)
    row_compliance(h.com, h.rows, n_rows, count, h.sol.W)
    combine_gears(h.sol.W, h.bil)
    measure_rows(h.com, h.rows, h.sol.W, h.bil)
    factor_bilateral(h.sol.W, h.bil)
    free_row_velocities(h, n_rows, h.sol.q)
    reduce_velocities(h.sol.q, h.bil)
    hold_rows(h.cones, h.sol.q, h.bil)


@entry
def free_row_velocities(h, n_rows, q):
    """q = B* V_free + offset, with the friction impulses of the joints that slip already in V_free."""
    bil = h.bil
    fixed = False
    for i in range(n_rows):
        bil.r[i] = 0.0
    for i in range(bil.info[COUNT]):
        if bil.fixed[i] != 0.0:
            fixed = True
    if fixed:
        fixed_impulses(bil.r, bil)
        row_impulses(h.rows, n_rows, bil.r, h.work.impulse)
        impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, h.work.dv)
    for k in range(bil.V.shape[0]):
        for c in range(6):
            bil.V[k, c] = h.work.V_free[k, c] + (h.art.alpha[k, c] if fixed else 0.0)
    row_velocities(h.rows, n_rows, bil.V, q)
    combine_velocities(q, bil)
    for i in range(n_rows):
        q[i] += h.rows.offset[i]


@entry
def solve(h):
    """The complementarity problem, by the ladder; ``work.info`` tells which rung.

    Of many contacts the problem without push-out velocities comes before Lemke's algorithm on either.
    """
    attempts = LEMKE_ATTEMPTS if h.cones.count[0] < MANY else 0
    rung, iterations = solve_rungs(h.sol, h.cones, h.piv, h.lem, attempts)
    dropped = rung == SOLVER_FAILED and drop_push_out(h)
    if dropped:
        rung, more = solve_rungs(h.sol, h.cones, h.piv, h.lem, attempts)
        iterations += more
    if rung == SOLVER_FAILED and attempts == 0:
        rung, more = solve_step(h.sol, h.cones, h.piv, h.lem)
        iterations += more
    if dropped and rung != SOLVER_FAILED:
        rung = SOLVER_NO_PUSH_OUT
    h.work.info[RUNG] = rung
    h.work.info[ITERATIONS] = iterations


@entry
def drop_push_out(h):
    """Take the push-out velocities out of the problem; False where there are none.

    A body squeezed between two others cannot leave both of them; without push-out standing still is admissible.
    It is so for all contacts that touch only if gaps below TOUCHING are none here.
    """
    found = False
    least = TOUCHING / h.settings[0]
    for i in range(h.cones.rows[0]):
        offset = h.rows.offset[i]
        normal = i < 3 * h.contacts.count[0] and i % 3 == 0
        if offset < 0.0 or (normal and 0.0 < offset < least):
            found = found or offset < 0.0
            h.sol.q[i] -= offset
            h.rows.offset[i] = 0.0
    return found


@entry
def apply_impulses(h):
    """v_next = v_free + M^-1 J* p by one impulse sweep, two where loops or gears need a correction; a status."""
    work = h.work
    info = h.bil.info
    n_rows = rows_in_use(h)
    if n_rows > 0:
        if info[PICKED] >= 0:
            recover_impulses(h.sol.r, h.bil)
        _respond(h, n_rows)
        if info[COUNT] > 0:
            worst = bilateral_residuals(h.rows, work.V_free, h.art.alpha, h.sol.r, h.bil)
            if worst > CORRECT_FROM and info[PICKED] > 0:
                correct_impulses(h.sol.r, h.bil)
                _respond(h, n_rows)
                bilateral_residuals(h.rows, work.V_free, h.art.alpha, h.sol.r, h.bil)
    for i in range(work.dv.shape[0]):
        work.v_next[i] = work.v_free[i]
        if n_rows > 0:
            work.v_next[i] += work.dv[i]
        if not np.isfinite(work.v_next[i]):
            return NOT_FINITE
    return OK


@entry
def _respond(h, n_rows):
    """dv and the bodies' velocity jump of the impulses ``h.sol.r``."""
    row_impulses(h.rows, n_rows, h.sol.r, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, h.work.dv)


@kernel
def remember(contacts, frames, cones, rows, memory, bil, sol):
    """Identities, frames and states for the next step's warm start."""
    c = contacts.count[0]
    memory.count[0] = c
    for i in range(c):
        memory.pair[i] = contacts.pair[i]
        memory.feature[i] = contacts.feature[i]
        memory.state[i] = sol.state[i]
        for a in range(3):
            memory.tangent[i, a] = frames.t1[i, a]
            memory.impulse[i, a] = sol.r[3 * i + a]
    for d in range(memory.limit_state.shape[0]):
        for i in range(RUB):
            memory.limit_state[d, i] = -1
        memory.limit_state[d, RUB] = bil.state[d]
    for i in range(c, cones.count[0]):
        dof = rows.dof[cones.start[i]]
        memory.limit_state[dof // 8, dof % 8] = sol.state[i]


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
    n_rows = max(cones.rows[0], bil.info[FIRST] + bil.info[COUNT] + bil.info[GEARS])
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
        work.ledger[5] += 0.5 * sol.r[r] * (sol.before[r] + bil.u[r] - rows.offset[r])
        if bil.bound[r - bil.info[FIRST]] > 0.0:
            work.joint_effort[bil.dof[r - bil.info[FIRST]]] += sol.r[r] / dt
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
        sigma = 0.0
        for d in range(h.cones.cosine.shape[0]):
            closing = h.cones.cosine[d] * h.sol.u[3 * i + 1] + h.cones.sine[d] * h.sol.u[3 * i + 2]
            sigma = max(sigma, -closing)
        out[i, SIGMA] = sigma
        out[i, 11] = h.sol.state[i]
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
    """Impulses to velocities; LIMIT_MISSED where the step has to be solved again: one limit more, other friction."""
    status = apply_impulses(h)
    if status == OK and (limits_missed(h) or friction_changes(h.sol.r, h.bil)):
        return LIMIT_MISSED
    return status


@entry
def solve_contacts(h):
    """The step's complementarity problem with the polyhedral cone, posed and solved."""
    assemble(h)
    solve(h)


@entry
def conclude(h):
    """From solved impulses to the next state: impulses on the shapes, books, warm start, report, q and v."""
    contact_impulses(h.geoms, h.contacts, h.kin, h.frames, h.sol, h.work)
    keep_books(h.joints, h.settings[0], h.v, h.kin, h.art.alpha, h.rows, h.cones, h.sol, h.bil, h.work)
    remember(h.contacts, h.frames, h.cones, h.rows, h.memory, h.bil, h.sol)
    report(h)
    advance(h)
    if h.bil.info[COUNT] > 0:
        mend_closures(h)
