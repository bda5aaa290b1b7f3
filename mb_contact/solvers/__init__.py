# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Bare complementarity problems.  They know nothing of robots.

``lcp``: linear problems, with or without bounds; ``blocks``: the simulator's solver on any blocks of rows;
``friction``: contact on exact cones; ``residuals``: the judges; ``infeasible``: proofs that there is no solution.
"""

from mb_contact.solvers.blocks import BlockSolution, solve_blocks
from mb_contact.solvers.friction import FrictionResult, solve_friction
from mb_contact.solvers.layout import ConeLayout
from mb_contact.solvers.lcp import METHODS, LcpResult, solve_lcp
from mb_contact.solvers.residuals import ConeResidual, LcpResidual, cone_residual, lcp_residual

__all__ = [
    "METHODS",
    "BlockSolution",
    "ConeLayout",
    "ConeResidual",
    "FrictionResult",
    "LcpResidual",
    "LcpResult",
    "cone_residual",
    "lcp_residual",
    "solve_blocks",
    "solve_friction",
    "solve_lcp",
]
