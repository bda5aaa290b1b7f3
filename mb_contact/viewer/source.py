# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where a page's frames come from: a simulator that runs here, a loop of one's own, a recording, a node."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mb_contact.viewer.snapshot import Snapshot


class Source:
    """What a page needs of any of them; each offers only what it can.

    Attributes
    ----------
    can_pace, can_drive, can_drag, can_pose : bool
        Whether it has a real-time factor, efforts of motors to choose from, links that can be dragged, joints that can
        be put somewhere.
    length : float
        Seconds that can be looked at from the start; zero where time goes on.
    done : bool
        Whether no frame will come any more.
    crash : Exception, optional
        The bug that ended it.
    """

    buttons: tuple[str, ...] = ("run", "pause", "step", "reset")  #: methods that the page offers as buttons
    can_pace = can_drive = can_drag = can_pose = False
    length = 0.0
    crash: Any = None
    paused = False
    joint_names: tuple[str, ...] = ()
    sensor_names: tuple[str, ...] = ()  #: of what can be looked at

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._frame: Snapshot | None = None

    @property
    def done(self) -> bool:
        """Whether no frame will come any more."""
        return False

    def start(self) -> None:
        """Begin."""

    def stop(self) -> None:
        """End, and wait for it."""

    def tell(self, message: str) -> None:
        """Say something beside time and pace."""

    def frame(self, timeout: float) -> Snapshot | None:
        """The newest Snapshot that was not handed out yet, or None after ``timeout`` seconds without any."""
        with self._changed:
            self._changed.wait_for(lambda: self._frame is not None, timeout)
            frame, self._frame = self._frame, None
        return frame

    def _put(self, frame: Snapshot) -> None:
        """Here is a newer one."""
        with self._changed:
            self._frame = frame
            self._changed.notify_all()
