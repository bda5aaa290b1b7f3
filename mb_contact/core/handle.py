# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Handles of a simulation and of a tree: the one reference by which kernels take all their arrays (``declare.py``)."""

from typing import Annotated, NamedTuple

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.tree_workspace import (
    Articulated,
    Compliance,
    Kinematics,
    flexible_aggregates,
    make_articulated,
    make_kinematics,
    make_modal,
)
from mb_contact.core.workspace import (
    Belts,
    ContactEnds,
    Frames,
    LoopWork,
    Memory,
    Pads,
    Rows,
    Sleep,
    Soft,
    Solution,
    StepWork,
)
from mb_contact.types import Closures, Contacts, Gears, Geoms, Hinges, JointForces, Tree

#: entry of FlowArrays.rule: Euler's, one step of a tableau, as many as needed, midpoint
EULER, FIXED, ADAPTIVE, MIDPOINT = range(4)
#: entries of StepArrays.settings: step [s], part of a penetration that a step removes, below a speed [m/s],
#: slip from which a friction frame follows it, approach from which a contact counts as an impact [m/s], gap of
#: which all points of a face are loaded [m]; by what tolerances in m, m/s and N are multiplied, 1 in scenes of ordinary
#: sizes (``model/units.py``); parts of the energy in motion from which what a step gains is taken out of it again, and
#: from which the step itself is taken again
(
    DT, PUSH_RATE, PUSH_SPEED, SLIP_SPEED, IMPACT_SPEED, FACE_GAP, UNIT_LENGTH, UNIT_SPEED, UNIT_FORCE, GAIN_LEFT,
    GAIN_MOST,
) = range(11)  # fmt: skip
#: of StepArrays.solver: natural map that is asked for [sqrt(N s m/s)], Newton steps of an island, 1 for W by rows,
#: 1 where a step that has solved its problem solves it again, 1 where equality rows that nearly follow others are tied
TOLERANCE, BUDGET, ONLY_ROWS, TWICE, TIED = range(5)
#: of StepArrays.drift: part of a closure error removed per step, closure error at which a projection ends or 0 for
#: none [m, rad], the scene's time step, for which that part is meant [s], 1 where joints or closures are driven, and
#: 1 where each step measures what is left of the closure error
DRIFT_RATE, PROJECTION, DRIFT_STEP, DRIVEN, MEASURED = range(5)


#: of StepArrays.impact: 1 where steps can have impacts, 1 where all that approaches fast has one, from which speed
#: [m/s], lag of velocities behind positions [steps]
HAPPEN, EVERY, THRESHOLD, LAG = range(4)


class StepArrays(NamedTuple):
    """All that a simulation's step reads and writes."""

    tree: Tree
    geoms: object  #: GeomsHandle
    gravity: Annotated[Reals, 3]
    settings: Annotated[Reals, 11]
    q: Annotated[Reals, "nq"]
    v: Annotated[Reals, "N"]
    effort: Annotated[Reals, "N"]  #: commanded
    command: Annotated[Reals, "joints"]  #: of which ``effort`` is made, one for each joint
    joint_v: Annotated[Integers, "joints"]  #: place of each joint in v
    buffers: object  #: CollisionBuffers
    contacts: Contacts
    kin: Kinematics
    art: Articulated
    compliance: Compliance
    rows: Rows
    frames: Frames
    end: ContactEnds
    memory: Memory
    sol: Solution
    work: StepWork
    system: object  #: SystemHandle
    forest: object  #: solve.islands.Forest
    friction: object  #: solve.friction.Friction
    solver: Annotated[Reals, 5]
    joints: JointForces
    closures: Closures
    gears: Gears
    hinges: Hinges
    drift: Annotated[Reals, 5]
    impact: Annotated[Reals, 4]
    restitution: Annotated[Reals, "m"]  #: of each pair of geometries
    loop: LoopWork
    bil: object  #: constraints.bilateral.BilateralWork
    closing: object  #: step.closing.ClosingWork
    sleep: Sleep
    kept: Contacts  #: contacts of what sleeps
    pads: Pads
    belts: Belts
    soft: Soft
    tendons: object  #: constraints.tendon_path.TendonsHandle
    need: object  #: step.by_need.Need
    flow: object  #: integrate.flow.FlowArraysHandle
    ends: object  #: integrate.kept_contacts.PosesArraysHandle: poses and contacts where a flow ends
    state: Annotated[Reals, "words"]  #: all of core.state.StateArrays, of which arrays above are views
    kept_state: Annotated[Reals, "words"]  #: that of before a ``quick_step``
    contact_state: Annotated[Reals, "room"]  #: all of core.state.ContactState, likewise


StepArraysHandleType, StepArraysHandle, make_step_handle = handle(StepArrays)


#: by which the kernels of core/collision hand the shapes to each other, some thirty times a pair
GeomsHandleType, GeomsHandle, make_geoms_handle = handle(Geoms, __name__)


class TreeArrays(NamedTuple):
    """A tree with workspaces for its sweeps."""

    tree: Tree
    kin: Kinematics
    art: Articulated
    alpha: Annotated[Reals, "n", 6]
    force: Annotated[Reals, "n", 6]
    still: Annotated[Reals, "n", 6]  #: zeros
    mass: Annotated[Reals, "n"]  #: composite
    top: Annotated[Integers, "n"]
    screws: Annotated[Reals, 9, "N"]


TreeArraysHandleType, TreeArraysHandle, make_tree_handle = handle(TreeArrays)


def make_tree_arrays(tree, aggregates=None, flexible=()):
    """TreeArrays of a Tree, with a handle of its aggregates, and the FlexibleBody of its flexible links."""
    n, N = len(tree.parent), len(tree.armature)
    kin = make_kinematics(n, N, make_modal(tree, flexible))
    art = make_articulated(n, N, flexible_aggregates(tree, flexible) if aggregates is None else aggregates)
    return allocate(TreeArrays, n=n, N=N, tree=tree, kin=kin, art=art)


class NodesArrays(NamedTuple):
    """Nodes on a tree's bodies with workspaces for their compliance."""

    body: Annotated[Integers, "f"]  #: or WORLD
    first: Annotated[Integers, "f"]  #: 0 for six rows, 3 for three
    R_frame: Annotated[Reals, "f", 3, 3]  #: in the body
    p_frame: Annotated[Reals, "f", 3]
    R: Annotated[Reals, "f", 3, 3]  #: in the world
    p: Annotated[Reals, "f", 3]
    touched: Annotated[Integers, "n"]
    compliance: Compliance


NodesArraysHandleType, NodesArraysHandle, make_nodes_handle = handle(NodesArrays)
