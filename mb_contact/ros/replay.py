# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Replay a recording: the same scene under the recorded efforts, compared bit for bit with the recorded states.

``mb-contact run --record`` and ``mb-contact demo lift`` keep what acted on the joints in ``NODE/applied_efforts``:
``data`` is (sec, nanosec, efforts of all joints), written whenever the efforts change; a message without efforts
marks a reset.  Pushes, entities that came and went and states that were set stand in ``NODE/applied_events``
(:mod:`mb_contact.ros.interventions`).  Any other bag, one of ``ros2 bag record`` for instance, is replayed from
``joint_commands``, each of which answers the state whose stamp it echoes: that is exact where lockstep was.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shlex import quote
from typing import Any

import numpy as np

from mb_contact.errors import CommunicationError, InputError, MbContactError
from mb_contact.ros.embedded.messages import stamp_ns
from mb_contact.ros.interventions import EVENTS, decode, do_again
from mb_contact.simulation.surfaces.simulator import AnySimulator, simulator_of

MAGIC = b"\x89MCAP0\r\n"  #: with which an MCAP file begins and ends
CUT = "it has no end, as where a recorder was killed; `mcap recover {0} -o whole.mcap` keeps what it has"
APPLIED = "applied_efforts"  #: private name of the recorded topic
_STATES, _COMMANDS = "/joint_states", "/joint_commands"
_WANTED = (_STATES, _COMMANDS, f"/{APPLIED}", f"/{EVENTS}")


@dataclass
class Recording:
    """What a bag says about the joints.

    Attributes
    ----------
    states : list of (stamp [ns], message)
        Recorded joint states, of each stamp the last.
    efforts : list of (stamp [ns], names or None, efforts or None)
        In order; names None: all joints in the model's order; efforts None: a reset.
    source : str
        'applied_efforts' or 'joint_commands'.
    events : list of (stamp [ns], kind, fields)
        What else acted, in order: :mod:`mb_contact.ros.interventions`.
    """

    states: list
    efforts: list
    source: str
    events: list = field(default_factory=list)


@dataclass
class Comparison:
    """How a replay compares with its recording.

    Attributes
    ----------
    steps, compared, equal : int
        Steps taken; recorded states compared, and how many of them were equal in every bit.
    worst : float
        Largest difference of any number.
    first : int or None
        Stamp [ns] of the first state that differs.
    source : str
        Of the efforts, see :class:`Recording`.
    """

    steps: int = 0
    compared: int = 0
    equal: int = 0
    worst: float = 0.0
    first: int | None = None
    source: str = ""

    def text(self) -> Any:
        """Return one or two lines."""
        lines = f"replayed {self.steps} steps from {self.source}: {self.equal} of {self.compared} states bit for bit"
        if self.first is not None:
            lines += f"\nfirst difference at {self.first * 1e-9:.6f} s; largest difference {self.worst:.3e}"
        return lines


def is_recording(path: Any) -> bool:
    """Whether a path is that of an MCAP file or of a folder of ros2 bag."""
    path = Path(str(path))
    return path.suffix in (".mcap", ".db3") or (path / "metadata.yaml").exists()


@contextmanager
def open_recording(path: str | Path) -> Iterator[Any]:
    """Reader of rosbags of an MCAP file or bag folder, while it is open.

    Raises
    ------
    CommunicationError
        There is none, or it cannot be read.
    """
    if not Path(path).exists():
        raise CommunicationError(f"no recording: '{path}' does not exist")
    try:
        from rosbags.highlevel import AnyReader

        with AnyReader([Path(path)]) as reader:
            yield reader
    except MbContactError:
        raise
    except Exception as error:  # rosbags has many
        why = CUT.format(path) if _is_cut(Path(path)) else " ".join(str(error).split())
        raise CommunicationError(f"cannot read the recording '{path}': {why}") from None


