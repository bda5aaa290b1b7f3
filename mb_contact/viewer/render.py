# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of triangles: a depth buffer in NumPy, one lamp with shadows, no graphics card.

``render`` draws coloured triangles seen by a camera, ``picture`` a Drawing with its links at given poses;
``shape_triangles`` makes triangles of a world's collision shapes.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.core.rays.light import GLOSS, GROUND, HORIZON, LAMP, paint
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.shapes.normals import corner_normals, face_normals
from mb_contact.model.shapes.shape_meshes import shape_mesh
from mb_contact.viewer.drawing import Drawing, Part
from mb_contact.viewer.normals import part_normals, weights
from mb_contact.viewer.snapshot import Poses

SHADOW_PIXELS = 1400  #: of the depth buffer seen from the lamp
SOFT = (-6, -3, 0, 3, 6)  #: pixels of that to both sides over which the edge of a shadow is softened
FINE = 2  #: samples a pixel along each axis
LARGE = 32  #: pixels from which a triangle is drawn alone
CHUNK = 2_000_000  #: samples that are worked on at once


@dataclass(frozen=True)
class Camera:
    """From where one looks at what [m]; ``angle`` is the vertical field of view [rad]."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    angle: float = 0.6
    width: int = 720
    height: int = 480


def picture(drawing: Drawing, poses: Poses, camera: Camera, marks: Sequence[Part] = ()) -> NDArray[np.uint8]:
    """Picture (height, width, 3) of a Drawing; a plane is drawn as a floor, at the height of its link.

    ``marks`` are drawn too, and throw no shadows.
    """
    triangles, colours, normals = [], [], []
    for part in (*drawing.visuals, *marks):
        p, quaternion = poses[part.link]
        R = quat_to_matrix(quaternion)
        triangles.append((part.vertices @ R.T + p)[part.triangles])
        colours.append(np.tile(part.colour, (len(part.triangles), 1)))
        normals.append(part_normals(part) @ R.T)
    heights = [float(poses[plane.link][0][2] + plane.p[2]) for plane in drawing.planes]
    corners, coats, shade = (np.concatenate(rows) for rows in (triangles, colours, normals))
    return render(corners, coats, camera, heights[0] if heights else None, shade, sum(len(part.triangles) for part in marks))


def render(
    triangles: Floats, colours: Floats, camera: Camera, floor: float | None = 0.0, normals: Floats | None = None,
    marks: int = 0,
) -> NDArray[np.uint8]:
    """Picture (height, width, 3), uint8, of triangles (t, 3, 3) [m] in colours (t, 3); floor: height or None.

    ``normals`` (t, 3, 3) are those at the corners, which are found where they are not given; the last
    ``marks`` triangles throw no shadows.
    """
    triangles = np.asarray(triangles, dtype=np.float64)
    colours = np.concatenate([np.asarray(colours, dtype=np.float64), [GROUND]])  # the last one is the floor's
    normals = corner_normals(triangles) if normals is None else normals
    flat = np.concatenate([face_normals(triangles), [(0.0, 0.0, 1.0)]])
    width, height = FINE * camera.width, FINE * camera.height
    back, right, up = _axes(np.subtract(camera.eye, camera.target))
    seen = (triangles - np.array(camera.eye)) @ np.stack([right, up, -back], axis=1)
    depth = np.maximum(seen[..., 2], 1e-3)
    scale = 0.5 * height / np.tan(0.5 * camera.angle)
    screen = np.array([0.5 * width, 0.5 * height]) + scale * seen[..., :2] / depth[..., None] * (1.0, -1.0)
    ahead = (seen[..., 2] > 1e-2).all(axis=1)
    which, near = _buffer(screen, 1.0 / depth, ahead, width, height)  # 1/depth is linear on the screen
    x, y = np.meshgrid((np.arange(width) + 0.5 - 0.5 * width) / scale, (0.5 * height - np.arange(height) - 0.5) / scale)
    rays = x[..., None] * right + y[..., None] * up - back
    if floor is not None:
        _put_floor(triangles, floor, np.array(camera.eye), rays, which, near)
    pixels = np.flatnonzero(which >= 0)
    hit, sight = which.ravel()[pixels], rays.reshape(-1, 3)
    points = np.array(camera.eye) + sight[pixels] / near.ravel()[pixels][:, None]
    side = -np.sign(np.einsum("ij,ij->i", flat[hit], sight[pixels]))[:, None]
    facing = side * _smooth(triangles, normals, hit, points)
    reached = _lit(triangles[: len(triangles) - marks], points + 2e-3 * side * flat[hit])
    picture = np.empty_like(sight)
    paint(pixels, colours[hit], np.where(hit < len(triangles), GLOSS, 0.0), facing, reached, sight, picture)
    centre, half = _middle(triangles)
    mist = np.linalg.norm(points[:, :2] - centre, axis=1) / half  # the floor fades into the horizon
    mist = (np.clip((mist - 0.25) / 0.75, 0.0, 1.0) ** 2 * (hit == len(triangles)))[:, None]
    picture[pixels] = (1.0 - mist) * picture[pixels] + mist * HORIZON
    picture = picture.reshape(camera.height, FINE, camera.width, FINE, 3).mean(axis=(1, 3))
    return np.round(255.0 * picture).astype(np.uint8)


def _smooth(triangles, normals, hit, points):
    """Normals at points on the triangles ``hit``, between those of the corners; the floor's is upwards."""
    found = np.tile((0.0, 0.0, 1.0), (len(hit), 1))
    on = np.flatnonzero(hit < len(triangles))
    of = hit[on]
    between = np.einsum("ij,ijk->ik", weights(points[on], triangles[of]), normals[of])
    found[on] = between / np.maximum(np.linalg.norm(between, axis=1, keepdims=True), 1e-30)
    return found


