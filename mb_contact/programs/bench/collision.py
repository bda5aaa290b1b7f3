# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What collision detection costs: 30 links and 10 objects with 8 near pairs, each engine; growth with the number."""

import time
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.collision import ENGINES, coal_engine, make_buffers, make_contacts, make_narrow_phase
from mb_contact.core.collision.broadphase import candidate_pairs
from mb_contact.core.collision.geometry import aabbs, geometry_poses
from mb_contact.core.collision.manifolds import build_contacts
from mb_contact.core.handle import make_geoms_handle
from mb_contact.errors import CollisionError
from mb_contact.model.pairs import first_rows, hull_arrays
from mb_contact.types import SHAPE_BOX, SHAPE_CAPSULE, SHAPE_CYLINDER, SHAPE_SPHERE, Geoms

LINKS, OBJECTS, NEAR = 30, 10, 8
MARGIN = 0.002
GROWTH = (30, 100, 300, 1000)
HEAD = "{}" + f" {'broad':>8} {'engine':>8} {'manifolds':>10} {'all':>8}" + "{}   "
BINDING = "binding"  #: coal asked from Python, where "coal" is asked in machine code if that has been built
TARGET = 40.0  #: of the whole detection with coal [us]


class Detection:
    """The stages from body poses to contact points, on one body per shape."""

    def __init__(self, kind: Sequence[int], size: Sequence[ArrayLike], pairs: ArrayLike, engine: str) -> None:
        g = len(kind)
        pairs = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self.geoms = Geoms(
            body=np.arange(g), kind=np.array(kind), size=np.array(size, dtype=np.float64),
            R=np.tile(np.eye(3), (g, 1, 1)), p=np.zeros((g, 3)), pairs=pairs,
            mu=np.full(len(pairs), 0.5), margin=np.array([MARGIN]),
            **hull_arrays([None] * g), first_row=first_rows(pairs, g),
        )  # fmt: skip
        self.buffers, self.handle = make_buffers(self.geoms), make_geoms_handle(self.geoms)
        self.contacts = make_contacts(4 * len(pairs[:2000]) + 64)
        by_name = make_narrow_phase if engine != BINDING else lambda geoms, _: coal_engine.NarrowPhase(geoms)
        self.narrow = by_name(self.geoms, engine)

    def broad(self, R: Floats, p: Floats) -> int:
        """Candidate pairs; returns their number."""
        geoms, b = self.handle, self.buffers
        geometry_poses(geoms, R, p, b.geom_R, b.geom_p)
        aabbs(geoms, b.geom_R, b.geom_p, b.travel, b.lower, b.upper)
        return candidate_pairs(
            geoms, b.geom_R, b.geom_p, b.lower, b.upper, b.travel, b.swept, b.resting, b.candidates, b.reach
        )

    def query(self, count: int) -> None:
        """The engine's part."""
        b = self.buffers
        self.narrow.query(b.candidates, count, b.reach, b.geom_R, b.geom_p, b.witness)

    def manifolds(self, count: int) -> int:
        """Contact points; returns their number."""
        b = self.buffers
        build_contacts(
            self.handle, b.geom_R, b.geom_p, b.travel, b.candidates, count, b.reach, b.witness, b.work, self.contacts
        )
        return int(self.contacts.count[0])


