# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces of the kernels: named tuples of arrays, allocated once for a world, reused every step."""

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.types import JOINT_ROWS

EFFORTS, DAMPING, CONTACTS, LIMITS, WRENCHES, LOOPS, CARRIED = range(7)  #: entries of StepWork.work_terms
KINETIC, POTENTIAL = range(2)  #: of StepWork.energy
WORK_DONE, ENERGY_START = range(2)  #: of StepWork.sums
GAINED, PUSHED_OUT, UNLAWFUL, REMOVED, LIFTED, TOLD, BENT = range(7)  #: of StepWork.contact_energy
STAGE, ITERATIONS, BAD_BODY, LANDED = range(4)  #: of StepWork.info
MOTION, GAIN = range(2)  #: of Solution.proof
#: of Sleep.rule: 1 where trees may sleep, way that counts as rest [m, rad] and the time that it has to last [s]
MAY_SLEEP, DISTANCE, TIME = range(3)
SLEEPERS, COMPLETE = range(2)  #: of Sleep.count
AWAKE, DROWSY, ASLEEP = range(3)  #: of Sleep.state
POINT, NORMAL, IMPULSE = 0, 3, 6  #: columns of StepWork.report: three each,
GAP, SLIDING, STATE, PAIR, FEATURE, COLUMNS = range(9, 15)  #: and one each
#: entries of StepWork.record: those of ``results.Certificate`` in their order, work [J] and landed contacts; the report
(
    COMPLEMENTARITY, INFEASIBILITY, CONE_VIOLATION, PENETRATION, SOLVER, NEWTON_STEPS, POINTS, ENERGY, BALANCE,
    KINETIC_ENERGY, CONTACT_ENERGY, PUSH_OUT, CONTACT_ERROR, ENERGY_GAINED, ENERGY_REMOVED, LOOP_RESIDUAL,
    LOOP_VELOCITY, CLOSURE_ERROR, LOOP_ROWS, RAY, RAY_GAIN, TIME_STEPPED, RELEASED, END_GAP, DEEPEST_PAIR, PAIRS_MET,
    PAIRS_PASSED, PAIRS_HELD, TIED_ROWS, TIED_RESIDUAL, PIECES, BY_EULER, WORK, LANDINGS, HEAD,
) = range(35)  # fmt: skip


NO_BLOCK = -1  #: Rows.law: the row stands in the block of another, or in none
EQUALITY = 0  #: u + mu r = 0, mu a softness
UNILATERAL = 1  #: r >= mu, u >= 0, (r - mu) u = 0
BOX = 2  #: |r| <= mu, u against r where it is at the bound, 0 within
CONTACT = 3  #: a UNILATERAL normal, then friction: two tangents, torsion, two rows of rolling, each group against r_n


class Rows(NamedTuple):
    """Scalar constraint rows: velocity = on_a . V(a) + on_b . V(b).

    Rows 3 i, 3 i + 1 and 3 i + 2 are normal and tangents of contact i.
    """

    contacts: Annotated[Integers, 1]  #: how many these are
    end: Annotated[Integers, 1]  #: row behind the last one of contacts and limits
    law: Annotated[Integers, "R"]  #: kind of the block that begins with the row; NO_BLOCK where none does
    next: Annotated[Integers, "R"]  #: next row of its block, -1 for none
    mu: Annotated[Reals, "R"]  #: coefficient, bound or softness of its law: ``solve.system.Blocks.mu``
    viscous: Annotated[Reals, "R"]  #: softness of an equality that acts beside its block, 0 for none
    body_a: Annotated[Integers, "R"]  #: body or WORLD
    body_b: Annotated[Integers, "R"]
    side_a: Annotated[Integers, "R"]  #: essential numbers of the bodies, -1 for WORLD
    side_b: Annotated[Integers, "R"]
    on_a: Annotated[Reals, "R", 6]
    on_b: Annotated[Reals, "R", 6]  #: signed
    offset: Annotated[Reals, "R"]  #: added to the velocity: gap / dt or minus the push-out velocity
    carried: Annotated[Reals, "R"]  #: part of the offset that is the velocity of surfaces which move in themselves
    compliance: Annotated[Reals, "R"]  #: of a soft material, which the row has beside that of W [1/kg]
    a_T: Annotated[Reals, 6, "R"]  #: on_a and on_b transposed
    b_T: Annotated[Reals, 6, "R"]
    response: Annotated[Reals, "n", 6, "R"]  #: velocities of the essential bodies to unit row impulses
    touched: Annotated[Integers, "n"]  #: 0 for bodies without rows; behind ``row_compliance`` the last row, from one
    dof: Annotated[Integers, "R"]  #: degree of freedom of a joint's own row, else -1
    bound: Annotated[Integers, "R"]  #: what such a row bounds: LOWER ... RUB
    sign: Annotated[Reals, "R"]  #: 1 where it is along the joint's rate, -1 against it


