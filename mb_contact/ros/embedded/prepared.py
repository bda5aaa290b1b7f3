# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Messages that never change shape, on a publisher of either backend."""

from typing import Any

from mb_contact.ros.embedded.cdr import Template


class Prepared:
    """A message encoded once; its numbers are patched in place before each ``publish()``."""

    def __init__(self, publisher: Any, message: Any, encoded: bytes | None = None) -> None:
        self._publisher = publisher
        self._template = Template(message, publisher.type_name, encoded)
        self._views = {}

    def array(self, path: str, count: int | None = None) -> Any:
        """Return a writable view of a sequence of numbers, e.g. ``position``, or of ``count`` from a place on."""
        return self._template.view(path, count)

    def set(self, path: str, value: Any) -> None:
        """Set a single number, e.g. ``wrench.force.x``."""
        view = self._views.get(path)
        if view is None:
            view = self._views[path] = self._template.view(path)
        view[0] = value

    def stamp(self, path: str, nanoseconds: int) -> None:
        """Set a time stamp, e.g. ``header.stamp``."""
        seconds, rest = divmod(nanoseconds, 1_000_000_000)
        self.set(f"{path}.sec", seconds)
        self.set(f"{path}.nanosec", rest)

    def publish(self) -> None:
        """Send it."""
        self._publisher.send(self._template.data, self._template.size)
