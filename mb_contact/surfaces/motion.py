# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A body on a base, the smallest tree: sliding, rolling and free flight, and the events between them."""

from __future__ import annotations

import numpy as np

from mb_contact.errors import InputError, MbContactError
from mb_contact.model.rotations import rotation_about
from mb_contact.surfaces.bodies import GRAVITY, ContactForce, check_body
from mb_contact.surfaces.parts import ContactJoint, moving_base
from mb_contact.surfaces.tree import SurfaceTree


class SurfaceMotion:
    """One body on one base.

    Parameters
    ----------
    body : SurfaceBody
    base : SurfaceBase
    friction : float
        Coulomb's coefficient; 0: none; inf: rolls and never slips.
    restitution : float
        Of a landing, 0 to 1.
    gravity : (3,)
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

    Start it with ``slide``, ``roll`` or ``fly``; q and its charts may come from ``contact.first_touch``.
    """

    def __init__(
        self, body, base, friction=0.0, restitution=0.0, gravity=GRAVITY, release=True, names=("the body", "the base")
    ):
        check_body(body)
        self.body, self.base, self.friction, self.restitution = body, base, float(friction), float(restitution)
        self.name, carrier = names
        joint = ContactJoint(
            self.name, carrier, base.surface, body, "free", friction=friction, restitution=restitution, release=release
        )
        self.tree = SurfaceTree([joint], moving_base(carrier, base), gravity)
        self.has_begun = False

    # --- starting ---------------------------------------------------------------------------------

    def slide(self, q, rate=(0.0,) * 5, charts=None, time=0.0):
        """Start sliding at q = (u1, u2, psi) with its rate, against friction if there is any."""
        self._begin(self.tree.slide, charts, time, q, rate)

    def roll(self, q, angular_velocity=(0.0,) * 3, charts=None, time=0.0):
        """Start rolling without slip at q; relative angular velocity in axes of the contact frame 1c [rad/s]."""
        self._begin(self.tree.roll, charts, time, q, angular_velocity)

    def fly(self, R, p, angular_velocity=(0.0,) * 3, velocity=(0.0,) * 3, time=0.0):
        """Start in free flight: pose of the body's frame, angular velocity, velocity of its origin; world axes."""
        self._begin(self.tree.fly, None, time, R, p, angular_velocity, velocity)

    def _begin(self, start, charts, time, *state):
        """Start at a time; a state that cannot be leaves everything as it was."""
        before = self.tree.save()
        try:
            if charts is not None:
                self.contact.set_charts(charts)
            self.tree.set_time(time)
            start(self.name, *state)
            self.tree.energy()
        except MbContactError:
            self.tree.restore(before)
            raise
        self.has_begun = True

    def save(self):
        """Copy of the whole state; ``restore`` continues from it bit for bit."""
        return self._moving().save()

    def restore(self, state):
        """Continue from a TreeState of a motion with the same body and base."""
        self.tree.restore(state)
        self.has_begun = True

    # --- what it does now ---------------------------------------------------------------------------

    @property
    def contact(self):
        """The SurfaceContact, in axes of the base."""
        return self.tree.pair(self.name)

    @property
    def time(self):
        """[s]"""
        return self.tree.time

    @property
    def events(self):
        """SurfaceEvents since the start."""
        return self.tree.events

    @property
    def hand_overs(self):
        """Changes of charts since the start."""
        return self.tree.hand_overs

    @property
    def mode_name(self):
        """free, sliding or rolling."""
        return self._moving().mode_name(self.name)

    @property
    def q(self):
        """Contact coordinates (u1, u2, psi), a new array; of a free body its nearest points, and psi is nan."""
        if self.mode_name == "free":
            return np.append(self.tree.nearest(self.name)[:4], np.nan)
        return self.tree.q[self.tree.coordinates(self.name)[0]].copy()

    @property
    def v(self):
        """Rate of q (5,) sliding, angular velocity (3,) in axes of 1c rolling, (w, v) of the centre of mass free."""
        return self._moving().v[self.tree.coordinates(self.name)[1]].copy()

    def base_pose(self, time=None):
        """Rotation and origin of the base, world."""
        t, w = self.time if time is None else float(time), np.array(self.base.angular_velocity, float)
        rate = np.linalg.norm(w)
        turn = rotation_about(w / rate, rate * t) if rate > 0.0 else np.eye(3)
        return turn @ self.base.R, np.add(self.base.p, t * np.asarray(self.base.velocity))

    def pose(self):
        """Rotation and origin [m] of the body's frame, world."""
        return self._moving().pose(self.name)

    def centre_of_mass(self):
        """Position, angular velocity and velocity of the centre of mass, world."""
        return self._moving().body_motion(self.name)[1:]

    def gap(self):
        """Distance of the nearest points of the surfaces [m], found anew from the two poses alone."""
        return self._moving().gap(self.name)

    def energy(self):
        """Kinetic and potential energy of the body [J]."""
        return self._moving().energy()

    def contact_force(self):
        """The ContactForce, or None in free flight."""
        if self.mode_name == "free":
            return None
        wrench, normal_force = self.tree.contact_wrench(self.name)
        point, normal = self.tree.contact_point(self.name)
        return ContactForce(point, normal, wrench[3:], wrench[:3], normal_force, self.tree.friction_room(self.name))

    def slip(self):
        """Velocity (2,) of the contact point of the body on the base, axes of 1c [m/s]."""
        if self.mode_name == "free":
            raise InputError("a free body does not slip")
        return self.tree.slip(self.name)

    # --- moving ------------------------------------------------------------------------------------

    def step(self, h):
        """Advance by h [s] with one Runge-Kutta step of order 4, or with several where an event falls into it.

        Raises
        ------
        DynamicsError
            The contact reaches the edge of its surface, becomes a line, or friction jams; the state is the last good.
        """
        self.run(h, h)

    def run(self, duration, step):
        """Advance by ``duration`` [s] in equal steps of at most ``step`` [s] (Runge-Kutta, order 4); events are met."""
        self._moving().run(duration, step)

    def run_adaptive(self, duration, relative=1e-9, absolute=1e-12, first=1e-3, longest=np.inf):
        """Advance by ``duration`` [s] in adapted steps (Dormand and Prince, 5(4)); returns their number."""
        return self._moving().run_adaptive(duration, relative, absolute, first, longest)

    def _moving(self):
        """The tree, once it has a state."""
        if not self.has_begun:
            raise InputError("the motion has no state yet: call slide, roll or fly")
        return self.tree
