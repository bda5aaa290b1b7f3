# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts whose points wander while a flow goes on: the forces of their impulses, and their rows where it ends.

A disc on its rim, a pivoting rod, a ball on a ball: the contact point of the start of a step is not that of its end.
The solved impulses p tell where the step ends, and the narrow phase where contacts are then.  With their rows J(q1) the
step is second order in time:

    forces   (J*(q0) + J*(q1)) p / (2 dt) on the bodies all the while, about their origins
    laws     of normals and of what sticks: J(q1) v1;  what slides is opposed along the mean of J(q0) v0 and J(q1) v1
             (``end_laws.py``)

If neither row moves at its end, the work of p is the product of two changes, (J1 - J0)(v0 - v1) p / 4: third order in a
step.  A force that goes over from one row to the other does two thirds of that, and tilts what slides over a border.

The end is that of a constant inertia, v1 = v_free + M^-1 (J0* p + J1* p) / 2, found twice: first with J0 alone, for the
poses that the narrow phase looks at, then with the arms found there.  The problem that is solved behind that has the
rows (J0 + J1) / 2 (``constraints/mean_rows.py``), so that its operator says what all impulses do, among them those that
the first problem leaves open.  Where the contact's features are others at the end, its point goes with the bodies'
surfaces.
"""

from typing import NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.arrays import copy
from mb_contact.core.collision.closed_forms import ASKED, NEAR, closed_witnesses
from mb_contact.core.collision.geometry import geometry_poses
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.constraints.contact import find_contact, tangential
from mb_contact.core.constraints.mean_rows import mean_rows
from mb_contact.core.constraints.torsion_rolling import moments
from mb_contact.core.handle import DT, UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.integrate.end_laws import ask_at_end, is_kept
from mb_contact.core.integrate.flow import begin_flow, move_chart
from mb_contact.core.jit import kernel
from mb_contact.core.step.problem import AGAIN, pose, solve, start
from mb_contact.core.step.step import rows_in_use, settle
from mb_contact.core.tree.articulated import impulse_response
from mb_contact.core.tree.kinematics import body_poses
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    add_spatial,
    body_point,
    matrix,
    put_spatial,
    put_vector,
    spatial,
    spatial_sum,
    transposed,
    turned,
    vector,
    vector_product,
    vector_sum,
    wrench_at,
)
from mb_contact.core.workspace import ITERATIONS, NO_BLOCK
from mb_contact.types import GAINED_ENERGY, OK, Contacts

AT_REST = 1e-9  #: motion of bodies in a step below which their contacts do not wander [m, rad]
ROUNDS = 3  #: of correcting the velocities of the end
AGREED = 1e-10  #: change of theirs that is none [m/s],
DIVERGED = 1e-3  #: and one that, where it is larger than an earlier one, shows a step that is too long
NO_FRAME = 0.5  #: part of the first tangent along the surface below which the contact has turned over


class PosesArrays(NamedTuple):
    """Poses that are not the state's, and what the narrow phase finds there."""

    buffers: object  #: CollisionBuffers
    contacts: Contacts


PosesArraysHandleType, PosesArraysHandle, make_poses_handle = handle(PosesArrays)


@kernel
def hold_impulses(h, f):
    """A flow from the state with the solved impulses as forces; True if there are any.

    Those on joints' own rows are constant generalised forces, those of contacts go with their frames.
    """
    begin_flow(h, f)
    dt, contacts = h.settings[DT], h.contacts.count[0]
    any_force = False
    for r in range(rows_in_use(h)):
        p = h.sol.r[r] / dt
        if p == 0.0:
            continue
        any_force = True
        dof = h.rows.dof[r]
        if dof >= 0:
            f.joint_force[dof] += h.rows.sign[r] * p
            if r < h.rows.end[0]:
                f.limit_force[dof] += h.rows.sign[r] * p
        elif not (r < 3 * contacts or (r < h.rows.end[0] and h.rows.law[r] == NO_BLOCK)):
            _add_row(h.rows, r, p, f.contact_force)
    for i in range(contacts if any_force else 0):
        if f.end_known[0] == 0:
            _add_contact(h, i, 1.0 / dt, _start_frame(h, i), f.contact_force)
        else:
            _add_contact(h, i, 0.5 / dt, _start_frame(h, i), f.contact_force)
            _add_contact(h, i, 0.5 / dt, _end_frame(h, i), f.contact_force)
    return any_force


@kernel
def _add_row(rows, r, p, force):
    """Add row r's force p to the forces (n, 6) on the bodies."""
    if rows.body_a[r] >= 0:
        add_spatial(force, rows.body_a[r], spatial_sum(STILL, p, spatial(rows.on_a, r)))
    if rows.body_b[r] >= 0:
        add_spatial(force, rows.body_b[r], spatial_sum(STILL, p, spatial(rows.on_b, r)))


