# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A scene: which robots, objects and materials make up a world, and how it is simulated.

Plain frozen dataclasses with defaults, so a scene can be written in Python as well as in
YAML (:mod:`mb_contact.model.scene_yaml` reads those).  ``check_scene`` holds the rules that
concern several entries at once; both ways go through it.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from pathlib import Path
from types import MappingProxyType

import numpy as np

from mb_contact.errors import SceneError, one_line
from mb_contact.model.rotations import quat_to_matrix, rpy_to_matrix
from mb_contact.types import (
    CLOSURE_NAMES,
    SHAPE_BOX,
    SHAPE_CAPSULE,
    SHAPE_CONE,
    SHAPE_CONVEX,
    SHAPE_CYLINDER,
    SHAPE_ELLIPSOID,
    SHAPE_NAMES,
    SHAPE_PLANE,
    SHAPE_SPHERE,
)

MOST_WORDS = 1000  #: characters of an error; lists of allowed keys are long
DEFAULT_FRICTION = 0.5  #: of a geometry that has no material
ABSURD_FRICTION = 10.0  #: above this a coefficient is used but warned about

#: What a scene may choose in this version.
CHOICES = MappingProxyType({
    "formulation": ("os", "nmc", "mc", "rmc", "nmc_os", "hybrid"),
    "solver": ("auto",),
    "collision_engine": ("coal", "fcl"),
    "integrator": ("semi_implicit_euler", "rk4", "midpoint", "adaptive"),
    "collision_scheme": ("time_stepping", "event"),
    "restitution_law": ("anitescu_potra", "papers", "newton"),
    "simultaneous_impacts": ("all", "sequential"),
    "energy_gain": ("refuse", "allow"),
    "friction_model": ("coulomb_polyhedral", "coulomb_cone", "viscous", "no_slip", "coulomb_viscous"),
    "friction_frame": ("slip", "fixed"),
    "drift_control": ("baumgarte", "projection"),
})

#: Friction models that know impacts with restitution; impacts of the others are inelastic.
ELASTIC_MODELS = ("coulomb_polyhedral", "coulomb_cone")

#: Fewest and most friction directions of a contact.
FEWEST_DIRECTIONS, MOST_DIRECTIONS = 4, 32

#: Least tolerance of an integrator: below, rounding decides.
LEAST_TOLERANCE = 1e-13

#: Size entries of a primitive in a scene, in the words of a URDF: full lengths [m].
SHAPE_SIZES = MappingProxyType({
    "sphere": ("radius",),
    "capsule": ("radius", "length"),
    "cylinder": ("radius", "length"),
    "box": ("x", "y", "z"),
    "cone": ("radius", "length"),
    "ellipsoid": ("x", "y", "z"),
    "mesh": (),
    "plane": (),
})

#: Rates of publishing [Hz]; a ``control_period`` [s] may join them, without it commands are taken every step.
DEFAULT_RATES = MappingProxyType({
    "joint_state_rate": 1000.0,
    "operational_space_rate": 1000.0,
    "clock_rate": 100.0,
    "contact_rate": 100.0,
    "certificate_rate": 100.0,
    "tf_rate": 50.0,
    "diagnostics_rate": 1.0,
})


@dataclass(frozen=True)
class Pose:
    """A pose in the inertial frame: position [m] and either roll-pitch-yaw [rad] or a quaternion x y z w."""

    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rpy: tuple[float, float, float] | None = None
    quat_xyzw: tuple[float, float, float, float] | None = None

    def rotation(self):
        """Rotation matrix (3, 3)."""
        if self.quat_xyzw is not None:
            return quat_to_matrix(self.quat_xyzw)
        return np.eye(3) if self.rpy is None else rpy_to_matrix(self.rpy)

    def origin(self):
        """Position (3,) [m]."""
        return np.array(self.position, dtype=np.float64)


