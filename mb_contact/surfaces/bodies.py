# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What slides and rolls, what it does so on, and what is reported about it."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mb_contact.checks import Floats, as_matrix
from mb_contact.errors import InputError
from mb_contact.model.scene import GRAVITY as GRAVITY
from mb_contact.surfaces.surface import Surface


class SurfaceBody(NamedTuple):
    """A rigid body with a smooth surface.

    Examples
    --------
    >>> ball = mb.surfaces.SurfaceBody(mb.surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
    >>> ball.com
    (0.0, 0.0, 0.0)
    """

    surface: Surface
    mass: float  #: [kg]
    inertia: Floats | Sequence[Sequence[float]]  #: (3, 3), about the centre of mass, body axes [kg m^2]
    com: Floats | Sequence[float] = (0.0, 0.0, 0.0)  #: in the frame the surface is given in [m]


class SurfaceEvent(NamedTuple):
    """A change of what the body does.

    Examples
    --------
    >>> mb.surfaces.SurfaceEvent(0.25, "lands", "sliding").kind
    'lands'
    """

    time: float  #: [s]
    kind: str  #: breaks, sticks, slips or lands; stops or releases, of a joint at its limit
    mode: str  #: what it does from then on
    name: str = ""  #: the body or the joint


def check_body(body):
    """Refuse a body that has no mass or whose inertia is none.

    Raises
    ------
    InputError
    """
    inertia = as_matrix(body.inertia, (3, 3), "inertia")
    if not (np.isfinite(body.mass) and body.mass > 0.0):
        raise InputError(f"mass must be finite and greater than zero, got {body.mass}")
    if np.abs(inertia - inertia.T).max() > 1e-12 * np.abs(inertia).max() or np.linalg.eigvalsh(inertia)[0] <= 0.0:
        raise InputError("inertia must be symmetric with principal moments greater than zero")
