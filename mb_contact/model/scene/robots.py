# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Robots of a scene: where their files are, how they stand, and what a scene says of their links and joints."""

from dataclasses import dataclass
from typing import Any, ClassVar

from mb_contact.keys.declaration import key
from mb_contact.model.scene.bodies import BASES, Pose, Velocity
from mb_contact.model.scene.flexible_links import FlexibleLink

#: Kinds of actuators, and which gains each has.
ACTUATORS = ("effort", "velocity", "position")


@dataclass(frozen=True)
class ModelMaterials:
    """Materials of a robot's links: one for all, and exceptions by link name.

    Examples
    --------
    >>> mb.model.ModelMaterials(default="steel", links={"pad": "rubber"}).links["pad"]
    'rubber'
    """

    default: str | None = key("Material of all links but the exceptions.", None, refers="materials", example="steel")
    links: dict[str, str] = key(
        "Materials of single links.", factory=dict, refers="materials", example="{left_pad: rubber}"
    )


#: What to do with a collision mesh, see :class:`MeshChoices`.
MESH_CHOICES = ("convex_hull", "convex_pieces", "mesh", "skip", "warn", "error")


@dataclass(frozen=True)
class MeshChoices:
    """What becomes of collision meshes: one choice for all links, and exceptions by link name.

    ``convex_hull``: the hull of each mesh; ``convex_pieces``: the hulls of its convex decomposition; ``mesh``: its
    triangles; ``skip``: left out, with a warning; ``error``: the file is refused; ``warn``: the hull, and left out with
    a warning where the mesh cannot be read.
    """

    default: str = key("Choice for all links but the exceptions.", "convex_hull", choices=MESH_CHOICES)
    links: dict[str, str] = key(
        "Choices for single links.", factory=dict, choices=MESH_CHOICES, example="{hand: convex_pieces}"
    )
    tolerance: float | None = key(
        "Deviation up to which convex pieces are cut finer.", None, unit="m", above=0.0, example="0.002"
    )

    def of(self, link):
        """The choice for one link."""
        return self.links.get(link, self.default)


@dataclass(frozen=True)
class JointProperties:
    """What a scene says of a joint beyond its URDF; what is left out stays as it is there.

    A joint of several degrees of freedom has ``armature`` and ``damping``, the same for each; that of a free base is
    called ``ROOT_floating`` after the root link.

    Examples
    --------
    >>> sprung = {"hinge_0": mb.model.JointProperties(stiffness=20.0, damping=0.5)}
    >>> arm = mb.model.SceneModel(mb.pendulum(1).urdf(), joint_properties=sprung)
    >>> mb.build_world(mb.Scene(models=(arm,))).joints.stiffness
    array([20.])
    """

    stiffness: float | None = key("Spring towards `rest_position`.", None, unit="N m/rad, N/m", low=0.0, example="20.0")
    rest_position: float | None = key(
        "Position at which the spring has no force.", None, unit="rad, m", beside=("stiffness",), example="0.3"
    )
    damping: float | None = key("Viscous damping.", None, unit="N m s/rad, N s/m", low=0.0, example="0.5")
    friction: float | None = key("Coulomb friction.", None, unit="N m, N", low=0.0, example="0.1")
    armature: float | None = key(
        "Rotor inertia as seen at the joint.", None, unit="kg m^2, kg", low=0.0, example="0.01"
    )
    velocity_limit: float | None = key("Velocity limit, enforced.", None, unit="rad/s, m/s", above=0.0, example="3.0")
    effort_limit: float | None = key("Largest effort that is taken.", None, unit="N m, N", low=0.0, example="50.0")


#: Field of JointProperties, name of the array it sets, and whose it is: of JointForces or of the degrees of freedom.
JOINT_PROPERTIES = (
    ("stiffness", "stiffness", "forces"), ("rest_position", "rest", "forces"), ("friction", "friction", "forces"),
    ("velocity_limit", "velocity_limit", "forces"), ("damping", "damping", "dofs"),
    ("armature", "armature", "dofs"), ("effort_limit", "effort_limit", "dofs"),
)


