# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of triangles: a depth buffer in NumPy, one lamp with shadows, no graphics card.

``render`` draws coloured triangles seen by a camera; ``shape_triangles`` makes them of a world's collision shapes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mb_contact.model.shape_meshes import shape_mesh

AMBIENT = 0.42  #: light in the shade
LAMP = np.array([0.35, -0.55, 0.76])  #: direction to the lamp, a unit vector but for rounding
SKY = np.array([0.965, 0.972, 0.98])
FLOOR = (0.86, 0.87, 0.885)
SHADOW_PIXELS = 1400  #: of the depth buffer seen from the lamp
FINE = 2  #: samples a pixel along each axis
CHUNK = 2_000_000  #: samples that are worked on at once


@dataclass(frozen=True)
class Camera:
    """From where one looks at what [m]; ``angle`` is the vertical field of view [rad]."""

    eye: tuple[float, float, float]
    target: tuple[float, float, float]
    angle: float = 0.6
    width: int = 720
    height: int = 480


def render(triangles, colours, camera, floor=0.0):
    """Picture (height, width, 3), uint8, of triangles (t, 3, 3) [m] in colours (t, 3); floor: height or None."""
    triangles = np.asarray(triangles, dtype=np.float64)
    colours = np.asarray(colours, dtype=np.float64)
    if floor is not None:
        plane = _floor(triangles, floor)
        triangles, colours = np.concatenate([triangles, plane]), np.concatenate([colours, [FLOOR] * len(plane)])
    normal = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    normal /= np.maximum(np.linalg.norm(normal, axis=1, keepdims=True), 1e-30)
    width, height = FINE * camera.width, FINE * camera.height
    back, right, up = _axes(np.subtract(camera.eye, camera.target))
    seen = (triangles - np.array(camera.eye)) @ np.stack([right, up, -back], axis=1)
    depth = np.maximum(seen[..., 2], 1e-3)
    scale = 0.5 * height / np.tan(0.5 * camera.angle)
    screen = np.array([0.5 * width, 0.5 * height]) + scale * seen[..., :2] / depth[..., None] * (1.0, -1.0)
    ahead = (seen[..., 2] > 1e-2).all(axis=1)
    which, near = _buffer(screen, 1.0 / depth, ahead, width, height)  # 1/depth is linear on the screen
    picture = np.tile(SKY, (height, width, 1))
    rows, columns = np.nonzero(which >= 0)
    hit = which[rows, columns]
    along = 1.0 / near[rows, columns]
    x = (columns + 0.5 - 0.5 * width) / scale * along
    y = -(rows + 0.5 - 0.5 * height) / scale * along
    points = np.array(camera.eye) + x[:, None] * right + y[:, None] * up - along[:, None] * back
    facing = np.sign(np.einsum("ij,ij->i", normal[hit], np.array(camera.eye) - points))[:, None] * normal[hit]
    slope = facing @ (LAMP / np.linalg.norm(LAMP))
    lit = np.maximum(slope, 0.0) * _lit(triangles, points + 2e-3 * facing)
    light = AMBIENT + 0.1 * facing[:, 2] + (0.98 - AMBIENT) * lit
    picture[rows, columns] = np.clip(colours[hit] * light[:, None], 0.0, 1.0)
    picture = picture.reshape(camera.height, FINE, camera.width, FINE, 3).mean(axis=(1, 3))
    return np.round(255.0 * picture).astype(np.uint8)


def _axes(back):
    """Orthonormal axes of a view: backwards, right, up."""
    back = np.asarray(back, dtype=np.float64) / np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    return back, right, np.cross(back, right)


def _floor(triangles, height):
    """A floor of small triangles around what stands on it."""
    low, high = triangles[..., :2].min(axis=(0, 1)), triangles[..., :2].max(axis=(0, 1))
    centre, half = 0.5 * (low + high), 4.0 * max(high - low) + 1.0
    ticks = np.linspace(-half, half, 61)
    x, y = np.meshgrid(centre[0] + ticks, centre[1] + ticks)
    p = np.stack([x, y, np.full_like(x, height - 1e-4)], axis=-1)
    a, b, c, d = p[:-1, :-1], p[:-1, 1:], p[1:, 1:], p[1:, :-1]
    return np.concatenate([np.stack([a, b, c], axis=2), np.stack([a, c, d], axis=2)]).reshape(-1, 3, 3)


def _lit(triangles, points):
    """Whether the lamp reaches each point: 1, or 0 in the shade; softened over nine samples."""
    back, right, up = _axes(LAMP)
    frame = np.stack([right, up, back], axis=1)
    seen, wanted = triangles @ frame, points @ frame
    body = seen[np.ptp(seen.reshape(len(seen), -1), axis=1) > 0.0]
    low = np.quantile(wanted[:, :2], 0.002, axis=0)
    high = np.quantile(wanted[:, :2], 0.998, axis=0)
    scale = SHADOW_PIXELS / max((high - low).max(), 1e-9)
    screen = (body[..., :2] - low) * scale
    base = body[..., 2].min() - 1.0
    _, near = _buffer(screen, body[..., 2] - base, np.ones(len(body), dtype=bool), SHADOW_PIXELS, SHADOW_PIXELS)
    cell = np.floor((wanted[:, :2] - low) * scale).astype(np.int64)
    lit = np.zeros(len(points))
    for dx in (-1, 0, 1):
        for dy in (-1, 0, 1):
            column = np.clip(cell[:, 0] + dx, 0, SHADOW_PIXELS - 1)
            row = np.clip(cell[:, 1] + dy, 0, SHADOW_PIXELS - 1)
            lit += near[row, column] <= wanted[:, 2] - base + 4.0 / scale
    beyond = (cell < 0).any(axis=1) | (cell >= SHADOW_PIXELS).any(axis=1)
    return np.where(beyond, 1.0, lit / 9.0)


def _buffer(screen, nearness, wanted, width, height):
    """Nearest triangle of each pixel, or -1, and its nearness: larger is nearer, linear on the screen."""
    which = np.full(height * width, -1, dtype=np.int64)
    near = np.zeros(height * width)
    low = np.maximum(np.floor(screen.min(axis=1)), 0.0)
    high = np.minimum(np.ceil(screen.max(axis=1)), (width, height))
    span = (high - low).max(axis=1)
    wanted = wanted & (high > low).all(axis=1)
    size = 2
    while wanted.any():
        now = np.flatnonzero(wanted & (span <= size))
        step = max(1, CHUNK // size**2)
        for start in range(0, len(now), step):
            _draw(now[start : start + step], screen, nearness, low, size, width, height, which, near)
        wanted[now] = False
        size *= 2
    return which.reshape(height, width), near.reshape(height, width)


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
