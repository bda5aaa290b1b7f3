# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Smooth parametric surfaces: an atlas of charts, exact derivatives, contact frames and Montana's forms."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces.frames import surface_frame
from mb_contact.core.surfaces.shapes import surface_derivatives
from mb_contact.errors import InputError
from mb_contact.surfaces.charts import Chart

GRID = 13  #: points along each side of a chart from which Newton's method starts
NEAREST = 16  #: charts in which a point is looked for
ON_SURFACE = 1e-9  #: a point this near, in lengths of the surface, lies on it


class SurfaceDerivatives(NamedTuple):
    """Point and partial derivatives (3,) at (s, t) [m per unit of s and t], axes of the body.

    Examples
    --------
    >>> D = mb.surfaces.cylinder(2.0).derivatives((0.0, 1.0))
    >>> D.c, D.s, D.t, D.ss
    (array([2., 0., 1.]), array([0., 2., 0.]), array([0., 0., 1.]), array([-2., 0., 0.]))
    """

    c: Floats
    s: Floats
    t: Floats
    ss: Floats
    st: Floats
    tt: Floats
    sss: Floats
    sst: Floats
    stt: Floats
    ttt: Floats


class SurfaceForms(NamedTuple):
    """Montana's forms in the normalised frame; lengths along its axes are ``metric @ du``.

    Examples
    --------
    >>> forms = mb.surfaces.sphere(0.1).forms((0.3, 0.2))
    >>> forms.gaussian, forms.mean, forms.curvature
    (100.0, 10.0, array([[10., 0.], [0., 10.]]))
    """

    frame: Floats  #: (3, 3), columns x, y, z (the normal)
    metric: Floats  #: (2, 2), upper triangular, [[x.c_s, x.c_t], [0, y.c_t]]
    curvature: Floats  #: (2, 2), symmetric: change of the normal per length [1/m]; positive for a ball
    torsion: Floats  #: (2,), turn of the frame about its normal per length [1/m]

    @property
    def gaussian(self) -> float:
        """Gaussian curvature.

        Returns
        -------
        float
            [1/m^2]
        """
        return float(np.linalg.det(self.curvature))

    @property
    def mean(self) -> float:
        """Mean curvature.

        Returns
        -------
        float
            [1/m]; positive for a ball.
        """
        return 0.5 * float(np.trace(self.curvature))


