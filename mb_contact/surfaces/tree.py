# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts as joints of a tree: a ball rolling on a plate that an arm holds, a patch on a patch on a patch."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces import tree_steps as kernels
from mb_contact.core.surfaces.closest import NOT_CONVERGED
from mb_contact.core.surfaces.contact import SINGULAR_CONTACT
from mb_contact.core.surfaces.motion import JAMMED
from mb_contact.core.surfaces.steps import BREAKS, GAP_LIMIT, LEAVES, NONE, SLOWS, STICKS
from mb_contact.core.trigonometry import padded
from mb_contact.core.workspace import make_articulated, make_kinematics
from mb_contact.errors import DynamicsError, InputError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.surfaces import tree_events
from mb_contact.surfaces.bodies import GRAVITY, SurfaceEvent, TreeState
from mb_contact.surfaces.motion import EVENT_NAMES, LEAST_SLIP, MOST_EVENTS, next_creep
from mb_contact.surfaces.tree_parts import (
    MODES,
    ContactJoint,
    add_place,
    check_contact,
    check_mode,
    grown_tree,
    limited,
    make_joints,
    make_stages,
    places_of,
)
from mb_contact.types import JOINT_NQ, NOT_FINITE, OK, WORLD

__all__ = ["ContactJoint", "SurfaceTree"]
TREE_EVENT_NAMES = (*EVENT_NAMES, "leaves", "stops", "releases")


