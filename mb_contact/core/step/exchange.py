# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The contacts of a step, exchanged for those that the verdicts on its pairs ask for (``by_need.py``)."""

from mb_contact.core.arrays import fill
from mb_contact.core.constraints.contact import copy_contact, find_contact, normal_velocity
from mb_contact.core.jit import TRUTH, kernel, on_demand
from mb_contact.core.step.need import (
    BACK,
    CAME,
    COUNT,
    FELL_BACK,
    HELD,
    JOINED,
    MET,
    MOST_ROUNDS,
    NONE,
    OF_MEETING,
    OF_START,
    OUT,
    PASSED,
    ROUND,
    SPENT,
    STANDS,
    STRIKES,
    TRIED,
    part_of,
    verdict_on,
)
from mb_contact.core.step.passing import can_stay_open, open_rows
from mb_contact.core.step.problem import STEP, solve, start
from mb_contact.core.step.step import settle
from mb_contact.core.tree.kinematics import body_velocities
from mb_contact.core.tree.spatial import put_vector, vector
from mb_contact.core.workspace import ITERATIONS
from mb_contact.types import (
    CONTACTS_CHANGED,
    OK,
    TOO_MANY_CONTACTS,
)


@kernel
def exchange(h):
    """The contacts of the step as its pairs have been decided on; CONTACTS_CHANGED or TOO_MANY_CONTACTS.

    Reads: contacts, geoms, kin, need, sol, tree, work.  Writes: contacts, need, work.
    """
    need, contacts, work = h.need, h.contacts, h.work
    info = need.info
    _begin_round(h)
    info[TRIED], info[BACK] = 0, _goes_back(need)
    if info[ROUND] > MOST_ROUNDS:
        for k in range(info[COUNT]):
            if need.verdict[k] == OUT or need.verdict[k] == MET:
                need.verdict[k] = HELD
    _note(need)
    body_velocities(h.tree, h.kin, work.shift, need.V)
    i, status = 0, CONTACTS_CHANGED
    if need.met.count[0] == need.met.pair.shape[0]:  # others that meet may have found no room there
        status += 1
    contacts.count[0] = 0
    while i < need.before.count[0]:
        end, pair = i + 1, need.before.pair[i]
        while end < need.before.count[0] and need.before.pair[end] == pair:
            end += 1
        verdict = verdict_on(need, pair)
        if verdict == JOINED:
            for j in range(i, end):
                if find_contact(need.met, pair, need.before.feature[j], 0) < 0:
                    status = max(status, _append(h, need.before, j, j + 1, False))
        elif verdict == MET or verdict == STRIKES:
            status = max(status, _append_met(h, pair))
        elif verdict != OUT:
            status = max(status, _append(h, need.before, i, end, False))
        i = end
    for k in range(info[COUNT]):  # contacts of features that came in stand beside those of the start
        if need.verdict[k] == JOINED:
            status = max(status, _append_met(h, need.pair[k]))
    return TOO_MANY_CONTACTS if status > CONTACTS_CHANGED else CONTACTS_CHANGED


@kernel
def _goes_back(need):
    """Whether fewer pairs are to be taken in or out from the first solution than from the last one.

    As if the first one had all; one without those that passed before is counted as farther off than it is.
    """
    last = first = 0
    for k in range(need.info[COUNT]):
        first += need.verdict[k] == OUT
        last += (need.verdict[k] == OUT) != (need.part[k] == NONE)
    return first < last


@kernel
def _begin_round(h):
    """One more solution with other contacts: keep those of the first and of the last one."""
    need, contacts, work = h.need, h.contacts, h.work
    info = need.info
    if info[ROUND] == 0:
        count = contacts.count[0]
        _copy_contacts(contacts, 0, count, need.before, 0)
        need.before.count[0] = count
        for i in range(count):
            for c in range(3):
                need.impulse[i, c] = h.sol.r[3 * i + c]
    info[ROUND] += 1
    info[SPENT] += work.info[ITERATIONS]
    _copy_contacts(contacts, 0, contacts.count[0], need.last, 0)
    need.last.count[0] = contacts.count[0]
    for i in range(contacts.count[0]):
        put_vector(need.bias, i, vector(work.row_bias, i))
        for c in range(3):
            need.last_impulse[i, c] = h.sol.r[3 * i + c]


