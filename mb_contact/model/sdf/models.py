# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Models of an SDF file with all that is nested in them: their links, joints and frames by scoped names."""

from dataclasses import dataclass, field
from typing import Any

from lxml import etree

from mb_contact.errors import ModelError
from mb_contact.model.sdf.elements import MODEL, WORLD, Frames, SdfReader, scoped


@dataclass
class Part:
    """A link, a joint or a frame: where it is written, and the scope that its names are meant in."""

    reader: SdfReader
    element: Any
    scope: str


@dataclass
class SdfModel:
    """A model that stands in the world, and what is nested in it."""

    name: str
    reader: SdfReader
    element: Any
    static: bool
    self_collide: bool
    links: dict[str, Part] = field(default_factory=dict)
    joints: dict[str, Part] = field(default_factory=dict)
    frames: dict[str, Part] = field(default_factory=dict)
    canonical: dict[str, str] = field(default_factory=dict)  #: first link of each model, by the model's scoped name

    def link_of(self, part, name):
        """Scoped name of the link that a name of a part means: a link, a frame or joint on one, a model."""
        full, seen = scoped(part.scope, name), set()
        while full not in self.links and (full in self.frames or full in self.joints):
            on = self.frames.get(full) or self.joints[full]
            part.reader.refuse_if(full in seen, on.element, f"frame '{full}' is attached to itself")
            seen.add(full)
            full = scoped(on.scope, (on.element.findtext("child") or on.element.get("attached_to") or MODEL).strip())
        full = self.canonical.get(full, full)
        part.reader.refuse_if(
            full != WORLD and full not in self.links, part.element,
            f"<{part.element.tag}> '{part.element.get('name')}' names '{name}', which is no link of model "
            f"'{self.name}'; it has {', '.join(self.links)}",
        )
        return full


@dataclass
class Included:
    """The model that an ``<include>`` names."""

    reader: SdfReader
    element: Any  #: <model>, or <robot> of a URDF


