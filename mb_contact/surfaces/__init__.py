# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Smooth surfaces in contact: exact geometry, contact coordinates, rolling, sliding and free flight (P00 section 6).

>>> surfaces = mb.surfaces
>>> ball = surfaces.SurfaceBody(surfaces.sphere(0.1), 1.0, 0.004 * np.eye(3))
>>> tree = surfaces.SurfaceTree([surfaces.ContactJoint("ball", None, surfaces.plane(), ball, friction=0.3)])
>>> q, travel = tree.first_touch("ball", np.eye(3), (0, 0, 1))
>>> tree.roll("ball", q, (0, 5, 0))
>>> tree.run(1.0, step=1e-3)
"""

from mb_contact.surfaces.bodies import SurfaceBody, SurfaceEvent
from mb_contact.surfaces.contact import SurfaceContact
from mb_contact.surfaces.mass import shell
from mb_contact.surfaces.nets import load_net
from mb_contact.surfaces.parts import ContactJoint, moving_base
from mb_contact.surfaces.scene_build import build_surface_scene
from mb_contact.surfaces.shapes import atlas, bezier, cylinder, ellipsoid, nurbs, plane, sphere, torus
from mb_contact.surfaces.subdivision import load_cage, subdivision
from mb_contact.surfaces.surface import Surface, SurfaceDerivatives, SurfaceForms
from mb_contact.surfaces.tree import SurfaceTree

__all__ = [
    "ContactJoint",
    "Surface",
    "SurfaceBody",
    "SurfaceContact",
    "SurfaceDerivatives",
    "SurfaceEvent",
    "SurfaceForms",
    "SurfaceTree",
    "atlas",
    "bezier",
    "build_surface_scene",
    "cylinder",
    "ellipsoid",
    "load_cage",
    "load_net",
    "moving_base",
    "nurbs",
    "plane",
    "shell",
    "sphere",
    "subdivision",
    "torus",
]
