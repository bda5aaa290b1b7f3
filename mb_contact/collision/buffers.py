# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of the collision pipeline, allocated once for a world."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.core.manifold_faces import MAX_POINTS
from mb_contact.errors import InputError
from mb_contact.types import Contacts

WITNESS_SIZE = 4  #: floats per row of a witness array: normal from B to A (3), signed distance


class ManifoldWork(NamedTuple):
    """Scratch of the manifold kernels; holds nothing from one step to the next."""

    normal: np.ndarray  #: (3,)
    frame: np.ndarray  #: (4, 3), axes u, v, outward normal and origin of the reference face
    feature: np.ndarray  #: (4, 3), the other shape's feature, in that frame
    points: np.ndarray  #: (MAX_POINTS, 6), x y z gap and two scores
    ids: np.ndarray  #: int64 (MAX_POINTS,)


class CollisionBuffers(NamedTuple):
    """Everything between body poses and contacts; g geometries, m pairs."""

    geom_R: np.ndarray  #: (g, 3, 3), geometry frame to world
    geom_p: np.ndarray  #: (g, 3), geometry origin, world [m]
    lower: np.ndarray  #: (g, 3), bounding boxes [m]
    upper: np.ndarray  #: (g, 3)
    travel: np.ndarray  #: (g, 4), way of each geometry in a step, centre and turn [m]
    candidates: np.ndarray  #: int64 (m,), rows of Geoms.pairs
    reach: np.ndarray  #: (m,), gap up to which candidates[i] makes contacts [m]
    witness: np.ndarray  #: (m, WITNESS_SIZE), row i belongs to candidates[i]
    work: ManifoldWork


def make_buffers(geoms):
    """Allocate the buffers of a world.

    Parameters
    ----------
    geoms : Geoms

    Returns
    -------
    CollisionBuffers
    """
    g = geoms.kind.shape[0]
    m = geoms.pairs.shape[0]
    work = ManifoldWork(
        normal=np.zeros(3),
        frame=np.zeros((4, 3)),
        feature=np.zeros((4, 3)),
        points=np.zeros((MAX_POINTS, 6)),
        ids=np.zeros(MAX_POINTS, dtype=np.int64),
    )
    return CollisionBuffers(
        geom_R=np.zeros((g, 3, 3)),
        geom_p=np.zeros((g, 3)),
        lower=np.zeros((g, 3)),
        upper=np.zeros((g, 3)),
        travel=np.zeros((g, 4)),
        candidates=np.zeros(m, dtype=np.int64),
        reach=np.zeros(m),
        witness=np.zeros((m, WITNESS_SIZE)),
        work=work,
    )


def make_contacts(capacity):
    """Allocate room for ``capacity`` contact points.

    Raises
    ------
    InputError
        The capacity is not a positive integer.
    """
    if isinstance(capacity, bool) or not isinstance(capacity, (int, np.integer)) or capacity < 1:
        raise InputError(f"capacity must be a positive integer, got {capacity!r}")
    return Contacts(
        count=np.zeros(1, dtype=np.int64),
        pair=np.zeros(capacity, dtype=np.int64),
        feature=np.zeros(capacity, dtype=np.int64),
        point=np.zeros((capacity, 3)),
        normal=np.zeros((capacity, 3)),
        gap=np.zeros(capacity),
    )
