# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact kinematics of two surfaces: coordinates, contact matrix and rate, where they touch (P00 section 6)."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.surfaces import contact as kernels
from mb_contact.core.surfaces.closest import closest_points
from mb_contact.core.surfaces.layout import START, make_surface_work
from mb_contact.errors import DynamicsError, InputError
from mb_contact.surfaces.surface import ON_SURFACE
from mb_contact.types import OK

SEARCH = 17  #: points along each side of a chart when the surfaces' first contact is sought
STARTS = 12  #: pairs of points that Newton's method is started from
STRIDE = 5  #: of the likeliest pairs every fifth: neighbours lead to the same solution


class SurfaceContact:
    """Two surfaces that touch in a point.

    Parameters
    ----------
    base, body : Surface
        1 and 2 of the paper.
    charts : (int, int)
        Charts in use; ``hand_over`` changes them.
    offset : (3,)
        Origin of body 2 that poses and matrices are about, in its own frame [m].
    """

    def __init__(self, base, body, charts=(0, 0), offset=(0.0, 0.0, 0.0)):
        self.surfaces = base, body
        self.offset = as_vector(offset, 3, "offset")
        self.work = make_surface_work()
        self._order = np.zeros(5, np.int64)
        self._matrix = np.zeros((5, 5))
        self.charts = None
        self.set_charts(charts)

    def set_charts(self, charts):
        """Use other charts."""
        charts = int(charts[0]), int(charts[1])
        if charts == self.charts:
            return
        self.charts = charts
        parts = [
            surface.pack(chart, offset)
            for surface, chart, offset in zip(self.surfaces, self.charts, (np.zeros(3), self.offset))
        ]
        self.code = np.array([code for code, _ in parts])
        self.code[1, START] = len(parts[0][1])
        self.data = np.concatenate([data for _, data in parts])
        parts = [bound for surface, chart in zip(self.surfaces, self.charts) for bound in surface.charts[chart].bounds]
        self.bounds = np.array(parts)

    def pose(self, q):
        """Rotation (3, 3) and origin (3,) [m] of body 2 in body 1 at q = (u1, u2, psi)."""
        self._place(q)
        return self.work.turn[0].copy(), self.work.point[0].copy()

    def matrix(self, q):
        """H (6, 5): H dq is the velocity of body 2 relative to body 1 at the origin of 2, angular first, axes of 1."""
        self._place(q)
        kernels.contact_matrix(self.work)
        return self.work.H.T.copy()

    def contact_frame_matrix(self, q):
        """1cH (6, 5) of P00 Eq. 12, at the contact point in axes of 1c; its last row is zero."""
        H = self.matrix(q)
        work = self.work
        R, arm = work.R[0], work.point[0] - work.D[0, 0]
        return np.concatenate((R.T @ H[:3], R.T @ (H[3:] - np.cross(H[:3], arm[:, None], axis=0))))

    def matrix_rate(self, q, rate):
        """dH/dt (6, 5) when q moves with ``rate``."""
        self._place(q)
        kernels.contact_matrix(self.work)
        kernels.contact_matrix_rate(as_vector(rate, 5, "rate"), self.work)
        return self.work.H_dot.T.copy()

    def rates(self, q):
        """N (5, 5): dq = N (w, v) of the relative angular velocity w and the slip v, axes of 1c (Montana's equations).

        Raises
        ------
        DynamicsError
            The surfaces touch along a line there.
        """
        self._place(q)
        if kernels.contact_rates(self.work) != OK:
            raise DynamicsError(self.line_contact())
        return self.work.N.copy()

    def line_contact(self):
        """What to say where contact coordinates fail."""
        return (
            f"{self.surfaces[1].name} and {self.surfaces[0].name} have equal curvature in some direction, so they do "
            "not touch in a single point there: contact coordinates do not describe that"
        )

    def points(self, q):
        """Contact point (3,) on body 1 and normal of surface 1 (3,), axes of body 1."""
        self._place(q)
        return self.work.D[0, 0].copy(), self.work.R[0, :, 2].copy()

    def coordinates(self, u1, u2, R):
        """q of body 2 in orientation R (3, 3), touching at u1 and u2: psi from R_psi = R_1c* R R_2c.

        Raises
        ------
        InputError
            The normals are not opposite there.
        """
        R_psi = self.surfaces[0].frame(u1, self.charts[0]).T @ as_matrix(R, (3, 3), "R")
        R_psi = R_psi @ self.surfaces[1].frame(u2, self.charts[1])
        if R_psi[2, 2] > -1.0 + 1e-8:
            raise InputError(f"the normals at u1 and u2 must be opposite; their product is {R_psi[2, 2]:.9g}, not -1")
        return np.array([*u1, *u2, np.arctan2(-R_psi[0, 1], R_psi[0, 0])])

    def hand_over(self, q, rate):
        """q and its rate in charts that hold the contact; ``charts`` changes.  The motion is the same to rounding.

        Raises
        ------
        DynamicsError
            No chart holds the contact: it has come to the edge of its surface.
        """
        q, rate = np.array(q, float), as_vector(rate, 5, "rate")
        velocity = self.matrix(q) @ rate
        R, _ = self.pose(q)
        charts = list(self.charts)
        for k, surface in enumerate(self.surfaces):
            u = q[2 * k : 2 * k + 2]
            if surface.charts[charts[k]].holds(u):
                continue
            point = surface.point(u, charts[k])
            chart, u_new, distance = surface.locate(point)
            if not surface.charts[chart].holds(u_new) or distance > ON_SURFACE * (1.0 + np.abs(point).max()):
                raise DynamicsError(f"the contact has come to the edge of {surface.name}, at {_numbers(point)} m")
            charts[k], q[2 * k : 2 * k + 2] = chart, u_new
        self.set_charts(charts)
        q = self.coordinates(q[:2], q[2:4], R)
        return q, np.linalg.lstsq(self.matrix(q), velocity, rcond=None)[0]

    def closest(self, R, p, guess=None):
        """Points of the surfaces nearest to each other with opposite normals, body 2 at (R, p) in body 1.

        Returns
        -------
        (u1 (2,), u2 (2,), gap [m])
            ``charts`` are those of the points.

        Raises
        ------
        DynamicsError
            None was found.
        """
        return self._search(R, p, np.zeros(3), guess)

    def first_touch(self, R, p, direction):
        """Where body 2 touches when it is moved from (R, p) along ``direction``, without turning.

        Returns
        -------
        (q (5,), travel [m])
            Of the shortest travel found.

        Raises
        ------
        DynamicsError
            The surfaces do not meet that way.
        """
        direction = as_vector(direction, 3, "direction")
        if not np.linalg.norm(direction) > 0.0:
            raise InputError("direction must not be zero")
        u1, u2, travel = self._search(R, p, -direction / np.linalg.norm(direction), None)
        return self.coordinates(u1, u2, R), travel

    def _search(self, R, p, direction, guess):
        R = np.ascontiguousarray(as_matrix(R, (3, 3), "R")[None])
        p = np.array(as_vector(p, 3, "p")) + R[0] @ self.offset
        found = []
        for charts, start in self._starts(R[0], p - R[0] @ self.offset, direction, guess):
            self.set_charts(charts)
            x = np.array(start)
            limit = 1e-12 * (1.0 + np.abs(p).max())
            status = closest_points(
                self.code, self.data, R, p[None], x, direction, self.work, self._matrix, self._order, limit
            )
            opposite = self.work.R[0, :, 2] @ R[0] @ self.work.R[1, :, 2] < 0.0
            held = all(s.charts[c].holds(x[2 * k : 2 * k + 2]) for k, (s, c) in enumerate(zip(self.surfaces, charts)))
            if status == OK and opposite and held:
                found.append((x[4], charts, x))
                if guess is not None:
                    break
        if not found:
            raise DynamicsError(f"{self.surfaces[1].name} and {self.surfaces[0].name} have no point in common that way")
        gap, charts, x = min(found, key=lambda item: item[0])
        self.set_charts(charts)
        return x[:2].copy(), x[2:4].copy(), float(gap)

    def _starts(self, R, p, direction, guess):
        """Charts and (u1, u2, gap) from which Newton's method may find a solution."""
        if guess is not None:
            yield self.charts, guess
            return
        for first in range(len(self.surfaces[0].charts)):
            grid_1, points_1 = self.surfaces[0].samples(first, SEARCH)
            for second in range(len(self.surfaces[1].charts)):
                grid_2, points_2 = self.surfaces[1].samples(second, SEARCH)
                for i, j, gap in _promising(points_1, points_2 @ R.T + p, direction):
                    yield (first, second), np.array([*grid_1[i], *grid_2[j], gap])

    def _place(self, q):
        kernels.contact_pose(self.code, self.data, as_vector(q, 5, "q"), self.work)


def _promising(points_1, points_2, direction):
    """(i, j, gap) of points of the two grids near which the surfaces may touch first, the likeliest first."""
    apart = points_2[None] - points_1[:, None]
    if not direction.any():
        distance = np.linalg.norm(apart, axis=-1)
        i = distance.argmin(axis=0)
        gap = distance[i, np.arange(len(points_2))]
        order = np.argsort(gap)
    else:
        travel = apart @ direction  # what is left lies across the direction
        across = np.linalg.norm(apart - travel[..., None] * direction, axis=-1)
        i = across.argmin(axis=0)
        column = np.arange(len(points_2))
        gap, across = travel[i, column], across[i, column]
        spacing = np.sqrt(np.ptp(points_1, axis=0) @ np.ptp(points_1, axis=0)) / SEARCH
        order = np.argsort(np.where(across <= spacing, gap, np.inf))
    for j in order[: STARTS * STRIDE : STRIDE]:
        yield i[j], j, gap[j]


def _numbers(values):
    return ", ".join(f"{x:.6g}" for x in values)
