# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene as MJCF, for MuJoCo: the same bodies, joints, shapes and pairs, read from the arrays of its world."""

from pathlib import Path
from xml.etree import ElementTree

import numpy as np

from mb_contact.checks import Floats
from mb_contact.model.mjcf.compiled import Names
from mb_contact.model.mjcf.elements import number, numbers
from mb_contact.model.mjcf.export_contacts import ContactWriter
from mb_contact.model.mjcf.export_shapes import ShapeWriter
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.model.scene import Scene, load_scene
from mb_contact.model.world import World, build_world
from mb_contact.types import (
    CLOSURE_AXIS,
    CLOSURE_NAMES,
    CLOSURE_POINT,
    CLOSURE_WELD,
    JOINT_FLOATING,
    JOINT_PLANAR,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    JOINT_SCREW,
    JOINT_SPHERICAL,
    JOINT_UNIVERSAL,
    WORLD,
)

Element = ElementTree.Element

HINGE = 0.04  #: of a closure by a hinge: distance of the two points that are held together [m]
#: of closures: at its defaults MuJoCo's give way under the weight of a machine that stands on light rods
STIFF = {"solref": "0.002 1", "solimp": "0.999 0.9999 0.001"}
OPTIONS = 'cone="elliptic" solver="Newton" integrator="Euler"'  #: all else at MuJoCo's defaults
LEAST = 1e-14  #: MuJoCo refuses movable bodies of less mass or smaller moments of inertia [kg, kg m^2]


def export_mjcf(scene: Scene | str | Path, path: str | Path) -> tuple[str, ...]:
    """Write a scene as an MJCF file, in its initial state (keyframe ``initial``).

    Parameters
    ----------
    scene : Scene or str or Path
    path : str or Path
        File to write; an existing one is replaced.

    Returns
    -------
    tuple of str
        What the file does not tell, a sentence each.

    Raises
    ------
    SceneError, ModelError
        The scene cannot be built.
    OSError
        The file cannot be written.

    Examples
    --------
    >>> import tempfile
    >>> ball = mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=1.0)
    >>> file = tempfile.mkdtemp() + "/ball.xml"
    >>> mb.model.export_mjcf(mb.Scene(primitives=(ball,)), file)
    ()
    >>> '<freejoint name="ball" />' in open(file).read()
    True
    """
    scene = scene if isinstance(scene, Scene) else load_scene(scene)
    options = OPTIONS.replace("Euler", "RK4") if scene.integrator == "rk4" else OPTIONS
    writer = MjcfWriter(build_world(scene), scene.time_step, options)
    writer.note_settings(scene)
    Path(path).write_text(writer.text(), encoding="utf-8")
    return tuple(writer.left_out)


def joint_names(world: World) -> list[str]:
    """Names in MJCF of the joints of all bodies; a joint of several degrees of freedom has that of its body."""
    scalar = {int(v): name for v, name in zip(world.joint_v, world.joint_names)}
    if world.follower_v is not None:
        scalar |= {int(v): name for v, name in zip(world.follower_v, world.follower_names)}
    return [
        scalar[int(v)] if nv == 1 else name
        for v, nv, name in zip(world.tree.v_start, world.tree.nv, world.body_names)
    ]


