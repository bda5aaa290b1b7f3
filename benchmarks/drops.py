# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The robots of example-robot-data fall on the floor: every file, with and without damping of its joints.

    python benchmarks/drops.py [FOLDER ...] [--only NAME ...] [--seconds 2] [--step 0.002] [--markdown FILE]

Each of the 66 URDF files (robot_files.py) starts with a floating base and the lowest point of its collision shapes
0.1 m above the floor: joints at zero, or in the middle of limits that leave zero out; no efforts.  Meshes are their
convex hulls; one that cannot be read is left out and counted.  Links that overlap at the start are filtered out, as a
robot's SRDF would do (--overlaps keep leaves them to the solver).  "free" leaves joints as in the file, "damped" gives
each at least 1 N m s/rad or N s/m (--damping).  The 17 robots of robots.py are among these files; those with a position
"standing" fall from that one too.  Files that cannot be dropped are named with the reason.

With folders (or files) their URDF files are dropped instead, and their xacro files that need no argument; packages are
looked up as by mb.load_urdf (ROS_PACKAGE_PATH, folders above the file).  "mass matrix" and "efforts" are the largest
differences from Pinocchio, which reads the same file, at three random states, over the largest entry; "-" where links
without mass are held, so that the two models are not the same, or where Pinocchio refuses the file.
Efforts of a file with weightless links are compared without gravity.

"joints" counts the unsolved steps in which the rows of joint friction (loops, gears) have such a residual.

Exit code 1 where a residual is above 1e-10 sqrt(N s m/s), a difference above 1e-10, a step raises an error or a run is
cut off (--patience); refused files do not count.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import robots
from robot_files import NAMED, OTHERS, SINGLE_BODIES
from stepping import (
    add_options,
    counted,
    follow,
    line,
    markdown,
    number,
    statistics,
    with_model,
    write_json,
)

import mb_contact as mb
from mb_contact.model.scene import JointProperties, Scene, SceneModel

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

SAME = 1e-10  #: difference of matrices that are the same, relative to the largest entry
HEIGHT = 0.1  #: of the lowest point above the floor [m]
KINDS = ("free", "damped")

HEAD = ("robot", "drive", "bodies", "hulls", "left out", "pairs", "filtered", "mass matrix", "efforts", "contacts",
        "steps", "unsolved", "joints", "residual", "ms median", "worst", "what ended the steps")  # fmt: skip
WIDTHS = (36, 6, 6, 5, 8, 6, 8, 11, 7, 8, 6, 8, 6, 8, 9, 8)
OPTIONS = {"inertia_errors": "warn", "mimic": "independent", "collision_meshes": "warn", "massless": "merge"}


def cases():
    """(name, file, name in robots.py or None where joints start at zero) of everything that is dropped."""
    files = (*NAMED, *OTHERS, *SINGLE_BODIES)
    files += tuple(file for file, _ in robots.ROBOTS.values() if file not in files)
    stems = [Path(file).stem for file in files]
    found = []
    for file, stem in zip(files, stems):
        # anymal.urdf and anymal.urdf of another folder: the folder tells them apart
        folder = file.split("/")[0].removesuffix("_description")
        found.append((stem if stems.count(stem) == 1 else f"{folder}/{stem}", file, None))
    found += [(f"{name} standing", robots.ROBOTS[name][0], name) for name in robots.STANDING]
    return found


def cases_in(folders):
    """The same of files in folders: URDF files, and xacro files that do not only define macros."""
    found = []
    for folder in folders:
        inside = folder if folder.is_dir() else folder.parent
        files = sorted(folder.rglob("*")) if folder.is_dir() else [folder]
        for path in files:
            if path.suffix in (".urdf", ".xacro") and b"<robot" in path.read_bytes():
                found.append((str(path.relative_to(inside)), path, None))
    return found


def differences(model, states=3):
    """Largest relative differences of mass matrix and efforts from Pinocchio's; None where there is no such model."""
    if find_spec("pinocchio") is None:
        return None, None
    import pinocchio

    from oracles.dense_oracle import random_state
    from oracles.pinocchio_peer import Peer

    gravity, rng, worst = np.array([0.3, -1.2, -9.0]), np.random.default_rng(0), np.zeros(2)
    if np.isfinite(model.tree.body_gravity).any():  # links without weight, which Pinocchio does not know
        gravity[:] = 0.0
    with tempfile.NamedTemporaryFile("w", suffix=".urdf") as file:
        file.write(model.urdf)
        file.flush()
        try:
            peer = Peer(pinocchio, model, file.name, gravity)
        except (ValueError, RuntimeError, IndexError):  # it refuses the file or has no joint of such a name
            return None, None
    if not peer.agrees_in_size():
        return None, None
    for _ in range(states):
        (q, v), v_dot = random_state(rng, model.tree), rng.standard_normal(model.N)
        peer.update(q, v)
        pairs = [(mb.mass_matrix(model, q), peer.mass_matrix()),
                 (mb.inverse_dynamics(model, q, v, v_dot, gravity), peer.inverse_dynamics(v_dot))]  # fmt: skip
        worst = np.maximum(worst, [np.abs(ours - theirs).max() / np.abs(theirs).max() for ours, theirs in pairs])
    return tuple(map(float, worst))


