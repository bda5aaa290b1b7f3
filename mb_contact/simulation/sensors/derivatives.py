# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of readings of sensors behind a step, of those that are functions of what the step has made.

With R, x the axes and the origin of a sensor's frame, which move by ``turn`` x and ``shift``, a wrench W about the
world's origin is read as ``f = R* W_f, n = R* (W_n - x x W_f)``, and a vector a as R* a, whose derivative is
R* (da - turn x a).

    contact, tactile   W = sum of the contacts' wrenches / dt
    force_torque       W = f of the links beyond (``core/tree/derivatives.py``) - contacts / dt - external wrenches,
                       under flows half-way, to where bodies carry what acts on them
    lidar              n.(V(x) - dx_0 - t turn x d) = n.d dt of a ray x = x_0 + t d that meets a surface with normal n
    imu                M dv_dot = d(efforts) - d(springs) + d(J* f) - dID by q+ and v+, f the forces on bodies
"""

from functools import cached_property

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.gradients.readings import (
    MOVED,
    RATE_A,
    RATE_Q,
    RATE_V,
    TWIST_Q,
    TWIST_V,
    acceleration_rates,
    body_rates,
    carried_efforts,
    joint_effort_rates,
    subtree_wrench,
)
from mb_contact.core.gradients.step import mass_wrench
from mb_contact.errors import InputError
from mb_contact.gradients.motion import cross
from mb_contact.gradients.refusals import has_impacts
from mb_contact.model.model import Frame
from mb_contact.simulation.joints.embedded_forces import BEFORE, forces_on_bodies
from mb_contact.simulation.sensors.derivative_ends import StepEnds, origin_of, skew_of, times
from mb_contact.simulation.sensors.pads import touches
from mb_contact.types import CLOSURE_ROWS, WORLD


def reading_derivatives(simulator, names, found):
    """Derivatives of readings of sensors by what a step was differentiated by.

    Parameters
    ----------
    simulator : Simulator
    names : sequence of str
        Of sensors.
    found : StepDerivatives
        Those that the simulator's Differentiator has found last.

    Returns
    -------
    dict of str to dict of str to ndarray (entries, columns)
        ``imu``: turn of its axes [rad], angular velocity [rad/s], specific force [m/s^2], in its own axes;
        ``encoder``: positions, then velocities; ``force_torque``, ``contact``: moment, then force, in its own axes
        [N m, N]; ``tactile``: its wrench, forces of its cells, pressures, in the order of their entries; ``lidar``:
        ranges, ring by ring [m].

    Raises
    ------
    InputError
        There is no such sensor, or no derivative of what it reads.
    """
    known = dict(zip(simulator.sensors.names, simulator.scene.sensors, strict=True))
    sensors = [known[as_choice(name, known, "sensor")] for name in names]
    for sensor in sensors:
        _refuse(simulator.context, sensor)
    ends = np.cumsum([0, *(x.shape[1] for x in found.q.values())]).tolist()
    columns = {name: slice(*ends[i : i + 2]) for i, name in enumerate(found.q)}
    none = np.zeros((simulator.context.N, 0))
    step = _Step(simulator, *(np.hstack([none, *parts.values()]) for parts in (found.q, found.v)), columns)
    matrices = {sensor.name: getattr(step, f"_{sensor.kind}")(sensor) for sensor in sensors}
    return {name: {by: x[:, own] for by, own in columns.items()} for name, x in matrices.items()}


def _refuse(context, sensor):
    """InputError of a sensor whose readings have no derivative here."""
    begin = f"no derivative of readings of '{sensor.name}'"
    if sensor.kind == "camera":
        raise InputError(f"{begin}: depths and colours of pixels jump at outlines; take a lidar, or leave it out")
    if sensor.kind in ("encoder", "lidar"):
        return
    flows = context.scene.integrator != "semi_implicit_euler"
    if flows and sensor.kind == "imu" and len(context.joints.servos):
        raise InputError(f"{begin} under integrator: {context.scene.integrator} in a scene with servos, whose mean "
                         "efforts are not known; set integrator: semi_implicit_euler")  # fmt: skip
    if context.embeds and sensor.kind in ("imu", "force_torque"):
        raise InputError(f"{begin} with embedded loops: an IMU's and wrenches of joints are not known; set loops: "
                         "multipliers")  # fmt: skip
    if not has_impacts(context):
        return
    if context.embeds:
        raise InputError(f"{begin} in a step with impacts with embedded loops; set loops: multipliers")
    surfaces = context.friction.surfaces
    if surfaces.torsional.any() or surfaces.rolling.any():
        raise InputError(f"{begin} in a step with impacts with torsion or rolling, of which it tells nothing; leave "
                         "them out")  # fmt: skip


class _Step(StepEnds):
    """What derivatives of readings are made of: bodies at both ends of the step, and impulses."""

    def _partners(self, sensor):
        return None if sensor.partner is None else self._sim.world.link_geometries[sensor.partner]

    # --- sensors ----------------------------------------------------------------------------

    def _encoder(self, sensor):
        rows = self._sim.world.joint_v[self._sim.sensors.joints(sensor.name)]
        return np.concatenate((self._dq[rows], self._dv[rows]))

    def _lidar(self, sensor):
        d, handle, dq, _ = self._end
        frame, rays, t, bodies, normals = self._sim.sensors.cameras.surfaces(sensor.name, d.kin.R, d.kin.p)
        R, x, turn, shift, _ = self._frame(self._end, frame)
        met = np.flatnonzero(normals.any(axis=1))
        way, n = t[met, None] * (rays[met] @ R.T), normals[met]
        out, by, rates = np.zeros((len(t), self._width)), np.zeros((len(met), self._width)), np.empty((6, 6, self._c.N))
        for k in set(bodies[met].tolist()) - {WORLD}:
            body_rates(handle, k, rates)
            on = bodies[met] == k
            arm = x + way[on] - d.kin.p[d.tree.root[k]]
            by[on] = np.hstack((cross(arm, n[on]), n[on])) @ (rates[MOVED] @ dq)
        by -= n @ shift + cross(way, n) @ turn
        out[met] = by * (t[met] / (way * n).sum(axis=1))[:, None]
        return out

    def _contact(self, sensor):
        world, frame = self._sim.world, self._mounted(sensor.link, sensor.pose)
        partners = self._partners(sensor)
        touch = touches(self._c, world.link_geometries[sensor.link], partners)
        W, by = self._sum(touch)
        if partners is None:  # at the surfaces of the link, half of a gap away
            apart = self._felt.apart[touch.contacts].sum(axis=0)
            W[:3], by[:3] = W[:3] + apart[:, 0], by[:3] + apart[:, 1:]
        else:
            return _seen(*self._frame(self._start, frame)[:4], W, by) / self._dt
        p, dp = np.zeros(3), np.zeros((3, self._width))
        R, x, turn, shift, _ = self._frame(self._end, frame)
        if frame.body != WORLD:  # about the body's origin as the step began, seen from where it ends
            _, p, _, dp, _ = self._frame(self._start, origin_of(frame.body))
            _, end, _, moved, _ = self._frame(self._end, origin_of(frame.body))
            x, shift = x - end, shift - moved
        return _seen(R, p + x, turn, dp + shift, W, by) / self._dt

    def _tactile(self, sensor):
        world, pad = self._sim.world, self._sim.sensors.pads[sensor.name]
        frame = world.frames[sensor.link]
        frame = Frame(frame.body, frame.R @ pad.on_link[0], frame.p + frame.R @ pad.on_link[1])
        R, x, turn, shift, _ = self._frame(self._start, frame)
        touch = pad.pressed(touches(self._c, (pad.geom,), self._partners(sensor)), R)
        W, by = self._sum(touch)
        forces = np.zeros((*pad.cells, 3, self._width))
        for cell, sign, i, p in zip(pad.places(touch, R, x), touch.signs, touch.contacts, touch.impulses, strict=True):
            forces[tuple(cell)] += R.T @ (sign * self._felt.contacts[i, 3:] - times(turn, p))
        reading = pad.reading(_seen(R, x, turn, shift, W, by) / self._dt, forces / self._dt)
        return np.concatenate([part.reshape(-1, self._width) for part in reading])

    def _force_torque(self, sensor):
        """Of a joint, or of a loop closure: what its second link does to its first."""
        monitor, closures = self._sim.joint_wrenches, self._c.couplings.closures
        read = self._sim.sensors.read(sensor.name)
        R, x, turn, shift, _ = self._frame(self._mean, self._mounted(monitor.child_link(sensor.joint), sensor.pose))
        loop = monitor.closure(sensor.joint)
        if loop is None:
            by = self._beyond(monitor, monitor.cut(sensor.joint))
        else:
            on_a = closures.body_a[loop] != WORLD
            side = 0 if on_a else 1
            body = (closures.body_a if on_a else closures.body_b)[loop]
            by = (1.0 - 2.0 * side) * self._closure(loop, side, body)
        force = R @ read[3:]
        W = np.concatenate((R @ read[:3] + cross(x, force), force))
        return _seen(R, x, turn, shift, W, by)

    def _beyond(self, monitor, cut):
        """Derivative of the wrench on what lies beyond a joint, about the world's origin."""
        d, handle, dq, dv = self._mean
        rate = (self._dv - self._unit("v")) / self._dt
        N, by, columns = self._c.N, np.zeros((6, self._width)), np.empty((6, 3 * self._c.N))
        for k in cut.children:
            subtree_wrench(handle, k, columns)
            by += columns[:, :N] @ dq + columns[:, N : 2 * N] @ dv + columns[:, 2 * N :] @ rate
        if cut.body != WORLD:
            by += self._rigid(cut, rate)
        if "mass" in self._columns:
            first = self._columns["mass"].start
            for k in monitor.beyond(cut):
                by[:, first + k] += _about_world(np.array(mass_wrench(handle, k)), d.kin.p[d.tree.root[k]])
        geoms = tuple(g for g, link in enumerate(self._sim.world.geometry_links) if link in cut.links)
        geometries = self._c.world.geoms.body
        for body in {int(geometries[g]) for g in geoms}:
            touch = touches(self._c, tuple(g for g in geoms if geometries[g] == body), None)
            W, dW = self._sum(touch)
            dW[:3] += self._felt.apart[touch.contacts].sum(axis=0)[:, 1:]
            by -= self._carried(body, W[3:], dW) / self._dt
        closures = self._c.couplings.closures
        for c, side in monitor.closures_on(cut):
            body = (closures.body_b if side else closures.body_a)[c]
            if body != WORLD:
                by -= self._closure(c, side, body)
        for link, body, value in self._c.wrenches.applied:
            if link in cut.links:  # at the origin of its body, which moves
                by[:3] -= times(self._frame(self._mean, origin_of(body))[3], value[3:])
        return by

    def _carried(self, body, force, by):
        """Derivative of a wrench on a body about the world's origin, with its force, carried from where steps begin."""
        if self._mean is self._start or body == WORLD:
            return by
        _, p, _, dp, _ = self._frame(self._start, origin_of(body))
        _, x, _, dx, _ = self._frame(self._mean, origin_of(body))
        return np.concatenate((by[:3] + skew_of(x - p) @ by[3:] + times(dx - dp, force), by[3:]))

    def _closure(self, c, side, body):
        """Derivative of the wrench of closure c on the body of a side, about the world's origin."""
        context, on = self._c, self._c.rows.on_b if side else self._c.rows.on_a
        sizes = np.where(context.memory.released < BEFORE, np.array(CLOSURE_ROWS)[context.couplings.closures.kind], 0)
        first_row = int(context.bilateral.info[FIRST])
        first = first_row + int(sizes[:c].sum())
        own = slice(first, first + int(sizes[c]))
        r = context.solution.r[own].copy()
        if context.impacts is not None:
            r += context.impacts.loop_impulse[own.start - first_row : own.stop - first_row]
        return self._carried(body, r @ on[own, 3:], self._felt.all_loops[c, side]) / self._dt

    def _rigid(self, cut, rate):
        """Derivative of the force on the links fixed to the child link, about the world's origin.

        With X its displacement, V' = dV - X x V and A' = dA - X x A: df = X x* f + I A' + V' x* I V + V x* I V'.
        """
        d, handle, dq, dv = self._mean
        k, rates = cut.body, np.empty((6, 6, self._c.N))
        body_rates(handle, k, rates)
        o, V, A = d.kin.p[d.tree.root[k]], d.V[k], d.A[k]
        X, twist = rates[MOVED] @ dq, rates[TWIST_Q] @ dq + rates[TWIST_V] @ dv
        turned = rates[RATE_Q] @ dq + rates[RATE_V] @ dv + rates[RATE_A] @ rate
        I = _inertia(self._sim.joint_wrenches.rigid(cut), d.kin.R[k], d.kin.p[k] - o)
        V_own, A_own = twist + _motion(V) @ X, turned + _motion(A) @ X  # minus X x V
        f = I @ A - _motion(V).T @ (I @ V)
        by = _force(f) @ X + I @ A_own + _force(I @ V) @ V_own - _motion(V).T @ (I @ V_own)
        mass = self._c.tree.mass[k]
        if "mass" in self._columns and mass > 0.0:
            by[:, self._columns["mass"].start + k] += f / mass
        return np.concatenate((by[:3] + skew_of(o) @ by[3:], by[3:]))

    def _imu(self, sensor):
        frame = self._mounted(sensor.link, sensor.pose)
        R, x, turn, shift, rates = self._frame(self._end, frame)
        if rates is None:
            return np.zeros((9, self._width))
        d, _, dq, dv = self._end
        V, A, o = d.V[frame.body], d.A[frame.body], d.kin.p[d.tree.root[frame.body]]
        twist = rates[TWIST_Q] @ dq + rates[TWIST_V] @ dv
        rate = rates[RATE_Q] @ dq + rates[RATE_V] @ dv + rates[RATE_A] @ self._accelerations
        w, v = V[:3], V[3:] + cross(V[:3], x - o)
        dw, dv = twist[:3], self._at(d, frame.body, x, twist) + skew_of(w) @ shift
        felt = A[3:] + cross(A[:3], x - o) + cross(w, v)
        by = self._at(d, frame.body, x, rate) + skew_of(A[:3]) @ shift + times(dw, v) + skew_of(w) @ dv
        return np.concatenate((R.T @ turn, R.T @ (dw - times(turn, w)), R.T @ (by - times(turn, felt))))

    @cached_property
    def _accelerations(self):
        """Derivative of the accelerations behind the step under the forces of the step, (N, columns)."""
        c, (_, handle, dq, dv), dt = self._c, self._end, self._dt
        n, felt = len(c.tree.parent), self._felt
        dr, wrenches, loops, gears = felt[:4]
        force, by = forces_on_bodies(c), np.zeros((n, 6, self._width))
        impacts = [] if c.impacts is None else c.impacts.pairs
        pairs = np.concatenate((c.contacts.pair[: int(c.contacts.count[0])], *impacts))
        pairs = c.world.geoms.body[c.world.geoms.pairs[pairs]]
        for side, sign in ((0, 1.0), (1, -1.0)):
            there = pairs[:, side] != WORLD
            np.add.at(by, pairs[there, side], sign / dt * wrenches[there])
            np.add.at(by[:, :3], pairs[there, side], felt.apart[there, :, 1:] / dt)
        for side, bodies in enumerate((c.couplings.closures.body_a, c.couplings.closures.body_b)):
            np.add.at(by, bodies[bodies != WORLD], loops[bodies != WORLD, side] / dt)
        for side, bodies in enumerate((c.couplings.gears.body_a, c.couplings.gears.body_b)):
            np.add.at(by, bodies, gears[:, side] / dt)
            parents = c.tree.parent[bodies]
            np.add.at(by, parents[parents != WORLD], -gears[parents != WORLD, side] / dt)
        push = force[:, 3:] - c.work.external[:, 3:]
        for k in np.flatnonzero(push.any(axis=1) | by.any(axis=(1, 2))).tolist():  # about the origins of bodies
            _, p, _, moved, _ = self._frame(self._start, origin_of(k))
            by[k, :3] -= skew_of(p) @ by[k, 3:] + times(moved, push[k])
        rates, efforts = np.empty((c.N, self._width)), np.empty((c.N, self._width))
        flow = self._g.flow
        ended = dv if flow is None else self._followed(flow.ended[1].copy())  # which damp
        joint_effort_rates(self._g.handle, c.handle, dt, dr, np.ascontiguousarray(ended), rates)
        if flow is not None and "damping" in self._columns:
            rates[:, self._columns["damping"]] -= np.diag(flow.ended[0] - c.v)
        carried_efforts(handle, dq, force, by, np.empty((n, 6, self._width)), efforts)
        rates += felt.limits / dt
        rates += efforts - c.joints.stiffness[:, None] * dq
        if "mass" in self._columns:
            self._less_mass(rates)
        acceleration_rates(handle, dq, dv, rates)
        return rates

    def _less_mass(self, rates):
        """Take away the efforts by masses of bodies."""
        d, handle, _, _ = self._end
        first, moved = self._columns["mass"].start, np.empty((6, 6, self._c.N))
        for k in range(len(self._c.tree.parent)):
            body_rates(handle, k, moved)
            rates[:, first + k] -= np.array(mass_wrench(handle, k)) @ moved[MOVED]


