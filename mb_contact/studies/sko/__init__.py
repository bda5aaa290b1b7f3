# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SKO models (J11) as executable mathematics: spatial operators as plain NumPy matrices, and their recursions.

An SKO model is a tree of nodes, a weight A(p(k), k) on every edge, hinge maps H(k) and inertias M(k).
Nothing is assumed about them beyond that: nodes differ in size, weights may be singular or non-square, a
node may stand for several bodies and a body for several nodes, and nodes may be numbered in any order.
Everything exists twice: as dense operator products, O(n^3), and as gather and scatter recursions.  This is
the reference of the compiled kernels, and slow; ``docs/spatial_operators.md`` walks through it with the
paper in hand.

>>> from mb_contact.studies import sko
>>> model = sko.rigid_tree(robot, q, v)
>>> sko.mass_matrix(model), sko.forward_dynamics(model, effort)
"""

from mb_contact.studies.sko.aggregation import aggregate, constraint_map, split_hinges
from mb_contact.studies.sko.augmented import (
    Blocks,
    augmented_system,
    blocks,
    eliminate_abm,
    eliminate_crbm,
    eliminate_modified_abm,
    grouped_system,
)
from mb_contact.studies.sko.composite import composite_inertias, mass_matrix, mass_matrix_terms
from mb_contact.studies.sko.diagonal import (
    diagonal_acceleration,
    diagonal_coriolis,
    diagonal_velocity,
    mass_rate,
    mass_root,
    prescribed_dynamics,
)
from mb_contact.studies.sko.digraph import TreeDigraph
from mb_contact.studies.sko.factors import (
    MassFactors,
    forward_dynamics,
    forward_dynamics_operators,
    log_det_mass,
    mass_factors,
    mass_inverse,
)
from mb_contact.studies.sko.flexible import flexible_tree
from mb_contact.studies.sko.identities import identities
from mb_contact.studies.sko.lyapunov import (
    backward_block,
    backward_lyapunov,
    backward_product,
    backward_terms,
    forward_lyapunov,
    forward_product,
    forward_terms,
    serial_product,
)
from mb_contact.studies.sko.model import Motion, SkoModel
from mb_contact.studies.sko.operational import compliance_kernel, omega, operational_compliance, operational_inertia
from mb_contact.studies.sko.operators import Spo, block_diag
from mb_contact.studies.sko.pattern import expand, mass_pattern, segment_spo, sko_pattern, spo_pattern, text_picture
from mb_contact.studies.sko.riccati import Articulated, riccati
from mb_contact.studies.sko.rigid import frame_picks, pickoff, rigid_tree

__all__ = [
    "Articulated",
    "Blocks",
    "MassFactors",
    "Motion",
    "SkoModel",
    "Spo",
    "TreeDigraph",
    "aggregate",
    "augmented_system",
    "backward_block",
    "backward_lyapunov",
    "backward_product",
    "backward_terms",
    "block_diag",
    "blocks",
    "compliance_kernel",
    "composite_inertias",
    "constraint_map",
    "diagonal_acceleration",
    "diagonal_coriolis",
    "diagonal_velocity",
    "eliminate_abm",
    "eliminate_crbm",
    "eliminate_modified_abm",
    "expand",
    "flexible_tree",
    "forward_dynamics",
    "forward_dynamics_operators",
    "forward_lyapunov",
    "forward_product",
    "forward_terms",
    "frame_picks",
    "grouped_system",
    "identities",
    "log_det_mass",
    "mass_factors",
    "mass_inverse",
    "mass_matrix",
    "mass_matrix_terms",
    "mass_pattern",
    "mass_rate",
    "mass_root",
    "omega",
    "operational_compliance",
    "operational_inertia",
    "pickoff",
    "prescribed_dynamics",
    "riccati",
    "rigid_tree",
    "segment_spo",
    "serial_product",
    "sko_pattern",
    "split_hinges",
    "spo_pattern",
    "text_picture",
]
