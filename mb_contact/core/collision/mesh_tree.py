# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which triangles of a mesh are near: its tree of boxes; and what is told of a triangle, a ridge, a vertex.

A *ridge* is an edge from which the triangles on both sides fall off, or the border of a sheet: contacts at it may have
the normals between those of its sides.  A *peak* is a vertex; it may have those normals along which no neighbour
rises above it.  Edges within a plane, or from which a side rises, have none.
"""

import math

from mb_contact.core.collision.shapes import into_body, out_of_body, place
from mb_contact.core.jit import kernel
from mb_contact.core.tree.spatial import (
    ZERO,
    between,
    put_vector,
    unit_of,
    vector,
    vector_dot,
    vector_product,
    vector_sum,
)
from mb_contact.types import HOLLOW, SHAPE_CONE

TOUCHES = 1e-7  #: gap up to which features of meshes touch, and play of inside tests [m]
SHARP = 1.3  #: angle of an edge below which a convex shape is sharp [rad]
CLOSED, SHEET = 1, 2  #: of ``Meshes.sided``
DEEPEST = 0.5  #: part of the smallest half width up to which shapes may be in each other at a feature,
DEEPEST_OF_SOFT = 1.0  #: the same of shapes that give way,
SHALLOW = 1e-6  #: and depth that is surely one [m]
ASIDE = 1.415  #: depth of a new feature, in ways of its points: sqrt(2) at most, for one that comes over an edge


@kernel
def near_triangles(geoms, y, lower, upper, turned, work):
    """Triangles of mesh y whose leaves meet a box in the mesh's axes, to ``work.mesh.near``; returns their number.

    Where ``turned``, they meet ``work.mesh.own`` too, the box in the axes of the shape that ``work.mesh.relative``
    tells: a table is large, and as a box in the axes of a mesh that leans on it larger than all of the mesh.
    """
    mesh, stack, near = geoms.mesh, work.mesh.stack, work.mesh.near
    box, child = mesh.box, mesh.child
    bottom = stack.shape[0] // 2  # two meshes, of which some nodes may wait, have the other half
    count, top = 0, bottom + 1
    stack[bottom] = mesh.first_node[y]
    while top > bottom:
        top -= 1
        node = stack[top]
        outside = False
        for i in range(3):
            outside = outside or box[node, 0, i] > upper[i] or box[node, 1, i] < lower[i]
        if outside or (turned and _is_beside(mesh, node, work)):
            continue
        if child[node, 0] < 0:
            for k in range(child[node, 1]):
                near[count] = mesh.order[-1 - child[node, 0] + k]
                count += 1
        else:
            stack[top], stack[top + 1] = child[node, 0], child[node, 1]
            top += 2
    return count


@kernel
def _is_beside(mesh, node, work):
    """Whether the box of a node is all beside the box of a shape, seen along that shape's axes."""
    box, m, own = mesh.box, work.mesh.relative, work.mesh.own
    for k in range(3):
        middle, half = 0.0, 0.0
        for i in range(3):
            middle += m[k, i] * (0.5 * (box[node, 0, i] + box[node, 1, i]) - m[3, i])
            half += abs(m[k, i]) * 0.5 * (box[node, 1, i] - box[node, 0, i])
        if middle - half > own[1, k] or middle + half < own[0, k]:
            return True
    return False


@kernel
def node_box(geoms, node):
    """(middle, half extents) of the box of a node, in the mesh's axes."""
    lower, upper = vector(geoms.mesh.box[node], 0), vector(geoms.mesh.box[node], 1)
    half = vector_sum(ZERO, 0.5, vector_sum(upper, -1.0, lower))
    return vector_sum(lower, 1.0, half), half


@kernel
def mesh_point(geoms, geom_R, geom_p, y, v):
    """World position of a vertex of a mesh."""
    return place(geom_R, geom_p, y, vector(geoms.vertices, v))


@kernel
def ridge_line(geoms, geom_R, geom_p, y, ridge):
    """(First end [m], direction, length [m]) of a ridge of a mesh, world."""
    a = mesh_point(geoms, geom_R, geom_p, y, geoms.mesh.ridge[ridge, 0])
    u, length = unit_of(vector_sum(mesh_point(geoms, geom_R, geom_p, y, geoms.mesh.ridge[ridge, 1]), -1.0, a))
    return a, u, length


