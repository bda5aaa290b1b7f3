# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The derivative of a step with impacts: its stages one behind the other, each differentiated as a step is.

Every stage is a contact problem M (v_out - v_in) = J* r with laws on J v_out + offset, at the coordinates of the start:

    the step without what collides   says when, t, and how fast, u + ahead, contacts meet (core/impact/times.py)
    compression, decompression       impulses alone; the second has least normal impulses theta = eps p_c, or an offset
    the step                         from v' = v + dv, and from coordinates q o exp(-t dv)

All derivatives are matrices by the names of what is asked for, d(stage) = d_in D_in + d_offset D_offset + direct ones.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.impact.phases import NEWTON, PAPERS
from mb_contact.core.impact.times import first_touch, path_end
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.errors import InputError
from mb_contact.gradients.flow import Start
from mb_contact.gradients.flow_step import FlowStep
from mb_contact.gradients.kinks import Kink, kinks_of
from mb_contact.gradients.motion import cross, displaced, skew, step_map, unit
from mb_contact.gradients.tape import page
from mb_contact.types import LOWER

IMPULSES_ALONE = ("q", "mass", "friction")  #: what a phase of an impact knows
HANDED_ON = ("least", "offset", "shift")  #: what stages hand on


class Phase(NamedTuple):
    """What makes a stage a phase of an impact; of each contact, or one number for all."""

    apart: Any = 0  #: 1 where it acts on each body at its own surface
    least: Any = 0.0  #: normal impulses
    given: Any = 0.0  #: the part of them that bounds no friction


