# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A wheel, the hub with studs that it goes onto, and lug nuts: the pieces of Figure 1 of J12 and J14, as URDFs.

``python -m mb_contact.model.wheel urdf`` writes ``wheel.urdf``, ``wheel_hub.urdf`` and ``lug_nuts.urdf`` into a folder.
The papers show them and give no numbers; the sizes are those of a small car, the bolt circle 5 x 100 mm.  Every piece
is made of boxes and cylinders, so that its holes are holes.  The axle is the z axis of each piece.
"""

import math
import sys
from pathlib import Path

import numpy as np

from mb_contact.model.inertia import RigidInertia, solid, weld
from mb_contact.model.rotations import rotation_about
from mb_contact.types import SHAPE_BOX, SHAPE_CYLINDER

STUDS = 5
CIRCLE = 0.050  #: radius of the bolt circle [m]
STUD_RADIUS = 0.006
STUD_LENGTH = 0.045  #: beyond the hub's face
HOLE = 0.0065  #: half width of the wheel's square holes
NUT_HOLE = 0.0063  #: distance from a nut's axis to its six inner faces
NUT_WIDTH = 0.0105  #: and to its six outer faces
NUT_HEIGHT = 0.016
DISC = 0.012  #: thickness of the wheel's disc
SPOKE = (0.022, 0.150)  #: inner and outer radius of the disc
RIM = (0.150, 0.175)  #: of the rim
RIM_WIDTH = 0.12
SEGMENTS = 20  #: boxes of the rim
STEEL, ALUMINIUM, RUBBER = (0.55, 0.57, 0.60), (0.74, 0.76, 0.78), (0.16, 0.16, 0.17)


def wheel_urdf():
    """The wheel: a disc with five square holes, its outer face at z = 0, and a rim of boxes behind it."""
    shapes, density = [], 1500.0
    half_width = CIRCLE * math.tan(math.pi / STUDS)  # neighbouring sectors meet on the bolt circle
    z = -0.5 * DISC
    for k in range(STUDS):
        turn = 2.0 * math.pi * k / STUDS
        for x0, x1, y0, y1 in (
            (SPOKE[0], CIRCLE - HOLE, -HOLE, HOLE), (CIRCLE + HOLE, SPOKE[1], -0.6 * half_width, 0.6 * half_width),
            (SPOKE[0], CIRCLE + HOLE, HOLE, 0.6 * half_width), (SPOKE[0], CIRCLE + HOLE, -0.6 * half_width, -HOLE),
        ):  # fmt: skip
            shapes.append(_box((x1 - x0, y1 - y0, DISC), (0.5 * (x0 + x1), 0.5 * (y0 + y1), z), turn, ALUMINIUM))
    shapes += _ring(SEGMENTS, *RIM, RIM_WIDTH, 0.5 * RIM_WIDTH - 0.09, RUBBER)
    return _robot("wheel", "A wheel of boxes: five square holes, and a rim", _link("wheel", shapes, density))


def hub_urdf():
    """The hub: a plate and a pin that centres the wheel, with five studs along +z from its face at z = 0."""
    shapes = [_cylinder(0.075, 0.03, (0.0, 0.0, -0.015), STEEL), _cylinder(0.015, 0.02, (0.0, 0.0, 0.01), STEEL)]
    for x, y in bolt_circle():
        shapes.append(_cylinder(STUD_RADIUS, STUD_LENGTH, (x, y, 0.5 * STUD_LENGTH), ALUMINIUM))
    return _robot("wheel_hub", "A hub with five studs, without threads", _link("wheel_hub", shapes, 7800.0))


def nuts_urdf():
    """Five lug nuts, rings of six boxes without a thread; each on a floating joint, on its stud before the wheel."""
    nut = _ring(6, NUT_HOLE, NUT_WIDTH, NUT_HEIGHT, 0.0, STEEL)
    lines = ['  <link name="lug_nuts"/>']
    for k, (x, y) in enumerate(bolt_circle(), 1):
        place = (x + NUT_HOLE - STUD_RADIUS, y, DISC + 0.0015 + 0.5 * NUT_HEIGHT)  # x is down where the hub stands
        lines += [
            f'  <joint name="nut_{k}_joint" type="floating">', '    <parent link="lug_nuts"/>',
            f'    <child link="nut_{k}"/>', f'    <origin xyz="{_words(place)}"/>', "  </joint>",
            *_link(f"nut_{k}", nut, 7800.0),
        ]  # fmt: skip
    return _robot("lug_nuts", "Five lug nuts: rings of six boxes, without threads, that slide on their studs", lines)


def bolt_circle():
    """Places (x, y) of the five studs [m]; the first lies on the x axis."""
    return [(CIRCLE * math.cos(2.0 * math.pi * k / STUDS), CIRCLE * math.sin(2.0 * math.pi * k / STUDS))
            for k in range(STUDS)]  # fmt: skip


def _ring(count, inner, outer, height, z, colour):
    """Boxes whose inner faces have the distance ``inner`` from the z axis; neighbours overlap at the outer corners."""
    width = 2.0 * outer * math.tan(math.pi / count)
    radius = 0.5 * (inner + outer)
    return [
        _box((outer - inner, width, height), (radius, 0.0, z), 2.0 * math.pi * k / count, colour) for k in range(count)
    ]


def _box(size, centre, turn, colour):
    """(geometry, turn about z, colour, RigidInertia of density one) of a box that is turned about the z axis."""
    volume = size[0] * size[1] * size[2]
    own = RigidInertia(volume, np.array(centre), solid(SHAPE_BOX, 0.5 * np.array(size), volume))
    own = own.transformed(rotation_about((0.0, 0.0, 1.0), turn), np.zeros(3))
    return f'<box size="{_words(size)}"/>', turn, colour, own


def _cylinder(radius, length, centre, colour):
    volume = math.pi * radius**2 * length
    own = RigidInertia(volume, np.array(centre), solid(SHAPE_CYLINDER, (radius, 0.5 * length), volume))
    return f'<cylinder radius="{radius:g}" length="{length:g}"/>', 0.0, colour, own


def _link(name, shapes, density):
    """Lines of a link; mass and inertia are the sums over its shapes."""
    mass, com, inertia = weld([
        RigidInertia(density * own.mass, own.com, density * own.inertia) for _, _, _, own in shapes
    ])
    moments = " ".join(
        f'i{"xyz"[i]}{"xyz"[j]}="{_word(inertia[i, j])}"' for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )
    lines = [f'  <link name="{name}">', "    <inertial>", f'      <origin xyz="{_words(com)}"/>',
             f'      <mass value="{mass:.9g}"/>', f"      <inertia {moments}/>", "    </inertial>"]  # fmt: skip
    for geometry, turn, colour, own in shapes:
        place = f'<origin xyz="{_words(own.com)}" rpy="0 0 {turn:.9g}"/><geometry>{geometry}</geometry>'
        paint = f'<material name=""><color rgba="{_words(colour)} 1"/></material>'
        lines += [f"    <visual>{place}{paint}</visual>", f"    <collision>{place}</collision>"]
    return [*lines, "  </link>"]


def _robot(name, text, lines):
    head = ['<?xml version="1.0" ?>', "<!-- Copyright 2026 The mb_contact authors -->",
            "<!-- SPDX-License-Identifier: Apache-2.0 -->",
            f"<!-- {text}. Written by: python -m mb_contact.model.wheel urdf -->",
            f'<robot name="{name}">']  # fmt: skip
    return "\n".join([*head, *lines, "</robot>"]) + "\n"


def _words(numbers):
    return " ".join(map(_word, numbers))


def _word(x):
    """Nine digits; rounding errors of sums as zero."""
    return "0" if abs(x) < 1e-15 else f"{x:.9g}"


FILES = {"wheel.urdf": wheel_urdf, "wheel_hub.urdf": hub_urdf, "lug_nuts.urdf": nuts_urdf}

if __name__ == "__main__":
    for file, write in FILES.items():
        (Path(sys.argv[1]) / file).write_text(write(), encoding="utf-8")
