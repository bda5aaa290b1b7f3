# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Lockstep: no step before the command that answers the state just published, and what happens when none comes."""

import math
import os
import time
from collections.abc import Callable
from typing import Any

from mb_contact.ros.options import NodeOptions

SLICE = 0.1  #: longest wait before interruptions are looked at [s]
#: without anything new: as many controllers as have answered the first state are all there are [s of a quiet machine]
SETTLE = 2.0
BUSIEST = 5.0  #: load of each processor above which a start is not waited for longer
MEETING = 1.0  #: for which a state is sent again and again where somebody has come or gone [s]
AGAIN = 1.0  #: between two times that it is sent where nobody has [s]
LONG = 5.0  #: after so many seconds the log tells whose answer is missing


def settle_time() -> float:
    """``SETTLE`` on this machine as it is: processes start later where more of them want each processor [s]."""
    return SETTLE * min(max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1)), BUSIEST)


class Lockstep:
    """Waits of the physics thread for the controllers.

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
    tell : callable
        Reports what is waited for.
    audience : callable
        How many listen to states, and how many send commands.
    logger

    Attributes
    ----------
    timeouts : int
        How often no command came in time.
    waiting_for : str
        Whose answer is missing and has been for a moment; empty: nobody's.
    """

    def __init__(
        self, options: NodeOptions, inbox: Any, interrupted: Callable[[], bool], resume: Callable[[], None],
        repeat: Callable[[], None], tell: Callable[[], None], audience: Callable[[], tuple[int, int]], logger: Any,
    ) -> None:  # fmt: skip
        self._options, self._inbox, self._answers, self._logger = options, inbox, inbox.answers, logger
        self._interrupted, self._resume, self._repeat = interrupted, resume, repeat
        self._tell, self._audience = tell, audience
        self._started = False  # whether the first command has come
        self._accepted = 0  # commands when the wait was given up
        self._met, self._meeting, self._sent = (0, 0), 0.0, 0.0
        self._missing, self._since = "", 0.0  # whose answer to the first state is missing, and since when the same
        self.timeouts = 0
        self.waiting_for = ""

    @property
    def given_up(self) -> bool:
        """Whether the simulation goes on in real time, by the policy for missing commands, until commands come."""
        return bool(self._answers.free)

    @property
    def begun(self) -> bool:
        """Whether there are controllers to wait for."""
        return self._started or self._inbox.accepted > 0

    def await_command(self, stamp: int) -> Any:
        """Wait for the answer to the state of ``stamp`` [ns]; False when something else has to be done first."""
        if not self._started and self._options.wait_for_controller:
            return self._await_first()
        if self.given_up and self._inbox.accepted != self._accepted and self._answers.back:
            self._answers.free = False
            self._logger.info("commands are back: lockstep goes on")
        if self.given_up:
            return not self._interrupted()
        begun, limit, waited = time.monotonic(), self._options.lockstep_timeout or math.inf, 0.0
        self._sent = begun
        while not self._inbox.wait(min(SLICE, limit - waited), self._interrupted):
            waited = time.monotonic() - begun
            if self._interrupted():
                return False
            if waited >= min(limit, SETTLE) and self._inbox.settle():
                break
            if waited >= limit:
                self._give_up(stamp)
                return True
            self._look_around(stamp, waited)
        self._started, self.waiting_for = True, ""
        return True

    def _look_around(self, stamp, waited):
        """Whoever began to listen after the state was sent, or answered it before it was heard, finds it again."""
        now, met = time.monotonic(), self._audience()
        if met != self._met:
            self._met, self._meeting = met, now + MEETING
        # a state that is sent again puts the next one's answers without a stamp in doubt
        if not self._inbox.doubtful and (now < self._meeting or now > self._sent + AGAIN):
            self._sent = now
            self._answers.sent_again()
            self._repeat()
        self.waiting_for = f"the answer of {self._answers.missing() or 'a controller'}"
        self._tell()
        if waited > LONG:
            gone = "" if met[1] else "; nobody sends commands, and lockstep_timeout lets the simulation go on without"
            text = f"lockstep: the state at {stamp * 1e-9:.6f} s waits for {self.waiting_for}{gone}"
            self._logger.warning(text, throttle_duration_sec=10.0)

    def _give_up(self, stamp):
        self._answers.give_up()
        self._accepted = self._inbox.accepted
        self._resume()
        self.waiting_for = ""
        policy = self._options.command_timeout_policy
        goes_on = f"going on in real time with policy '{policy}' until commands come again"
        if self._audience()[1] == 0:
            self._logger.info(f"the controllers have left: {goes_on}")
            return
        self.timeouts += 1
        names = self._answers.missing()
        of = f" for {names}" if names else ""
        waited = self._options.lockstep_timeout
        self._logger.warning(f"no answer to the state at {stamp * 1e-9:.6f} s{of} within {waited} s: {goes_on}")

    def _await_first(self):
        """Wait for the controllers without end, repeating the first state: they may join late.

        Where they answer for some joints only, and no parameter says for which they will, others may still be starting.
        """
        answers, inbox, everybody = self._answers, self._inbox, not self._answers.named
        while True:
            missing, met = answers.missing(everybody), self._audience()
            if (missing, met) != (self._missing, self._met):
                self._missing, self._met, self._since = missing, met, time.monotonic()
            if inbox.answered and not missing:
                break
            if inbox.answered and time.monotonic() > self._since + settle_time():
                who = "lockstep_joints names joints that must have an answer"
                self._logger.info(f"lockstep: begins without commands for {missing}; {who}")
                break
            self.waiting_for = f"the first command for {missing or 'any joint'}"
            self._logger.info(f"lockstep: waiting for {self.waiting_for}", throttle_duration_sec=10.0)
            inbox.wait(SLICE, self._interrupted, lambda: inbox.answered and not answers.missing(everybody))
            self._resume()
            if self._interrupted():
                return False
            if not inbox.answered or answers.missing(everybody):
                answers.sent_again()
                self._repeat()
        self._started, self.waiting_for = True, ""
        return True
