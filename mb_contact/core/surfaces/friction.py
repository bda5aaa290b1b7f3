# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sliding friction: the slip, the direction of its friction, and steps that are long for it.

A slip s obeys ds/dt = b - a s/|s|, a its deceleration by friction, b all else.  It turns within |s|/a; in steps much
longer than that an explicit method overshoots to both sides of b and the slip hovers at about a h, whether it should
end or go on.  In such a step friction keeps one direction d, that of the slip at the step's end,

    s_1 = s_0 + h b - h a d,    d along s_1,    so d along w = s_0 + h b = s_1' + h a d',

s_1' being the end of a step with another direction d'.  This is right where the slip follows b; where it turns by more
than TURN the step is refused, and shorter ones follow the slip.
"""

import numpy as np

from mb_contact.core.jit import kernel
from mb_contact.core.surfaces.layout import DECELERATION, SLIP, SLIP_1, SLIP_2
from mb_contact.core.tree.spatial import between, matrix, turned, vector_product

LONG = 0.5  #: a step is long for a slip if friction takes more than this part of it
TURN = 1e-3  #: by which a slip may turn in a long step [rad]


@kernel
def slip_velocity(work, watch):
    """Velocity of body 2's contact point relative to body 1 in axes of 1c: A_1 du_1 - R_psi A_2 du_2."""
    A = work.A
    u = work.rate
    turn = work.turn
    x = A[1, 0, 0] * u[2] + A[1, 0, 1] * u[3]
    y = A[1, 1, 1] * u[3]
    sx = A[0, 0, 0] * u[0] + A[0, 0, 1] * u[1] - turn[1, 0, 0] * x - turn[1, 0, 1] * y
    sy = A[0, 1, 1] * u[1] - turn[1, 1, 0] * x - turn[1, 1, 1] * y
    watch[SLIP_1] = sx
    watch[SLIP_2] = sy
    watch[SLIP] = np.sqrt(sx * sx + sy * sy)


@kernel
def unit_friction(work, watch):
    """Force of length 1 against the slip and its moment about the centre of mass.

    It keeps its sense within a step: where the slip ends, stages beyond would turn it and RK4 then stands still.
    In a step that is long for the slip it keeps its direction, see ``settle``.
    """
    guide = work.guide
    if guide[2] > 0.0:
        size = np.sqrt(guide[0] * guide[0] + guide[1] * guide[1])
        x = -guide[0] / size
        y = -guide[1] / size
    else:
        x = -watch[SLIP_1] / watch[SLIP]
        y = -watch[SLIP_2] / watch[SLIP]
        if x * guide[0] + y * guide[1] > 0.0:
            x, y = -x, -y
    force = turned(matrix(work.R, 0), (x, y, 0.0))
    return force + vector_product(between(work.D[0], 0, work.point, 0), force)


@kernel
def taken(watch, h):
    """What friction takes of the slip in a step of h that is long for it [m/s]; 0 if the step is not."""
    part = h * watch[DECELERATION]
    return part if watch[SLIP] > 0.0 and part > LONG * watch[SLIP] else 0.0


@kernel
def settle(guide, watch):
    """Turn ``guide``, the friction of a long step, along w, ``watch`` holding the step's end; whether it may."""
    x = guide[0]
    y = guide[1]
    size = np.sqrt(x * x + y * y)
    part = guide[2] / size
    wx = watch[SLIP_1] + part * x
    wy = watch[SLIP_2] + part * y
    length = np.sqrt(wx * wx + wy * wy)
    if not (wx * x + wy * y > 0.0 and abs(wx * y - wy * x) < TURN * length * size):
        return False
    guide[0] = wx / length * size
    guide[1] = wy / length * size
    return True
