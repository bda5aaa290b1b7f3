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
from mb_contact.viewer.drawing import SHADY, Drawing, Part
from mb_contact.viewer.normals import part_normals
from mb_contact.viewer.snapshot import Poses

SHADOW_PIXELS = 1400  #: of a depth buffer seen from the lamp
SURROUNDED, WIDER = 1.5, 6.0  #: side of the finest, of what is seen at the target; of each, of the one before it
SOFT = 13  #: side of the square of those over which the edge of a shadow is softened
FINE = 2  #: samples a pixel along each axis
NEAR, GAP = 0.005, 1e-4  #: nearest that is seen, and floor below its height, of the way to the target, 1 m at most


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
    veils: list[tuple[int, int, float]] = []
    for part in (*drawing.visuals, *marks):
        p, quaternion = poses[part.link]
        R = quat_to_matrix(quaternion)
        triangles.append((part.vertices @ R.T + p)[part.triangles])
        first = sum(len(rows) for rows in colours)
        if part.texture is not None:
            textures.append((first, part.texture))
        if part.opacity < 1.0:
            veils.append((first, first + len(part.triangles), part.opacity))
        colours.append(np.tile(part.colour, (len(part.triangles), 1)))
        normals.append(part_normals(part) @ R.T)
    heights = [float(poses[plane.link][0][2] + plane.p[2]) for plane in drawing.planes]
    corners, coats, shade = (np.concatenate(rows) for rows in (triangles, colours, normals))
    last = sum(len(part.triangles) for part in marks)
    return render(corners, coats, camera, heights[0] if heights else None, shade, last, textures, veils)


def render(
    triangles: Floats, colours: Floats, camera: Camera, floor: float | None = 0.0, normals: Floats | None = None,
    marks: int = 0, textures: Sequence[tuple[int, Texture]] = (), veils: Sequence[tuple[int, int, float]] = (),
) -> NDArray[np.uint8]:  # fmt: skip
    """Picture (height, width, 3), uint8, of triangles (t, 3, 3) [m] in colours (t, 3); floor: height or None.

    ``normals`` (t, 3, 3) are those at the corners, which are found where they are not given; the last
    ``marks`` triangles throw no shadows; ``textures`` are pictures in place of colours, each with its first triangle;
    ``veils`` are transparent: the first triangle of each, the one behind its last, and its opacity.
    """
    triangles = np.asarray(triangles, dtype=np.float64)
    colours = np.concatenate([np.asarray(colours, dtype=np.float64), [GROUND]])  # the last one is the floor's
    width, height = FINE * camera.width, FINE * camera.height
    back, right, up = _axes(np.subtract(camera.eye, camera.target))
    far = min(1.0, float(np.linalg.norm(np.subtract(camera.eye, camera.target))))
    scale = 0.5 * height / np.tan(0.5 * camera.angle)
    seen, of = _ahead((triangles - np.array(camera.eye)) @ np.stack([right, up, -back], axis=1), NEAR * far)
    screen = np.array([0.5 * width, 0.5 * height]) + scale * seen[..., :2] / seen[..., 2:] * (1.0, -1.0)
    nearness, whole, shady = 1.0 / seen[..., 2], np.full(len(triangles), True), np.full(len(triangles), True)
    for first, last, opacity in veils:
        whole[first:last], shady[first:last] = False, opacity >= SHADY
    shady[len(triangles) - marks :] = False
    which, near = _buffer(screen, nearness, of, np.flatnonzero(whole[of]), np.zeros((height, width)))
    x, y = np.meshgrid((np.arange(width) + 0.5 - 0.5 * width) / scale, (0.5 * height - np.arange(height) - 0.5) / scale)
    rays = x[..., None] * right + y[..., None] * up - back
    if floor is not None:
        _put_floor(triangles, floor - GAP * far, np.array(camera.eye), rays, which, near)
    both = np.concatenate([triangles, corner_normals(triangles) if normals is None else normals], axis=1)
    lit = *_shadows(triangles[shady if shady.any() else slice(1)], camera), SOFT, np.append(*_middle(triangles))

    def painted(pixels, which, near):
        sights, hit, near = rays.reshape(-1, 3)[pixels], which.ravel()[pixels], near.ravel()[pixels]
        met = np.flatnonzero(hit >= 0)
        coats, out = colours[hit[met]], np.empty_like(sights)
        for first, texture in textures:
            on = np.flatnonzero((hit[met] >= first) & (hit[met] < first + len(texture.corners)))
            points = np.array(camera.eye) + sights[met[on]] / near[met[on], None]
            coats[on] = texture.on(hit[met[on]] - first, points, triangles[hit[met[on]]])
        paint(met, hit[met], coats, both, near, sights, np.array([camera.eye]), *lit, out)
        return out

    picture = painted(slice(None), which, near)
    for rows, opacity in _behind_each_other(veils, of, screen, nearness):
        over, nearer = _buffer(screen, nearness, of, rows, near.copy())
        pixels = np.flatnonzero(over.ravel() >= 0)
        picture[pixels] += opacity * (painted(pixels, over, nearer) - picture[pixels])
    picture = picture.reshape(camera.height, FINE, camera.width, FINE, 3).mean(axis=(1, 3))
    return np.round(255.0 * picture).astype(np.uint8)


