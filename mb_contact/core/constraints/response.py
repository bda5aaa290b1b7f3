# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What bilateral rows do to accelerations: those of loops, joints held by friction and gears, G v = 0.

    v_dot = M^-1 (T - h) - M^-1 G* (G M^-1 G*)^+ (G M^-1 (T - h) + dG/dt v)

One impulse sweep a row makes M^-1 G* and G M^-1 G*, in O(m N) for m rows.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.compile.handles import handle
from mb_contact.core.arrays import copy, fill
from mb_contact.core.constraints.bilateral import COUNT, PARTNERS, BilateralWork, bilateral_rows, make_bilateral_work
from mb_contact.core.constraints.driven import row_motions
from mb_contact.core.constraints.gear import combine_velocities, partner_impulses
from mb_contact.core.constraints.rows import row_impulses, row_velocities
from mb_contact.core.constraints.tendon_path import no_tendons
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.core.jit import kernel
from mb_contact.core.tree.articulated import impulse_response
from mb_contact.core.tree_workspace import Articulated, Kinematics
from mb_contact.core.workspace import LoopWork, Rows, make_loop_work, make_rows
from mb_contact.types import Closures, Gears, Tree


class ResponseArrays(NamedTuple):
    """A tree, its m bilateral rows of which g are gears, and the accelerations that they make."""

    tree: Tree
    kin: Kinematics
    art: Articulated  #: at the present coordinates
    closures: Closures
    tendons: object  #: TendonsHandle of none
    rubbing: Integers  #: (f,), bodies whose joint has friction: a row each, between those of closures and gears
    gears: Gears
    rows: Rows
    loop: LoopWork
    bil: BilateralWork
    r: Annotated[Reals, "m + g"]
    u: Annotated[Reals, "m + g"]
    impulse: Annotated[Reals, "n", 6]
    joint_impulse: Annotated[Reals, "N"]  #: zeros
    dv: Annotated[Reals, "N"]
    response: Annotated[Reals, "m", "N"]  #: M^-1 G*, a row for each of G
    compliance: Annotated[Reals, "m", "m"]  #: G M^-1 G*
    bias: Annotated[Reals, "m"]  #: dG/dt v


ResponseArraysHandleType, ResponseArraysHandle, make_response_handle = handle(ResponseArrays)


def make_response_arrays(tree, kin, art, closures, rubbing, gears, m):
    """ResponseArrays of m rows; q is handed over with each call."""
    n, N, g = len(tree.parent), len(tree.armature), len(gears.ratio)
    return allocate(
        ResponseArrays, n=n, N=N, m=m, r=np.zeros(m + g), u=np.zeros(m + g), tree=tree, kin=kin, art=art,
        closures=closures, rubbing=rubbing, gears=gears, rows=make_rows(n, m + g), loop=make_loop_work(n, m),
        bil=make_bilateral_work(n, m), tendons=no_tendons(),
    )  # fmt: skip


@kernel
def constraint_response(c, q):
    """``response``, ``compliance`` and ``bias`` at coordinates q and the velocities held in ``kin``."""
    bilateral_rows(c.tree, c.kin, q, c.closures, c.tendons, c.rubbing, c.gears, 1.0, 0.0, 0, c.rows, c.loop, c.bil)
    count = c.bil.info[COUNT]
    n_rows = count + c.bil.info[PARTNERS]
    for i in range(count):
        fill(n_rows, c.r, 0.0)
        c.r[i] = 1.0
        partner_impulses(c.r, c.bil)
        row_impulses(c.rows, n_rows, c.r, c.impulse)
        impulse_response(c.tree, c.kin, c.art, c.impulse, c.joint_impulse, c.dv)
        row_velocities(c.rows, n_rows, c.art.alpha, c.u)
        combine_velocities(c.u, c.bil)
        copy(count, c.u, c.compliance[i])
        copy(c.dv.shape[0], c.dv, c.response[i])
        c.bias[i] = c.rows.offset[i]


@kernel
def row_speeds(c, q, U):
    """``u``, G v - U of all rows at coordinates q and the velocities held in ``kin``; U (m + g,) is a workspace."""
    bilateral_rows(c.tree, c.kin, q, c.closures, c.tendons, c.rubbing, c.gears, 1.0, 0.0, 0, c.rows, c.loop, c.bil)
    row_velocities(c.rows, c.bil.info[COUNT] + c.bil.info[PARTNERS], c.kin.V, c.u)
    combine_velocities(c.u, c.bil)
    row_motions(c.kin, c.closures, c.gears, c.rows, c.bil, U)
    for i in range(c.bil.info[COUNT]):
        c.u[i] -= U[i]
