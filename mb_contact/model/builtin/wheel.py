# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A wheel, the hub with studs that it goes onto, and lug nuts: the pieces of Figure 1 of J12 and J14, as URDFs.

``python -m mb_contact.model.builtin.wheel urdf`` writes ``wheel.urdf``, ``wheel_hub.urdf`` and ``lug_nuts.urdf`` into a
folder, and the meshes by which rim and tyre look round.
The papers show them and give no numbers; the sizes are those of a small car: tyre 155/65 R 14, bolt circle 5 x 100 mm,
studs M 12, 13 kg.  Every piece is made of boxes and cylinders, so that its holes are holes.  The axle is the z axis of
each piece.
"""

import math
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from mb_contact.model.rotations import rotation_about
from mb_contact.model.shapes.inertia import RigidInertia, solid, weld
from mb_contact.types import SHAPE_BOX, SHAPE_CYLINDER

STUDS = 5
CIRCLE = 0.050  #: radius of the bolt circle [m]
STUD_RADIUS = 0.006
STUD_LENGTH = 0.045  #: beyond the hub's face
PLAY = 0.0005  #: between a stud and each side of its square hole [m]
NUT_HOLE = 0.0063  #: distance from a nut's axis to its six inner faces
NUT_WIDTH = 0.0105  #: and to its six outer faces
NUT_HEIGHT = 0.016
DISC = 0.012  #: thickness of the wheel's disc
SPOKE = (0.022, 0.165)  #: inner and outer radius of the disc
RIM, RIM_WIDTH = (0.165, 0.178), 0.14
TYRE, TYRE_WIDTH = (0.178, 0.279), 0.155
TYRE_CENTRE = -0.006  #: z of the middle of rim and tyre: that of the disc, a wheel without offset
SHOULDER, GROOVE = 0.03, (0.012, 0.006)  #: of the drawn tyre: radius of its edges, half width and depth of its grooves
SIDES = 72  #: of the drawn tyre and rim
SEGMENTS = 20  #: boxes of rim and tyre; every face looks along a multiple of 18 degrees
SPINDLE = (0.04, 0.20)  #: radius and length of the hub's axle behind its plate
STEEL_DENSITY, ALUMINIUM_DENSITY, TYRE_DENSITY = 7800.0, 2700.0, 230.0  #: [kg/m^3], a tyre with its air
STEEL, ALUMINIUM, RUBBER = (0.55, 0.57, 0.60), (0.74, 0.76, 0.78), (0.16, 0.16, 0.17)


def wheel_urdf(play=PLAY, mass_factor=1.0):
    """The wheel: a disc with five square holes, its outer face at z = 0; rim and tyre, rings of boxes, reach behind it.

    ``play`` [m] is that of the holes; ``mass_factor`` multiplies mass and inertia.
    """
    shapes, hole = [], STUD_RADIUS + play
    half_width = CIRCLE * math.tan(math.pi / STUDS)  # neighbouring sectors meet on the bolt circle
    z = -0.5 * DISC
    for k in range(STUDS):
        turn = 2.0 * math.pi * k / STUDS
        for x0, x1, y0, y1 in (
            (SPOKE[0], CIRCLE - hole, -hole, hole), (CIRCLE + hole, SPOKE[1], -0.6 * half_width, 0.6 * half_width),
            (SPOKE[0], CIRCLE + hole, hole, 0.6 * half_width), (SPOKE[0], CIRCLE + hole, -0.6 * half_width, -hole),
        ):  # fmt: skip
            size, centre = (x1 - x0, y1 - y0, DISC), (0.5 * (x0 + x1), 0.5 * (y0 + y1), z)
            shapes.append(_box(size, centre, turn, ALUMINIUM, ALUMINIUM_DENSITY))
    rim = _ring(SEGMENTS, *RIM, RIM_WIDTH, TYRE_CENTRE, ALUMINIUM, ALUMINIUM_DENSITY)
    shapes += [shape._replace(collides=False, drawn=False) for shape in rim]  # nothing reaches it
    tyre = _ring(SEGMENTS, *TYRE, TYRE_WIDTH, TYRE_CENTRE, RUBBER, TYRE_DENSITY)
    shapes += [shape._replace(drawn=False) for shape in tyre]
    nothing = RigidInertia(0.0, np.zeros(3), np.zeros((3, 3)))
    for file, colour in (("wheel_rim.obj", ALUMINIUM), ("wheel_tyre.obj", RUBBER)):
        mesh = f'<mesh filename="package://mb_contact/urdf/{file}"/>'
        shapes.append(_Shape(mesh, 0.0, colour, nothing, collides=False))
    text = "A wheel of boxes: five square holes, rim and tyre"
    return _robot("wheel", text, _link("wheel", shapes, mass_factor))


def tyre_obj():
    """What is drawn of the tyre: round, its edges rounded, with two grooves."""
    (inner, outer), half = TYRE, 0.5 * TYRE_WIDTH
    angles = [k * math.pi / 16.0 for k in range(9)]
    edge = [(outer - SHOULDER * (1.0 - math.sin(a)), half - SHOULDER * (1.0 - math.cos(a))) for a in angles]
    wide, deep = GROOVE
    groove = [(outer, 3.0 * wide), (outer - deep, 3.0 * wide), (outer - deep, wide), (outer, wide)]
    side = [(inner, half), *edge, *groove]
    return _turned("A tyre", "rubber", [*side, *((r, -z) for r, z in reversed(side))])


def rim_obj():
    """What is drawn of the rim."""
    (inner, outer), half = RIM, 0.5 * RIM_WIDTH
    return _turned("A rim", "aluminium", [(inner, half), (outer, half), (outer, -half), (inner, -half)])


def materials_mtl():
    """Their colours, for rviz, which gives meshes the materials of their files, not those of the URDF."""
    lines = _obj_head("Materials")
    for name, colour in (("aluminium", ALUMINIUM), ("rubber", RUBBER)):
        lines += [f"newmtl {name}", f"Kd {_words(colour)}"]
    return "\n".join(lines) + "\n"


def _obj_head(text):
    return [*(line.replace("<!--", "#").replace(" -->", "") for line in _HEAD), f"# {text}. {_BY}"]


def _turned(text, material, profile):
    """OBJ file of a closed profile of radii and heights from TYRE_CENTRE on, clockwise, turned about the z axis."""
    count, points, faces = len(profile), [], []
    for k in range(SIDES):
        x, y = math.cos(2.0 * math.pi * k / SIDES), math.sin(2.0 * math.pi * k / SIDES)
        points += [f"v {r * x:.6f} {r * y:.6f} {z + TYRE_CENTRE:.6f}" for r, z in profile]
        for i in range(count):
            j, after = (i + 1) % count, (k + 1) % SIDES
            a, b, c, d = (1 + side * count + at for side, at in ((k, i), (k, j), (after, j), (after, i)))
            faces.append(f"f {a} {b} {c} {d}")
    head = [*_obj_head(text), "mtllib wheel.mtl", f"usemtl {material}"]
    return "\n".join([*head, *points, *faces]) + "\n"


def hub_urdf():
    """The hub: a plate and a pin that centres the wheel, with five studs along +z from its face at z = 0; its axle."""
    radius, length = SPINDLE
    shapes = [
        _cylinder(0.075, 0.03, (0.0, 0.0, -0.015), STEEL), _cylinder(0.015, 0.02, (0.0, 0.0, 0.01), STEEL),
        _cylinder(radius, length, (0.0, 0.0, -0.03 - 0.5 * length), STEEL),
    ]  # fmt: skip
    for x, y in bolt_circle():
        shapes.append(_cylinder(STUD_RADIUS, STUD_LENGTH, (x, y, 0.5 * STUD_LENGTH), ALUMINIUM))
    return _robot("wheel_hub", "A hub with five studs, without threads", _link("wheel_hub", shapes))


def nuts_urdf():
    """Five lug nuts, rings of six boxes without a thread; each on a floating joint, on its stud before the wheel."""
    nut = _ring(6, NUT_HOLE, NUT_WIDTH, NUT_HEIGHT, 0.0, STEEL, STEEL_DENSITY)
    lines = ['  <link name="lug_nuts"/>']
    for k, (x, y) in enumerate(bolt_circle(), 1):
        place = (x + NUT_HOLE - STUD_RADIUS, y, DISC + 0.0015 + 0.5 * NUT_HEIGHT)  # x is down where the hub stands
        lines += [
            f'  <joint name="nut_{k}_joint" type="floating">', '    <parent link="lug_nuts"/>',
            f'    <child link="nut_{k}"/>', f'    <origin xyz="{_words(place)}"/>', "  </joint>",
            *_link(f"nut_{k}", nut),
        ]  # fmt: skip
    return _robot("lug_nuts", "Five lug nuts: rings of six boxes, without threads, that slide on their studs", lines)


def bolt_circle():
    """Places (x, y) of the five studs [m]; the first lies on the x axis."""
    return [(CIRCLE * math.cos(2.0 * math.pi * k / STUDS), CIRCLE * math.sin(2.0 * math.pi * k / STUDS))
            for k in range(STUDS)]  # fmt: skip


class _Shape(NamedTuple):
    """A part of a link: the URDF words of its geometry, its turn about z, colour, inertia; if it collides, is drawn."""

    geometry: str
    turn: float
    colour: tuple[float, float, float]
    inertia: RigidInertia
    collides: bool = True
    drawn: bool = True


def _ring(count, inner, outer, height, z, colour, density):
    """Boxes whose inner faces have the distance ``inner`` from the z axis; neighbours overlap at the outer corners."""
    size = (outer - inner, 2.0 * outer * math.tan(math.pi / count), height)
    centre = (0.5 * (inner + outer), 0.0, z)
    return [_box(size, centre, 2.0 * math.pi * k / count, colour, density) for k in range(count)]


def _box(size, centre, turn, colour, density):
    """A box that is turned about the z axis."""
    mass = density * size[0] * size[1] * size[2]
    inertia = RigidInertia(mass, np.array(centre), solid(SHAPE_BOX, 0.5 * np.array(size), mass))
    inertia = inertia.transformed(rotation_about((0.0, 0.0, 1.0), turn), np.zeros(3))
    return _Shape(f'<box size="{_words(size)}"/>', turn, colour, inertia)


def _cylinder(radius, length, centre, colour):
    mass = STEEL_DENSITY * math.pi * radius**2 * length
    inertia = RigidInertia(mass, np.array(centre), solid(SHAPE_CYLINDER, (radius, 0.5 * length), mass))
    return _Shape(f'<cylinder radius="{radius:g}" length="{length:g}"/>', 0.0, colour, inertia)


def _link(name, shapes, factor=1.0):
    """Lines of a link; mass and inertia are ``factor`` times the sums over its shapes."""
    mass, com, inertia = weld([shape.inertia for shape in shapes])
    mass, inertia = factor * mass, factor * inertia
    moments = " ".join(
        f'i{"xyz"[i]}{"xyz"[j]}="{_word(inertia[i, j])}"' for i, j in ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
    )
    lines = [f'  <link name="{name}">', "    <inertial>", f'      <origin xyz="{_words(com)}"/>',
             f'      <mass value="{mass:.9g}"/>', f"      <inertia {moments}/>", "    </inertial>"]  # fmt: skip
    for shape in shapes:
        place = f'<origin xyz="{_words(shape.inertia.com)}" rpy="0 0 {shape.turn:.9g}"/><geometry>{shape.geometry}'
        paint = f'<material name=""><color rgba="{_words(shape.colour)} 1"/></material>'
        if shape.drawn:
            lines.append(f"    <visual>{place}</geometry>{paint}</visual>")
        if shape.collides:
            lines.append(f"    <collision>{place}</geometry></collision>")
    return [*lines, "  </link>"]


_HEAD = ("<!-- Copyright 2026 The mb_contact authors -->", "<!-- SPDX-License-Identifier: Apache-2.0 -->")
_BY = "Written by: python -m mb_contact.model.builtin.wheel urdf"


def _robot(name, text, lines):
    head = ['<?xml version="1.0" ?>', *_HEAD, f"<!-- {text}. {_BY} -->", f'<robot name="{name}">']
    return "\n".join([*head, *lines, "</robot>"]) + "\n"


def _words(numbers):
    return " ".join(map(_word, numbers))


def _word(x):
    """Nine digits; rounding errors of sums as zero."""
    return "0" if abs(x) < 1e-15 else f"{x:.9g}"


FILES = {
    "wheel_tyre.obj": tyre_obj, "wheel_rim.obj": rim_obj, "wheel.mtl": materials_mtl, "wheel.urdf": wheel_urdf,
    "wheel_hub.urdf": hub_urdf, "lug_nuts.urdf": nuts_urdf,
}  # fmt: skip

if __name__ == "__main__":
    for file, write in FILES.items():
        (Path(sys.argv[1]) / file).write_text(write(), encoding="utf-8")
