# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Many contacts at once: stacks, wedges, and a box that carries 25 rolling balls."""

import numpy as np

from mb_contact.model.scene import Ground, Material, MaterialPair, Pose, Primitive
from mb_contact.programs.bench.fidelity.frame import (
    GRAVITY,
    Case,
    Figure,
    body,
    coulomb,
    drive,
    simulator,
    slope_gravity,
    upper,
)

# --- SimBenchmark's rolling test: a box of 10 kg on the ground, 25 balls of 1 kg on the box -------------------------

FORCE, BOX, BALL, BALLS = 150.0, 10.0, 1.0, 25
GROUND_MU, BALL_MU = 0.4, 0.8
#: The box slides; balls roll on it at 2/7 of its acceleration: (M + 2/7 n m) a = F - mu (M + n m) g.
BOX_RATE = (FORCE - GROUND_MU * (BOX + BALLS * BALL) * GRAVITY) / (BOX + 2.0 / 7.0 * BALLS * BALL)


def _rolling(setting):
    height, radius, spacing = 0.1, 0.05, 0.4
    grid = spacing * np.arange(-2, 3)
    box = Primitive("box", "box", (3.0, 3.0, height), Pose((0, 0, height / 2)), "free", BOX, material="box")
    places = [(x, y, height + radius) for x in grid for y in grid]
    balls = [
        Primitive(f"ball_{i}", "sphere", (radius,), Pose(place), "free", BALL, material="ball")
        for i, place in enumerate(places)
    ]
    materials = {"ground": Material(GROUND_MU), "box": Material(GROUND_MU), "ball": Material(BALL_MU)}
    pairs = (MaterialPair(("box", "ground"), GROUND_MU), MaterialPair(("ball", "box"), BALL_MU))
    sim = simulator(setting, [box, *balls], materials=materials, pairs=pairs, ground=Ground(material="ground"))
    sim.set_external_wrench("box", (0, 0, 0, FORCE / 2**0.5, FORCE / 2**0.5, 0))
    worst = drive(sim, 1.0)
    along = sim.v.reshape(-1, 6)[:, 3:5] @ (np.sqrt(0.5), np.sqrt(0.5)) / sim.time
    return along[0], along[1:].mean(), np.ptp(along[1:]), worst


# --- wedges -----------------------------------------------------------------------------------------------------

GROOVE_MU = 0.3
STICK_ANGLE, SLIDE_ANGLE = np.radians(20.0), np.radians(35.0)
#: Two walls at 45 deg carry m g cos / sqrt 2 each, so a groove holds as mu sqrt 2 would on the level.
GROOVE_RATE = GRAVITY * (np.sin(SLIDE_ANGLE) - np.sqrt(2.0) * GROOVE_MU * np.cos(SLIDE_ANGLE))
WEDGE, BLOCK = 1.0, 1.0  #: masses of the wedge and of each block that it drives apart [kg]


def _groove(setting, slope):
    """A square prism in a groove of two walls at 45 deg, which falls towards +x."""
    half, side = 0.1, np.pi / 4
    walls = [Primitive(f"wall_{i}", "plane", pose=Pose(rpy=(sign * side, 0, 0)), material="stuff")
             for i, sign in enumerate((-1, 1))]  # fmt: skip
    prism = body("prism", "box", (0.3, 2 * half, 2 * half), (0, 0, half * 2**0.5), rpy=(side, 0, 0))
    return simulator(setting, [*walls, prism], GROOVE_MU, ground=None, gravity=slope_gravity(slope))


def _in_groove(setting):
    held, slides = _groove(setting, STICK_ANGLE), _groove(setting, SLIDE_ANGLE)
    start = held.q[:3]
    drive(held, 2.0)
    drive(slides, 1.0)
    return np.linalg.norm(held.q[:3] - start), slides.v[3] / slides.time