@kernel
def corner_of(geoms, y, triangle, k):
    """Vertex at corner k of a triangle."""
    return geoms.first_vertex[y] + geoms.corners[geoms.first_corner[triangle] + k]


@kernel
def plane_of(geoms, geom_R, geom_p, y, triangle):
    """Outward normal of a triangle's plane and a point of it, world; the same for all triangles of a patch."""
    first = geoms.first_face[y] + geoms.patch[triangle]
    return (
        out_of_body(geom_R, y, vector(geoms.faces, triangle)),
        mesh_point(geoms, geom_R, geom_p, y, corner_of(geoms, y, first, 0)),
    )


@kernel
def side_of(geoms, geom_R, y, ridge, k):
    """World vector k of a ridge: normals of its sides (0, 1), directions into them (2, 3)."""
    return out_of_body(geom_R, y, vector(geoms.mesh.sides[ridge], k))


@kernel
def is_normal_of_ridge(geoms, geom_R, y, ridge, n, slack):
    """Whether n, across the ridge, is between the normals of its sides, but for an angle ``slack`` [rad]."""
    return (
        vector_dot(n, side_of(geoms, geom_R, y, ridge, 2)) <= slack
        and vector_dot(n, side_of(geoms, geom_R, y, ridge, 3)) <= slack
    )


@kernel
def is_normal_of_peak(geoms, geom_R, y, peak, n, slack):
    """Whether no neighbour rises above a peak along n by more than an angle [rad], and n leads out of the solid there.

    All neighbours of a pit are below it too, seen from within.
    """
    a, mesh = into_body(geom_R, y, n), geoms.mesh
    if vector_dot(a, vector(mesh.outward, peak)) < -slack:
        return False
    v = mesh.peak[peak]
    for k in range(mesh.first_beside[peak], mesh.first_beside[peak + 1]):
        d = between(geoms.vertices, mesh.beside[k], geoms.vertices, v)
        if vector_dot(a, d) > slack * math.sqrt(vector_dot(d, d)):
            return False
    return True


@kernel
def edge_heights(geoms, y, triangle, a):
    """How far a point of the triangle's plane, in the mesh's axes, is inside of each of its three edges [m]."""
    n = vector(geoms.faces, triangle)
    p = vector(geoms.vertices, corner_of(geoms, y, triangle, 0))
    q = vector(geoms.vertices, corner_of(geoms, y, triangle, 1))
    r = vector(geoms.vertices, corner_of(geoms, y, triangle, 2))
    return _inside(n, p, q, a), _inside(n, q, r, a), _inside(n, r, p, a)


@kernel
def _inside(n, p, q, a):
    """Distance of a from the line p q, positive at its left, seen against n."""
    u = vector_sum(q, -1.0, p)
    return vector_dot(vector_product(n, u), vector_sum(a, -1.0, p)) / math.sqrt(vector_dot(u, u))


@kernel
def is_at_corner(geoms, triangle, edges, k, tol):
    """Whether a point this far inside of the edges is at corner k, where its plane ends along edges of any triangle."""
    return edges[k] <= tol and edges[(k + 2) % 3] <= tol and geoms.mesh.border[triangle, 3 + 2 * k] >= 0


@kernel
def play_beside(geoms, triangle, k, gap, tol, work):
    """How far beside edge k of a triangle a point of its plane may lie [m]; beyond an edge within is a triangle."""
    return play_at(gap, tol, work) if geoms.mesh.border[triangle, k] == HOLLOW else tol


@kernel
def play_at(gap, tol, work):
    """How far beside a plane or a ridge that goes on in a hollow its point may lie [m].

    On the way of a step, and where shapes give way, an overlap puts it beside both sides of a hollow, by less than its
    depth.
    """
    return tol - gap if (work.mesh.query[1] != 0 or work.mesh.query[2] != 0) and gap < 0.0 else tol


