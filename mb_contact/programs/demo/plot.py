# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Pictures of demonstrations: what happens over time, with the controller's phases."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats


@contextmanager
def over_phases(
    path: str | Path, time: Floats, phases: Sequence[tuple[str, float]], heights: Sequence[float]
) -> Iterator[Any]:
    """Axes one above the other, to draw on; then phases are marked and a PNG is written.

    Parameters
    ----------
    path : path
    time : (s,)
        Of the record [s].
    phases : sequence of (str, float)
        Name and start [s] of the controller's moves.
    heights : sequence of float
        Of the axes.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, max(9.0, sum(heights))), layout="constrained")
    axes = figure.subplots(len(heights), 1, sharex=True, height_ratios=heights)
    yield axes
    axes[-1].set_xlabel("simulated time [s]")
    _mark(axes, phases, time[-1])
    figure.savefig(path, dpi=110)


def forces(axis: Any, time: Floats, values: Floats, fingers: Sequence[str]) -> None:
    """Contact forces on the fingers."""
    for i, name in enumerate(fingers):
        style = "-" if name.startswith("left") else "--"
        label = name.replace("_finger_", " finger ")
        axis.plot(time, values[:, i], style, color=f"C{_number(name) - 1}", linewidth=1.1, label=label)
    axis.set_ylabel("contact force on the finger [N]")
    axis.legend(ncols=2, fontsize=8, loc="upper left")


def torques(axis: Any, time: Floats, efforts: Floats, joints: Sequence[str]) -> None:
    """Efforts of the arm joints; nothing has acted before the first step."""
    time, efforts = time[1:], efforts[1:]
    arm = [i for i, name in enumerate(joints) if "_arm_joint_" in name]
    for i in arm:
        left = joints[i].startswith("left")
        number = _number(joints[i])
        label = f"joint {number}" if left else None
        axis.plot(
            time, efforts[:, i], "-" if left else "--", color=f"C{number - 1}", linewidth=1.0, label=label
        )
    axis.set_ylabel("torque of the arm joints [N m]\n(left solid, right dashed)")
    axis.legend(ncols=7, fontsize=8, loc="upper center")
    if arm:
        low, high = np.min(efforts[:, arm]), np.max(efforts[:, arm])
        axis.set_ylim(low - 0.05 * (high - low), high + 0.2 * (high - low))  # room for the legend


def _mark(axes, phases, end):
    """Shade every other move and name all of them on top, upright where they are many."""
    starts = [start for _, start in phases] + [end]
    turn = 90 if len(phases) > 12 else 0
    for i, (name, start) in enumerate(phases):
        for axis in axes:
            axis.axvspan(start, starts[i + 1], color="0.5", alpha=0.12 if i % 2 else 0.0, linewidth=0.0)
        middle = 0.5 * (start + starts[i + 1])
        place = axes[0].get_xaxis_transform()
        axes[0].text(middle, 1.02, name, transform=place, ha="center", va="bottom", fontsize=8, rotation=turn)
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0.0)


def _number(name):
    """The number that a name ends in."""
    return int(name.rsplit("_", 1)[1])
