# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Replay a recording: the same scene under the recorded efforts, compared bit for bit with the recorded states.

``mb-contact run --record`` and ``mb-contact demo lift`` keep what acted on the joints in ``NODE/applied_efforts``:
``data`` is (sec, nanosec, efforts of all joints), written whenever the efforts change; a message without efforts
marks a reset.  Any other bag, one of ``ros2 bag record`` for instance, is replayed from ``joint_commands``, each
of which answers the state whose stamp it echoes: that is exact where lockstep was.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mb_contact.errors import CommunicationError, InputError
from mb_contact.ros.embedded.messages import stamp_ns

APPLIED = "applied_efforts"  #: private name of the recorded topic
_STATES, _COMMANDS = "/joint_states", "/joint_commands"


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
    """

    states: list
    efforts: list
    source: str


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

    def text(self):
        """Return one or two lines."""
        lines = f"replayed {self.steps} steps from {self.source}: {self.equal} of {self.compared} states bit for bit"
        if self.first is not None:
            lines += f"\nfirst difference at {self.first * 1e-9:.6f} s; largest difference {self.worst:.3e}"
        return lines


def read_recording(path):
    """Read the joint states and efforts of an MCAP file or bag folder.

    Raises
    ------
    CommunicationError
        No bag, or no joint states or efforts in it, or of several simulators.
    """
    topics = {}
    try:
        from rosbags.highlevel import AnyReader

        with AnyReader([Path(path)]) as reader:
            wanted = [c for c in reader.connections if c.topic.endswith((_STATES, _COMMANDS, f"/{APPLIED}"))]
            for connection, _, data in reader.messages(wanted) if wanted else ():
                topics.setdefault(connection.topic, []).append(reader.deserialize(data, connection.msgtype))
    except FileNotFoundError:
        raise
    except Exception as error:  # rosbags has many
        raise CommunicationError(f"cannot read the recording '{path}': {' '.join(str(error).split())}") from None
    states = {stamp_ns(m.header.stamp): m for m in _only(path, topics, _STATES)}
    if any(name.endswith(f"/{APPLIED}") for name in topics):
        efforts = [_applied(message) for message in _only(path, topics, f"/{APPLIED}")]
        return Recording(sorted(states.items()), efforts, APPLIED)
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


def replay(simulator, recording):
    """Step a simulator through a recording's efforts and compare its states.

    Parameters
    ----------
    simulator : Simulator
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
    result = Comparison(source=recording.source)
    names = list(simulator.world.joint_names)
    rows = {name: i for i, name in enumerate(names)}
    dt = round(simulator.time_step * 1e9)
    effort, first, pending = np.zeros(len(names)), 0, list(reversed(recording.efforts))
    now = 0
    for stamp, state in recording.states:
        while now <= stamp:
            while pending and pending[-1][0] <= now:
                at, who, values = pending.pop()
                if values is None:
                    simulator.reset()
                    first, effort = at, np.zeros(len(names))
                else:
                    effort = _held(effort, who, values, rows)
            if now == stamp:
                break
            if pending and pending[-1][2] is None and now < pending[-1][0] < now + 2 * dt:
                now = pending[-1][0]  # a reset takes the place of a step
                continue
            simulator.step(effort)
            result.steps += 1
            now = first + simulator.step_count * dt
        if now != stamp:
            raise InputError(f"the recording has a state at {stamp} ns, no multiple of the scene's time step {dt} ns")
        _compare(result, simulator, state, names, stamp)
    return result


def _held(effort, who, values, rows):
    effort = effort.copy()
    unknown = [] if who is None else [name for name in who if name not in rows]
    if unknown or len(values) != len(effort if who is None else who):
        what = f"joint '{unknown[0]}'" if unknown else f"{len(values)} efforts"
        raise InputError(f"the recording is of another robot: it has {what}; this scene has {', '.join(rows)}")
    effort[[rows[name] for name in (who or rows)]] = values
    return effort


def _compare(result, simulator, state, names, stamp):
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


def replay_file(scene, path, progress=None):
    """Replay a recording of a scene and print how it compares; 0 where all states are equal, else 1.

    Raises
    ------
    MbContactError
        A bad scene, a bad recording, one that does not fit the scene.
    """
    from mb_contact.simulation.simulator import Simulator

    recording = read_recording(path)
    result = replay(Simulator(scene, progress=progress), recording)
    print(result.text(), flush=True)
    return 0 if result.equal == result.compared else 1
