# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Manipulation tests: a scene, the controllers of a user in processes of their own, and checks in simulated time."""

from mb_contact.lazy import lazy_names

_DEFINED = {
    "quantities": (
        "action", "certificate", "distance", "energy", "force", "height", "held", "joint", "joint_effort",
        "joint_velocity", "message", "position", "slip", "speed", "tilt", "told", "touch", "wrench",
    ),
    "checks": ("Check", "Expectation", "Quantity"),
    "conditions": ("Conditions",),
    "failures": ("CheckFailed",),
    "plan": ("Plan", "load_plan"),
    "run": ("Run",),
    "trials": ("Outcome", "Trials", "run_trials", "run_worlds_trials"),
}  # fmt: skip

__getattr__, __dir__, __all__ = lazy_names(__name__, _DEFINED)
