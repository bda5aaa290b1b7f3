# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep: no step before the command that answers the state just published, and what happens when none comes."""

from collections.abc import Callable
from typing import Any

from mb_contact.ros.options import NodeOptions

SLICE = 0.1  #: longest wait before interruptions are looked at [s]


class Lockstep:
    """Waits of the physics thread for the controller.

    Parameters
    ----------
    options : NodeOptions
    inbox : CommandInbox
        Expects the stamp of the state that was published last.
    interrupted : callable
        Whether something else has to be done first: a request, or the end.
    resume : callable
        Pacing starts anew from the present simulated time.
    repeat : callable
        Publishes the state again.
    logger

    Attributes
    ----------
    timeouts : int
        How often no command came in time.
    """

    def __init__(
        self,
        options: NodeOptions,
        inbox: Any,
        interrupted: Callable[[], bool],
        resume: Callable[[], None],
        repeat: Callable[[], None],
        logger: Any,
    ) -> None:
        self._options, self._inbox, self._logger = options, inbox, logger
        self._interrupted, self._resume, self._repeat = interrupted, resume, repeat
        self._started = False  # whether the first command has come
        self._alone = None  # commands accepted when the wait was given up, None while it works
        self.timeouts = 0

    @property
    def given_up(self) -> bool:
        """Whether the simulation goes on in real time, by the policy for missing commands, until commands come."""
        return self._alone is not None

    def await_command(self, stamp: int) -> Any:
        """Wait for the answer to the state of ``stamp`` [ns]; False when something else has to be done first."""
        if not self._started and self._options.wait_for_controller:
            return self._await_first()
        if self.given_up and self._inbox.accepted != self._alone:
            self._alone = None
            self._logger.info("commands are back: lockstep goes on")
        if self.given_up:
            return not self._interrupted()
        if self._inbox.wait(self._options.lockstep_timeout, self._interrupted):
            self._started = True
            return True
        if self._interrupted():
            return False
        self._alone = self._inbox.accepted
        self.timeouts += 1
        self._resume()
        waited, policy = self._options.lockstep_timeout, self._options.command_timeout_policy
        self._logger.warning(
            f"no answer to the state at {stamp * 1e-9:.6f} s within {waited} s: going on in real time "
            f"with policy '{policy}' until commands come again"
        )
        return True

    def _await_first(self):
        """Wait for a controller without end, repeating the first state: it may join late."""
        self._logger.info("lockstep: waiting for the first command", throttle_duration_sec=10.0)
        while not self._inbox.wait(SLICE, self._interrupted):
            self._resume()
            if self._interrupted():
                return False
            self._repeat()
        self._resume()
        self._started = True
        return True
