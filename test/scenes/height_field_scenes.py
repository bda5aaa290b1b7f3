# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes with one height field."""

from __future__ import annotations

from dataclasses import replace

from mb_contact.model.scene import Heights, Material, Pose, Primitive, Scene, Velocity

FLAT = Heights(generator="flat", resolution=0.1)
FIELD = Primitive("ground", "height_field", (3.0, 2.0), heights=FLAT, material="stone")
STONE = {"stone": Material(0.4)}


def scene(*bodies, heights=FLAT, size=(3.0, 2.0), **more):
    terrain = replace(FIELD, heights=heights, size=size)
    return Scene(primitives=(terrain, *bodies), materials=STONE, **more)


def body(shape, size, at, velocity=(0.0, 0.0, 0.0), rpy=None, mass=1.0):
    return Primitive("body", shape, size, Pose(at, rpy=rpy), "free", mass, None, "stone", Velocity(linear=velocity))