def robot_and_objects(engine: str) -> tuple[Detection, Floats, Floats]:
    """A chain of 30 capsules and 10 objects, 8 of which touch a link each.

    Returns
    -------
    Detection, rotations (40, 3, 3), positions (40, 3)
    """
    shapes = [(SHAPE_CAPSULE, (0.03, 0.07, 0.0))] * LINKS
    cycle = [(SHAPE_BOX, (0.04, 0.05, 0.03)), (SHAPE_CYLINDER, (0.03, 0.05, 0.0)), (SHAPE_SPHERE, (0.04, 0.0, 0.0))]
    shapes += [cycle[i % 3] for i in range(OBJECTS)]
    n = len(shapes)
    turn = np.array([[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-1.0, 0.0, 0.0]])  # links lie along x
    R = np.tile(np.eye(3), (n, 1, 1))
    R[:LINKS] = turn
    p = np.zeros((n, 3))
    p[:LINKS, 0] = 0.15 * np.arange(LINKS)
    for i in range(OBJECTS):
        kind, size = shapes[LINKS + i]
        height = size[2] if kind == SHAPE_BOX else size[1] if kind == SHAPE_CYLINDER else size[0]
        far = 0.0 if i < NEAR else 0.3
        p[LINKS + i] = [0.15 * 3 * i, 0.0, 0.03 + height + 1e-4 + far]
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n) if not (b < LINKS and b == a + 1)]
    return Detection([s[0] for s in shapes], [s[1] for s in shapes], pairs, engine), R, p


def loose_grid(n: int, engine: str) -> tuple[Detection, Floats, Floats]:
    """n mixed shapes of 0.1 m, every second pair of neighbours along x touching."""
    cycle = [(SHAPE_BOX, (0.05, 0.05, 0.05)), (SHAPE_CYLINDER, (0.05, 0.05, 0.0)), (SHAPE_SPHERE, (0.05, 0.0, 0.0))]
    shapes = [cycle[i % 3] for i in range(n)]
    side = int(np.ceil(n ** (1.0 / 3.0)))
    cell = np.array([[i % side, (i // side) % side, i // side**2] for i in range(n)], dtype=np.float64)
    p = cell * [0.15, 0.2, 0.2]
    p[:, 0] -= 0.0501 * (cell[:, 0] % 2)
    pairs = [(a, b) for a in range(n) for b in range(a + 1, n)]
    R = np.tile(np.eye(3), (n, 1, 1))
    return Detection([s[0] for s in shapes], [s[1] for s in shapes], pairs, engine), R, np.ascontiguousarray(p)


def measure(detection: Detection, R: Floats, p: Floats, repeats: int) -> tuple[dict[str, float], int, int]:
    """Least times [us] of broad phase, engine and manifolds, and the numbers of near pairs and points."""
    times, count, points = {}, detection.broad(R, p), 0
    stages = {"broad": lambda: detection.broad(R, p), "engine": lambda: detection.query(count),
              "manifolds": lambda: detection.manifolds(count)}  # fmt: skip
    for name, run in stages.items():
        run()
        times[name] = min(_time(run) for _ in range(repeats))
    points = detection.manifolds(count)
    return times, count, points


def _time(run):
    start = time.perf_counter()
    run()
    return 1e6 * (time.perf_counter() - start)


def run_bench(repeats: int = 30) -> int:
    """Print both tables; returns the exit code."""
    print(f"{LINKS} links and {OBJECTS} objects, {NEAR} near pairs; least of {repeats} timings [us]")
    print(HEAD.format("engine  ", "") + "near pairs, points")
    for engine in [engine for engine in (*ENGINES, BINDING) if _available(engine)]:
        note = f"  (target {TARGET:g})" if engine == "coal" else ""
        print(_row(engine, *robot_and_objects(engine), repeats) + note)
    print("\ngrowth with the number of bodies, coal [us]")
    print(HEAD.format("  bodies", "   a body") + "near pairs, points")
    for n in GROWTH:
        print(_row(n, *loose_grid(n, "coal"), repeats))
    return 0


def _row(label, detection, R, p, repeats):
    """One line of a table; with the time of a body where the label is their number."""
    times, count, points = measure(detection, R, p, repeats)
    total = sum(times.values())
    each = f" {total / label:8.2f}" if isinstance(label, int) else ""
    return f"{label:8} {times['broad']:8.1f} {times['engine']:8.1f} {times['manifolds']:10.1f} {total:8.1f}{each}   " \
           f"{count}, {points}"


def _available(engine):
    try:
        robot_and_objects(engine)
    except CollisionError as error:
        print(f"without {engine}: {error}")
        return False
    return True
