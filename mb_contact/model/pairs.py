# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which geometries of a world may touch, and with what friction."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from mb_contact.model.scene import ABSURD_FRICTION, DEFAULT_FRICTION


def geometry_pairs(filters, geometries, adjacent):
    """Pairs (a, b), a < b, of geometries that may touch: on different bodies, not filtered out.

    Parameters
    ----------
    filters : CollisionFilters
    geometries : sequence of Geometry
        With world body indices; all on the inertial frame count as one body.
    adjacent : set of frozenset of str
        Pairs of links that are neighbours in a robot's tree.
    """
    never = {frozenset(pair) for pair in filters.disable}
    if filters.adjacent:
        never |= adjacent
    return [
        (a, b) for a, b in combinations(range(len(geometries)), 2)
        if geometries[a].body != geometries[b].body
        and frozenset((geometries[a].link, geometries[b].link)) not in never
    ]


def pair_frictions(scene, geometries, pairs):
    """Friction coefficient of each pair, and warnings about absurd ones.

    The scene's entry for the two materials, otherwise the geometric mean of their own.
    """
    warnings = {}

    def sane(friction, owner):
        if friction > ABSURD_FRICTION:
            warnings[f"friction {friction:g} of {owner} is above {ABSURD_FRICTION:g}; used as given"] = None
        return friction

    def own(material):
        if material is None:
            return DEFAULT_FRICTION
        return sane(scene.materials[material].friction, f"material {material}")

    def combined(a, b):
        entry = listed.get(frozenset((a, b)))
        if entry is None:
            return float(np.sqrt(own(a) * own(b)))
        return sane(entry.friction, f"the pair {' and '.join(entry.materials)}")

    listed = {frozenset(entry.materials): entry for entry in scene.pairs}
    mu = [combined(geometries[a].material, geometries[b].material) for a, b in pairs]
    return mu, tuple(warnings)


def pair_viscosities(scene, geometries, pairs):
    """Viscous coefficient of each pair [N s/m], by the same rule; a geometry without material has none."""
    return _pair_values(scene, geometries, pairs, "viscous")


def pair_restitutions(scene, geometries, pairs):
    """Coefficient of restitution of each pair, by the same rule; a geometry without material has none."""
    return _pair_values(scene, geometries, pairs, "restitution")


def _pair_values(scene, geometries, pairs, name):
    def own(material):
        return 0.0 if material is None else getattr(scene.materials[material], name)

    listed = {frozenset(entry.materials): getattr(entry, name) for entry in scene.pairs}
    values = []
    for a, b in pairs:
        materials = geometries[a].material, geometries[b].material
        value = listed.get(frozenset(materials))
        values.append(float(np.sqrt(own(materials[0]) * own(materials[1]))) if value is None else value)
    return values
