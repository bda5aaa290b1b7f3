# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Polyhedra tumble over steep terrain, as a height field and as a mesh of the same triangles: how deep they get.

    python benchmarks/terrain.py [--count 100] [--seed 0] [--jobs 2] [--step 0.001] [--quick]

Wedges, needles, plates, tetrahedra, hulls and boxes of 1 kg fall with 0.1 to 8 m/s and 1 to 50 rad/s on ridges, on
every other grid point raised, on random heights, on stairs and on pits, of 10 cm a cell, for 0.8 s or until they near
the border.  "deep" is the deepest place of their edges below the surface, looked at in ten parts, "told" the smallest
``certificate.end_gap``.  A run is bad where an edge gets deeper than 0.1 mm, or the certificate tells of more than that
although none is a tenth as deep.  Exit code 1 where more than one run in a hundred is bad or a step is not solved.
"""

from __future__ import annotations

import argparse
import tempfile
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import trimesh
from quick import options_of
from scipy.spatial.transform import Rotation

import mb_contact as mb
from mb_contact.model.scene import Heights, Material, Pose, Primitive, Scene, Velocity

POINTS, CELL = 25, 0.1  #: points of the grid along a side, and the length of a cell [m]
SIDE = CELL * (POINTS - 1)
TERRAINS = ("ridges", "checkered", "rough", "stairs", "pits")
AS = ("height_field", "mesh")
BAD, MOST_BAD = 1e-4, 0.01  #: depth [m], and part of the runs


def heights_of(terrain, rng):
    """Heights of the grid, (POINTS, POINTS) [m], rows along x."""
    j, i = np.indices((POINTS, POINTS))
    if terrain == "ridges":
        return 0.08 * (i % 2)
    if terrain == "checkered":
        return 0.08 * ((i + j) % 2)
    if terrain == "rough":
        return rng.uniform(0.0, 0.12, (POINTS, POINTS))
    if terrain == "stairs":
        return 0.05 * (i // 2 % 6)
    return np.where((i % 3 == 1) & (j % 3 == 1), 0.0, 0.1)


def drawn(rng):
    """(Name, hull) of a body about its centre of mass."""
    name = str(rng.choice(["wedge", "needle", "plate", "tetrahedron", "hull", "box"]))
    if name in ("needle", "plate", "box"):
        size = {"needle": (0.4, 0.01, 0.01), "plate": (0.2, 0.15, 0.004)}.get(name, rng.uniform(0.05, 0.2, 3))
        body = trimesh.creation.box(size)
    else:
        wedge = [(x, y, z) for x in (0.0, 0.2) for y, z in ((0.0, 0.0), (0.1, 0.0), (0.05, 0.15))]
        random = rng.normal(size=(4, 3)) * 0.1 if name == "tetrahedron" else rng.normal(size=(14, 3)) * 0.07
        body = trimesh.convex.convex_hull(np.array(wedge) if name == "wedge" else random)
    body.apply_translation(-body.center_mass)
    return name, body


def terrain_mesh(heights):
    """A solid with the field's triangles on top."""
    x, y = np.meshgrid(np.linspace(-SIDE / 2, SIDE / 2, POINTS), np.linspace(-SIDE / 2, SIDE / 2, POINTS))
    top = np.column_stack([x.ravel(), y.ravel(), heights.ravel()])
    at = np.arange(POINTS**2).reshape(POINTS, POINTS)
    a, b, c, d = (part.ravel() for part in (at[:-1, :-1], at[:-1, 1:], at[1:, 1:], at[1:, :-1]))
    cells = np.concatenate([np.column_stack([a, b, c]), np.column_stack([a, c, d])])
    rim = np.concatenate([at[0], at[1:, -1], at[-1, -2::-1], at[-2:0:-1, 0]])
    after, low = np.roll(rim, -1), POINTS**2
    sides = np.concatenate([np.column_stack([rim, rim + low, after + low]), np.column_stack([rim, after + low, after])])
    solid = trimesh.Trimesh(np.concatenate([top, top * (1.0, 1.0, 0.0) - (0.0, 0.0, 0.3)]),
                            np.concatenate([cells, cells[:, ::-1] + POINTS**2, sides]), process=False)  # fmt: skip
    assert solid.is_watertight and solid.volume > 0.0
    return solid


