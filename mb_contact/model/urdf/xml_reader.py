# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Attributes of XML elements as names, numbers, vectors and poses, each error with file and line."""

import numpy as np
from lxml import etree

from mb_contact.checks import LARGEST, as_number
from mb_contact.errors import ModelError
from mb_contact.model.rotations import quat_to_matrix, rpy_to_matrix

TURN = 2.0 * np.pi + 1e-3  #: an angle beyond may be meant in degrees [rad]
WARNING = "warning"  #: element of a <robot> that says what it has not of the file that it was made from
WRITTEN = "written"  #: attribute of elements that were made from another file: that file and the line


def doubts_of(robot):
    """What a ``<robot>`` says that it has not of the file that it was made from."""
    return [element.text or "" for element in robot.findall(WARNING)]


class ElementReader:
    """Reads attributes of one file's elements; knows its name for messages and collects warnings."""

    def __init__(self, source):
        self.source = source
        self.warnings = []

    def root(self, text):
        """Root element of a file given as bytes; a prefix that is not declared (``drake:``) is part of the name.

        Raises
        ------
        ModelError
            Broken XML.
        """
        options = {"resolve_entities": False, "no_network": True, "remove_comments": True}
        parser = etree.XMLParser(**options)
        try:
            return etree.fromstring(text, parser)
        except etree.XMLSyntaxError as error:
            faults = [fault for fault in parser.error_log if fault.domain_name != "NAMESPACE"]
            if not faults and len(parser.error_log):
                return etree.fromstring(text, etree.XMLParser(**options, recover=True))
            line = (faults[0].line if faults else error.lineno) or 1
            message = " ".join((faults[0].message if faults else error.msg).split())
            raise ModelError(f"{self.source}:{line}: not well-formed XML: {message}") from None
        except ValueError as error:  # what is not text at all
            raise ModelError(f"{self.source}:1: not well-formed XML: {error}") from None

    def error(self, element, message):
        """A ModelError that names file and line of ``element``."""
        return ModelError(f"{self.place(element)}: {message}")

    def place(self, element):
        """File and line of ``element``; of text that was made from another file, where it is written there."""
        places = (around.get(WRITTEN) for around in (element, *element.iterancestors()))
        return next(filter(None, places), f"{self.source}:{element.sourceline}")

    def refuse_if(self, broken, element, message):
        """Raise the ModelError of :meth:`error` where a rule is broken."""
        if broken:
            raise self.error(element, message)

    def warn(self, element, message):
        """Keep a warning that names file and line of ``element``."""
        self.warnings.append(f"{self.place(element)}: {message}")

    def name(self, element):
        """The element's name, which it must have."""
        name = element.get("name")
        self.refuse_if(not name, element, f"<{element.tag}> has no name; add one")
        return name

    def origin(self, element):
        """Rotation (3, 3) and position (3,) [m] of ``<origin>``, from rpy or quat_xyzw, default identity."""
        origin = element.find("origin")
        if origin is None:
            return np.eye(3), np.zeros(3)
        p = self.vector(origin, "xyz", 3, np.zeros(3))
        turn = np.abs(self.vector(origin, "rpy", 3, np.zeros(3))).max()
        if turn > TURN:
            meant = f"{turn:g} degrees are {np.radians(turn):.4g} rad"
            self.warn(origin, f"rpy of {turn:g} rad is more than a turn; {meant}")
        quat = self.vector(origin, "quat_xyzw", 4, ())
        if len(quat) == 0:
            return rpy_to_matrix(self.vector(origin, "rpy", 3, np.zeros(3))), p
        self.refuse_if(origin.get("rpy") is not None, origin, "<origin> has both rpy and quat_xyzw; keep one of them")
        self.refuse_if(
            abs(np.linalg.norm(quat) - 1.0) > 1e-3, origin,
            f"quat_xyzw has norm {np.linalg.norm(quat):.6g}; a unit quaternion is needed",
        )
        return quat_to_matrix(quat), p

    def number(self, element, key, default=None, finite=True, huge=False):
        """An attribute as a number; without ``default`` it must be there.

        ``huge`` ones may be beyond LARGEST; if not ``finite``, infinite too.
        """
        text = element.get(key)
        self.refuse_if(text is None and default is None, element, f"<{element.tag}> has no attribute '{key}'; add it")
        if text is None:
            return default
        return self._convert(element, key, text, finite, huge or not finite)

    def vector(self, element, key, size, default=None):
        """An attribute as an array of ``size`` numbers; without ``default`` it must be there."""
        text = element.get(key)
        if text is None:
            self.refuse_if(default is None, element, f"<{element.tag}> has no attribute '{key}'; add it")
            return default
        parts = text.split()
        self.refuse_if(
            len(parts) != size, element,
            f"<{element.tag} {key}=\"{text}\"> must have {size} numbers, got {len(parts)}",
        )
        return np.array([self._convert(element, key, part) for part in parts])

    def _convert(self, element, key, text, finite=True, huge=False):
        try:
            value = as_number(text)
        except ValueError:
            remedy = "; of xacro: let the file's name end in .xacro" if "${" in text or "$(" in text else ""
            remedy = "; numbers have a point and blanks between them, no comma" if "," in text else remedy
            raise self.error(element, f"<{element.tag} {key}=\"{text}\"> is not a number{remedy}") from None
        self.refuse_if(
            np.isnan(value) or (finite and np.isinf(value)), element,
            f"<{element.tag} {key}=\"{text}\"> must be finite",
        )
        self.refuse_if(
            not huge and abs(value) > LARGEST, element,
            f"<{element.tag} {key}=\"{text}\"> is beyond {LARGEST:g}: no robot has it",
        )
        return value
