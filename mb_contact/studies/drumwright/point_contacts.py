# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points and bilateral constraints given as arrays, for the friction models of this room."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.errors import InputError
from mb_contact.types import WORLD


class PointContacts(NamedTuple):
    """n contact points between two bodies each; made by :func:`point_contacts`."""

    body_a: np.ndarray  #: int64 (n,), body index or WORLD
    body_b: np.ndarray  #: int64 (n,)
    point: np.ndarray  #: (n, 3), world [m]
    normal: np.ndarray  #: (n, 3), unit, from B to A
    t1: np.ndarray  #: (n, 3), unit, across the normal
    t2: np.ndarray  #: (n, 3), normal x t1
    mu: np.ndarray  #: (n,), Coulomb coefficient
    viscous: np.ndarray  #: (n, 2), viscous coefficients along t1 and t2 [N s/m]
    gap: np.ndarray  #: (n,) [m]
    radius_a: np.ndarray  #: (n,), of A's surface at the contact: 0 a vertex, inf a plane [m]
    radius_b: np.ndarray  #: (n,)


class Bilateral(NamedTuple):
    """b scalar constraints between two bodies each; made by :func:`bilateral`."""

    body_a: np.ndarray  #: int64 (b,)
    body_b: np.ndarray  #: int64 (b,)
    point: np.ndarray  #: (b, 3), world [m]
    direction: np.ndarray  #: (b, 3), unit, world
    angular: np.ndarray  #: int64 (b,), 1: the rate about the direction is zero, 0: the velocity along it
    target: np.ndarray  #: (b,), relative velocity that is asked for [m/s, rad/s]


def point_contacts(
    body_a, body_b, point, normal, mu=0.0, viscous=0.0, tangent=None, gap=0.0, radius_a=0.0, radius_b=np.inf
):
    """Contact points as checked arrays.

    Parameters
    ----------
    body_a, body_b : int or (n,)
        Body indices of the model, or WORLD.
    point, normal : (n, 3)
        World axes; the normal points from B to A and is normalised.
    mu : float or (n,)
        Coulomb coefficient, not negative.
    viscous : float, (n,) or (n, 2)
        Viscous coefficient [N s/m], for both tangents or for each.
    tangent : (n, 3), optional
        First tangent; its part across the normal is used.  By default any.
    gap : float or (n,)
        Distance [m].
    radius_a, radius_b : float or (n,)
        Radii of the surfaces at the contact [m], for the acceleration level: 0 a vertex, inf a plane.

    Returns
    -------
    PointContacts

    Raises
    ------
    InputError
        Shapes do not fit, a normal is zero, a tangent is parallel to its normal, a coefficient is negative.
    """
    point = as_matrix(np.reshape(point, (-1, 3)), (None, 3), "point")
    n = len(point)
    normal = _units(as_matrix(np.reshape(normal, (-1, 3)), (n, 3), "normal"), "normal")
    t1 = _tangents(normal, tangent)
    viscous = np.asarray(viscous, float)
    viscous = viscous[:, None] if viscous.ndim == 1 else viscous
    try:
        viscous = np.broadcast_to(viscous, (n, 2))
    except ValueError:
        raise InputError(f"viscous must be a number, ({n},) or ({n}, 2), got shape {viscous.shape}") from None
    contacts = PointContacts(
        body_a=_bodies(body_a, n, "body_a"),
        body_b=_bodies(body_b, n, "body_b"),
        point=point,
        normal=normal,
        t1=t1,
        t2=np.cross(normal, t1),
        mu=_numbers(mu, n, "mu", least=0.0),
        viscous=_at_least(as_matrix(viscous, (n, 2), "viscous"), 0.0, "viscous"),
        gap=_numbers(gap, n, "gap"),
        radius_a=_numbers(radius_a, n, "radius_a", least=0.0, finite=False),
        radius_b=_numbers(radius_b, n, "radius_b", least=0.0, finite=False),
    )
    if (contacts.radius_a + contacts.radius_b == 0.0).any():
        raise InputError("a contact of two vertices has no normal of its own: give radius_a or radius_b")
    return contacts


def bilateral(body_a, body_b, point, direction, angular=False, target=0.0):
    """Scalar constraints as checked arrays: a weld is three directions and three angular ones at one point.

    Parameters
    ----------
    body_a, body_b : int or (b,)
    point, direction : (b, 3)
        World axes; directions are normalised.
    angular : bool or (b,)
        Whether the rate about the direction is constrained, instead of the velocity along it.
    target : float or (b,)
        Relative velocity of A against B, e.g. a stabilisation -gamma c / dt [m/s, rad/s].

    Returns
    -------
    Bilateral
    """
    point = as_matrix(np.reshape(point, (-1, 3)), (None, 3), "point")
    b = len(point)
    return Bilateral(
        body_a=_bodies(body_a, b, "body_a"),
        body_b=_bodies(body_b, b, "body_b"),
        point=point,
        direction=_units(as_matrix(np.reshape(direction, (-1, 3)), (b, 3), "direction"), "direction"),
        angular=np.ascontiguousarray(np.broadcast_to(np.asarray(angular, bool), b), np.int64),
        target=_numbers(target, b, "target"),
    )


def no_bilateral():
    """No constraint at all."""
    return bilateral(WORLD, WORLD, np.zeros((0, 3)), np.zeros((0, 3)))


def check_bodies(contacts, n):
    """Refuse body indices that the model does not have.

    Raises
    ------
    InputError
    """
    for name in ("body_a", "body_b"):
        index = getattr(contacts, name)
        if len(index) and (index.min() < WORLD or index.max() >= n):
            bad = int(np.flatnonzero((index < WORLD) | (index >= n))[0])
            raise InputError(f"{name}[{bad}] is {index[bad]}; the model has bodies 0 to {n - 1}, and WORLD is {WORLD}")


def _bodies(value, n, name):
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise InputError(f"{name} must hold body indices, got {array.dtype}")
    try:
        return np.array(np.broadcast_to(array, n), np.int64)
    except ValueError:
        raise InputError(f"{name} must have {n} entries, got shape {array.shape}") from None


def _numbers(value, n, name, least=-np.inf, finite=True):
    array = np.asarray(value, float)
    array = as_vector(np.full(n, float(array)) if array.ndim == 0 else array, n, name, finite=finite)
    return _at_least(array, least, name)


def _at_least(array, least, name):
    if not (array >= least).all():
        raise InputError(f"{name} must be at least {least:g}, got {np.nanmin(array):g}")
    return array


def _units(vectors, name):
    length = np.linalg.norm(vectors, axis=1)
    if (length == 0.0).any():
        raise InputError(f"{name}[{int(np.argmin(length))}] is zero; give a direction")
    return vectors / length[:, None]


def _tangents(normal, tangent):
    """Unit vectors across the normals."""
    if tangent is None:
        x = np.abs(normal[:, :1]) < 0.8
        tangent = np.where(x, np.array([1.0, 0.0, 0.0]), np.array([0.0, 1.0, 0.0]))
    tangent = as_matrix(np.reshape(tangent, (-1, 3)), normal.shape, "tangent")
    across = tangent - np.sum(tangent * normal, axis=1, keepdims=True) * normal
    if len(across) and np.linalg.norm(across, axis=1).min() < 1e-9:
        raise InputError("a tangent is parallel to its normal; give another direction or leave tangent out")
    return _units(across, "tangent")
