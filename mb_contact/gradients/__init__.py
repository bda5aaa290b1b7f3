# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps and rollouts through exact contact (docs/gradients.md).

``motion``    the exponential map
``cores``     shapes as points, edges and faces
``kinks``     laws near another state
``step``      the derivative of a step: ``Simulator.step_derivatives``
``midpoint``  smooth steps of the implicit midpoint rule
``rollout``   the adjoint of many steps
``tape``, ``impacts``  steps with impacts, stage by stage
``trajectory``  trajectories and their cotangents; ``jax_rollout`` and ``torch_rollout`` for these libraries
``recordings``  what ``mb.identify`` takes and returns
"""

from mb_contact.gradients.kinks import Kink
from mb_contact.gradients.recordings import Identified, Recording, Unknown
from mb_contact.gradients.rollout import RolloutGradient, rollout_gradient
from mb_contact.gradients.step import StepDerivatives
from mb_contact.gradients.trajectory import pull_trajectory, trajectory

__all__ = ["Identified", "Kink", "Recording", "RolloutGradient", "StepDerivatives", "Unknown", "pull_trajectory",
           "rollout_gradient", "trajectory"]  # fmt: skip
