# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact points and bilateral constraints given as arrays, for the friction models of this room."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.errors import InputError
from mb_contact.types import WORLD


class PointContacts(NamedTuple):
    """n contact points between two bodies each; made by :func:`point_contacts`.

    Examples
    --------
    >>> feet = mb.studies.point_contacts(0, -1, [[0.1, 0.0, 0.0], [-0.1, 0.0, 0.0]], np.tile([0.0, 0.0, 2.0], (2, 1)))
    >>> feet.normal[0], feet.t1[0], feet.t2[0]
    (array([0., 0., 1.]), array([1., 0., 0.]), array([0., 1., 0.]))
    """

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
    """b scalar constraints between two bodies each; made by :func:`bilateral`.

    Examples
    --------
    >>> rail = mb.studies.bilateral(0, -1, [[0.0, 0.0, 0.0]], [[0.0, 3.0, 0.0]])
    >>> rail.direction, rail.angular
    (array([[0., 1., 0.]]), array([0]))
    """

    body_a: np.ndarray  #: int64 (b,)
    body_b: np.ndarray  #: int64 (b,)
    point: np.ndarray  #: (b, 3), world [m]
    direction: np.ndarray  #: (b, 3), unit, world
    angular: np.ndarray  #: int64 (b,), 1: the rate about the direction is zero, 0: the velocity along it
    target: np.ndarray  #: (b,), relative velocity that is asked for [m/s, rad/s]


def point_contacts(
    body_a: int | Sequence[int] | npt.NDArray[np.int64],
    body_b: int | Sequence[int] | npt.NDArray[np.int64],
    point: ArrayLike,
    normal: ArrayLike,
    mu: ArrayLike = 0.0,
    viscous: ArrayLike = 0.0,
    tangent: ArrayLike | None = None,
    gap: ArrayLike = 0.0,
    radius_a: ArrayLike = 0.0,
    radius_b: ArrayLike = np.inf,
) -> PointContacts:
    """Contact points as checked arrays, for Drumwright's models (D15 section II).

    Parameters
    ----------
    body_a, body_b : int or array_like of int (n,)
        Body indices of the model, or WORLD.
    point, normal : array_like (n, 3)
        World axes; the normal points from B to A and is normalised; points [m].
    mu : float or array_like (n,)
        Coulomb coefficient, not negative.
    viscous : float or array_like (n,) or (n, 2)
        Viscous coefficient [N s/m], for both tangents or for each.
    tangent : array_like (n, 3), optional
        First tangent; its part across the normal is used.  By default any.
    gap : float or array_like (n,)
        Distance [m].
    radius_a, radius_b : float or array_like (n,)
        Radii of the surfaces at the contact [m], for the acceleration level: 0 a vertex, inf a plane.

    Returns
    -------
    PointContacts

    Raises
    ------
    InputError
        Shapes do not fit, a normal is zero, a tangent is parallel to its normal, a coefficient is negative.

    Examples
    --------
    >>> mb.studies.point_contacts(0, -1, [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], viscous=2.0).viscous
    array([[2., 2.]])
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


def bilateral(
    body_a: int | Sequence[int] | npt.NDArray[np.int64],
    body_b: int | Sequence[int] | npt.NDArray[np.int64],
    point: ArrayLike,
    direction: ArrayLike,
    angular: bool | Sequence[bool] | npt.NDArray[np.bool_] = False,
    target: ArrayLike = 0.0,
) -> Bilateral:
    """Scalar constraints as checked arrays: a weld is three directions and three angular ones at one point (D15 (17)).

    Parameters
    ----------
    body_a, body_b : int or array_like of int (b,)
        Body indices of the model, or WORLD.
    point, direction : array_like (b, 3)
        World axes [m]; directions are normalised.
    angular : bool or array_like of bool (b,)
        Whether the rate about the direction is constrained, instead of the velocity along it.
    target : float or array_like (b,)
        Relative velocity of A against B, e.g. a stabilisation -gamma c / dt [m/s, rad/s].

    Returns
    -------
    Bilateral

    Raises
    ------
    InputError
        Shapes do not fit, or a direction is zero.

    Examples
    --------
    >>> axes = np.eye(3)
    >>> weld = mb.studies.bilateral(0, -1, np.zeros((6, 3)), np.vstack([axes, axes]), [False] * 3 + [True] * 3)
    >>> weld.angular
    array([0, 0, 0, 1, 1, 1])
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


def _units(vectors, name) -> Floats:
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
