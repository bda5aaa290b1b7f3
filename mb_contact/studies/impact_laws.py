# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Collisions as two instantaneous contact problems on W and the velocities of the rows (J14 section 7, J12 section IV).

    compression     u_c = W p_c + u-                 J14 (54), (55): the contact problem with dt = 0
    decompression   u+  = W (theta + p) + u_c        J14 (57), (58), theta(i) = eps(i) (normal part of p_c(i))

p is a contact impulse of its own: its normal part is complementary to u+, its friction is bounded.  By what, the laws
disagree (``LAWS``).  Readable, in NumPy: the reference
of the simulator's kernels; on the pyramid by solvers of its own.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.constraints.rows import row_velocities
from mb_contact.dynamics.arguments import TreeModel
from mb_contact.errors import InputError
from mb_contact.simulation.stepping.impacts import GAIN, LAWS
from mb_contact.simulation.stepping.largest_factor import largest_factor
from mb_contact.solvers import solve_lcp
from mb_contact.solvers.blocks import CONTACT, UNILATERAL, solve_blocks
from mb_contact.studies.formulations.loops import LoopClosure, loop_rows
from mb_contact.studies.formulations.os import ContactProblem
from mb_contact.studies.formulations.step_problem import ContactPoint, JointLimit, StepProblem

#: Friction of the decompression is at most mu times
#: anitescu_potra: recovered plus additional normal impulse;
#: papers: the additional one alone (J14 Eq. 57 as printed), which can create energy;
#: newton: no decompression: one contact problem that asks for u_n+ >= -eps u_n-, which can create energy too.
ENERGY_GAIN = ("refuse", "allow")



class Phases(NamedTuple):
    """Both phases of a collision, in rows: contacts (normal, tangent 1, tangent 2), then joint limits."""

    compression: np.ndarray  #: p_c (R,) [N s, N m s]
    decompression: np.ndarray  #: recovered plus additional impulses (R,)
    u_compressed: np.ndarray  #: velocities of the rows after compression (R,) [m/s, rad/s]
    u_after: np.ndarray  #: and at the end (R,)
    energy_compression: float  #: change of kinetic energy in the first phase [J], never above zero
    energy_decompression: float  #: and in the second [J]
    scale: float  #: common factor on all eps: 1, or less where the law would have created energy

    @property
    def energy_change(self):
        """Change of kinetic energy over both phases [J]."""
        return self.energy_compression + self.energy_decompression


class Collision(NamedTuple):
    """A collision of a model: the velocities after it, and its phases.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> touch = mb.studies.ContactPoint(0, -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0))
    >>> hit = mb.studies.collide(world, [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 0, 0, -1], [touch], 0.5)
    >>> hit.v_compressed[5], hit.v_after[5], hit.impulses  # 2 kg: 2 N s stop it, 1 N s more throws it back
    (0.0, 0.5, array([[0., 0., 3.]]))
    """

    v_compressed: np.ndarray  #: theta_dot_c (N,)
    v_after: np.ndarray  #: theta_dot+ (N,)
    impulses: np.ndarray  #: (n_u, 3) on A of each contact, world axes, both phases [N s]
    phases: Phases
    problem: StepProblem


def two_phases(
    W: ArrayLike,
    u: ArrayLike,
    mu: ArrayLike,
    restitution: ArrayLike,
    *,
    law: str = "anitescu_potra",
    directions: int | None = 8,
    energy_gain: str = "refuse",
) -> Phases:
    """Both phases of a collision on given rows (J14 (54)-(58), J12 section IV).

    Parameters
    ----------
    W : array_like (R, R)
        Compliance of the rows: three for each contact (normal, tangent 1, tangent 2), then one for each joint limit.
    u : array_like (R,)
        Velocities of the rows before the collision [m/s, rad/s].
    mu, restitution : float or array_like (n,)
        Of the n contacts; limits are inelastic.
    law : str
        One of LAWS.
    directions : int or None
        n_f of the friction pyramid, or None for the exact cone.
    energy_gain : str
        ``"refuse"``: where kinetic energy would grow, all eps are scaled by the largest common factor with which it
        does not; ``"allow"``.

    Returns
    -------
    Phases
        In rows [N s, m/s, J].

    Raises
    ------
    InputError
        Sizes, names or values do not fit.

    Examples
    --------
    >>> phases = mb.studies.two_phases(np.eye(3), [-1.0, 0.0, 0.0], 0.5, 0.8)
    >>> phases.u_compressed[0], phases.u_after[0], phases.energy_change
    (0.0, 0.8, -0.18)
    """
    u = as_vector(u, name="u")
    W = as_matrix(W, (len(u), len(u)), "W")
    mu = np.atleast_1d(np.asarray(mu, float))
    n = len(mu)
    if 3 * n > len(u):
        raise InputError(f"{n} contacts need {3 * n} rows, but u has {len(u)}")
    eps = np.broadcast_to(np.asarray(restitution, float), n).copy()
    if not ((eps >= 0.0) & (eps <= 1.0)).all() or not (mu >= 0.0).all():
        raise InputError("restitution must be from 0 to 1 and mu at least 0")
    if law not in LAWS or energy_gain not in ENERGY_GAIN:
        raise InputError(f"law must be one of {', '.join(LAWS)} and energy_gain one of {', '.join(ENERGY_GAIN)}")
    p_c = _impulses(W, u, mu, np.zeros(n), directions)
    u_c = W @ p_c + u

    def after(scale):
        return _second(W, u, p_c, mu, scale * eps, law, directions)

    def gain(scale):
        p = p_c + after(scale)
        return 0.5 * p @ (u + W @ p + u)

    scale = 1.0
    if energy_gain == "refuse" and eps.any():
        scale = largest_factor(gain, GAIN * _energy_scale(W, u, p_c))
    p_d = after(scale)
    u_d = W @ p_d + u_c
    return Phases(p_c, p_d, u_c, u_d, 0.5 * p_c @ (u + u_c), 0.5 * p_d @ (u_c + u_d), scale)


