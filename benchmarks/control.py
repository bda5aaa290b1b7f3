# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Control helpers on robots as they ship: who is held, and how often and how fast inverse kinematics finds a pose.

    chrt -f 5 python benchmarks/control.py [hold] [ik] [--only NAME] [--poses 10000] [--markdown FILE]

hold   every URDF file of example-robot-data with actuated joints (robot_files.py), welded: mb.control.hold from a tenth
       of a radian away, 3 s at 1 ms; the largest speed then, how far joints without friction are from the target, and
       how many contacts there are.  A joint that is at its effort limit then cannot be held: named.
ik     random poses within the limits of six arms and of the dual arm's left one, from the neutral position: how many
       are reached to 1e-9 [m, rad], starts and time of a call from Python, and how many calls took longer than 2 ms.

Exit code 1 where a robot within its effort limits is faster than 1e-3 after 3 s, or fewer than 99.5 % are reached.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings

import numpy as np
from quick import options_of
from robot_files import NAMED, OTHERS
from robots import folder
from stepping import markdown

import mb_contact as mb
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.scene import Scene, SceneModel

STILL = 1e-3  #: slower than that is held [rad/s, m/s]
SOON = 2.0  #: of a call [ms]
REACHED = 0.995  #: share of random poses that have to be found
ARMS = {
    "ur_description/urdf/ur5_robot.urdf": "ee_link",
    "panda_description/urdf/panda.urdf": "panda_hand",
    "xarm_description/urdf/xarm7.urdf": "link_eef",
    "kinova_description/robots/kinova.urdf": "j2s6s200_link_finger_tip_2",
    "so_arm_description/urdf/so100.urdf": "jaw",
    "baxter_description/urdf/baxter.urdf": "left_gripper",
    "package://mb_contact/urdf/dual_arm.urdf": "left_tcp",
}
HOLD = ("robot", "joints", "speed after 3 s", "off the target", "contacts", "verdict")
IK = ("arm", "frame", "joints", "poses", "not reached", "starts mean", "starts most", "ms median", "ms 95 %",
      "ms 99.5 %", "later")  # fmt: skip


def path_of(file):
    return file if "://" in file else str(folder() / file)


def held(file, seconds):
    """Row of HOLD, and whether it counts against the law."""
    options = {"inertia_errors": "warn", "massless": "merge", "collision_meshes": "skip"}
    name = file.split("/")[-1].removesuffix(".urdf")
    try:
        sim = mb.Simulator(Scene(models=(SceneModel(path_of(file), **options),)))
    except mb.MbContactError as error:
        return (name, "", "", "", "", f"refused: {str(error).split(': ')[-1][:60]}"), False
    world, of = sim.world, sim.world.joint_v
    target = np.clip(sim.joint_positions() + 0.1, world.tree.lower[of], world.tree.upper[of])
    for _ in range(round(seconds / sim.time_step)):
        effort = mb.control.hold(sim, target)
        step = sim.step(effort)
    speed = np.abs(sim.joint_velocities()).max()
    smooth = world.joints.friction[of] == 0.0
    off = np.abs(sim.joint_positions() - target)[smooth].max(initial=0.0)
    weak = np.flatnonzero(np.abs(effort) > world.effort_limit)
    verdict = "held" if speed < STILL else "moves"
    if len(weak):
        verdict += f", {world.joint_names[weak[0]]} is at its effort limit"
    return (name, len(of), f"{speed:.1e}", f"{off:.1e}", len(step.contacts), verdict), speed >= STILL and not len(weak)


def searched(file, frame, poses):
    """Row of IK, and the share that was reached."""
    model = mb.load_urdf(path_of(file), inertia_errors="warn", collision_meshes="skip")
    random = np.random.default_rng(1)
    lower = np.where(np.isfinite(model.lower), model.lower, -np.pi)
    upper = np.where(np.isfinite(model.upper), model.upper, np.pi)
    missed, times, starts = 0, [], []
    for _ in range(poses):
        R, p = mb.frame_pose(model, random.uniform(lower, upper), frame)
        wanted = {frame: (p, matrix_to_quat(R))}
        begun = time.perf_counter()
        found = mb.control.inverse_kinematics(model, wanted)
        times.append(1e3 * (time.perf_counter() - begun))
        starts.append(found.starts)
        missed += not found.reached
    name = file.split("/")[-1].removesuffix(".urdf")
    middle = (f"{np.percentile(times[1:], share):.2f}" for share in (50, 95, 99.5))
    late = int(np.count_nonzero(np.array(times) > SOON))
    tried = f"{np.mean(starts):.1f}", max(starts)
    return (name, frame, model.N, poses, missed, *tried, *middle, late), 1.0 - missed / poses


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", help="hold, ik; both if left out")
    parser.add_argument("--only", default="", help="files that contain this")
    parser.add_argument("--poses", type=int, default=10_000, help="random poses of each arm (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="of holding (%(default)s)")
    parser.add_argument("--markdown", help="write the tables to this file")
    arguments = options_of(parser, argv, only="so100", poses=20, seconds=1.5)
    warnings.simplefilter("ignore")
    parts, tables, bad = arguments.parts or ["hold", "ik"], [], False
    if "hold" in parts:
        rows = []
        for file in (f for f in (*NAMED, *OTHERS) if arguments.only in f):
            row, fails = held(file, arguments.seconds)
            print(*row, sep="  ", flush=True)
            rows, bad = [*rows, row], bad or fails
        tables.append(markdown(HOLD, [list(map(str, row)) for row in rows]))
    if "ik" in parts:
        rows = []
        for file, frame in ((f, frame) for f, frame in ARMS.items() if arguments.only in f):
            row, share = searched(file, frame, arguments.poses)
            print(*row, sep="  ", flush=True)
            rows, bad = [*rows, row], bad or share < REACHED
        tables.append(markdown(IK, [list(map(str, row)) for row in rows]))
    if arguments.markdown:
        with open(arguments.markdown, "w", encoding="utf-8") as file:
            file.write("\n".join(tables))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
