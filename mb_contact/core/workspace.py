# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces of the kernels: named tuples of arrays, allocated once for a world, reused every step."""

import functools
from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.trigonometry import padded
from mb_contact.types import CLOSURE_ROWS, JOINT_ROWS, Closures, Gears

EFFORTS, DAMPING, CONTACTS, LIMITS, WRENCHES, LOOPS, CARRIED = range(7)  #: entries of StepWork.work_terms
KINETIC, POTENTIAL = range(2)  #: of StepWork.energy
WORK_DONE, ENERGY_START = range(2)  #: of StepWork.sums
GAINED, PUSHED_OUT, UNLAWFUL, REMOVED, LIFTED, TOLD = range(6)  #: of StepWork.contact_energy
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


class Kinematics(NamedTuple):
    """Poses and velocities; world axes, each body about its own origin."""

    R: Annotated[Reals, "n", 3, 3]  #: body to world
    p: Annotated[Reals, "n", 3]  #: [m]
    l: Annotated[Reals, "n", 3]  #: origin of the parent to origin of the body [m]
    H: Annotated[Reals, "N", 6]  #: rows of the hinge maps
    V: Annotated[Reals, "n", 6]  #: spatial velocity
    a: Annotated[Reals, "n", 6]  #: Coriolis acceleration
    b: Annotated[Reals, "n", 6]  #: gyroscopic force
    I: Annotated[Reals, "n", 3, 3]  #: rotational inertia about the body origin
    mc: Annotated[Reals, "n", 3]  #: mass times centre of mass
    angle: Annotated[Reals, "angles"]  #: padded, see trigonometry.py
    sine: Annotated[Reals, "angles"]
    cosine: Annotated[Reals, "angles"]
    base: Annotated[Reals, 1, 3, 3]  #: scratch: joint frame to world
    turn: Annotated[Reals, 2, 3, 3]  #: scratch: a joint's rotation
    shift: Annotated[Reals, 1, 3]  #: scratch: a joint's displacement
    modal: object  #: ModalHandle: links that deform


class Modal(NamedTuple):
    """f flexible links, R modes, m nodes, p points; P pairs of modes of a link, S of a mode and a node, T of all three.

    Arrays of the first part are constant, in the axes of the links' floating frames (``model/flexible/modal.py``).
    """

    link: Annotated[Integers, "f"]  #: body that is the floating frame
    first_mode: Annotated[Integers, "f + 1"]
    q_start: Annotated[Integers, "f"]  #: of the first mode; those of a link stand side by side
    v_start: Annotated[Integers, "f"]
    first_pair: Annotated[Integers, "f"]  #: pair (i, j) of a link with r modes is r i + j further on
    first_node: Annotated[Integers, "f + 1"]
    node: Annotated[Integers, "m"]  #: body
    link_of: Annotated[Integers, "m"]  #: flexible link of a node
    node_of: Annotated[Integers, "n"]  #: node that a body is, or -1
    flexible: Annotated[Integers, "n"]  #: flexible link that a body is a mode or a node of, or -1
    first_shape: Annotated[Integers, "m"]
    first_short: Annotated[Integers, "m"]
    first_point: Annotated[Integers, "f + 1"]
    axis: Annotated[Reals, "f", 3]
    one: Annotated[Reals, "p"]  #: weights and fields of the points: see ModalMass
    point: Annotated[Reals, "p", 3]
    point_shape: Annotated[Reals, "x", 3]  #: of each point and mode, those of a link's first point first
    first_point_shape: Annotated[Integers, "f"]
    point_short: Annotated[Reals, "y"]  #: of each point and pair of modes
    first_point_short: Annotated[Integers, "f"]
    turning: Annotated[Reals, "f", 3, 3]
    turning_modes: Annotated[Reals, "R", 3]
    turning_mass: Annotated[Reals, "P"]
    shape: Annotated[Reals, "S", 3]  #: displacement of a node for each unit of a mode
    slope: Annotated[Reals, "S", 3]  #: its rotation vector
    short: Annotated[Reals, "T"]  #: second derivatives of the displacement along the axis
    # --- filled by the sweeps; world axes
    eta: Annotated[Reals, "R"]
    rate: Annotated[Reals, "R"]
    columns_at: Annotated[Reals, "R", 3]  #: scratch: displacements of a point for each unit of a mode
    coupling: Annotated[Reals, "R", 6]  #: [B_i; A_i]
    M: Annotated[Reals, "P"]  #: of the modes
    force: Annotated[Reals, "R"]  #: velocity products on the modes
    columns: Annotated[Reals, "S", 6]  #: velocity of a node for each unit rate of a mode
    column_rates: Annotated[Reals, "S", 6]


