# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts as joints of a tree: a ball rolling on a plate that an arm holds, a patch on a patch on a patch."""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_matrix, as_vector
from mb_contact.core.surfaces import layout as layout, watch as kernels
from mb_contact.errors import DynamicsError
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.record import State, StateLayout
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.parts import MODES, ContactJoint
from mb_contact.surfaces.readings import TreeReadings

__all__ = ["ContactJoint", "SurfaceTree"]


class SurfaceTree(TreeReadings):
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
