# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of the pendulum experiments: J12 Figures 1 and 2, J14 Figures 5 and 6."""

from __future__ import annotations

import numpy as np

from mb_contact.bench.pendulum import run
from mb_contact.model.pendulum import pendulum

SECONDS = 5.0
PICTURES = 12  #: of a sequence
INK = {"os": "tab:red", "eliminated": "tab:blue"}  #: J14's colours
NAMES = {"os": "OS", "eliminated": "NMC/OS"}


def write_pictures(folder):
    """Write all pictures into a folder, which is made; returns their paths.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    folder.mkdir(parents=True, exist_ok=True)
    return [
        draw_sequence(folder / "j14_figure_5.png", pendulum(12), "J14 Figure 5: 12 links"),
        draw_comparison(folder / "j14_figure_6.png", pendulum(12), ("height", "velocity"), "J14 Figure 6: 12 links"),
        draw_sequence(folder / "j12_figure_1.png", pendulum(15, "j12"), "J12 Figure 1 as printed: 15 links, 6 m"),
        draw_sequence(folder / "j12_figure_1_12m.png", pendulum(15, "j12_12m"), "J12 Figure 1 at 12 m: 15 links"),
        draw_comparison(folder / "j12_figure_2.png", pendulum(3, "j12"), ("height",), "J12 Figure 2: 3 links, 6 m"),
        draw_comparison(
            folder / "j12_figure_2_12m.png", pendulum(3, "j12_12m"), ("height",), "J12 Figure 2 at 12 m: 3 links"
        ),
    ]


def _figure(width, height):
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def draw_sequence(path, chain, title, seconds=SECONDS, count=PICTURES):
    """The pendulum at ``count`` times, floor, wall and base; returns the path."""
    from matplotlib.collections import EllipseCollection

    times = np.linspace(0.0, seconds, count)
    frames = run(chain, "os", seconds, times).frames
    low, high = frames.min(axis=(0, 1)) - chain.radius, frames.max(axis=(0, 1)) + chain.radius
    left, right = min(low[0], -1.0) - 0.3, chain.wall + 0.6
    bottom, top = chain.floor - 0.6, max(high[1], chain.base_height) + 0.3
    figure = _figure(12.0, 1.0 + 0.75 * 12.0 * (top - bottom) / (right - left))
    axes = figure.subplots(3, count // 3, sharex=True, sharey=True)
    for axis, when, centres in zip(axes.ravel(), times, frames):
        axis.axhspan(bottom, chain.floor, color="0.75")
        axis.axvspan(chain.wall, right, color="0.75")
        axis.plot(*_hinges(chain, centres).T, color="0.3", linewidth=1.0)
        size = 2.0 * chain.radius * np.ones(chain.links)
        axis.add_collection(EllipseCollection(
            size, size, np.zeros(chain.links), units="xy", offsets=centres, offset_transform=axis.transData,
            facecolors="tab:orange", edgecolors="0.2", linewidths=0.5, alpha=0.6,
        ))  # fmt: skip
        axis.plot(0.0, chain.base_height, "k^")
        axis.set(xlim=(left, right), ylim=(bottom, top), aspect="equal", title=f"{when:.2f} s")
    figure.suptitle(f"{title}, e = {chain.restitution:g} [m]")
    figure.savefig(path, dpi=70)
    return path


def _hinges(chain, centres):
    """Base, hinges and end of the chain: each sphere stands half-way between two of them."""
    points = [np.array([0.0, chain.base_height])]
    for centre in centres:
        points.append(2.0 * centre - points[-1])
    return np.array(points)


def draw_comparison(path, chain, what, title, seconds=SECONDS):
    """Height (and vertical velocity) of the last link over time, OS and NMC/OS; returns the path."""
    columns = {"height": (1, "height of the last link [m]"), "velocity": (3, "its vertical velocity [m/s]")}
    runs = {way: run(chain, way, seconds) for way in INK}
    figure = _figure(10.0, 1.0 + 3.0 * len(what))
    axes = np.atleast_1d(figure.subplots(len(what), 1, sharex=True))
    for axis, name in zip(axes, what):
        column, label = columns[name]
        for way, ink in INK.items():
            style = "-" if way == "os" else "--"
            axis.plot(runs[way].time, runs[way].last[:, column], style, color=ink, linewidth=1.2, label=NAMES[way])
        axis.set_ylabel(label)
        axis.grid(alpha=0.3)
    axes[0].legend()
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(f"{title}, {1e3 * chain.time_step:g} ms, e = {chain.restitution:g}")
    figure.savefig(path, dpi=80)
    return path