def scene_of(path, model, standing, kind, arguments):
    """(scene, pairs filtered out) of one robot above the floor."""
    if not model.geometries:
        raise mb.ModelError("no collision shape that could touch the floor")
    joints = robots.inside_limits(model) | (robots.standing(standing, model) if standing else {})
    properties = {}
    if kind == "damped":
        properties = {
            name: JointProperties(damping=max(arguments.damping, float(model.tree.damping[v])))
            for name, v in zip(model.joint_names, model.joint_v)
        }
    entry = SceneModel(str(path), base="free", joints=joints, joint_properties=properties, **OPTIONS)
    scene = Scene(models=(entry,), time_step=arguments.step)
    scene = robots.raised(with_model(scene, arguments.friction_model), HEIGHT)
    return robots.filtered(scene) if arguments.overlaps == "filter" else (scene, [])


def left_out(world):
    """Warnings about collision meshes that could not be read."""
    return [warning for warning in world.warnings if "left out, nothing will touch it" in warning]


def run(name, file, standing, kind, arguments):
    """The row of one robot."""
    path = robots.folder() / file if not arguments.folders else file
    model = mb.load_urdf(path, floating=True, **OPTIONS)
    mass, efforts = differences(model)
    scene, overlapping = scene_of(path, model, standing, kind, arguments)
    sim = mb.Simulator(scene)
    row = {
        "robot": name, "file": str(file), "mass": mass, "efforts": efforts, "joints": kind,
        "bodies": len(sim.world.tree.parent),
        "hulls": len(sim.world.geometry_names) - 1, "left_out": len(left_out(sim.world)),
        "pairs": len(sim.world.geoms.pairs), "filtered": len(overlapping),
    }  # fmt: skip
    record = follow(sim, arguments.seconds, patience=arguments.patience)
    return row | statistics(record) | {"ended": record.ended, "failed": record.failed}


def cells(row):
    """Texts of a row."""
    whole = ("bodies", "hulls", "left_out", "pairs", "filtered"), ("contacts", "steps", "unsolved", "unsolved_joints")
    model, steps = ([f"{row[key]}" for key in keys] for keys in whole)
    same = [number(row[key], "{:.0e}") for key in ("mass", "efforts")]
    return (
        row["robot"], row["joints"], *model, *same, *steps, number(row["residual"], "{:.1e}"),
        number(row["median_ms"]), number(row["worst_ms"]), counted(row["solvers"]),
    )  # fmt: skip


def main(argv=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER", help="or files; without it the 66 files")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the table's first column")
    parser.add_argument("--joints", choices=KINDS, help="free or damped; without it both")
    parser.add_argument("--seconds", type=float, default=2.0, help="simulated time of each (%(default)s)")
    parser.add_argument("--step", type=float, default=0.002, help="length of a step [s] (%(default)s)")
    parser.add_argument("--damping", type=float, default=1.0, help="least of damped joints [N m s/rad] (%(default)s)")
    parser.add_argument("--overlaps", choices=("filter", "keep"), default="filter",
                        help="links that overlap at the start (%(default)s)")  # fmt: skip
    parser.add_argument("--markdown", type=Path, metavar="FILE", help="write the table to a file")
    add_options(parser)
    arguments = parser.parse_args(argv)
    known = {name: case for name, *case in (cases_in(arguments.folders) if arguments.folders else cases())}
    for name in arguments.only or ():
        if name not in known:
            parser.error(f"no robot {name!r}; there are {', '.join(known)}")
    names, kinds = arguments.only or list(known), [arguments.joints] if arguments.joints else KINDS
    if arguments.quick:
        names, kinds, arguments.seconds = ["solo"], ["damped"], min(arguments.seconds, 0.3)
    print(line(HEAD, WIDTHS), flush=True)
    rows, refused = [], {}
    for name in names:
        for kind in kinds:
            try:
                row = run(name, *known[name], kind, arguments)
            except mb.MbContactError as error:
                refused[name] = str(error)
                break
            rows.append(row)
            print(line(cells(row), WIDTHS), flush=True)
            if row["ended"]:
                print(f"{name}, {kind}: {row['ended']}", flush=True)
    for name, reason in refused.items():
        print(f"{name} is refused: {reason}")
    unsolved, steps = sum(row["unsolved"] for row in rows), sum(row["steps"] for row in rows)
    joints = sum(row["unsolved_joints"] for row in rows)
    print(f"{len(rows)} runs, {len(refused)} robots refused, {unsolved} of {steps} steps unsolved, "
          f"{joints} of them in joints")  # fmt: skip
    if arguments.markdown is not None:
        text = markdown(HEAD, [cells(row) for row in rows])
        text += "".join(f"\n{name} is refused: {reason}\n" for name, reason in refused.items())
        arguments.markdown.write_text(text, encoding="utf-8")
    write_json(arguments.json, arguments, rows + [{"robot": n, "refused": r} for n, r in refused.items()])
    apart = [row["robot"] for row in rows if max(row["mass"] or 0.0, row["efforts"] or 0.0) > SAME]
    if apart:
        print(f"not as Pinocchio's: {', '.join(apart)}")
    return 1 if unsolved or apart or any(row["failed"] for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