ModalHandleType, ModalHandle, make_modal_handle = handle(Modal)


class Articulated(NamedTuple):
    """Results of the Riccati sweep and the sweeps that use it; every degree of freedom counts as a joint of its own."""

    P: Annotated[Reals, "n", 21]  #: articulated-body inertia, packed as articulated.py says
    U: Annotated[Reals, "N", 6]  #: rows (P H*)*
    D_inv: Annotated[Reals, "N"]
    z: Annotated[Reals, "n", 6]  #: residual forces
    nu: Annotated[Reals, "N"]
    alpha: Annotated[Reals, "n", 6]  #: accelerations or velocity jumps
    aggregates: object  #: AggregatesHandle


class Compliance(NamedTuple):
    """Upsilon sweep and the blocks Omega of the essential bodies."""

    branches: Annotated[Integers, "n"]
    on_path: Annotated[Integers, "n"]
    essential: Annotated[Integers, "n"]  #: number of the body among the essential ones, or -1
    body: Annotated[Integers, "m"]  #: body of an essential number
    near: Annotated[Integers, "n"]  #: nearest essential proper ancestor, or -1
    Upsilon: Annotated[Reals, "n", 21]  #: packed as articulated.py says
    Psi: Annotated[Reals, "n", 6, 6]
    Omega: Annotated[Reals, "m", "m", 6, 6]
    same_tree: Annotated[Integers, "m", "m"]


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


class Aggregates(NamedTuple):
    """A aggregates of s bodies and d degrees of freedom in all, c and m of them and of rows at most in one.

    An aggregate is a set of bodies that hang together, each on another of them or on the ``base``, and that move by
    few independent velocities y beside it:

        V(k) = phi* V(base) + B(k)* y,    v = Z y,    v_dot = Z y_dot + bias.

    ``dof`` are all degrees of freedom of its joints.  In the sweeps everything happens at its first body.
    """

    base: Annotated[Integers, "A"]  #: the body that it hangs on, or WORLD
    body: Annotated[Integers, "s"]  #: bodies of the aggregates, ascending in each
    first_body: Annotated[Integers, "A + 1"]
    dof: Annotated[Integers, "d"]
    first_dof: Annotated[Integers, "A + 1"]
    of: Annotated[Integers, "n"]  #: aggregate of each body of the tree, or -1
    slot: Annotated[Integers, "n"]  #: and its place in ``body``
    place: Annotated[Integers, "N"]  #: place of each degree of freedom among those of its aggregate
    closures: Closures
    first_closure: Annotated[Integers, "A + 1"]
    gears: Gears
    first_gear: Annotated[Integers, "A + 1"]
    kept: Annotated[Integers, "d"]  #: 1 for what stays independent where it can: joints that something else places
    unit: Annotated[Reals, "d"]  #: by which a coordinate is divided to compare it with an angle [m], 1 of angles
    length: Annotated[Reals, "A"]  #: of its links, by which lengths in its rows are divided [m]
    # --- filled by the sweeps
    columns: Annotated[Integers, "A"]  #: independent velocities
    Z: Annotated[Reals, "d", "c"]
    bias: Annotated[Reals, "d"]
    rotor: Annotated[Reals, "d"]  #: armature + dt damping
    B: Annotated[Reals, "s", "c", 6]
    alpha: Annotated[Reals, "s", 6]  #: of the bodies where y_dot and alpha(base) are zero
    X: Annotated[Reals, 6, 6]  #: scratch
    D: Annotated[Reals, "c", "c"]
    U: Annotated[Reals, "A", "c", 6]
    D_inv: Annotated[Reals, "A", "c"]
    nu: Annotated[Reals, "A", "c"]
    moves: Annotated[Integers, 1]  #: 1 in accelerations, which have a bias, 0 in velocity jumps
    rows: Rows  #: scratch: of the closures
    loop: LoopWork
    G: Annotated[Reals, "m", "c + 1"]  #: rows of an aggregate, then of [1, W] and their right-hand sides
    column: Annotated[Integers, "c"]  #: of a row of [1, W], the coordinate that it gives
    dependent: Annotated[Integers, "c"]  #: 1 for those
    may: Annotated[Integers, "c"]  #: 1 for those that may be
    most: Annotated[Reals, "m"]  #: largest entry of a row that may be its pivot
    most_at: Annotated[Integers, "m"]  #: and its column
    filled: Annotated[Integers, "c + 1"]  #: columns in which a pivot's row is not zero
    step: Annotated[Reals, "N"]  #: of coordinates
    error: Annotated[Reals, "A"]  #: closure error that is left [m, rad]


