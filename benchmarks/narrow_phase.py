# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the narrow phase of shapes without closed form costs: coal within the compiled step, coal and fcl from Python.

    python benchmarks/narrow_phase.py [STUDY ...] [--only NAME ...] [--seconds 1]

robots   the files of example-robot-data (drops.py) fall on a floor, meshes as convex hulls
piles    legged robots that fall on one of their kind
hands    a hand that closes on a mesh
scenes   those of config/
spread   100 to 1600 bodies spread out, of which none can meet another: the broad phase and the whole step

Two simulators of a scene take their steps in turn, one with coal within the compiled step and one with its Python
binding, and have to be in the same state bit by bit after each (exit code 1).  "asks": steps that have pairs without
closed form, "pairs": how many these have in the mean, "engine": the binding's part of the time of all steps.  Times are
means over all steps but the slowest fiftieth, in which kernels are loaded [us]; "fcl" is a run of its own, whose
contacts are others.  Runs are cut off after 60 s.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import drops
import numpy as np
import robots
from lxml import etree
from quick import lacks, options_of
from scene_library import CONFIG, SCENES
from stepping import timed

import mb_contact as mb
from mb_contact.collision import coal_library
from mb_contact.core.collision.closed_forms import ASKED
from mb_contact.core.step import step as kernels
from mb_contact.model.scene import Actuator, Ground, JointProperties, Pose, Primitive, Scene, SceneModel

PILES = ("anymal", "a1", "solo12", "hyq")
BODIES = (100, 200, 400, 800, 1600)
PATIENCE = 60.0  #: of one scene [s]
HEAD = ("scene", "pairs", "steps", "asks", "pairs", "engine", "binding", "compiled", "ratio", "fcl", "same bits")
ROW = "{:<28}{:>7}{:>7}{:>7}{:>7}{:>8}{:>9}{:>10}{:>7}{:>9}{:>11}"


@contextlib.contextmanager
def python_binding():
    """Simulators that are made meanwhile ask coal from Python."""
    found, coal_library.library = coal_library.library, lambda: None
    try:
        yield
    finally:
        coal_library.library = found


class Counted:
    """A simulator whose narrow phase lives in Python, and what that is asked for."""

    def __init__(self, scene):
        with python_binding():
            self.sim = mb.Simulator(scene)
        self.asks, self.pairs, self.engine = 0, 0, 0.0
        self._ask, self.sim.context.ask_engine = self.sim.context.ask_engine, self._ask_engine

    def _ask_engine(self):
        self.asks += 1
        self.pairs += int(self.sim.context.buffers.found[ASKED])
        self.engine += timed(self._ask)[1]


