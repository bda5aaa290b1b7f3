# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""By how far convex bodies that stand for a mesh deviate from it."""

import numpy as np
import scipy  # its parts are imported where they are first used

from mb_contact.model.shapes.triangle_meshes import TriangleMesh, open_edges, triangle_mesh

NOTABLE, PART = 1e-3, 0.01  #: deviation from which it is told [m], and part of the size of the mesh
NEARLY = 0.05  #: part of the edges of a mesh that may be open in one that was meant to be closed
POINTS = 6000  #: on the surfaces, about
FEW = 5000  #: triangles up to which cavities and winding are looked at for the volume
BATCH = 4000  #: points that are held against a hull at a time, so that they stay in the processor's cache
EXACT = 60  #: of them whose distance is computed exactly, the farthest first


def deviation(bodies, vertices, triangles):
    """How far the surface of convex bodies is from a mesh where it is outside of it, and how far the mesh stands out.

    Looked at on a grid of some thousand points, so that the true value may be larger by the distance of two of them
    (a 40th of the size of the mesh or less).

    Parameters
    ----------
    bodies : sequence of Hull
        In the frame of the mesh.
    vertices, triangles : (n, 3), (t, 3)
        Of the mesh [m].

    Returns
    -------
    gap : float
        [m]
    excess : float
        Volume of the bodies less that of the mesh; what bodies share counts for each of them [m^3].
    """
    mesh = vertices[triangles]
    size = float(np.linalg.norm(np.ptp(mesh.reshape(-1, 3), axis=0)))
    corners = np.concatenate([(hull.vertices + hull.centre)[hull.triangles] for hull in bodies])
    volume = sum(_volume((hull.vertices + hull.centre)[hull.triangles]) for hull in bodies)
    own, theirs = _spread(mesh), _spread(corners)
    far = scipy.spatial.cKDTree(own).query(theirs)[0]
    gap = 0.0
    for k in np.argsort(-far)[:EXACT]:
        if far[k] <= gap:
            break
        distance = _distance(theirs[k], mesh)
        if distance > gap and not (len(bodies) > 1 and abs(_winding(theirs[k], mesh)) > 0.5):
            gap = distance
    if len(bodies) == 1:  # of one hull the mesh stands out farthest at a vertex
        own = vertices[np.unique(triangles)]
    for start in range(0, len(own), BATCH):
        part = own[start : start + BATCH]
        out = np.full(len(part), np.inf)
        for hull in bodies:
            first = hull.vertices[hull.corners[hull.first_corner[:-1]]] + hull.centre
            out = np.minimum(out, (part @ hull.faces.T - np.einsum("ij,ij->i", hull.faces, first)).max(axis=1))
        gap = max(gap, float(out.max()))
    whole = triangle_mesh(vertices, triangles).volume if len(triangles) <= FEW else abs(_volume(mesh))
    return (gap if gap > 1e-9 * size else 0.0), volume - whole


def told(bodies, tolerance=None):
    """What convex bodies that stand for a mesh deviate from it, as a sentence's end; None where it is little.

    Parameters
    ----------
    tolerance : float, optional
        That was asked for [m].
    """
    opened, edges = open_edges(bodies[0]) if isinstance(bodies[0], TriangleMesh) else (0, 0)
    if 0 < opened < NEARLY * edges:
        return (
            f"its mesh is not closed ({opened} of {edges} edges have other than two triangles): it is a surface "
            "without thickness; close it to have a solid, or take collision_meshes: convex_hull or convex_pieces"
        )
    gap, size = bodies[0].gap, size_of(bodies)
    if gap <= (max(NOTABLE, PART * size) if tolerance is None else tolerance):
        return None
    what = "its convex hull is" if len(bodies) == 1 else f"its {len(bodies)} convex pieces are"
    nearer = ", convex_pieces comes nearer" if len(bodies) == 1 else ""
    wanted = "" if tolerance is None else f", more than the {1000.0 * tolerance:g} mm asked for"
    return (
        f"{what} up to {1000.0 * gap:.1f} mm from the mesh{wanted} (volume {1e6 * bodies[0].excess:+.3g} cm^3); "
        f"collision_meshes: mesh takes its triangles{nearer}"
    )


def is_close(bodies):
    """Whether convex bodies stand for a mesh within PART of its size, and none of them had to be given a thickness."""
    return not any(body.flat for body in bodies) and bodies[0].gap <= PART * size_of(bodies)


def size_of(bodies):
    """Diagonal of the box around convex bodies [m]."""
    corners = [corner for b in bodies for corner in (b.centre - b.half, b.centre + b.half)]
    return float(np.linalg.norm(np.ptp(corners, axis=0)))


def _volume(corners):
    """Volume that triangles enclose [m^3]."""
    return float(np.einsum("ij,ij->", corners[:, 0], np.cross(corners[:, 1], corners[:, 2]))) / 6.0


def _spread(corners):
    """About POINTS points on triangles, at corners of equal parts of each, and in its middle."""
    edges = np.linalg.norm(corners - np.roll(corners, 1, axis=1), axis=2).max(axis=1)
    area = 0.5 * np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1)
    step = np.sqrt(2.0 * area.sum() / POINTS)
    parts = np.clip(np.ceil(edges / max(step, 1e-300)), 1, 60).astype(int)
    points = [corners.mean(axis=1)]
    for count in np.unique(parts):
        i, j = np.meshgrid(np.arange(count + 1), np.arange(count + 1))
        inside = i + j <= count
        weights = np.stack([i[inside], j[inside], count - i[inside] - j[inside]], axis=1) / count
        points.append(np.einsum("wk,tkx->twx", weights, corners[parts == count]).reshape(-1, 3))
    return np.concatenate(points)


def _distance(p, corners):
    """Distance of a point from triangles [m]."""
    a, b, c = (corners[:, k] for k in range(3))
    n = np.cross(b - a, c - a)
    square = np.einsum("ij,ij->i", n, n)
    good = square > 0.0
    a, b, c, n, square = a[good], b[good], c[good], n[good], square[good]
    inside, least = np.ones(len(a), dtype=bool), np.full(len(a), np.inf)
    for start, end in ((a, b), (b, c), (c, a)):
        edge, away = end - start, p - start
        inside &= np.einsum("ij,ij->i", np.cross(n, edge), away) >= 0.0
        t = np.clip(np.einsum("ij,ij->i", edge, away) / np.einsum("ij,ij->i", edge, edge), 0.0, 1.0)
        least = np.minimum(least, np.linalg.norm(away - t[:, None] * edge, axis=1))
    height = np.abs(np.einsum("ij,ij->i", p - a, n)) / np.sqrt(square)
    return float(np.where(inside, height, least).min())


def _winding(p, corners):
    """How often triangles go around a point: 1 inside of a closed mesh, 0 outside (van Oosterom and Strackee)."""
    a, b, c = (corners[:, k] - p for k in range(3))
    la, lb, lc = (np.linalg.norm(x, axis=1) for x in (a, b, c))
    over = np.einsum("ij,ij->i", a, np.cross(b, c))
    dots = (np.einsum("ij,ij->i", u, v) for u, v in ((a, b), (b, c), (c, a)))
    ab, bc, ca = dots
    return float(np.arctan2(over, la * lb * lc + ab * lc + bc * la + ca * lb).sum() / (2.0 * np.pi))
