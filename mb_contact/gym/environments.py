# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Gymnasium's interfaces over Worlds: many environments in one, and single ones."""

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict
from gymnasium.vector import AutoresetMode, VectorEnv
from gymnasium.vector.utils import batch_space
from numpy.typing import NDArray

from mb_contact.checks import Floats, as_choice, as_matrix, as_vector, as_whole
from mb_contact.errors import InputError
from mb_contact.gym.images import Images, is_image
from mb_contact.gym.own_tasks import SceneTask, observation
from mb_contact.gym.pictures import Pictures
from mb_contact.gym.tasks import TASKS
from mb_contact.model.scene import Scene
from mb_contact.worlds.worlds import Worlds

CONFIG = "package://mb_contact/config"
RENDERING: dict[str, Any] = {"render_modes": ["rgb_array", "human"], "render_fps": 100}  #: an action lasts 10 ms
LARGEST = 100.0  #: absolute value of an observation; beyond it is cut off


class WorldsEnv(VectorEnv):
    """``num_envs`` environments of a task, stepped on threads in compiled code.

    An environment whose episode has ended is reset by the next step, which ignores its action (``NEXT_STEP``).

    Parameters
    ----------
    task : str or SceneTask
        One of TASKS by its name, or another (``make``).
    num_envs : int
    threads : int, optional
        As of Worlds.
    render_mode : str, optional
        ``rgb_array``: ``render`` returns a picture of each environment; ``human``: the first one is shown in the
        browser (extra ``viewer``) at the pace of the clock, drawn by every ``reset`` and ``step``.
    width, height : int
        Of pictures.
    scene : Scene or path
        Of a SceneTask.

    Attributes
    ----------
    worlds : Worlds
    ages : ndarray (num_envs,)
        Actions since the last reset of each; written to, they spread the ends of the episodes.
    names : list of str
        What each number of an observation is, with its unit; where cameras observe too, of its ``numbers``.

    Raises
    ------
    InputError
        There is no such task.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, **RENDERING}

    def __init__(
        self, task: str | SceneTask, num_envs: int = 1, threads: int | None = None, render_mode: str | None = None,
        width: int = 480, height: int = 360, scene: Scene | str | Path = "",
    ) -> None:  # fmt: skip
        if not isinstance(task, SceneTask):
            file, task = TASKS[as_choice(task, TASKS, "task")]
            scene = f"{CONFIG}/{file}.yaml"
        self.task, self._steps, self._horizon = task, as_whole(task.steps, "steps"), as_whole(task.horizon, "horizon")
        if render_mode is not None:
            as_choice(render_mode, RENDERING["render_modes"], "render mode")
        self.worlds = Worlds(scene, num_envs, threads)
        self.num_envs, self.render_mode, self._size = num_envs, render_mode, (width, height)
        self._pictures = None if render_mode is None else Pictures(self.worlds, self.task)
        self._shown = 0.0
        self._actor = task.actions.on(self.worlds)
        self._q0 = self.worlds.q[0].copy()
        _, goal = task.start(np.random.default_rng(0), self._q0)
        self.goal = np.tile(goal, (num_envs, 1))
        seen = [about for about in task.observations if is_image(about)]
        parts = [observation(self.worlds, about, len(goal)) for about in task.observations if not is_image(about)]
        self.names, self._parts = [name for names, _ in parts for name in names], [part for _, part in parts]
        self._images = Images(self.worlds, seen) if seen else None
        self.single_observation_space: Any = Box(-LARGEST, LARGEST, (len(self.names),), np.float64)
        if self._images is not None:
            numbers = {"numbers": self.single_observation_space} if self.names else {}
            self.single_observation_space = Dict({**numbers, **self._images.spaces})
        self.single_action_space = Box(-1.0, 1.0, (self._actor.size,), np.float64)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self.ages = np.zeros(num_envs, np.int64)
        self._ended = np.zeros(num_envs, bool)
        self._draws = [np.random.default_rng() for _ in range(num_envs)]

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        """All environments to new starts; environment i draws from ``seed + i``."""
        if seed is not None:
            seeds = [seed + i for i in range(self.num_envs)] if isinstance(seed, int) else list(seed)
            self._draws = [np.random.default_rng(s) for s in seeds]
        self._begin(np.arange(self.num_envs))
        self._show()
        return self._observe(), {}

    def step(self, actions: Any) -> tuple[Any, Floats, Any, Any, dict[str, Any]]:
        """One action in every environment: ``task.steps`` steps of each world."""
        actions = np.clip(as_matrix(actions, (self.num_envs, self._actor.size), "actions"), -1.0, 1.0)
        begun = np.flatnonzero(self._ended)
        if len(begun):
            self._begin(begun)
        acting = np.ones(self.num_envs, bool)
        acting[begun] = False
        efforts = self._actor.efforts(self.worlds, actions, np.flatnonzero(acting))
        self.worlds.step(efforts, self._steps, None if len(begun) == 0 else acting)
        self.ages += acting
        told = self.task.reward(self.worlds, self.goal, actions)
        told = told if isinstance(told, dict) else {"reward": told}
        terms = {name: self._of_each(term, f"the reward's term '{name}'") for name, term in told.items()}
        failed = self.worlds.failed
        rewards = np.where(acting & ~failed, sum(terms.values()), 0.0)
        if not np.isfinite(rewards).all():
            raise InputError(f"the reward of environment {int(np.flatnonzero(~np.isfinite(rewards))[0])} is no number")
        over = np.zeros(self.num_envs) if self.task.is_over is None else self.task.is_over(self.worlds, self.goal)
        terminations = acting & (failed | self._of_each(over, "is_over").astype(bool))
        truncations = acting & ~terminations & (self.ages >= self._horizon)
        self._ended = terminations | truncations
        self._show()
        return self._observe(), rewards, terminations, truncations, {name: term.copy() for name, term in terms.items()}

    def render(self) -> tuple[NDArray[np.uint8], ...] | None:
        """A picture (height, width, 3) of each environment, or None where they are shown in the browser.

        Raises
        ------
        InputError
            The environments were made without a ``render_mode``.
        """
        if self._pictures is None:
            raise InputError(f"nothing is drawn without a render_mode: one of {', '.join(RENDERING['render_modes'])}")
        if self.render_mode == "human":
            self._pictures.show(0, self.goal[0])
            return None
        return tuple(self._pictures.frame(i, self.goal[i], *self._size) for i in range(self.num_envs))

    def _show(self):
        """The first environment in the browser, at the pace of the clock."""
        if self.render_mode == "human":
            time.sleep(max(0.0, self._shown + 1.0 / RENDERING["render_fps"] - time.perf_counter()))
            self._shown = time.perf_counter()
            self.render()

    def close_extras(self, **kwargs: Any) -> None:
        """End the worlds' threads, and what draws them."""
        if self._pictures is not None:
            self._pictures.close()
        self.worlds.close()

    def _of_each(self, values, what):
        """Numbers (num_envs,) that a function of the task has returned."""
        array = np.array(values, dtype=np.float64)
        if array.shape != (self.num_envs,):
            raise InputError(f"{what} must have one number for each world, {(self.num_envs,)}, got {array.shape}")
        return array

    def _begin(self, chosen):
        goals, q = self.goal.shape[1], np.empty((len(chosen), len(self._q0)))
        for k, i in enumerate(chosen.tolist()):
            start, goal = self.task.start(self._draws[i], self._q0)
            q[k], self.goal[i] = as_vector(start, q.shape[1], "q of a reset"), as_vector(goal, goals, "goal of a reset")
        self.worlds.reset(chosen, (q, np.zeros((1, self.worlds.v.shape[1]))))
        self._actor.begin(self.worlds, chosen)
        self.ages[chosen] = 0
        self._ended[chosen] = False

    def _observe(self):
        parts = [part(self.worlds, self.goal) for part in self._parts]
        numbers = np.clip(np.concatenate(parts, axis=1), -LARGEST, LARGEST) if parts else None
        if self._images is None:
            return numbers
        return {**({} if numbers is None else {"numbers": numbers}), **self._images.read()}


