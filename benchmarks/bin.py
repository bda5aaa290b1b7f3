# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mixed bodies dropped into a bin: the scene, and a run that watches that none is lost or passes through a wall.

    python benchmarks/bin.py --write config/bin_of_200.yaml [--bodies 200]
    python benchmarks/bin.py [--bodies 200] [--seconds 4] [--picture FILE.png]

Spheres, boxes, cylinders, capsules, cones and ellipsoids by turns hang in layers above the floor, each turned at random
(seed 1), and fall.  The run ends when all have lain still for 0.1 s; it prints a line every 0.1 s, then what it took.
Exit code 1 if a body leaves the bin, if they do not come to rest, or if a step's residual is above 1e-9 sqrt(N s m/s).
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb

PITCH = 0.12  #: between the bodies of a layer, and between layers [m]
WALL = 0.1  #: thickness [m]
STILL = 1e-4  #: kinetic energy of bodies that lie still [J]
SOLVED_TOLERANCE = 1e-9  #: residual up to which a step counts as solved [sqrt(N s m/s)]
SHAPES = (
    ("sphere", (0.04,)), ("box", (0.07, 0.06, 0.05)), ("cylinder", (0.03, 0.07)), ("capsule", (0.025, 0.05)),
    ("cone", (0.04, 0.07)), ("ellipsoid", (0.09, 0.06, 0.05)),
)  # fmt: skip

HEAD = """# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0
# yaml-language-server: $schema=scene.schema.json
#
# {bodies} mixed bodies fall into a bin of {side:g} m; none may be lost or pass through a wall.
# Written by: python benchmarks/bin.py --bodies {bodies} --write FILE

time_step: 0.002
friction_model: coulomb_cone  # its sparse solver is the one for hundreds of contacts

ground: {{height: 0.0, material: plastic}}

materials:
  plastic: {{friction: 0.25}}

primitives:
"""


def side_of(bodies):
    """Bodies along a side of a layer: six layers or less."""
    return max(2, int(np.ceil(np.sqrt(bodies / 6.0))))


def scene_text(bodies, shapes=SHAPES):
    """The scene file of a bin; the bodies take the ``shapes`` by turns."""
    rng = np.random.default_rng(1)
    side = side_of(bodies)
    half = 0.5 * side * PITCH
    layers = -(-bodies // side**2)
    height = PITCH * (layers + 1.5)
    lines = [HEAD.format(bodies=bodies, side=2.0 * half)]
    across, along = 2.0 * half + 2.0 * WALL, 2.0 * half
    reach = half + 0.5 * WALL
    for name, x, y, size in (
        ("east", reach, 0.0, (WALL, across)), ("west", -reach, 0.0, (WALL, across)),
        ("north", 0.0, reach, (along, WALL)), ("south", 0.0, -reach, (along, WALL)),
    ):  # fmt: skip
        lines.append(f"  - {{name: wall_{name}, shape: box, size: [{size[0]:g}, {size[1]:g}, {height:g}], "
                     f"pose: {{position: [{x:g}, {y:g}, {0.5 * height:g}]}}, material: plastic}}\n")  # fmt: skip
    for i in range(bodies):
        shape, size = shapes[i % len(shapes)]
        layer, rest = divmod(i, side**2)
        row, column = divmod(rest, side)
        place = [(column + 0.5) * PITCH - half, (row + 0.5) * PITCH - half, 0.08 + PITCH * layer]
        turn = rng.uniform(-3.0, 3.0, 3)
        lines.append(
            f"  - {{name: {shape}_{i + 1}, shape: {shape}, size: [{', '.join(f'{s:g}' for s in size)}], base: free, "
            f"mass: 0.2, material: plastic,\n     pose: {{position: [{', '.join(f'{x:.3f}' for x in place)}], "
            f"rpy: [{', '.join(f'{x:.3f}' for x in turn)}]}}}}\n"
        )
    return "".join(lines)


def scene_of(bodies, shapes=SHAPES):
    """The scene of a bin."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "bin.yaml"
        path.write_text(scene_text(bodies, shapes), encoding="utf-8")
        return mb.load_scene(path)


def outside(sim, half):
    """Names of the bodies whose centre is not inside the bin."""
    lost = []
    for name in sim.world.objects:
        x, y, z = sim.link_pose(name)[0]
        if max(abs(x), abs(y)) > half or z < 0.0:
            lost.append(name)
    return lost


def run(bodies, seconds, say=print):
    """(simulator, worst residual, deepest penetration [m], lost bodies, steps by solver, wall time [s], at rest)."""
    sim = mb.Simulator(scene_of(bodies))
    half = 0.5 * side_of(bodies) * PITCH
    worst, deepest, lost, solvers, spent, still = 0.0, 0.0, set(), Counter(), 0.0, 0
    for k in range(round(seconds / sim.time_step)):
        start = time.perf_counter()
        certificate = sim.step().certificate
        spent += time.perf_counter() - start
        worst = max(worst, certificate.complementarity_gap, certificate.infeasibility)
        deepest = max(deepest, certificate.penetration)
        solvers[certificate.solver] += 1
        still = still + 1 if certificate.contacts and certificate.kinetic_energy < STILL else 0
        if (k + 1) % 50 == 0:
            lost.update(outside(sim, half))
            say(f"{sim.time:5.1f} s  contacts {certificate.contacts:4}  kinetic {certificate.kinetic_energy:9.2e} J  "
                f"penetration {certificate.penetration:8.1e} m  fastest {np.abs(sim.v).max():8.1e}  "
                f"{1e3 * spent / (k + 1):6.1f} ms a step")  # fmt: skip
        if still * sim.time_step >= 0.1:
            break
    lost.update(outside(sim, half))
    return sim, worst, deepest, lost, solvers, spent, still * sim.time_step >= 0.1


def _draw(sim, path):
    from scene_library import HIDDEN, draw, save

    from mb_contact.viewer.render import Camera

    side = 0.5 * side_of(len(sim.world.objects)) * PITCH
    save(path, draw(sim, Camera((2.2 * side, -4.2 * side, 3.2 * side), (0.0, 0.0, 0.45 * side)), HIDDEN["bin_of_200"]))


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bodies", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=4.0)
    parser.add_argument("--write", type=Path, metavar="FILE")
    parser.add_argument("--picture", type=Path, metavar="FILE", help="of the bodies at the end")
    arguments = options_of(parser, bodies=4, seconds=1.5)
    if arguments.write is not None:
        arguments.write.write_text(scene_text(arguments.bodies), encoding="utf-8")
        return 0
    sim, worst, deepest, lost, solvers, spent, rests = run(
        arguments.bodies, arguments.seconds, lambda line: print(line, flush=True)
    )
    if arguments.picture is not None:
        _draw(sim, arguments.picture)
    print(f"lost: {', '.join(sorted(lost)) or 'none'}; worst residual {worst:.1e}; deepest penetration {deepest:.1e} m")
    print(", ".join(f"{name} {count}" for name, count in solvers.most_common()) + f"; {spent:.0f} s for {sim.time:g} s")
    print("all lie still" if rests else "not at rest")
    return 1 if lost or worst > SOLVED_TOLERANCE or not rests else 0


if __name__ == "__main__":
    sys.exit(main())