def over(heights, p):
    """Heights of points (n, 3) over the surface [m]."""
    u, v = (p[:, 0] + SIDE / 2) / CELL, (p[:, 1] + SIDE / 2) / CELL
    i, j = (np.clip(w.astype(int), 0, POINTS - 2) for w in (u, v))
    u, v, h = u - i, v - j, heights
    first, last = h[j, i], h[j + 1, i + 1]
    right = first + (h[j, i + 1] - first) * u + (last - h[j, i + 1]) * v
    left = first + (last - h[j + 1, i]) * u + (h[j + 1, i] - first) * v
    return p[:, 2] - np.where(v <= u, right, left)


def run(job):
    """What a run came to, as a dictionary."""
    seed, number, terrain, kind, step = job
    rng = np.random.default_rng((seed, number))
    heights = heights_of(terrain, rng)
    name, body = drawn(rng)
    velocity = rng.normal(size=3) * 0.6 * 10.0 ** rng.uniform(-1.0, 0.9)
    pose = Pose((*rng.uniform(-0.2, 0.2, 2), 0.45), tuple(Rotation.random(random_state=rng).as_euler("xyz")))
    turn = tuple(rng.normal(size=3) * 10.0 ** rng.uniform(0.0, 1.7))
    start = Velocity(angular=turn, linear=(*velocity[:2], -abs(velocity[2])))
    material = Material(float(rng.choice([0.0, 0.3, 0.9])), restitution=float(rng.choice([0.0, 0.0, 0.6])))
    with tempfile.TemporaryDirectory() as folder:
        body.export(f"{folder}/body.ply")
        terrain_mesh(heights).export(f"{folder}/terrain.ply")
        ground = Primitive("ground", "mesh", mesh=f"{folder}/terrain.ply", collision_meshes="mesh", material="m")
        if kind == "height_field":
            ground = Primitive("ground", "height_field", (SIDE, SIDE), heights=Heights(grid=tuple(map(tuple, heights))),
                               material="m")  # fmt: skip
        falling = Primitive("body", "mesh", mesh=f"{folder}/body.ply", collision_meshes="convex_hull", pose=pose,
                            base="free", mass=1.0, material="m", velocity=start)  # fmt: skip
        sim = mb.Simulator(Scene(primitives=(ground, falling), materials={"m": material}, time_step=step))
    ends, share = body.vertices[body.edges_unique], np.linspace(0.0, 1.0, 11)[:, None, None]
    places = (share * ends[:, 0] + (1.0 - share) * ends[:, 1]).reshape(-1, 3)
    deep, told, residual, worst = 0.0, 0.0, 0.0, 0.0
    for _ in range(round(0.8 / step)):
        certificate = sim.step().certificate
        p, turn = sim.link_pose("body")
        if np.abs(p[:2]).max() > SIDE / 2 - 0.25:
            break
        depth = max(0.0, -float(over(heights, Rotation.from_quat(turn).apply(places) + p).min()))
        deep, told = max(deep, depth), min(told, certificate.end_gap)
        worst = max(worst, -certificate.end_gap if depth < -0.1 * certificate.end_gap else 0.0)
        residual = max(residual, certificate.residual)
    return {"number": number, "terrain": terrain, "as": kind, "body": name, "deep": deep, "told": told, "false": worst,
            "residual": residual}  # fmt: skip


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100, help="bodies on each terrain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2, help="processes")
    parser.add_argument("--step", type=float, default=1e-3, help="time step [s]")
    options = options_of(parser, argv, count=2, jobs=1)
    jobs = [(options.seed, n, t, kind, options.step) for kind in AS for t in TERRAINS for n in range(options.count)]
    with ProcessPoolExecutor(options.jobs) as pool:
        told = list(pool.map(run, jobs, chunksize=4))
    bad = [case for case in told if max(case["deep"], case["false"]) > BAD]
    print(f"{'terrain':<11}" + "".join(f"{kind + ': runs':>19} {'deep':>5} {'false':>6}" for kind in AS))
    for terrain in TERRAINS:
        parts = [[case for case in told if (case["terrain"], case["as"]) == (terrain, kind)] for kind in AS]
        columns = "".join(f"{len(part):>19} {sum(case['deep'] > BAD for case in part):>5} "
                          f"{sum(case['false'] > BAD for case in part):>6}" for part in parts)  # fmt: skip
        print(f"{terrain:<11}{columns}")
    for case in bad:
        print(f"   {case['number']}: {case['body']} on {case['terrain']} as {case['as']}: {case['deep']:.1e} m deep, "
              f"told {case['told']:.1e}")  # fmt: skip
    residual = max(case["residual"] for case in told)
    print(f"{len(bad)} of {len(told)} bad; worst residual {residual:.1e}")
    return int(len(bad) > MOST_BAD * len(told) or residual > 1e-9)


if __name__ == "__main__":
    raise SystemExit(main())