class Surface:
    """A smooth surface fixed in a body.

    Parameters
    ----------
    charts : sequence of Chart
        Where they overlap or meet they must describe one surface, twice continuously.
    name : str
        For messages.
    side : {1, -1}
        Whether the normal, which points out of the body, is along c_s x c_t or against it.
    R, p : array_like (3, 3), (3,)
        Placement in the body; p in metres.

    Raises
    ------
    InputError
        No chart, another side, or R is no rotation.

    Examples
    --------
    >>> ball = mb.surfaces.sphere(0.1).placed(p=(0.0, 0.0, 1.0))
    >>> ball.point((0.0, 0.0))
    array([0.1, 0. , 1. ])
    >>> ball.frame((0.0, 0.0))[:, 2], ball.flipped().frame((0.0, 0.0))[:, 2]  # the normal, outwards and inwards
    (array([1., 0., 0.]), array([-1., 0., 0.]))
    >>> chart, u, distance = ball.locate((0.3, 0.0, 1.0))
    >>> u, distance
    (array([0., 0.]), 0.2)
    >>> grid, points = ball.samples(0, count=4)
    >>> grid.shape, points.shape, np.allclose(ball.points(grid), points)
    ((16, 2), (16, 3), True)
    >>> code, data = ball.pack(0)
    """

    def __init__(
        self,
        charts: Sequence[Chart],
        name: str = "surface",
        side: int = 1,
        R: ArrayLike | None = None,
        p: ArrayLike | None = None,
    ) -> None:
        self.charts = tuple(charts)
        if not self.charts or not all(isinstance(chart, Chart) for chart in self.charts):
            raise InputError("a surface needs at least one chart")
        if side not in (1, -1):
            raise InputError(f"side must be 1 or -1, got {side}")
        self.name = name
        self.side = side
        self.R = np.eye(3) if R is None else as_matrix(R, (3, 3), "R")
        self.p = np.zeros(3) if p is None else as_vector(p, 3, "p")
        if np.abs(self.R.T @ self.R - np.eye(3)).max() > 1e-9 or np.linalg.det(self.R) < 0.0:
            raise InputError(f"R of {name} must be a rotation")
        self._work = layout.make_surface_work()
        self._packed: dict[int, tuple[Any, Floats]] = {}
        self._grid: Any = None

    def __repr__(self):
        return f"Surface('{self.name}', {len(self.charts)} chart{'s' if len(self.charts) > 1 else ''})"

    def flipped(self) -> Surface:
        """The same surface seen from its other side: the inside of a bowl.

        Returns
        -------
        Surface
        """
        return Surface(self.charts, self.name, -self.side, self.R, self.p)

    def placed(self, R: ArrayLike | None = None, p: ArrayLike | None = None) -> Surface:
        """The same surface placed elsewhere in its body: first as it was, then turned by R and shifted by p.

        Parameters
        ----------
        R : array_like (3, 3), optional
        p : array_like (3,), optional
            [m]

        Returns
        -------
        Surface
        """
        R = np.eye(3) if R is None else as_matrix(R, (3, 3), "R")
        p = np.zeros(3) if p is None else as_vector(p, 3, "p")
        return Surface(self.charts, self.name, self.side, R @ self.R, R @ self.p + p)

    def pack(self, chart: int, offset: ArrayLike = (0.0, 0.0, 0.0)) -> tuple[npt.NDArray[np.int64], Floats]:
        """A chart as the kernels take it, the origin of the body moved.

        Parameters
        ----------
        chart : int
        offset : array_like (3,)
            To where, in axes of the body [m].

        Returns
        -------
        code, data : ndarray of int, ndarray
        """
        part = self.charts[chart]
        return part.code(self.side), part.data(self.R, self.p - np.asarray(offset, float))

    def derivatives(self, u: ArrayLike, chart: int = 0) -> SurfaceDerivatives:
        """Point and partial derivatives up to the third, in axes of the body.

        Parameters
        ----------
        u : array_like (2,)
            Coordinates (s, t) of the chart.
        chart : int

        Returns
        -------
        SurfaceDerivatives

        Raises
        ------
        InputError
            u is no pair of finite numbers, or there is no such chart.

        Examples
        --------
        >>> mb.surfaces.plane().derivatives((0.2, 0.3)).c
        array([0.2, 0.3, 0. ])
        """
        self._evaluate(u, chart)
        return SurfaceDerivatives(*self._work.D[0].copy())

    def point(self, u: ArrayLike, chart: int = 0) -> Floats:
        """Point at u.

        Parameters
        ----------
        u : array_like (2,)
            Coordinates (s, t) of the chart.
        chart : int

        Returns
        -------
        ndarray (3,)
            Axes of the body [m].
        """
        self._evaluate(u, chart)
        return self._work.D[0, 0].copy()

    def frame(self, u: ArrayLike, chart: int = 0) -> Floats:
        """Normalised contact frame at u (P00 section 6).

        Parameters
        ----------
        u : array_like (2,)
            Coordinates (s, t) of the chart.
        chart : int

        Returns
        -------
        ndarray (3, 3)
            Columns x along c_s, y, and the normal z, axes of the body.
        """
        return self.forms(u, chart).frame

    def forms(self, u: ArrayLike, chart: int = 0) -> SurfaceForms:
        """Metric, curvature and torsion forms at u (P00 section 6).

        Parameters
        ----------
        u : array_like (2,)
            Coordinates (s, t) of the chart.
        chart : int

        Returns
        -------
        SurfaceForms

        Raises
        ------
        InputError
            c_s and c_t are not independent there (a pole of the chart).

        Examples
        --------
        >>> mb.surfaces.cylinder(0.5).forms((0.0, 0.0)).curvature
        array([[2., 0.], [0., 0.]])
        """
        code = self._evaluate(u, chart)
        work = self._work
        surface_frame(code, 0, work.D, work.R, work.A, work.W)
        A, W = work.A[0].copy(), work.W[0]
        lengths = abs(A[0, 0]), abs(A[1, 1])
        if not (np.isfinite(W).all() and min(lengths) > 1e-14 * max(lengths)):
            place = ", ".join(f"{x:g}" for x in np.asarray(u))
            raise InputError(f"chart {chart} of {self.name} is singular at ({place}): it has no frame there")
        back = np.linalg.inv(A)
        return SurfaceForms(work.R[0].copy(), A, np.array([W[1], -W[0]]) @ back, W[2] @ back)

    def locate(
        self, point: ArrayLike, chart: int | None = None, guess: ArrayLike | None = None
    ) -> tuple[int, Floats, float]:
        """Chart and coordinates of a point of the surface, or of the point near it that Newton's method finds.

        Parameters
        ----------
        point : array_like (3,)
            Axes of the body [m].
        chart : int, optional
            Only this one; otherwise the first chart that holds the point, of those whose grids are nearest.
        guess : array_like (2,), optional

        Returns
        -------
        chart : int
        u : ndarray (2,)
        distance : float
            Of the point from c(u) [m].
        """
        point = as_vector(point, 3, "point")
        best: Any = None
        near = ON_SURFACE * (1.0 + np.abs(point).max())
        for index in self._nearest_charts(point) if chart is None else (chart,):
            u = self._foot(point, index, guess)
            distance = float(np.linalg.norm(self.point(u, index) - point))
            rank = (not self.charts[index].holds(u), distance)
            if best is None or rank < best[0]:
                best = rank, (index, u, distance)
            if best[0] <= (False, near):
                break
        return best[1]

    def samples(self, chart: int, count: int = GRID) -> tuple[Floats, Floats]:
        """Coordinates and points on a grid of a chart.

        Parameters
        ----------
        chart : int
        count : int
            Along each side.

        Returns
        -------
        u : ndarray (count^2, 2)
        points : ndarray (count^2, 3)
            [m]
        """
        grid = self.charts[chart].samples(count)
        return grid, self.points(grid, chart)

    def points(self, u: Floats, chart: int = 0) -> Floats:
        """Points at several u, which must be finite.

        Parameters
        ----------
        u : ndarray (k, 2)
        chart : int

        Returns
        -------
        ndarray (k, 3)
            Axes of the body [m].
        """
        self._evaluate(u[0], chart)
        (code, data), work, out = self._packed[chart], self._work, np.empty((len(u), 3))
        for i in range(len(u)):
            surface_derivatives(code, data, 0, u[i, 0], u[i, 1], work.basis, work.partial, work.homogeneous, work.D)
            out[i] = work.D[0, 0]
        return out

    def _nearest_charts(self, point):
        """Charts by the distance of their grids from a point, the nearest first."""
        if self._grid is None:
            parts = [self.samples(chart)[1] for chart in range(len(self.charts))]
            self._grid = np.concatenate(parts), np.cumsum([0, *map(len, parts[:-1])])
        points, starts = self._grid
        square = np.square(points - point).sum(1)
        return np.argsort(np.minimum.reduceat(square, starts), kind="stable")[:NEAREST].tolist()

    def _foot(self, point, chart, guess):
        """Gauss-Newton from the guess or the nearest point of a grid: du = (C*C)^-1 C* (point - c)."""
        if guess is None:
            grid, points = self.samples(chart)
            guess = grid[np.argmin(np.linalg.norm(points - point, axis=1))]
        u = np.array(guess, float)
        for _ in range(60):
            D = self.derivatives(u, chart)
            C = np.stack((D.s, D.t), 1)
            du = np.linalg.lstsq(C, point - D.c, rcond=1e-12)[0]
            u += du * min(1.0, 0.5 / max(np.abs(du).max(), 1e-300))
            if np.abs(du).max() < 1e-15 * (1.0 + np.abs(u).max()):
                break
        return u

    def _evaluate(self, u, chart):
        u = as_vector(u, 2, "u")
        if not 0 <= chart < len(self.charts):
            raise InputError(f"{self.name} has charts 0 to {len(self.charts) - 1}, not {chart}")
        if chart not in self._packed:
            code, data = self.pack(chart)
            self._packed[chart] = code[None], data
        code, data = self._packed[chart]
        work = self._work
        surface_derivatives(code, data, 0, u[0], u[1], work.basis, work.partial, work.homogeneous, work.D)
        return code