class LoopWork(NamedTuple):
    """Scratch of the closures: their frames in the world, velocity products, errors."""

    point: Annotated[Reals, 2, 3]  #: origins of the frames on A and B
    axes: Annotated[Reals, 2, 3, 3]  #: their axes as columns
    alpha: Annotated[Reals, "n", 6]  #: accelerations of the bodies when theta_dd = 0 and gravity is off
    error: Annotated[Reals, "m"]  #: closure error c of each bilateral row [m, rad]


class Solution(NamedTuple):
    """The contact problem of a step in its scalar rows, and its solution."""

    q: Annotated[Reals, "R"]  #: free velocity plus offset [m/s, rad/s]
    r: Annotated[Reals, "R"]  #: impulses [N s, N m s]
    solved: Annotated[Integers, 1]  #: 1 where ``problem.solve`` has found them, 0 where another solver does
    u: Annotated[Reals, "R"]  #: velocities of the rows after the step, plus offset
    before: Annotated[Reals, "R"]  #: and at its start
    residuals: Annotated[Reals, 4]  #: the last certificate: see solve/certificate.py
    loops: Annotated[Reals, 4]  #: that of loops, gears and joint friction; that of tied rows, and their number
    ray: Annotated[Reals, "R"]  #: unit impulses that show that no motion fulfils the rows; zero where some does
    pushed: Annotated[Reals, "R"]  #: push-out velocities that were dropped for that [m/s, rad/s]
    proof: Annotated[Reals, 2]  #: how far the ray moves anything, and what it asks for: see step.check_ray


class Memory(NamedTuple):
    """What a step leaves for the next: contact identities, frames and impulses (warm start)."""

    count: Annotated[Integers, 1]
    pair: Annotated[Integers, "c"]
    feature: Annotated[Integers, "c"]
    tangent: Annotated[Reals, "c", 3]
    impulse: Annotated[Reals, "c", 3]  #: normal and two tangents
    moment: Annotated[Reals, "c", 3]  #: torsion and rolling about the two tangents
    stretch: Annotated[Reals, "e", 5]  #: of soft materials: see ``ContactState``
    joint: Annotated[Reals, "N", JOINT_ROWS]  #: of the rows of each degree of freedom
    loop: Annotated[Reals, "m"]  #: of the bilateral rows
    released: Annotated[Integers, "closures"]  #: 1 where a thread came off with the last step, 2 where before
    unsettled: Annotated[Integers, 1]  #: 1 where the impulses may have stopped what the next ones would start again


class Sleep(NamedTuple):
    """Which trees sleep, and what wakes them (``core/step/sleep.py``); T trees of n bodies."""

    rule: Annotated[Reals, 3]  #: MAY_SLEEP, DISTANCE, TIME
    count: Annotated[Integers, 2]  #: trees that sleep; 1 where all do, and did in the whole last step
    state: Annotated[Integers, "T"]  #: AWAKE, DROWSY or ASLEEP
    group: Annotated[Integers, "T"]  #: of those asleep, the tree after which their island is called
    never: Annotated[Integers, "T"]  #: 1 where a tree moves as told
    moved: Annotated[Integers, "T"]  #: scratch
    ready: Annotated[Integers, "T"]  #: of islands: 1 for those that fall asleep in this step,
    quiet: Annotated[Integers, "T"]  #: and for those that are solved more exactly
    slow: Annotated[Reals, "T"]  #: for how long all its velocities have been small [s]
    still: Annotated[Reals, "T"]  #: for how long none of its coordinates has left its anchor [s]
    of_q: Annotated[Integers, "nq"]  #: tree of a coordinate
    of_v: Annotated[Integers, "N"]
    anchor: Annotated[Reals, "nq"]
    q: Annotated[Reals, "nq"]  #: behind the last step in which the tree was not asleep, as what follows
    v: Annotated[Reals, "N"]
    effort: Annotated[Reals, "N"]
    target: Annotated[Reals, "N"]
    target_rate: Annotated[Reals, "N"]
    external: Annotated[Reals, "n", 6]
    frame: Annotated[Reals, 4]  #: gravity and length of that step


