# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Arrays of the collision pipeline, allocated once for a world."""

from __future__ import annotations

from typing import Annotated, NamedTuple

import numpy as np

from mb_contact.core.collision.manifold_clip import MAX_POINTS
from mb_contact.core.collision.shapes import RIM_CORNERS
from mb_contact.core.declare import Integers, Reals, allocate
from mb_contact.errors import InputError
from mb_contact.types import SHAPE_HEIGHT_FIELD, Contacts, Geoms

FIELD_POINTS = 512  #: candidates between a shape and a height field; a full list is reduced on the way
FIELD_PLANES = 64  #: planes of more than one triangle that are not looked at twice
WITNESS_SIZE = 4  #: floats per row of a witness array: normal from B to A (3), signed distance


class FieldWork(NamedTuple):
    """Scratch for the contacts with a height field: points of all its planes and edges before the reduction."""

    points: Annotated[Reals, "c", 6]  #: as of ManifoldWork
    ids: Annotated[Integers, "c"]
    normals: Annotated[Reals, "c", 3]  #: from the field to the shape
    group: Annotated[Integers, "c"]  #: of points whose normals are alike
    seen: Annotated[Integers, "s"]  #: planes that have been looked at


class ManifoldWork(NamedTuple):
    """Scratch of the manifold kernels; holds nothing from one step to the next."""

    frame: Annotated[Reals, 4, 3]  #: axes u, v, outward normal and origin of the reference face
    points: Annotated[Reals, "c", 6]  #: x y z gap and two scores; c is MAX_POINTS or more
    ids: Annotated[Integers, "c"]
    polygon: Annotated[Reals, 3, "c", 3]  #: polygon that is clipped, its copy, outline of the reference face
    name: Annotated[Integers, 3, "c"]  #: of their corners
    edge: Annotated[Integers, 3, "c"]  #: of their edges
    field: FieldWork


class CollisionBuffers(NamedTuple):
    """Everything between body poses and contacts; g geometries, m pairs."""

    geom_R: Annotated[Reals, "g", 3, 3]  #: geometry frame to world
    geom_p: Annotated[Reals, "g", 3]  #: geometry origin, world [m]
    lower: Annotated[Reals, "g", 3]  #: bounding boxes [m]
    upper: Annotated[Reals, "g", 3]
    order: Annotated[Integers, "g"]  #: the geometries along x, as the broad phase last found them
    travel: Annotated[Reals, "g", 4]  #: way of each geometry in a step, centre and turn [m]
    candidates: Annotated[Integers, "m"]  #: rows of Geoms.pairs
    reach: Annotated[Reals, "m"]  #: gap up to which candidates[i] makes contacts [m]
    witness: Annotated[Reals, "m", WITNESS_SIZE]  #: row i belongs to candidates[i]
    work: ManifoldWork


def make_buffers(geoms: Geoms) -> CollisionBuffers:
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
    work = make_manifold_work(_room(geoms))
    return allocate(CollisionBuffers, g=g, m=m, order=np.arange(g, dtype=np.int64), work=work)


def make_manifold_work(room: int) -> ManifoldWork:
    """Allocate the scratch of the manifold kernels for ``room`` candidate points a pair."""
    return allocate(ManifoldWork, c=room, field=allocate(FieldWork, c=FIELD_POINTS, s=FIELD_PLANES))


def _room(geoms):
    """Most candidate points of a pair: all vertices of a hull on a plane, or two polygons cut out of each other."""
    vertices = np.diff(geoms.first_vertex)[geoms.kind != SHAPE_HEIGHT_FIELD].max(initial=0)
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
    )
