# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A hand turns a lug nut off its stud: what is run, how it is judged by its own record, its picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.builtin.wheel import NUT_HEIGHT, STUD_LENGTH
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.programs.demo.running import Demonstration

if TYPE_CHECKING:
    from mb_contact.programs.demo.watch import WatchedSimulator

NUT = "nut_5"
HUB = (0.66, 0.0, 0.85)  #: of the scene: the face of the hub, whose axle is against the world's x [m]
PITCH = 0.0015  #: of its thread [m]
THREAD_TOLERANCE = 2e-5  #: between the nut's way on its thread and its turns times the pitch [m]
AWAY = 0.05  #: that the nut is to be taken beyond the end of its stud [m]
SUPPORTS = ("socket", "wheel")


@dataclass(frozen=True)
class Verdict:
    """What became of the nut (SI units)."""

    turns: float  #: turns on its thread
    thread_error: float  #: greatest difference of its way on the thread and turns times pitch
    beyond: float  #: at the end, from the end of the stud to the nut's inner face
    in_socket: float  #: change of its place in the hand from coming off to the end
    torque: float  #: greatest of the spindle
    push: float  #: greatest force of the nut on the wheel

    @property
    def failures(self) -> list[str]:
        """What is missing, in words; empty if the nut was turned off."""
        if self.turns < 1.0:
            return [f"the nut was turned {self.turns:.2f} times only"]
        if self.beyond < AWAY:
            return [f"the nut ends {1e3 * self.beyond:.1f} mm beyond its stud, not {1e3 * AWAY:.0f} mm"]
        if self.thread_error > THREAD_TOLERANCE:
            return [f"the nut left its thread by {1e3 * self.thread_error:.3f} mm"]
        if self.in_socket > 0.01:
            return [f"the nut moved {1e3 * self.in_socket:.1f} mm in the socket"]
        return []


def judge(record: dict[str, Floats]) -> Verdict:
    """Verdict on a record of :class:`~mb_contact.programs.demo.watch.WatchedSimulator` of the nut with SUPPORTS."""
    out = np.array([-1.0, 0.0, 0.0])
    along = (record["position"] - HUB) @ out - 0.5 * NUT_HEIGHT  # of the nut's inner face
    on = along < STUD_LENGTH - PITCH / 20.0
    x = np.array([quat_to_matrix(quaternion)[:, 0] for quaternion in record["quaternion"]])
    angle = np.unwrap(np.arctan2(np.cross(x[0], x) @ out, x @ x[0]))
    way = along - along[0]
    last = int(np.flatnonzero(on)[-1])
    in_hand = record["in_hands"][:, 1]
    return Verdict(
        turns=float(angle[on].max() / (2.0 * np.pi)),
        thread_error=float(np.abs(way[on] - PITCH * angle[on] / (2.0 * np.pi)).max()),
        beyond=float(along[-1] - STUD_LENGTH),
        in_socket=float(np.linalg.norm(in_hand[-1] - in_hand[min(last + 1, len(in_hand) - 1)])),
        torque=float(np.abs(record["efforts"][:, -1]).max()),
        push=float(record["supports"][:, 1].max()),
    )


def rows(verdict: Verdict) -> list[tuple[str, str]]:
    """What became of the nut, as rows of the table."""
    return [
        ("turned on its thread", f"{verdict.turns:.2f} times"),
        ("way against turns and pitch", f"{1e6 * verdict.thread_error:.2f} um at most"),
        ("taken", f"{1e3 * verdict.beyond:.1f} mm beyond the end of its stud"),
        ("moved in the socket since", f"{1e3 * verdict.in_socket:.2f} mm"),
        ("torque of the spindle", f"{verdict.torque:.2f} N m at most"),
    ]


def plot_nut(
    path: str | Path, record: dict[str, Floats], phases: Sequence[tuple[str, float]], watched: WatchedSimulator
) -> None:
    """Write a PNG: the nut's way, the spindle's torque, what the socket does, and joint torques over time.

    Raises
    ------
    ImportError
        matplotlib is missing.
    """
    from mb_contact.programs.demo.plot import over_phases, torques

    with over_phases(path, record["time"], phases, (2.5, 2.5, 2.5, 3.5)) as axes:
        time = record["time"]
        axes[0].plot(time, 1e3 * (record["position"][0] - record["position"])[:, 0], color="tab:blue")
        axes[0].set_ylabel("way of the nut [mm]")
        axes[1].plot(time[1:], record["efforts"][1:, -1], color="tab:red", linewidth=1.0)
        axes[1].set_ylabel("torque of the spindle [N m]")
        axes[2].plot(time, record["supports"][:, 0], color="tab:brown", linewidth=1.0)
        axes[2].set_ylabel("net contact force of\nthe socket on the nut [N]")
        torques(axes[3], time, record["efforts"], watched.world.joint_names)


def _progress(watched):
    way = 1e3 * (watched.samples[0][1] - watched.samples[-1][1])[0]
    return f"the nut came {way:.2f} mm; off: {', '.join(watched.released_threads) or 'none'}"


DEMONSTRATION = Demonstration(
    name="nut",
    scene="package://mb_contact/config/wheel_nuts.yaml",
    controller="package://mb_contact/examples/nut_off.py",
    item=NUT,
    supports=SUPPORTS,
    opening="A hand turns a lug nut off its stud: the simulator here, its controller in another process.",
    closing="The nut was turned off and taken away.",
    failure="the nut was not turned off",
    progress=_progress, judge=judge, rows=rows, plot=plot_nut,
)  # fmt: skip