@dataclass(frozen=True)
class Velocity:
    """Velocity of a body's origin frame, world axes: angular [rad/s] and linear [m/s]."""

    angular: tuple[float, float, float] = (0.0, 0.0, 0.0)
    linear: tuple[float, float, float] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class ModelMaterials:
    """Materials of a robot's links: one for all, and exceptions by link name."""

    default: str | None = None
    links: dict[str, str] = field(default_factory=dict)


#: What to do with a collision mesh, see :class:`MeshChoices`.
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
    """What a scene says of a joint beyond its URDF; what is left out stays as it is there."""

    stiffness: float | None = None  #: spring towards ``rest_position`` [N m/rad, N/m]
    rest_position: float | None = None  #: [rad, m]
    damping: float | None = None  #: [N m s/rad, N s/m]
    friction: float | None = None  #: Coulomb friction [N m, N]
    armature: float | None = None  #: rotor inertia reflected to the joint [kg m^2, kg]
    velocity_limit: float | None = None  #: enforced [rad/s, m/s]
    effort_limit: float | None = None  #: [N m, N]


@dataclass(frozen=True)
class SceneModel:
    """A robot: where its URDF or xacro is, where it stands and how it starts.

    ``urdf`` is a path (relative to the scene file), a ``package://`` address or XML text;
    ``base`` is ``weld`` (the root link is fixed to the inertial frame) or ``free``; a free one may start
    with a ``velocity``, joints with ``velocities`` [rad/s, m/s].
    ``collision_meshes``, ``inertia_errors`` and ``mimic`` are those of :func:`~mb_contact.model.urdf.load_urdf`.
    """

    urdf: str
    name: str | None = None
    pose: Pose = Pose()
    base: str = "weld"
    joints: dict[str, float] = field(default_factory=dict)
    velocities: dict[str, float] = field(default_factory=dict)
    joint_properties: dict[str, JointProperties] = field(default_factory=dict)
    velocity: Velocity | None = None
    materials: ModelMaterials = ModelMaterials()
    collision_meshes: str | MeshChoices = "convex_hull"
    inertia_errors: str = "error"
    mimic: str = "eliminate"
    srdf: str | None = None  #: address of an SRDF file with collision rules of this robot


@dataclass(frozen=True)
class Primitive:
    """A body of one shape; ``size`` in full lengths, see SHAPE_SIZES; a free one needs a mass [kg].

    The inertia is that of the homogeneous solid unless principal moments are given.  A ``mesh`` names a file
    (relative to the scene's) with factors along its axes; it is its convex hull, or convex pieces.
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

    def kind(self):
        """SHAPE_* of this primitive."""
        return SHAPE_CONVEX if self.shape == "mesh" else SHAPE_NAMES.index(self.shape)

    def kernel_size(self):
        """Size (3,) as the kernels want it: radius and half length, or half extents."""
        size = np.zeros(3)
        if self.kind() in (SHAPE_BOX, SHAPE_ELLIPSOID):
            size[:] = np.array(self.size) / 2.0
        elif self.kind() == SHAPE_SPHERE:
            size[0] = self.size[0]
        elif self.kind() in (SHAPE_CAPSULE, SHAPE_CYLINDER, SHAPE_CONE):
            size[:2] = self.size[0], self.size[1] / 2.0
        return size


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


@dataclass(frozen=True)
class Gear:
    """Two scalar joints coupled without slack: ``q_a = ratio q_b + offset``."""

    joint_a: str
    joint_b: str
    ratio: float
    offset: float = 0.0  #: [rad, m]


@dataclass(frozen=True)
class Ground:
    """A horizontal half-space below ``height`` [m]; its link is called ``ground``."""

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
    """

    friction: float = DEFAULT_FRICTION
    viscous: float = 0.0
    restitution: float = 0.0
    torsional: float = 0.0
    rolling: float = 0.0
    anisotropic_friction: AnisotropicFriction | None = None


@dataclass(frozen=True)
class MaterialPair:
    """Coefficients of two materials; without an entry they are the geometric means of their own."""

    materials: tuple[str, str]
    friction: float | None = None
    viscous: float | None = None
    restitution: float | None = None
    torsional: float | None = None
    rolling: float | None = None
    anisotropic_friction: AnisotropicFriction | None = None


