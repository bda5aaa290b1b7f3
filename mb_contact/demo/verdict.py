# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Judge a lift by the simulator's own record, and put it into a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from mb_contact.checks import Floats

if TYPE_CHECKING:
    from mb_contact.demo.watch import WatchedSimulator

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
    """Verdict on a record of :class:`~mb_contact.demo.watch.WatchedSimulator`."""
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


def table(verdict: Verdict, summary: Any, simulator: WatchedSimulator) -> list[tuple[str, str]]:
    """Rows (what, value) of the table at the end.

    Parameters
    ----------
    verdict : Verdict
    summary : Summary
        Of the node.
    simulator : WatchedSimulator
    """
    energy, balance = simulator.energy(), simulator.energy_balance
    work = energy - simulator.energy_start - balance
    stages = ", ".join(f"{name} {count}" for name, count in summary.solvers.most_common())
    lost = summary.steps - summary.accepted
    return [
        ("box lifted by", f"{verdict.height:.4f} m"),
        (f"held at {LIFT} m or more", f"{verdict.held:.2f} s"),
        ("set down", f"{1e3 * verdict.rest_offset:.2f} mm beside its place, tilt {verdict.tilt:.1e} rad"),
        ("slip in the hands", f"{1e3 * verdict.slip:.2f} mm"),
        ("simulated, wall time", f"{summary.simulated:.2f} s, {summary.wall:.2f} s"),
        ("real-time factor", f"{summary.real_time_factor:.2f}"),
        ("worst complementarity residual", f"{max(summary.complementarity_gap, summary.infeasibility):.1e}"),
        ("worst penetration", f"{1e3 * summary.penetration:.1e} mm"),
        ("energy", f"{simulator.energy_start:.3f} J at first, {energy:.3f} J at last"),
        ("work done, not accounted for", f"{work:.3f} J, {balance:.1e} J"),
        ("contacts at most", f"{summary.contacts}"),
        ("steps per solver", stages),
        ("commands", f"{summary.accepted} taken, {max(lost, 0)} lost, {summary.rejected} rejected"),
    ]


def print_table(rows: Sequence[tuple[str, str]]) -> None:
    """Two aligned columns on standard output."""
    width = max(len(what) for what, _ in rows)
    for what, value in rows:
        print(f"  {what:<{width}}  {value}")
