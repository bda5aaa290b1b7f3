# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Collision shapes of a world as geoms and assets of MJCF."""

from xml.etree import ElementTree

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.mjcf.compiled import Names
from mb_contact.model.mjcf.elements import numbers
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.world import World
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_HEIGHT_FIELD,
    SHAPE_MESH,
    SHAPE_NAMES,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

Element = ElementTree.Element

#: numbers of a shape's size
SIZES = {SHAPE_SPHERE: 1, SHAPE_CAPSULE: 2, SHAPE_CYLINDER: 2, SHAPE_BOX: 3, SHAPE_ELLIPSOID: 3}
CORNERS = 64  #: of the base of a cone, which MuJoCo gets as a mesh


class ShapeWriter:
    """Writes geoms; friction of a shape is the largest of its pairs', since MuJoCo takes the larger of two."""

    def __init__(self, world: World, asset: Element, left_out: list[str]) -> None:
        self.world, self.asset, self.left_out = world, asset, left_out
        names = Names()
        self.names = [names.unique(name) for name in world.geometry_names]
        self.friction = largest_friction(world)
        self._paired = set(world.geoms.pairs.ravel().tolist())

    def write(self, body: Element, k: int) -> None:
        """Add the geoms of body k to its element."""
        geoms = self.world.geoms
        for g in np.flatnonzero(geoms.body == k).tolist():
            kind, p = int(geoms.kind[g]), geoms.p[g]
            geom = ElementTree.SubElement(body, "geom", name=self.names[g])
            if kind in (SHAPE_CONVEX, SHAPE_MESH, SHAPE_CONE):
                points = self._vertices(g) if kind != SHAPE_CONE else cone(*geoms.size[g, :2])
                ElementTree.SubElement(self.asset, "mesh", name=self.names[g], vertex=numbers(points))
                geom.set("type", "mesh")
                geom.set("mesh", self.names[g])
                if kind == SHAPE_CONE:
                    self.left_out.append(f"cone '{self.names[g]}': a mesh of {CORNERS} corners")
                if kind == SHAPE_MESH:
                    self.left_out.append(f"mesh '{self.names[g]}': its hull, which is what MuJoCo makes of a mesh")
            elif kind == SHAPE_HEIGHT_FIELD:
                p = p + geoms.R[g] @ self._height_field(geom, g)
            elif kind == SHAPE_PLANE:
                geom.set("type", "plane")
                geom.set("size", "0 0 1")
            else:
                geom.set("type", SHAPE_NAMES[kind])
                geom.set("size", numbers(geoms.size[g, : SIZES[kind]]))
            geom.set("pos", numbers(p))
            geom.set("quat", numbers(np.roll(matrix_to_quat(geoms.R[g]), 1)))
            geom.set("mass", "0")
            friction = self.friction[g].tolist()
            geom.set("condim", dimension(friction))
            geom.set("friction", numbers(friction))
            if g not in self._paired:
                geom.set("contype", "0")
                geom.set("conaffinity", "0")

    def _vertices(self, g: int) -> Floats:
        geoms = self.world.geoms
        return geoms.vertices[geoms.first_vertex[g] : geoms.first_vertex[g + 1]]

    def _height_field(self, geom: Element, g: int) -> Floats:
        """The asset of a height field; where its zero height lies in our geometry's frame."""
        (nx, ny), heights = self.world.geoms.grid[g], self._vertices(g)[:, 2]
        half = self.world.geoms.size[g]
        low, high = float(heights.min()), float(heights.max())
        top = high - low if high > low else 1e-3
        elevation = ((heights - low) / top).reshape(ny, nx)[::-1]  # MJCF begins at the largest y
        ElementTree.SubElement(
            self.asset, "hfield", name=self.names[g], ncol=str(nx), nrow=str(ny),
            size=numbers([half[0], half[1], top, low + half[2]]), elevation=numbers(elevation),
        )  # fmt: skip
        geom.set("type", "hfield")
        geom.set("hfield", self.names[g])
        return np.array([0.0, 0.0, low])


def friction_of_pairs(world: World) -> Floats:
    """Sliding [-], torsional and rolling [m] friction of all pairs, (m, 3)."""
    assert world.surfaces is not None
    return np.column_stack([world.geoms.mu, world.surfaces.torsional, world.surfaces.rolling])


def largest_friction(world: World) -> Floats:
    """The largest coefficients of the pairs of each geometry, (g, 3); zero where it has none."""
    largest = np.zeros((len(world.geoms.body), 3))
    for side in world.geoms.pairs.T:
        np.maximum.at(largest, side, friction_of_pairs(world))
    return largest


def dimension(friction: list[float]) -> str:
    """MuJoCo's dimension of a contact with these coefficients: sliding, torsional, rolling."""
    slide, torsional, rolling = (value > 0.0 for value in friction)
    return str(6 if rolling else 4 if torsional else 3 if slide else 1)


def cone(radius: float, half: float) -> Floats:
    """Points (CORNERS + 1, 3) of a cone with its tip at +z [m]."""
    angle = np.linspace(0.0, 2.0 * np.pi, CORNERS, endpoint=False)
    base = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), np.full(CORNERS, -half)])
    return np.vstack([base, [[0.0, 0.0, half]]])
