# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The change of the wheel as stills: docs/pictures/wheel_stills.png; `mb-contact render` films it (docs/gallery.md).

    python benchmarks/wheel_pictures.py --out docs/pictures [--nut]

With ``--nut`` a lug nut that is turned off, as stills: docs/pictures/wheel_nut.png.

Simulator and controller run in this process; each frame is a Snapshot of the viewer, drawn by its renderer: the
visuals of all links, and the contact forces as the view's arrows.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np
from PIL import Image
from quick import options_of

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "examples"))

import mb_contact as mb  # noqa: E402
from mb_contact.viewer.drawing import scene_drawing  # noqa: E402
from mb_contact.viewer.film import Pictures  # noqa: E402
from mb_contact.viewer.render import Camera  # noqa: E402
from mb_contact.viewer.snapshot import snapshot_of  # noqa: E402

EVERY = 0.3  #: simulated seconds between two frames
STILLS = ("grip", "pull", "carry", "release", "carry back", "leave")  #: phases at whose end a still is taken
EYE, TARGET = (2.15, 1.85, 1.75), (0.4, 0.06, 0.8)
NUT_STILLS = ("reach", "turn off", "withdraw")  #: the same of the nut
NUT_EYE, NUT_TARGET = (0.22, -0.62, 1.16), (0.56, -0.04, 0.85)


def frames_of(seconds, nut=False):
    """Run the task; (phase, Snapshot) of each frame, the Drawing, and the poses of what stands still."""
    if nut:
        from nut_in_process import SCENE, turn_off as task
    else:
        from wheel_in_process import SCENE, change as task

    sim = mb.Simulator(SCENE)
    drawing = scene_drawing(sim.scene, sim.world)
    still = {part.link for part in (*drawing.visuals, *drawing.planes)} - set(drawing.moving)
    fixed = {link: sim.link_pose(link) for link in still}
    frames, every = [], round(EVERY / sim.time_step)

    def watch(controller, effort, step):
        if sim.step_count % every == 1:
            frames.append((controller.phase, snapshot_of(sim, step, drawing)))
        controller.done = controller.done or (seconds is not None and sim.time >= seconds)

    task(sim, watch=watch)
    return frames, drawing, fixed


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--out", type=Path, help="folder; without it nothing is written")
    parser.add_argument("--width", type=int, default=400)
    parser.add_argument("--seconds", type=float, help="simulated seconds; without it the whole task")
    parser.add_argument("--nut", action="store_true", help="a nut that is turned off")
    options = options_of(parser, seconds=0.3, width=120)
    frames, drawing, fixed = frames_of(options.seconds, options.nut)
    eye, target, angle = (NUT_EYE, NUT_TARGET, 0.55) if options.nut else (EYE, TARGET, 0.6)
    camera = Camera(eye, target, angle, options.width, options.width * 3 // 4)
    drawer, pictures = Pictures(drawing, fixed, camera), {}
    for (phase, snapshot), (after, _) in zip(frames, [*frames[1:], (None, None)]):
        if phase != after and phase in (NUT_STILLS if options.nut else STILLS):
            pictures[phase] = drawer.frame(snapshot)  # the last one of the phase
        else:
            drawer.see(snapshot)
    print(f"{len(frames)} frames of {frames[-1][1].time:.2f} simulated seconds")
    if options.out is not None:
        name, phases = ("wheel_nut.png", NUT_STILLS) if options.nut else ("wheel_stills.png", STILLS)
        write_stills(options.out / name, pictures, phases)
    return 0


def write_stills(file, pictures, phases):
    """The pictures of some phases, three a row."""
    stills = [pictures[phase] for phase in phases if phase in pictures]
    if len(stills) == len(phases):
        grid = np.concatenate([np.concatenate(stills[k : k + 3], axis=1) for k in range(0, len(stills), 3)])
        Image.fromarray(grid).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
