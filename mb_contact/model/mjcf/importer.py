# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""An MJCF file to a folder: a scene, a URDF for each child of the world, meshes and height fields."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from mb_contact.model.mjcf import joints as parts
from mb_contact.model.mjcf.compiled import Compiled
from mb_contact.model.mjcf.contact import Contacts
from mb_contact.model.mjcf.losses import losses
from mb_contact.model.mjcf.sensors import sensors
from mb_contact.model.mjcf.shapes import Shapes
from mb_contact.model.mjcf.tendons import tendons
from mb_contact.model.mjcf.tree import Robot, write_robots
from mb_contact.model.scene import CollisionFilters, Scene, SceneModel, save_scene
from mb_contact.model.world import build_world

RK4 = 1  #: mjtIntegrator
State = tuple[np.ndarray, np.ndarray]  #: qpos, qvel
MOST_STEP = 0.1  #: longest time step of a scene [s]


@dataclass(frozen=True)
class ImportedScene:
    """What was made of an MJCF file.

    Examples
    --------
    >>> made = mb.model.ImportedScene("robot/scene.yaml", (), ("world", "trunk"), ("hip",))
    >>> made.links[1], made.joints
    ('trunk', ('hip',))
    """

    scene: Path  #: the scene file
    left_out: tuple[str, ...]  #: what a scene cannot tell, a sentence each
    links: tuple[str, ...]  #: link of each of MuJoCo's bodies
    joints: tuple[str, ...]  #: joint of each of MuJoCo's joints; that of a free body goes by its link


def import_mjcf(path: str | Path, folder: str | Path, keyframe: str | None = None) -> ImportedScene:
    """Turn an MJCF model into a folder with a scene, a URDF for each child of the world, meshes and height fields.

    The package ``mujoco`` compiles the model; the folder needs it no more.  Positions of joints mean the same in both.

    Parameters
    ----------
    path : str or Path
        MJCF file (or a URDF that MuJoCo reads).
    folder : str or Path
        Where to write ``scene.yaml`` and what it needs; files of the same names are replaced.
    keyframe : str, optional
        Keyframe to start from; by default ``home``, else the first, else the reference position.

    Returns
    -------
    ImportedScene
        With a sentence for everything that could not be told.

    Raises
    ------
    ModelError
        The file is missing, MuJoCo is not installed or refuses the file, or what comes out is no robot that can be
        simulated; the message then names the place in the URDF that was written.
    SceneError
        The same of the scene.
    InputError
        There is no such keyframe.

    Examples
    --------
    >>> mb.model.import_mjcf("nowhere.xml", "robot")
    Traceback (most recent call last):
    mb_contact.errors.ModelError: no MJCF: nowhere.xml is not a file
    """
    compiled, folder = Compiled(path), Path(folder)
    q, v = parts.start(compiled, keyframe)
    folder.mkdir(parents=True, exist_ok=True)
    contacts = Contacts(compiled)
    shapes = Shapes(compiled, contacts, folder)
    robots = write_robots(compiled, shapes, folder)
    scene = _scene(compiled, contacts, shapes, robots, (q, v), folder / "scene.yaml")
    scene = _with_filters(scene, contacts)
    compiled.left_out += losses(compiled, shapes.pictures)
    parts.of_several(compiled, q)
    left_out = tuple(dict.fromkeys(compiled.left_out))
    hulls = ("Its collision meshes are their hulls, as in MuJoCo.",) if shapes.files else ()
    head = (f"Made of {compiled.path.name} by mb-contact import.", *hulls, *(f"Left out: {line}" for line in left_out))
    save_scene(scene, folder / "scene.yaml", head)
    return ImportedScene(folder / "scene.yaml", left_out, tuple(compiled.links), tuple(compiled.joints))


def _scene(c: Compiled, contacts: Contacts, shapes: Shapes, robots: list[Robot], state: State, path: Path) -> Scene:
    """The scene without its collision filters."""
    m = c.m
    actuators, told = parts.actuators(c)
    closures, gears = parts.equalities(c)
    pulling, rk4 = tendons(c), m.opt.integrator == RK4
    if pulling and rk4:
        c.left_out.append("its integrator RK4: scenes with tendons have semi_implicit_euler")
    still = c.flags & {"GRAVITY"}
    if m.opt.timestep > MOST_STEP:
        c.left_out.append(f"the time step of {m.opt.timestep:g} s is taken as {MOST_STEP:g} s")
    return Scene(
        models=tuple(_model(c, contacts, robot, actuators, told, state) for robot in robots),
        primitives=shapes.primitives(), materials=contacts.materials(), pairs=contacts.pairs(),
        loop_closures=closures, gears=gears, tendons=pulling,
        sensors=sensors(c), time_step=min(float(m.opt.timestep), MOST_STEP),
        gravity=(0.0, 0.0, 0.0) if still else tuple(m.opt.gravity.tolist()),
        integrator="rk4" if rk4 and not pulling else "semi_implicit_euler", path=path,
    )  # fmt: skip


def _model(c, contacts, robot, actuators, told, state):
    """A robot of the scene."""
    q, v = state
    names = {c.joints[j] for j in robot.joints}
    pose, velocity = parts.free_start(c, robot.top, q, v) if robot.free else (robot.pose, None)
    return SceneModel(
        robot.file, pose=pose, base="free" if robot.free else "weld",
        joints=parts.positions(c, robot.joints, q), velocities=parts.velocities(c, robot.joints, v),
        joint_properties={
            **parts.properties(c, robot.joints, actuators, told), **parts.properties_of_several(c, robot.links),
        },
        actuators={name: actuator for name, actuator in actuators.items() if name in names}, velocity=velocity,
        materials=contacts.link_materials(robot.links),
    )  # fmt: skip


def _with_filters(scene: Scene, contacts: Contacts) -> Scene:
    """The scene with filters that leave what MuJoCo tests: neighbours in a tree are filtered where that is the same."""
    wanted = contacts.wanted().keys()
    for adjacent in (True, False):
        unfiltered = replace(scene, collision_filters=CollisionFilters(adjacent))
        world = build_world(unfiltered)
        tested = {frozenset(world.geometry_links[g] for g in pair) for pair in world.geoms.pairs.tolist()}
        if wanted <= tested:
            break
    return replace(scene, collision_filters=contacts.filters(tested, adjacent))
