# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Shapes, colours and surfaces of an SDF link as elements of a URDF, and what a URDF has no word for."""

import os
from xml.etree import ElementTree

import numpy as np

from mb_contact.model.mjcf.elements import number, numbers, origin
from mb_contact.model.urdf.xml_reader import WRITTEN

#: Lengths of shapes, and the attribute of a URDF that has them; radii of an ellipsoid are half its size there.
SHAPES = {"box": ("size",), "sphere": ("radius",), "cylinder": ("radius", "length"), "capsule": ("radius", "length"),
          "cone": ("radius", "length"), "ellipsoid": ("radii",)}  # fmt: skip
STILL_SHAPES = ("plane", "heightmap")  #: a primitive of the scene is what a URDF has none of
FRICTION = 1.0  #: where a file gives none, as in Gazebo
EVERYTHING = ("0xffff", "65535", "0xffffffff")  #: values of collide_bitmask that leave nothing out
#: Colours of the scripts that files of Gazebo use most.
SCRIPTS = {
    "Gazebo/Red": (0.9, 0.1, 0.1), "Gazebo/Green": (0.1, 0.7, 0.1), "Gazebo/Blue": (0.1, 0.1, 0.9),
    "Gazebo/Yellow": (0.9, 0.9, 0.1), "Gazebo/Orange": (0.95, 0.5, 0.1), "Gazebo/Purple": (0.6, 0.2, 0.7),
    "Gazebo/Turquoise": (0.1, 0.8, 0.8), "Gazebo/White": (1.0, 1.0, 1.0), "Gazebo/Black": (0.1, 0.1, 0.1),
    "Gazebo/Grey": (0.7, 0.7, 0.7), "Gazebo/DarkGrey": (0.3, 0.3, 0.3), "Gazebo/Wood": (0.65, 0.45, 0.25),
}  # fmt: skip


def shape_of(reader, element):
    """The element of the one shape in the ``<geometry>`` of a collision or visual."""
    geometry = element.find("geometry")
    shapes = [] if geometry is None else [child for child in geometry if isinstance(child.tag, str)]
    reader.refuse_if(len(shapes) != 1, element, f"<{element.tag}> needs one shape in its <geometry>")
    return shapes[0]


def add_geometry(reader, shape, parent):
    """``<geometry>`` of a URDF in an element; False where a URDF has no such shape."""
    if shape.tag == "mesh":
        reader.take(shape, "uri", "scale")
        given = {"filename": address(reader, reader.text(shape, "uri"))}
        if shape.find("scale") is not None:
            given["scale"] = numbers(reader.numbers(shape, "scale", 3))
        ElementTree.SubElement(ElementTree.SubElement(parent, "geometry"), "mesh", given)
        return True
    if shape.tag not in SHAPES:
        return False
    reader.take(shape, *SHAPES[shape.tag])
    lengths = {tag: reader.numbers(shape, tag, 3 if tag in ("size", "radii") else 1) for tag in SHAPES[shape.tag]}
    if "radii" in lengths:
        lengths = {"size": 2.0 * lengths["radii"]}
    attributes = {tag: numbers(value) for tag, value in lengths.items()}
    ElementTree.SubElement(ElementTree.SubElement(parent, "geometry"), shape.tag, attributes)
    return True


def address(reader, uri):
    """A mesh's path, so that it is found from any folder; as the file has it where there is no such file."""
    try:
        return os.fspath(reader.find(uri).resolve())
    except FileNotFoundError:
        # who loads the text is told which file is missing, or leaves meshes out
        return uri if "://" in uri else os.path.abspath(reader.path.parent / uri)


def add_collision(reader, element, pose, link):
    """``<collision>`` in a link of a URDF."""
    found = ElementTree.SubElement(link, "collision", {"name": reader.name(element), WRITTEN: reader.place(element)})
    origin(found, *pose)
    shape = shape_of(reader, element)
    reader.refuse_if(
        not add_geometry(reader, shape, found), shape,
        f"<{shape.tag}> is no shape of a link here; those are {', '.join((*SHAPES, 'mesh'))}"
        + (", and it is one of a model that is static" if shape.tag in STILL_SHAPES else ""),
    )
    mu, _ = surface_of(reader, element)
    ElementTree.SubElement(ElementTree.SubElement(found, "proximity_properties"), "mu_dynamic", value=number(mu))


