# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A picture and a film of a run, drawn as the view draws it; both are PNG files, the film an animated one."""

import struct
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.model.rotations import quat_to_matrix
from mb_contact.viewer.drawing import Drawing, scene_drawing
from mb_contact.viewer.render import Camera, picture

SIGHT = np.array([0.75, -0.55, 0.36])  #: from what is looked at to the eye, a unit vector but for rounding
FILM = 8  #: pictures of a film at most
SECONDS = 0.4  #: for which each is shown
FINE = 5_000  #: triangles from which a film shows collision shapes
SIZE, SMALL = (640, 480), (320, 240)
SIGNATURE = b"\x89PNG\r\n\x1a\n"


def draw(simulator: Any, frames: Sequence[tuple[float, Mapping]], folder: Path, moment: float) -> list[Path]:
    """Write ``picture.png`` of a moment and ``film.png`` of the run; returns the files.

    Parameters
    ----------
    simulator : Simulator
        Of the scene at its start; what came later is not drawn.
    frames : sequence of (time, poses)
    folder : path
    moment : float
        Of the picture [s].
    """
    drawing = scene_drawing(simulator.scene, simulator.world)
    if not frames or not drawing.visuals:
        return []
    still = {name: simulator.link_pose(name) for name in simulator.world.frames}
    poses = [{**still, **there} for _, there in frames]
    files = [folder / "picture.png"]
    shown = max(i for i, (time, _) in enumerate(frames) if time <= moment or i == 0)
    files[0].write_bytes(png([picture(drawing, poses[shown], _camera(drawing, poses, SIZE))]))
    if len(poses) > 1:
        chosen = np.unique(np.linspace(0, len(poses) - 1, min(FILM, len(poses))).round().astype(int))
        if sum(len(part.triangles) for part in drawing.visuals) > FINE:
            drawing = drawing._replace(visuals=drawing.collisions)
        camera = _camera(drawing, poses, SMALL)
        files.append(folder / "film.png")
        files[1].write_bytes(png([picture(drawing, poses[i], camera) for i in chosen]))
    return files


def _camera(drawing: Drawing, poses: Sequence[Mapping], size: tuple[int, int]) -> Camera:
    """A camera that sees all that moves, where it was first and where it was last."""
    places = []
    for part in drawing.visuals:
        if part.link in drawing.moving:
            for there in (poses[0], poses[-1]):
                p, quaternion = there[part.link]
                places.append(part.vertices @ quat_to_matrix(quaternion).T + p)
    points = np.concatenate(places or [part.vertices for part in drawing.visuals])
    low, high = points.min(axis=0), points.max(axis=0)
    middle, reach = 0.5 * (low + high), max(0.55 * float(np.linalg.norm(high - low)), 0.05)
    eye = middle + 3.4 * reach * SIGHT / np.linalg.norm(SIGHT)
    return Camera(tuple(eye), tuple(middle), 0.6, *size)


def png(pictures: Sequence[NDArray[np.uint8]]) -> bytes:
    """PNG of pictures (height, width, 3) of one size; of several an animated one, as browsers show it."""
    height, width, _ = pictures[0].shape
    parts = [_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))]
    if len(pictures) > 1:
        parts.append(_chunk(b"acTL", struct.pack(">II", len(pictures), 0)))
    number = 0
    for i, rows in enumerate(pictures):
        if len(pictures) > 1:
            shown = round(1000 * SECONDS)
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
