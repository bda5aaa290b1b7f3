# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What actions of environments do: efforts, targets of joints, poses of a hand; numbers from -1 to 1 for each world."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_choice, as_positive, as_vector
from mb_contact.control.inverse_kinematics import inverse_kinematics
from mb_contact.errors import InputError
from mb_contact.model.rotations import matrix_to_quat, rotation_about
from mb_contact.worlds.worlds import Worlds

TOLERANCE = 1e-6  #: of inverse kinematics [rad, m]


@dataclass(frozen=True)
class Efforts:
    """Efforts of joints: ``rest`` and the action times ``scale`` [N m, N].

    Attributes
    ----------
    scale : array_like (joints,) or float, optional
        The joints' effort limits if left out.
    rest : array_like (joints,) or callable, optional
        What acts beside the actions, or a function from the scene to it.
    """

    scale: Any = None
    rest: Any = None

    def on(self, worlds: Worlds) -> EffortActor:
        """What acts on these worlds; raises InputError where a size does not fit or a limit is missing."""
        return EffortActor(worlds, self.scale, self.rest)


@dataclass(frozen=True)
class JointTargets:
    """Targets of position actuators, which each action moves by ``step`` times it, within the joints' limits.

    Attributes
    ----------
    joints : sequence of str, optional
        All with a position actuator if left out.
    step : float
        [rad, m]
    """

    joints: Sequence[str] | None = None
    step: float = 0.05

    def on(self, worlds: Worlds) -> TargetActor:
        """What acts on these worlds; raises InputError where a joint has no position actuator."""
        return TargetActor(worlds, self.joints, as_positive(self.step, "step"))


@dataclass(frozen=True)
class HandPoses:
    """A hand's pose, which each action moves in world axes: three numbers times ``step``, three turns times ``turn``.

    Inverse kinematics gives the targets of the position actuators; a pose that is out of reach stays where it was.

    Attributes
    ----------
    hand : str
        A link.
    joints : sequence of str, optional
        That carry it; all that do, and have a position actuator, if left out.
    step, turn : float
        [m], [rad]; without a turn, 0, actions have three numbers and the hand keeps its axes.
    jaws : JointTargets, optional
        More numbers of the action, for what the hand holds with.
    """

    hand: str
    joints: Sequence[str] | None = None
    step: float = 0.02
    turn: float = 0.1
    jaws: JointTargets | None = None

    def on(self, worlds: Worlds) -> HandActor:
        """What acts on these worlds; raises InputError where there is no such link, or nothing moves it."""
        return HandActor(worlds, self)


class EffortActor:
    """Efforts of all joints."""

    def __init__(self, worlds: Worlds, scale: ArrayLike | None, rest: Any) -> None:
        count, limits = len(worlds.world.joint_names), worlds.world.effort_limit
        if scale is None and not np.isfinite(limits).all():
            free = [name for name, limit in zip(worlds.world.joint_names, limits) if not np.isfinite(limit)]
            raise InputError(f"joint '{free[0]}' has no effort limit; give Efforts a scale")
        wanted = limits if scale is None else np.broadcast_to(np.asarray(scale, float), np.shape(scale) or (count,))
        self.scale = as_vector(wanted, count, "scale")
        given = rest(worlds.scene) if callable(rest) else rest
        self.rest = np.zeros(count) if given is None else as_vector(given, count, "rest")
        self.size = count

    def begin(self, worlds: Worlds, chosen: Any) -> None:
        """After a reset of these worlds."""

    def efforts(self, worlds: Worlds, actions: Floats, acting: Any) -> Floats:
        """Efforts (w, joints) that act under actions (w, size)."""
        return self.rest + actions * self.scale