@dataclass(frozen=True)
class CollisionFilters:
    """Which pairs of links are never tested: neighbours in a robot's tree, and the pairs listed."""

    adjacent: bool = True
    disable: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class Scene:
    """Everything a simulation starts from; times in s, lengths in m, coefficients without unit."""

    models: tuple[SceneModel, ...] = ()
    primitives: tuple[Primitive, ...] = ()
    ground: Ground | None = None
    materials: dict[str, Material] = field(default_factory=dict)
    pairs: tuple[MaterialPair, ...] = ()
    collision_filters: CollisionFilters = CollisionFilters()
    loop_closures: tuple[Closure, ...] = ()
    gears: tuple[Gear, ...] = ()
    drift_control: str = "baumgarte"  #: of loops and gears: part of the error per step, or projection after it
    drift_rate: float = 0.2  #: gamma, that part
    enforce_velocity_limits: bool = False  #: those of the URDF; a scene's own are always enforced
    time_step: float = 0.001
    gravity: tuple[float, float, float] = (0.0, 0.0, -9.81)
    formulation: str = "os"
    collision_engine: str = "coal"
    integrator: str = "semi_implicit_euler"
    integrator_tolerance: float = 1e-9  #: error of one inner step of ``adaptive`` [rad, m, relative speed]
    collision_scheme: str = "time_stepping"
    solver: str = "auto"
    friction_model: str = "coulomb_polyhedral"
    friction_directions: int = 8
    friction_frame: str = "slip"  #: first direction of a pyramid: along the slip, or along the world's x
    contact_margin: float = 0.002  #: contacts exist from this gap on
    push_out_velocity: float = 0.1  #: greatest speed at which penetration is undone [m/s]
    restitution_law: str = "anitescu_potra"
    impact_threshold: float | None = None  #: approach speed from which contacts collide [m/s]; by default the scheme's
    simultaneous_impacts: str = "all"
    energy_gain: str = "refuse"
    operational_frames: tuple[str, ...] = ()
    contact_wrench_links: tuple[str, ...] = ()
    rates: dict[str, float] = field(default_factory=lambda: dict(DEFAULT_RATES))
    path: Path | None = None
    lines: dict[str, int] = field(default_factory=dict, repr=False, compare=False)  #: key path to line

    def error(self, key, message):
        """A SceneError that names the file, the line and the key, e.g. ``primitives[0].mass``.

        Where the very key was not written, the line is that of the nearest enclosing one.
        """
        place = str(self.path) if self.path is not None else "scene"
        enclosing = key
        while enclosing and enclosing not in self.lines:
            cut = max(enclosing.rfind("."), enclosing.rfind("["))
            enclosing = enclosing[:cut] if cut > 0 else ""
        if enclosing:
            place += f":{self.lines[enclosing]}"
        return SceneError(one_line(f"{place}: {key}: {message}", MOST_WORDS))


def check_scene(scene):
    """Refuse a scene whose entries do not fit together.

    Raises
    ------
    SceneError
        A free body without mass, a name used twice, a material that is not defined, a size
        that does not belong to its shape, a number out of its range, a period that is no
        multiple of the time step.
    """
    _check_settings(scene)
    names = set()
    for i, primitive in enumerate(scene.primitives):
        _check_primitive(scene, primitive, f"primitives[{i}]")
        if primitive.name in names or (primitive.name == "ground" and scene.ground is not None):
            message = f"'{primitive.name}' is used twice; give each body its own name"
            raise scene.error(f"primitives[{i}].name", message)
        names.add(primitive.name)
        _check_material(scene, primitive.material, f"primitives[{i}].material")
    if scene.ground is not None:
        _check_numbers(scene, "ground.height", scene.ground.height)
        _check_material(scene, scene.ground.material, "ground.material")
    for name, material in scene.materials.items():
        _check_numbers(scene, f"materials.{name}.friction", material.friction, low=0.0)
        _check_numbers(scene, f"materials.{name}.viscous", material.viscous, low=0.0)
        _check_restitution(scene, f"materials.{name}.restitution", material.restitution)
        _check_surface(scene, material, f"materials.{name}")
    for i, model in enumerate(scene.models):
        _check_pose(scene, model.pose, f"models[{i}].pose")
        _check_velocity(scene, model, f"models[{i}]")
        for name, rate in model.velocities.items():
            _check_numbers(scene, f"models[{i}].velocities.{name}", rate)
        _check_joints(scene, model, f"models[{i}].joint_properties")
        _check_material(scene, model.materials.default, f"models[{i}].materials.default")
        for link, material in model.materials.links.items():
            _check_material(scene, material, f"models[{i}].materials.links.{link}")
    _check_pairs(scene)
    _check_couplings(scene)
    _check_timing(scene)


