# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The change of the wheel as an animation and as stills: docs/pictures/wheel.gif and docs/pictures/wheel_stills.png.

    python benchmarks/wheel_pictures.py --out docs/pictures [--nut]

With ``--nut`` a lug nut that is turned off, as stills: docs/pictures/wheel_nut.png.

Simulator and controller run in this process; each frame is a Snapshot of the viewer, drawn by its renderer: the
visuals of all links, and the contact forces as red rods, 1 m for 1000 N.
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
from mb_contact.model.shapes.shape_meshes import box_mesh  # noqa: E402
from mb_contact.viewer.drawing import Part, scene_drawing  # noqa: E402
from mb_contact.viewer.render import Camera, picture  # noqa: E402
from mb_contact.viewer.snapshot import snapshot_of  # noqa: E402

EVERY = 0.3  #: simulated seconds between two frames
PLAYED = 0.12  #: seconds that each is shown
LONG = 1e-3  #: of a rod [m/N]
ROD, RED = 0.006, (0.85, 0.15, 0.12)
STILLS = ("grip", "pull", "carry", "release", "carry back", "leave")  #: phases at whose end a still is taken
EYE, TARGET = (-0.95, 1.75, 1.75), (0.42, 0.0, 0.68)
NUT_STILLS = ("reach", "turn off", "withdraw")  #: the same of the nut
NUT_EYE, NUT_TARGET = (0.22, -0.62, 1.16), (0.56, -0.04, 0.85)


def draw(drawing, snapshot, fixed, camera):
    """Picture of a Snapshot with its contact forces; ``fixed`` has the poses of links that do not move."""
    rods = [rod(point, LONG * force) for point, force in zip(snapshot.contacts.points, snapshot.contacts.forces)
            if np.linalg.norm(force) > 2.0]  # fmt: skip
    parts = [Part("world", vertices, triangles, RED) for vertices, triangles in rods]
    poses = {**fixed, **snapshot.poses, "world": (np.zeros(3), (0.0, 0.0, 0.0, 1.0))}
    return picture(drawing._replace(visuals=[*drawing.visuals, *parts]), poses, camera)


def rod(start, way):
    """A thin box from ``start`` along ``way``."""
    length = np.linalg.norm(way)
    z = way / length
    x = np.cross(z, np.eye(3)[np.argmin(np.abs(z))])
    x /= np.linalg.norm(x)
    vertices, triangles = box_mesh((0.5 * ROD, 0.5 * ROD, 0.5 * length))
    return (vertices + [0.0, 0.0, 0.5 * length]) @ np.stack([x, np.cross(z, x), z]) + start, triangles


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
    parser.add_argument("--width", type=int, default=440)
    parser.add_argument("--seconds", type=float, help="simulated seconds; without it the whole task")
    parser.add_argument("--nut", action="store_true", help="a nut that is turned off")
    options = options_of(parser, seconds=0.3, width=120)
    frames, drawing, fixed = frames_of(options.seconds, options.nut)
    eye, target, angle = (NUT_EYE, NUT_TARGET, 0.55) if options.nut else (EYE, TARGET, 0.62)
    camera = Camera(eye, target, angle, options.width, options.width * 3 // 4)
    if options.nut:  # only those that are shown
        frames = list({phase: (phase, snapshot) for phase, snapshot in frames}.values())
    pictures = [draw(drawing, snapshot, fixed, camera) for _, snapshot in frames]
    print(f"{len(pictures)} frames of {frames[-1][1].time:.2f} simulated seconds")
    if options.out is not None and options.nut:
        write_stills(options.out / "wheel_nut.png", frames, pictures, NUT_STILLS)
    elif options.out is not None:
        write(options.out, frames, pictures)
        write_stills(options.out / "wheel_stills.png", frames, pictures, STILLS)
    return 0


def write(out, frames, pictures):
    """The animation."""
    palette = Image.fromarray(np.concatenate(pictures[:: max(1, len(pictures) // 8)])).quantize(64)
    images = [Image.fromarray(p).quantize(palette=palette, dither=Image.Dither.NONE) for p in pictures]
    file = out / "wheel.gif"
    images[0].save(file, save_all=True, append_images=images[1:], duration=round(1e3 * PLAYED), loop=0, optimize=True)
    print(f"{file}: {file.stat().st_size / 1e6:.2f} MB")


def write_stills(file, frames, pictures, phases):
    """The last picture of each of some phases, three a row."""
    last = {phase: picture for (phase, _), picture in zip(frames, pictures)}
    stills = [last[phase] for phase in phases if phase in last]
    if len(stills) == len(phases):
        grid = np.concatenate([np.concatenate(stills[k : k + 3], axis=1) for k in range(0, len(stills), 3)])
        Image.fromarray(grid).quantize(128, dither=Image.Dither.NONE).save(file, optimize=True)


if __name__ == "__main__":
    sys.exit(main())
