# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the derivatives of flows have in common: what acts in them, and how that follows the columns.

Kinds of flows: ``midpoint.py``, ``runge_kutta.py``.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.gradients.readings import carried_efforts
from mb_contact.core.gradients.step import mass_wrench


class Held(NamedTuple):
    """Constant forces of a flow, those of the impulses of its rows."""

    force: Any  #: (n, 6) on bodies about their origins, world axes [N m, N]
    by: Any  #: (n, 6, columns)
    joint: Any  #: (N,) on joints [N m, N]
    by_joint: Any  #: (N, columns)


class Start(NamedTuple):
    """Where a flow begins, which impacts have moved."""

    q: Any  #: (nq,)
    v: Any  #: (N,)
    by_q: Any  #: (N, columns)
    by_v: Any  #: (N, columns)


class Flow:
    """A flow over the last step of a Differentiator's context, without impulses or with those that it has held.

    Parameters
    ----------
    differentiator : Differentiator
    columns : dict of str to slice
    width : int
        Of all columns.
    start : Start
        Its derivatives have as many columns or fewer.
    v_end : ndarray (N,)
        Where the flow ends.
    held : Held, optional
    """

    def __init__(self, differentiator, columns, width, start, v_end, held=None):
        self._g, self._start = differentiator, start
        self._c, self._columns, self._width = differentiator.context, columns, width
        self._d, self._handle = differentiator.start
        self._q, self._v, (_, _, self._gravity, self._dt) = start.q, start.v, self._c.last
        self.v_end = v_end
        N, n = self._c.N, self._c.n
        self._held = held or Held(np.zeros((n, 6)), np.zeros((n, 6, width)), np.zeros(N), np.zeros((N, width)))
        self.work, self.by_work = np.zeros(n), np.zeros((n, width))  #: of held forces on bodies, at roots of trees [J]

    def unit(self, name):
        """Derivative (N, columns) of the coordinates or velocities at the start."""
        out, by = np.zeros((self._c.N, self._width)), self._start.by_q if name == "q" else self._start.by_v
        out[:, : by.shape[1]] = by
        return out

    def efforts(self):
        """Derivative (N, columns) of the commanded efforts that act."""
        c, out = self._c, np.zeros((self._c.N, self._width))
        if "effort" in self._columns:
            rows = np.asarray(c.world.joint_v)
            acts = (np.abs(c.effort[rows]) < c.tree.effort_limit[rows]) & (c.joints.saturation[rows] == 0.0)
            out[rows, self._columns["effort"].start + np.arange(len(rows))] = acts
        return out

    def twists(self):
        """Twists (N, n, 6) of bodies by each degree of freedom where the dynamics were evaluated last."""
        tree, d = self._c.tree, self._d
        out = np.zeros((self._c.N, len(tree.parent), 6))
        for k, parent in enumerate(tree.parent):
            if parent >= 0:
                out[:, k] = out[:, parent]
            dofs = slice(tree.v_start[k], tree.v_start[k] + tree.nv[k])
            out[dofs, k] = d.S[dofs]
        return out

    def masses(self):
        """Efforts (N, n) per mass of each body."""
        felt = np.array([mass_wrench(self._handle, k) for k in range(len(self._c.tree.parent))])
        return np.einsum("ikj,kj->ik", self.twists(), felt)

    def forces(self, outside=True):
        """Efforts (N,) of wrenches on bodies and joints, derivatives by q (N, N) and at fixed q (N, columns)."""
        c, N, still = self._c, self._c.N, np.zeros((self._c.N, self._width))
        by_q, given, efforts, force = np.zeros((N, N)), np.zeros((N, self._width)), np.zeros(N), self.acting(outside)
        if force.any() or self._held.by.any():
            n, by = len(force), self._held.by.copy()
            carried_efforts(self._handle, still, np.zeros((n, 6)), by, np.zeros_like(by), given)
            carried_efforts(self._handle, np.eye(N), force, np.zeros((n, 6, N)), np.zeros((n, 6, N)), by_q)
            body = np.repeat(np.arange(n), c.tree.nv)
            efforts = np.einsum("ij,ij->i", self._d.S, force[body])  # of whole subtrees now
        return efforts + self._held.joint, by_q, given + self._held.by_joint

    def acting(self, outside=True):
        """Wrenches (n, 6) on bodies, of impulses and from outside."""
        return self._c.work.external * outside + self._held.force

    def inverse_dynamics(self, a):
        """Efforts (N,) at the acceleration a, of the state that was evaluated last."""
        body = np.repeat(np.arange(len(self._c.tree.parent)), self._c.tree.nv)
        return np.einsum("ij,ij->i", self._d.S, self._d.f[body]) + self._c.tree.armature * a

    def springs(self, q):
        """Efforts of springs, of the joints that have them."""
        joints, k = self._c.joints, self._c.joints.sprung
        dof = self._c.tree.v_start[k]
        return joints.stiffness[dof] * (q[self._c.tree.q_start[k]] - joints.rest[dof])
