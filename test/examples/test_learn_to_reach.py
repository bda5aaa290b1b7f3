# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The program that learns to reach: its policy earns more than it did, also in environments of their own."""

from __future__ import annotations

import runpy

import gymnasium
import numpy as np

import mb_contact.gym  # noqa: F401  registers the environments
from paths import ROOT

EXAMPLE = runpy.run_path(str(ROOT / "examples" / "learn_to_reach.py"))


def episode(weights, seed):
    """(reward, distance at the end) of a policy, in a single environment."""
    env = gymnasium.make("mb_contact/Reach-v0")
    observation, _ = env.reset(seed=seed)
    total, ended = 0.0, False
    while not ended:
        action = np.clip(np.append(observation, 1.0) @ weights, -1.0, 1.0)
        observation, reward, _, ended, terms = env.step(action)
        total += reward
    return total, -terms["distance"]


def test_a_policy_learns_and_does_outside_what_it_did_inside(tmp_path):
    lines = []
    weights, history = EXAMPLE["learn"](5, threads=1, say=lines.append)
    first, last = history[0], history[-1]
    assert [p.generation for p in history] == [0, 5] and len(lines) == 2
    assert last.rewards.mean() > 0.8 * first.rewards.mean()  # rewards are below zero
    assert np.median(last.distances) < 0.75 * np.median(first.distances)
    for k in (0, 7):
        reward, distance = episode(weights, EXAMPLE["FIRST_UNSEEN"] + k)
        np.testing.assert_allclose((reward, distance), (last.rewards[k], last.distances[k]), rtol=1e-9)
    EXAMPLE["draw"](history, tmp_path / "curve.png")
    assert (tmp_path / "curve.png").read_bytes()[:4] == b"\x89PNG"
