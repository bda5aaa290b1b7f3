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
    "ContactProblem": "contact.os",
    "certify": "contact.certificate",
    "StepProblem": "contact.step_problem",
    "ContactPoint": "contact.step_problem",
    "JointLimit": "contact.step_problem",
    "LoopClosure": "contact.loops",
    "formulate": "contact.formulations",
    "contact_step": "contact.formulations",
    "StepSolution": "contact.formulation",
    "FormulationCertificate": "contact.certificate",
    "certify_formulation": "contact.certificate",
    "collide": "contact.collisions",
    "two_phases": "contact.collisions",
    "Collision": "contact.collisions",
    "step_problem": "simulation.study",
    "PointContacts": "contact.point_contacts",
    "point_contacts": "contact.point_contacts",
    "Bilateral": "contact.point_contacts",
    "bilateral": "contact.point_contacts",
    "FrictionSystem": "contact.friction_system",
    "FrictionModelResult": "contact.friction_system",
    "no_slip_step": "contact.no_slip",
    "viscous_acceleration": "contact.viscous",
    "viscous_step": "contact.viscous",
    "coulomb_viscous_acceleration": "contact.coulomb_viscous",
    "coulomb_viscous_step": "contact.coulomb_viscous",
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
