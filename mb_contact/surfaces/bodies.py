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


class SurfaceBase(NamedTuple):
    """What the body touches; it moves as told, whatever it carries.

    Examples
    --------
    >>> belt = mb.surfaces.SurfaceBase(mb.surfaces.plane(), velocity=(0.5, 0.0, 0.0))
    >>> belt.p
    (0.0, 0.0, 0.0)
    """

    surface: Surface
    R: Floats | Sequence[Sequence[float]] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))  #: at time 0
    p: Floats | Sequence[float] = (0.0, 0.0, 0.0)  #: of its origin at time 0 [m]
    velocity: Floats | Sequence[float] = (0.0, 0.0, 0.0)  #: of its origin, constant [m/s]
    angular_velocity: Floats | Sequence[float] = (0.0, 0.0, 0.0)  #: about its origin, constant, world axes [rad/s]


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


class ContactForce(NamedTuple):
    """Wrench of the base on the body about the contact point, from back-substitution into P00's Eq. 13.

    Examples
    --------
    >>> ball = mb.surfaces.SurfaceBody(mb.surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
    >>> motion = mb.surfaces.SurfaceMotion(ball, mb.surfaces.SurfaceBase(mb.surfaces.plane()), friction=0.3)
    >>> q, travel = motion.contact.first_touch(np.eye(3), (0, 0, 1), (0, 0, -1))
    >>> motion.roll(q)
    >>> motion.contact_force().normal_force
    9.81
    """

    point: Floats  #: (3,), world [m]
    normal: Floats  #: (3,), of the base, world
    force: Floats  #: (3,), world [N]
    moment: Floats  #: (3,), world [N m]; zero but for rounding
    normal_force: float  #: [N]
    room: float  #: friction still to be had, ``mu normal_force - |tangential force|`` [N]


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
