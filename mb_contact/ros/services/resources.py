# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What can be spawned: a primitive in the words of a scene file, or a URDF or SDF, of an object or of a robot."""

import dataclasses
import re
import tempfile
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import yaml

from mb_contact.errors import InputError, MbContactError, ModelError, SceneError
from mb_contact.model.scene import Pose, Scene, SceneModel, load_scene
from mb_contact.model.scene.named_files import beside
from mb_contact.model.sdf.elements import SdfReader
from mb_contact.model.sdf.world import entity_of, load_sdf
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.ros.services.common import Refusal, refuse_if
from mb_contact.ros.services.files import AllowedFiles, NotAllowed, confine, confined, parsed

ENDINGS = (".urdf", ".sdf", ".yaml", ".yml")
SDF_TEXT = "<sdf text>"  #: what messages call the text of a request
#: Keys of a scene to which an entity adds entries.
ADDED = ("models", "primitives", "loop_closures", "sensors", "doubts")


@dataclasses.dataclass(frozen=True)
class Source:
    """The text of a resource, and the file that it stands in.

    Attributes
    ----------
    text : str
    path : Path or None
        Its file, which may name files beside it; None for a text from a request.
    """

    text: str
    path: Path | None = None

    @property
    def is_xml(self) -> bool:
        """Whether it is a URDF or an SDF, as far as one can see."""
        return self.text.lstrip().startswith("<")

    @property
    def name(self) -> str:
        """The name that a URDF or an SDF gives itself, empty without one."""
        found = re.search(r"<(?:robot|model)\b[^>]*?\bname\s*=\s*[\"']([^\"']*)[\"']", self.text[:10_000])
        return found[1] if self.is_xml and found else ""


def source_of(uri: str, text: str, files: AllowedFiles, codes: Any, endings: Any = ENDINGS) -> Source:
    """What a request's resource holds; ``codes`` has the result codes of the answer.

    Raises
    ------
    Refusal
        None, of another format, too long, or a file that nobody may take.
    """
    refuse_if(not uri and not text, codes.NO_RESOURCE, "both uri and resource_string are empty")
    if not uri:
        size = len(text.encode(errors="replace"))
        message = f"the resource has {size} bytes; at most {files.most} are taken (parameter resource_limit)"
        refuse_if(size > files.most, codes.RESOURCE_PARSE_ERROR, message)
        return Source(text)
    try:
        return Source(*files.read(uri, endings))
    except NotAllowed as error:
        raise Refusal(codes.MISSING_ASSETS, str(error)) from None
    except InputError as error:
        raise Refusal(codes.UNSUPPORTED_FORMAT, str(error)) from None


def with_entity(source: Source, name: str, pose: Pose, scene: Scene, codes: Any, files: AllowedFiles) -> Scene:
    """The scene with what a resource holds, which is one robot or one object.

    Parameters
    ----------
    source : Source
    name : str
    pose : Pose
    scene : Scene
        Whose materials a primitive may name.
    codes : class
        SpawnEntity's response, for its result codes.
    files : AllowedFiles
        Which files the text of a request may name.

    Raises
    ------
    Refusal
    """
    make = _of_xml if source.is_xml else _primitive
    try:
        part = make(source, name, pose, scene, codes, files)
    except NotAllowed as error:
        raise Refusal(codes.MISSING_ASSETS, str(error)) from None
    except RecursionError:
        raise Refusal(codes.RESOURCE_PARSE_ERROR, "the resource is nested too deeply") from None
    other = [name for name, material in part.materials.items() if scene.materials.get(name, material) != material]
    refuse_if(other, codes.RESOURCE_PARSE_ERROR, f"the scene has another material '{''.join(other[:1])}'; rename that")
    never = (*scene.collision_filters.disable, *part.collision_filters.disable)
    added: dict[str, Any] = {key: (*getattr(scene, key), *getattr(part, key)) for key in ADDED}
    return dataclasses.replace(
        scene, **added,
        materials={**scene.materials, **part.materials},
        pairs=tuple({frozenset(pair.materials): pair for pair in (*part.pairs, *scene.pairs)}.values()),
        collision_filters=dataclasses.replace(scene.collision_filters, disable=never),
    )  # fmt: skip


def _primitive(source, name, pose, scene, codes, files):
    """The Primitive of a YAML mapping such as ``{shape: box, size: [0.1, 0.1, 0.1], mass: 1.0}``; free by default."""
    try:
        words = yaml.safe_load(source.text)
    except (yaml.YAMLError, ValueError) as error:
        raise Refusal(codes.RESOURCE_PARSE_ERROR, f"the resource is neither XML nor YAML: {error}") from None
    refuse_if(
        not isinstance(words, dict), codes.UNSUPPORTED_FORMAT,
        "the resource is neither a URDF, an SDF nor a YAML mapping of a primitive",
    )
    for key in ("name", "pose"):
        refuse_if(key in words, codes.RESOURCE_PARSE_ERROR, f"leave '{key}' out of the resource: the request has it")
    entry = {"base": "free", **words, "name": "object"}
    materials = {key: {"friction": material.friction} for key, material in scene.materials.items()}
    document = {"primitives": [entry], "materials": materials}
    try:
        (primitive,) = scene_of_text(yaml.safe_dump({k: v for k, v in document.items() if v})).primitives
    except (MbContactError, yaml.YAMLError, ValueError) as error:
        raise Refusal(codes.RESOURCE_PARSE_ERROR, str(error).replace("primitives[0].", "")) from None
    primitive = confined(primitive, files) if source.path is None else beside(primitive, source.path)
    return Scene(primitives=(dataclasses.replace(primitive, name=name, pose=pose),))


