# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""From where a scene is looked at first: from higher up where walls would hide what moves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.rays.shade import draw_triangles
from mb_contact.model.rotations import quat_to_matrix

if TYPE_CHECKING:
    from mb_contact.viewer.drawing import Drawing

HERE = np.zeros(3), np.array([0.0, 0.0, 0.0, 1.0])
PIXELS = 96  #: width and height of what is looked at by trial
ENOUGH = 0.5  #: of what moves is seen: no other place is sought
HIGHER = np.radians([45.0, 60.0, 75.0])  #: heights from which one looks down if not


def clear_sight(drawing: Drawing, poses: Sequence[Mapping[str, Any]], usual: Floats) -> Floats:
    """Way (3,) from what is looked at to the eye: ``usual``, or where that hides what moves one as long from higher up.

    Parameters
    ----------
    drawing : Drawing
    poses : sequence of mapping
        Of links, at the times that count.
    usual : (3,)
    """
    level, length = float(np.hypot(usual[0], usual[1])), float(np.linalg.norm(usual))
    ahead = np.array(usual[:2]) / level
    higher = [angle for angle in HIGHER if angle > np.arctan2(usual[2], level)]
    ways = [usual, *(length * np.append(np.cos(angle) * ahead, np.sin(angle)) for angle in higher)]
    shapes = [_apart(drawing, there) for there in poses]
    shares = []
    for way in ways:
        shares.append(float(np.mean([seen_part(moving, still, way) for moving, still in shapes])))
        if shares[-1] >= ENOUGH:
            break
    return np.asarray(ways[int(np.argmax(shares))])


def _apart(drawing, poses):
    """Triangles (t, 3, 3) of what moves, and of what does not and may hide it."""
    kinds: tuple[list[Floats], list[Floats]] = [], []
    for part in drawing.visuals:
        p, quaternion = poses.get(part.link, HERE)
        corners = (part.vertices @ quat_to_matrix(quaternion).T + p)[part.triangles]
        kinds[part.link not in drawing.moving].append(corners)
    moving, still = (np.concatenate(kind) if kind else np.zeros((0, 3, 3)) for kind in kinds)
    return moving, still


def seen_part(moving: Floats, still: Floats, way: Floats) -> float:
    """How much of triangles (t, 3, 3) is seen from far away behind others, 0 to 1; all of it where either has none."""
    if not len(moving) or not len(still):
        return 1.0
    back = np.asarray(way) / np.linalg.norm(way)
    right = np.cross((0.0, 0.0, 1.0), back)
    right /= np.linalg.norm(right)
    seen = np.concatenate([moving, still]) @ np.stack([right, np.cross(back, right), back], axis=1)
    of_moving = seen[: len(moving), :, :2].reshape(-1, 2)
    low, size = of_moving.min(axis=0), max(float(np.ptp(of_moving, axis=0).max()), 1e-12)
    screen, nearness = (seen[..., :2] - low) * (PIXELS / size), seen[..., 2] - seen[..., 2].min() + 1.0
    which, near = np.full((PIXELS, PIXELS), -1, dtype=np.int64), np.zeros((PIXELS, PIXELS))
    counts = []
    for rows in (slice(None, len(moving)), slice(len(moving), None)):
        there = np.full_like(which, -1)
        draw_triangles(np.ascontiguousarray(screen[rows]), np.ascontiguousarray(nearness[rows]), there, near)
        which = np.where(there >= 0, rows.start is None, which)
        counts.append(int((which == 1).sum()))
    return counts[1] / counts[0] if counts[0] else 1.0
