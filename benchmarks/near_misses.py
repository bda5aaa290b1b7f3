# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Who passes is left alone and who touches is hit: random pairs of convex shapes in free flight, half near misses.

    python benchmarks/near_misses.py [--count 5000] [--seed 0] [--jobs 2] [--events 200] [--json FILE]

Two bodies of any kind (box, sphere, capsule, cylinder, cone, ellipsoid, hull) tumble past each other at 1 cm/s to
100 m/s in steps of 0.1 to 4 ms.  Their inertia is isotropic, so that they turn evenly, and they turn about the origins
of their links (cones about their axes): their way is exact.  The
least distance is known beforehand: both are kept from moving along a direction n; at the moment at which their extents
along n come nearest to each other (found to rounding), they are d apart there, one support point above the other.
With d > 0 the plane between them parts them all the time.  With d < 0 a point of one is inside the other at that
moment, which is asked of the shapes.  |d| is up to 1 % of the size, or, in the other half, up to the size itself.

A pair is hit where a velocity has changed by more than 1e-9 of its own at the end.  Exit code 1 where more than one in
a thousand of those with |d| above 1e-7 m is decided otherwise than its geometry.  ``--events``: so many of those that
are hit are run in the event scheme too, and their velocities behind the hit compared with those of time stepping at 1,
1/2 and 1/4 of the step.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
import tempfile
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from quick import options_of
from scipy.optimize import minimize_scalar
from scipy.spatial import ConvexHull
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.scene import Material, Pose, Primitive, Scene

KINDS = ("box", "sphere", "capsule", "cylinder", "cone", "ellipsoid", "hull")
CERTAIN = 1e-7  #: distance from which the decision must be that of the geometry [m],
MOST_WRONG = 1e-3  #: and part of the pairs that may be decided otherwise


@dataclasses.dataclass(frozen=True)
class Shape:
    """A convex shape in its link's frame; ``size`` as scenes have it, ``points`` those of a hull."""

    kind: str
    size: tuple
    points: np.ndarray | None = None

    def support(self, n):
        """Points farthest along directions n (..., 3)."""
        n, s = np.asarray(n), self.size
        if self.kind == "hull":
            return self.points[np.argmax(n @ self.points.T, axis=-1)]
        if self.kind == "box":
            return np.where(n >= 0.0, 0.5, -0.5) * np.array(s)
        if self.kind == "ellipsoid":
            scaled = n * (0.5 * np.array(s)) ** 2
            return scaled / np.sqrt(np.sum(scaled * n, axis=-1, keepdims=True))
        if self.kind == "sphere":
            return s[0] * n
        end = np.where(n[..., 2:] >= 0.0, 0.5, -0.5) * s[1] * np.array([0.0, 0.0, 1.0])
        if self.kind == "capsule":
            return end + s[0] * n
        across = n * np.array([1.0, 1.0, 0.0])
        rim = s[0] * across / np.maximum(np.linalg.norm(across, axis=-1, keepdims=True), 1e-300)
        if self.kind == "cylinder":
            return end + rim
        apex = np.array([0.0, 0.0, 0.5 * s[1]])
        base = rim - apex
        return np.where((n @ apex)[..., None] >= np.sum(n * base, axis=-1, keepdims=True), apex, base)

    def has(self, p):
        """Whether a point is inside."""
        s = self.size
        if self.kind == "hull":
            planes = ConvexHull(self.points).equations
            return bool((planes[:, :3] @ p + planes[:, 3] < 0.0).all())
        if self.kind == "box":
            return bool((np.abs(p) < 0.5 * np.array(s)).all())
        if self.kind == "ellipsoid":
            return bool(np.sum((p / (0.5 * np.array(s))) ** 2) < 1.0)
        if self.kind == "sphere":
            return bool(np.linalg.norm(p) < s[0])
        along, across = p[2], np.hypot(p[0], p[1])
        if self.kind == "capsule":
            return bool(np.hypot(across, max(abs(along) - 0.5 * s[1], 0.0)) < s[0])
        if self.kind == "cylinder":
            return bool(across < s[0] and abs(along) < 0.5 * s[1])
        return bool(along > -0.5 * s[1] and across < s[0] * (0.5 - along / s[1]))

    def primitive(self, name, folder):
        """The free body of a scene."""
        more = {"base": "free", "mass": 1.0, "inertia": (1e-3, 1e-3, 1e-3), "material": "m"}
        if self.kind != "hull":
            return Primitive(name, self.kind, self.size, Pose(), **more)
        file = Path(folder) / f"{name}.obj"
        faces = ConvexHull(self.points).simplices + 1
        file.write_text("".join(f"v {x!r} {y!r} {z!r}\n" for x, y, z in self.points.tolist())
                        + "".join("f {} {} {}\n".format(*face) for face in faces))  # fmt: skip
        return Primitive(name, "mesh", mesh=str(file), collision_meshes="convex_hull", **more)


