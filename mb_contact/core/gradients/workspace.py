# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Workspaces of the derivatives of a step."""

from typing import Annotated, NamedTuple

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals

#: what a step can be differentiated by, entries of GradientArrays.first; the last three are what the stages of a step
#: with impacts hand on: least normal impulses, offsets of rows, the way back of coordinates
(
    BY_Q, BY_V, BY_EFFORT, BY_MASS, BY_FRICTION, BY_DAMPING, BY_JOINT_FRICTION, BY_LEAST, BY_OFFSET, BY_SHIFT, NAMES,
) = range(11)  # fmt: skip
#: of GradientArrays.count: kinks, rows of the linear system, of them the first that are soft, 1 where impulses are
#: unique, bodies of the last contact, degrees of freedom of the present path, rows, spans
KINKS, HELD, SOFT, UNIQUE, BODY_A, BODY_B, PATH, ROWS, SPANS = range(9)
#: kinds of kinks
TOUCH, SLIP, GAP, LIMIT, JOINT_FRICTION, EFFORT_LIMIT, GAINED = range(7)
#: how a gear has its joint at the end of a step: where its other joint or its path has it; by a given way from where it
#: was; at a target that it reaches within the step
LED, MOVES, ARRIVES = range(3)
#: what a kernel returns beside the contact where it ends
FINE, NOT_OVER_FACE, BESIDE, PARALLEL, COINCIDENT, LATER, LOOP = range(7)


class Cores(NamedTuple):
    """Shapes as points, edges and faces with a constant radius around, in the frames of their bodies.

    Rows of all geometries stand one behind the other; edges and corners name rows of ``point``.
    """

    first_point: Annotated[Integers, "g + 1"]
    point: Annotated[Reals, "points", 3]  #: [m]
    first_edge: Annotated[Integers, "g + 1"]
    edge: Annotated[Integers, "edges", 2]
    first_face: Annotated[Integers, "g + 1"]
    normal: Annotated[Reals, "faces", 3]  #: outward
    area: Annotated[Reals, "faces"]  #: by which faces compete (``core/collision/manifold_normals.py``) [m^2]
    first_corner: Annotated[Integers, "faces + 1"]
    corner: Annotated[Integers, "corners"]  #: in order around each face; none of a half-space
    radius: Annotated[Reals, "g"]  #: [m]
    scale: Annotated[Reals, "g"]  #: largest size [m]
    axis: Annotated[Reals, "g", 3]  #: of a cylinder or cone
    end: Annotated[Reals, "g", 2, 3]  #: middles of its caps, or of its base and its tip [m]
    rim: Annotated[Reals, "g", 2]  #: radius there [m]


class Meeting(NamedTuple):
    """How one contact is made: what ``features.py`` finds and ``geometry.py`` differentiates."""

    kind: Annotated[Integers, 3]  #: VERTEX ... EDGES; side that has the face; edges of EDGES
    vector: Annotated[Reals, 11, 3]  #: world axes, see features.py
    number: Annotated[Reals, 4]
    system: Annotated[Reals, 4, 16]  #: of EDGES, with a right-hand side for each of both twists' components