@on_demand(TRUTH)
def leave_out(h):
    """The posed problem once more, its pairs that are left out kept open; False where all has to be posed anew.

    That costs a third of posing it without them, and tells the same motion.

    Reads: art, bil, compliance, contacts, forest, friction, hinges, joints, kin, memory, need, q, rows, settings,
    sleep, sol, solver, system, tree, v, work.
    Writes: art, bil, compliance, forest, hinges, need, rows, sol, system, work.
    """
    need = h.need
    info, changes = need.info, False
    for k in range(info[COUNT]):
        if need.part[k] == part_of(need.verdict[k]):
            continue
        if need.verdict[k] != OUT or need.part[k] != OF_START:
            return False
        changes = True
    if not changes or info[ROUND] >= MOST_ROUNDS or not can_stay_open(h):
        return False
    _begin_round(h)
    open_rows(h)
    _note(need)
    info[TRIED] = 1
    start(h)
    return solve(h, STEP) == OK and settle(h) == OK


@kernel
def _note(need):
    """Which contacts the next problem has, and the verdicts counted for the certificate."""
    for k in range(need.info[COUNT]):
        need.part[k] = part_of(need.verdict[k])
    fill(3, need.told, 0)
    for k in range(need.info[COUNT]):
        need.told[CAME] += part_of(need.verdict[k]) == OF_MEETING
        need.told[PASSED] += need.verdict[k] == OUT
        need.told[FELL_BACK] += need.verdict[k] == HELD


@kernel
def _append_met(h, pair):
    """``_append`` of the contacts in ``met`` of a pair."""
    met, status = h.need.met, CONTACTS_CHANGED
    for i in range(met.count[0]):
        if met.pair[i] == pair:
            status = max(status, _append(h, met, i, i + 1, True))
    return status


@kernel
def start_again(h):
    """Warm impulses of a further round: those of the last solution, of pairs under review those of the first one.

    Reads: contacts, need.  Writes: sol.
    """
    need, contacts, at, before = h.need, h.contacts, -1, -1
    for i in range(contacts.count[0]):
        at = find_contact(need.last, contacts.pair[i], contacts.feature[i], at + 1)
        before = find_contact(need.before, contacts.pair[i], contacts.feature[i], before + 1)
        verdict = verdict_on(need, contacts.pair[i])
        for c in range(3):
            if at >= 0 and (verdict == STANDS or verdict == JOINED) and (before < 0 or need.info[BACK] == 0):
                h.sol.r[3 * i + c] = need.last_impulse[at, c]
            elif before >= 0:
                h.sol.r[3 * i + c] = need.impulse[before, c]


@kernel
def _append(h, source, first, last, is_met):
    """Contacts of a source behind those that the step has already; a status above CONTACTS_CHANGED: no room."""
    at = h.contacts.count[0]
    if at + last - first > h.contacts.pair.shape[0]:
        return CONTACTS_CHANGED + 1
    work = h.work
    _copy_contacts(source, first, last, h.contacts, at)
    h.contacts.count[0] = at + last - first
    for j in range(at, at + last - first):
        work.gap_shift[j] = -normal_velocity(h.geoms, h.contacts, h.kin.p, h.need.V, j)
        if is_met and h.contacts.gap[j] < 0.0:  # along a later normal: no penetration
            work.gap_shift[j] += h.contacts.gap[j]
            h.contacts.gap[j] = 0.0
        known = find_contact(h.need.last, h.contacts.pair[j], h.contacts.feature[j], j)
        for c in range(3):
            work.row_bias[j, c] = h.need.bias[known, c] if known >= 0 else 0.0
    return CONTACTS_CHANGED


@kernel
def _copy_contacts(source, first, last, target, at):
    """Contacts ``first`` to ``last`` of a source to the place ``at`` of the target."""
    for i in range(first, last):
        copy_contact(source, i, target, at + i - first)


@kernel
def forget(met, pair):
    """Take the contacts of a pair out of ``met``."""
    kept = 0
    for i in range(met.count[0]):
        if met.pair[i] != pair:
            copy_contact(met, i, met, kept)
            kept += 1
    met.count[0] = kept
