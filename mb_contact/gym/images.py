# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Observations that a camera of the scene takes, of as many worlds as there are: colours or depths."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from gymnasium.spaces import Box
from numpy.typing import NDArray

from mb_contact.checks import as_choice
from mb_contact.errors import InputError
from mb_contact.model.scene import Image
from mb_contact.simulation.sensors.cameras import Cameras
from mb_contact.worlds.worlds import Worlds

KINDS = ("image of ", "depth of ")  #: what an observation begins with that a camera takes


def is_image(about: Any) -> bool:
    """Whether an entry of a task's observations is what a camera takes."""
    return isinstance(about, str) and about.startswith(KINDS)


class Images:
    """What cameras take of all worlds.

    Parameters
    ----------
    worlds : Worlds
    observations : sequence of str
        ``image of CAMERA``, ``depth of CAMERA``.

    Raises
    ------
    InputError
        There is no such camera, or it takes no colours.
    SceneError
        It sees meshes, and Embree is not installed.
    """

    def __init__(self, worlds: Worlds, observations: Sequence[str]) -> None:
        self._worlds, self.spaces, self._of = worlds, {}, {}
        cameras = {sensor.name: sensor for sensor in worlds.scene.sensors if sensor.kind == "camera"}
        for about in observations:
            kind, _, name = about.partition(" of ")
            image = cameras[as_choice(name, cameras, "camera")].image or Image()
            shape = image.height, image.width
            if kind == "image" and not image.colour:
                raise InputError(f"camera '{name}' takes no colours; give its image colour: true, or ask for its depth")
            space = Box(0, 255, (*shape, 3), np.uint8) if kind == "image" else Box(0.0, image.far, shape, np.float32)
            self.spaces[about], self._of[about] = space, (name, kind == "image", image.far)
        self._cameras = Cameras(worlds.scene, worlds.world, worlds.body_rotations[0], worlds.body_positions[0])

    def read(self) -> dict[str, NDArray[Any]]:
        """Each observation of all worlds: (w, height, width, 3) colours, or (w, height, width) depths [m]."""
        worlds = self._worlds
        found: dict[str, list[Any]] = {about: [] for about in self._of}
        names = {name for name, *_ in self._of.values()}
        for R, p in zip(worlds.body_rotations, worlds.body_positions):
            taken: dict[str, Any] = {name: self._cameras.read(name, R, p) for name in names}
            for about, (name, colours, far) in self._of.items():
                depth = np.clip(taken[name].depth, 0.0, far).astype(np.float32)
                found[about].append(taken[name].colour if colours else depth)
        return {about: np.array(pictures) for about, pictures in found.items()}
