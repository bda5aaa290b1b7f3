# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""``mb-contact new``: a folder with a scene of one's own robot, gripper and objects that runs at once."""

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from mb_contact.errors import InputError, ModelError
from mb_contact.model.model import tree_poses
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
from mb_contact.model.shapes.meshes import mesh_content, read_mesh
from mb_contact.model.urdf.composing import compose
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.model.world import build_world
from mb_contact.programs.starting import always_inside, gains, neutral, placed, reach_of, start_positions

ROBOTS = (".urdf", ".xacro")
TABLE = 0.75  #: its height [m]
DENSITY = 300.0  #: of an object, which is rarely solid [kg/m^3]
MASSES = (0.02, 5.0)  #: least and most that an object is given [kg]
METRES = 10.0  #: an object that is longer is meant in millimetres [m]
HANDS = ("tcp", "tool", "ee", "hand", "tip")  #: in names of links that are hands
GAP = 0.05  #: between objects [m]
NOTES = {
    "models": "The robot. joints: where it begins. actuators: position servos, whose gains come of what each joint\n"
              "moves and carries there; kind: effort leaves a joint to your controller.",
    "primitives": "mass: guessed from the volume at 300 kg/m^3, set your own. An object is its hull where that\n"
                  "is near, else its triangles; collision_meshes: convex_hull is quicker.",
    "materials": "friction is that of two equal materials; of two others it is the geometric mean.",
    "collision_filters": "These links overlap wherever the robot goes, by their hulls.",
    "sensors": "image.colour: true brings colours; docs/sensors.md has all sensors.",
    "packages": "Folders of ROS packages, for package:// addresses.",
    "operational_frames": "The hand; `sim.link_pose`, `mb.control` and ROS's operational_space/* know it by this name.",
}  # fmt: skip


@dataclass(frozen=True)
class Wanted:
    """What ``mb-contact new`` is asked for; files are paths or ``package://`` addresses."""

    folder: Path
    robot: str
    gripper: str | None = None
    at: str | None = None
    objects: Sequence[str] = ()
    table: bool = False
    free: bool = False
    packages: Sequence[str] = ()


def new_scene(wanted: Wanted) -> tuple[Path, Scene]:
    """Write the folder; returns the scene's file and the scene.

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
    if (wanted.gripper is None) != (wanted.at is None):
        raise InputError("--gripper and --at belong together: a file, and the link of the robot that it is fixed to")
    folders = [Path(folder) for folder in wanted.packages]
    entry, model = _robot(wanted, folders)
    reach, top = reach_of(model), TABLE if wanted.table else 0.0
    entry = replace(entry, pose=Pose((0.0, 0.0, top)))
    models, primitives = _objects(wanted, folders, reach, top)
    if wanted.table:
        size = (_rounded(2.4 * reach), _rounded(2.4 * reach), TABLE)
        primitives.insert(0, Primitive("table", "box", size, Pose((0.0, 0.0, 0.5 * TABLE))))
    scene = Scene(
        models=(entry, *models), primitives=tuple(primitives), ground=Ground(),
        materials={"grip": Material(0.8)}, path=file, packages=tuple(_beside(folder, file) for folder in folders),
    )  # fmt: skip
    wanted.folder.mkdir(parents=True, exist_ok=True)
    if wanted.gripper is not None:
        (wanted.folder / "robot.urdf").write_text(_composed(wanted, folders), encoding="utf-8")
    scene = _finished(scene, model, wanted.at or _hand(model), reach, top, wanted.free)
    what = "".join(f" and {Path(name).name}" for name in (wanted.gripper, *wanted.objects) if name)
    head = (f"{Path(wanted.robot).name}{what}, written by mb-contact new.",
            "mb-contact view, check and run take this file; docs/scene_reference.md has every key.")  # fmt: skip
    save_scene(scene, file, head, NOTES)
    return file, scene


# --- the robot -------------------------------------------------------------------------------------


def _robot(wanted, folders):
    """Entry of the robot, and its Model without collision shapes."""
    text = _composed(wanted, folders) if wanted.gripper is not None else None
    source = text or _found(wanted.robot, folders)
    options: dict[str, Any] = {}
    try:
        model = load_urdf(source, floating=wanted.free, package_dirs=folders, collision_meshes="skip")
    except ModelError:
        lenient = {"collision_meshes": "skip", "inertia_errors": "warn", "massless": "armature"}
        model = load_urdf(source, floating=wanted.free, package_dirs=folders, **lenient)  # or it is refused for good
        options = {name: value for name, value in model.lenient if name != "collision_meshes"}
    if text is not None:
        address = "robot.urdf"
    else:
        address = wanted.robot if "://" in wanted.robot else _beside(source, wanted.folder / "scene.yaml")
    return SceneModel(address, base="free" if wanted.free else "weld", **options), model


def _composed(wanted, folders):
    """URDF of robot and gripper, whose meshes are named from the new folder."""
    placed = (lambda path: _beside(path, wanted.folder / "robot.urdf"))  # noqa: E731
    robot, gripper = (_found(address, folders) for address in (wanted.robot, wanted.gripper))
    return compose(robot, gripper, wanted.at, package_dirs=folders, placed=placed)


def _hand(model):
    """The link at the end of the longest chain, before it branches into fingers."""
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


def _objects(wanted, folders, reach, top):
    """Entries of objects that are robots' files, and primitives of those that are meshes, in a row before the robot."""
    models, primitives, y = [], [], 0.0
    for number, address in enumerate(wanted.objects):
        path, name = _found(address, folders), f"{Path(address).stem}"
        name = name if wanted.objects.index(address) == number else f"{name}_{number}"
        address = address if "://" in address else _beside(path, wanted.folder / "scene.yaml")
        place = 0.5 * reach
        if path.suffix in ROBOTS:
            models.append(SceneModel(address, base="free", pose=Pose((_rounded(place), _rounded(y), top))))
            y += 0.3
            continue
        body, width = _mesh_object(path, name, address)
        y += 0.5 * width if y else 0.0
        dx, dy, z = body.pose.position
        pose = Pose((_rounded(place + dx), _rounded(y + dy), z + top))
        primitives.append(replace(body, pose=pose))
        y += 0.5 * width + GAP
    return models, primitives


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


