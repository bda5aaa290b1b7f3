# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A world: all robots and objects of a scene merged into one forest of bodies and one list of geometries."""

from dataclasses import dataclass

import numpy as np

from mb_contact.errors import SceneError
from mb_contact.model.body_coordinates import in_body_coordinates, make_hinges
from mb_contact.model.closures import Couplings, build_couplings, joined_pairs, rubbing_threads
from mb_contact.model.flexible.links import FlexibleBody
from mb_contact.model.model import Frame, Geometry, Model, tree_roots
from mb_contact.model.pairs import (
    first_rows,
    geometry_pairs,
    hull_arrays,
    pair_frictions,
    pair_means,
    pair_surfaces,
)
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.model.scene import CONTACT_MARGIN, Scene, check_scene
from mb_contact.model.scene.robots import JOINT_PROPERTIES
from mb_contact.model.shapes.deviations import told
from mb_contact.model.shapes.primitives import (
    flexible_links,
    free_body,
    moved_frame,
    primitive_inertia,
    scene_file,
    scene_shapes,
)
from mb_contact.model.shapes.triangle_meshes import kind_of
from mb_contact.model.units import Units, scene_units
from mb_contact.model.urdf.reader import load_urdf
from mb_contact.model.urdf.series_springs import spring_joint
from mb_contact.model.urdf.srdf import load_srdf
from mb_contact.types import (
    JOINT_FLOATING,
    JOINT_NQ,
    SHAPE_PLANE,
    WORLD,
    FrictionParameters,
    Geoms,
    Hinges,
    JointForces,
    Tree,
)

#: Arrays of Tree by what their first axis counts.
BODY_ARRAYS = ("joint_type", "nv", "R_joint", "p_joint", "axis", "axis2", "mass", "com", "inertia")
DOF_ARRAYS = ("armature", "damping", "effort_limit", "lower", "upper")
#: Arrays of JointForces, and what they hold where nothing is said.
FORCE_ARRAYS = {
    "stiffness": 0.0, "rest": 0.0, "friction": 0.0, "velocity_limit": np.inf, "gain": 0.0, "rate_gain": 0.0,
    "target": 0.0, "target_rate": 0.0, "saturation": 0.0,
}  # fmt: skip
EVENT_MARGIN = 1e-3  #: least contact margin of the event scheme, whose substeps would have no length without [m]


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """What a simulator needs of a scene, as arrays; body, q and v indices are those of the merged tree.

    Examples
    --------
    >>> mb.build_world(mb.Scene(primitives=(mb.model.Primitive("ball", "sphere", (0.1,), base="free", mass=1.0),)))
    World(n=1, N=6, joints=0, geometries=1, pairs=0)
    """

    tree: Tree
    geoms: Geoms
    gravity: np.ndarray  #: (3,) [m/s^2]
    q0: np.ndarray  #: (nq,), initial coordinates
    v0: np.ndarray  #: (N,), initial velocities
    joint_names: tuple[str, ...]  #: scalar joints of all robots, in order
    joint_q: np.ndarray  #: int64, index of each joint in q
    joint_v: np.ndarray  #: int64, index of each joint in v
    effort_limit: np.ndarray  #: of each joint [N m, N], inf where none
    frames: dict[str, Frame]  #: of every link of every robot and object
    objects: dict[str, int]  #: root link of each free body to its body index
    robot_models: tuple[Model, ...]  #: as read, before they are placed
    geometry_names: tuple[str, ...]
    geometry_links: tuple[str, ...]  #: link of each geometry
    body_names: tuple[str, ...]
    link_geometries: dict[str, tuple[int, ...]]  #: geometry indices of each link that has any
    warnings: tuple[str, ...] = ()
    viscous: np.ndarray | None = None  #: (pairs,), viscous coefficient of each pair of geometries [N s/m]
    restitution: np.ndarray | None = None  #: (pairs,), coefficient of restitution of each pair
    joints: JointForces | None = None  #: springs, friction, velocity limits
    follower_names: tuple[str, ...] = ()  #: mimic joints, which follow others
    follower_q: np.ndarray | None = None  #: int64, index of each of them in q
    follower_v: np.ndarray | None = None  #: int64, in v
    S: np.ndarray | None = None  #: (N, N - followers), rates of all from those that follow none; None without mimics
    couplings: Couplings | None = None  #: loop closures and gears
    surfaces: FrictionParameters | None = None  #: torsional, rolling and anisotropic coefficients of the pairs
    flexible: tuple[FlexibleBody, ...] = ()  #: links that deform in modes
    hinges: Hinges | None = None  #: of a world in body coordinates
    hinge_names: tuple[str, ...] = ()  #: the joints that they are
    units: Units = Units()  #: in which tolerances are meant
    anchors: frozenset[int] = frozenset()  #: geometries without a shape, by which contacts found otherwise have rows

    def __repr__(self):
        n, N, g = len(self.tree.parent), len(self.v0), len(self.geometry_names)
        joints, pairs = len(self.joint_names), len(self.geoms.pairs)
        return f"World(n={n}, N={N}, joints={joints}, geometries={g}, pairs={pairs})"


