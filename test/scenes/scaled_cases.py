# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of primitives, and copies of them with other units of length, mass and time."""

from dataclasses import replace

import numpy as np

import mb_contact as mb
from mb_contact.model import Ground, Material, Pose, Primitive, Velocity


def body(name, shape, size, place, mass, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0), material=None):
    """A free primitive."""
    return Primitive(
        name, shape, size, Pose(place), "free", mass, material=material, velocity=Velocity(angular, linear)
    )


def tumbling():
    """A box that falls on an edge, slides and comes to rest."""
    box = body("box", "box", (0.2, 0.15, 0.1), (0.0, 0.0, 0.3), 1.0, (1.0, 0.3, 0.0), (3.0, 2.0, 1.0))
    return mb.Scene(primitives=(box,), ground=Ground())


def stack(masses, size=(0.2, 0.2, 0.1)):
    """Boxes on each other, the first one at the bottom."""
    boxes = [body(f"b{i}", "box", size, (0.0, 0.0, size[2] * (i + 0.5)), mass) for i, mass in enumerate(masses)]
    return mb.Scene(primitives=tuple(boxes), ground=Ground())


def dropped():
    """Shapes of all kinds that fall beside each other and on a cylinder."""
    shapes = (
        ("sphere", (0.06,)), ("cylinder", (0.06, 0.1)), ("box", (0.1, 0.08, 0.1)), ("capsule", (0.05, 0.1)),
        ("cone", (0.06, 0.1)), ("ellipsoid", (0.12, 0.14, 0.16)),
    )  # fmt: skip
    bodies = [
        body(shape, shape, size, (0.25 * (i % 3), 0.25 * (i // 3), 0.15), 0.3 + 0.2 * i, angular=(1.0, -2.0, 0.5))
        for i, (shape, size) in enumerate(shapes)
    ]
    bodies.append(body("rider", "box", (0.08, 0.08, 0.05), (0.25, 0.01, 0.3), 0.5))
    return mb.Scene(primitives=tuple(bodies), ground=Ground())


def bouncing():
    """A ball and a box on rubber."""
    ball = body("ball", "sphere", (0.1,), (0.0, 0.0, 0.3), 1.0, (0.5, 0.0, 0.0), material="rubber")
    box = body("box", "box", (0.1, 0.08, 0.06), (0.5, 0.0, 0.2), 0.5, angular=(1.0, 2.0, 0.0), material="rubber")
    materials = {"rubber": Material(restitution=0.5, friction=0.3)}
    return mb.Scene(primitives=(ball, box), ground=Ground(material="rubber"), materials=materials)


def scaled(scene, lengths, masses, times):
    """A copy of a scene of primitives whose lengths, masses and times are so many times as large."""
    speed = lengths / times
    bodies = tuple(
        replace(
            part,
            size=tuple(lengths * x for x in part.size),
            pose=replace(part.pose, position=tuple(lengths * x for x in part.pose.position)),
            mass=masses * part.mass,
            velocity=Velocity(
                tuple(x / times for x in part.velocity.angular), tuple(speed * x for x in part.velocity.linear)
            ),
        )
        for part in scene.primitives
    )  # fmt: skip
    gravity = tuple(speed / times * x for x in scene.gravity)
    return replace(scene, primitives=bodies, gravity=gravity, time_step=times * scene.time_step)


def in_units(sim, lengths, times):
    """q and v of free bodies in the units of the scene that ``scaled`` has copied."""
    n = len(sim.world.body_names)
    return np.r_[sim.q / np.tile([lengths] * 3 + [1.0] * 4, n), sim.v * np.tile([times] * 3 + [times / lengths] * 3, n)]
