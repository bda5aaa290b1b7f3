# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Tendons in a step: their forces, the laws of their rows, and their work.

Each is one call with the handle of the step alone.  Calls with all the arrays that tendons need made steps of scenes
without tendons 2 % longer, for their arguments had room on every step's stack (two joints: 3.8 us).
"""

from mb_contact.core.constraints.bilateral import FIRST, TENDONS_AT
from mb_contact.core.constraints.joint_friction import load_tendons
from mb_contact.core.constraints.tendon import book_tendons, pull_tendons, tendon_laws
from mb_contact.core.handle import DT
from mb_contact.core.jit import NOTHING, kernel, on_demand


@on_demand(NOTHING)
def pull_bodies(h):
    """Add the forces of tendons to ``work.external``.  Reads: kin, tendons, tree, work.  Writes: work."""
    pull_tendons(h.tendons, h.tree, h.kin, h.work.external)


@on_demand(NOTHING)
def pose_laws(h, rate):
    """Laws of the tendons' rows, and loads of their friction; drift is taken back by ``rate``.

    Reads: bil, loop, settings, sol, tendons.  Writes: bil, loop, rows.
    """
    at, dt = h.bil.info[TENDONS_AT], h.settings[DT]
    tendon_laws(h.tendons, dt, rate, _first(h), h.sol.q, h.rows, h.loop.error[at:])
    load_tendons(h.tendons, dt, h.bil)


@on_demand(NOTHING)
def book_work(h):
    """Work of the tendons' rows.  Reads: bil, rows, settings, sol, tendons, work.  Writes: work."""
    book_tendons(h.tendons, h.settings[DT], _first(h), h.sol, h.rows, h.work.work_terms)


@kernel
def _first(h):
    """First row of tendons."""
    return h.bil.info[FIRST] + h.bil.info[TENDONS_AT]
