# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Services and their clients, as rclpy's; how requests and answers travel is the wire's."""

from __future__ import annotations

import inspect
import threading
import time
from collections.abc import Callable
from typing import Any

from mb_contact.ros.embedded.messages import deserialize, message_class, serialize


class Service:
    """Server side; ``callback(request, response) -> response``, which may be a coroutine or a :class:`Future`."""

    ordered = False  #: among the samples of topics

    def __init__(self, node: Any, service_type: str, name: str, callback: Callable[..., Any]) -> None:
        self._node, self._callback, self.srv_name = node, callback, node.resolve(name)
        self._request, self._response = f"{service_type}_Request", f"{service_type}_Response"
        self.end = node.link.server(self, service_type, self.srv_name)

    def handle(self, data: Any, sender: Any) -> None:
        """Answer one request, at the end of a coroutine where the callback is one, or once a future is there."""
        found = self.end.unpack(data, sender)
        if found is None:
            return
        body, asked = found
        response = self._callback(deserialize(body, self._request), message_class(self._response)())
        if inspect.iscoroutine(response):
            self._node.await_later(response, lambda value: self._answer(asked, value))
        elif isinstance(response, Future):
            response.then(lambda value: self._answer(asked, value))
        else:
            self._answer(asked, response)

    def _answer(self, asked, response):
        if not self.end.answer(asked, serialize(response, self._response)):
            self._node.get_logger().warning(f"an answer of {self.srv_name} is lost: a client does not take its answers")


class Client:
    """Calling side, with rclpy's ``call_async`` and ``wait_for_service``."""

    ordered = False

    def __init__(self, node: Any, service_type: str, name: str) -> None:
        self.srv_name = node.resolve(name)
        self._sent, self._received = f"{service_type}_Request", f"{service_type}_Response"
        self.end = node.link.client(self, service_type, self.srv_name)
        self._pending: dict[Any, Future] = {}
        self.Request = message_class(self._sent)

    def service_is_ready(self) -> bool:
        """Whether there is a server."""
        return self.end.ready()

    def wait_for_service(self, timeout_sec: float | None = None) -> bool:
        """Wait for a server; returns whether there is one."""
        deadline = None if timeout_sec is None else time.monotonic() + timeout_sec
        while not self.service_is_ready():
            if deadline is not None and time.monotonic() >= deadline:
                return False
            time.sleep(0.005)
        return True

    def call_async(self, request: Any) -> Any:
        """Send a request and return its :class:`Future`."""
        body, future = serialize(request, self._sent), Future()
        self.end.call(body, lambda key: self._pending.__setitem__(key, future))
        return future

    def handle(self, data: Any, sender: Any) -> None:
        """Complete the future of an answer; answers to other clients may pass by on the same topic."""
        found = self.end.unpack(data, sender)
        future = None if found is None else self._pending.pop(found[0], None)
        if future is not None:
            future.set_result(deserialize(found[1], self._received))


class Future:
    """The answer to come."""

    def __init__(self) -> None:
        self._event = threading.Event()
        self._result = None
        self._then: Callable[[Any], Any] | None = None

    def then(self, callback: Callable[[Any], Any]) -> None:
        """Call ``callback(answer)`` when it comes, on the thread that delivers it; it must not be there yet."""
        self._then = callback

    def done(self) -> bool:
        """Whether the answer is there."""
        return self._event.is_set()

    def result(self) -> Any:
        """The answer, None before it came."""
        return self._result

    def set_result(self, value: Any) -> None:
        """Deliver the answer."""
        self._result = value
        self._event.set()
        if self._then is not None:
            self._then(value)

    def wait(self, timeout: float | None = None) -> Any:
        """Block until the answer is there (another thread spins); returns whether it is."""
        return self._event.wait(timeout)
