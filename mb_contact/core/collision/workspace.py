# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scratch of the collision kernels; nothing in it from one step to the next changes a result."""

from typing import Annotated, NamedTuple

from mb_contact.compile.handles import handle
from mb_contact.core.declare import Integers, Reals, allocate

FIELD_POINTS = 512  #: candidates between a shape and a height field; a full list is reduced on the way
FIELD_PLANES = 64  #: planes of more than one triangle that are not looked at twice


class FieldWork(NamedTuple):
    """Scratch for the contacts with a height field: points of all its planes and edges before the reduction."""

    points: Annotated[Reals, "c", 6]  #: as of ManifoldWork
    ids: Annotated[Integers, "c"]
    normals: Annotated[Reals, "c", 3]  #: from the field to the shape
    group: Annotated[Integers, "c"]  #: of points whose normals are alike
    seen: Annotated[Integers, "s"]  #: planes that have been looked at


class MeshWork(NamedTuple):
    """Scratch for the contacts with triangle meshes."""

    near: Annotated[Integers, "t"]  #: triangles whose boxes are near
    next: Annotated[Integers, "t"]  #: of each of them the place of the next one in its plane, or -1
    first: Annotated[Integers, "t"]  #: of each plane the place of the first one
    seen: Annotated[Integers, "t"]  #: and the last query that has looked at it
    query: Annotated[Integers, 3]  #: its number; 1 on the way of a step, where features may overlap deeply; 1 if soft
    walled: Annotated[Integers, 1]  #: points left out on that way that may have come through a wall
    pairs: Annotated[Integers, 1]  #: of leaves of two meshes, whose triangles were compared
    limit: Annotated[Reals, 2]  #: deepest overlap on that way, and how deep features may be at its start [m]
    stack: Annotated[Integers, 1024]  #: nodes that wait
    relative: Annotated[Reals, 4, 3]  #: axes and origin of X in the axes of Y,
    start: Annotated[Reals, 4, 3]  #: those where the step starts,
    way: Annotated[Reals, 4, 3]  #: and A, b of the way A p + b of X's point at p since then
    own: Annotated[Reals, 2, 3]  #: box around a convex shape X in its own axes, lower and upper corner [m]
    alike: Annotated[Integers, 2, "c"]  #: chains of points with normals that may be alike: their heads, what follows
    points: Annotated[Reals, "c", 4]  #: of FieldWork, in the order of their planes
    ids: Annotated[Integers, "c"]
    normals: Annotated[Reals, "c", 3]


class ManifoldWork(NamedTuple):
    """Of the contacts of one pair."""

    frame: Annotated[Reals, 4, 3]  #: axes u, v, outward normal and origin of the reference face
    points: Annotated[Reals, "c", 6]  #: x y z gap and two scores; c is MAX_POINTS or more
    ids: Annotated[Integers, "c"]
    travel: Annotated[Reals, 2, 7]  #: of X and of Y, where Y is a mesh or a height field (``shape_travel``)
    turn: Annotated[Reals, 3]  #: of the first shape against the second one in the step, world [rad]
    polygon: Annotated[Reals, 3, "c", 3]  #: polygon that is clipped, its copy, outline of the reference face
    name: Annotated[Integers, 3, "c"]  #: of their corners
    edge: Annotated[Integers, 3, "c"]  #: of their edges
    field: FieldWork
    mesh: MeshWork


ManifoldWorkHandleType, ManifoldWorkHandle, _handle_of = handle(ManifoldWork)


def make_manifold_work(room: int, triangles: int = 0) -> ManifoldWorkHandle:
    """Allocate the scratch of the manifold kernels for ``room`` candidate points a pair, and so many triangles."""
    field = allocate(FieldWork, c=FIELD_POINTS, s=FIELD_PLANES)
    mesh = allocate(MeshWork, c=FIELD_POINTS if triangles > 0 else 0, t=triangles)
    return _handle_of(allocate(ManifoldWork, c=room, field=field, mesh=mesh))


class Swept(NamedTuple):
    """What the broad phase keeps from step to step; whatever stands there, its result is the same."""

    order: Annotated[Integers, "g"]  #: the geometries along an axis, as they were last found
    #: that axis; how many rows there are, how many calls they have served, calls until wider boxes are tried again
    state: Annotated[Integers, 4]
    lower: Annotated[Reals, "g", 3]  #: boxes within which those of the geometries stay for a while [m]
    upper: Annotated[Reals, "g", 3]
    rows: Annotated[Integers, "m"]  #: rows of Geoms.pairs whose boxes overlap there, ascending


class Motion(NamedTuple):
    """How the two shapes of a pair move from one pose to another (``meeting.py``)."""

    R: Annotated[Reals, 2, 3, 3]  #: axes at the start
    p: Annotated[Reals, 2, 3]  #: origins of their bodies there, world [m]
    arm: Annotated[Reals, 2, 3]  #: from there to the centres of the shapes [m]
    way: Annotated[Reals, 2, 3]  #: of the origins [m]
    turn: Annotated[Reals, 2, 3]  #: rotation vectors, world [rad]
    time: Annotated[Reals, 1]  #: where the search is, from 0 to 1
    bearing: Annotated[Reals, 1, 3]  #: rotation vector of its direction, of the whole motion [rad]
    before: Annotated[Reals, 4]  #: moment and normal of the look before, -1 where there was none