def drawn(rng, kind):
    """A shape of 2 to 20 cm."""
    if kind == "hull":
        points = rng.normal(size=(10, 3))
        points = np.concatenate([points, -points])
        points = 0.05 * points / np.linalg.norm(points, axis=1)[:, None] * rng.uniform(0.6, 1.4, 3)
        hull = ConvexHull(points)
        return Shape(kind, (), points[hull.vertices])
    size = {"sphere": 1, "capsule": 2, "cylinder": 2, "cone": 2}.get(kind, 3)
    lengths = rng.uniform(0.02, 0.1, size) if size == 3 else rng.uniform(0.01, 0.05, size)
    return Shape(kind, tuple(float(x) for x in lengths * ((1.0,) if size != 2 else (1.0, 2.0))))


@dataclasses.dataclass(frozen=True)
class Flight:
    """A shape that turns evenly about its centre of mass, which is ``centre`` in the link's frame and goes straight."""

    shape: Shape
    centre: np.ndarray
    start: Rotation  #: orientation at time 0
    turn: np.ndarray  #: [rad/s]
    position: np.ndarray = None  #: of the centre of mass at time 0 [m],
    velocity: np.ndarray = None  #: and its velocity [m/s]

    def orientation(self, t):
        """At times t."""
        return Rotation.from_rotvec(np.multiply.outer(np.asarray(t), self.turn)) * self.start

    def extent(self, n, t):
        """The farthest point along n from the centre of mass at times t, and how far that is [m]."""
        R = self.orientation(t)
        point = R.apply(self.shape.support(R.inv().apply(n)) - self.centre)
        return point, point @ n

    def put(self, sim, name):
        """Place the body of a simulator at time 0."""
        arm = self.start.apply(-self.centre)
        velocity = self.velocity + np.cross(self.turn, arm)
        sim.set_object(name, (self.position + arm, self.start.as_quat()), (*self.turn, *velocity))


@dataclasses.dataclass(frozen=True)
class Case:
    """Two bodies that pass or hit: their flights, d [m], when they are that far apart [s], steps of how long [s]."""

    flights: tuple[Flight, Flight]
    distance: float
    moment: float
    time_step: float
    steps: int
    certain: bool  #: whether the geometry says what happens


def nearest(f, end):
    """Where f is least on [0, end], found to rounding."""
    t = np.linspace(0.0, end, 2001)
    values = f(t)
    i = int(np.argmin(values))
    low, high = t[max(i - 1, 0)], t[min(i + 1, len(t) - 1)]
    found = minimize_scalar(lambda x: float(f(np.array([x]))[0]), bounds=(low, high), method="bounded",
                            options={"xatol": 1e-14 * end})  # fmt: skip
    return (found.x, found.fun) if found.fun < values[i] else (t[i], values[i])


def case_of(seed, number, folder):
    """The scene of a case, and the case."""
    rng = np.random.default_rng((seed, number))
    shapes = [drawn(rng, kind) for kind in rng.choice(KINDS, 2).tolist()]
    time_step = float(rng.choice([1e-4, 1e-3, 4e-3]))
    scene = Scene(primitives=tuple(shape.primitive(name, folder) for shape, name in zip(shapes, "ab")),
                  materials={"m": Material(0.3)}, gravity=(0.0, 0.0, 0.0), time_step=time_step)  # fmt: skip
    sim = mb.Simulator(scene)
    size = min(float(np.diag(shape.support(np.eye(3))).max()) for shape in shapes)
    speed = 10.0 ** rng.uniform(-2.0, 2.0)
    steps = int(min(max(3.0 * size / speed / time_step, 20), 300))
    end = steps * time_step
    n, aside = Rotation.random(random_state=rng).as_matrix()[:2]
    turns = rng.normal(size=(2, 3)) * 10.0 ** rng.uniform(-1.0, 1.3)
    centres = [np.array(sim.world.tree.com[sim.world.objects[name]]) for name in "ab"]
    starts = [Rotation.random(random_state=rng) for _ in shapes]
    for shape, start, turn in zip(shapes, starts, turns):
        if shape.kind == "cone":
            turn[:] = start.apply([0.0, 0.0, np.linalg.norm(turn)])
    a, b = (Flight(*each) for each in zip(shapes, centres, starts, turns))
    moment, least = nearest(lambda t: -b.extent(-n, t)[1] - a.extent(n, t)[1], end)
    near = number % 2 == 0
    depth = 10.0 ** rng.uniform(-7.5, np.log10(0.01 * size)) if near else rng.uniform(0.01, 0.5) * size
    distance = float(depth * rng.choice([-1.0, 1.0]))
    on_a, on_b = a.extent(n, moment)[0], b.extent(-n, moment)[0]
    apart = on_a - on_b + distance * n  # of the centres at that moment: the points are above each other
    v = speed * aside
    flights = (
        Flight(a.shape, a.centre, a.start, a.turn, np.zeros(3), 0.5 * v),
        Flight(b.shape, b.centre, b.start, b.turn, apart + v * moment, -0.5 * v),
    )
    certain = abs(distance) > CERTAIN
    if distance < 0.0:
        deep = [
            f.shape.has(f.orientation(moment).inv().apply(point) + f.centre)
            for f, point in ((a, on_a + distance * n), (b, on_b - distance * n))
        ]
        certain = certain and any(deep)
    parted = flights[0].extent(n, np.zeros(1)), flights[1].extent(-n, np.zeros(1))
    between = flights[1].position
    radii = sum(np.linalg.norm(shape.size if shape.points is None else shape.points.max(axis=0)) for shape in shapes)
    apart = between @ n > parted[0][1][0] + parted[1][1][0] or np.linalg.norm(between) > radii
    return scene, Case(flights, distance, moment, time_step, steps, certain and (distance > 0.0 or apart))


