# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps by flows with rows (core/integrate/flow_step.py): their stages one behind the other.

    v_f      where the flow ends without impulses                  (``midpoint.py``, ``runge_kutta.py``)
    v_0      A (v_0 - v_f) = J0* r,     laws of J0 v_0 + offset and r                J0 the rows at q
    q_1      q o exp(dt (v + v_0) / 2), where contacts are looked for again          J1 the rows there
    v_k      A (v_k - v_f) = J* r_k,    laws of J v_k + offset + b_k and r_k         J = (J0 + J1) / 2
    q+, v+   the flow with the forces J* r / dt, less what contacts have added       (``gains.py``)

with A = M(q) + dt/2 D, b_1 = 0 and then, in as many rounds as a step may solve, b_k = u(v_(k-1)) - J v_(k-1): normals
and what sticks ask for u = J1 v, and tangents that slide for a slip as long, along the mean of both ends,

    u_t = |y| (x + y) / |x + y|,    x = J0 v,  y = J1 v_(k-1).

Viscous friction opposes x + y, with Coulomb's beside it unless the slip turns round; without slip tangents are those of
the start, for points of one face would contradict each other at the end.

Rows of joints and closures are those of the start throughout.  In each problem what holds is solved as in
``core/gradients/solve.py``, with the impulses of its own solution.
"""

import numpy as np

from mb_contact.core.gradients.laws import active_laws, mean_friction, step_kinks
from mb_contact.core.gradients.loops import closure_wrenches, gear_wrenches
from mb_contact.core.gradients.workspace import GAINED, HELD, KINKS
from mb_contact.core.handle import UNIT_SPEED
from mb_contact.core.integrate.end_laws import SLIDING
from mb_contact.core.solve.friction import COULOMB_VISCOUS, MODEL, NO_SLIP, VISCOUS
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.core.workspace import BOX
from mb_contact.errors import InputError
from mb_contact.gradients.flow import Flow, Held, Start
from mb_contact.gradients.flow_rows import FlowRows, Rows
from mb_contact.gradients.gains import Gain, push_out, slowed
from mb_contact.gradients.kinks import Kink
from mb_contact.gradients.midpoint import MidpointFlow
from mb_contact.gradients.motion import displaced, skew, step_map, unit
from mb_contact.gradients.runge_kutta import RungeKuttaFlow
from mb_contact.types import WORLD

SAME = 1e-11  #: relative difference of velocities that is rounding
RANK = 1e-9  #: part of the largest singular value below which impulses are not unique


class FlowStep(FlowRows):
    """The last step of a Differentiator's context, a step of a flow.

    Parameters
    ----------
    differentiator : Differentiator
    columns : dict of str to slice
    width : int
        Of all columns.
    near : float
        As of ``step_derivatives``.
    start : Start, optional
        Where impacts have left it; else it begins at the state of the step.
    offset : ndarray (R, columns) or float
        What offsets of rows have of impacts.
    v_free : ndarray (N,), optional
        Velocities without impulses, where they are not those of the context's.
    """

    def __init__(self, differentiator, columns, width, near, start=None, offset=0.0, v_free=None):
        self.columns, self.near, self.shifted = columns, near, offset
        self.gained = False  #: whether more has been removed than what contacts have added
        self.wrenches = np.zeros((0, 6, width))  #: derivatives of those of contacts on A, about the world's origin
        self.dr = np.zeros((0, width))  #: of impulses of rows
        self.ended = None  #: velocities (N,) of the last problem, and their derivative (N, columns)
        self.kinks = {}  #: of contacts whose slip has no direction yet where the step begins, or just turns round
        self.told: list = []  #: kinks of problems before the last one
        c, by_q, by_v = differentiator.context, *(unit(differentiator.context, columns, width, name) for name in "qv")
        self.begin = start or Start(c.last.q, c.last.v, by_q, by_v)
        super().__init__(differentiator, width, by_q, self.begin)
        self.free = self._flow(c.work.v_free.copy() if v_free is None else v_free)

    def _flow(self, v_end, held=None):
        kind = MidpointFlow if self.c.scene.integrator == "midpoint" else RungeKuttaFlow
        return kind(self.d, self.columns, self.width, self.begin, v_end, held)

    def first(self):
        """Derivative (N, columns) of the velocities behind the problem with the rows of the start."""
        self.by_free, start, solution = self.free.solve()[1], self._start(), self.c.solution
        self.beside, rows = self._offsets() + self.shifted, self._wrenches(start)
        r, u = solution.r[: self.rows].copy(), solution.u[: self.rows].copy()
        return self._solve(rows, self._matrix(rows, self.bodies), r, u, 0.0)[1]

    def found(self):
        """Kinks that kernels have found in any of the problems (k, 4), the nearest of each kind and contact."""
        nearest = {}
        for kink in sorted(self.told + self._told(), key=lambda kink: -kink[3]):
            nearest[tuple(kink[:3])] = kink
        found = np.array(list(nearest.values())).reshape(-1, 4)
        return found[(found[:, 0] != GAINED) | self.gained]

    def _told(self):
        g = self.d.arrays
        return g.kink[: g.count[KINKS]].tolist()

    def run(self):
        """(matrix (2, N, columns), impulses (k, 3, columns), unique) of the step."""
        c, free = self.c, self.free.solve()
        self.by_free = free[1]
        if not self.d.count_rows():
            self.ended = self.c.v, free[1].copy()
            self.d.pose(self.v, np.zeros(c.N), np.zeros(3), ())
            self.d.arrays.count[KINKS] = 0
            step_kinks(self.d.handle, c.handle)
            return free, np.zeros((0, 3, self.width)), True
        start = self._start()
        solution, at_end, end = c.solution, bool(c.flow_arrays.end_known[0]), c.end
        kept = solution.r[: self.rows].copy(), solution.u[: self.rows].copy()
        solved = [kept]
        if at_end:
            solved = [(end.r[k, : self.rows], end.u[k, : self.rows]) for k in range(end.solved[0])]
        solved += (len(end.r) - len(solved)) * solved[-1:]  # rounds that had nothing to change: beside here they have
        self.beside = self._offsets() + self.shifted
        rows = self._wrenches(start)
        J = self._matrix(rows, self.bodies)
        try:
            v, by, _ = self._solve(rows, J, *solved[0], 0.0)
            way = 0.5 * self.dt * (self.v + v)
            by_q, by_way = step_map(c.tree, way)
            to = by_q @ self.begin.by_q + 0.5 * self.dt * by_way @ (self.dv + by)
            q = displaced(c.tree, self.begin.q, way) if at_end else self.q
            bodies = self._bodies(q, self.v)
            there = self._wrenches(self._end(start, bodies, to) if at_end else self._moved(start, bodies, to))
            mean = Rows(0.5 * (rows.on + there.on), 0.5 * (rows.by + there.by))
            J_mean = self._matrix(mean, self.bodies)
            slip, by_slip = self._velocities(rows, self.bodies, self.dq)
            by_bias, by_slip = 0.0, by_slip + J @ self.dv
            for k, (r, u) in enumerate(solved[1:]):
                v, by, dr = self._solve(mean, J_mean, r, u, by_bias)
                asked, by_asked = self._velocities(there, self._bodies(q, v), to)
                self._name_turns(slip, asked)
                if k + 2 < len(solved):
                    by_asked += self._matrix(there, self._bodies(q, v)) @ by
                    by_bias = self._asked(slip, by_slip, asked, by_asked) - self._linear(mean, J_mean, v, by)
                    by_bias[self.own] = 0.0
                    if c.friction.model[MODEL] == NO_SLIP:  # tangents hold at the start
                        by_bias[[row for row, _, a, is_force in self._axes() if a and is_force]] = 0.0
        finally:
            solution.r[: self.rows], solution.u[: self.rows] = kept
        if c.friction.model[MODEL] == NO_SLIP and not self.unique:
            raise InputError(f"no derivative of a step of {c.scene.integrator} without slip at points that contradict "
                             "each other, as those of a face do; set integrator: semi_implicit_euler")  # fmt: skip
        flow = self._flow(c.flow_arrays.v_end.copy(), self._held(mean, r, dr))
        matrix = flow.solve()
        for part in matrix:
            self.d.followed(part, self.columns)
        self.dr, self.ended = dr, (v, by)
        if (c.v != flow.v_end).any():
            gain = Gain(flow.work, flow.by_work, *push_out(c, self.beside, dr))
            v, matrix[1] = slowed(c, self.d.start, self.columns.get("mass"), self._bodies(c.q, flow.v_end), flow.v_end,
                                  *matrix, gain)  # fmt: skip
            self.gained = np.abs(v - c.v).max() > SAME * np.abs(v).max()
        impulses = self._impulses(start, r, dr)
        self.wrenches = self._contact_wrenches(start, r, dr, impulses)
        self.d.fold(impulses, self.columns)
        return matrix, impulses, self.unique

    def row_impulses(self):
        """As ``Differentiator.row_impulses``, behind ``run`` and inverse dynamics where the step begins."""
        c, g = self.c, self.d.arrays
        loops = np.zeros((len(c.couplings.closures.kind), 2, 6, self.width))
        gears = np.zeros((len(c.couplings.gears.ratio), 2, 6, self.width))
        if len(self.dr):
            g.first[:] = self.d.plan(tuple(self.columns)).first
            closure_wrenches(self.d.handle, c.handle, self.dr, loops)
            gear_wrenches(self.d.handle, c.handle, self.dr, gears)
        return self.dr, self.wrenches, loops, gears

    # --- problems ---------------------------------------------------------------------------

    def _asked(self, slip, by_slip, asked, by_asked):
        """Derivative (R, columns) of what laws of contacts look at where the step ends."""
        by, little = by_asked.copy(), SLIDING * self.c.settings[UNIT_SPEED]
        for row, _, a, is_force in self._axes():
            if a == 1:
                own = slice(row, row + 2)
                if is_force and self._adds_ends(slip[own], asked[own], little):
                    by[own] += by_slip[own]
                    continue
                by_x, by_y = mean_direction(slip[own], asked[own], little)
                by[own] = by_y @ by_asked[own] + by_x @ by_slip[own]
        return by

    def _adds_ends(self, x, y, little):
        """Whether friction looks at the sum of the slips at both ends, as viscous one does."""
        model, size = self.c.friction.model[MODEL], np.linalg.norm(y)
        turns = size < little or x @ y <= 0.5 * size * np.linalg.norm(x)
        return model == VISCOUS or (model == COULOMB_VISCOUS and not turns)

    def _name_turns(self, slip, asked):
        """Kinks of slips that have no direction yet where the step begins, or nearly turn round."""
        g, little = self.d.arrays, SLIDING * self.c.settings[UNIT_SPEED]
        for row, i, a, _ in self._axes() if self.c.friction.model[MODEL] != VISCOUS else ():
            if a == 1:
                own = slice(row, row + 2)
                left = turn_left(slip[own], asked[own], little)
                if not (g.drag[own] != 0.0).any():  # what sticks comes to rest whatever its direction
                    left = np.linalg.norm(slip[own]) if np.linalg.norm(asked[own]) >= little else np.inf
                part = left / np.sqrt(max(g.compliance[row], 1e-300))
                if part < self.near:
                    self.kinks[i] = Kink("slip", self.c.pair_links[int(self.c.contacts.pair[i])], i, float(part))

    def _linear(self, rows, J, v, by):
        """Derivative (R, columns) of J v."""
        return self._velocities(rows, self._bodies(self.q, v), self.dq)[1] + J @ by

    def _inertia(self):
        """A."""
        d, handle = self.d.start
        evaluate_inverse_derivatives(handle, self.q, np.zeros(self.c.N), np.zeros(self.c.N), np.zeros(3))
        return d.M + np.diag(self.c.work.implicit)

    def _solve(self, rows, J, r, u, by_bias):
        """A problem with the impulses r and the velocities u: v behind it, its derivative, that of r (R, columns)."""
        c, g, columns, rows_of = self.c, self.d.arrays, self.columns, self.rows
        A = self._inertia()
        c.solution.r[:rows_of], c.solution.u[:rows_of] = r, u
        jump = np.linalg.solve(A, J.T @ r)
        v = self.free.v_end + jump
        by_law = self._velocities(rows, self._bodies(self.q, v), self.dq)[1]
        by_law += self._own_velocities(v) + self.beside + by_bias
        d, handle = self.d.start
        evaluate_inverse_derivatives(handle, self.q, np.zeros(c.N), jump, np.zeros(3))
        right = A @ self.by_free - d.d_q @ self.dq
        if "mass" in columns:
            right[:, columns["mass"]] -= self.free.masses()
        if "damping" in columns:
            right[:, columns["damping"]] -= 0.5 * self.dt * np.diag(jump)
        wrench, by_wrench = self._pushed(rows, r, np.zeros((rows_of, self.width)))
        held = Held(wrench, by_wrench, np.zeros(c.N), np.zeros((c.N, self.width)))
        _, by_q, fixed = Flow(self.d, self.columns, self.width, self.begin, None, held).forces(outside=False)
        right += fixed + by_q @ self.dq
        inverse, self.told = np.linalg.inv(A), self.told + self._told()
        g.compliance[:rows_of] = np.einsum("ri,ij,rj->r", J, inverse, J)
        active_laws(self.d.handle, c.handle, self.near)
        direct = self._direct(r)
        right += J.T @ direct
        held = int(g.count[HELD])
        row, weight = g.row[:held], g.weight[:held]
        pulled = np.zeros((rows_of, held))
        for e in range(held):
            pulled[row[e], e] = weight[e, 0]
            if weight[e, 1] != 0.0:
                pulled[row[e] + 1, e] = weight[e, 1]
            elif row[e] % 3 == 0 and row[e] < 3 * self.count:
                f = c.rows.next[row[e]]
                while f >= 0:
                    pulled[f, e] += g.drag[f]
                    f = c.rows.next[f]
        look = np.zeros((held, rows_of))
        look[np.arange(held), row] = weight[:, 0]
        two = np.flatnonzero(weight[:, 1])
        look[two, row[two] + 1] = weight[two, 1]
        B, C = pulled.T @ J, look @ J
        soft = g.softness[:held]
        scale = 1.0 / np.sqrt(np.maximum(np.einsum("ei,ij,ej->e", B, inverse, B) + soft, 1e-300))
        T = (C @ inverse @ B.T + np.diag(soft)) * scale * scale[:, None]
        y = -scale[:, None] * (look @ by_law + C @ inverse @ right)
        x, _, rank, _ = np.linalg.lstsq(T, y, rcond=RANK) if held else (np.zeros((0, self.width)), 0, 0, 0)
        x, self.unique = scale[:, None] * x, int(rank) == held
        return v, inverse @ (right + B.T @ x), direct + pulled @ x

    def _own_velocities(self, v):
        """Derivative (R, columns) of velocities of rows of joints and closures, and of their offsets, at fixed v."""
        c, g, kept = self.c, self.d.arrays, self.c.v.copy()
        c.v[:] = v
        self.d.pose(self.v, np.zeros(c.N), np.zeros(3), ())
        c.v[:], g.slope[: self.count] = kept, self.slope
        return self.own[:, None] * (g.u_q[: self.rows] @ self.dq + g.u_v[: self.rows] @ self.dv)

    def _direct(self, r):
        """What impulses (R, columns) of rows that slip follow at once: bounds of friction."""
        c, g, out = self.c, self.d.arrays, np.zeros((self.rows, self.width))
        for row in range(self.rows):
            at = g.at[row]
            if g.drag[row] == 0.0:
                continue
            if row < 3 * self.count and "friction" in self.columns:
                column = self.columns["friction"].start + c.contacts.pair[row // 3]
                mean = mean_friction(c.rows, row - row % 3 + 1)
                out[row, column] = g.drag[row] / mean * r[row - row % 3] if mean > 0.0 else 0.0
            if c.rows.law[at] == BOX and c.rows.dof[at] >= 0 and "joint_friction" in self.columns:
                out[row, self.columns["joint_friction"].start + c.rows.dof[at]] = self.dt * g.drag[row]
        return out

    def _pushed(self, rows, r, dr):
        """Impulses (n, 6) on bodies about their origins, and their derivative (n, 6, columns)."""
        n, of = self.c.n, self._of()
        wrench, by = np.zeros((n + 1, 6)), np.zeros((n + 1, 6, self.width))
        for s in range(2):
            np.add.at(wrench, of[s], rows.on[s] * r[:, None])
            np.add.at(by, of[s], rows.by[s] * r[:, None, None] + rows.on[s][:, :, None] * dr[:, None])
        if self.closures:
            self._add_closures(wrench, by, r, dr)
        return wrench[:n], by[:n]

    def _add_closures(self, wrench, by, r, dr):
        """Those of closures, from the inverse dynamics at the start on."""
        c, g, kinds, kin = self.c, self.d.arrays, self.c.couplings.closures, self.d.start[0].kin
        held = np.zeros_like(wrench)
        for row in np.flatnonzero(self.own & ~self.joint).tolist():
            for k, on in ((c.rows.body_a[row], c.rows.on_a), (c.rows.body_b[row], c.rows.on_b)):
                held[k] += r[row] * on[row]
        wrench += held
        by[:, :3] += skew(held[:, 3:]) @ (self.bodies.X[:, 3:] @ self.dq)
        g.first[:] = self.d.plan(tuple(self.columns)).first
        out = np.empty((self.closures, 2, 6, self.width))
        closure_wrenches(self.d.handle, c.handle, dr, out)
        for i in range(self.closures):
            for s, k in enumerate((kinds.body_a[i], kinds.body_b[i])):
                if k != WORLD:
                    by[k] += out[i, s]
                    by[k, :3] -= skew(kin.p[k]) @ out[i, s, 3:]


    def _held(self, rows, r, dr):
        """Impulses as forces of a flow."""
        wrench, by = self._pushed(rows, r, dr)
        joint = self.joint_rows * self.joint[:, None]
        return Held(wrench / self.dt, by / self.dt, joint.T @ r / self.dt, joint.T @ dr / self.dt)

    def _impulses(self, start, r, dr):
        """Derivatives (k, 3, columns) of impulses on A."""
        r, dr = (x[: 3 * self.count].reshape(self.count, 3, *x.shape[1:]) for x in (r, dr))
        return np.einsum("kac,kaj->kjc", dr, start.axes) + np.einsum("ka,kajc->kjc", r, start.by_axes)

    def _contact_wrenches(self, start, r, dr, impulses):
        """Derivatives (k, 6, columns) of wrenches of contacts on A about the world's origin, moment first."""
        c, out = self.c, np.empty((self.count, 6, self.width))
        out[:, 3:] = impulses
        p = np.einsum("ka,kaj->kj", r[: 3 * self.count].reshape(-1, 3), start.axes)
        out[:, :3] = skew(c.contacts.point[: self.count]) @ impulses - skew(p) @ self.by_point
        for row, i, a, is_force in self._axes():
            if not is_force:
                out[i, :3] += np.outer(start.axes[i, a], dr[row]) + r[row] * start.by_axes[i, a]
        return out


def turn_left(x, y, little):
    """How far slips x and y [m/s] are from others whose friction jumps: x from none, y from little and from a turn."""
    size, first = np.linalg.norm(y), np.linalg.norm(x)
    if size < little:
        return little - size
    return min(first, size - little, abs(x @ y / first - 0.5 * size) if first > 0.0 else 0.0)


def mean_direction(x, y, little):
    """Derivatives (2, 2) by x and by y of ``|y| (x + y) / |x + y|``, or of y where it is little or has turned round."""
    size, both = np.linalg.norm(y), x + y
    if size < little or x @ y <= 0.5 * size * np.linalg.norm(x):
        return np.zeros((2, 2)), np.eye(2)
    length = np.linalg.norm(both)
    s = both / length
    turned = size / length * (np.eye(2) - np.outer(s, s))
    return turned, turned + np.outer(s, y / size)
