# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""external_wrench/<link>: pushes from outside, checked whole, held for a while."""

import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mb_contact.checks import instead_of, shorten
from mb_contact.errors import CommunicationError
from mb_contact.ros.embedded.messages import stamp_ns
from mb_contact.ros.names import sanitise
from mb_contact.ros.options import NodeOptions
from mb_contact.types import WORLD

WRENCH = "geometry_msgs/msg/WrenchStamped"
WALL_CLOCK = 100_000_000_000_000_000  #: stamps beyond three simulated years are of a wall clock [ns]
WAITING = 1000  #: of messages with a stamp to come


def due_at(header: Any) -> int:
    """The published time [ns] at which a message is to act; 0, at once, without a stamp or with a wall clock's."""
    stamp = stamp_ns(header.stamp)
    return 0 if stamp > WALL_CLOCK else stamp


def warn_of_delay(logger: Any, what: str, stamp: int, now: int) -> None:
    """Where a message came after its time: only the wall clock knows at which state that was."""
    if 0 < stamp < now:
        text = f"{what} came late: it was for {stamp * 1e-9:.6f} s and acts at {now * 1e-9:.6f} s"
        logger.warning(text, throttle_duration_sec=1.0)


class PushInbox:
    """Wrenches arrive on the executor's thread; the physics thread hands them to the simulator.

    Parameters
    ----------
    world : World
    links : sequence of str
        As the parameter ``external_wrench_links`` gives them.
    near : sequence of str
        What an empty list stands for, beside the free objects.
    options : NodeOptions
    logger : object

    Attributes
    ----------
    accepted, rejected : int
        Counters.

    Raises
    ------
    CommunicationError
        A link that does not exist or cannot move, or two with one topic.
    """

    def __init__(
        self, world: Any, links: Sequence[str], near: Sequence[str], options: NodeOptions, logger: Any
    ) -> None:
        self._options, self._logger = options, logger
        self._lock = threading.Lock()
        self._waiting = {}  # by stamp and link
        self.accepted = self.rejected = 0
        self.topics = {}  #: topic to link
        for link in _chosen(world, links, near):
            topic = f"external_wrench/{sanitise(link)}"
            if topic in self.topics:
                both = f"'{self.topics[topic]}' and '{link}' share {topic}"
                raise CommunicationError(f"external_wrench_links: {both}; rename one by a letter or a digit")
            self.topics[topic] = link

    def take(self, topic: str, message: Any) -> None:
        """Take a geometry_msgs/WrenchStamped; its frame is the world (or empty), or the link itself."""
        link, frame = self.topics.get(topic), message.header.frame_id
        if link is None:
            return  # an object that is gone
        own = self._options.frame_prefix + link
        parts = (message.wrench.torque, message.wrench.force)
        wrench = np.array([getattr(part, axis) for part in parts for axis in "xyz"])
        limit = self._options.external_wrench_limit
        if not np.isfinite(wrench).all():
            self._reject(topic, "it holds NaN or infinity")
        elif np.abs(wrench).max() > limit:
            self._reject(topic, f"a component is beyond external_wrench_limit, {limit:g} N or N m")
        elif frame not in ("", self._options.world_frame, own):
            allowed = f"'{self._options.world_frame}', '{own}' or empty"
            self._reject(topic, f"frame_id is '{shorten(frame)}'; it must be {allowed}")
        elif len(self._waiting) >= WAITING:
            self._reject(topic, f"{WAITING} wrenches wait for their time")
        else:
            with self._lock:
                self._waiting[due_at(message.header), link] = (wrench, "link" if frame == own else "world")
                self.accepted += 1

    def _reject(self, topic, reason):
        with self._lock:
            self.rejected += 1
        self._logger.warning(
            f"rejected a message on {topic}: {reason} ({self.rejected} rejected so far)", throttle_duration_sec=1.0
        )

    def apply(self, simulator: Any, now: int, tell: Callable[..., None]) -> None:
        """Hand the newest wrenches whose time [ns] has come to the simulator and ``tell`` so; before a step."""
        if not self._waiting:
            return
        with self._lock:
            due = sorted(key for key in self._waiting if key[0] <= now)
            found = {link: (stamp, *self._waiting.pop((stamp, link))) for stamp, link in due}
        for link, (stamp, wrench, axes) in found.items():
            if link in simulator.world.frames:  # an object may have been deleted meanwhile
                duration = self._options.external_wrench_duration
                simulator.set_external_wrench(link, wrench, duration, axes)
                tell("push", link=link, wrench=wrench, duration=duration, axes=axes)
                if self._options.lockstep:
                    warn_of_delay(self._logger, f"a wrench on '{shorten(link)}'", stamp, now)

    def go_on(self, former: Any) -> None:
        """Take over the counters of another inbox, and what waits there."""
        self.accepted, self.rejected, self._waiting = former.accepted, former.rejected, former._waiting

    def clear(self) -> None:
        """Forget what waits (a reset)."""
        with self._lock:
            self._waiting = {}


def _chosen(world, links, near):
    movable = [name for name, frame in world.frames.items() if frame.body != WORLD]
    names = [name for name in links if name]
    if not names:
        return [*world.objects, *(name for name in near if name in movable and name not in world.objects)]
    if names == ["*"]:
        return movable
    for name in names:
        if name not in movable:
            known = instead_of(name, movable, "there are")
            raise CommunicationError(f"external_wrench_links: no link '{name}' that can move; {known}")
    return names
