# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scene YAML to Scene: each error names file, line and key, and what is allowed.

The file is read as YAML's node tree, which knows lines; what each key may be is declared with the records.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from os import PathLike
from pathlib import Path
from typing import Any

import yaml

from mb_contact.checks import shorten
from mb_contact.errors import SceneError, one_line
from mb_contact.keys.declaration import broken_group, declared
from mb_contact.keys.kinds import Kind, kinds
from mb_contact.model.resources import find_resource
from mb_contact.model.scene.other_files import other_kind
from mb_contact.model.scene.presets import preset
from mb_contact.model.scene.records import MOST_WORDS, Scene, SceneFile
from mb_contact.model.scene.rules import check_scene, faults_of_record

ROBOTS = (".urdf", ".xacro")  #: endings of files that hold a robot
SDF = (".sdf", ".world")  #: of files of Gazebo's worlds and models
SCENE_KEYS = kinds(SceneFile)  #: of a scene file, by name
#: What other programs, and their users, call a key.
ELSEWHERE = {
    "dt": ("time_step",), "timestep": ("time_step",), "kp": ("stiffness",), "kd": ("damping",), "kv": ("damping",),
    "mu": ("friction",), "xyz": ("position",), "pos": ("position",), "quat": ("quat_xyzw",), "orientation": ("rpy",),
    "rgba": ("color",), "type": ("kind", "shape"), "file": ("mesh", "urdf", "sdf"), "world": ("ground",),
    "robots": ("models",), "objects": ("primitives",), "floor": ("ground",), "plane": ("ground",),
}  # fmt: skip


def load_scene(path: str | Path, packages: Iterable[str | Path] = ()) -> Scene:
    """Read a scene file.

    Parameters
    ----------
    path : str or Path
        A YAML file, also as a ``package://`` address; the URDF or xacro file of a robot is the scene of that robot
        alone, welded to the world; an SDF file is the world or the models that it describes.
    packages : sequence of path, optional
        Folders that hold ROS packages or are some, beside those of the file; they count first.

    Returns
    -------
    Scene
        Lengths in m, times in s.

    Raises
    ------
    SceneError
        The file is missing or not YAML, a key is unknown, a value has the wrong type or an
        impossible value; the message names file, line and key and what is allowed.

    Examples
    --------
    >>> scene = mb.load_scene("package://mb_contact/config/box_on_table.yaml")
    >>> scene.time_step, [primitive.name for primitive in scene.primitives]
    (0.001, ['table', 'box'])
    """
    if not isinstance(path, (str, PathLike)):
        wanted = "give the path of a file, or a Scene, as Scene(models=(SceneModel(urdf),))"
        raise SceneError(f"no scene: got {type(path).__name__}; {wanted}")
    given = tuple(str(Path(folder).expanduser().absolute()) for folder in packages)
    reader, root = open_scene(path, given)
    if reader.path.suffix in SDF:
        from mb_contact.model.sdf.world import load_sdf

        scene = load_sdf(reader.path, given)
        check_scene(scene)
        return scene
    values = reader.mapping(root, "", SCENE_KEYS)
    printed = preset(values.pop("preset")) if "preset" in values else {}
    values["packages"] = given + values.get("packages", ())
    scene = Scene(**{**printed, **values}, path=reader.path, lines=reader.lines)
    check_scene(scene)
    return scene


def open_scene(path: str | Path, packages: Iterable[str] = ()) -> tuple["Reader", yaml.Node]:
    """(reader, root node) of a scene file of any kind; raises as ``load_scene`` where it is missing or not YAML.

    A robot's file stands for the scene of that robot alone; an SDF file has none of the keys.
    """
    try:
        file = find_resource(path, packages)
        if file.is_dir():
            raise SceneError(f"no scene: {file} is a folder; name a file in it")
        content = file.read_bytes()
        if file.suffix in ROBOTS:
            text = f"models: [{{urdf: {json.dumps(file.name)}}}]"
        elif file.suffix in SDF:
            text = "{}"
        elif what := other_kind(file, content):
            raise SceneError(f"{file}: not a scene: it is {what}")
        else:
            text = content.decode("utf-8")
    except FileNotFoundError as error:
        raise SceneError(f"the scene cannot be read: {error}") from None
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise SceneError(f"{path}:{line}: cannot be read as a scene: no text in UTF-8; save it as such") from None
    except OSError as error:
        raise SceneError(f"{path}: cannot be read as a scene: {error.strerror}") from None
    reader = Reader(file)
    return reader, reader.compose(text)


LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)  #: libyaml's takes a tenth of the time
MERGE = "tag:yaml.org,2002:merge"  #: of the key ``<<``


def _composed(text):
    """Root node of a document; errors are those of the loader in Python wherever libyaml is or is not."""
    try:
        return yaml.compose(text, Loader=LOADER)
    except yaml.YAMLError:
        return yaml.compose(text, Loader=yaml.SafeLoader)


def _words(node):
    """What a node is."""
    if isinstance(node, yaml.ScalarNode):
        return "nothing" if node.tag == "tag:yaml.org,2002:null" else f"'{shorten(node.value)}'"
    return "a mapping" if isinstance(node, yaml.MappingNode) else "a list"


