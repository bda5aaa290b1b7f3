# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What an environment asks for in a scene: actions, observations by name, reward, reset, ends; w worlds at once."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mb_contact.checks import Floats, as_choice
from mb_contact.errors import InputError
from mb_contact.gym.actions import Efforts, HandPoses, JointTargets
from mb_contact.worlds.worlds import Worlds

AXES = "xyz"


@dataclass(frozen=True)
class SceneTask:
    """What is to be done in a scene; all functions take w worlds at once.

    Attributes
    ----------
    reward : callable
        (worlds, goal, actions) to (w,), or to a dict of (w,): its terms, whose sum it is.
    actions : Efforts, JointTargets or HandPoses
    observations : sequence of str, or of (names, callable)
        ``joints`` (positions and velocities), ``targets``, ``goal``, ``position of LINK``, ``pose of LINK`` (with the
        first two axes), ``velocity of OBJECT``, ``force on LINK`` (of contacts, in the last step), in this order; or
        names with a function (worlds, goal) to (w, names).  Beside them ``image of CAMERA`` and ``depth of CAMERA``,
        with which an observation is a dict: ``numbers``, and each of these by its name.
    reset : callable, optional
        (generator, q (nq,)) to q, or to (q, goal (g,)), of one world; the scene's own start if left out.
    is_over : callable, optional
        (worlds, goal) to (w,) of bool: the episode ends.
    horizon : int
        Actions after which an episode is cut off.
    steps : int
        Of a world in one action.
    eye, target : tuple of float
        From where pictures look at what [m].
    goal_at : callable, optional
        (goal (g,)) to the place (3,) at which pictures show it [m].
    """

    reward: Callable[[Worlds, Floats, Floats], Any]
    actions: Efforts | JointTargets | HandPoses = Efforts()
    observations: Sequence[Any] = ("joints",)
    reset: Callable[[np.random.Generator, Floats], Any] | None = None
    is_over: Callable[[Worlds, Floats], Any] | None = None
    horizon: int = 200
    steps: int = 10
    eye: tuple[float, float, float] = (1.5, -1.5, 1.2)
    target: tuple[float, float, float] = (0.3, 0.0, 0.3)
    goal_at: Callable[[Floats], tuple[float, float, float]] | None = None

    def start(self, rng: np.random.Generator, q: Floats) -> tuple[Floats, Floats]:
        """(q, goal) with which an episode of one world begins."""
        drawn = q if self.reset is None else self.reset(rng, q.copy())
        q, goal = drawn if isinstance(drawn, tuple) else (drawn, np.zeros(0))
        return np.asarray(q, dtype=np.float64), np.atleast_1d(np.asarray(goal, dtype=np.float64))


def observation(worlds: Worlds, about: Any, goals: int) -> tuple[list[str], Callable[[Worlds, Floats], Floats]]:
    """(names, function) of one entry of the observations, of a task whose goals have so many numbers."""
    if not isinstance(about, str):
        names, function = about
        names = [names] if isinstance(names, str) else list(names)
        return names, lambda w, goal: _named(names, np.asarray(function(w, goal), dtype=np.float64), w.count)
    if about == "joints":
        names = worlds.world.joint_names
        return [f"{name} [rad, m]" for name in names] + [f"{name} rate [rad/s, m/s]" for name in names], _joints
    if about == "targets":
        v = worlds.world.joint_v
        return [f"{name} target" for name in worlds.world.joint_names], lambda w, goal: w.targets[:, v]
    if about == "goal":
        return [f"goal {i}" for i in range(goals)], lambda w, goal: goal
    kind, _, name = about.partition(" o")
    name = name.partition(" ")[2]
    if kind not in _OF or not name:
        known = (
            "joints, targets, goal, position of LINK, pose of LINK, velocity of OBJECT, force on LINK, "
            "image of CAMERA, depth of CAMERA"
        )
        raise InputError(f"there is no observation '{about}'; there are {known}")
    return _OF[kind](worlds, name)


def _named(names, values, count):
    """Observations (count, names) of a function."""
    if values.size != count * len(names) or values.shape[:1] != (count,):
        raise InputError(
            f"the observation '{', '.join(names)}' must have the shape {(count, len(names))}, got {values.shape}"
        )
    return values.reshape(count, -1)


def _joints(worlds, _goal):
    """Positions and velocities (w, 2 joints) of all joints."""
    return np.concatenate((worlds.q[:, worlds.world.joint_q], worlds.v[:, worlds.world.joint_v]), axis=1)


def _position(worlds, link):
    as_choice(link, worlds.world.frames, "link")
    return [f"{link} {a} [m]" for a in AXES], lambda w, goal: w.link_poses(link)[0]


def _pose(worlds, link):
    names, position = _position(worlds, link)
    names += [f"{link} {axis} axis {a}" for axis in AXES[:2] for a in AXES]

    def pose(w, goal):
        R = w.link_poses(link)[1]
        return np.concatenate((position(w, goal), R[:, :, 0], R[:, :, 1]), axis=1)

    return names, pose


def _velocity(worlds, name):
    body = worlds.world.objects[as_choice(name, worlds.world.objects, "object")]
    first = int(worlds.world.tree.v_start[body])
    names = [f"{name} rate {a} [rad/s]" for a in AXES] + [f"{name} velocity {a} [m/s]" for a in AXES]
    return names, lambda w, goal: w.v[:, first : first + 6]


def _force(worlds, link):
    shapes = list(worlds.world.link_geometries[as_choice(link, worlds.world.link_geometries, "link")])
    return [f"{link} force {a} [N]" for a in AXES], (
        lambda w, goal: w.contact_impulses[:, shapes, 3:].sum(axis=1) / w.time_step
    )


_OF = {"position": _position, "pose": _pose, "velocity": _velocity, "force": _force}
