# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A picture and a film of a run, drawn as the view draws it; both are PNG files, the film an animated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.viewer.drawing import scene_drawing
from mb_contact.viewer.film import camera_of, png
from mb_contact.viewer.render import picture

FILM = 8  #: pictures of a film at most
SECONDS = 0.4  #: for which each is shown
SIZE, SMALL = (640, 480), (320, 240)


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
    files[0].write_bytes(png([picture(drawing, poses[shown], camera_of(drawing, poses, SIZE))]))
    if len(poses) > 1:
        chosen = np.unique(np.linspace(0, len(poses) - 1, min(FILM, len(poses))).round().astype(int))
        camera = camera_of(drawing, poses, SMALL)
        files.append(folder / "film.png")
        files[1].write_bytes(png([picture(drawing, poses[i], camera) for i in chosen], SECONDS))
    return files
