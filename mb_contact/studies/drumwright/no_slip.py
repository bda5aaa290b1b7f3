# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact without slip at the velocity level (D15 section VI, 45-57).

    M (v+ - v) = dt f + J* f_j + N* f_n + S* f_s + T* f_t          (23)
    J v+ = 0,   S v+ = 0,   T v+ = 0                               (24, 45, 46)
    0 <= f_n _|_ N v+ >= 0                                         (25)

The printed (54) and (57) leave out dt f, and (56), (57) write X^-1 for the block (A^-1)_11 of (47):

    F = N (A^-1)_11 N*,   e = N (A^-1)_11 (M v + dt f),
    (A^-1)_11 = M^-1 - M^-1 X (X* M^-1 X)^-1 X* M^-1,   X = [J* S* T*] of full rank (algorithm 2).
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from mb_contact.checks import as_positive
from mb_contact.core.lcp.active_factor import ACTIVE
from mb_contact.dynamics.arguments import GRAVITY, TreeModel
from mb_contact.studies.drumwright.friction_system import (
    RANK_TOLERANCE,
    FrictionModelResult,
    FrictionSystem,
    as_mask,
    system_of,
)
from mb_contact.studies.drumwright.point_contacts import Bilateral, PointContacts
from mb_contact.types import TOUCHING_FRICTION


def no_slip_step(
    model: TreeModel | FrictionSystem,
    q: ArrayLike,
    v: ArrayLike,
    effort: ArrayLike | None,
    contacts: PointContacts,
    dt: float,
    *,
    bilateral: Bilateral | None = None,
    gravity: ArrayLike = GRAVITY,
    warm: Sequence[int] | npt.NDArray[np.int64] = (),
    sticking: npt.NDArray[np.bool_] | Sequence[bool] | None = None,
    touch: float = TOUCHING_FRICTION,
    rank_tolerance: float = RANK_TOLERANCE,
) -> FrictionModelResult:
    """Velocity after a step of the no-slip model (D15 (45)-(57)), from the compliance of the touched bodies alone.

    Every touching contact forbids tangential motion whatever its normal impulse is, as (45, 46) say: the model
    also holds where Coulomb's law with any coefficient would let go.

    Parameters
    ----------
    model : Model, World or FrictionSystem
        A FrictionSystem keeps its workspaces between calls.
    q, v : array_like (nq,), (N,)
        Coordinates [rad, m] and velocities [rad/s, m/s].
    effort : array_like (N,) or None
        Joint forces [N m, N]; joint damping is added implicitly.
    contacts : PointContacts
    dt : float
        [s]
    bilateral : Bilateral, optional
    gravity : array_like (3,)
        World axes [m/s^2].
    warm : sequence of int
        Contacts expected to carry a normal impulse: ``active`` of the last step.
    sticking : array_like of bool (n,), optional
        Contacts that forbid slip; by default those not farther than ``touch``.  The others only keep their
        bodies from passing through each other.
    touch : float
        [m]
    rank_tolerance : float
        Equality rows with less than this part of their compliance to themselves count as dependent.

    Returns
    -------
    FrictionModelResult
        Level "velocity"; ``pivots`` are those of algorithm 1, ``independent`` the rank of X.

    Raises
    ------
    InputError
        Sizes do not fit or numbers are not finite.
    DynamicsError
        A hinge carries no inertia.

    Examples
    --------
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=2.0)
    >>> world = mb.build_world(mb.Scene(primitives=(ball,)))
    >>> contact = mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0])  # at its centre, for round numbers
    >>> result = mb.studies.no_slip_step(world, [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0], None, contact, dt=0.01)
    >>> result.status, result.normal, result.tangent
    ('solved', array([0.1962]), array([[-2., 0.]]))
    """
    dt = as_positive(dt, "dt")
    system = system_of(model)
    system.begin_step(q, v, effort, contacts, dt, bilateral, gravity)
    normals = system.b + 3 * np.arange(system.count)
    fixed = normals[contacts.gap <= touch if sticking is None else as_mask(sticking, system.count)]
    equality = np.empty(system.b + 2 * len(fixed), np.int64)
    equality[: system.b] = np.arange(system.b)
    equality[system.b :: 2] = fixed + 1
    equality[system.b + 1 :: 2] = fixed + 2
    system.choose(equality, 0.0, normals)
    status = system.solve(rank_tolerance, warm)
    active = np.sort(system.ppm.active[: system.ppm.info[ACTIVE]])
    return system.result("velocity", status, dt)._replace(active=active)
