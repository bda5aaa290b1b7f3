# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene tells its users beside physics: named poses, and what its entities are."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mb_contact.keys.declaration import key
from mb_contact.model.scene.bodies import Pose

#: of an entity; the words of simulation_interfaces
CATEGORIES = ("object", "robot", "human", "dynamic_object", "static_object")
FLAT = 1e-12  #: [m^2] corners of a hull that span less area than this lie on a line
NARROW = 1e-7  #: least width of a hull's corners, over their length


@dataclass(frozen=True)
class NamedPose:
    """A place with a name, for spawning or as a goal, with the space around it that is free.

    Examples
    --------
    >>> shelf = mb.model.NamedPose("shelf", mb.model.Pose((0.5, 0.0, 0.8)), tags=("spawn",))
    >>> mb.Scene(named_poses=(shelf,)).named_poses[0].tags
    ('spawn',)
    """

    AT_MOST_ONE: ClassVar = (("box", "sphere", "hull"),)

    name: str = key("Name of the place.", example="shelf")
    pose: Pose = key("Where it is.", factory=Pose, required=True)
    description: str = key("A sentence for those who choose it.", "", example="upper shelf")
    tags: tuple[str, ...] = key("Words to find it by.", (), example="[spawn]")
    box: tuple[tuple[float, float, float], ...] = key(
        "Free space around it: upper and lower corner, in the pose's axes.", (), unit="m",
        example="[[0.1, 0.1, 0.2], [-0.1, -0.1, 0]]",
    )
    sphere: tuple[float, float, float, float] | None = key(
        "Free space around it: centre and radius.", None, unit="m", example="[0, 0, 0.1, 0.1]"
    )
    hull: tuple[tuple[float, float, float], ...] = key(
        "Free space around it: corners of a convex hull.", (), unit="m",
        example="[[0, 0, 0], [0.1, 0, 0], [0, 0.1, 0], [0, 0, 0.1]]",
    )


@dataclass(frozen=True)
class EntityInfo:
    """What an entity is.

    Examples
    --------
    >>> cup = mb.model.EntityInfo(description="a cup", tags=("fragile",))
    >>> scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    >>> import dataclasses
    >>> dataclasses.replace(scene, entities={"box": cup}).entities["box"].tags
    ('fragile',)
    """

    category: str | None = key(
        "What it is; by default what the scene makes of it.", None, choices=CATEGORIES, example="dynamic_object"
    )
    description: str = key("A sentence about it.", "", example="a cup")
    tags: tuple[str, ...] = key("Words to find it by.", (), example="[fragile]")


def is_box(corners):
    """Whether these are the upper and the lower corner of a box."""
    return np.shape(corners) == (2, 3) and bool((np.asarray(corners[0]) > np.asarray(corners[1])).all())


def is_sphere(numbers):
    """Whether these are a centre and a radius."""
    return len(numbers) == 4 and numbers[3] > 0.0


def is_hull(corners):
    """Whether these points span a surface or a volume."""
    points = np.asarray(corners, dtype=float)
    if points.ndim != 2 or points.shape[1] != 3 or len(points) < 3:
        return False
    spread = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    return bool(spread[0] * spread[1] > FLAT and spread[1] > NARROW * spread[0])
