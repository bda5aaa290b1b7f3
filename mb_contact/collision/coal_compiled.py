# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Narrow phase by coal without Python: the same queries as ``coal_engine.py``, by ``coal_narrow.cpp``.

Kernels call it by its address, which is in their buffers, so no compiled kernel holds it.
"""

import ctypes
import itertools
from typing import Any

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats
from mb_contact.collision.sizes import OWN, checked_size, hull_vertices
from mb_contact.errors import CollisionError
from mb_contact.model.shapes.hulls import convex_hull
from mb_contact.types import SHAPE_CONVEX, Geoms

#: coal's default of 1e-6 leaves errors of 1e-6 m at curved shapes; this costs 0.2 us more
TOLERANCE = 1e-9


class NarrowPhase:
    """Normals and signed distances of near pairs; see :class:`mb_contact.collision.coal_engine.NarrowPhase`.

    Parameters
    ----------
    geoms : Geoms
        The world's collision geometries; sizes are read anew at each query.
    library : ctypes.CDLL
        Of ``coal_library``.

    Attributes
    ----------
    address : tuple of int
        Of ``mb_coal_query``, and of the object that is its first argument.

    Raises
    ------
    CollisionError
        A size is not positive and finite, or coal refuses a shape.
    """

    def __init__(self, geoms: Geoms, library: Any) -> None:
        self._geoms, self._library = geoms, library
        hulls = []
        for g, kind in enumerate(geoms.kind.tolist()):
            if kind not in OWN:
                checked_size(geoms, g)
            hulls.append(_hull(geoms, g) if kind == SHAPE_CONVEX else _NONE)
        vertices, triangles = ([hull[i] for hull in hulls] for i in range(2))
        arrays = (
            _whole(geoms.kind), np.ascontiguousarray(geoms.size), _starts(vertices),
            np.concatenate([*vertices, np.zeros((0, 3))]), _starts(triangles),
            _whole(np.concatenate([*triangles, np.zeros((0, 3), np.int64)])),
        )  # fmt: skip
        pointers = (array.ctypes.data for array in arrays)
        self._object = library.mb_coal_make(len(hulls), *pointers, TOLERANCE, geoms.unit[0])
        if not self._object:
            raise CollisionError("coal refuses a shape of this world")
        query = ctypes.cast(library.mb_coal_query, ctypes.c_void_p).value or 0
        self.address = query, self._object

    def __del__(self) -> None:
        if getattr(self, "_object", None):
            self._library.mb_coal_drop(self._object)

    def query(
        self,
        candidates: npt.NDArray[np.int64],
        count: int,
        reach: Floats,
        geom_R: Floats,
        geom_p: Floats,
        witness: Floats,
    ) -> None:
        """Fill the witness rows of the candidates that have neither plane nor height field; arguments as coal's.

        Raises
        ------
        RuntimeError
            What coal has thrown.
        """
        arrays = candidates, reach, self._geoms.pairs, self._geoms.size, geom_R, geom_p, witness
        if self._library.mb_coal_query(self._object, count, *(array.ctypes.data for array in arrays)):
            raise RuntimeError(self._library.mb_coal_failure(self._object).decode())


_NONE = np.zeros((0, 3)), np.zeros((0, 3), np.int64)


def _hull(geoms, g):
    """Vertices and triangles of a hull, as ``coal_engine.py`` has them."""
    vertices = hull_vertices(geoms, g)
    hull = convex_hull(vertices, most=len(vertices))
    return hull.vertices + hull.centre, hull.triangles


def _whole(array):
    return np.ascontiguousarray(array, dtype=np.int64)


def _starts(parts):
    """Where each part begins when they stand one after the other, and where the last one ends."""
    return np.array([0, *itertools.accumulate(map(len, parts))], dtype=np.int64)
