# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of smooth steps of ``midpoint`` (core/integrate/midpoint.py, free_body.py): no row in their problem.

A tree of joints, with m = (v0 + v1) / 2, w = dt / 2, q' = q0 o exp(w m), a = (v1 - v0) / dt - lambda m, one lambda,

    F = ID(q', m, a) + D (v0 + w a) - f(q0, q') = 0,      E(q1, v1) - E(q0, v0) - dt m.g = 0,
    q1 = q0 o exp(dt m),      g = f at the mean of the step, damping in it,

is linear in (dm, dlambda); D is damping with that of servos, f efforts, servos, springs and wrenches.  Of a free body
with W = R* omega and A = I W0 + dt R0* N

    I W1 - A + dt/4 (W0 + W1) x (I W1 + A) = 0,      R1 = cay(2 s) R0,      s = dt/4 R0 (W0 + W1),

a turn by cay(2 s) has the left Jacobian 2 (1 + s~) / (1 + s.s).
"""

from typing import NamedTuple

import numpy as np

from mb_contact.core.gradients.readings import carried_efforts
from mb_contact.core.gradients.step import mass_wrench
from mb_contact.core.integrate.midpoint import AFTER, BEFORE, KINETIC, LOST, SIZE
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.motion import cross, displaced, skew, step_map


class MidpointStep:
    """The last step of a Differentiator's context, which was a smooth one by ``midpoint``.

    Parameters
    ----------
    differentiator : Differentiator
    columns : dict of str to slice
    width : int
        Of all columns.
    """

    def __init__(self, differentiator, columns, width):
        self._c, self._columns, self._width = differentiator.context, columns, width
        self._d, self._handle = differentiator.start
        self._q, self._v, self._gravity, self._dt = self._c.last
        self._free = self._c.flow_arrays.is_free.astype(bool)

    def solve(self):
        """Derivatives (2, N, columns) of coordinates and velocities behind the step."""
        out = np.zeros((2, self._c.N, self._width))
        if not self._free.all():
            self._trees(out)
        for k in np.flatnonzero(self._free).tolist():
            self._free_body(k, out)
        return out

    def _unit(self, name):
        """Derivative (N, columns) of the coordinates or velocities at the start."""
        out = np.zeros((self._c.N, self._width))
        if name in self._columns:
            out[:, self._columns[name]] = np.eye(self._c.N)
        return out

    # --- trees of joints --------------------------------------------------------------------

    def _trees(self, out):
        """Rows of all bodies that are not free."""
        c, dt, w = self._c, self._dt, 0.5 * self._dt
        tree, joints, flow, columns = c.tree, c.joints, c.flow_arrays, self._columns
        root = np.repeat(tree.root, tree.nv)
        own = np.repeat(~self._free, tree.nv)
        roots = np.flatnonzero((tree.root == np.arange(len(tree.root))) & ~self._free)
        of = (root == roots[:, None]).astype(float)  # (trees, N)
        m, pull = np.where(own, 0.5 * (self._v + c.v), 0.0), np.where(own, flow.multiplier[root], 0.0)
        a = np.where(own, (c.v - self._v) / dt, 0.0) - pull * m
        servo = joints.saturation == 0.0
        gain, rate_gain = servo * joints.gain, servo * joints.rate_gain
        D = joints.damping + rate_gain + w * gain
        (half_q, half_m), (whole_q, whole_m) = (step_map(tree, h * m) for h in (w, dt))
        half_m, whole_m = w * half_m, dt * whole_m
        before, after = (self._energy(*state, of) for state in ((self._q, self._v), (c.q, c.v)))
        evaluate_inverse_derivatives(self._handle, displaced(tree, self._q, w * m), m, a, self._gravity)
        push, push_q = self._external()
        by_q = self._d.d_q - push_q + np.diag(joints.stiffness)
        heavy = self._d.M + w * np.diag(D)
        dq, dv, given = self._unit("q"), self._unit("v"), self._efforts()
        moves = half_q @ dq  # of q', at fixed m
        K = by_q @ half_m + self._d.d_v + heavy * (2.0 / dt - pull)
        right = heavy @ (2.0 / dt * dv) - D[:, None] * dv - by_q @ moves + given - gain[:, None] * dq
        felt = c.work.effort + push - (rate_gain + w * gain + 2.0 * joints.damping) * m  # d(m.g) by m, q' fixed
        work = m[:, None] * (given - gain[:, None] * dq + push_q @ moves)
        if "damping" in columns:
            right[:, columns["damping"]] -= np.diag(self._v + w * a)
            work[:, columns["damping"]] -= np.diag(m * m)
        if "mass" in columns:
            right[:, columns["mass"]] -= self._masses()
        E = after.q @ whole_m + 2.0 * after.v - dt * (of * felt + (of * m) @ push_q @ half_m)
        balance = before.q @ dq + before.v @ dv - after.q @ whole_q @ dq + after.v @ dv + dt * of @ work
        if "mass" in columns:
            balance[:, columns["mass"]] -= after.mass - before.mass
        kinetic = 0.5 * (flow.energies[KINETIC + BEFORE, roots] + flow.energies[KINETIC + AFTER, roots])
        still = kinetic <= LOST * flow.energies[SIZE, roots]  # of which lambda is 0
        E[still], balance[still] = 0.0, 0.0
        rows = np.flatnonzero(own)
        system = np.block([[K[np.ix_(rows, rows)], -(heavy @ (of * m).T)[rows]], [E[:, rows], np.diag(still)]])
        dm = np.linalg.solve(system, np.concatenate((right[rows], balance)))[: len(rows)]
        out[0, rows] = (whole_q @ dq)[rows] + whole_m[np.ix_(rows, rows)] @ dm
        out[1, rows] = 2.0 * dm - dv[rows]

    def _efforts(self):
        """Derivative (N, columns) of the commanded efforts that act."""
        c, out = self._c, np.zeros((self._c.N, self._width))
        if "effort" in self._columns:
            rows = np.asarray(c.world.joint_v)
            acts = (np.abs(c.effort[rows]) < c.tree.effort_limit[rows]) & (c.joints.saturation[rows] == 0.0)
            out[rows, self._columns["effort"].start + np.arange(len(rows))] = acts
        return out

    def _twists(self):
        """Twists (N, n, 6) of bodies by each degree of freedom where the dynamics were evaluated last."""
        tree, d = self._c.tree, self._d
        out = np.zeros((self._c.N, len(tree.parent), 6))
        for k, parent in enumerate(tree.parent):
            if parent >= 0:
                out[:, k] = out[:, parent]
            dofs = slice(tree.v_start[k], tree.v_start[k] + tree.nv[k])
            out[dofs, k] = d.S[dofs]
        return out

    def _masses(self):
        """Efforts (N, n) per mass of each body."""
        felt = np.array([mass_wrench(self._handle, k) for k in range(len(self._c.tree.parent))])
        return np.einsum("ikj,kj->ik", self._twists(), felt)

    def _external(self):
        """Efforts (N,) of external wrenches, and their derivative by q (N, N)."""
        c, N, n = self._c, self._c.N, len(self._c.tree.parent)
        by_q, efforts, force = np.zeros((N, N)), np.zeros(N), c.work.external.copy()
        if force.any():
            carried_efforts(self._handle, np.eye(N), force, np.zeros((n, 6, N)), np.zeros((n, 6, N)), by_q)
            body = np.repeat(np.arange(n), c.tree.nv)
            efforts = np.einsum("ij,ij->i", self._d.S, force[body])  # of whole subtrees now
        return efforts, by_q

    def _energy(self, q, v, of):
        """Gradients of the mechanical energy of each tree."""
        c, d, still = self._c, self._d, np.zeros(self._c.N)
        tree, joints, k = c.tree, c.joints, c.joints.sprung
        body = np.repeat(np.arange(len(tree.parent)), tree.nv)
        evaluate_inverse_derivatives(self._handle, q, still, still, self._gravity)
        by_q = np.einsum("ij,ij->i", d.S, d.f[body])
        dof = tree.v_start[k]
        by_q[dof] += joints.stiffness[dof] * (q[tree.q_start[k]] - joints.rest[dof])
        com = d.kin.p + np.einsum("kij,kj->ki", d.kin.R, tree.com)
        by_mass = -com @ self._gravity
        evaluate_inverse_derivatives(self._handle, q, still, v, np.zeros(3))
        felt = np.array([mass_wrench(self._handle, k) for k in range(len(tree.parent))])
        by_mass += 0.5 * np.einsum("kj,kj->k", d.A, felt)
        by_q += 0.5 * v @ d.d_q
        roots = np.array([tree.root[body[np.argmax(row)]] for row in of])
        return Gradients(of * by_q, of * (d.M @ v), (tree.root == roots[:, None]) * by_mass)

    # --- free bodies ------------------------------------------------------------------------

    def _free_body(self, k, out):
        """Rows of a body in free flight."""
        c, dt, tree = self._c, self._dt, self._c.tree
        dofs = slice(tree.v_start[k], tree.v_start[k] + 6)
        evaluate_inverse_derivatives(self._handle, self._q, self._v, np.zeros(c.N), self._gravity)
        R, I, mass = self._d.kin.R[k].copy(), tree.inertia[k], tree.mass[k]
        arm, w = R @ tree.com[k], self._v[dofs][:3]
        turn, place = (self._unit("q")[dofs][i : i + 3] for i in (0, 3))
        dw, dv = (self._unit("v")[dofs][i : i + 3] for i in (0, 3))
        by_mass = np.zeros(self._width)
        if "mass" in self._columns:
            by_mass[self._columns["mass"].start + k] = 1.0 / mass
        n, f = c.work.external[k].reshape(2, 3)
        d_arm = _times(turn, arm)
        half = arm + 0.5 * dt * cross(w, arm)
        d_half = d_arm + 0.5 * dt * (_times(dw, arm) + skew(w) @ d_arm)
        n, dn = n - cross(half, f), -_times(d_half, f)
        W, dW = R.T @ w, R.T @ (dw - _times(turn, w))
        A = I @ W + dt * R.T @ n
        dA = I @ dW + dt * R.T @ (dn - _times(turn, n)) + np.outer(I @ W, by_mass)
        evaluate_inverse_derivatives(self._handle, c.q, c.v, np.zeros(c.N), self._gravity)
        R_end, w_end = self._d.kin.R[k], c.v[dofs][:3]
        E = R_end.T @ w_end  # W1
        both = I @ E + A
        slope = I + 0.25 * dt * (skew(W + E) @ I - skew(both))
        known = dA - 0.25 * dt * (_times(dW, both) + skew(W + E) @ dA)
        grown = I @ E + 0.25 * dt * cross(W + E, I @ E)
        dE = np.linalg.solve(slope, known - np.outer(grown, by_mass))
        s, ds = 0.25 * dt * R @ (W + E), 0.25 * dt * (_times(turn, R @ (W + E)) + R @ (dW + dE))
        turn_end = R_end @ R.T @ turn + 2.0 / (1.0 + s @ s) * (ds + skew(s) @ ds)
        d_speed = dv + _times(dw, arm) + skew(w) @ d_arm  # of the centre of mass
        d_speed_end = d_speed - dt / mass * np.outer(f, by_mass)
        arm_end, d_arm_end = R_end @ tree.com[k], _times(turn_end, R_end @ tree.com[k])
        dw_end = _times(turn_end, w_end) + R_end @ dE
        out[0, dofs] = np.concatenate((turn_end, place + 0.5 * dt * (d_speed + d_speed_end) - d_arm_end + d_arm))
        out[1, dofs] = np.concatenate((dw_end, d_speed_end - _times(dw_end, arm_end) - skew(w_end) @ d_arm_end))


class Gradients(NamedTuple):
    """Of the energies of trees."""

    q: np.ndarray  #: (trees, N)
    v: np.ndarray  #: (trees, N)
    mass: np.ndarray  #: (trees, n)


def _times(columns, a):
    """Products of columns (3, columns) with a vector: c x a."""
    return -skew(a) @ columns
