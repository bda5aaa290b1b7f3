# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of example-robot-data with their meshes: each hangs or stands for a while, and nothing runs away.

    python benchmarks/robots.py [--seconds 5] [--step 0.002] [--only NAME] [--pictures docs/pictures/robots]

Arms hang from the world under gravity compensation with a spring and a damper at each joint; legged ones are dropped by
1 mm onto a floor in the position "standing" of their SRDF, with the efforts of standing, a spring and a damper at each
joint, as far as their effort limits reach, and must keep it.  Links whose hulls overlap at the start are filtered out,
as a robot's SRDF would do.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import numpy as np
from lxml import etree
from quick import lacks, options_of
from visuals import visual_triangles

import mb_contact as mb
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.model.scene import CollisionFilters, Ground, Pose, Scene, SceneModel
from mb_contact.simulation.initial import geometry_poses, initial_penetrations, support
from mb_contact.viewer.render import Camera, render

ROBOTS = {  # name: (file, base)
    "panda": ("panda_description/urdf/panda.urdf", "weld"),
    "ur5": ("ur_description/urdf/ur5_robot.urdf", "weld"),
    "ur10": ("ur_description/urdf/ur10_robot.urdf", "weld"),
    "kinova": ("kinova_description/robots/kinova.urdf", "weld"),
    "xarm7": ("xarm_description/urdf/xarm7.urdf", "weld"),
    "z1": ("z1_description/urdf/z1.urdf", "weld"),
    "so100": ("so_arm_description/urdf/so100.urdf", "weld"),
    "allegro": ("allegro_hand_description/urdf/allegro_left_hand.urdf", "weld"),
    "baxter": ("baxter_description/urdf/baxter.urdf", "weld"),
    "tiago": ("tiago_description/robots/tiago_no_hand.urdf", "weld"),
    "icub": ("icub_description/robots/icub_reduced.urdf", "weld"),
    "solo12": ("solo_description/robots/solo12.urdf", "free"),
    "a1": ("a1_description/urdf/a1.urdf", "free"),
    "go1": ("go1_description/urdf/go1.urdf", "free"),
    "anymal": ("anymal_b_simple_description/robots/anymal.urdf", "free"),
    "hyq": ("hyq_description/robots/hyq_no_sensors.urdf", "free"),
    "bolt": ("bolt_description/robots/bolt.urdf", "weld"),
}
#: SRDF files with a group_state "standing"; legged robots that have none start with their joints at zero
STANDING = {
    "solo12": "solo_description/srdf/solo.srdf",
    "a1": "a1_description/srdf/a1.srdf",
    "go1": "go1_description/srdf/go1.srdf",
    "anymal": "anymal_b_simple_description/srdf/anymal.srdf",
    "hyq": "hyq_description/srdf/hyq.srdf",
}
RATE = 20.0  #: of the joints' springs and dampers [rad/s]
BLOCK = 100  #: steps that are timed together; the quickest block counts, because machines are busy
TIPPED = 0.05  #: a standing robot has moved no further than that [rad, m]
STANDING_RATE = 60.0  #: the same of legs, which have to be stiffer than the weight on them would tip


def folder():
    """Where the robots are."""
    try:
        return Path(distribution("example-robot-data").locate_file("cmeel.prefix/share/example-robot-data/robots"))
    except PackageNotFoundError:
        lacks("the Python package example-robot-data is not installed")


def scene_of(name, step):
    """The scene of one robot: free ones 1 mm above a floor; overlapping links filtered out."""
    file, base = ROBOTS[name]
    entry = SceneModel(str(folder() / file), base=base, inertia_errors="warn", mimic="independent")
    model = mb.load_urdf(entry.urdf, inertia_errors="warn", mimic="independent")
    entry = replace(entry, joints=inside_limits(model) | standing(name, model))
    scene = Scene(models=(entry,), time_step=step)
    return filtered(raised(scene, 1e-3) if base == "free" else scene)


def raised(scene, height):
    """The scene of one robot with the lowest point of its collision shapes ``height`` [m] above a floor."""
    (entry,) = scene.models
    z = height - lowest(mb.build_world(scene))
    return replace(scene, models=(replace(entry, pose=Pose((0.0, 0.0, z))),), ground=Ground())


def filtered(scene):
    """The scene with links that overlap at the start filtered out, and the pairs of these links."""
    links = [(a, b) for a, b, _ in initial_penetrations(mb.build_world(scene), depth=0.0) if "ground" not in (a, b)]
    return replace(scene, collision_filters=CollisionFilters(disable=tuple(links))), links


def standing(name, model):
    """Joint positions of the state "standing" in a robot's SRDF, none where it has no such file."""
    if name not in STANDING:
        return {}
    root = etree.parse(str(folder() / STANDING[name])).getroot()
    joints = root.findall("group_state[@name='standing']/joint")
    return {joint.get("name"): float(joint.get("value")) for joint in joints if joint.get("name") in model.joint_names}


def inside_limits(model):
    """Positions of the joints that may not be at zero: the middle of their limits."""
    return {
        name: 0.5 * float(model.lower[v] + model.upper[v])
        for name, v in zip(model.joint_names, model.joint_v) if not model.lower[v] <= 0.0 <= model.upper[v]
    }


def lowest(world):
    """Height of the lowest point of a world's geometries at the start [m]."""
    R, p = geometry_poses(world)
    return min(p[g, 2] - support(world.geoms, R, g, np.array([0.0, 0.0, -1.0])) for g in range(len(p)))


