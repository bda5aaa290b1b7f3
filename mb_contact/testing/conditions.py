# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The conditions of a run: what happens at stated simulated times, and what becomes of commands on their way.

Both act on the physics thread, so they are the same in every run, and a recording replays them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mb_contact.checks import Floats
from mb_contact.errors import InputError
from mb_contact.ros.interventions import do_again


@dataclass(frozen=True)
class Event:
    """Something that happens at a simulated time.

    Attributes
    ----------
    at : float
        [s]
    kind : str
        'push', 'spawn', 'delete', 'set', 'joints' (as a recording's, see :mod:`mb_contact.ros.interventions`),
        'reset', or 'restart': a controller is killed and started again.
    fields : mapping
    """

    at: float
    kind: str
    fields: Mapping[str, Any] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """In a few words."""
        names = [str(self.fields[key]) for key in ("link", "name", "names", "controller") if key in self.fields]
        return " ".join([self.kind, *names])

    def act(self, run: Any) -> None:
        """Do it, on the physics thread between two steps."""
        node = run.node
        if self.kind == "reset":
            node.do_reset()
        elif self.kind == "restart":
            program = run.programs[int(self.fields["controller"]) - 1]
            program.kill()
            program.start()
        else:
            simulator = node.simulator
            found = do_again(simulator, self.kind, dict(self.fields), simulator.scene)
            if found is not simulator:
                node.replace_simulator(found)
            node.tell(self.kind, **self.fields)


NONE = (0.0, 0.0, 0.0)


def push(link: str, force: Sequence[float] = NONE, torque: Sequence[float] = NONE, lasting: float = 0.1) -> Any:
    """Kind and fields of a push: force [N] and torque [N m] about the link's origin, world axes, for so long [s]."""
    wrench = [*map(float, torque), *map(float, force)]
    return "push", {"link": link, "wrench": wrench, "duration": float(lasting), "axes": "world"}


@dataclass(frozen=True)
class Conditions:
    """What a run is like; all of it the same whenever it is repeated.

    Attributes
    ----------
    events : tuple of Event
    delay : float
        Every command acts so much later [s], rounded to control periods.
    loss : float
        Probability with which a command is lost; the one before goes on.
    seed : int or sequence of int
        Of what is lost.
    """

    events: tuple[Event, ...] = ()
    delay: float = 0.0
    loss: float = 0.0
    seed: Any = 0

    def __post_init__(self) -> None:
        if not (self.delay >= 0.0 and 0.0 <= self.loss < 1.0):
            raise InputError(f"delay must be at least 0 and loss from 0 to below 1, got {self.delay} and {self.loss}")


class Channel:
    """What becomes of commands on their way, efforts and targets: a delay and losses, in each of many worlds.

    Parameters
    ----------
    conditions : sequence of Conditions
        One a world.
    period : float
        Between two commands [s].
    """

    def __init__(self, conditions: Sequence[Conditions], period: float) -> None:
        self._delays = np.array([round(entry.delay / period) for entry in conditions])
        self._losses = np.array([entry.loss for entry in conditions])
        self._random = {i: np.random.default_rng(entry.seed) for i, entry in enumerate(conditions) if entry.loss}
        self._length = int(self._delays.max()) + 1
        self._kept = np.ones(len(conditions), dtype=bool)
        self.forget()

    def forget(self) -> None:
        """What is on its way does not arrive: it was for another run, or for other joints."""
        self._past: Any = None
        self._now: Any = None
        self._asked: list[dict[str, Any]] = [{}] * self._length
        self._count = 0

    @property
    def is_clear(self) -> bool:
        """Whether all commands pass as they are."""
        return not (self._delays.any() or self._losses.any())

    def pass_on(self, efforts: Floats) -> Floats:
        """The efforts (worlds, joints) that act when these are commanded; the first ones act until others arrive."""
        if self.is_clear:
            return efforts
        if self._past is not None and self._past.shape[2] != efforts.shape[1]:
            self.forget()
        if self._past is None:
            self._past, self._now = np.tile(efforts, (self._length, 1, 1)), efforts.copy()
        self._past[self._count % self._length] = efforts
        arrived = self._past[(self._count - self._delays) % self._length, np.arange(len(efforts))]
        for world, random in self._random.items():
            self._kept[world] = random.random() >= self._losses[world]
        self._now = np.where(self._kept[:, None], arrived, self._now)
        self._count += 1
        return self._now.copy()

    def pass_targets(self, asked: dict[str, Any]) -> dict[str, Any]:
        """The targets that act in the first world when these are asked for, behind ``pass_on`` of their efforts.

        A command is late or lost as a whole; where none has arrived yet, none is asked for.
        """
        now = self._count - 1
        self._asked[now % self._length] = asked
        return self._asked[(now - self._delays[0]) % self._length] if self._kept[0] else {}
