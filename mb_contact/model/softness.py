# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How each pair of geometries of a world gives way, by the materials of both."""

import math

import numpy as np

from mb_contact.types import (
    FOUNDATION,
    HERTZ,
    NO_SOFTNESS,
    SHAPE_BOX,
    SHAPE_CONVEX,
    SHAPE_HEIGHT_FIELD,
    SHAPE_MESH,
    SHAPE_PLANE,
    SHAPE_SPHERE,
    SPRING,
    make_softness,
)

FLAT = (SHAPE_PLANE, SHAPE_BOX, SHAPE_CONVEX, SHAPE_HEIGHT_FIELD, SHAPE_MESH)  #: shapes with faces, for Hertz' law


def pair_softness(scene, geometries, pairs):
    """Softness of each pair: that of its entry under ``pairs``, else of both materials one behind the other.

    Compliances add up, of the normal and of the tangents, and so do dampers' times in proportion to them.

    Raises
    ------
    SceneError
        Materials that give way in different ways meet, a foundation without a box, Hertz' law without a sphere, or
        restitution of what gives way.
    """
    listed = {frozenset(entry.materials): entry for entry in scene.pairs}
    own = {name: material.softness for name, material in scene.materials.items() if material.softness is not None}
    for name in own:
        message = "gives way, and so gives back what its spring keeps; leave restitution or softness out"
        scene.refuse_if(scene.materials[name].restitution > 0.0, f"materials.{name}.restitution", message)
    for i, entry in enumerate(scene.pairs):
        soft = entry.softness or any(name in own for name in entry.materials)
        message = "is of a pair that gives way, and so gives back what its spring keeps; set 0, or leave softness out"
        own_e = math.prod(scene.materials[name].restitution for name in entry.materials)
        given = own_e if entry.restitution is None else entry.restitution
        scene.refuse_if(bool(soft and given), f"pairs[{i}].restitution", message)
    if not own and all(entry.softness is None for entry in scene.pairs):
        return NO_SOFTNESS
    soft = make_softness(len(pairs))
    for row, pair in enumerate(pairs):
        shapes = [geometries[g] for g in pair]
        names = [shape.material for shape in shapes]
        entry = listed.get(frozenset(names))
        if entry is not None and entry.softness is not None:
            given, place = [entry.softness], f"pairs[{scene.pairs.index(entry)}].softness"
        else:
            given = [own[name] for name in names if name in own]
            place = f"materials.{next((name for name in names if name in own), '')}.softness"
        if given:
            _together(scene, soft, row, pair, shapes, given, place, [name in own for name in names])
    return soft


def _law(softness):
    return SPRING if softness.stiffness else FOUNDATION if softness.foundation else HERTZ


def _together(scene, soft, row, pair, shapes, given, place, owns):
    """Fill in a row: of the given softnesses, one behind the other."""
    law = _law(given[0])
    both = f"'{shapes[0].material}' and '{shapes[1].material}'"
    message = f"{both} give way in different ways; say under pairs how they give way together"
    scene.refuse_if(any(_law(other) != law for other in given), place, message)
    compliance = time = across = 0.0
    for one in given:
        k = one.stiffness or one.foundation or one.modulus / (1.0 - one.poisson**2)
        mindlin = 2.0 * (1.0 - one.poisson) / (2.0 - one.poisson) if law == HERTZ else 0.0
        shear = mindlin if one.shear is None else one.shear
        compliance, time = compliance + 1.0 / k, time + one.damping / k
        across += 1.0 / (shear * k) if shear > 0.0 else 0.0
    soft.law[row], soft.stiffness[row], soft.time[row] = law, 1.0 / compliance, time / compliance
    soft.shear[row] = compliance / across if across > 0.0 else 0.0
    if law == HERTZ:
        soft.stiffness[row] *= 4.0 / 3.0 * math.sqrt(_radius(scene, shapes, place))
    elif law == FOUNDATION:
        boxes = [i for i in range(2) if shapes[i].kind == SHAPE_BOX]
        message = f"a foundation lies under the face of a box, and neither '{shapes[0].link}' nor '{shapes[1].link}' "
        scene.refuse_if(not boxes, place, message + "touches with one; give stiffness in its place")
        host = next((i for i in boxes if owns[i]), boxes[0])
        size = np.asarray(shapes[host].size)
        soft.host[row] = pair[host]
        soft.cells[row] = np.maximum(1, np.round(given[0].cells * size / size.max()))


def _radius(scene, shapes, place):
    """Radius of the sphere that would touch a plane as both shapes touch [m]."""
    spheres = [shape.size[0] for shape in shapes if shape.kind == SHAPE_SPHERE]
    known = all(shape.kind == SHAPE_SPHERE or shape.kind in FLAT for shape in shapes)
    message = (
        f"Hertz' law is known of spheres on spheres and flat faces, not of '{shapes[0].link}' on '{shapes[1].link}'; "
        "give the pair a stiffness or a foundation"
    )
    scene.refuse_if(not spheres or not known, place, message)
    return 1.0 / sum(1.0 / radius for radius in spheres)
