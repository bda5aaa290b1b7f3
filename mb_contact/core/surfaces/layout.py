# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How smooth surfaces and their contact are laid out in arrays, and the workspace of the contact kernels.

A surface is a row of ``code`` (int64) and a part of ``data`` (float64) that begins at ``code[k, START]``:
placement in the body (R by rows, p), three sizes, and for a spline its knots and its control net in homogeneous
coordinates (w x, w y, w z, w), second index fastest.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

# --- kinds of surfaces -----------------------------------------------------------------------
PLANE = 0  #: (s, t, 0)
ELLIPSOID = 1  #: (a cos t cos s, b cos t sin s, c sin t), charts: axes permuted in a circle; a sphere is one too
CYLINDER = 2  #: (a cos s, a sin s, t)
TORUS = 3  #: ((a + b cos t) cos s, (a + b cos t) sin s, b sin t)
SPLINE = 4  #: NURBS of any degree; a Bezier patch has no inner knots

# --- entries of code[k] ------------------------------------------------------------------------
KIND = 0
START = 1  #: where the surface begins in ``data``
SIDE = 2  #: +1: normal along c_s x c_t, -1: against it
CHART = 3  #: chart in use
DEGREE_S = 4
DEGREE_T = 5
COUNT_S = 6  #: control points along s
COUNT_T = 7
RATIONAL = 8  #: 1: weights that are not all equal
CODES = 9

# --- offsets in a surface's data -----------------------------------------------------------------
TURN = 0  #: R, 9 numbers by rows
SHIFT = 9  #: p [m]
SIZE = 12
KNOTS = 15

# --- rows of D[k]: partial derivatives of c(s, t) -----------------------------------------------
C, C_S, C_T, C_SS, C_ST, C_TT, C_SSS, C_SST, C_STT, C_TTT = range(10)

MAX_DEGREE = 15  #: of a spline; what the workspace holds

# --- what a body does ----------------------------------------------------------------------------
FREE = 0  #: state: position (3) of the centre of mass, quaternion x y z w (4), w (3), v (3), world axes
SLIDING = 1  #: state: q (5) and its rate (5)
ROLLING = 2  #: state: q (5) and the relative angular velocity (3) in axes of the contact frame 1c
STATE_SIZE = (13, 10, 8)
LARGEST_STATE = 13

# --- entries of ``constants`` --------------------------------------------------------------------
MASS = 0
INERTIA = 1  #: 9, about the centre of mass, body axes
GRAVITY = 10  #: 3, world
FRICTION = 13  #: Coulomb coefficient; inf: none is too much
BASE_P = 14  #: 3, origin of the base at t = 0, world
BASE_R = 17  #: 9
BASE_V = 26  #: 3, constant velocity of its origin
BASE_W = 29  #: 3, constant angular velocity, world axes
RELEASE = 32  #: 1: the contact may break, 0: the base also pulls
CONSTANTS = 33

# --- entries of ``watch``, evaluated with every acceleration --------------------------------------
NORMAL_FORCE = 0  #: [N]
SLIP = 1  #: speed of the contact point of body 2 on body 1 [m/s]
FRICTION_ROOM = 2  #: mu lambda - |tangential force| of a rolling body [N]
LEAST_PIVOT = 3  #: smallest over largest pivot of H* M H
GAP = 4  #: of a free body [m]
SLIP_1 = 5  #: slip velocity in axes of 1c
SLIP_2 = 6
GAP_RATE = 7
DECELERATION = 8  #: of the slip by its friction [m/s^2]
WATCHED = 9


class SurfaceWork(NamedTuple):
    """Workspace of a contact of two surfaces; index 0 the base (1 in the paper), 1 the body (2 in the paper)."""

    D: np.ndarray  #: (2, 10, 3), derivatives in axes of the surface's body
    R: np.ndarray  #: (2, 3, 3), contact frames in their bodies, columns x, y, z
    A: np.ndarray  #: (2, 2, 2), metric form: velocity of the frame's origin in its own axes, A du
    W: np.ndarray  #: (2, 3, 2), angular velocity of the frame in its own axes, W du (curvature and torsion)
    W_dot: np.ndarray  #: (2, 3, 2)
    basis: np.ndarray  #: (2, 4, MAX_DEGREE + 1), B-spline basis and its derivatives along s and t
    partial: np.ndarray  #: (4, MAX_DEGREE + 1, 4), net contracted over t
    homogeneous: np.ndarray  #: (10, 4)
    turn: np.ndarray  #: (6, 3, 3): R_12, R_psi, base in the world, inertia, scratch, body in the world
    point: np.ndarray  #: (3, 3): origin of 2 in axes of 1; gravity and angular velocity of the base in axes of 1
    H: np.ndarray  #: (5, 6), rows of the contact matrix, axes and origin as said by who fills it
    H_dot: np.ndarray  #: (5, 6)
    N: np.ndarray  #: (5, 5), contact rates from relative angular velocity (3) and slip (2)
    a: np.ndarray  #: (6,), bias acceleration, then acceleration
    V: np.ndarray  #: (6,), velocity of body 2 relative to body 1 at the origin of 2
    wrench: np.ndarray  #: (6,), of the contact on the body about the contact point, axes of 1c
    solve: np.ndarray  #: (5, 7), equations and two right-hand sides
    rate: np.ndarray  #: (5,), rate of q, or relative angular velocity and slip
    stages: np.ndarray  #: (8, LARGEST_STATE), derivatives of the state
    trial: np.ndarray  #: (LARGEST_STATE,)
    start: np.ndarray  #: (LARGEST_STATE,), state at the start of a step
    guide: np.ndarray  #: (3,), slip at the start of a step; what friction takes of it in a long step, else 0


def make_surface_work(kind=float):
    """A workspace; ``kind`` complex for derivatives by complex steps."""
    degree = MAX_DEGREE + 1
    shapes = ((2, 10, 3), (2, 3, 3), (2, 2, 2), (2, 3, 2), (2, 3, 2), (2, 4, degree), (4, degree, 4), (10, 4),
              (6, 3, 3), (3, 3), (5, 6), (5, 6), (5, 5), (6,), (6,), (6,), (5, 7), (5,), (8, LARGEST_STATE),
              (LARGEST_STATE,), (LARGEST_STATE,), (3,))  # fmt: skip
    return SurfaceWork(*(np.zeros(shape, kind) for shape in shapes))
