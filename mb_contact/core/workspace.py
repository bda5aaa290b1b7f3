# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces of the kernels: named tuples of arrays, allocated once for a world, reused every step."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.trigonometry import padded
from mb_contact.types import JOINT_ROWS


class Kinematics(NamedTuple):
    """Poses and velocities; world axes, each body about its own origin."""

    R: np.ndarray  #: (n, 3, 3), body to world
    p: np.ndarray  #: (n, 3) [m]
    l: np.ndarray  #: (n, 3), origin of the parent to origin of the body [m]
    H: np.ndarray  #: (N, 6), rows of the hinge maps
    V: np.ndarray  #: (n, 6), spatial velocity
    a: np.ndarray  #: (n, 6), Coriolis acceleration
    b: np.ndarray  #: (n, 6), gyroscopic force
    I: np.ndarray  #: (n, 3, 3), rotational inertia about the body origin
    mc: np.ndarray  #: (n, 3), mass times centre of mass
    angle: np.ndarray  #: (nq,) padded, see trigonometry.py
    sine: np.ndarray
    cosine: np.ndarray
    base: np.ndarray  #: (1, 3, 3), scratch: joint frame to world
    turn: np.ndarray  #: (2, 3, 3), scratch: a joint's rotation
    shift: np.ndarray  #: (1, 3), scratch: a joint's displacement


class Articulated(NamedTuple):
    """Results of the Riccati sweep and the sweeps that use it; every degree of freedom counts as a joint of its own."""

    P: np.ndarray  #: (n, 21), articulated-body inertia, packed as articulated.py says
    U: np.ndarray  #: (N, 6), rows (P H*)*
    D_inv: np.ndarray  #: (N,)
    z: np.ndarray  #: (n, 6), residual forces
    nu: np.ndarray  #: (N,)
    alpha: np.ndarray  #: (n, 6), accelerations or velocity jumps


class Compliance(NamedTuple):
    """Upsilon sweep and the blocks Omega of the essential bodies."""

    branches: np.ndarray  #: int64 (n,)
    on_path: np.ndarray  #: int64 (n,)
    essential: np.ndarray  #: int64 (n,), number of the body among the essential ones, or -1
    body: np.ndarray  #: int64 (m,), body of an essential number
    near: np.ndarray  #: int64 (n,), nearest essential proper ancestor, or -1
    Upsilon: np.ndarray  #: (n, 21), packed as articulated.py says
    Psi: np.ndarray  #: (n, 6, 6)
    Omega: np.ndarray  #: (m, m, 6, 6)
    same_tree: np.ndarray  #: int64 (m, m)


class Rows(NamedTuple):
    """Scalar constraint rows: velocity = on_a . V(a) + on_b . V(b)."""

    body_a: np.ndarray  #: int64 (R,), body or WORLD
    body_b: np.ndarray  #: int64 (R,)
    side_a: np.ndarray  #: int64 (R,), essential numbers of the bodies, -1 for WORLD
    side_b: np.ndarray  #: int64 (R,)
    on_a: np.ndarray  #: (R, 6)
    on_b: np.ndarray  #: (R, 6), signed
    offset: np.ndarray  #: (R,), added to the velocity: gap / dt or minus the push-out velocity
    a_T: np.ndarray  #: (6, R), on_a and on_b transposed
    b_T: np.ndarray  #: (6, R)
    response: np.ndarray  #: (m, 6, R), velocities of the essential bodies to unit row impulses
    touched: np.ndarray  #: int64 (n,)
    dof: np.ndarray  #: int64 (R,), degree of freedom of a joint-limit row, else -1


class Cones(NamedTuple):
    """Layout of the complementarity problem: units of 3 rows (contacts) or 1 row (joint limits)."""

    count: np.ndarray  #: int64 (1,), units
    rows: np.ndarray  #: int64 (1,), scalar rows
    start: np.ndarray  #: int64 (U,), first row of a unit
    dim: np.ndarray  #: int64 (U,), 3 or 1
    mu: np.ndarray  #: (U,)
    cosine: np.ndarray  #: (n_f,), friction directions in the tangent basis
    sine: np.ndarray  #: (n_f,)


