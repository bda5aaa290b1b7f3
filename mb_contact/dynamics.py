# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Checked, friendly access to the sweeps: mass matrix, forward and inverse dynamics, Jacobians, compliance.

``model`` is a :class:`~mb_contact.model.model.Model` or a :class:`~mb_contact.model.world.World`: anything
with a ``tree`` and named ``frames``.  Coordinates q (nq,), velocities v (N,) and efforts (N,) follow the
tree; 6-vectors are angular first, in world axes at the frame's origin.  Nothing here is kept between
calls; the simulator calls the same kernels on workspaces of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_vector
from mb_contact.core import compliance as _compliance
from mb_contact.core import frames as _frames
from mb_contact.core.articulated import articulated_inertias, free_acceleration
from mb_contact.core.composite import composite_inertias
from mb_contact.core.composite import mass_matrix as _mass_matrix
from mb_contact.core.contact_rows import row_sides
from mb_contact.core.inverse_dynamics import inverse_dynamics as _inverse_dynamics
from mb_contact.core.inverse_dynamics import mechanical_energy
from mb_contact.core.kinematics import bias_terms, body_inertias, body_poses, body_velocities
from mb_contact.core.modified_articulated import factored_inertias, make_factors
from mb_contact.core.workspace import make_articulated, make_compliance, make_kinematics, make_rows
from mb_contact.errors import DynamicsError, InputError
from mb_contact.types import JOINT_FLOATING, JOINT_NQ, OK

GRAVITY = (0.0, 0.0, -9.81)  #: default gravity [m/s^2]
METHODS = ("abm", "modified_abm", "crbm")  #: of :func:`forward_dynamics`
RANK_TOLERANCE = 1e-9  #: eigenvalues of the compliance below this part of the largest count as zero


class OperationalSpace(NamedTuple):
    """Operational-space quantities of f stacked frames, angular first, world axes at the frame origins."""

    frames: tuple  #: names, in stacking order
    jacobian: np.ndarray  #: J (6 f, N)
    bias: np.ndarray  #: dJ/dt v (6 f,)
    compliance: np.ndarray  #: Lambda = J M^-1 J* (6 f, 6 f), with the coupling between the frames
    inertia: np.ndarray  #: its inverse; its pseudo-inverse where J loses rank
    rank: int  #: of the compliance, with RANK_TOLERANCE


def _sizes(model):
    tree = model.tree
    n = tree.parent.shape[0]
    N = tree.armature.shape[0]
    last = tree.joint_type[n - 1] if n else 0
    nq = int(tree.q_start[n - 1]) + JOINT_NQ[last] if n else 0
    return n, N, nq


def _kinematics(model, q, v=None):
    """Poses, inertias and, with v, velocities and bias terms."""
    n, N, nq = _sizes(model)
    q = as_vector(q, nq, "q")
    for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
        start = model.tree.q_start[k] + 3
        if not q[start : start + 4].any():
            raise InputError(f"the quaternion of '{model.body_names[k]}' in q is zero; give a rotation")
    kin = make_kinematics(n, N)
    body_poses(model.tree, q, kin)
    body_inertias(model.tree, kin)
    if v is not None:
        v = as_vector(v, N, "v")
        body_velocities(model.tree, kin, v, kin.V)
        bias_terms(model.tree, kin, v)
    return kin


def _articulated(model, kin):
    n, N, _ = _sizes(model)
    art = make_articulated(n, N)
    status, body = articulated_inertias(model.tree, kin, 0.0, art)
    if status != OK:
        raise DynamicsError(singular_hinge_message(model, body))
    return art


def _modified_articulated(model, kin):
    n, N, _ = _sizes(model)
    art = make_articulated(n, N)
    status, body = factored_inertias(model.tree, kin, 0.0, make_factors(n), art)
    if status != OK:
        raise DynamicsError(singular_hinge_message(model, body))
    return art


def _solve_mass_matrix(model, q, effort):
    """``M^-1 effort`` by Cholesky's factor of the mass matrix."""
    from scipy.linalg import solve_triangular  # 0.1 s to import, and only this method needs it

    _articulated(model, _kinematics(model, q))  # names a hinge without inertia; in M it could hide in rounding
    try:
        L = np.linalg.cholesky(mass_matrix(model, q))
    except np.linalg.LinAlgError:
        message = "the mass matrix is not positive definite in double precision: use method 'abm' or 'modified_abm'"
        raise DynamicsError(message) from None
    return solve_triangular(L, solve_triangular(L, effort, lower=True), lower=True, trans=1)


