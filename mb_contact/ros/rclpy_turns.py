# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Turns of an rclpy node that spends little on waiting.

rclpy's executor builds its wait set anew, in Python, for every message: with the twenty services of a simulator that
takes milliseconds.  Here one wait set looks at everything; what arrived on topics is taken and handed over at once, in
the order in which it was written, and the executor is asked only where something else is ready, or work of a coroutine
is left.
"""

import time
from collections.abc import Callable
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node

SLICE = 0.1  #: longest wait before the executor is asked in any case [s]


class TakenHere(CallbackGroup):
    """Of subscriptions that an executor must leave alone."""

    def can_execute(self, entity: Any) -> bool:
        """Never, for an executor."""
        return False

    def beginning_execution(self, entity: Any) -> bool:
        """Never."""
        return False

    def ending_execution(self, entity: Any) -> None:
        """Nothing to end."""


class Turns:
    """Waits for work of a node and does it.

    Parameters
    ----------
    node : rclpy.node.Node

    Attributes
    ----------
    group : TakenHere
        For the subscriptions that are taken here.
    coroutines : int
        Services that have begun and not ended.
    """

    def __init__(self, node: Node) -> None:
        self._node = node
        self.group, self.coroutines = TakenHere(), 0
        self._guard = node.create_guard_condition(lambda: None, callback_group=self.group)
        self._executor = SingleThreadedExecutor(context=node.context)
        self._executor.add_node(node)
        self._wait_set, self._shape = None, None

    def turn(self, timeout: float | None) -> None:
        """Wait for work at most ``timeout`` seconds (None: until :meth:`wake`) and do it."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            remaining = SLICE if deadline is None else min(SLICE, max(0.0, deadline - time.monotonic()))
            topics, woken, others = self._wait(0.0 if self.coroutines else remaining)
            taken = self._take(topics)
            for callback, message in taken:
                callback(message)
            if others or self.coroutines or not taken:
                self._ask_executor()
            if taken or woken or others or self.coroutines:
                return
            if deadline is not None and time.monotonic() >= deadline:
                return

    def wake(self) -> None:
        """Make a waiting :meth:`turn` return, from any thread."""
        self._guard.trigger()
        self._executor.wake()

    def shutdown(self) -> None:
        """End the executor."""
        self._executor.shutdown(timeout_sec=1.0)

    def _ask_executor(self):
        try:
            self._executor.spin_once(timeout_sec=0.0)
        except (ExternalShutdownException, ShutdownException):
            pass

    def _wait(self, seconds):
        """Subscriptions with messages, whether somebody woke us, whether rclpy's executor has work."""
        node = self._node
        subscriptions = list(node.subscriptions)
        kinds = (
            ("subscription", subscriptions), ("guard_condition", list(node.guards)), ("timer", list(node.timers)),
            ("client", list(node.clients)), ("service", list(node.services)),
        )  # fmt: skip
        shape = tuple(len(entities) for _, entities in kinds)
        if shape != self._shape:
            self._shape, self._wait_set = shape, _rclpy.WaitSet(*shape, 0, node.context.handle)
        wait_set = self._wait_set
        wait_set.clear_entities()
        pointers = {}
        for kind, entities in kinds:
            add = getattr(wait_set, f"add_{kind}")
            for entity in entities:
                try:
                    with entity.handle:
                        add(entity.handle)
                        pointers[kind, entity.handle.pointer] = entity
                except _rclpy.InvalidHandle:  # destroyed meanwhile
                    continue
        wait_set.wait(int(seconds * 1e9))
        found = [(kind, pointer) for kind, _ in kinds for pointer in wait_set.get_ready_entities(kind)]
        ready = [pointers[key] for key in found if key in pointers]
        topics = [entity for entity in ready if getattr(entity, "callback_group", None) is self.group]
        woken = self._guard in topics
        topics = [entity for entity in topics if entity is not self._guard]
        return topics, woken, len(ready) > len(topics) + woken

    def _take(self, subscriptions) -> list[tuple[Callable[[Any], Any], Any]]:
        """All messages that wait there with their callbacks, in the order in which they were written."""
        taken = []
        for subscription in subscriptions:
            try:
                with subscription.handle:
                    take = subscription.handle.take_message
                    while (pair := take(subscription.msg_type, subscription.raw)) is not None:
                        message, about = pair
                        taken.append((about["source_timestamp"], len(taken), subscription.callback, message))
            except _rclpy.InvalidHandle:
                continue
        taken.sort(key=lambda item: item[:2])
        return [(callback, message) for _, _, callback, message in taken]
