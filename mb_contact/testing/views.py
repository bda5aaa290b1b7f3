# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What checks observe: a simulator's node, many worlds, or the topics of whatever there is.

All of them answer the same questions, with one row for each world: ``pose``, ``start``, ``joint``, ``force``,
``wrench``, ``certificate``, ``message``.
"""

import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from mb_contact.checks import Floats, as_choice
from mb_contact.core.workspace import IMPULSE, PAIR
from mb_contact.errors import InputError
from mb_contact.model.rotations import quat_to_matrix
from mb_contact.ros.qos import QoS
from mb_contact.simulation.results import contact_impulses

RESIDUALS = ("complementarity_gap", "infeasibility", "loop_residual")  #: whose worst is Certificate.residual
Placed = tuple[Floats, Floats]  #: positions (worlds, 3) and rotations (worlds, 3, 3)


class View:
    """One observation after the other.

    Attributes
    ----------
    time : float
        Of the present one [s].
    count : int
        Worlds.
    """

    time = 0.0
    count = 1

    def __init__(self) -> None:
        self._start: dict[str, Placed] = {}

    def start(self, link: str) -> Placed:
        """Where a link was at the first observation that had it; NaN before."""
        return self._start[link] if link in self._start else self.pose(link)

    def _meet(self, links):
        """Keep where links are that have not been there before: that is their start."""
        for link in set(links) - set(self._start):
            place = self.pose(link)
            if not np.isnan(place[0]).any():
                self._start[link] = place

    def pose(self, link: str) -> Placed:
        """Positions and rotations of a link in world axes; NaN while it is not there."""
        raise NotImplementedError

    def _cannot(self, what):
        return InputError(f"{what} cannot be checked here: {type(self).__doc__.splitlines()[0].rstrip('.').lower()}")

    def force(self, link: str, by: Sequence[str] = (), others: bool = False) -> Floats:
        """Contact force on a link by some links (by all but them where ``others``), world axes (worlds, 3) [N]."""
        raise self._cannot("contact forces")

    def joint(self, name: str, what: str) -> Floats:
        """'position', 'velocity' or 'effort' of a joint (worlds,)."""
        raise self._cannot("joints")

    def wrench(self, joint: str) -> Floats:
        """Wrench (worlds, 6) through a joint, angular first [N m, N]."""
        raise self._cannot("joint wrenches")

    def certificate(self, field: str) -> Floats:
        """A field of the certificate (worlds,)."""
        raise self._cannot("certificates and energies")

    def message(self, topic: str, type_name: str, field: str) -> Any:
        """A field of the last message of a topic; None before there is one."""
        raise self._cannot("topics")


class Topics:
    """The last message of each topic that somebody asks for, and the fields of it."""

    def __init__(self, node: Any) -> None:
        self._node, self._lock = node, threading.Lock()
        self._last: dict[str, Any] = {}

    def field(self, topic: str, type_name: str, field: str) -> Any:
        """A field, names joined by dots, numbers for places in lists; None where there is none yet."""
        with self._lock:
            if topic not in self._last:
                self._last[topic] = None
                self._node.create_subscription(type_name, topic, lambda m: self._keep(topic, m), QoS(10))
        value = self._last[topic]
        for part in field.split("."):
            if value is None:
                return None
            try:
                value = value[int(part)] if part.lstrip("-").isdigit() else getattr(value, part)
            except IndexError:
                return None
            except (AttributeError, TypeError):
                raise InputError(f"messages of {topic} ({type_name}) have no '{field}'") from None
        return value

    def _keep(self, topic, message):
        self._last[topic] = message


def _signs(pairs, link, by, others):
    """With which sign an impulse on the first link of each pair of links counts for a link."""
    signs = np.zeros(len(pairs))
    for i, (a, b) in enumerate(pairs):
        if link in (a, b):
            other = b if link == a else a
            if not by or (other in by) is not others:
                signs[i] = 1.0 if link == a else -1.0
    return signs


class SimulatorView(View):
    """The node's own simulator.

    Parameters
    ----------
    simulator_node : SimulatorNode
    """

    def __init__(self, simulator_node: Any) -> None:
        super().__init__()
        self._node, self._step, self._touches = simulator_node, None, None
        self.simulator: Any = None
        self._poses: dict[str, Placed] = {}  #: in the present state
        self._signs: dict[tuple, Floats] = {}  #: with which impulses count, by pairs of shapes
        self._topics = Topics(simulator_node.node)
        self.coming: set[str] = set()  #: links that are not there yet

    def take(self, step: Any) -> None:
        """The present state is another one, after ``step``."""
        self._step, self._touches, self.time = step, None, self._node.stamp() * 1e-9
        self.forget()
        if self.simulator is not self._node.simulator:
            self.simulator = self._node.simulator
            self._signs.clear()
            self._meet(self.simulator.world.frames)

    def forget(self) -> None:
        """What happens from now on may move what was looked at."""
        self._poses.clear()

    def _there(self, link):
        frames = self.simulator.world.frames
        return link in frames or not (link in self.coming or as_choice(link, frames, "link"))

    def pose(self, link: str) -> Placed:
        """Of a link or object."""
        if link in self._poses:
            return self._poses[link]
        if not self._there(link):
            return np.full((1, 3), np.nan), np.full((1, 3, 3), np.nan)
        self.coming.add(link)  # it may go again
        p, quaternion = self.simulator.link_pose(link)
        self._poses[link] = p[None], quat_to_matrix(quaternion)[None]
        return self._poses[link]

    def joint(self, name: str, what: str) -> Floats:
        """Of the joints that take efforts."""
        names = self.simulator.world.joint_names
        values = {
            "position": self.simulator.joint_positions, "velocity": self.simulator.joint_velocities,
            "effort": self.simulator.joint_efforts,
        }[what]()  # fmt: skip
        return np.array([values[names.index(as_choice(name, names, "joint"))]])

    def force(self, link: str, by: Sequence[str] = (), others: bool = False) -> Floats:
        """Mean of the last step; zero before the first one."""
        for name in (link, *by):
            self._there(name)
        if self._step is None:
            return np.zeros((1, 3))
        if self._touches is None:
            self._touches = contact_impulses(self._step)
        links, pairs, impulses = self._touches
        asked = link, tuple(by), others
        if asked not in self._signs:
            self._signs[asked] = _signs(links, *asked)
        signs = self._signs[asked][pairs]
        return np.sum(signs[:, None] * impulses, axis=0)[None] / self.simulator.time_step

    def wrench(self, joint: str) -> Floats:
        """Of the last step."""
        return self.simulator.joint_wrench(joint)[None] if self._step is not None else np.zeros((1, 6))

    def certificate(self, field: str) -> Floats:
        """Of the last step; zero before the first one."""
        if self._step is None:
            return np.zeros(1)
        found = self._step.certificate
        if not isinstance(getattr(found, field, None), (int, float)):
            raise InputError(f"the certificate has no number '{field}'; it has {', '.join(found._fields)} and residual")
        return np.array([float(getattr(found, field))])

    def message(self, topic: str, type_name: str, field: str) -> Any:
        """Of any topic of the domain; it comes when it comes, so checks at the end are the sure ones."""
        return self._topics.field(topic, type_name, field)


class WorldsView(View):
    """Many worlds, without a node.

    Parameters
    ----------
    worlds : Worlds
    """

    def __init__(self, worlds: Any) -> None:
        super().__init__()
        self._worlds, self.count, self._touches = worlds, worlds.count, None

    def take(self, time: float) -> None:
        """The present states are other ones."""
        self.time, self._touches = time, None

    def start(self, link: str) -> Placed:
        """Where a link was when this was first asked for."""
        self._meet([link])
        return super().start(link)

    def pose(self, link: str) -> Placed:
        """Of a link or object."""
        p, R = self._worlds.link_poses(link)
        return p.copy(), R.copy()

    def joint(self, name: str, what: str) -> Floats:
        """Of the joints that take efforts."""
        world = self._worlds.world
        i = world.joint_names.index(as_choice(name, world.joint_names, "joint"))
        if what == "position":
            return self._worlds.q[:, world.joint_q[i]].copy()
        return (self._worlds.v if what == "velocity" else self._worlds.joint_efforts)[:, world.joint_v[i]].copy()

    def force(self, link: str, by: Sequence[str] = (), others: bool = False) -> Floats:
        """Mean of the last step."""
        for name in (link, *by):
            as_choice(name, self._worlds.world.frames, "link")
        rows, there, pairs = self._contacts()
        signs = _signs(pairs, link, by, others)
        if not signs.any():
            return np.zeros((self.count, 3))
        weights = np.where(there, signs[np.where(there, rows[:, :, PAIR], 0.0).astype(int)], 0.0)
        return np.einsum("wc,wci->wi", weights, rows[:, :, IMPULSE : IMPULSE + 3]) / self._worlds.time_step

    def _contacts(self):
        if self._touches is None:
            self._touches = self._worlds.contact_rows()
        return self._touches

    def certificate(self, field: str) -> Floats:
        """Of the last step."""
        numbers = self._worlds.certificates
        if field == "residual":
            return np.max([numbers[name] for name in RESIDUALS], axis=0)
        as_choice(field, numbers.dtype.names, "number of the certificate")
        return numbers[field].copy()
