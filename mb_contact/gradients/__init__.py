# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps and rollouts through exact contact (docs/gradients.md).

``motion``    the exponential map
``cores``     shapes as points, edges and faces
``kinks``     laws near another state
``step``      the derivative of a step: ``Simulator.step_derivatives``
``rollout``   the adjoint of many steps
``recordings``  what ``mb.identify`` takes and returns
"""

from mb_contact.gradients.kinks import Kink
from mb_contact.gradients.recordings import Identified, Recording, Unknown
from mb_contact.gradients.rollout import RolloutGradient, rollout_gradient
from mb_contact.gradients.step import StepDerivatives

__all__ = ["Identified", "Kink", "Recording", "RolloutGradient", "StepDerivatives", "Unknown", "rollout_gradient"]