def _finished(scene, model, hand, reach, top, free):
    """The scene with start, servos, camera and pairs that are left out."""
    entry = scene.models[0]
    try:
        world = build_world(scene)  # once, since hulls of fine meshes take seconds
    except ModelError:  # a mesh that cannot be read
        entry = replace(entry, collision_meshes="warn")
        world = build_world(replace(scene, models=(entry, *scene.models[1:])))
    overlapping = always_inside(world, model)
    filters = CollisionFilters(disable=tuple(overlapping))
    q = neutral(model)
    if not free and model.joint_names:
        target = (0.5 * reach, 0.0, top + 0.45 * reach)
        q = start_positions(world, model, hand, target, overlapping)
    limits = zip(model.lower[model.joint_v].tolist(), model.upper[model.joint_v].tolist())
    at = {
        name: float(np.clip(_rounded(value), low, high))
        for name, value, (low, high) in zip(model.joint_names, q[model.joint_q].tolist(), limits) if abs(value) > 1e-9
    }
    servos = {
        name: Actuator("position", _rounded(stiffness), _rounded(damping))
        for name, (stiffness, damping) in gains(model, model.q_from(at), scene.gravity).items()
    }
    pose = entry.pose if not free else Pose((0.0, 0.0, _rounded(top + _height(placed(world, model, q), model) + 1e-3)))
    entry = replace(entry, joints=at, actuators=servos, pose=pose, materials=ModelMaterials("grip"))
    frame = {} if free or model.frames[hand].body < 0 else {"operational_frames": (hand,)}
    sensors = (_camera(reach, top),) if _has_embree() else ()
    return replace(
        scene, models=(entry, *scene.models[1:]), collision_filters=filters, sensors=sensors, **frame
    )


def _height(world, model):
    """Of the root of a free robot above its lowest point [m]."""
    from mb_contact.simulation.initial import geometry_poses, support

    R, p = geometry_poses(world)
    own = [g for g, link in enumerate(world.geometry_links) if link in model.frames]
    root = tree_poses(world.tree, world.q0)[1][0][2]
    down = np.array([0.0, 0.0, -1.0])
    return max((root - p[g][2] + support(world.geoms, R, g, down) for g in own), default=0.0)


def _camera(reach, top):
    """A camera beside the robot that sees what lies before it."""
    eye, seen = np.array([1.6 * reach, -1.2 * reach, top + 0.9 * reach]), np.array([0.4 * reach, 0.0, top])
    away = seen - eye
    yaw, pitch = np.arctan2(away[1], away[0]), np.arctan2(-away[2], np.hypot(away[0], away[1]))
    pose = Pose(tuple(_rounded(x) for x in eye), rpy=(0.0, _rounded(pitch), _rounded(yaw)))
    return Sensor("camera", "camera", link="world", pose=pose, rate=10.0, image=Image(width=320, height=240))


def _has_embree():
    """Whether cameras see meshes here (extra ``cameras``)."""
    from importlib.util import find_spec

    return find_spec("embreex") is not None


# --- files ----------------------------------------------------------------------------------------------


def _found(address, folders):
    try:
        return find_resource(address, folders)
    except FileNotFoundError as error:
        raise InputError(f"no file: {error}") from None


def _beside(path, file):
    """A path as seen from a file's folder."""
    return os.path.relpath(Path(path).resolve(), file.parent.resolve())


def _rounded(value):
    """With four digits."""
    return float(f"{float(value):.4g}")
