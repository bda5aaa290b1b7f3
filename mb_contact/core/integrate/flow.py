# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The smooth motion between contacts: its handle, its charts, its right-hand side; the integrators build on these.

A flow starts at (q_start, v_start), lasts dt and ends at (q_end, v_end).  On its way efforts, gravity, external forces
and the impulses of a contact problem act, as forces: constant generalised ones on joints, and forces between bodies
that go linearly from those of the start to those of the end (``kept_contacts.py``).  The simulation's own state and
``kin`` are left alone: a flow has workspaces of its own.

Within one step the motion is written in the chart x of its start, q = q_start o exp(x), in which every Runge-Kutta
method keeps its order (Runge-Kutta-Munthe-Kaas): x is the plain difference of q but for the rotation vectors of
floating and spherical joints, for which

    dx/dt = dexp^-1(x) omega = omega - x x omega / 2 + c x x (x x omega),   c = (1 - |x|/2 cot(|x|/2)) / |x|^2.
"""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.bilateral import CLOSURE, COUNT
from mb_contact.core.constraints.servo import (
    implicit_damping,
    limited_efforts,
    release_servos,
    servo_efforts,
    servo_forces,
)
from mb_contact.core.constraints.spring import spring_forces
from mb_contact.core.constraints.tendon import pull_in_flow, tendon_powers
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.handle import DT
from mb_contact.core.jit import kernel
from mb_contact.core.step.closing import closure_error, keep_state, refresh_closed
from mb_contact.core.step.passivity import remove_contact_gains
from mb_contact.core.step.step import record_step
from mb_contact.core.tree.articulated import articulated_inertias, free_acceleration
from mb_contact.core.tree.embedding import close_aggregates
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.tree.spatial import (
    STILL,
    ZERO,
    put_spatial,
    put_vector,
    spatial,
    spatial_dot,
    spatial_sum,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.core.tree_workspace import Articulated, Kinematics, make_articulated, make_kinematics
from mb_contact.core.workspace import BAD_BODY, CONTACTS, DAMPING, EFFORTS, LIMITS, LOOPS, REMOVED, UNLAWFUL, WRENCHES
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL, NOT_FINITE, OK

FIRST_TREE = 5  #: column of FlowArrays.powers and work; behind the trees' columns are the efforts' of joints


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
    effort: Annotated[Reals, "N"]  #: of joints, in the stage
    middle: Annotated[Integers, 1]  #: 1 where servos act as in the middle of the flow, 0 in stages (held_servos.py)
    change: Annotated[Reals, 1]  #: of velocities by the last change of these efforts
    art_held: Articulated  #: of the start, with these servos
    force: Annotated[Reals, "N"]  #: efforts and joint forces together
    joint_force: Annotated[Reals, "N"]  #: constant: of the impulses of joints' own rows
    limit_force: Annotated[Reals, "N"]  #: the part of it that joint limits exert
    contact_force: Annotated[Reals, "n", 6]  #: constant: of the other impulses, about the bodies' origins
    body_force: Annotated[Reals, "n", 6]  #: of the stage, with the external ones
    gathered: Annotated[Reals, "n", 6]  #: these of a body and all behind it; for midpoint.py
    end_known: Annotated[Integers, 1]  #: 1 where the contacts of the end are known
    rule: Annotated[Integers, 1]  #: which flow (``flow_step.py``)
    ends_free: Annotated[Integers, 1]  #: 1 where the end of the flow is that without impulses
    A: Annotated[Reals, "s", "s"]  #: tableau of a Runge-Kutta method (``tableaux.py``)
    b: Annotated[Reals, "s"]
    difference: Annotated[Reals, "s"]
    control: Annotated[Reals, 2]  #: order of the tableau, error [rad, m, relative speed] that an adaptive flow allows
    rates: Annotated[Reals, "s", "N"]  #: dx/dt of the stages
    accelerations: Annotated[Reals, "s", "N"]
    #: of efforts, damping, impulses of contacts, of limits, external wrenches; from FIRST_TREE on, at its root body,
    #: what contacts and loops do on each tree [W]; then efforts [N m, N]
    powers: Annotated[Reals, "s", "w"]
    work: Annotated[Reals, "w"]  #: work of the whole flow [J]
    before: Annotated[Reals, "w"]  #: work up to the start of an inner step
    count: Annotated[Integers, 2]  #: steps and evaluations of the last flow
    kin_end: Kinematics  #: of the end; for servos, of the start
    q_first: Annotated[Reals, "nq"]  #: start of the whole flow
    v_first: Annotated[Reals, "N"]
    is_free: Annotated[Integers, "n"]  #: 1 for bodies in free flight; this and the rest for midpoint.py
    residual: Annotated[Reals, "N"]  #: what an iteration changes ``guess`` by, and
    last: Annotated[Reals, "N"]  #: where it leads,
    last_multiplier: Annotated[Reals, "n"]  #: with which multiplier
    guess: Annotated[Reals, "N"]  #: velocity half-way, from which the iteration begins
    mean: Annotated[Reals, "N"]  #: velocity half-way
    multiplier: Annotated[Reals, "n"]  #: of each tree, at its root body
    energies: Annotated[Reals, 5, "n"]  #: likewise
    root_work: Annotated[Reals, "n"]  #: likewise
    body_effort: Annotated[Reals, "N"]  #: generalised forces of ``gathered``
    root_loss: Annotated[Reals, "n"]  #: likewise, to damping
    root_speed: Annotated[Reals, "n"]  #: likewise, the largest of ``mean``


FlowArraysHandleType, FlowArraysHandle, _handle_of = handle(FlowArrays)


def make_flow(n, N, nq, rule, tableau, tolerance, is_free, make_modal, make_aggregates):
    """(FlowArrays, their handle) of a rule, for n bodies, N degrees of freedom and nq coordinates.

    ``make_modal`` and ``make_aggregates`` make handles for flexible links and for the tree's aggregates, or None.
    """
    kin, kin_end = (make_kinematics(n, N, make_modal()) for _ in range(2))
    art, art_held = (make_articulated(n, N, make_aggregates()) for _ in range(2))
    given = {"kin": kin, "kin_end": kin_end, "art": art, "art_held": art_held, "is_free": is_free}
    given |= {"A": tableau.A, "b": tableau.b, "difference": tableau.difference}
    given |= {"rule": np.array([rule]), "control": np.array([tableau.order, tolerance])}
    arrays = allocate(FlowArrays, n=n, N=N, nq=nq, s=len(tableau.b), w=FIRST_TREE + n + N, **given)
    return arrays, _handle_of(arrays)


@kernel
def begin_flow(h, f):
    """A flow from the simulation's state, or from behind it where impacts ask for it, without impulses yet."""
    tree = h.tree
    copy(h.q.shape[0], h.q, f.q_start)
    shifted = False
    for i in range(h.v.shape[0]):
        shifted = shifted or h.work.shift[i] != 0.0
        f.v_start[i] = h.v[i]
        f.guess[i] = h.v[i]
        f.joint_force[i] = 0.0
        f.limit_force[i] = 0.0
        limit = tree.effort_limit[i]
        h.work.effort[i] = min(max(h.effort[i], -limit), limit)
        f.effort[i] = h.work.effort[i]
    for k in range(f.contact_force.shape[0]):
        put_spatial(f.contact_force, k, STILL)
    if shifted:
        integrate_joints(tree, h.work.shift, -1.0, f.q_start)


