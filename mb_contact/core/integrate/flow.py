# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The smooth motion between contacts: its handle, its charts, its right-hand side; the integrators build on these.

A flow starts at (q_start, v_start), lasts dt and ends at (q_end, v_end).  On its way efforts, gravity, external forces
and ``constant`` act: generalised forces (N,) that stay, for instance the impulses of a contact problem over its step,
J* p / dt.  The simulation's own state and ``kin`` are left alone: a flow has workspaces of its own.

Within one step the motion is written in the chart x of its start, q = q_start o exp(x), in which every Runge-Kutta
method keeps its order (Runge-Kutta-Munthe-Kaas): x is the plain difference of q but for the rotation vectors of
floating and spherical joints, for which

    dx/dt = dexp^-1(x) omega = omega - x x omega / 2 + c x x (x x omega),   c = (1 - |x|/2 cot(|x|/2)) / |x|^2.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.arrays import copy
from mb_contact.core.constraints.bilateral import CLOSURE, COUNT
from mb_contact.core.constraints.rows import row_impulses
from mb_contact.core.constraints.spring import spring_forces
from mb_contact.core.declare import Integers, Reals, allocate, handle
from mb_contact.core.handle import DT
from mb_contact.core.jit import entry, kernel
from mb_contact.core.step.closing import closure_error
from mb_contact.core.step.step import record_step, refresh, rows_in_use
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.spatial import (
    add_spatial,
    gathered,
    spatial,
    spatial_dot,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.workspace import (
    BAD_BODY,
    CONTACTS,
    DAMPING,
    EFFORTS,
    LIMITS,
    LOOPS,
    WRENCHES,
    Articulated,
    Kinematics,
    make_articulated,
    make_kinematics,
)
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, NOT_FINITE, OK


class FlowArrays(NamedTuple):
    """Workspaces of a flow of s stages."""

    kin: Kinematics  #: workspaces of the stages
    art: Articulated
    q_start: Annotated[Reals, "nq"]
    v_start: Annotated[Reals, "N"]
    q_end: Annotated[Reals, "nq"]
    v_end: Annotated[Reals, "N"]
    q: Annotated[Reals, "nq"]  #: state of the stage
    v: Annotated[Reals, "N"]
    x: Annotated[Reals, "N"]  #: chart of the stage
    v_dot: Annotated[Reals, "N"]  #: acceleration of the stage
    force: Annotated[Reals, "N"]  #: efforts and constant forces together
    constant: Annotated[Reals, "N"]  #: constant generalised forces
    constant_limits: Annotated[Reals, "N"]  #: the part of it that joint limits exert
    rates: Annotated[Reals, "s", "N"]  #: dx/dt of the stages
    accelerations: Annotated[Reals, "s", "N"]
    powers: Annotated[Reals, "s", 5]  #: of efforts, damping, constant forces of contacts, of limits, wrenches [W]
    work: Annotated[Reals, 5]  #: work of the whole flow [J]
    before: Annotated[Reals, 5]  #: work up to the start of an inner step
    count: Annotated[Integers, 2]  #: steps and evaluations of the last flow
    is_free: Annotated[Integers, "n"]  #: 1 for bodies in free flight; this and the rest for midpoint.py
    kin_end: Kinematics  #: of the end
    q_first: Annotated[Reals, "nq"]  #: start of the whole flow
    v_first: Annotated[Reals, "N"]
    mean: Annotated[Reals, "N"]  #: velocity half-way
    multiplier: Annotated[Reals, "n"]  #: of each tree, at its root body
    energies: Annotated[Reals, 4, "n"]  #: likewise
    root_work: Annotated[Reals, "n"]  #: likewise


FlowArraysHandleType, FlowArraysHandle, _flow_handle = handle(FlowArrays)


@entry
def _handle_of(arrays):
    return _flow_handle(arrays)


def make_flow(n, N, nq, stages, is_free):
    """(FlowArrays, their handle) for n bodies, N degrees of freedom and nq coordinates."""
    kin, kin_end, art = make_kinematics(n, N), make_kinematics(n, N), make_articulated(n, N)
    arrays = allocate(FlowArrays, n=n, N=N, nq=nq, s=stages, kin=kin, kin_end=kin_end, art=art, is_free=is_free)
    return arrays, _handle_of(arrays)


@entry
def begin_flow(h, f):
    """A flow from the simulation's state, or from behind it where impacts ask for it, without constant forces yet."""
    tree = h.tree
    copy(h.q.shape[0], h.q, f.q_start)
    shifted = False
    for i in range(h.v.shape[0]):
        shifted = shifted or h.work.shift[i] != 0.0
        f.v_start[i] = h.v[i]
        f.constant[i] = 0.0
        f.constant_limits[i] = 0.0
        limit = tree.effort_limit[i]
        h.work.effort[i] = min(max(h.effort[i], -limit), limit)
    if shifted:
        integrate_joints(tree, h.work.shift, -1.0, f.q_start)


@entry
def accelerate(h, f, weight, v_damped):
    """Acceleration ``f.v_dot`` by (M + weight d) v_dot = T + constant - d v_damped - C at (f.q, f.v); a status."""
    tree = h.tree
    kin = f.kin
    body_poses(tree, f.q, kin)
    body_velocities(tree, kin, f.v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, f.v)
    status, body = articulated_inertias(tree, kin, weight, f.art)
    if status != OK:
        h.work.info[BAD_BODY] = body
        return status
    for i in range(f.force.shape[0]):
        f.force[i] = h.work.effort[i] + f.constant[i]
    spring_forces(tree, h.joints, f.q, f.force)
    free_acceleration(tree, kin, f.art, h.gravity, f.force, v_damped, h.work.external, f.v_dot)
    f.count[1] += 1
    return OK


@kernel
def move_chart(tree, q_start, x, q):
    """q = q_start o exp(x)."""
    copy(q.shape[0], q_start, q)
    integrate_joints(tree, x, 1.0, q)


@kernel
def chart_rates(tree, x, v, rate):
    """Rate of the chart x (N,) that belongs to the velocity v, into ``rate`` (N,)."""
    copy(v.shape[0], v, rate)
    for k in range(tree.parent.shape[0]):
        kind = tree.joint_type[k]
        if kind != JOINT_FLOATING and kind != JOINT_SPHERICAL:
            continue
        d = tree.v_start[k]
        turn = x[d], x[d + 1], x[d + 2]
        square = vector_dot(turn, turn)
        if square < 1e-2:
            c = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square * (1.0 / 1209600.0)))
        else:
            half = 0.5 * np.sqrt(square)
            c = (1.0 - half * np.cos(half) / np.sin(half)) / square
        w = v[d], v[d + 1], v[d + 2]
        once = vector_product(turn, w)
        rate[d], rate[d + 1], rate[d + 2] = vector_sum(vector_sum(w, -0.5, once), c, vector_product(turn, once))