class Collector:
    """Collects the models of a file and of those that it includes.

    Parameters
    ----------
    reader : SdfReader
        Of the first file.
    """

    def __init__(self, reader):
        self.reader, self.frames = reader, Frames()

    def model(self, reader, element, include=None, outer=None, scope=""):
        """The SdfModel of a ``<model>``; of a nested one its parts go to ``outer``.

        include : (reader, element) of the <include> that names it, whose name, pose and static count.
        """
        reader.take(element, "pose", "static", "self_collide", "link", "joint", "frame", "model", "include")
        reader.refuse_if(
            element.get("placement_frame") is not None, element,
            "placement_frame is not read; give the <pose> of the model's own frame",
        )
        by, place = (reader, element) if include is None else include
        name = reader.name(element) if include is None else by.text(place, "name", element.get("name"))
        at = by.pose(place if include is None or place.find("pose") is not None else element)
        static = by.flag(place, "static", reader.flag(element, "static"))
        full = scoped(scope, name)
        self.frames.add(full, by, place, scoped(scope, at[0]) if at[0] else scope or WORLD, *at[1:])
        model = outer or SdfModel(name, reader, element, static, reader.flag(element, "self_collide"))
        reader.refuse_if(
            static and not model.static, place,
            f"model '{name}' is static within one that is not; join its link to world by a fixed joint, or leave "
            "<static> to the outer model",
        )
        if reader.flag(element, "self_collide") != model.self_collide and element.find("self_collide") is not None:
            reader.leave(element.find("self_collide"))
        self._parts(reader, element, full, model)
        return model

    def _parts(self, reader, element, full, model):
        """Links, frames, joints and nested models of a model's element."""
        for link in element.findall("link"):
            name, (relative, R, p) = scoped(full, reader.name(link)), reader.pose(link)
            self.frames.add(name, reader, link, scoped(full, relative) if relative else full, R, p)
            model.links[name] = Part(reader, link, full)
            model.canonical.setdefault(full, name)
        for frame in element.findall("frame"):
            self.frame(reader, frame, full)
            model.frames[scoped(full, frame.get("name"))] = Part(reader, frame, full)
        for nested in element.findall("model"):
            self.model(reader, nested, None, model, full)
        for include in element.findall("include"):
            found = self.included(reader, include)
            found.reader.refuse_if(
                found.element.tag == "robot", found.element,
                "a URDF cannot be nested in a model; include it in the world, or compose robots (mb.model.compose)",
            )
            self.model(found.reader, found.element, (reader, include), model, full)
        if element.get("canonical_link"):
            model.canonical[full] = first = scoped(full, element.get("canonical_link"))
            reader.refuse_if(first not in model.links, element, f"canonical_link: model '{full}' has no link '{first}'")
        for joint in element.findall("joint"):
            name, (relative, R, p) = scoped(full, reader.name(joint)), reader.pose(joint)
            part = Part(reader, joint, full)
            child = reader.text(joint, "child")
            frame = scoped(full, relative or child)
            self.frames.add(name, reader, joint, model.link_of(part, child) if not relative else frame, R, p)
            model.joints[name] = part
        if not model.links and full == model.name:
            raise reader.error(element, f"model '{full}' has no <link>; add one")

    def frame(self, reader, element, scope):
        """Add a ``<frame>`` of a model or of the world."""
        relative, R, p = reader.pose(element)
        base = relative or element.get("attached_to") or ""
        reader.take(element, "pose")
        self.frames.add(
            scoped(scope, reader.name(element)), reader, element, scoped(scope, base) if base else scope or WORLD, R, p
        )

    # --- includes -----------------------------------------------------------------------

    def included(self, reader, include):
        """The Included of an ``<include>``; ModelError where there is no such file, or what it holds is not read."""
        reader.take(include, "uri", "name", "pose", "static")
        for attribute, value in (("merge", "true"), ("placement_frame", include.get("placement_frame"))):
            reader.refuse_if(
                include.get(attribute) is not None and include.get(attribute) == value, include,
                f"<include {attribute}=\"{value}\"> is not read; write what it names into this file",
            )
        uri = reader.text(include, "uri")
        try:
            path = reader.find(uri)
            path = _model_file(path) if path.is_dir() else path
            if path.suffix in (".urdf", ".xacro"):
                return Included(reader, etree.Element("robot", name=include.findtext("name") or "", file=str(path)))
            found = SdfReader(path, reader.packages, reader.left)
        except FileNotFoundError as error:
            raise reader.error(include, f"<include>: {error}") from None
        for depth, before in enumerate(_above(reader)):
            reader.refuse_if(before == path or depth > 50, include, f"{path} includes itself")
        found.parent = reader
        models = found.sdf.findall("model")
        reader.refuse_if(
            len(models) != 1, include,
            f"{path} has {len(models)} models{' and a <world>' * bool(found.sdf.findall('world'))}; "
            "an <include> takes a file of one model",
        )
        return Included(found, models[0])


def _above(reader):
    """Files that include the one that a reader reads, and itself."""
    while reader is not None:
        yield reader.path
        reader = getattr(reader, "parent", None)


def _model_file(folder):
    """The SDF file that a folder's model.config names for the newest version, or model.sdf."""
    config = folder / "model.config"
    named = []
    if config.exists():
        try:
            root = etree.fromstring(config.read_bytes())
        except etree.XMLSyntaxError as error:
            raise ModelError(f"{config}: not well-formed XML: {error}") from None
        named = [(entry.get("version", "0"), (entry.text or "").strip()) for entry in root.findall("sdf")]
    _, name = max(named, key=lambda entry: _version(entry[0]), default=("", "model.sdf"))
    if not (folder / name).is_file():
        raise FileNotFoundError(f"'{folder / name}' does not exist; a model's folder has a model.config and its SDF")
    return folder / name


def _version(text):
    return tuple(int(part) if part.isdigit() else 0 for part in text.split("."))


def short_names(names):
    """{scoped name: its shortest end that no other has}, parts joined by an underscore."""
    ends: dict[str, int] = {}
    for name in names:
        for end in _ends(name):
            ends[end] = ends.get(end, 0) + 1
    found = {}
    for name in names:
        found[name] = next((end for end in _ends(name) if ends[end] == 1), name.replace("::", "_"))
    return found


def whole_names(names):
    """{scoped name: all its parts, joined by an underscore}."""
    return {name: name.replace("::", "_") for name in names}


def unused(wish, taken, more="_"):
    """A name that is not among those that are taken, to which it comes."""
    name = wish.replace("::", "_")
    while name in taken:
        name += more
    taken.add(name)
    return name


def _ends(name):
    parts = name.split("::")
    return ["_".join(parts[i:]) for i in reversed(range(len(parts)))]