def _check_settings(scene):
    for key, allowed in CHOICES.items():
        if getattr(scene, key) not in allowed:
            message = f"'{getattr(scene, key)}' is not available; available: {', '.join(allowed)}"
            raise scene.error(key, message)
    if scene.formulation != "os" and scene.friction_model != "coulomb_polyhedral":
        message = f"{scene.formulation} has friction_model coulomb_polyhedral only; use formulation: os"
        raise scene.error("formulation", message)
    _check_numbers(scene, "gravity", scene.gravity, size=3)
    _check_numbers(scene, "contact_margin", scene.contact_margin, low=0.0)
    _check_numbers(scene, "push_out_velocity", scene.push_out_velocity, low=0.0)
    if scene.collision_scheme == "event" and scene.friction_model not in ELASTIC_MODELS:
        models = " or ".join(ELASTIC_MODELS)
        message = f"'event' needs friction_model {models}, which know impacts; {scene.friction_model} does not"
        raise scene.error("collision_scheme", message)
    if scene.collision_scheme == "event" and scene.formulation != "os":
        raise scene.error("collision_scheme", f"'event' needs formulation os, got {scene.formulation}")
    if scene.impact_threshold is not None:
        _check_numbers(scene, "impact_threshold", scene.impact_threshold, low=0.0)
    _check_numbers(scene, "integrator_tolerance", scene.integrator_tolerance, low=LEAST_TOLERANCE)
    n_f = scene.friction_directions
    if not isinstance(n_f, (int, np.integer)) or n_f % 2 or not FEWEST_DIRECTIONS <= n_f <= MOST_DIRECTIONS:
        message = f"must be an even whole number from {FEWEST_DIRECTIONS} to {MOST_DIRECTIONS}, got {n_f}"
        raise scene.error("friction_directions", message)