@kernel
def flow_powers(damping, effort, constant, constant_limits, v, external, V, powers, s):
    """Powers of efforts, damping, constant forces and external wrenches at velocities v and V, into row s."""
    for c in range(5):
        powers[s, c] = 0.0
    for i in range(v.shape[0]):
        powers[s, EFFORTS] += effort[i] * v[i]
        powers[s, DAMPING] -= damping[i] * v[i] * v[i]
        powers[s, CONTACTS] += (constant[i] - constant_limits[i]) * v[i]
        powers[s, LIMITS] += constant_limits[i] * v[i]
    for k in range(external.shape[0]):
        for c in range(6):
            powers[s, WRENCHES] += external[k, c] * V[k, c]


@kernel
def is_finite(x):
    """Whether all numbers of x are finite."""
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i] - x[i]
    return t == 0.0


@entry
def free_velocity(h, f):
    """What the contact problem needs of a flow without contact: v_free, V_free, and inertias at the present q.

    The compliance of that problem counts half of the joint damping over the step: under a constant force it reduces the
    velocity gained by that much, to the second order.
    """
    work = h.work
    status, body = articulated_inertias(h.tree, h.kin, 0.5 * h.settings[DT], h.art)
    if status != OK:
        work.info[BAD_BODY] = body
        return status
    for i in range(h.v.shape[0]):
        work.v_free[i] = f.v_end[i]
        work.speed[i] = abs(f.v_end[i])
    body_velocities(h.tree, h.kin, work.v_free, work.V_free)
    return OK if is_finite(f.v_end) else NOT_FINITE


@kernel
def generalised_forces(tree, kin, force, out):
    """T = H phi f of spatial forces on the bodies, by one gather; ``force`` (n, 6) is overwritten."""
    for k in range(tree.parent.shape[0] - 1, -1, -1):
        f = spatial(force, k)
        for i in range(tree.v_start[k], tree.v_start[k] + tree.nv[k]):
            out[i] = spatial_dot(spatial(kin.H, i), f)
        if tree.parent[k] >= 0:
            add_spatial(force, tree.parent[k], gathered(f, vector(kin.l, k)))


@entry
def hold_impulses(h, f):
    """The solved impulses as forces constant over the step, J* p / dt; True if there are any."""
    dt = h.settings[DT]
    any_force = False
    n_rows = rows_in_use(h)
    for r in range(n_rows):
        any_force = any_force or h.sol.r[r] != 0.0
    if not any_force:
        return False
    row_impulses(h.rows, n_rows, h.sol.r, f.art.z)
    generalised_forces(h.tree, h.kin, f.art.z, f.constant)
    for i in range(f.constant.shape[0]):
        f.constant[i] /= dt
    for r in range(h.blocks.rows[0]):
        dof = h.rows.dof[r]
        if dof >= 0:
            f.constant_limits[dof] += h.rows.sign[r] * h.sol.r[r] / dt
    return True


@entry
def end_is_finite(f):
    """Whether the end of the flow is a state."""
    return is_finite(f.q_end) and is_finite(f.v_end)


@entry
def conclude_flow(h, f):
    """As ``step.conclude``, with the end of the flow as the new state and the flow's own work in the books."""
    record_step(h)
    copy(5, f.work, h.work.work_terms)
    copy(h.q.shape[0], f.q_end, h.q)
    copy(h.v.shape[0], f.v_end, h.v)
    refresh(h)
    h.work.work_terms[LOOPS] = 0.0  # their impulses are constant forces like those of contacts
    if h.bil.info[COUNT] > 0:
        h.bil.residuals[CLOSURE] = closure_error(h)