class Solution(NamedTuple):
    """The contact problem of a step in its scalar rows, and its solution."""

    q: np.ndarray  #: (R,), free velocity plus offset [m/s, rad/s]
    r: np.ndarray  #: (R,), impulses [N s, N m s]
    u: np.ndarray  #: (R,), velocities of the rows after the step, plus offset
    before: np.ndarray  #: (R,), and at its start
    judge: np.ndarray  #: (4,), the last certificate: see solve/certificate.py
    loops: np.ndarray  #: (2,), that of loops, gears and joint friction
    ray: np.ndarray  #: (R,), unit impulses that show that no motion fulfils the rows; zero where some does
    pushed: np.ndarray  #: (R,), push-out velocities that were dropped for that [m/s, rad/s]
    proof: np.ndarray  #: (2,), how far the ray moves anything, and what it asks for: see step.check_ray


class Memory(NamedTuple):
    """What a step leaves for the next: contact identities, frames and impulses (warm start)."""

    count: np.ndarray  #: int64 (1,)
    pair: np.ndarray  #: int64 (c,)
    feature: np.ndarray  #: int64 (c,)
    tangent: np.ndarray  #: (c, 3)
    impulse: np.ndarray  #: (c, 3), normal and two tangents
    moment: np.ndarray  #: (c, 3), torsion and rolling about the two tangents
    joint: np.ndarray  #: (N, JOINT_ROWS), of the rows of each degree of freedom
    loop: np.ndarray  #: (m,), of the bilateral rows


class Frames(NamedTuple):
    """Contact frames of the current step."""

    t1: np.ndarray  #: (c, 3)
    t2: np.ndarray  #: (c, 3)
    known: np.ndarray  #: int64 (c,), index in Memory or -1
    aligned: np.ndarray  #: int64 (c,), 1 where t1 follows the slip


class StepWork(NamedTuple):
    """Vectors of one step."""

    v_free: np.ndarray  #: (N,)
    V_free: np.ndarray  #: (n, 6)
    speed: np.ndarray  #: (N,), speed that decides which limits are in the problem
    effort: np.ndarray  #: (N,), clamped
    force: np.ndarray  #: (N,), effort and springs
    v_dot: np.ndarray  #: (N,)
    dv: np.ndarray  #: (N,)
    external: np.ndarray  #: (n, 6), forces on bodies at their origins, world axes
    impulse: np.ndarray  #: (n, 6)
    joint_impulse: np.ndarray  #: (N,)
    joint_effort: np.ndarray  #: (N,), effort + damping + limit impulse / dt
    geom_impulse: np.ndarray  #: (g, 6), contact impulse on a geometry about its body origin, world axes
    contact_impulse: np.ndarray  #: (c, 3), on A, world axes [N s]
    v_next: np.ndarray  #: (N,)
    ledger: np.ndarray  #: (6,), work of efforts, damping, contacts, limits, external wrenches, loops in this step [J]
    contact_energy: np.ndarray  #: (2,), T(v+) - T(v_free) and sum p_n v_push of this step [J]
    report: np.ndarray  #: (c, 14), see step.report
    energy: np.ndarray  #: (2,), kinetic and potential energy of the current state [J]
    info: np.ndarray  #: int64 (4,), solver rung, iterations, singular body, contacts that the step has stopped
    row_bias: np.ndarray  #: (c, 3), what the rows' velocities after the step have beyond the linear model [m/s]
    shift: np.ndarray  #: (N,), by which the step starts behind q for its impacts' sake: q o exp(-shift) [rad, m]
    gap_shift: np.ndarray  #: (c,), what gaps change by it [m]


def make_kinematics(n, N):
    angles = padded(N + n)  # q has at most one entry more than v for each joint
    return Kinematics(
        R=np.zeros((n, 3, 3)),
        p=np.zeros((n, 3)),
        l=np.zeros((n, 3)),
        H=np.zeros((N, 6)),
        V=np.zeros((n, 6)),
        a=np.zeros((n, 6)),
        b=np.zeros((n, 6)),
        I=np.zeros((n, 3, 3)),
        mc=np.zeros((n, 3)),
        angle=np.zeros(angles),
        sine=np.zeros(angles),
        cosine=np.zeros(angles),
        base=np.zeros((1, 3, 3)),
        turn=np.zeros((2, 3, 3)),
        shift=np.zeros((1, 3)),
    )