@kernel
def is_blocked(geoms, geom_R, geom_p, y, p, q, count, play, out, work):
    """Whether one of ``count`` near triangles of a mesh crosses the segment from p to q, world.

    Triangles are wider by ``play`` [m], and on the side of p they do not face away from ``out``, a direction or zero.
    """
    a = into_body(geom_R, y, vector_sum(p, -1.0, vector(geom_p, y)))
    b = into_body(geom_R, y, vector_sum(q, -1.0, vector(geom_p, y)))
    d, out = vector_sum(b, -1.0, a), into_body(geom_R, y, out)
    for i in range(count):
        triangle = work.mesh.near[i]
        n = vector(geoms.faces, triangle)
        v = vector(geoms.vertices, corner_of(geoms, y, triangle, 0))
        start, along = vector_dot(n, vector_sum(a, -1.0, v)), vector_dot(n, d)
        if start * (start + along) >= 0.0 or start * vector_dot(n, out) < 0.0:
            continue
        c = vector_sum(a, -start / along, d)
        e0, e1, e2 = edge_heights(geoms, y, triangle, c)
        if min(e0, e1, e2) > -play:
            return True
    return False


@kernel
def least_width(geoms, g):
    """Smallest half width of a shape, or of the box around it, that is not zero [m]; of a half-space infinite."""
    least = math.inf
    for i in range(3):
        width = geoms.size[g, i]
        if width > 0.0 and width < least:
            least = width
    return least


@kernel
def is_sharp(geoms, g):
    """Whether a convex shape has edges or a tip of less than SHARP: near those it is thinner than any way."""
    angle = geoms.sharpest[g]
    if geoms.kind[g] == SHAPE_CONE:
        radius, height = geoms.size[g, 0], 2.0 * geoms.size[g, 1]
        angle = min(math.atan2(height, radius), 2.0 * math.atan2(radius, height))
    return angle < SHARP


@kernel
def deepest_of(geoms, x, y, work):
    """Depth up to which shape x may be in mesh y at a feature [m]: of a sheet the other shape's width counts."""
    own, other = least_width(geoms, x), least_width(geoms, y)
    if work.mesh.query[1] != 0:
        return min(DEEPEST * min(own, other), work.mesh.limit[0] + SHALLOW * geoms.unit[0])
    if geoms.mesh.sided[x] == SHEET and geoms.mesh.sided[y] == SHEET:
        return TOUCHES * geoms.unit[0]
    part = DEEPEST if work.mesh.query[2] == 0 else DEEPEST_OF_SOFT
    if geoms.mesh.sided[y] == SHEET:
        return part * own
    return part * (other if geoms.mesh.sided[x] == SHEET else min(own, other))


@kernel
def put_relative(geom_R, geom_p, x, y, to):
    """Axes and origin of X in the axes of Y."""
    for k in range(3):
        put_vector(to, k, into_body(geom_R, y, (geom_R[x, 0, k], geom_R[x, 1, k], geom_R[x, 2, k])))
    put_vector(to, 3, into_body(geom_R, y, between(geom_p, x, geom_p, y)))


@kernel
def put_way(work):
    """Of the way A p + b of X's points in the axes of Y since the step's start the numbers, to ``work.mesh.way``."""
    m, start, way = work.mesh.relative, work.mesh.start, work.mesh.way
    for i in range(3):
        way[3, i] = m[3, i] - start[3, i]
        for j in range(3):
            way[i, j] = (1.0 if i == j else 0.0) - (
                start[0, i] * m[0, j] + start[1, i] * m[1, j] + start[2, i] * m[2, j]
            )
    for i in range(3):
        way[3, i] -= way[i, 0] * m[3, 0] + way[i, 1] * m[3, 1] + way[i, 2] * m[3, 2]


@kernel
def way_of_place(way, c):
    """Way [m] since the step's start of the point of X that is at c, in the axes of Y; ``way`` as by ``put_way``."""
    return (
        way[3, 0] + way[0, 0] * c[0] + way[0, 1] * c[1] + way[0, 2] * c[2],
        way[3, 1] + way[1, 0] * c[0] + way[1, 1] * c[1] + way[1, 2] * c[2],
        way[3, 2] + way[2, 0] * c[0] + way[2, 1] * c[1] + way[2, 2] * c[2],
    )


