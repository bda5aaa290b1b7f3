# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a simulation takes from ``studies/``, which is imported when a scene or a caller asks for it, never before."""

import importlib

STUDIES = {
    "FormulationStep": "formulations.scene_step",
    "RobustPivotStep": "robust_pivot",
    "PivotingStep": "drumwright.pivoting_step",
    "posed_contact_problem": "running_scene",
}


def study(name):
    """The class or function of ``mb_contact.studies`` of this name."""
    return getattr(importlib.import_module(f"mb_contact.studies.{STUDIES[name]}"), name)
