# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Subdivision surfaces: what a cage of polygons ends in by Catmull and Clark's rule, as charts of splines.

A face of four corners about which four faces meet each is a bicubic B-spline patch of the 16 points around it.  Other
faces are refined until they are such, but for the one corner of theirs that is extraordinary: there is another ring of
patches in each step, each by the eigenvalue of the cage smaller, down to CAP.  Within the last ring no step changes
more than rounding, and the limits of its vertices, the tangents of the limit surface and the curvature of the ring
make one more patch.  Every ring's points are relative to the limit of its vertex, so they keep all their digits.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.errors import InputError, SceneError
from mb_contact.model.resources import find_resource
from mb_contact.surfaces.cages import checked_cage
from mb_contact.surfaces.charts import bezier_chart, spline_chart
from mb_contact.surfaces.surface import Surface

CAP = 1e-8  #: radius of the last ring, in lengths of the cage
ROOM = 1.1  #: of the patch within it, in its radius
PATCH = spline_chart(np.zeros((4, 4, 3)), *2 * [np.arange(-3.0, 5.0)])  #: a uniform bicubic span from 0 to 1
GRID_FACES = 64  #: faces of a cage that each have a whole grid
BEZIER = np.array([[1.0, 0.0, 0.0], [-0.5, 2.0, -0.5], [0.0, 0.0, 1.0]])  #: control points of a parabola by its values


def subdivision(points: ArrayLike, faces: Sequence[Sequence[int]], name: str = "subdivision") -> Surface:
    """The limit surface of a cage of polygons by Catmull and Clark's rule.

    Where the cage is a regular net it is the uniform bicubic B-spline of the same control points.  Along a border it
    ends in the cubic B-spline of the border's vertices, in a vertex of one face alone in the vertex itself.

    Parameters
    ----------
    points : array_like (n, 3)
        [m]
    faces : sequence of sequences of int
        Numbers of the points of each face from 0, counterclockwise as seen from outside.
    name : str
        For messages.

    Returns
    -------
    Surface
        A chart for each regular face, and rings of them about extraordinary vertices; coordinates from 0 to 1.

    Raises
    ------
    InputError
        Points or faces that are none, more than two faces at an edge, faces wound against each other, or inwards.

    Examples
    --------
    >>> net = [(i, j, 0.0) for i in range(4) for j in range(4)]
    >>> faces = [(4 * i + j, 4 * i + j + 4, 4 * i + j + 5, 4 * i + j + 1) for i in range(3) for j in range(3)]
    >>> sheet = mb.surfaces.subdivision(net, faces)
    >>> sheet, sheet.point((0.5, 0.5), 4)
    (Surface('subdivision', 9 charts), array([1.5, 1.5, 0. ]))
    """
    return Surface(_charts(checked_cage(points, faces)), name)


def _charts(cage):
    """Charts of a cage's limit surface, ring by ring."""
    charts, smallest = [], CAP * np.ptp(cage.points, axis=0).max()
    share = min(1.0, np.sqrt(GRID_FACES / len(cage.sizes)))
    faces, base = np.arange(len(cage.sizes)), np.zeros((len(cage.sizes), 3))  # those that matter; origins of all
    while True:
        odd = cage.odd[cage.vertex]
        count = np.bincount(cage.face, odd, len(cage.sizes))[faces]
        whole = faces[count == 0]
        nets = np.pad(cage.nets(whole), [(0, 0)] * 3 + [(0, 1)], constant_values=1.0)
        charts += [replace(PATCH, net=net, origin=origin, share=share) for net, origin in zip(nets, base[whole])]
        faces, groups, shift = faces[count > 0], np.zeros(np.sum(count > 0), int), np.zeros((1, 3))
        if len(faces) and (count[count > 0] == 1).all():  # each of them has one extraordinary vertex
            limits = cage.limits()
            chosen = np.isin(cage.face, faces)
            middles, groups = np.unique(cage.vertex[chosen & odd], return_inverse=True)
            shift = limits[middles]
            radius = np.zeros(len(middles))
            np.maximum.at(radius, np.repeat(groups, 4), np.linalg.norm(
                cage.points[cage.vertex[chosen]] - np.repeat(shift[groups], 4, axis=0), axis=1))  # fmt: skip
            ended = radius <= smallest
            for k in np.flatnonzero(ended & ~cage.open[middles]):
                charts.append(_cap(cage, limits, middles[k], base[faces[np.argmax(groups == k)]], share))
            kept = ~ended[groups]
            faces, groups = faces[kept], (np.cumsum(~ended) - 1)[groups[kept]]
            shift = shift[~ended]
        if not len(faces):
            return charts
        groups, near, inside = cage.touching(faces, groups)
        part = cage.part(groups, near, shift)
        cage, share = part.refined(), 0.5 * share
        base = np.repeat(base[near] + shift[groups], part.sizes, axis=0)
        faces = np.flatnonzero(np.repeat(inside, part.sizes))


def _cap(cage, limits, vertex, base, share):
    """The patch within the last ring about a vertex: a paraboloid through its limit and those of its ring."""
    ring = np.concatenate(cage.ring(vertex))
    x, y = cage.tangents(vertex)
    normal = np.cross(x, y) / np.linalg.norm(np.cross(x, y))
    x = x / np.linalg.norm(x)
    axes = np.stack((x, np.cross(normal, x), normal))
    a, b, height = axes @ (limits[ring] - limits[vertex]).T
    curvature = np.linalg.lstsq(np.stack((0.5 * a * a, a * b, 0.5 * b * b), 1), height, rcond=None)[0]
    reach = ROOM * np.hypot(a, b).max()
    s, t = np.meshgrid(*[reach * np.array([-1.0, 0.0, 1.0])] * 2, indexing="ij")
    paraboloid = 0.5 * curvature[0] * s * s + curvature[1] * s * t + 0.5 * curvature[2] * t * t
    values = np.stack((s, t, paraboloid), -1)
    net = np.einsum("ia,jb,abc->ijc", BEZIER, BEZIER, values) @ axes
    return replace(bezier_chart(net), origin=base + limits[vertex], share=share)


def load_cage(path: str | Path, name: str | None = None) -> Surface:
    """The limit surface of the cage in an OBJ file, of its lines ``v`` and ``f``; other lines say nothing here.

    Parameters
    ----------
    path : str or Path
        Also as a ``package://`` address.
    name : str, optional
        Of the surface; the file's by default.

    Returns
    -------
    Surface
        Lengths as in the file [m].

    Raises
    ------
    SceneError
        No such file, a line that is not well formed, or no cage; names the file and the line.

    Examples
    --------
    >>> mb.surfaces.load_cage("package://mb_contact/config/nets/pebble.obj").name
    'pebble'
    """
    try:
        file = find_resource(path)
        text = file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise SceneError(f"no cage: {error}") from None
    points, faces = [], []
    for number, line in enumerate(text.splitlines(), 1):
        kind, *words = line.split("#")[0].split() or [""]
        try:
            if kind == "v":
                points.append([float(word) for word in words[:3]])
                points[-1][2]
            elif kind == "f":
                corners = [int(word.split("/")[0]) for word in words]
                faces.append([corner - 1 if corner > 0 else len(points) + corner for corner in corners])
        except (ValueError, IndexError):
            raise SceneError(f"{file}:{number}: must be 'v x y z' or 'f' and vertices, got '{line}'") from None
    try:
        return subdivision(points, faces, name or file.stem)
    except InputError as error:
        raise SceneError(f"{file}: {error}") from None
