# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trees at rest that steps leave as they are, until something that acts on them changes (docs/sleep.md).

A tree is drowsy once none of its coordinates has moved by more than a distance for a time.  An island of drowsy trees
falls asleep in the first step whose problem the impulses of the last step solve within the solver's tolerance.  From
then on it keeps coordinates, velocities, contacts and impulses: no shapes of it are compared, and nothing of it is
solved.  The rows of a step go on to hold it, with the kept impulses, so that the certificate is that of all contacts.
Where all trees sleep a step does nothing at all.

A group of trees that fell asleep as one island wakes as one: by a contact with a tree that is awake, by an effort, a
target or an external force that is another than when it fell asleep, by coordinates or velocities that somebody has
written; by another gravity or length of the step all wake.
"""

from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.contact import copy_contact
from mb_contact.core.constraints.torsion_rolling import put_moments
from mb_contact.core.handle import DT, TOLERANCE, UNIT_FORCE, UNIT_SPEED
from mb_contact.core.jit import NOTHING, TRUTH, kernel, on_demand
from mb_contact.core.solve.islands import leader_of
from mb_contact.core.solve.newton import TIGHT
from mb_contact.core.solve.newton_step import attainable, evaluate, keeps
from mb_contact.core.solve.system import BLOCKS, ISLANDS
from mb_contact.core.tree.spatial import put_spatial, put_vector, spatial, vector, vector_product
from mb_contact.core.workspace import (
    ASLEEP,
    AWAKE,
    BY_EULER,
    COMPLETE,
    DISTANCE,
    DROWSY,
    ENERGY_GAINED,
    ENERGY_REMOVED,
    LANDED,
    LANDINGS,
    MAY_SLEEP,
    NEWTON_STEPS,
    PIECES,
    RELEASED,
    SLEEPERS,
    TIME,
    WORK,
)

SLOW = 1e-6  #: velocity below which an island is nearly at rest [m/s, rad/s]
SAME = 1e-9  #: part of an effort or a wrench by which it may change and still be the same,
NO_FORCE = 1e-3  #: of at least so much [N, N m]


@kernel
def has_sleepers(h):
    """Whether any tree sleeps."""
    return h.sleep.count[SLEEPERS] > 0


@kernel
def tree_of(h, k):
    """Tree of body k, -1 for the world."""
    return h.forest.tree[k] if k >= 0 else -1


@kernel
def rests(h, i):
    """Whether contact i is one of trees that sleep, or of such a one and the world."""
    pair = h.geoms.pairs[h.contacts.pair[i]]
    return h.buffers.resting[pair[0]] + h.buffers.resting[pair[1]] == 2


@on_demand(NOTHING)
def watch_rest(h):
    """After a step: which trees have moved, which are drowsy, what acted on those that are awake.

    Reads: buffers, contacts, effort, forest, geoms, gravity, joints, kept, q, settings, sleep, v, work.
    Writes: kept, sleep.
    """
    s, dt = h.sleep, h.settings[DT]
    exact = s.rule[DISTANCE] == 0.0
    copy(s.moved.shape[0], s.never, s.moved)
    for i in range(h.q.shape[0]):
        if not abs(h.q[i] - s.anchor[i]) <= s.rule[DISTANCE]:
            s.moved[s.of_q[i]] = 1
    for t in range(s.state.shape[0]):
        s.slow[t] += dt
    for i in range(h.v.shape[0]):
        if exact and h.v[i] != s.v[i]:
            s.moved[s.of_v[i]] = 1
        if not abs(h.v[i]) <= SLOW * h.settings[UNIT_SPEED]:
            s.slow[s.of_v[i]] = 0.0
    for i in range(h.q.shape[0]):
        if s.moved[s.of_q[i]] == 1:
            s.anchor[i] = h.q[i]
    for t in range(s.state.shape[0]):
        if s.state[t] != ASLEEP:
            s.still[t] = 0.0 if s.moved[t] == 1 else s.still[t] + dt
            s.state[t] = DROWSY if s.moved[t] == 0 and s.still[t] >= s.rule[TIME] else AWAKE
    _keep_inputs(h)
    if has_sleepers(h):
        _keep_contacts(h)
    s.count[COMPLETE] = 1 if s.count[SLEEPERS] == s.state.shape[0] else 0


@kernel
def _keep_inputs(h):
    """State and forces of the trees that are not asleep, for ``_wake_changed``."""
    s = h.sleep
    for i in range(h.q.shape[0]):
        if s.state[s.of_q[i]] != ASLEEP:
            s.q[i] = h.q[i]
    for i in range(h.v.shape[0]):
        if s.state[s.of_v[i]] != ASLEEP:
            s.v[i], s.effort[i] = h.v[i], h.effort[i]
            s.target[i], s.target_rate[i] = h.joints.target[i], h.joints.target_rate[i]
    for k in range(s.external.shape[0]):
        if s.state[h.forest.tree[k]] != ASLEEP:
            put_spatial(s.external, k, spatial(h.work.external, k))
    copy(3, h.gravity, s.frame)
    s.frame[3] = h.settings[DT]


@kernel
def _keep_contacts(h):
    """The contacts of all that sleeps, for the steps that do not look for them."""
    kept = h.kept
    kept.count[0] = 0
    for i in range(h.contacts.count[0]):
        if rests(h, i):
            copy_contact(h.contacts, i, kept, kept.count[0])
            kept.count[0] += 1


@on_demand(NOTHING)
def fall_asleep(h):
    """Behind ``assemble_problem``: islands of drowsy trees whose last impulses solve the step's problem sleep now.

    ``sleep.quiet`` says of the others which have long been slow: they are solved more exactly, because what is left of
    a residual moves heaps to and fro by 1e-10 m.

    Reads: forest, geoms, sleep, solver, system.  Writes: buffers, forest, sleep, system.
    """
    s, P, forest = h.sleep, h.system, h.forest
    exact = s.rule[DISTANCE] == 0.0
    islands = P.count[ISLANDS] if P.count[BLOCKS] > 0 else 0
    fill(islands, s.ready, 1)
    fill(islands, s.quiet, 0 if exact else 1)
    for t in range(s.state.shape[0]):
        i = _island_of(h, t)
        if i >= 0:
            s.ready[i] = s.ready[i] if s.state[t] == DROWSY else 0
            s.quiet[i] = s.quiet[i] if s.slow[t] >= s.rule[TIME] else 0
        elif s.state[t] == DROWSY:
            _sleep(h, t, t)
    for i in range(islands):
        if s.ready[i] != 0 and not _is_solved(h, i, exact):
            s.ready[i] = 0
    for t in range(s.state.shape[0]):
        i = _island_of(h, t)
        if i >= 0 and s.ready[i] != 0:
            _sleep(h, t, leader_of(forest.leader, t))
    _mark_resting(h)


@kernel
def _island_of(h, t):
    """Island of tree t in the posed problem, -1 where no row acts on it."""
    return h.forest.number[leader_of(h.forest.leader, t)] if h.system.count[BLOCKS] > 0 else -1


@kernel
def _is_solved(h, i, unchanged):
    """Whether the last impulses solve island i of the step's problem, or even so that a solver would keep them."""
    P = h.system
    b0, b1, c0, c1 = P.island[i], P.island[i + 1], P.bodies.first_tile[i], P.bodies.first_tile[i + 1]
    now = evaluate(P, b0, b1, c0, c1, P.r)
    first, last, tolerance = P.blocks.start[b0], P.blocks.start[b1], h.solver[TOLERANCE]
    if unchanged:
        return keeps(P, first, last, tolerance, TIGHT, now)
    return now <= attainable(P, first, last, tolerance)