def scene_of_text(text: str, files: AllowedFiles | None = None) -> Scene:
    """The scene of a text, YAML or SDF, which has no file; ``files`` are those that an SDF may name.

    Raises
    ------
    SceneError
        Without the name of a file.
    """
    if text.lstrip().startswith("<"):
        parsed(text, SceneError)
        scene = load_sdf(Path(SDF_TEXT), text=text, named=None if files is None else files.named_by_sdf)
        return dataclasses.replace(scene, path=None, lines={})
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "resource.yaml"
        path.write_text(text, encoding="utf-8", errors="replace")
        try:
            return dataclasses.replace(load_scene(path), path=None, lines={})
        except MbContactError as error:
            raise type(error)(re.sub(re.escape(str(path)) + r"(:\d+)?: ", "", str(error))) from None


def _of_xml(source, name, pose, _scene, codes, files):
    """The part of a scene that is a URDF or an SDF."""
    root = parsed(source.text, lambda message: Refusal(codes.RESOURCE_PARSE_ERROR, message))
    if root.tag == "robot":
        return Scene(models=(_model(root, source, name, pose, codes, files),))
    refuse_if(root.tag != "sdf", codes.UNSUPPORTED_FORMAT, f"the resource is XML, but <{root.tag}> is no URDF or SDF")
    named = files.named_by_sdf if source.path is None else None
    try:
        part = entity_of(SdfReader(source.path or SDF_TEXT, text=source.text, named=named), name, pose)
    except MbContactError as error:
        if isinstance(error, NotAllowed):
            raise
        raise Refusal(codes.RESOURCE_PARSE_ERROR, str(error)) from None
    bodies = len(part.models) + len(part.primitives)
    message = f"the model becomes {bodies} entities, since planes are some of their own; load it as a world"
    refuse_if(bodies != 1, codes.RESOURCE_PARSE_ERROR, message)
    return part


def _model(root, source, name, pose, codes, files):
    """The SceneModel of a URDF; links and joints are renamed after the entity, since names are unique in a scene.

    A root link called ``world`` stands for the world, as URDFs have it: the robot is welded where it is spawned, and so
    is one whose root has no mass, which nothing could move.
    """
    base = "weld" if "world" in _links(root) - _children(root) else "free"
    if source.path is None:
        confine(root, files)
    try:
        start = None if source.path is None else source.path.parent
        text = _renamed(root, name, start)
        model = load_urdf(text, floating=base == "free")
        if base == "free" and not model.tree.mass[0] > 0.0:
            base, model = "weld", load_urdf(text)
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
    for mesh in (*root.iter("mesh"), *root.iter("texture")):
        address = mesh.get("filename") or ""
        if start is not None and address and "://" not in address and not Path(address).is_absolute():
            mesh.set("filename", str(start / address))
    root.set("name", name)
    return ElementTree.tostring(root, encoding="unicode")


def entries(scene: Any, robots: Any) -> Any:
    """Name to SceneModel of the robots, whose models are ``robots``."""
    return {entry.name or model.name: entry for entry, model in zip(scene.models, robots)}


def moved(scene: Any, robots: Any, name: str, pose: Pose) -> Any:
    """The scene with an entity welded elsewhere."""
    models = [dataclasses.replace(entry, pose=pose) if key == name else entry
              for key, entry in entries(scene, robots).items()]  # fmt: skip
    primitives = [dataclasses.replace(entry, pose=pose) if entry.name == name else entry for entry in scene.primitives]
    return dataclasses.replace(scene, models=tuple(models), primitives=tuple(primitives))


def without(scene: Any, robots: Any, names: Any) -> Any:
    """The scene without these entities, and without what else their joints and links have."""
    gone = [model for name, model in zip(entries(scene, robots), robots) if name in names]
    joints = {joint for model in gone for joint in (*model.joint_names, *model.body_joint_names)}
    links = {*names, *(link for model in gone for link in model.link_names)}
    kept = tuple(pair for pair in scene.collision_filters.disable if links.isdisjoint(pair))
    return dataclasses.replace(
        scene,
        models=tuple(entry for name, entry in entries(scene, robots).items() if name not in names),
        primitives=tuple(entry for entry in scene.primitives if entry.name not in names),
        collision_filters=dataclasses.replace(scene.collision_filters, disable=kept),
        operational_frames=tuple(link for link in scene.operational_frames if link not in links),
        contact_wrench_links=tuple(link for link in scene.contact_wrench_links if link not in links),
        motions=tuple(motion for motion in scene.motions if motion.joint not in joints),
        sensors=tuple(
            sensor for sensor in scene.sensors
            if links.isdisjoint((sensor.link, sensor.partner)) and joints.isdisjoint((sensor.joint, *sensor.joints))
        ),
        loop_closures=tuple(c for c in scene.loop_closures if links.isdisjoint((c.link_a, c.link_b))),
        adhesion_pads=tuple(pad for pad in scene.adhesion_pads if pad.link not in links),
        moving_surfaces=tuple(surface for surface in scene.moving_surfaces if surface.link not in links),
        tendons=tuple(
            tendon for tendon in scene.tendons
            if links.isdisjoint(element.link for element in tendon.path)
            and joints.isdisjoint(element.joint for element in tendon.path)
        ),
        entities={name: info for name, info in scene.entities.items() if name not in names},
    )  # fmt: skip