def _middle(triangles):
    """Middle (2,) of the floor below triangles, and half of its side [m]."""
    low, high = triangles[..., :2].min(axis=(0, 1)), triangles[..., :2].max(axis=(0, 1))
    return 0.5 * (low + high), 8.0 * max(high - low) + 2.0


def _put_floor(triangles, height, eye, rays, which, near):
    """A square floor around what stands on it, where nothing is nearer; it is the triangle behind the last one."""
    centre, half = _middle(triangles)
    with np.errstate(divide="ignore"):
        nearness = rays[..., 2] / (height - 1e-4 - eye[2])  # of where each ray meets its plane
    places = eye[:2] + rays[..., :2] / np.where(nearness > 0.0, nearness, np.inf)[..., None]
    there = (nearness > near) & (np.abs(places - centre) < half).all(axis=-1)
    which[there], near[there] = len(triangles), nearness[there]


def _axes(back):
    """Orthonormal axes of a view: backwards, right, up."""
    back = np.asarray(back, dtype=np.float64) / np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0) if back[:2].any() else (0.0, 1.0, 0.0), back)  # straight down: y is up
    right /= np.linalg.norm(right)
    return back, right, np.cross(back, right)


def _lit(triangles, points):
    """Whether the lamp reaches each point: 1, or 0 in the shade, softened at its edge."""
    back, right, up = _axes(LAMP)
    frame = np.stack([right, up, back], axis=1)
    seen, wanted = triangles @ frame, points @ frame
    low, high = seen[..., :2].min(axis=(0, 1)), seen[..., :2].max(axis=(0, 1))
    scale = (SHADOW_PIXELS - 2) / max((high - low).max(), 1e-9)
    low = low - 1.0 / scale  # one pixel of light around all that throws a shadow
    base = seen[..., 2].min() - 1.0
    screen = (seen[..., :2] - low) * scale
    _, near = _buffer(screen, seen[..., 2] - base, np.ones(len(seen), dtype=bool), SHADOW_PIXELS, SHADOW_PIXELS)
    cell = np.floor((wanted[:, :2] - low) * scale).astype(np.int64)
    lit, below = np.ones(len(points)), ((cell >= 0) & (cell < SHADOW_PIXELS)).all(axis=1)
    column, row = cell[below].T
    deep, reached = wanted[below, 2] - base + 8.0 / scale, np.zeros(len(column))
    for dx in SOFT:
        for dy in SOFT:
            over = near[np.clip(row + dy, 0, SHADOW_PIXELS - 1), np.clip(column + dx, 0, SHADOW_PIXELS - 1)]
            reached += (over <= deep) | (over == 0.0)
    lit[below] = reached / len(SOFT) ** 2
    return lit