@kernel
def is_nearly_at_rest(h, i):
    """Whether island i has long been slow, and its impulses do not stay as they are.

    Reads: sleep, solver, system.  Writes: system.
    """
    return h.sleep.rule[MAY_SLEEP] != 0.0 and h.sleep.quiet[i] != 0 and not _is_solved(h, i, True)


@kernel
def _sleep(h, t, group):
    """Tree t sleeps, as one of a group."""
    h.sleep.state[t], h.sleep.group[t] = ASLEEP, group
    h.sleep.count[SLEEPERS] += 1


@kernel
def _mark_resting(h):
    """Which geometries are of the world or of trees that sleep."""
    for g in range(h.geoms.body.shape[0]):
        t = tree_of(h, h.geoms.body[g])
        h.buffers.resting[g] = 1 if t < 0 or h.sleep.state[t] == ASLEEP else 0


@on_demand(NOTHING)
def wake_all(h):
    """No tree sleeps, and each has to be still anew.  Reads: forest, geoms, sleep.  Writes: buffers, sleep."""
    s = h.sleep
    fill(s.state.shape[0], s.state, AWAKE)
    fill(s.state.shape[0], s.still, 0.0)
    s.count[SLEEPERS] = s.count[COMPLETE] = 0
    _mark_resting(h)


