# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a step leaves: the next one's warm start, and a table of contacts for the user."""

import numpy as np

from mb_contact.core.constraints.bilateral import COUNT, FIRST
from mb_contact.core.handle import IMPACT_SPEED
from mb_contact.core.jit import entry
from mb_contact.core.solve.draft import DIRECTIONS
from mb_contact.core.workspace import FEATURE, GAP, IMPULSE, LANDED, NORMAL, PAIR, POINT, SLIDING, STATE
from mb_contact.types import SEPARATE, SLIP, STICK

STILL = 1e-9  # slip up to which a contact sticks [m/s]


@entry
def remember(h):
    """Identities, frames and impulses for the next step's warm start."""
    memory = h.memory
    c = h.contacts.count[0]
    memory.count[0] = c
    for i in range(c):
        memory.pair[i] = h.contacts.pair[i]
        memory.feature[i] = h.contacts.feature[i]
        for a in range(3):
            memory.tangent[i, a] = h.frames.t1[i, a]
            memory.impulse[i, a] = h.sol.r[3 * i + a]
    for d in range(memory.joint.shape[0]):
        for i in range(memory.joint.shape[1]):
            memory.joint[d, i] = 0.0
    for i in range(3 * c, h.bil.info[FIRST]):
        dof = h.rows.dof[i]
        if dof >= 0:
            memory.joint[dof, h.rows.bound[i]] = h.sol.r[i]
    for i in range(h.bil.info[COUNT]):
        memory.loop[i] = h.sol.r[h.bil.info[FIRST] + i]


@entry
def report(h):
    """What a user reads of the contacts, one row of ``work.report`` each."""
    out = h.work.report
    h.work.info[LANDED] = 0
    for i in range(h.contacts.count[0]):
        if h.sol.before[3 * i] < -h.settings[IMPACT_SPEED] and h.sol.r[3 * i] > 0.0:
            h.work.info[LANDED] += 1
        for a in range(3):
            out[i, POINT + a] = h.contacts.point[i, a]
            out[i, NORMAL + a] = h.contacts.normal[i, a]
            out[i, IMPULSE + a] = h.work.contact_impulse[i, a]
        out[i, GAP] = h.contacts.gap[i]
        x = h.sol.u[3 * i + 1]
        y = h.sol.u[3 * i + 2]
        sigma = np.sqrt(x * x + y * y)
        n_f = h.friction.model[DIRECTIONS]
        if n_f > 0:  # the largest closing speed along one of the polygon's directions
            sigma = 0.0
            for d in range(n_f):
                angle = 2.0 * np.pi * d / n_f
                sigma = max(sigma, -(np.cos(angle) * x + np.sin(angle) * y))
        out[i, SLIDING] = sigma
        out[i, STATE] = SEPARATE if h.sol.r[3 * i] <= 0.0 else (SLIP if sigma > STILL else STICK)
        out[i, PAIR] = h.contacts.pair[i]
        out[i, FEATURE] = h.contacts.feature[i]
