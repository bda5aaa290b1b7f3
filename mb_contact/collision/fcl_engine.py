# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Narrow phase by python-fcl, the second engine: slower than coal, and a check on it.

What differs from coal: a distance query answers for separated shapes only, so a pair that touches or penetrates is
asked again for contacts, whose depth is positive (its signed distance now and then aborts the whole process); there is
no tolerance to set, so curved shapes are known to some 1e-6 m; the solver must be libccd, for the other one gives
sideways normals.  Planes never reach it: its distance to them ends in a segmentation fault.
"""

import math

import fcl
import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.collision.sizes import make_shape, order_key
from mb_contact.types import Geoms

LEAD = 0.02  #: how far near or penetrating shapes are moved apart to look at them again [m]
ASCENT = 20  #: looks at most


class NarrowPhase:
    """Normals and signed distances of near pairs; see :class:`mb_contact.collision.coal_engine.NarrowPhase`.

    Parameters
    ----------
    geoms : Geoms
        The world's collision geometries.

    Raises
    ------
    CollisionError
        A size is not positive and finite.
    """

    def __init__(self, geoms: Geoms) -> None:
        self._geoms = geoms
        self._make()
        solver = fcl.GJKSolverType.GST_LIBCCD
        self._distance = fcl.DistanceRequest(
            enable_nearest_points=True, enable_signed_distance=False, gjk_solver_type=solver
        )
        self._collision = fcl.CollisionRequest(num_max_contacts=16, enable_contact=True, gjk_solver_type=solver)

    def query(
        self,
        candidates: npt.NDArray[np.int64],
        count: int,
        reach: Floats,
        geom_R: Floats,
        geom_p: Floats,
        witness: Floats,
    ) -> None:
        """Fill the witness rows of the candidates that have neither plane nor height field; arguments as coal's."""
        if self._sizes != self._geoms.size.tobytes():
            self._make()
        fresh = set()
        rows = zip(candidates[:count].tolist(), reach[:count].tolist())
        for i, (row, far) in enumerate(rows):
            a, b = self._geoms.pairs[row].tolist()
            if self._objects[a] is None or self._objects[b] is None:
                continue
            for g in (a, b):
                if g not in fresh:
                    fresh.add(g)
                    self._objects[g].setTransform(fcl.Transform(geom_R[g], geom_p[g]))
            # always in the same order, whichever is called A: the iterations depend on it
            swapped = order_key(self._geoms, a) > order_key(self._geoms, b)
            distance, normal = self._ask(b, a) if swapped else self._ask(a, b)
            witness[i, 3] = distance
            if distance <= far:
                witness[i, :3] = -normal if swapped else normal

    def _make(self):
        geoms = self._geoms
        self._sizes = geoms.size.tobytes()
        shapes = [make_shape(fcl, geoms, g, _convex) for g in range(geoms.kind.shape[0])]
        self._objects = [None if shape is None else fcl.CollisionObject(shape) for shape in shapes]

    def _ask(self, a, b):
        """Signed distance, and the unit normal from b to a (zero where the engine knows none)."""
        distance, normal = self._apart(a, b)
        if distance > LEAD:
            return distance, normal
        if distance > 0.0:  # the nearest points are known to 1e-6 m, so this near they tell no good direction
            return self._ascend(a, b, normal, -distance)
        found = fcl.CollisionResult()
        fcl.collide(self._objects[a], self._objects[b], self._collision, found)
        if not found.contacts:
            return distance, normal
        deepest = max(found.contacts, key=lambda contact: contact.penetration_depth)
        # theirs points from the first to the second
        return self._ascend(a, b, -np.asarray(deepest.normal), deepest.penetration_depth)

    def _apart(self, a, b):
        """Distance of separated shapes and the normal from b to a; of others -1."""
        result = fcl.DistanceResult()
        distance = fcl.distance(self._objects[a], self._objects[b], self._distance, result)
        if distance > 0.0:
            normal = np.subtract(result.nearest_points[0], result.nearest_points[1])
            length = math.sqrt(float(normal @ normal))
            if length > 0.0:
                return distance, normal / length
        return distance, np.zeros(3)

    def _ascend(self, a, b, normal, depth):
        """Better normal and signed distance of shapes that are near or penetrate, from a rough normal and depth.

        Moved apart by t along n, the shapes are s(m) + t m.n
        apart along any m.  The m of their nearest points makes this largest, so s(m) >= s(n) + t (1 - m.n): the
        separation grows with each step, to a normal along which it is largest.
        """
        R, p = self._objects[a].getRotation(), self._objects[a].getTranslation()
        best = -depth
        for _ in range(ASCENT):
            way = LEAD - best
            self._objects[a].setTransform(fcl.Transform(R, p + way * normal))
            distance, other = self._apart(a, b)
            if distance <= 0.0:
                break
            cosine = float(other @ normal)
            best, normal = distance - way * cosine, other
            if cosine > 1.0 - 1e-14:
                break
        self._objects[a].setTransform(fcl.Transform(R, p))
        return best, normal


def _convex(hull):
    faces = np.column_stack([np.full(len(hull.triangles), 3), hull.triangles]).ravel()
    return fcl.Convex(hull.vertices + hull.centre, len(hull.triangles), faces)