class Chain:
    """Derivatives along the stages of the last step of a Differentiator, by some names with their columns."""

    def __init__(self, differentiator, columns, near, felt=False):
        self.d, self.c, self.columns, self.near = differentiator, differentiator.context, columns, near
        self.width = max((own.stop for own in columns.values()), default=0)
        self.names = tuple(name for name in columns if name not in ("v", "restitution"))
        self.q, _, self.gravity, self.dt = self.c.last
        self.still = np.zeros(self.c.N)
        self.v = self.c.last.v
        self.by_shift = np.zeros((self.c.N, self.width))
        self.by_q, self.by_v = (self.d.followed(unit(self.c, columns, self.width, name), columns) for name in "qv")
        self.kinks, self.unique, self.flow = (), True, None
        self.spin = np.zeros((0, self.width))  #: turns of tangents by their own law, of an impact's contacts
        self.felt = felt  #: whether ``wrenches`` and what follows are wanted
        #: derivatives of wrenches of contacts on A about the world's origin, (k, 6, columns), of the step, then of
        #: impacts, and moments that both bodies feel beside them, as impacts act at the surfaces of each body, with
        #: their derivatives, (k, 3, 1 + columns)
        self.wrenches, self.apart = [], []
        #: derivatives of impulses of rows and of closures and gears on both bodies, as ``Differentiator.row_impulses``,
        #: of the step's own problem; of closures by impacts, and of joint limits by impacts (N, columns)
        self.rows: list = []
        self.loops: Any = 0.0
        self.limits = np.zeros((self.c.N, self.width))

    def run(self):
        """(matrix (2, N, columns), impulses, unique) of the whole step."""
        tape, end = self.c.impacts.tape, page(self.c)
        kept = [(array, array.copy()) for array, _ in end.arrays]
        try:
            felt, apart = [], []
            for at in tape:
                self._impact(at)
                if self.felt:
                    self.loops = self.loops + sum(loops for _, loops, _ in self.rows)
                    self._add_limits(at)
                if self.felt and len(at.eps):
                    felt, apart = [*felt, sum(self.wrenches)], [*apart, sum(self.apart)]  # of both phases
            end.load()
            self.c.work.shift[:] = tape[-1].shift
            self.wrenches, self.apart, self.rows = [], [], []
            matrix, impulses = self._last()
            self.wrenches, self.apart = self.wrenches + felt, self.apart + apart
            return matrix, impulses, self.unique
        finally:
            self.d.phase = None
            for array, copy in kept:
                array[:] = copy

    def _add_limits(self, at):
        """What the phases of an impact have done at joint limits."""
        rows = self.c.rows
        for row in range(3 * len(at.eps), int(rows.end[0])):
            if rows.dof[row] >= 0:
                self.limits[rows.dof[row]] += rows.sign[row] * sum(dr[row] for dr, _, _ in self.rows)

    # --- stages -----------------------------------------------------------------------------

    def _solved(self, v, moving, names, offset, **more):
        """Solve the loaded stage from v; derivatives of (coordinates, velocities) and of impulses by all columns."""
        c, gravity = self.c, self.gravity if moving is v else np.zeros(3)
        parts, impulses, own, unique = self.d.stage(v, moving, gravity, ("v", *names, *HANDED_ON), self.near)
        self.kinks += self.d.kinks()
        self.unique = self.unique and unique
        inputs = {"v": self.by_v, "offset": offset, **more}
        by_impulse = self._joined(impulses, own, inputs)
        turned = cross(c.contacts.normal[: len(self.spin)], self._vectors(len(self.spin)))
        turned = turned[:, :, None] * self.spin[:, None]
        by_impulse[: len(turned)] += turned
        if self.felt:
            rows, wrenches, loops, gears = (self._joined(x, own, inputs) for x in self.d.row_impulses(parts.shape[2]))
            self.rows.append((rows, loops, gears))
            wrenches[: len(turned), 3:] += turned
            wrenches[: len(turned), :3] += skew(c.contacts.point[: len(turned)]) @ turned
            self.wrenches.append(wrenches)
            self.apart.append(self._across(by_impulse))
        return self._joined(parts, own, inputs), by_impulse

    def _vectors(self, k):
        """Impulses (k, 3) of the first k contacts on A."""
        c, r = self.c, self.c.solution.r[: 3 * k].reshape(-1, 3)
        return r[:, :1] * c.contacts.normal[:k] + r[:, 1:2] * c.frames.t1[:k] + r[:, 2:] * c.frames.t2[:k]

    def _across(self, by_impulse):
        """Moments (k, 3, 1 + columns) of half of the gap times the impulse, and their derivatives, of a phase."""
        c, g, k = self.c, self.d.arrays, len(by_impulse)
        n, p = c.contacts.normal[:k], self._vectors(k)
        half = 0.5 * np.maximum(c.contacts.gap[:k], 0.0) * (g.apart[:k] != 0)
        out = np.concatenate((p[:, :, None], by_impulse), axis=2)
        out = half[:, None, None] * (skew(n) @ out)
        by_n = -skew(n) @ (g.turn[:k] @ self.by_q)
        by_gap = (g.gap_q[:k] @ self.by_q)[:, None]
        out[:, :, 1:] += 0.5 * (half > 0.0)[:, None, None] * cross(n, p)[:, :, None] * by_gap
        out[:, :, 1:] -= half[:, None, None] * (skew(p) @ by_n)
        return out

    def _joined(self, part, own, inputs):
        total = np.zeros((*part.shape[:-1], self.width))
        for name in self.names:
            if name in own:
                total[..., self.columns[name]] += part[..., own[name]]
        for name, by in inputs.items():
            total += part[..., own[name]] @ by
        return total

    def _rates(self, v, by_v):
        """(velocities of the loaded rows at velocities v, their derivatives at constant offsets)."""
        now, mode = self.c.v.copy(), self.d.phase
        self.c.v[:], self.d.phase = v, mode or Phase()
        J, u_q = self.d.rows(v, self.still, self.gravity)
        self.c.v[:], self.d.phase = now, mode
        u = J @ v
        return u, J @ by_v + u_q @ self.by_q + self._spun(u)

    def _spun(self, x):
        """Derivative (rows, columns) of a vector's components x (rows,) along axes that turn about normals.

        In polygons the first tangent is along the slip m where the impact begins: it turns by t2.dm / |m_t|.
        """
        out, k = np.zeros((len(x), self.width)), 3 * len(self.spin)
        out[1:k:3], out[2:k:3] = self.spin * x[2:k:3, None], -self.spin * x[1:k:3, None]
        return out

    def _find_spin(self):
        """Set ``spin`` of the loaded contacts, whose kernels have constant directions then."""
        c, self.spin = self.c, np.zeros((0, self.width))
        count = int(c.contacts.count[0])
        aligned = c.frames.aligned[:count].astype(bool)
        if c.friction.model[DIRECTIONS] == 0 or not aligned.any():
            return
        c.frames.aligned[:count] = 0
        u, rate = self._rates(self.v, self.by_v)
        u, across = u[: 3 * count].reshape(-1, 3), rate[2 : 3 * count : 3].copy()
        n, t1, t2 = c.contacts.normal[:count], c.frames.t1[:count], c.frames.t2[:count]
        w = u[:, :1] * n + u[:, 1:2] * t1 + u[:, 2:] * t2
        across -= np.einsum("ij,ijc->ic", cross(t2, w), self.d.arrays.turn[:count]) @ self.by_q
        self.spin = np.where(aligned, 1.0 / np.maximum(np.abs(u[:, 1]), 1e-300), 0.0)[:, None] * across

    def _last(self):
        """The loaded step from where impacts have led: (matrix, impulses)."""
        self.d.phase = None
        return self._solved(self.v, self.v, self.names, self._shifted(), shift=self.by_shift)

    def _without(self, at, contacts=True):
        """Derivative (N, columns) of the velocities behind the step without what collides, or without any contact."""
        self._load_meeting(at, contacts)
        return self._last()[0][1]

    def _load_meeting(self, at, contacts):
        at.meeting.load()
        self.c.v[:] = at.v_meeting if contacts else at.v_free
        if not contacts:
            self.c.contacts.count[0] = self.c.rows.end[0] = self.c.bilateral.info[:2] = 0

    def _shifted(self):
        """Derivative (rows, columns) of the offsets that a step has as impacts have moved where it begins."""
        rows, contacts, c = self.d.count_rows(), 3 * int(self.c.contacts.count[0]), self.c
        offset, self.spin = np.zeros((rows, self.width)), self.spin[:0]
        if c.work.shift.any() or self.by_shift.any():
            _, back = self._rates(c.work.shift.copy(), self.by_shift)
            offset[:contacts:3] = -back[:contacts:3] / self.dt
            for row in range(contacts, int(c.rows.end[0])):
                dof = int(c.rows.dof[row])
                if dof >= 0:
                    offset[row] = -c.rows.sign[row] * self.by_shift[dof] / self.dt
        return offset

    def _impact(self, at):
        """One impact: what it makes of the velocities and of the way back of coordinates."""
        if at.scale != 1.0:
            raise InputError("no derivative of an impact whose restitution was lowered because energy appeared; set "
                             "energy_gain: allow")  # fmt: skip
        ahead, by_moment = self._moments(at)
        self.wrenches, self.apart, self.rows = [], [], []
        by_v, start = self._phases(at, ahead), self.by_v
        tree = self.c.tree
        for k in np.flatnonzero(at.body_moment > 0.0):
            own, t = slice(tree.v_start[k], tree.v_start[k] + tree.nv[k]), at.body_moment[k]
            jump = (at.v_after - at.v_before)[own]
            self.by_shift[own] += np.outer(jump, by_moment[k]) + t * (by_v - start)[own]
        self.v, self.by_v = at.v_after, by_v

    def _load_phase(self, at, apart):
        """Rows of the impact, with the gaps that its contacts have in the step."""
        at.meeting.load()
        contacts, count = self.c.contacts, int(self.c.contacts.count[0])
        table = list(zip(contacts.pair[:count].tolist(), map(bytes, contacts.point[:count]), strict=True))
        work, gap, spread = self.c.work, contacts.gap.copy(), contacts.spread.copy()
        pair, normal, met = contacts.pair[:count].copy(), contacts.normal[:count].copy(), count
        back, shift = work.shift.copy(), work.gap_shift.copy()
        at.phases.load()
        work.shift[:] = back
        count = int(contacts.count[0])
        of = [table.index(entry) for entry in
              zip(contacts.pair[:count].tolist(), map(bytes, contacts.point[:count]), strict=True)]  # fmt: skip
        for i in of:  # a face's points stand at the height of its deepest
            deeper = (pair == pair[i]) & (normal == normal[i]).all(axis=1) & (gap[:met] < gap[i])
            if not set(np.flatnonzero(deeper)) <= set(of):
                above = float(gap[i] - gap[:met][deeper].min())
                self.kinks += (Kink("face", self.c.pair_links[int(pair[i])], i, above),)
        contacts.gap[:count], contacts.spread[:count] = gap[of], spread[of]
        collides = np.isfinite(at.moment[:count])  # and not only touches
        self.d.phase = Phase()
        self._find_spin()
        self.d.phase = Phase(collides if apart else 0)
        return collides, shift[of]

    def _moments(self, at):
        """(derivatives of ``ahead`` (rows, columns), of the moment of each body)."""
        by_meeting = self._without(at)
        collides, gap_shift = self._load_phase(at, apart=False)
        ahead, by_moment = np.zeros((len(at.ahead), self.width)), np.zeros((self.c.n, self.width))
        if at.at_once:
            return ahead, by_moment
        u, by_u = self._rates(self.v, self.by_v)
        back = self._rates(self.c.work.shift.copy(), self.by_shift)[1] if self.by_shift.any() else np.zeros_like(by_u)
        after, by_after = self._rates(at.v_meeting, by_meeting)
        body, times = self.d.bodies(), {}
        free = [i for i in np.flatnonzero(collides) if not abs(after[3 * i] - self._free(at)[0][3 * i]) < abs(u[3 * i])]
        for i in free:
            value, rate = self._free_rates(at, collides)
            after[3 * i : 3 * i + 3], by_after[3 * i : 3 * i + 3] = value[3 * i : 3 * i + 3], rate[3 * i : 3 * i + 3]
        lag = self.c.impacts.lag
        for i in np.flatnonzero(collides):
            gap = float(self.c.contacts.gap[i]) + gap_shift[i]
            by_gap = self.d.arrays.gap_q[i] @ self.by_q - back[3 * i]
            times[i] = touch_rate(gap, u[3 * i], after[3 * i], lag, self.dt, by_gap, by_u[3 * i], by_after[3 * i])
        for j in np.flatnonzero(np.isfinite(at.moment[len(at.eps) :])).tolist():
            times[len(at.eps) + j] = self._limit_time(at, 3 * len(at.eps) + j)
        for k in np.flatnonzero(at.body_moment > 0.0):
            by_moment[k] = next(by for i, by in times.items() if at.moment[i] == at.body_moment[k])
        for i in np.flatnonzero(collides):
            rows, k = slice(3 * i, 3 * i + 3), body[i]
            if at.ahead[rows].any():
                late = lag * self.dt + at.body_moment[k]
                pull, by_pull = (after - u)[rows] / self.dt, (by_after - by_u)[rows] / self.dt
                ahead[rows] = late * by_pull + np.outer(pull, by_moment[k])
        return ahead, by_moment

    def _limit_time(self, at, row):
        """Derivative of the moment at which a joint reaches the limit of a row (core/impact/times.py, limit_touch)."""
        by_free, c = self._without(at, contacts=False), self.c
        self._load_phase(at, apart=False)
        dof, sign, lag = int(c.rows.dof[row]), float(c.rows.sign[row]), c.impacts.lag
        k = int(np.searchsorted(c.tree.v_start, dof, "right")) - 1
        bound = c.tree.lower[dof] if c.rows.bound[row] == LOWER else c.tree.upper[dof]
        gap = sign * (self.q[c.tree.q_start[k]] - c.work.shift[dof] - bound)
        u, free, by_u = sign * self.v[dof], sign * at.v_free[dof], sign * self.by_v[dof]
        by_gap = sign * (self.by_q - self.by_shift)[dof]
        if path_end(gap, u, free, lag, self.dt) <= 0.0:
            return touch_rate(gap, u, free, lag, self.dt, by_gap, by_u, sign * by_free[dof])
        return touch_rate(gap, u, u, 0.0, self.dt, by_gap, by_u, by_u)

    def _free(self, at):
        """Velocities of the loaded rows without any contact."""
        return self._rates(at.v_free, np.zeros((self.c.N, self.width)))

    def _free_rates(self, at, collides):
        """The same, and their derivatives."""
        by_free = self._without(at, contacts=False)
        self._load_phase(at, apart=False)
        return self._rates(at.v_free, by_free)

    def _phases(self, at, ahead):
        """Derivatives of the velocities behind both phases."""
        c, law = self.c, self.c.impacts.law
        collides, _ = self._load_phase(at, apart=True)
        c.solution.pushed[:] = 0.0
        rows, count, contacts = len(at.p_c), len(at.eps), 3 * len(at.eps)
        J, M = self.d.rows(self.v, self.still, self.gravity)[0].copy(), self.d.mass_matrix()
        u, by_u = self._rates(self.v, self.by_v)
        by_u = by_u + ahead
        elastic = bool(at.eps.any())
        names = tuple(name for name in self.names if name in IMPULSES_ALONE)

        def solve(v_out, r, u_out, offset, **more):
            c.v[:], c.solution.r[:rows], c.solution.u[:rows] = v_out, r, u_out
            if not len(self.spin):
                return self._solved(more.pop("v_in"), self.still, names, offset, **more)
            before = self.by_v  # turned impulses are as others that it began with
            self.by_v = before - np.linalg.solve(M, J.T @ self._spun(r))
            found = self._solved(more.pop("v_in"), self.still, names, offset + self._spun(J @ v_out), **more)
            self.by_v = before
            return found

        if elastic and law == NEWTON:
            offset, asked = ahead.copy(), at.u_after.copy()
            for i in np.flatnonzero(at.u[:contacts:3] < 0.0):
                offset[3 * i] += at.eps[i] * by_u[3 * i]
                asked[3 * i] += at.eps[i] * at.u[3 * i]
                self._add_restitution(offset[3 * i], i, at.u[3 * i])
            return solve(at.v_after, at.total, asked, offset, v_in=self.v)[0][1]
        v_c = self.v + np.linalg.solve(M, J.T @ at.p_c)
        (_, by_c), by_p = solve(v_c, at.p_c, at.u_c, ahead, v_in=self.v)
        if not elastic:
            return by_c
        normal = self.d.normal_rates(by_p, self.by_q)
        least = at.eps[:, None] * normal
        for i in range(count):
            self._add_restitution(least[i], i, at.p_c[3 * i])
        theta = at.theta[:contacts:3]
        self.d.phase = Phase(collides, theta, theta if law == PAPERS else 0.0)
        self.by_v, start = by_c, self.by_v
        try:
            return solve(at.v_after, at.total - at.p_c, at.u_after, ahead, v_in=v_c, least=least)[0][1]
        finally:
            self.by_v = start

    def _add_restitution(self, row, i, by):
        """What a quantity of contact i gains with its restitution."""
        if "restitution" in self.columns:
            row[self.columns["restitution"].start + int(self.c.contacts.pair[i])] += by


