# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What Drumwright's friction models share: a model's sweeps at a state, the rows of its contacts, their residuals.

The models differ in which rows hold with equality, which with complementarity, and what the free
velocities are; all of them go through ``core/solve/equality_rows.py``.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.core.constraints.rows import gap_velocity, row_impulses, row_velocities
from mb_contact.core.lcp.active_factor import make_ppm_work
from mb_contact.core.lcp.principal_pivoting import PPM_LIMIT, PPM_RAY, PPM_SOLVED
from mb_contact.core.solve import equality_rows as _eq
from mb_contact.core.solve.modified_ppm import solve_with_equalities
from mb_contact.core.step.by_pivots import SOLVED_PART
from mb_contact.core.tree.articulated import free_acceleration
from mb_contact.core.tree_workspace import make_articulated, make_compliance, make_kinematics
from mb_contact.core.workspace import make_rows
from mb_contact.dynamics.arguments import GRAVITY, TreeModel
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.scene import PUSH_OUT_RATE, PUSH_OUT_VELOCITY
from mb_contact.studies.drumwright import friction_state as _state, point_rows as _rows
from mb_contact.studies.drumwright.friction_result import FrictionCertificate, FrictionModelResult
from mb_contact.studies.drumwright.point_contacts import Bilateral, PointContacts, check_bodies, no_bilateral
from mb_contact.types import JOINT_FLOATING, JOINT_NQ, OK

RANK_TOLERANCE = 1e-9  #: an equality row counts as dependent when less than this part of its W_ii is its own

STATUS = {PPM_SOLVED: "solved", PPM_RAY: "ray", PPM_LIMIT: "limit"}


