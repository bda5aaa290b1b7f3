# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The stages of one time step of the operational-space formulation, in the order of their calls.

simulation/stepping/contact_step.py calls them.

    begin_step       geometry poses -> AABBs -> candidate pairs
    find_near        the same, and distances of the pairs that have closed forms
    (narrow phase: coal or fcl fill the witnesses of the others)
    find_contacts    manifolds
    smooth_dynamics  articulated sweep -> free velocity
    assemble         frames -> rows and their laws, q, warm start
    assemble_problem blocks in islands, W by rows, nodes or bodies (problem.py)
    solve            proximal Newton steps, island by island (problem.py, core/solve)
    settle           impulse sweep -> new velocity; corrected where the operator misses it; again with a limit more
    conclude         certificate, energy, report; new velocity and position -> their kinematics

Between steps ``kin`` always describes the current state.  q and v are written last, so a step that fails leaves the
state untouched.
"""

import numpy as np

from mb_contact.core.arrays import fill
from mb_contact.core.collision.broadphase import candidate_pairs
from mb_contact.core.collision.closed_forms import ASKED, NEAR, closed_witnesses
from mb_contact.core.collision.geometry import aabbs, geometry_poses, shape_travel
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.constraints.bilateral import CLOSURE, COUNT, LOADS, ROUNDS, TENDONS
from mb_contact.core.constraints.flat_manifolds import level_points
from mb_contact.core.constraints.gear import partner_impulses
from mb_contact.core.constraints.hinge import hinge_limits_missed
from mb_contact.core.constraints.joint_friction import ROUNDS_MOST, loads_differ, next_bounds
from mb_contact.core.constraints.limit import NEAR_LIMIT, limit_reach
from mb_contact.core.constraints.rows import row_impulses
from mb_contact.core.constraints.servo import (
    change_saturation,
    release_servos,
    servo_damping,
    servo_efforts,
    servo_forces,
)
from mb_contact.core.constraints.spring import spring_forces, stiffen
from mb_contact.core.constraints.torsion_rolling import add_moments
from mb_contact.core.handle import DT, EULER, MEASURED, TOLERANCE
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.lcp.certificate import GAP, INFEASIBLE
from mb_contact.core.solve.newton_step import attainable, copy_rows
from mb_contact.core.solve.system import BLOCKS, BY_BODIES, ROWS
from mb_contact.core.step.certify import certify_step, check_ray
from mb_contact.core.step.closing import closure_error, keep_state, refresh_closed
from mb_contact.core.step.energy_balance import add_impulses, balance_energy, impulse_vectors
from mb_contact.core.step.foundations import lay_foundations
from mb_contact.core.step.need import begin_review
from mb_contact.core.step.pads import pull
from mb_contact.core.step.problem import AGAIN, ANEW, publish_impulses, rows_in_use, solve
from mb_contact.core.step.push_out import keep_push_out, restore_push_out
from mb_contact.core.step.report import report
from mb_contact.core.step.sheet_sides import keep_one_side
from mb_contact.core.step.sleep import has_sleepers, hold_coordinates, hold_velocities
from mb_contact.core.step.softness import keep_stretch
from mb_contact.core.step.tendons import book_work, pull_bodies
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration, impulse_response
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.workspace import BAD_BODY, ITERATIONS, STAGE
from mb_contact.types import LIMIT_MISSED, NOT_FINITE, OK, SOLVER_OVER_BUDGET


@kernel
def find_contacts(h, candidates):
    """Manifolds of the candidate pairs, from the narrow phase's witnesses.

    Reads: buffers, contacts, geoms, gravity, memory, need, settings.  Writes: bil, buffers, contacts, need, work.
    """
    b = h.buffers
    status = build_contacts(
        h.geoms, b.geom_R, b.geom_p, b.travel, b.candidates, candidates, b.reach, b.witness, b.work, h.contacts
    )
    keep_one_side(h)
    begin_review(h)
    h.bil.info[ROUNDS] = 0
    if status == OK and h.soft.start.shape[0] > 0:
        status = lay_foundations(h, candidates)
    level_points(h.contacts)
    return status


@kernel
def smooth_dynamics(h):
    """Velocity after dt without contacts and limits: ``work.v_free`` and the bodies' ``work.V_free``.

    Reads: art, effort, gravity, joints, kin, q, settings, tree, v, work.  Writes: art, hinges, joints, work.
    """
    tree = h.tree
    work = h.work
    dt = h.settings[DT]
    stiffen(h.joints, dt)
    servo_damping(tree, h.joints, dt)
    status, body = articulated_inertias(tree, h.kin, dt, h.art)
    if status != OK:
        work.info[BAD_BODY] = body
        return status
    for i in range(h.v.shape[0]):
        limit = tree.effort_limit[i]
        work.effort[i] = min(max(h.effort[i], -limit), limit)
        work.force[i] = work.effort[i]
        work.implicit[i] = dt * tree.damping[i]
    servo_forces(tree, h.joints, h.q, work.force)
    spring_forces(tree, h.joints, h.q, work.force)
    free_acceleration(tree, h.kin, h.art, h.gravity, work.force, h.v, work.external, work.v_dot)
    for i in range(h.v.shape[0]):
        work.v_free[i] = h.v[i] + dt * work.v_dot[i]
        work.speed[i] = abs(work.v_free[i])
    fill(h.hinges.speed.shape[0], h.hinges.speed, 0.0)
    body_velocities(tree, h.kin, work.v_free, work.V_free)
    return OK


@kernel
def apply_impulses(h):
    """v_next = v_free + M^-1 J* p by the impulse sweep, velocities of the rows, and the certificate; a status.

    Reads: art, bil, kin, rows, sol, system, tree, work.  Writes: art, bil, sol, work.
    """
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
    certify_step(h)
    return OK


@kernel
def begin_step(h):
    """Geometry poses, AABBs and candidate pairs of the current state; the forces of pads
    and tendons.

    Reads: buffers, flow, geoms, kin, pads, settings, tendons, tree, work.  Writes: buffers, pads, work.
    """
    b = h.buffers
    geometry_poses(h.geoms, h.kin.R, h.kin.p, b.geom_R, b.geom_p)
    shape_travel(h.geoms, h.kin.p, h.kin.V, b.geom_p, h.settings[DT], b.travel)
    aabbs(h.geoms, b.geom_R, b.geom_p, b.travel, b.lower, b.upper)
    b.found[NEAR] = candidate_pairs(
        h.geoms, b.geom_R, b.geom_p, b.lower, b.upper, b.travel, b.swept, b.resting, b.candidates, b.reach
    )
    if h.pads.applied.shape[0] > 0:
        pull(h)
    if h.tendons.length.shape[0] > 0 and (h.tendons.flows[0] == 0 or h.flow.rule[0] == EULER):
        pull_bodies(h)


@kernel
def find_near(h):
    """``begin_step``, and witnesses of the pairs that have closed forms; for how many pairs the engine is needed.

    Reads: buffers, flow, geoms, kin, pads, settings, tendons, tree, work.  Writes: buffers, pads, work.
    """
    begin_step(h)
    closed_witnesses(h.geoms, h.buffers)
    return h.buffers.found[ASKED]


@kernel
def advance(h):
    """Write the new velocity and position, and all that follows from them; a status.

    Where the loops of an aggregate cannot be closed there, the state stays what it was.  Their dependent coordinates
    start from a guess to second order, for v, which is that of the step's end, leads by half of dt times what the loops
    add to the acceleration: one Newton step less.
    Reads: art, gears, gravity, joints, kin, need, q, settings, sleep, soft, tendons, tree, v, work.
    Writes: art, kin, q, tendons, v, work.
    """
    keep_state(h)
    g, dt = h.art.aggregates, h.settings[DT]
    shifted = g.dof.shape[0] > 0
    for i in range(h.v.shape[0]):
        h.v[i] = h.work.v_next[i]
        h.work.dv[i] = dt * h.v[i] + h.need.ahead[i] - h.work.shift[i]
        shifted = shifted or h.work.shift[i] != 0.0 or h.need.ahead[i] != 0.0
    for e in range(g.dof.shape[0]):
        h.work.dv[g.dof[e]] -= 0.5 * dt * dt * g.bias[e]
    if shifted:
        integrate_joints(h.tree, h.work.dv, 1.0, h.q)
    else:
        integrate_joints(h.tree, h.v, h.settings[DT], h.q)
    if has_sleepers(h):
        hold_coordinates(h)
    return refresh_closed(h)


@kernel
def limits_missed(h):
    """Whether impulses drive a joint past a limit that was not in the problem; its ``work.speed`` is raised.

    Most limits of a robot are out of reach in most steps and cost nothing that way; but the impulse of a
    contact or of another limit can throw a joint that was at rest.

    Reads: joints, q, settings, tree, work.  Writes: work.
    """
    dt = h.settings[DT]
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


@on_demand(INTEGER)
def solve_corrected(h):
    """The problem solved again for what its operator misses of the impulse sweep; a status.

    M of a long chain is so uneven that its rounding moves contacts (docs/design.md, "Long chains").

    Reads: art, bil, compliance, contacts, forest, kin, memory, need, rows, settings, sleep, sol, solver, system, tree,
    work.
    Writes: art, bil, compliance, forest, rows, sol, system, work.
    """
    P, stage, steps = h.system, h.work.info[STAGE], h.work.info[ITERATIONS]
    for i in range(P.count[ROWS]):
        if P.immobile[i] == 0:
            P.q[i] += h.sol.u[P.source[i]] - P.u[i]
    status = solve(h, AGAIN)
    h.work.info[STAGE] = max(stage, h.work.info[STAGE])
    h.work.info[ITERATIONS] += steps
    return apply_impulses(h) if status == OK else status


@on_demand(INTEGER)
def solve_from_zero(h):
    """The problem solved from zero, where impulses are so large that their rounding fails the certificate; a status.

    Walls may press a body by any force and fulfil the laws, and warm impulses would carry it on.  An island whose
    search comes to no end is solved without small penetrations.  The impulses before stay where these are no better.

    Reads: art, bil, compliance, contacts, forest, kin, memory, need, rows, settings, sleep, sol, solver, system, tree,
    work.
    Writes: art, bil, compliance, forest, rows, sol, system, work.
    """
    P, info, worst = h.system, h.work.info, _worst(h)
    stage, steps = info[STAGE], info[ITERATIONS]
    keep_push_out(h)
    copy_rows(0, P.count[ROWS], P.r, P.work.strained)
    fill(P.count[ROWS], P.r, 0.0)
    status = solve(h, ANEW)
    if status == OK:
        status = apply_impulses(h)
    info[ITERATIONS] += steps
    if status == NOT_FINITE or (status == OK and not _worst(h) < worst):
        copy_rows(0, P.count[ROWS], P.work.strained, P.r)
        publish_impulses(h)
        restore_push_out(h)
        info[STAGE] = stage
        status = apply_impulses(h)
    return status


@kernel
def _worst(h):
    """The largest residual of the certificate."""
    return max(h.sol.residuals[GAP], h.sol.residuals[INFEASIBLE], h.sol.loops[0])


@kernel
def _is_strained(h):
    """Whether the certificate fails, and rounding of impulses of this size is above the tolerance."""
    P, tolerance = h.system, h.solver[TOLERANCE]
    if h.sol.solved[0] == 0 or P.count[BLOCKS] == 0 or has_sleepers(h) or _worst(h) <= tolerance:
        return False
    return attainable(P, 0, P.count[ROWS], tolerance) > tolerance


@kernel
def _misses(h):
    """Whether impulses that solve a problem posed by bodies, in which nothing sleeps, fail the certificate."""
    P = h.system
    if h.sol.solved[0] == 0 or P.count[BLOCKS] == 0 or P.form[0] != BY_BODIES or has_sleepers(h):
        return False
    tolerance = h.solver[TOLERANCE]
    enough = max(tolerance, attainable(P, 0, P.count[ROWS], tolerance))
    return _worst(h) > enough and h.work.info[STAGE] != SOLVER_OVER_BUDGET


@kernel
def settle(h):
    """Impulses to velocities; LIMIT_MISSED where the step has to be solved again, with a limit more or with friction
    that its loads ask for.

    Reads: art, bil, compliance, contacts, forest, hinges, joints, kin, memory, need, q, rows, settings, sleep, sol,
    solver, system, tree, v, work.
    Writes: art, bil, compliance, forest, hinges, rows, sol, system, work.
    """
    status = apply_impulses(h)
    if status == OK and _misses(h):
        status = solve_corrected(h)
    if status == OK and _is_strained(h):
        status = solve_from_zero(h)
    if status != OK:
        return status
    if h.bil.info[LOADS] != 0 and loads_differ(h.bil, h.rows, h.sol.r):
        if h.bil.info[ROUNDS] < ROUNDS_MOST:
            return LIMIT_MISSED
        next_bounds(h.bil, h.system, h.system.count[ROWS], h.rows)
        h.work.info[STAGE] = SOLVER_OVER_BUDGET
        certify_step(h)
    if has_sleepers(h):
        hold_velocities(h)
    hinges = h.hinges.body.shape[0] > 0 and hinge_limits_missed(h.hinges, h.kin, h.work.v_next, h.settings[DT])
    return LIMIT_MISSED if limits_missed(h) or hinges else OK


@kernel
def misses_loads(h):
    """Whether a solved phase of an impact has friction that its loads do not ask for: then it is solved again.

    Behind the last round its residual is told.  Reads: bil, rows, sol, system.  Writes: bil, rows, system.
    """
    if h.bil.info[LOADS] == 0 or not loads_differ(h.bil, h.rows, h.sol.r):
        return False
    next_bounds(h.bil, h.system, h.system.count[ROWS], h.rows)
    return h.bil.info[ROUNDS] < ROUNDS_MOST


@kernel
def saturate(h):
    """Whether servos were taken at their limits, or not, that are otherwise: then the step is solved again.

    Reads: joints, q, settings, tree, work.  Writes: joints.
    """
    return change_saturation(h.tree, h.joints, h.q, h.settings[DT], h.work.effort, h.work.v_next)


@kernel
def record_step(h):
    """What follows from solved impulses: impulses on the shapes, work and energy, report.

    Reads: art, bil, contacts, end, frames, friction, geoms, joints, kin, need, rows, settings, soft, sol, tendons, v,
    work.
    Writes: soft, work.
    """
    impulse_vectors(h.contacts, h.frames, h.sol.r, h.work.contact_impulse)
    h.work.geom_impulse[:] = 0.0
    add_impulses(h, h.contacts, h.work.contact_impulse, h.work.geom_impulse)
    balance_energy(
        h.joints, h.settings[DT], h.v, h.kin, h.art.alpha, h.rows, h.sol, h.bil, h.contacts.count[0],
        h.end.ahead, h.need.rolls, h.work,
    )  # fmt: skip
    if h.bil.info[TENDONS] > 0:
        book_work(h)
    add_moments(
        h.friction.surfaces, h.geoms, h.contacts, h.frames, h.friction.extra, h.sol.r, h.work.geom_impulse
    )
    if h.soft.start.shape[0] > 0:
        keep_stretch(h)
    report(h)


@kernel
def conclude(h):
    """From solved impulses to the next state; a status.

    Reads: art, bil, closing, closures, contacts, drift, end, frames, friction, gears, geoms, gravity, joints, kin,
    loop, need, q, rows, settings, sleep, soft, sol, tendons, tree, v, work.
    Writes: art, bil, closing, joints, kin, loop, q, soft, tendons, v, work.
    """
    servo_efforts(h.tree, h.joints, h.q, h.settings[DT], h.work.v_next, h.work.effort, h.work.effort)
    release_servos(h.tree, h.joints)
    record_step(h)
    status = advance(h)
    coupled = h.bil.info[COUNT] > 0 or h.art.aggregates.base.shape[0] > 0
    if coupled and h.drift[MEASURED] != 0.0:
        h.bil.residuals[CLOSURE] = closure_error(h)
    return status