def singular_hinge_message(model, body):
    """One sentence about a hinge without inertia: its joint and its link by name, as far as the model has names."""
    link = getattr(model, "body_names", None)
    joint = hinge_name(model, body)
    moves = f" that moves '{link[body]}'" if link else ("" if joint else f" of body {body}")
    name = f"joint '{joint}'" if joint else "the joint"
    return (
        f"{name}{moves} carries no inertia along its axis: give that link or one below it a mass and an inertia, "
        "or the joint an armature"
    )


def hinge_name(model, body):
    """Name of the joint that moves a body, None where it has none (a free object, a bare tree)."""
    names = getattr(model, "body_joint_names", None)
    if names is not None:
        return names[body]
    for robot in getattr(model, "robot_models", ()):  # a World: its robots come first, in order
        if body < robot.n:
            return robot.body_joint_names[body]
        body -= robot.n
    return None


def mass_matrix(model, q):
    """Mass matrix M(q), (N, N), by composite bodies (J11 algorithm 4.2); armature included."""
    n, N, _ = _sizes(model)
    kin = _kinematics(model, q)
    mass = model.tree.mass.copy()
    composite_inertias(model.tree, kin.l, kin.I, kin.mc, mass)
    M = np.zeros((N, N))
    _mass_matrix(model.tree, kin, kin.I, kin.mc, mass, np.zeros((6, 6)), M)
    return M


def inverse_dynamics(model, q, v, v_dot, gravity=GRAVITY):
    """Efforts T (N,) with ``M v_dot + C(q, v) + g(q) = T``; joint damping left out."""
    n, N, _ = _sizes(model)
    v_dot = as_vector(v_dot, N, "v_dot")
    gravity = as_vector(gravity, 3, "gravity")
    kin = _kinematics(model, q, v)
    effort = np.zeros(N)
    _inverse_dynamics(model.tree, kin, gravity, v_dot, np.zeros((n, 6)), np.zeros((n, 6)), effort)
    return effort


def nonlinear_effects(model, q, v, gravity=GRAVITY):
    """Coriolis, centrifugal and gravity efforts C(q, v) + g(q), (N,)."""
    return inverse_dynamics(model, q, v, np.zeros(_sizes(model)[1]), gravity)


def forward_dynamics(model, q, v, effort, gravity=GRAVITY, method="abm"):
    """Accelerations v_dot (N,) with ``M v_dot + C(q, v) + g(q) = effort - damping v``.

    Parameters
    ----------
    model : Model or World
    q, v, effort : array_like (nq,), (N,), (N,)
    gravity : array_like (3,)
        [m/s^2]
    method : {"abm", "modified_abm", "crbm"}
        ``abm``: articulated-body sweeps (J11 lemma 12), O(N).
        ``modified_abm``: the same with factored inertias (P00 section 7), O(N): small inertias keep their digits beside
        large ones.  ``crbm``: the mass matrix and its Cholesky factor, O(N^3).

    Raises
    ------
    DynamicsError
        A hinge carries no inertia.
    InputError
        An argument does not fit.
    """
    n, N, _ = _sizes(model)
    if method not in METHODS:
        raise InputError(f"method '{method}' is not known; available: {', '.join(METHODS)}")
    effort = as_vector(effort, N, "effort")
    gravity = as_vector(gravity, 3, "gravity")
    v = as_vector(v, N, "v")
    if method == "crbm":
        return _solve_mass_matrix(model, q, effort - model.tree.damping * v - nonlinear_effects(model, q, v, gravity))
    kin = _kinematics(model, q, v)
    art = _articulated(model, kin) if method == "abm" else _modified_articulated(model, kin)
    v_dot = np.zeros(N)
    free_acceleration(model.tree, kin, art, gravity, effort, v, np.zeros((n, 6)), v_dot)
    return v_dot


def energy(model, q, v, gravity=GRAVITY):
    """Kinetic and potential energy [J]."""
    n, N, _ = _sizes(model)
    kin = _kinematics(model, q, v)
    kinetic, potential = mechanical_energy(model.tree, kin, as_vector(gravity, 3, "gravity"))
    rotors = 0.5 * float(model.tree.armature @ np.asarray(v, float) ** 2)
    return kinetic + rotors, potential


def _frame_arrays(model, names):
    names = (names,) if isinstance(names, str) else tuple(names)
    if not names:
        raise InputError("frames must name at least one frame")
    for name in names:
        if name not in model.frames:
            known = ", ".join(sorted(model.frames))
            raise InputError(f"there is no frame '{name}'; the frames are {known}")
    picked = [model.frames[name] for name in names]
    body = np.array([f.body for f in picked], np.int64)
    R = np.ascontiguousarray([f.R for f in picked], dtype=np.float64)
    p = np.ascontiguousarray([f.p for f in picked], dtype=np.float64)
    return names, body, R, p


