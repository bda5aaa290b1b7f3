# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""~/reset, ~/pause and ~/step by std_srvs, which every ROS 2 has."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mb_contact.errors import MbContactError

TRIGGER, SET_BOOL = "std_srvs/srv/Trigger", "std_srvs/srv/SetBool"


@contextmanager
def success(answer: Any) -> Iterator[None]:
    """Fill in ``answer.success`` with how the block ends, and ``answer.message`` with the sentence of its error."""
    try:
        yield
        answer.success = True
    except MbContactError as error:
        answer.success, answer.message = False, str(error)


def asked(control: Any, answer: Any, action: Callable[[], str]) -> Any:
    """Have the physics thread do ``action``, which returns a sentence; returns the answer filled in."""
    with success(answer):
        answer.message = control.ask(action)
    return answer


class StandardServices:
    """Three services of a :class:`~mb_contact.ros.node.SimulatorNode`."""

    def __init__(self, simulator_node: Any) -> None:
        self._control = control = simulator_node
        make = control.services.create
        make(TRIGGER, "~/reset", lambda _, answer: asked(control, answer, control.do_reset))
        make(TRIGGER, "~/step", self._step)
        make(
            SET_BOOL, "~/pause",
            lambda request, answer: asked(control, answer, lambda: control.do_pause(request.data)),
        )  # fmt: skip

    async def _step(self, _, answer):
        with success(answer):
            answer.message = await self._control.stepping.take(1)
        return answer