def build_world(scene: Scene) -> World:
    """Merge everything in ``scene`` into one World.

    Bodies are numbered in the order of the scene: those of the first robot, of the second,
    then the free primitives, each a tree of one body.  Welded primitives and the ground are
    geometries of the inertial frame.  Where a pair of materials has no friction coefficient
    of its own, it is the geometric mean of the two materials' (``sqrt(mu_a mu_b)``: equal
    materials keep theirs, and one without friction stays without); a geometry without
    material counts as 0.5.

    Parameters
    ----------
    scene : Scene

    Returns
    -------
    World
        SI units, places in the inertial frame.

    Raises
    ------
    SceneError
        A name occurs twice, is not known, or an initial position is outside its limits.
    ModelError
        A URDF is wrong.

    Examples
    --------
    >>> world = mb.build_world(mb.load_scene("package://mb_contact/config/box_on_table.yaml"))
    >>> world.objects, world.geometry_links
    ({'box': 0}, ('table', 'box'))
    """
    return collect_parts(scene).world()


def collect_parts(scene):
    """The WorldBuilder of a Scene with all its parts, to which others may be added; raises as ``build_world``."""
    if not isinstance(scene, Scene):
        raise SceneError(f"build_world needs a Scene, got {type(scene).__name__}; use load_scene for a file")
    check_scene(scene)
    for i, folder in enumerate(scene.package_folders()):
        scene.refuse_if(not folder.is_dir(), f"packages[{i}]", f"there is no folder '{folder}'")
    builder = WorldBuilder(scene)
    for i, entry in enumerate(scene.models):
        builder.add_model(entry, f"models[{i}]")
    for i, primitive in enumerate(scene.primitives):
        builder.add_primitive(primitive, f"primitives[{i}]")
    if scene.ground is not None:
        builder.add_ground(scene.ground)
    return builder


