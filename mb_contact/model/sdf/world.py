# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An SDF world or model as a Scene: robots, planes, materials, sensors, gravity; and a model as a URDF."""

from collections.abc import Callable
from itertools import combinations
from pathlib import Path

import numpy as np
from lxml import etree

from mb_contact.errors import InputError, ModelError, SceneError
from mb_contact.model.mjcf.elements import numbers
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.scene.bodies import Heights, Pose, Primitive
from mb_contact.model.scene.materials import CollisionFilters, Material, MaterialPair
from mb_contact.model.scene.records import Scene
from mb_contact.model.scene.robots import ModelMaterials, SceneModel
from mb_contact.model.sdf.elements import WORLD, SdfReader, scene_pose, warnings_of, with_z
from mb_contact.model.sdf.models import Collector, short_names, unused, whole_names
from mb_contact.model.sdf.sensors import sensors
from mb_contact.model.sdf.shapes import FRICTION, STILL_SHAPES, address, colour_of, shape_of, surface_of
from mb_contact.model.sdf.urdf import RobotBuilder
from mb_contact.model.urdf.naming import name_meshes_by_paths, rename, with_prefix
from mb_contact.model.urdf.xml_reader import WARNING, ElementReader

GRAVITY = (0.0, 0.0, -9.8)  #: where a world gives none, as in Gazebo [m/s^2]
USUAL = (FRICTION, 0.0)  #: friction and restitution of what a file gives none
MOST_STEP = 0.1  #: longest time step of a scene [s]
#: Models that Gazebo brings; of the sun nothing is needed.
GROUND, SUN = "model://ground_plane", "model://sun"
GROUND_PLANE = "<sdf version='1.6'><model name='ground_plane'><static>1</static><link name='link'><collision " \
    "name='collision'><geometry><plane/></geometry></collision></link></model></sdf>"


def load_sdf(
    path: Path, packages: tuple[str, ...] = (), text: str | None = None, named: Callable[[str], str] | None = None
) -> Scene:
    """The Scene of an SDF world or model.

    Parameters
    ----------
    path : Path
    packages : sequence of path
        Folders of models and ROS packages, for ``model://`` and ``package://``.
    text, named : optional
        What stands in the file, and who finds what it names, as an :class:`SdfReader` takes them.

    Returns
    -------
    Scene
        With a sentence in ``doubts`` for all that is not taken.

    Raises
    ------
    SceneError
        The file cannot be read, or has what a scene cannot be; the message names file, line and element.
    """
    return scene_of(lambda: SdfScene(SdfReader(path, packages, text=text, named=named)))


def world_in(path: Path) -> str | None:
    """Name of the world that an SDF file holds; None where it holds none, or cannot be read."""
    try:
        world = SdfReader(path).sdf.find("world")
    except ModelError:
        return None
    return None if world is None else str(world.get("name", ""))


def scene_of(made: Callable[[], "SdfScene"]) -> Scene:
    """The Scene of an SdfScene that is made here; SceneError where it cannot be."""
    try:
        return made().scene()
    except ModelError as error:
        raise SceneError(str(error)) from None


def entity_of(reader: SdfReader, name: str, pose: Pose) -> Scene:
    """The Scene of a file's one model under another name, with which the names of all that it has begin.

    Parameters
    ----------
    reader : SdfReader
    name : str
    pose : Pose
        Of the model's own frame.

    Raises
    ------
    SceneError
        It is no such file, or has what a scene cannot be.
    """

    def made():
        models, world = reader.sdf.findall("model"), reader.sdf.find("world")
        what = f"{len(models)} models" if world is None else "a <world>"
        reader.refuse_if(world is not None or len(models) != 1, reader.sdf, f"holds {what}, not one <model>")
        (model,) = models
        model.set("name", name)
        for former in model.findall("pose"):
            model.remove(former)
        place = [*pose.origin(), *matrix_to_quat(pose.rotation())]
        etree.SubElement(model, "pose", rotation_format="quat_xyzw").text = numbers(place)
        return SdfScene(reader, named=whole_names)

    return scene_of(made)


def sdf_as_urdf(path: Path, packages: tuple[str, ...] = ()) -> bytes:
    """URDF of an SDF file of one model, with a ``<warning>`` for all that is not taken; ModelError where it is none."""
    built = SdfScene(SdfReader(path, packages))
    scene = built.scene()
    if len(built.robots) != 1:
        raise ModelError(f"{path}: holds {len(built.robots)} robots, where one is needed; it is a scene of its own")
    robot = built.robots[0]
    beside = {
        "joint_properties": robot.properties, "loop_closures": scene.loop_closures, "primitives": scene.primitives,
        "materials": set(scene.materials) - {_called(USUAL)}, "sensors": scene.sensors,
        "collision_filters": scene.collision_filters.disable,
    }  # fmt: skip
    keys = ", ".join(key for key, found in beside.items() if found)
    said = f"{path}: a URDF has no word for what the file holds of {keys}; load_scene({path.name!r}) has it"
    root = etree.fromstring(robot.urdf)
    for line in (*scene.doubts, *([said] if keys else [])):
        etree.SubElement(root, WARNING).text = line
    return bytes(etree.tostring(root))


