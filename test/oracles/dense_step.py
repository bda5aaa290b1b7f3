# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Judge a simulator's step with dense matrices: the dynamics, every contact and every joint limit.

Takes nothing from the simulator but the states before and after, and the contacts that the step reports
(point, normal, gap, impulse).  Mass matrix, Jacobians and efforts come from Pinocchio or from
``dense_oracle``; contact frames, the split of friction and all residuals are built here.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from mb_contact.gradients.motion import displaced
from mb_contact.types import WORLD
from oracles.dense_oracle import Dense, cross, skew

PUSH_OUT = 0.1  # [rad/s, m/s] the scene's default
SAME_GAP = 1e-10  # [m]
PUSH_RATE = 0.2  # part of a penetration removed per step
TOUCHING = 1e-12  # [m, rad] a smaller penetration is touching, without push-out
SLIP_SPEED = 1e-3  # [m/s] above it d_1 follows the slip
ALIKE = 1e-3  # [rad/s] slower bodies turn alike
SLOW = 1e-6  # [m/s] so little is asked of friction in any case


class Verdict(NamedTuple):
    """What was found in one step."""

    residual: float  #: largest |min(z, w)| of contacts and limits, sqrt(N s m/s)
    dynamics: float  #: largest impulse that nothing explains, times sqrt(1 / M_dd)
    contacts: int
    limits: int  #: limits that push
    limit_impulses: np.ndarray  #: (N,)


def push_out(gap, dt, speed):
    """Offsets that gaps ask of the normal velocities."""
    return np.where(gap >= -TOUCHING, np.maximum(gap, 0.0) / dt, -np.minimum(-PUSH_RATE * gap / dt, speed))


class DenseSource:
    """Mass matrix, nonlinear efforts and Jacobians by ``dense_oracle``."""

    def __init__(self, world):
        self.world = world

    def update(self, q, v):
        self.dense = Dense(self.world.tree, q, v)
        return self.dense.mass_matrix(), self.dense.nonlinear(self.world.gravity)

    def point(self, body, x):
        """Linear Jacobian (3, N) of the point of ``body`` at world position x."""
        return self.dense.point_jacobian(body, x)[3:]


class PinocchioSource:
    """The same by Pinocchio for one robot; free bodies after it are written down directly."""

    def __init__(self, world, pin, urdf):
        self.world, self.pin = world, pin
        self.model = pin.buildModelFromUrdf(str(urdf))
        self.model.gravity.linear = world.gravity
        self.data = self.model.createData()
        self.ids = [self.model.getJointId(name) for name in world.joint_names]
        self.order = np.array([self.model.joints[i].idx_v for i in self.ids])
        self.n = len(self.order)
        self.free = [k for k in range(len(world.tree.parent)) if world.tree.nv[k] == 6]
        assert self.n + 6 * len(self.free) == len(world.v0)

    def update(self, q, v):
        pin, n = self.pin, self.n
        x, y = np.empty(n), np.empty(n)
        x[self.order], y[self.order] = q[:n], v[:n]
        N = len(v)
        M, C = np.zeros((N, N)), np.zeros(N)
        A = pin.crba(self.model, self.data, x)
        A = np.triu(A) + np.triu(A, 1).T
        M[:n, :n] = A[np.ix_(self.order, self.order)]
        C[:n] = pin.nonLinearEffects(self.model, self.data, x, y)[self.order]
        pin.computeJointJacobians(self.model, self.data, x)
        self.origin = {}
        tree = self.world.tree
        for k in self.free:  # homogeneous: the centre of mass is the origin
            s, d = tree.q_start[k], tree.v_start[k]
            R = pin.Quaternion(q[s + 3 : s + 7]).toRotationMatrix()
            inertia = R @ tree.inertia[k] @ R.T
            M[d : d + 3, d : d + 3] = inertia
            M[d + 3 : d + 6, d + 3 : d + 6] = tree.mass[k] * np.eye(3)
            C[d : d + 3] = cross(v[d : d + 3], inertia @ v[d : d + 3])
            C[d + 3 : d + 6] = -tree.mass[k] * self.world.gravity
            self.origin[k] = q[s : s + 3].copy()
        return M, C

    def point(self, body, x):
        """Linear Jacobian (3, N) of the point of ``body`` at world position x."""
        J = np.zeros((3, len(self.world.v0)))
        if body in self.origin:
            d = self.world.tree.v_start[body]
            J[:, d : d + 3] = -skew(x - self.origin[body])
            J[:, d + 3 : d + 6] = np.eye(3)
        elif body != WORLD:
            frame = self.pin.ReferenceFrame.LOCAL_WORLD_ALIGNED
            own = self.pin.getJointJacobian(self.model, self.data, self.ids[body], frame)[:, self.order]
            J[:, : self.n] = own[:3] - skew(x - self.data.oMi[self.ids[body]].translation) @ own[3:]
        return J


