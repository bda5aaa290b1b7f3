# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""On which side of each other two sheets are that touch.

A sheet has no thickness and no inside: where two of them touch, both sides of each do, with opposite normals, and the
rows of both would hold the sheets together.  The side is that of the last step's contact, else that which its other
contacts have.  Without any it is that from which the sheets approach each other.
"""

from mb_contact.core.collision.mesh_tree import SHEET, TOUCHES
from mb_contact.core.constraints.contact import copy_contact, find_contact
from mb_contact.core.handle import DT
from mb_contact.core.jit import NOTHING, kernel, on_demand
from mb_contact.core.tree.spatial import vector, vector_dot, vector_sum
from mb_contact.types import WORLD

AGAINST = -0.5  #: cosine of two normals up to which they are those of opposite sides
NEAR = 4.0  #: times TOUCHES, between the points of both sides


@kernel
def keep_one_side(h):
    """Take the contacts of sheets out of the step's that are of the other side.

    Reads: buffers, contacts, geoms, gravity, memory, settings.  Writes: contacts.
    """
    for i in range(h.contacts.count[0]):
        if _is_of_sheets(h.geoms, h.contacts.pair[i]):
            _leave_other_sides(h)
            return


@kernel
def _is_of_sheets(geoms, pair):
    """Whether both shapes of a pair are sheets."""
    sided = geoms.mesh.sided
    return sided.shape[0] > 0 and sided[geoms.pairs[pair, 0]] == SHEET and sided[geoms.pairs[pair, 1]] == SHEET


@on_demand(NOTHING)
def _leave_other_sides(h):
    """``keep_one_side`` where there are contacts of sheets."""
    contacts, near = h.contacts, NEAR * TOUCHES * h.geoms.unit[0]
    for i in range(contacts.count[0] - 1, -1, -1):
        if _is_of_sheets(h.geoms, contacts.pair[i]) and _has_better(h, i, near):
            for k in range(i + 1, contacts.count[0]):
                copy_contact(contacts, k, contacts, k - 1)
            contacts.count[0] -= 1


@kernel
def _has_better(h, i, near):
    """Whether another contact at the place of contact i, of the opposite side, is the one that is true."""
    contacts, memory = h.contacts, h.memory
    pair, n = contacts.pair[i], vector(contacts.normal, i)
    parts = vector_dot(n, _way(h, pair))
    known = find_contact(memory, pair, contacts.feature[i], i) >= 0
    for j in range(contacts.count[0]):
        d = vector_sum(vector(contacts.point, j), -1.0, vector(contacts.point, i))
        if (
            contacts.pair[j] == pair and vector_dot(n, vector(contacts.normal, j)) < AGAINST
            and vector_dot(d, d) <= near * near
        ):  # fmt: skip
            is_known = find_contact(memory, pair, contacts.feature[j], j) >= 0
            if is_known != known:
                return is_known
            agrees = _agreement(h, pair, n) - _agreement(h, pair, vector(contacts.normal, j))
            if agrees < 0.0 or (agrees == 0.0 and (parts > 0.0 or (parts == 0.0 and i > j))):
                return True
    return False


@kernel
def _way(h, pair):
    """Way of shape A of a pair against B in the step, with what gravity adds where one of them is welded [m]."""
    x, y, travel, dt = h.geoms.pairs[pair, 0], h.geoms.pairs[pair, 1], h.buffers.travel, h.settings[DT]
    fall = 0.0
    if h.geoms.body[x] == WORLD or h.geoms.body[y] == WORLD:
        fall = dt * dt if h.geoms.body[y] == WORLD else -dt * dt
    way = vector_sum(vector(travel, x), -1.0, vector(travel, y))
    return vector_sum(way, fall, (h.gravity[0], h.gravity[1], h.gravity[2]))


@kernel
def _agreement(h, pair, n):
    """Largest cosine of a normal and those of the pair's contacts that the last step had; -2 without any."""
    contacts, most = h.contacts, -2.0
    for k in range(contacts.count[0]):
        if contacts.pair[k] == pair and find_contact(h.memory, pair, contacts.feature[k], k) >= 0:
            most = max(most, vector_dot(n, vector(contacts.normal, k)))
    return most
