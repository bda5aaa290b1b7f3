# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact with purely viscous friction: forces at the acceleration level (D15 section IV).

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
    bilateral: Bilateral | None = None,
    gravity: ArrayLike = GRAVITY,
    warm: Sequence[int] | npt.NDArray[np.int64] = (),
    touch: float = TOUCHING_FRICTION,
    resting: float = RESTING,
    rank_tolerance: float = RANK_TOLERANCE,
) -> FrictionModelResult:
    """Accelerations and contact forces with viscous friction (D15 (29)-(42)).

    Contacts that separate faster than ``resting``, or are farther than ``touch``, take no part.  Where a contact
    approaches faster, no finite force stops it (status "impact"), and where surfaces curve into each other the problem
    has no solution ("inconsistent").  The steps of a scene with ``friction_model: viscous``, D15 (23), have neither.

    Parameters
    ----------
    model, q, v, effort, contacts, bilateral, gravity, warm, touch, rank_tolerance
        As in :func:`~mb_contact.studies.drumwright.no_slip.no_slip_step`; the contacts' radii count here.
    resting : float
        [m/s]

    Returns
    -------
    FrictionModelResult
        Level "acceleration", forces [N], ``v_dot``.

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
    system.choose(np.arange(system.b), 0.0, system.b + 3 * np.flatnonzero(here))
    result = system.result("acceleration", system.solve(rank_tolerance, warm), extra_tangent=viscous)
    reason = "impact" if impact else "inconsistent" if result.status in ("ray", "inaccurate", "limit") else ""
    return result._replace(status=reason, reason=reason) if reason else result