class Frames(NamedTuple):
    """Contact frames of the current step."""

    t1: Annotated[Reals, "c", 3]
    t2: Annotated[Reals, "c", 3]
    known: Annotated[Integers, "c"]  #: index in Memory or -1
    aligned: Annotated[Integers, "c"]  #: 1 where t1 follows the slip
    lead: Annotated[Reals, "c", 3]  #: of whose part across the normal t1 is the direction


class Belts(NamedTuple):
    """Surfaces that move in themselves, b of them: belts, turntables.  No row of ``of`` where a world has none."""

    of: Annotated[Integers, "belt_geoms"]  #: number of each geometry's surface, or -1
    origin: Annotated[Reals, "belts", 3]  #: about which it turns, in the body's frame [m]
    linear: Annotated[Reals, "belts", 3]  #: velocity there at speed one, in the body's axes [m/s]
    angular: Annotated[Reals, "belts", 3]  #: [rad/s]
    speed: Annotated[Reals, "belts"]  #: factor on both, a view of the state


class Pads(NamedTuple):
    """Suction cups and magnets: points that pull at what lies within reach along their axes (``step/pads.py``)."""

    body: Annotated[Integers, "pads"]  #: or WORLD
    on: Annotated[Reals, "pads"]  #: factor on the force, 0 where switched off; a view of the state
    first: Annotated[Integers, "pads + 1"]  #: point of each pad
    first_knot: Annotated[Integers, "pads + 1"]  #: knot of each pad's curve
    knot: Annotated[Reals, "knots", 2]  #: gap [m], and the part of the greatest force there
    point: Annotated[Reals, "spots", 3]  #: in the body's frame [m]
    axis: Annotated[Reals, "spots", 3]  #: unit, outward, in the body's axes
    force: Annotated[Reals, "spots"]  #: greatest [N]
    place: Annotated[Reals, "spots", 3]  #: of the points in the present step, world [m]
    gap: Annotated[Reals, "spots"]  #: along the axis in the present step, inf where nothing is within reach [m]
    meets: Annotated[Integers, "spots"]  #: geometry there, or -1
    pull: Annotated[Reals, "spots"]  #: force in the present step [N]
    applied: Annotated[Reals, "pulled", 6]  #: external wrenches of the user, beside which ``StepWork.external`` pulls


class Soft(NamedTuple):
    """Contacts of soft materials in the present step (``step/softness.py``); no rows where all are rigid (e = 0)."""

    energy: Annotated[Reals, "elastic"]  #: elastic energy of all behind the last step, a view of the state [J]
    start: Annotated[Reals, "e"]  #: compression at the start of the step [m]
    stiffness: Annotated[Reals, "e", 2]  #: along the normal and across it in the step [N/m]
    shear: Annotated[Reals, "e", 2]  #: displacement along both tangents at its start [m]
    end: Annotated[Reals, "e", 5]  #: what the next step starts from: ``Memory.stretch``


class ContactEnds(NamedTuple):
    """Contacts of the current step where its flow ends (``core/integrate/kept_contacts.py``)."""

    normal: Annotated[Reals, "c", 3]
    t1: Annotated[Reals, "c", 3]
    t2: Annotated[Reals, "c", 3]
    arm_a: Annotated[Reals, "c", 3]  #: from the bodies' origins there to the point [m]
    arm_b: Annotated[Reals, "c", 3]
    ahead: Annotated[Reals, "c", 3]  #: what velocities of both ends have together beyond those of the rows [m/s]
    r: Annotated[Reals, 5, "R"]  #: impulses and velocities of the rows in all problems of the step: those of its start,
    u: Annotated[Reals, 5, "R"]  #: by which contacts are looked for at the end, then those with what is asked there
    solved: Annotated[Integers, 2]  #: how many these were, and their rows