class GradientArrays(NamedTuple):
    """A tree of n bodies and N degrees of freedom, c contacts, R rows, H of them in the linear system."""

    d: object  #: tree.derivatives.DerivativeArraysHandle
    cores: Cores
    meeting: Meeting
    body: Annotated[Integers, "N"]  #: that a degree of freedom moves first
    tip: Annotated[Integers, "n"]  #: last degree of freedom that moves a body, or -1
    chain: Annotated[Integers, "N + 1"]  #: entries of L and D of the degrees of freedom before this one
    alone: Annotated[Integers, "N", 2]  #: first and behind last degree of freedom of its tree
    among: Annotated[Integers, "N", 2]  #: and of those by which its efforts change
    drive: Annotated[Integers, "gears"]  #: LED ... ARRIVES
    joint_v: Annotated[Integers, "joints"]  #: degrees of freedom of joints with efforts
    first: Annotated[Integers, NAMES + 1]  #: column at which the derivatives by each name begin
    count: Annotated[Integers, 9]
    rate: Annotated[Reals, "N"]  #: accelerations of the step
    q: Annotated[Reals, "nq"]  #: at the start of the step
    end_twist: Annotated[Reals, "n", 6]  #: twists of the bodies at v+, at the world's origin
    S: Annotated[Reals, "N", 6]  #: twists of the degrees of freedom, at the world's origin
    twist_a: Annotated[Reals, "N", 6]  #: those of two bodies, along their paths
    twist_b: Annotated[Reals, "N", 6]
    turned_a: Annotated[Reals, "N", 6]  #: dV/dq of the two bodies of a contact at v+
    turned_b: Annotated[Reals, "N", 6]
    path: Annotated[Integers, "N"]  #: degrees of freedom that move one of two bodies, descending
    side: Annotated[Integers, "N"]  #: 1 for those of A, 2 of B, 3 of both
    push: Annotated[Reals, "N", 6]  #: derivative of the contacts' wrench on A
    pull: Annotated[Reals, "N", 6]  #: and of that on B, reversed
    total: Annotated[Reals, "n", 6]  #: wrenches of impulses, then of whole subtrees
    smooth: Annotated[Reals, 1]  #: 1 in a step; 0 in a phase of an impact, which only knows impulses
    apart: Annotated[Integers, "c"]  #: 1 where a contact acts on each body at its own surface, across the gap
    least: Annotated[Reals, "c"]  #: least normal impulse of a contact, which an impact recovers
    given: Annotated[Reals, "c"]  #: part of its normal impulse that bounds no friction
    passes: Annotated[Integers, "c"]  #: what the least one does: 0 nothing, 1 it acts alone, 2 with its friction
    slope: Annotated[Reals, "c"]  #: of the row's offset by the gap
    gap_q: Annotated[Reals, "c", "N"]  #: derivative of the gap
    place: Annotated[Reals, "c", 7, 12]  #: normal, point and gap of a contact by the twists of A and B
    above: Annotated[Reals, "c"]  #: 1 where the face of a contact is that of B, -1 of A, 0 of none
    turn: Annotated[Reals, "c", 3, "N"]  #: turn of a contact's axes by q
    spin_v: Annotated[Reals, "c", "N"]  #: turn of its tangents about its normal by v
    at: Annotated[Integers, "R"]  #: where a row stands among those of the step
    tip_a: Annotated[Integers, "R"]  #: last degrees of freedom of the two paths of a row, or -1
    tip_b: Annotated[Integers, "R"]
    J: Annotated[Reals, "R", "N"]
    Y: Annotated[Reals, "R", "N"]  #: L^-* J* by rows, A = L* D L
    u_q: Annotated[Reals, "R", "N"]  #: derivative of the rows' velocities at v+
    u_v: Annotated[Reals, "R", "N"]  #: and by v, of loops and of friction to second order
    end_pair: Annotated[Reals, 2, 6]  #: twists at v+ of the two bodies of a closure
    bias: Annotated[Reals, 2, 3, "N + 2", 6]  #: of both: V, A and dA/dq; dA/dv; dV/dq (``bias.py``)
    compliance: Annotated[Reals, "R"]  #: J A^-1 J* of each row
    efforts: Annotated[Reals, "N", "N"]  #: derivative of J* r at r, and of the impulses of external wrenches
    mobile: Annotated[Reals, 1]  #: compliance below which a row asks for nothing
    row: Annotated[Integers, "H"]  #: first row of each row of the linear system
    weight: Annotated[Reals, "H", 2]  #: on that row and the one behind it
    softness: Annotated[Reals, "H"]
    scale: Annotated[Reals, "H"]
    B: Annotated[Reals, "N", "H"]  #: L^-* B
    drag: Annotated[Reals, "R"]  #: of a row of friction that slips: impulse by that of the normal, or by its bound
    order: Annotated[Integers, "H"]  #: of the unknowns that hold, as they were eliminated
    norm: Annotated[Reals, "H"]  #: of their columns
    touched: Annotated[Integers, "n"]  #: 1 of roots of trees on which rows of the linear system act
    span: Annotated[Integers, "W", 3]  #: columns that its right-hand sides have: begin, end, where in T they begin
    column: Annotated[Integers, "W"]  #: where each of them stands in T
    kink: Annotated[Reals, "K", 4]  #: kind; contact or -1; its pair, or a degree of freedom; distance


GradientArraysHandleType, GradientArraysHandle, make_gradient_handle = handle(GradientArrays)
