# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which links are inside each other before anything moves: overlapping hulls of neighbours, misplaced objects."""

from __future__ import annotations

import numpy as np

from mb_contact.collision import make_buffers, make_contacts, make_narrow_phase
from mb_contact.core.broadphase import candidate_pairs
from mb_contact.core.geometry import aabbs, geometry_poses
from mb_contact.core.manifolds import build_contacts
from mb_contact.model.model import tree_poses

NOTABLE = 1e-4  #: depth from which two links are reported [m]


def initial_penetrations(world, depth=NOTABLE, engine="coal"):
    """Pairs of links that penetrate at a world's initial positions, the deepest first.

    Parameters
    ----------
    world : World
    depth : float
        Depth from which a pair counts [m].
    engine : str
        Collision engine.

    Returns
    -------
    list of (link, link, depth)
        Each pair of links once, with its greatest depth [m].
    """
    geoms, buffers = world.geoms, make_buffers(world.geoms)
    contacts = make_contacts(4 * len(geoms.pairs) + 4)
    R, p = tree_poses(world.tree, world.q0)
    geometry_poses(geoms, R, p, buffers.geom_R, buffers.geom_p)
    aabbs(geoms, buffers.geom_R, buffers.geom_p, buffers.travel, buffers.lower, buffers.upper)
    count = candidate_pairs(
        geoms, buffers.geom_R, buffers.geom_p, buffers.lower, buffers.upper, buffers.travel, buffers.order,
        buffers.candidates, buffers.reach,
    )  # fmt: skip
    narrow = make_narrow_phase(geoms, engine)
    narrow.query(buffers.candidates, count, buffers.reach, buffers.geom_R, buffers.geom_p, buffers.witness)
    build_contacts(
        geoms, buffers.geom_R, buffers.geom_p, buffers.candidates, count, buffers.reach, buffers.witness,
        buffers.work, contacts,
    )  # fmt: skip
    deepest = {}
    for i in range(int(contacts.count[0])):
        links = tuple(sorted(world.geometry_links[g] for g in geoms.pairs[contacts.pair[i]]))
        deepest[links] = max(deepest.get(links, -np.inf), -float(contacts.gap[i]))
    found = [(*links, value) for links, value in deepest.items() if value > depth]
    return sorted(found, key=lambda entry: -entry[2])
