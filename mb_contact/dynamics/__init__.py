# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Checked, friendly access to the sweeps: what a robot's tree does, without contact.

``model`` is a :class:`~mb_contact.model.model.Model` or a :class:`~mb_contact.model.world.World`: anything
with a ``tree`` and named ``frames``.  Coordinates q (nq,), velocities v (N,) and efforts (N,) follow the
tree; 6-vectors are angular first, in world axes at the node's origin.  Results are the caller's;
only workspaces are kept between calls (``evaluator``).  The simulator calls the same kernels on workspaces of its own.

``joint_space``   mass matrix and its products, forward and inverse dynamics, energy
``nodes``         what a task or contact acts on: a frame, another point of it, with six rows or three
``jacobians``     of nodes: poses, Jacobians and their rates, velocities, accelerations
``operational``   operational-space compliance, inertia, dynamically consistent inverse
``derivatives``   of inverse and forward dynamics and of the operational-space compliance
``centroidal``    centre of mass, momentum, momentum matrix
"""

from mb_contact.dynamics.arguments import GRAVITY
from mb_contact.dynamics.centroidal import Centroidal, centre_of_mass, centroidal, momentum
from mb_contact.dynamics.derivatives import (
    ForwardDynamicsDerivatives,
    InverseDynamicsDerivatives,
    compliance_derivatives,
    forward_dynamics_derivatives,
    inverse_dynamics_derivatives,
)
from mb_contact.dynamics.jacobians import (
    acceleration,
    frame_pose,
    jacobian,
    jacobian_bias,
    jacobian_rate,
    velocity,
)
from mb_contact.dynamics.joint_space import (
    energy,
    forward_dynamics,
    inverse_dynamics,
    mass_log_determinant,
    mass_matrix,
    mass_solve,
    mass_times,
    nonlinear_effects,
)
from mb_contact.dynamics.nodes import Node, Point
from mb_contact.dynamics.operational import (
    RANK_TOLERANCE,
    OperationalSpace,
    consistent_inverse,
    invert_compliance,
    operational_compliance,
    operational_inertia,
    operational_space,
)

__all__ = [
    "GRAVITY",
    "RANK_TOLERANCE",
    "Centroidal",
    "ForwardDynamicsDerivatives",
    "InverseDynamicsDerivatives",
    "Node",
    "OperationalSpace",
    "Point",
    "acceleration",
    "centre_of_mass",
    "centroidal",
    "compliance_derivatives",
    "consistent_inverse",
    "energy",
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "frame_pose",
    "inverse_dynamics",
    "inverse_dynamics_derivatives",
    "invert_compliance",
    "jacobian",
    "jacobian_bias",
    "jacobian_rate",
    "mass_log_determinant",
    "mass_matrix",
    "mass_solve",
    "mass_times",
    "momentum",
    "nonlinear_effects",
    "operational_compliance",
    "operational_inertia",
    "operational_space",
    "velocity",
]
