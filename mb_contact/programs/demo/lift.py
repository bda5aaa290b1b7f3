# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms lift a box: what is run, how it is judged by the simulator's own record, and its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mb_contact.checks import Floats
from mb_contact.programs.demo.running import Demonstration

if TYPE_CHECKING:
    from mb_contact.programs.demo.watch import WatchedSimulator

LIFT = 0.200  #: height that counts as lifted [m]
HOLD = 3.0  #: how long it must be held there [s]
PLACE_TOLERANCE = 0.002  #: set down: height over the start [m]
FREE = 1e-3  #: below this height the box stands [m]


@dataclass(frozen=True)
class Verdict:
    """What became of the box (SI units, angles in radians)."""

    height: float  #: greatest height over the start
    held: float  #: longest unbroken time at LIFT or more
    rest_height: float  #: at the end, over the start
    rest_offset: float  #: at the end, horizontally
    tilt: float  #: at the end
    slip: float  #: greatest displacement against a hand between leaving the table and standing again
    grip_left: float  #: greatest finger force at the end

    @property
    def failures(self) -> list[str]:
        """What is missing, in words; empty if the lift succeeded."""
        said = []
        if self.height < LIFT:
            said.append(f"the box rose by {self.height:.3f} m only, not {LIFT} m")
        elif self.held < HOLD:
            said.append(f"the box was held for {self.held:.2f} s only, not {HOLD:.0f} s")
        if abs(self.rest_height) > PLACE_TOLERANCE or self.tilt > 0.02:
            said.append(
                f"the box was not set down: {self.rest_height:.3f} m high, tilted {self.tilt:.3f} rad"
            )
        elif self.grip_left > 0.0:
            said.append("the hands did not release the box")
        return said


def judge(record: dict[str, Floats]) -> Verdict:
    """Verdict on a record of :class:`~mb_contact.programs.demo.watch.WatchedSimulator`."""
    time, p = record["time"], record["position"]
    height = p[:, 2] - p[0, 2]
    up = record["quaternion"][-1]
    return Verdict(
        height=float(height.max()),
        held=_longest(time, height >= LIFT),
        rest_height=float(height[-1]),
        rest_offset=float(np.hypot(*(p[-1] - p[0])[:2])),
        tilt=float(2.0 * np.arcsin(min(1.0, np.hypot(up[0], up[1])))),
        slip=_slip(record["in_hands"], height > FREE),
        grip_left=float(record["forces"][-1].max(initial=0.0)),
    )


def _longest(time, holds):
    """Longest unbroken stretch [s] in which ``holds`` is true."""
    best, start = 0.0, None
    for t, now in zip(time, holds):
        if not now:
            start = None
        else:
            start = t if start is None else start
            best = max(best, t - start)
    return float(best)


def _slip(in_hands, aloft):
    if not aloft.any():
        return 0.0
    carried = in_hands[aloft]
    return float(np.linalg.norm(carried - carried[0], axis=2).max(initial=0.0))


def rows(verdict: Verdict) -> list[tuple[str, str]]:
    """What became of the box, as rows of the table."""
    return [
        ("box lifted by", f"{verdict.height:.4f} m"),
        (f"held at {LIFT} m or more", f"{verdict.held:.2f} s"),
        ("set down", f"{1e3 * verdict.rest_offset:.2f} mm beside its place, tilt {verdict.tilt:.1e} rad"),
        ("slip in the hands", f"{1e3 * verdict.slip:.2f} mm"),
    ]


def plot_lift(
    path: str | Path, record: dict[str, Floats], phases: Sequence[tuple[str, float]], watched: WatchedSimulator
) -> None:
    """Write a PNG: height, finger forces and joint torques over time.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    from mb_contact.programs.demo.plot import forces, over_phases, torques

    with over_phases(path, record["time"], phases, (2, 3, 4)) as axes:
        z = record["position"][:, 2]
        axes[0].plot(record["time"], z - z[0], color="tab:blue")
        axes[0].axhline(LIFT, color="0.5", linestyle=":", linewidth=1.0)
        axes[0].set_ylabel("height of the box [m]")
        forces(axes[1], record["time"], record["forces"], watched.fingers)
        torques(axes[2], record["time"], record["efforts"], watched.world.joint_names)


def _progress(watched):
    height = watched.samples[-1][1][2] - watched.samples[0][1][2]
    return f"box {height:+.3f} m, forces on the fingers {sum(watched.samples[-1][4]):.1f} N in all"


DEMONSTRATION = Demonstration(
    name="lift",
    scene="package://mb_contact/config/dual_arm_lift.yaml",
    controller="package://mb_contact/examples/dual_arm_lift.py",
    item="box",
    opening="Two arms lift a box: the simulator here, its controller in another process.",
    closing="The box was lifted, held and set down.",
    failure="the lift failed",
    progress=_progress, judge=judge, rows=rows, plot=plot_lift,
)  # fmt: skip
