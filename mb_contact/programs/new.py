# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact new``: a folder with a scene of one's own robots, grippers and objects that runs at once."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import chain, count
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import fromstring

import numpy as np

from mb_contact.errors import InputError, ModelError
from mb_contact.model.poses import tree_poses
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import (
    Actuator,
    CollisionFilters,
    Ground,
    Image,
    Material,
    ModelMaterials,
    Pose,
    Primitive,
    Scene,
    SceneModel,
    Sensor,
    save_scene,
)
from mb_contact.model.scene.reader import SDF
from mb_contact.model.shapes.meshes import mesh_content, read_mesh
from mb_contact.model.urdf.composing import compose
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.model.urdf.xml_reader import doubts_of
from mb_contact.model.world import build_world
from mb_contact.programs.starting import always_inside, gains, neutral, placed, reach_of, start_positions
from mb_contact.simulation.kernels.warm_up import compile_step, is_compiled

ROBOTS = (".urdf", ".xacro", *SDF)
TABLE = 0.75  #: its height [m]
DENSITY = 300.0  #: of an object, which is rarely solid [kg/m^3]
MASSES = (0.02, 5.0)  #: least and most that an object is given [kg]
METRES = 10.0  #: an object that is longer is meant in millimetres [m]
HANDS = ("tcp", "tool", "ee", "hand", "tip")  #: in names of links that are hands
BETWEEN = ("tcp", "grasp", "pinch")  #: in names of links of a gripper that are between its fingers
GAP = 0.05  #: between objects [m]
LOW = 0.1  #: height to which a hand can go down, over the reach of its robot
APART = 0.9  #: bases of neighbours, over the reach of a robot
NOTES = {
    "models": "The robots. joints: where it begins. actuators: position servos, whose gains come of what each joint\n"
              "moves and carries there; kind: effort leaves a joint to your controller.",
    "primitives": "mass: guessed from the volume at 300 kg/m^3, set your own. An object is its hull where that\n"
                  "is near, else its triangles; collision_meshes: convex_hull is quicker.",
    "materials": "friction is that of two equal materials; of two others it is the geometric mean.",
    "collision_filters": "These links overlap wherever the robot goes, by their hulls.",
    "enforce_velocity_limits": "Joints go no faster than their files say; else servos close a gripper in milliseconds.",
    "sensors": "image.colour: true brings colours; docs/sensors.md has all sensors.",
    "packages": "Folders of ROS packages, for package:// addresses.",
    "operational_frames": "Hands; `sim.link_pose`, `mb.control` and ROS's operational_space/* know their names.",
}  # fmt: skip


@dataclass(frozen=True)
class WantedRobot:
    """A robot that ``mb-contact new`` is asked for; files are paths or ``package://`` addresses."""

    robot: str
    gripper: str | None = None
    at: str | None = None  #: link of the robot that the gripper is fixed to
    prefix: str | None = None  #: of all names; by default one where they clash
    place: tuple[float, float, float] | None = None  #: x, y [m] and yaw [rad]; by default beside its neighbours
    free: bool = False  #: whether its base is not fixed
    tcp: tuple[float, float, float] | None = None  #: of a frame between the fingers, in the axes of the link ``at`` [m]
    robot_args: Mapping[str, Any] = field(default_factory=dict)  #: of a xacro file
    gripper_args: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """What ``mb-contact new`` is asked for."""

    folder: Path
    robots: Sequence[WantedRobot]
    objects: Sequence[str] = ()
    table: bool = False
    packages: Sequence[str] = ()


@dataclass
class Part:
    """A robot, or an object with a robot's file, of the scene that is made."""

    wanted: WantedRobot
    model: Any  #: without collision shapes
    entry: SceneModel
    text: str | None  #: URDF to write, of several files or with other names
    reach: float  #: [m]