class StepJudge:
    """Judges step after step; remembers the contact frames, as the friction law asks for it."""

    def __init__(self, sim, source):
        self.sim, self.source, self.tree = sim, source, sim.world.tree
        self.dt = sim.time_step
        self.n_f = sim.scene.friction_directions
        angle = 2 * np.pi * np.arange(self.n_f) / self.n_f
        self.directions = np.column_stack((np.cos(angle), np.sin(angle)))
        self.tangents = {}
        self.mu = {
            (sim.world.geometry_links[a], sim.world.geometry_links[b]): mu
            for (a, b), mu in zip(sim.world.geoms.pairs, sim.world.geoms.mu)
        }
        self.joints = np.flatnonzero(np.repeat(self.tree.nv, self.tree.nv) == 1)
        self.joint_q, self.seen = sim.world.joint_q, None

    def judge(self, q, v, effort, v_next, contacts):
        """Verdict on the step from (q, v) with the commanded efforts to v_next."""
        tree, dt = self.tree, self.dt
        bends = self.bends(q, v, contacts)
        M, C = self.source.update(q, v)
        M_hat = M + dt * np.diag(tree.damping)
        T = np.zeros(len(v))
        T[self.sim.world.joint_v] = effort
        T = np.clip(T, -tree.effort_limit, tree.effort_limit)
        inverse = np.linalg.inv(M_hat)
        v_free = v + dt * inverse @ (T - tree.damping * v - C)
        frames = self.contact_frames(v, contacts)
        self.drop_bends(bends, frames, v)
        rows = [D @ J for D, J in frames]
        left = M_hat @ (v_next - v_free)
        for row, (D, _), p in zip(rows, frames, contacts["impulse"]):
            left -= row.T @ (D @ p)
        worst = 0.0
        offsets = self.offsets(contacts)
        for i, (row, (D, _)) in enumerate(zip(rows, frames)):
            u = row @ v_next + np.append(offsets[i], D[1:] @ bends[i])
            worst = max(worst, self.contact_residual(contacts[i], row @ inverse @ row.T, u, D))
        unit = np.sqrt(np.diag(inverse))
        residual, limits = self.limit_residual(q, v_next, left, unit)
        free = np.ones(len(v), bool)
        free[self.joints] = False
        near = self.near_limit(q, np.maximum(np.abs(v_free), np.abs(v_next)))
        dynamics = max(
            np.abs(left * unit)[free].max(initial=0.0),
            np.abs(left * unit)[self.joints][~near].max(initial=0.0),
        )
        return Verdict(max(worst, residual), dynamics, len(contacts), limits, left)

    def contact_frames(self, v, contacts):
        """[n; t1; t2] (3, 3) and the relative Jacobian (3, N) of every contact; updates the memory."""
        frames, remembered = [], {}
        bodies = self.sim.world.frames
        for contact, spread in zip(contacts, self.spread(contacts)):
            a, b = contact["link_a"], contact["link_b"]
            x, n = contact["point"], contact["normal"]
            J = self.source.point(bodies[a].body, x + spread) - self.source.point(bodies[b].body, x - spread)
            slip = (self.source.point(bodies[a].body, x) - self.source.point(bodies[b].body, x)) @ v
            slip -= (slip @ n) * n
            key = (a, b, int(contact["feature"]))
            assert key not in remembered, "two contacts with one identity"
            if np.linalg.norm(slip) > SLIP_SPEED:
                t = slip
            elif key in self.tangents:
                t = self.tangents[key]
            else:
                t = np.eye(3)[0 if abs(n[0]) < 0.8 else 1]
            t = t - (t @ n) * n
            t = t / np.linalg.norm(t)
            remembered[key] = t
            frames.append((np.vstack((n, t, cross(n, t))), J))
        self.tangents = remembered
        return frames

    def spread(self, contacts):
        """From the points of contacts to A's own, (k, 3): of the moment of meeting where one is not zero."""
        return self.sim.context.contacts.spread[: len(contacts)]

    def offsets(self, contacts):
        """What gaps ask of the normal velocities; of four points of a face the nearest motion's, within SAME_GAP."""
        gap, speed = contacts["gap"], self.sim.scene.push_out_velocity
        later = self.spread(contacts).any(axis=1)
        out = np.where(later, gap / self.dt, push_out(gap, self.dt, speed))
        out += self.sim.context.work.gap_shift[: len(contacts)] / self.dt
        faces = {}
        for i, contact in enumerate(contacts):
            faces.setdefault((contact["link_a"], contact["link_b"], *contact["normal"]), []).append(i)
        for face in faces.values():
            if len(face) == 4:
                motion = np.column_stack((np.ones(4), contacts["point"][face] - contacts["point"][face].mean(axis=0)))
                fitted = motion @ np.linalg.lstsq(motion, out[face], rcond=1e-9)[0]
                if np.abs(fitted - out[face]).max() * self.dt <= SAME_GAP:
                    out[face] = fitted
        return out

    def bends(self, q, v, contacts):
        """What friction asks for beside the slip of velocities, (k, 3), by differences of the points' velocities."""
        bodies, h = self.sim.world.frames, 1e-6
        sides = [(bodies[c["link_a"]].body, bodies[c["link_b"]].body, c["point"]) for c in contacts]
        root, out = self.tree.root, np.zeros((len(contacts), 3))
        moving = [i for i, (a, b, _) in enumerate(sides) if min(a, b) >= 0 and root[a] != root[b]]
        if not moving:
            return out
        ends, points = [], {}
        for step in (0.0, h, -h):
            self.source.update(displaced(self.tree, q, step * v), v)
            for i in moving:
                for k in sides[i][:2]:
                    x = sides[i][2] + step * points.get((i, k), np.zeros(3))
                    at_x = self.source.point(k, x) @ v
                    points.setdefault((i, k), at_x)
                    ends.append((step, i, k, at_x, [self.source.point(k, x + e) @ v - at_x for e in np.eye(3)]))
        found = {(step, i, k): rest for step, i, k, *rest in ends}
        for i in moving:
            (a, b, x), rate, spin, at = sides[i], [], [], []
            for k in (a, b):
                turning = found[0.0, i, k][1]
                w = np.array([turning[1][2], turning[2][0], turning[0][1]])
                o = self.origin(q, k)
                rate.append((found[h, i, k][0] - found[-h, i, k][0]) / (2.0 * h) - cross(w, cross(w, x - o)))
                spin.append(w)
                at.append(o)
            w = 0.5 * (spin[0] + spin[1])
            size = spin[0] @ spin[0] + spin[1] @ spin[1] + ALIKE**2
            sigma = max(0.0, (2.0 * spin[0] @ spin[1] + ALIKE**2) / size)
            out[i] = 0.5 * self.dt * sigma * (rate[0] - rate[1] + cross(w, cross(w, at[1] - at[0])))
        return out

    def drop_bends(self, bends, frames, v):
        """Friction of pairs of shapes that have not parted by half of that asks for nothing."""
        pairs = self.sim.context.contacts.pair[: len(bends)]
        for pair in set(pairs.tolist()):
            mine = np.flatnonzero(pairs == pair)
            asked = [frames[i][0][1:] @ bends[i] for i in mine]
            slips = [frames[i][0][1:] @ (frames[i][1] @ v) for i in mine]
            square = np.vdot(asked, asked)
            if np.vdot(asked, slips) < 0.5 * square and square > len(mine) * SLOW**2:
                bends[mine] = 0.0

    def origin(self, q, body):
        """Origin of a body in the world."""
        if q is not self.seen:
            self.seen, self.origins = q, Dense(self.tree, q, np.zeros(self.tree.nv.sum())).p
        return self.origins[body]

    def contact_residual(self, contact, W, u, D):
        """Rows (10a), (10b), (10c) of J14 with the gap in the normal row; W, u in the contact's frame."""
        p = D @ contact["impulse"]
        w = u[0]
        s = np.sqrt(W[0, 0])
        worst = abs(min(p[0] * s, w / s))
        d = self.directions
        k = int((np.arctan2(p[2], p[1]) % (2 * np.pi)) / (2 * np.pi) * self.n_f) % self.n_f
        pair = [k, (k + 1) % self.n_f]
        beta = np.zeros(self.n_f)
        beta[pair] = np.linalg.solve(d[pair].T, p[1:])
        along = d @ u[1:]
        sigma = max(0.0, -along.min())
        scale = np.sqrt(np.einsum("ki,ij,kj->k", d, W[1:, 1:], d))
        worst = max(worst, np.abs(np.minimum(beta * scale, (sigma + along) / scale)).max())
        mu = self.mu[contact["link_a"], contact["link_b"]]
        t = np.sqrt(0.5 * (W[1, 1] + W[2, 2]))
        return max(worst, abs(min((mu * p[0] - beta.sum()) * t, sigma / t)))

    def near_limit(self, q, speed):
        """Joints that could reach a limit in this step."""
        x = q[self.joint_q]
        reach = 2 * self.dt * speed[self.joints] + 1e-3
        return (x - self.tree.lower[self.joints] < reach) | (self.tree.upper[self.joints] - x < reach)

    def limit_residual(self, q, v_next, impulse, unit):
        """Complementarity of all joint limits, near or not, with what the dynamics left unexplained."""
        x, s = q[self.joint_q], unit[self.joints]
        worst, limits = 0.0, 0
        for sign, gap in ((1.0, x - self.tree.lower[self.joints]), (-1.0, self.tree.upper[self.joints] - x)):
            push = push_out(gap, self.dt, PUSH_OUT)
            w = sign * v_next[self.joints] + push
            z = np.maximum(sign * impulse[self.joints], 0.0)
            worst = max(worst, np.abs(np.minimum(z * s, w / s)).max(initial=0.0))
            limits += int((z * s > 1e-6).sum())
        return worst, limits
