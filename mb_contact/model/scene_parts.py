# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Parts of a scene: robots, shapes, materials, grounds, loops and gears, as plain frozen records."""

from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mb_contact.checks import Floats
from mb_contact.model.flexible.spec import FlexibleLink
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix, rpy_to_matrix
from mb_contact.types import (
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_NAMES,
    SHAPE_SPHERE,
)

#: Kinds of actuators, and which gains each has, the one that it needs first.
ACTUATORS = MappingProxyType({"effort": (), "velocity": ("damping",), "position": ("stiffness", "damping")})

INTERPOLATIONS = ("cubic", "linear")  #: of prescribed motions

DEFAULT_FRICTION = 0.5  #: of a geometry that has no material

#: Size entries of a primitive in a scene, in the words of a URDF: full lengths [m].
SHAPE_SIZES = MappingProxyType({
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "box": ("x", "y", "z"),
    "cone": ("radius", "length"),
    "ellipsoid": ("x", "y", "z"),
    "mesh": (),
    "height_field": ("x", "y"),
    "plane": (),
})

#: Sizes of kernels over full lengths: radii stay, lengths are halved.
SIZE_FACTORS = MappingProxyType({
    SHAPE_SPHERE: (1.0,),
    SHAPE_CAPSULE: (1.0, 0.5),
    SHAPE_CYLINDER: (1.0, 0.5),
    SHAPE_CONE: (1.0, 0.5),
    SHAPE_BOX: (0.5, 0.5, 0.5),
    SHAPE_ELLIPSOID: (0.5, 0.5, 0.5),
})


def kernel_size(kind: int, lengths: ArrayLike) -> Floats:
    """Size of a shape as the kernels want it.

    Parameters
    ----------
    kind : int
        SHAPE_*.
    lengths : array_like
        Full lengths, as a scene has them [m].

    Returns
    -------
    ndarray (3,)
        As SHAPE_* says [m]; zeros where a shape has none.
    """
    size, factors = np.zeros(3), SIZE_FACTORS.get(kind, ())
    size[: len(factors)] = np.multiply(np.asarray(lengths)[: len(factors)], factors)
    return size


@dataclass(frozen=True)
class Pose:
    """A pose in the inertial frame: position [m] and either roll-pitch-yaw [rad] or a quaternion x y z w.

    Examples
    --------
    >>> pose = mb.model.Pose((0.0, 0.0, 1.0), rpy=(0.0, 0.0, np.pi / 2))
    >>> pose.rotation() @ [1.0, 0.0, 0.0], pose.origin()
    (array([0., 1., 0.]), array([0., 0., 1.]))
    """

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] | None = None
    quat_xyzw: tuple[float, float, float, float] | None = None

    def rotation(self) -> Floats:
        """Rotation matrix.

        Returns
        -------
        ndarray (3, 3)
            Axes of the pose in the inertial frame.
        """
        if self.quat_xyzw is not None:
            return quat_to_matrix(self.quat_xyzw)
        return np.eye(3) if self.rpy is None else rpy_to_matrix(self.rpy)

    def quaternion(self) -> Floats:
        """Quaternion x y z w (4,).

        Returns
        -------
        (4,) ndarray

        Examples
        --------
        >>> mb.model.Pose(rpy=(0.0, 0.0, np.pi)).quaternion().round(12)
        array([0., 0., 1., 0.])
        """
        return matrix_to_quat(self.rotation())

    def origin(self) -> Floats:
        """Position.

        Returns
        -------
        ndarray (3,)
            In the inertial frame [m].
        """
        return np.array(self.position, dtype=np.float64)


@dataclass(frozen=True)
class Velocity:
    """Velocity of a body's origin frame, world axes: angular [rad/s] and linear [m/s].

    Examples
    --------
    >>> mb.model.Velocity(linear=(1.0, 0.0, 0.0)).angular
    (0.0, 0.0, 0.0)
    """

    angular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ModelMaterials:
    """Materials of a robot's links: one for all, and exceptions by link name.

    Examples
    --------
    >>> mb.model.ModelMaterials(default="steel", links={"pad": "rubber"}).links["pad"]
    'rubber'
    """

    default: str | None = None
    links: dict[str, str] = field(default_factory=dict)


