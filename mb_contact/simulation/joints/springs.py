# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A damped spring from a point of a link to a place in the world: how a user drags a body by hand.

    f = k (x* - x) - c v,    k = omega^2 m,    c = 2 omega m            (critically damped)

acts as an external wrench that is constant during a step, so the energy balance counts its work as that of any push.
m is an effective mass of the point: the median of 1/lambda over the directions in which the point can move, where
lambda are the eigenvalues of its operational-space compliance J M^-1 J*.  The force is that of the step's beginning,
so omega is bounded by the step: c dt lambda_max stays below LARGEST_LOSS, a quarter of what would be unstable.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats, as_vector
from mb_contact.dynamics.nodes import Point
from mb_contact.dynamics.operational import operational_compliance
from mb_contact.errors import InputError
from mb_contact.types import WORLD

if TYPE_CHECKING:
    from mb_contact.simulation.simulator import Simulator

FREQUENCY = 20.0  #: omega of a spring of strength 1 [rad/s]: a body hangs g / omega^2 = 2.5 cm below the hand
LARGEST_LOSS = 0.5  #: of the velocity that damping may take away in a step; explicit damping is stable up to 2
FURTHEST = 0.25  #: stretch beyond which the spring pulls no harder [m]
REACH = 1e6  #: of a hand [m]; beyond it squares would overflow
RIGID = 1e-6  #: part of the largest eigenvalue of the compliance below which a direction cannot move


class PointSpring:
    """A damped spring that pulls at a point of a link.

    Parameters
    ----------
    simulator : Simulator
    link : str
        One that can move.
    place : array_like (3,)
        Where it is taken hold of, world axes [m]; the spring is relaxed at first.
    strength : float
        Multiplies the stiffness.

    Raises
    ------
    InputError
        No such link, one that cannot move, or impossible numbers.
    """

    def __init__(self, simulator: Simulator, link: str, place: ArrayLike, strength: float = 1.0) -> None:
        self._simulator, self.link = simulator, link
        self.set_target(place)
        position, R = self._pose()
        self.point = R.T @ (self.target - position)  #: of the link, in its frame [m]
        self._frame = simulator.world.frames[link]
        if self._frame.body == WORLD:
            raise InputError(f"link '{link}' is welded to the inertial frame: nothing can drag it")
        values = np.linalg.eigvalsh(operational_compliance(simulator.world, simulator.q, Point(link, self.point)))
        if not values[-1] > 0.0:
            raise InputError(f"link '{link}' cannot move at this point: its joints and closures hold it")
        self.mass = float(np.median(1.0 / values[values > RIGID * values[-1]]))  #: effective, of the point [kg]
        self._stable = LARGEST_LOSS / (2.0 * simulator.time_step * self.mass * float(values[-1]))
        self.set_strength(strength)

    def set_strength(self, strength: float) -> None:
        """Multiply the stiffness of strength 1; the damping stays critical.  InputError if it is not above zero."""
        omega = min(FREQUENCY * np.sqrt(as_strength(strength)), self._stable)
        self.stiffness = float(omega**2 * self.mass)  #: k [N/m]
        self.damping = float(2.0 * omega * self.mass)  #: c [N s/m]

    def set_target(self, place: ArrayLike) -> None:
        """Pull towards another place (3,), world axes [m]."""
        place = as_vector(place, 3, "place")
        if np.abs(place).max() > REACH:
            raise InputError(f"a place must lie within {REACH:g} m of the origin, got {place}")
        self.target = place

    def _pose(self):
        """Origin (3,) [m] and rotation (3, 3) to the world of the link."""
        R, position = self._simulator._frame(self.link)
        return position, R

    @property
    def place(self) -> Floats:
        """Where the point is now (3,), world axes [m]."""
        position, R = self._pose()
        return position + R @ self.point

    def velocity(self) -> Floats:
        """Of the point (3,), world axes [m/s]."""
        kin, body = self._simulator.context.kin, self._frame.body
        return kin.V[body, 3:] + np.cross(kin.V[body, :3], self.place - kin.p[body])

    def force(self) -> Floats:
        """On the link at the point (3,), world axes [N]."""
        stretch = self.target - self.place
        length = float(np.linalg.norm(stretch))
        stretch = stretch * min(1.0, FURTHEST / max(length, 1e-30))
        return self.stiffness * stretch - self.damping * self.velocity()

    def wrench(self) -> Floats:
        """The force as a wrench (6,) about the link's origin, world axes, angular part first [N m, N]."""
        force = self.force()
        return np.concatenate((np.cross(self.place - self._pose()[0], force), force))


def as_strength(value: float) -> float:
    """Return ``value`` as the strength of a spring, or raise InputError."""
    strength = float(as_vector([value], 1, "strength")[0])
    if not strength > 0.0:
        raise InputError(f"the strength of a spring must be above zero, got {strength:g}")
    return strength


class Springs:
    """The springs that pull at the links of a simulator, by the name of who pulls.

    Parameters
    ----------
    simulator : Simulator
    """

    def __init__(self, simulator: Simulator) -> None:
        self._simulator = simulator
        self._springs: dict[object, PointSpring] = {}
        self._pushed: set[str] = set()

    def grab(self, who: object, link: str, place: ArrayLike, strength: float) -> None:
        """Take hold of a link; what the same user held before is let go.  InputError as of a PointSpring."""
        self.release(who)
        self._springs[who] = PointSpring(self._simulator, link, place, strength)

    def move(self, who: object, place: ArrayLike) -> None:
        """Pull towards another place; nothing if ``who`` holds nothing."""
        if who in self._springs:
            self._springs[who].set_target(place)

    def set_strength(self, strength: float) -> None:
        """Of all springs that pull now.  InputError if it is not above zero."""
        as_strength(strength)
        for spring in self._springs.values():
            spring.set_strength(strength)

    def release(self, who: object) -> None:
        """Let go; nothing if ``who`` holds nothing."""
        self._springs.pop(who, None)

    @property
    def held(self) -> list[PointSpring]:
        """Those that pull now."""
        return list(self._springs.values())

    def apply(self) -> None:
        """Set the wrenches of the next step; several springs on a link are added up."""
        wrenches: dict[str, Floats] = {}
        for spring in self._springs.values():
            wrenches[spring.link] = wrenches.get(spring.link, 0.0) + spring.wrench()
        for link in self._pushed - wrenches.keys():
            self._simulator.set_external_wrench(link, None)
        for link, wrench in wrenches.items():
            self._simulator.set_external_wrench(link, wrench)
        self._pushed = set(wrenches)
