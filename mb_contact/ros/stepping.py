# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps that are taken while paused: one after the other, with everything else served between them."""

from collections import deque
from collections.abc import Callable
from typing import Any

from mb_contact.errors import CommunicationError
from mb_contact.ros.services.requests import Request, outcome

MOST = 16  #: requests that wait; each takes the executor some time


class Stepping:
    """What services have asked for and is not yet done.

    Parameters
    ----------
    simulator_node : SimulatorNode
    hand_over : callable
        Has the physics thread run a Request.
    step : callable
        Takes one time step and returns a sentence; called with whether it is the last one.
    """

    def __init__(self, simulator_node: Any, hand_over: Callable[[Any], None], step: Any) -> None:
        self._node, self._hand_over, self._step = simulator_node, hand_over, step
        self._queue = deque()
        self.awaited = 0  #: services that wait for an answer

    def __bool__(self):
        return bool(self._queue)

    async def take(
        self, count: int, told: Callable[[int, int], None] | None = None, cancelled: Callable[[], bool] | None = None
    ) -> Any:
        """Have so many time steps taken; the sentence about the last.  For coroutines on the executor's thread.

        Parameters
        ----------
        count : int
        told : callable, optional
            Called on the physics thread after each step with how many are done and how many are left.
        cancelled : callable, optional
            Asked before each step whether to end.

        Raises
        ------
        MbContactError
            Not paused, a step that failed, or what ended the steps early: a pause, going on, a reset, another world,
            that they were cancelled, the end.
        """
        if self.awaited >= MOST:
            raise CommunicationError(f"{MOST} requests for steps wait already")
        steps = _Steps(count, self._begin, told or (lambda *_: None), cancelled or (lambda: False))
        self._hand_over(steps)
        self.awaited += 1
        try:
            return await steps.later()
        finally:
            self.awaited -= 1

    @property
    def cancelled(self) -> bool:
        """Whether those who asked for the next step want it no more."""
        return bool(self._queue) and self._queue[0].cancelled()

    # --- physics thread ---------------------------------------------------------------------------
    def _begin(self, steps):
        if self._node.inactive:
            steps.finish(error=CommunicationError(self._node.inactive))
        elif not self._node.paused:
            steps.finish(error=CommunicationError("step works only while paused: call ~/pause first"))
        elif steps.left < 1:
            steps.finish(self._node.whereabouts())
        else:
            self._queue.append(steps)

    def advance(self) -> None:
        """Take the next step."""
        steps = self._queue[0]
        if steps.cancelled():
            self._queue.popleft()
            steps.finish(error=steps.ended("cancelled"))
            return
        steps.left -= 1
        sentence, error = outcome(lambda: self._step(steps.left == 0))
        if error is None:
            steps.told(steps.count - steps.left, steps.left)
        if error is not None or steps.left == 0:
            self._queue.popleft()
            steps.finish(sentence, error)

    def end(self, reason: str) -> None:
        """Answer all who wait: nothing more comes."""
        while self._queue:
            steps = self._queue.popleft()
            steps.finish(error=steps.ended(reason))


class _Steps(Request):
    """A request that is not over when it has begun."""

    def __init__(self, count, begin, told, cancelled):
        super().__init__(lambda: begin(self))
        self.count = self.left = count
        self.told, self.cancelled = told, cancelled

    def ended(self, reason):
        """The error of steps that end early."""
        return CommunicationError(f"{reason} after {self.count - self.left} of {self.count} steps")

    def run(self):
        """Let it begin."""
        if self._begin():
            self._action()
