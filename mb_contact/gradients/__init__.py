# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps through exact contact (docs/gradients.md)."""

from mb_contact.gradients.laws import Kink
from mb_contact.gradients.motion import displacement, step_map
from mb_contact.gradients.rollout import PARAMETERS, RolloutGradient, rollout_gradient
from mb_contact.gradients.step import NAMES, NEAR, Differentiator, StepDerivatives

__all__ = [
    "NAMES",
    "NEAR",
    "PARAMETERS",
    "Differentiator",
    "Kink",
    "RolloutGradient",
    "StepDerivatives",
    "displacement",
    "rollout_gradient",
    "step_map",
]
