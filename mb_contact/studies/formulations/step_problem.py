# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One step's contact problem, described once for all formulations of J14.

Every formulation asks for the same velocities of the same rows after the step,

    w = G v+ + k,

with one row for every bilateral constraint of a loop (w = 0), three for every contact (normal, tangent 1,
tangent 2) and one for every joint limit (w >= 0).  The constant k holds all that is known before the step:

    loops     k = dt dG/dt v - U - dt dU/dt + gamma c / dt     (Eq. 29, 31; drift in c and in G v - U dies out)
    contacts  k = g / dt (g >= 0), or minus the push-out velocity (g < 0); plus dt dG/dt v if ``velocity_product``
    limits    k = g / dt, or minus the push-out velocity

Contacts and limits may add a ``bias`` of their own: what a step with impacts moves its rows by (docs/impacts.md).
"""

from collections.abc import Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.constraints.rows import gap_velocity, row_impulses, row_sides
from mb_contact.core.tree.articulated import articulated_inertias, impulse_response
from mb_contact.core.tree.compliance import essential_compliance, row_compliance
from mb_contact.core.tree_workspace import make_articulated, make_compliance
from mb_contact.core.workspace import Rows, make_rows
from mb_contact.dynamics.arguments import GRAVITY, TreeModel, refuse_own_gravity
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.rotations import cross
from mb_contact.model.scene import CLOSURE_DRIFT_RATE, PUSH_OUT_RATE, PUSH_OUT_VELOCITY
from mb_contact.studies.formulations.loops import LoopClosure, loop_rows
from mb_contact.studies.formulations.state import BodyState, find_body
from mb_contact.types import OK, WORLD

FLOOR = 1e-2  #: least scale of a row, of its scale if its bodies were free
SLIP_SPEED = 1e-3  #: [m/s] above it the first friction direction follows the slip


class ContactPoint(NamedTuple):
    """A contact point of bodies A and B, given as body indices, WORLD, or link names (J14 section 2).

    Examples
    --------
    >>> mb.studies.ContactPoint("left_finger", -1, (0.0, 0.0, 0.0), (0.0, 0.0, 1.0), gap=0.001).mu
    0.5
    """

    body_a: object
    body_b: object
    point: object  #: (3,), world [m]
    normal: object  #: (3,), unit vector from B to A
    gap: float = 0.0  #: distance, negative when they overlap [m]
    mu: float = 0.5
    tangent: object = None  #: (3,), first friction direction; by default along the slip
    bias: object = (0.0, 0.0, 0.0)  #: (3,), added to k of its rows [m/s]


class JointLimit(NamedTuple):
    """A limit of a scalar joint that this step could reach.

    Examples
    --------
    >>> arm = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> stop = mb.studies.JointLimit(dof=0, side=1, gap=0.0)
    >>> problem = mb.studies.StepProblem(arm, [0.0], [2.0], limits=[stop])
    >>> mb.studies.formulate(problem).solve().v_next
    array([0.])
    """

    dof: int  #: index in v
    side: int  #: 0 lower, 1 upper
    gap: float  #: [rad, m]
    bias: float = 0.0  #: added to k of its row [rad/s, m/s]


class ConstraintRows(NamedTuple):
    """Two-sided scalar rows: velocity = on_a . V(a) + on_b . V(b); loops first, then contacts, then limits."""

    body_a: np.ndarray  #: int64 (R,)
    body_b: np.ndarray  #: int64 (R,)
    on_a: np.ndarray  #: (R, 6), world axes at the origin of the body
    on_b: np.ndarray  #: (R, 6), signed
    constant: np.ndarray  #: (R,), k


class StepProblem:
    """The data of one step, independent of the formulation (J14 sections 2 to 6).

    Parameters
    ----------
    model : Model or World
        Anything with a ``tree`` (and ``frames``, where bodies are given by link names).
    q, v : array_like (nq,), (N,)
        Coordinates [rad, m] and velocities [rad/s, m/s] at the start of the step.
    effort : array_like (N,), optional
        Joint forces [N m, N], used as they are (not clamped); zero if left out.
    contacts, loops, limits : sequences of ContactPoint, LoopClosure, JointLimit
    gravity : array_like (3,)
        World axes [m/s^2].
    time_step : float
        [s]
    friction_directions : int
        n_f, an even number from 4 on.
    velocity_product : bool
        Add dG_u/dt v dt to the velocities of the contacts.  It belongs to a material point: with it a rolling
        ball sinks into the floor.  For study; loops always have theirs.
    implicit_damping : bool
        Joint damping acts on the velocity after the step, as in the simulator; otherwise on the one before it,
        as J14's C(theta, theta_dot) has it.
    loop_rate, push_rate, push_speed : float
        gamma of the loops; rate and greatest velocity [m/s] of the push-out of overlapping contacts.
    external : array_like (n, 6), optional
        Forces on the bodies at their origins, world axes, angular first [N m, N].

    Raises
    ------
    InputError
        Sizes, names or values do not fit.

    Examples
    --------
    >>> arm = mb.load_urdf(mb.pendulum(1, length=1.0).urdf())
    >>> wall = mb.studies.ContactPoint("link_0", -1, (0.5, 0.0, -0.5), (-1.0, 0.0, 0.0))
    >>> problem = mb.studies.StepProblem(arm, [0.0], [-2.0], contacts=[wall])
    >>> problem.n_u, problem.n_b, problem.damping, len(problem.row_work().dof)
    (1, 0, array([0.]), 3)
    >>> problem.compliance[0, 0]  # arm 0.5 m, moment 0.35 kg m^2
    0.7142857142857143
    >>> problem.velocity_change([1.4, 0.0, 0.0])
    array([2.])
    >>> problem.times_D(problem.compliance).shape  # 8 directions and the normal
    (3, 9)
    """

    def __init__(
        self,
        model: TreeModel,
        q: ArrayLike,
        v: ArrayLike,
        effort: ArrayLike | None = None,
        contacts: Sequence[ContactPoint] = (),
        loops: Sequence[LoopClosure] = (),
        limits: Sequence[JointLimit] = (),
        *,
        gravity: ArrayLike = GRAVITY,
        time_step: float = 1e-3,
        friction_directions: int = 8,
        velocity_product: bool = False,
        implicit_damping: bool = True,
        loop_rate: float = CLOSURE_DRIFT_RATE,
        push_rate: float = PUSH_OUT_RATE,
        push_speed: float = PUSH_OUT_VELOCITY,
        external: ArrayLike | None = None,
    ) -> None:
        self.model, self.tree = model, model.tree
        refuse_own_gravity(self.tree, "problems of accelerations")
        self.state = BodyState(model, q, v)
        self.n, self.N = self.state.n, self.state.N
        self.effort = np.zeros(self.N) if effort is None else as_vector(effort, self.N, "effort")
        self.gravity = as_vector(gravity, 3, "gravity")
        shape = (self.n, 6)
        self.external = np.zeros(shape) if external is None else as_matrix(external, shape, "external")
        self.dt = _positive(time_step, "time_step")
        if not isinstance(friction_directions, (int, np.integer)) or friction_directions < 4 or friction_directions % 2:
            raise InputError(f"friction_directions must be an even number from 4 on, got {friction_directions!r}")
        self.n_f = int(friction_directions)
        self.velocity_product = bool(velocity_product)
        self.implicit_damping = bool(implicit_damping)
        self._rates = float(loop_rate), float(push_rate), float(push_speed)
        self.contacts, self.loops, self.limits = tuple(contacts), tuple(loops), tuple(limits)
        self.mu = np.array([_friction(c.mu, f"contacts[{i}]") for i, c in enumerate(self.contacts)])
        self.n_u, self.n_limits = len(self.contacts), len(self.limits)
        self.frames = np.zeros((self.n_u, 3, 3))  #: rows n, t1, t2 of each contact
        self.rows = self._rows()
        self.n_b = len(self.rows.constant) - 3 * self.n_u - self.n_limits

    @property
    def damping(self) -> Floats:
        """Implicit part of the inertia of the joints, dt d, zero for explicit damping.

        Returns
        -------
        ndarray (N,)
            [kg m^2, kg]
        """
        return self.dt * self.tree.damping if self.implicit_damping else np.zeros(self.N)

    # --- rows ---------------------------------------------------------------------------------

    def _rows(self):
        parts = [self._loop(i) for i in range(len(self.loops))]
        parts += [self._contact(i) for i in range(self.n_u)]
        parts += [self._limit(i) for i in range(self.n_limits)]
        if not parts:
            none = np.zeros(0, np.int64)
            return ConstraintRows(none, none, np.zeros((0, 6)), np.zeros((0, 6)), np.zeros(0))
        heights = [len(part[4]) for part in parts]
        return ConstraintRows(
            np.repeat([part[0] for part in parts], heights).astype(np.int64),
            np.repeat([part[1] for part in parts], heights).astype(np.int64),
            *(np.ascontiguousarray(np.concatenate([part[j] for part in parts])) for j in (2, 3, 4)),
        )

    def _loop(self, i):
        row = loop_rows(self.model, self.state, self.loops[i], f"loops[{i}]")
        product = row.bias + self._drift(row.body_a, row.on_a) + self._drift(row.body_b, row.on_b)
        k = self.dt * (product - row.acceleration) - row.velocity + self._rates[0] * row.error / self.dt
        return row.body_a, row.body_b, row.on_a, row.on_b, k

    def _contact(self, i):
        contact, what = self.contacts[i], f"contacts[{i}]"
        a, b = find_body(self.model, contact.body_a, what), find_body(self.model, contact.body_b, what)
        if a == b:
            raise InputError(f"{what}: a body cannot touch itself")
        x = as_vector(contact.point, 3, f"{what}.point")
        D = self.frames[i] = self._contact_frame(a, b, x, contact, what)
        on_a, on_b = self.state.point_rows(a, x, D), -self.state.point_rows(b, x, D)
        k = as_vector(contact.bias, 3, f"{what}.bias").copy()
        k[0] += self._push(contact.gap, what)
        if self.velocity_product:
            bodies = D @ (self.state.centripetal(a, x) - self.state.centripetal(b, x))
            k += self.dt * (bodies + self._drift(a, on_a) + self._drift(b, on_b))
        return a, b, on_a, on_b, k

    def _limit(self, i):
        """The joint rate as a difference of body velocities: S (V(k) - phi* V(p)), S = (H H*)^-1 H."""
        limit, what = self.limits[i], f"limits[{i}]"
        k = int(np.searchsorted(self.tree.v_start, limit.dof, side="right")) - 1
        if not 0 <= limit.dof < self.N or limit.side not in (0, 1) or self.tree.nv[k] != 1:
            raise InputError(f"{what}: dof must be that of a joint of one degree of freedom and side 0 or 1")
        h = (1 - 2 * limit.side) * self.state.kin.H[limit.dof]
        h = h / (h @ h)
        on_b = -np.concatenate([h[:3] + cross(self.state.kin.l[k], h[3:]), h[3:]])
        parent = int(self.tree.parent[k])
        if parent == WORLD:
            on_b = np.zeros(6)
        return k, parent, h[None], on_b[None], np.array([self._push(limit.gap, what) + limit.bias])

    def _contact_frame(self, a, b, x, contact, what):
        n = as_vector(contact.normal, 3, f"{what}.normal")
        if abs(n @ n - 1.0) > 1e-6:
            raise InputError(f"{what}: the normal must be a unit vector, its length is {np.sqrt(n @ n):g}")
        n = n / np.sqrt(n @ n)
        slip = self.state.point_velocity(a, x) - self.state.point_velocity(b, x)
        slip = slip - (slip @ n) * n
        t = slip if contact.tangent is None else as_vector(contact.tangent, 3, f"{what}.tangent")
        t = t - (t @ n) * n
        if not t @ t > SLIP_SPEED**2:
            t = np.eye(3)[0 if abs(n[0]) < 0.8 else 1]
            t = t - (t @ n) * n
        t = t / np.sqrt(t @ t)
        return np.array([n, t, cross(n, t)])

    def _push(self, gap, what):
        if not np.isfinite(gap):
            raise InputError(f"{what}: the gap must be finite, got {gap}")
        return gap_velocity(float(gap), self.dt, *self._rates[1:], 1.0)

    def _drift(self, body, on):
        """on . phi* a of one side of some rows."""
        return on @ self.state.drift[body] if body != WORLD else np.zeros(len(on))

    # --- friction -----------------------------------------------------------------------------

    @cached_property
    def _directions(self):
        """The block [n, D] (3, n_f + 1) of D_ul, in the frame of a contact and so the same for all."""
        angle = 2.0 * np.pi * np.arange(self.n_f) / self.n_f
        block = np.zeros((3, self.n_f + 1))
        block[0, 0] = 1.0
        block[1, 1:], block[2, 1:] = np.cos(angle), np.sin(angle)
        return block

    def times_D(self, X: Floats) -> Floats:
        """X D_ul, block by block, so that D* Lambda D costs no more than its entries.

        Parameters
        ----------
        X : ndarray (k, 3 n_u + limits)

        Returns
        -------
        ndarray (k, n_u (n_f + 1) + limits)
        """
        contacts = X[:, : 3 * self.n_u].reshape(-1, 3) @ self._directions
        return np.hstack([contacts.reshape(len(X), self.n_u * (self.n_f + 1)), X[:, 3 * self.n_u :]])

    @cached_property
    def D_ul(self):
        """D (3 n_u + limits, n_u (n_f + 1) + limits): rows' impulses from beta (Eq. 7, 16)."""
        D = np.zeros((3 * self.n_u + self.n_limits, self.n_u * (self.n_f + 1) + self.n_limits))
        D[: 3 * self.n_u, : self.n_u * (self.n_f + 1)] = np.kron(np.eye(self.n_u), self._directions)
        D[3 * self.n_u :, self.n_u * (self.n_f + 1) :] = np.eye(self.n_limits)
        return D

    @cached_property
    def E_hat(self):
        """E^ (n_u (n_f + 1) + limits, n_u), Eq. 13, 15."""
        column = np.concatenate([[0.0], np.ones(self.n_f)])[:, None]
        return np.vstack([np.kron(np.eye(self.n_u), column), np.zeros((self.n_limits, self.n_u))])

    @cached_property
    def E_bar(self):
        """``E_`` (n_u, n_u (n_f + 1) + limits), Eq. 13, 15."""
        E = -self.E_hat.T
        E[np.arange(self.n_u), np.arange(self.n_u) * (self.n_f + 1)] = self.mu
        return E

    # --- the compliance of the rows, to judge by ------------------------------------------------

    @cached_property
    def articulated(self):
        """Articulated-body inertias (J11 lemma 8), shared by the OS formulation and the judge."""
        art = make_articulated(self.n, self.N)
        dt = self.dt if self.implicit_damping else 0.0
        status, body = articulated_inertias(self.tree, self.state.kin, dt, art)
        if status != OK:
            raise DynamicsError(f"the joint that moves body {body} carries no inertia along its axis: give it a mass")
        return art

    def row_work(self) -> Rows:
        """A new workspace for the compiled kernels, filled with the rows.

        Returns
        -------
        Rows
        """
        R = len(self.rows.constant)
        work = make_rows(self.n, R)
        work.body_a[:], work.body_b[:] = self.rows.body_a, self.rows.body_b
        work.on_a[:], work.on_b[:] = self.rows.on_a, self.rows.on_b
        for body in (self.rows.body_a, self.rows.body_b):
            work.touched[body[body != WORLD]] = 1
        work.dof[:] = -1
        return work

    @cached_property
    def compliance(self):
        """W Lambda W* (R, R) of the rows by the Upsilon recursion, O(N) + O(n_c^2) (Eq. 51, 53, 65-69)."""
        R = len(self.rows.constant)
        W = np.zeros((R, R))
        if R:
            work, compliance = self.row_work(), make_compliance(self.n)
            count = essential_compliance(self.tree, self.state.kin, self.articulated, work.touched, compliance)
            row_sides(compliance, work, R)
            row_compliance(compliance, work, R, count, W)
        return W

    def velocity_change(self, impulses: Floats | Sequence[float]) -> Floats:
        """M^-1 J* p of impulses on all rows by one sweep.

        Parameters
        ----------
        impulses : array_like (R,)
            Loops first, then contacts, then limits [N s, N m s].

        Returns
        -------
        ndarray (N,)
            [rad/s, m/s]
        """
        work, force = self.row_work(), np.zeros((self.n, 6))
        dv = np.zeros(self.N)
        row_impulses(work, len(impulses), np.ascontiguousarray(impulses), force)
        impulse_response(self.tree, self.state.kin, self.articulated, force, np.zeros(self.N), dv)
        return dv

    @cached_property
    def least_scale(self):
        """Scale (R,) below which a row is not judged: FLOOR of what it had if its bodies were free.

        A row that the hinges hold fast (a contact on a hinge's axis) has a compliance that is all rounding.
        """
        free = np.zeros(len(self.rows.constant))
        for body, on in ((self.rows.body_a, self.rows.on_a), (self.rows.body_b, self.rows.on_b)):
            there = body != WORLD
            inverse = np.linalg.pinv(spatial_inertias(self.tree, self.state.kin), hermitian=True)[body[there]]
            free[there] += np.einsum("ri,rij,rj->r", on[there], inverse, on[there])
        return FLOOR * np.sqrt(free)


def spatial_inertias(tree, kin):
    """M(k) = [[I, m c~], [-m c~, m 1]] of all bodies, (n, 6, 6), world axes at the body origins."""
    M = np.zeros((len(tree.mass), 6, 6))
    M[:, :3, :3] = kin.I
    c = kin.mc
    M[:, 0, 4], M[:, 0, 5], M[:, 1, 5] = -c[:, 2], c[:, 1], -c[:, 0]
    M[:, :3, 3:] -= M[:, :3, 3:].transpose(0, 2, 1)
    M[:, 3:, :3] = M[:, :3, 3:].transpose(0, 2, 1)
    M[:, [3, 4, 5], [3, 4, 5]] = tree.mass[:, None]
    return M


def _positive(value, name):
    value = float(value)
    if not 0.0 < value < np.inf:
        raise InputError(f"{name} must be above zero, got {value}")
    return value


def _friction(mu, what):
    if not 0.0 <= mu < np.inf:
        raise InputError(f"{what}: mu must be zero or positive, got {mu}")
    return float(mu)