class SdfScene:
    """What an SDF file becomes.

    Parameters
    ----------
    reader : SdfReader
    named : callable
        Names in the scene of a list of scoped names.
    """

    def __init__(self, reader, named=short_names):
        self.reader, self.collector, self.named = reader, Collector(reader), named
        self.models, self.files, self.robots = [], [], []  #: SdfModels, entries of included URDFs, what models become
        self.included = set()  #: files of URDFs
        worlds = reader.sdf.findall("world")
        reader.refuse_if(
            len(worlds) > 1, reader.sdf, f"the file has {len(worlds)} worlds; leave one of them",
        )
        self.world = worlds[0] if worlds else reader.sdf
        self._collect()

    def _collect(self):
        """Models of the world, those of other files too."""
        reader, world = self.reader, self.world
        reader.take(world, "world", "model", "include", "gravity", "physics", "frame")
        for frame in world.findall("frame"):
            self.collector.frame(reader, frame, "")
        for child in world:
            if child.tag == "model":
                self.models.append(self.collector.model(reader, child))
            elif child.tag == "include":
                self._include(child)
        reader.refuse_if(not (self.models or self.files), world, "there is no <model> and no <include>")

    def _include(self, include):
        reader, uri = self.reader, (include.findtext("uri") or "").strip().rstrip("/")
        if uri == SUN:
            return
        try:
            found = self.collector.included(reader, include)
        except (ModelError, InputError):
            if uri != GROUND:
                raise
            ground = reader.root(GROUND_PLANE.encode()).find("model")  # it is nowhere but in Gazebo
            self.models.append(self.collector.model(reader, ground, (reader, include)))
            return
        if found.element.tag != "robot":
            self.models.append(self.collector.model(found.reader, found.element, (reader, include)))
            return
        relative, R, p = reader.pose(include)
        reader.refuse_if(bool(relative), include, "the pose of a URDF is relative to the world")
        self.files.append(self._urdf(include, found.element.get("file"), scene_pose((R, p))))

    def _urdf(self, include, file, pose):
        """The SceneModel of an included URDF; of one that is there already all names start with the include's."""
        reader, name = self.reader, (include.findtext("name") or "").strip() or None
        robot, path = ElementReader(file).root(Path(file).read_bytes()), Path(file)
        still = reader.flag(include, "static") or any(link.get("name") == WORLD for link in robot.iterfind("link"))
        again = name is not None and file in self.included
        self.included.add(file)
        if again and path.suffix != ".xacro":
            rename(robot, with_prefix(robot, f"{name}_"))
            name_meshes_by_paths(robot, reader.packages, path.parent)
            file = etree.tostring(robot, encoding="unicode")
        return SceneModel(file, name, pose, "weld" if still else "free", materials=ModelMaterials(_called(USUAL)))

    # --- the scene ----------------------------------------------------------------------

    def scene(self):
        """The Scene."""
        names, joints = self._names()
        frames, called = self.collector.frames, {**names, **joints}
        self.taken = set(called.values())
        self.robots = [RobotBuilder(model, frames, called, self.taken).build() for model in self.models]
        surfaces = self._surfaces(names)
        step, gravity = self._physics()
        seen = sensors(self.models, self.robots, frames, called, step, self.named)
        entries, primitives = [], []
        lines = {f"sensors[{i}]": at.sourceline for i, (of, at, _) in enumerate(seen) if of is self.reader}
        for model, robot in zip(self.models, self.robots):
            alone = bool(robot.still) and _only_still(model)
            for element, primitive in self._still(model, robot, surfaces, names, alone):
                if model.reader is self.reader:
                    lines[f"primitives[{len(primitives)}]"] = element.sourceline
                primitives.append(primitive)
            if alone:
                continue
            if model.reader is self.reader:
                lines[f"models[{len(entries)}]"] = model.element.sourceline
            own = {names[link]: _called(surfaces[link]) for link in model.links if link in surfaces}
            entries.append(SceneModel(
                robot.urdf, model.name, scene_pose(robot.pose), robot.base, joint_properties=robot.properties,
                materials=ModelMaterials(links=own),
            ))  # fmt: skip
        used = [*surfaces.values(), *([USUAL] if self.files else [])]
        materials = {_called(surface): Material(surface[0], restitution=surface[1]) for surface in used}
        return Scene(
            models=(*entries, *self.files), primitives=tuple(primitives), materials=materials, pairs=_pairs(materials),
            collision_filters=CollisionFilters(disable=tuple(self._filters(names))), gravity=gravity, time_step=step,
            loop_closures=tuple(closure for robot in self.robots for closure in robot.closures),
            sensors=tuple(sensor for *_, sensor in seen),
            packages=self.reader.packages, path=self.reader.path, lines=lines, doubts=warnings_of(self.reader.left),
        )  # fmt: skip

    def _names(self):
        """Names of links and frames, and of joints, in the scene; a model's only link has the model's name."""
        links = {}
        for model in self.models:
            for name in (*model.links, *(frame for frame in model.frames)):
                links[name] = name.rpartition("::")[0] if len(model.links) + len(model.frames) == 1 else name
        short = self.named(list(links.values()))
        joints = [name for model in self.models for name in model.joints]
        return {name: short[asked] for name, asked in links.items()}, self.named(joints)

    def _surfaces(self, names):
        """{link: (friction, restitution)} of links that touch something, by the first of their collisions."""
        found = {}
        for model in self.models:
            for link, part in model.links.items():
                for collision in _collisions(part):
                    surface = surface_of(part.reader, collision)
                    if found.setdefault(link, surface) != surface:
                        part.reader.leave(collision if collision.find("surface") is None else collision.find("surface"))
        return found

    def _physics(self):
        """(time step, gravity); what else engines are told is left to the solver here."""
        reader, physics = self.reader, self.world.find("physics")
        step = 1e-3
        if physics is not None:
            reader.take(physics, "max_step_size", "real_time_factor", "real_time_update_rate", "max_contacts")
            step = reader.number(physics, "max_step_size", 1e-3)
            reader.refuse_if(step <= 0.0, physics, f"<max_step_size> must be above zero, got {step:g}")
            if step > MOST_STEP:
                step = MOST_STEP
                reader.leave(physics.find("max_step_size"))
        return step, tuple(reader.numbers(self.world, "gravity", 3, np.array(GRAVITY)).tolist())

    def _filters(self, names):
        """Pairs of links of one model, which do not touch each other unless its file says so."""
        for model in self.models:
            touching = [names[link] for link, part in model.links.items() if part.element.find("collision") is not None]
            if not (model.self_collide or model.static):
                yield from combinations(touching, 2)

    def _still(self, model, robot, surfaces, names, alone):
        """Primitives of planes and height fields, which stand; one that is all of its model has the link's name."""
        frames = self.collector.frames
        for link, collision in robot.still:
            part, reader = model.links[link], model.links[link].reader
            (base_R, base_p), (R, p) = frames.pose(link), frames.within_link(part, collision, link)
            R, p, shape = base_R @ R, base_p + base_R @ p, shape_of(reader, collision)
            name = names[link]
            if not alone or len(robot.still) > 1:
                name = unused(f"{name}_{reader.name(collision)}", self.taken)
            about = {"name": name, "base": "weld", "material": _called(surfaces[link])}
            about["color"] = _look(reader, part, shape.tag)
            if shape.tag == "plane":
                reader.take(shape, "normal", "size")
                normal = reader.numbers(shape, "normal", 3, np.array([0.0, 0.0, 1.0]))
                reader.refuse_if(np.linalg.norm(normal) < 1e-9, shape, "<normal> has no length")
                R = R if (normal[:2] == 0.0).all() and normal[2] > 0.0 else R @ with_z(normal)
                yield collision, Primitive(shape="plane", pose=scene_pose((R, p)), **about)
                continue
            reader.take(shape, "uri", "size", "pos", "texture", "blend", "use_terrain_paging", "sampling")
            size = reader.numbers(shape, "size", 3, np.ones(3))
            p = p + R @ reader.numbers(shape, "pos", 3, np.zeros(3))
            heights = Heights(file=address(reader, reader.text(shape, "uri")), factor=float(size[2]))
            yield collision, Primitive(shape="height_field", size=tuple(size[:2].tolist()), heights=heights,
                                       pose=scene_pose((R, p)), **about)  # fmt: skip


