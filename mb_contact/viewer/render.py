# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of triangles: a depth buffer, the lamp of the scene's cameras with soft shadows, no graphics card.

``render`` draws coloured triangles seen by a camera, ``picture`` a Drawing with its links at given poses.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.core.rays.light import GROUND, LAMP
from mb_contact.core.rays.shade import draw_triangles, paint
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.shapes.looks import Texture
from mb_contact.model.shapes.normals import corner_normals
from mb_contact.viewer.drawing import Drawing, Part
from mb_contact.viewer.normals import part_normals
from mb_contact.viewer.snapshot import Poses

SHADOW_PIXELS = 1400  #: of the depth buffer seen from the lamp
SOFT = 13  #: side of the square of those over which the edge of a shadow is softened
FINE = 2  #: samples a pixel along each axis


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
    triangles: list[Floats] = []
    colours: list[Floats] = []
    normals: list[Floats] = []
    textures: list[tuple[int, Texture]] = []
    for part in (*drawing.visuals, *marks):
        p, quaternion = poses[part.link]
        R = quat_to_matrix(quaternion)
        triangles.append((part.vertices @ R.T + p)[part.triangles])
        if part.texture is not None:
            textures.append((sum(len(rows) for rows in colours), part.texture))
        colours.append(np.tile(part.colour, (len(part.triangles), 1)))
        normals.append(part_normals(part) @ R.T)
    heights = [float(poses[plane.link][0][2] + plane.p[2]) for plane in drawing.planes]
    corners, coats, shade = (np.concatenate(rows) for rows in (triangles, colours, normals))
    last = sum(len(part.triangles) for part in marks)
    return render(corners, coats, camera, heights[0] if heights else None, shade, last, textures)


def render(
    triangles: Floats, colours: Floats, camera: Camera, floor: float | None = 0.0, normals: Floats | None = None,
    marks: int = 0, textures: Sequence[tuple[int, Texture]] = (),
) -> NDArray[np.uint8]:
    """Picture (height, width, 3), uint8, of triangles (t, 3, 3) [m] in colours (t, 3); floor: height or None.

    ``normals`` (t, 3, 3) are those at the corners, which are found where they are not given; the last
    ``marks`` triangles throw no shadows; ``textures`` are pictures in place of colours, each with its first triangle.
    """
    triangles = np.asarray(triangles, dtype=np.float64)
    colours = np.concatenate([np.asarray(colours, dtype=np.float64), [GROUND]])  # the last one is the floor's
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
    hit, sights = which.ravel()[pixels], rays.reshape(-1, 3)
    coats = colours[hit]
    for first, texture in textures:
        on = np.flatnonzero((hit >= first) & (hit < first + len(texture.corners)))
        points = np.array(camera.eye) + sights[pixels[on]] / near.ravel()[pixels[on], None]
        coats[on] = texture.on(hit[on] - first, points, triangles[hit[on]])
    both = np.concatenate([triangles, corner_normals(triangles) if normals is None else normals], axis=1)
    picture = np.empty_like(sights)
    middle, eye = np.append(*_middle(triangles)), np.array([camera.eye])
    shadows = _shadows(triangles[: len(triangles) - marks])
    paint(pixels, hit, coats, both, near.ravel(), sights, eye, *shadows, SOFT, middle, picture)
    picture = picture.reshape(camera.height, FINE, camera.width, FINE, 3).mean(axis=(1, 3))
    return np.round(255.0 * picture).astype(np.uint8)


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


def _shadows(triangles):
    """What the lamp sees of triangles: a depth buffer, its axes, and where it begins, as ``paint`` wants them."""
    back, right, up = _axes(LAMP)
    frame = np.stack([right, up, back], axis=1)
    seen = triangles @ frame
    low, high = seen[..., :2].min(axis=(0, 1)), seen[..., :2].max(axis=(0, 1))
    scale = (SHADOW_PIXELS - 2) / max((high - low).max(), 1e-9)
    low = low - 1.0 / scale  # one pixel of light around all that throws a shadow
    base = seen[..., 2].min() - 1.0
    screen, all_of_them = (seen[..., :2] - low) * scale, np.ones(len(seen), dtype=bool)
    _, near = _buffer(screen, seen[..., 2] - base, all_of_them, SHADOW_PIXELS, SHADOW_PIXELS)
    return near, frame, np.array([[*low, base, scale]])


def _buffer(screen, nearness, wanted, width, height):
    """Nearest triangle of each pixel, or -1, and its nearness: larger is nearer, linear on the screen."""
    which, near = np.full((height, width), -1, dtype=np.int64), np.zeros((height, width))
    draw_triangles(np.ascontiguousarray(screen), np.ascontiguousarray(nearness), wanted, which, near)
    return which, near
