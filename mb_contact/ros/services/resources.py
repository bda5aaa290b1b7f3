# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What can be spawned: a primitive in the words of a scene file, or a URDF, of an object or of a robot."""

from __future__ import annotations

import dataclasses
import re
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from mb_contact.errors import MbContactError, ModelError
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import SceneModel
from mb_contact.model.scene_yaml import load_scene
from mb_contact.model.urdf import load_urdf
from mb_contact.ros.services.simulation import Refusal, refuse_if

MOST_BYTES = 10_000_000  #: of a resource


def object_of(uri: str, text: str, name: str, pose: Any, scene: Any, codes: Any) -> Any:
    """The scene entry of a resource.

    Parameters
    ----------
    uri, text : str
        ``file://``, ``package://`` or a path; the text counts where there is none.
    name : str
    pose : Pose
    scene : Scene
        Whose materials it may name.
    codes : class
        SpawnEntity's response, for its result codes.

    Returns
    -------
    key, entry
        'models' and a SceneModel, or 'primitives' and a Primitive.

    Raises
    ------
    Refusal
    """
    refuse_if(not uri and not text, codes.NO_RESOURCE, "both uri and resource_string are empty")
    start = None
    if uri:
        text, start = _read(uri, codes)
    refuse_if(len(text) > MOST_BYTES, codes.RESOURCE_PARSE_ERROR, f"the resource is longer than {MOST_BYTES} bytes")
    if text.lstrip().startswith("<"):
        return "models", _model(text, name, pose, start, codes)
    return "primitives", _primitive(text, name, pose, start, scene, codes)


def _read(uri, codes):
    try:
        path = Path(find_resource(uri))
        refuse_if(
            path.suffix not in (".urdf", ".yaml", ".yml"), codes.UNSUPPORTED_FORMAT,
            f"'{uri}' is neither .urdf nor .yaml",
        )
        return path.read_text(encoding="utf-8"), path.parent
    except (OSError, UnicodeDecodeError) as error:
        raise Refusal(codes.MISSING_ASSETS, f"cannot read '{uri}': {error}") from None


def _primitive(text, name, pose, start, scene, codes):
    """The Primitive of a YAML mapping such as ``{shape: box, size: [0.1, 0.1, 0.1], mass: 1.0}``; free by default."""
    try:
        words = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise Refusal(codes.RESOURCE_PARSE_ERROR, f"the resource is neither XML nor YAML: {error}") from None
    refuse_if(
        not isinstance(words, dict), codes.UNSUPPORTED_FORMAT,
        "the resource is neither a URDF nor a YAML mapping of a primitive",
    )
    for key in ("name", "pose"):
        refuse_if(key in words, codes.RESOURCE_PARSE_ERROR, f"leave '{key}' out of the resource: the request has it")
    entry = {"base": "free", **words, "name": "object"}
    if start is not None and isinstance(entry.get("mesh"), str) and "://" not in entry["mesh"]:
        entry["mesh"] = str(start / entry["mesh"])
    materials = {key: {"friction": material.friction} for key, material in scene.materials.items()}
    document = {"primitives": [entry], "materials": materials}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resource.yaml"
        try:
            path.write_text(yaml.safe_dump({k: v for k, v in document.items() if v}), encoding="utf-8")
            (primitive,) = load_scene(path).primitives
        except (MbContactError, yaml.YAMLError, ValueError) as error:
            message = re.sub(re.escape(str(path)) + r"(:\d+)?: ", "", str(error)).replace("primitives[0].", "")
            raise Refusal(codes.RESOURCE_PARSE_ERROR, message) from None
    return dataclasses.replace(primitive, name=name, pose=pose)


def _model(text, name, pose, start, codes):
    """The SceneModel of a URDF; links and joints are renamed after the entity, since names are unique in a scene.

    A root link called ``world`` stands for the world, as URDFs have it: the robot is welded where it is spawned.
    """
    try:
        root = ElementTree.fromstring(text)
        refuse_if(root.tag != "robot", codes.UNSUPPORTED_FORMAT, f"the resource is XML, but <{root.tag}> is no URDF")
        base = "weld" if "world" in _links(root) - _children(root) else "free"
        model = load_urdf(_renamed(root, name, start), floating=base == "free")
    except ElementTree.ParseError as error:
        raise Refusal(codes.RESOURCE_PARSE_ERROR, f"the resource is no XML: {error}") from None
    except ModelError as error:
        raise Refusal(codes.RESOURCE_PARSE_ERROR, str(error)) from None
    return SceneModel(model.urdf, name=name, pose=pose, base=base)


def _links(root):
    return {link.get("name") for link in root.findall("link")}


def _children(root):
    return {joint.find("child").get("link") for joint in root.iter("joint") if joint.find("child") is not None}


def _renamed(root, name, start):
    children = _children(root)
    new = {link: f"{name}_{link}" if link in children else name for link in _links(root)}
    for link in root.findall("link"):
        link.set("name", new[link.get("name")])
    for joint in root.findall("joint"):
        joint.set("name", f"{name}_{joint.get('name')}")
        for end in ("parent", "child"):
            element = joint.find(end)
            if element is not None and element.get("link") in new:
                element.set("link", new[element.get("link")])
        for mimic in joint.findall("mimic"):
            mimic.set("joint", f"{name}_{mimic.get('joint')}")
    for mesh in root.iter("mesh"):
        address = mesh.get("filename") or ""
        if start is not None and "://" not in address and not Path(address).is_absolute():
            mesh.set("filename", str(start / address))
    root.set("name", name)
    return ElementTree.tostring(root, encoding="unicode")


def with_entry(scene: Any, key: str, entry: Any) -> Any:
    """The scene with one more model or primitive."""
    return dataclasses.replace(scene, **{key: (*getattr(scene, key), entry)})


def entries(scene: Any, robots: Any) -> Any:
    """Name to SceneModel of the robots, whose models are ``robots``."""
    return {entry.name or model.name: entry for entry, model in zip(scene.models, robots)}


def without(scene: Any, robots: Any, names: Any) -> Any:
    """The scene without these entities, and without the motions and sensors of their joints and links."""
    gone = [model for name, model in zip(entries(scene, robots), robots) if name in names]
    joints = {joint for model in gone for joint in (*model.joint_names, *model.body_joint_names)}
    links = {*names, *(link for model in gone for link in model.link_names)}
    return dataclasses.replace(
        scene,
        models=tuple(entry for name, entry in entries(scene, robots).items() if name not in names),
        primitives=tuple(entry for entry in scene.primitives if entry.name not in names),
        motions=tuple(motion for motion in scene.motions if motion.joint not in joints),
        sensors=tuple(
            sensor for sensor in scene.sensors
            if links.isdisjoint((sensor.link, sensor.partner)) and joints.isdisjoint((sensor.joint, *sensor.joints))
        ),
    )  # fmt: skip
