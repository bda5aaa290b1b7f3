# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From rows to the contact problem that is solved: shared by steps, impacts and the closing of loops."""

from __future__ import annotations

from mb_contact.core.jit import entry
from mb_contact.core.rows.bilateral import COUNT, FIRST, GEARS
from mb_contact.core.rows.contact_rows import row_sides
from mb_contact.core.solve.assemble import choose_face, draft_joints, pose_bodies, pose_rows, set_scales, sort_islands
from mb_contact.core.solve.system import BLOCKS, BY_ROWS
from mb_contact.core.tree.compliance import compliance_blocks, compliance_sweep, mark_essential
from mb_contact.types import OK, SYSTEM_TOO_SMALL


@entry
def pose_system(h, P, rows, bil, contacts, units, only_rows):
    """Blocks, islands, operator and scales of the system P; a status.

    Parameters
    ----------
    h : StepHandle
        ``h.draft`` holds the blocks of the contacts, ``h.art`` the articulated inertias.
    rows, bil : Rows, BilateralWork
        All rows, posed.
    contacts, units : int
        Contacts, and contacts and joint limits, of ``h.cones``.
    only_rows : bool
        W by rows whatever it costs.
    """
    info = bil.info
    draft_joints(h.draft, contacts, units, h.cones.start, info[FIRST], bil.bound, bil.ratio, info[COUNT], info[GEARS])
    sort_islands(P, h.draft, rows)
    if P.count[BLOCKS] == 0:
        return OK
    choose_face(P, only_rows)
    if P.face[0] == BY_ROWS:
        n_rows = info[FIRST] + info[COUNT] + info[GEARS]
        count = mark_essential(h.tree, rows.touched, h.com)
        compliance_sweep(h.tree, h.kin, h.art, h.com)
        compliance_blocks(h.tree, h.com, count)
        row_sides(h.com, rows, n_rows)
        pose_rows(P, h.com, rows, bil, n_rows, count)
    elif not pose_bodies(P, h.draft, h.tree, h.kin, rows):
        return SYSTEM_TOO_SMALL
    set_scales(P, h.com, rows)
    return OK


@entry
def rows_in_use(h):
    """Rows of contacts, limits, loops and gears, with the partner rows of the gears."""
    return h.bil.info[FIRST] + h.bil.info[COUNT] + h.bil.info[GEARS]