def _check_numbers(scene, key, value, size=1, low=-np.inf):
    """Refuse anything but ``size`` finite numbers of at least ``low``."""
    try:
        numbers = np.asarray(value, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        numbers = np.full(size, np.nan)
    if len(numbers) != size or not np.isfinite(numbers).all() or (numbers < low).any():
        wanted = "a finite number" if size == 1 else f"{size} finite numbers"
        bound = "" if np.isinf(low) else f" of at least {low:g}"
        raise scene.error(key, f"must be {wanted}{bound}, got {value}")


def _check_pose(scene, pose, key):
    for name, size in (("position", 3), ("rpy", 3), ("quat_xyzw", 4)):
        value = getattr(pose, name)
        if value is not None:
            _check_numbers(scene, f"{key}.{name}", value, size)
    if pose.quat_xyzw is not None and abs(np.linalg.norm(pose.quat_xyzw) - 1.0) > 1e-3:
        raise scene.error(f"{key}.quat_xyzw", "must be a unit quaternion x y z w")


def _check_velocity(scene, entry, key):
    if entry.velocity is None:
        return
    if entry.base == "weld":
        raise scene.error(f"{key}.velocity", "what is welded to the inertial frame has none; use base: free")
    _check_numbers(scene, f"{key}.velocity.angular", entry.velocity.angular, size=3)
    _check_numbers(scene, f"{key}.velocity.linear", entry.velocity.linear, size=3)


def _check_primitive(scene, primitive, key):
    if primitive.shape not in SHAPE_SIZES:
        allowed = ", ".join(SHAPE_SIZES)
        raise scene.error(f"{key}.shape", f"'{primitive.shape}' is not a shape; allowed: {allowed}")
    wanted = SHAPE_SIZES[primitive.shape]
    if len(primitive.size) != len(wanted):
        form = f"[{', '.join(wanted)}]" if wanted else "none"
        raise scene.error(f"{key}.size", f"a {primitive.shape} has size {form}, got {list(primitive.size)}")
    if not all(np.isfinite(length) and length > 0.0 for length in primitive.size):
        raise scene.error(f"{key}.size", f"lengths must be greater than zero, got {list(primitive.size)}")
    if (primitive.shape == "mesh") != (primitive.mesh is not None):
        message = "a mesh needs the address of its file" if primitive.mesh is None else "only a mesh has a file"
        raise scene.error(f"{key}.mesh", message)
    _check_numbers(scene, f"{key}.scale", primitive.scale, size=3)
    if not all(primitive.scale):
        raise scene.error(f"{key}.scale", f"no factor may be zero, got {list(primitive.scale)}")
    if primitive.collision_meshes not in ("convex_hull", "convex_pieces"):
        message = f"'{primitive.collision_meshes}' is not available; allowed: convex_hull, convex_pieces"
        raise scene.error(f"{key}.collision_meshes", message)
    if primitive.base not in ("weld", "free"):
        raise scene.error(f"{key}.base", f"'{primitive.base}' is not available; allowed: weld, free")
    _check_pose(scene, primitive.pose, f"{key}.pose")
    _check_velocity(scene, primitive, key)
    if primitive.base == "weld":
        return
    if primitive.kind() == SHAPE_PLANE:
        raise scene.error(f"{key}.base", "a plane has no mass and cannot be free; use base: weld")
    if primitive.mass is None or not 0.0 < primitive.mass < np.inf:
        raise scene.error(f"{key}.mass", "a free body needs a mass [kg] greater than zero and finite")
    if primitive.inertia is not None:
        _check_numbers(scene, f"{key}.inertia", primitive.inertia, size=3)


def _check_material(scene, name, key):
    if name is not None and name not in scene.materials:
        known = ", ".join(scene.materials) or "none"
        raise scene.error(key, f"material '{name}' is not defined under materials; defined: {known}")


def _check_restitution(scene, key, value):
    _check_numbers(scene, key, value, low=0.0)
    if value > 1.0:
        raise scene.error(key, f"must be at most 1, got {value:g}")
    if value > 0.0 and scene.friction_model not in ELASTIC_MODELS:
        models = " or ".join(ELASTIC_MODELS)
        message = f"impacts under friction_model {scene.friction_model} are inelastic; use 0 here, or {models}"
        raise scene.error(key, message)


def _check_surface(scene, entry, key):
    """Torsional, rolling and anisotropic coefficients: their ranges, and a friction model that has them."""
    exact = scene.friction_model == "coulomb_cone"
    for name in ("torsional", "rolling"):
        value = getattr(entry, name)
        if value is None:
            continue
        _check_numbers(scene, f"{key}.{name}", value, low=0.0)
        if value > 0.0 and not exact:
            message = f"{scene.friction_model} has no {name} friction; set friction_model: coulomb_cone, or 0 here"
            raise scene.error(f"{key}.{name}", message)
    friction = entry.anisotropic_friction
    if friction is None:
        return
    key += ".anisotropic_friction"
    if not exact:
        message = f"{scene.friction_model} is the same in all directions; set friction_model: coulomb_cone"
        raise scene.error(key, message)
    for name in ("along", "across"):
        _check_numbers(scene, f"{key}.{name}", getattr(friction, name), low=0.0)
    _check_numbers(scene, f"{key}.direction", friction.direction, size=3)
    if not np.linalg.norm(friction.direction) > 0.0:
        raise scene.error(f"{key}.direction", "must not be zero")
    owners = getattr(entry, "materials", None)
    if friction.of is not None and owners is None:
        raise scene.error(f"{key}.of", "belongs to pairs; the direction of a material is that of its own links")
    if friction.of is not None and friction.of not in owners:
        raise scene.error(f"{key}.of", f"must be {owners[0]} or {owners[1]}, got '{friction.of}'")


def _check_pairs(scene):
    seen = set()
    for i, pair in enumerate(scene.pairs):
        for name in pair.materials:
            _check_material(scene, name, f"pairs[{i}].materials")
        if frozenset(pair.materials) in seen:
            names = " and ".join(pair.materials)
            raise scene.error(f"pairs[{i}].materials", f"the pair {names} is listed twice")
        if (pair.friction is None) == (pair.anisotropic_friction is None):
            problem = "is missing" if pair.friction is None else "stands beside anisotropic_friction"
            raise scene.error(f"pairs[{i}]", f"the key 'friction' {problem}; give one of the two")
        if pair.friction is not None:
            _check_numbers(scene, f"pairs[{i}].friction", pair.friction, low=0.0)
        _check_surface(scene, pair, f"pairs[{i}]")
        if pair.viscous is not None:
            _check_numbers(scene, f"pairs[{i}].viscous", pair.viscous, low=0.0)
        if pair.restitution is not None:
            _check_restitution(scene, f"pairs[{i}].restitution", pair.restitution)
        seen.add(frozenset(pair.materials))


def _check_joints(scene, model, key):
    for name, properties in model.joint_properties.items():
        for entry in fields(JointProperties):
            value = getattr(properties, entry.name)
            if value is not None:
                low = -np.inf if entry.name == "rest_position" else 0.0
                _check_numbers(scene, f"{key}.{name}.{entry.name}", value, low=low)
        if properties.rest_position is not None and not properties.stiffness:
            raise scene.error(f"{key}.{name}.rest_position", "has no meaning without a stiffness above zero; add it")


def _check_couplings(scene):
    for i, closure in enumerate(scene.loop_closures):
        key = f"loop_closures[{i}]"
        if closure.kind not in CLOSURE_NAMES:
            message = f"'{closure.kind}' is not known; available: {', '.join(CLOSURE_NAMES)}"
            raise scene.error(f"{key}.kind", message)
        for end in ("pose_a", "pose_b"):
            if getattr(closure, end) is not None:
                _check_pose(scene, getattr(closure, end), f"{key}.{end}")
        if closure.length is None:
            continue
        if closure.kind != "distance":
            raise scene.error(f"{key}.length", f"a closure of kind {closure.kind} has no length; leave it out")
        _check_numbers(scene, f"{key}.length", closure.length, low=0.0)
        if closure.length == 0.0:
            raise scene.error(f"{key}.length", "must be above zero; two points that coincide are the kind point")
    for i, gear in enumerate(scene.gears):
        _check_numbers(scene, f"gears[{i}].ratio", gear.ratio)
        _check_numbers(scene, f"gears[{i}].offset", gear.offset)
        if gear.joint_a == gear.joint_b:
            raise scene.error(f"gears[{i}].joint_b", f"'{gear.joint_a}' cannot follow itself")
    _check_numbers(scene, "drift_rate", scene.drift_rate, low=0.0)
    if scene.drift_rate >= 1.0:
        raise scene.error("drift_rate", f"must be below 1, got {scene.drift_rate:g}")


def _check_timing(scene):
    if not (np.isfinite(scene.time_step) and scene.time_step > 0.0):
        raise scene.error("time_step", f"must be greater than zero, got {scene.time_step}")
    period = scene.rates.get("control_period", scene.time_step)
    steps = period / scene.time_step
    if round(steps) < 1 or abs(steps - round(steps)) > 1e-6:
        message = f"{period} s must be a multiple of the time step {scene.time_step} s"
        raise scene.error("rates.control_period", message)