@kernel
def begin_free_flow(h, f):
    """The flow of a step without impulses; nothing is known of its end."""
    begin_flow(h, f)
    f.end_known[0] = 0
    for i in range(h.contacts.count[0]):
        put_vector(h.work.row_bias, i, ZERO)
        put_vector(h.end.ahead, i, ZERO)


@kernel
def body_forces(h, f):
    """Forces of contacts on the bodies with the external ones."""
    for k in range(f.contact_force.shape[0]):
        put_spatial(f.body_force, k, spatial_sum(spatial(f.contact_force, k), 1.0, spatial(h.work.external, k)))


@kernel
def accelerate(h, f, weight, v_damped):
    """Acceleration ``f.v_dot`` by (M + weight d) v_dot = T - d v_damped - C at (f.q, f.v); a status.

    T are efforts, springs and the forces of impulses, external forces among C.  With a weight, which is then the time
    from (q_start, v_damped), servos are implicit likewise.
    """
    tree = h.tree
    kin = f.kin
    body_poses(tree, f.q, kin)
    if f.art.aggregates.base.shape[0] > 0:
        close_aggregates(tree, f.q, f.v, kin, f.art.aggregates)
        body_poses(tree, f.q, kin)
    body_velocities(tree, kin, f.v, kin.V)
    body_inertias(tree, kin)
    bias_terms(tree, kin, f.v)
    implicit = weight > 0.0 and h.joints.servos.shape[0] > 0
    if implicit:
        implicit_damping(tree, h.joints, weight)
    elif f.middle[0] == 0:
        limited_efforts(tree, h.joints, f.q, f.v, h.work.effort, f.effort)
    status, body = articulated_inertias(tree, kin, weight, f.art)
    if status != OK:
        h.work.info[BAD_BODY] = body
        return status
    copy(f.force.shape[0], h.work.effort if implicit else f.effort, f.force)
    if implicit:
        servo_forces(tree, h.joints, f.q_start, f.force)
    for i in range(f.force.shape[0]):
        f.force[i] += f.joint_force[i]
    spring_forces(tree, h.joints, f.q, f.force)
    body_forces(h, f)
    if h.tendons.length.shape[0] > 0:
        pull_in_flow(h.tendons, tree, f.q, f.v, kin, f.body_force)
    free_acceleration(tree, kin, f.art, h.gravity, f.force, v_damped, f.body_force, f.v_dot)
    if implicit:
        copy(f.force.shape[0], h.joints.damping, h.joints.total)
        servo_efforts(tree, h.joints, f.q_start, weight, f.v, h.work.effort, f.effort)
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
def flow_powers(h, f, s):
    """Powers of efforts, damping, impulses and external wrenches at the stage's velocities, into row s."""
    powers = f.powers
    fill(powers.shape[1], powers[s], 0.0)
    for i in range(f.v.shape[0]):
        v = f.v[i]
        powers[s, EFFORTS] += f.effort[i] * v
        powers[s, FIRST_TREE + h.tree.parent.shape[0] + i] = f.effort[i]
        powers[s, DAMPING] -= h.tree.damping[i] * v * v
        powers[s, CONTACTS] += (f.joint_force[i] - f.limit_force[i]) * v
        powers[s, LIMITS] += f.limit_force[i] * v
    for k in range(f.contact_force.shape[0]):
        V = spatial(f.kin.V, k)
        contact = spatial_dot(spatial(f.contact_force, k), V)
        powers[s, CONTACTS] += contact
        powers[s, FIRST_TREE + h.tree.root[k]] += contact
        powers[s, WRENCHES] += spatial_dot(spatial(h.work.external, k), V)
    if h.tendons.length.shape[0] > 0:
        tendon_powers(h.tendons, powers[s])


