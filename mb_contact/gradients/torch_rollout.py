# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Trajectories as functions of PyTorch; only where it is installed (docs/gradients.md)."""

import torch

from mb_contact.gradients.trajectory import pull_trajectory, trajectory


class Trajectory(torch.autograd.Function):
    """``Trajectory.apply(v, efforts, sim)``: the trajectory (q, v) of ``trajectory``, in the precision of ``v``."""

    @staticmethod
    def forward(ctx, v, efforts, sim):
        """States of the rollout."""
        ctx.sim = sim
        ctx.save_for_backward(v, efforts)
        return tuple(torch.as_tensor(x, dtype=v.dtype) for x in trajectory(sim, *map(_numbers, (v, efforts))))

    @staticmethod
    def backward(ctx, q_bar, v_bar):
        """The adjoint."""
        given = map(_numbers, (*ctx.saved_tensors, q_bar, v_bar))
        found = pull_trajectory(ctx.sim, *given)
        return *(torch.as_tensor(x, dtype=q_bar.dtype) for x in found), None


def _numbers(tensor):
    return tensor.detach().cpu().double().numpy()