class Reader:
    """Walks the node tree of one file; remembers the line of every key."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, int] = {}
        self._pairs: dict[yaml.Node, Any] = {}  #: of mappings, with what is merged into them

    def compose(self, content: str, keys: Mapping[str, Kind] = SCENE_KEYS) -> yaml.Node:
        """Root node of the file, whose keys an empty one is told."""
        try:
            root = _composed(content)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            line = mark.line + 1 if mark else 1
            raise SceneError(f"{self.path}:{line}: not well-formed YAML: {error.problem}") from None
        except yaml.reader.ReaderError as error:
            line = content.count("\n", 0, error.position) + 1
            problem = f"the character #x{error.character:04x} is not allowed"
            raise SceneError(f"{self.path}:{line}: not well-formed YAML: {problem}") from None
        if root is None:
            raise SceneError(f"{self.path}:1: the file is empty; allowed keys: {', '.join(keys)}")
        return root

    def error(self, node: yaml.Node, key: str, message: str) -> SceneError:
        """A SceneError at the line of ``key``, or of ``node`` where that has no line yet."""
        line = self.lines.get(key, node.start_mark.line + 1)
        return SceneError(one_line(f"{self.path}:{line}: {key or 'scene'}: {message}", MOST_WORDS))

    def scalar(self, node: yaml.Node, key: str, wanted: str) -> str:
        """The text of a scalar node that is not null."""
        if not isinstance(node, yaml.ScalarNode) or node.tag == "tag:yaml.org,2002:null":
            raise self.error(node, key, f"must be {wanted}, got {_words(node)}")
        return str(node.value)

    def items(self, node: yaml.Node, key: str, wanted: str = "a list") -> Iterator[tuple[int, yaml.Node]]:
        """(index, node) of a list."""
        if not isinstance(node, yaml.SequenceNode):
            raise self.error(node, key, f"must be {wanted}, got {_words(node)}")
        for i, item in enumerate(node.value):
            self.lines[f"{key}[{i}]"] = item.start_mark.line + 1
            yield i, item

    def entries(self, node: yaml.Node, key: str, keys: Iterable[str] = ()) -> Iterator[tuple[str, yaml.Node, str]]:
        """(name, node, key path) of a mapping, each name once; ``keys`` are those that it may have, where not all."""
        if not isinstance(node, yaml.MappingNode):
            allowed = f"; allowed keys: {', '.join(keys)}" if keys else ""
            raise self.error(node, key, f"must be a mapping of keys to values, got {_words(node)}{allowed}")
        for name_node, value in self._merged(node, key):
            name = self.scalar(name_node, key, "a mapping whose keys are texts")
            place = f"{key}.{name}" if key else name
            first, self.lines[place] = self.lines.get(place), name_node.start_mark.line + 1
            if first is not None:
                raise self.error(name_node, place, f"is given twice, first in line {first}; keep one of them")
            yield name, value, place

    def _merged(self, node, key):
        """(name, value) nodes of a mapping: its own, and of those that ``<<`` merges into it what it has not."""
        if (known := self._pairs.get(node, False)) is not False:
            return known
        self._pairs[node] = None  # until it is known
        pairs = [pair for pair in node.value if pair[0].tag != MERGE]
        merges = [pair for pair in node.value if pair[0].tag == MERGE]
        if len(merges) > 1:
            raise self.error(merges[1][0], key, "'<<' is given twice; give it a list, [*one, *other]")
        for name, value in merges:
            for other in value.value if isinstance(value, yaml.SequenceNode) else [value]:
                theirs = self._merged(other, key) if isinstance(other, yaml.MappingNode) else None
                if theirs is None:
                    got = "itself" if isinstance(other, yaml.MappingNode) else _words(other)
                    raise self.error(name, key, f"'<<' merges other mappings, got {got}")
                own = {name.value for name, _ in pairs}
                pairs += [pair for pair in theirs if pair[0].value not in own]
        self._pairs[node] = pairs
        return pairs

    def mapping(
        self, node: yaml.Node, key: str, keys: Mapping[str, Kind], required: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """Values of a mapping with fixed keys."""
        values = {}
        for name, value, place in self.entries(node, key, keys):
            if name not in keys:
                raise self._unknown(value, place, name, keys)
            values[name] = keys[name].read(self, value, place)
        for name in required:
            if name not in values:
                raise self.error(node, key, f"the key '{name}' is missing")
        return values

    def record(self, cls: type, node: yaml.Node, key: str) -> Any:
        """A record, whose keys fit together."""
        required = tuple(name for name, about in declared(cls).items() if about.required)
        values = self.mapping(node, key, kinds(cls), required)
        for needed, groups in ((True, getattr(cls, "ONE_OF", ())), (False, getattr(cls, "AT_MOST_ONE", ()))):
            for group in groups:
                for _, message in broken_group(group, [name for name in group if name in values], needed):
                    raise self.error(node, key, message)
        value = cls(**values)
        for place, message in faults_of_record(value, key):
            raise self.error(node, place, message)
        return value

    def _unknown(self, node, place, name, keys):
        allowed = f"allowed keys: {', '.join(keys)}"
        meant = [word for word in ELSEWHERE.get(name, ()) if word in keys] or get_close_matches(name, keys, n=1)
        meant = meant or [f"{other}: {{{name}: ...}}" for other, kind in keys.items() if name in kind.inside()]
        hint = f" (did you mean '{meant[0]}'?)" if meant else ""
        hint = " (decimals have a point, no comma)" if name.isdecimal() else hint
        return self.error(node, place, f"unknown key{hint}; {allowed}")