@dataclass(frozen=True)
class Actuator:
    """What drives a joint: a servo beside the efforts that are commanded, and what its gear and rotor add to the joint.

    All of it is as seen at the joint, but ``rotor_inertia`` and ``rotor_damping``, which the gear multiplies by the
    square of its ratio.  The effort, the commanded one included, is bounded by the joint's effort limit.

    With ``series_stiffness`` the actuator moves a rotor, which moves the joint through a spring: the joint stands for
    the rotor, and a joint ``NAME_spring`` behind it for the spring's deflection.

    Examples
    --------
    >>> servo = mb.model.Actuator("position", stiffness=1e6, damping=10.0, gear_ratio=100.0, rotor_inertia=1e-5)
    >>> arm = mb.model.SceneModel(mb.pendulum(2).urdf(), actuators={"hinge_1": servo})
    >>> mb.build_world(mb.Scene(models=(arm,))).tree.armature
    array([0. , 0.1])
    """

    kind: str = key("What its commands are.", "effort", choices=ACTUATORS, required=True, example="position")
    stiffness: float = key(
        "Gain of the position error.", 0.0, unit="N m/rad, N/m", low=0.0, example="200.0",
        only={"kind": ("position",)}, needed={"kind": ("position",)},
    )
    damping: float = key(
        "Gain of the velocity error.", 0.0, unit="N m s/rad, N s/m", low=0.0, example="10.0",
        only={"kind": ("velocity", "position")}, needed={"kind": ("velocity",)},
    )
    gear_ratio: float = key("Turns of the rotor for one of the joint.", 1.0, unit="1, rad/m", example="100.0")
    rotor_inertia: float = key("Inertia of the rotor about its axis.", 0.0, unit="kg m^2", low=0.0, example="1.0e-5")
    rotor_damping: float = key("Viscous damping of the rotor.", 0.0, unit="N m s/rad", low=0.0, example="1.0e-4")
    effort_limit: float | None = key(
        "Effort limit in place of the robot file's.", None, unit="N m, N", low=0.0, example="30.0"
    )
    series_stiffness: float | None = key(
        "Spring between rotor and joint.", None, unit="N m/rad, N/m", above=0.0, example="500.0",
        beside=("rotor_inertia", "gear_ratio"),
    )
    series_damping: float = key(
        "Damping beside that spring.", 0.0, unit="N m s/rad, N s/m", low=0.0, example="2.0",
        beside=("series_stiffness",),
    )


@dataclass(frozen=True)
class SceneModel:
    """A robot: where its URDF, xacro or SDF is, where it stands and how it starts.

    ``urdf`` is a path (relative to the scene file), a ``package://`` address or XML text;
    ``base`` is ``weld`` (the root link is fixed to the inertial frame) or ``free``; a free one may start
    with a ``velocity``, joints with ``velocities`` [rad/s, m/s].
    ``collision_meshes``, ``inertia_errors``, ``mimic``, ``massless`` and ``xacro_args`` are those of
    :func:`~mb_contact.model.urdf.reader.load_urdf`.

    Examples
    --------
    >>> arm = mb.model.SceneModel("package://mb_contact/urdf/plate_arm.urdf", name="arm")
    >>> mb.build_world(mb.Scene(models=(arm,))).joint_names[0]
    'shoulder'
    """

    NOUN: ClassVar[str] = "robot"

    urdf: str = key(
        "URDF or xacro file, or SDF of one model: a path from the scene file's folder, or package://.",
        example="package://mb_contact/urdf/dual_arm.urdf", file=True,
    )
    name: str | None = key("Name; by default that of the robot file.", None, example="arm")
    pose: Pose = key("Where the root link stands.", Pose())
    base: str = key("Whether the root link is fixed to the world.", "weld", choices=BASES)
    joints: dict[str, float] = key(
        "Initial positions of joints.", factory=dict, unit="rad, m", example="{elbow: 0.5}"
    )
    velocities: dict[str, float] = key(
        "Initial velocities of joints.", factory=dict, unit="rad/s, m/s", example="{elbow: 1.0}"
    )
    joint_properties: dict[str, JointProperties] = key("What joints have beyond their file.", factory=dict)
    actuators: dict[str, Actuator] = key("What drives joints.", factory=dict)
    velocity: Velocity | None = key("Initial velocity of the root link.", None, only={"base": ("free",)})
    materials: ModelMaterials = key("Materials of the links.", ModelMaterials())
    collision_meshes: str | MeshChoices = key(
        "What becomes of collision meshes.", "convex_hull", choices=MESH_CHOICES, example="convex_pieces"
    )
    inertia_errors: str = key(
        "Whether an impossible inertia is an error or a warning.", "error", choices=("error", "warn")
    )
    mimic: str = key(
        "What becomes of mimic joints: they follow, move on their own, or are refused.", "eliminate",
        choices=("eliminate", "independent", "error"),
    )
    massless: str = key(
        "What becomes of moving links without inertia: refused, merged with their neighbours, or given an armature.",
        "error", choices=("error", "merge", "armature"),
    )
    xacro_args: dict[str, Any] = key("Arguments of a xacro file.", factory=dict, example="{gripper: true}")
    srdf: str | None = key("SRDF file with collision rules of this robot.", None, example="arm.srdf", file=True)
    flexible_links: dict[str, FlexibleLink] = key(
        "Links that deform in modes.", factory=dict, why="the others know rigid bodies only",
        needs={"solver": ("auto",), "integrator": ("semi_implicit_euler", "rk4", "adaptive")},
    )