class FlowChain(Chain):
    """The same of a step by a flow, which begins at q o exp(-shift) and v'."""

    def _step(self, v_free=None):
        """FlowStep of the loaded step."""
        tree, shift = self.c.tree, self.c.work.shift.copy()
        by_q, by_way = step_map(tree, -shift)
        by_q = by_q @ self.by_q - by_way @ self.by_shift
        start = Start(displaced(tree, self.q, -shift), self.v, by_q, self.by_v)
        self.d.phase = None
        return FlowStep(self.d, self.columns, self.width, self.near, start, self._shifted(), v_free)

    def _last(self):
        self.flow = self._step()
        matrix, impulses, unique = self.flow.run()
        self._told(self.flow, unique)
        if self.felt:
            self.wrenches.append(self.flow.wrenches)
            self.apart.append(np.zeros((len(self.flow.wrenches), 3, 1 + self.width)))
            rows, _, loops, gears = self.flow.row_impulses()
            self.rows.append((rows, loops, gears))
        return matrix, impulses

    def _without(self, at, contacts=True):
        self._load_meeting(at, contacts)
        step = self._step(at.v_free)
        if not contacts:
            return self.d.followed(step.free.solve()[1], self.columns)
        by = step.first()
        self._told(step, step.unique)
        return self.d.followed(by, self.columns)

    def _told(self, step, unique):
        """Note the kinks of a stage, and whether its impulses are unique."""
        self.kinks += kinks_of(step.found(), self.c.pair_links) + tuple(step.kinks.values())
        self.unique = self.unique and unique


def touch_rate(gap, u, after, lag, dt, by_gap, by_u, by_after):
    """Derivative of ``first_touch``, the root t of gap + s t + a t^2 / 2, s = u + lag dt a, a = (after - u) / dt."""
    t, a = first_touch(gap, u, after, lag, dt), (after - u) / dt
    if not 0.0 < t < dt:
        return np.zeros_like(by_gap)
    s, by_a = u + lag * dt * a, (by_after - by_u) / dt
    by_s = by_u + lag * dt * by_a
    if s * s - 2.0 * a * gap < 0.0:  # it turns before the surface
        return s / a**2 * by_a - by_s / a
    return -(by_gap + t * by_s + 0.5 * t * t * by_a) / (s + a * t)