def make_articulated(n, N):
    return Articulated(
        P=np.zeros((n, 21)),
        U=np.zeros((N, 6)),
        D_inv=np.zeros(N),
        z=np.zeros((n, 6)),
        nu=np.zeros(N),
        alpha=np.zeros((n, 6)),
    )


def make_compliance(n, essential=None):
    """For at most ``essential`` bodies that are touched or stand where paths meet (all n by default)."""
    m = n if essential is None else min(n, essential)
    return Compliance(
        branches=np.zeros(n, np.int64),
        on_path=np.zeros(n, np.int64),
        essential=np.zeros(n, np.int64),
        body=np.zeros(m, np.int64),
        near=np.zeros(n, np.int64),
        Upsilon=np.zeros((n, 21)),
        Psi=np.zeros((n, 6, 6)),
        Omega=np.zeros((m, m, 6, 6)),
        same_tree=np.zeros((m, m), np.int64),
    )


def make_rows(n, R):
    return Rows(
        body_a=np.zeros(R, np.int64),
        body_b=np.zeros(R, np.int64),
        side_a=np.zeros(R, np.int64),
        side_b=np.zeros(R, np.int64),
        on_a=np.zeros((R, 6)),
        on_b=np.zeros((R, 6)),
        offset=np.zeros(R),
        a_T=np.zeros((6, R)),
        b_T=np.zeros((6, R)),
        response=np.zeros((n, 6, R)),
        touched=np.zeros(n, np.int64),
        dof=np.zeros(R, np.int64),
    )


def make_cones(units, n_f):
    angle = 2.0 * np.pi * np.arange(n_f) / n_f
    return Cones(
        count=np.zeros(1, np.int64),
        rows=np.zeros(1, np.int64),
        start=np.zeros(units, np.int64),
        dim=np.zeros(units, np.int64),
        mu=np.zeros(units),
        cosine=np.cos(angle),
        sine=np.sin(angle),
    )


def make_solution(R):
    return Solution(
        q=np.zeros(R), r=np.zeros(R), u=np.zeros(R), before=np.zeros(R), judge=np.zeros(4), loops=np.zeros(2),
        ray=np.zeros(R), pushed=np.zeros(R), proof=np.zeros(2),
    )  # fmt: skip


def make_memory(capacity, N, loops):
    return Memory(
        count=np.zeros(1, np.int64),
        pair=np.zeros(capacity, np.int64),
        feature=np.zeros(capacity, np.int64),
        tangent=np.zeros((capacity, 3)),
        impulse=np.zeros((capacity, 3)),
        moment=np.zeros((capacity, 3)),
        joint=np.zeros((N, JOINT_ROWS)),
        loop=np.zeros(loops),
    )


def make_frames(capacity):
    return Frames(
        t1=np.zeros((capacity, 3)),
        t2=np.zeros((capacity, 3)),
        known=np.zeros(capacity, np.int64),
        aligned=np.zeros(capacity, np.int64),
    )


def make_step_work(n, N, g, capacity):
    return StepWork(
        v_free=np.zeros(N),
        V_free=np.zeros((n, 6)),
        speed=np.zeros(N),
        effort=np.zeros(N),
        force=np.zeros(N),
        v_dot=np.zeros(N),
        dv=np.zeros(N),
        external=np.zeros((n, 6)),
        impulse=np.zeros((n, 6)),
        joint_impulse=np.zeros(N),
        joint_effort=np.zeros(N),
        geom_impulse=np.zeros((g, 6)),
        contact_impulse=np.zeros((capacity, 3)),
        v_next=np.zeros(N),
        ledger=np.zeros(6),
        contact_energy=np.zeros(2),
        report=np.zeros((capacity, 14)),
        energy=np.zeros(2),
        info=np.zeros(4, np.int64),
        row_bias=np.zeros((capacity, 3)),
        shift=np.zeros(N),
        gap_shift=np.zeros(capacity),
    )
