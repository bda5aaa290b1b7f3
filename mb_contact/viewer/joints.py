# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Sliders of joints, which put them somewhere while paused and ask for positions while it runs; sensors' readings."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.viewer.look import plain
from mb_contact.viewer.player import Player
from mb_contact.viewer.snapshot import Snapshot

MOST = 40  #: joints that have sliders
PERIOD = 0.3  #: wall time between two updates of the sliders [s]
NONE = "none"
HINT = "Paused: the joint is put there. Running: its actuator is asked for it, or all joints are held there."


class JointSliders:
    """A folder of sliders, made when they are first asked for.

    Parameters
    ----------
    gui : viser.GuiApi
    player : Player
    """

    def __init__(self, gui: Any, player: Player) -> None:
        self._gui, self._player, self._due = gui, player, 0.0
        self.sliders: dict[str, Any] = {}
        self._touched: dict[str, float] = {}  #: when somebody moved it last
        self.folder = gui.add_folder("Joints", expand_by_default=False)
        with self.folder:
            self.box = gui.add_checkbox("sliders", False, hint=HINT)
        self.box.on_update(lambda _: self._show())

    def _show(self):
        if self.box.value and not self.sliders:
            with self.folder:
                for joint in self._player.joint_names[:MOST]:
                    self._add(joint)
        for slider in self.sliders.values():
            slider.visible = self.box.value

    def _add(self, joint):
        low, high, start = self._player.joint_range(joint)
        slider = self._gui.add_slider(joint, low, high, round((high - low) / 500.0, 6), min(max(start, low), high))
        slider.on_update(lambda event: None if event.client is None else self._moved(joint, slider.value))
        self.sliders[joint] = slider

    def _moved(self, joint, value):
        if np.isfinite(value):  # a browser may send anything
            self._touched[joint] = time.perf_counter()
            self._player.move(joint, float(value))

    def update(self, snapshot: Snapshot) -> None:
        """Show where joints are, but for those that somebody has asked for a position."""
        now = time.perf_counter()
        if not self.box.value or now < self._due:
            return
        self._due = now + PERIOD
        if self._player.efforts != "hold" and not self._player.paused:
            self._touched.clear()
        for joint, position in zip(snapshot.readings.joints, snapshot.readings.positions):
            slider = self.sliders.get(joint)
            if slider is not None and joint not in self._touched and abs(slider.value - position) > slider.step:
                slider.value = float(np.clip(position, slider.min, slider.max))


class SensorPane:
    """A folder with the reading of one sensor: numbers, or a camera's picture.

    Parameters
    ----------
    gui : viser.GuiApi
    player : Player
    """

    def __init__(self, gui: Any, player: Player) -> None:
        self._last: Any = None
        self.folder = gui.add_folder("Sensors", expand_by_default=False)
        with self.folder:
            sensors = tuple(dict.fromkeys((NONE, *player.sensor_names)))
            self.choice = gui.add_dropdown("sensor", sensors, initial_value=NONE)
            self.image = gui.add_image(np.zeros((2, 2, 3), np.uint8), visible=False)
            self.text = gui.add_markdown("")
        self.choice.on_update(lambda _: self._choose(player))

    def _choose(self, player):
        self.image.visible, self.text.content = False, ""
        player.watch(None if self.choice.value == NONE else self.choice.value)

    def update(self, snapshot: Snapshot) -> None:
        """Show a new reading."""
        if snapshot.sensor is None or snapshot.sensor is self._last:
            return
        self._last, reading = snapshot.sensor, snapshot.sensor()
        if hasattr(reading, "depth"):
            self.image.image = reading.colour if reading.colour is not None else depth_picture(reading.depth)
            self.image.visible = True
            return
        fields = reading._asdict() if hasattr(reading, "_asdict") else {self.choice.value: reading}
        texts = {name: np.array2string(np.ravel(value)[:12], precision=4) for name, value in fields.items()}
        rows = [f"| {plain(name)} | {plain(text)} |" for name, text in texts.items()]
        self.text.content = "\n".join(["| | |", "|---|---|", *rows])


def depth_picture(depth: Any) -> NDArray[np.uint8]:
    """Grey values (height, width, 3) of depths [m]: near is bright; nothing is black."""
    seen = np.isfinite(depth)
    low, high = (depth[seen].min(), depth[seen].max()) if seen.any() else (0.0, 1.0)
    grey = np.where(seen, 255.0 - 200.0 * (np.where(seen, depth, low) - low) / max(high - low, 1e-9), 0.0)
    return np.repeat(grey.astype(np.uint8)[..., None], 3, axis=2)
