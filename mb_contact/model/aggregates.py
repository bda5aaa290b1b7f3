# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which loops and gears of a world become aggregates of its tree, and which stay multipliers (``loops: embed``)."""

from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.workspace import flexible_parts, make_aggregates
from mb_contact.types import JOINT_PRISMATIC, WORLD, Closures, Gears, Tree

MOST = 12  #: degrees of freedom of an aggregate; one of more stays with multipliers


class Part(NamedTuple):
    """One aggregate: the bodies between its ``base`` and what its closures and gears join."""

    base: int
    bodies: list[int]  #: ascending
    dofs: list[int]
    closures: list[int]
    gears: list[int]


def find_parts(tree: Tree, closures: Closures, gears: Gears, multipliers: tuple[Any, Any]) -> list[Part]:
    """Aggregates of a tree, each of the joints that its closures and gears join and of those between.

    A closure of bodies a and b takes the joints on the paths from both to their closest common ancestor, the base; a
    gear those from both of its bodies to the closest common ancestor of their parents.  What shares a joint is one
    aggregate.

    Parameters
    ----------
    tree : Tree
    closures, gears : Closures, Gears
    multipliers : (closures, gears)
        Indices of those that stay multipliers.  An aggregate with a joint that such a gear couples to another stays
        with multipliers too.

    Returns
    -------
    list of Part
        Those of at most ``MOST`` degrees of freedom, by their first bodies.
    """
    groups: list[tuple[set[int], list[int], list[int]]] = []
    for i in range(len(closures.kind)):
        if i not in multipliers[0]:
            a, b = int(closures.body_a[i]), int(closures.body_b[i])
            groups.append((_between(tree, a, b), [i], []))
    for i in range(len(gears.ratio)):
        if i not in multipliers[1]:
            a, b = int(gears.body_a[i]), int(gears.body_b[i])
            groups.append((_between(tree, int(tree.parent[a]), int(tree.parent[b])) | {a, b}, [], [i]))
    coupled = {int(k) for i in multipliers[1] for k in (gears.body_a[i], gears.body_b[i]) if gears.ratio[i] != 0.0}
    parts = []
    for bodies, own_closures, own_gears in _joined(groups):
        members = sorted(bodies)
        dofs = [d for k in members for d in range(tree.v_start[k], tree.v_start[k] + tree.nv[k])]
        if len(dofs) <= MOST and not bodies & coupled:
            parts.append(Part(int(tree.parent[members[0]]), members, dofs, own_closures, own_gears))
    return sorted(parts, key=lambda part: part.bodies[0])


def scene_parts(scene: Any, tree: Tree, couplings: Any, flexible: Any) -> list[Part]:
    """Aggregates of a scene: its flexible links, and its loops without ``loops: multipliers``.

    Driven joints and closures stay multipliers, and so do loops that a flexible link is part of.

    Parameters
    ----------
    scene : Scene
    tree : Tree
    couplings : Couplings
        All of the scene.
    flexible : sequence of FlexibleBody

    Returns
    -------
    list of Part
    """
    links = [Part(*part) for part in flexible_parts(tree, flexible)]
    if scene.loops != "embed":
        return links
    moved = {motion.closure for motion in scene.motions}
    gears = couplings.gears
    held = [i for i, name in enumerate(couplings.closure_names) if name in moved]
    driven = [i for i in range(len(gears.ratio)) if gears.body_a[i] == gears.body_b[i]]
    deformed = {k for link in flexible for k in (link.body, *link.nodes)}
    loops = find_parts(tree, couplings.closures, gears, (held, driven))
    apart = [part for part in loops if not deformed & {*part.bodies}]
    return sorted([*links, *apart], key=lambda part: part.bodies[0])


def _path(tree, k):
    """Body k and those below it, tip to base."""
    path = []
    while k != WORLD:
        path.append(k)
        k = int(tree.parent[k])
    return path


def _between(tree, a, b):
    """Bodies on the paths from a and b to their closest common ancestor, without it."""
    return set(_path(tree, a)) ^ set(_path(tree, b))


def _joined(groups):
    """Groups that share a body made one."""
    joined = []
    for bodies, closures, gears in groups:
        apart = []
        for other in joined:
            if other[0] & bodies:
                bodies, closures, gears = bodies | other[0], other[1] + closures, other[2] + gears
            else:
                apart.append(other)
        joined = [*apart, (bodies, closures, gears)]
    return joined


def tree_aggregates(tree: Tree, parts: list[Part], closures: Closures, gears: Gears, origins: Floats) -> Any:
    """Aggregates of a tree for its sweeps.

    Parameters
    ----------
    tree, parts, closures, gears
        As for and from ``find_parts``.
    origins : (n, 3)
        Origins of the bodies at the initial positions, from which lengths of links are taken [m].

    Returns
    -------
    Aggregates
    """
    n, N = len(tree.parent), len(tree.armature)
    length = np.ones(len(parts))
    unit = np.ones(N)
    kept = np.zeros(N, np.int64)
    for i, part in enumerate(parts):
        places = origins[part.bodies]
        ends = [np.linalg.norm(p[j]) for j in part.closures for p in (closures.p_a, closures.p_b)]
        length[i] = max(*np.ptp(places, axis=0), *ends, closures.length[part.closures].max(initial=0.0)) or 1.0
        for k in part.bodies:
            if tree.joint_type[k] == JOINT_PRISMATIC:
                unit[tree.v_start[k]] = length[i]
    driven = gears.body_a[gears.ratio == 0.0]
    kept[tree.v_start[driven]] = 1
    return make_aggregates(n, N, parts, closures, gears, kept=kept, unit=unit, length=length)


def merged_roots(tree: Tree, parts: list[Part]) -> Any:
    """``tree.root``, with trees that an aggregate joins as one."""
    root = tree.root.copy()
    for part in parts:
        joined = np.unique(root[part.bodies])
        root[np.isin(root, joined)] = joined[0]
    root.setflags(write=False)
    return root
