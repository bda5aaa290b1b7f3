# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""One finger flips a box over its edge: iLQR through contact (docs/push_to_pose.md).

    python examples/flip_box.py [--by derivatives|differences]

The first controls leave the box where it is.  Exit code 1 where it does not lie on its other side within 1 mm
and 0.5 degrees.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np
from push_to_pose import FINGER, STEPS, Problem, solve

import mb_contact as mb

M = mb.model
SIDE = 0.1  #: of the box [m]
LIFT = 0.981  #: what the tip weighs [N]


def simulator():
    """A box of 0.4 kg on rough ground, and a finger's tip that two forces move along x and z beside its upper edge."""
    box = M.Primitive("box", "box", (SIDE,) * 3, M.Pose((0, 0, SIDE / 2)), "free", 0.4, material="rubber")
    urdf = FINGER.replace("slide_y", "slide_z").replace('<axis xyz="0 1 0"/>', '<axis xyz="0 0 1"/>')
    finger = M.SceneModel(urdf, pose=M.Pose((0, 0, 0.08)), joints={"slide_x": -0.0705, "slide_z": 0.0},
                          materials=M.ModelMaterials("steel"))
    scene = mb.Scene(primitives=(box,), models=(finger,), ground=M.Ground(material="rubber"), time_step=0.01,
                     materials={"rubber": M.Material(friction=1.0), "steel": M.Material(friction=0.2)})  # fmt: skip
    return mb.Simulator(scene)


class Flip(Problem):
    """The pose of the box is its place and its turn about y."""

    turn = 3, 6


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--by", choices=("derivatives", "differences"), default="derivatives")
    parser.add_argument("--push", type=float, default=2.39, metavar="N", help="of the first controls")
    options = parser.parse_args(argv)
    problem = Flip(np.array([SIDE, 0.0, np.pi / 2]), simulator())
    controls = np.tile([0.0, LIFT], (STEPS, 1))
    controls[:, 0] = options.push
    return solve(problem, controls, options.by)


if __name__ == "__main__":
    sys.exit(main())
