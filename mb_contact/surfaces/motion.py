# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A body on a base, the smallest tree: sliding, rolling and free flight, and the events between them."""

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.errors import InputError, MbContactError
from mb_contact.model.rotations import rotation_about
from mb_contact.record import State
from mb_contact.surfaces.bodies import (
    GRAVITY,
    ContactForce,
    SurfaceBase,
    SurfaceBody,
    SurfaceEvent,
    check_body,
)
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.parts import ContactJoint, moving_base
from mb_contact.surfaces.tree import SurfaceTree


class SurfaceMotion:
    """One body on one base (P00 section 6).

    Start it with ``slide``, ``roll`` or ``fly``; q and its charts may come from ``contact.first_touch``.

    Parameters
    ----------
    body : SurfaceBody
    base : SurfaceBase
    friction : float
        Coulomb's coefficient; 0: none; inf: rolls and never slips.
    restitution : float
        Of a landing, 0 to 1.
    gravity : array_like (3,)
        [m/s^2], world.
    release : bool
        Whether the contact may break; without it the base can also pull.
    names : (str, str)
        Of the body and the base.

    Attributes
    ----------
    tree : SurfaceTree
        The body's contact and the base that carries it; it does all the work.
    has_begun : bool
        Whether there is a state to go on from.

    Examples
    --------
    A ball that slides on the ground until it rolls; then 5/7 of its speed are left:

    >>> ball = mb.surfaces.SurfaceBody(mb.surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
    >>> motion = mb.surfaces.SurfaceMotion(ball, mb.surfaces.SurfaceBase(mb.surfaces.plane()), friction=0.3)
    >>> q, _ = motion.contact.first_touch(np.eye(3), (0, 0, 1), (0, 0, -1))
    >>> motion.slide(q, motion.contact.rates(q) @ [0, 0, 0, 0.7, 0])
    >>> motion.mode_name, motion.friction, motion.slip(), motion.energy()
    ('sliding', 0.3, array([0.7, 0. ]), 1.226)
    >>> start = motion.save()
    >>> motion.run(0.2, step=1e-3)
    >>> [event.kind for event in motion.events], motion.mode_name
    (['sticks'], 'rolling')
    >>> position, angular_velocity, velocity = motion.centre_of_mass()
    >>> np.round(velocity, 6), motion.q.shape, motion.v.shape
    (array([0.5, 0. , 0. ]), (5,), (3,))
    >>> motion.restore(start)
    >>> motion.step(1e-3)
    >>> motion.time, motion.run_adaptive(0.01) > 0
    (0.001, True)
    >>> motion.fly(np.eye(3), (0.0, 0.0, 0.5))
    >>> motion.gap(), motion.contact_force() is None, motion.pose()[1], motion.base_pose()[1], motion.hand_overs
    (0.4, True, array([0. , 0. , 0.5]), array([0., 0., 0.]), 0)
    >>> motion.roll(q, (0.0, 1.0, 0.0))
    """

    def __init__(
        self,
        body: SurfaceBody,
        base: SurfaceBase,
        friction: float = 0.0,
        restitution: float = 0.0,
        gravity: ArrayLike = GRAVITY,
        release: bool = True,
        names: tuple[str, str] = ("the body", "the base"),
    ) -> None:
        check_body(body)
        self.body, self.base, self.friction, self.restitution = body, base, float(friction), float(restitution)
        self.name, carrier = names
        joint = ContactJoint(
            self.name, carrier, base.surface, body, "free", friction=friction, restitution=restitution, release=release
        )
        self.tree = SurfaceTree([joint], moving_base(carrier, base), gravity)
        self.has_begun = False

    # --- starting ---------------------------------------------------------------------------------

    def slide(
        self,
        q: ArrayLike,
        rate: ArrayLike = (0.0,) * 5,
        charts: tuple[int, int] | None = None,
        time: float = 0.0,
    ) -> None:
        """Start sliding, against friction if there is any.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)
        rate : array_like (5,)
            dq/dt
        charts : (int, int), optional
            By default those of ``contact``.
        time : float
            [s]

        Raises
        ------
        InputError
            Friction is infinite.
        """
        self._begin(self.tree.slide, charts, time, q, rate)

    def roll(
        self,
        q: ArrayLike,
        angular_velocity: ArrayLike = (0.0,) * 3,
        charts: tuple[int, int] | None = None,
        time: float = 0.0,
    ) -> None:
        """Start rolling without slip.

        Parameters
        ----------
        q : array_like (5,)
            (u1, u2, psi)
        angular_velocity : array_like (3,)
            Relative to the base, axes of the contact frame 1c [rad/s].
        charts : (int, int), optional
            By default those of ``contact``.
        time : float
            [s]

        Raises
        ------
        InputError
            There is no friction.
        """
        self._begin(self.tree.roll, charts, time, q, angular_velocity)

    def fly(
        self,
        R: ArrayLike,
        p: ArrayLike,
        angular_velocity: ArrayLike = (0.0,) * 3,
        velocity: ArrayLike = (0.0,) * 3,
        time: float = 0.0,
    ) -> None:
        """Start in free flight.

        Parameters
        ----------
        R, p : array_like (3, 3), (3,)
            Pose of the body's frame, world [m].
        angular_velocity : array_like (3,)
            World axes [rad/s].
        velocity : array_like (3,)
            Of its origin, world axes [m/s].
        time : float
            [s]

        Raises
        ------
        DynamicsError
            The body begins inside the base.
        """
        self._begin(self.tree.fly, None, time, R, p, angular_velocity, velocity)

    def _begin(self, start, charts, time, *state):
        """Start at a time; a state that cannot be leaves everything as it was."""
        before, events = self.tree.save(), self.tree.events
        try:
            if charts is not None:
                self.contact.set_charts(charts)
            self.tree.set_time(time)
            start(self.name, *state)
            self.tree.energy()
        except MbContactError:
            self.tree.events = events
            self.tree.restore(before)
            raise
        self.has_begun = True

    def save(self) -> State:
        """Copy of the whole state; ``restore`` continues from it bit for bit.

        Returns
        -------
        State
        """
        return self._moving().save()

    def restore(self, state: State) -> None:
        """Continue from a state of a motion with the same body and base.

        Parameters
        ----------
        state : State
        """
        self.tree.restore(state)
        self.has_begun = True

    # --- what it does now ---------------------------------------------------------------------------

    @property
    def contact(self) -> SurfaceContact:
        """The pair of surfaces, in axes of the base.

        Returns
        -------
        SurfaceContact
        """
        return self.tree.pair(self.name)

    @property
    def time(self) -> float:
        """Time of the motion.

        Returns
        -------
        float
            [s]
        """
        return self.tree.time

    @property
    def events(self) -> list[SurfaceEvent]:
        """Events since the start.

        Returns
        -------
        list of SurfaceEvent
        """
        return self.tree.events

    @property
    def hand_overs(self) -> int:
        """Changes of charts since the start.

        Returns
        -------
        int
        """
        return self.tree.hand_overs

    @property
    def mode_name(self) -> str:
        """free, sliding or rolling.

        Returns
        -------
        str
        """
        return self._moving().mode_name(self.name)

    @property
    def q(self) -> Floats:
        """Contact coordinates (u1, u2, psi), a new array; of a free body its nearest points, and psi is nan.

        Returns
        -------
        ndarray (5,)
        """
        if self.mode_name == "free":
            return np.append(self.tree.nearest(self.name)[:4], np.nan)
        return self.tree.q[self.tree.coordinates(self.name)[0]].copy()

    @property
    def v(self) -> Floats:
        """Rate of q sliding, angular velocity in axes of 1c rolling, (w, v) of the centre of mass free.

        Returns
        -------
        ndarray (5,), (3,) or (6,)
            [rad/s, m/s]
        """
        return self._moving().v[self.tree.coordinates(self.name)[1]].copy()

    def base_pose(self, time: float | None = None) -> tuple[Floats, Floats]:
        """Rotation and origin of the base.

        Parameters
        ----------
        time : float, optional
            [s]; now by default.

        Returns
        -------
        R : ndarray (3, 3)
        p : ndarray (3,)
            World [m].
        """
        t, w = self.time if time is None else float(time), np.array(self.base.angular_velocity, float)
        rate = np.linalg.norm(w)
        turn = rotation_about(w / rate, rate * t) if rate > 0.0 else np.eye(3)
        return turn @ self.base.R, np.add(self.base.p, t * np.asarray(self.base.velocity))

    def pose(self) -> tuple[Floats, Floats]:
        """Rotation and origin of the body's frame.

        Returns
        -------
        R : ndarray (3, 3)
        p : ndarray (3,)
            World [m].
        """
        return self._moving().pose(self.name)

    def centre_of_mass(self) -> tuple[Floats, Floats, Floats]:
        """Motion of the centre of mass.

        Returns
        -------
        position, angular_velocity, velocity : ndarray (3,)
            World axes [m, rad/s, m/s].
        """
        return self._moving().body_motion(self.name)[1:]

    def gap(self) -> float:
        """Distance of the nearest points of the surfaces, found anew from the two poses alone.

        Returns
        -------
        float
            [m]
        """
        return self._moving().gap(self.name)

    def energy(self) -> float:
        """Kinetic and potential energy of the body.

        Returns
        -------
        float
            [J]
        """
        return self._moving().energy()

    def contact_force(self) -> ContactForce | None:
        """Force of the base on the body.

        Returns
        -------
        ContactForce or None
            None in free flight.
        """
        if self.mode_name == "free":
            return None
        wrench, normal_force = self.tree.contact_wrench(self.name)
        point, normal = self.tree.contact_point(self.name)  # type: ignore[misc]  # it touches
        return ContactForce(point, normal, wrench[3:], wrench[:3], normal_force, self.tree.friction_room(self.name))

    def slip(self) -> Floats:
        """Velocity of the contact point of the body on the base.

        Returns
        -------
        ndarray (2,)
            Axes of 1c [m/s].

        Raises
        ------
        InputError
            The body is free.
        """
        if self.mode_name == "free":
            raise InputError("a free body does not slip")
        return self.tree.slip(self.name)

    # --- moving ------------------------------------------------------------------------------------

    def step(self, h: float) -> None:
        """Advance with one Runge-Kutta step of order 4, or with several where an event falls into it.

        Parameters
        ----------
        h : float
            [s]

        Raises
        ------
        DynamicsError
            The contact reaches the edge of its surface, becomes a line, or friction jams; the state is the last good.
        """
        self.run(h, h)

    def run(self, duration: float, step: float) -> None:
        """Advance in equal steps (Runge-Kutta, order 4); events are met.

        Parameters
        ----------
        duration : float
            [s]
        step : float
            Longest step [s].

        Raises
        ------
        InputError
            The duration is negative or the step not above zero.
        DynamicsError
            As for ``step``.
        """
        self._moving().run(duration, step)

    def run_adaptive(
        self,
        duration: float,
        relative: float = 1e-9,
        absolute: float = 1e-12,
        first: float = 1e-3,
        longest: float = np.inf,
    ) -> int:
        """Advance in adapted steps (Dormand and Prince, 5(4)).

        Parameters
        ----------
        duration : float
            [s]
        relative, absolute : float
            Tolerances of the state.
        first, longest : float
            Steps [s].

        Returns
        -------
        int
            Number of steps.
        """
        return self._moving().run_adaptive(duration, relative, absolute, first, longest)

    def _moving(self):
        """The tree, once it has a state."""
        if not self.has_begun:
            raise InputError("the motion has no state yet: call slide, roll or fly")
        return self.tree