def _buffer(screen, nearness, wanted, width, height):
    """Nearest triangle of each pixel, or -1, and its nearness: larger is nearer, linear on the screen."""
    which = np.full(height * width, -1, dtype=np.int64)
    near = np.zeros(height * width)
    low = np.maximum(np.floor(screen.min(axis=1)), 0.0)
    high = np.minimum(np.ceil(screen.max(axis=1)), (width, height))
    span = (high - low).max(axis=1)
    wanted = wanted & (high > low).all(axis=1)
    for row in np.flatnonzero(wanted & (span > LARGE)):
        _draw_large(row, screen[row], nearness[row], low[row].astype(int), high[row].astype(int), which, near, width)
    wanted &= span <= LARGE
    size = 2
    while wanted.any():
        now = np.flatnonzero(wanted & (span <= size))
        step = max(1, CHUNK // size**2)
        for start in range(0, len(now), step):
            _draw(now[start : start + step], screen, nearness, low, size, width, height, which, near)
        wanted[now] = False
        size *= 2
    return which.reshape(height, width), near.reshape(height, width)


def _draw_large(row, corners, nearness, low, high, which, near, width):
    """One triangle, by the lines of its edges and the plane of its nearness over the pixels around it."""
    a, b, c = corners
    whole = (b - a)[0] * (c - a)[1] - (b - a)[1] * (c - a)[0]
    if abs(whole) < 1e-12:
        return
    x, y = np.arange(low[0], high[0]) + 0.5, (np.arange(low[1], high[1]) + 0.5)[:, None]
    u = ((c - b)[0] * (y - b[1]) - (c - b)[1] * (x - b[0])) / whole
    v = ((a - c)[0] * (y - c[1]) - (a - c)[1] * (x - c[0])) / whole
    w = 1.0 - u - v
    z = u * nearness[0] + v * nearness[1] + w * nearness[2]
    place = slice(low[1], high[1]), slice(low[0], high[0])
    near, which = (array.reshape(-1, width)[place] for array in (near, which))
    better = (np.minimum(np.minimum(u, v), w) >= 0.0) & (z > near)
    near[better], which[better] = z[better], row


def _draw(rows, screen, nearness, low, size, width, height, which, near):
    """The triangles ``rows``, all within ``size`` pixels of their lower corners."""
    a, b, c = (screen[rows, k][:, None] for k in range(3))
    grid = np.stack(np.meshgrid(np.arange(size), np.arange(size)), axis=-1).reshape(1, -1, 2)
    pixel = low[rows][:, None] + grid
    p = pixel + 0.5

    def area(u, v, w):
        return (v[..., 0] - u[..., 0]) * (w[..., 1] - u[..., 1]) - (v[..., 1] - u[..., 1]) * (w[..., 0] - u[..., 0])

    whole = area(a, b, c)
    whole = np.where(np.abs(whole) < 1e-12, np.nan, whole)
    with np.errstate(invalid="ignore"):
        u, v = area(b, c, p) / whole, area(c, a, p) / whole
        w = 1.0 - u - v
        inside = (u >= 0.0) & (v >= 0.0) & (w >= 0.0) & (pixel[..., 0] < width) & (pixel[..., 1] < height)
    z = nearness[rows]
    z = u * z[:, 0, None] + v * z[:, 1, None] + w * z[:, 2, None]
    t, k = np.nonzero(inside)
    at = (pixel[t, k, 1] * width + pixel[t, k, 0]).astype(np.int64)
    z = z[t, k]
    order = np.argsort(z, kind="stable")  # the nearest is written last
    at, z, t = at[order], z[order], rows[t[order]]
    better = z > near[at]
    near[at[better]] = z[better]
    which[at[better]] = t[better]


# --- shapes ---------------------------------------------------------------------------------------


def shape_triangles(geoms, g):
    """Triangles (t, 3, 3) of geometry g in its own frame; none of a plane."""
    vertices, triangles = shape_mesh(geoms, g)
    return vertices[triangles]