def new_scene(wanted: Wanted, progress: Callable[[str], Any] = print) -> tuple[Path, Scene]:
    """Write the folder; returns the scene's file and the scene.  ``progress`` gets lines of text where kernels compile.

    Raises
    ------
    InputError
        The folder has a scene already, or gripper and link are not given together.
    ModelError, SceneError
        A robot or an object cannot be read, or does not fit into one scene with the others.
    """
    file = wanted.folder / "scene.yaml"
    if file.exists():
        raise InputError(f"{file} is there already; choose another name, or move it away")
    if wanted.folder.exists() and not wanted.folder.is_dir():
        raise InputError(f"{wanted.folder} is a file; the first word after new is the name of a folder to write")
    folders, top = [Path(folder) for folder in wanted.packages], TABLE if wanted.table else 0.0
    parts, taken = [], {"ground", "table"} if wanted.table else {"ground"}
    for number, robot in enumerate(wanted.robots, start=1):
        if (robot.gripper is None) != (robot.at is None):
            raise InputError("--gripper and --at belong together: a file, and the robot's link that it is fixed to")
        if robot.tcp is not None and robot.gripper is None:
            raise InputError("--tcp needs --gripper and --at: it is a frame between the gripper's fingers")
        address = f"robot_{number}.urdf" if len(wanted.robots) > 1 else "robot.urdf"
        parts.append(_robot(robot, wanted.folder, folders, taken, address))
    low, high = _place(parts, top)
    reach, middle = max(part.reach for part in parts), 0.5 * (low + high)
    camera = _camera(_unused("camera", taken), middle, reach, top)
    taken.add("world")  # which the camera stands in
    handled, primitives = _objects(wanted, folders, taken, middle, reach, top)
    if wanted.table:
        x, y = (_rounded(2.4 * reach + extent) for extent in high - low)
        at = (_rounded(middle[0]), _rounded(middle[1]), 0.5 * TABLE)
        primitives.insert(0, Primitive("table", "box", (x, y, TABLE), Pose(at)))
    scene = Scene(
        models=tuple(part.entry for part in (*parts, *handled)), primitives=tuple(primitives), ground=Ground(),
        materials={"grip": Material(0.8)}, path=file, packages=tuple(_beside(folder, file) for folder in folders),
        sensors=(camera,) if _has_embree() else (),
        doubts=tuple(line for part in (*parts, *handled) for line in doubts_of(fromstring(part.model.urdf))),
    )  # fmt: skip
    given = [name for robot in wanted.robots for name in (robot.robot, robot.gripper) if name]
    what = " and ".join(Path(name).name for name in (*given, *wanted.objects))
    head = (f"{what}, written by mb-contact new.",
            "mb-contact view, check and run take this file; docs/scene_reference.md has every key.")  # fmt: skip
    with _folder_with({part.entry.urdf: part.text for part in (*parts, *handled) if part.text}, wanted.folder):
        if not is_compiled():
            compile_step(progress)
        scene = _finished(scene, parts, reach, top)
        save_scene(scene, file, head, NOTES)
    return file, scene


# --- robots ----------------------------------------------------------------------------------------


def _robot(wanted, folder, folders, taken, address):
    """The Part of a robot, whose names join those that are ``taken``; one that has such names gets a prefix.

    address : of its file in the folder, where one has to be written.
    """
    prefix = wanted.prefix or ""
    model, options = _loaded(wanted, folders, prefix)
    still = "world" if model.root_link == "world" else None  # /tf has one world
    if still and wanted.free:  # its own file says what it is fixed to, and may have a floating joint
        return _robot(replace(wanted, free=False), folder, folders, taken, address)
    own = {f"{model.name}_root" if name == still else name for name in (*model.link_names, *model.joint_names)}
    if wanted.prefix is None:
        prefixes = chain([""], (f"{model.name}_{number}_" for number in count(2)))
        prefix = next(prefix for prefix in prefixes if not taken & {prefix + name for name in own})
    elif taken & own:
        raise InputError(f"with --prefix {prefix} the name '{min(taken & own)}' occurs twice; choose another prefix")
    root = still and f"{prefix}{model.name}_root"
    if root or prefix != (wanted.prefix or ""):
        model, options = _loaded(wanted, folders, prefix, root)
    taken |= {*model.link_names, *model.joint_names}
    text = None
    if wanted.gripper is not None or prefix or root:
        text = _composed(wanted, folders, prefix, root, lambda path: _beside(path, folder / address))
    elif "://" in wanted.robot:
        address = wanted.robot
    else:
        address = _beside(_found(wanted.robot, folders), folder / "scene.yaml")
    if text is None:
        options["xacro_args"] = dict(wanted.robot_args)
    name = f"{prefix}{model.name}" if prefix else None
    entry = SceneModel(address, name, base="free" if wanted.free else "weld", **options)
    return Part(wanted, model, entry, text, reach_of(model))


def _loaded(wanted, folders, prefix, root=None):
    """(Model without collision shapes, options without which it would be refused)."""
    whole = wanted.gripper is None and not (prefix or root)
    text = None if whole else _composed(wanted, folders, prefix, root, str)
    source = text or _found(wanted.robot, folders)
    given: dict[str, Any] = {"floating": wanted.free, "package_dirs": folders, "xacro_args": wanted.robot_args}
    try:
        return load_urdf(source, **given, collision_meshes="skip"), {}
    except ModelError:
        lenient = {"collision_meshes": "skip", "inertia_errors": "warn", "massless": "armature"}
        model = load_urdf(source, **given, **lenient)  # or it is refused for good
        return model, {name: value for name, value in model.lenient if name != "collision_meshes"}


