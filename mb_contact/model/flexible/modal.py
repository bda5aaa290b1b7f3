# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that deform in modes: what they look like at points, and what their kinetic energy needs.

A point of the body is at rho = x + Phi eta + (eta* S eta / 2) e in the axes of the body's floating frame, x its place
without deformation, Phi the displacements of the modes (``shape``), S the shortening along the axis e of a beam that
bends; a section there is turned by the rotation vector Psi eta (``slope``).  With the velocity [omega; v] of the frame,

    2 T = sum m |v + omega x rho + rho'|^2 + sum (omega + Psi eta')* J (omega + Psi eta'),

all in the axes of the frame: sections' own inertias J are taken as turning with them only to first order.
"""

from typing import NamedTuple

import numpy as np
from scipy.linalg import eigh

from mb_contact.checks import Floats

TOL_GRAM = 1e-13  #: of the largest singular value of a body's fields: below it is rounding


class ModalBody(NamedTuple):
    """A body that deforms in r modes, at m points of it, in the axes of its floating frame."""

    point: Floats  #: (m, 3), without deformation [m]
    shape: Floats  #: (m, 3, r), displacement for each unit of a mode's coordinate
    slope: Floats  #: (m, 3, r), rotation vector of the section for each unit of a mode's coordinate [rad]
    short: Floats  #: (m, r, r), symmetric: second derivatives of the displacement along ``axis``
    axis: Floats  #: (3,), unit
    mass: Floats  #: (m,) [kg]
    inertia: Floats  #: (m, 3, 3), of the sections about their points [kg m^2]
    stiffness: Floats  #: (r, r)

    @property
    def modes(self) -> int:
        """Number of modes r."""
        return self.shape.shape[2]


class ModalMass(NamedTuple):
    """What the kinetic energy of a body in r modes depends on, in the axes of its frame: p points and three sums.

    The points need not be places of the body: a point weighs ``one`` times v + ..., so that few of them have the second
    moments of many.
    """

    one: Floats  #: (p,)
    point: Floats  #: (p, 3)
    shape: Floats  #: (p, r, 3)
    short: Floats  #: (p, r, r)
    axis: Floats  #: (3,)
    turning: Floats  #: (3, 3), sum of J [kg m^2]
    turning_modes: Floats  #: (r, 3), sum of J Psi
    turning_mass: Floats  #: (r, r), sum of Psi* J Psi

    @property
    def mass(self) -> float:
        """Mass [kg]."""
        return float(self.one @ self.one)

    @property
    def modal(self) -> Floats:
        """Mass matrix (r, r) of the modes without deformation."""
        return np.einsum("pia,pja->ij", self.shape, self.shape) + self.turning_mass

    @property
    def moment(self) -> Floats:
        """Mass times centre of mass (3,) without deformation [kg m]."""
        return self.one @ self.point

    @property
    def rotational(self) -> Floats:
        """Inertia (3, 3) about the frame's origin without deformation [kg m^2]."""
        return np.sum(self.point**2) * np.eye(3) - self.point.T @ self.point + self.turning


def modal_mass(body: ModalBody) -> ModalMass:
    """The kinetic energy of a body by as few points as its second moments need.

    All of T but the sections' inertias is a quadratic form of the fields (1, x, Phi, S), so it depends on their Gram
    matrix alone: singular vectors of the fields at all points, times the roots of the masses, do as well.

    Parameters
    ----------
    body : ModalBody

    Returns
    -------
    ModalMass
    """
    m, r = len(body.mass), body.modes
    phi, psi, J = np.moveaxis(body.shape, 2, 1), np.moveaxis(body.slope, 2, 1), body.inertia  # (m, r, 3)
    fields = np.hstack([np.ones((m, 1)), body.point, phi.reshape(m, -1), body.short.reshape(m, -1)])
    fields = np.sqrt(body.mass)[:, None] * fields
    size = np.linalg.norm(fields, axis=0)
    size[size == 0.0] = 1.0
    _, values, rows = np.linalg.svd(fields / size, full_matrices=False)
    some = values > TOL_GRAM * values[0]
    fields = values[some, None] * rows[some] * size
    return ModalMass(
        one=fields[:, 0], point=fields[:, 1:4], shape=fields[:, 4 : 4 + 3 * r].reshape(-1, r, 3),
        short=fields[:, 4 + 3 * r :].reshape(-1, r, r), axis=body.axis, turning=J.sum(axis=0),
        turning_modes=np.einsum("pab,pib->ia", J, psi), turning_mass=np.einsum("pia,pab,pjb->ij", psi, J, psi),
    )  # fmt: skip


def fixed_at(body: ModalBody, point: int) -> ModalBody:
    """The same deformations, seen from the section at one of the points: its displacement and rotation are zero.

    Parameters
    ----------
    body : ModalBody
    point : int

    Returns
    -------
    ModalBody
        Of each mode a rigid motion is taken away; that costs no energy, so the stiffness stays.
    """
    arm = body.point - body.point[point]
    moved = body.shape[point].T + np.cross(body.slope[point].T, arm[:, None])  # (m, r, 3)
    return body._replace(shape=body.shape - np.moveaxis(moved, 1, 2), slope=body.slope - body.slope[point])


def normal_modes(body: ModalBody) -> tuple[ModalBody, Floats]:
    """The same body in modes that neither masses nor stiffness couple, lowest frequency first.

    Parameters
    ----------
    body : ModalBody

    Returns
    -------
    body : ModalBody
        The largest displacement of each mode is 1; where a mode only turns its points, the largest rotation.
    omega : ndarray (r,)
        Angular frequencies with the floating frame held [rad/s].
    """
    square, mixed = eigh(body.stiffness, modal_mass(body).modal)
    body = _combined(body, mixed)
    size = np.linalg.norm(body.shape, axis=1)
    turns = np.linalg.norm(body.slope, axis=1)
    only_turns = size.max(axis=0) <= 1e-9 * turns.max(axis=0)
    scale = np.empty(body.modes)
    for i in range(body.modes):
        values, sizes = (body.slope, turns) if only_turns[i] else (body.shape, size)
        at = np.flatnonzero(sizes[:, i] >= (1.0 - 1e-9) * sizes[:, i].max())[-1]
        largest = np.argmax(np.abs(values[at, :, i]))
        scale[i] = np.copysign(1.0 / sizes[at, i], values[at, largest, i])
    body = _combined(body, np.diag(scale))
    return body._replace(stiffness=np.diag(square * scale**2)), np.sqrt(np.maximum(square, 0.0))


def _combined(body, mixed):
    """The body in the coordinates eta = mixed xi, mixed (r, k)."""
    return body._replace(
        shape=body.shape @ mixed, slope=body.slope @ mixed,
        short=np.einsum("pij,ik,jl->pkl", body.short, mixed, mixed),
        stiffness=mixed.T @ body.stiffness @ mixed,
    )  # fmt: skip
