# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How smooth surfaces, their contact and a tree with contacts are laid out in arrays, and the kernels' workspaces.

A surface is a row of ``code`` (int64) and a part of ``data`` (float64) that begins at ``code[k, START]``:
placement in the body (R by rows, p), three sizes, and for a spline its knots and its control net in homogeneous
coordinates (w x, w y, w z, w), second index fastest.
"""

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

# --- what a contact does ---------------------------------------------------------------------------
FREE = 0  #: pose (7) of the centre of mass, quaternion x y z w, and w, v (6), world axes
SLIDING = 1  #: q (5) and its rate (5)
ROLLING = 2  #: q (5) and the relative angular velocity (3) in axes of the contact frame 1c

# --- what is watched of it -------------------------------------------------------------------------
NORMAL_FORCE = 0  #: [N]
SLIP = 1  #: speed of the contact point of body 2 on body 1 [m/s]
FRICTION_ROOM = 2  #: mu lambda - |tangential force| [N]
GAP = 3  #: of a free body [m]
SLIP_1 = 4  #: slip velocity in axes of 1c
SLIP_2 = 5
GAP_RATE = 6
DECELERATION = 7  #: of the slip by its friction [m/s^2]
WATCHED = 8

RUBS = 0  #: rows: sliding friction of a contact
HOLDS = 1  #: the limit of a joint

MOST_STAGES = 7  #: of a Runge-Kutta method


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
    turn: np.ndarray  #: (2, 3, 3): R_12, R_psi
    point: np.ndarray  #: (1, 3): origin of 2 in axes of 1
    H: np.ndarray  #: (5, 6), rows of the contact matrix, axes and origin as said by who fills it
    H_dot: np.ndarray  #: (5, 6)
    N: np.ndarray  #: (5, 5), contact rates from relative angular velocity (3) and slip (2)
    V: np.ndarray  #: (6,), velocity of body 2 relative to body 1 at the origin of 2
    rate: np.ndarray  #: (5,), rate of q, or relative angular velocity and slip
    guide: np.ndarray  #: (3,), slip at the start of a step; what friction takes of it in a long step, else 0
    along: np.ndarray  #: (3,), zero: nearest points lie along the normal


def make_surface_work(kind=float):
    """A workspace; ``kind`` complex for derivatives by complex steps."""
    degree = MAX_DEGREE + 1
    shapes = ((2, 10, 3), (2, 3, 3), (2, 2, 2), (2, 3, 2), (2, 3, 2), (2, 4, degree), (4, degree, 4), (10, 4),
              (2, 3, 3), (1, 3), (5, 6), (5, 6), (5, 5), (6,), (5,), (3,), (3,))  # fmt: skip
    return SurfaceWork(*(np.zeros(shape, kind) for shape in shapes))


class SurfaceJoints(NamedTuple):
    """The contacts among the joints of a tree: c of them, N degrees of freedom in all."""

    body: np.ndarray  #: int64 (c,), the body each of them moves
    code: np.ndarray  #: int64 (c, 2, CODES)
    data: np.ndarray  #: all surfaces, one after the other
    bounds: np.ndarray  #: (c, 4, 2)
    H: np.ndarray  #: (N, 6), rows in axes of the parent
    H_dot: np.ndarray  #: (N, 6)
    rate: np.ndarray  #: (c, 5), rates of the contact coordinates
    mode: np.ndarray  #: int64 (c,), FREE, SLIDING or ROLLING
    parent: np.ndarray  #: int64 (c,), body of the surface it touches
    law: np.ndarray  #: (c, 2), friction coefficient; 1 where the contact may break
    near: np.ndarray  #: (c, 5), nearest points and gap of a free body
    watch: np.ndarray  #: (c, WATCHED), see ``layout``
    guide: np.ndarray  #: (c, 3), slip at the start of the step; what friction takes of it in a long one, else 0
    drag: np.ndarray  #: (c, 6), wrench of a unit of sliding friction about the child's origin, axes of the parent
    normal: np.ndarray  #: (c, 6), contact point and normal of the parent's surface, axes of the parent
    wrench: np.ndarray  #: (c, 6), of the contact about the contact point, world axes
    q: np.ndarray  #: (5,), scratch
    v: np.ndarray  #: (5,)


class TreeStages(NamedTuple):
    """Workspace of a Runge-Kutta step of a tree."""

    q: np.ndarray  #: (nq,)
    v: np.ndarray  #: (N,)
    q_start: np.ndarray
    v_start: np.ndarray
    q_dot: np.ndarray  #: (MOST_STAGES, nq)
    v_dot: np.ndarray  #: (MOST_STAGES, N)
    a: np.ndarray  #: (N,), acceleration
    external: np.ndarray  #: (n, 6), wrenches on the bodies about their origins, world axes
    carried: np.ndarray  #: (n, 6), sums of them over all that hangs on a body, scratch
    alpha: np.ndarray  #: (n, 6)
    force: np.ndarray  #: (n, 6), through the joints
    effort: np.ndarray  #: (N,)
    total: np.ndarray  #: (N,), with friction and limits
    torque: np.ndarray  #: (N,), scratch
    gravity: np.ndarray  #: (3,)
    row: np.ndarray  #: int64 (r, 2), RUBS and a contact, or HOLDS and a degree of freedom
    unit: np.ndarray  #: (r, N), effort of a unit of it
    value: np.ndarray  #: (r,), y
    load: np.ndarray  #: (r,), x
    grip: np.ndarray  #: (r,), acceleration along it for a unit of it
    system: np.ndarray  #: (r, r)
    order: np.ndarray  #: int64 (r,)
    five: np.ndarray  #: int64 (5,), scratch
    stop: np.ndarray  #: int64 (s, 3): limited degrees of freedom, their places in q; 1, -1 or 0: held above, below, not
