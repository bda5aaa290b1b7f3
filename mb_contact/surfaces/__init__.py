# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Smooth surfaces in contact: exact geometry, contact coordinates, rolling, sliding and free flight (P00 section 6).

>>> surfaces = mb.surfaces
>>> ball = surfaces.SurfaceBody(surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
>>> motion = surfaces.SurfaceMotion(ball, surfaces.SurfaceBase(surfaces.plane()), friction=0.3)
>>> q, travel = motion.contact.first_touch(np.eye(3), (0, 0, 1), (0, 0, -1))
>>> motion.roll(q, (0, 5, 0))
>>> motion.run(1.0, step=1e-3)
"""

from mb_contact.surfaces.bodies import ContactForce, SurfaceBase, SurfaceBody, SurfaceEvent
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.mass import shell
from mb_contact.surfaces.motion import SurfaceMotion
from mb_contact.surfaces.nets import load_net
from mb_contact.surfaces.scene_build import build_surface_scene
from mb_contact.surfaces.shapes import atlas, bezier, cylinder, ellipsoid, nurbs, plane, sphere, torus
from mb_contact.surfaces.surface import Surface, SurfaceDerivatives, SurfaceForms
from mb_contact.surfaces.tree import ContactJoint, SurfaceTree

__all__ = [
    "ContactForce",
    "ContactJoint",
    "Surface",
    "SurfaceBase",
    "SurfaceBody",
    "SurfaceContact",
    "SurfaceDerivatives",
    "SurfaceEvent",
    "SurfaceForms",
    "SurfaceMotion",
    "SurfaceTree",
    "atlas",
    "bezier",
    "build_surface_scene",
    "cylinder",
    "ellipsoid",
    "load_net",
    "nurbs",
    "plane",
    "shell",
    "sphere",
    "torus",
]
