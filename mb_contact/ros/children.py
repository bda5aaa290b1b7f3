# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Programs that run beside a node as its children: how they are started, heard and ended."""

import subprocess
import threading
from collections.abc import Sequence
from typing import Any

from mb_contact.model.resources import child_environment


def end_child(process: subprocess.Popen, grace: float) -> None:
    """SIGTERM if it still runs, SIGKILL after ``grace`` seconds; returns when it has ended."""
    if process.poll() is None:
        process.terminate()
        try:
            process.wait(grace)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


class Child:
    """A program whose lines somebody hears: ``heard(line)`` for each of them, then ``ended(exit code)``.

    It leads a session of its own: Ctrl-C reaches this process alone, which then ends the child.
    """

    def __init__(self, command: Sequence[str], grace: float) -> None:
        self._command, self._grace = command, grace
        self._process: Any = None
        self._thread: Any = None

    def launch(self, **streams: Any) -> None:
        """Start it; of ``stdout`` and ``stderr`` one is a pipe."""
        self._process = subprocess.Popen(
            self._command, stdin=subprocess.DEVNULL, text=True, errors="replace", env=child_environment(),
            start_new_session=True, **streams,
        )  # fmt: skip
        self._thread = threading.Thread(target=self._follow, name="output of a child", daemon=True)
        self._thread.start()

    def _follow(self):
        for line in self._process.stdout or self._process.stderr:
            self.heard(line.rstrip())
        self.ended(self._process.wait())

    def stop(self) -> None:
        """End it if it still runs, and wait for it."""
        if self._process is not None:
            end_child(self._process, self._grace)
            self._thread.join(self._grace)