class Holder:
    """Efforts that hold the joints where they started: those of a robot at rest, a spring and a damper each."""

    def __init__(self, sim, base):
        self.sim, self.model, self.base = sim, sim.world.robot_models[0], base
        self.joints, self.start = sim.world.joint_v, sim.q
        # what each joint feels with all others free; with them held, a stiff one would be too stiff for the step
        free = np.diag(np.linalg.inv(mb.mass_matrix(self.model, self.start)))
        self.inertia = (1.0 / free)[self.joints]
        self.rate = RATE if base == "weld" else STANDING_RATE
        self.rest = 0.0 if base == "weld" else self.standing_efforts()

    def __call__(self):
        """Efforts of now [N m, N]."""
        q, v = self.sim.q, self.sim.v
        away = (q - self.start)[self.sim.world.joint_q]
        effort = self.rest - self.inertia * (self.rate**2 * away + 2.0 * self.rate * v[self.joints])
        if self.base == "weld":
            effort += mb.dynamics.nonlinear_effects(self.model, q, np.zeros_like(v))[self.joints]
        return effort

    def standing_efforts(self):
        """Efforts in which a standing robot is at rest: gravity's less those of the least forces on its feet."""
        sim, model, rows = self.sim, self.model, []
        for contact in sim.step().contacts:
            link = contact["link_a"] if contact["link_a"] != "ground" else contact["link_b"]
            if "ground" not in (contact["link_a"], contact["link_b"]):
                continue
            p, quat = sim.link_pose(link)
            foot = mb.Point(link, quat_to_matrix(quat).T @ (contact["point"] - p))
            rows.append(mb.jacobian(model, self.start, foot)[-3:])
        sim.reset()
        gravity, J = mb.dynamics.nonlinear_effects(model, self.start, np.zeros(model.N)), np.concatenate(rows)
        body = np.setdiff1d(np.arange(model.N), self.joints)
        forces = np.linalg.lstsq(J[:, body].T, gravity[body], rcond=None)[0]
        return gravity[self.joints] - J[:, self.joints].T @ forces


def draw(sim, name, picture):
    """Write a picture of a robot as it stands, from its visual meshes."""
    from PIL import Image

    def pose(link):
        p, quat = sim.link_pose(link)
        return p, quat_to_matrix(quat)

    triangles, colours, missing = visual_triangles(folder() / ROBOTS[name][0], pose)
    for line in missing:
        print(f"  not drawn: {line}", file=sys.stderr)
    low, high = triangles.min(axis=(0, 1)), triangles.max(axis=(0, 1))
    middle, size = 0.5 * (low + high), float(np.linalg.norm(high - low))
    eye = middle + 1.75 * size * np.array([0.66, -0.66, 0.36])
    floor = 0.0 if ROBOTS[name][1] == "free" else low[2] - 0.01 * size
    image = render(triangles, colours, Camera(tuple(eye), tuple(middle), 0.6, 480, 400), floor)
    picture.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(image).quantize(128, dither=Image.Dither.NONE).save(picture, optimize=True)


def run(name, seconds, step, picture=None):
    """Numbers of one robot; raises what the simulator raises.  ``picture`` is a file for how it stands at the end."""
    base = ROBOTS[name][1]
    scene, overlapping = scene_of(name, step)
    start_time = time.perf_counter()
    sim = mb.Simulator(scene)
    start, hold = sim.q, Holder(sim, base)
    worst = contacts = 0.0
    steps = round(seconds / step)
    least, clock = np.inf, time.perf_counter()
    begun = clock
    for k in range(steps):
        result = sim.step(hold())
        if (k + 1) % BLOCK == 0:
            least, begun = min(least, time.perf_counter() - begun), time.perf_counter()
        worst = max(worst, result.certificate.complementarity_gap, result.certificate.infeasibility)
        contacts = max(contacts, result.certificate.contacts)
    if picture is not None:
        draw(sim, name, picture)
    return {
        "bodies": len(sim.world.tree.parent), "hulls": len(sim.world.geometry_names),
        "pairs": len(sim.world.geoms.pairs), "filtered": len(overlapping), "contacts": int(contacts),
        "speed": float(np.abs(sim.v).max()),
        "moved": float(np.abs(sim.q - start).max()), "residual": worst, "us": 1e6 * least / BLOCK,
        "load": clock - start_time,
    }  # fmt: skip


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--step", type=float, default=0.002)
    parser.add_argument("--only", choices=tuple(ROBOTS))
    parser.add_argument("--pictures", type=Path, metavar="FOLDER")
    arguments = options_of(parser, only="ur5", seconds=0.2)
    print("| robot | bodies | hulls | pairs | filtered | contacts | moved [rad, m] | speed | residual | µs a step |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    failed = 0
    for name in [arguments.only] if arguments.only else ROBOTS:
        try:
            picture = None if arguments.pictures is None else arguments.pictures / f"{name}.png"
            r = run(name, arguments.seconds, arguments.step, picture)
        except mb.MbContactError as error:
            print(f"| {name} | {error} |")
            failed += 1
            continue
        fine = np.isfinite(r["speed"]) and r["speed"] < 1.0 and (ROBOTS[name][1] == "weld" or r["moved"] < TIPPED)
        failed += not fine
        print(f"| {name} | {r['bodies']} | {r['hulls']} | {r['pairs']} | {r['filtered']} | {r['contacts']} | "
              f"{r['moved']:.1e} | {r['speed']:.0e} | {r['residual']:.0e} | {r['us']:.0f} |{'' if fine else ' WRONG'}",
              flush=True)  # fmt: skip
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