class StepWork(NamedTuple):
    """Vectors of one step."""

    v_free: Annotated[Reals, "N"]
    V_free: Annotated[Reals, "n", 6]
    speed: Annotated[Reals, "N"]  #: speed that decides which limits are in the problem
    effort: Annotated[Reals, "N"]  #: clamped; in the end what acted
    implicit: Annotated[Reals, "N"]  #: what damping, springs and servos add to M in the contact problem [kg m^2, kg]
    force: Annotated[Reals, "N"]  #: effort and springs
    v_dot: Annotated[Reals, "N"]
    dv: Annotated[Reals, "N"]
    external: Annotated[Reals, "n", 6]  #: forces on bodies at their origins, world axes
    impulse: Annotated[Reals, "n", 6]
    joint_impulse: Annotated[Reals, "N"]
    joint_effort: Annotated[Reals, "N"]  #: effort + damping + limit impulse / dt
    geom_impulse: Annotated[Reals, "g", 6]  #: contact impulse on a geometry about its body origin, world axes
    contact_impulse: Annotated[Reals, "c", 3]  #: on A, world axes [N s]
    v_next: Annotated[Reals, "N"]
    #: work of efforts, damping, contacts, limits, wrenches, loops, moving surfaces in this step [J]
    work_terms: Annotated[Reals, 7]
    #: T(v+) - T(v_free), sum p_n v_push, work beyond the contacts' laws, what was taken out of the motion, the part
    #: of it that is push-out, and what the step has gained without work [J]
    contact_energy: Annotated[Reals, 7]
    record: Annotated[Reals, "entries"]  #: numbers of the step, then ``report``, of which it is the memory
    report: Annotated[Reals, "c", COLUMNS]  #: see step.report
    q_start: Annotated[Reals, "nq"]  #: what the step started from
    v_start: Annotated[Reals, "N"]
    gravity_start: Annotated[Reals, 3]
    group_energy: Annotated[Reals, "n"]  #: of trees that rows couple, for passivity.py: kinetic energy [J]
    group_turn: Annotated[Reals, "n"]  #: largest square of an angular velocity [rad^2/s^2]
    group_gain: Annotated[Reals, "n"]  #: energy to be taken out [J], then the factor on velocities
    group_push: Annotated[Reals, "n"]  #: lawful work of push-out [J]
    group_held: Annotated[Integers, "n"]  #: 1 where it does not float, or touches the world
    group_mass: Annotated[Reals, "n"]
    group_velocity: Annotated[Reals, "n", 3]  #: momentum, then velocity of the centre of mass
    energy: Annotated[Reals, 2]  #: kinetic and potential energy of the current state [J]
    falling: Annotated[Reals, 1]  #: power of gravity in it [W]
    sums: Annotated[Reals, 2]  #: work since the start, and the energy then [J]
    saturation: Annotated[Reals, "N"]  #: of servos before a step among several
    info: Annotated[Integers, 4]  #: solver (SOLVER_*), Newton steps, singular body, contacts that the step stopped
    row_bias: Annotated[Reals, "c", 3]  #: what the rows' velocities after the step have beyond the linear model [m/s]
    #: slip that friction asks for along its tangents to second order [m/s]; 1 where it asks (``mean_slip.py``)
    asked_slip: Annotated[Reals, "c", 3]
    shift: Annotated[Reals, "N"]  #: by which the step starts behind q for its impacts' sake: q o exp(-shift) [rad, m]
    gap_shift: Annotated[Reals, "c"]  #: what gaps change by it [m]


def make_rows(n, R):
    return allocate(Rows, n=n, R=R)


def make_loop_work(n, m):
    """For n bodies and m bilateral rows."""
    return allocate(LoopWork, n=n, m=m)


def make_step_work(n, N, nq, g, capacity, **kept):
    """Of a step with room for so many contacts; ``kept`` are fields that are views of the state."""
    record = np.zeros(HEAD + COLUMNS * capacity)
    report = record[HEAD:].reshape(capacity, COLUMNS)
    return allocate(StepWork, n=n, N=N, nq=nq, g=g, c=capacity, record=record, report=report, **kept)
