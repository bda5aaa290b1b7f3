# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of the pendulum experiments: J12 Figures 1 and 2, J14 Figures 5 and 6."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from mb_contact.model.builtin.pendulum import Pendulum, pendulum
from mb_contact.programs.bench.pendulum_runs import height_difference, run

SECONDS = 5.0
PICTURES = 12  #: of a sequence
INK = {"os": "tab:red", "nmc_os": "tab:blue"}  #: J14's colours
NAMES = {"os": "OS", "nmc_os": "NMC/OS"}
LINES = {"os": {"linewidth": 3.0, "alpha": 0.5}, "nmc_os": {"linewidth": 1.0}}
PARTS = (1, 2, 4)  #: of the chain's step, for which differences are drawn


def write_pictures(folder: Path) -> list[Path]:
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
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout="constrained")


def draw_sequence(path: Path, chain: Pendulum, title: str, seconds: float = SECONDS, count: int = PICTURES) -> Path:
    """The pendulum at ``count`` times, floor, wall and base; returns the path."""
    from matplotlib.collections import EllipseCollection

    times = np.linspace(0.0, seconds, count)
    frames = run(chain, "os", seconds, times).frames
    low, high = frames.min(axis=(0, 1)) - chain.radius, frames.max(axis=(0, 1)) + chain.radius
    left, right = min(low[0], -1.0) - 0.3, chain.wall + 0.6
    bottom, top = chain.floor - 0.6, max(high[1], chain.base_height) + 0.3
    figure = _figure(12.0, 1.0 + 0.75 * 12.0 * (top - bottom) / (right - left))
    axes = figure.subplots(3, count // 3, sharex=True, sharey=True, squeeze=False)
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
        axis.set(xlim=(left, right), ylim=(bottom, top), aspect="equal")
        axis.set_title(f"{when:.2f} s", fontsize="medium")
    for axis in axes[-1]:
        axis.set_xlabel("x [m]")
    for axis in axes[:, 0]:
        axis.set_ylabel("z [m]")
    figure.suptitle(f"{title}, restitution {chain.restitution:g}; grey: floor and wall, triangle: base")
    figure.savefig(path, dpi=70)
    return path


def _hinges(chain, centres):
    """Base, hinges and end of the chain: each sphere stands half-way between two of them."""
    points = [np.array([0.0, chain.base_height])]
    for centre in centres:
        points.append(2.0 * centre - points[-1])
    return np.array(points)


def draw_comparison(path: Path, chain: Pendulum, what: Sequence[str], title: str, seconds: float = SECONDS) -> Path:
    """Height (and velocity along the floor's normal) of the last link over time, OS and NMC/OS; returns the path.

    Below them how far apart the heights are, for PARTS of the step: the time of agreement.
    """
    columns = {"height": (1, "height [m]"), "velocity": (3, "normal velocity [m/s]")}
    runs = {way: run(chain, way, seconds) for way in INK}
    figure = _figure(10.0, 1.0 + 2.6 * (len(what) + 1))
    axes = figure.subplots(len(what) + 1, 1, sharex=True)
    for axis, name in zip(axes, what):
        column, label = columns[name]
        for way, ink in INK.items():
            axis.plot(runs[way].time, runs[way].last[:, column], color=ink, label=NAMES[way], **LINES[way])
        axis.set_ylabel(label)
    _draw_differences(axes[-1], chain, seconds)
    touched = runs["os"].time[runs["os"].contacts > 0]
    for axis in axes:
        axis.grid(alpha=0.3)
        if len(touched):
            axis.axvline(touched[0], color="0.4", linestyle=":", label="first contact" if axis is axes[0] else None)
    axes[0].legend()
    axes[-1].set_xlabel("time [s]")
    figure.suptitle(f"{title}: the last link at {1e3 * chain.time_step:g} ms, restitution {chain.restitution:g}")
    figure.savefig(path, dpi=80)
    return path


def _draw_differences(axis, chain, seconds):
    """|height of OS - height of NMC/OS| over time, for every part of the step."""
    for part in PARTS:
        finer = replace(chain, time_step=chain.time_step / part)
        time, apart = height_difference(*(run(finer, way, seconds) for way in INK))
        axis.semilogy(time, np.maximum(apart, 1e-9), linewidth=0.8, label=f"{1e3 * finer.time_step:g} ms")
    axis.set_ylabel("heights differ by [m]")
    axis.legend(title="step")