def _composed(wanted, folders, prefix, root, placed):
    """URDF of robot and gripper with prefix and another name of its root, whose meshes are named as ``placed`` says."""
    robot, gripper = (None if name is None else _found(name, folders) for name in (wanted.robot, wanted.gripper))
    if wanted.tcp is not None:
        frame = '<robot name="tcp"><link name="tcp"/></robot>'
        pose, given = Pose(wanted.tcp), wanted.robot_args
        robot = compose(robot, frame, wanted.at, pose, package_dirs=folders, placed=str, xacro_args=given)
    return compose(
        robot, gripper, wanted.at, package_dirs=folders, placed=placed, prefix_all=prefix, root=root,
        xacro_args=wanted.robot_args, gripper_args=wanted.gripper_args,
    )  # fmt: skip


def _place(parts, top):
    """Put the robots where they are asked to be, the others side by side along y; least and largest x and y [m]."""
    apart = APART * max(part.reach for part in parts)
    for number, part in enumerate(parts):
        x, y, yaw = part.wanted.place or (0.0, _rounded((number - 0.5 * (len(parts) - 1)) * apart), 0.0)
        part.entry = replace(part.entry, pose=Pose((x, y, top), rpy=(0.0, 0.0, yaw) if yaw else None))
    places = np.array([part.entry.pose.position[:2] for part in parts])
    return places.min(axis=0), places.max(axis=0)


def _hand(part):
    """The link between the fingers, or at the end of the longest chain before it branches into them."""
    model, at = part.model, part.wanted.at
    if at is not None:
        at = (part.entry.name or "").removesuffix(model.name) + at
        links = [name for name, frame in model.frames.items() if frame.body == model.frames[at].body]
        behind = links[links.index(at) + 1 :]
        return ([name for name in behind if any(word in name for word in BETWEEN)] or [at])[-1]
    tree, depth = model.tree, []
    if not model.n:
        return model.root_link
    for parent in tree.parent.tolist():
        depth.append(1 + (depth[parent] if parent >= 0 else 0))
    body = int(np.argmax(depth))
    while tree.parent[body] >= 0 and np.count_nonzero(tree.parent == tree.parent[body]) > 1:
        body = int(tree.parent[body])
    links = [name for name, frame in model.frames.items() if frame.body == body]
    return ([name for name in links if any(word in name for word in HANDS)] or links)[-1]


# --- objects ------------------------------------------------------------------------------------------


def _objects(wanted, folders, taken, middle, reach, top):
    """Parts of objects that are robots' files, and primitives of those that are meshes, in a row before the robots."""
    parts, primitives, x, y = [], [], _rounded(middle[0] + 0.5 * reach), float(middle[1])
    first = True
    for number, address in enumerate(wanted.objects, start=1):
        path = _found(address, folders)
        if path.suffix in ROBOTS:
            part = _robot(WantedRobot(address, free=True), wanted.folder, folders, taken, f"object_{number}.urdf")
            part.entry = replace(part.entry, pose=Pose((x, _rounded(y), top)))
            parts.append(part)
            y, first = y + 0.3, False
            continue
        address = address if "://" in address else _beside(path, wanted.folder / "scene.yaml")
        body, width = _mesh_object(path, _unused(path.stem, taken), address)
        y += 0.0 if first else 0.5 * width
        dx, dy, z = body.pose.position
        primitives.append(replace(body, pose=Pose((_rounded(x + dx), _rounded(y + dy), z + top))))
        y, first = y + 0.5 * width + GAP, False
    return parts, primitives


def _mesh_object(path, name, address):
    """Primitive of a mesh whose box stands in the middle of z = 0, and its width [m]."""
    from scipy.spatial import ConvexHull, QhullError

    try:
        vertices, _ = read_mesh(mesh_content(path), path.suffix.lower()[1:])
    except ValueError as error:
        raise InputError(f"--object {path}: {error}") from None
    scale = 1e-3 if np.ptp(vertices, axis=0).max() > METRES else 1.0
    vertices = scale * vertices
    try:
        volume = ConvexHull(vertices).volume
    except QhullError:
        volume = 0.0
    mass = float(np.clip(DENSITY * volume, *MASSES))
    low, high = vertices.min(axis=0), vertices.max(axis=0)
    x, y, _ = -0.5 * (low + high)
    body = Primitive(
        name, "mesh", pose=Pose((float(x), float(y), float(-low[2]))), base="free", mass=_rounded(mass),
        mesh=address, scale=(scale,) * 3, material="grip",
    )  # fmt: skip
    return body, float(high[1] - low[1])


# --- start, servos, camera --------------------------------------------------------------------------


