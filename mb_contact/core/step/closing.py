# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closure errors at the level of positions: measured, and projected away by Gauss-Newton steps in minimal coordinates.

    dq = -M^-1 G* p,    G M^-1 G* p = c,    q := q (+) dq,

which of all dq with G dq = -c is the one of least kinetic metric dq* M dq: loops close by the motion that the
bodies' inertias resist least.  It is a contact problem without contacts: equalities with velocities c, whatever rows
follow from others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.bilateral import (
    COUNT,
    PARTNERS,
    BilateralWork,
    bilateral_rows,
    make_bilateral_work,
    worst_closure,
)
from mb_contact.core.constraints.gear import partner_impulses
from mb_contact.core.constraints.rows import row_impulses
from mb_contact.core.constraints.spring import spring_energy
from mb_contact.core.constraints.tendon import tendon_energy
from mb_contact.core.constraints.tendon_path import lay_tendons, no_tendons
from mb_contact.core.jit import REAL, kernel, on_demand
from mb_contact.core.solve.assemble import set_velocities
from mb_contact.core.solve.newton import LEAST_EPS, TIGHT, Goal, solve_island
from mb_contact.core.solve.system import ISLANDS, ROWS, make_system, make_system_handle
from mb_contact.core.step.problem import assemble_system
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.embedding import LOST, close_aggregates, widest_aggregate
from mb_contact.core.tree.inverse_dynamics import gravity_power, mechanical_energy
from mb_contact.core.tree.joints import integrate_joints
from mb_contact.core.tree.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.workspace import KINETIC, POTENTIAL, Rows, make_rows
from mb_contact.types import LOOP_LOST, OK

STRIDE = 0.5  # [rad, m] longest change of a coordinate in one Gauss-Newton step
TOLERANCE = 1e-14  # of the linear problem [sqrt(N s m/s)]; its budget of Newton steps:
BUDGET = 20


class ClosingWork(NamedTuple):
    """The m bilateral rows alone: to measure and to mend the closure error."""

    rows: Rows
    bil: BilateralWork
    system: object  #: SystemHandle
    q: np.ndarray  #: (m + gears,)
    r: np.ndarray  #: (m + gears,)
    dq: np.ndarray  #: (N,)
    nobody: np.ndarray  #: int64 (0,), joints with friction: none of them keeps a loop from closing
    none: object  #: TendonsHandle of no tendons, likewise


def make_closing_work(n, N, m, gears, pieces, place):
    """For n bodies, N degrees of freedom and m bilateral rows of which ``gears`` are couplings of joints."""
    size = m + gears
    system = make_system_handle(make_system(size, m, 0, size, pieces, place))
    return ClosingWork(
        make_rows(n, size), make_bilateral_work(n, m), system, np.zeros(size), np.zeros(size), np.zeros(N),
        np.zeros(0, np.int64), no_tendons(),
    )  # fmt: skip


@kernel
def refresh(h):
    """Everything that follows from the state alone: poses, velocities, inertias, bias terms, energy.

    Joints that follow others by a gear are put where these have them: their rows hold but for rounding; dependent
    coordinates and velocities of aggregates where their closures have them.
    Reads: art, gears, gravity, joints, kin, q, soft, tendons, tree, v.  Writes: art, kin, q, tendons, v, work.
    """
    follow(h.tree, h.gears, h.q, h.v)
    if h.art.aggregates.base.shape[0] > 0:
        body_poses(h.tree, h.q, h.kin)
        close_aggregates(h.tree, h.q, h.v, h.kin, h.art.aggregates)
    derive(h)


@kernel
def derive(h):
    """``refresh`` of a state whose joints are where they belong; the tendons' paths.

    Reads: gravity, joints, kin, q, soft, tendons, tree, v.  Writes: kin, tendons, work.
    """
    body_poses(h.tree, h.q, h.kin)
    body_velocities(h.tree, h.kin, h.v, h.kin.V)
    body_inertias(h.tree, h.kin)
    bias_terms(h.tree, h.kin, h.v)
    kinetic, potential = mechanical_energy(h.tree, h.kin, h.gravity)
    for i in range(h.v.shape[0]):
        kinetic += 0.5 * h.tree.armature[i] * h.v[i] * h.v[i]
    potential += spring_energy(h.tree, h.joints, h.q)
    if h.soft.energy.shape[0] > 0:
        potential += h.soft.energy[0]
    if h.tendons.length.shape[0] > 0:
        lay_tendons(h.tendons, h.tree, h.q, h.v, h.kin)
        potential += tendon_energy(h.tendons)
    h.work.energy[KINETIC] = kinetic
    h.work.energy[POTENTIAL] = potential
    h.work.falling[0] = gravity_power(h.tree, h.kin, h.gravity)


