# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""In which units a scene's tolerances are meant: 1 for ordinary sizes, so that small and large scenes behave alike.

Gaps that count as touching, speeds that count as rest, residuals that count as solved are numbers in SI units that suit
bodies of millimetres to metres.  A scene of other sizes has them in the power of a thousand that is nearest to its
bodies: a copy of a scene in millimetres or micrometres then takes the same decisions.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from mb_contact.types import WORLD, Tree

STEP = 1000.0  #: units are powers of it
SIZE, LEAST_SIZE, MOST_SIZE = 0.1, 3e-3, 50.0  #: of a body in the middle of the ordinary, and the bounds of that [m]
LEAST_LENGTH = 1e-6  #: a point is no scene of its own [m]
LEAST_MASS, MOST_MASS = 1e-5, 1e5  #: bounds of the ordinary [kg]
TIME_STEP, GRAVITY = 1e-3, 9.81  #: ordinary ones [s, m/s^2]


class Units(NamedTuple):
    """By what tolerances are multiplied.

    Examples
    --------
    >>> mb.build_world(mb.Scene()).units
    Units(length=1.0, speed=1.0, force=1.0, residual=1.0)
    """

    length: float = 1.0  #: [m]
    speed: float = 1.0  #: [m/s]
    force: float = 1.0  #: [N]
    residual: float = 1.0  #: [sqrt(N s m/s)]


def scene_units(shapes: Sequence, tree: Tree, gravity: Sequence[float], time_step: float) -> Units:
    """The units of a scene: those of the middle of its least and its largest moving body.

    Parameters
    ----------
    shapes : sequence of Geometry
    tree : Tree
    gravity : (3,)
        [m/s^2]
    time_step : float
        [s]

    Returns
    -------
    Units
    """
    size = _middle(_sizes(shapes, tree))
    length = 1.0 if LEAST_SIZE <= size <= MOST_SIZE else max(_power(size / SIZE), LEAST_LENGTH)
    mass, fall, time = _middle(tree.mass), math.hypot(*gravity), 1.0
    mass = 1.0 if length == 1.0 and LEAST_MASS <= mass <= MOST_MASS else _power(mass)
    if length != 1.0:
        time = math.sqrt(length * GRAVITY / fall) if fall > 0.0 else time_step / TIME_STEP
    speed = length / time
    return Units(length, speed, mass * speed / time, math.sqrt(mass) * speed)


def _sizes(shapes, tree):
    """Of each body what is largest of its shapes, its way from its parent, and its mass's distance from the origin."""
    way = np.where(tree.parent == WORLD, 0.0, np.linalg.norm(tree.p_joint, axis=1))
    spread = np.trace(tree.inertia, axis1=1, axis2=2) / np.maximum(tree.mass, np.finfo(float).tiny)
    sizes = np.maximum(way, np.sqrt(np.maximum(spread + (tree.com**2).sum(axis=1), 0.0)))
    for shape in shapes:
        if shape.body != WORLD:
            sizes[shape.body] = max(sizes[shape.body], 2.0 * (np.linalg.norm(shape.p) + max(shape.size)))
    return sizes[tree.mass > 0.0]


def _middle(values):
    """Geometric mean of the least and the largest value above zero; 1 of none."""
    values = [float(value) for value in values if value > 0.0]
    return math.sqrt(min(values)) * math.sqrt(max(values)) if values else 1.0


def _power(value):
    """The nearest power of STEP."""
    return STEP ** round(math.log(value, STEP))