@kernel
def reach_of_way(geoms, at_x, at_y, deep, work):
    """Most by which features in the boxes of two nodes, of X and of Y, may be in each other on the way [m].

    Those points go no farther than the centre of the smaller box, and by what they turn about it.
    """
    m, way = work.mesh.relative, work.mesh.way
    cx, hx = node_box(geoms, at_x)
    c, h = node_box(geoms, at_y)
    if vector_dot(hx, hx) < vector_dot(h, h):
        h, c = hx, into_other(m, cx)
    go = way_of_place(way, c)
    square = 0.0
    for i in range(3):
        square += 0.5 * (way[i, 0] * way[i, 0] + way[i, 1] * way[i, 1] + way[i, 2] * way[i, 2])
    turn = math.sqrt(square)
    goes = math.sqrt(vector_dot(go, go)) + turn * (math.sqrt(vector_dot(h, h)) + deep)
    return min(deep, ASIDE * goes + work.mesh.limit[1])


@kernel
def planes_miss(geoms, x, y, at, leaf, swapped, deep, work):
    """Whether the box of a node of X is above the planes of all triangles of a leaf, or below by more than ``deep``.

    The leaf is one of Y.  Of a sheet above by more than ``deep`` too.  ``swapped`` where ``work.mesh.relative`` has the
    axes of Y in those of X.
    """
    mesh, m, far = geoms.mesh, work.mesh.relative, TOUCHES * geoms.unit[0]
    c, h = node_box(geoms, at)
    o = vector(m, 3)
    if swapped:
        d = vector_sum(c, -1.0, o)
        c = vector_dot(vector(m, 0), d), vector_dot(vector(m, 1), d), vector_dot(vector(m, 2), d)
    else:
        c = into_other(m, c)
    above = far if mesh.sided[y] == 1 else max(deep, far)
    for i in range(mesh.child[leaf, 1]):
        triangle = mesh.order[-1 - mesh.child[leaf, 0] + i]
        n = vector(geoms.faces, triangle)
        if swapped:
            k = into_other(m, n)
            k = k[0] - o[0], k[1] - o[1], k[2] - o[2]
        else:
            k = vector_dot(n, vector(m, 0)), vector_dot(n, vector(m, 1)), vector_dot(n, vector(m, 2))
        height = vector_dot(n, vector_sum(c, -1.0, vector(geoms.vertices, corner_of(geoms, y, triangle, 0))))
        wide = abs(k[0]) * h[0] + abs(k[1]) * h[1] + abs(k[2]) * h[2]
        if height - wide <= above and height + wide >= -max(deep, far):
            return False
    return True


@kernel
def into_other(m, a):
    """A point of X in the axes of Y, of which ``m`` is ``work.mesh.relative``."""
    return (
        m[3, 0] + m[0, 0] * a[0] + m[1, 0] * a[1] + m[2, 0] * a[2],
        m[3, 1] + m[0, 1] * a[0] + m[1, 1] * a[1] + m[2, 1] * a[2],
        m[3, 2] + m[0, 2] * a[0] + m[1, 2] * a[1] + m[2, 2] * a[2],
    )


@kernel
def boxes_meet(geoms, at_x, at_y, far, deep, work):
    """Whether the boxes of two nodes, of X and of Y, may be within ``far`` along the axes of Y, ``deep`` along X's."""
    cx, hx = node_box(geoms, at_x)
    cy, hy = node_box(geoms, at_y)
    m = work.mesh.relative
    d = vector_sum(into_other(m, cx), -1.0, cy)
    for i in range(3):
        h = abs(m[0, i]) * hx[0] + abs(m[1, i]) * hx[1] + abs(m[2, i]) * hx[2] + hy[i]
        if abs(d[i]) > h + far:
            return False
    for k in range(3):
        h = abs(m[k, 0]) * hy[0] + abs(m[k, 1]) * hy[1] + abs(m[k, 2]) * hy[2] + hx[k]
        if abs(m[k, 0] * d[0] + m[k, 1] * d[1] + m[k, 2] * d[2]) > h + deep:
            return False
    return True