@kernel
def keep_state(h):
    """What the step starts from, for whoever asks about the last step.  Reads: gravity, q, v.  Writes: work."""
    copy(h.q.shape[0], h.q, h.work.q_start)
    copy(h.v.shape[0], h.v, h.work.v_start)
    copy(3, h.gravity, h.work.gravity_start)


@kernel
def refresh_closed(h):
    """``refresh`` of a new state; where loops of an aggregate cannot be closed, the kept one again; a status.

    Reads: art, gears, gravity, joints, kin, q, soft, tendons, tree, v, work.
    Writes: art, kin, q, tendons, v, work.
    """
    refresh(h)
    g = h.art.aggregates
    if g.base.shape[0] == 0 or widest_aggregate(g) <= LOST:
        return OK
    copy(h.q.shape[0], h.work.q_start, h.q)
    copy(h.v.shape[0], h.work.v_start, h.v)
    derive(h)
    return LOOP_LOST


@kernel
def follow(tree, gears, q, v):
    """q_a = ratio q_b + offset, v_a = ratio v_b + the offset's rate."""
    for g in range(gears.ratio.shape[0]):
        a = gears.body_a[g]
        b = gears.body_b[g]
        q[tree.q_start[a]] = gears.ratio[g] * q[tree.q_start[b]] + gears.offset[g]
        v[tree.v_start[a]] = gears.ratio[g] * v[tree.v_start[b]] + gears.rate[g]


@on_demand(REAL)
def closure_error(h):
    """Largest closure error [m, rad] of the poses in ``h.kin``, with ``h.closing`` holding the rows.

    Reads: art, closing, closures, gears, kin, loop, q, tree.  Writes: closing, loop.
    """
    c = h.closing
    fill(c.rows.touched.shape[0], c.rows.touched, 0)
    bilateral_rows(h.tree, h.kin, h.q, h.closures, c.none, c.nobody, h.gears, 1.0, 0.0, 0, c.rows, h.loop, c.bil)
    return max(worst_closure(h.loop, c.bil), widest_aggregate(h.art.aggregates))


@kernel
def begin_closing(h):
    """Articulated inertias of the present poses, without damping; returns a status."""
    return articulated_inertias(h.tree, h.kin, 0.0, h.art)[0]


@kernel
def newton_step(h):
    """One Gauss-Newton step of q from the errors in ``h.loop``, shortened to STRIDE; the poses follow.

    Reads: art, closing, compliance, forest, friction, kin, loop, q, tree, work.
    Writes: art, closing, compliance, forest, kin, q, work.
    """
    c = h.closing
    P = c.system
    assemble_system(h, P, c.rows, c.bil, True, False)
    n_rows = c.bil.info[COUNT] + c.bil.info[PARTNERS]
    for i in range(n_rows):
        c.r[i] = 0.0
        c.q[i] = h.loop.error[i] if i < c.bil.info[COUNT] else 0.0
    set_velocities(P, c.q)
    for i in range(P.count[ISLANDS]):
        for row in range(P.blocks.start[P.island[i]], P.blocks.start[P.island[i + 1]]):
            P.r[row] = 0.0
        solve_island(P, i, Goal(TOLERANCE, TIGHT, False, True, True, LEAST_EPS), BUDGET)
    for i in range(P.count[ROWS]):
        c.r[P.source[i]] = P.r[i]
    partner_impulses(c.r, c.bil)
    row_impulses(c.rows, n_rows, c.r, h.work.impulse)
    impulse_response(h.tree, h.kin, h.art, h.work.impulse, h.work.joint_impulse, c.dq)
    longest = 0.0
    for i in range(c.dq.shape[0]):
        longest = max(longest, abs(c.dq[i]))
    integrate_joints(h.tree, c.dq, min(1.0, STRIDE / max(longest, 1e-300)), h.q)
    body_poses(h.tree, h.q, h.kin)
    body_inertias(h.tree, h.kin)
