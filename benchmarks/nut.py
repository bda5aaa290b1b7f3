# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A nut of M8 on its bolt, both as triangles: it runs down or holds by itself, here and in MuJoCo.

    python benchmarks/nut.py [--seconds 0.4] [--sides 48] [--only ours]

The bolt is fixed and upright, the nut of 10 g hangs on its thread, with 0.1 mm of play.  On a smooth thread
its weight turns it down below a friction of about the tangent of the lead angle, 0.055, and it holds above that.

"turns" is how far the nut has turned after 0.15 s, in which it comes to lie on the flank, "mm a turn" its way down by
that, of 1.25 mm (nothing where it turned by less than a hundredth), "sunk mm" its way down itself.  MuJoCo takes the
same meshes as signed distance fields that it makes of them, or their hulls, and its contacts as stiff as in mug.py.
Times are means of process time a step.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from mug import STEP, peer, write
from quick import options_of

import mb_contact as mb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from scenes.mesh_bodies import threaded  # noqa: E402

PITCH, SETTLED = 0.00125, 0.15  #: [m], [s]
BOLT = np.array([(0.05, 0.0033), (0.35, 0.004), (0.55, 0.004), (0.85, 0.0033)])  #: radius over parts of a pitch [m]
NUT = np.array([(0.0, 0.0034), (0.3, 0.0041), (0.6, 0.0041), (0.9, 0.0034)])
FRICTIONS = (0.0, 0.03, 0.08)


def meshes(sides):
    """Vertices and triangles of bolt and nut."""
    bodies = {"bolt": threaded([(t, 0.001) for t, _ in BOLT], BOLT, 10, PITCH, sides),
              "nut": threaded(NUT, [(t, 0.0065) for t, _ in NUT], 3, PITCH, sides)}  # fmt: skip
    found = {}
    for name, corners in bodies.items():
        points, index = np.unique(corners.reshape(-1, 3), axis=0, return_inverse=True)
        found[name] = points, index.reshape(-1, 3)
    return found


def scene(files, kind, friction):
    """The nut around the middle of the bolt."""
    bolt, nut = (
        mb.model.Primitive(
            name, "mesh", mesh=str(files[name]), collision_meshes=kind, material="steel", base=base, mass=mass,
            pose=mb.model.Pose((0.0, 0.0, height)),
        )
        for name, base, mass, height in (("bolt", "weld", None, 0.0), ("nut", "free", 0.01, 0.005))
    )  # fmt: skip
    return mb.Scene(
        primitives=(bolt, nut), materials={"steel": mb.model.Material(friction=friction)}, time_step=STEP
    )


class Run:
    """What the table tells of a run."""

    def __init__(self):
        self.angle = self.deepest = 0.0
        self.unsolved, self.seconds, self.poses = None, [], []

    def see(self, height, x, y, z, w):
        """The nut's height and quaternion behind a step."""
        turn = 2.0 * np.arctan2(z, w)
        self.angle += (turn - self.angle + np.pi) % (2.0 * np.pi) - np.pi
        self.poses.append((height, self.angle))

    def line(self, name, contacts):
        """Of the table."""
        height, angle = np.subtract(self.poses[round(SETTLED / STEP) - 1], self.poses[-1])
        turns = angle / (2.0 * np.pi)
        lead = f"{1e3 * height / turns:10.4f}" if abs(turns) > 0.01 else f"{'':10}"
        unsolved = "" if self.unsolved is None else str(self.unsolved)
        return (
            f"{name:26}{turns:8.4f}{lead}{1e3 * height:10.2g}{self.deepest:10.1e}{unsolved:>10}{contacts:10}"
            f"{1e3 * np.mean(self.seconds):10.3f}{1e3 * max(self.seconds):10.2f}"
        )


def ours(files, kind, friction, seconds):
    """Line of our figures."""
    sim, run = mb.Simulator(scene(files, kind, friction)), Run()
    run.unsolved = 0
    for _ in range(round(seconds / STEP)):
        begin = time.process_time()
        certificate = sim.step().certificate
        run.seconds.append(time.process_time() - begin)
        run.unsolved += not certificate.residual <= 1e-10
        run.deepest = max(run.deepest, certificate.penetration, -certificate.end_gap)
        run.see(sim.q[2], *sim.q[3:7])
    return run.line(f"{friction:<6}ours, {kind}", certificate.contacts)


def mujocos(files, bodies, kind, friction, folder, seconds):
    """Line of MuJoCo's figures; ``kind`` is hull or sdf."""
    import mujoco

    m, d = peer(scene(files, "convex_hull", friction), folder, **(bodies if kind == "sdf" else {}))
    run = Run()
    for _ in range(round(seconds / STEP)):
        begin = time.process_time()
        mujoco.mj_step(m, d)
        run.seconds.append(time.process_time() - begin)
        run.deepest = max(run.deepest, -min(d.contact.dist, default=0.0))
        run.see(d.qpos[2], *d.qpos[4:7], d.qpos[3])
    return run.line(f"{friction:<6}MuJoCo, {kind}", d.ncon)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.4, help="simulated time (default: 0.4)")
    parser.add_argument("--sides", type=int, default=48, help="of a turn of the thread (default: 48)")
    parser.add_argument("--only", default="", help="ours or mujoco")
    options = options_of(parser, seconds=0.2, sides=12, only="ours")
    with tempfile.TemporaryDirectory() as folder:
        folder, bodies = Path(folder), meshes(options.sides)
        files = {name: write(folder / f"{name}.obj", *mesh) for name, mesh in bodies.items()}
        count = sum(len(triangles) for _, triangles in bodies.values())
        print(f"{count} triangles, {options.seconds:g} s, steps of {1e3 * STEP:g} ms")
        print(f"{'friction':26}{'turns':>8}{'mm a turn':>10}{'sunk mm':>10}{'deepest':>10}{'unsolved':>10}"
              f"{'contacts':>10}{'mean ms':>10}{'worst':>10}")  # fmt: skip
        for friction in FRICTIONS:
            for kind in () if options.only == "mujoco" else ("mesh", "convex_hull"):
                print(ours(files, kind, friction, options.seconds), flush=True)
            for kind in () if options.only == "ours" else ("sdf", "hull"):
                print(mujocos(files, bodies, kind, friction, folder, options.seconds), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