def _driven_wedge(setting, mu):
    """A square prism that stands on its edge between two blocks, whose upper edges touch its faces."""
    apart, width, height, radius = 0.1, 0.4, 0.3, 0.3
    side = 2**0.5 * radius
    blocks = [body(name, "box", (width, 0.4, height), (sign * (apart + width) / 2, 0, height / 2), BLOCK)
              for name, sign in (("left", -1), ("right", 1))]  # fmt: skip
    wedge = body("wedge", "box", (side, 0.3, side), (0, 0, height - apart / 2 + radius), WEDGE, (0, np.pi / 4, 0))
    return simulator(setting, [*blocks, wedge], mu)


def _wedging(setting):
    free, held = _driven_wedge(setting, 0.0), _driven_wedge(setting, 0.5)
    start = held.q
    drive(free, 0.25)
    drive(held, 1.0)
    v = free.v.reshape(3, 6)[:, 3:] / free.time
    return -v[2, 2], v[1, 0], np.abs(held.q - start).max()


# --- stacks -----------------------------------------------------------------------------------------------------


def _stack(setting, masses, seconds):
    """Boxes on each other: drift, and the worst error of what each layer carries, relative to it."""
    count = len(masses)
    boxes = [body(f"box_{i}", "box", (0.2, 0.2, 0.1), (0, 0, 0.05 + 0.1 * i), m) for i, m in enumerate(masses)]
    sim = simulator(setting, boxes)
    start = sim.q
    drive(sim, seconds)
    contacts = sim.step().contacts
    loads = np.zeros(count)
    for c in contacts:
        upper_box = max(int(name[4:]) for name in (c["link_a"], c["link_b"]) if name != "ground")
        loads[upper_box] += abs(c["impulse"][2])
    exact = GRAVITY * sim.time_step * np.cumsum(np.asarray(masses)[::-1])[::-1]
    return np.abs(sim.q - start).max(), np.abs(loads / exact - 1.0).max()


def _stacks(setting):
    tower = _stack(setting, [1.0] * 10, 2.0)
    heavy = _stack(setting, [0.01, 0.1, 1.0, 10.0], 2.0)
    return (*tower, *heavy)


CASES = (
    Case(
        "rolling_balls", "SimBenchmark's rolling test: 25 balls on a box of 10 kg pulled by 150 N along (1, 1), 1 s",
        (
            Figure("box", "m/s^2", BOX_RATE, 1e-2), Figure("balls, mean", "m/s^2", 2.0 / 7.0 * BOX_RATE, 1e-2),
            upper("balls, spread", "m/s^2", 1e-2), upper("worst residual", "", 1e-8),
        ),
        coulomb(), _rolling,
    ),
    Case(
        "groove", "prism in a groove of two walls at 45 deg, mu = 0.3: wedged at 20 deg, slides at 35 deg",
        (
            upper("drift in 2 s, 20 deg", "m", 1e-9), Figure("acceleration, 35 deg", "m/s^2", GROOVE_RATE, 1e-6),
        ),
        coulomb(), _in_groove,
    ),
    Case(
        "wedge", "wedge of 45 deg between two blocks: mu = 0 drives them apart at g m / (m + 2 M), mu = 0.5 jams",
        (
            Figure("wedge", "m/s^2", GRAVITY * WEDGE / (WEDGE + 2.0 * BLOCK), 1e-6),
            Figure("block", "m/s^2", GRAVITY * WEDGE / (WEDGE + 2.0 * BLOCK), 1e-6),
            upper("drift of the jammed wedge in 1 s", "m", 1e-9),
        ),
        coulomb(), _wedging,
    ),
    Case(
        "stacks", "towers of boxes for 2 s: ten equal ones, and four, each ten times as heavy as the one below",
        (
            upper("drift of ten", "m", 1e-6), upper("loads of ten", "", 1e-6),
            upper("drift of four", "m", 1e-6), upper("loads of four", "", 1e-6),
        ),
        coulomb(), _stacks,
    ),
)  # fmt: skip
