# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Where the names are, for type checkers and editors."""

from mb_contact import control, dynamics, gradients, model, simulation, solvers, studies, surfaces, worlds
from mb_contact.dynamics import (
    Node,
    Point,
    energy,
    forward_dynamics,
    forward_dynamics_derivatives,
    frame_pose,
    inverse_dynamics,
    jacobian,
    mass_matrix,
    operational_compliance,
    operational_space,
)
from mb_contact.errors import (
    CollisionError,
    CommunicationError,
    DynamicsError,
    InputError,
    MbContactError,
    ModelError,
    SceneError,
    SolverError,
)
from mb_contact.gradients import rollout_gradient
from mb_contact.identification import identify
from mb_contact.model import Model, Scene, World, build_world, load_scene, load_urdf
from mb_contact.model.builtin.pendulum import pendulum
from mb_contact.simulation import Certificate, Simulator, State, Step
from mb_contact.simulation.surfaces.simulator import surface_simulator
from mb_contact.solvers import solve_friction, solve_lcp
from mb_contact.viewer.loop import show
from mb_contact.worlds import Worlds, rollout

__version__: str

__all__ = [
    "Certificate",
    "CollisionError",
    "CommunicationError",
    "DynamicsError",
    "InputError",
    "MbContactError",
    "Model",
    "ModelError",
    "Node",
    "Point",
    "Scene",
    "SceneError",
    "Simulator",
    "SolverError",
    "State",
    "Step",
    "World",
    "Worlds",
    "__version__",
    "build_world",
    "control",
    "dynamics",
    "energy",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_pose",
    "gradients",
    "identify",
    "inverse_dynamics",
    "jacobian",
    "load_scene",
    "load_urdf",
    "mass_matrix",
    "model",
    "operational_compliance",
    "operational_space",
    "pendulum",
    "rollout",
    "rollout_gradient",
    "show",
    "simulation",
    "solve_friction",
    "solve_lcp",
    "solvers",
    "studies",
    "surface_simulator",
    "surfaces",
    "worlds",
]
