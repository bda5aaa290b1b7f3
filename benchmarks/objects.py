# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files of objects: each falls on the ground, as its triangles and as its hull, on a box and on the one before it.

    python benchmarks/objects.py [FOLDER ...] [--seconds 1] [--height 0.25] [--mass 0.3]

Every STL, OBJ, Collada, PLY and GLB file of the folders is an object of its own; without a folder it is a bowl and a
cup made by code.  "hull on box" drops its hull on a box, "on another" itself, as its triangles, on the object before
it, which lies on the ground.

"deepest" is the deepest penetration at the start of a step; steps with a residual above 1e-10 sqrt(N s m/s) are
unsolved; "gained" is the largest rise of energy in a step that stays in the motion, over the energy of the fall.

Exit code 1 where a step is unsolved or raises an error, or bodies that are triangles are deeper than 0.1 mm.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from quick import options_of
from stepping import SOLVED

import mb_contact as mb
from mb_contact.model.shapes.meshes import mesh_content, read_mesh

KINDS = (".stl", ".obj", ".dae", ".ply", ".glb")
TOO_DEEP = 1e-4  #: of bodies that are triangles [m]
TILT = (0.3, 0.2, 0.1)  #: roll, pitch, yaw of what falls [rad]
TABLE = mb.model.Primitive("table", "box", (1.0, 1.0, 0.1), base="weld", pose=mb.model.Pose((0.0, 0.0, 0.05)))
HEAD = f"{'object':22}{'triangles':>10}{'as':>13}{'built s':>9}{'steps':>7}{'unsolved':>9}{'deepest':>9}{'gained':>9}"


def made(folder):
    """A bowl and a cup."""
    import trimesh

    arc = np.linspace(-0.5 * np.pi, 0.0, 10)
    inner, outer = (np.stack([r * np.cos(arc), r * np.sin(arc)], 1) for r in (0.05, 0.055))
    cup = [(0.0, 0.0), (0.03, 0.0), (0.035, 0.08), (0.032, 0.08), (0.027, 0.004), (0.0, 0.004)]
    for name, profile in (("bowl", np.concatenate([inner, outer[::-1]])), ("cup", np.array(cup))):
        trimesh.creation.revolve(profile, sections=32).export(folder / f"{name}.obj")
    return sorted(folder.glob("*.obj"))


def body(path, name, height, options, kind, tilt=TILT):
    """A free object; ``height`` is that of its frame [m]."""
    pose = mb.model.Pose((0.0, 0.0, height), tilt)
    return mb.model.Primitive(
        name, "mesh", base="free", mass=options.mass, mesh=str(path), pose=pose, collision_meshes=kind
    )


def fall(bodies, options):
    """Line of figures of a fall, and whether it is as it should be."""
    start = time.perf_counter()
    sim = mb.Simulator(mb.Scene(primitives=tuple(bodies), ground=mb.model.Ground()))
    sim.step()
    built, unsolved, deepest, gained, seconds = time.perf_counter() - start, 0, 0.0, 0.0, []
    steps = round(options.seconds / sim.time_step)
    for _ in range(steps):
        begin = time.process_time()
        certificate = sim.step().certificate
        seconds.append(time.process_time() - begin)
        unsolved += not certificate.residual <= SOLVED
        deepest = max(deepest, certificate.penetration)
        gained = max(gained, certificate.energy_gained - certificate.energy_removed)
    fell = 9.81 * options.mass * options.height
    line = f"{built:9.2f}{steps:7}{unsolved:9}{deepest:9.1e}{gained / fell:9.1e}"
    exact = bodies[-1].collision_meshes == "mesh"
    line += f"   median {1e3 * np.median(seconds):.3f} ms, worst {1e3 * max(seconds):.2f}"
    return line, unsolved == 0 and not (exact and deepest > TOO_DEEP)


def objects(files, options):
    """Print the table; the exit code."""
    print(HEAD)
    good, below = True, None
    for path in files:
        count = len(read_mesh(mesh_content(path), path.suffix.lower()[1:])[1])
        runs = [(kind, [body(path, "object", options.height, options, kind)]) for kind in ("mesh", "convex_hull")]
        runs.append(("hull on box", [TABLE, body(path, "object", 0.1 + options.height, options, "convex_hull")]))
        if below is not None:
            lying = body(below, "below", 0.15, options, "mesh", (0.0, 0.0, 0.0))
            runs.append(("on another", [lying, body(path, "object", 0.15 + options.height, options, "mesh")]))
        for what, bodies in runs:
            try:
                line, right = fall(bodies, options)
            except mb.MbContactError as error:
                line, right = f"  {error}", False
            good = good and right
            print(f"{path.stem:22}{count:10}{what:>13}{line}", flush=True)
        below = path
    return 0 if good else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--seconds", type=float, default=1.0, help="simulated time (default: 1)")
    parser.add_argument("--height", type=float, default=0.25, help="of the fall [m] (default: 0.25)")
    parser.add_argument("--mass", type=float, default=0.3, help="of each object [kg] (default: 0.3)")
    options = options_of(parser, seconds=0.3)
    with tempfile.TemporaryDirectory() as folder:
        found = [path for place in options.folders for path in sorted(place.rglob("*")) if path.suffix.lower() in KINDS]
        return objects(found or made(Path(folder)), options)


if __name__ == "__main__":
    sys.exit(main())
