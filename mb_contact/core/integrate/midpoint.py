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
from mb_contact.core.integrate.flow import accelerate, ended, flow_powers, move_chart, stage_forces
from mb_contact.core.integrate.free_body import ROUNDING, SETTLED, free_body_step
from mb_contact.core.jit import entry, kernel
from mb_contact.core.tree.inverse_dynamics import body_kinetic_energy
from mb_contact.core.tree.kinematics import body_inertias, body_poses, body_velocities
from mb_contact.core.tree.spatial import add_spatial, gathered, put_spatial, spatial, spatial_dot, vector
from mb_contact.types import OK, STEP_TOO_SMALL

ITERATIONS = 40  # of the fixed point before the step is halved
PATIENCE = 8  # iterations after which a growing change means divergence
HALVINGS = 12  # of a flow
STALLED = 1e-9  # relative change that may remain after PATIENCE iterations: near rest, energies have no more digits
LOST = 1e-9  # part of a tree's energies below which its kinetic energy is rounding, and nothing is corrected with it
BEFORE, AFTER, KINETIC, SIZE = range(4)  # rows of ``f.energies``


@entry
def midpoint_flow(h, f, dt):
    """The flow over dt, in as many equal steps as the iteration needs to converge."""
    pieces = 1
    f.count[1] = 0
    for _ in range(HALVINGS + 1):
        copy(f.q_start.shape[0], f.q_start, f.q_first)
        copy(f.v_start.shape[0], f.v_start, f.v_first)
        fill(f.work.shape[0], f.work, 0.0)
        f.count[0] = pieces
        status = OK
        for piece in range(pieces):
            status = midpoint_step(h, f, (piece + 0.5) * dt / pieces, dt / pieces)
            if status != OK:
                break
            if piece < pieces - 1:
                copy(f.q_start.shape[0], f.q_end, f.q_start)
                copy(f.v_start.shape[0], f.v_end, f.v_start)
        if status != STEP_TOO_SMALL:
            return ended(f) if status == OK else status
        copy(f.q_start.shape[0], f.q_first, f.q_start)
        copy(f.v_start.shape[0], f.v_first, f.v_start)
        pieces *= 2
    return STEP_TOO_SMALL


@entry
def midpoint_step(h, f, time, dt):
    """One step, half-way through which the flow is at ``time``, from (q_start, v_start) to (q_end, v_end).

    STEP_TOO_SMALL where the iteration does not converge.
    """
    jointed = False
    for k in range(f.is_free.shape[0]):
        jointed = jointed or f.is_free[k] == 0
    if jointed:
        status = _tree_step(h, f, time, dt)
        if status != OK:
            return status
    else:
        copy(f.q_end.shape[0], f.q_start, f.q_end)
    tree = h.tree
    body_poses(tree, f.q_start, f.kin)
    stage_forces(h, f, time)
    for k in range(f.is_free.shape[0]):
        if f.is_free[k] != 0 and not free_body_step(
            tree, f.kin.R, k, h.gravity, f.contact_force, h.work.external, f.q_start, f.v_start, dt, f.q_end, f.v_end,
            f.work,
        ):  # fmt: skip
            return STEP_TOO_SMALL
    return OK


@entry
def _tree_step(h, f, time, dt):
    """The step of all bodies that are not free; those that are stand still in it."""
    tree = h.tree
    N = f.v.shape[0]
    scale = 0.0
    for i in range(N):
        f.mean[i] = f.v_start[i]
        scale = max(scale, abs(f.v_start[i]))
    for k in range(f.multiplier.shape[0]):
        f.multiplier[k] = 0.0
        if f.is_free[k] != 0:
            for i in range(tree.v_start[k], tree.v_start[k] + 6):
                f.mean[i] = 0.0
    _energies_at(h, f, f.q_start, f.v_start, BEFORE)
    earlier = np.inf  # changes of the last two iterations
    before = np.inf
    for iteration in range(ITERATIONS):
        for i in range(N):
            f.x[i] = 0.5 * dt * f.mean[i]
            f.v[i] = f.mean[i]
        move_chart(tree, f.q_start, f.x, f.q)
        status = accelerate(h, f, time, 0.5 * dt, f.v_start)
        if status != OK:
            return status
        _tree_kinetic(tree, f.kin, f.v, f.energies)
        flow_powers(h, f, 0)
        _gather_forces(h, f)
        change = 0.0
        for k in range(tree.parent.shape[0]):
            if f.is_free[k] != 0:
                continue
            root = tree.root[k]
            for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
                force = max(abs(f.force[i]), abs(_body_effort(f, k, i)))
                scale = max(scale, dt * max(abs(f.v_dot[i]), force * f.art.D_inv[i]))  # at rest they cancel
                a = f.v_dot[i] + f.multiplier[root] * f.mean[i]
                new = f.v_start[i] + 0.5 * dt * a
                if not np.isfinite(new):
                    return STEP_TOO_SMALL
                change = max(change, abs(new - f.mean[i]))
                scale = max(scale, abs(new))
                f.mean[i] = new
                f.v_end[i] = f.v_start[i] + dt * a
                f.x[i] = dt * new
        move_chart(tree, f.q_start, f.x, f.q_end)
        _correct(h, f, dt)
        stalled = ROUNDING if iteration < PATIENCE else STALLED
        if change <= SETTLED * scale or (change >= earlier and change <= stalled * scale):
            for c in range(f.work.shape[0]):
                f.work[c] += dt * f.powers[0, c]
            return OK
        if change > earlier and iteration >= PATIENCE:
            return STEP_TOO_SMALL
        earlier = before
        before = change
    return STEP_TOO_SMALL


