# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of the collision pipeline, allocated once for a world."""

from typing import Annotated, Any, NamedTuple

import numpy as np

from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.core.collision.manifold_clip import MAX_POINTS
from mb_contact.core.collision.shapes import RIM_CORNERS
from mb_contact.core.collision.workspace import Swept, make_manifold_work
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.errors import InputError
from mb_contact.types import SHAPE_HEIGHT_FIELD, Contacts, Geoms

WITNESS_SIZE = 4  #: floats per row of a witness array: normal from B to A (3), signed distance


class CollisionBuffers(NamedTuple):
    """Everything between body poses and contacts; g geometries, m pairs."""

    geom_R: Annotated[Reals, "g", 3, 3]  #: geometry frame to world
    geom_p: Annotated[Reals, "g", 3]  #: geometry origin, world [m]
    lower: Annotated[Reals, "g", 3]  #: bounding boxes [m]
    upper: Annotated[Reals, "g", 3]
    swept: object  #: Swept
    resting: Annotated[Integers, "g"]  #: 1 for those of the world and of trees that sleep
    travel: Annotated[Reals, "g", 7]  #: of each geometry in a step: way of its centre, and by its turn [m]; turn [rad]
    candidates: Annotated[Integers, "m"]  #: rows of Geoms.pairs
    reach: Annotated[Reals, "m"]  #: gap up to which candidates[i] makes contacts [m]
    witness: Annotated[Reals, "m", WITNESS_SIZE]  #: row i belongs to candidates[i]
    asked: Annotated[Integers, "m"]  #: rows of Geoms.pairs without a closed form: what the engine is asked for
    asked_at: Annotated[Integers, "m"]  #: where they stand among the candidates
    asked_reach: Annotated[Reals, "m"]
    asked_witness: Annotated[Reals, "m", WITNESS_SIZE]
    found: Annotated[Integers, 2]  #: candidates, and how many of them Python has to ask the engine for
    engine: Annotated[Integers, 2]  #: addresses of one in machine code, zero where it lives in Python
    work: object  #: ManifoldWorkHandle


def make_buffers(geoms: Geoms, narrow: Any = None, candidates: int | None = None) -> CollisionBuffers:
    """Allocate the buffers of a world.

    Parameters
    ----------
    geoms : Geoms
    narrow : NarrowPhase, optional
        Which kernels call if it has an address; it has to live as long as the buffers.
    candidates : int, optional
        Room for so many pairs; by default for all.

    Returns
    -------
    CollisionBuffers
    """
    g = geoms.kind.shape[0]
    m = geoms.pairs.shape[0] if candidates is None else candidates
    work = make_manifold_work(_room(geoms), len(geoms.faces) if geoms.mesh.sided.any() else 0)
    swept = allocate(Swept, g=g, m=m, order=np.arange(g, dtype=np.int64), lower=np.ones((g, 3)))  # nothing is there
    resting = (np.asarray(geoms.body) < 0).astype(np.int64)
    engine = np.array(getattr(narrow, "address", (0, 0)), dtype=np.int64)
    return allocate(CollisionBuffers, g=g, m=m, swept=swept, resting=resting, engine=engine, work=work)


def ask_engine(narrow, buffers: CollisionBuffers) -> None:
    """Put the engine's witnesses of the pairs without a closed form in their places.

    Parameters
    ----------
    narrow : NarrowPhase
    buffers : CollisionBuffers
    """
    b, asked = buffers, int(buffers.found[ASKED])
    narrow.query(b.asked, asked, b.asked_reach, b.geom_R, b.geom_p, b.asked_witness)
    b.witness[b.asked_at[:asked]] = b.asked_witness[:asked]


def _room(geoms):
    """Most candidate points of a pair: all vertices of a hull on a plane, or two polygons cut out of each other."""
    vertices = np.diff(geoms.first_vertex)[geoms.kind < SHAPE_HEIGHT_FIELD].max(initial=0)
    corners = np.diff(geoms.first_corner).max(initial=RIM_CORNERS)
    return int(max(MAX_POINTS, vertices + 2, 2 * corners + 6))


def make_contacts(capacity: int) -> Contacts:
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
        spread=np.zeros((capacity, 3)),
        area=np.zeros(capacity),
    )