def _seen(R, x, turn, shift, W, by):
    """Derivative of a wrench about the world's origin as one about x in the axes R."""
    force = by[3:] - times(turn, W[3:])
    moment = by[:3] - times(shift, W[3:]) - skew_of(x) @ by[3:] - times(turn, W[:3] - cross(x, W[3:]))
    return np.concatenate((R.T @ moment, R.T @ force))


def _about_world(f, o):
    return np.concatenate((f[:3] + cross(o, f[3:]), f[3:]))


def _motion(a):
    """The matrix of ``a x`` on twists."""
    w, out = skew_of(a[:3]), np.zeros((6, 6))
    out[:3, :3] = out[3:, 3:] = w
    out[3:, :3] = skew_of(a[3:])
    return out


def _force(f):
    """The matrix of twists x to ``x x* f``."""
    out = np.zeros((6, 6))
    out[:3, :3] = -skew_of(f[:3])
    out[:3, 3:] = out[3:, :3] = -skew_of(f[3:])
    return out


def _inertia(rigid, R, x):
    """Inertia (6, 6) about o of mass, centre of mass and inertia about the body's origin, which is at x."""
    m, c, about = rigid
    c = R @ c
    about = R @ about @ R.T - m * ((c @ c) * np.eye(3) - np.outer(c, c))
    c, out = c + x, m * np.eye(6)
    out[:3, :3] = about + m * ((c @ c) * np.eye(3) - np.outer(c, c))
    out[:3, 3:], out[3:, :3] = m * skew_of(c), -m * skew_of(c)
    return out
