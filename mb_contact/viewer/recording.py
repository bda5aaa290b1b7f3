# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A recording (MCAP, or a folder of ros2 bag), played: forwards at any speed, by steps, from anywhere."""

from __future__ import annotations

import bisect
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import CommunicationError
from mb_contact.model.scene import Scene, SceneModel, load_scene
from mb_contact.model.world import World
from mb_contact.ros.replay import open_recording
from mb_contact.viewer.drawing import Drawing
from mb_contact.viewer.options import as_factor
from mb_contact.viewer.snapshot import FRAME_SECONDS, Readings, Snapshot
from mb_contact.viewer.source import Source
from mb_contact.viewer.topics import CONTACTS, MARKERS, STATES, STATUS, TF, Topics, first_name

TEXT = "std_msgs/msg/String"
SCENE = "/scene"  #: how the topic ends that has the scene's file, of what ``mb-contact run --record`` wrote
WANTED = {STATES: "joint_states", TF: "tf", CONTACTS: "contacts", STATUS: "certificate", MARKERS: "object_markers"}
PLOTTED = 400  #: frames whose readings are plotted at most
LOOK_BACK = 50  #: messages of /tf before an instant that are read for what they say of it


class Bag:
    """The messages of a recording that a view can show, by kind, as bytes.

    Parameters
    ----------
    path : path

    Raises
    ------
    CommunicationError
        It cannot be read, or has no joint states, frames or contacts.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.messages: dict[Any, tuple[list[int], list[bytes]]] = {}  #: times [ns] and bytes, by kind and publisher
        self.texts: dict[str, str] = {}  #: topic to its last text: robot_description and the scene's file
        with open_recording(path) as reader:
            self._read(reader)
        steps = self.of(STATES) or self.of(TF) or self.of(CONTACTS)
        if not steps:
            raise CommunicationError(f"'{path}' has no joint_states, /tf or contacts: there is nothing to see")
        self.times = sorted(set().union(*(times for times, _ in steps)))  #: of its steps [ns]

    def _read(self, reader):
        wanted = [c for c in reader.connections if self._shown(c) or c.msgtype == TEXT]
        for connection, moment, data in reader.messages(wanted) if wanted else ():
            kind = connection.msgtype
            if kind == TEXT:
                self.texts[connection.topic] = reader.deserialize(data, kind).data
                continue
            publisher = first_name(data) if kind == STATES else connection.topic if kind == TF else None
            times, rows = self.messages.setdefault((kind, publisher), ([], []))
            times.append(moment)
            rows.append(bytes(data))

    def _shown(self, connection):
        name = connection.topic.removesuffix("_static") if connection.msgtype == TF else connection.topic
        return name.rsplit("/", 1)[-1] == WANTED.get(connection.msgtype)

    def of(self, kind: str) -> list[tuple[list[int], list[bytes]]]:
        """Times and bytes of a kind, of each publisher."""
        return [rows for (of, _), rows in self.messages.items() if of == kind]

    def scene(self, named: str | Path | None = None) -> Scene:
        """The scene that was recorded: the one that is named, the file that the recording tells of, or its robots.

        Raises
        ------
        CommunicationError
            It says neither.
        """
        told = [text for topic, text in self.texts.items() if topic.endswith(SCENE)]
        if named is not None or (told and Path(told[0]).exists()):
            return load_scene(told[0] if named is None else named)
        robots = [text for topic, text in sorted(self.texts.items()) if "robot_description" in topic and text.strip()]
        if not robots:
            where = f"its scene '{told[0]}' is not there" if told else "it does not say which scene it is of"
            raise CommunicationError(f"'{self.path}': {where}; name one: --scene FILE")
        return Scene(models=tuple(SceneModel(text) for text in robots))


class Recording(Source):
    """Snapshots of a Bag at the times of its steps.

    Parameters
    ----------
    bag : Bag
    world : World
    drawing : Drawing
    factor : float
        Recorded seconds per second; 0 plays at one.
    paused : bool
    """

    buttons = ("run", "pause", "back", "step", "reset")
    can_pace = True

    def __init__(self, bag: Bag, world: World, drawing: Drawing, factor: float = 1.0, paused: bool = False) -> None:
        super().__init__()
        self._bag, self.paused = bag, paused
        self._topics = Topics(world, drawing, _prefix(bag, world), tell)
        self.joint_names = tuple(world.joint_names)
        self._times = bag.times
        self.length = 1e-9 * (self._times[-1] - self._times[0])
        self._index, self._shown, self._next = 0, -1, 0.0
        self._stop, self._message, self._objects = False, "", 0
        self._mark = 0.0, 0.0  #: wall time and recorded time from which is played
        self.set_factor(factor)

    # --- what the page asks for -----------------------------------------------------------------
    def start(self) -> None:
        """Begin."""
        self._resume()

    def stop(self) -> None:
        """End."""
        self._stop = True

    @property
    def done(self) -> bool:
        """Whether it was ended: at its end a recording waits."""
        return self._stop

    @property
    def seconds(self) -> float:
        """Since its start, of what is shown [s]."""
        return 1e-9 * (self._times[self._index] - self._times[0])

    def run(self) -> None:
        """Play on; from the start where the end is reached."""
        if self._index == len(self._times) - 1:
            self._index = 0
        self.paused = False
        self._resume()

    def pause(self) -> None:
        """Stand still."""
        self.paused = True

    def step(self, count: int = 1) -> None:
        """Go on by so many recorded states, and stand still."""
        self.paused = True
        self._index = min(max(self._index + count, 0), len(self._times) - 1)

    def back(self) -> None:
        """One state back."""
        self.step(-1)

    def reset(self) -> None:
        """Back to the start."""
        self.seek(0.0)

    def seek(self, seconds: float) -> None:
        """Go to a time since the start [s]."""
        self._index = self._at(self._times[0] + 1e9 * min(max(seconds, 0.0), self.length))
        self._resume()

    def set_factor(self, factor: float) -> None:
        """Play at another speed."""
        self.factor = as_factor(factor) or 1.0
        self._resume()

    def tell(self, message: str) -> None:
        """Say something beside time and pace."""
        self._message, self._shown = message, -1

    def _resume(self):
        self._mark = time.perf_counter(), self.seconds

    def _at(self, stamp):
        """Index of the last step at a stamp [ns], or of the first."""
        return max(bisect.bisect_right(self._times, stamp + 0.5) - 1, 0)

    # --- frames ---------------------------------------------------------------------------------
    def frame(self, timeout: float) -> Snapshot | None:
        """The next Snapshot, at most one every FRAME_SECONDS, or None where nothing has changed."""
        deadline = time.perf_counter() + timeout
        while (now := time.perf_counter()) < deadline and not self._stop:
            if not self.paused:
                wall, since = self._mark
                self._index = self._at(self._times[0] + 1e9 * (since + self.factor * (now - wall)))
                self.paused = self._index == len(self._times) - 1
            if now >= self._next and self._shown != self._index:
                self._next, self._shown = now + FRAME_SECONDS, self._index
                return self.snapshot(self._index)
            time.sleep(max(0.001, min(self._next - now, deadline - now, 0.01)))
        return None

    def snapshot(self, index: int) -> Snapshot:
        """What the recording says at a step."""
        with self._changed:  # the page, its plots and its files ask in threads of their own
            return self._snapshot(index)

    def _snapshot(self, index):
        stamp = self._times[index]
        self._topics.forget()
        for (kind, _), (times, rows) in self._bag.messages.items():
            last = bisect.bisect_right(times, stamp)
            if kind == TF:
                for data in _latest(rows[max(last - LOOK_BACK, 0) : last]):
                    self._topics.hear(kind, data)
            elif last and kind != MARKERS:
                self._topics.keep(kind, rows[last - 1])
            elif last and self._objects != last:  # they stay until others are told
                self._objects = last
                self._topics.hear(kind, rows[last - 1])
        shown = self._topics.snapshot(None if self.paused else self.factor, self._message)
        return shown._replace(time=1e-9 * (stamp - self._times[0]))

    def frames(self, every: float = FRAME_SECONDS) -> Iterator[Snapshot]:
        """Snapshots of the whole recording, so many seconds apart."""
        for seconds in np.arange(0.0, self.length + 0.5 * every, every):
            yield self.snapshot(self._at(self._times[0] + 1e9 * seconds))

    def readings(self) -> list[tuple[float, Readings]]:
        """What is plotted of the whole recording, by time."""
        every = max(self.length / PLOTTED, FRAME_SECONDS)
        return [(frame.time, frame.readings) for frame in self.frames(every)]


def _latest(rows):
    """Of each of several tellers the last two messages of /tf: those of one begin with the same names."""
    seen, found = {}, []
    for data in reversed(rows):
        teller = len(data), data[16:48]  # behind encapsulation, count and first stamp
        seen[teller] = seen.get(teller, 0) + 1
        if seen[teller] <= 2:
            found.append(data)
    return reversed(found)


def _prefix(bag, world):
    """What the names of frames in a recording have before those of the scene's links: the shortest that fits."""
    from mb_contact.ros.embedded.messages import deserialize

    names = {t.child_frame_id for _, rows in bag.of(TF) for data in rows[:1] for t in deserialize(data, TF).transforms}
    found = [name.removesuffix(link) for name in names for link in world.frames if name.endswith(link)]
    return min(found, key=len, default="")


def tell(line: str) -> None:
    """Print a line of progress, or of what is odd."""
    print(f"mb-contact: {line}", file=sys.stderr, flush=True)

