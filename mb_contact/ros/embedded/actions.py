# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""ROS 2 actions: three services (send a goal, cancel, get the result) and two topics (feedback, status)."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Any

from mb_contact.ros.embedded.messages import interface_class, message_class, stamp_ns
from mb_contact.ros.embedded.services import Future
from mb_contact.ros.qos import LATCHED, STATE

ACCEPTED, EXECUTING, CANCELING, SUCCEEDED, CANCELED, ABORTED = range(1, 7)  #: action_msgs/GoalStatus
KEPT = 50  #: goals that are over and whose results can still be asked for
WAITING = 50  #: requests for the result of one goal that wait for it
_STATUS = "action_msgs/msg/GoalStatus"


class Goal:
    """A goal that was accepted, with the calls of rclpy's ServerGoalHandle that the package uses."""

    def __init__(self, server: ActionServer, identity: bytes, request: Any) -> None:
        self.request, self.identity, self.status = request, identity, ACCEPTED
        self.result: Any = None
        self.waiting: list[Future] = []  #: of requests for the result
        self.accepted_ns = time.time_ns()
        self._server = server

    @property
    def is_cancel_requested(self) -> bool:
        """Whether somebody wants it to end."""
        return self.status == CANCELING

    @property
    def is_over(self) -> bool:
        """Whether there is a result."""
        return self.status >= SUCCEEDED

    def publish_feedback(self, feedback: Any) -> None:
        """Tell how far it is; from any thread."""
        self._server.publish_feedback(self, feedback)

    def succeed(self) -> None:
        """It has reached its end."""
        self.status = SUCCEEDED

    def abort(self) -> None:
        """It has failed."""
        self.status = ABORTED

    def canceled(self) -> None:
        """It has ended early, as was asked."""
        self.status = CANCELED


class ActionServer:
    """Takes goals and has them executed while the node is spun.

    Parameters
    ----------
    node : EmbeddedNode
    action_type : str
        ``package/action/Name``.
    name : str
    execute : callable
        Coroutine of a :class:`Goal` that sets its end (``succeed()``, ``abort()``, ``canceled()``) and returns its
        result.
    wanted : callable, optional
        Whether a goal message is accepted; all are where left out.
    """

    def __init__(
        self, node: Any, action_type: str, name: str, execute: Callable[[Any], Awaitable[Any]],
        wanted: Callable[[Any], bool] | None = None,
    ) -> None:  # fmt: skip
        self._node, self._type, self._execute = node, action_type, execute
        self._wanted = wanted or (lambda _: True)
        self._goals: dict[bytes, Goal] = {}  # in the order in which they came
        place = f"{node.resolve(name)}/_action"
        self._feedback = node.create_publisher(
            f"{action_type}_FeedbackMessage", f"{place}/feedback", STATE, overridable=False
        )
        self._status = node.create_publisher(f"{_STATUS}Array", f"{place}/status", LATCHED, overridable=False)
        node.create_service(f"{action_type}_SendGoal", f"{place}/send_goal", self._send_goal)
        node.create_service("action_msgs/srv/CancelGoal", f"{place}/cancel_goal", self._cancel_goals)
        node.create_service(f"{action_type}_GetResult", f"{place}/get_result", self._get_result)
        self._tell()

    def publish_feedback(self, goal: Goal, feedback: Any) -> None:
        """Send feedback of a goal."""
        message = message_class(f"{self._type}_FeedbackMessage")()
        message.goal_id.uuid, message.feedback = list(goal.identity), feedback
        self._feedback.publish(message)

    # --- services -----------------------------------------------------------------------------------
    def _send_goal(self, request, answer):
        identity = bytes(request.goal_id.uuid)
        if identity in self._goals or not self._wanted(request.goal):
            return answer
        goal = self._goals[identity] = Goal(self, identity, request.goal)
        answer.accepted, answer.stamp = True, _time(goal.accepted_ns)
        goal.status = EXECUTING
        self._tell()
        self._node.await_later(self._run(goal), lambda _: None)
        return answer

    async def _run(self, goal):
        """Execute a goal; what goes wrong unforeseen aborts it."""
        try:
            goal.result = await self._execute(goal)
        except Exception as error:
            self._node.get_logger().error(f"a goal of {self._type} failed: {type(error).__name__}: {error}")
            goal.status, goal.result = ABORTED, interface_class(self._type).Result()
        if not goal.is_over:
            goal.status = ABORTED
        for future in goal.waiting:
            future.set_result(self._result_of(goal))
        goal.waiting.clear()
        over = [identity for identity, other in self._goals.items() if other.is_over]
        for identity in over[:-KEPT]:
            del self._goals[identity]
        self._tell()

    def _cancel_goals(self, request, answer):
        """Cancel one goal, all up to a time, or all: the rules stand in action_msgs/CancelGoal."""
        identity, stamp = bytes(request.goal_info.goal_id.uuid), stamp_ns(request.goal_info.stamp)
        named, every = any(identity), not any(identity) and stamp == 0
        goal = self._goals.get(identity)
        if named and stamp == 0 and (goal is None or goal.is_over):
            answer.return_code = answer.ERROR_UNKNOWN_GOAL_ID if goal is None else answer.ERROR_GOAL_TERMINATED
            return answer
        for other in self._goals.values():
            if other.status == EXECUTING and (every or other is goal or other.accepted_ns <= stamp):
                other.status = CANCELING
                answer.goals_canceling.append(_info(other))
        self._tell()
        return answer

    def _get_result(self, request, answer):
        goal = self._goals.get(bytes(request.goal_id.uuid))
        if goal is None or len(goal.waiting) >= WAITING:
            return answer  # STATUS_UNKNOWN
        if goal.is_over:
            return self._result_of(goal)
        goal.waiting.append(Future())
        return goal.waiting[-1]

    def _result_of(self, goal):
        return message_class(f"{self._type}_GetResult_Response")(status=goal.status, result=goal.result)

    def _tell(self):
        message = message_class(f"{_STATUS}Array")()
        message.status_list = [message_class(_STATUS)(_info(goal), goal.status) for goal in self._goals.values()]
        self._status.publish(message)


def _info(goal):
    info = message_class("action_msgs/msg/GoalInfo")()
    info.goal_id.uuid, info.stamp = list(goal.identity), _time(goal.accepted_ns)
    return info


def _time(nanoseconds):
    return message_class("builtin_interfaces/msg/Time")(*divmod(nanoseconds, 1_000_000_000))
