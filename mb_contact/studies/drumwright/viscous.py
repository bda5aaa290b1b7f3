# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact with purely viscous friction: forces at the acceleration level, inelastic impacts (D15 section IV).

    M dv/dt = f - S* mu_v S v - T* mu_v T v + J* f_j + N* f_n      (13, 15)
    J dv/dt + dJ/dt v = 0                                           (17)
    0 <= f_n _|_ N dv/dt + dN/dt v >= 0                             (18)

as the complementarity problem of (29)-(42).  The print contradicts itself: (39), (40) and (42) flip the
sign of f* and lose dJ/dt v and dN/dt v.  With f* = -f + S* mu_v S v + T* mu_v T v,

    g = [f*; dJ/dt v],   h = dN/dt v,   F = N (A^-1)_11 N*,   e = h - [N 0] A^-1 g.
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
    system_of,
)
from mb_contact.studies.drumwright.point_contacts import Bilateral, PointContacts
from mb_contact.types import TOUCHING_FRICTION

RESTING = 1e-6  #: normal speeds up to this count as zero at the acceleration level [m/s]


def viscous_acceleration(
    model: TreeModel | FrictionSystem,
    q: ArrayLike,
    v: ArrayLike,
    effort: ArrayLike | None,
    contacts: PointContacts,
    *,
    dt: float | None = None,
    bilateral: Bilateral | None = None,
    gravity: ArrayLike = GRAVITY,
    warm: Sequence[int] | npt.NDArray[np.int64] = (),
    touch: float = TOUCHING_FRICTION,
    resting: float = RESTING,
    rank_tolerance: float = RANK_TOLERANCE,
) -> FrictionModelResult:
    """Accelerations and contact forces with viscous friction (D15 (29)-(42)).

    Contacts that separate faster than ``resting``, or are farther than ``touch``, take no part.  Where a contact
    approaches faster, no finite force stops it: the step is handed to :func:`viscous_step` (reason "impact").
    So it is where the problem has no solution ("inconsistent": surfaces that curve into each other).

    Parameters
    ----------
    model, q, v, effort, contacts, bilateral, gravity, warm, touch, rank_tolerance
        As in :func:`~mb_contact.studies.drumwright.no_slip.no_slip_step`; the contacts' radii count here.
    dt : float, optional
        Step of the velocity level [s]; without it the status "impact" or "inconsistent" is returned instead.
    resting : float
        [m/s]

    Returns
    -------
    FrictionModelResult
        Level "acceleration", forces [N], ``v_dot``; or what ``viscous_step`` returns.

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
    >>> contact = mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], viscous=3.0)
    >>> result = mb.studies.viscous_acceleration(world, [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0], None, contact)
    >>> result.v_dot[3], result.normal, result.tangent
    (-1.5, array([19.62]), array([[-3., -0.]]))
    """
    system = system_of(model)
    _, here, viscous, impact = system.begin_acceleration(
        q, v, effort, contacts, bilateral, gravity, touch, resting
    )
    reason = "impact" if impact else ""
    system.choose(np.arange(system.b), 0.0, system.b + 3 * np.flatnonzero(here))
    status = system.solve(rank_tolerance, warm)
    result = system.result("acceleration", status, extra_tangent=viscous)
    if not reason and result.status in ("ray", "inaccurate", "limit"):
        reason = "inconsistent"
    if not reason:
        return result
    if dt is None:
        return result._replace(status=reason, reason=reason)
    stepped = viscous_step(
        system, q, v, effort, contacts, dt, bilateral=bilateral, gravity=gravity, warm=warm, touch=touch,
        rank_tolerance=rank_tolerance,
    )  # fmt: skip
    return stepped._replace(reason=reason)


def viscous_step(
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
    least_norm: bool = False,
    touch: float = TOUCHING_FRICTION,
    rank_tolerance: float = RANK_TOLERANCE,
) -> FrictionModelResult:
    """Velocity after a step with viscous friction and inelastic normals: the impact law of viscous friction (D15 (23)).

        M (v+ - v) = dt (f - S* mu_v S v+ - T* mu_v T v+) + J* f_j + N* f_n,   J v+ = 0,   0 <= f_n _|_ N v+ >= 0

    A viscous force is finite, so an impact of no duration has no tangential impulse; over a step it has that of
    the friction force, taken at v+ so that no coefficient is too large: mu_v -> inf is the no-slip model.

    Parameters
    ----------
    model, q, v, effort, contacts, dt, bilateral, gravity, warm, touch, rank_tolerance
        As in :func:`~mb_contact.studies.drumwright.no_slip.no_slip_step`.
    least_norm : bool
        Of all normal impulses with the same velocity afterwards return those of least norm (where none of them pulls).

    Returns
    -------
    FrictionModelResult
        Level "velocity", impulses [N s].

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
    >>> contact = mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], viscous=50.0)
    >>> result = mb.studies.viscous_step(world, [0, 0, 0, 0, 0, 0, 1], [0, 0, 0, 1, 0, 0], None, contact, dt=0.01)
    >>> result.v[3]  # 1 / (1 + dt mu_v / m)
    0.8
    """
    dt = as_positive(dt, "dt")
    system = system_of(model)
    system.begin_step(q, v, effort, contacts, dt, bilateral, gravity, picked=2 * len(contacts.body_a) + system.N)
    normals = system.b + 3 * np.arange(system.count)
    tangents = np.column_stack((normals + 1, normals + 2))
    felt = (contacts.viscous > 0.0) & (contacts.gap <= touch)[:, None]
    equality = np.concatenate((np.arange(system.b), tangents[felt]))
    softness = np.concatenate((np.zeros(system.b), 1.0 / (dt * contacts.viscous[felt])))
    system.choose(equality, softness, normals)
    status = system.solve(rank_tolerance, warm)
    active = np.sort(system.ppm.active[: system.ppm.info[ACTIVE]])
    if least_norm and status == "solved":
        system.relax(rank_tolerance, normals_only=True)
    return system.result("velocity", status, dt)._replace(active=active)