#: What to do with a collision mesh, see :class:`MeshChoices`.
HULL_VERTICES = 4, 4095  #: fewest and most that a scene may ask of a hull: an edge's identity has 12 bits for each
MESH_CHOICES = ("convex_hull", "convex_pieces", "skip", "warn", "error")


@dataclass(frozen=True)
class MeshChoices:
    """What becomes of collision meshes: one choice for all links, and exceptions by link name.

    ``convex_hull``: the hull of each mesh; ``convex_pieces``: the hulls of its convex decomposition; ``skip``: left
    out, with a warning; ``error``: the file is refused; ``warn``: the hull, and left out with a warning where
    the mesh cannot be read.
    """

    default: str = "convex_hull"
    links: dict[str, str] = field(default_factory=dict)

    def of(self, link):
        """The choice for one link."""
        return self.links.get(link, self.default)


@dataclass(frozen=True)
class JointProperties:
    """What a scene says of a joint beyond its URDF; what is left out stays as it is there.

    A joint of several degrees of freedom has ``armature`` and ``damping``, the same for each; that of a free base is
    called ``ROOT_floating`` after the root link.
    """

    stiffness: float | None = None  #: spring towards ``rest_position`` [N m/rad, N/m]
    rest_position: float | None = None  #: [rad, m]
    damping: float | None = None  #: [N m s/rad, N s/m]
    friction: float | None = None  #: Coulomb friction [N m, N]
    armature: float | None = None  #: rotor inertia reflected to the joint [kg m^2, kg]
    velocity_limit: float | None = None  #: enforced [rad/s, m/s]
    effort_limit: float | None = None  #: [N m, N]


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

    kind: str = "effort"  #: effort, velocity or position
    stiffness: float = 0.0  #: of a position actuator [N m/rad, N/m]
    damping: float = 0.0  #: of a position or velocity actuator [N m s/rad, N s/m]
    gear_ratio: float = 1.0  #: turns of the rotor for one of the joint [1, rad/m]
    rotor_inertia: float = 0.0  #: [kg m^2]
    rotor_damping: float = 0.0  #: [N m s/rad]
    effort_limit: float | None = None  #: instead of the robot file's [N m, N]
    series_stiffness: float | None = None  #: [N m/rad, N/m]
    series_damping: float = 0.0  #: [N m s/rad, N s/m]


@dataclass(frozen=True)
class SceneModel:
    """A robot: where its URDF or xacro is, where it stands and how it starts.

    ``urdf`` is a path (relative to the scene file), a ``package://`` address or XML text;
    ``base`` is ``weld`` (the root link is fixed to the inertial frame) or ``free``; a free one may start
    with a ``velocity``, joints with ``velocities`` [rad/s, m/s].
    ``collision_meshes``, ``inertia_errors``, ``mimic``, ``massless`` and ``xacro_args`` are those of
    :func:`~mb_contact.model.urdf.load_urdf`.

    Examples
    --------
    >>> arm = mb.model.SceneModel("package://mb_contact/urdf/plate_arm.urdf", name="arm")
    >>> mb.build_world(mb.Scene(models=(arm,))).joint_names[0]
    'shoulder'
    """

    urdf: str
    name: str | None = None
    pose: Pose = Pose()
    base: str = "weld"
    joints: dict[str, float] = field(default_factory=dict)
    velocities: dict[str, float] = field(default_factory=dict)
    joint_properties: dict[str, JointProperties] = field(default_factory=dict)
    actuators: dict[str, Actuator] = field(default_factory=dict)
    velocity: Velocity | None = None
    materials: ModelMaterials = ModelMaterials()
    collision_meshes: str | MeshChoices = "convex_hull"
    inertia_errors: str = "error"
    mimic: str = "eliminate"
    massless: str = "error"
    xacro_args: dict[str, Any] = field(default_factory=dict)
    srdf: str | None = None  #: address of an SRDF file with collision rules of this robot
    flexible_links: dict[str, FlexibleLink] = field(default_factory=dict)  #: links that deform in modes, by name


