# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures and films of scenes as files, without a browser."""

from __future__ import annotations

import math
import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.shapes.shape_meshes import turned
from mb_contact.ros.outputs.sizes import diagonal
from mb_contact.simulation.arrows import CALM, COLOURS, CUT, HEAD, LONGEST, POINT, SHAFT, ArrowScale
from mb_contact.viewer.drawing import Drawing, Part
from mb_contact.viewer.render import Camera, picture
from mb_contact.viewer.sight import clear_sight
from mb_contact.viewer.snapshot import FRAME_SECONDS, ContactPoints, Snapshot
from mb_contact.viewer.view import extent

LINE_OF_SIGHT = np.array([0.75, -0.55, 0.36])  #: from what is looked at to the eye, a unit vector but for rounding
SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURED = 128  #: colours of a GIF
WEAK = 0.02  #: length of the shortest arrow that is drawn, of the scene's size
KINDS = (".png", ".gif", ".webp")
NOWHERE = np.zeros((0, 3))
HERE = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])


class Pictures:
    """Pictures of a scene's Snapshots, with the forces that the view draws.

    Parameters
    ----------
    drawing : Drawing
    fixed : mapping
        Poses of all links at the start.
    camera : Camera
    forces : bool
    """

    def __init__(self, drawing: Drawing, fixed: Mapping[str, Any], camera: Camera, forces: bool = True) -> None:
        self._drawing, self._fixed, self._camera, self._forces = drawing, fixed, camera, forces
        self._size = drawing.size or extent(drawing, dict(fixed))[1]
        self._arrows, self._time = ArrowScale(self._size, drawing.weight), math.inf

    def frame(self, snapshot: Snapshot) -> NDArray[np.uint8]:
        """Picture (height, width, 3) of a Snapshot."""
        self.see(snapshot)
        arrows = arrow_parts(snapshot.contacts, self._arrows.scale, self._size) if self._forces else []
        poses = {"world": HERE, **self._fixed, **snapshot.poses}
        return picture(self._drawing, poses, self._camera, arrows)

    def see(self, snapshot: Snapshot) -> None:
        """Take a Snapshot's forces into the scale of the arrows, for as many frames of a page as have passed."""
        self._arrows.settle(snapshot.contacts.forces)
        passed = (snapshot.time - self._time) / FRAME_SECONDS
        for _ in range(round(min(max(passed, 1.0), CALM))):
            self._arrows.see(snapshot.contacts.forces)
        self._time = snapshot.time

    def ends(self, snapshots: Sequence[Snapshot]) -> Floats:
        """Where the arrows of Snapshots end (n, 3) [m], those of blows no farther than others may."""
        ends = [NOWHERE]
        for snapshot in snapshots if self._forces else ():
            self.see(snapshot)
            points, forces = snapshot.contacts.points, snapshot.contacts.forces
            length = np.maximum(np.linalg.norm(forces, axis=1, keepdims=True), 1e-300)
            ends.append(points + forces * np.minimum(self._arrows.scale, LONGEST * self._size / length))
        return np.concatenate(ends)


def arrow_parts(contacts: ContactPoints, scale: float, size: float) -> list[Part]:
    """The contact forces as arrows of triangles in the world, ``scale`` [m/N] long and as thick as the view's."""
    thick, parts = POINT * size, []
    for point, force, state in zip(contacts.points, contacts.forces, contacts.states):
        length = min(scale * float(np.linalg.norm(force)), CUT * size)
        if length < WEAK * size:
            continue
        z = force / np.linalg.norm(force)
        x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
        x /= np.linalg.norm(x)
        neck = max(length - HEAD * thick, 0.3 * length)
        radii = 0.5 * thick * np.array([0.0, SHAFT, SHAFT, HEAD, 0.0])
        vertices, triangles = turned(radii, np.array([0.0, 0.0, neck, neck, length]))
        colour = tuple(c / 255.0 for c in COLOURS[state])
        parts.append(Part("world", vertices @ np.stack([x, np.cross(z, x), z]) + point, triangles, colour))
    return parts


def camera_of(
    drawing: Drawing, poses: Sequence[Mapping], size: tuple[int, int], more: Floats = NOWHERE
) -> Camera:  # fmt: skip
    """A camera that sees all that moves, where it was first and where it was last, or all that there is, and places
    ``more`` (n, 3) [m].
    """
    places: list[Floats] = []
    for part in drawing.visuals:
        if part.link in drawing.moving:
            for there in (poses[0], poses[-1]):
                p, quaternion = there[part.link]
                places.append(part.vertices @ quat_to_matrix(quaternion).T + p)
    places = places or [part.vertices for part in drawing.visuals] or [np.zeros((1, 3))]
    points = np.concatenate([*places, more])
    low, high = points.min(axis=0), points.max(axis=0)
    middle, reach = 0.5 * (low + high), 0.55 * diagonal(low, high)
    way = clear_sight(drawing, (poses[0], poses[-1]), LINE_OF_SIGHT / np.linalg.norm(LINE_OF_SIGHT))
    eye = middle + 3.4 * reach * way
    return Camera(tuple(eye), tuple(middle), 0.6, *size)


def write_film(path: Path, pictures: Sequence[NDArray[np.uint8]], seconds: float) -> None:
    """Write pictures as a film that shows each for so many seconds: GIF, WebP, or an animated PNG, by its ending.

    Raises
    ------
    InputError
        Pillow is not installed, or the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".png":
            path.write_bytes(png(pictures, seconds))
        else:
            _write_by_pillow(path, pictures, seconds)
    except OSError as error:
        raise InputError(f"cannot write '{path}': {error.strerror or error}") from None


def _write_by_pillow(path, pictures, seconds):
    try:
        from PIL import Image
    except ImportError as error:
        raise InputError(f"{path.suffix} needs Pillow ({error}): pip install 'mb_contact[plot]', or a .png") from None
    images = [Image.fromarray(rows) for rows in pictures]
    how: dict[str, Any] = {"save_all": True, "duration": round(1e3 * seconds), "loop": 0}
    if path.suffix == ".gif":  # one palette: what stays the same is not written again
        some = Image.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // 8)]))
        palette = some.quantize(COLOURED)
        images = [image.quantize(palette=palette, dither=Image.Dither.NONE) for image in images]
        how["optimize"] = True
    else:
        how |= {"quality": 88, "method": 4}
    images[0].save(path, append_images=images[1:], **how)


def png(pictures: Sequence[NDArray[np.uint8]], seconds: float = 0.1) -> bytes:
    """PNG of pictures (height, width, 3) of one size; of several an animated one, each for so many seconds."""
    height, width, _ = pictures[0].shape
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))]
    if len(pictures) > 1:
        parts.append(_chunk(b"acTL", struct.pack(">II", len(pictures), 0)))
    number = 0
    for i, rows in enumerate(pictures):
        if len(pictures) > 1:
            shown = round(1000 * seconds)
            parts.append(_chunk(b"fcTL", struct.pack(">IIIIIHHBB", number, width, height, 0, 0, shown, 1000, 0, 0)))
            number += 1
        data = zlib.compress(np.pad(rows.reshape(height, -1), ((0, 0), (1, 0))).tobytes())
        if i == 0:
            parts.append(_chunk(b"IDAT", data))
        else:
            parts.append(_chunk(b"fdAT", struct.pack(">I", number) + data))
            number += 1
    return SIGNATURE + b"".join(parts) + _chunk(b"IEND", b"")


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
