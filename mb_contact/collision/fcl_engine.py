# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Narrow phase by python-fcl, the second engine: slower than coal, and a check on it.

What differs from coal: a distance query answers for separated shapes only, so a pair that touches or penetrates is
asked again for contacts (its signed distance now and then aborts the whole process); there is no tolerance to set, so
curved shapes are known to some 1e-6 m, and penetrating ones to some millimetres.  So only a direction is taken from it,
where ``exact_witnesses`` begins.  The solver must be libccd, for the other one gives sideways normals.  Planes never
reach it: its distance to them ends in a segmentation fault.
"""

import fcl
import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.collision.sizes import make_shape, order_key
from mb_contact.core.collision.manifolds import exact_witnesses
from mb_contact.core.handle import make_geoms_handle
from mb_contact.types import Geoms


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
        self._geoms, self._handle = geoms, make_geoms_handle(geoms)
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
        for i, row in enumerate(candidates[:count].tolist()):
            a, b = self._geoms.pairs[row].tolist()
            if self._objects[a] is None or self._objects[b] is None:
                continue
            for g in (a, b):
                if g not in fresh:
                    fresh.add(g)
                    self._objects[g].setTransform(fcl.Transform(geom_R[g], geom_p[g]))
            # always in the same order, whichever is called A: the iterations depend on it
            swapped = order_key(self._geoms, a) > order_key(self._geoms, b)
            witness[i, :3] = -self._ask(b, a) if swapped else self._ask(a, b)
        exact_witnesses(self._handle, geom_R, geom_p, candidates, count, reach, witness)

    def _make(self):
        geoms = self._geoms
        self._sizes = geoms.size.tobytes()
        shapes = [make_shape(fcl, geoms, g, _convex) for g in range(geoms.kind.shape[0])]
        self._objects = [None if shape is None else fcl.CollisionObject(shape) for shape in shapes]

    def _ask(self, a, b):
        """A vector from b to a, between the points where they are nearest or along a contact's normal; else zero."""
        apart, found = fcl.DistanceResult(), fcl.CollisionResult()
        if fcl.distance(self._objects[a], self._objects[b], self._distance, apart) > 0.0:
            between = np.subtract(apart.nearest_points[0], apart.nearest_points[1])
            return between / (np.linalg.norm(between) or 1.0)
        fcl.collide(self._objects[a], self._objects[b], self._collision, found)
        deepest = max(found.contacts, key=lambda contact: contact.penetration_depth, default=None)
        return np.zeros(3) if deepest is None else -np.asarray(deepest.normal)  # theirs points from the first one


def _convex(hull):
    faces = np.column_stack([np.full(len(hull.triangles), 3), hull.triangles]).ravel()
    return fcl.Convex(hull.vertices + hull.centre, len(hull.triangles), faces)