@kernel
def _wake(h, t):
    """Tree t is awake, and with it, if it slept, its group."""
    s = h.sleep
    group = s.group[t] if s.state[t] == ASLEEP else -1
    s.still[t] = 0.0
    s.state[t] = AWAKE if group < 0 else ASLEEP
    for j in range(s.state.shape[0] if group >= 0 else 0):
        if s.state[j] == ASLEEP and s.group[j] == group:
            s.state[j], s.still[j] = AWAKE, 0.0
            s.count[SLEEPERS] -= 1
    s.count[COMPLETE] = 0


@kernel
def _differs(now, then, exact, unit):
    """Whether a force is another than it was."""
    return now != then if exact else not abs(now - then) <= SAME * max(abs(then), NO_FORCE * unit)


@kernel
def _wake_changed(h):
    """Wake what somebody has moved, and what other forces act on than in the step before."""
    s = h.sleep
    exact = s.rule[DISTANCE] == 0.0
    if h.settings[DT] != s.frame[3] or h.gravity[0] != s.frame[0] or h.gravity[1] != s.frame[1] or (
        h.gravity[2] != s.frame[2]
    ):  # fmt: skip
        wake_all(h)
        return
    woken = False
    for i in range(h.q.shape[0]):
        t = s.of_q[i]
        if s.state[t] != AWAKE and h.q[i] != s.q[i]:
            _wake(h, t)
            woken = True
    for i in range(h.v.shape[0]):
        t = s.of_v[i]
        if s.state[t] == AWAKE:
            continue
        other = h.v[i] != s.v[i] or _differs(h.effort[i], s.effort[i], exact, h.settings[UNIT_FORCE])
        if other or h.joints.target[i] != s.target[i] or h.joints.target_rate[i] != s.target_rate[i]:
            _wake(h, t)
            woken = True
    for k in range(s.external.shape[0]):
        t = h.forest.tree[k]
        for a in range(6 if s.state[t] != AWAKE else 0):
            if _differs(h.work.external[k, a], s.external[k, a], exact, h.settings[UNIT_FORCE]):
                _wake(h, t)
                woken = True
                break
    if woken:
        _mark_resting(h)


@on_demand(TRUTH)
def wake_touched(h):
    """Wake what a tree that is awake touches, or nearly so, of those that sleep; whether there was any.

    Reads: buffers, contacts, forest, geoms, sleep.  Writes: buffers, sleep.
    """
    s = h.sleep
    woken = False
    for i in range(h.contacts.count[0]):
        pair = h.geoms.pairs[h.contacts.pair[i]]
        if h.buffers.resting[pair[0]] + h.buffers.resting[pair[1]] != 1:
            continue
        a, b = tree_of(h, h.geoms.body[pair[0]]), tree_of(h, h.geoms.body[pair[1]])
        if a < 0 or b < 0:
            continue
        t = a if s.state[a] == ASLEEP else b
        if s.state[t] == ASLEEP:
            _wake(h, t)
            woken = True
    if woken:
        _mark_resting(h)
    return woken


