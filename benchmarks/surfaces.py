# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contact coordinates against the complementarity simulator on the same scenes: error and time by step size.

    python benchmarks/surfaces.py            tables
    python benchmarks/surfaces.py --plot     docs/pictures/surfaces_cost.png too

Scenes, each from the same state: a ball that slides off a fixed sphere (where it leaves, against the formula); an
ellipsoid on a plane, on ice and rolling (against contact coordinates with the tolerance 1e-12), as an exact ellipsoid
and as convex meshes from 64 to 4095 vertices; P00's patch (energy and drift; the simulator has no
such shape).  Times are processor time of the steps alone, without loading or compiling.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
import trimesh
import yaml
from quick import options_of
from scipy.spatial import ConvexHull

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.surfaces import ContactJoint, SurfaceBody, SurfaceTree, ellipsoid, plane, sphere
from mb_contact.surfaces.scene_build import build_tree
from mb_contact.surfaces.scene_file import load_surface_scene

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "pictures" / "surfaces_cost.png"
AXES = np.array([0.10, 0.15, 0.25])
MASS = 1.0
MOMENTS = MASS / 5.0 * np.array([AXES[1] ** 2 + AXES[2] ** 2, AXES[0] ** 2 + AXES[2] ** 2, AXES[0] ** 2 + AXES[1] ** 2])
SPIN = np.array([0.5, 0.2, 4.0])  #: of the rolling ellipsoid, world [rad/s]
TILT = 1.2  #: about y [rad]
ROLL_TIME = 0.5  #: [s]
MESHES = (64, 256, 1024, 4095)  #: vertices; the last is the most that a hull may have
BIG, SMALL, START = 1.0, 0.3, 0.3  #: radii of the sphere and the ball, angle at the start


def tilted():
    """Orientation of the ellipsoid at the start."""
    c, s = np.cos(TILT), np.sin(TILT)
    return np.array([[c, 0.0, s], [0.0, 1.0, 0.0], [-s, 0.0, c]])


def timed(run):
    """(result, seconds of computing: other programs do not count)."""
    start = time.process_time()
    result = run()
    return result, time.process_time() - start


# --- rolling ellipsoid -------------------------------------------------------------------------------


def rolling(rough=True):
    """The ellipsoid on a plane in contact coordinates, at its start: rolling, or at rest on ice."""
    body = SurfaceBody(ellipsoid(AXES), MASS, np.diag(MOMENTS))
    tree = SurfaceTree([ContactJoint("egg", None, plane(), body, "free", friction=np.inf if rough else 0.0)])
    q, _ = tree.first_touch("egg", tilted(), (0.0, 0.0, 1.0))
    if rough:
        tree.roll("egg", q, tree.pair("egg").surfaces[0].frame(q[:2]).T @ SPIN)
    else:
        tree.slide("egg", q)
    return tree


def lattice(count):
    """Points (count, 3) spread evenly over the ellipsoid's surface: Fibonacci's lattice on a sphere, stretched."""
    i = np.arange(count) + 0.5
    height, turn = 1.0 - 2.0 * i / count, np.pi * (1.0 + np.sqrt(5.0)) * i
    radius = np.sqrt(1.0 - height * height)
    return AXES * np.stack((radius * np.cos(turn), radius * np.sin(turn), height), 1)


def rolling_scene(folder, step, vertices=None, rough=True):
    """The same scene for the simulator, its ellipsoid exact or a convex mesh with so many vertices."""
    tree = rolling(rough)
    R, p = tree.pose("egg")
    w, v = tree.velocity("egg")
    shape = {"shape": "ellipsoid", "size": (2.0 * AXES).tolist()}
    if vertices is not None:
        file = Path(folder) / f"ellipsoid_{vertices}.ply"
        points = lattice(vertices)
        trimesh.Trimesh(points, ConvexHull(points).simplices, process=False).export(file)
        shape = {"shape": "mesh", "mesh": str(file), "hull_vertices": vertices}
    body = {
        "name": "egg", **shape, "base": "free", "mass": MASS, "inertia": MOMENTS.tolist(), "material": "rough",
        "pose": {"position": p.tolist(), "quat_xyzw": matrix_to_quat(R).tolist()},
        "velocity": {"angular": w.tolist(), "linear": v.tolist()},
    }  # fmt: skip
    scene = {
        "time_step": step, "friction_directions": 16, "primitives": [body], "ground": {"material": "rough"},
        "materials": {"rough": {"friction": 5.0 if rough else 0.0}},
    }  # fmt: skip
    file = Path(folder) / f"roll_{step:g}_{vertices}_{rough}.yaml"
    file.write_text(yaml.safe_dump(scene), encoding="utf-8")
    return file


