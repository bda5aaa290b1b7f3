# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The picture of a lift: height, finger forces and joint torques over time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from mb_contact.checks import Floats
from mb_contact.demo.verdict import LIFT


def plot_lift(
    path: str | Path,
    record: dict[str, Floats],
    phases: Sequence[tuple[str, float]],
    fingers: Sequence[str],
    joints: Sequence[str],
) -> None:
    """Write a PNG.

    Parameters
    ----------
    path : path
    record : dict
        Of a WatchedSimulator.
    phases : sequence of (str, float)
        Name and start [s] of the controller's moves.
    fingers, joints : sequence of str
        Columns of the record's forces and efforts.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 9.0), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.subplots(3, 1, sharex=True, height_ratios=(2, 3, 4))
    time, z = record["time"], record["position"][:, 2]
    axes[0].plot(time, z - z[0], color="tab:blue")
    axes[0].axhline(LIFT, color="0.5", linestyle=":", linewidth=1.0)
    axes[0].set_ylabel("height of the box [m]")
    _forces(axes[1], time, record["forces"], fingers)
    _torques(axes[2], time[1:], record["efforts"][1:], joints)  # nothing has acted before the first step
    axes[2].set_xlabel("simulated time [s]")
    _mark(axes, phases, time[-1])
    figure.savefig(path, dpi=110)


def _forces(axis, time, forces, fingers):
    for i, name in enumerate(fingers):
        style = "-" if name.startswith("left") else "--"
        label = name.replace("_finger_", " finger ")
        axis.plot(time, forces[:, i], style, color=f"C{_number(name) - 1}", linewidth=1.1, label=label)
    axis.set_ylabel("contact force on the finger [N]")
    axis.legend(ncols=2, fontsize=8, loc="upper left")


def _torques(axis, time, efforts, joints):
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
    """Shade every other move and name all of them on top."""
    starts = [start for _, start in phases] + [end]
    for i, (name, start) in enumerate(phases):
        for axis in axes:
            axis.axvspan(start, starts[i + 1], color="0.5", alpha=0.12 if i % 2 else 0.0, linewidth=0.0)
        middle = 0.5 * (start + starts[i + 1])
        axes[0].text(
            middle, 1.02, name, transform=axes[0].get_xaxis_transform(), ha="center", va="bottom", fontsize=8
        )
    for axis in axes:
        axis.grid(alpha=0.3)
        axis.margins(x=0.0)


def _number(name):
    """The number that a name ends in."""
    return int(name.rsplit("_", 1)[1])
