# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Springs in series with joints: behind a joint a link without mass, and a joint of the same axis."""

from collections.abc import Collection
from xml.etree import ElementTree

from mb_contact.errors import ModelError


def spring_joint(name: str) -> str:
    """Name of the joint behind the joint ``name`` that is its spring.

    Examples
    --------
    >>> spring_joint("elbow")
    'elbow_spring'
    """
    return f"{name}_spring"


def with_series_springs(text: bytes, names: Collection[str]) -> bytes:
    """URDF text in which a spring's joint stands behind each of some joints.

    Parameters
    ----------
    text : bytes
    names : collection of str
        Joints of one degree of freedom.

    Returns
    -------
    bytes

    Raises
    ------
    ModelError
        No XML, no such joint, or one that has no axis.
    """
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise ModelError(f"the URDF is no XML: {error}") from None
    joints = {joint.get("name"): joint for joint in root.findall("joint")}
    for name in names:
        joint = joints.get(name)
        child = None if joint is None else joint.find("child")
        if joint is None or child is None or joint.get("type") not in ("revolute", "continuous", "prismatic"):
            raise ModelError(f"no joint '{name}' of one degree of freedom that a spring could stand behind")
        rotor = f"{name}_rotor"
        kind = "prismatic" if joint.get("type") == "prismatic" else "continuous"
        ElementTree.SubElement(root, "link", name=rotor)
        spring = ElementTree.SubElement(root, "joint", name=spring_joint(name), type=kind)
        ElementTree.SubElement(spring, "parent", link=rotor)
        ElementTree.SubElement(spring, "child", link=child.get("link") or "")
        axis = joint.find("axis")
        if axis is not None:
            spring.append(axis)
        if kind == "prismatic":
            ElementTree.SubElement(spring, "limit", lower="-1e9", upper="1e9", effort="0", velocity="0")
        child.set("link", rotor)
    return ElementTree.tostring(root)
