# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Plots in the page: joints, contact forces and energy over the frames of the last seconds."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.viewer.snapshot import ENERGIES

if TYPE_CHECKING:
    from mb_contact.viewer.snapshot import Readings, Snapshot
    from mb_contact.viewer.source import Source

FRAMES = 450  #: that are kept: 15 s of a simulation that keeps its pace
PERIOD = 0.25  #: wall time between two updates of the page [s]
SERIES = 8  #: curves of a chart at most
HEIGHT = 240  #: of a chart [pixels]
QUANTITIES = {
    "positions [rad, m]": "positions", "velocities [rad/s, m/s]": "velocities", "efforts [N m, N]": "efforts",
}  # fmt: skip
COLOURS = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#17becf", "#8c564b", "#7f7f7f")


class Plots:
    """Charts below a folder; one that is not shown costs nothing.

    Parameters
    ----------
    gui : viser.GuiApi
    source : Source
        Whose joints can be plotted; of one that has a length, all is plotted up to the time that is looked at.
    """

    def __init__(self, gui: Any, source: Source) -> None:
        self._gui, self._history, joints = gui, deque[tuple[float, "Readings"]](maxlen=FRAMES), source.joint_names
        self._source, self._all = source, None
        self._due, self._drawn = 0.0, -1.0
        self.folder = gui.add_folder("Plots", expand_by_default=False)
        self.charts: dict[str, Any] = {}
        self.boxes: dict[str, Any] = {}
        with self.folder:
            if joints:
                self._chart("joints", "plot joints")
                groups = [tuple(joints[i : i + SERIES]) for i in range(0, len(joints), SERIES)]
                self._groups = {f"{group[0]} to {group[-1]}": group for group in groups}
                self.quantity = gui.add_dropdown("of joints", tuple(QUANTITIES))
                self.group = gui.add_dropdown("which", tuple(self._groups))
                for choice in (self.quantity, self.group):
                    choice.on_update(lambda _: self._draw())
            self._chart("forces", "plot forces [N]")
            self._chart("energy", "plot energy [J]")

    def _chart(self, name, label):
        box = self.boxes[name] = self._gui.add_checkbox(label, False)
        box.on_update(lambda _: self._show(name))
        axes = ({"label": "t [s]", "labelSize": 16, "size": 34}, {"size": 64})
        whole = {"range": (0.0, self._source.length)} if self._source.length > 0.0 else {}
        self.charts[name] = self._gui.add_uplot(
            (np.zeros(1), np.zeros(1)), ({"label": "t"}, {"label": "-"}), scales={"x": {"time": False} | whole},
            axes=axes, height=HEIGHT, padding=(8, 12, 0, 0), visible=False,
        )  # fmt: skip

    def _show(self, name):
        self.charts[name].visible = self.boxes[name].value
        self._draw()

    def update(self, snapshot: Snapshot) -> None:
        """Keep a frame, and draw if it is time to; a time that goes back (a reset) begins anew."""
        if self._history and snapshot.time < self._history[-1][0]:
            self._history.clear()
        if not self._history or snapshot.time > self._history[-1][0]:
            self._history.append((snapshot.time, snapshot.readings))
        now = time.perf_counter()
        if now >= self._due and snapshot.time != self._drawn:
            self._due, self._drawn = now + PERIOD, snapshot.time
            self._draw()

    def _draw(self):
        if not self._history or not any(box.value for box in self.boxes.values()):
            return
        history, now = list(self._history), self._history[-1][0]
        if self._source.length > 0.0:
            self._all = self._all or self._source.readings()
            history = [row for row in self._all if row[0] <= now + 1e-9] or self._all[:1]
        columns = {"joints": self._joints, "forces": _forces, "energy": _energies}
        times, readings = np.array([t for t, _ in history]), [r for _, r in history]
        for name, chart in self.charts.items():
            if self.boxes[name].value:
                _put(chart, times, columns[name](readings))

    def _joints(self, readings):
        """Curves of the chosen joints."""
        quantity, group = QUANTITIES.get(self.quantity.value), self._groups.get(self.group.value, ())
        curves = {joint: np.full(len(readings), np.nan) for joint in group}
        for k, reading in enumerate(readings):
            for joint, value in zip(reading.joints, getattr(reading, quantity) if quantity else ()):
                if joint in curves:
                    curves[joint][k] = value
        return curves


def _forces(readings):
    """Curves of the pairs of links with the largest forces."""
    largest: dict[tuple[str, str], float] = {}
    for reading in readings:
        for links, force in reading.forces.items():
            largest[links] = max(force, largest.get(links, 0.0))
    pairs = sorted(sorted(largest, key=lambda links: -largest[links])[:SERIES])
    return {f"{a} on {b}": np.array([r.forces.get((a, b), 0.0) for r in readings]) for a, b in pairs}


def _energies(readings):
    return {name: np.array([r.energies.get(name, np.nan) for r in readings]) for name in ENERGIES}


def _put(chart: Any, times: Floats, curves: Mapping[str, Floats]) -> None:
    """Give a chart its curves; its series change only with their names, because that makes the chart anew.

    A hole in a curve is bridged: the chart would find no range for numbers that are none.
    """
    known = {name: np.isfinite(values) for name, values in curves.items()}
    curves = {name: np.interp(times, times[known[name]], values[known[name]])
              for name, values in curves.items() if known[name].any()} or {"-": np.zeros(len(times))}  # fmt: skip
    labels = ["t", *curves]
    if [series["label"] for series in chart.series] != labels:
        shown = [{"label": name, "stroke": COLOURS[k], "width": 1.5} for k, name in enumerate(curves)]
        chart.data = (times, *curves.values())
        chart.series = ({"label": "t"}, *shown)
    else:
        chart.data = (times, *curves.values())