@entry
def _gather_forces(h, f):
    """Contact and external forces of every body and all behind it into ``f.gathered``."""
    for k in range(h.tree.parent.shape[0]):
        put_spatial(f.gathered, k, spatial(f.body_force, k))
    for k in range(h.tree.parent.shape[0] - 1, -1, -1):
        if h.tree.parent[k] >= 0:
            force = gathered(spatial(f.gathered, k), vector(f.kin.l, k))
            add_spatial(f.gathered, h.tree.parent[k], force)


@entry
def _body_effort(f, k, i):
    """Generalised force of ``f.gathered`` on degree of freedom i, of body k's joint."""
    return spatial_dot(spatial(f.kin.H, i), spatial(f.gathered, k))


@entry
def _correct(h, f, dt):
    """Move every tree's multiplier so that its energy changes by the work of its forces."""
    tree = h.tree
    work = f.root_work
    fill(work.shape[0], work, 0.0)
    for k in range(tree.parent.shape[0]):
        root = tree.root[k]
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            u = f.mean[i]
            force = h.work.effort[i] + f.joint_force[i] + _body_effort(f, k, i)
            work[root] += dt * u * (force - tree.damping[i] * u)
    _energies_at(h, f, f.q_end, f.v_end, AFTER)
    for k in range(tree.parent.shape[0]):
        if tree.root[k] != k or f.is_free[k] != 0:
            continue
        kinetic = f.energies[KINETIC, k]
        if kinetic > LOST * f.energies[SIZE, k]:
            defect = f.energies[AFTER, k] - f.energies[BEFORE, k] - work[k]
            f.multiplier[k] -= defect / (2.0 * kinetic * dt)


@kernel
def _tree_kinetic(tree, kin, v, energies):
    """Kinetic energies of the trees at the middle, at their root bodies."""
    for k in range(tree.parent.shape[0]):
        energies[KINETIC, k] = 0.0
    for k in range(tree.parent.shape[0]):
        energies[KINETIC, tree.root[k]] += _kinetic(tree, kin, v, k)


@kernel
def _kinetic(tree, kin, v, k):
    """Kinetic energy of body k and of its joint's rotors [J]."""
    t = body_kinetic_energy(tree.mass[k], kin.I, kin.mc, kin.V, k)
    for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
        t += 0.5 * tree.armature[i] * v[i] * v[i]
    return t


@entry
def _energies_at(h, f, q, v, row):
    """Mechanical energies of the trees at (q, v), at their root bodies; ``SIZE`` the sum of their parts' sizes.

    Leaves poses and inertias of (q, v) in a second workspace: those of the middle are still wanted.
    """
    tree = h.tree
    kin = f.kin_end
    body_poses(tree, q, kin)
    body_velocities(tree, kin, v, kin.V)
    body_inertias(tree, kin)
    energies = f.energies
    for k in range(tree.parent.shape[0]):
        energies[row, k] = 0.0
        energies[SIZE, k] = 0.0
    for k in range(tree.parent.shape[0]):
        root = tree.root[k]
        kinetic = _kinetic(tree, kin, v, k)
        potential = 0.0
        for c in range(3):
            potential -= h.gravity[c] * (tree.mass[k] * kin.p[k, c] + kin.mc[k, c])
        energies[row, root] += kinetic + potential
        energies[SIZE, root] += kinetic + abs(potential)
    for s in range(h.joints.sprung.shape[0]):
        k = h.joints.sprung[s]
        x = q[tree.q_start[k]] - h.joints.rest[tree.v_start[k]]
        stored = 0.5 * h.joints.stiffness[tree.v_start[k]] * x * x
        energies[row, tree.root[k]] += stored
        energies[SIZE, tree.root[k]] += stored
