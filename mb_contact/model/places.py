# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a scene tells its users beside physics: named poses, and what its entities are."""

from dataclasses import dataclass, field

import numpy as np

from mb_contact.model.scene_parts import Pose

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

    name: str
    pose: Pose = field(default_factory=Pose)
    description: str = ""
    tags: tuple[str, ...] = ()
    box: tuple[tuple[float, float, float], ...] = ()  #: upper and lower corner, in the pose's axes [m]
    sphere: tuple[float, float, float, float] | None = None  #: centre, and radius [m]
    hull: tuple[tuple[float, float, float], ...] = ()  #: corners of a convex hull [m]


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

    category: str | None = None  #: one of CATEGORIES; by default what the scene makes of it
    description: str = ""
    tags: tuple[str, ...] = ()


def place_rules(scene, numbers):
    """(whether it is broken, key, what is wrong) of named poses and entities; ``numbers`` makes the rule of numbers."""
    names = set()
    for i, place in enumerate(scene.named_poses):
        key = f"named_poses[{i}]"
        yield place.name in names or not place.name, f"{key}.name", f"'{place.name}' is empty or used twice"
        names.add(place.name)
        given = [name for name in ("box", "sphere", "hull") if getattr(place, name)]
        yield len(given) > 1, key, f"has {' and '.join(given)}; keep one of them"
        for name in given:
            values = np.ravel(getattr(place, name))
            yield numbers(f"{key}.{name}", values, len(values))
        message = "must be two corners, the upper right one first, that lie apart in every direction"
        yield bool(place.box) and not is_box(place.box), f"{key}.box", message
        message = "must be a centre and a radius greater than zero"
        yield place.sphere is not None and not is_sphere(place.sphere), f"{key}.sphere", message
        yield bool(place.hull) and not is_hull(place.hull), f"{key}.hull", "needs three corners that lie on no line"
    known = {entry.name for entry in (*scene.models, *scene.primitives)}
    for name, info in scene.entities.items():
        message = f"there is no '{name}'; there are {', '.join(sorted(filter(None, known)))}"
        yield None not in known and name not in known, f"entities.{name}", message
        message = f"'{info.category}' is not known; available: {', '.join(CATEGORIES)}"
        yield info.category is not None and info.category not in CATEGORIES, f"entities.{name}.category", message


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
