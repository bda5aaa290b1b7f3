# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What worlds of one scene have each: state, what the last step has left, and values of their own."""

from typing import Annotated, NamedTuple

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals
from mb_contact.core.workspace import COLUMNS, HEAD

#: entries of Lane.at: world (among those of the job) and its step that come next, the first world that is another's,
#: whether the world is loaded, where its step goes on (BEGIN, ... of ``flow_step.py``), whether the caller has taken
#: that step, whether its efforts are commanded
WORLD, STEP, LAST, LOADED, STAGE, TAKEN, COMMANDED = range(7)
#: statuses beside those of a step: the caller has to take it, the store has too few contacts for a world, the state of
#: a world is not finite, its controller has raised an exception, all steps are taken
TAKE_STEP, STORE_TOO_SMALL, NO_STATE, NO_COMMAND, NO_STEP_LEFT = range(101, 106)


class Store(NamedTuple):
    """States of w worlds, what they are commanded, and what the last step has left; the first axis counts the worlds.
    """

    state: Annotated[Reals, "w", "words"]  #: vectors of core.state.StateArrays
    contact_state: Annotated[Reals, "w", "room"]  #: of core.state.ContactState, with room for c contacts
    effort: Annotated[Reals, "w", "joints"]  #: commanded [N m, N]
    R: Annotated[Reals, "w", "n", 3, 3]  #: poses of the bodies
    p: Annotated[Reals, "w", "n", 3]
    record: Annotated[Reals, "w", HEAD]  #: numbers of the last step
    report: Annotated[Reals, "w", "c", COLUMNS]  #: its contacts
    worst: Annotated[Reals, "w"]  #: residual of the worst step since the start [sqrt(N s m/s)]
    failed: Annotated[Integers, "w"]  #: 1 where a step has failed: the world waits for a reset


StoreHandleType, StoreHandle, make_store_handle = handle(Store)


class Values(NamedTuple):
    """Values that worlds have of their own; no rows where all have the scene's."""

    mass: Annotated[Reals, "masses", "n"]  #: [kg]
    damping: Annotated[Reals, "dampings", "N"]  #: [N m s/rad, N s/m]
    mu: Annotated[Reals, "frictions", "pairs"]
    restitution: Annotated[Reals, "restitutions", "pairs"]
    stiffness: Annotated[Reals, "stiffnesses", "pairs"]  #: of those that give way, in the unit of their law
    size: Annotated[Reals, "sizes", "g", 3]  #: of kernels [m]
    inertia: Annotated[Reals, "inertias", "n", 3, 3]  #: about the centres of mass [kg m^2]
    body_gravity: Annotated[Reals, "gravities", "n", 3]  #: as of the tree [m/s^2]


ValuesHandleType, ValuesHandle, make_values_handle = handle(Values)


class Lane(NamedTuple):
    """What a thread has beside the handle of its steps: where it is, and the arrays that values of a world go to."""

    at: Annotated[Integers, 7]
    clock: Annotated[Integers, 2]  #: of the loaded world, views of its state
    time_before: Annotated[Reals, 1]
    worst: Annotated[Reals, 1]  #: residual of the loaded world
    mass: Annotated[Reals, "n"]
    inertia: Annotated[Reals, "n", 3, 3]
    damping: Annotated[Reals, "N"]
    total: Annotated[Reals, "N"]
    mu: Annotated[Reals, "pairs"]
    restitution: Annotated[Reals, "pairs"]
    stiffness: Annotated[Reals, "pairs"]
    size: Annotated[Reals, "g", 3]
    body_gravity: Annotated[Reals, "n", 3]
    scene_mass: Annotated[Reals, "n"]
    scene_inertia: Annotated[Reals, "n", 3, 3]


LaneHandleType, LaneHandle, make_lane_handle = handle(Lane)


class Job(NamedTuple):
    """Which worlds take how many steps, under which efforts, and what is kept of each step.

    Rows of ``controls``, ``q``, ``v``, ``residual`` and ``impulse`` belong to those of ``worlds``.
    """

    worlds: Annotated[Integers, "k"]
    steps: Annotated[Integers, 1]
    controls: Annotated[Reals, "k", "t", "joints"]  #: efforts of the store where t is 0
    q: Annotated[Reals, "k", "kept", "nq"]  #: after each step, if ``kept`` is not 0
    v: Annotated[Reals, "k", "kept", "N"]
    residual: Annotated[Reals, "k", "kept"]
    contacts: Annotated[Integers, "k", "kept"]
    data: Annotated[Reals, "w", "d"]  #: of the compiled controller, one row a world


JobHandleType, JobHandle, make_job_handle = handle(Job)


#: what shapes name
SIZES = (
    "w", "words", "room", "nq", "N", "joints", "c", "n", "g", "pairs", "k", "t", "kept", "d",
    "masses", "dampings", "frictions", "restitutions", "stiffnesses", "sizes", "inertias",
    "gravities",
)  # fmt: skip
MAKERS = (Lane, make_lane_handle), (Store, make_store_handle), (Values, make_values_handle), (Job, make_job_handle)
