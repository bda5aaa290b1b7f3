# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts as joints of a tree: a ball rolling on a plate that an arm holds, a patch on a patch on a patch."""

from __future__ import annotations

import numpy as np

from mb_contact.checks import as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces import watch as kernels
from mb_contact.core.surfaces.rows import joint_forces
from mb_contact.errors import DynamicsError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.surfaces.bodies import TreeState
from mb_contact.surfaces.parts import MODES, ContactJoint
from mb_contact.surfaces.stepping import TreeMotion
from mb_contact.types import WORLD

__all__ = ["ContactJoint", "SurfaceTree"]


class SurfaceTree(TreeMotion):
    """A tree of joints of every type with contacts of surfaces among them, through the same articulated sweep.

    A contact slides, rolls, or has broken, and then its body flies until it lands on the same surface again; each such
    change is an event.  Of the model's joints it knows efforts, damping, rotor inertia and limits, where a joint stops
    without rebound and rests until something moves it away; joint friction and springs are not for this class.

    Parameters
    ----------
    contacts : sequence of ContactJoint
    model : Model or MovingBase, optional
        The robot, or the base that moves as told (``moving_base``), that carries the first of them.
    gravity : (3,)
        World [m/s^2].
    limits : bool
        Whether joints stop at their limits.

    Attributes
    ----------
    q, v : ndarray
        Coordinates and velocities: the model's, then of each contact 5 and 5 (sliding), 5 and 3 (rolling), or 7 and 6
        of the floating joint of its body's centre of mass (free).
    events : list of SurfaceEvent
        Since the beginning.
    time : float
        [s]
    hand_overs : int
        Changes of charts since the beginning.
    """

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
        w, v = as_vector(angular_velocity, 3, "angular_velocity"), as_vector(velocity, 3, "velocity")
        E, o = self._frame(j)
        u1, u2, gap = self.pairs[j].closest(E.T @ R, E.T @ (p - o))
        if gap < -kernels.GAP_LIMIT:
            below = self.contacts[j].parent or self.pairs[j].surfaces[0].name
            raise DynamicsError(f"{name} begins {-gap:.3g} m inside {below}")
        arm = R @ self.contacts[j].body.com
        self._set_mode(j, layout.FREE, (*(p + arm), *matrix_to_quat(R)), (*w, *(v + np.cross(w, arm))))
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
        _, origin = pair.pose(q)
        point = pair.points(q)[0]
        axes = E @ pair.surfaces[0].frame(q[:2], pair.charts[0])
        arm = E @ (point - origin)
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
            self.hand_overs,
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
        self.time, self.events, self.hand_overs = state.time, list(state.events), state.hand_overs

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

    def nearest(self, name):
        """Nearest points (u1, u2) of a free body and its parent, and their distance [m]: (5,)."""
        return self._joints.near[self._contact(name)].copy()

    def gap(self, name):
        """Distance [m] of a body from its parent's surface, found anew from the two poses alone."""
        j = self._contact(name)
        R, p = self.pose(name)
        E, o = self._frame(j)
        near = self.nearest(name) if self._modes[j] == layout.FREE else (*self.q[self._slices(j)[0]][:4], 0.0)
        return self.pairs[j].closest(E.T @ R, E.T @ (p - o), near)[2]

    def joint_space(self):
        """Mass matrix (N, N) and C(q, v) (N,) with gravity and damping: M a + C = all other efforts."""
        self._observe()
        self._seen = None
        self._stages.a[:] = 0.0
        joint_forces(self.tree, self.kin, self._stages)
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

    def energies(self):
        """Kinetic and potential energy [J]."""
        self._observe()
        return kernels.tree_energy(self.tree, self.kin, self._stages)

    def kinetic_energy(self):
        """[J]"""
        return self.energies()[0]

    def energy(self):
        """Kinetic and potential energy together [J]."""
        return sum(self.energies())

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

    def body_motion(self, name):
        """Rotation, centre of mass [m], angular velocity and velocity of that centre of a contact's body, world."""
        self._observe()
        k = self._body[self._contact(name)]
        w, v = np.split(self.kin.V[k].copy(), 2)
        return self.kin.R[k].copy(), self.kin.p[k].copy(), w, v

    def centre_of_mass(self):
        """Of all bodies, world [m]."""
        self._observe()
        mass = self.tree.mass
        return (mass @ self.kin.p + self.kin.mc.sum(0)) / mass.sum()