def collide(
    model: TreeModel,
    q: ArrayLike,
    v: ArrayLike,
    contacts: Sequence[ContactPoint],
    restitution: ArrayLike = 0.0,
    *,
    limits: Sequence[JointLimit] = (),
    loops: Sequence[LoopClosure] = (),
    law: str = "anitescu_potra",
    directions: int | None = 8,
    energy_gain: str = "refuse",
) -> Collision:
    """A collision of a model (J14 section 7): positions stay, velocities jump.

    Parameters
    ----------
    model : Model or World
    q, v : array_like (nq,), (N,)
        State just before.
    contacts : sequence of ContactPoint
        All that touch; which of them collide follows from v.  Their gaps do not count.
    restitution : float or array_like (n,)
        Of the contacts.
    limits, loops : sequences of JointLimit, LoopClosure
        Joint limits that are reached (inelastic), and loops, which stay closed.
    law, directions, energy_gain
        As for ``two_phases``.

    Returns
    -------
    Collision
        Impulses in world axes [N s].

    Raises
    ------
    InputError
        Sizes, names or values do not fit.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> arm = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> wall = mb.studies.ContactPoint("link_0", -1, (0.5, 0.0, -0.5), (-1.0, 0.0, 0.0), mu=0.0)
    >>> mb.studies.collide(arm, [0.0], [-2.0], [wall], restitution=0.5).v_after
    array([1.])
    """
    problem = StepProblem(
        model, q, v, contacts=contacts, limits=limits, loops=loops, implicit_damping=False,
        friction_directions=directions or 8,
    )  # fmt: skip
    b, R = problem.n_b, len(problem.rows.constant)
    u, W = np.zeros(R), problem.compliance
    row_velocities(problem.row_work(), R, problem.state.kin.V, u)
    moving = [loop_rows(model, problem.state, loop, f"loops[{i}]").velocity for i, loop in enumerate(loops)]
    u[:b] -= np.concatenate([np.zeros(0), *moving])  # G_b v- - U: a drift in velocity is removed
    to_loops = np.linalg.pinv(W[:b, :b], hermitian=True) if b else np.zeros((0, 0))
    phases = two_phases(
        W[b:, b:] - W[b:, :b] @ to_loops @ W[:b, b:], u[b:] - W[b:, :b] @ to_loops @ u[:b], problem.mu, restitution,
        law=law, directions=directions, energy_gain=energy_gain,
    )  # fmt: skip
    steps = [np.zeros(problem.N)]
    for p in (phases.compression, phases.compression + phases.decompression):
        p_b = -to_loops @ (u[:b] + W[:b, b:] @ p)
        steps.append(problem.velocity_change(np.concatenate([p_b, p])))
    total = (phases.compression + phases.decompression)[: 3 * problem.n_u].reshape(-1, 3)
    return Collision(
        v_compressed=problem.state.v + steps[1],
        v_after=problem.state.v + steps[2],
        impulses=np.einsum("ij,ijk->ik", total, problem.frames),
        phases=phases,
        problem=problem,
    )


def _second(W, u, p_c, mu, eps, law, directions):
    """Impulses after compression: recovered and additional, or what Newton's law asks for beyond p_c."""
    n = len(mu)
    normal = 3 * np.arange(n)
    if law == "newton":
        wanted = u.copy()
        wanted[normal] += eps * np.minimum(u[normal], 0.0)  # u_n+ - eps |u_n-| >= 0
        return _impulses(W, wanted, mu, np.zeros(n), directions) - p_c
    theta = np.zeros(len(u))
    theta[normal] = eps * p_c[normal]
    if not theta.any():
        return theta
    bound = theta[normal] if law == "anitescu_potra" else np.zeros(n)
    return theta + _impulses(W, W @ (p_c + theta) + u, mu, bound, directions)


def _impulses(W, u, mu, recovered, directions):
    """Contact impulses on free velocities u whose friction is bounded by mu (recovered + their normal part)."""
    n = len(mu)
    if not len(u):
        return np.zeros(0)
    if directions is None:
        return _on_cone(W, u, mu, recovered)
    units = n + len(u) - 3 * n
    problem = ContactProblem(
        W, u, np.concatenate([mu, np.zeros(units - n)]), np.array([3] * n + [1] * (units - n)), directions, u, u
    )
    M, h = problem.lcp()
    if n:
        h[-n:] += mu * recovered  # mu (theta + F_n) - E* beta >= 0
    return problem.impulses_from(solve_lcp(M, h, "auto", tolerance=1e-11).z)


def _on_cone(W, u, mu, recovered):
    """The same on exact cones: r = recovered + p has normal impulses of at least ``recovered``."""
    n, limits = len(mu), len(u) - 3 * len(mu)
    theta = np.zeros(len(u))
    theta[: 3 * n : 3] = recovered
    rough = np.concatenate([np.outer(mu, [0.0, 1.0, 1.0]).ravel(), np.zeros(limits)])
    kind, size = [CONTACT] * n + [UNILATERAL] * limits, [3] * n + [1] * limits
    found = solve_blocks(W, u - W @ theta, kind, size, rough + theta, tolerance=1e-12)
    return found.r - theta


def _energy_scale(W, u, p_c):
    """A kinetic energy to compare a gain with: what compression takes, and what it moves."""
    return max(abs(0.5 * p_c @ (2.0 * u + W @ p_c)), 0.5 * abs(p_c @ u), 1e-300)
