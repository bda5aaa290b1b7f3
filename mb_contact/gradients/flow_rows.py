# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts at both ends of a step by a flow: their frames, and their rows as wrenches about the origins of bodies.

Of a contact with directions d and the arm a from a body's origin to its point, a row is w = (a x d, d) on A and -w on
B; with X the twists of bodies about their origins, at their poses

    u = w.V,    du = dw.V + w.(dV + X dv),    dw = (da x d + a x dd, dd),    da = dx - dp.

Where features of a contact are others at the end (core/integrate/kept_contacts.py), its point is half-way between those
that both bodies have carried along, and its normal that of the start.
"""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.core.constraints.contact import find_contact, tangential
from mb_contact.core.constraints.flat_manifolds import last_of_face
from mb_contact.core.gradients.readings import MOVED, TWIST_Q, body_rates
from mb_contact.core.gradients.rows import gap_slope, place_contacts
from mb_contact.core.gradients.workspace import FINE, KINKS
from mb_contact.core.handle import FACE_GAP, PUSH_RATE, UNIT_LENGTH
from mb_contact.core.integrate.kept_contacts import NO_FRAME
from mb_contact.core.solve.friction import DIRECTIONS
from mb_contact.core.tree.derivatives import evaluate_inverse_derivatives
from mb_contact.gradients.motion import cross, skew
from mb_contact.types import WORLD


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


class FlowRows:
    """Rows of the last step of a Differentiator's context, a step by a flow.

    Parameters
    ----------
    differentiator : Differentiator
    width : int
        Of all columns.
    by_q : ndarray (N, columns)
        Of coordinates where the step begins.
    start : Start
        Of its flow.
    """

    def __init__(self, differentiator, width, by_q, start):
        self.d, self.c, self.width, self.dq, self.dv = differentiator, differentiator.context, width, by_q, start.by_v
        (self.q, _, self.gravity, self.dt), self.v = self.c.last, start.v

    def _bodies(self, q, v):
        """Bodies at (q, v)."""
        c, (d, handle) = self.c, self.d.start
        n, N = c.n, c.N
        evaluate_inverse_derivatives(handle, q, v, np.zeros(N), self.gravity)
        sizes = (3, 3), (3,), (6, N), (6,), (6, N)
        out = Bodies(*(np.zeros((n + 1, *size)) for size in sizes))
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

    def _rates(self, bodies, place, pair):
        """Normals, points and gaps (k, 7, N) by q, of ``place`` (k, 7, 12) of pairs of bodies (2, k) at their poses."""
        at_origin = bodies.X.copy()
        at_origin[:, 3:] += skew(bodies.p) @ bodies.X[:, :3]
        a, b = pair
        return place[:, :, :6] @ at_origin[a] + place[:, :, 6:] @ at_origin[b]

    def _start(self):
        """Frames where the step begins; what of the problem stays the same."""
        c = self.c
        self.d.pose(self.v, np.zeros(c.N), np.zeros(3), ())
        g, self.rows, count = self.d.arrays, self.d.count_rows(), int(c.contacts.count[0])
        g.count[KINKS] = 0
        self.count = count
        geoms, pairs = c.world.geoms, c.contacts.pair[:count]
        self.pair, self.closures = geoms.body[geoms.pairs[pairs]].T, len(c.couplings.closures.kind)
        self.joint_rows, place = g.J[: self.rows].copy(), g.place[:count].copy()
        self.own = np.ones(self.rows, bool)  # of joints and closures
        self.own[[row for row, _, _, _ in self._axes()]] = False
        self.joint = self.own & (c.rows.dof[g.at[: self.rows]] >= 0)
        self.bodies = self._bodies(self.q, self.v)
        rates = self._rates(self.bodies, place, self.pair)
        self.by_gap = rates[:, 6] @ self.dq
        axes = np.stack((c.contacts.normal[:count], c.frames.t1[:count], c.frames.t2[:count]), 1)
        turn = g.turn[:count] @ self.dq
        if c.friction.model[DIRECTIONS] > 0:  # of polygons tangents turn with the slip
            turn += c.contacts.normal[:count, :, None] * (g.spin_v[:count] @ self.dv)[:, None]
        self.by_point = rates[:, 3:6] @ self.dq
        return self._framed(self.bodies, axes, -skew(axes) @ turn[:, None], c.contacts.point[:count], self.by_point,
                            self.dq)  # fmt: skip

    def _framed(self, bodies, axes, by_axes, point, by_point, to):
        """Frames at the bodies' poses, which move with ``to`` (N, columns)."""
        arms = [point - bodies.p[k] for k in self.pair]
        by_arms = [by_point - bodies.X[k, 3:] @ to for k in self.pair]
        return Frames(axes, np.array(arms), by_axes, np.array(by_arms))

    def _end(self, start, bodies, to):
        """Frames at the poses in which contacts were looked for again."""
        c, found, count = self.c, self.c.end_poses.contacts, self.count
        t, by_t = start.axes[:, 1].copy(), start.by_axes[:, 1].copy()
        for i in np.flatnonzero(c.friction.mu[:count, 0] != c.friction.mu[:count, 1]):  # a direction of one body
            k = self.pair[c.friction.surfaces.side[c.contacts.pair[i]], i]
            if k != WORLD:
                back = by_t[i] + skew(t[i]) @ (self.bodies.X[k, :3] @ self.dq)
                turned = bodies.R[k] @ self.bodies.R[k].T
                t[i] = turned @ t[i]
                by_t[i] = turned @ back - skew(t[i]) @ (bodies.X[k, :3] @ to)
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
            at = [own[i] for i in known]
            by = self._placed(at, known, bodies) @ to
            n[known], x[known], by_n[known], by_x[known] = found.normal[at], found.point[at], by[:, :3], by[:, 3:6]
        along = np.einsum("ij,ij->i", t, n)[:, None]
        a = t - along * n
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
        return self._rates(bodies, self.d.arrays.place[: len(found)], self.pair[:, own])

    def _moved(self, start, bodies, to):
        """Frames whose points go with each of both bodies from the start to these poses, with the axes of the start."""
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