def place(R, p):
    """What is compared: the centre [m], and the axes times the largest half axis."""
    return np.concatenate((p, AXES.max() * np.ravel(R)))


def simulate(file, duration):
    """(place, seconds) of the free body of a scene after ``duration``."""
    simulator = mb.Simulator(mb.load_scene(file))

    def run():
        for _ in range(round(duration / simulator.time_step)):
            simulator.step()

    _, seconds = timed(run)
    p, quaternion = simulator.link_pose("egg")
    return place(quat_to_matrix(quaternion), p), seconds


def rolling_table(rough=True):
    """Rows (method, step, error, seconds per simulated second)."""
    reference = rolling(rough)
    reference.run_adaptive(ROLL_TIME, 1e-12, 1e-14)
    want = place(*reference.pose("egg"))
    rows = []
    for step in (2e-2, 1e-2, 5e-3, 2e-3, 1e-3, 5e-4):
        tree = rolling(rough)
        _, seconds = timed(lambda m=tree, h=step: m.run(ROLL_TIME, h))
        rows.append(("contact coordinates, RK4", step, np.abs(place(*tree.pose("egg")) - want).max(), seconds))
    for tolerance in (1e-4, 1e-6, 1e-8):
        tree = rolling(rough)
        count, seconds = timed(lambda m=tree, t=tolerance: m.run_adaptive(ROLL_TIME, t, t))
        error = np.abs(place(*tree.pose("egg")) - want).max()
        rows.append(("contact coordinates, 5(4)", ROLL_TIME / count, error, seconds))
    with tempfile.TemporaryDirectory() as folder:
        for vertices in (None, *MESHES):
            name = "LCP, exact ellipsoid" if vertices is None else f"LCP, hull of {vertices} vertices"
            for step in (2e-3, 1e-3, 5e-4, 2.5e-4) if vertices is None else (2e-3, 1e-3):
                got, seconds = simulate(rolling_scene(folder, step, vertices, rough), ROLL_TIME)
                rows.append((name, step, np.abs(got - want).max(), seconds))
    return [(name, step, error, seconds / ROLL_TIME) for name, step, error, seconds in rows]


# --- leaving a sphere --------------------------------------------------------------------------------


def leaving_motion():
    """The ball on the sphere in contact coordinates, at rest."""
    body = SurfaceBody(sphere(SMALL), MASS, 0.4 * MASS * SMALL**2 * np.eye(3))
    tree = SurfaceTree([ContactJoint("ball", None, sphere(BIG), body, "free")])
    p = (BIG + 2.0 * SMALL) * np.array([np.sin(START), 0.0, np.cos(START)])
    u1, u2, _ = tree.pair("ball").closest(np.eye(3), p)
    tree.slide("ball", tree.pair("ball").coordinates(u1, u2, np.eye(3)))
    return tree


def leaving_instant():
    """When the ball leaves: the exact quadrature of the pendulum from rest, and cos theta there."""
    from scipy.integrate import quad

    cosine = 2.0 / 3.0 * np.cos(START)
    length = (BIG + SMALL) / 9.81

    def slowness(x):  # theta = START + x^2 takes the root out of the start
        return 2.0 * x * np.sqrt(length / (2.0 * (np.cos(START) - np.cos(START + x * x)))) if x > 0.0 else 0.0

    return quad(slowness, 1e-12, np.sqrt(np.arccos(cosine) - START), epsabs=1e-13, epsrel=1e-13)[0], cosine


def leaving_table():
    """Rows (method, step, error of the instant [s], error of cos theta, seconds per simulated second)."""
    instant, cosine = leaving_instant()
    rows = []
    for step in (2e-2, 1e-2, 5e-3, 1e-3):
        tree = leaving_motion()
        _, seconds = timed(lambda m=tree, h=step: m.run(1.0, h))
        event = tree.events[0]
        again = leaving_motion()
        again.run(event.time, step)
        p = again.centre_of_mass()
        error = abs(p[2] / np.linalg.norm(p) - cosine)
        rows.append(("contact coordinates, RK4", step, abs(event.time - instant), error, seconds))
    for step in (5e-3, 1e-3, 2e-4):
        rows.append(("LCP", step, *_leaving_by_lcp(step, instant, cosine)))
    return rows


