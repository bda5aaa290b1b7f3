# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A policy learns to bring the tip of an arm to goals: CMA-ES over many worlds at once (``pip install cma``).

    python examples/learn_to_reach.py                              # a minute and a half of CPU time
    python examples/learn_to_reach.py --picture curve.png          # and draws how it went
    python examples/learn_to_reach.py --show                       # and shows what was learned in the browser

The policy is linear in the observation and cut off at the largest torques.  In each generation every candidate moves
the arm from the same starts to the same goals, as many worlds as there are candidates and starts; CMA-ES (the library
``cma``) draws the next ones around those that earned most.  What is printed is the mean of its distribution, on 256
starts and goals that no candidate has seen.
"""

from __future__ import annotations

import argparse
import sys
import time
from typing import NamedTuple

import cma
import numpy as np

import mb_contact.gym as gym

TASK = "Reach"
UNSEEN = 256  #: starts on which the mean policy is judged
FIRST_UNSEEN = 1_000_000  #: seed of the first of them
CANDIDATES, STARTS = 16, 16  #: of each generation
SPREAD = 1.0  #: of the weights in the first generation
EVERY = 5  #: generations from one judgement to the next


class Progress(NamedTuple):
    """The mean policy after some generations, on starts that no candidate has seen."""

    generation: int
    steps: int  #: of all worlds, until then
    seconds: float  #: of CPU time since the start, without those for judging
    rewards: np.ndarray  #: (UNSEEN,), each the sum over an episode
    distances: np.ndarray  #: (UNSEEN,), of the tip from its goal at the end [m]


def act(weights, observations):
    """Actions (..., actions) of policies, whose ``weights`` are (..., observations and a constant, actions)."""
    return np.clip(observations @ weights[..., :-1, :] + weights[..., -1:, :], -1.0, 1.0)


def run(env, weights, seeds):
    """(rewards of whole episodes, distances at their ends), of policies (p, ...) from s starts each, (p, s)."""
    shape = len(weights), len(seeds)
    observations, _ = env.reset(seed=seeds * shape[0])
    rewards = np.zeros(env.num_envs)
    for _ in range(env.task.horizon):
        actions = act(weights, observations.reshape(*shape, -1))
        observations, reward, _, _, terms = env.step(actions.reshape(env.num_envs, -1))
        rewards += reward
    return rewards.reshape(shape), -terms["distance"].reshape(shape)


def learn(generations, threads=None, seed=1, say=print):
    """(weights of the mean policy, its Progress now and then)."""
    env, judged = (gym.WorldsEnv(TASK, n, threads) for n in (CANDIDATES * STARTS, UNSEEN))
    shape = env.single_observation_space.shape[0] + 1, env.single_action_space.shape[0]
    search = cma.CMAEvolutionStrategy(np.zeros(shape[0] * shape[1]), SPREAD,
                                      {"popsize": CANDIDATES, "seed": seed, "verbose": -9})  # fmt: skip
    history, spent = [], 0.0
    for generation in range(generations + 1):
        mean = search.mean.reshape(1, *shape)
        if generation % EVERY == 0 or generation == generations:
            rewards, distances = run(judged, mean, list(range(FIRST_UNSEEN, FIRST_UNSEEN + UNSEEN)))
            steps = generation * env.num_envs * env.task.horizon * env.task.steps
            history.append(Progress(generation, steps, spent, rewards[0], distances[0]))
            say(f"{generation:4d} generations {steps / 1e6:7.1f} million steps {spent:6.1f} s CPU  reward "
                f"{rewards.mean():7.1f}  distance at the end, median {np.median(distances):.3f} m")  # fmt: skip
        if generation < generations:
            begun = time.process_time()
            candidates = search.ask()
            seeds = list(range(generation * STARTS, (generation + 1) * STARTS))
            rewards, _ = run(env, np.reshape(candidates, (CANDIDATES, *shape)), seeds)
            search.tell(candidates, (-rewards.mean(axis=1)).tolist())
            spent += time.process_time() - begun
    env.close()
    judged.close()
    return mean[0], history


def draw(history, path):
    """Reward and distance over the steps of all worlds: medians, and the middle half of the unseen starts."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 3.2), layout="constrained")
    FigureCanvasAgg(figure)
    steps = [progress.steps / 1e6 for progress in history]
    for axes, name, words in zip(figure.subplots(1, 2), ("rewards", "distances"),
                                 ("reward of an episode", "distance at its end [m]")):  # fmt: skip
        low, middle, high = np.percentile([getattr(progress, name) for progress in history], (25, 50, 75), axis=1)
        axes.fill_between(steps, low, high, alpha=0.25, linewidth=0.0)
        axes.plot(steps, middle)
        axes.set(xlabel="steps of all worlds [million]", ylabel=words)
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=110)


def show(weights, episodes=10):
    """Episodes of the policy in the browser."""
    env = gym.WorldsEnv(TASK, 1, render_mode="human")
    for episode in range(episodes):
        run(env, weights[None], [FIRST_UNSEEN + episode])
    env.close()


def main(argv=None):
    """Learn; the exit code says whether the policy of the end earns more than that of the beginning."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--generations", type=int, default=150)
    parser.add_argument("--threads", type=int, help="by default as many as there are processors")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--picture", metavar="FILE", help="draw the learning curve")
    parser.add_argument("--show", action="store_true", help="show the policy in the browser in the end")
    options = parser.parse_args(argv)
    weights, history = learn(options.generations, options.threads, options.seed)
    if options.picture:
        draw(history, options.picture)
    if options.show:
        show(weights)
    return 0 if history[-1].rewards.mean() > history[0].rewards.mean() else 1


if __name__ == "__main__":
    sys.exit(main())