def motion(sim, case):
    """Turn and velocity of the centre of mass of both bodies, (12,)."""
    parts = []
    for k, (flight, name) in enumerate(zip(case.flights, "ab")):
        turn, velocity = sim.v[6 * k : 6 * k + 3], sim.v[6 * k + 3 : 6 * k + 6]
        arm = Rotation.from_quat(sim.link_pose(name)[1]).apply(flight.centre)
        parts += [turn, velocity + np.cross(turn, arm)]
    return np.concatenate(parts)


def run(scene, case, finer=1, **settings):
    """(Motion at the end, whether it has changed, the worst residual) of a run in steps 1 / ``finer`` as long."""
    sim = mb.Simulator(dataclasses.replace(scene, time_step=case.time_step / finer, **settings))
    for flight, name in zip(case.flights, "ab"):
        flight.put(sim, name)
    before, worst = motion(sim, case), 0.0
    more = 5 if case.distance < 0.0 else 0  # where they hit at the very end
    for _ in range((case.steps + more) * finer):
        worst = max(worst, sim.step().certificate.residual)
    after = motion(sim, case)
    return after, bool(np.abs(after - before).max() > 1e-9 * np.abs(before).max()), worst


def judge(job):
    """What a case came to, as a dictionary."""
    seed, number = job
    with tempfile.TemporaryDirectory() as folder:
        scene, case = case_of(seed, number, folder)
        _, hit, residual = run(scene, case)
        kinds = [flight.shape.kind for flight in case.flights]
        return {"number": number, "kinds": kinds, "distance": case.distance, "certain": bool(case.certain), "hit": hit,
                "residual": residual, "dt": case.time_step,
                "speed": float(np.linalg.norm(2.0 * case.flights[0].velocity))}  # fmt: skip


def beside_events(job):
    """Deviations of the motion behind a hit from that of the event scheme, in steps of 1, 1/2 and 1/4."""
    seed, number = job
    with tempfile.TemporaryDirectory() as folder:
        scene, case = case_of(seed, number, folder)
        truth, hit, _ = run(scene, case, collision_scheme="event", integrator="rk4")
        weights = np.tile([0.05] * 3 + [1.0] * 3, 2)  # turns at 5 cm
        return hit, [float(np.linalg.norm((run(scene, case, finer)[0] - truth) * weights)) for finer in (1, 2, 4)]


def main():
    """All cases, those decided wrongly, those beside the event scheme."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--events", type=int, default=200)
    parser.add_argument("--json")
    options = options_of(parser, count=40, jobs=1, events=2)
    jobs = [(options.seed, number) for number in range(options.count)]
    if options.jobs > 1:
        with ProcessPoolExecutor(options.jobs) as pool:
            told = list(pool.map(judge, jobs, chunksize=20))
    else:
        told = [judge(job) for job in jobs]
    certain = [case for case in told if case["certain"]]
    wrong = [case for case in certain if case["hit"] != (case["distance"] < 0.0)]
    passes = sum(case["distance"] > 0.0 for case in certain)
    print(f"{len(told)} pairs, {passes} that pass and {len(certain) - passes} that hit for certain")
    print(f"decided otherwise: {len(wrong)}; worst residual {max(case['residual'] for case in told):.1e}")
    for case in wrong:
        print("   {number}: {kinds}, d {distance:.1e} m, {speed:.3g} m/s, steps of {dt} s, hit: {hit}".format(**case))
    hits = [(options.seed, case["number"]) for case in certain if case["distance"] < 0.0][: options.events]
    beside = [beside_events(job) for job in hits]
    missed = sum(not hit for hit, _ in beside)
    medians = np.median([deviations for _, deviations in beside], axis=0) if beside else ()
    print(f"beside the event scheme: {len(beside)} hits, {missed} that it does not see; median deviation of velocities "
          f"in steps of 1, 1/2 and 1/4: {', '.join(f'{m:.2e}' for m in medians)} m/s")  # fmt: skip
    if options.json:
        Path(options.json).write_text(json.dumps(told, indent=1), encoding="utf-8")
    return 1 if len(wrong) > MOST_WRONG * len(certain) else 0


if __name__ == "__main__":
    sys.exit(main())