def _leaving_by_lcp(step, instant, cosine):
    """(error of the instant, error of cos theta, seconds per simulated second) of the simulator."""
    p = (BIG + SMALL) * np.array([np.sin(START), 0.0, np.cos(START)])
    scene = {
        "time_step": step, "materials": {"ice": {"friction": 0.0}},
        "primitives": [
            {"name": "globe", "shape": "sphere", "size": BIG, "base": "weld", "material": "ice"},
            {"name": "ball", "shape": "sphere", "size": SMALL, "base": "free", "mass": MASS, "material": "ice",
             "pose": {"position": p.tolist()}},
        ],
    }  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "leave.yaml"
        file.write_text(yaml.safe_dump(scene), encoding="utf-8")
        simulator = mb.Simulator(mb.load_scene(file))
    last = [0.0, 1.0]

    def run():
        for _ in range(round(1.0 / step)):
            result = simulator.step()
            if len(result.contacts) and result.contacts["impulse"].any():
                p = simulator.link_pose("ball")[0]
                last[:] = simulator.time, p[2] / np.linalg.norm(p)

    _, seconds = timed(run)
    return abs(last[0] - instant), abs(last[1] - cosine), seconds


# --- the patch -----------------------------------------------------------------------------------------


def patch_table():
    """Rows (step, relative energy error, sideways drift [m], seconds per simulated second, microseconds a step)."""
    rows = []
    for step in (4e-3, 2e-3, 1e-3, 5e-4):
        tree = build_tree(load_surface_scene("package://mb_contact/config/bezier_patch.yaml"))
        energy, start = tree.energy(), tree.centre_of_mass()
        tree.run(0.01, step)
        _, seconds = timed(lambda m=tree, h=step: m.run(9.99, h))
        drift = np.abs(tree.centre_of_mass() - start)[:2].max()
        rows.append((step, abs(tree.energy() / energy - 1.0), drift, seconds / 9.99, 1e6 * seconds / 9.99 * step))
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--plot", action="store_true", help=f"write {PICTURE.relative_to(ROOT)}")
    parser.add_argument("--only", default="leaving,rolling,patch", help="of the tables, with commas")
    arguments = options_of(parser, only="leaving")
    only = arguments.only.split(",")
    leaving_motion().run(0.1, 1e-3)  # compile
    rolling().run_adaptive(0.01)
    print("a ball slides off a sphere: errors of the instant and of cos theta where it leaves")
    for name, step, instant, angle, seconds in leaving_table() if "leaving" in only else ():
        print(f"{name:28} {1e3 * step:8.3f} ms {instant:10.1e} s {angle:10.1e} {seconds:9.4f} s/s")
    for rough, text in ((False, "falls over on ice, from rest,"), (True, "rolls")) if "rolling" in only else ():
        print(f"\nan ellipsoid {text} for {ROLL_TIME:g} s: largest error of place [m]")
        rows = rolling_table(rough)
        for name, step, error, seconds in rows:
            print(f"{name:28} {1e3 * step:8.3f} ms {error:10.1e} m {seconds:9.4f} s/s")
    print("\nP00's Figure 2 over 10 s: energy, sideways drift")
    for step, energy, drift, seconds, each in patch_table() if "patch" in only else ():
        print(f"{'contact coordinates, RK4':28} {1e3 * step:8.3f} ms {energy:10.1e}   {drift:10.1e} m "
              f"{seconds:9.4f} s/s {each:7.1f} us a step")  # fmt: skip
    if arguments.plot:
        plot(rows)


def plot(rows):
    """Error against cost of the rolling ellipsoid."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(7, 4.2))
    for name in dict.fromkeys(row[0] for row in rows):
        points = np.array([row[2:] for row in rows if row[0] == name])
        axes.loglog(points[:, 1], points[:, 0], "o-" if "LCP" not in name else "s--", label=name)
    axes.set(xlabel="computing time per simulated second [s]", ylabel=f"error after {ROLL_TIME:g} s [m]")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8)
    figure.tight_layout()
    figure.savefig(PICTURE, dpi=90)


if __name__ == "__main__":
    main()
