# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Environments follow Gymnasium's rules, and many in one give what single ones give.

Covers gym/images.py, gym/tasks.py.
"""

from __future__ import annotations

import warnings

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import mb_contact.gym as gym


@pytest.mark.parametrize("name", gym.TASKS)
def test_single_environments_pass_gymnasium_s_check(name):
    env = gymnasium.make(f"mb_contact/{name}-v0", disable_env_checker=True)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_env(env.unwrapped, skip_render_check=True)
    assert len(env.unwrapped.vector.names) == env.observation_space.shape[0]


@pytest.mark.parametrize("name", gym.TASKS)
def test_many_in_one_are_single_ones(name):
    many, one = gym.WorldsEnv(name, 3, threads=2), gym.SingleEnv(name)
    first, _ = many.reset(seed=5)
    np.testing.assert_array_equal(one.reset(seed=7)[0], first[2])
    rng = np.random.default_rng(0)
    for _ in range(4):
        actions = rng.uniform(-1.0, 1.0, many.action_space.shape)
        observations, rewards, terminations, truncations, terms = many.step(actions)
        observation, reward, terminated, truncated, _ = one.step(actions[2])
        np.testing.assert_array_equal(observations[2], observation)
        assert rewards[2] == reward == pytest.approx(sum(term[2] for term in terms.values()))
        assert terminations[2] == terminated and truncations[2] == truncated
    many.close()


def bend(env, goal):
    """Angles of the arm whose tip is at a goal (2,), by the law of cosines."""
    far, half = np.linalg.norm(goal), 0.5
    elbow = np.arccos((far**2 - 2.0 * half**2) / (2.0 * half**2))
    return np.arctan2(goal[1], goal[0]) - 0.5 * elbow, elbow


def meet(env):
    """Put every world where its task wants it."""
    scene = env.worlds.scene.path.stem
    for w, goal in enumerate(env.goal):
        if scene == "planar_reach":
            env.worlds.q[w] = bend(env, goal)
        elif scene == "push_box":
            env.worlds.q[w, 2:4] = goal
        elif scene == "peg_in_hole":
            env.worlds.q[w] = -0.004, -0.003, -0.07  # from where the hand is made
    env.worlds.refresh()


@pytest.mark.parametrize("name, terms", [("Reach", ["distance"]), ("Push", ["box to goal"]),
                                         ("PegInHole", ["beside", "height"])])  # fmt: skip
def test_a_goal_can_be_met_and_then_costs_nothing(name, terms):
    env = gym.WorldsEnv(name, 16, threads=1)
    env.reset(seed=2)
    zero = np.zeros(env.action_space.shape)
    before = env.task.reward(env.worlds, env.goal, zero)
    meet(env)
    after = env.task.reward(env.worlds, env.goal, zero)
    for term in terms:
        assert (before[term] < -0.01).all() and np.abs(after[term]).max() < 1e-12, term


def test_an_episode_that_ends_begins_anew_with_the_next_step():
    env = gym.WorldsEnv("Stand", 2, threads=1)
    env.reset(seed=1)
    env.worlds.q[1, 3:7] = 1.0, 0.0, 0.0, 0.0  # on its back
    env.worlds.q[1, 2] = 1.0
    _, _, terminations, truncations, _ = env.step(np.zeros((2, 12)))
    assert terminations.tolist() == [False, True] and not truncations.any()
    observations, rewards, terminations, _, _ = env.step(np.ones((2, 12)))
    assert rewards[1] == 0.0 and not terminations.any() and env.worlds.times()[1] == 0.0
    assert observations[1, env.names.index("up in the trunk's z")] == pytest.approx(1.0)
    for _ in range(env.task.horizon - 2):
        _, _, _, truncations, _ = env.step(np.zeros((2, 12)))
    assert truncations.tolist() == [True, False]


def test_a_task_that_does_not_exist_is_refused():
    with pytest.raises(gym.environments.InputError, match="no task 'Dance'; choose one of Reach"):
        gym.WorldsEnv("Dance")
