# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts as joints of a tree: a ball rolling on a plate that an arm holds, a patch on a patch on a patch."""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout, watch as kernels
from mb_contact.core.surfaces.rows import joint_forces
from mb_contact.core.tree.inverse_dynamics import mechanical_energy
from mb_contact.errors import DynamicsError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.record import State, StateLayout
from mb_contact.surfaces.contact import SurfaceContact
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
    gravity : array_like (3,)
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

    Examples
    --------
    A ball on the ground, given 1 m/s:

    >>> surfaces = mb.surfaces
    >>> ball = surfaces.SurfaceBody(surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
    >>> ground = surfaces.plane()
    >>> tree = surfaces.SurfaceTree([surfaces.ContactJoint("ball", None, ground, ball, "rolling", friction=0.5)])
    >>> q, travel = tree.first_touch("ball", np.eye(3), (0.0, 0.0, 0.5))
    >>> slip, spin = tree.relative_velocity("ball", q, np.array([0.0, 10.0, 0.0]), np.array([1.0, 0.0, 0.0]))
    >>> np.linalg.norm(slip)
    0.0
    >>> tree.roll("ball", q, spin)
    >>> tree.mode_name("ball"), tree.energies()[0], tree.energy(), tree.gap("ball")
    ('rolling', 0.7, 1.681, 0.0)
    >>> tree.energies(), tree.body_motion("ball")[3]
    ((0.7, 0.981), array([1., 0., 0.]))
    >>> before = tree.save()
    >>> tree.run(0.5, step=1e-3)
    >>> R, p = tree.pose("ball")
    >>> p, tree.velocity("ball")[1], tree.centre_of_mass()
    (array([0.5, 0., 0.1]), array([1., 0., 0.]), array([0.5, 0., 0.1]))
    >>> wrench, normal_force = tree.contact_wrench("ball")
    >>> normal_force, tree.friction_margin("ball"), tree.slip("ball")
    (9.81, 4.905, array([0., 0.]))
    >>> point, normal = tree.contact_point("ball")
    >>> point, normal
    (array([0.5, 0., 0.]), array([0., 0., 1.]))
    >>> tree.accelerations(), tree.joint_efforts()
    (array([0., 0., 0.]), array([0., 0., 0.]))
    >>> M, C = tree.joint_space()
    >>> np.diag(M)
    array([0.014, 0.014, 0.004])
    >>> tree.restore(before)
    >>> tree.time, tree.link_names(), tree.coordinates("ball")
    (0.0, ('ball',), (slice(0, 5, None), slice(0, 3, None)))
    >>> tree.set_contact("ball", q)
    >>> tree.pair("ball").surfaces[0]
    Surface('plane', 1 chart)
    >>> tree.slide("ball", q)
    >>> tree.fly("ball", np.eye(3), (0.0, 0.0, 0.5))
    >>> tree.gap("ball"), tree.nearest("ball")[4], tree.mode_name("ball")
    (0.4, 0.4, 'free')
    >>> tree.set_gravity((0.0, 0.0, -1.62))
    >>> tree.set_velocity("ball", (0.0, 0.0, 0.0), (1.0, 0.0, 0.0))
    >>> tree.strike({"ball": (0.0, 0.0, 0.0, 0.0, 0.1, 0.0)})
    >>> tree.run(0.1, step=1e-3, wrenches={"ball": (0.0, 0.0, 0.0, 0.0, 2.0, 1.62)})
    >>> tree.velocity("ball")[1]
    array([1. , 0.3, 0. ])
    >>> tree.set_time(1.0)
    >>> tree.run_adaptive(0.01) > 0
    True
    >>> tree.clear()
    """

    # --- state --------------------------------------------------------------------------------------

    def coordinates(self, name: str) -> tuple[slice, slice]:
        """Slices of q and v that belong to the joint of a contact's body, as long as it does what it does now.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        q, v : slice
        """
        return self._slices(self._contact(name))

    def mode_name(self, name: str) -> str:
        """free, sliding or rolling.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        str
        """
        return MODES[self._modes[self._contact(name)]]

    def set_contact(self, name: str, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Set coordinates of a contact and its velocity, which goes on to slide or to roll.

        Parameters
        ----------
        name : str
            Of the body.
        q : array_like (5,)
            (u1, u2, psi)
        v : array_like (5,) or (3,), optional
            dq/dt of a sliding body, angular velocity in axes of 1c of a rolling one [rad/s]; zero by default.
        """
        j = self._contact(name)
        (self.roll if self._modes[j] == layout.ROLLING else self.slide)(name, q, v)

    def slide(self, name: str, q: ArrayLike, rate: ArrayLike | None = None) -> None:
        """Let a body slide.

        Parameters
        ----------
        name : str
            Of the body.
        q : array_like (5,)
            (u1, u2, psi)
        rate : array_like (5,), optional
            dq/dt; zero by default.
        """
        self._start(name, layout.SLIDING, as_vector(q, 5, "q"), np.zeros(5) if rate is None else rate)

    def roll(self, name: str, q: ArrayLike, angular_velocity: ArrayLike | None = None) -> None:
        """Let a body roll without slip.

        Parameters
        ----------
        name : str
            Of the body.
        q : array_like (5,)
            (u1, u2, psi)
        angular_velocity : array_like (3,), optional
            Relative, axes of the contact frame 1c [rad/s]; zero by default.
        """
        w = np.zeros(3) if angular_velocity is None else angular_velocity
        self._start(name, layout.ROLLING, as_vector(q, 5, "q"), w)

    def fly(
        self,
        name: str,
        R: ArrayLike,
        p: ArrayLike,
        angular_velocity: ArrayLike = (0.0,) * 3,
        velocity: ArrayLike = (0.0,) * 3,
    ) -> None:
        """Let a body fly.

        Parameters
        ----------
        name : str
            Of the body.
        R, p : array_like (3, 3), (3,)
            Pose of its frame, world [m].
        angular_velocity : array_like (3,)
            World axes [rad/s].
        velocity : array_like (3,)
            Of its origin, world axes [m/s].

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

    def clear(self) -> None:
        """Back to time 0: the robot at its neutral positions and at rest, every body free at the origin."""
        self._modes = [layout.FREE] * len(self.contacts)
        for stop in self._stops:
            stop[2] = 0
        for contact, pair in zip(self.contacts, self.pairs):
            pair.set_charts(contact.charts)
        self._begin()

    def pair(self, name: str) -> SurfaceContact:
        """The two surfaces of a contact, in axes of the body that carries the parent's surface.

        Parameters
        ----------
        name : str
            Of the body.

        Returns
        -------
        SurfaceContact
        """
        return self.pairs[self._contact(name)]

    def relative_velocity(
        self, name: str, q: Floats, angular_velocity: Floats, velocity: Floats
    ) -> tuple[Floats, Floats]:
        """Slip and relative angular velocity of a body that moves as told.

        Parameters
        ----------
        name : str
            Of the body.
        q : ndarray (5,)
            (u1, u2, psi)
        angular_velocity, velocity : ndarray (3,)
            Absolute, the latter that of its centre of mass, world axes [rad/s, m/s].

        Returns
        -------
        slip : ndarray (2,)
            Axes of 1c [m/s].
        angular_velocity : ndarray (3,)
            Axes of 1c [rad/s].
        """
        slip, spin = self._relative(self._contact(name), q, angular_velocity, velocity)
        return slip[:2], spin

    def first_touch(
        self, name: str, R: ArrayLike, p: ArrayLike, direction: ArrayLike | None = None
    ) -> tuple[Floats, float]:
        """Where a body touches its parent when it is moved without turning.

        Parameters
        ----------
        name : str
            Of the body.
        R, p : array_like (3, 3), (3,)
            Its pose at the beginning, world [m].
        direction : array_like (3,), optional
            World axes; gravity by default.

        Returns
        -------
        q : ndarray (5,)
            (u1, u2, psi)
        travel : float
            [m]

        Raises
        ------
        DynamicsError
            The surfaces do not meet that way, or at an edge.
        """
        j = self._contact(name)
        E, o = self._frame(j)
        direction = self._gravity if direction is None else as_vector(direction, 3, "direction")
        return self.pairs[j].first_touch(
            E.T @ as_matrix(R, (3, 3), "R"), E.T @ (as_vector(p, 3, "p") - o), E.T @ direction
        )

    def save(self) -> State:
        """Copy of the whole state; ``restore`` continues from it bit for bit.

        Returns
        -------
        State
        """
        layout = StateLayout(**self._state_sizes())
        vector = np.zeros(layout.fixed.size)
        self._put_state(layout.fixed.arrays(vector))
        return State(layout, vector, np.zeros(0))

    def restore(self, state: State) -> None:
        """Continue from a state of a tree with the same model and contacts.

        Parameters
        ----------
        state : State
        """
        self._take_state(state)

    # --- what it does now ---------------------------------------------------------------------------

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
