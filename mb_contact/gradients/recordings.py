# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What ``identify`` takes and returns."""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model import Scene


class Recording(NamedTuple):
    """A recorded motion of T steps, at the time step of the scene or a multiple of it.

    Examples
    --------
    >>> mb.gradients.Recording(np.zeros((3, 2)), np.zeros((3, 2)), np.zeros((2, 2))).q.shape
    (3, 2)
    """

    q: Floats  #: (T + 1, nq) [rad, m; quaternions x y z w]
    v: Floats  #: (T + 1, N) [rad/s, m/s]
    effort: Floats | None = None  #: (T, joints) [N m, N], none where left out


class Unknown(NamedTuple):
    """A parameter that is looked for.

    Examples
    --------
    >>> mb.gradients.Unknown("friction", ("wood", "steel"), start=0.3).low
    0.0
    """

    kind: str
    """mass (of a primitive), friction or restitution (of two materials), damping or joint_friction (of a robot's
    joint); ``low`` of a restitution is above zero: without any nothing bounces, whatever it is near"""
    of: str | tuple  #: name of the primitive or the joint, or two of materials
    start: float  #: first guess
    low: float = 0.0
    high: float = np.inf


class Identified(NamedTuple):
    """Parameters that fit recorded motions best.

    Examples
    --------
    >>> scene = mb.pendulum(1, length=1.0).scene()
    >>> sim = mb.Simulator(scene)
    >>> states = [(sim.q, sim.v)] + [(sim.q, sim.v) for _ in range(20) if sim.step([1.0])]
    >>> recording = mb.gradients.Recording(*map(np.array, zip(*states)), np.ones((20, 1)))
    >>> found = mb.identify(scene, [recording], [mb.gradients.Unknown("damping", "hinge_0", 0.5)])
    >>> abs(found.values[0]) < 1e-6, found.cost < 1e-12
    (True, True)
    """

    values: Floats  #: (p,)
    deviations: Floats  #: (p,), standard deviations, from the Jacobian and what is left of the residuals
    covariance: Floats  #: (p, p)
    cost: float  #: half the sum of the squares of all residuals
    rollouts: int  #: of all recordings, with their sensitivities
    scene: Scene  #: with these values
