# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a simulator's node looks for on the graph and tells once: clients, controllers and simulators that go amiss."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from mb_contact.ros.backend import call_safely
from mb_contact.ros.diagnostics import RIVAL_TEXT, Summary, foreign_text, unheard_text
from mb_contact.ros.outputs.robot import Run
from mb_contact.ros.qos import LATCHED

LOOK_SECONDS = 2.0  #: between two looks


class Looks:
    """Looks on the executor's thread.

    Parameters
    ----------
    node : object
        rclpy-like node.
    record : Summary
        Where what was found is kept.
    unheard : callable
        Topics of controllers whose commands DDS does not hand over, while one of them is waited for.
    """

    def __init__(self, node: Any, record: Summary, unheard: Callable[[], Sequence[str]]) -> None:
        self._node, self._record, self._unheard, self._logger = node, record, unheard, node.get_logger()
        self.runs = node.create_subscription(Run.TYPE, "run", lambda _: None, LATCHED)
        self._runs_before = 1  #: publishers of ``run`` when they were counted last
        self._due = time.monotonic()

    def look(self) -> None:
        """Look where it is time to; what goes wrong is logged."""
        if time.monotonic() > self._due:
            call_safely(self._node, "the look for foreign clients", self._look_for_foreign_clients)
            call_safely(self._node, "the look for rivals", self._look_for_rivals)
            call_safely(self._node, "the look for unheard controllers", self._look_for_unheard)
            self._due = time.monotonic() + LOOK_SECONDS

    def _look_for_foreign_clients(self):
        found = self._node.foreign_clients()
        if set(found) - set(self._record.foreign_clients):
            self._logger.warning(foreign_text(found))
        self._record.foreign_clients = found

    def _look_for_unheard(self):
        found = list(self._unheard())
        if set(found) - set(self._record.unheard):
            self._logger.warning(unheard_text(found))
        self._record.unheard = found

    def _look_for_rivals(self):
        """Other simulators on these topics; twice in a row, since a publisher that is gone is forgotten late."""
        runs = getattr(self.runs, "get_publisher_count", lambda: 1)()  # older rclpy cannot tell
        rivals = max(min(runs, self._runs_before) - 1, 0)
        if rivals > self._record.rivals:
            self._logger.warning(RIVAL_TEXT)
        self._record.rivals, self._runs_before = rivals, runs
