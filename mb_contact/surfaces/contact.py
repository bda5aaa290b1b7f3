# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact kinematics of two surfaces: coordinates, contact matrix and rate, where they touch (P00 section 6)."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.surfaces import contact as kernels
from mb_contact.core.surfaces.closest import closest_points
from mb_contact.core.surfaces.layout import START, make_surface_work
from mb_contact.errors import DynamicsError, InputError
from mb_contact.surfaces.charts import SLACK
from mb_contact.surfaces.search import Grids
from mb_contact.surfaces.surface import ON_SURFACE, Surface
from mb_contact.types import OK

ADVANCES = 200  #: of a body that is moved until it touches
CAUTION = 0.9  #: part of the distance that it is moved by: the distance is known from grids
TOUCHING = 1e-2  #: a distance below this part of the surfaces' size is left to Newton's method
FAR = 1e3  #: beyond this multiple of their size they do not meet
CROSSED = 12  #: charts that nearest points go through at most
LEAST_SIGHT = 0.25  #: charts without end are looked at anew after this part of their size


class SurfaceContact:
    """Two surfaces that touch in a point (P00 section 6).

    Parameters
    ----------
    base, body : Surface
        1 and 2 of the paper.
    charts : (int, int)
        Charts in use; ``hand_over`` changes them.
    offset : array_like (3,)
        Origin of body 2 that poses and matrices are about, in its own frame [m].

    Examples
    --------
    >>> contact = mb.surfaces.SurfaceContact(mb.surfaces.plane(), mb.surfaces.sphere(0.1))
    >>> q, travel = contact.first_touch(np.eye(3), (0.3, 0.2, 1.0), (0.0, 0.0, -1.0))
    >>> travel
    0.9
    >>> R, p = contact.pose(q)
    >>> p
    array([0.3, 0.2, 0.1])
    >>> u1, u2, gap = contact.closest(R, p + [0.0, 0.0, 0.05])
    >>> u1, gap
    (array([0.3, 0.2]), 0.05)
    >>> point, normal = contact.points(q)
    >>> point, normal
    (array([0.3, 0.2, 0. ]), array([0., 0., 1.]))
    >>> np.allclose(contact.coordinates(q[:2], q[2:4], R), q)
    True
    >>> contact.matrix(q).shape, contact.matrix_rate(q, np.zeros(5)).shape, contact.rates(q).shape
    ((6, 5), (6, 5), (5, 5))
    >>> contact.contact_frame_matrix(q)[5]
    array([0., 0., 0., 0., 0.])
    >>> q_new, rate = contact.hand_over(q, np.zeros(5))  # the same charts still hold the contact
    >>> np.allclose(q_new, q)
    True
    >>> contact.held_at((0, 0), np.array([0.0, 0.0, 0.0, 0.2]))
    (0, 0)
    >>> contact.set_charts((0, 1))
    >>> contact.line_contact()[:16]
    'sphere and plane'
    """

    def __init__(
        self, base: Surface, body: Surface, charts: tuple[int, int] = (0, 0), offset: ArrayLike = (0.0, 0.0, 0.0)
    ) -> None:
        self.surfaces = base, body
        self.offset = as_vector(offset, 3, "offset")
        self.work = make_surface_work()
        self._order = np.zeros(5, np.int64)
        self._matrix = np.zeros((5, 5))
        self.charts = -1, -1
        self.set_charts(charts)

    def set_charts(self, charts: Sequence[int]) -> None:
        """Use other charts.

        Parameters
        ----------
        charts : (int, int)
            Of body 1 and body 2.
        """
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
        self.bounds = np.array(parts) + (-SLACK, SLACK)

    def pose(self, q: ArrayLike) -> tuple[Floats, Floats]:
        """Pose of body 2 in body 1.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)

        Returns
        -------
        R : ndarray (3, 3)
        p : ndarray (3,)
            [m]
        """
        self._place(q)
        return self.work.turn[0].copy(), self.work.point[0].copy()

    def matrix(self, q: ArrayLike) -> Floats:
        """Contact matrix H: H dq is the velocity of body 2 relative to body 1 at the origin of 2.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)

        Returns
        -------
        ndarray (6, 5)
            Angular first, axes of 1.
        """
        self._place(q)
        kernels.contact_matrix(self.work)
        return self.work.H.T.copy()

    def contact_frame_matrix(self, q: ArrayLike) -> Floats:
        """1cH of P00 Eq. 12, at the contact point.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)

        Returns
        -------
        ndarray (6, 5)
            Axes of 1c; its last row is zero.
        """
        H = self.matrix(q)
        work = self.work
        R, arm = work.R[0], work.point[0] - work.D[0, 0]
        return np.concatenate((R.T @ H[:3], R.T @ (H[3:] - np.cross(H[:3], arm[:, None], axis=0))))

    def matrix_rate(self, q: ArrayLike, rate: ArrayLike) -> Floats:
        """dH/dt when q moves.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)
        rate : array_like (5,)
            dq/dt

        Returns
        -------
        ndarray (6, 5)
            Angular first, axes of 1.
        """
        self._place(q)
        kernels.contact_matrix(self.work)
        kernels.contact_matrix_rate(as_vector(rate, 5, "rate"), self.work)
        return self.work.H_dot.T.copy()

    def rates(self, q: ArrayLike) -> Floats:
        """N: dq = N (w, v) of the relative angular velocity w and the slip v, axes of 1c (Montana's equations).

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)

        Returns
        -------
        ndarray (5, 5)

        Raises
        ------
        DynamicsError
            The surfaces touch along a line there.
        """
        self._place(q)
        if kernels.contact_rates(self.work) != OK:
            raise DynamicsError(self.line_contact())
        return self.work.N.copy()

    def line_contact(self) -> str:
        """What to say where contact coordinates fail.

        Returns
        -------
        str
        """
        return (
            f"{self.surfaces[1].name} and {self.surfaces[0].name} have equal curvature in some direction, so they do "
            "not touch in a single point there: contact coordinates do not describe that"
        )

    def points(self, q: ArrayLike) -> tuple[Floats, Floats]:
        """Contact point on body 1 and normal of surface 1.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)

        Returns
        -------
        point : ndarray (3,)
            Axes of body 1 [m].
        normal : ndarray (3,)
            Axes of body 1.
        """
        self._place(q)
        return self.work.D[0, 0].copy(), self.work.R[0, :, 2].copy()

    def coordinates(self, u1: Floats | Sequence[float], u2: Floats | Sequence[float], R: ArrayLike) -> Floats:
        """Contact coordinates of body 2, touching at u1 and u2: psi from R_psi = R_1c* R R_2c.

        Parameters
        ----------
        u1, u2 : array_like (2,)
            In the charts in use.
        R : array_like (3, 3)
            Orientation of body 2 in body 1.

        Returns
        -------
        ndarray (5,)
            (u1, u2, psi)

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

    def hand_over(self, q: ArrayLike, rate: ArrayLike) -> tuple[Floats, Floats]:
        """Coordinates in charts that hold the contact; ``charts`` changes.  The motion is the same to rounding.

        Parameters
        ----------
        q, rate : array_like (5,)
            In the charts in use.

        Returns
        -------
        q, rate : ndarray (5,)

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
        solution: Any = np.linalg.lstsq(self.matrix(q), velocity, rcond=None)
        return q, solution[0]

    def held_at(self, charts: Sequence[int], near: Floats) -> tuple[int, int]:
        """Charts that hold the points at ``near``; where none does, the present one.

        Parameters
        ----------
        charts : (int, int)
            Of body 1 and body 2, that ``near`` is in.
        near : ndarray (4,) or more
            (u1, u2), brought into the charts in place.

        Returns
        -------
        (int, int)
        """
        held = list(charts)
        for k, (surface, chart) in enumerate(zip(self.surfaces, charts)):
            u = near[2 * k : 2 * k + 2]
            if len(surface.charts) > 1 and not surface.charts[chart].holds(u):
                found, u_new, _ = surface.locate(surface.point(u, chart))
                if surface.charts[found].holds(u_new):
                    held[k], near[2 * k : 2 * k + 2] = found, u_new
        return held[0], held[1]

    def closest(
        self, R: ArrayLike, p: ArrayLike, guess: ArrayLike | None = None
    ) -> tuple[Floats, Floats, float]:
        """Points of the surfaces nearest to each other with opposite normals.

        Parameters
        ----------
        R, p : array_like (3, 3), (3,)
            Pose of body 2 in body 1 [m].
        guess : array_like (5,), optional
            (u1, u2, gap) in the charts in use.

        Returns
        -------
        u1, u2 : ndarray (2,)
            ``charts`` are those of the points.
        gap : float
            [m]

        Raises
        ------
        DynamicsError
            None was found.
        """
        R, p = as_matrix(R, (3, 3), "R"), as_vector(p, 3, "p")
        if guess is not None:
            starts = [(self.charts, guess)]
        else:
            pairs = Grids(self.surfaces, R, p).nearest(p)
            starts = [(pair.charts, (*pair.u1, *pair.u2, pair.distance)) for pair in pairs]
        found = [end for start in starts if (end := self._newton(R, p, np.zeros(3), *start)) is not None]
        if not found:
            raise DynamicsError(
                f"{self.surfaces[1].name} and {self.surfaces[0].name} have no nearest points with opposite normals: "
                "an edge is nearest, or they intersect"
            )
        charts, x = min(found, key=lambda end: end[1][4])
        self.set_charts(charts)
        return x[:2].copy(), x[2:4].copy(), float(x[4])

    def first_touch(self, R: ArrayLike, p: ArrayLike, direction: ArrayLike) -> tuple[Floats, float]:
        """Where body 2 touches when it is moved without turning.

        It advances by the distance to the other surface, which cannot miss a contact, and Newton's method ends it.  A
        body that begins inside the other is moved back until it touches.

        Parameters
        ----------
        R, p : array_like (3, 3), (3,)
            Pose of body 2 in body 1 at the beginning [m].
        direction : array_like (3,)
            Axes of body 1.

        Returns
        -------
        q : ndarray (5,)
            (u1, u2, psi)
        travel : float
            [m]

        Raises
        ------
        InputError
            The direction is zero.
        DynamicsError
            The surfaces do not meet that way, or at an edge.
        """
        R, p = as_matrix(R, (3, 3), "R"), as_vector(p, 3, "p")
        direction = as_vector(direction, 3, "direction")
        if not np.linalg.norm(direction) > 0.0:
            raise InputError("direction must not be zero")
        along: Floats = direction / np.linalg.norm(direction)
        grids = Grids(self.surfaces, R, p)
        travel = seen = 0.0
        for _ in range(ADVANCES):
            here = p + travel * along
            if travel - seen > LEAST_SIGHT * grids.size:  # charts without end are covered about the body
                grids, seen = Grids(self.surfaces, R, here), travel
            pairs = [self._exact(R, here, pair) for pair in grids.nearest(here)]
            distance = min(pair.distance for pair in pairs)
            if distance < TOUCHING * grids.size:
                end = self._end_of_travel(R, here, along, pairs)
                if end is not None:
                    charts, x = end
                    self.set_charts(charts)
                    return self.coordinates(x[:2], x[2:4], R), travel + float(x[4])
            if distance > FAR * grids.size or distance < ON_SURFACE * grids.size:
                break
            travel += CAUTION * distance
        how = "touch at an edge, or intersect at the start" if distance < grids.size * TOUCHING else "do not meet"
        raise DynamicsError(
            f"{self.surfaces[1].name} and {self.surfaces[0].name} have no point in common that way: they {how}"
        )

    def _exact(self, R, p, pair):
        """A Pair at its nearest points, if Newton's method finds them near it."""
        end = self._newton(R, p, np.zeros(3), pair.charts, (*pair.u1, *pair.u2, pair.distance))
        if end is None or not 0.0 <= end[1][4] <= pair.distance:
            return pair
        return pair._replace(distance=float(end[1][4]), u1=end[1][:2], u2=end[1][2:4])

    def _end_of_travel(self, R, p, direction, pairs):
        """(charts, x) of the contact that closes next, x[4] being the travel left; None where there is none near."""
        found = []
        for pair in pairs:
            end = self._newton(R, p, -direction, pair.charts, (*pair.u1, *pair.u2, 0.0))
            if end is not None and self.work.R[0, :, 2] @ direction < 0.0:  # not one that opens that way
                found.append(end)
        ahead = [end for end in found if end[1][4] >= -ON_SURFACE]
        if ahead:
            return min(ahead, key=lambda end: end[1][4])
        return max(found, key=lambda end: end[1][4], default=None)

    def _newton(self, R, p, direction, charts, start):
        """(charts, x) of the solution x = (u1, u2, gap) near a start; None if there is none with opposite normals.

        A solution beyond the end of its chart is where it is looked for in the next one.
        """
        x, turn = np.array(start, float), np.ascontiguousarray(R[None])
        origin = p + R @ self.offset
        for _ in range(CROSSED):
            self.set_charts(charts)
            status = closest_points(
                self.code, self.data, turn, origin[None], x, direction, self.work, self._matrix, self._order,
                1e-12 * (1.0 + np.abs(p).max()),
            )  # fmt: skip
            if status != OK or not self.work.R[0, :, 2] @ R @ self.work.R[1, :, 2] < 0.0:
                return None
            if all(s.charts[c].holds(x[2 * k : 2 * k + 2]) for k, (s, c) in enumerate(zip(self.surfaces, charts))):
                return charts, x
            was, charts = charts, self.held_at(charts, x)
            if charts == was:
                return None
        return None

    def _place(self, q):
        kernels.contact_pose(self.code, self.data, as_vector(q, 5, "q"), self.work)


def _numbers(values):
    return ", ".join(f"{x:.6g}" for x in values)