def _is_cut(path):
    """Whether a file begins as MCAP and does not end so."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        begin = file.read(len(MAGIC))
        file.seek(-min(len(MAGIC), path.stat().st_size), 2)
        return begin == MAGIC and (file.read() != MAGIC or path.stat().st_size == len(MAGIC))


def read_recording(path: str) -> Any:
    """Read the joint states and efforts of an MCAP file or bag folder.

    Raises
    ------
    CommunicationError
        No recording, or no joint states or efforts in it, or of several simulators.
    """
    topics = {}
    with open_recording(path) as reader:
        wanted = [c for c in reader.connections if c.topic.endswith(_WANTED)]
        topics |= {c.topic: [] for c in wanted if c.topic.endswith(f"/{APPLIED}")}  # none where no joint takes any
        for connection, _, data in reader.messages(wanted) if wanted else ():
            topics.setdefault(connection.topic, []).append(reader.deserialize(data, connection.msgtype))
    states = {stamp_ns(m.header.stamp): m for m in _only(path, topics, _STATES)}
    if any(name.endswith(f"/{APPLIED}") for name in topics):
        efforts = [_applied(message) for message in _only(path, topics, f"/{APPLIED}")]
        ending = f"/{EVENTS}"
        told = _only(path, topics, ending) if any(name.endswith(ending) for name in topics) else ()
        return Recording(sorted(states.items()), efforts, APPLIED, [decode(message.data) for message in told])
    commands = _only(path, topics, _COMMANDS)
    stamps = [stamp_ns(m.header.stamp) for m in commands]
    begun = next((i for i, stamp in enumerate(stamps) if stamp), 0)  # the first state's stamp is zero too
    unstamped = stamps[begun:].count(0)
    if unstamped:
        raise CommunicationError(
            f"'{path}': {unstamped} joint_commands have no stamp, so nobody knows which states they answered; "
            "record with mb-contact run --record"
        )
    efforts = [(stamp, list(m.name), np.asarray(m.effort)) for stamp, m in zip(stamps, commands)]
    return Recording(sorted(states.items()), sorted(efforts, key=lambda item: item[0]), "joint_commands")


def _only(path, topics, ending):
    names = [name for name in topics if name.endswith(ending)]
    if len(names) != 1:
        found = f"{len(names)} topics" if names else "no topic"
        raise CommunicationError(f"'{path}' has {found} ending in {ending}; a replay needs one")
    return topics[names[0]]


def _applied(message):
    stamp = int(message.data[0]) * 1_000_000_000 + int(message.data[1])
    return stamp, None, np.array(message.data[2:]) if len(message.data) > 2 else None


def replay(simulator: AnySimulator, recording: Recording) -> Comparison:
    """Step a simulator through a recording's efforts and compare its states.

    Parameters
    ----------
    simulator : AnySimulator
        In its initial state.
    recording : Recording

    Returns
    -------
    Comparison

    Raises
    ------
    InputError
        The recording is of another robot or another time step.
    """
    player = _Player(simulator, recording)
    result = player.result
    for stamp, state in recording.states:
        player.go_to(stamp)
        _compare(result, player.simulator, state, stamp)
    return result


_RESET, _EVENT, _EFFORT = range(3)  #: in the order in which they act at one instant


class _Player:
    """Steps a simulator, and does what the recording says at each stamp."""

    def __init__(self, simulator: AnySimulator, recording: Recording) -> None:
        self.simulator, self._scene = simulator, simulator.scene
        self.result = Comparison(source=recording.source)
        self._dt = round(simulator.time_step * 1e9)
        self._now = self._first = 0
        self._effort = np.zeros(len(simulator.world.joint_names))
        todo = [(at, _RESET if values is None else _EFFORT, (who, values)) for at, who, values in recording.efforts]
        todo += [(at, _EVENT, (kind, fields)) for at, kind, fields in recording.events]
        self._todo = sorted(todo, key=lambda item: item[:2])[::-1]  # the next one last; equal ones keep their order

    def go_to(self, stamp):
        """Step until this stamp."""
        while self._now <= stamp:
            self._act()
            if self._now == stamp:
                return
            if self._todo and self._todo[-1][1] == _RESET and self._todo[-1][0] < self._now + 2 * self._dt:
                self._now = self._todo[-1][0]  # a reset takes the place of a step
                continue
            self.simulator.step(self._effort)
            self.result.steps += 1
            self._now = self._first + self.simulator.step_count * self._dt
        message = f"the recording has a state at {stamp} ns, no multiple of the scene's time step {self._dt} ns"
        raise InputError(message)

    def _act(self):
        """What the recording says up to now."""
        while self._todo and self._todo[-1][0] <= self._now:
            at, what, (first, second) = self._todo.pop()
            if what == _RESET:
                self.simulator.reset()
                self._first, self._effort = at, np.zeros_like(self._effort)
            elif what == _EFFORT:
                self._effort = _held(self._effort, first, second, self._rows())
            else:
                self._intervene(first, second)

    def _intervene(self, kind, fields):
        """What came from outside: bodies and states keep efforts and time, another world begins anew."""
        anew = kind == "world"
        held = {} if anew else dict(zip(self.simulator.world.joint_names, self._effort))
        self.simulator = do_again(self.simulator, kind, fields, self._scene)
        self._effort = np.array([held.get(name, 0.0) for name in self.simulator.world.joint_names])
        if anew:
            self._scene, self._dt = self.simulator.scene, round(self.simulator.time_step * 1e9)

    def _rows(self):
        return {name: i for i, name in enumerate(self.simulator.world.joint_names)}


def _held(effort, who, values, rows):
    effort = effort.copy()
    unknown = [] if who is None else [name for name in who if name not in rows]
    if unknown or len(values) != len(effort if who is None else who):
        what = f"joint '{unknown[0]}'" if unknown else f"{len(values)} efforts"
        raise InputError(f"the recording is of another robot: it has {what}; this scene has {', '.join(rows)}")
    effort[[rows[name] for name in (who or rows)]] = values
    return effort


def _compare(result, simulator, state, stamp):
    names = list(simulator.world.joint_names)
    if list(state.name)[: len(names)] != names:
        raise InputError(f"the recording is of another robot: its joints are {', '.join(state.name)}")
    mine = np.concatenate([simulator.joint_positions(), simulator.joint_velocities(), simulator.joint_efforts()])
    theirs = np.concatenate([np.asarray(a)[: len(names)] for a in (state.position, state.velocity, state.effort)])
    result.compared += 1
    if mine.tobytes() == theirs.tobytes():
        result.equal += 1
        return
    result.worst = max(result.worst, float(np.max(np.abs(mine - theirs))))
    if result.first is None:
        result.first = stamp


def replay_file(scene: Any, path: str, progress: Callable[[str], Any] | None = None) -> Any:
    """Replay a recording of a scene and print how it compares; 0 where all states are equal, else 1.

    Raises
    ------
    MbContactError
        A bad scene, a bad recording, one that does not fit the scene.
    """
    if is_recording(scene):
        command = f"mb-contact replay SCENE {quote(str(scene))}"
        raise InputError(f"'{scene}' is a recording, which comes behind its scene: {command}")
    recording = read_recording(path)
    result = replay(simulator_of(scene, progress), recording)
    print(result.text(), flush=True)
    return 0 if result.equal == result.compared else 1