def _frame_poses(kin, body, R_frame, p_frame):
    R = np.zeros_like(R_frame)
    p = np.zeros_like(p_frame)
    _frames.frame_poses(kin, body, R_frame, p_frame, R, p)
    return R, p


def frame_pose(model, q, frame):
    """World pose (R (3, 3), p (3,)) of a frame."""
    _, body, R, p = _frame_arrays(model, frame)
    R, p = _frame_poses(_kinematics(model, q), body, R, p)
    return R[0], p[0]


def jacobian(model, q, frames):
    """Jacobian (6 f, N) of stacked frames: ``[omega; velocity of the origin] = J v``, world axes."""
    names, body, R, p = _frame_arrays(model, frames)
    kin = _kinematics(model, q)
    _, p = _frame_poses(kin, body, R, p)
    J = np.zeros((6 * len(names), _sizes(model)[1]))
    _frames.frame_jacobians(model.tree, kin, body, p, J)
    return J


def jacobian_bias(model, q, v, frames):
    """Bias accelerations dJ/dt v (6 f,) of stacked frames."""
    names, body, R, p = _frame_arrays(model, frames)
    kin = _kinematics(model, q, v)
    _, p = _frame_poses(kin, body, R, p)
    bias = np.zeros(6 * len(names))
    _frames.frame_bias(model.tree, kin, body, p, np.zeros((_sizes(model)[0], 6)), bias)
    return bias


def operational_compliance(model, q, frames):
    """Operational-space compliance Lambda = J M^-1 J* (6 f, 6 f) by the Upsilon recursion, O(N) + O(f^2).

    No Jacobian and no inverse of the mass matrix is formed (J14 section 8).
    """
    names, body, R, p = _frame_arrays(model, frames)
    kin = _kinematics(model, q)
    _, p = _frame_poses(kin, body, R, p)
    return _compliance_matrix(model, kin, _articulated(model, kin), body, p)


def _compliance_matrix(model, kin, art, body, p):
    n = _sizes(model)[0]
    rows = make_rows(n, 6 * len(body))
    com = make_compliance(n)
    _frames.frame_rows(kin, body, p, rows)
    count = _compliance.mark_essential(model.tree, rows.touched, com)
    _compliance.compliance_sweep(model.tree, kin, art, com)
    _compliance.compliance_blocks(model.tree, com, count)
    row_sides(com, rows, 6 * len(body))
    L = np.zeros((6 * len(body), 6 * len(body)))
    _compliance.row_compliance(com, rows, 6 * len(body), count, L)
    return L


def operational_space(model, q, v, frames):
    """Jacobian, bias, compliance and inertia of stacked frames in one pass.

    Returns
    -------
    OperationalSpace
    """
    names, body, R, p = _frame_arrays(model, frames)
    n, N, _ = _sizes(model)
    kin = _kinematics(model, q, v)
    _, p = _frame_poses(kin, body, R, p)
    J = np.zeros((6 * len(names), N))
    bias = np.zeros(6 * len(names))
    _frames.frame_jacobians(model.tree, kin, body, p, J)
    _frames.frame_bias(model.tree, kin, body, p, np.zeros((n, 6)), bias)
    L = _compliance_matrix(model, kin, _articulated(model, kin), body, p)
    inertia, rank = invert_compliance(L)
    return OperationalSpace(names, J, bias, L, inertia, rank)


def operational_inertia(model, q, frames):
    """Operational-space inertia Lambda^-1 (6 f, 6 f), the pseudo-inverse where J loses rank."""
    return invert_compliance(operational_compliance(model, q, frames))[0]


def invert_compliance(L):
    """Inverse of a compliance (pseudo-inverse below RANK_TOLERANCE) and its rank.

    Rows are scaled to a unit diagonal first, since rad/s and m/s mix.
    """
    s = np.sqrt(np.maximum(np.diag(L), np.finfo(float).tiny))
    scale = np.outer(s, s)
    scaled = L / scale
    inverse = _regular_inverse(scaled)
    if inverse is not None:
        return inverse / scale, len(L)
    values, vectors = np.linalg.eigh(scaled)
    keep = values > RANK_TOLERANCE * max(values[-1], 0.0)
    inverse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    return inverse / scale, int(keep.sum())


def _regular_inverse(scaled):
    """Inverse of a matrix with unit diagonal, None unless its rank is certainly full.

    The eigenvalues lie between 1 / trace(inverse) and n, so no eigenvalue need be computed.
    """
    n = len(scaled)
    try:
        inverse = np.linalg.inv(scaled)
    except np.linalg.LinAlgError:
        return None
    inverse = 0.5 * (inverse + inverse.T)
    trace = inverse.trace()
    positive = trace > 0.0 and inverse.diagonal().min() > 0.0
    return inverse if positive and 1.0 / trace > RANK_TOLERANCE * n else None
