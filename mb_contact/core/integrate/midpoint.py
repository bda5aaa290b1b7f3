# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The structure-preserving integrator: implicit midpoint in forms that keep energy, and momentum where a body is free.

Free bodies: ``free_body.py``.  A tree of joints (q' half-way between q0 and q1 on each joint's manifold,
v' = (v0 + v1) / 2):

    (M(q') + dt/2 d) (v1 - v0) / dt = T - d v0 - C(q', v') + lambda M(q') v',     q1 = q0 o exp(dt v'),

with the one number lambda = O(dt^2) that makes T1 + U1 - T0 - U0 (U of gravity and springs) equal to the work of all
other forces at v'.  Solved by a fixed point until rounding stops it, and symmetric in time.
"""

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.servo import servo_efforts
from mb_contact.core.integrate.flow import accelerate, body_forces, ended, flow_powers, move_chart
from mb_contact.core.integrate.free_body import ROUNDING, SETTLED, free_body_step
from mb_contact.core.jit import INTEGER, kernel, on_demand
from mb_contact.core.tree.embedding import close_aggregates
from mb_contact.core.tree.gravity import gravity_of
from mb_contact.core.tree.kinematics import body_poses, body_velocities
from mb_contact.core.tree.spatial import (
    add_spatial,
    gathered,
    linear,
    matrix,
    put_spatial,
    spatial,
    spatial_dot,
    transposed,
    turned,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import OK, STEP_TOO_SMALL

ITERATIONS = 40  # of the fixed point before the step is halved
SLOW = 5  # number of the iteration from which on guesses are mixed: a whip of 300 links took 64 steps without that
ERRATIC = 4  # of these behind each other that are no better are no more than rounding; of those before it two
PATIENCE = 8  # iterations after which a growing change means divergence
HALVINGS = 12  # of a flow
STALLED = 1e-9  # relative change that may remain after PATIENCE iterations: near rest, energies have no more digits
BESIDE = 1e-6  # the same beside a singular position of an embedded loop, where accelerations have as few
EPSILON = 2.2e-16  # relative rounding of an energy
LOST = 1e-7  # part of a tree's energies below which its kinetic energy is rounding, and nothing is corrected with it
BEFORE, AFTER, KINETIC, SIZE = 0, 1, 2, 4  # rows of ``f.energies``; kinetic parts of the first two behind KINETIC


@on_demand(INTEGER)
def midpoint_flow(h, f, dt):
    """The flow over dt, in as many equal steps as the iteration needs to converge."""
    pieces = 1
    f.count[1] = 0
    f.middle[0] = 1
    for _ in range(HALVINGS + 1):
        copy(f.q_start.shape[0], f.q_start, f.q_first)
        copy(f.v_start.shape[0], f.v_start, f.v_first)
        fill(f.work.shape[0], f.work, 0.0)
        f.count[0] = pieces
        status = OK
        for piece in range(pieces):
            status = midpoint_step(h, f, dt / pieces)
            if status != OK:
                break
            if piece < pieces - 1:
                copy(f.q_start.shape[0], f.q_end, f.q_start)
                copy(f.v_start.shape[0], f.v_end, f.v_start)
                copy(f.guess.shape[0], f.v_end, f.guess)
        if status != STEP_TOO_SMALL:
            return ended(f) if status == OK else status
        copy(f.q_start.shape[0], f.q_first, f.q_start)
        copy(f.v_start.shape[0], f.v_first, f.v_start)
        copy(f.guess.shape[0], f.v_start, f.guess)
        pieces *= 2
    return STEP_TOO_SMALL


@kernel
def midpoint_step(h, f, dt):
    """One step from (q_start, v_start) to (q_end, v_end).

    STEP_TOO_SMALL where the iteration does not converge.
    """
    jointed = False
    for k in range(f.is_free.shape[0]):
        jointed = jointed or f.is_free[k] == 0
    if jointed:
        status = _tree_step(h, f, dt)
        if status != OK:
            return status
    else:
        copy(f.q_end.shape[0], f.q_start, f.q_end)
    tree = h.tree
    body_poses(tree, f.q_start, f.kin)
    body_forces(h, f)
    for k in range(f.is_free.shape[0]):
        if f.is_free[k] != 0 and not free_body_step(
            tree, f.kin.R, k, h.gravity, f.contact_force, h.work.external, f.q_start, f.v_start, dt, f.q_end, f.v_end,
            f.work,
        ):  # fmt: skip
            return STEP_TOO_SMALL
    return OK


@kernel
def _tree_step(h, f, dt):
    """The step of all bodies that are not free; those that are stand still in it."""
    tree = h.tree
    N = f.v.shape[0]
    scale = 0.0
    for i in range(N):
        f.mean[i] = f.guess[i]
        scale = max(scale, abs(f.v_start[i]))
    for k in range(f.multiplier.shape[0]):
        f.multiplier[k] = 0.0
        if f.is_free[k] != 0:
            for i in range(tree.v_start[k], tree.v_start[k] + 6):
                f.mean[i] = 0.0
    _energies_at(h, f, f.q_start, f.v_start, BEFORE)
    before = best = np.inf  # the last change of an iteration, the least one,
    since = 0  # and how many were not less
    for iteration in range(ITERATIONS):
        for i in range(N):
            f.x[i] = 0.5 * dt * f.mean[i]
            f.v[i] = f.guess[i] = f.mean[i]  # of these two embedded loops change the first
        move_chart(tree, f.q_start, f.x, f.q)
        status = accelerate(h, f, 0.5 * dt, f.v_start)
        if status != OK:
            return status
        _gather_forces(h, f)
        for k in range(tree.parent.shape[0]):
            if f.is_free[k] != 0:
                continue
            for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                force = max(abs(f.force[i]), abs(f.effort[i]), abs(f.body_effort[i]))
                scale = max(scale, dt * max(abs(f.v_dot[i]), force * f.art.D_inv[i]))  # at rest they cancel
        _set_end(h, f, dt)
        noise = _correct(h, f, dt)
        _set_end(h, f, dt)
        change = 0.0
        for i in range(N):
            if not np.isfinite(f.mean[i]):
                return STEP_TOO_SMALL
            change = max(change, abs(f.mean[i] - f.guess[i]))
            scale = max(scale, abs(f.mean[i]))
        stalled = ROUNDING
        if iteration >= PATIENCE:
            stalled = BESIDE if f.art.aggregates.base.shape[0] > 0 else STALLED
        least = SETTLED * scale + noise
        falls = 0 < iteration <= SLOW and 4.0 * change < before
        settled = change <= least or (falls and change * change <= least * before)  # as the next one is, then
        since = since + 1 if change >= best else 0
        best = min(best, change)
        stalls = since >= (2 if iteration <= SLOW else ERRATIC)
        if settled or (stalls and change <= stalled * scale):
            flow_powers(h, f, 0)
            for c in range(f.work.shape[0]):
                f.work[c] += dt * f.powers[0, c]
            return OK
        if stalls and iteration >= PATIENCE:
            return STEP_TOO_SMALL
        before = change
        _mix(h, f, dt, iteration >= SLOW)
    return STEP_TOO_SMALL


@kernel
def _mix(h, f, dt, mixes):
    """Anderson's next guess: the mean less the part of its last change that leaves the least residual, and its servos.

    Remembers mean and residual for the next one.
    """
    product = square = 0.0
    for i in range(f.v.shape[0]):
        now = f.mean[i] - f.guess[i]
        change = now - f.residual[i]
        f.residual[i] = now
        product += now * change
        square += change * change
    part = product / square if mixes and square > 0.0 else 0.0
    for i in range(f.v.shape[0]):
        now = f.mean[i]
        f.mean[i] -= part * (now - f.last[i])
        f.last[i] = now
    for k in range(f.multiplier.shape[0]):
        now = f.multiplier[k]
        f.multiplier[k] -= part * (now - f.last_multiplier[k])
        f.last_multiplier[k] = now
    if part != 0.0:
        servo_efforts(h.tree, h.joints, f.q_start, 0.5 * dt, f.mean, h.work.effort, f.effort)


@kernel
def _set_end(h, f, dt):
    """Mean and end of the velocity, and the end, by the acceleration and the multiplier at the mean ``f.v``."""
    tree = h.tree
    for k in range(tree.parent.shape[0]):
        if f.is_free[k] != 0:
            continue
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            a = f.v_dot[i] + f.multiplier[tree.root[k]] * f.v[i]
            f.mean[i] = f.v_start[i] + 0.5 * dt * a
            f.v_end[i] = f.v_start[i] + dt * a
            f.x[i] = dt * f.mean[i]
    move_chart(tree, f.q_start, f.x, f.q_end)
    servo_efforts(tree, h.joints, f.q_start, 0.5 * dt, f.mean, h.work.effort, f.effort)


@kernel
def _gather_forces(h, f):
    """Generalised forces of contacts and external wrenches on bodies, into ``f.body_effort``."""
    tree = h.tree
    for k in range(tree.parent.shape[0]):
        put_spatial(f.gathered, k, spatial(f.body_force, k))
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        force = spatial(f.gathered, k)
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            f.body_effort[i] = spatial_dot(spatial(f.kin.H, i), force)
        if tree.parent[k] >= 0:
            add_spatial(f.gathered, tree.parent[k], gathered(force, vector(f.kin.l, k)))


@kernel
def _correct(h, f, dt):
    """Move every tree's multiplier so that its energy changes by the work of its forces.

    Returns what rounding of the energies makes of the velocities half-way.
    """
    tree = h.tree
    work, fastest, lost = f.root_work, f.root_speed, f.root_loss
    for array in (work, fastest, lost):
        fill(array.shape[0], array, 0.0)
    for k in range(tree.parent.shape[0]):
        root = tree.root[k]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            u = f.mean[i]
            force = f.effort[i] + f.joint_force[i] + f.body_effort[i]
            damping = tree.damping[i]
            work[root] += dt * u * (force - damping * u)
            if h.joints.saturation[i] == 0.0:
                damping += h.joints.rate_gain[i] + 0.5 * dt * h.joints.gain[i]
            lost[root] += 0.5 * dt * damping * u * u
            fastest[root] = max(fastest[root], abs(u))
    _energies_at(h, f, f.q_end, f.v_end, AFTER)
    noise = 0.0
    for k in range(tree.parent.shape[0]):
        if tree.root[k] != k or f.is_free[k] != 0:
            continue
        kinetic = 0.5 * (f.energies[KINETIC + BEFORE, k] + f.energies[KINETIC + AFTER, k])
        if kinetic > LOST * f.energies[SIZE, k]:
            defect = f.energies[AFTER, k] - f.energies[BEFORE, k] - work[k]
            f.multiplier[k] -= defect / (dt * (2.0 * kinetic + lost[k]))
            noise = max(noise, EPSILON * f.energies[SIZE, k] / (4.0 * kinetic) * fastest[k])
    return noise


@kernel
def _energies_at(h, f, q, v, row):
    """Mechanical energies of the trees at (q, v), at their root bodies; ``SIZE`` the sum of their parts' sizes.

    Leaves poses of (q, v) in a second workspace: those of the middle are still wanted.  Embedded loops are closed.
    """
    tree = h.tree
    kin = f.kin_end
    body_poses(tree, q, kin)
    if f.art.aggregates.base.shape[0] > 0:
        close_aggregates(tree, q, v, kin, f.art.aggregates)
        body_poses(tree, q, kin)
    body_velocities(tree, kin, v, kin.V)
    energies = f.energies
    for k in range(tree.parent.shape[0]):
        energies[row, k] = 0.0
        energies[KINETIC + row, k] = 0.0
        energies[SIZE, k] = 0.0
    for k in range(tree.parent.shape[0]):
        root = tree.root[k]
        r = matrix(kin.R, k)
        c = turned(r, vector(tree.com, k))
        v_c = vector_sum(linear(kin.V, k), 1.0, vector_product(vector(kin.V, k), c))
        w = turned(transposed(r), vector(kin.V, k))
        spin = vector_dot(w, turned(matrix(tree.inertia, k), w))
        kinetic = 0.5 * (tree.mass[k] * vector_dot(v_c, v_c) + spin)
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            kinetic += 0.5 * tree.armature[i] * v[i] * v[i]
        place = vector_sum(vector(kin.p, k), 1.0, c)
        potential = -tree.mass[k] * vector_dot(gravity_of(tree, h.gravity, k), place)
        energies[row, root] += kinetic + potential
        energies[KINETIC + row, root] += kinetic
        energies[SIZE, root] += kinetic + abs(potential)
    for s in range(h.joints.sprung.shape[0]):
        k = h.joints.sprung[s]
        x = q[tree.q_start[k]] - h.joints.rest[tree.v_start[k]]
        stored = 0.5 * h.joints.stiffness[tree.v_start[k]] * x * x
        energies[row, tree.root[k]] += stored
        energies[SIZE, tree.root[k]] += stored
