# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which geoms of an exported world touch, and how they rub, where MuJoCo's own rules say otherwise."""

from collections import Counter
from xml.etree import ElementTree

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.mjcf.elements import numbers
from mb_contact.model.mjcf.export_shapes import dimension, friction_of_pairs
from mb_contact.model.world import World
from mb_contact.types import WORLD

SAME = 1e-9  #: coefficients whose relative difference is below it are one


class ContactWriter:
    """Pairs of bodies of which all shapes may touch are left to MuJoCo; the others are excluded, and pairs named."""

    def __init__(self, world: World, bodies: list[str], geoms: list[str], parent_of: dict[int, int]) -> None:
        self.world, self.bodies, self.geoms, self.parent_of = world, bodies, geoms, parent_of
        self._coefficients = friction_of_pairs(world)

    def write(self, element: ElementTree.Element, friction: Floats) -> None:
        """Write into ``<contact>`` what differs from the larger ``friction`` (g, 3) of each two geometries."""
        geoms = self.world.geoms
        body = geoms.body.tolist()
        count = Counter(body)
        either = friction[geoms.pairs].max(axis=1)
        larger = np.isclose(self._coefficients, either, rtol=SAME, atol=0.0).all(axis=1).tolist()
        wanted: dict[tuple[int, int], list[int]] = {}
        for row, (a, b) in enumerate(geoms.pairs.tolist()):
            wanted.setdefault((min(body[a], body[b]), max(body[a], body[b])), []).append(row)
        bodies = sorted(count)
        for i, b in enumerate(bodies):
            for a in bodies[:i]:
                rows = wanted.get((a, b), [])
                tested = a == WORLD or self.parent_of.get(b) != a and self.parent_of.get(a) != b
                if tested and len(rows) == count[a] * count[b] and all(larger[row] for row in rows):
                    continue
                if tested:
                    name = "world" if a == WORLD else self.bodies[a]
                    ElementTree.SubElement(element, "exclude", body1=name, body2=self.bodies[b])
                for row in rows:
                    self._pair(element, row)

    def _pair(self, element: ElementTree.Element, row: int) -> None:
        a, b = self.world.geoms.pairs[row]
        slide, torsional, rolling = friction = self._coefficients[row].tolist()
        ElementTree.SubElement(
            element, "pair", geom1=self.geoms[a], geom2=self.geoms[b], condim=dimension(friction),
            friction=numbers([slide, slide, torsional, rolling, rolling]),
        )  # fmt: skip
