# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mesh files of objects fall on the ground, as triangles and as hulls, on a box, on one another, and are gripped.

    python benchmarks/objects.py [FOLDER ...] [--seconds 1] [--height 0.25] [--mass 0.3] [--only stacked]

Every STL, OBJ, Collada, PLY and GLB file of the folders is an object of its own; without a folder it is a bowl and a
cup made by code.  "hull on box" drops its hull on a box, "stacked" itself, as its triangles, on the object before it,
which stands on the ground, from 2 cm above it; "gripped" closes two pads of a gripper about it where it is narrower,
lifts it by 10 cm and says by how much it came along.

"built" is the time until the first step is done; a second run finds triangles and hulls kept.
"deepest" is the deepest penetration at the start of a step, "ended" at the end of one; steps with a residual above
1e-10 sqrt(N s m/s) are unsolved; "gained" is the largest rise of energy in a step that stays in the motion, over the
energy of the fall.

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
HEAD = f"{'object':22}{'triangles':>10}{'as':>13}{'built s':>9}{'steps':>7}{'unsolved':>9}{'deepest':>9}{'ended':>9}"
HEAD += f"{'gained':>9}"
PAD = (0.02, 0.01, 0.02)  #: of a finger, its thickness along y [m]
FORCE = -10.0  #: with which each of them closes [N]
GRIPPER = """<robot name="gripper"><link name="mount"/>
  <joint name="lift" type="prismatic"><parent link="mount"/><child link="palm"/><axis xyz="0 0 1"/>
    <limit lower="-1" upper="1" effort="1000" velocity="10"/></joint>
  <link name="palm"><inertial><mass value="1"/>
    <inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <joint name="left" type="prismatic"><parent link="palm"/><child link="left_pad"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="10"/></joint>
  <link name="left_pad"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="{pad}"/></geometry></collision></link>
  <joint name="right" type="prismatic"><parent link="palm"/><child link="right_pad"/><axis xyz="0 -1 0"/>
    <limit lower="-1" upper="1" effort="100" velocity="10"/></joint>
  <link name="right_pad"><inertial><mass value="0.1"/>
    <inertia ixx="1e-4" iyy="1e-4" izz="1e-4" ixy="0" ixz="0" iyz="0"/></inertial>
    <collision><geometry><box size="{pad}"/></geometry></collision></link></robot>"""


def made(folder):
    """A bowl and a cup."""
    import trimesh

    arc = np.linspace(-0.5 * np.pi, 0.0, 10)
    inner, outer = (np.stack([r * np.cos(arc), r * np.sin(arc)], 1) for r in (0.05, 0.055))
    cup = [(0.0, 0.0), (0.03, 0.0), (0.035, 0.08), (0.032, 0.08), (0.027, 0.004), (0.0, 0.004)]
    for name, profile in (("bowl", np.concatenate([inner, outer[::-1]])), ("cup", np.array(cup))):
        trimesh.creation.revolve(profile, sections=32).export(folder / f"{name}.obj")
    return sorted(folder.glob("*.obj"))


def placed(path, name, low, options, kind, tilt=TILT):
    """A free object whose lowest point is at height ``low`` above the origin, in the middle of its box [m]."""
    vertices, _ = read_mesh(mesh_content(path), path.suffix.lower()[1:])
    turned = vertices @ mb.model.Pose(rpy=tilt).rotation().T
    lower, upper = turned.min(axis=0), turned.max(axis=0)
    middle = -0.5 * (lower + upper)
    pose = mb.model.Pose((middle[0], middle[1], low - lower[2]), tilt)
    body = mb.model.Primitive(
        name, "mesh", base="free", mass=options.mass, mesh=str(path), pose=pose, collision_meshes=kind
    )
    return body, upper - lower


def stacked(below, path, options):
    """An object that falls onto the one before it, which stands on the ground."""
    lying, size = placed(below, "below", 1e-3, options, "mesh", (0.0, 0.0, 0.0))
    return lying, placed(path, "object", size[2] + 0.02, options, "mesh")[0]


