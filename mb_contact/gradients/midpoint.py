# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of the flow of ``midpoint`` (core/integrate/midpoint.py, free_body.py) under constant forces.

A tree of joints, with m = (v0 + v1) / 2, w = dt / 2, q' = q0 o exp(w m), a = (v1 - v0) / dt - lambda m, one lambda,

    F = ID(q', m, a) + D (v0 + w a) - f(q0, q') = 0,      E(q1, v1) - E(q0, v0) - dt m.g = 0,
    q1 = q0 o exp(dt m),      g = f at the mean of the step, damping in it,

is linear in (dm, dlambda); D is damping with that of servos, f efforts, servos, springs, wrenches about the bodies'
origins and what the impulses of contacts and joints are as forces.  Of a free body with W = R* omega and
A = I W0 + dt R0* N

    I W1 - A + dt/4 (W0 + W1) x (I W1 + A) = 0,      R1 = cay(2 s) R0,      s = dt/4 R0 (W0 + W1),

a turn by cay(2 s) has the left Jacobian 2 (1 + s~) / (1 + s.s).
"""

from typing import NamedTuple

import numpy as np

from mb_contact.core.constraints.servo import servo_efforts
from mb_contact.core.gradients.step import mass_wrench
from mb_contact.core.integrate.free_body import euler_spin
from mb_contact.core.integrate.midpoint import LOST
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.flow import Flow
from mb_contact.gradients.motion import cross, displaced, skew, step_map


class MidpointFlow(Flow):
    """The flow of ``midpoint``."""

    def solve(self):
        """Derivatives (2, N, columns) of coordinates and velocities where the flow ends."""
        out = np.zeros((2, self._c.N, self._width))
        free = self._c.flow_arrays.is_free.astype(bool)
        if not free.all():
            self._trees(out, free)
        for k in np.flatnonzero(free).tolist():
            self._free_body(k, out)
        return out

    # --- trees of joints --------------------------------------------------------------------

    def _trees(self, out, free):
        """Rows of all bodies that are not free."""
        c, dt, w = self._c, self._dt, 0.5 * self._dt
        tree, joints, columns = c.tree, c.joints, self._columns
        root = np.repeat(tree.root, tree.nv)
        own = np.repeat(~free, tree.nv)
        roots = np.flatnonzero((tree.root == np.arange(len(tree.root))) & ~free)
        of = (root == roots[:, None]).astype(float)  # (trees, N)
        m, a = np.where(own, 0.5 * (self._v + self.v_end), 0.0), np.where(own, (self.v_end - self._v) / dt, 0.0)
        servo = joints.saturation == 0.0
        gain, rate_gain = servo * joints.gain, servo * joints.rate_gain
        D = joints.damping + rate_gain + w * gain
        (half_q, half_m), (whole_q, whole_m) = (step_map(tree, h * m) for h in (w, dt))
        half_m, whole_m = w * half_m, dt * whole_m
        ends = (self._q, self._v), (displaced(tree, self._q, dt * m), np.where(own, self.v_end, 0.0))
        before, after = (self._energy(*state, of) for state in ends)
        still = 0.5 * (before.kinetic + after.kinetic) <= LOST * after.size  # of which lambda is 0
        middle = displaced(tree, self._q, w * m)
        evaluate_inverse_derivatives(self._handle, middle, m, a, self._gravity)
        push, push_q, given = self.forces()
        effort = self._servos(m)
        heavy = self._d.M + w * np.diag(D)
        left = self.inverse_dynamics(a) + D * (self._v + w * a) - effort - push - (gain * w + rate_gain) * m
        left[tree.v_start[joints.sprung]] += self.springs(middle)
        drive, load = of * m @ left, of * m @ heavy @ m
        pull = np.where(still, 0.0, drive / np.where(still, 1.0, load)) @ of  # lambda
        a = a - pull * m
        evaluate_inverse_derivatives(self._handle, middle, m, a, self._gravity)
        by_q = self._d.d_q - push_q + np.diag(joints.stiffness)
        dq, dv = self.unit("q"), self.unit("v")
        given = given + self.efforts()
        moves = half_q @ dq  # of q', at fixed m
        K = by_q @ half_m + self._d.d_v + heavy * (2.0 / dt - pull)
        right = heavy @ (2.0 / dt * dv) - D[:, None] * dv - by_q @ moves + given - gain[:, None] * dq
        felt = effort + push - (rate_gain + w * gain + 2.0 * joints.damping) * m  # d(m.g) by m, q' fixed
        work = m[:, None] * (given - gain[:, None] * dq + push_q @ moves)
        if "damping" in columns:
            right[:, columns["damping"]] -= np.diag(self._v + w * a)
            work[:, columns["damping"]] -= np.diag(m * m)
        if "mass" in columns:
            right[:, columns["mass"]] -= self.masses()
        E = after.q @ whole_m + 2.0 * after.v - dt * (of * felt + (of * m) @ push_q @ half_m)
        balance = before.q @ dq + before.v @ dv - after.q @ whole_q @ dq + after.v @ dv + dt * of @ work
        if "mass" in columns:
            balance[:, columns["mass"]] -= after.mass - before.mass
        E[still], balance[still] = 0.0, 0.0
        rows = np.flatnonzero(own)
        system = np.block([[K[np.ix_(rows, rows)], -(heavy @ (of * m).T)[rows]], [E[:, rows], np.diag(still)]])
        dm = np.linalg.solve(system, np.concatenate((right[rows], balance)))[: len(rows)]
        if self._held.force.any():
            own_m = half_m[:, rows] @ dm + moves  # of q'
            evaluate_inverse_derivatives(self._handle, middle, m, a, self._gravity)
            touch, touch_q, by_touch = self.forces(outside=False)
            touch, by_touch = touch - self._held.joint, by_touch - self._held.by_joint + touch_q @ own_m
            self.work[roots] = dt * of @ (m * touch)
            self.by_work[roots] = dt * ((of * touch)[:, rows] @ dm + (of * m) @ by_touch)
        out[0, rows] = (whole_q @ dq)[rows] + whole_m[np.ix_(rows, rows)] @ dm
        out[1, rows] = 2.0 * dm - dv[rows]

    def _servos(self, m):
        """Efforts (N,) of motors and servos in the middle, whose velocity is m."""
        c, limit = self._c, self._c.tree.effort_limit
        effort = np.clip(c.effort, -limit, limit)
        servo_efforts(c.tree, c.joints, self._q, 0.5 * self._dt, m, effort.copy(), effort)
        return effort

    def _energy(self, q, v, of):
        """Gradients of the mechanical energy of each tree."""
        c, d, still = self._c, self._d, np.zeros(self._c.N)
        tree, joints, k = c.tree, c.joints, c.joints.sprung
        evaluate_inverse_derivatives(self._handle, q, still, still, self._gravity)
        by_q = self.inverse_dynamics(still)
        dof, stretch = tree.v_start[k], self.springs(q)
        by_q[dof] += stretch
        com = d.kin.p + np.einsum("kij,kj->ki", d.kin.R, tree.com)
        by_mass = -com @ self._gravity
        body = np.repeat(np.arange(len(tree.parent)), tree.nv)
        mine = tree.root == np.array([tree.root[body[np.argmax(row)]] for row in of])[:, None]
        size = mine @ np.abs(tree.mass * by_mass)
        size += of[:, dof] @ (0.5 * stretch * (q[tree.q_start[k]] - joints.rest[dof]))
        evaluate_inverse_derivatives(self._handle, q, still, v, np.zeros(3))
        felt = np.array([mass_wrench(self._handle, k) for k in range(len(tree.parent))])
        by_mass += 0.5 * np.einsum("kj,kj->k", d.A, felt)
        by_q += 0.5 * v @ d.d_q
        kinetic = 0.5 * (of * v) @ d.M @ v
        return Gradients(of * by_q, of * (d.M @ v), mine * by_mass, kinetic, kinetic + size)

    # --- free bodies ------------------------------------------------------------------------

    def _free_body(self, k, out):
        """Rows of a body in free flight."""
        c, dt, tree = self._c, self._dt, self._c.tree
        dofs = slice(tree.v_start[k], tree.v_start[k] + 6)
        evaluate_inverse_derivatives(self._handle, self._q, self._v, np.zeros(c.N), self._gravity)
        R, I, mass = self._d.kin.R[k].copy(), tree.inertia[k], tree.mass[k]
        arm, w = R @ tree.com[k], self._v[dofs][:3]
        speed = self._v[dofs][3:] + cross(w, arm)  # of the centre of mass
        turn, place = (self.unit("q")[dofs][i : i + 3] for i in (0, 3))
        dw, dv = (self.unit("v")[dofs][i : i + 3] for i in (0, 3))
        by_mass = np.zeros(self._width)
        if "mass" in self._columns:
            by_mass[self._columns["mass"].start + k] = 1.0 / mass
        (n, f), (dn, df) = self.acting()[k].reshape(2, 3), self._held.by[k].reshape(2, 3, -1)
        d_arm = _times(turn, arm)
        half = arm + 0.5 * dt * cross(w, arm)
        d_half = d_arm + 0.5 * dt * (_times(dw, arm) + skew(w) @ d_arm)
        n, dn = n - cross(half, f), dn - _times(d_half, f) - skew(half) @ df
        W, dW = R.T @ w, R.T @ (dw - _times(turn, w))
        A = I @ W + dt * R.T @ n
        dA = I @ dW + dt * R.T @ (dn - _times(turn, n)) + np.outer(I @ W, by_mass)
        E = np.array(euler_spin(tree.inertia, k, tuple(W), tuple(dt * R.T @ n), dt)[1])  # W1
        both = I @ E + A
        slope = I + 0.25 * dt * (skew(W + E) @ I - skew(both))
        known = dA - 0.25 * dt * (_times(dW, both) + skew(W + E) @ dA)
        grown = I @ E + 0.25 * dt * cross(W + E, I @ E)
        dE = np.linalg.solve(slope, known - np.outer(grown, by_mass))
        s, ds = 0.25 * dt * R @ (W + E), 0.25 * dt * (_times(turn, R @ (W + E)) + R @ (dW + dE))
        cayley = np.eye(3) + 2.0 / (1.0 + s @ s) * (skew(s) + skew(s) @ skew(s))
        turn_end = cayley @ turn + 2.0 / (1.0 + s @ s) * (ds + skew(s) @ ds)
        d_speed = dv + _times(dw, arm) + skew(w) @ d_arm
        d_speed_end = d_speed + dt / mass * (df - np.outer(f, by_mass))
        (n, f), (dn, df) = self._held.force[k].reshape(2, 3), self._held.by[k].reshape(2, 3, -1)
        n, dn = n - cross(half, f), dn - _times(d_half, f) - skew(half) @ df
        mean = speed + 0.5 * dt * ((c.work.external[k, 3:] + f) / mass + self._gravity)
        self.work[k] = 2.0 * s @ n + dt * mean @ f
        self.by_work[k] = 2.0 * (n @ ds + s @ dn) + dt * (0.5 * f @ (d_speed + d_speed_end) + mean @ df)
        w_end, arm_end, d_arm_end = cayley @ R @ E, cayley @ arm, _times(turn_end, cayley @ arm)
        dw_end = _times(turn_end, w_end) + cayley @ R @ dE
        out[0, dofs] = np.concatenate((turn_end, place + 0.5 * dt * (d_speed + d_speed_end) - d_arm_end + d_arm))
        out[1, dofs] = np.concatenate((dw_end, d_speed_end - _times(dw_end, arm_end) - skew(w_end) @ d_arm_end))


class Gradients(NamedTuple):
    """Of the energies of trees."""

    q: np.ndarray  #: (trees, N)
    v: np.ndarray  #: (trees, N)
    mass: np.ndarray  #: (trees, n)
    kinetic: np.ndarray  #: (trees,) part of motion [J]
    size: np.ndarray  #: (trees,) sum of the sizes of their parts [J]


def _times(columns, a):
    """Products of columns (3, columns) with a vector: c x a."""
    return -skew(a) @ columns
