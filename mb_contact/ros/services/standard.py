# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""~/reset, ~/pause and ~/step by std_srvs, which every ROS 2 has."""

from typing import Any

from mb_contact.errors import MbContactError

TRIGGER, SET_BOOL = "std_srvs/srv/Trigger", "std_srvs/srv/SetBool"


class StandardServices:
    """Three services of a :class:`~mb_contact.ros.node.SimulatorNode`."""

    def __init__(self, simulator_node: Any) -> None:
        self._control = control = simulator_node
        make = control.services.create
        make(TRIGGER, "~/reset", lambda _, answer: self._answer(answer, control.do_reset))
        make(TRIGGER, "~/step", self._step)
        make(
            SET_BOOL, "~/pause", lambda request, answer: self._answer(answer, lambda: control.do_pause(request.data))
        )  # fmt: skip

    async def _step(self, _, answer):
        try:
            answer.message, answer.success = await self._control.stepping.take(1), True
        except MbContactError as error:
            answer.success, answer.message = False, str(error)
        return answer

    def _answer(self, answer, action):
        """Have the physics thread do ``action``, which returns a sentence, and fill in the answer."""
        try:
            answer.message = self._control.ask(action)
            answer.success = True
        except MbContactError as error:
            answer.success, answer.message = False, str(error)
        return answer
