# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What ``mb-contact render`` does: a picture or a film of a scene or a recording."""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from mb_contact.errors import InputError
from mb_contact.viewer.command import loaded, tell_failure
from mb_contact.viewer.film import KINDS, Pictures, camera_of, write_film
from mb_contact.viewer.options import ViewOptions
from mb_contact.viewer.recording import Recording
from mb_contact.viewer.snapshot import Snapshot

SHORTEST, LONGEST = 0.01, 60.0  #: between two pictures of a film [s]; a GIF counts hundredths


def run_render(arguments: argparse.Namespace) -> int:
    """What ``mb-contact render`` does; returns the exit code.

    Raises
    ------
    MbContactError
        A bad scene or option, or a file that cannot be written.
    """
    film, width = arguments.film, arguments.width
    if not 16 <= width <= 8192 or not SHORTEST <= arguments.every <= LONGEST:
        raise InputError(f"--width is from 16 to 8192 pixels, --every from {SHORTEST:g} to {LONGEST:g} s")
    if arguments.duration is not None and not 0.0 <= arguments.duration < math.inf:
        raise InputError(f"--duration must be finite and not below zero, got {arguments.duration:g}")
    shown = arguments.every / arguments.speed if 0.0 < arguments.speed < math.inf else 0.0
    if film and not SHORTEST <= shown <= LONGEST:
        raise InputError(f"--speed must leave {SHORTEST:g} to {LONGEST:g} s for a picture, got {arguments.speed:g}")
    if arguments.out is not None and Path(arguments.out).suffix not in KINDS:
        raise InputError(f"a picture or film ends in {', '.join(KINDS)}, got '{arguments.out}'")
    options = ViewOptions(scene=arguments.scene, efforts=arguments.efforts)
    source, drawing, fixed, title = loaded(arguments.scene_file, options)
    seconds = (5.0 if film else 0.0) if arguments.duration is None else arguments.duration
    if not drawing.visuals:
        raise InputError(f"'{arguments.scene_file}': nothing in it has a shape")
    frames = list(_frames(source, seconds, arguments.every, arguments.duration))
    if not film:
        frames = frames[-1:]
    ends = [{**fixed, **frame.poses} for frame in (frames[0], frames[-1])]
    size, forces = (width, width * 3 // 4), not arguments.no_forces
    arrows = Pictures(drawing, fixed, camera_of(drawing, ends, size), forces).ends(frames)
    camera = camera_of(drawing, ends, size, arrows)
    eye, target = arguments.eye or camera.eye, arguments.target or camera.target
    if not 0.0 < math.dist(eye, target) < math.inf:
        given = [", ".join(f"{float(x):g}" for x in place) for place in (eye, target)]
        raise InputError(f"--eye and --target must be two places, got {given[0]} and {given[1]}")
    camera = replace(camera, eye=tuple(eye), target=tuple(target))
    pictures: list[Any] = []
    path = Path(arguments.out or f"{title}{'.gif' if film else '.png'}")
    drawer = Pictures(drawing, fixed, camera, forces)
    for k, frame in enumerate(frames):
        pictures.append(drawer.frame(frame))
        if film:
            print(f"\rmb-contact: picture {k + 1} of {len(frames)}", end="", file=sys.stderr, flush=True)
    write_film(path, pictures, shown)
    print(f"{path}: {width} x {camera.height}, {len(pictures)} pictures, {path.stat().st_size / 1e6:.2f} MB")
    return 0


def _frames(source: Any, seconds: float, every: float, asked: float | None) -> Iterator[Snapshot]:
    """Snapshots of a simulation or a recording."""
    if isinstance(source, Recording):
        yield from (frame for frame in source.frames(every) if asked is None or frame.time <= asked + 1e-9)
    else:
        yield from source.recorded(seconds, every)
        tell_failure(source)
