# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Worlds in Ray actors: the same bits as in one process, also where an actor is killed."""

from __future__ import annotations

import numpy as np
import pytest

ray = pytest.importorskip("ray", reason="Ray is not installed")

import mb_contact as mb  # noqa: E402
from mb_contact.distributed import RemoteWorlds, rollout  # noqa: E402

SCENE = "package://mb_contact/config/box_stack.yaml"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", autouse=True)
def cluster():
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


def test_two_actors_of_which_one_is_killed_lose_nothing():
    worlds, done = mb.Worlds(SCENE, 5, threads=1), []
    states = np.tile(worlds.q, 1), np.random.default_rng(0).uniform(-0.2, 0.2, worlds.v.shape)
    worlds.reset(None, states)
    remote = RemoteWorlds(SCENE, 5, actors=2, progress=lambda k, n: done.append((k, n)))
    remote.reset(None, states)
    remote.step(steps=20)
    worlds.step(steps=20)
    ray.kill(remote.actors[1])
    remote.step(steps=20)
    worlds.step(steps=20)
    np.testing.assert_array_equal(remote.q, worlds.q)
    np.testing.assert_array_equal(remote.v, worlds.v)
    assert remote.restarts == 1 and remote.failures == {} and done[-1] == (2, 2)
    saved = remote.save()
    remote.step()
    remote.restore(saved)
    np.testing.assert_array_equal(remote.q, worlds.q)
    mask = np.array([True, False, False, False, True])
    remote.reset(mask)
    worlds.reset(mask)
    np.testing.assert_array_equal(remote.q, worlds.q)
    remote.close()


def test_a_rollout_is_that_of_one_process():
    scene, controls = mb.pendulum(2).scene(), np.random.default_rng(1).uniform(-1.0, 1.0, (5, 30, 2))
    start = [0.1, 0.2], [0.0, 0.0]
    far, near = rollout(scene, start, controls), mb.rollout(scene, start, controls)
    np.testing.assert_array_equal(far.q, near.q)
    np.testing.assert_array_equal(far.residual, near.residual)