@kernel
def _start_frame(h, i):
    """Normal, tangents and arms from the origins of both bodies of contact i where the step starts."""
    pair = h.geoms.pairs[h.contacts.pair[i]]
    a, b = h.geoms.body[pair[0]], h.geoms.body[pair[1]]
    point, spread = vector(h.contacts.point, i), vector(h.contacts.spread, i)
    arm_a = vector_sum(vector_sum(point, 1.0, spread), -1.0, vector(h.kin.p, a)) if a >= 0 else ZERO
    arm_b = vector_sum(vector_sum(point, -1.0, spread), -1.0, vector(h.kin.p, b)) if b >= 0 else ZERO
    return vector(h.contacts.normal, i), vector(h.frames.t1, i), vector(h.frames.t2, i), arm_a, arm_b


@kernel
def _end_frame(h, i):
    """``_start_frame`` where the step ends."""
    end = h.end
    frame = vector(end.normal, i), vector(end.t1, i), vector(end.t2, i)
    return frame[0], frame[1], frame[2], vector(end.arm_a, i), vector(end.arm_b, i)


@kernel
def _add_contact(h, i, rate, frame, force):
    """Add contact i's impulse and moments, in this frame and times ``rate``, to the forces (n, 6) on the bodies."""
    r = h.sol.r
    pair = h.contacts.pair[i]
    a, b = h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]]
    f = _in_frame(frame, rate * r[3 * i], rate * r[3 * i + 1], rate * r[3 * i + 2])
    x, y, z = moments(h.friction.surfaces, pair, h.friction.extra[i], r)
    m = _in_frame(frame, rate * x, rate * y, rate * z) + ZERO
    if a >= 0:
        add_spatial(force, a, spatial_sum(m, 1.0, wrench_at(frame[3], f)))
    if b >= 0:
        add_spatial(force, b, spatial_sum(spatial_sum(STILL, -1.0, m), -1.0, wrench_at(frame[4], f)))


@kernel
def _in_frame(frame, x, y, z):
    """The vector of these components along normal and tangents."""
    return vector_sum(vector_sum(vector_sum(ZERO, x, frame[0]), y, frame[1]), z, frame[2])


@kernel
def look_at_end(h, f, p):
    """Where the step ends with the present impulses: of its candidates those of kept contacts there, where any wander.

    Before ``solve_at_end`` the engine has to be asked for those that have no closed form.
    """
    p.buffers.found[NEAR] = p.buffers.found[ASKED] = 0
    if h.buffers.found[NEAR] == 0 or not _wander(h) or not _end_velocity(h, f):
        return
    f.ends_free[0] = 0
    dt = h.settings[DT]
    for i in range(f.v.shape[0]):
        f.x[i] = 0.5 * dt * (f.v_start[i] + f.v_end[i])
    move_chart(h.tree, f.q_start, f.x, f.q_end)
    end_poses(h, f, p)
    end_witnesses(h, p, _kept_pairs(h, p.buffers.candidates, p.buffers.reach))


@kernel
def solve_at_end(h, f, p):
    """The step's problem solved again, with the rows of the kept contacts at its end; a status of ``settle``.

    Where none wander the solution is only polished.  GAINED_ENERGY where the velocities at the end have no end: in
    folds each round's impulses were 30 times those before.
    """
    h.end.solved[0] = 0
    _keep(h)
    status = pose_at_end(h, f, p)
    if status == OK and (f.end_known[0] != 0 or h.work.info[ITERATIONS] > 0):
        status = solve_again(h)
    _keep(h)
    least = np.inf
    for turn in range(ROUNDS + 1):
        change = asked_change(h, f) if status == OK else 0.0
        if change == 0.0:
            break
        if has_diverged(h, change, least):
            return GAINED_ENERGY
        if turn < ROUNDS:
            least, status = min(least, change), solve_again(h)
            _keep(h)
    return status


@kernel
def _keep(h):
    """Keep what this problem of the step has solved, for derivatives (``gradients/flow_step.py``)."""
    problem, rows = h.end.solved[0], rows_in_use(h)
    copy(rows, h.sol.r, h.end.r[problem])
    copy(rows, h.sol.u, h.end.u[problem])
    h.end.solved[0], h.end.solved[1] = problem + 1, rows


@kernel
def pose_at_end(h, f, p):
    """The problem of mean rows, if any contact wanders; a status."""
    if p.buffers.found[NEAR] == 0:
        return OK
    end_contacts(h, p, p.buffers.found[NEAR])
    _set_ends(h, f, p.contacts)
    mean_rows(h)
    return pose(h, True)


@kernel
def asked_change(h, f):
    """Change of the velocities ``sol.q`` that the kept contacts' rows at the end ask for [m/s]; 0 where they agree."""
    change = ask_at_end(h, f) if f.end_known[0] != 0 and _end_velocity(h, f) else 0.0
    return 0.0 if change <= AGREED * h.settings[UNIT_SPEED] else change


@kernel
def has_diverged(h, change, least):
    """Whether rounds of such velocities have no end: a change of DIVERGED that is larger than an earlier one."""
    return not change <= max(least, DIVERGED * h.settings[UNIT_SPEED])


@kernel
def solve_again(h):
    """The step's problem solved from its impulses, for other velocities ``sol.q``; a status of ``settle``."""
    start(h)
    status = solve(h, AGAIN)
    return settle(h) if status == OK else status