class MjcfWriter:
    """The MJCF of a world.

    Parameters
    ----------
    world : World
    time_step : float
        [s]
    options : str
        Attributes of ``<option>``.
    servos : bool
        Actuators as MuJoCo's; otherwise they are springs of the joints towards their targets, which MuJoCo takes
        implicitly, and neither limits nor motors are written: for comparisons of scenes that reach none.
    """

    def __init__(self, world: World, time_step: float, options: str = OPTIONS, servos: bool = True) -> None:
        self.world, self.tree, self.servos = world, world.tree, servos
        self.joints, self.bodies = joint_names(world), list(world.body_names)
        self.left_out: list[str] = []
        self.sites = Names()
        self.qpos: list[float] = []
        self.qvel: list[float] = []
        self.children: dict[int, list[int]] = {}
        for k, parent in enumerate(self.tree.parent.tolist()):
            self.children.setdefault(parent, []).append(k)
        self.parent_of: dict[int, int] = {}  #: body -> body that it hangs on in the file
        self.elements: dict[int, Element] = {}
        self.root = Element("mujoco")
        ElementTree.SubElement(self.root, "compiler", angle="radian", autolimits="false")
        settings = {"timestep": number(time_step), "gravity": numbers(world.gravity)}
        more = ElementTree.fromstring(f"<option {options}/>").attrib
        ElementTree.SubElement(self.root, "option", {**settings, **more})
        asset = ElementTree.SubElement(self.root, "asset")
        self.shapes = ShapeWriter(world, asset, self.left_out)
        self.elements[WORLD] = ElementTree.SubElement(self.root, "worldbody")
        self.shapes.write(self.elements[WORLD], WORLD)
        for k in self.children.get(WORLD, ()):
            self._body(k, WORLD, np.eye(3), np.zeros(3), [])
        self._frames()
        ContactWriter(world, self.bodies, self.shapes.names, self.parent_of).write(
            ElementTree.SubElement(self.root, "contact"), self.shapes.friction
        )
        self._equalities(ElementTree.SubElement(self.root, "equality"))
        self.controls = self._actuators() if servos else []
        self._keyframe()

    def text(self) -> str:
        """The file."""
        ElementTree.indent(self.root)
        return ElementTree.tostring(self.root, encoding="unicode") + "\n"

    def note_settings(self, scene: Scene) -> None:
        """Say which settings of a scene MuJoCo has no word for."""
        if scene.friction_model not in ("coulomb_cone", "coulomb_polyhedral"):
            self.left_out.append(f"friction_model {scene.friction_model}: MuJoCo has Coulomb's")
        if self.world.restitution is not None and self.world.restitution.any():
            self.left_out.append("restitution: MuJoCo has none")
        if self.world.surfaces is not None and (self.world.surfaces.side >= 0).any():
            self.left_out.append("anisotropic friction: the mean of both coefficients is written")
        if scene.sensors:
            self.left_out.append("sensors")
        if scene.tendons:
            self.left_out.append("tendons")
        if scene.motions:
            self.left_out.append("prescribed motions")

    # --- bodies -----------------------------------------------------------------------------------

    def _body(self, k: int, parent: int, R: Floats, p: Floats, held: list[tuple[int, Floats, Floats]]) -> None:
        """Body k at (R, p) after the joints ``held`` of bodies without mass above it, each placed in their frame.

        MuJoCo refuses movable bodies without mass, but a body may have several joints: those of a body without mass
        and with one body below it go to that one.
        """
        tree = self.tree
        R_joint, p_joint = tree.R_joint[k], tree.p_joint[k]
        R, p = R @ R_joint, p + R @ p_joint
        held = [(i, R_joint.T @ turn, R_joint.T @ (place - p_joint)) for i, turn, place in held]
        held.append((k, np.eye(3), np.zeros(3)))
        below = self.children.get(k, [])
        bare = tree.mass[k] == 0.0 and not tree.inertia[k].any()
        if bare and len(below) == 1 and not (self.world.geoms.body == k).any():
            self._body(below[0], parent, R, p, held)
            return
        self.parent_of[k] = parent
        element = ElementTree.SubElement(self.elements[parent], "body", name=self.bodies[k])
        self.elements[k] = element
        if tree.joint_type[k] != JOINT_FLOATING:
            _place(element, R, p)
        self._inertial(element, k)
        self._gravity(element, k)
        for i, turn, place in held:
            self._joint(element, i, turn, place)
        self.shapes.write(element, k)
        for child in below:
            self._body(child, k, np.eye(3), np.zeros(3), [])

    def _gravity(self, element: Element, k: int) -> None:
        """A gravity of the body's own, as the part of the scene's that is taken from it."""
        own, g = self.tree.body_gravity[k], self.world.gravity
        if np.isnan(own).any():
            return
        part = 1.0 - float(own @ g) / max(float(g @ g), LEAST)
        if np.allclose((1.0 - part) * g, own):
            element.set("gravcomp", f"{part:.17g}")
        else:
            self.left_out.append(f"body '{self.bodies[k]}' has a gravity of its own, beside the scene's direction")

    def _inertial(self, element: Element, k: int) -> None:
        mass, inertia = float(self.tree.mass[k]), self.tree.inertia[k]
        moments, axes = np.linalg.eigh(inertia)  # of ours: releases of MuJoCo leave 1e-9 between a full inertia's axes
        if np.array_equal(inertia, np.diag(np.diag(inertia))):
            moments, axes = np.diag(inertia).copy(), np.eye(3)
        low, middle, high = np.sort(moments)
        if mass < LEAST:
            mass = LEAST
            self.left_out.append(f"body '{self.bodies[k]}' has no mass and gets {LEAST:g} kg")
        if low < LEAST:
            more = LEAST - min(low, 0.0)
            moments += more
            self.left_out.append(f"body '{self.bodies[k]}': {more:g} kg m^2 are added to its singular inertia")
        elif low + middle < high:
            self.left_out.append(f"body '{self.bodies[k]}': MuJoCo refuses its inertia, which no body has")
        inertial = ElementTree.SubElement(element, "inertial", mass=number(mass), diaginertia=numbers(moments))
        _place(inertial, axes * np.linalg.det(axes), self.tree.com[k])
        inertial.set("pos", numbers(self.tree.com[k]))  # which MuJoCo asks for

    def _joint(self, element: Element, k: int, R: Floats, p: Floats) -> None:
        """Joint k at (R, p) of the body's frame, with its place in the keyframe."""
        tree, name, kind = self.tree, self.joints[k], int(self.tree.joint_type[k])
        s, d = int(tree.q_start[k]), int(tree.v_start[k])
        q, v = self.world.q0[s:], self.world.v0[d:]
        axis, second = tree.axis[k], tree.axis2[k]
        if kind == JOINT_FLOATING:
            loose = not (tree.armature[d : d + 6].any() or tree.damping[d : d + 6].any())
            free = ElementTree.SubElement(element, "freejoint" if loose else "joint", name=name)
            if not loose:
                free.set("type", "free")
                free.set("armature", number(tree.armature[d]))
                free.set("damping", number(tree.damping[d]))
            self.qpos += [*q[:3], *np.roll(q[3:7], 1)]
            self.qvel += [*v[3:6], *(quat_to_matrix(q[3:7]).T @ v[:3])]
        elif kind == JOINT_SPHERICAL:
            ball = ElementTree.SubElement(element, "joint", name=name, type="ball", pos=numbers(p))
            ball.set("damping", number(tree.damping[d]))
            ball.set("armature", number(tree.armature[d]))
            turn = R @ quat_to_matrix(q[:4]) @ R.T
            self.qpos += np.roll(matrix_to_quat(turn), 1).tolist()
            self.qvel += (turn.T @ R @ v[:3]).tolist()
        elif kind in (JOINT_REVOLUTE, JOINT_PRISMATIC):
            self._scalar(element, name, kind, R @ axis, p, s, d)
        elif kind == JOINT_SCREW:  # a slide that follows a hinge, by an equality
            ElementTree.SubElement(element, "joint", name=f"{name}_slide", type="slide", axis=numbers(R @ axis))
            self.qpos.append(q[0] * (axis @ second))
            self.qvel.append(v[0] * (axis @ second))
            self._scalar(element, name, JOINT_REVOLUTE, R @ axis, p, s, d)
        elif kind == JOINT_UNIVERSAL:
            for i, line in enumerate((axis, second)):
                self._scalar(element, f"{name}_{i + 1}", JOINT_REVOLUTE, R @ line, p, s + i, d + i)
        elif kind == JOINT_PLANAR:
            lines = ((second, JOINT_PRISMATIC), (np.cross(axis, second), JOINT_PRISMATIC), (axis, JOINT_REVOLUTE))
            for i, (suffix, (line, scalar)) in enumerate(zip(("x", "y", "angle"), lines)):
                self._scalar(element, f"{name}_{suffix}", scalar, R @ line, p, s + i, d + i)

    def _scalar(self, element: Element, name: str, kind: int, axis: Floats, p: Floats, s: int, d: int) -> None:
        """A hinge or a slide with its spring, friction and limits."""
        tree, forces, q = self.tree, self.world.joints, float(self.world.q0[s])
        assert forces is not None
        stiffness, rest, damping = forces.stiffness[d], forces.rest[d], tree.damping[d]
        if not self.servos and forces.gain[d] + forces.rate_gain[d] > 0.0:
            stiffness, damping = stiffness + forces.gain[d], damping + forces.rate_gain[d]
            rest = forces.target[d] if forces.gain[d] > 0.0 else rest
        joint = ElementTree.SubElement(
            element, "joint", name=name, type="hinge" if kind == JOINT_REVOLUTE else "slide", axis=numbers(axis),
            damping=number(damping), armature=number(tree.armature[d]), stiffness=number(stiffness),
            springref=number(rest),
        )  # fmt: skip
        if p.any():
            joint.set("pos", numbers(p))
        if forces.friction[d] > 0.0:
            joint.set("frictionloss", number(forces.friction[d]))
        if self.servos and np.isfinite([tree.lower[d], tree.upper[d]]).any():
            bounds = np.clip([tree.lower[d], tree.upper[d]], -1e6, 1e6)
            joint.set("limited", "true")
            joint.set("range", numbers(bounds))
        if np.isfinite(forces.velocity_limit[d]):
            self.left_out.append(f"joint '{name}': its velocity limit")
        self.qpos.append(q)
        self.qvel.append(float(self.world.v0[d]))

    def _frames(self) -> None:
        """Links that are fixed to bodies, as sites."""
        for link, frame in self.world.frames.items():
            if link not in self.bodies and (frame.body == WORLD or frame.body in self.parent_of):
                self._site(link, frame.body, frame.R, frame.p)

    # --- what couples and drives -------------------------------------------------------------------

    def _site(self, name: str, body: int, R: Floats, p: Floats) -> str:
        """A site on a body; its name."""
        name = self.sites.unique(name)
        _place(ElementTree.SubElement(self.elements[body], "site", name=name), R, p)
        return name

    def _equalities(self, element: Element) -> None:
        """Closures between sites, a hinge as two points of its axis; screws, gears and mimic joints."""
        for k in np.flatnonzero(self.tree.joint_type == JOINT_SCREW):
            joints = {"joint1": f"{self.joints[k]}_slide", "joint2": self.joints[k]}
            lead = numbers([0.0, self.tree.axis[k] @ self.tree.axis2[k], 0.0, 0.0, 0.0])
            ElementTree.SubElement(element, "joint", {**joints, "polycoef": lead, **STIFF})
        couplings = self.world.couplings
        assert couplings is not None
        c, gears = couplings.closures, couplings.gears
        for i, name in enumerate(couplings.closure_names):
            kind = int(c.kind[i])
            if kind not in (CLOSURE_WELD, CLOSURE_AXIS, CLOSURE_POINT):
                self.left_out.append(f"closure '{name}' of kind {CLOSURE_NAMES[kind]}")
                continue
            for along in (-0.5 * HINGE, 0.5 * HINGE) if kind == CLOSURE_AXIS else (0.0,):
                ends = {
                    f"site{1 + side}": self._site(f"{name}_{'ab'[side]}", int(body), R, p + along * R[:, 2])
                    for side, (body, R, p) in enumerate(
                        ((c.body_a[i], c.R_a[i], c.p_a[i]), (c.body_b[i], c.R_b[i], c.p_b[i]))
                    )
                }
                ElementTree.SubElement(element, "weld" if kind == CLOSURE_WELD else "connect", {**ends, **STIFF})
        for i in range(len(gears.ratio)):
            joints = {"joint1": self.joints[gears.body_a[i]], "joint2": self.joints[gears.body_b[i]]}
            coefficients = numbers([gears.offset[i], gears.ratio[i], 0.0, 0.0, 0.0])
            ElementTree.SubElement(element, "joint", {**joints, "polycoef": coefficients, **STIFF})

    def _actuators(self) -> list[float]:
        """Servos, and motors of the other joints that can be driven; their controls at the start."""
        element, controls = ElementTree.SubElement(self.root, "actuator"), []
        forces, limit = self.world.joints, self.world.tree.effort_limit
        assert forces is not None
        for name, d in zip(self.world.joint_names, self.world.joint_v.tolist()):
            if limit[d] == 0.0:
                continue
            gain, rate = float(forces.gain[d]), float(forces.rate_gain[d])
            kind = "position" if gain else "velocity" if rate else "motor"
            actuator = ElementTree.SubElement(element, kind, name=name, joint=name)
            if gain:
                actuator.set("kp", number(gain))
            if gain or rate:
                actuator.set("kv", number(rate))
            if np.isfinite(limit[d]):
                actuator.set("forcelimited", "true")
                actuator.set("forcerange", numbers([-limit[d], limit[d]]))
            controls.append(float(forces.target[d]) if gain else 0.0)
        return controls

    def _keyframe(self) -> None:
        if self.qpos:
            key = ElementTree.SubElement(ElementTree.SubElement(self.root, "keyframe"), "key", name="initial")
            key.set("qpos", numbers(self.qpos))
            key.set("qvel", numbers(self.qvel))
            if self.controls:
                key.set("ctrl", numbers(self.controls))


def _place(element: Element, R: Floats, p: Floats) -> None:
    """Position and quaternion w x y z of an element, left out where they are none."""
    if p.any():
        element.set("pos", numbers(p))
    if not np.array_equal(R, np.eye(3)):
        element.set("quat", numbers(np.roll(matrix_to_quat(R), 1)))
