# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Many arrows in a browser, of few triangles: viser's own have 96 each, which take more of a frame than all else."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from mb_contact.checks import Floats

SHAFT_SIDES, HEAD_SIDES = 6, 8  #: an arrow is some pixels thick


class Arrows:
    """Arrows from point to point: shafts and heads are a node each, which a browser draws in one call.

    Parameters
    ----------
    server : viser.ViserServer
    name : str
        Above the two nodes.
    shaft, head : float
        Their diameters [m].
    length : float
        Of a head [m].
    """

    def __init__(self, server: Any, name: str, shaft: float, head: float, length: float) -> None:
        self.points: Floats = np.zeros((0, 2, 3))
        self._length, self._thick = length, (0.5 * shaft, 0.5 * head)
        self.parts = [self._part(server, f"{name}/{part}", *mesh)
                      for part, mesh in (("shafts", tube(SHAFT_SIDES)), ("heads", cone(HEAD_SIDES)))]  # fmt: skip

    @staticmethod
    def _part(server, name, vertices, triangles):
        return server.scene.add_batched_meshes_simple(
            name, vertices, triangles, np.array([[1.0, 0.0, 0.0, 0.0]]), np.zeros((1, 3)),
            batched_scales=np.ones((1, 3)), batched_colors=np.zeros((1, 3), np.uint8), lod="off", side="front",
            cast_shadow=False, receive_shadow=False, visible=False,
        )  # fmt: skip

    @property
    def visible(self) -> bool:
        """Whether they are shown."""
        return bool(self.parts[0].visible)

    @visible.setter
    def visible(self, shown: bool) -> None:
        for part in self.parts:
            part.visible = shown

    def draw(self, points: Floats, colours: npt.NDArray[np.uint8]) -> None:
        """Draw arrows (n, 2, 3), none shorter than nothing, in colours (n, 3), as amounts of light; n > 0."""
        self.points = points
        along = points[:, 1] - points[:, 0]
        length = np.linalg.norm(along, axis=1)
        turns, neck = turns_to(along / length[:, None]), np.maximum(length - self._length, 0.0)
        starts = points[:, 0], points[:, 1] - along * (self._length / length)[:, None]
        for part, thick, long, at in zip(self.parts, self._thick, (neck, self._length), starts):
            part.batched_wxyzs, part.batched_positions, part.batched_colors = turns, at, colours
            part.batched_scales = np.column_stack(np.broadcast_arrays(thick, thick, long * np.ones(len(points))))


def turns_to(ways: Floats) -> Floats:
    """Quaternions w x y z (n, 4) that turn the z axis to unit vectors (n, 3)."""
    x, y, z = ways.T
    turned = np.stack([1.0 + z, -y, x, np.zeros(len(ways))], axis=1)
    turned[1.0 + z < 1e-9] = 0.0, 1.0, 0.0, 0.0  # straight down: half a turn about x
    return np.asarray(turned / np.linalg.norm(turned, axis=1, keepdims=True))


def tube(sides: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Vertices and triangles of an open tube of radius 1 along z, from 0 to 1, that turn outwards."""
    k, ring = np.arange(sides), _ring(sides)
    ends = np.vstack([np.column_stack([ring, np.full(sides, height)]) for height in (0.0, 1.0)])
    after = (k + 1) % sides
    squares = [np.column_stack([k, after, sides + after]), np.column_stack([k, sides + after, sides + k])]
    return ends, np.vstack(squares)


def cone(sides: int) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The same of a cone from a circle of radius 1 at 0 to its tip at 1, and of that circle."""
    k, ring = np.arange(sides), np.column_stack([_ring(sides), np.zeros(sides)])
    tip = np.tile((0.0, 0.0, 1.0), (sides, 1))  # one for each side, so that they look round
    after = (k + 1) % sides
    faces = np.column_stack([k, after, sides + k])
    base = 2 * sides + np.column_stack([np.zeros(sides - 2, int), k[2:], k[1:-1]])
    return np.vstack([ring, tip, ring]), np.vstack([faces, base])


def _ring(sides):
    """Points (n, 2) on a circle of radius 1."""
    angle = 2.0 * np.pi * np.arange(sides) / sides
    return np.column_stack([np.cos(angle), np.sin(angle)])
