# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bodies that touch nothing on their way, or the next part of one surface: seams, near misses, narrow holes."""

import numpy as np

from mb_contact.model.scene import Pose, Primitive
from mb_contact.programs.bench.fidelity.frame import (
    GRAVITY,
    Case,
    Figure,
    Setting,
    body,
    coulomb,
    drive,
    integrators,
    launch,
    simulator,
    upper,
)

MU, SPEED = 0.3, 2.0
BOX = (0.13, 0.09, 0.08)
TILE = 0.1
CLEARANCE, ASIDE = 1e-4, 1e-5
FALL = 0.25  #: [s]


def _slab(name, begin, end):
    """A fixed slab with its top at zero, between two places on the x axis."""
    return Primitive(name, "box", (end - begin, 1.0, 0.1), Pose((0.5 * (begin + end), 0.0, -0.05)), material="stuff")


def _seam(setting):
    tiles = [_slab(f"tile_{i}", TILE * i - 1.0, TILE * (i + 1) - 1.0) for i in range(30)]
    sim = simulator(setting, [*tiles, body("box", "box", BOX, (-0.3, 0.0, 0.04))], MU, ground=None)
    launch(sim, (0.0, 0.0, 0.0, SPEED, 0.0, 0.0))
    heights = []
    drive(sim, 0.8, lambda _: heights.append(sim.link_pose("box")[0][2] - 0.04))
    return sim.link_pose("box")[0][0] + 0.3, np.abs(heights).max()


def _pass(setting):
    fixed = Primitive("fixed", "box", (0.2, 0.2, 0.2), Pose((0.0, 0.0, -0.1)), material="stuff")
    flying = body("flying", "box", (0.1, 0.1, 0.1), (-0.2537, 0.0, 0.05 + CLEARANCE))
    sim = simulator(setting, [fixed, flying], MU, ground=None, gravity=(0.0, 0.0, 0.0))
    launch(sim, (0.0, 0.0, 0.0, 1.0, 0.0, 0.0))
    drive(sim, 0.5)
    return sim.v[3], np.abs(sim.v[:3]).max()


def _hole(setting):
    """A square peg above a square hole 20 um wider, 5 um from one wall."""
    width = 0.06 + 2e-5
    middle = 0.5 * width + 0.1
    walls = [
        Primitive(f"{axis}{side}", "box", size, Pose((side * middle * x, side * middle * (1 - x), -0.025)),
                  material="stuff")
        for axis, size, x in (("x", (0.2, 0.6, 0.05), 1), ("y", (width, 0.2, 0.05), 0))
        for side in (-1, 1)
    ]  # fmt: skip
    sim = simulator(setting, [*walls, body("peg", "box", (0.06, 0.06, 0.08), (5e-6, 0.0, 0.12))], MU, ground=None)
    drive(sim, FALL)
    way = sim.link_pose("peg")[0] - (5e-6, 0.0, 0.12)
    return -way[2], np.abs(sim.v[:3]).max()


STOP = SPEED**2 / (2.0 * MU * GRAVITY)
BOTH = coulomb(schemes=("time_stepping",)) + coulomb(schemes=("event",))[1:]
#: Semi-implicit Euler: a stopping way misses by v dt / 2, a fall by g t dt / 2.
CASES = (
    Case(
        "seam", "box at 2 m/s over 30 flush tiles, mu = 0.3: comes to rest after v^2 / (2 mu g), on the surface",
        (Figure("way", "m", STOP, 2e-3), upper("off the surface", "m", 1e-6)), BOTH, _seam,
    ),
    Case(
        "pass", "box that flies over another with 0.1 mm between them, at 1 m/s: nothing happens",
        (Figure("speed", "m/s", 1.0, 1e-9), upper("spin", "rad/s", 1e-9)),
        BOTH + integrators("midpoint", "rk4"), _pass,
    ),
    Case(
        "hole", "square peg above a hole 0.02 mm wider, 5 um from a wall: free fall for 0.25 s",
        (Figure("way", "m", 0.5 * GRAVITY * FALL**2, 5e-3), upper("spin", "rad/s", 1e-9)),
        (Setting(friction_model="coulomb_cone"), *integrators("midpoint", "rk4")), _hole,
    ),
)  # fmt: skip
