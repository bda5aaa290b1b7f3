# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The frames that were drawn, and the slider by which one goes back to them; of a recording, to all of it."""

from __future__ import annotations

import time
from collections import deque
from typing import Any

from mb_contact.viewer.snapshot import Snapshot
from mb_contact.viewer.source import Source

KEPT = 900  #: frames: half a minute of a simulation that keeps its pace
PERIOD = 0.15  #: wall time between two moves of the slider [s]


class Timeline:
    """A slider over the time of a recording, or over the last frames of what goes on.

    Parameters
    ----------
    gui : viser.GuiApi
    source : Source
    redraw : callable
        Called with the Snapshot that is to be drawn when somebody goes back.
    """

    def __init__(self, gui: Any, source: Source, redraw: Any) -> None:
        self._source, self._redraw, self._due = source, redraw, 0.0
        self.frames: deque[Snapshot] = deque(maxlen=KEPT)
        self.back = False  #: a frame of the past is looked at: newer ones are kept, not drawn
        whole = source.length > 0.0
        low, high = (0.0, round(source.length, 3)) if whole else (-round(KEPT / 30.0, 1), 0.0)
        self.slider = gui.add_slider("time [s]" if whole else "look back [s]", low, high, 0.001 if whole else 0.1, 0.0)
        self.slider.on_update(lambda event: None if event.client is None else self.go(self.slider.value))

    def go(self, seconds: float) -> None:
        """Look at a time: of a recording since its start, else before now where it is negative."""
        if self._source.length > 0.0:
            self._source.seek(seconds)  # type: ignore[attr-defined]
            return
        self.back = seconds < 0.0 and bool(self.frames)
        if self.frames:
            wanted = self.frames[-1].time + min(seconds, 0.0)
            self._redraw(min(list(self.frames), key=lambda frame: abs(frame.time - wanted)))

    def now(self) -> None:
        """Look at what happens now again."""
        self.back = False
        if self._source.length == 0.0:
            self.slider.value = 0.0

    def add(self, snapshot: Snapshot) -> None:
        """Keep a frame; a time that goes back begins anew, but for a recording's."""
        if self.frames and snapshot.time < self.frames[-1].time:
            self.frames.clear()
        self.frames.append(snapshot._replace(sensor=None))
        if self._source.length > 0.0 and (self._source.paused or time.perf_counter() >= self._due):
            self._due = time.perf_counter() + PERIOD
            self.slider.value = round(min(snapshot.time, self._source.length), 3)