class SurfaceTree:
    """A tree of joints of every type with contacts of surfaces among them, through the same articulated sweep.

    A contact slides, rolls, or has broken, and then its body flies until it lands on the same surface again; each such
    change is an event.  Of the model's joints it knows efforts, damping, rotor inertia and limits, where a joint stops
    without rebound and rests until something moves it away; joint friction and springs are not for this class.

    Parameters
    ----------
    contacts : sequence of ContactJoint
    model : Model, optional
        The robot that carries the first of them.
    gravity : (3,)
        World [m/s^2].
    limits : bool
        Whether joints stop at their limits.

    Attributes
    ----------
    q, v : ndarray
        Coordinates and velocities: the model's, then of each contact 5 and 5 (sliding), 5 and 3 (rolling), or 7 and 6
        of a floating joint (free).
    events : list of SurfaceEvent
        Since the beginning.
    time : float
        [s]
    """

    def __init__(self, contacts, model=None, gravity=GRAVITY, limits=True):
        self.contacts = tuple(contacts)
        if not self.contacts:
            raise InputError("a SurfaceTree needs at least one contact; a Model alone needs none")
        self.model = model
        self._gravity = as_vector(gravity, 3, "gravity").copy()
        self._bodies, rows = places_of(model), []
        for contact in self.contacts:
            check_contact(contact, self._bodies)
            rows.append(add_place(contact, self._bodies))
        self._body, self._parent, self.pairs = (list(part) for part in zip(*rows))
        self._index = {contact.name: j for j, contact in enumerate(self.contacts)}
        self._held = limited(model) if limits else []
        self._modes = [MODES.index(contact.kind) for contact in self.contacts]
        self._own = (0, 0) if model is None else (model.nq, int(model.tree.nv.sum()))
        self._work = layout.make_surface_work()
        self._effort = np.zeros(self._own[1])
        self._begin()

    def _begin(self):
        """The state that the constructor leaves."""
        self._build()
        self.q, self.v = np.zeros(len(self._stages.q)), np.zeros(len(self._stages.v))
        if self.model is not None:
            self.q[: self.model.nq] = self.model.neutral_q()
        for j, mode in enumerate(self._modes):
            if mode == layout.FREE:
                self.q[self._slices(j)[0]][6] = 1.0
        self._pack()
        self.events = []
        self.time = 0.0

    # --- state --------------------------------------------------------------------------------------

    def coordinates(self, name):
        """Slices of q and v that belong to the joint of a contact's body, as long as it does what it does now."""
        return self._slices(self._contact(name))

    def mode_name(self, name):
        """free, sliding or rolling."""
        return MODES[self._modes[self._contact(name)]]

    def set_contact(self, name, q, v=None):
        """Set q = (u1, u2, psi) of a contact and its velocity (zero if left out), which goes on to slide or to roll."""
        j = self._contact(name)
        (self.roll if self._modes[j] == layout.ROLLING else self.slide)(name, q, v)

    def slide(self, name, q, rate=None):
        """Let a body slide at q with its rate (5,)."""
        self._start(name, layout.SLIDING, as_vector(q, 5, "q"), np.zeros(5) if rate is None else rate)

    def roll(self, name, q, angular_velocity=None):
        """Let a body roll without slip at q; relative angular velocity in axes of the contact frame 1c [rad/s]."""
        w = np.zeros(3) if angular_velocity is None else angular_velocity
        self._start(name, layout.ROLLING, as_vector(q, 5, "q"), w)

    def fly(self, name, R, p, angular_velocity=(0.0,) * 3, velocity=(0.0,) * 3):
        """Let a body fly: pose of its frame, angular velocity, velocity of its origin; world axes.

        Raises
        ------
        DynamicsError
            It begins inside the surface it may land on.
        """
        j = self._contact(name)
        R, p = as_matrix(R, (3, 3), "R"), as_vector(p, 3, "p")
        v = (*as_vector(angular_velocity, 3, "angular_velocity"), *as_vector(velocity, 3, "velocity"))
        E, o = self._frame(j)
        u1, u2, gap = self.pairs[j].closest(E.T @ R, E.T @ (p - o))
        if gap < -GAP_LIMIT:
            raise DynamicsError(f"{name} begins {-gap:.3g} m inside {self.pairs[j].surfaces[0].name}")
        self._set_mode(j, layout.FREE, (*p, *matrix_to_quat(R)), v)
        self._joints.near[j] = *u1, *u2, gap

    def clear(self):
        """Back to time 0: the robot at its neutral positions and at rest, every body free at the origin."""
        self._modes = [layout.FREE] * len(self.contacts)
        for stop in self._held:
            stop[2] = 0
        for contact, pair in zip(self.contacts, self.pairs):
            pair.set_charts(contact.charts)
        self._begin()

    def pair(self, name):
        """The SurfaceContact of a contact, in axes of the body that carries the parent's surface."""
        return self.pairs[self._contact(name)]

    def relative_velocity(self, name, q, angular_velocity, velocity):
        """Slip (2,) and relative angular velocity (3,), axes of 1c, of a body at q that moves as told.

        ``angular_velocity`` and ``velocity``, that of its centre of mass, are absolute, world axes.
        """
        j = self._contact(name)
        E, o = self._frame(j)
        m, pair = self._parent[j], self.pairs[j]
        spin, v = (np.zeros(3), np.zeros(3)) if m == WORLD else np.split(self.kin.V[m], 2)
        R, origin = pair.pose(q)
        point = pair.points(q)[0]
        axes = E @ pair.surfaces[0].frame(q[:2], pair.charts[0])
        arm = E @ (point - origin - R @ self.contacts[j].body.com)
        slip = velocity + np.cross(angular_velocity, arm) - v - np.cross(spin, E @ point)
        return (axes.T @ slip)[:2], axes.T @ (angular_velocity - spin)

    def first_touch(self, name, R, p, direction=None):
        """q (5,) and travel [m] of a body moved from (R, p) along ``direction`` (gravity) until it touches its parent.

        All in world axes, where the parent is now; raises as ``SurfaceContact.first_touch``.
        """
        j = self._contact(name)
        E, o = self._frame(j)
        direction = self._gravity if direction is None else as_vector(direction, 3, "direction")
        return self.pairs[j].first_touch(
            E.T @ as_matrix(R, (3, 3), "R"), E.T @ (as_vector(p, 3, "p") - o), E.T @ direction
        )

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        return TreeState(
            tuple(self._modes), tuple(pair.charts for pair in self.pairs), self.q.copy(), self.v.copy(),
            self._joints.near.copy(), tuple(tuple(stop) for stop in self._held), self.time, tuple(self.events),
        )  # fmt: skip

    def restore(self, state):
        """Continue from a TreeState of a tree with the same model and contacts."""
        self._modes = list(state.modes)
        self._held = [list(stop) for stop in state.held]
        for pair, charts in zip(self.pairs, state.charts):
            pair.set_charts(charts)
        self._build()
        self.q, self.v = state.q.copy(), state.v.copy()
        self._joints.near[:] = state.near
        self._pack()
        self.time, self.events = state.time, list(state.events)

    # --- what it does now ---------------------------------------------------------------------------

    def accelerations(self, effort=None):
        """v_dot (N,) at the present state; efforts of the model's joints or (N,) of all, zero if left out."""
        self._load(effort)
        self._observe()
        return self._stages.a.copy()

    def contact_wrench(self, name):
        """Wrench (6,) of the parent on a contact's body about the contact point, world axes, and its normal part [N].

        Efforts are those of the last call of ``run`` or ``accelerations``.
        """
        j = self._contact(name)
        self._observe()
        wrench = self._joints.wrench[j].copy()
        return wrench, 0.0 if self._modes[j] == layout.FREE else float(self._normal(j) @ wrench[3:])

    def contact_point(self, name):
        """Contact point (3,) [m] and normal (3,) of the parent, world; None of a free body."""
        j = self._contact(name)
        self._observe()
        if self._modes[j] == layout.FREE:
            return None
        E, o = self._frame(j)
        return o + E @ self._joints.normal[j, :3], self._normal(j)

    def slip(self, name):
        """Velocity (2,) of the contact point of a body on its parent, axes of 1c [m/s]; nan of a free body."""
        j = self._contact(name)
        self._observe()
        if self._modes[j] == layout.FREE:
            return np.full(2, np.nan)
        return self._joints.watch[j, [layout.SLIP_1, layout.SLIP_2]]

    def gap(self, name):
        """Distance [m] of a body from its parent's surface, found anew from the two poses alone."""
        j = self._contact(name)
        self._observe()
        k, pair = self._body[j], self.pairs[j]
        E, o = self._frame(j)
        near = self._joints.near[j] if self._modes[j] == layout.FREE else (*self.q[self._slices(j)[0]][:4], 0.0)
        return pair.closest(E.T @ self.kin.R[k], E.T @ (self.kin.p[k] - o), np.array(near))[2]

    def joint_space(self):
        """Mass matrix (N, N) and C(q, v) (N,) with gravity and damping: M a + C = all other efforts."""
        self._observe()
        self._seen = None
        self._stages.a[:] = 0.0
        kernels.joint_forces(self.tree, self.kin, self._stages)
        bias = self._stages.torque + self.tree.damping * self.v
        return np.linalg.inv(self._inverse_mass()), bias

    def joint_efforts(self):
        """Efforts (N,) of now: what is given, friction of the contacts, torques of limits, and damping."""
        self._observe()
        return self._stages.total - self.tree.damping * self.v

    def friction_room(self, name):
        """Friction still to be had, mu normal force - |tangential force| [N]."""
        self._observe()
        return float(self._joints.watch[self._contact(name), layout.FRICTION_ROOM])

    def link_names(self):
        """Links of the robot and bodies of the contacts."""
        return tuple(self._bodies)

    def kinetic_energy(self):
        """[J]"""
        self._observe()
        return float(kernels.tree_energy(self.tree, self.kin, self._stages)[0])

    def energy(self):
        """Kinetic and potential energy [J]."""
        self._observe()
        return sum(kernels.tree_energy(self.tree, self.kin, self._stages))

    def pose(self, name):
        """Rotation and origin [m] of a link or a contact's body, world."""
        frame = self._place(name)
        self._observe()
        if frame.body == WORLD:
            return frame.R.copy(), frame.p.copy()
        R = self.kin.R[frame.body]
        return R @ frame.R, self.kin.p[frame.body] + R @ frame.p

    def velocity(self, name):
        """Angular velocity and velocity of the origin of a link or a contact's body, world axes."""
        frame = self._place(name)
        self._observe()
        if frame.body == WORLD:
            return np.zeros(3), np.zeros(3)
        w, v = self.kin.V[frame.body, :3].copy(), self.kin.V[frame.body, 3:]
        return w, v + np.cross(w, self.kin.R[frame.body] @ frame.p) if frame.p.any() else v.copy()

    def centre_of_mass(self):
        """Of all bodies, world [m]."""
        self._observe()
        mass = self.tree.mass
        return (mass @ self.kin.p + self.kin.mc.sum(0)) / mass.sum()

    # --- moving -------------------------------------------------------------------------------------

    def run(self, duration, step, effort=None):
        """Advance by ``duration`` [s] in equal RK4 steps of at most ``step`` [s] with constant efforts; events are met.

        Raises
        ------
        DynamicsError
            A contact reaches the edge of its surface, becomes a line or jams, a hinge carries no inertia.  The state is
            the last good one.
        """
        if not (np.isfinite([duration, step]).all() and duration >= 0.0 and step > 0.0):
            raise InputError(f"duration must be 0 or more and step greater than zero, got {duration} and {step}")
        self._load(effort)
        count = max(int(np.ceil(duration / step * (1.0 - 1e-12))), 1 if duration > 0.0 else 0)
        left, h, start = count, duration / max(count, 1), self.time
        while left:
            event, index, done = self._steps(h, left)
            left -= done
            self.time = start + (count - left) * h
            if event == LEAVES:
                self._change(event, index)
            elif event != NONE:
                self._finish_step(h, event, index)
                left -= 1
                self.time = start + (count - left) * h

    # --- inside -------------------------------------------------------------------------------------

    def _steps(self, h, count):
        """(event, what it is about, steps done); the state is that before the step with the event."""
        status, body, event, index, done = self._call(h, count)
        if status != OK:
            self.time += done * h
        self._judge(status, body)
        return event, index, done

    def _call(self, h, count):
        self._seen = None
        status, body, done, event, index = kernels.tree_steps(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, h, count, self.q, self.v
        )
        return status, body, event, index, done

    def _finish_step(self, h, event, index):
        """The rest of a step in which something happens."""
        start, done, count = self.time, 0.0, 0
        while event != NONE:
            count += 1
            if count > MOST_EVENTS:
                raise DynamicsError(f"more than {MOST_EVENTS} events from t = {self.time:.9g} s on within {h:g} s")
            if event == SLOWS:
                event, index, passed = self._creep(h - done, index)
                done += passed
            elif event != LEAVES:
                event, index, passed = self._meet(h - done, event, index)
                done += passed
                self.time = start + done
                if event == SLOWS:
                    continue
            if event == NONE:
                break
            self._change(event, index)
            if h - done <= 1e-14 * max(1.0, start + h):
                break
            event, index, steps = self._steps(h - done, 1)
            if event == LEAVES and steps:
                done = h

    def _creep(self, h, index):
        """Up to ``h`` in steps that take a part of the slip, see ``SurfaceMotion``: (event, index, how far it came).

        The event is NONE, STICKS when the slip of contact ``index`` has gone, or another one, met.
        """
        start, done, step = self.time, 0.0, 0.5 * h
        while done < h:
            before = np.hypot(*self.slip(self.contacts[index].name))
            if before < LEAST_SLIP or start + done + step == start + done:
                return STICKS, index, done
            part = min(step, h - done)
            event, about, steps = self._steps(part, 1)
            if event == SLOWS:
                step, index = 0.5 * step, about
                continue
            if event not in (NONE, LEAVES):
                event, about, passed = self._meet(part, event, about)
                self.time = start + done + passed
                return event, about, done + passed
            done += part
            self.time = start + done
            if event == LEAVES:
                self._change(event, about)
            step *= next_creep(before, np.hypot(*self.slip(self.contacts[index].name)))
        return NONE, -1, h

    def _meet(self, h, event, index):
        """Go to the instant of an event less than h away, by halving the step: the first event, and how far it was."""
        q, v, near = self.q.copy(), self.v.copy(), self._joints.near.copy()
        low, high = 0.0, h

        def back():
            self.q[:], self.v[:], self._joints.near[:] = q, v, near

        while True:
            middle = 0.5 * (low + high)
            if not low < middle < high or self.time + low == self.time + high:
                break
            back()
            status, _, found, about, _ = self._call(middle, 1)
            if status == OK and found in (NONE, LEAVES):
                low = middle
            else:
                high = middle
                event, index = (found, about) if status == OK else (event, index)
        back()
        if low > 0.0:
            status, body, _, _, _ = self._call(low, 1)
            self._judge(status, body)
        return event, index, low

    def _change(self, event, index):
        at = len(self.events)
        tree_events.change(self, event, index)
        if event != LEAVES:  # what it has caused at the same instant stands behind it
            self.events.insert(at, self._event(event, index))

    def _event(self, event, index):
        if event in (kernels.STOPS, kernels.RELEASES):
            name, mode = self.model.dof_joint_names[index], "held" if event == kernels.STOPS else "free"
        else:
            name, mode = self.contacts[index].name, MODES[self._modes[index]]
        return SurfaceEvent(self.time, TREE_EVENT_NAMES[event], mode, name)

    def _let_go(self, j):
        """A contact that breaks because an impulse would have to pull."""
        tree_events.let_go(self, j)
        self.events.append(self._event(BREAKS, j))

    def _release(self, stop):
        """A limit that an impulse moves a joint away from."""
        stop[2] = 0
        self._rebuild()
        self.events.append(self._event(kernels.RELEASES, stop[0]))

    def _start(self, name, mode, q, v):
        """Bring a contact into a mode; one that cannot be leaves everything as it was."""
        j = self._contact(name)
        check_mode(self.contacts[j], mode)
        self._set_mode(j, mode, q, as_vector(v, 5 if mode == layout.SLIDING else 3, "v"))

    def _set_mode(self, j, mode, q, v):
        """Contact j does something else from now on; everything else goes on as it is."""
        if mode == self._modes[j]:
            at_q, at_v = self._slices(j)
            self.q[at_q], self.v[at_v] = q, v
            self._pack()  # charts may have been changed by a search
            return
        self._rebuild({j: (mode, np.array(q, float), np.array(v, float))})

    def _rebuild(self, changes=None):
        """The tree for the modes and the held joints of now."""
        changes = changes or {}
        parts = [(self.q[: self._own[0]], self.v[: self._own[1]])]
        for j in range(len(self.contacts)):
            at_q, at_v = self._slices(j)
            mode, q, v = changes.get(j, (self._modes[j], self.q[at_q], self.v[at_v]))
            self._modes[j] = mode
            parts.append((q, v))
        near = self._joints.near.copy()
        self._build()
        self.q, self.v = (np.concatenate(part) for part in zip(*parts))
        self._joints.near[:] = near
        self._stages.effort[: self._own[1]] = self._effort
        self._pack()

    def _build(self):
        self._seen = None
        self.tree = grown_tree(self.model, self.contacts, self._body, self._parent, self._modes)
        n, N = len(self.tree.parent), int(self.tree.nv.sum())
        nq = int(self.tree.q_start[-1]) + JOINT_NQ[self.tree.joint_type[-1]]
        self.kin = make_kinematics(n, N)._replace(
            angle=np.zeros(padded(nq)), sine=np.zeros(padded(nq)), cosine=np.zeros(padded(nq))
        )
        self.art = make_articulated(n, N)
        self._joints = make_joints(self.contacts, self._body, self._parent, self._modes, N)
        self._stages = make_stages(self.tree, self.contacts, self._modes, self._held, self._gravity)

    def _pack(self):
        """Surfaces in their present charts, one after the other."""
        code, data, bounds, start = [], [], [], 0
        for pair, mode in zip(self.pairs, self._modes):
            shifted = pair.code.copy()
            shifted[:, layout.START] += start
            start += len(pair.data)
            code.append(shifted)
            data.append(pair.data)
            several = np.repeat([len(surface.charts) > 1 for surface in pair.surfaces], 2)
            free = (-np.inf, np.inf)  # the nearest points of a free body go beyond the edge of a patch
            bounds.append(np.where(several[:, None], pair.bounds, free) if mode == layout.FREE else pair.bounds)
        self._seen = None
        self._joints = self._joints._replace(code=np.array(code), data=np.concatenate(data), bounds=np.array(bounds))

    def _observe(self):
        """Everything about the state of now into ``kin``, ``_stages`` and ``_joints``; once for each state."""
        key = self._key()
        if key == self._seen:
            return
        self._seen = None
        self._joints.guide[:] = 0.0
        status, body = kernels.tree_watch(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, self.q, self.v
        )
        self._judge(status, body)
        self._seen = key

    def _key(self):
        """What the results of ``_observe`` depend on."""
        return self.q.tobytes(), self.v.tobytes(), self._stages.effort.tobytes(), tuple(self._modes)

    def _inverse_mass(self):
        """Inverse of the mass matrix (N, N) at the present state."""
        self._seen = None
        out = np.zeros((len(self.v), len(self.v)))
        self._judge(*kernels.inverse_mass(
            self.tree, self.kin, self.art, self._joints, self._work, self._stages, self.q, self.v, out
        ))  # fmt: skip
        return out

    def _load(self, effort):
        n, N = self._own[1], len(self.v)
        if effort is not None and np.size(effort) not in (n, N):
            raise InputError(f"effort must have {n} entries (the model's) or {N} (all); it has {np.size(effort)}")
        effort = np.zeros(N) if effort is None else as_vector(effort, np.size(effort), "effort")
        self._stages.effort[:] = 0.0
        self._stages.effort[: len(effort)] = effort
        self._effort = effort[:n].copy()

    def _judge(self, status, body):
        if status == OK:
            return
        name = {frame.body: name for name, frame in self._bodies.items()}.get(body, body)
        pair = self.pairs[self._body.index(body)] if body in self._body else None
        what = {
            SINGULAR_CONTACT: pair and pair.line_contact(),
            JAMMED: f"friction and sliding of '{name}' have no common solution (Painleve): lower the friction",
            NOT_CONVERGED: f"the nearest points of '{name}' and what it may land on were lost: take shorter steps",
            NOT_FINITE: "the state is not finite: it has run away, take shorter steps",
        }.get(status, f"the joint of '{name}' moves no inertia")
        raise DynamicsError(f"at t = {self.time:.9g} s: {what}")

    def _slices(self, j):
        """Slices of q and v of contact j."""
        tree, k = self.tree, self._body[j]
        a, b = int(tree.q_start[k]), int(tree.v_start[k])
        return slice(a, a + JOINT_NQ[tree.joint_type[k]]), slice(b, b + int(tree.nv[k]))

    def _contact(self, name):
        if name not in self._index:
            raise InputError(f"there is no contact '{name}'; there are {', '.join(self._index)}")
        return self._index[name]

    def _place(self, name):
        if name not in self._bodies:
            raise InputError(f"there is no body '{name}'; there are {', '.join(self._bodies)}")
        return self._bodies[name]

    def _frame(self, j):
        """Rotation and origin of the body that contact j stands on, world; poses are brought up to date."""
        m = self._parent[j]
        if m == WORLD:
            return np.eye(3), np.zeros(3)
        if self._seen != self._key():
            self._judge(*kernels.tree_state(self.tree, self.kin, self._joints, self._work, self.q, self.v))
        return self.kin.R[m].copy(), self.kin.p[m].copy()

    def _normal(self, j):
        """Of the parent's surface at contact j, world."""
        m = self._parent[j]
        normal = self._joints.normal[j, 3:]
        return normal.copy() if m == WORLD else self.kin.R[m] @ normal
