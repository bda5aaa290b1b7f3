# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories and their cotangents, alone and through JAX and PyTorch where these are installed.

Covers gradients/jax_rollout.py, gradients/torch_rollout.py, gradients/trajectory.py.
"""

import numpy as np
import pytest

import mb_contact as mb

M = mb.model


@pytest.fixture(scope="module")
def ball():
    """A ball that slides and rolls on the ground."""
    body = M.Primitive("ball", "sphere", (0.1,), M.Pose((0, 0, 0.1 - 1e-9)), "free", 1.0)
    sim = mb.Simulator(mb.Scene(primitives=(body,), ground=M.Ground()))
    sim.reset()
    return sim


V = np.array([0.3, 0.2, 0.1, 0.5, -0.4, 0.0])


def weights(T):
    rng = np.random.default_rng(2)
    return rng.normal(size=(T + 1, 7)), rng.normal(size=(T + 1, 6))


def value(sim, v, T):
    a, b = weights(T)
    q, v = mb.gradients.trajectory(sim, v, np.zeros((T, 0)))
    return (a * q).sum() + (b * v).sum()


def test_cotangents_of_quaternions_beside_differences(ball):
    T, h = 12, 1e-6
    found, _ = mb.gradients.pull_trajectory(ball, V, np.zeros((T, 0)), *weights(T))
    by = [(value(ball, V + d, T) - value(ball, V - d, T)) / (2 * h) for d in h * np.eye(6)[[0, 1, 2, 3, 4]]]
    np.testing.assert_allclose(found[:5], by, rtol=1e-6, atol=1e-6)


def test_jax(ball):
    jax = pytest.importorskip("jax")
    from mb_contact.gradients.jax_rollout import jax_trajectory

    jax.config.update("jax_enable_x64", True)
    T, f = 12, jax_trajectory(ball)
    a, b = weights(T)

    def loss(v):
        q, v = f(v, np.zeros((T, 0)))
        return (a * q).sum() + (b * v).sum()

    found = jax.jit(jax.grad(loss))(jax.numpy.asarray(V))
    np.testing.assert_allclose(found, mb.gradients.pull_trajectory(ball, V, np.zeros((T, 0)), a, b)[0], rtol=1e-12)


def test_torch(ball):
    torch = pytest.importorskip("torch")
    from mb_contact.gradients.torch_rollout import Trajectory

    T, v = 12, torch.tensor(V, requires_grad=True)
    a, b = weights(T)
    q, rates = Trajectory.apply(v, torch.zeros((T, 0), dtype=torch.double), ball)
    ((torch.as_tensor(a) * q).sum() + (torch.as_tensor(b) * rates).sum()).backward()
    np.testing.assert_allclose(v.grad, mb.gradients.pull_trajectory(ball, V, np.zeros((T, 0)), a, b)[0], rtol=1e-12)
