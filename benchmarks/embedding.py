# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Loops and gears embedded in the tree beside the same held by multipliers: time of a step, in one run.

    python benchmarks/embedding.py [--steps 20] [--repeats 40]

Both take turns; the time is the least mean over ``--steps`` steps of ``--repeats`` runs from the same state.
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

from quick import options_of

import mb_contact as mb
from mb_contact.model.scene import Closure, Gear, Pose, Scene, SceneModel
from mb_contact.programs.bench.legged import legged_scene

CONFIG = Path(__file__).resolve().parents[1] / "config"


def link(name, length, mass):
    """A rod along x."""
    inertia = mass * length**2 / 12.0
    return (
        f'<link name="{name}"><inertial><origin xyz="{length / 2} 0 0"/><mass value="{mass}"/>'
        f'<inertia ixx="1e-5" iyy="{inertia}" izz="{inertia}" ixy="0" ixz="0" iyz="0"/></inertial></link>'
    )


def hinge(name, parent, child, place, axis="0 0 1", extra=""):
    """A hinge at a place of its parent."""
    return (
        f'<joint name="{name}" type="continuous"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{place}"/><axis xyz="{axis}"/>{extra}</joint>'
    )


def hand(fingers=5):
    """A free palm with fingers of two phalanges, each bent by a parallelogram, the second following the first."""
    parts, closures = [link("palm", 0.1, 1.0)], []
    for i in range(fingers):
        a, b, c, tip = (f"{name}{i}" for name in ("crank", "coupler", "rocker", "tip"))
        follow = f'<mimic joint="{a}_joint" multiplier="0.7" offset="0"/>'
        parts += [link(a, 0.04, 0.03), link(b, 0.03, 0.02), link(c, 0.04, 0.03), link(tip, 0.02, 0.01)]
        parts += [
            hinge(f"{a}_joint", "palm", a, f"0.1 {0.02 * i} 0"), hinge(f"{b}_joint", a, b, "0.04 0 0"),
            hinge(f"{c}_joint", "palm", c, f"0.13 {0.02 * i} 0"),
            hinge(f"{tip}_joint", b, tip, "0.03 0 0", extra=follow),
        ]  # fmt: skip
        closures.append(Closure("axis", b, c, Pose((0.03, 0.0, 0.0)), Pose((0.04, 0.0, 0.0))))
    joints = {f"crank{i}_joint": 0.6 for i in range(fingers)} | {f"rocker{i}_joint": 0.6 for i in range(fingers)}
    joints |= {f"coupler{i}_joint": -0.6 for i in range(fingers)}
    urdf = f'<robot name="hand">{"".join(parts)}</robot>'
    model = SceneModel(urdf=urdf, base="free", joints=joints, velocities={"crank0_joint": 3.0})
    return Scene(models=(model,), loop_closures=tuple(closures))


def geared_arm(joints=7):
    """An arm whose motors are bodies of their own, each on the link before its joint, with a gear of 50."""
    parts, gears, before = ['<link name="base"/>'], [], "base"
    for i in range(joints):
        axis = "0 1 0" if i % 2 else "0 0 1"
        parts += [link(f"arm{i}", 0.3, 2.0), link(f"motor{i}", 0.02, 0.2)]
        place = "0.3 0 0" if i else "0 0 1"
        parts.append(hinge(f"joint{i}", before, f"arm{i}", place, axis))
        parts.append(hinge(f"spin{i}", before, f"motor{i}", place, axis))
        gears.append(Gear(f"spin{i}", f"joint{i}", 50.0))
        before = f"arm{i}"
    model = SceneModel(urdf=f'<robot name="arm">{"".join(parts)}</robot>', joints={"joint1": 0.3})
    return Scene(models=(model,), gears=tuple(gears))


SCENES = {
    "four-bar linkage": lambda: mb.load_scene(CONFIG / "four_bar.yaml"),
    "gripper of two four-bar fingers, holding a box": lambda: mb.load_scene(CONFIG / "four_bar_gripper.yaml"),
    "hand of five four-bar fingers": hand,
    "arm with seven geared motors": geared_arm,
    "legged machine with six loops, standing": legged_scene,
    "the same without ground": lambda: replace(legged_scene(), ground=None),
}


def timed(sim, state, steps):
    """Mean time of a step from a state [us], and the last step's certificate."""
    sim.restore(state)
    start = time.perf_counter()
    for _ in range(steps):
        step = sim.step()
    return 1e6 * (time.perf_counter() - start) / steps, step.certificate


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=40)
    options = options_of(parser, steps=3, repeats=1)
    columns = "scene", "rows", "embedded", "multipliers", "ratio", "closure error, embedded", "multipliers"
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name, make in SCENES.items():
        scene = make()
        sims = [mb.Simulator(replace(scene, loops=loops)) for loops in ("embed", "multipliers")]
        for sim in sims:
            for _ in range(5):
                sim.step()
        states = [sim.save() for sim in sims]
        best = [float("inf")] * 2
        for _ in range(options.repeats):
            for i, sim in enumerate(sims):
                spent, certificate = timed(sim, states[i], options.steps)
                best[i] = min(best[i], spent)
                if i == 0:
                    mine = certificate
        rows = sims[1].world.couplings.rows
        errors = f"{mine.closure_error:.0e} | {certificate.closure_error:.0e}"
        times = f"{best[0]:.1f} us | {best[1]:.1f} us | {best[0] / best[1]:.2f}"
        print(f"| {name} | {rows} | {times} | {errors} |", flush=True)


if __name__ == "__main__":
    main()