@kernel
def is_finite(x):
    """Whether all numbers of x are finite."""
    t = 0.0
    for i in range(x.shape[0]):
        t += x[i] - x[i]
    return t == 0.0


@kernel
def free_velocity(h, f):
    """What the contact problem needs of a flow without contact: v_free, V_free, and inertias at the present q.

    The compliance of that problem counts half of the joint damping over the step: under a constant force it reduces the
    velocity gained by that much, to the second order.  Servos are as in ``held_servos.py``.
    """
    work = h.work
    half = 0.5 * h.settings[DT]
    implicit_damping(h.tree, h.joints, half if f.middle[0] != 0 else h.settings[DT] / 3.0)
    status, body = articulated_inertias(h.tree, h.kin, half, h.art)
    for i in range(h.v.shape[0]):
        work.implicit[i] = half * h.joints.total[i]
    copy(h.v.shape[0], h.joints.damping, h.joints.total)
    if status != OK:
        work.info[BAD_BODY] = body
        return status
    for i in range(h.v.shape[0]):
        work.v_free[i] = f.v_end[i]
        work.speed[i] = abs(f.v_end[i])
    fill(h.hinges.speed.shape[0], h.hinges.speed, 0.0)
    body_velocities(h.tree, h.kin, work.v_free, work.V_free)
    return OK


@kernel
def ended(f):
    """Status of a flow that has ended: NOT_FINITE where its end is no state."""
    return OK if is_finite(f.q_end) and is_finite(f.v_end) else NOT_FINITE


@kernel
def conclude_flow(h, f):
    """As ``step.conclude``, with the end of the flow as the new state and the flow's own work in the balance.

    Of contacts and loops it is what their laws allow: impulses times the mean of the velocities at both ends.  Where
    contacts wander or loops close, what they add to the energy is taken out of the motion again.  A status.
    """
    for s in range(h.joints.servos.shape[0]):  # means of the flow
        i = h.tree.v_start[h.joints.servos[s]]
        h.work.effort[i] = f.work[FIRST_TREE + h.tree.parent.shape[0] + i] / h.settings[DT]
    release_servos(h.tree, h.joints)
    record_step(h)
    unlawful = f.work[CONTACTS] - h.work.work_terms[CONTACTS] - h.work.work_terms[LOOPS]
    copy(5, f.work, h.work.work_terms)
    h.work.work_terms[CONTACTS] -= unlawful
    h.work.contact_energy[UNLAWFUL] = unlawful
    keep_state(h)
    copy(h.q.shape[0], f.q_end, h.q)
    copy(h.v.shape[0], f.v_end, h.v)
    status = refresh_closed(h)
    if status != OK:
        return status
    if f.end_known[0] != 0 or h.bil.info[COUNT] > 0:
        h.work.contact_energy[REMOVED] = remove_contact_gains(h, f.work[FIRST_TREE:])
    h.work.work_terms[LOOPS] = 0.0  # their impulses are forces like those of contacts
    if h.bil.info[COUNT] > 0 or h.art.aggregates.base.shape[0] > 0:
        h.bil.residuals[CLOSURE] = closure_error(h)
    return OK
