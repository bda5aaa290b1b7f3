# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loop closures: bilateral rows G_b between two frames (J14 Eq. 17, 29).

    weld       frames coincide               6 rows
    axis       origins and axes coincide     5 rows (a revolute joint that closes a loop)
    point      origins coincide              3 rows (a ball joint)
    distance   origins keep their distance   1 row
    planar     axes parallel, origin on A    3 rows (a planar joint that closes a loop)
               in the plane of B
    screw      axes coincide, and a turn    5 rows (a nut on its thread)
               goes along them by the lead
    rows       given rows                    any number

Each kind gives the rows on the two bodies, the term dG_b/dt v of a frame on each body, and the closure
error c with dc/dt = G_b v (to first order in c for angles).
"""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.errors import InputError
from mb_contact.model.rotations import cross
from mb_contact.studies.formulations.state import find_body
from mb_contact.types import WORLD

KINDS = ("weld", "axis", "point", "distance", "planar", "screw", "rows")
I3 = np.eye(3)


class LoopClosure(NamedTuple):
    """Two frames held together; poses in the frames of their bodies [m] (J14 (17), (29)).

    Examples
    --------
    >>> tip = mb.studies.LoopClosure("point", "link_1", -1, p_a=(0.0, 0.0, -1.0), p_b=(0.0, 0.0, -2.0))
    >>> arm = mb.load_urdf(mb.pendulum(2, length=2.0).urdf())
    >>> mb.studies.StepProblem(arm, [0.0, 0.0], [0.0, 0.0], loops=[tip]).n_b
    3
    """

    kind: str  #: one of KINDS
    body_a: object  #: body index, WORLD or link name (then the pose is in the link's frame)
    body_b: object
    p_a: object = (0.0, 0.0, 0.0)
    p_b: object = (0.0, 0.0, 0.0)
    R_a: object = None  #: (3, 3), identity if left out; its z axis is that of kind "axis", normal of "planar"
    R_b: object = None
    length: float = 0.0  #: of kind "distance" [m]
    velocity: object = 0.0  #: U, prescribed velocity of the rows [m/s, rad/s]
    acceleration: object = 0.0  #: dU/dt
    on_a: object = None  #: (m, 6), kind "rows": world axes at the origin of the body, angular first
    on_b: object = None
    bias: object = 0.0  #: kind "rows": dG_b/dt v without the accelerations of the bodies
    error: object = 0.0  #: kind "rows": closure error c
    lead: float = 0.0  #: of kind "screw": way along the axis per radian [m]


class LoopRows(NamedTuple):
    """Rows of one closure."""

    body_a: int
    body_b: int
    on_a: np.ndarray  #: (m, 6)
    on_b: np.ndarray  #: (m, 6), signed
    bias: np.ndarray  #: (m,), d(on)/dt V of both sides
    error: np.ndarray  #: (m,), c
    velocity: np.ndarray  #: (m,), U
    acceleration: np.ndarray  #: (m,), dU/dt


def loop_rows(model, state, loop, what):
    """LoopRows of a LoopClosure at a BodyState.

    Raises
    ------
    InputError
        Unknown kind or body, arrays that do not fit, or a distance of zero.
    """
    if loop.kind not in KINDS:
        raise InputError(f"{what}: there is no kind '{loop.kind}'; choose one of {', '.join(KINDS)}")
    a, p_a, R_a = _frame(model, state, loop.body_a, loop.p_a, loop.R_a, what)
    b, p_b, R_b = _frame(model, state, loop.body_b, loop.p_b, loop.R_b, what)
    if a == b:
        raise InputError(f"{what}: both frames are on the same body, so there is nothing to close")
    if loop.kind == "rows":
        on_a = as_matrix(loop.on_a, (None, 6), f"{what}.on_a")
        on_b = as_matrix(loop.on_b, (len(on_a), 6), f"{what}.on_b")
        parts = on_a, on_b, _spread(loop.bias, len(on_a), what), _spread(loop.error, len(on_a), what)
    elif loop.kind == "distance":
        parts = _distance(state, a, b, p_a, p_b, loop.length, what)
    elif loop.kind == "planar":
        parts = _stack(_axis_angles(state, a, b, R_a, R_b), _plane(state, a, b, p_a, p_b, R_b[:, 2]))
    elif loop.kind == "screw":
        parts = _stack(_axis_angles(state, a, b, R_a, R_b), _thread(state, a, b, p_a, p_b, R_a, R_b, loop.lead))
    else:
        parts = _point(state, a, b, p_a, p_b)
        if loop.kind == "weld":
            parts = _stack(_weld_angles(a, b, R_a, R_b), parts)
        elif loop.kind == "axis":
            parts = _stack(_axis_angles(state, a, b, R_a, R_b), parts)
    m = len(parts[0])
    return LoopRows(a, b, *parts, _spread(loop.velocity, m, what), _spread(loop.acceleration, m, what))


def _frame(model, state, body, p, R, what):
    p = as_vector(p, 3, f"{what}.p")
    R = I3 if R is None else as_matrix(R, (3, 3), f"{what}.R")
    if np.abs(R @ R.T - I3).max() > 1e-6:
        raise InputError(f"{what}: R must be a rotation matrix")
    k = find_body(model, body, what)
    if isinstance(body, str):
        frame = model.frames[body]
        R, p = frame.R @ R, frame.p + frame.R @ p
    R, p = state.pose(k, R, p)
    return k, p, R


def _spread(value, m, what):
    if np.ndim(value) == 0:
        value = np.full(m, value)
    return as_vector(value, m, f"{what}: a value for each row")


def _stack(*parts):
    return tuple(np.concatenate(arrays) for arrays in zip(*parts))


def _point(state, a, b, p_a, p_b):
    """v(p_a) - v(p_b), c = p_a - p_b."""
    bias = state.centripetal(a, p_a) - state.centripetal(b, p_b)
    return state.point_rows(a, p_a, I3), -state.point_rows(b, p_b, I3), bias, p_a - p_b


def _angular(body, directions):
    """Rows (m, 6) of omega(body) along directions."""
    rows = np.zeros((len(directions), 6))
    if body != WORLD:
        rows[:, :3] = directions
    return rows


def _weld_angles(a, b, R_a, R_b):
    """omega_a - omega_b in world axes; c the rotation vector of R_a R_b*."""
    from scipy.spatial.transform import Rotation

    error = Rotation.from_matrix(R_a @ R_b.T).as_rotvec()
    return _angular(a, I3), -_angular(b, I3), np.zeros(3), error


def _axis_angles(state, a, b, R_a, R_b):
    """t_i . (omega_a - omega_b) for two directions t_i fixed on b across its axis; c_i = t_i . (z_b x z_a)."""
    T = R_b[:, :2].T
    w_a, w_b = state.spin(a), state.spin(b)
    bias = np.array([cross(w_b, t) @ (w_a - w_b) for t in T])  # dt_i/dt = omega_b x t_i
    error = T @ cross(R_b[:, 2], R_a[:, 2])
    return _angular(a, T), -_angular(b, T), bias, error


def _plane(state, a, b, p_a, p_b, n):
    """n . (v_a - v_b) at p_a, n fixed on b; c = n . s with s = p_a - p_b."""
    s, w = p_a - p_b, state.spin(b)
    turn = cross(w, n)  # dn/dt
    rate = state.point_velocity(a, p_a) - state.point_velocity(b, p_b)
    bias = cross(w, turn) @ s + 2.0 * turn @ rate + n @ (state.centripetal(a, p_a) - state.centripetal(b, p_b))
    rows_a, rows_b = state.point_rows(a, p_a, n[None]), -state.point_rows(b, p_a, n[None])
    return rows_a, rows_b, np.array([bias]), np.array([n @ s])


def _thread(state, a, b, p_a, p_b, R_a, R_b, lead):
    """Two rows that keep the origin on A on the axis of B, and z . (v_a - v_b) - lead z . (omega_a - omega_b)."""
    rows_a, rows_b, bias, error = _stack(*(_plane(state, a, b, p_a, p_b, R_b[:, c]) for c in range(3)))
    z, w_a, w_b = R_b[:, 2], state.spin(a), state.spin(b)
    rows_a[2] -= lead * _angular(a, z[None])[0]
    rows_b[2] += lead * _angular(b, z[None])[0]
    bias[2] -= lead * cross(w_b, z) @ (w_a - w_b)  # dz/dt = omega_b x z
    in_b = R_b.T @ R_a[:, 0]
    apart = error[2] / lead - np.arctan2(in_b[1], in_b[0])
    error[2] = lead * (apart - 2.0 * np.pi * np.round(apart / (2.0 * np.pi)))
    return rows_a, rows_b, bias, error


def _distance(state, a, b, p_a, p_b, length, what):
    """u . (v(p_a) - v(p_b)) with u the unit vector from p_b to p_a; c = |p_a - p_b| - length."""
    gap = p_a - p_b
    d = float(np.linalg.norm(gap))
    if not d > 1e-9 * max(1.0, abs(length)) or not length > 0.0:
        raise InputError(f"{what}: the distance and its length must be above zero, got {d:g} and {length:g} m")
    u = gap / d
    rate = state.point_velocity(a, p_a) - state.point_velocity(b, p_b)
    across = rate - (u @ rate) * u
    bias = u @ (state.centripetal(a, p_a) - state.centripetal(b, p_b)) + across @ across / d  # du/dt = across / d
    rows_a, rows_b = state.point_rows(a, p_a, u[None]), -state.point_rows(b, p_b, u[None])
    return rows_a, rows_b, np.array([bias]), np.array([d - length])
