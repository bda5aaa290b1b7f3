# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""SRDF: which links of a robot are never tested against each other.

Only the three collision elements are read; groups, states and end effectors are MoveIt's.
"""

from typing import NamedTuple

from mb_contact.errors import ModelError
from mb_contact.model.urdf.xml_reader import ElementReader


class CollisionRules(NamedTuple):
    """Pairs of links of one robot, from its SRDF.

    ``disabled`` are never tested.  ``off`` are the pairs of a link whose collisions are off by default;
    ``enabled`` brings such a pair, or two neighbours of the tree, back.
    """

    disabled: frozenset = frozenset()
    off: frozenset = frozenset()
    enabled: frozenset = frozenset()
    warnings: tuple[str, ...] = ()


def load_srdf(path, model):
    """Read the collision rules of an SRDF file.

    ``<disable_collisions link1 link2>`` switches a pair off, ``<disable_default_collisions link>`` all pairs of a
    link with other links of this robot, and ``<enable_collisions link1 link2>`` a pair on again.  Where a pair is
    both enabled and disabled, it is disabled, with a warning; a link that the robot has not is a warning too.

    Parameters
    ----------
    path : Path
    model : Model
        The robot that the file belongs to.

    Returns
    -------
    CollisionRules

    Raises
    ------
    ModelError
        The file cannot be read, is not XML or not an SRDF, or an element lacks a link; names file and line.
    """
    try:
        text = path.read_bytes()
    except OSError as error:
        raise ModelError(f"{path}: cannot be read: {error.strerror}") from None
    reader = _SrdfReader(str(path), model)
    root = reader.root(text)
    if root.tag != "robot":
        raise reader.error(root, f"the root element is <{root.tag}>, expected <robot>; is this an SRDF file?")
    if root.get("name") not in (None, model.name):
        reader.warn(root, f"this SRDF is of robot '{root.get('name')}', the URDF of '{model.name}'")
    disabled, enabled = reader.pairs(root, "disable_collisions"), reader.pairs(root, "enable_collisions")
    for pair in sorted(map(sorted, disabled.keys() & enabled.keys())):
        element = enabled[frozenset(pair)]
        reader.warn(element, f"'{pair[0]}' and '{pair[1]}' are both enabled and disabled; they are disabled")
    off = reader.off(root)
    return CollisionRules(frozenset(disabled), off, frozenset(enabled), tuple(reader.warnings))


class _SrdfReader(ElementReader):
    def __init__(self, source, model):
        super().__init__(source)
        self.model = model

    def pairs(self, root, tag):
        """Pairs of known links of all elements of one name, each with its element."""
        found = {}
        for element in root.findall(tag):
            links = [self.link(element, key) for key in ("link1", "link2")]
            if None in links:
                continue
            if links[0] == links[1]:
                self.warn(element, f"<{tag}> names '{links[0]}' twice; passed over")
                continue
            found[frozenset(links)] = element
        return found

    def off(self, root):
        """Pairs of the links whose collisions are off by default."""
        links = {self.link(element, "link") for element in root.findall("disable_default_collisions")} - {None}
        return frozenset(frozenset((a, b)) for a in links for b in self.model.link_names if a != b)

    def link(self, element, key):
        """The link that an attribute names; None, with a warning, if the robot has no such link."""
        name = element.get(key)
        self.refuse_if(not name, element, f"<{element.tag}> has no attribute '{key}'; add it")
        if name not in self.model.frames:
            self.warn(element, f"<{element.tag}> names '{name}', which is no link of '{self.model.name}'; passed over")
            return None
        return name