@kernel
def _end_velocity(h, f):
    """``f.v_end`` of the present impulses for the inertia of the start; True if there are any.

    To second order it is that of the flow.
    """
    if not hold_impulses(h, f):
        return False
    dt = h.settings[DT]
    for k in range(f.contact_force.shape[0]):
        put_spatial(h.work.impulse, k, spatial_sum(STILL, dt, spatial(f.contact_force, k)))
    for i in range(f.v.shape[0]):
        f.force[i] = dt * f.joint_force[i]
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, f.force, f.v)
    for i in range(f.v.shape[0]):
        f.v_end[i] = h.work.v_free[i] + f.v[i]
    return True


@kernel
def _wander(h):
    """Whether the bodies of any kept contact move in this step."""
    least = AT_REST * h.settings[UNIT_LENGTH] / h.settings[DT]
    for i in range(h.contacts.count[0]):
        if not is_kept(h, i):
            continue
        for side in range(2):
            k = h.geoms.body[h.geoms.pairs[h.contacts.pair[i], side]]
            for c in range(6 if k >= 0 else 0):
                if abs(h.kin.V[k, c]) > least or abs(h.work.V_free[k, c] + h.art.alpha[k, c]) > least:
                    return True
    return False


@kernel
def _kept_pairs(h, candidates, reach):
    """The candidates of the step whose pairs have kept contacts, and their reach; returns how many."""
    b = h.buffers
    found = 0
    at = 0
    for i in range(b.found[NEAR]):
        kept = False
        while at < h.contacts.count[0] and h.contacts.pair[at] == b.candidates[i]:
            kept = kept or is_kept(h, at)
            at += 1
        if kept:
            candidates[found] = b.candidates[i]
            reach[found] = b.reach[i]
            found += 1
    return found


@kernel
def end_poses(h, f, p):
    """Poses of the geometries at the end of a flow."""
    body_poses(h.tree, f.q_end, f.kin)
    geometry_poses(h.geoms, f.kin.R, f.kin.p, p.buffers.geom_R, p.buffers.geom_p)


@kernel
def end_witnesses(h, p, count):
    """Closed-form witnesses of the first ``count`` candidates of other poses; how many have none."""
    p.buffers.found[NEAR] = count
    closed_witnesses(h.geoms, p.buffers)
    return p.buffers.found[ASKED]


@kernel
def end_contacts(h, p, count):
    """Contacts of the first ``count`` candidates of other poses, behind the narrow phase."""
    b = p.buffers
    build_contacts(h.geoms, b.geom_R, b.geom_p, b.travel, b.candidates, count, b.reach, b.witness, b.work, p.contacts)


@kernel
def correct_kept(h, f, p):
    """Rows of the kept contacts where the flow has ended, behind ``end_poses`` and ``end_contacts``.

    Returns the largest change of the velocities that they ask for [m/s].
    """
    _set_ends(h, f, p.contacts)
    return ask_at_end(h, f)


@kernel
def _set_ends(h, f, contacts):
    """Frames and arms of the step's contacts where it ends, of the ``contacts`` there."""
    f.end_known[0] = 1
    for i in range(h.contacts.count[0]):
        _set_end(h, f, contacts, i)


@kernel
def _set_end(h, f, contacts, i):
    """Frame of contact i at the end of the flow, and the arms to it from the bodies' origins there."""
    end = h.end
    pair = h.contacts.pair[i]
    a, b = h.geoms.body[h.geoms.pairs[pair, 0]], h.geoms.body[h.geoms.pairs[pair, 1]]
    start, n, t = vector(h.contacts.point, i), vector(h.contacts.normal, i), vector(h.frames.t1, i)
    if h.friction.mu[i, 0] != h.friction.mu[i, 1]:  # the first tangent is a direction of one body
        k = a if h.friction.surfaces.side[pair] == 0 else b
        if k >= 0:
            t = turned(matrix(f.kin.R, k), turned(transposed(matrix(h.kin.R, k)), t))
    j = find_contact(contacts, pair, h.contacts.feature[i], i)
    if j >= 0 and tangential(t, vector(contacts.normal, j))[1] >= NO_FRAME:
        point, n = vector(contacts.point, j), vector(contacts.normal, j)
    else:  # its features are others, or it has turned over
        both = vector_sum(_carried(h.kin, f.kin, a, start), 1.0, _carried(h.kin, f.kin, b, start))
        point = vector_sum(ZERO, 0.5, both)
    along, size = tangential(t, n)
    put_vector(end.normal, i, n)
    t = along[0] / size, along[1] / size, along[2] / size
    put_vector(end.t1, i, t)
    put_vector(end.t2, i, vector_product(n, t))
    if a >= 0:
        put_vector(end.arm_a, i, vector_sum(point, -1.0, vector(f.kin.p, a)))
    if b >= 0:
        put_vector(end.arm_b, i, vector_sum(point, -1.0, vector(f.kin.p, b)))


@kernel
def _carried(before, after, k, point):
    """A point of body k of one pose, in another."""
    if k < 0:
        return point
    local = turned(transposed(matrix(before.R, k)), vector_sum(point, -1.0, vector(before.p, k)))
    return body_point(after.R, after.p, k, local)
