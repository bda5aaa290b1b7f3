# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Rigid-body inertias: checks of what a file gives, inertias of solid shapes, and welding bodies together."""

from typing import NamedTuple

import numpy as np

from mb_contact.types import SHAPE_BOX, SHAPE_CAPSULE, SHAPE_CONE, SHAPE_CYLINDER, SHAPE_ELLIPSOID, SHAPE_SPHERE

TOL_TRIANGLE = 1e-6  #: relative slack of the triangle inequality: files round to a few digits


class RigidInertia(NamedTuple):
    """Mass [kg], centre of mass (3,) [m] and inertia about it (3, 3) [kg m^2], all in one frame's axes."""

    mass: float
    com: np.ndarray
    inertia: np.ndarray

    def transformed(self, R, p):
        """The same body seen from a frame in which this one has axes ``R`` and origin ``p``."""
        return RigidInertia(self.mass, p + R @ self.com, R @ self.inertia @ R.T)

    def about_origin(self):
        """Inertia about the frame's origin (3, 3) [kg m^2]."""
        return self.inertia + self.mass * _square(self.com)

    def is_zero(self):
        """Whether the body has neither mass nor inertia."""
        return self.mass == 0.0 and not self.inertia.any()


MASSLESS = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))


def weld(bodies):
    """One rigid body out of several, all given in the same frame (parallel-axis theorem)."""
    massive = [body for body in bodies if not body.is_zero()]
    if len(massive) <= 1:
        return massive[0] if massive else MASSLESS
    mass = sum(body.mass for body in massive)
    com = sum(body.mass * body.com for body in massive) / mass if mass > 0.0 else np.zeros(3)
    inertia = sum(body.inertia + body.mass * _square(body.com - com) for body in massive)
    return RigidInertia(mass, com, inertia)


def solid(kind, size, mass):
    """Inertia (3, 3) [kg m^2] about the centre of a homogeneous solid shape; ``size`` as SHAPE_* says."""
    if kind == SHAPE_SPHERE:
        return np.eye(3) * (0.4 * mass * size[0] ** 2)
    if kind == SHAPE_BOX:
        squares = np.asarray(size) ** 2
        return np.diag(squares.sum() - squares) * (mass / 3.0)
    radius, half = size[0], size[1]
    if kind == SHAPE_CYLINDER:
        across = mass * (radius ** 2 / 4.0 + half ** 2 / 3.0)
        return np.diag([across, across, 0.5 * mass * radius ** 2])
    if kind == SHAPE_CAPSULE:
        return _solid_capsule(radius, half, mass)
    if kind == SHAPE_CONE:
        across = mass * (0.15 * radius ** 2 + 0.15 * half ** 2)  # 3/20 r^2 + 3/80 (2 h)^2
        return np.diag([across, across, 0.3 * mass * radius ** 2])
    if kind == SHAPE_ELLIPSOID:
        squares = np.asarray(size) ** 2
        return np.diag(squares.sum() - squares) * (mass / 5.0)
    raise ValueError(f"a shape of kind {kind} has no inertia")


def volume_of(kind, size):
    """Volume of a solid shape [m^3]; ``size`` as SHAPE_* says."""
    if kind == SHAPE_BOX:
        return 8.0 * float(np.prod(size))
    if kind in (SHAPE_SPHERE, SHAPE_ELLIPSOID):
        return 4.0 / 3.0 * np.pi * (float(size[0]) ** 3 if kind == SHAPE_SPHERE else float(np.prod(size)))
    tube = 2.0 * np.pi * float(size[0]) ** 2 * float(size[1])
    return {SHAPE_CYLINDER: tube, SHAPE_CONE: tube / 3.0, SHAPE_CAPSULE: tube + volume_of(SHAPE_SPHERE, size)}[kind]


def solid_polyhedra(bodies, mass):
    """RigidInertia of homogeneous polyhedra that share a mass [kg], in the frame that their vertices are in.

    Each triangle makes a tetrahedron with a point inside; of one with edges a, b, c from there the volume is
    det(a, b, c) / 6, the centre (a + b + c) / 4 and the second moment det (sum_ij (1 + delta_ij) x_i x_j*) / 120.

    Parameters
    ----------
    bodies : sequence of (vertices (k, 3), triangles (t, 3))
        Triangles counterclockwise seen from outside.
    """
    volume, first, second = 0.0, np.zeros(3), np.zeros((3, 3))
    middle = bodies[0][0].mean(axis=0)
    for vertices, triangles in bodies:
        corners = (vertices - middle)[triangles]
        dets = np.linalg.det(corners)
        sums = corners.sum(axis=1)
        volume += dets.sum() / 6.0
        first += dets @ sums / 24.0
        second += np.einsum("t,ti,tj->ij", dets, sums, sums) / 120.0
        second += np.einsum("t,tki,tkj->ij", dets, corners, corners) / 120.0
    com = first / volume
    spread = mass * (second / volume - np.outer(com, com))
    return RigidInertia(mass, middle + com, np.trace(spread) * np.eye(3) - spread)


def shell(corners, mass):
    """RigidInertia of a homogeneous sheet of triangles (t, 3, 3) [m] of a mass [kg], in their frame.

    The second moment of a triangle is area (sum_ij (1 + delta_ij) x_i x_j*) / 12.
    """
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    middle = corners.mean(axis=(0, 1))
    corners = corners - middle
    sums = corners.sum(axis=1)
    com = area @ sums / (3.0 * area.sum())
    second = np.einsum("t,ti,tj->ij", area, sums, sums) + np.einsum("t,tki,tkj->ij", area, corners, corners)
    spread = mass * (second / (12.0 * area.sum()) - np.outer(com, com))
    return RigidInertia(mass, middle + com, np.trace(spread) * np.eye(3) - spread)


def _solid_capsule(radius, half, mass):
    """Cylinder plus two half balls, whose own centres lie 3/8 radius beyond the ends of the segment."""
    tube, ball = 2.0 * half, 4.0 / 3.0 * radius  # volumes over pi radius^2
    m_tube, m_ball = mass * tube / (tube + ball), mass * ball / (tube + ball)
    along = 0.5 * m_tube * radius ** 2 + 0.4 * m_ball * radius ** 2
    across = m_tube * (radius ** 2 / 4.0 + half ** 2 / 3.0)
    across += m_ball * (0.4 * radius ** 2 + half ** 2 + 0.75 * half * radius)
    return np.diag([across, across, along])


def breaks_triangle_inequality(inertia):
    """Whether no mass distribution has these principal moments: the largest exceeds the sum of the others."""
    low, middle, high = np.linalg.eigvalsh(inertia)
    return high > (low + middle) * (1.0 + TOL_TRIANGLE)


def _square(offset):
    """offset x (. x offset) as a matrix: |c|^2 I - c c*."""
    return np.dot(offset, offset) * np.eye(3) - np.outer(offset, offset)