class TargetActor:
    """Targets of some joints."""

    def __init__(self, worlds: Worlds, joints: Sequence[str] | None, step: float) -> None:
        world: Any = worlds.world
        driven = [name for name, v in zip(world.joint_names, world.joint_v) if world.joints.gain[v] > 0.0]
        for name in joints or ():
            if name not in driven:
                shown = ", ".join(driven) or "none"
                raise InputError(f"joint '{name}' has no position actuator; with one are {shown}")
        self.names = list(driven if joints is None else joints)
        if not self.names:
            raise InputError("no joint has a position actuator; give the scene some, or use Efforts")
        at = [world.joint_names.index(name) for name in self.names]
        self.v, self.q, self.step, self.size = world.joint_v[at], world.joint_q[at], step, len(at)
        self.lower, self.upper = world.tree.lower[self.v], world.tree.upper[self.v]
        self._still = np.zeros((worlds.count, len(world.joint_names)))

    def begin(self, worlds: Worlds, chosen: Any) -> None:
        """Targets where the joints begin."""
        worlds.targets[np.ix_(chosen, self.v)] = worlds.q[np.ix_(chosen, self.q)]

    def efforts(self, worlds: Worlds, actions: Floats, acting: Any) -> Floats:
        """Move the targets by actions (w, size); the efforts beside the actuators' are zero."""
        moved = worlds.targets[:, self.v] + self.step * actions
        self.set(worlds, np.clip(moved, self.lower, self.upper), acting)
        return self._still

    def set(self, worlds: Worlds, targets: Floats, acting: Any) -> None:
        """Take these targets (w, size) in the worlds that act."""
        worlds.targets[np.ix_(acting, self.v)] = targets[acting]


class HandActor:
    """A pose of a hand, and targets of what it holds with."""

    def __init__(self, worlds: Worlds, about: HandPoses) -> None:
        world = worlds.world
        self.hand = as_choice(about.hand, world.frames, "link")
        self.step, self.turn = as_positive(about.step, "step"), float(about.turn)
        self.jaws = None if about.jaws is None else about.jaws.on(worlds)
        jaws = () if self.jaws is None else self.jaws.names
        self.arm = TargetActor(worlds, about.joints, 1.0)
        if about.joints is None:
            carriers = [name for name in _carriers(world, self.hand) if name not in jaws]
            self.arm = TargetActor(worlds, [name for name in self.arm.names if name in carriers], 1.0)
        self.own = 6 if self.turn else 3
        self.size = self.own + (0 if self.jaws is None else self.jaws.size)
        self.p, self.R = np.zeros((worlds.count, 3)), np.zeros((worlds.count, 3, 3))

    def begin(self, worlds: Worlds, chosen: Any) -> None:
        """The pose where the hand begins."""
        p, R = worlds.link_poses(self.hand)
        self.p[chosen], self.R[chosen] = p[chosen], R[chosen]
        for actor in (self.arm, self.jaws):
            if actor is not None:
                actor.begin(worlds, chosen)

    def efforts(self, worlds: Worlds, actions: Floats, acting: Any) -> Floats:
        """Move the pose by actions (w, size), and the targets to where it is reached."""
        targets = worlds.targets[:, self.arm.v]
        for w in acting.tolist():
            p, R = self.p[w] + self.step * actions[w, :3], self._turned(w, actions[w])
            q = worlds.q[w].copy()
            q[self.arm.q] = targets[w]
            goal: dict[Any, Any] = {self.hand: (p, matrix_to_quat(R))}
            found = inverse_kinematics(worlds.world, goal, q, self.arm.names, tolerance=TOLERANCE, starts=1)
            if found.reached:
                self.p[w], self.R[w], targets[w] = p, R, found.q[self.arm.q]
        self.arm.set(worlds, targets, acting)
        still = self.arm._still
        return still if self.jaws is None else self.jaws.efforts(worlds, actions[:, self.own :], acting)

    def _turned(self, w, action):
        vector = self.turn * action[3:6] if self.turn else np.zeros(3)
        angle = float(np.linalg.norm(vector))
        return self.R[w] if angle == 0.0 else rotation_about(vector / angle, angle) @ self.R[w]


def _carriers(world, link):
    """Names of the joints between a link and the inertial frame."""
    moving, body = set(), world.frames[link].body
    while body >= 0:
        moving.add(int(world.tree.v_start[body]))
        body = int(world.tree.parent[body])
    return [name for name, v in zip(world.joint_names, world.joint_v.tolist()) if v in moving]
