# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Gravity of single bodies: their own where they have one, else the scene's.

The sweeps take the scene's in as the acceleration -g of the inertial frame; what a body's own adds to it is a force at
its centre of mass.
"""

from mb_contact.core.jit import sweep
from mb_contact.core.tree.spatial import STILL, ZERO, vector, vector_product, vector_sum


@sweep
def has_own_gravity(tree, k):
    """Whether body k has a gravity of its own."""
    own = tree.body_gravity
    return own.shape[0] > 0 and own[k, 0] == own[k, 0]  # not of NaN


@sweep
def gravity_of(tree, gravity, k):
    """Gravity of body k (3,) [m/s^2], where ``gravity`` (3,) is the scene's."""
    if has_own_gravity(tree, k):
        return vector(tree.body_gravity, k)
    return gravity[0], gravity[1], gravity[2]


@sweep
def own_weight(tree, mc, gravity, k):
    """Force (6,) of body k's gravity beyond the scene's, about the body's origin; ``mc`` (n, 3) first moments."""
    if not has_own_gravity(tree, k):
        return STILL
    beyond = vector_sum(vector(tree.body_gravity, k), -1.0, (gravity[0], gravity[1], gravity[2]))
    return vector_product(vector(mc, k), beyond) + vector_sum(ZERO, tree.mass[k], beyond)
