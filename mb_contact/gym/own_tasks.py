# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Environments of one's own scenes: what a task asks for, with observations by name."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.checks import Floats, as_choice, as_whole
from mb_contact.errors import InputError
from mb_contact.gym.actions import Efforts, HandPoses, JointTargets
from mb_contact.gym.environments import SingleEnv, WorldsEnv
from mb_contact.gym.tasks import Task, joint_names, joint_state
from mb_contact.model.scene import Scene
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
        names with a function (worlds, goal) to (w, names).
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


def make(scene: Scene | str | Path, task: SceneTask, num_envs: int | None = None, **options: Any) -> Any:
    """An environment of a scene, or ``num_envs`` in one.

    Parameters
    ----------
    scene : Scene or path
    task : SceneTask
    num_envs : int, optional
        A WorldsEnv of so many; a SingleEnv if left out.
    options
        ``threads`` (of many), ``render_mode``, ``width``, ``height``, as of these.

    Returns
    -------
    WorldsEnv or SingleEnv

    Raises
    ------
    InputError
        An observation that there is not, a joint without an actuator, numbers that do not fit.
    SceneError, ModelError
        The scene is impossible.

    Examples
    --------
    >>> import mb_contact.gym
    >>> def upright(worlds, goal, actions):
    ...     return worlds.link_poses("link_0")[1][:, 2, 2]
    >>> task = mb_contact.gym.SceneTask(upright, mb_contact.gym.Efforts(scale=5.0))
    >>> env = mb_contact.gym.make(mb.pendulum(1).scene(), task, num_envs=4, threads=1)
    >>> observations, _ = env.reset(seed=1)
    >>> observations.shape, env.names
    ((4, 2), ['hinge_0 [rad, m]', 'hinge_0 rate [rad/s, m/s]'])
    """
    whole = _task(scene, task)
    return SingleEnv(whole, **options) if num_envs is None else WorldsEnv(whole, num_envs, **options)


def _task(scene, task):
    """The Task of a SceneTask."""
    parts: list[Any] = []  # of the observations, known as soon as there are worlds

    def names(worlds):
        goals = len(start(np.random.default_rng(0), worlds.q[0])[1])
        parts[:] = [_observation(worlds, about, goals) for about in task.observations]
        return [name for found, _ in parts for name in found]

    def observe(worlds, goal):
        return np.concatenate([part(worlds, goal) for _, part in parts], axis=1)

    def reward(worlds, goal, actions):
        terms = task.reward(worlds, goal, actions)
        return terms if isinstance(terms, dict) else {"reward": np.asarray(terms, dtype=np.float64)}

    def start(rng, q):
        drawn = q if task.reset is None else task.reset(rng, q.copy())
        q, goal = drawn if isinstance(drawn, tuple) else (drawn, np.zeros(0))
        return np.asarray(q, dtype=np.float64), np.asarray(goal, dtype=np.float64)

    over = task.is_over or (lambda worlds, goal: np.zeros(worlds.count, bool))
    return Task(
        scene=scene, scale=(), observe=observe, names=names, reward=reward, is_over=over, start=start, eye=task.eye,
        target=task.target, horizon=as_whole(task.horizon, "horizon"), actions=task.actions,
        steps=as_whole(task.steps, "steps"),
    )  # fmt: skip


def _observation(worlds, about, goals):
    """(names, function) of one entry of the observations, of a task whose goals have so many numbers."""
    if not isinstance(about, str):
        names, function = about
        return list(names), lambda w, goal: np.asarray(function(w, goal), dtype=np.float64).reshape(w.count, -1)
    if about == "joints":
        return joint_names(worlds), lambda w, goal: joint_state(w)
    if about == "targets":
        v = worlds.world.joint_v
        return [f"{name} target" for name in worlds.world.joint_names], lambda w, goal: w.targets[:, v]
    if about == "goal":
        return [f"goal {i}" for i in range(goals)], lambda w, goal: goal
    kind, _, name = about.partition(" o")
    name = name.partition(" ")[2]
    if kind not in _OF or not name:
        known = "joints, targets, goal, position of LINK, pose of LINK, velocity of OBJECT, force on LINK"
        raise InputError(f"there is no observation '{about}'; there are {known}")
    return _OF[kind](worlds, name)


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
