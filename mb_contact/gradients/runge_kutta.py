# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of one step of a Runge-Kutta method in a chart (core/integrate/runge_kutta.py) under constant forces.

With the chart x of the start, q_s = q0 o exp(x_s), and stages s of the tableau (A, b)

    x_s = dt sum_j A_sj k_j,    v_s = v0 + dt sum_j A_sj a_j,    k_s = dexp^-1(x_s) v_s,
    M a_s = f(q_s, v_s) - D v_s - ID(q_s, v_s, 0),    q1 = q0 o exp(dt sum_s b_s k_s),    v1 = v0 + dt sum_s b_s a_s,

every stage is linear in those before it:  M da = -(dID|a - df) - D dv - dD v.  Efforts of stiff servos are constant,
T = T0 + k (q* - (q0 + q1) / 2) + d (v* - (q1 - q0) / dt), and solved for behind the stages (``held_servos.py``).
"""

import numpy as np

from mb_contact.core.constraints.servo import limited_efforts, servo_efforts
from mb_contact.core.integrate.flow import chart_rates
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.flow import Flow
from mb_contact.gradients.motion import displaced, skew, step_map
from mb_contact.types import JOINT_FLOATING, JOINT_SPHERICAL

SETTLED = 1e-12  #: relative change of efforts at which Newton's method ends


class RungeKuttaFlow(Flow):
    """A flow of ``rk4``, or one of ``adaptive`` that is a single step."""

    def solve(self):
        """Derivatives (2, N, columns) of coordinates and velocities where the flow ends."""
        c, joints = self._c, self._c.joints
        if not c.flow_arrays.middle[0]:
            return self._stages()[0]
        i, width, half = c.tree.v_start[joints.servos], self._width, 0.5 * self._dt
        acts = joints.saturation[i] == 0.0
        gain, slope = acts * joints.gain[i], acts * (0.5 * joints.gain[i] + joints.rate_gain[i] / self._dt)
        commanded = np.clip(c.effort, -c.tree.effort_limit, c.tree.effort_limit)
        effort, asked = c.work.effort.copy(), commanded.copy()
        while True:  # Newton's method: without impulses servos have other efforts
            flow = self._with_efforts(i)
            out, x = flow._stages(effort)
            servo_efforts(c.tree, joints, self._q, half, x / self._dt, commanded, asked)
            system = np.eye(len(i)) + slope[:, None] * out[0, i, width:]
            change = np.linalg.solve(system, (asked - effort)[i])
            effort[i] += change
            if np.abs(change).max() <= SETTLED * np.abs(effort[i]).max():
                break
        dq, known = self.unit("q")[i], self.efforts()[i]
        by = np.linalg.solve(system, known - gain[:, None] * dq - slope[:, None] * (out[0, i, :width] - dq))
        self.work, self.by_work = flow.work, flow.by_work[:, :width] + flow.by_work[:, width:] @ by
        return out[..., :width] + out[..., width:] @ by

    def _with_efforts(self, i):
        """This flow with columns for the efforts of degrees of freedom i behind all others, and no command's."""
        n, N, more = self._c.n, self._c.N, len(i)
        unit = np.zeros((N, more))
        unit[i, np.arange(more)] = 1.0
        held = self._held._replace(by=np.concatenate((self._held.by, np.zeros((n, 6, more))), axis=2),
                                   by_joint=np.concatenate((self._held.by_joint, unit), axis=1))  # fmt: skip
        return RungeKuttaFlow(self._g, self._columns, self._width + more, self._start, self.v_end, held)

    def _stages(self, constant=None):
        """(derivatives where the flow ends, chart there (N,)), of servos in the stages or with ``constant`` efforts."""
        c, dt, tree, joints = self._c, self._dt, self._c.tree, self._c.joints
        A, b, columns = c.flow_arrays.A, c.flow_arrays.b, self._columns
        stages, N, roots = len(b), c.N, np.unique(tree.root)
        k, a, by_k, by_a = (np.zeros((stages, *size)) for size in ((N,), (N,), (N, self._width), (N, self._width)))
        dq, dv, of = self.unit("q"), self.unit("v"), np.repeat(tree.root, tree.nv) == roots[:, None]
        gain, rate_gain, motors = joints.gain, joints.rate_gain, self.efforts()
        if constant is not None:
            motors[tree.v_start[joints.servos]] = 0.0
        for s in range(stages):
            x, v = dt * A[s, :s] @ k[:s], self._v + dt * A[s, :s] @ a[:s]
            by_x, by_v = (dt * np.tensordot(A[s, :s], rates[:s], 1) for rates in (by_k, by_a))
            by_v = by_v + dv
            by_q, by_step = step_map(tree, x)
            to, q = by_q @ dq + by_step @ by_x, displaced(tree, self._q, x)
            effort = np.clip(c.effort, -tree.effort_limit, tree.effort_limit)
            commanded = effort.copy()
            acts = joints.gain < 0.0
            if constant is None:
                limited_efforts(tree, joints, q, v, commanded, effort)
                acts = np.abs(effort) < tree.effort_limit
            else:
                effort = constant
            evaluate_inverse_derivatives(self._handle, q, v, np.zeros(N), self._gravity)
            push, push_q, given = self.forces()
            force = effort + push - c.joints.damping * v - self.inverse_dynamics(np.zeros(N))
            force[tree.v_start[joints.sprung]] -= self.springs(q)
            a[s] = np.linalg.solve(self._d.M, force)
            evaluate_inverse_derivatives(self._handle, q, v, a[s], self._gravity)
            right = given + motors - (self._d.d_q - push_q + np.diag(joints.stiffness)) @ to
            right -= (acts * gain)[:, None] * to + (acts * rate_gain)[:, None] * by_v + self._d.d_v @ by_v
            right -= joints.damping[:, None] * by_v
            if "damping" in columns:
                right[:, columns["damping"]] -= np.diag(v)
            if "mass" in columns:
                right[:, columns["mass"]] -= self.masses()
            by_a[s] = np.linalg.solve(self._d.M, right)
            chart_rates(tree, x, v, k[s])
            by_chart, by_speed = chart_map(tree, x, v)
            by_k[s] = by_chart @ by_x + by_speed @ by_v
            if self._held.force.any():
                touch, touch_q, by_touch = self.forces(outside=False)
                touch, by_touch = touch - self._held.joint, by_touch - self._held.by_joint + touch_q @ to
                self.work[roots] += dt * b[s] * of @ (v * touch)
                self.by_work[roots] += dt * b[s] * ((of * touch) @ by_v + (of * v) @ by_touch)
        by_q, by_step = step_map(tree, dt * b @ k)
        to = by_q @ dq + dt * by_step @ np.tensordot(b, by_k, 1)
        return np.stack((to, dv + dt * np.tensordot(b, by_a, 1))), dt * b @ k