class WorldBuilder:
    """Collects the parts of a world in their final numbering."""

    def __init__(self, scene):
        self.scene = scene
        self.parents = []
        self.bodies = {name: [] for name in BODY_ARRAYS}
        self.dofs = {name: [] for name in DOF_ARRAYS}
        self.forces = {name: [] for name in FORCE_ARRAYS}
        self.q0, self.v0 = [], []
        self.joint_names, self.joint_q, self.joint_v, self.velocity = [], [], [], []
        self.movers, self.mimics = {}, []
        self.frames, self.objects, self.body_names = {}, {}, []
        self.models, self.geometries, self.adjacent = [], [], set()
        self.rules = []  # of the robots' SRDF files
        self.flexible, self.warnings = [], []

    # --- robots -------------------------------------------------------------------------

    def add_model(self, entry, key):
        """Append a robot: its bodies, its frames and geometries, all moved to where the scene puts it."""
        model = self._load(entry, key)
        whole = model.whole or model  # with the coordinates of mimic joints too
        R, p = entry.pose.rotation(), entry.pose.origin()
        first, q_first, v_first = len(self.parents), len(self.q0), len(self.dofs["lower"])
        self._append_tree(model.tree, R, p)
        for link in model.flexible:
            link.set_springs(model.tree, v_first, self.forces["stiffness"], self.dofs["damping"])
            self.flexible.append(link.shifted(first))
        self._set_joints(whole, entry, f"{key}.joint_properties", v_first)
        q = self._initial_q(model, entry, key, R, p)
        self._set_actuators(whole, entry, f"{key}.actuators", v_first, q)
        self.q0.extend(q)
        self.v0.extend(self._initial_v(model, entry, key))
        for name in model.joint_names:
            self.scene.refuse_if(
                name in self.joint_names, f"{key}.urdf",
                f"joint '{name}' occurs in two robots; rename it in one (a xacro prefix does it)",
            )
            self.joint_names.append(name)
        of_leaders = [whole.joint_names.index(name) for name in model.joint_names]
        self.joint_q.extend(q_first + whole.joint_q[of_leaders])
        self.joint_v.extend(v_first + whole.joint_v[of_leaders])
        for k in np.flatnonzero(model.tree.nv == 1):
            self.movers[model.body_joint_names[k]] = first + int(k)
        self.mimics.extend(model.mimics)
        self.body_names.extend(model.body_names)
        for link, frame in model.frames.items():
            self.add_frame(link, moved_frame(frame, R, p, first), f"{key}.urdf")
        self._add_geometries(model, entry, key, R, p, first)
        for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
            self.objects[model.body_names[k]] = first + int(k)
        self.adjacent |= model.adjacent_pairs
        self.warnings.extend(model.warnings)
        if entry.srdf is not None:
            self.rules.append(load_srdf(scene_file(self.scene, entry.srdf, f"{key}.srdf"), model))
            self.warnings.extend(self.rules[-1].warnings)
        self.models.append(model)

    def _load(self, entry, key):
        source = entry.urdf
        if not str(source).lstrip().startswith("<"):
            source = scene_file(self.scene, source, f"{key}.urdf")
        return load_urdf(
            source,
            package_dirs=self.scene.package_folders(),
            floating=entry.base == "free",
            collision_meshes=entry.collision_meshes,
            inertia_errors=entry.inertia_errors,
            mimic=entry.mimic,
            massless=entry.massless,
            xacro_args=entry.xacro_args,
            series_springs=[name for name, a in entry.actuators.items() if a.series_stiffness is not None],
            flexible_links=flexible_links(self.scene, entry, f"{key}.flexible_links"),
        )

    def _append_tree(self, tree, R, p):
        """Bodies that hang on the inertial frame move with the robot; of floating ones, q says where."""
        first = len(self.parents)
        self.parents.extend(int(k) if k == WORLD else first + int(k) for k in tree.parent)
        for name in BODY_ARRAYS:
            self.bodies[name].extend(getattr(tree, name))
        for name in DOF_ARRAYS:
            self.dofs[name].extend(getattr(tree, name))
        for name, value in FORCE_ARRAYS.items():
            self.forces[name].extend([value] * len(tree.armature))
        for k in range(len(tree.parent)):
            if tree.parent[k] == WORLD and tree.joint_type[k] != JOINT_FLOATING:
                self.bodies["R_joint"][first + k] = R @ tree.R_joint[k]
                self.bodies["p_joint"][first + k] = p + R @ tree.p_joint[k]

    def _set_joints(self, model, entry, key, first):
        """Friction and velocity limits of the URDF, then what the scene says of joints."""
        N = model.N
        self.forces["friction"][first : first + N] = model.friction.tolist()
        if self.scene.enforce_velocity_limits:
            self.forces["velocity_limit"][first : first + N] = model.velocity_limit.tolist()
        for name, properties in entry.joint_properties.items():
            given = {source for source, *_ in JOINT_PROPERTIES if getattr(properties, source) is not None}
            rates = [first + int(v) for v in self._rates(model, name, given, f"{key}.{name}")]
            for source, target, arrays in JOINT_PROPERTIES:
                for d in rates if source in given else ():
                    getattr(self, arrays)[target][d] = getattr(properties, source)

    def _set_actuators(self, model, entry, key, first, q):
        """Servos, which hold the initial positions ``q``, gears with their rotors, and springs in series."""
        for name, actuator in entry.actuators.items():
            index = self._joint_index(model, name, f"{key}.{name}")
            d, square = first + model.joint_v[index], actuator.gear_ratio**2
            self.dofs["armature"][d] += square * actuator.rotor_inertia
            self.dofs["damping"][d] += square * actuator.rotor_damping
            if actuator.effort_limit is not None:
                self.dofs["effort_limit"][d] = actuator.effort_limit
            self.forces["gain"][d], self.forces["rate_gain"][d] = actuator.stiffness, actuator.damping
            self.forces["target"][d] = q[model.joint_q[index]]
            if actuator.series_stiffness is not None:
                d = first + model.joint_v[self._joint_index(model, spring_joint(name), f"{key}.{name}")]
                self.forces["stiffness"][d] = actuator.series_stiffness
                self.dofs["damping"][d] = actuator.series_damping
                self.dofs["effort_limit"][d] = 0.0

    def _initial_q(self, model, entry, key, R, p):
        for name, value in entry.joints.items():
            self._check_position(model, name, value, f"{key}.joints.{name}")
        q = model.expand_q(model.q_from(entry.joints)).copy()
        for k in np.flatnonzero(model.tree.joint_type == JOINT_FLOATING):
            s = model.tree.q_start[k]
            R_body, p_body = quat_to_matrix(q[s + 3:s + 7]), q[s:s + 3].copy()
            q[s:s + 3] = p + R @ p_body
            q[s + 3:s + 7] = matrix_to_quat(R @ R_body)
        return q

    def _initial_v(self, model, entry, key):
        v = np.zeros(model.N)
        for name, rate in entry.velocities.items():
            v[model.joint_v[self._joint_index(model, name, f"{key}.velocities.{name}")]] = rate
        if entry.velocity is not None:
            v[:6] = _six(entry.velocity)
        return model.expand_v(v)

    def _rates(self, model, name, given, key):
        """Velocities of a joint; one of several degrees of freedom has an armature and a damping, the same for each."""
        if name in model.joint_names or name not in model.body_joint_names:
            return [model.joint_v[self._joint_index(model, name, key)]]
        k = model.body_joint_names.index(name)
        others = ", ".join(sorted(given - {"armature", "damping"}))
        message = f"'{name}' has several degrees of freedom, and only armature and damping; leave out {others}"
        self.scene.refuse_if(bool(others), key, message)
        return range(model.tree.v_start[k], model.tree.v_start[k] + model.tree.nv[k])

    def _joint_index(self, model, name, key):
        """Place of a joint among those of a robot."""
        message = f"robot '{model.name}' has no joint '{name}'; it has {', '.join(model.joint_names)}"
        self.scene.refuse_if(name not in model.joint_names, key, message)
        return model.joint_names.index(name)

    def _check_position(self, model, name, value, key):
        v = model.joint_v[self._joint_index(model, name, key)]
        low, high = model.lower[v], model.upper[v]
        self.scene.refuse_if(
            not low <= value <= high, key,
            f"{value:g} is outside the joint's limits, {low:g} to {high:g}",
        )

    def _add_geometries(self, model, entry, key, R, p, first):
        materials = entry.materials
        for link in materials.links:
            message = f"robot '{model.name}' has no link '{link}'; it has {', '.join(model.link_names)}"
            self.scene.refuse_if(link not in model.frames, f"{key}.materials.links.{link}", message)
        for shape in model.geometries:
            frame = moved_frame(Frame(shape.body, shape.R, shape.p), R, p, first)
            material = materials.links.get(shape.link, shape.material or materials.default)
            self.geometries.append(shape._replace(body=frame.body, R=frame.R, p=frame.p, material=material))

    # --- objects ------------------------------------------------------------------------

    def add_primitive(self, primitive, key):
        """Append an object of one shape, welded to the inertial frame or a free body."""
        R, p = primitive.pose.rotation(), primitive.pose.origin()
        hulls = scene_shapes(self.scene, primitive, key)
        body = WORLD
        if primitive.base == "free":
            inertia = primitive_inertia(self.scene, primitive, hulls, key)
            velocity = np.zeros(6) if primitive.velocity is None else _six(primitive.velocity)
            body = self.add_body(primitive.name, inertia, R, p, velocity, f"{key}.name")
            R, p = np.eye(3), np.zeros(3)
        else:
            self.add_frame(primitive.name, Frame(body, R, p), f"{key}.name")
        if primitive.mesh is not None and (deviates := told(hulls, primitive.pieces_tolerance)) is not None:
            self.warnings.append(f"{key} ({primitive.name}): {deviates}")
        for i, hull in enumerate(hulls):
            name = primitive.name if i == 0 else f"{primitive.name}_{i}"
            size, at = (primitive.kernel_size(), p) if hull is None else (hull.half, p + R @ hull.centre)
            kind = kind_of(hull) if primitive.shape == "mesh" else primitive.kind()
            self.geometries.append(
                Geometry(name, primitive.name, body, kind, size, R, at, primitive.material, hull=hull)
            )

    def add_body(self, name, inertia, R, p, velocity, key):
        """Append a free body of a RigidInertia without geometries, and its frame; its number.

        R, p : its pose, world [m]; velocity : (6,), angular first, of its origin, world axes [rad/s, m/s]; key : of its
        name in the scene.
        """
        body = len(self.parents)
        self._append_tree(free_body(inertia), np.eye(3), np.zeros(3))
        self.q0.extend([*p, *matrix_to_quat(R)])
        self.v0.extend(velocity)
        self.body_names.append(name)
        self.objects[name] = body
        self.add_frame(name, Frame(body, np.eye(3), np.zeros(3)), key)
        return body

    def add_ground(self, ground):
        """Append the half-space below the ground's height."""
        frame = Frame(WORLD, np.eye(3), np.array([0.0, 0.0, ground.height]))
        self.add_frame("ground", frame, "ground")
        self.geometries.append(
            Geometry("ground", "ground", WORLD, SHAPE_PLANE, np.zeros(3), frame.R, frame.p, ground.material)
        )

    def add_frame(self, link, frame, key):
        """Name a frame of a body; ``key`` is that of its name in the scene."""
        self.scene.refuse_if(
            link in self.frames, key,
            f"link '{link}' occurs twice in this scene; links of all robots and objects need "
            "names of their own: rename one",
        )
        self.frames[link] = frame

    # --- the whole ----------------------------------------------------------------------

    def world(self):
        """The finished World."""
        tree = self._tree()
        link_geometries = {}
        for i, shape in enumerate(self.geometries):
            link_geometries.setdefault(shape.link, []).append(i)
        self._check_names()
        q0 = np.array(self.q0, dtype=np.float64)
        couplings = build_couplings(self.scene, self.frames, tree, q0, self.movers, self.mimics, self.flexible)
        self.adjacent |= joined_pairs(self.scene, self.frames)
        joints = self._forces(tree)
        self._drive(tree, joints)
        joint_v = np.array(self.joint_v, dtype=np.int64)
        followers, S = self._followers(tree)
        units = scene_units(self.geometries, tree, self.scene.gravity, self.scene.time_step)
        geoms = self._geoms(units.length)
        viscous, restitution = (
            pair_means(self.scene, self.geometries, geoms.pairs, name) for name in ("viscous", "restitution")
        )
        world = World(
            viscous=viscous, tree=tree, geoms=geoms, units=units,
            restitution=restitution,
            couplings=couplings, joints=joints, S=S,
            follower_q=tree.q_start[followers], follower_v=tree.v_start[followers],
            follower_names=tuple(mimic.joint for mimic in self.mimics),
            surfaces=pair_surfaces(self.scene, self.geometries, geoms.pairs, self.frames),
            gravity=np.array(self.scene.gravity, dtype=np.float64),
            q0=q0, v0=np.array(self.v0, dtype=np.float64),
            joint_names=tuple(self.joint_names), joint_q=np.array(self.joint_q, dtype=np.int64),
            joint_v=joint_v, effort_limit=tree.effort_limit[joint_v], frames=self.frames,
            objects=self.objects, robot_models=tuple(self.models),
            geometry_names=tuple(shape.name for shape in self.geometries),
            geometry_links=tuple(shape.link for shape in self.geometries), body_names=tuple(self.body_names),
            link_geometries={link: tuple(rows) for link, rows in link_geometries.items()},
            warnings=tuple(self.warnings), flexible=tuple(self.flexible), hinges=make_hinges(),
        )
        if self.scene.coordinates == "bodies":
            world = in_body_coordinates(world, self.scene)
        for array in (*world.tree, *world.geoms[:-1], *world.geoms.mesh, world.gravity, world.q0, world.v0,
                      world.joint_q, world.joint_v, world.effort_limit, world.viscous, world.restitution,
                      *world.surfaces):
            array.setflags(write=False)
        return world

    def _tree(self):
        n = len(self.parents)
        kinds = np.array(self.bodies["joint_type"], dtype=np.int64)
        nv = np.array(self.bodies["nv"], dtype=np.int64)
        nq = np.array(JOINT_NQ)[kinds]
        shapes = {"R_joint": (n, 3, 3), "inertia": (n, 3, 3), "mass": (n,)}
        floats = {
            name: np.array(self.bodies[name], dtype=np.float64).reshape(shapes.get(name, (n, 3)))
            for name in BODY_ARRAYS if name not in ("joint_type", "nv")
        }
        floats.update({name: np.array(self.dofs[name], dtype=np.float64) for name in DOF_ARRAYS})
        return Tree(
            parent=np.array(self.parents, dtype=np.int64), joint_type=kinds,
            q_start=(np.cumsum(nq) - nq).astype(np.int64), v_start=(np.cumsum(nv) - nv).astype(np.int64),
            nv=nv, root=tree_roots(self.parents), **floats,
        )

    def _followers(self, tree):
        """Bodies that mimic joints move, and S."""
        bodies = np.array([self.movers[mimic.joint] for mimic in self.mimics], dtype=np.int64)
        if not self.mimics:
            return bodies, None
        S = np.eye(len(tree.armature))
        for k, mimic in zip(bodies, self.mimics):
            S[tree.v_start[k], tree.v_start[self.movers[mimic.leader]]] = mimic.ratio
        return bodies, np.delete(S, tree.v_start[bodies], axis=1)

    def _forces(self, tree):
        """JointForces of all degrees of freedom."""
        arrays = {name: np.array(values, dtype=np.float64) for name, values in self.forces.items()}
        driven = {"rubbing": arrays["friction"], "sprung": arrays["stiffness"]}
        driven["servos"] = arrays["gain"] + arrays["rate_gain"]
        bodies = {
            name: np.array([k for k in np.flatnonzero(tree.nv == 1) if of[tree.v_start[k]] > 0.0], dtype=np.int64)
            for name, of in driven.items()
        }
        bodies["rubbing"] = np.concatenate((bodies["rubbing"], rubbing_threads(self.scene)))
        return JointForces(damping=tree.damping, total=tree.damping.copy(), **arrays, **bodies)

    def _drive(self, tree, joints):
        """Targets of driven joints: no number as long as they are on their paths."""
        for i, motion in enumerate(self.scene.motions):
            if motion.joint is not None:
                d = tree.v_start[self.movers[motion.joint]]
                message = f"'{motion.joint}' has an actuator; leave one out"
                self.scene.refuse_if(joints.gain[d] + joints.rate_gain[d] > 0.0, f"motions[{i}].joint", message)
                joints.target[d] = np.nan

    def _geoms(self, unit):
        shapes, g = self.geometries, len(self.geometries)
        pairs = geometry_pairs(self.scene.collision_filters, shapes, self.adjacent, self.rules)
        mu, warnings = pair_frictions(self.scene, shapes, pairs)
        by_event = self.scene.collision_scheme == "event"
        margin = self.scene.contact_margin * (unit if self.scene.contact_margin == CONTACT_MARGIN else 1.0)
        margin = max(margin, EVENT_MARGIN * unit if by_event else 0.0)
        self.warnings.extend(warnings)
        return Geoms(
            body=np.array([shape.body for shape in shapes], dtype=np.int64),
            kind=np.array([shape.kind for shape in shapes], dtype=np.int64),
            size=np.array([shape.size for shape in shapes], dtype=np.float64).reshape(g, 3),
            R=np.array([shape.R for shape in shapes], dtype=np.float64).reshape(g, 3, 3),
            p=np.array([shape.p for shape in shapes], dtype=np.float64).reshape(g, 3),
            pairs=np.array(pairs, dtype=np.int64).reshape(len(pairs), 2),
            mu=np.array(mu, dtype=np.float64),
            margin=np.array([margin], dtype=np.float64),
            **hull_arrays([shape.hull for shape in shapes]), first_row=first_rows(pairs, g), unit=np.array([unit]),
        )

    def _check_names(self):
        """Every link that the scene mentions exists."""
        scene = self.scene
        wanted = [(f"operational_frames[{i}]", name) for i, name in enumerate(scene.operational_frames)]
        wanted += [(f"contact_wrench_links[{i}]", name) for i, name in enumerate(scene.contact_wrench_links)]
        for key in ("adhesion_pads", "moving_surfaces"):
            wanted += [(f"{key}[{i}].link", entry.link) for i, entry in enumerate(getattr(scene, key))]
        for i, tendon in enumerate(scene.tendons):
            for j, element in enumerate(tendon.path):
                key = f"tendons[{i}].path[{j}]"
                wanted += [(f"{key}.link", element.link)] if element.link not in (None, "world") else []
                scene.refuse_if(
                    element.joint is not None and element.joint not in self.joint_names, f"{key}.joint",
                    f"no scalar joint is called '{element.joint}'; joints: {', '.join(self.joint_names)}",
                )
        for i, pair in enumerate(scene.collision_filters.disable):
            wanted += [(f"collision_filters.disable[{i}]", name) for name in pair]
        for key, name in wanted:
            scene.refuse_if(
                name not in self.frames, key,
                f"no link is called '{name}'; links: {', '.join(self.frames)}",
            )


def _six(velocity):
    """Velocity of a floating joint: world axes at the body's origin, angular first."""
    return np.array([*velocity.angular, *velocity.linear], dtype=np.float64)
