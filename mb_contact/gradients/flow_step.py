# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of steps by flows with contacts (core/integrate/flow_step.py): their stages one behind the other.

    v_f      where the flow ends without impulses                                    (``midpoint.py``)
    v_1      A (v_1 - v_f) = J0* r,   laws of J0 v_1 + offset and r                  J0 the rows at q
    q_1      q o exp(dt (v + v_1) / 2), where contacts are looked for again
    v_2      A (v_2 - v_f) = J* r,    laws of u + offset and r                       J = (J0 + J1) / 2
    q+, v+   the flow with the forces J* r / dt, about the origins of bodies

with A = M(q) + dt/2 D and J1 the rows at q_1, on arms from the bodies' origins there.  In the second problem normals ask
for u = J1 v_2, and tangents that slide for a slip as long, along the mean of both ends (``core/integrate/end_laws.py``),

    u_t = |y| (x + y) / |x + y|,    x = J0 v,  y = J1 v_2,

so that what acts on velocities, J*, is not what laws look at.  Rounds of that come to an end: it is taken as one problem.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.constraints.contact import find_contact, tangential
from mb_contact.core.constraints.flat_manifolds import last_of_face
from mb_contact.core.constraints.rows import TOUCHING
from mb_contact.core.gradients.laws import active_laws
from mb_contact.core.gradients.loops import closure_wrenches
from mb_contact.core.gradients.readings import MOVED, TWIST_Q, body_rates
from mb_contact.core.gradients.rows import gap_slope, place_contacts
from mb_contact.core.gradients.step import follow
from mb_contact.core.gradients.workspace import FINE, HELD
from mb_contact.core.handle import FACE_GAP, PUSH_RATE, UNIT_LENGTH, UNIT_SPEED
from mb_contact.core.integrate.end_laws import SLIDING
from mb_contact.core.integrate.kept_contacts import NO_FRAME
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.core.workspace import BOX
from mb_contact.gradients.flow import Flow, Held
from mb_contact.gradients.gains import Gain, push_out, slowed
from mb_contact.gradients.midpoint import MidpointFlow
from mb_contact.gradients.motion import cross, displaced, skew, step_map
from mb_contact.gradients.runge_kutta import RungeKuttaFlow
from mb_contact.types import WORLD

SAME = 1e-11  #: relative difference of velocities that is rounding
RANK = 1e-9  #: part of the largest singular value below which impulses are not unique


class Bodies(NamedTuple):
    """Bodies at coordinates q and velocities v, about their own origins, and behind them the world, which rests."""

    R: Any  #: (n + 1, 3, 3)
    p: Any  #: (n + 1, 3)
    X: Any  #: (n + 1, 6, N) twists by degree of freedom
    V: Any  #: (n + 1, 6)
    V_q: Any  #: (n + 1, 6, N)


class Frames(NamedTuple):
    """Contacts at one end of the step, k of them, and how they move with the columns."""

    axes: Any  #: (k, 3, 3) normal and tangents
    arms: Any  #: (2, k, 3) from the origins of both bodies to the point
    by_axes: Any  #: (k, 3, 3, columns)
    by_arms: Any  #: (2, k, 3, columns)


class Rows(NamedTuple):
    """Rows as wrenches on both bodies of their contacts about the bodies' origins, R of them; 0 of rows of joints."""

    on: Any  #: (2, R, 6)
    by: Any  #: (2, R, 6, columns)


