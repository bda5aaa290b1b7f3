# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of docs/surfaces.md: a rattleback, a ball on a turntable, a rolling hoop, a ball in an arm's dish.

    python docs/pictures/surfaces.py        writes surfaces_rolling.png and surfaces_dish.png beside itself
"""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

from mb_contact.surfaces import ContactJoint, SurfaceBody, SurfaceTree, ellipsoid, moving_base, plane, sphere, torus
from mb_contact.surfaces.scene_build import build_surface_scene

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402 (the backend comes first)

FOLDER = Path(__file__).resolve().parent
DOWN = (0.0, 0.0, -1.0)


def turned(axis, angle):
    """Rotation matrix about x (0) or y (1)."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[1, 0, 0], [0, c, -s], [0, s, c]]) if axis == 0 else np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def rolling(body, R, p, w, turns=(0.0, 0.0, 0.0)):
    """The tree of a body that rolls on a plane from orientation R with the absolute angular velocity w."""
    joint = ContactJoint("body", "base", plane(), body, "free", friction=np.inf, release=False)
    tree = SurfaceTree([joint], moving_base("base", angular_velocity=turns))
    q, _ = tree.first_touch("body", R, p, DOWN)
    tree.roll("body", q, tree.pair("body").surfaces[0].frame(q[:2]).T @ (np.array(w) - turns))
    return tree


def rattleback(axes):
    """Spin against time: Kane and Levinson's celt, whose axes of inertia are turned against those of its ellipsoid."""
    inertia = np.array([[2e-4, -2e-5, 0.0], [-2e-5, 1.6e-3, 0.0], [0.0, 0.0, 1.7e-3]])
    body = SurfaceBody(ellipsoid((0.2, 0.03, 0.02)).placed(p=(0.0, 0.0, 0.01)), 1.0, inertia)
    tilt = turned(0, np.deg2rad(0.5)) @ turned(1, np.deg2rad(0.5))
    for spin, label in ((-5.0, "against its sense"), (5.0, "in its sense")):
        motion = rolling(body, tilt, (0.0, 0.0, 1.0), (0.0, 0.0, spin))
        times, spins = [], []
        while motion.time < 10.0:
            motion.run(0.01, 2e-4)
            times.append(motion.time)
            spins.append(motion.velocity("body")[0][2])
        axes.plot(times, spins, label=f"set spinning {label}")
    axes.axhline(0.0, color="0.6", linewidth=0.8)
    axes.set(title="rattleback", xlabel="time [s]", ylabel="spin about the vertical [rad/s]")
    axes.legend(fontsize=8)


def turntable(axes):
    """The path of a ball on a table that turns, once around its circle: 3.5 turns of the table."""
    rate, r = 2.0, 0.1
    for x in (0.3, 0.6):
        body = SurfaceBody(sphere(r), 1.0, 0.4 * r * r * np.eye(3))
        motion = rolling(body, np.eye(3), (x, 0.0, 1.0), (0.6, 0.4, 0.0), (0.0, 0.0, rate))
        path = [motion.body_motion("body")[1]]
        for _ in range(200):
            motion.run(3.5 * 2.0 * np.pi / rate / 200, 2e-3)
            path.append(motion.body_motion("body")[1])
        path = np.array(path)
        miss = np.linalg.norm(path[-1] - path[0])
        axes.plot(path[:, 0], path[:, 1], label=f"after 3.5 turns of the table {miss:.0e} m from its start")
        axes.plot(*path[0, :2], "o", color="0.3", markersize=5)
    axes.plot(0.0, 0.0, "+", color="black", markersize=12)
    axes.set(title="ball on a turntable, seen from the ground", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.set_ylim(bottom=-2.9)
    axes.legend(fontsize=8, loc="lower center")


def hoop(axes):
    """Where a torus like a coin touches the ground while it rolls and leans, and the path of its centre."""
    major, tube, mass = 0.2, 0.03, 1.5
    body = SurfaceBody(torus(major, tube), mass, mass * major**2 * np.diag([0.5, 0.5, 1.0]))
    R = turned(0, 1.3)
    motion = rolling(body, R, (0.0, 0.0, 1.0), R @ np.array([0.0, 0.3, 9.0]))
    touch, centre = [], []
    for _ in range(600):
        touch.append(motion.contact_point("body")[0])
        centre.append(motion.body_motion("body")[1])
        motion.run(0.01, 1e-3)
    touch, centre = np.array(touch), np.array(centre)
    axes.plot(touch[:, 0], touch[:, 1], label="contact")
    axes.plot(centre[:, 0], centre[:, 1], label="centre, seen from above")
    axes.plot(*touch[0, :2], "o", color="0.3", markersize=5)
    axes.set(title="a coin with a round rim, 6 s", xlabel="x [m]", ylabel="y [m]", aspect="equal")
    axes.legend(fontsize=8)


def dish(figure):
    """The shipped scene of a tree: height of the ball over the dish, its slip, and the joints, with the events."""
    _, tree = build_surface_scene("package://mb_contact/config/ball_in_dish.yaml")
    rows = []
    while tree.time < 2.5:
        tree.run(2e-3, 1e-3)
        rows.append((tree.time, max(tree.gap("ball"), 0.0), np.linalg.norm(tree.slip("ball")), *tree.q[:2]))
    t, gap, slip, shoulder, wrist = np.array(rows).T
    panels = figure.subplots(3, 1, sharex=True)
    panels[0].plot(t, 1e3 * gap)
    panels[0].set(ylabel="gap [mm]", title="a ball dropped into a dish that an arm holds")
    panels[1].plot(t, slip)
    panels[1].set(ylabel="slip [m/s]")
    panels[2].plot(t, shoulder, label="shoulder")
    panels[2].plot(t, wrist, label="wrist, limited to 0.35")
    panels[2].set(ylabel="angle [rad]", xlabel="time [s]")
    panels[2].legend(fontsize=8)
    colours = {"lands": "tab:red", "slips": "tab:orange", "sticks": "tab:green", "stops": "black", "breaks": "tab:blue"}
    shown = set()
    for event in tree.events:
        if event.kind in colours:
            for panel in panels:
                panel.axvline(event.time, color=colours[event.kind], linewidth=0.6, alpha=0.6)
            label = event.kind if event.kind not in shown else None
            panels[0].plot([], [], color=colours[event.kind], label=label) if label else None
            shown.add(event.kind)
    panels[0].legend(fontsize=8, loc="upper right")


def main():
    figure, panels = plt.subplots(1, 3, figsize=(14, 4.4))
    for draw, axes in zip((rattleback, turntable, hoop), panels):
        draw(axes)
        axes.grid(alpha=0.3)
    figure.tight_layout()
    figure.savefig(FOLDER / "surfaces_rolling.png", dpi=80)
    figure = plt.figure(figsize=(8, 6))
    dish(figure)
    figure.tight_layout()
    figure.savefig(FOLDER / "surfaces_dish.png", dpi=80)


if __name__ == "__main__":
    main()