def surface_of(reader, element):
    """(coefficient of friction, of restitution) of a collision; keeps what else its surface has for the warnings."""
    reader.take(element, "pose", "geometry", "surface", "max_contacts", "laser_retro")
    surface = element.find("surface")
    if surface is None:
        return FRICTION, 0.0
    reader.take(surface, "friction", "bounce", "contact")
    friction, bounce, contact = (surface.find(tag) for tag in ("friction", "bounce", "contact"))
    mu, restitution = FRICTION, 0.0
    if friction is not None:
        reader.take(friction, "ode")
        ode = friction.find("ode")
        if ode is not None:
            mu = reader.number(ode, "mu", FRICTION)
            reader.refuse_if(mu < 0.0, ode, f"<mu> must be at least 0, got {mu:g}")
            reader.take(ode, "mu", *(["mu2"] if reader.number(ode, "mu2", mu) == mu else []))
    if bounce is not None:
        reader.take(bounce, "restitution_coefficient", "threshold")
        restitution = reader.number(bounce, "restitution_coefficient", 0.0)
        wrong = not 0.0 <= restitution <= 1.0
        reader.refuse_if(wrong, bounce, f"<restitution_coefficient> must be between 0 and 1, got {restitution:g}")
    if contact is not None:
        full = reader.text(contact, "collide_bitmask", EVERYTHING[0]).lower() in EVERYTHING
        reader.take(contact, *(["collide_bitmask"] if full else []))
    return mu, restitution


def add_visual(reader, element, pose, link):
    """``<visual>`` in a link of a URDF, but of shapes that are drawn as what they are in the scene."""
    reader.take(element, "pose", "geometry", "material", "transparency", "cast_shadows", "laser_retro",
                "visibility_flags")  # fmt: skip
    shape = shape_of(reader, element)
    if shape.tag in STILL_SHAPES:
        beside = element.getparent().findall("collision")
        if not any(shape_of(reader, collision).tag == shape.tag for collision in beside):
            reader.leave(shape)  # none stands in the scene in its place
        return
    found = ElementTree.SubElement(link, "visual", {WRITTEN: reader.place(element)})
    origin(found, *pose)
    if not add_geometry(reader, shape, found):
        link.remove(found)
        reader.leave(shape)
        return
    colour = colour_of(reader, element)
    if colour is not None and shape.tag == "mesh" and not reader.text(shape, "uri").lower().endswith(".stl"):
        reader.leave(shape if element.find("material") is None else element.find("material"))
    if colour is not None:
        ElementTree.SubElement(ElementTree.SubElement(found, "material", name=""), "color", rgba=numbers(colour))


def colour_of(reader, visual):
    """Red, green, blue and opacity of a visual, or None."""
    material, colour = visual.find("material"), None
    opacity = 1.0 - reader.number(visual, "transparency", 0.0)
    if material is not None:
        reader.take(material, "ambient", "diffuse", "specular", "emissive", "shininess", "lighting", "double_sided",
                    "render_order", "script")  # fmt: skip
        tag = next((tag for tag in ("diffuse", "ambient") if material.find(tag) is not None), None)
        script = material.find("script")
        if tag is not None:
            text = reader.text(material, tag)
            colour = reader.as_numbers(material.find(tag), text, 3 + (len(text.split()) > 3))
        elif script is not None:
            colour = SCRIPTS.get(reader.text(script, "name", ""))
            if colour is None:
                reader.leave(script)
    if colour is None:
        return None if opacity == 1.0 else (0.8, 0.8, 0.8, opacity)
    return np.append(colour[:3], opacity * (colour[3] if len(colour) > 3 else 1.0))
