# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of contacts in a tree: YAML to SurfaceTree; every error names file, line and key."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from mb_contact.errors import DynamicsError, InputError, ModelError, SceneError
from mb_contact.model.resources import find_resource
from mb_contact.model.scene import DEFAULT_RATES
from mb_contact.model.scene_yaml import many, named, number, open_scene, record, text
from mb_contact.model.urdf import load_urdf
from mb_contact.surfaces.bodies import GRAVITY
from mb_contact.surfaces.scene_file import (
    SETTINGS,
    TREE_KEY,
    BodyPart,
    Shape,
    body_of,
    body_part,
    build_motion,
    describe_motion_scene,
    friction,
    is_tree_scene,
    load_surface_scene,
    shape,
    surface_of,
)
from mb_contact.surfaces.tree import SurfaceTree
from mb_contact.surfaces.tree_parts import ContactJoint


@dataclass(frozen=True)
class ModelPart:
    """The robot that carries the contacts, welded to the world."""

    urdf: str
    joints: dict = field(default_factory=dict)
    velocities: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Support:
    """What a body touches: a surface on a link, on the body of an earlier contact, or in the world."""

    surface: Shape
    link: str | None = None


@dataclass(frozen=True)
class ContactPart:
    """One contact."""

    on: Support
    body: BodyPart
    friction: float = 0.0
    restitution: float = 0.0


@dataclass(frozen=True)
class TreeScene:
    """A scene of contacts in a tree."""

    contacts: tuple
    model: ModelPart | None = None
    time_step: float = 0.001
    gravity: tuple = GRAVITY
    rates: dict = field(default_factory=lambda: dict(DEFAULT_RATES))
    path: Path | None = None
    lines: dict = field(default_factory=dict, repr=False, compare=False)

    def error(self, key, message):
        """A SceneError at the line of ``key``."""
        return SceneError(f"{self.path}:{self.lines.get(key, 1)}: {key}: {message}")


READERS = {
    **SETTINGS,
    "model": record(ModelPart, {"urdf": text, "joints": named(number()), "velocities": named(number())}, ("urdf",)),
    TREE_KEY: many(record(ContactPart, {
        "on": record(Support, {"surface": shape, "link": text}, ("surface",)),
        "body": body_part,
        "friction": friction,
        "restitution": number(low=0.0, high=1.0),
    }, ("on", "body"))),
}  # fmt: skip


def load_tree_scene(path):
    """Read a scene of contacts in a tree.

    Raises
    ------
    SceneError
        As ``load_scene``.
    """
    reader, root = open_scene(path)
    values = reader.mapping(root, "", READERS, (TREE_KEY,))
    return TreeScene(tuple(values.pop(TREE_KEY)), **values, path=reader.path, lines=reader.lines)


def build_tree(scene):
    """The SurfaceTree of a scene, at its start.

    Raises
    ------
    SceneError
        A robot that cannot be read, a joint or a link that does not exist, a surface with none or several of its kinds,
        a body without mass properties or too light to move, one that does not touch.
    """
    model = _model(scene)
    joints = []
    for i, part in enumerate(scene.contacts):
        key = f"{TREE_KEY}[{i}]"
        base = surface_of(scene, part.on.surface, f"{key}.on.surface", f"{part.on.link or 'world'}'s surface")
        joints.append(ContactJoint(
            part.body.name, part.on.link, base, body_of(scene, part.body, f"{key}.body"), "free",
            friction=part.friction, restitution=part.restitution,
        ))  # fmt: skip
        try:
            tree = SurfaceTree(joints, model, scene.gravity)
        except InputError as error:
            raise scene.error(key, str(error)) from None
    if not joints:
        raise scene.error(TREE_KEY, "needs at least one contact")
    start_tree(tree, scene)
    try:
        tree.energy()
    except DynamicsError as error:  # a body so light that nothing resists its joint
        raise scene.error(TREE_KEY, f"the scene cannot begin to move: {error}; correct mass or inertia") from None
    return tree


def _model(scene):
    part = scene.model
    if part is None:
        return None
    try:
        start = Path() if scene.path is None else Path(scene.path).parent
        return load_urdf(find_resource(part.urdf, start=start))
    except (FileNotFoundError, ModelError) as error:
        raise scene.error("model.urdf", str(error)) from None


def start_tree(tree, scene):
    """Bring a tree to the start of its scene; raises as ``build_tree``."""
    _place_robot(tree, scene)
    for i, part in enumerate(scene.contacts):
        try:
            _place_body(tree, part.body)
        except (InputError, DynamicsError) as error:
            raise scene.error(f"{TREE_KEY}[{i}].body", str(error)) from None


def _place_robot(tree, scene):
    tree.clear()  # nothing touches until it is put where it does
    model, part = tree.model, scene.model
    if model is None:
        return
    for key, values, target, at in (
        ("joints", part.joints, tree.q, model.joint_q), ("velocities", part.velocities, tree.v, model.joint_v),
    ):  # fmt: skip
        for name, value in values.items():
            if name not in model.joint_names:
                known = ", ".join(model.joint_names)
                raise scene.error(f"model.{key}.{name}", f"robot '{model.name}' has no joint '{name}'; it has {known}")
            target[at[model.joint_names.index(name)]] = value


def _place_body(tree, body):
    """Lowered along gravity until it touches, and moving as told, or in free flight."""
    R, p = body.pose.rotation(), body.pose.origin()
    w, v = np.array(body.velocity.angular), np.array(body.velocity.linear)
    if body.start == "free":
        tree.fly(body.name, R, p, w, v)
        return
    q, _ = tree.first_touch(body.name, R, p)
    slip, spin = tree.relative_velocity(body.name, q, w, v)
    if body.start == "rolling":
        tree.roll(body.name, q, spin)
    else:
        tree.slide(body.name, q, tree.pair(body.name).rates(q) @ (*spin, *slip))


def describe_surface_scene(path):
    """Lines about a scene of surfaces of either kind: its bodies and where they touch; raises as ``build_tree``."""
    if not is_tree_scene(path):
        return describe_motion_scene(path)
    scene = load_tree_scene(path)
    tree = build_tree(scene)
    robot = "none" if tree.model is None else f"{tree.model.name}, {tree.model.n} bodies, N = {tree.model.N}"
    lines = [f"scene      {scene.path}", f"robot      {robot}"]
    for part, joint, pair in zip(scene.contacts, tree.contacts, tree.pairs):
        name = joint.name
        lines += [
            f"body       {name} on {joint.parent or 'the world'}: {pair.surfaces[1]!r} on {pair.surfaces[0]!r}, "
            f"{joint.body.mass:g} kg",
            f"           starts {tree.mode_name(name)}, friction {part.friction:g}, restitution {part.restitution:g}",
        ]
        touch = tree.contact_point(name)
        if touch is not None:
            place = ", ".join(f"{x:.6g}" for x in touch[0])
            lines.append(f"           touches at ({place}) m with {tree.contact_wrench(name)[1]:.6g} N")
    return lines


def build_surface_scene(path):
    """(scene, SurfaceMotion or SurfaceTree) of a scene file of either kind."""
    if is_tree_scene(path):
        scene = load_tree_scene(path)
        return scene, build_tree(scene)
    scene = load_surface_scene(path)
    return scene, build_motion(scene)
