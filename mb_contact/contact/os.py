# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The operational-space (OS) formulation of the contact problem, J14 Eq. 53.

    M z + q _|_ z,   z = [beta_ul; sigma],   M = [[D_ul* Lambda D_ul, E_hat], [E_bar, 0]]

with the normal row's gap term added to q (docs/contact.md).  The step solves the same problem
condensed to three rows a contact; this module writes it out, for study, for other solvers and for
judging: n_u (n_f + 2) unknowns and one for each joint limit, whatever the number of bodies.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.lcp import impulses_of, lcp_assemble, lcp_size
from mb_contact.core.workspace import Cones, make_cones
from mb_contact.errors import InputError


class ContactProblem(NamedTuple):
    """The contact problem of a step, condensed (W, q) and written out (M, h)."""

    W: np.ndarray  #: (R, R), Delassus matrix of the rows (normal, tangent 1, tangent 2; limits)
    q: np.ndarray  #: (R,), free velocity plus gap term [m/s, rad/s]
    mu: np.ndarray  #: (units,)
    dim: np.ndarray  #: int64 (units,), 3 for a contact, 1 for a joint limit
    directions: int  #: n_f
    impulses: np.ndarray  #: (R,), what the step found [N s, N m s]
    velocities: np.ndarray  #: (R,), W r + q

    @property
    def size(self):
        """Unknowns of the linear complementarity problem, n_u (n_f + 2) + limits (J14 Table 1)."""
        return int(lcp_size(self.cones()))

    def cones(self):
        """Layout of the units for the kernels.

        Raises
        ------
        InputError
            The sizes of W, q, mu and dim do not fit together.
        """
        rows = len(self.q)
        if not set(np.unique(self.dim)) <= {1, 3} or np.sum(self.dim) != rows:
            raise InputError(f"dim must hold 3 for each contact and 1 for each limit, {rows} in all, like q")
        if np.shape(self.W) != (rows, rows) or len(self.mu) != len(self.dim):
            raise InputError(f"W must be {rows} x {rows} and mu have {len(self.dim)} entries, like q and dim")
        if self.directions < 4 or self.directions % 2:
            raise InputError(f"directions must be an even number from 4 on, got {self.directions}")
        cones = make_cones(max(len(self.dim), 1), self.directions)
        cones.count[0] = len(self.dim)
        cones.rows[0] = rows
        cones.dim[: len(self.dim)] = self.dim
        cones.mu[: len(self.dim)] = self.mu
        cones.start[: len(self.dim)] = np.concatenate(([0], np.cumsum(self.dim)[:-1])) if len(self.dim) else 0
        return cones

    def lcp(self):
        """Matrix M and constant h of Eq. 53, ready for any LCP solver."""
        cones = self.cones()
        size = lcp_size(cones)
        M = np.zeros((size, size))
        h = np.zeros(size)
        W, q = as_matrix(self.W, name="W", finite=False), as_vector(self.q, name="q", finite=False)
        lcp_assemble(W, q, cones, M, h)
        return M, h

    def impulses_from(self, z):
        """Impulses of the rows (R,) from a solution z (size,) of the linear complementarity problem."""
        r = np.zeros(len(self.q))
        impulses_of(self.cones(), as_vector(z, self.size, "z", finite=False), r)
        return r


def contact_problem(cones: Cones, solution):
    """Copy of the problem that a step has just solved."""
    units, rows = int(cones.count[0]), int(cones.rows[0])
    return ContactProblem(
        W=solution.W[:rows, :rows].copy(),
        q=solution.q[:rows].copy(),
        mu=cones.mu[:units].copy(),
        dim=cones.dim[:units].copy(),
        directions=len(cones.cosine),
        impulses=solution.r[:rows].copy(),
        velocities=solution.u[:rows].copy(),
    )
