# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The scene library: each scene runs for a while and is drawn; the table and the pictures of docs/scenes.md.

    python benchmarks/scene_library.py [--only NAME] [--pictures docs/pictures/scenes] [--no-run]

Without --pictures only the table is printed: simulated time, worst residual, contacts and CPU time a step.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.viewer.drawing import Plane, scene_drawing
from mb_contact.viewer.render import Camera, picture

CONFIG = Path(__file__).resolve().parents[1] / "config"
HIDDEN = {"bin_of_200": ("wall_south", "wall_east")}  #: links left out of a picture, to see what is behind them

#: scene: (seconds to run, seconds of the picture, eye, target); field of view 0.6 rad
SCENES = {
    "box_on_table": (1.0, 0.0, (1.5, -1.3, 1.5), (0.5, 0.0, 0.7)),
    "table_top": (3.0, 3.0, (1.0, -1.4, 1.75), (0.0, 0.0, 0.5)),
    "box_stack": (10.0, 10.0, (2.0, -2.2, 1.4), (0.0, 0.0, 0.5)),
    "ramp": (1.2, 0.55, (2.3, -2.6, 1.9), (0.0, 0.0, 0.4)),
    "wedge": (2.0, 2.0, (0.35, -0.62, 0.42), (0.0, 0.0, 0.14)),
    "falling_can": (2.0, 0.32, (0.75, -0.75, 0.45), (0.12, 0.08, 0.05)),
    "mugs_on_hooks": (2.0, 0.16, (-0.3, -0.95, 0.42), (0.0, 0.0, 0.185)),
    "peg_in_hole": (2.0, 0.0, (0.42, -0.62, 0.48), (0.0, 0.0, 0.13)),
    "drawer": (3.0, 3.0, (1.5, -1.0, 1.15), (0.08, 0.0, 0.22)),
    "wheel_and_hub": (2.0, 2.0, (1.15, -0.95, 0.85), (0.0, 0.0, 0.40)),
    "wheel_change": (0.5, 0.0, (2.0, 1.7, 1.65), (0.4, 0.06, 0.72)),
    "four_bar_gripper": (1.0, 1.0, (0.45, -0.75, 0.45), (0.0, 0.0, 0.33)),
    "drumwright_grasp": (0.1, 0.0, (0.7, -1.2, 1.4), (0.0, 0.0, 1.0)),
    "flexible_arm": (2.0, 1.0, (1.05, -1.1, 0.62), (0.3, 0.0, 0.2)),
    "closed_chain": (1.0, 0.0, (2.6, -1.9, 1.7), (0.2, 0.0, 0.75)),
    "dual_arm_lift": (0.5, 0.0, (2.4, -2.0, 1.8), (0.25, 0.0, 0.7)),
    "gears": (2.0, 0.36, (0.08, -0.75, 0.42), (0.0, 0.0, 0.2)),
    "bin_of_200": (3.0, 0.0, (1.5, -1.7, 1.35), (0.0, 0.0, 0.3)),
}


def draw(sim, camera, hidden=()):
    """Picture of a simulation as it is now, as the web view draws it; where it has no ground there is one below all."""
    drawing = scene_drawing(sim.scene, sim.world)
    drawing = drawing._replace(visuals=[part for part in drawing.visuals if part.link not in hidden])
    poses = {part.link: sim.link_pose(part.link) for part in (*drawing.visuals, *drawing.planes)}
    if not drawing.planes:
        placed = [part.vertices @ quat_to_matrix(poses[part.link][1])[2] + poses[part.link][0][2]
                  for part in drawing.visuals]  # fmt: skip
        lowest = min(heights.min() for heights in placed) - 0.002
        drawing = drawing._replace(planes=[Plane("world", np.eye(3), np.array((0.0, 0.0, lowest)))])
        poses["world"] = np.zeros(3), np.array((0.0, 0.0, 0.0, 1.0))
    return picture(drawing, poses, camera)


def run(name, file):
    """Numbers of one scene; ``file`` is that of its picture, or None."""
    seconds, when, eye, target = SCENES[name]
    sim = mb.Simulator(CONFIG / f"{name}.yaml")
    if file is not None and when == 0.0:
        save(file, draw(sim, Camera(eye, target), HIDDEN.get(name, ())))
    residual, contacts, solvers, spent = 0.0, 0, Counter(), 0.0
    for k in range(round(seconds / sim.time_step)):
        start = time.process_time()
        certificate = sim.step().certificate
        spent += time.process_time() - start
        residual = max(residual, certificate.complementarity_gap, certificate.infeasibility)
        contacts = max(contacts, certificate.contacts)
        solvers[certificate.solver] += 1
        if file is not None and when > 0.0 and k + 1 == round(when / sim.time_step):
            save(file, draw(sim, Camera(eye, target), HIDDEN.get(name, ())))
    return sim, residual, contacts, solvers, spent


def save(path, rows):
    """Write a picture as PNG."""
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(rows).quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", choices=tuple(SCENES), action="append")
    parser.add_argument("--pictures", type=Path)
    arguments = options_of(parser, only=["box_on_table"])
    print("| scene | bodies | contacts | simulated [s] | worst residual | CPU ms a step | what ended the steps |")
    print("|---|---|---|---|---|---|---|")
    for name in arguments.only or SCENES:
        file = None if arguments.pictures is None else arguments.pictures / f"{name}.png"
        sim, residual, contacts, solvers, spent = run(name, file)
        steps = sum(solvers.values())
        ends = ", ".join(f"{solver} {count}" for solver, count in solvers.most_common())
        print(f"| {name} | {len(sim.world.tree.parent)} | {contacts} | {sim.time:g} | {residual:.0e} | "
              f"{1e3 * spent / steps:.3g} | {ends} |", flush=True)  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
