# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Turns of an rclpy node that spends little on waiting.

rclpy's executor builds its wait set anew, in Python, for every message: with the twenty services of a simulator that
takes milliseconds.  Here one wait set looks at everything; what arrived on topics is taken and handed over at once, in
the order in which it was written, and the executor is asked only where something else is ready, or work of a coroutine
is left.  A port is a second one, of some subscriptions that another thread waits for by itself.
"""

import contextlib
import time
from collections.abc import Callable, Sequence
from typing import Any

from rclpy.callback_groups import CallbackGroup
from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.guard_condition import GuardCondition
from rclpy.impl.implementation_singleton import rclpy_implementation as _rclpy
from rclpy.node import Node

SLICE = 0.1  #: longest wait before the executor is asked in any case [s]
POLL = 0.0005  #: longest wait while coroutines are to go on: without any, Python's lock would hardly be free [s]


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
        self._watch = Watch(node)

    def turn(self, timeout: float | None) -> None:
        """Wait for work at most ``timeout`` seconds (None: until :meth:`wake`) and do it."""
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            remaining = SLICE if deadline is None else min(SLICE, max(0.0, deadline - time.monotonic()))
            topics, woken, others = self._wait(min(remaining, POLL) if self.coroutines else remaining)
            batch = taken(self._node, topics)
            for callback, message in batch:
                callback(message)
            if others or self.coroutines or not batch:
                self._ask_executor()
            if batch or woken or others or self.coroutines:
                return
            if deadline is not None and time.monotonic() >= deadline:
                return

    def wake(self) -> None:
        """Make a waiting :meth:`turn` return, from any thread."""
        self._guard.trigger()
        self._executor.wake()

    def shutdown(self) -> None:
        """End the executor."""
        self._watch.close()
        self._executor.shutdown(timeout_sec=1.0)

    def _ask_executor(self):
        try:
            self._executor.spin_once(timeout_sec=0.0)
        except (ExternalShutdownException, ShutdownException):
            pass

    def _wait(self, seconds):
        """Subscriptions with messages, whether somebody woke us, whether rclpy's executor has work."""
        node = self._node
        known = [  # one that another thread is still making has no decoder yet
            entity for entity in node.subscriptions if type(entity.callback_group) is not TakenByPort
            and (entity.callback_group is not self.group or hasattr(entity, "decode"))
        ]  # fmt: skip
        ready = self._watch.wait(
            seconds, known, list(node.guards), list(node.timers), list(node.clients), list(node.services),
        )  # fmt: skip
        topics = [entity for entity in ready if getattr(entity, "callback_group", None) is self.group]
        woken = self._guard in topics
        topics = [entity for entity in topics if entity is not self._guard]
        return topics, woken, len(ready) > len(topics) + woken


class TakenByPort(TakenHere):
    """Of subscriptions that neither an executor nor the node's turns look at."""


class Port:
    """Subscriptions that one thread waits for by itself: from the network to it without the thread that spins the node.

    Parameters
    ----------
    node : RclpyNode
    """

    def __init__(self, node: Any) -> None:
        self._node, self.group, self._subscriptions = node, TakenByPort(), []
        self._guard = GuardCondition(lambda: None, None, context=node.context)
        self._watch = Watch(node)

    def get_logger(self) -> Any:
        """Return the node's logger."""
        return self._node.get_logger()

    def create_subscription(self, msg_type: Any, topic: str, callback: Callable[..., Any], qos_profile: Any) -> Any:
        """As of the node; the callback is called by :meth:`spin_once`."""
        subscription = self._node.create_subscription(
            msg_type, topic, callback, qos_profile, callback_group=self.group
        )
        self._subscriptions = [*self._subscriptions, subscription]
        return subscription

    def spin_once(self, timeout_sec: float) -> None:
        """Wait for messages at most ``timeout_sec`` seconds, or until :meth:`wake`, and hand them over."""
        if not self._node.context.ok():
            return
        ready = self._watch.wait(timeout_sec, self._subscriptions, [self._guard])
        for callback, message in taken(self._node, [entity for entity in ready if entity is not self._guard]):
            callback(message)

    def wake(self) -> None:
        """Make a waiting :meth:`spin_once` return, from any thread."""
        self._guard.trigger()

    def close(self) -> None:
        """End it."""
        self._watch.close()
        self._guard.destroy()


class Watch:
    """A wait set; what it looks at is collected anew only where the node has other entities than at the last wait.

    Parameters
    ----------
    node : rclpy.node.Node
    """

    KINDS = ("subscription", "guard_condition", "timer", "client", "service")

    def __init__(self, node: Node) -> None:
        self._context = node.context
        self._lists: Sequence[list[Any]] = ()
        self._wait_set: Any = None
        self._adds: list[tuple[Callable[[Any], None], Any]] = []
        self._entities: dict[tuple[str, int], Any] = {}
        self._used = contextlib.ExitStack()  #: of their handles: an entity ends when nobody uses its handle

    def wait(self, seconds: float, *lists: list[Any]) -> list[Any]:
        """Wait for entities, in the order of KINDS, at most so many seconds; those that are ready."""
        if lists != self._lists:
            self._collect(lists)
        wait_set = self._wait_set
        wait_set.clear_entities()
        for add, handle in self._adds:
            add(handle)
        wait_set.wait(int(seconds * 1e9))
        found = [(kind, at) for kind, _ in zip(self.KINDS, lists) for at in wait_set.get_ready_entities(kind)]
        return [self._entities[key] for key in found if key in self._entities]

    def _collect(self, lists):
        self.close()
        sizes = [*(len(entities) for entities in lists), *(0 for _ in self.KINDS[len(lists) :])]
        self._wait_set = _rclpy.WaitSet(*sizes, 0, self._context.handle)
        for kind, entities in zip(self.KINDS, lists):
            add = getattr(self._wait_set, f"add_{kind}")
            for entity in entities:
                with contextlib.suppress(_rclpy.InvalidHandle):  # destroyed meanwhile
                    self._used.enter_context(entity.handle)
                    self._adds.append((add, entity.handle))
                    self._entities[kind, entity.handle.pointer] = entity
        self._lists = lists

    def close(self) -> None:
        """Let go of all entities."""
        self._used.close()
        self._lists, self._adds, self._entities = (), [], {}


def taken(node: Any, subscriptions: Sequence[Any]) -> list[tuple[Callable[[Any], Any], Any]]:
    """All messages that wait there with their callbacks, in the order in which they were written.

    Taken as bytes: those whose names and lengths are those of the last are read faster than rclpy converts them.
    """
    batch = []
    for subscription in subscriptions:
        try:
            with subscription.handle:
                take = subscription.handle.take_message
                while (pair := take(subscription.msg_type, True)) is not None:
                    data, about = pair
                    batch.append((about["source_timestamp"], len(batch), subscription, bytes(data)))
        except _rclpy.InvalidHandle:
            continue
    batch.sort(key=lambda item: item[:2])
    return [(item.callback, message) for _, _, item, data in batch for message in _messages(node, item, data)]


def _messages(node, subscription, data):
    """The message of these bytes; none, counted and told, where they do not fit the type."""
    if subscription.tap is not None:
        subscription.tap(data)
    if subscription.raw:
        return (data,)
    try:
        return (subscription.decode(data),)
    except Exception as error:  # rclpy has no class of its own for it
        node.undecodable += 1
        text = f"cannot decode a {subscription.msg_type.__name__} on {subscription.topic_name}: {error}"
        node.get_logger().warning(text, throttle_duration_sec=1.0)
        return ()