def gripper(size):
    """A gripper about an object of a size that stands on the ground, and the motion that lifts it."""
    across = int(size[1] < size[0])
    opened, height = float(0.5 * size[across] + 0.5 * PAD[1] + 5e-3), 0.5 * size[2]
    urdf = GRIPPER.format(pad=" ".join(map(str, PAD)))
    pose = mb.model.Pose((0.0, 0.0, max(height, 0.5 * PAD[2] + 2e-3)), (0.0, 0.0, 0.0 if across else 0.5 * np.pi))
    s = np.linspace(0.0, 1.0, 11)
    times = np.concatenate([[0.0, 0.1, 0.2, 0.26], 0.3 + 0.4 * s, [0.74, 0.8, 0.9, 1.0]])
    way = 0.1 * s**2 * (3.0 - 2.0 * s)
    motion = mb.model.Motion(
        joint="lift", times=tuple(times), positions=(0.0, 0.0, 0.0, 0.0, *way.tolist(), 0.1, 0.1, 0.1, 0.1)
    )
    model = mb.model.SceneModel(urdf, pose=pose, joints={"left": opened, "right": opened})
    return model, motion


def run(bodies, options, model=(), motions=()):
    """Line of figures of a run, and whether it is as it should be."""
    start = time.perf_counter()
    scene = mb.Scene(primitives=tuple(bodies), ground=mb.model.Ground(), models=tuple(model), motions=tuple(motions))
    sim = mb.Simulator(scene)
    effort = np.array([FORCE if name in ("left", "right") else 0.0 for name in sim.world.joint_names])
    sim.step(effort)
    built, unsolved, deepest, ended, gained, seconds = time.perf_counter() - start, 0, 0.0, 0.0, 0.0, []
    before = sim.state.q[-5]
    steps = round(options.seconds / sim.time_step)
    for _ in range(steps):
        begin = time.process_time()
        certificate = sim.step(effort).certificate
        seconds.append(time.process_time() - begin)
        unsolved += not certificate.residual <= SOLVED
        deepest, ended = max(deepest, certificate.penetration), max(ended, -certificate.end_gap)
        gained = max(gained, certificate.energy_gained - certificate.energy_removed)
    fell = 9.81 * options.mass * options.height
    line = f"{built:9.2f}{steps:7}{unsolved:9}{deepest:9.1e}{ended:9.1e}{gained / fell:9.1e}"
    line += f"   median {1e3 * np.median(seconds):.3f} ms, worst {1e3 * max(seconds):.2f}"
    line += f", came along {100.0 * (sim.state.q[-5] - before):.1f} cm" if model else ""
    exact = bodies[-1].collision_meshes == "mesh"
    return line, unsolved == 0 and not (exact and max(deepest, ended) > TOO_DEEP)


def runs_of(path, below, options):
    """What is done with an object: (name, bodies, models, motions)."""
    standing, size = placed(path, "object", 1e-4, options, "mesh", (0.0, 0.0, 0.0))
    model, motion = gripper(size)
    high = TABLE.size[2] + options.height
    return [
        ("mesh", [placed(path, "object", options.height, options, "mesh")[0]], (), ()),
        ("convex_hull", [placed(path, "object", options.height, options, "convex_hull")[0]], (), ()),
        ("hull on box", [TABLE, placed(path, "object", high, options, "convex_hull")[0]], (), ()),
        *([("stacked", stacked(below, path, options), (), ())] if below is not None else []),
        ("gripped", [standing], [model], [motion]),
    ]


def objects(files, options):
    """Print the table; the exit code."""
    print(HEAD)
    good, below = True, None
    for path in files:
        count = len(read_mesh(mesh_content(path), path.suffix.lower()[1:])[1])
        for what, bodies, model, motion in runs_of(path, below, options):
            if options.only not in ("", what):
                continue
            try:
                line, right = run(bodies, options, model, motion)
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
    parser.add_argument("--only", default="", help="mesh, convex_hull, 'hull on box', stacked, gripped")
    options = options_of(parser, seconds=0.3)
    with tempfile.TemporaryDirectory() as folder:
        found = [path for place in options.folders for path in sorted(place.rglob("*")) if path.suffix.lower() in KINDS]
        return objects(found or made(Path(folder)), options)


if __name__ == "__main__":
    sys.exit(main())