AggregatesHandleType, AggregatesHandle, make_aggregates_handle = handle(Aggregates)


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
    contact_energy: Annotated[Reals, 6]
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
    shift: Annotated[Reals, "N"]  #: by which the step starts behind q for its impacts' sake: q o exp(-shift) [rad, m]
    gap_shift: Annotated[Reals, "c"]  #: what gaps change by it [m]


def make_kinematics(n, N, modal=None):
    """For n bodies and N degrees of freedom; ``modal`` is what ``make_modal`` makes, by default of no flexible link."""
    modal = no_modal() if modal is None else modal
    angles = padded(N + n)  # q has at most one entry more than v for each joint
    return allocate(Kinematics, n=n, N=N, angles=angles, modal=modal)


def make_modal(tree, links):
    """A handle for the flexible links of a tree, of its own: what sweeps fill belongs to one ``Kinematics``.

    Parameters
    ----------
    tree : Tree
    links : sequence of model.flexible.FlexibleBody
    """
    if not links:
        return no_modal()
    r = np.array([len(link.modes) for link in links], np.int64)
    m = np.array([len(link.nodes) for link in links], np.int64)
    p = np.array([len(link.mass.one) for link in links], np.int64)
    node = np.array([k for link in links for k in link.nodes], np.int64)
    node_of, flexible = np.full(len(tree.parent), -1), np.full(len(tree.parent), -1)
    node_of[node] = np.arange(len(node))
    for f, link in enumerate(links):
        flexible[[*link.modes, *link.nodes]] = f
    link_of = np.repeat(np.arange(len(links)), m)
    heads = np.array([link.modes[0] for link in links], np.int64)
    fields = {"one": (), "point": (3,), "point_shape": (3,), "point_short": (), "axis": (3,), "turning": (3, 3),
              "turning_modes": (3,), "turning_mass": ()}  # fmt: skip
    flat = {
        name: np.concatenate([getattr(link.mass, name.removeprefix("point_")).reshape(-1, *tail) for link in links])
        for name, tail in fields.items()
    }
    for name, tail in {"shape": (3,), "slope": (3,), "short": ()}.items():
        flat[name] = np.concatenate([getattr(link, name).reshape(-1, *tail) for link in links])
    flat = {name: np.ascontiguousarray(array) for name, array in flat.items()}  # as kernels want them
    starts = {
        "first_mode": _ends(r), "first_node": _ends(m), "first_point": _ends(p), "first_pair": _ends(r * r)[:-1],
        "first_point_shape": _ends(p * r)[:-1], "first_point_short": _ends(p * r * r)[:-1],
        "first_shape": _ends(r[link_of])[:-1], "first_short": _ends(r[link_of] ** 2)[:-1],
    }  # fmt: skip
    return make_modal_handle(allocate(
        Modal, f=len(links), R=int(r.sum()), P=int((r * r).sum()), S=int((r * m).sum()), n=len(tree.parent),
        link=np.array([link.body for link in links], np.int64), q_start=tree.q_start[heads].astype(np.int64),
        v_start=tree.v_start[heads].astype(np.int64), node=node, link_of=link_of, node_of=node_of, flexible=flexible,
        **starts, **flat,
    ))  # fmt: skip


def _ends(counts):
    """Where parts of these lengths start, and the end of the last."""
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


