# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Figure 2 of Pai, Ascher and Kry: a curved patch on a flat one, judged, and drawn as a sequence of pictures."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.model.resources import find_resource
from mb_contact.surfaces import Surface, SurfaceTree
from mb_contact.surfaces.scene_build import build_tree
from mb_contact.surfaces.scene_file import load_surface_scene

SCENE = "package://mb_contact/config/bezier_patch.yaml"
DURATION = 10.0  #: [s]
PICTURES = 8
APART = 0.12  #: time between pictures [s]
MOST_ENERGY = 1e-9  #: relative
MOST_DRIFT = 1e-9  #: [m]
GRID = 13


def run_patch(out: str | Path = "out", scene: str | Path = SCENE) -> int:
    """Simulate the scene for 10 s, print what stays constant, write ``patch.png``; 0 if it stays, else 1."""
    tree = build_tree(load_surface_scene(find_resource(scene)))
    energy, start, name = tree.energy(), tree.centre_of_mass(), tree.contacts[0].name
    worst = {"energy": 0.0, "drift": 0.0, "gap": 0.0}
    frames, heights, least = [snapshot(tree)], [start[2]], np.inf
    step = 1e-3
    count = round(DURATION / APART)
    for i in range(1, count + 1):
        tree.run(DURATION / count, step)
        p = tree.centre_of_mass()
        heights.append(p[2])
        worst["energy"] = max(worst["energy"], abs(tree.energy() / energy - 1.0))
        worst["drift"] = max(worst["drift"], float(np.abs(p - start)[:2].max()))
        worst["gap"] = max(worst["gap"], abs(tree.gap(name)))
        least = min(least, tree.contact_wrench(name)[1])
        if i < PICTURES:
            frames.append(snapshot(tree))
    print(f"{DURATION:g} s by RK4 at {1e3 * step:g} ms, no stabilisation")
    print(f"energy        changes by {worst['energy']:.1e} of itself (at most {MOST_ENERGY:g})")
    print(f"centre        drifts sideways by {worst['drift']:.1e} m (at most {MOST_DRIFT:g})")
    print(f"              and moves between {min(heights):.4f} and {max(heights):.4f} m of height")
    print(f"gap           {worst['gap']:.1e} m, found anew from the two poses")
    print(f"normal force  at least {least:.3f} N")
    draw(frames, Path(out) / "patch.png")
    print(f"pictures      {Path(out) / 'patch.png'}")
    return 0 if worst["energy"] <= MOST_ENERGY and worst["drift"] <= MOST_DRIFT else 1


def snapshot(tree: SurfaceTree) -> dict[str, Any]:
    """What a picture shows: time, grids of both surfaces, contact point, centre of mass, body axes; world."""
    (joint,) = tree.contacts
    (R, p), touch = tree.pose(joint.name), tree.contact_point(joint.name)
    E, o = (np.eye(3), np.zeros(3)) if joint.parent is None else tree.pose(joint.parent)
    return {
        "time": tree.time,
        "base": grid(joint.surface) @ E.T + o,
        "body": grid(joint.body.surface) @ R.T + p,
        "contact": None if touch is None else touch[0],
        "centre": tree.centre_of_mass(),
        "axes": R,
    }


def grid(surface: Surface) -> Floats:
    """Points (GRID, GRID, 3) of the first chart."""
    return surface.samples(0, GRID)[1].reshape(GRID, GRID, 3)


def draw(frames: Sequence[dict[str, Any]], file: str | Path) -> None:
    """The sequence as one PNG.

    Raises
    ------
    InputError
        matplotlib is not installed.
    """
    try:
        from matplotlib.figure import Figure
    except ModuleNotFoundError:
        raise InputError("the pictures need matplotlib: pip install 'mb_contact[plot]'") from None
    figure = Figure(figsize=(14, 7))
    for i, frame in enumerate(frames):
        axes = figure.add_subplot(2, (len(frames) + 1) // 2, i + 1, projection="3d", computed_zorder=False)
        _draw_frame(axes, frame)
        axes.set_title(f"{frame['time']:.2f} s", y=0.95)
    figure.subplots_adjust(0.0, 0.0, 1.0, 0.97, 0.0, 0.0)
    file = Path(file)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=80)


def _draw_frame(axes, frame):
    """One picture: transparent patches, the centre of mass with its axes and its plumb line, the contact."""
    for name, colour, order in (("base", "tab:gray", 1), ("body", "tab:blue", 2)):
        x, y, z = np.moveaxis(frame[name], -1, 0)
        axes.plot_surface(x, y, z, color=colour, alpha=0.35, linewidth=0.3, edgecolor="white", zorder=order)
    centre = frame["centre"]
    axes.plot(*np.stack((centre, centre * (1, 1, 0)), 1), color="0.3", linestyle=":", zorder=3)
    if frame["contact"] is not None:
        axes.scatter(*frame["contact"], color="tab:red", s=30, zorder=4)
    axes.scatter(*centre, color="black", s=90, zorder=4)
    for axis, colour in zip(frame["axes"].T, ("tab:red", "tab:green", "tab:blue")):
        axes.plot(*np.stack((centre, centre + 0.3 * axis), 1), color=colour, linewidth=2, zorder=5)
    low, high = frame["base"].min(axis=(0, 1)), frame["base"].max(axis=(0, 1))
    axes.set(xlim=(0.7 * low[0], 0.7 * high[0]), ylim=(0.7 * low[1], 0.7 * high[1]), zlim=(0.0, 0.8))
    axes.set_box_aspect((1.68, 1.68, 0.8), zoom=1.3)
    axes.view_init(18, -60)
    axes.set_axis_off()
