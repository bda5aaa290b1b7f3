# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What a tree with contacts does now: accelerations, wrenches, points, slips and gaps of contacts, energy, motions."""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.core.surfaces import layout as layout
from mb_contact.core.surfaces.rows import joint_forces
from mb_contact.core.tree.inverse_dynamics import mechanical_energy
from mb_contact.surfaces.stepping import TreeMotion
from mb_contact.types import WORLD


class TreeReadings(TreeMotion):
    """What is read of a ``SurfaceTree``, which see."""

    def accelerations(self, effort: ArrayLike | None = None) -> Floats:
        """Accelerations at the present state.

        Parameters
        ----------
        effort : array_like, optional
            Of the model's joints, or (N,) of all [N m, N]; zero by default.

        Returns
        -------
        ndarray (N,)
            [rad/s^2, m/s^2]
        """
        self._load(effort)
        self._observe()
        return self._stages.a.copy()

    def contact_wrench(self, name: str) -> tuple[Floats, float]:
        """Wrench of the parent on a contact's body about the contact point.

        Efforts are those of the last call of ``run`` or ``accelerations``.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        wrench : ndarray (6,)
            Moment, then force, world axes [N m, N].
        normal : float
            Its normal part [N].
        """
        j = self._contact(name)
        self._observe()
        wrench = self._joints.wrench[j].copy()
        return wrench, 0.0 if self._modes[j] == layout.FREE else float(self._normal(j) @ wrench[3:])

    def contact_point(self, name: str) -> tuple[Floats, Floats] | None:
        """Contact point and normal of the parent.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        (point, normal) of ndarray (3,), or None of a free body
            World [m].
        """
        j = self._contact(name)
        self._observe()
        if self._modes[j] == layout.FREE:
            return None
        E, o = self._frame(j)
        return o + E @ self._joints.normal[j, :3], self._normal(j)

    def slip(self, name: str) -> Floats:
        """Velocity of the contact point of a body on its parent.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        ndarray (2,)
            Axes of 1c [m/s]; nan of a free body.
        """
        j = self._contact(name)
        self._observe()
        if self._modes[j] == layout.FREE:
            return np.full(2, np.nan)
        return self._joints.watch[j, [layout.SLIP_1, layout.SLIP_2]]

    def nearest(self, name: str) -> Floats:
        """Nearest points of a free body and its parent, and their distance.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        ndarray (5,)
            (u1, u2, gap [m])
        """
        return self._joints.near[self._contact(name)].copy()

    def gap(self, name: str) -> float:
        """Distance of a body from its parent's surface, found anew from the two poses alone.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        float
            [m]
        """
        j = self._contact(name)
        R, p = self.pose(name)
        E, o = self._frame(j)
        near = self.nearest(name) if self._modes[j] == layout.FREE else (*self.q[self._slices(j)[0]][:4], 0.0)
        return self.pairs[j].closest(E.T @ R, E.T @ (p - o), near)[2]

    def joint_space(self) -> tuple[Floats, Floats]:
        """Mass matrix and C(q, v) with gravity and damping: M a + C = all other efforts.

        Returns
        -------
        M : ndarray (N, N)
            [kg m^2, kg m, kg]
        C : ndarray (N,)
            [N m, N]
        """
        self._observe()
        self._seen = None
        self._stages.a[:] = 0.0
        joint_forces(self.tree, self.kin, self._stages)
        bias = self._stages.torque + self.tree.damping * self.v
        return np.linalg.inv(self._inverse_mass()), bias

    def joint_efforts(self) -> Floats:
        """Efforts of now: what is given, friction of the contacts, torques of limits, and damping.

        Returns
        -------
        ndarray (N,)
            [N m, N]
        """
        self._observe()
        return self._stages.total - self.tree.damping * self.v

    def friction_margin(self, name: str) -> float:
        """Friction still to be had, ``mu normal force - |tangential force|``.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        float
            [N]
        """
        self._observe()
        return float(self._joints.watch[self._contact(name), layout.FRICTION_ROOM])

    def link_names(self) -> tuple[str, ...]:
        """Links of the robot and bodies of the contacts.

        Returns
        -------
        tuple of str
        """
        return tuple(self._bodies)

    def energies(self) -> tuple[float, float]:
        """Kinetic and potential energy.

        Returns
        -------
        kinetic, potential : float
            [J]
        """
        self._observe()
        return mechanical_energy(self.tree, self.kin, self._stages.gravity)

    def energy(self) -> float:
        """Kinetic and potential energy.

        Returns
        -------
        float
            [J]
        """
        return sum(self.energies())

    def pose(self, name: str) -> tuple[Floats, Floats]:
        """Rotation and origin of a link or a contact's body.

        Parameters
        ----------
        name : str

        Returns
        -------
        R : ndarray (3, 3)
        p : ndarray (3,)
            World [m].
        """
        frame = self._place(name)
        self._observe()
        if frame.body == WORLD:
            return frame.R.copy(), frame.p.copy()
        R = self.kin.R[frame.body]
        return R @ frame.R, self.kin.p[frame.body] + R @ frame.p

    def velocity(self, name: str) -> tuple[Floats, Floats]:
        """Angular velocity and velocity of the origin of a link or a contact's body.

        Parameters
        ----------
        name : str

        Returns
        -------
        angular, linear : ndarray (3,)
            World axes [rad/s, m/s].
        """
        frame = self._place(name)
        self._observe()
        if frame.body == WORLD:
            return np.zeros(3), np.zeros(3)
        w, v = self.kin.V[frame.body, :3].copy(), self.kin.V[frame.body, 3:]
        return w, v + np.cross(w, self.kin.R[frame.body] @ frame.p) if frame.p.any() else v.copy()

    def body_motion(self, name: str) -> tuple[Floats, Floats, Floats, Floats]:
        """Motion of a contact's body about its centre of mass.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        R : ndarray (3, 3)
            Axes of the body in the world.
        position, angular_velocity, velocity : ndarray (3,)
            The first and last of its centre of mass, world axes [m, rad/s, m/s].
        """
        self._observe()
        k = self._body[self._contact(name)]
        w, v = np.split(self.kin.V[k].copy(), 2)
        return self.kin.R[k].copy(), self.kin.p[k].copy(), w, v

    def centre_of_mass(self) -> Floats:
        """Centre of mass of all bodies.

        Returns
        -------
        ndarray (3,)
            World [m].
        """
        self._observe()
        mass = self.tree.mass
        return (mass @ self.kin.p + self.kin.mc.sum(0)) / mass.sum()