@functools.cache
def no_modal():
    """The handle of a tree without flexible links."""
    return make_modal_handle(allocate(Modal, f=0, R=0, P=0, S=0, T=0, m=0, n=0, p=0, x=0, y=0))


def make_articulated(n, N, aggregates=None):
    """For n bodies and N degrees of freedom; ``aggregates`` is a handle, by default of none."""
    return allocate(Articulated, n=n, N=N, aggregates=no_aggregates() if aggregates is None else aggregates)


def taken(arrays, order):
    """Closures or gears in another order, or some of them."""
    parts = type(arrays)(*(np.ascontiguousarray(array[order]) for array in arrays))
    for array in parts:
        array.setflags(write=False)
    return parts


def make_aggregates(n, N, parts, closures, gears, **more):
    """Aggregates of a tree of n bodies and N degrees of freedom.

    Parameters
    ----------
    parts : sequence of (base, bodies, dofs, closures, gears)
        Of each aggregate, the last two as indices into those that follow.
    closures, gears : Closures, Gears
    **more
        ``kept`` and ``unit`` (N,), ``length`` (A,).
    """
    A = len(parts)
    starts = [np.cumsum([0, *(len(part[i]) for part in parts)]) for i in range(1, 5)]
    flat = [np.array([x for part in parts for x in part[i]], np.int64) for i in range(1, 5)]
    of, slot, place = np.full(n, -1), np.full(n, -1), np.full(N, -1)
    for i, part in enumerate(parts):
        of[part[1]] = i
        place[part[2]] = np.arange(len(part[2]))
    slot[flat[0]] = np.arange(len(flat[0]))
    rows_of = np.array(CLOSURE_ROWS)[closures.kind]
    m = max((int(rows_of[part[3]].sum()) + len(part[4]) for part in parts), default=0)
    c = max((len(part[2]) for part in parts), default=0)
    return allocate(
        Aggregates, A=A, s=len(flat[0]), d=len(flat[1]), n=n, N=N, c=c, m=m,
        base=np.array([part[0] for part in parts], np.int64), body=flat[0], first_body=starts[0],
        dof=flat[1], first_dof=starts[1], of=of, slot=slot, place=place,
        closures=taken(closures, flat[2]), first_closure=starts[2], gears=taken(gears, flat[3]), first_gear=starts[3],
        kept=more["kept"][flat[1]], unit=more["unit"][flat[1]], length=more["length"],
        rows=make_rows(n, m), loop=make_loop_work(n, m),
    )  # fmt: skip


def none_of(declaration):
    """Closures or Gears without any."""
    shapes = {"p_a": (0, 3), "p_b": (0, 3), "R_a": (0, 3, 3), "R_b": (0, 3, 3), "motion": (0, 7)}
    whole = ("kind", "body_a", "body_b", "released")
    arrays = (np.zeros(shapes.get(name, 0), np.int64 if name in whole else float) for name in declaration._fields)
    return taken(declaration(*arrays), np.zeros(0, np.int64))


@functools.cache
def no_aggregates():
    """The handle of a tree without aggregates."""
    nothing = {"kept": np.zeros(0, np.int64), "unit": np.zeros(0), "length": np.zeros(0)}
    return make_aggregates_handle(make_aggregates(0, 0, (), none_of(Closures), none_of(Gears), **nothing))


def flexible_parts(tree, links):
    """(base, bodies, dofs, closures, gears) of the aggregate that each flexible link is, FlexibleBody ``links``."""
    return [
        (link.body, sorted((*link.modes, *link.nodes)), [int(tree.v_start[k]) for k in link.modes], [], [])
        for link in links
    ]


def flexible_aggregates(tree, links):
    """A handle for the aggregates of a tree with flexible links and without embedded loops."""
    if not links:
        return no_aggregates()
    n, N = len(tree.parent), len(tree.armature)
    loops = {"kept": np.zeros(N, np.int64), "unit": np.ones(N), "length": np.ones(len(links))}
    arrays = make_aggregates(n, N, flexible_parts(tree, links), none_of(Closures), none_of(Gears), **loops)
    return make_aggregates_handle(arrays)


def make_compliance(n, essential=None):
    """For at most ``essential`` bodies that are touched or stand where paths meet (all n by default)."""
    return allocate(Compliance, n=n, m=n if essential is None else min(n, essential))


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
