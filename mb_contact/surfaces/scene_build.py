# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Scenes of smooth bodies in contact, built: a SurfaceTree at its start."""

from pathlib import Path

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.errors import DynamicsError, InputError, ModelError, SceneError
from mb_contact.model.resources import exists, find_resource
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.surfaces import shapes
from mb_contact.surfaces.bodies import SurfaceBody, check_body
from mb_contact.surfaces.mass import shell
from mb_contact.surfaces.nets import load_net
from mb_contact.surfaces.parts import ContactJoint, moving_base
from mb_contact.surfaces.scene_file import TREE_KEY, SurfaceScene, load_surface_scene
from mb_contact.surfaces.subdivision import load_cage
from mb_contact.surfaces.tree import SurfaceTree

FROM_FILES = {"net": load_net, "subdivision": load_cage}


def build_surface_scene(path: str | Path) -> tuple[SurfaceScene, SurfaceTree]:
    """Read and build a scene of smooth surfaces.

    Parameters
    ----------
    path : str or Path
        Also as a ``package://`` address.

    Returns
    -------
    scene : SurfaceScene
    tree : SurfaceTree
        At its start.

    Raises
    ------
    SceneError
        The file is missing or malformed; names file, line and key.

    Examples
    --------
    >>> scene, tree = mb.surfaces.build_surface_scene("package://mb_contact/config/bezier_patch.yaml")
    >>> tree.mode_name(scene.contacts[0].body.name)
    'sliding'
    """
    scene = load_surface_scene(path)
    return scene, build_tree(scene)


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
        key = scene.key(i)
        base = _surface(scene, part.on.surface, f"{key}.on.surface", f"{part.on.link or 'world'}'s surface")
        joints.append(ContactJoint(
            part.body.name, part.on.link, base, _body(scene, part.body, f"{key}.body"), "free",
            friction=part.friction, restitution=part.restitution,
        ))  # fmt: skip
        try:
            tree = SurfaceTree(joints, model, scene.gravity)
        except InputError as error:
            raise scene.error(key, str(error)) from None
    if not joints:
        raise scene.error(TREE_KEY, "needs at least one contact")
    start(tree, scene)
    return tree


def _model(scene):
    """The robot that carries the contacts, or the base; None: the world does."""
    part, base = scene.model, scene.base
    if base is not None:
        moves = np.array(base.velocity.linear), np.array(base.velocity.angular)
        return moving_base(base.name, base.pose.rotation(), base.pose.origin(), *moves)
    if part is None:
        return None
    try:
        start = Path() if scene.path is None else Path(scene.path).parent
        return load_urdf(find_resource(part.urdf, start=start))
    except (FileNotFoundError, ModelError) as error:
        raise scene.error("model.urdf", str(error)) from None


def _body(scene, body, place):
    """The SurfaceBody of a part of the scene."""
    surface = _surface(scene, body.surface, f"{place}.surface", body.name)
    missing = "the key 'inertia' is missing: " if body.inertia is None else ""
    try:
        if missing:
            return shell(surface, body.mass)
        solid = SurfaceBody(surface, body.mass, np.diag(body.inertia), np.array(body.com))
        check_body(solid)
    except InputError as error:
        raise scene.error(place, f"{missing}{error}") from None
    return solid


def _surface(scene, shape, key, name):
    """The Surface of a part of the scene, placed in its body."""
    given = [kind for kind in shape.ONE_OF[0] if getattr(shape, kind) is not None]
    value = getattr(shape, given[0])
    try:
        if given[0] in FROM_FILES:
            surface = FROM_FILES[given[0]](_near(scene, value), name)
        elif given[0] == "torus":
            surface = shapes.torus(*value, name=name)
        elif given[0] == "plane":
            surface = shapes.plane(name)
        else:
            surface = getattr(shapes, given[0])(value, name=name)
    except InputError as error:
        raise scene.error(key, str(error)) from None
    except SceneError as error:
        raise scene.error(f"{key}.{given[0]}", str(error)) from None
    if shape.side == "inner":
        surface = surface.flipped()
    return surface.placed(shape.pose.rotation(), shape.pose.origin())


def _near(scene, name):
    """A file beside the scene, or what ``find_resource`` finds."""
    beside = None if scene.path is None else Path(scene.path).parent / name
    return beside if beside is not None and exists(beside) else name


def start(tree, scene):
    """Bring a tree to the start of its scene; raises as ``build_tree``."""
    _place_robot(tree, scene)
    for i, part in enumerate(scene.contacts):
        try:
            _place_body(tree, part.body)
        except (InputError, DynamicsError) as error:
            raise scene.error(f"{scene.key(i)}.body", str(error)) from None
    try:
        tree.energy()
    except DynamicsError as error:  # a body so light that nothing resists its joint, or a line contact
        raise scene.error(TREE_KEY, f"the scene cannot begin to move: {error}") from None


def _place_robot(tree, scene):
    tree.clear()  # nothing touches until it is put where it does
    model, part = tree.model, scene.model
    if part is None:
        return
    for key, values, target, at in (
        ("joints", part.joints, tree.q, model.joint_q), ("velocities", part.velocities, tree.v, model.joint_v),
    ):  # fmt: skip
        for name, value in values.items():
            if name not in model.joint_names:
                known = instead_of(name, model.joint_names)
                raise scene.error(f"model.{key}.{name}", f"robot '{model.name}' has no joint '{name}'; {known}")
            target[at[model.joint_names.index(name)]] = value


def _place_body(tree, body):
    """Lowered along gravity until it touches, and moving as told, or in free flight."""
    R, p = body.pose.rotation(), body.pose.origin()
    w, v = np.array(body.velocity.angular), np.array(body.velocity.linear)
    if body.start == "free":
        tree.fly(body.name, R, p, w, v)
        return
    q, _ = tree.first_touch(body.name, R, p)
    joint = next(contact for contact in tree.contacts if contact.name == body.name)
    slip, spin = tree.relative_velocity(body.name, q, w, v + np.cross(w, R @ joint.body.com))
    if body.start == "rolling":
        tree.roll(body.name, q, spin)
    else:
        tree.slide(body.name, q, tree.pair(body.name).rates(q) @ (*spin, *slip))


def describe_surface_scene(path):
    """Lines about a scene of surfaces: its bodies and where they touch; raises as ``build_tree``."""
    scene, tree = build_surface_scene(path)
    lines = [f"scene      {scene.path}"]
    if scene.base is None:
        robot = "none" if tree.model is None else f"{tree.model.name}, {tree.model.n} bodies, N = {tree.model.N}"
        lines.append(f"robot      {robot}")
    for part, joint, pair in zip(scene.contacts, tree.contacts, tree.pairs):
        name, com, moments = joint.name, joint.body.com, np.diag(joint.body.inertia)
        lines += [
            f"body       {name} on {joint.parent or 'the world'}: {pair.surfaces[1]!r} on {pair.surfaces[0]!r}, "
            f"{joint.body.mass:g} kg",
            f"           centre of mass ({_numbers(com)}) m, moments ({_numbers(moments)}) kg m^2",
            f"           starts {tree.mode_name(name)}, friction {part.friction:g}, restitution {part.restitution:g}",
        ]
        touch = tree.contact_point(name)
        if touch is not None:
            lines.append(f"           touches at ({_numbers(touch[0])}) m with {tree.contact_wrench(name)[1]:.6g} N")
    return lines


def _numbers(values):
    return ", ".join(f"{x:.6g}" for x in values)
