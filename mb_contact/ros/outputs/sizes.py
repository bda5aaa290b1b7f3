# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How large links and scenes are, to draw what goes with them."""

from typing import Any

import numpy as np

from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.shapes.visuals import shape_visuals
from mb_contact.simulation.initial import link_poses
from mb_contact.types import WORLD

_CORNERS = np.array([(i, j, k) for i in (0, 1) for j in (0, 1) for k in (0, 1)])
AROUND = 3.0  #: diagonals of all that moves: what is larger surrounds the scene
SMALLEST = 1e-6  #: box that is no point [m]
_ROWS = 64  #: and columns of a height field at most


def link_boxes(world: Any) -> dict[str, Any]:
    """Lowest and highest corner (2, 3) of the collision shapes of each link in its frame [m]; a plane has none."""
    boxes: dict[str, Any] = {}
    for shape in shape_visuals(world, _ROWS):
        if len(shape.vertices):
            corners = np.array([shape.vertices.min(axis=0), shape.vertices.max(axis=0)])
            low, high = boxes.get(shape.link, corners)
            boxes[shape.link] = np.array([np.minimum(low, corners[0]), np.maximum(high, corners[1])])
    return boxes


def scene_box(world: Any) -> Any:
    """Lowest and highest corner (3,) of a world at its beginning [m]; a cube of 1 m where nothing has an extent.

    Of its robots and of what can move there, with what stands around and is not ``AROUND`` times as large.
    """
    robots = {link for model in world.robot_models for link in model.link_names}
    boxes, poses = link_boxes(world), link_poses(world)
    boxes |= {link: np.zeros((2, 3)) for link in robots - set(boxes)}
    placed = {link: _placed(box, *poses[link]) for link, box in boxes.items()}
    moving = [box for link, box in placed.items() if link in robots or world.frames[link].body != WORLD]
    low, high = _around(moving or list(placed.values()) or [np.array([[-0.5] * 3, [0.5] * 3])])
    most = AROUND * np.linalg.norm(high - low) + 1e-9
    return _around([(low, high), *(box for box in placed.values() if np.linalg.norm(box[1] - box[0]) < most)])


def scene_size(world: Any) -> float:
    """Diagonal of :func:`scene_box`, by which arrows and axes are measured [m]."""
    return diagonal(*scene_box(world))


def diagonal(low: Any, high: Any) -> float:
    """Diagonal of a box [m], by which what goes with it is drawn; 0.1 of one that is a point."""
    length = float(np.linalg.norm(np.subtract(high, low)))
    return length if length > SMALLEST else 0.1


def _placed(box, position, quaternion):
    corners = box[_CORNERS, range(3)] @ quat_to_matrix(np.asarray(quaternion)).T + position
    return np.array([corners.min(axis=0), corners.max(axis=0)])


def _around(boxes):
    lows, highs = zip(*boxes)
    return np.min(lows, axis=0), np.max(highs, axis=0)
