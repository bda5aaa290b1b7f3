# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps with embedded loops, by those of a twin whose loops are rows.

From the same closed state both take the same step, to where loops are closed again (core/tree/embedding.py).  With the
rows G of closures and gears, and their dependent (d) and independent (i) coordinates,

    dq_d = -G_d^-1 G_i dq_i,    dv_d = -G_d^-1 (G_i dv_i + (dG dq) v)

behind the step.  A state that is set has such coordinates, and of velocities those that G allows and that are nearest
in the kinetic metric,

    dv := dv - M^-1 G* (G M^-1 G*)^-1 (G dv + (dG dq) v).
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.tree.embedding import reduced_rows
from mb_contact.core.tree_workspace import make_aggregates_handle
from mb_contact.core.workspace import EQUALITY
from mb_contact.errors import InputError
from mb_contact.gradients.impacts import Phase
from mb_contact.gradients.refusals import has_impacts

SAME = 1e-9  #: relative difference of velocities of both that is rounding, and what rows correct
RANK = 1e-6  #: part of the largest singular value of rows below which they follow from others


class Closed(NamedTuple):
    """Loops at a state in which they are closed; R rows."""

    G: Any  #: (R, N) of closures and gears
    by_q: Any  #: (R, N) derivative of G v by q
    along: Any  #: (N, N) how coordinates follow independent ones, and velocities at fixed coordinates
    bent: Any  #: (N, N) and velocities by coordinates, at fixed independent velocities


class EmbeddedStep:
    """The last step of a context with embedded loops.

    Parameters
    ----------
    context : StepContext
    take : callable
        Takes the same step with loops as rows; returns its Simulator.
    """

    def __init__(self, context, take):
        self._c, self._take, self._parts = context, take, context.aggregate_arrays()
        self._aggregates = make_aggregates_handle(self._parts)
        self.twin = None  #: Simulator behind the step
        self.units: dict[str, Any] = {}  #: how coordinates and velocities at the start follow those set, (N, columns)
        self.wrenches = None  #: derivatives of those of contacts on A about the world's origin, but of impacts

    def solve(self, names, near):
        """(matrix (2, N, columns), impulses, columns, unique) as of ``Differentiator.solve``."""
        self.twin = self._take()
        c, d, last = self._c, self.twin.differentiator(), self._c.last
        if np.abs(self.twin.v - c.work.v_next).max() > SAME * max(1.0, np.abs(c.v).max()):
            raise InputError("no derivative of a step with embedded loops that is another one with rows; set loops: "
                             "multipliers")  # fmt: skip
        wanted = {name: None for name in ("q", "v", *names)}
        matrix, impulses, own, unique = d.solve(tuple(wanted), near)
        wrenches = None if has_impacts(d.context) else d.row_impulses(matrix.shape[2])[1]
        N, closed, M = c.N, *self._closed(d, last.q, last.v)
        q, v = (slice(own[name].start, own[name].start + N) for name in ("q", "v"))
        pushed = np.linalg.solve(M, closed.G.T)
        back = pushed @ np.linalg.pinv(closed.G @ pushed, rcond=RANK, hermitian=True)
        fitted, bent = np.eye(N) - back @ closed.G, -back @ closed.by_q @ closed.along
        units = np.zeros((2, N, matrix.shape[2]))
        units[0, :, q] = units[1, :, v] = np.eye(N)
        for part in (*matrix, *units, impulses, *(() if wrenches is None else (wrenches,))):
            part[..., q], part[..., v] = part[..., q] @ closed.along + part[..., v] @ bent, part[..., v] @ fitted
        end, _ = self._closed(d, c.q, c.v)
        matrix[0] = end.along @ matrix[0]
        matrix[1] = end.along @ matrix[1] + end.bent @ matrix[0]
        kept = [name for name in own if name in names]
        chosen = np.concatenate([np.arange(own[name].start, own[name].stop) for name in kept] or [np.zeros(0, int)])
        self.units = dict(zip("qv", units[..., chosen], strict=True))
        self.wrenches = None if wrenches is None else wrenches[..., chosen]
        return matrix[..., chosen], impulses[..., chosen], unique

    def _closed(self, d, q, v):
        """Closed at coordinates q and velocities v, and the mass matrix there (N, N)."""
        G, by_q = self._rows(d, q, v)
        along, bent, mine = np.eye(self._c.N), np.zeros((self._c.N, self._c.N)), np.zeros(len(G), bool)
        g, kin = self._parts, d.start[0].kin
        for i, part in enumerate(self._c.parts):
            if not (part.closures or part.gears):  # a flexible link
                continue
            dofs = g.dof[g.first_dof[i] : g.first_dof[i + 1]]
            reduced_rows(self._c.tree, kin, self._aggregates, i)
            own = G[:, dofs].any(axis=1)
            mine |= own
            dependent = dofs[g.dependent[: len(dofs)] == 1]
            independent = np.setdiff1d(dofs, dependent)
            inverse = -np.linalg.pinv(G[own][:, dependent], rcond=RANK)
            along[dependent] = 0.0
            along[np.ix_(dependent, independent)] = inverse @ G[own][:, independent]
            bent[dependent] = inverse @ by_q[own]
        return Closed(G[mine], by_q[mine], along, bent), d.mass_matrix()

    def _rows(self, d, q, v):
        """G (rows, N) of loops and gears at closed coordinates q, and the derivative of G v by q."""
        c = self.twin.context
        kept = c.last, c.v.copy(), c.contacts.count[0], c.rows.end[0]
        try:
            c.last, c.v[:], c.contacts.count[0], c.rows.end[0] = c.last._replace(q=q, v=v), v, 0, 0
            d.phase = Phase()
            G, by_q = d.rows(v, np.zeros(c.N), c.gravity)
            holds = c.rows.law[int(c.bilateral.info[FIRST]) :][: len(G)] == EQUALITY
            return G[holds], by_q[holds]
        finally:
            d.phase, (c.last, c.v[:], c.contacts.count[0], c.rows.end[0]) = None, kept