class FlowStep:
    """The last step of a Differentiator's context, a step of a flow.

    Parameters
    ----------
    differentiator : Differentiator
    columns : dict of str to slice
    width : int
        Of all columns.
    near : float
        As of ``step_derivatives``.
    """

    def __init__(self, differentiator, columns, width, near):
        self.d, self.c, self.columns, self.width, self.near = differentiator, differentiator.context, columns, width, near
        self.gained = False  #: whether more has been removed than what contacts have added
        self.q, self.v, self.gravity, self.dt = self.c.last
        self.free = self._flow(self.c.work.v_free.copy())
        self.dq, self.dv = self.free.unit("q"), self.free.unit("v")

    def _flow(self, v_end, held=None):
        kind = MidpointFlow if self.c.scene.integrator == "midpoint" else RungeKuttaFlow
        return kind(self.d, self.columns, self.width, v_end, held)

    def run(self):
        """(matrix (2, N, columns), impulses (k, 3, columns), unique) of the step."""
        c, free = self.c, self.free.solve()
        self.by_free = free[1]
        if not self.d.count_rows():
            return free, np.zeros((0, 3, self.width)), True
        start = self._start()
        solution, at_end, end = c.solution, bool(c.flow_arrays.end_known[0]), c.end
        kept = solution.r[: self.rows].copy(), solution.u[: self.rows].copy()
        solved = [(end.r[k, : self.rows], end.u[k, : self.rows]) for k in range(end.solved[0])] if at_end else [kept, kept]
        self.beside = self._offsets()
        rows = self._wrenches(start)
        J = self._matrix(rows, self.bodies)
        try:
            v, by, _ = self._solve(rows, J, *solved[0], 0.0)
            way = 0.5 * self.dt * (self.v + v)
            by_q, by_way = step_map(c.tree, way)
            to = by_q @ self.dq + 0.5 * self.dt * by_way @ (self.dv + by)
            q = displaced(c.tree, self.q, way) if at_end else self.q
            bodies = self._bodies(q, self.v)
            there = self._wrenches(self._end(start, bodies, to) if at_end else self._moved(start, bodies, to))
            mean = Rows(0.5 * (rows.on + there.on), 0.5 * (rows.by + there.by))
            J_mean = self._matrix(mean, self.bodies)
            slip, by_slip = self._velocities(rows, self.bodies, self.dq)
            by_bias, by_slip = 0.0, by_slip + J @ self.dv
            for k, (r, u) in enumerate(solved[1:]):
                v, by, dr = self._solve(mean, J_mean, r, u, by_bias)
                if k + 2 < len(solved):
                    asked, by_asked = self._velocities(there, self._bodies(q, v), to)
                    by_asked += self._matrix(there, self._bodies(q, v)) @ by
                    by_bias = self._asked(slip, by_slip, asked, by_asked) - self._linear(mean, J_mean, v, by)
                    by_bias[self.own] = 0.0
        finally:
            solution.r[: self.rows], solution.u[: self.rows] = kept
        flow = self._flow(c.flow_arrays.v_end.copy(), self._held(mean, r, dr))
        matrix = flow.solve()
        _, _, self.d.arrays.first[:] = self.d._columns(tuple(self.columns))
        for part in matrix:
            follow(self.d.handle, c.handle, part)
        if (c.v != flow.v_end).any():
            gain = Gain(flow.work, flow.by_work, *push_out(c, self.beside, dr))
            v, matrix[1] = slowed(c, self.d.start, self.columns.get("mass"), self._bodies(c.q, flow.v_end), flow.v_end,
                                  *matrix, gain)  # fmt: skip
            self.gained = np.abs(v - c.v).max() > SAME * np.abs(v).max()
        return matrix, self._impulses(start, r, dr), self.unique

    # --- both ends --------------------------------------------------------------------------

    def _bodies(self, q, v):
        """Bodies at (q, v)."""
        c, (d, handle) = self.c, self.d.start
        n, N = c.n, c.N
        evaluate_inverse_derivatives(handle, q, v, np.zeros(N), self.gravity)
        out = Bodies(np.zeros((n + 1, 3, 3)), np.zeros((n + 1, 3)), *(np.zeros((n + 1, 6, *m)) for m in ((N,), (), (N,))))
        rates = np.empty((6, 6, N))
        for k in range(n):
            body_rates(handle, k, rates)
            x = d.kin.p[k] - d.kin.p[c.tree.root[k]]
            out.R[k], out.p[k] = d.kin.R[k], d.kin.p[k]
            for own, about in ((out.X, rates[MOVED]), (out.V, d.V[k]), (out.V_q, rates[TWIST_Q])):
                own[k, :3], own[k, 3:] = about[:3], about[3:] - skew(x) @ about[:3]
            out.V_q[k, 3:] += skew(out.V[k, :3]) @ out.X[k, 3:]
        out.R[n] = np.eye(3)
        return out

    def _rates(self, bodies, place):
        """Normals, points and gaps (k, 7, N) by q, of ``place`` at the bodies' poses."""
        at_origin = bodies.X.copy()
        at_origin[:, 3:] += skew(bodies.p) @ bodies.X[:, :3]
        a, b = self.pair
        return place[:, :, :6] @ at_origin[a] + place[:, :, 6:] @ at_origin[b]

    def _start(self):
        """Frames where the step begins; what of the problem stays the same."""
        c = self.c
        count, _, _ = self.d._pose(self.v, np.zeros(c.N), np.zeros(3), ())
        g, self.rows, self.count = self.d.arrays, self.d.count_rows(), count
        geoms, pairs = c.world.geoms, c.contacts.pair[:count]
        self.pair, self.closures = geoms.body[geoms.pairs[pairs]].T, len(c.couplings.closures.kind)
        self.joint_rows, place = g.J[: self.rows].copy(), g.place[:count].copy()
        self.own = np.ones(self.rows, bool)  # of joints and closures
        self.own[[row for row, _, _, _ in self._axes()]] = False
        self.joint = self.own & (c.rows.dof[g.at[: self.rows]] >= 0)
        self.bodies = self._bodies(self.q, self.v)
        rates = self._rates(self.bodies, place)
        self.by_gap = rates[:, 6] @ self.dq
        axes = np.stack((c.contacts.normal[:count], c.frames.t1[:count], c.frames.t2[:count]), 1)
        turn = skew(axes[:, 0]) @ rates[:, :3] @ self.dq
        return self._framed(self.bodies, axes, -skew(axes) @ turn[:, None], c.contacts.point[:count],
                            rates[:, 3:6] @ self.dq, self.dq)  # fmt: skip

    def _framed(self, bodies, axes, by_axes, point, by_point, to):
        """Frames at the bodies' poses, which move with ``to`` (N, columns)."""
        arms = [point - bodies.p[k] for k in self.pair]
        by_arms = [by_point - bodies.X[k, 3:] @ to for k in self.pair]
        return Frames(axes, np.array(arms), by_axes, np.array(by_arms))

    def _end(self, start, bodies, to):
        """Frames at the poses in which contacts were looked for again."""
        c, found, count = self.c, self.c.end_poses.contacts, self.count
        t = start.axes[:, 1]
        own = [find_contact(found, c.contacts.pair[i], c.contacts.feature[i], i) for i in range(count)]
        own = [j if j >= 0 and tangential(tuple(t[i]), tuple(found.normal[j]))[1] >= NO_FRAME else -1
               for i, j in enumerate(own)]  # fmt: skip
        moved = self._moved(start, bodies, to)
        n, by_n = start.axes[:, 0].copy(), start.by_axes[:, 0].copy()
        carried = [moved.arms[s] + bodies.p[self.pair[s]] for s in range(2)]
        by_carried = [moved.by_arms[s] + bodies.X[self.pair[s], 3:] @ to for s in range(2)]
        x, by_x = 0.5 * (carried[0] + carried[1]), 0.5 * (by_carried[0] + by_carried[1])
        known = [i for i, j in enumerate(own) if j >= 0]
        if known:
            rates = self._placed([own[i] for i in known], known, bodies)
            by = rates @ to
            at = [own[i] for i in known]
            n[known], x[known], by_n[known], by_x[known] = found.normal[at], found.point[at], by[:, :3], by[:, 3:6]
        along = np.einsum("ij,ij->i", t, n)[:, None]
        a = t - along * n
        by_t = start.by_axes[:, 1]
        by_along = np.einsum("ijc,ij->ic", by_t, n) + np.einsum("ij,ijc->ic", t, by_n)
        by_a = by_t - by_along[:, None] * n[:, :, None] - along[:, :, None] * by_n
        size = np.linalg.norm(a, axis=1)[:, None]
        t = a / size
        by_t = (by_a - t[:, :, None] * np.einsum("ij,ijc->ic", t, by_a)[:, None]) / size[:, :, None]
        axes = np.stack((n, t, cross(n, t)), 1)
        by_axes = np.stack((by_n, by_t, skew(n) @ by_t - skew(t) @ by_n), 1)
        return self._framed(bodies, axes, by_axes, x, by_x, to)

    def _placed(self, found, own, bodies):
        """Rates (k, 7, N) of contacts ``found`` where the step ends, which are ``own`` of its start."""
        c, contacts, other = self.c, self.c.contacts, self.c.end_poses.contacts
        names = ("pair", "gap", "point", "normal", "count")
        kept = [(getattr(contacts, name), getattr(contacts, name).copy()) for name in names]
        try:
            for name in names[:-1]:
                getattr(contacts, name)[: len(found)] = getattr(other, name)[found]
            contacts.count[0] = len(found)
            status, i = place_contacts(self.d.handle, c.handle)
            if status != FINE:
                raise self.d.refused(status, i)
        finally:
            for array, copy in kept:
                array[:] = copy
        pair, self.pair = self.pair, self.pair[:, own]
        try:
            return self._rates(bodies, self.d.arrays.place[: len(found)])
        finally:
            self.pair = pair

    def _moved(self, start, bodies, to):
        """Frames whose points go with each of both bodies from the start to these poses; axes are those of the start."""
        arms, by_arms = [], []
        for s, k in enumerate(self.pair):
            turn = bodies.R[k] @ self.bodies.R[k].swapaxes(1, 2)
            arm = np.einsum("kij,kj->ki", turn, start.arms[s])
            back = start.by_arms[s] + skew(start.arms[s]) @ (self.bodies.X[k, :3] @ self.dq)
            arms.append(arm)
            by_arms.append(turn @ back - skew(arm) @ (bodies.X[k, :3] @ to))
        return start._replace(arms=np.array(arms), by_arms=np.array(by_arms))

    # --- rows -------------------------------------------------------------------------------

    def _axes(self):
        """(row, contact, axis, whether it is a force) of all rows of contacts."""
        surfaces, extra = self.c.friction.surfaces, self.c.friction.extra
        out = [(3 * i + a, i, a, True) for i in range(self.count) for a in range(3)]
        for i in range(self.count):
            pair, at = self.c.contacts.pair[i], int(extra[i])
            sizes = ([0] if surfaces.torsional[pair] > 0.0 else []) + ([1, 2] if surfaces.rolling[pair] > 0.0 else [])
            out += [(at + e, i, a, False) for e, a in enumerate(sizes)]
        return out

    def _wrenches(self, frames):
        """Rows in these frames."""
        out = Rows(np.zeros((2, self.rows, 6)), np.zeros((2, self.rows, 6, self.width)))
        for row, i, a, is_force in self._axes():
            d, by = frames.axes[i, a], frames.by_axes[i, a]
            for s, sign in enumerate((1.0, -1.0)):
                if self.pair[s][i] == WORLD:
                    continue
                if not is_force:
                    out.on[s, row, :3], out.by[s, row, :3] = sign * d, sign * by
                    continue
                arm = frames.arms[s, i]
                out.on[s, row] = sign * np.concatenate((cross(arm, d), d))
                out.by[s, row] = sign * np.concatenate((skew(arm) @ by - skew(d) @ frames.by_arms[s, i], by))
        return out

    def _of(self):
        """Bodies (2, R) of rows, of those of joints the world."""
        out = np.full((2, self.rows), self.c.n)
        for row, i, _, _ in self._axes():
            out[:, row] = self.pair[:, i]
        return out

    def _matrix(self, rows, bodies):
        """J (R, N) of rows, of joints and closures those of the start."""
        of = self._of()
        J = sum(np.einsum("rj,rjn->rn", rows.on[s], bodies.X[of[s]]) for s in range(2))
        return np.where(self.own[:, None], self.joint_rows, J)

    def _velocities(self, rows, bodies, to):
        """Velocities (R,) of rows of contacts, and their derivative (R, columns) at fixed velocities of joints."""
        of, u, by = self._of(), 0.0, 0.0
        for s in range(2):
            V = bodies.V[of[s]]
            u = u + np.einsum("rj,rj->r", rows.on[s], V)
            by = by + np.einsum("rjc,rj->rc", rows.by[s], V)
            by = by + np.einsum("rj,rjn->rn", rows.on[s], bodies.V_q[of[s]]) @ to
        return u, by

    def _offsets(self):
        """Derivative (R, columns) of the rows' offsets."""
        c, count, settings = self.c, self.count, self.c.settings
        out, self.slope = np.zeros((self.rows, self.width)), np.zeros(count)
        gap, unit = c.contacts.gap, settings[UNIT_LENGTH]
        slower, i = (1.0 - settings[PUSH_RATE]) / self.dt, 0
        while i < count:
            end = last_of_face(c.contacts, i)
            face = np.arange(i, end)
            low = i + int(np.argmax(np.abs(gap[i:end])))
            share = 2.0 - 2.0 * abs(gap[low]) / settings[FACE_GAP] if end == i + 4 else 0.0
            for j in face.tolist():
                slope = gap_slope(gap[j], settings, self.dt, unit)
                level = min(max(share, 0.0), 1.0) if gap[j] >= 0.0 else 0.0
                if c.solution.pushed[3 * j] != 0.0:
                    slope = level = 0.0
                out[3 * j] += (slope - level * slower) * self.by_gap[j]
                self.slope[j] = slope if level < 1.0 else 0.0
                if 0.0 < level < 1.0:
                    out[3 * j] += slower * gap[j] * 2.0 / settings[FACE_GAP] * np.sign(gap[low]) * self.by_gap[low]
            i = end
        return out

    def _asked(self, slip, by_slip, asked, by_asked):
        """Derivative (R, columns) of what laws of contacts look at where the step ends."""
        by, little = by_asked.copy(), SLIDING * self.c.settings[UNIT_SPEED]
        for row, _, a, _ in self._axes():
            if a == 1:
                own = slice(row, row + 2)
                by_x, by_y = mean_direction(slip[own], asked[own], little)
                by[own] = by_y @ by_asked[own] + by_x @ by_slip[own]
        return by

    def _linear(self, rows, J, v, by):
        """Derivative (R, columns) of J v."""
        return self._velocities(rows, self._bodies(self.q, v), self.dq)[1] + J @ by

    # --- problems ---------------------------------------------------------------------------

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
        by_law = self._velocities(rows, self._bodies(self.q, v), self.dq)[1] + self._own_velocities(v) + self.beside + by_bias
        d, handle = self.d.start
        evaluate_inverse_derivatives(handle, self.q, np.zeros(c.N), jump, np.zeros(3))
        right = A @ self.by_free - d.d_q @ self.dq
        if "mass" in columns:
            right[:, columns["mass"]] -= self.free.masses()
        if "damping" in columns:
            right[:, columns["damping"]] -= 0.5 * self.dt * np.diag(jump)
        wrench, by_wrench = self._pushed(rows, r, np.zeros((rows_of, self.width)))
        flow = Flow(self.d, self.columns, self.width, None, Held(wrench, by_wrench, np.zeros(c.N), np.zeros((c.N, self.width))))
        _, by_q, fixed = flow.forces(outside=False)
        right += fixed + by_q @ self.dq
        inverse = np.linalg.inv(A)
        g.compliance[:rows_of] = np.einsum("ri,ij,rj->r", J, inverse, J)
        active_laws(self.d.handle, c.handle, self.near)
        direct = self._direct(r)
        right += J.T @ direct
        held = int(g.count[HELD])
        row, weight = g.row[:held], g.weight[:held]
        B, pulled = np.zeros((held, c.N)), np.zeros((rows_of, held))
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
        self.d._pose(self.v, np.zeros(c.N), np.zeros(3), ())
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
                out[row, self.columns["friction"].start + c.contacts.pair[row // 3]] = (
                    g.drag[row] / c.rows.mu[row] * r[row - row % 3])
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
        _, _, g.first[:] = self.d._columns(tuple(self.columns))
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
        r, dr = (x[: 3 * self.count].reshape(-1, 3, *x.shape[1:]) for x in (r, dr))
        return np.einsum("kac,kaj->kjc", dr, start.axes) + np.einsum("ka,kajc->kjc", r, start.by_axes)


def mean_direction(x, y, little):
    """Derivatives (2, 2) by x and by y of ``|y| (x + y) / |x + y|``, or of y where it is little or has turned round."""
    size, both = np.linalg.norm(y), x + y
    if size < little or x @ y <= 0.5 * size * np.linalg.norm(x):
        return np.zeros((2, 2)), np.eye(2)
    length = np.linalg.norm(both)
    s = both / length
    turned = size / length * (np.eye(2) - np.outer(s, s))
    return turned, turned + np.outer(s, y / size)
