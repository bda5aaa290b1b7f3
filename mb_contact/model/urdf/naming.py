# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Names of links, joints and mesh files in the elements of a URDF, and others in their place."""

from mb_contact.model.resources import find_resource

#: attributes that name links and joints, by element
NAMING = {
    "link": ("name",), "joint": ("name",), "parent": ("link",), "child": ("link",), "mimic": ("joint",),
    "gazebo": ("reference",),
}  # fmt: skip
FILES = ("mesh", "filename")  #: element and attribute that name a file


def with_prefix(root, prefix):
    """{name of a link or joint: the same with a prefix}."""
    return {e.get("name"): prefix + e.get("name", "") for tag in ("link", "joint") for e in root.findall(tag)}


def rename(root, names):
    """Give links and joints other names, {as they are called: as they shall be}, wherever they are named."""
    for element in root.iter():
        for attribute in NAMING.get(element.tag, ()):
            name = element.get(attribute)
            if name is not None:
                element.set(attribute, names.get(name, name))


def name_meshes_by_paths(root, folders, start, placed=str):
    """Name meshes by their paths, from the folder ``start``, or by what ``placed`` makes of a path."""
    element, attribute = FILES
    for mesh in root.iter(element):
        try:
            mesh.set(attribute, placed(find_resource(mesh.get(attribute) or "", folders, start).resolve()))
        except FileNotFoundError:
            pass  # who loads the text is told which file is missing, or leaves meshes out
