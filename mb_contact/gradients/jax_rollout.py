# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories as functions of JAX; only where it is installed (docs/gradients.md)."""

import jax
import numpy as np

from mb_contact.gradients.trajectory import pull_trajectory, trajectory


def jax_trajectory(sim):
    """``f(v, efforts)`` with a ``custom_vjp``: the trajectory (q, v) of ``trajectory``, in the precision of ``v``."""

    def shaped(function, shapes, like, *arguments):
        def call(*given):
            return tuple(np.asarray(x, like) for x in function(sim, *map(np.asarray, given)))

        results = tuple(jax.ShapeDtypeStruct(shape, like) for shape in shapes)
        return jax.pure_callback(call, results, *arguments, vmap_method="sequential")

    @jax.custom_vjp
    def rollout(v, efforts):
        T = efforts.shape[0] + 1
        return shaped(trajectory, ((T, len(sim.q)), (T, len(sim.v))), v.dtype, v, efforts)

    def forward(v, efforts):
        return rollout(v, efforts), (v, efforts)

    def backward(kept, bars):
        return shaped(pull_trajectory, (kept[0].shape, kept[1].shape), kept[0].dtype, *kept, *bars)

    rollout.defvjp(forward, backward)
    return rollout