class SingleEnv(gymnasium.Env):
    """One environment of a task.

    Parameters
    ----------
    task : str or SceneTask
        One of TASKS by its name, or another (``make``).
    render_mode, width, height
        As of WorldsEnv.
    """

    metadata = dict(RENDERING)

    def __init__(
        self, task: str | SceneTask, render_mode: str | None = None, width: int = 480, height: int = 360,
        scene: Scene | str | Path = "",
    ) -> None:  # fmt: skip
        self.render_mode = render_mode
        self.vector = WorldsEnv(task, 1, 1, render_mode, width, height, scene)
        self.observation_space = self.vector.single_observation_space
        self.action_space = self.vector.single_action_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """A new start."""
        super().reset(seed=seed)
        observations, _ = self.vector.reset(seed=None if seed is None else [seed])
        return _first(observations), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """One action: ``task.steps`` steps of the world."""
        observations, rewards, terminations, truncations, terms = self.vector.step(np.asarray(action)[None])
        numbers = {name: float(term[0]) for name, term in terms.items()}
        return _first(observations), float(rewards[0]), bool(terminations[0]), bool(truncations[0]), numbers

    def render(self) -> NDArray[np.uint8] | None:
        """A picture (height, width, 3), or None where it is shown in the browser."""
        frames = self.vector.render()
        return None if frames is None else frames[0]

    def close(self) -> None:
        """End the world."""
        self.vector.close_extras()


def _first(observations: Any) -> Any:
    """The observation of the first environment."""
    if isinstance(observations, dict):
        return {name: values[0] for name, values in observations.items()}
    return observations[0]


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
    options["scene"] = scene
    return SingleEnv(task, **options) if num_envs is None else WorldsEnv(task, num_envs, **options)


def register_all() -> None:
    """Register ``mb_contact/NAME-v0`` of every task."""
    for name in TASKS:
        gymnasium.register(
            f"mb_contact/{name}-v0", entry_point="mb_contact.gym.environments:SingleEnv",
            vector_entry_point="mb_contact.gym.environments:WorldsEnv", kwargs={"task": name},
        )  # fmt: skip
