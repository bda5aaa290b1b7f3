# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Minimal-coordinate operational-space contact dynamics of robots that touch things.

>>> import mb_contact as mb
>>> sim = mb.Simulator(mb.load_scene("scene.yaml"))
>>> step = sim.step()
>>> step.certificate.complementarity_gap

Names are imported when first used, so ``import mb_contact`` itself is quick.
"""

from __future__ import annotations

import importlib

__version__ = "0.1.0"

_WHERE = {
    "Model": "model.model",
    "load_urdf": "model.urdf",
    "Scene": "model.scene",
    "load_scene": "model.scene_yaml",
    "Pendulum": "model.pendulum",
    "pendulum": "model.pendulum",
    "World": "model.world",
    "build_world": "model.world",
    "mass_matrix": "dynamics",
    "mass_times": "dynamics",
    "mass_solve": "dynamics",
    "mass_log_determinant": "dynamics",
    "inverse_dynamics": "dynamics",
    "nonlinear_effects": "dynamics",
    "forward_dynamics": "dynamics",
    "energy": "dynamics",
    "Node": "dynamics",
    "Point": "dynamics",
    "frame_pose": "dynamics",
    "jacobian": "dynamics",
    "jacobian_rate": "dynamics",
    "jacobian_bias": "dynamics",
    "velocity": "dynamics",
    "acceleration": "dynamics",
    "operational_compliance": "dynamics",
    "operational_inertia": "dynamics",
    "operational_space": "dynamics",
    "consistent_inverse": "dynamics",
    "OperationalSpace": "dynamics",
    "Centroidal": "dynamics",
    "centroidal": "dynamics",
    "centre_of_mass": "dynamics",
    "momentum": "dynamics",
    "solve_lcp": "solvers",
    "principal_pivoting": "solvers.principal",
    "modified_principal_pivoting": "solvers.principal",
    "LcpResult": "solvers",
    "solve_friction": "solvers",
    "FrictionResult": "solvers",
    "ConeLayout": "solvers",
    "lcp_residual": "solvers",
    "cone_residual": "solvers",
    "ContactProblem": "studies.formulations.os",
    "certify": "studies.formulations.certificate",
    "StepProblem": "studies.formulations.step_problem",
    "ContactPoint": "studies.formulations.step_problem",
    "JointLimit": "studies.formulations.step_problem",
    "LoopClosure": "studies.formulations.loops",
    "formulate": "studies.formulations.catalogue",
    "contact_step": "studies.formulations.catalogue",
    "StepSolution": "studies.formulations.formulation",
    "FormulationCertificate": "studies.formulations.certificate",
    "certify_formulation": "studies.formulations.certificate",
    "collide": "studies.impact_laws",
    "two_phases": "studies.impact_laws",
    "Collision": "studies.impact_laws",
    "step_problem": "studies.running_scene",
    "PointContacts": "studies.drumwright.point_contacts",
    "point_contacts": "studies.drumwright.point_contacts",
    "Bilateral": "studies.drumwright.point_contacts",
    "bilateral": "studies.drumwright.point_contacts",
    "FrictionSystem": "studies.drumwright.friction_system",
    "FrictionModelResult": "studies.drumwright.friction_system",
    "no_slip_step": "studies.drumwright.no_slip",
    "viscous_acceleration": "studies.drumwright.viscous",
    "viscous_step": "studies.drumwright.viscous",
    "coulomb_viscous_acceleration": "studies.drumwright.coulomb_viscous",
    "coulomb_viscous_step": "studies.drumwright.coulomb_viscous",
    "Surface": "surfaces.surface",
    "SurfaceContact": "surfaces.contact",
    "SurfaceBody": "surfaces.bodies",
    "SurfaceBase": "surfaces.bodies",
    "SurfaceMotion": "surfaces.motion",
    "SurfaceTree": "surfaces.tree",
    "ContactJoint": "surfaces.tree",
    "SurfaceSimulator": "simulation.surface_simulator",
    "SurfaceTreeSimulator": "simulation.surface_tree_simulator",
    "surface_simulator": "simulation.surface_tree_simulator",
    "Simulator": "simulation.simulator",
    "Certificate": "simulation.results",
    "Step": "simulation.results",
    "State": "simulation.results",
    "SurfaceState": "simulation.results",
    "initial_penetrations": "simulation.initial",
    "MbContactError": "errors",
    "InputError": "errors",
    "ModelError": "errors",
    "SceneError": "errors",
    "CollisionError": "errors",
    "DynamicsError": "errors",
    "SolverError": "errors",
    "CommunicationError": "errors",
}

__all__ = ["__version__", *_WHERE]


def __getattr__(name):
    if name not in _WHERE:
        raise AttributeError(f"module 'mb_contact' has no attribute '{name}'")
    value = getattr(importlib.import_module(f"mb_contact.{_WHERE[name]}"), name)
    globals()[name] = value
    return value


def __dir__():
    return sorted(__all__)