def _collisions(part):
    """Collisions of a link."""
    return part.element.findall("collision")


def _only_still(model):
    """Whether planes and height fields are all that a model has: they need no link."""
    seen = [element for part in model.links.values() for element in part.element.iter("collision", "visual")]
    sensed = any(part.element.find("sensor") is not None for part in model.links.values())
    still = all(shape_of(model.reader, element).tag in STILL_SHAPES for element in seen)
    return still and len(model.links) == 1 and not (model.frames or sensed)


def _look(reader, part, tag):
    """Colour of the visual that a link has of a plane or height field, () where it gives none."""
    seen = [visual for visual in part.element.findall("visual") if shape_of(reader, visual).tag == tag]
    found = None if not seen else colour_of(reader, seen[0])
    return () if found is None else tuple(found.tolist())


def _called(surface):
    """Name of the material of a friction and a restitution."""
    friction, restitution = surface
    return f"friction_{friction:g}" + (f"_restitution_{restitution:g}" if restitution else "")


def _pairs(materials):
    """The smaller friction of two materials counts in Gazebo, and the larger restitution."""
    return tuple(
        MaterialPair((a, b), min(materials[a].friction, materials[b].friction),
                     restitution=max(materials[a].restitution, materials[b].restitution))
        for a, b in combinations(materials, 2)
    )  # fmt: skip