#: Built-in terrains, and what each needs besides a resolution.
TERRAINS = MappingProxyType({
    "flat": (),
    "ramp": ("amplitude",),
    "rough": ("amplitude",),
    "waves": ("amplitude", "wavelength"),
    "hills": ("amplitude", "wavelength"),
    "steps": ("amplitude", "wavelength"),
})


@dataclass(frozen=True)
class Rest:
    """What counts as rest, behind which bodies sleep: no coordinate moves farther than ``distance`` for a ``time``.

    With a distance of zero only what a step leaves as it is, bit for bit, sleeps.
    """

    distance: float = 1e-12  #: [m, rad]
    time: float = 0.1  #: [s]


@dataclass(frozen=True)
class Heights:
    """Heights of a height field [m]: from a file, a grid or a generator, one of the three.

    ``file`` is .npy, .csv or .png (grey, black 0 and white 1), relative to the scene's; ``grid`` holds rows along x,
    the first at the smallest y, as .npy and .csv do; the first row of a picture is at the largest y.  All are
    multiplied by ``factor``.  A ``generator`` out of TERRAINS makes points ``resolution`` [m] apart.
    """

    file: str | None = None
    grid: tuple[tuple[float, ...], ...] | None = None
    generator: str | None = None
    factor: float = 1.0
    resolution: float | None = None  #: of a generator [m]
    amplitude: float | None = None  #: largest height [m]; of a ramp that of its far end
    wavelength: float | None = None  #: of waves and hills; length of steps [m]
    seed: int = 0  #: of rough, hills and steps


@dataclass(frozen=True)
class Primitive:
    """A body of one shape; ``size`` in full lengths, see SHAPE_SIZES; a free one needs a mass [kg].

    The inertia is that of the homogeneous solid unless principal moments are given.  A ``mesh`` names a file
    (relative to the scene's) with factors along its axes; it is its convex hull, or convex pieces.
    A ``height_field`` has ``heights`` and is welded.

    Examples
    --------
    >>> can = mb.model.Primitive("can", "cylinder", (0.03, 0.1), base="free", mass=0.4)
    >>> can.kind(), can.kernel_size()  # the kernels take half the length [m]
    (2, array([0.03, 0.05, 0.  ]))
    """

    name: str
    shape: str
    size: tuple[float, ...] = ()
    pose: Pose = Pose()
    base: str = "weld"
    mass: float | None = None
    inertia: tuple[float, float, float] | None = None
    material: str | None = None
    velocity: Velocity | None = None
    mesh: str | None = None
    scale: tuple[float, float, float] = (1.0, 1.0, 1.0)
    collision_meshes: str = "convex_hull"
    pieces: tuple[str, ...] = ()  #: files of a mesh that is given in convex pieces, in place of ``mesh``
    heights: Heights | None = None
    hull_vertices: int | None = None  #: most vertices of a hull of the mesh; None: what hulls have by default

    def kind(self) -> int:
        """The shape as a number.

        Returns
        -------
        int
            SHAPE_* of ``mb_contact.types``.
        """
        return SHAPE_CONVEX if self.shape == "mesh" else SHAPE_NAMES.index(self.shape)

    def kernel_size(self) -> Floats:
        """Size as the kernels want it: radius and half length, or half extents.

        Returns
        -------
        ndarray (3,)
            [m]
        """
        return kernel_size(self.kind(), self.size)


@dataclass(frozen=True)
class Closure:
    """A loop closure: two frames on two links (or the ``world``) held together, see docs/constraints.md.

    Poses are in the frames of the links.  Without ``pose_b`` the second frame is put where the first is at the
    initial positions; without ``length`` (kind ``distance``) the initial distance is kept.
    """

    kind: str
    link_a: str
    link_b: str
    pose_a: Pose | None = None
    pose_b: Pose | None = None
    length: float | None = None  #: of kind distance [m]
    name: str | None = None
    pitch: float | None = None  #: of kind screw: way along the axis in a turn, of left-handed threads negative [m]
    friction: float = 0.0  #: of kind screw: torque of the thread [N m]
    end: float | None = None  #: of kind screw: way along the axis at which the thread ends and A comes off [m]