def _behind_each_other(veils, of, screen, nearness):
    """Rows of transparent triangles and their opacity: the farthest first, of each the faces that look away first."""
    a, b, c = np.moveaxis(screen, 1, 0)
    away = (b[:, 0] - a[:, 0]) * (c[:, 1] - a[:, 1]) > (b[:, 1] - a[:, 1]) * (c[:, 0] - a[:, 0])
    seen = [(np.flatnonzero((of >= first) & (of < last)), opacity) for first, last, opacity in veils]
    for rows, opacity in sorted(seen, key=lambda veil: nearness[veil[0]].mean() if len(veil[0]) else 0.0):
        yield rows[away[rows]], opacity
        yield rows[~away[rows]], opacity


def _middle(triangles):
    """Middle (2,) of the floor below triangles, and half of its side [m]."""
    low, high = triangles[..., :2].min(axis=(0, 1)), triangles[..., :2].max(axis=(0, 1))
    return 0.5 * (low + high), 8.0 * max(high - low) + 2.0


def _put_floor(triangles, height, eye, rays, which, near):
    """A square floor around what stands on it, where nothing is nearer; it is the triangle behind the last one."""
    centre, half = _middle(triangles)
    with np.errstate(divide="ignore"):
        nearness = rays[..., 2] / (height - eye[2])  # of where each ray meets its plane
    places = eye[:2] + rays[..., :2] / np.where(nearness > 0.0, nearness, np.inf)[..., None]
    there = (nearness > near) & (np.abs(places - centre) < half).all(axis=-1)
    which[there], near[there] = len(triangles), nearness[there]


def _axes(back):
    """Orthonormal axes of a view: backwards, right, up."""
    back = np.asarray(back, dtype=np.float64) / np.linalg.norm(back)
    right = np.cross((0.0, 0.0, 1.0) if back[:2].any() else (0.0, 1.0, 0.0), back)  # straight down: y is up
    right /= np.linalg.norm(right)
    return back, right, np.cross(back, right)


def _ahead(seen, near):
    """The parts of triangles (t, 3, 3) whose third coordinate is larger than near, as triangles; which each is of."""
    inside = seen[..., 2] > near
    count, first = inside.sum(axis=1), np.arange(len(seen))
    parts, of = [seen[count == 3]], [first[count == 3]]
    for alone in (1, 2):  # corners ahead: the other kind's one comes first
        rows = first[count == alone]
        start = np.argmax(inside[rows] if alone == 1 else ~inside[rows], axis=1)
        a, b, c = (seen[rows, (start + k) % 3] for k in range(3))
        p, q = (a + (x - a) * ((near - a[:, 2]) / (x[:, 2] - a[:, 2]))[:, None] for x in (b, c))
        pieces = [(a, p, q)] if alone == 1 else [(p, b, c), (p, c, q)]
        parts += [np.stack(piece, axis=1) for piece in pieces]
        of += [rows] * len(pieces)
    return np.concatenate(parts), np.concatenate(of)


def _shadows(triangles, camera):
    """What the lamp sees of triangles: depth buffers, their axes, and where they begin, as ``paint`` wants them.

    The last is of all of them, those before it of what is around the target, where one pixel of it would be large.
    """
    back, right, up = _axes(LAMP)
    frame = np.stack([right, up, back], axis=1)
    seen = triangles @ frame
    low, high = seen[..., :2].min(axis=(0, 1)), seen[..., :2].max(axis=(0, 1))
    base, whole = seen[..., 2].min() - 1.0, max((high - low).max(), 1e-9)
    wide = 2.0 * np.linalg.norm(np.subtract(camera.eye, camera.target)) * np.tan(0.5 * camera.angle)
    side, lows, sides = SURROUNDED * wide * max(1.0, camera.width / camera.height), [], []
    while SURROUNDED * side < whole:
        lows.append((np.array(camera.target) @ frame)[:2] - 0.5 * side)
        sides.append(side)
        side *= WIDER
    scales = (SHADOW_PIXELS - 2) / np.array([*sides, whole])
    lows = np.array([*lows, low]) - 1.0 / scales[:, None]  # one pixel of light around all that throws a shadow
    every, size = np.arange(len(seen)), (SHADOW_PIXELS, SHADOW_PIXELS)
    buffers = [_buffer((seen[..., :2] - corner) * scale, seen[..., 2] - base, every, every, np.zeros(size))[1]
               for corner, scale in zip(lows, scales)]  # fmt: skip
    at = np.column_stack([lows, np.full(len(scales), base), scales])
    return np.array(buffers), np.array([*map(lamp_tiles, buffers)]), frame, at


def lamp_tiles(depth: Floats) -> Floats:
    """Highest and lowest (2, t, t) of a depth buffer (s, s) in squares of SOFT + 1 pixels."""
    size = SOFT + 1
    count = -(-len(depth) // size)
    squares = np.pad(depth, (0, count * size - len(depth)), mode="edge").reshape(count, size, count, size)
    return np.array([squares.max(axis=(1, 3)), squares.min(axis=(1, 3))])


def _buffer(screen, nearness, of, rows, near):
    """Nearest of some rows of triangles in each pixel, as ``of`` calls it, or -1 where none is nearer than ``near``."""
    which = np.full(near.shape, -1, dtype=np.int64)
    draw_triangles(screen[rows], nearness[rows], which, near)
    return np.append(of[rows], -1)[which], near
