# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contact problem of a running scene, for comparing formulations and solvers on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.core.constraints.rows import gap_velocity
from mb_contact.core.handle import DRIFT_STEP, PUSH_RATE, PUSH_SPEED, UNIT_LENGTH
from mb_contact.core.solve.newton import apply_to_all
from mb_contact.core.solve.system import BLOCKS, ROWS, make_system_handle
from mb_contact.core.workspace import CONTACT, EQUALITY
from mb_contact.errors import InputError
from mb_contact.studies.formulations.loops import LoopClosure
from mb_contact.studies.formulations.os import ContactProblem
from mb_contact.studies.formulations.step_problem import ContactPoint, JointLimit, StepProblem
from mb_contact.types import CLOSURE_NAMES, UPPER

if TYPE_CHECKING:
    from mb_contact.simulation.simulator import Simulator

REDUNDANT = 1e-12  #: part of the compliance of equations below which they follow from each other


def next_step_problem(simulator: Simulator, effort: ArrayLike | None = None, **options: Any) -> StepProblem:
    """StepProblem that the simulator's next step solves, from its present state.

    The step is taken and undone, so contacts, their frames and the joint limits in reach are those of the step.
    Behind impacts it starts with the velocities that these have left, and its rows have their ``bias``.

    Parameters
    ----------
    simulator : Simulator
        Left as it was.
    effort : array_like (joints,), optional
        As for ``Simulator.step`` [N m, N].
    **options
        Passed on to StepProblem, for instance ``velocity_product`` or ``friction_directions``.

    Returns
    -------
    StepProblem

    Raises
    ------
    MbContactError
        What ``Simulator.step`` and StepProblem raise.

    Examples
    --------
    >>> sim = mb.Simulator(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
    >>> problem = mb.studies.next_step_problem(sim)
    >>> problem.N, problem.n_u, sim.time  # four corners of the box touch; the step was undone
    (6, 4, 0.0)
    """
    state, context = simulator.save(), simulator.context
    simulator.step(effort)
    impacts = context.impacts
    try:
        v = state.v if impacts is None or not impacts.happened else impacts.v_after
        return posed_problem(context, state.q, v, **options)
    finally:
        simulator.restore(state)


def posed_problem(context, q, v, **options):
    """StepProblem of the contacts, limits and efforts that a step has just assembled from q and v.

    Parameters
    ----------
    context : StepContext
        Of the step.
    q, v : (nq,), (N,)
    **options
        As of ``next_step_problem``.
    """
    scene, world, dt = context.scene, context.world, context.dt
    if context.is_soft:
        raise InputError("problems of accelerations know rigid contacts alone; leave softness out")
    if scene.tendons:
        raise InputError("problems of accelerations know no tendons; leave them out")
    settings = {
        "gravity": context.gravity.copy(),
        "time_step": dt,
        "friction_directions": scene.friction_directions,
        "push_speed": float(context.settings[PUSH_SPEED]),
        "external": context.work.external.copy(),
        "loop_rate": float(scene.drift_rate) * min(1.0, dt / context.drift[DRIFT_STEP]),
    }
    effort = context.work.effort.copy()
    settings.update(options)
    return StepProblem(world, q, v, effort, _contacts(context), _loops(world), _limits(context, q), **settings)


def posed_contact_problem(context):
    """ContactProblem of the step that has just been taken; rows that are equations are eliminated.

    These are loops, gears, dampers in hinges and viscous friction.  Contacts with their torsion and rolling, limits and
    joint friction are left.

    Parameters
    ----------
    context : StepContext
        Of the step.
    """
    P, sol = context.system, context.solution
    count = int(P.count[BLOCKS])
    start, kind = P.blocks.start[: count + 1], P.blocks.kind[:count]
    size, rows = np.diff(start), int(start[count])
    source, mu = P.source[:rows], P.blocks.mu[:rows]
    order = [b for b in np.argsort(source[start[:-1]], kind="stable") if kind[b] != EQUALITY]
    ours = np.concatenate([np.arange(start[b], start[b + 1]) for b in order] or [order]).astype(int)
    tied = np.flatnonzero(np.repeat(kind, size) == EQUALITY)
    W, q = _operator(P)[:rows, :rows], np.where(P.immobile[:rows] != 0, sol.u[source], sol.q[source])
    scale = np.sqrt(np.diag(W)[tied] + mu[tied])
    inverse = np.linalg.pinv(
        (W[np.ix_(tied, tied)] + np.diag(mu[tied])) / np.outer(scale, scale), REDUNDANT, True
    ) / np.outer(scale, scale)
    coupling = W[np.ix_(ours, tied)] @ inverse
    contacts = kind[order] == CONTACT
    return ContactProblem(
        W=W[np.ix_(ours, ours)] - coupling @ W[np.ix_(tied, ours)],
        q=q[ours] - coupling @ q[tied],
        mu=np.where(contacts, mu[start[:-1][order] + contacts], 0.0),
        dim=size[order],
        directions=context.scene.friction_directions,
        impulses=P.r[ours],
        velocities=sol.u[source[ours]],
        kind=kind[order],
        bounds=mu[ours],
    )


def _operator(P):
    """W of the rows of a system, whatever its form is."""
    rows, handle = int(P.count[ROWS]), make_system_handle(P)
    W, column, answer = np.zeros((rows, rows)), np.zeros(len(P.q)), np.zeros(len(P.q))
    for j in range(rows):
        column[j] = 1.0
        apply_to_all(handle, column, answer)
        column[j] = 0.0
        W[:, j] = answer[:rows]
    return W


def _contacts(context):
    found, geoms, frames = context.contacts, context.world.geoms, context.frames
    points = []
    for i in range(int(found.count[0])):
        pair = found.pair[i]
        a, b = (int(geoms.body[g]) for g in geoms.pairs[pair])
        point, normal, gap = found.point[i].copy(), found.normal[i].copy(), float(found.gap[i])
        bias = context.rows.offset[3 * i : 3 * i + 3].copy()
        bias[0] -= _asked(context, gap)
        points.append(ContactPoint(a, b, point, normal, gap, float(geoms.mu[pair]), frames.t1[i].copy(), bias))
    return points


def _asked(context, gap):
    """Velocity that the row of a gap [m] asks for [m/s]."""
    settings = context.settings
    return gap_velocity(gap, context.dt, settings[PUSH_RATE], settings[PUSH_SPEED], settings[UNIT_LENGTH])


def _loops(world):
    c = world.couplings.closures
    return [
        LoopClosure(CLOSURE_NAMES[kind], int(a), int(b), *frames, lead=lead)
        for kind, a, b, *frames, lead in zip(
            c.kind, c.body_a, c.body_b, c.p_a, c.p_b, c.R_a, c.R_b, c.length.tolist(), c.lead.tolist()
        )
    ]


def _limits(context, q):
    """Joint limits that were in the step's problem: dof and side stand in the rows."""
    tree, start = context.world.tree, 3 * int(context.contacts.count[0])
    limits = []
    for row in range(start, int(context.rows.end[0])):
        dof, side = int(context.rows.dof[row]), int(context.rows.bound[row])
        if dof < 0 or side > UPPER:
            continue  # torsion or rolling of a contact, or a velocity limit
        body = int(np.searchsorted(tree.v_start, dof, side="right")) - 1
        position = q[tree.q_start[body]]
        gap = float(position - tree.lower[dof] if side == 0 else tree.upper[dof] - position)
        bias = float(context.rows.offset[row]) - _asked(context, gap)
        limits.append(JointLimit(dof, side, gap, bias))
    return limits
