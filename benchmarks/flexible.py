# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Flexible links beside beam theory, and what their modes cost a step: the tables and the plot of docs/flexible.md.

    python benchmarks/flexible.py [--plot docs/pictures/flexible.png]
"""

from __future__ import annotations

import argparse
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from quick import options_of
from scipy.linalg import eigh

import mb_contact as mb

CONFIG = Path(__file__).resolve().parents[1] / "config"
YOUNG, DENSITY, LENGTH, WIDTH, HEIGHT = 7e10, 2700.0, 0.5, 0.02, 0.004
STIFF, LINE = YOUNG * WIDTH * HEIGHT**3 / 12.0, DENSITY * WIDTH * HEIGHT
SPEED = np.sqrt(STIFF / LINE) / LENGTH**2  #: sqrt(E I / rho A) / L^2
ROD = (
    '<robot name="rod"><link name="hub"/><link name="rod"/><joint name="hinge" type="{kind}"><parent link="hub"/>'
    '<child link="rod"/><axis xyz="0 0 1"/></joint></robot>'
)
LOOSE = '<robot name="rod"><link name="rod"/></robot>'
ROTATING = {1.0: 3.6816, 2.0: 4.1373, 5.0: 6.4495, 10.0: 11.2023}  #: Omega and lowest flapping frequency, Wright 1982


def rod(urdf, base="weld", **keys):
    """World of a strip of aluminium of 0.5 m, without weight."""
    beam = mb.model.Beam((LENGTH, 0.0, 0.0), "rectangle", (WIDTH, HEIGHT), YOUNG, density=DENSITY, **keys)
    link = mb.model.FlexibleLink(beam=beam)
    robot = mb.model.SceneModel(urdf, base=base, flexible_links={"rod": link})
    return mb.build_world(mb.Scene(models=(robot,), gravity=(0.0, 0.0, 0.0)))


def frequencies(world, omega=0.0):
    """Angular frequencies of small vibrations [rad/s]; a hinge turns at ``omega`` [rad/s] and is held so."""
    still, N = np.zeros(len(world.v0)), len(world.v0)
    modes = np.array([world.tree.v_start[k] for link in world.flexible for k in link.modes])
    free = np.arange(N) if world.tree.joint_type[0] == 2 else modes
    spin, h, columns = still.copy(), 1e-5, []
    if omega:
        spin[0] = omega
    for d in free:
        step = np.zeros(len(world.q0))
        if d in modes:
            step[world.tree.q_start[world.flexible[0].modes[0]] + int(d - modes[0])] = h
        ahead, behind = (mb.inverse_dynamics(world, world.q0 + s * step, spin, still, np.zeros(3)) for s in (1, -1))
        columns.append((ahead - behind)[free] / (2.0 * h))
    K = np.array(columns).T + np.diag(world.joints.stiffness[free])
    squares = eigh(0.5 * (K + K.T), mb.mass_matrix(world, world.q0)[np.ix_(free, free)], eigvals_only=True)
    return np.sqrt(np.maximum(squares[len(free) - len(modes):], 0.0))


def vibration():
    """Frequencies of a clamped and of a loose rod beside theory."""
    print("| rod | modes | frequency over theory - 1, first to last |\n|---|---|---|")
    theory = {"clamped": (1.87510407, 4.69409113, 7.85475744, 10.99554073),
              "free": (4.73004074, 7.85320462, 10.99560784, 14.13716549)}  # fmt: skip
    for root, known in theory.items():
        urdf, base = (ROD.format(kind="fixed"), "weld") if root == "clamped" else (LOOSE, "free")
        got = frequencies(rod(urdf, base, modes=4, motions=("bending_z",)))
        errors = ", ".join(f"{x:.1e}" for x in got / (np.array(known) ** 2 * SPEED) - 1.0)
        print(f"| {root} | 4 | {errors} |")


def rotation():
    """Lowest flapping frequency of a rotating rod, in units of sqrt(E I / rho A) / L^2."""
    print("\n| speed | Wright et al. | 1 mode | 3 modes | 6 modes | without stiffening |\n|---|---|---|---|---|---|")
    rows = []
    for speed, known in ROTATING.items():
        row = [
            turning(speed, modes=r, stiffening=s) * SPEED
            for r, s in ((1, True), (3, True), (6, True), (6, False))
        ]  # fmt: skip
        rows.append([speed, known, *(omega / SPEED for omega in row)])
        print(f"| {speed:g} | {known} | " + " | ".join(f"{x:.4f}" for x in rows[-1][2:]) + " |")
    return np.array(rows)


def turning(speed, **keys):
    """Lowest frequency of the rod on a hinge that turns, both in units of sqrt(E I / rho A) / L^2."""
    world = rod(ROD.format(kind="continuous"), motions=("bending_z",), **keys)
    return frequencies(world, speed * SPEED)[0] / SPEED


def pressing(seconds):
    """The shipped arm: time, deflection of the tip beside its frame's x axis, and force on the table."""
    sim = mb.Simulator(CONFIG / "flexible_arm.yaml")
    rows = []
    for _ in range(round(seconds / sim.time_step)):
        sim.step()
        mode = sim.joint_positions()[2:]
        rows.append((sim.time, float(mode @ sim.world.flexible[0].shape[0][:, 2]), sim.contact_impulse("fingertip")[5]))
    rows = np.array(rows)
    rows[:, 2] /= sim.time_step
    return rows