def _finished(scene, parts, reach, top):
    """The scene with starts, servos and pairs that are left out."""
    try:
        world = build_world(scene)  # once, since hulls of fine meshes take seconds
    except ModelError:  # a mesh that cannot be read
        for part in parts:
            part.entry = replace(part.entry, collision_meshes="warn")
        world = build_world(replace(scene, models=(*(part.entry for part in parts), *scene.models[len(parts) :])))
    hands, filters, first = [], [], 0
    for part in parts:
        hand = _hand(part)
        world, overlapping = _started(world, part, first, hand, scene.gravity, top)
        filters += overlapping
        hands += [hand] if not part.wanted.free and part.model.frames[hand].body >= 0 else []
        first += len(part.model.expand_q(part.model.neutral_q()))
    return replace(
        scene, models=(*(part.entry for part in parts), *scene.models[len(parts) :]),
        enforce_velocity_limits=all((part.model.velocity_limit > 0.0).all() for part in parts),
        collision_filters=CollisionFilters(disable=tuple(filters)), operational_frames=tuple(hands),
    )  # fmt: skip


def _started(world, part, first, hand, gravity, top):
    """(the world with a robot where it begins, pairs of its links that are left out); the Part gets start and servos.

    first : index of its coordinates in those of the world.
    """
    model, entry, free = part.model, part.entry, part.wanted.free
    overlapping, q = always_inside(world, model, first), neutral(model)
    if not free and model.joint_names:
        x, y, _ = entry.pose.rotation() @ [0.5 * part.reach, 0.0, 0.0] + entry.pose.origin()
        over = x, y, top + 0.45 * part.reach
        q = start_positions(world, model, first, hand, over, top + LOW * part.reach, overlapping)
    limits = zip(model.lower[model.joint_v].tolist(), model.upper[model.joint_v].tolist())
    at = {
        name: float(np.clip(_rounded(value), low, high))
        for name, value, (low, high) in zip(model.joint_names, q[model.joint_q].tolist(), limits) if abs(value) > 1e-9
    }
    servos = {
        name: Actuator("position", _rounded(stiffness), _rounded(damping))
        for name, (stiffness, damping) in gains(model, model.q_from(at), gravity).items()
    }
    world = placed(world, model, q, first)
    if free:
        x, y, _ = entry.pose.position
        entry = replace(entry, pose=replace(entry.pose, position=(x, y, _rounded(top + _height(world, model) + 1e-3))))
    part.entry = replace(entry, joints=at, actuators=servos, materials=ModelMaterials("grip"))
    return world, overlapping


def _height(world, model):
    """Of the root of a free robot above its lowest point [m]."""
    from mb_contact.simulation.initial import geometry_poses, support

    R, p = geometry_poses(world)
    own = [g for g, link in enumerate(world.geometry_links) if link in model.frames]
    root = tree_poses(world.tree, world.q0)[1][0][2]
    down = np.array([0.0, 0.0, -1.0])
    return max((root - p[g][2] + support(world.geoms, R, g, down) for g in own), default=0.0)


def _camera(name, middle, reach, top):
    """A camera beside the robots, whose middle is (2,) [m], that sees what lies before them."""
    at = np.array([*middle, top])
    eye, seen = at + reach * np.array([1.6, -1.2, 0.9]), at + reach * np.array([0.4, 0.0, 0.0])
    away = seen - eye
    yaw, pitch = np.arctan2(away[1], away[0]), np.arctan2(-away[2], np.hypot(away[0], away[1]))
    pose = Pose(tuple(_rounded(x) for x in eye), rpy=(0.0, _rounded(pitch), _rounded(yaw)))
    return Sensor(name, "camera", link="world", pose=pose, rate=10.0, image=Image(width=320, height=240))


def _has_embree():
    """Whether cameras see meshes here (extra ``cameras``)."""
    from importlib.util import find_spec

    return find_spec("embreex") is not None


# --- names and files ------------------------------------------------------------------------------------


def _unused(name, taken):
    """The name, or with a number the first that is not ``taken``, which it joins."""
    found = next(found for found in chain([name], (f"{name}_{number}" for number in count(2))) if found not in taken)
    taken.add(found)
    return found


@contextmanager
def _folder_with(texts, folder):
    """The folder with files {name: text}, of which nothing stays where what follows fails."""
    made = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    files = {folder / name: text for name, text in texts.items()}
    for file in files:
        if file.exists():
            raise InputError(f"{file} is there already; choose another name, or move it away")
    folder.mkdir(parents=True, exist_ok=True)
    try:
        for file, text in files.items():
            file.write_text(text, encoding="utf-8")
        yield
    except BaseException:
        for file in (*files, folder / "scene.yaml"):
            file.unlink(missing_ok=True)
        for parent in made:
            parent.rmdir()
        raise


def _found(address, folders):
    try:
        return find_resource(address, folders)
    except FileNotFoundError as error:
        raise InputError(str(error)) from None


def _beside(path, file):
    """A path as seen from a file's folder."""
    return os.path.relpath(Path(path).resolve(), file.parent.resolve())


def _rounded(value):
    """With four digits."""
    return float(f"{float(value):.4g}")