def chart_map(tree, x, v):
    """Derivatives (N, N) of the chart's rate by x and by v, with y = x x (x x w) and square = x.x

        dk = (1 - x~/2 + c x~^2) dw + (w~/2 - c ((x x w)~ + x~ w~) + 2 c' y x*) dx.
    """
    by_x, by_v = np.zeros((len(x), len(x))), np.eye(len(x))
    for k in np.flatnonzero((tree.joint_type == JOINT_FLOATING) | (tree.joint_type == JOINT_SPHERICAL)):
        own = slice(tree.v_start[k], tree.v_start[k] + 3)
        X, w, square = skew(x[own]), skew(v[own]), x[own] @ x[own]
        if square < 1e-2:
            c = 1.0 / 12.0 + square * (1.0 / 720.0 + square * (1.0 / 30240.0 + square / 1209600.0))
            slope = 1.0 / 720.0 + square * (2.0 / 30240.0 + square * 3.0 / 1209600.0)
        else:
            h = 0.5 * np.sqrt(square)
            c = (1.0 - h / np.tan(h)) / square
            slope = ((h / np.sin(h) ** 2 - 1.0 / np.tan(h)) / (8.0 * h) - c) / square
        once = X @ v[own]
        by_v[own, own] += -0.5 * X + c * X @ X
        by_x[own, own] = 0.5 * w - c * (skew(once) + X @ w) + 2.0 * slope * np.outer(X @ once, x[own])
    return by_x, by_v