@on_demand(TRUTH)
def stays(h):
    """Before a step: wake what has changed.  Where all trees sleep on, the step is done: True, with its numbers.

    Reads: effort, forest, geoms, gravity, joints, q, settings, sleep, v, work.  Writes: buffers, sleep, work.
    """
    s, out = h.sleep, h.work.record
    _wake_changed(h)
    if s.count[COMPLETE] == 0:
        return False
    fill(h.work.work_terms.shape[0], h.work.work_terms, 0.0)
    for i in (WORK, NEWTON_STEPS, LANDINGS, ENERGY_GAINED, ENERGY_REMOVED, RELEASED, BY_EULER):
        out[i] = 0.0
    out[PIECES] = 1.0
    h.work.info[LANDED] = 0
    return True


@on_demand(TRUTH)
def merge_kept(h):
    """The kept contacts of what sleeps, in the order of their pairs among those that were found; a status.

    Reads: buffers, contacts, geoms, kept.  Writes: contacts, kept.
    """
    kept, contacts = h.kept, h.contacts
    count = 0
    for i in range(kept.count[0]):  # what has woken is looked for anew
        pair = h.geoms.pairs[kept.pair[i]]
        if h.buffers.resting[pair[0]] + h.buffers.resting[pair[1]] == 2:
            copy_contact(kept, i, kept, count)
            count += 1
    kept.count[0] = count
    found = contacts.count[0]
    if found + count > contacts.pair.shape[0]:
        return False
    at, i, j = found + count - 1, found - 1, count - 1
    while j >= 0:
        if i >= 0 and contacts.pair[i] > kept.pair[j]:
            copy_contact(contacts, i, contacts, at)
            i -= 1
        else:
            copy_contact(kept, j, contacts, at)
            j -= 1
        at -= 1
    contacts.count[0] = found + count
    return True


@on_demand(NOTHING)
def hold_frames(h):
    """Frames of contacts that sleep stay, bit for bit.

    Reads: buffers, contacts, frames, friction, geoms, memory.  Writes: frames.
    """
    for i in range(h.contacts.count[0]):
        j = h.frames.known[i]
        if j >= 0 and rests(h, i) and h.friction.mu[i, 0] == h.friction.mu[i, 1]:
            t = vector(h.memory.tangent, j)
            put_vector(h.frames.t1, i, t)
            put_vector(h.frames.t2, i, vector_product(vector(h.contacts.normal, i), t))


@on_demand(NOTHING)
def hold_impulses(h):
    """Impulses of contacts that sleep are those of the last step, bit for bit.

    Reads: buffers, contacts, frames, friction, geoms, memory.  Writes: sol.
    """
    for i in range(h.contacts.count[0]):
        j = h.frames.known[i]
        if j < 0 or not rests(h, i):
            continue
        for a in range(3):
            h.sol.r[3 * i + a] = h.memory.impulse[j, a]
        put_moments(h.friction.surfaces, h.contacts.pair[i], h.friction.extra[i], vector(h.memory.moment, j), h.sol.r)


@kernel
def sleeps(h, island):
    """Whether an island of the posed problem sleeps: all its trees do, or none."""
    P = h.system
    row = P.source[P.blocks.start[P.island[island]]]
    t = tree_of(h, max(h.rows.body_a[row], h.rows.body_b[row]))
    return t >= 0 and h.sleep.state[t] == ASLEEP


@kernel
def hold_velocities(h):
    """What sleeps keeps its velocities.  Reads: sleep, v.  Writes: work."""
    for i in range(h.v.shape[0]):
        if h.sleep.state[h.sleep.of_v[i]] == ASLEEP:
            h.work.v_next[i] = h.v[i]


@kernel
def hold_coordinates(h):
    """What sleeps keeps its coordinates.  Reads: sleep, work.  Writes: q."""
    for i in range(h.q.shape[0]):
        if h.sleep.state[h.sleep.of_q[i]] == ASLEEP:
            h.q[i] = h.work.q_start[i]