def compare(name, scene, seconds, fcl):
    """Print the row of a scene; whether both coals gave the same bits."""
    counted, sim = Counted(scene), mb.Simulator(scene)
    other = mb.Simulator(replace(scene, collision_engine="fcl")) if fcl else None
    steps, same, begin = round(seconds / sim.time_step), True, time.perf_counter()
    spent, taken = np.zeros((steps, 3)), 0
    while taken < steps and time.perf_counter() < begin + PATIENCE:
        try:
            pair = [(i, s) for i, s in ((0, counted.sim), (1, sim), (2, other)) if s is not None]
            for i, stepped in pair if taken % 2 else reversed(pair):
                spent[taken, i] = timed(stepped.step)[1]
        except mb.MbContactError as error:
            print(f"{name}: {error}")
            break
        same &= np.array_equal(sim.q, counted.sim.q) and np.array_equal(sim.v, counted.sim.v)
        taken += 1
    kept = np.sort(spent[:taken], axis=0)[: max(1, taken - taken // 50 - 1)]
    binding, compiled, by_fcl = 1e6 * kept.mean(axis=0)
    print(ROW.format(
        name, len(sim.world.geoms.pairs), taken, f"{counted.asks / max(taken, 1):.0%}",
        f"{counted.pairs / max(counted.asks, 1):.1f}", f"{counted.engine / spent[:taken, 0].sum():.0%}",
        f"{binding:.1f}", f"{compiled:.1f}", f"{compiled / binding:.2f}", f"{by_fcl:.1f}" if other else "", str(same),
    ), flush=True)  # fmt: skip
    return same


def falling_robots():
    """(name, scene, seconds) of the robots of drops.py."""
    options = argparse.Namespace(step=0.002, friction_model=None, overlaps="filter", damping=1.0)
    for name, file, standing in drops.cases():
        try:
            path = robots.folder() / file
            model = mb.load_urdf(path, floating=True, **drops.OPTIONS)
            yield name, drops.scene_of(path, model, standing, "damped", options)[0], 1.0
        except mb.MbContactError as error:
            yield name, error, 0.0


def renamed(entry, prefix, folder):
    """The robot with a prefix before the names of its links and joints, as a file in a folder; its joints damped."""
    root = etree.parse(entry.urdf).getroot()
    for path, key in (("link", "name"), ("joint", "name"), ("joint/parent", "link"), ("joint/child", "link"),
                      ("joint/mimic", "joint")):  # fmt: skip
        for element in root.findall(path):
            element.set(key, prefix + element.get(key))
    file = Path(folder) / f"{prefix}{Path(entry.urdf).name}"
    etree.ElementTree(root).write(file)
    joints = {prefix + name: position for name, position in entry.joints.items()}
    damped = {element.get("name"): JointProperties(damping=0.5) for element in root.findall("joint")
              if element.get("type") in ("revolute", "continuous", "prismatic")}  # fmt: skip
    return replace(entry, urdf=str(file), name=prefix, joints=joints, joint_properties=damped)


def piles():
    """Two of a robot, the second on its back above the first."""
    os.environ["ROS_PACKAGE_PATH"] = str(robots.folder().parents[1])  # their meshes, for files that lie elsewhere
    for name in PILES:
        with tempfile.TemporaryDirectory() as folder:
            (entry,) = robots.scene_of(name, 0.002)[0].models
            below, above = (renamed(entry, prefix, folder) for prefix in ("below_", "above_"))
            x, y, z = entry.pose.position
            above = replace(above, pose=Pose((x + 0.05, y + 0.02, 2.0 * z + 0.1), rpy=(np.pi, 0.0, 0.0)))
            scene = Scene(models=(below, above), ground=Ground(), time_step=0.002)
            yield f"two of {name}", robots.filtered(scene)[0], 1.5


def hands():
    """The Allegro hand, palm up, under a mesh that falls into it; its joints have servos that close the fingers."""
    file = str(robots.folder() / robots.ROBOTS["allegro"][0])
    model = mb.load_urdf(file, inertia_errors="warn", mimic="independent")
    servo = Actuator("position", stiffness=3.0, damping=0.1)
    joints = {name: float(np.clip(0.9, model.lower[v], model.upper[v]))
              for name, v in zip(model.joint_names, model.joint_v)}  # fmt: skip
    hand = SceneModel(file, pose=Pose((0.0, 0.0, 0.2), rpy=(0.0, -0.5 * np.pi, 0.0)), joints=joints,
                      actuators=dict.fromkeys(joints, servo), inertia_errors="warn", mimic="independent")  # fmt: skip
    for name in ("wedge",):
        thing = Primitive(name, "mesh", mesh=str(CONFIG / "meshes" / f"{name}.obj"), scale=(0.3, 0.3, 0.3), base="free",
                          pose=Pose((-0.06, 0.0, 0.35)), mass=0.1)  # fmt: skip
        yield f"allegro, {name}", robots.filtered(Scene(models=(hand,), primitives=(thing,), time_step=0.002))[0], 1.5


def library():
    """The scenes of config/."""
    for name, (seconds, *_) in SCENES.items():
        yield name, mb.load_scene(CONFIG / f"{name}.yaml"), min(seconds, 1.0)


def spread(options):
    """Cylinders that fall far from each other: the broad phase, and the whole step."""
    times = []
    for n in options.bodies:
        side = int(np.ceil(np.sqrt(n)))
        bodies = [Primitive(f"body_{i}", "cylinder", (0.1, 0.2), Pose((i % side, i // side, 1.0)), "free", 1.0)
                  for i in range(n)]  # fmt: skip
        sim = mb.Simulator(Scene(primitives=tuple(bodies), time_step=0.002))
        sim.step()
        handle, broad, whole = sim.context.handle, [], []
        for _ in range(30):
            broad.append(1e6 * timed(kernels.find_near, handle)[1])
            whole.append(1e6 * timed(sim.step)[1])
        times.append((min(broad), min(whole)))
        print(f"{n:>6} bodies {len(sim.world.geoms.pairs):>9} pairs: broad phase {times[-1][0]:>8.1f} us, "
              f"step {times[-1][1]:>9.1f} us", flush=True)  # fmt: skip
    slope = np.polyfit(np.log(options.bodies), np.log(times), 1)[0] if len(times) > 1 else (np.nan, np.nan)
    print(f"exponents: broad phase {slope[0]:.2f}, step {slope[1]:.2f}")


def main(argv=None):
    """The command."""
    studies = {"robots": falling_robots, "piles": piles, "hands": hands, "scenes": library}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("studies", nargs="*", metavar="STUDY", help="(default: all)")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of the first column")
    parser.add_argument("--fcl", action="store_true", help="a step by python-fcl too")
    parser.add_argument("--seconds", type=float, default=np.inf, help="simulated time of each at most")
    parser.add_argument("--bodies", type=int, nargs="+", default=BODIES, help="of spread")
    quick = {"studies": ["piles", "spread"], "only": ["two of solo12"], "seconds": 0.05, "bodies": (10, 20)}
    options = options_of(parser, argv, **quick, fcl=True)
    if unknown := set(options.studies) - {*studies, "spread"}:
        parser.error(f"there is no study {unknown.pop()}; the studies are {', '.join(studies)}, spread")
    if coal_library.library() is None:
        lacks("coal's narrow phase has not been built: mb-contact compile says why")
    same = True
    for study in options.studies or (*studies, "spread"):
        print(f"## {study}", flush=True)
        if study == "spread":
            spread(options)
            continue
        print(ROW.format(*HEAD), flush=True)
        for name, scene, seconds in studies[study]():
            if options.only and name not in options.only:
                continue
            if isinstance(scene, Exception):
                print(f"{name} is refused: {str(scene)[:100]}")
                continue
            same = compare(name, scene, min(seconds, options.seconds), options.fcl) and same
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
