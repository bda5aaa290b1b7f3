# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two arms take a wheel off its hub and put it back: what is run, how it is judged by its own record, its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.builtin.wheel import STUD_LENGTH, TYRE_CENTRE
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.programs.demo.running import Demonstration

if TYPE_CHECKING:
    from mb_contact.programs.demo.watch import WatchedSimulator

PLACE = (0.35824, 0.27233, 0.650)  #: middle of the wheel on the rack of the scene, world axes [m]
CARRIED = 0.4  #: that the middle of the wheel is to be carried [m]
PLACE_TOLERANCE = 0.005  #: on the rack [m]
BACK_TOLERANCE = 0.0005  #: on the hub, against the place at the beginning [m]
BACK_TILT = 0.01  #: and of the axle there [rad]
RESTS = 1e-3  #: a wheel slower than this rests [m/s]
GRIPPED = 50.0  #: force on the fingers of both hands together that counts as a grip [N]
SUPPORTS = ("wheel_hub", "rail_1", "rail_2")


@dataclass(frozen=True)
class Verdict:
    """What became of the wheel (SI units, angles in radians)."""

    pulled: float  #: greatest way along the axle; off the studs beyond STUD_LENGTH
    carried: float  #: greatest distance of its middle from the place at the beginning
    place_error: float  #: where it rested on the rack without the hands; infinite if it did not
    back_error: float  #: at the end, against the beginning
    back_tilt: float  #: of the axle, the same
    slip: float  #: greatest displacement against a hand while the hands alone held it
    rest_penetration: float  #: deepest where it rests on rack or hub without the hands
    grip_left: float  #: force on the fingers at the end

    @property
    def failures(self) -> list[str]:
        """What is missing, in words; empty if the wheel was changed."""
        said = []
        if self.pulled <= STUD_LENGTH:
            said.append(f"the wheel came {1e3 * self.pulled:.1f} mm along its studs only")
        elif self.carried < CARRIED:
            said.append(f"the wheel was carried {self.carried:.3f} m only, not {CARRIED} m")
        elif self.place_error > PLACE_TOLERANCE:
            where = "not at all" if np.isinf(self.place_error) else f"{1e3 * self.place_error:.1f} mm beside its place"
            said.append(f"the wheel was set down {where}")
        elif self.back_error > BACK_TOLERANCE or self.back_tilt > BACK_TILT:
            said.append(
                f"the wheel was not put back: {1e3 * self.back_error:.2f} mm away, tilted {self.back_tilt:.3f} rad"
            )
        elif self.grip_left > 0.0:
            said.append("the hands did not let go")
        return said


def judge(record: dict[str, Floats]) -> Verdict:
    """Verdict on a record of :class:`~mb_contact.programs.demo.watch.WatchedSimulator` with SUPPORTS."""
    p = record["position"]
    R = np.array([quat_to_matrix(quaternion) for quaternion in record["quaternion"]])
    middle = p + TYRE_CENTRE * R[:, :, 2]
    axle = R[0, :, 2]
    speed = np.linalg.norm(np.gradient(p, record["time"], axis=0), axis=1)
    grip = record["forces"].sum(axis=1)
    alone = (grip == 0.0) & (speed < RESTS)
    on_rack = alone & (record["supports"][:, 1:] > 0.0).all(axis=1)
    away = np.linalg.norm(middle - PLACE, axis=1)
    return Verdict(
        pulled=float(((p - p[0]) @ axle).max()),
        carried=float(np.linalg.norm(middle - middle[0], axis=1).max()),
        place_error=float(away[on_rack].max(initial=0.0)) if on_rack.any() else np.inf,
        back_error=float(np.linalg.norm(p[-1] - p[0])),
        back_tilt=float(np.arctan2(np.linalg.norm(np.cross(R[-1, :, 2], axle)), R[-1, :, 2] @ axle)),
        slip=_slip(record["in_hands"], (grip > GRIPPED) & (record["supports"] == 0.0).all(axis=1)),
        rest_penetration=float(record["penetration"][alone].max(initial=0.0)),
        grip_left=float(grip[-1]),
    )


def _slip(in_hands, held):
    """Greatest displacement within an unbroken stretch in which the hands alone hold the wheel."""
    worst, start = 0.0, None
    for place, now in zip(in_hands, held):
        start = (place if start is None else start) if now else None
        if start is not None:
            worst = max(worst, float(np.linalg.norm(place - start, axis=1).max()))
    return worst


def rows(verdict: Verdict) -> list[tuple[str, str]]:
    """What became of the wheel, as rows of the table."""
    return [
        ("off the studs", f"{verdict.pulled:.3f} m along the axle, of {STUD_LENGTH:.3f} m of stud"),
        ("carried", f"{verdict.carried:.3f} m from its place on the hub"),
        ("set down", f"{1e3 * verdict.place_error:.2f} mm beside its place on the rack"),
        ("put back", f"{1e3 * verdict.back_error:.3f} mm from where it was, tilt {verdict.back_tilt:.1e} rad"),
        ("slip in the hands", f"{1e3 * verdict.slip:.2f} mm"),
        ("penetration where it rests", f"{1e3 * verdict.rest_penetration:.1e} mm"),
    ]


def plot_wheel(
    path: str | Path, record: dict[str, Floats], phases: Sequence[tuple[str, float]], watched: WatchedSimulator
) -> None:
    """Write a PNG: the wheel's way, contact forces of fingers, hub and rack, and joint torques over time.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    from mb_contact.programs.demo.plot import forces, over_phases, torques

    with over_phases(path, record["time"], phases, (3, 3, 3, 3.5)) as axes:
        time, way = record["time"], record["position"] - record["position"][0]
        for i, (label, sign) in enumerate((("towards the robot", -1.0), ("to the left", 1.0), ("up", 1.0))):
            axes[0].plot(time, sign * way[:, i], label=label)
        axes[0].set_ylabel("way of the wheel [m]")
        axes[0].legend(ncols=3, fontsize=8)
        forces(axes[1], time, record["forces"], watched.fingers)
        axes[2].plot(time, record["supports"][:, 0], color="tab:red", linewidth=1.1, label="hub and studs")
        rack = record["supports"][:, 1:].sum(axis=1)
        axes[2].plot(time, rack, color="tab:brown", linewidth=1.1, label="rack, both rails")
        axes[2].set_ylabel("contact force\non the wheel [N]")
        axes[2].legend(fontsize=8)
        torques(axes[3], time, record["efforts"], watched.world.joint_names)


def _progress(watched):
    way = watched.samples[-1][1] - watched.samples[0][1]
    places = ", ".join(f"{x:+.3f}" for x in way)
    return f"wheel moved by ({places}) m, forces on the fingers {sum(watched.samples[-1][4]):.0f} N in all"


DEMONSTRATION = Demonstration(
    name="wheel",
    scene="package://mb_contact/config/wheel_change.yaml",
    controller="package://mb_contact/examples/wheel_change.py",
    item="wheel",
    supports=SUPPORTS,
    opening="Two arms take a wheel off its hub and put it back: the simulator here, its controller in another process.",
    closing="The wheel was taken off, carried, set down, carried back and put on.",
    failure="the change of the wheel failed",
    progress=_progress, judge=judge, rows=rows, plot=plot_wheel,
)  # fmt: skip