class FrictionSystem:
    """Workspaces of the friction models for one model; make one and reuse it where time counts.

    Its methods are the parts of which :func:`no_slip_step` and the others are made: state, contacts, free motion, the
    choice of rows, solve, result, in this order.

    Parameters
    ----------
    model : Model, World or anything with a ``tree``

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> contact = mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0])
    >>> system = mb.studies.FrictionSystem(world)
    >>> mb.studies.no_slip_step(system, [0, 0, 0, 0, 0, 0, 1], np.zeros(6), None, contact, dt=0.01).status
    'solved'

    The same by hand, without friction:

    >>> system.set_state([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0], None, (0.0, 0.0, -9.81), 0.01)
    >>> system.set_contacts(contact)
    >>> system.row_speeds()
    array([0., 1., 0.])
    >>> system.free_velocities(0.01)
    >>> system.choose(np.zeros(0, int), 0.0, np.array([0]))
    >>> system.solve(1e-9, ()), system.certify().residual < 1e-12
    ('solved', True)
    >>> system.result("velocity", "solved", 0.01).normal
    array([0.1962])
    >>> W, e = system.condensed(1e-9)  # 1 / m, and the free velocity -g dt
    >>> W, e
    (array([[0.5]]), array([-0.0981]))
    >>> system.complete([0.1962])

    And forces, at the acceleration level:

    >>> system.set_state([0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0], None, (0.0, 0.0, -9.81), 0.0)
    >>> system.set_contacts(contact)
    >>> system.apply_tangential(np.array([[-4.0, 0.0]]))
    >>> system.free_acceleration()
    >>> system.v_dot[3:]
    array([-2., 0., -9.81])
    >>> system.free_row_accelerations()

    Each level is begun by one call:

    >>> state = [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0], None, contact
    >>> system.begin_step(*state, 0.01)
    >>> system.offset
    array([0.])
    >>> speed, here, viscous, impact = system.begin_acceleration(*state, None, (0.0, 0.0, -9.81), 1e-4, 1e-6)
    >>> speed, here, impact
    (array([[0., 1., 0.]]), array([ True]), False)
    """

    def __init__(self, model: TreeModel) -> None:
        self.tree = tree = model.tree
        self.n = tree.parent.shape[0]
        self.N = tree.armature.shape[0]
        last = tree.joint_type[self.n - 1] if self.n else 0
        self.nq = int(tree.q_start[self.n - 1]) + JOINT_NQ[last] if self.n else 0
        self.names = getattr(model, "body_names", None)
        self.kin = make_kinematics(self.n, self.N)
        self.art = make_articulated(self.n, self.N)
        self.compliance = make_compliance(self.n)
        self.v_dot = np.zeros(self.N)
        self.external = np.zeros((self.n, 6))
        self._no_bilateral = no_bilateral()
        floating = np.flatnonzero(tree.joint_type == JOINT_FLOATING).tolist()
        self._floating = [(k, int(tree.q_start[k]) + 3) for k in floating]
        self._sizes = (-1, -1)

    # --- state and rows -------------------------------------------------------------------------------

    def set_state(
        self, q: ArrayLike, v: ArrayLike, effort: ArrayLike | None, gravity: ArrayLike, dt: float
    ) -> None:
        """Kinematics and articulated inertias (with dt times the joint damping) at a checked state.

        Parameters
        ----------
        q, v : array_like (nq,), (N,)
            Coordinates [rad, m] and velocities [rad/s, m/s].
        effort : array_like (N,) or None
            [N m, N]
        gravity : array_like (3,)
            World axes [m/s^2].
        dt : float
            [s]; 0 at the acceleration level.

        Raises
        ------
        InputError
            Sizes do not fit, numbers are not finite, or a quaternion is zero.
        DynamicsError
            A hinge carries no inertia.
        """
        self.q = as_vector(q, self.nq, "q")
        self.v = as_vector(v, self.N, "v")
        self.effort = np.zeros(self.N) if effort is None else as_vector(effort, self.N, "effort")
        self.gravity = as_vector(gravity, 3, "gravity")
        for k, s in self._floating:
            if not self.q[s : s + 4].any():
                raise InputError(f"the quaternion of body {k} in q is zero; give a rotation")
        status, body = _state.prepare_state(self.tree, self.q, self.v, dt, self.kin, self.art)
        if status != OK:
            name = self.names[body] if self.names else f"body {body}"
            raise DynamicsError(f"the joint that moves '{name}' carries no inertia along its axis: give it a mass")

    def set_contacts(self, contacts: PointContacts, bilateral: Bilateral | None = None) -> None:
        """Rows of the constraints and contacts; workspaces grow where needed.

        Parameters
        ----------
        contacts : PointContacts
        bilateral : Bilateral, optional

        Raises
        ------
        InputError
            The contacts are of another type, or name a body that the model does not have.
        """
        if not isinstance(contacts, PointContacts):
            raise InputError(f"contacts must come from point_contacts, got {type(contacts).__name__}")
        self.contacts = contacts
        self.bilateral = self._no_bilateral if bilateral is None else bilateral
        check_bodies(contacts, self.n)
        if bilateral is not None:
            check_bodies(self.bilateral, self.n)
        self.b, self.count = len(self.bilateral.body_a), len(contacts.body_a)
        self.n_rows = self.b + 3 * self.count
        self._allocate(self.n_rows, self.count)
        _state.prepare_rows(self.kin.p, self.bilateral, contacts, self.rows)

    def _allocate(self, rows, contacts):
        have = self._sizes
        if rows > have[0] or contacts > have[1]:
            self._sizes = have = max(rows, have[0], 1), max(contacts, have[1], 1)
            self.rows = make_rows(self.n, have[0])
            self.eq = _eq.make_equality_work(self.n, self.N, have[0], max(self.N, 1))
            self.ppm = make_ppm_work(have[1], self.N)
            self.before = np.zeros(have[0])
            self.eq.diagonal[:] = 1.0

    # --- free motion --------------------------------------------------------------------------------------

    def row_speeds(self) -> Floats:
        """Velocities of all rows now.

        Returns
        -------
        ndarray (n_rows,)
            Constraints, then normal and tangents of each contact [m/s, rad/s].
        """
        row_velocities(self.rows, self.n_rows, self.kin.V, self.before)
        return self.before[: self.n_rows]

    def apply_tangential(self, force: Floats) -> None:
        """Set the external forces to tangential ones.

        Parameters
        ----------
        force : ndarray (n, 2)
            Along t1 and t2 of each contact, on A [N].
        """
        r = np.zeros(self.n_rows)
        r[self.b :].reshape(-1, 3)[:, 1:] = force
        row_impulses(self.rows, self.n_rows, r, self.external)

    def free_acceleration(self) -> None:
        """Accelerations without contact and constraint forces into ``v_dot`` [rad/s^2, m/s^2]."""
        free_acceleration(
            self.tree, self.kin, self.art, self.gravity, self.effort, self.v, self.external, self.v_dot
        )

    def condensed(self, rank_tolerance: float) -> tuple[Floats, Floats]:
        """F of (56) and e of (57) over the complementary rows, for solvers that want a matrix.

        Parameters
        ----------
        rank_tolerance : float
            Equality rows with less than this part of their compliance to themselves count as dependent.

        Returns
        -------
        F : ndarray (m, m)
            [1/kg]
        e : ndarray (m,)
            [m/s] or [m/s^2].
        """
        size = int(self.eq.info[_eq.FREE_ROWS])
        W, e = np.zeros((size, size)), np.zeros(size)
        _eq.condense(
            self.tree, self.kin, self.art, self.compliance, self.rows, self.n_rows, rank_tolerance, self.eq, W, e
        )
        return W, e

    def complete(self, r: ArrayLike) -> None:
        """Impulses of the complementary rows in; those of the equality rows and the response follow.

        Parameters
        ----------
        r : array_like (m,)
            [N s] or [N].
        """
        _eq.complete(self.tree, self.kin, self.art, self.rows, self.n_rows, np.ascontiguousarray(r), self.eq)

    def free_velocities(self, dt: float) -> None:
        """Rows' free velocities plus gap and constraint terms into ``eq.q`` (velocity level).

        Parameters
        ----------
        dt : float
            [s]
        """
        self.external[:] = 0.0
        self.v_free = np.empty(self.N)
        _state.free_rows(
            self.tree, self.kin, self.art, self.gravity, self.effort, self.v, dt, self.external, self.rows,
            self.n_rows, self.v_dot, self.v_free, self.eq.V, self.eq.q,
        )  # fmt: skip
        gap = self.contacts.gap
        self.offset = np.array([gap_velocity(g, dt, PUSH_OUT_RATE, PUSH_OUT_VELOCITY, 1.0) for g in gap])
        self.eq.q[self.b : self.b + 3 * self.count : 3] += self.offset
        self.eq.q[: self.b] -= self.bilateral.target

    def begin_step(
        self,
        q: ArrayLike,
        v: ArrayLike,
        effort: ArrayLike | None,
        contacts: PointContacts,
        dt: float,
        bilateral: Bilateral | None = None,
        gravity: ArrayLike = GRAVITY,
    ) -> None:
        """Rows and their free velocities at the velocity level.

        Parameters
        ----------
        q, v, effort, dt, gravity
            As in ``set_state``.
        contacts, bilateral
            As in ``set_contacts``.
        """
        self.set_state(q, v, effort, gravity, dt)
        self.set_contacts(contacts, bilateral)
        self.free_velocities(dt)

    def begin_acceleration(
        self,
        q: ArrayLike,
        v: ArrayLike,
        effort: ArrayLike | None,
        contacts: PointContacts,
        bilateral: Bilateral | None,
        gravity: ArrayLike,
        touch: float,
        resting: float,
    ) -> tuple[Floats, npt.NDArray[np.bool_], Floats, bool]:
        """Free accelerations of all rows into ``eq.q``, with the viscous forces (15) of what touches and does not part.

        Parameters
        ----------
        q, v, effort, gravity : array_like
            As in ``set_state``.
        contacts, bilateral
            As in ``set_contacts``.
        touch : float
            Contacts nearer than this take part [m].
        resting : float
            Normal speeds up to this count as zero [m/s].

        Returns
        -------
        speed : ndarray (n, 3)
            Velocities of the contacts [m/s].
        here : ndarray of bool (n,)
            Which of them touch and do not part.
        viscous : ndarray (n, 2)
            Their viscous forces [N].
        impact : bool
            Whether one of them approaches.
        """
        self.set_state(q, v, effort, gravity, 0.0)
        self.set_contacts(contacts, bilateral)
        speed = self.row_speeds()[self.b :].reshape(-1, 3).copy()
        near = contacts.gap <= touch
        here = near & (speed[:, 0] <= resting)
        viscous = -contacts.viscous * speed[:, 1:] * here[:, None]
        self.apply_tangential(viscous)
        self.free_acceleration()
        self.free_row_accelerations()
        return speed, here, viscous, bool((speed[near, 0] < -resting).any())

    def free_row_accelerations(self) -> None:
        """Rows' free accelerations with the velocity products into ``eq.q``; after ``free_acceleration``."""
        c, b, q = self.contacts, self.bilateral, self.eq.q
        _rows.row_accelerations(self.rows, self.n_rows, self.art.alpha, self.gravity, q)
        _rows.bilateral_products(
            self.kin.p, self.kin.V, b.body_a, b.body_b, b.point, b.direction, b.angular, q
        )
        _rows.normal_products(
            self.kin.p, self.kin.V, c.body_a, c.body_b, c.point, c.normal, c.radius_a, c.radius_b, self.b, q
        )

    # --- the problem --------------------------------------------------------------------------------------

    def choose(
        self, equality: npt.NDArray[np.int64], softness: float | Floats, hard: npt.NDArray[np.int64]
    ) -> None:
        """Which rows hold with equality (and how softly), which are complementary.

        Parameters
        ----------
        equality : ndarray of int (m,)
            Row numbers.
        softness : float or ndarray (m,)
            Of the equality rows [1/kg].
        hard : ndarray of int (k,)
            Numbers of the complementary rows.
        """
        eq = self.eq
        eq.equality[: len(equality)] = equality
        eq.softness[: len(equality)] = softness
        eq.hard[: len(hard)] = hard
        eq.info[:] = 0
        eq.info[_eq.EQUALITY_ROWS] = len(equality)
        eq.info[_eq.FREE_ROWS] = len(hard)

    def solve(
        self, rank_tolerance: float, warm: Sequence[int] | npt.NDArray[np.int64], limit: int | None = None
    ) -> str:
        """Algorithms 2 and 1 of D15.

        Parameters
        ----------
        rank_tolerance : float
            Equality rows with less than this part of their compliance to themselves count as dependent.
        warm : sequence of int
            Contacts expected to carry a normal impulse.
        limit : int, optional
            Most pivots.

        Returns
        -------
        str
            The status in words, unjudged.
        """
        eq = self.eq
        count = int(eq.info[_eq.FREE_ROWS])
        start: Any = ()
        if len(warm):
            wanted = self.b + 3 * np.asarray(warm, np.int64)
            start = np.searchsorted(eq.hard[:count], wanted)
            start = start[(start < count) & (eq.hard[np.minimum(start, count - 1)] == wanted)]
            eq.start[: len(start)] = start
        limit = 20 * count + 50 if limit is None else int(limit)
        code = solve_with_equalities(
            self.tree, self.kin, self.art, self.compliance, self.rows, self.n_rows, rank_tolerance, len(start), limit,
            eq, self.ppm,
        )  # fmt: skip
        return STATUS[code]

    def certify(self, hard: npt.NDArray[np.int64] | None = None) -> FrictionCertificate:
        """Residuals of the impulses in ``eq.r``, whose response is in ``eq.u``.

        Parameters
        ----------
        hard : ndarray of int, optional
            The complementary rows, by default those of ``choose``.

        Returns
        -------
        FrictionCertificate
        """
        hard = self.eq.hard[: self.eq.info[_eq.FREE_ROWS]] if hard is None else np.ascontiguousarray(hard)
        return FrictionCertificate(*_state.row_residuals(self.eq, hard))

    def result(
        self,
        level: str,
        status: str,
        dt: float | None = None,
        reason: str = "",
        extra_tangent: Floats | None = None,
        pivots: int | None = None,
        certificate: FrictionCertificate | None = None,
    ) -> FrictionModelResult:
        """Collect what the kernels left; ``solved`` only where the certificate agrees.

        Parameters
        ----------
        level : {"velocity", "acceleration"}
        status : str
            Of ``solve``.
        dt : float, optional
            [s], of the velocity level.
        reason : str
        extra_tangent : ndarray (n, 2), optional
            Friction that is not in the rows [N s] or [N].
        pivots : int, optional
        certificate : FrictionCertificate, optional
            By default that of ``certify``.

        Returns
        -------
        FrictionModelResult
        """
        eq = self.eq
        certificate = self.certify() if certificate is None else certificate
        if certificate.residual <= SOLVED_PART * max(certificate.scale, 1e-12):
            status = "solved"  # whatever the solver said
        elif status == "solved":
            status = "inaccurate"
        last = self.b + 3 * self.count
        impulses = eq.r[self.b : last].reshape(-1, 3).copy()
        tangent = impulses[:, 1:] if extra_tangent is None else impulses[:, 1:] + extra_tangent
        after = eq.u[self.b : last].reshape(-1, 3).copy()
        if level == "velocity":
            after[:, 0] -= self.offset
            v = self.v_free + eq.dv
            v_dot = (v - self.v) / dt
        else:
            v, v_dot = self.v.copy(), self.v_dot + eq.dv
        return FrictionModelResult(
            level=level, status=status, v=v, v_dot=v_dot, normal=impulses[:, 0], tangent=tangent,
            bilateral=eq.r[: self.b].copy(), rows=after, active=np.flatnonzero(impulses[:, 0] > 0.0),
            independent=int(eq.info[_eq.PICKED_ROWS]),
            pivots=int(eq.info[_eq.TOTAL_PIVOTS]) if pivots is None else pivots,
            reason=reason, certificate=certificate,
        )  # fmt: skip


def system_of(model):
    """The FrictionSystem itself, or a new one for a model."""
    return model if isinstance(model, FrictionSystem) else FrictionSystem(model)


def as_mask(value, n):
    """One flag for each of n contacts.

    Raises
    ------
    InputError
    """
    mask = np.asarray(value)
    if mask.dtype != bool or mask.shape not in ((), (n,)):
        raise InputError(f"sticking must be a flag for each of {n} contacts, got {mask.dtype} of shape {mask.shape}")
    return mask if mask.shape else np.full(n, bool(mask))