@dataclass(frozen=True)
class Gear:
    """Two scalar joints coupled without slack: ``q_a = ratio q_b + offset``."""

    joint_a: str
    joint_b: str
    ratio: float
    offset: float = 0.0  #: [rad, m]


@dataclass(frozen=True)
class Motion:
    """Prescribed motion of a scalar joint, or of a loop closure's second frame or length (J14's U(t)).

    Values at ``times`` [s], joined by cubic splines that start and end at rest, or by straight lines; before the first
    and after the last time they stay.  A joint without values holds its position until ``set_targets`` moves it.

    Examples
    --------
    >>> turn = mb.model.Motion(joint="crank_joint", times=(0.0, 1.0), positions=(0.0, 3.14))
    >>> turn.interpolation, turn.periodic
    ('cubic', False)
    """

    joint: str | None = None
    closure: str | None = None  #: its name
    times: tuple[float, ...] = ()
    positions: tuple[float, ...] = ()  #: of the joint [rad, m]
    displacements: tuple[tuple[float, float, float], ...] = ()  #: of the second frame, along its axes at first [m]
    rotations: tuple[tuple[float, float, float], ...] = ()  #: of that frame, vectors in these axes [rad]
    lengths: tuple[float, ...] = ()  #: of a closure of kind distance [m]
    interpolation: str = "cubic"
    periodic: bool = False  #: again from the first time after the last


@dataclass(frozen=True)
class Ground:
    """A horizontal half-space below ``height`` [m]; its link is called ``ground``.

    Examples
    --------
    >>> mb.build_world(mb.Scene(ground=mb.model.Ground(height=-0.2))).geoms.p
    array([[ 0. ,  0. , -0.2]])
    """

    height: float = 0.0
    material: str | None = None


@dataclass(frozen=True)
class AnisotropicFriction:
    """Friction that is ``along`` in a ``direction`` of a link's surface and ``across`` at right angles to it.

    ``direction`` is in the axes of the link that has the material; of it counts the part along the contact's plane.
    In a pair ``of`` names the material whose link that is, by default the first of the two.
    """

    along: float
    across: float
    direction: tuple[float, float, float]
    of: str | None = None


@dataclass(frozen=True)
class Material:
    """What a surface is made of: its coefficients against itself.

    ``viscous`` [N s/m] counts under ``friction_model: viscous`` and ``coulomb_viscous``, for each contact point;
    ``torsional``, ``rolling`` [m] and ``anisotropic_friction``, which replaces ``friction``, need ``coulomb_cone``.
    ``restitution``, from 0 to 1, is the part of an impact's normal impulse that is recovered.

    Examples
    --------
    >>> mb.model.Material(friction=0.8, restitution=0.3).rolling
    0.0
    """

    friction: float = DEFAULT_FRICTION
    viscous: float = 0.0
    restitution: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    anisotropic_friction: AnisotropicFriction | None = None


@dataclass(frozen=True)
class MaterialPair:
    """Coefficients of two materials; without an entry they are the geometric means of their own.

    Examples
    --------
    >>> mb.model.MaterialPair(("steel", "ice"), friction=0.03).restitution is None
    True
    """

    materials: tuple[str, str]
    friction: float | None = None
    viscous: float | None = None
    restitution: float | None = None
    torsional: float | None = None
    rolling: float | None = None
    anisotropic_friction: AnisotropicFriction | None = None


@dataclass(frozen=True)
class CollisionFilters:
    """Which pairs of links are never tested: neighbours in a robot's tree, and the pairs listed.

    Examples
    --------
    >>> mb.model.CollisionFilters(disable=(("left_hand", "right_hand"),)).adjacent
    True
    """

    adjacent: bool = True
    disable: tuple[tuple[str, str], ...] = ()