def cost(repeats, steps):
    """Least CPU time of a step of the arm by the number of its modes, beside the same arm with a rigid forearm."""
    print("\n| forearm | bodies | degrees of freedom | us a step, at least |\n|---|---|---|---|")
    scene = mb.load_scene(CONFIG / "flexible_arm.yaml")
    robot = scene.models[0]
    beam = replace(robot.flexible_links["forearm"].beam, static_modes=False)
    cases = {"rigid": replace(robot, urdf=rigid(CONFIG.parent / "urdf" / "flexible_arm.urdf"), flexible_links={})}
    for modes in (1, 2, 4, 8):
        link = replace(robot.flexible_links["forearm"], beam=replace(beam, modes=modes))
        cases[f"{modes} modes"] = replace(robot, flexible_links={"forearm": link})
    sims = {}
    for name, model in cases.items():
        frames = ("fingertip",)
        sims[name] = mb.Simulator(replace(scene, models=(model,), operational_frames=frames, motions=()))
    times = {name: [] for name in sims}
    for _ in range(repeats):
        for name, sim in sims.items():
            start = time.process_time()
            for _ in range(steps):
                sim.step()
            times[name].append((time.process_time() - start) / steps)
    for name, sim in sims.items():
        print(f"| {name} | {len(sim.world.tree.parent)} | {len(sim.world.v0)} | {1e6 * min(times[name]):.1f} |")


def rigid(path):
    """The arm's URDF with an inertia for its forearm, that of the strip."""
    m, text = 7850.0 * 0.5 * 0.025 * 0.004, path.read_text(encoding="utf-8")
    inertia = (
        f'<inertial><origin xyz="0.25 0 0"/><mass value="{m}"/><inertia ixx="{m * 0.000053}" iyy="{m / 48}" '
        f'izz="{m / 48}" ixy="0" ixz="0" iyz="0"/></inertial>'
    )
    return text[text.index("<robot"):].replace('<link name="forearm">', f'<link name="forearm">{inertia}')


def plot(path, run, rows):
    """Deflection and force of the arm that presses, and frequencies of the rod that rotates."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(9.0, 3.2), constrained_layout=True)
    axes[0].plot(run[:, 0], 1e3 * run[:, 1], color="#3d78b8")
    axes[0].set(xlabel="time [s]", ylabel="deflection of the tip [mm]", title="a forearm of spring steel presses")
    force = axes[0].twinx()
    force.plot(run[:, 0], run[:, 2], color="#db5e40", linewidth=0.8)
    force.set_ylabel("force on the table [N]", color="#db5e40")
    speeds = np.linspace(0.0, 10.0, 21)
    for stiff, label, style in ((True, "", "-"), (False, ", no stiffening", "--")):
        for up, where, colour in (((0.0, 0.0, 1.0), "across", "#3d78b8"), ((0.0, 1.0, 0.0), "in", "#5a9e6b")):
            curve = [turning(x, modes=6, up=up, stiffening=stiff) for x in speeds]
            axes[1].plot(speeds, curve, style, color=colour, label=f"{where} the plane{label}")
    axes[1].plot(rows[:, 0], rows[:, 1], "k+", label="Wright et al.")
    axes[1].set(xlabel="speed of rotation", ylabel="lowest frequency")
    axes[1].set_title("a rotating rod, in units of $\\sqrt{EI/\\rho A}/L^2$")
    axes[1].legend(fontsize=7)
    figure.savefig(path, dpi=110)


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--plot", type=Path)
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--steps", type=int, default=400)
    arguments = options_of(parser, repeats=1, steps=20)
    vibration()
    rows = rotation()
    cost(arguments.repeats, arguments.steps)
    if arguments.plot:
        plot(arguments.plot, pressing(4.0), rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
