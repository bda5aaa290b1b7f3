# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The state of a simulation: everything that the next step depends on, in one record (docs/state.md).

The arrays of both declarations are views of two vectors of 8-byte words, of which the second grows when a step finds
more contacts.  Kernels and Python work on these very views; who copies the vectors has copied the state.
"""

from typing import Annotated, NamedTuple

from mb_contact.core.declare import Integers, Reals
from mb_contact.types import JOINT_ROWS

STEPS, EVEN = range(2)  #: entries of StateArrays.clock
HAND_OVERS, EVENTS = range(2)  #: of StateArrays.tally


class StateArrays(NamedTuple):
    """What does not depend on the number of contacts; sizes are those of ``StepContext`` and zero where there is none.
    """

    q: Annotated[Reals, "nq"]  #: coordinates [rad, m; quaternions x y z w]
    v: Annotated[Reals, "N"]  #: velocities [rad/s, m/s]
    effort: Annotated[Reals, "N"]  #: commanded, of the last step [N m, N]
    gravity: Annotated[Reals, 3]  #: world axes [m/s^2]
    target: Annotated[Reals, "N"]  #: that servos and driven joints are asked for, NaN on a path [rad, m]
    target_rate: Annotated[Reals, "N"]  #: [rad/s, m/s]
    saturation: Annotated[Reals, "N"]  #: sign of the limit at which a servo's effort is
    clock: Annotated[Integers, 2]  #: steps, and those of the scene's length since the last of another length
    time_before: Annotated[Reals, 1]  #: time of that one's end [s]
    sums: Annotated[Reals, 2]  #: work since the start, and the energy then [J]
    count: Annotated[Integers, 1]  #: contacts of the last step, whose rows are the first ones
    unsettled: Annotated[Integers, 1]  #: 1 where the kept impulses may have stopped what the next ones start again
    joint: Annotated[Reals, "N", JOINT_ROWS]  #: kept impulses of the joints' own rows [N m s, N s]
    loop: Annotated[Reals, "m"]  #: kept impulses of loops, joint friction and gears [N m s, N s]
    released: Annotated[Integers, "closures"]  #: 1 where a thread came off with the last step, 2 where before
    joint_effort: Annotated[Reals, "N"]  #: that acted in the last step [N m, N]
    geom_impulse: Annotated[Reals, "g", 6]  #: of contacts on shapes in it, about bodies' origins [N m s, N s]
    wrench: Annotated[Reals, "links", 6]  #: external, on links that move, by their names in order [N m, N]
    wrench_end: Annotated[Reals, "links"]  #: when it ends; 0 for none [s]
    wrench_axes: Annotated[Integers, "links"]  #: 0 in world axes, 1 in the link's
    offset: Annotated[Reals, "gears"]  #: of driven joints and gears of a scene with motions [rad, m],
    rate: Annotated[Reals, "gears"]  #: [rad/s, m/s]
    p_b: Annotated[Reals, "driven", 3]  #: second frames of closures of a scene with motions or switched welds [m],
    R_b: Annotated[Reals, "driven", 3, 3]
    length: Annotated[Reals, "driven"]  #: [m]
    motion: Annotated[Reals, "driven", 7]  #: velocity of the frame, and of the length [rad/s, m/s]
    body_a: Annotated[Integers, "welds"]  #: bodies that closures hold, -1 of the world; of a scene with switched welds
    body_b: Annotated[Integers, "welds"]
    p_a: Annotated[Reals, "welds", 3]  #: first frames [m],
    R_a: Annotated[Reals, "welds", 3, 3]
    break_force: Annotated[Reals, "welds"]  #: from which on they break, inf where they do not [N]
    break_torque: Annotated[Reals, "welds"]  #: [N m]
    pad_on: Annotated[Reals, "pads"]  #: factor on the force of suction cups and magnets
    belt_speed: Annotated[Reals, "belts"]  #: factor on the velocity of moving surfaces
    elastic: Annotated[Reals, "elastic"]  #: energy in contacts of soft materials, of a scene that has some [J]
    tendon_rest: Annotated[Reals, "tendons"]  #: length from which on the springs of tendons pull [m]
    tendon_tension: Annotated[Reals, "tendons"]  #: commanded [N]
    sleepers: Annotated[Integers, "2 * s"]  #: trees that sleep; 1 where all do, and did in the whole last step
    sleep_state: Annotated[Integers, "trees"]  #: awake, drowsy or asleep: 0, 1, 2; as what follows, of ``sleep: true``
    sleep_group: Annotated[Integers, "trees"]  #: tree after which an island is called
    still: Annotated[Reals, "trees"]  #: for how long its coordinates have not left their anchor [s]
    slow: Annotated[Reals, "trees"]  #: for how long its velocities have been small [s]
    anchor: Annotated[Reals, "sleeping_q"]  #: [rad, m]
    sleep_q: Annotated[Reals, "sleeping_q"]  #: behind the last step in which the tree was awake, as what follows
    sleep_v: Annotated[Reals, "sleeping_v"]
    sleep_effort: Annotated[Reals, "sleeping_v"]
    sleep_target: Annotated[Reals, "sleeping_v"]
    sleep_target_rate: Annotated[Reals, "sleeping_v"]
    sleep_external: Annotated[Reals, "sleeping_n", 6]
    sleep_frame: Annotated[Reals, "4 * s"]  #: gravity [m/s^2] and length [s] of that step
    sleep_count: Annotated[Integers, "s"]  #: contacts of what sleeps
    mode: Annotated[Integers, "surfaces"]  #: of bodies in contact coordinates: free, sliding, rolling: 0, 1, 2
    charts: Annotated[Integers, "surfaces", 2]
    surface_q: Annotated[Reals, "surface_q"]  #: coordinates of the SurfaceTree, filled from the front [rad, m, 1]
    surface_v: Annotated[Reals, "surface_v"]  #: velocities
    near: Annotated[Reals, "surfaces", 5]  #: nearest points of free bodies, and their distance [m]
    stops: Annotated[Integers, "stops"]  #: -1 or 1 where a joint of the tree rests at its limit
    surface_time: Annotated[Reals, "one"]  #: of the tree [s]
    tally: Annotated[Integers, "2 * one"]  #: its changes of charts, and its events, so far
    surface_impulse: Annotated[Reals, "own", 6]  #: on bodies of a scene of surfaces alone, last step [N m s, N s]


class ContactState(NamedTuple):
    """Rows of the contacts of the last step, with room for c; of ``sleep: true``, those of what sleeps (k is c, or 0).
    """

    pair: Annotated[Integers, "c"]  #: row in Geoms.pairs
    feature: Annotated[Integers, "c"]  #: identity of the point within the pair
    tangent: Annotated[Reals, "c", 3]  #: first tangent, world axes
    impulse: Annotated[Reals, "c", 3]  #: kept: normal and two tangents [N s]
    moment: Annotated[Reals, "c", 3]  #: kept: torsion, and rolling about the two tangents [N m s]
    #: of soft materials (e is c, or 0): compression, displacement along the tangents [m], tangential stiffness [N/m],
    #: energy [J]
    stretch: Annotated[Reals, "e", 5]
    sleep_pair: Annotated[Integers, "k"]
    sleep_feature: Annotated[Integers, "k"]
    sleep_point: Annotated[Reals, "k", 3]  #: world [m]
    sleep_normal: Annotated[Reals, "k", 3]
    sleep_gap: Annotated[Reals, "k"]  #: [m]
    sleep_spread: Annotated[Reals, "k", 3]  #: [m]
