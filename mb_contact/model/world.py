# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A world: all robots and objects of a scene merged into one forest of bodies and one list of geometries."""

from dataclasses import dataclass

import numpy as np

from mb_contact.checks import instead_of
from mb_contact.errors import SceneError
from mb_contact.model.body_coordinates import in_body_coordinates, make_hinges
from mb_contact.model.closures import Couplings, build_couplings, joined_pairs, rubbing_threads
from mb_contact.model.flexible.links import FlexibleBody
from mb_contact.model.model import Frame, Geometry, Model
from mb_contact.model.pairs import (
    first_rows,
    geometry_pairs,
    hull_arrays,
    pair_frictions,
    pair_means,
    pair_surfaces,
)
from mb_contact.model.poses import tree_roots
from mb_contact.model.robots import BODY_ARRAYS, DOF_ARRAYS, RobotParts, six
from mb_contact.model.rotations import matrix_to_quat
from mb_contact.model.scene import CONTACT_MARGIN, Scene, check_scene
from mb_contact.model.shapes.deviations import size_of, told
from mb_contact.model.shapes.primitives import (
    free_body,
    primitive_inertia,
    scene_shapes,
)
from mb_contact.model.shapes.triangle_meshes import kind_of
from mb_contact.model.softness import pair_softness
from mb_contact.model.units import Units, scene_units
from mb_contact.types import (
    JOINT_NQ,
    SHAPE_PLANE,
    WORLD,
    FrictionParameters,
    Geoms,
    Hinges,
    JointForces,
    Tree,
)

FAR = 100.0  #: sizes by which a mesh may lie off the origin of its file
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
    builder.warnings.extend(scene.doubts)
    for i, entry in enumerate(scene.models):
        builder.add_model(entry, f"models[{i}]")
    for i, primitive in enumerate(scene.primitives):
        builder.add_primitive(primitive, f"primitives[{i}]")
    if scene.ground is not None:
        builder.add_ground(scene.ground)
    return builder


class WorldBuilder(RobotParts):
    """Collects the parts of a world in their final numbering."""

    # --- objects ------------------------------------------------------------------------

    def add_primitive(self, primitive, key):
        """Append an object of one shape, welded to the inertial frame or a free body."""
        R, p = primitive.pose.rotation(), primitive.pose.origin()
        files = scene_shapes(self.scene, primitive, key)
        hulls = [hull for file in files for hull in file]
        body = WORLD
        if primitive.base == "free":
            inertia = primitive_inertia(self.scene, primitive, hulls, key)
            velocity = np.zeros(6) if primitive.velocity is None else six(primitive.velocity)
            body = self.add_body(primitive.name, inertia, R, p, velocity, f"{key}.name")
            R, p = np.eye(3), np.zeros(3)
        else:
            self.add_frame(primitive.name, Frame(body, R, p), f"{key}.name")
        for i, bodies in enumerate(files if primitive.shape == "mesh" else ()):
            place = f"{key}.pieces[{i}]" if primitive.pieces else key
            if (deviates := told(bodies, primitive.pieces_tolerance)) is not None:
                self.warnings.append(f"{place} ({primitive.name}): {deviates}")
            far, size = float(np.linalg.norm(bodies[0].centre)), size_of(bodies)
            if primitive.base == "free" and far > FAR * size:
                what = f"its mesh is {size:.3g} m large and {far:.3g} m off the origin of its file"
                remedy = "the body moves about that origin, and rounding shakes it; centre the mesh there"
                self.warnings.append(f"{place} ({primitive.name}): {what}; {remedy}")
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
        for array in (*world.tree, *world.geoms[:-2], *world.geoms.mesh, *world.geoms.soft, world.gravity,
                      world.q0, world.v0, world.joint_q, world.joint_v, world.effort_limit, world.viscous,
                      world.restitution, *world.surfaces):
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
            soft=pair_softness(self.scene, shapes, pairs),
        )

    def _check_names(self):
        """Every link and entity that the scene mentions exists."""
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
        entities = [entry.name or model.name for entry, model in zip(scene.models, self.models)]
        entities += [entry.name for entry in scene.primitives]
        for name in scene.entities:
            known = instead_of(name, entities, "there are")
            scene.refuse_if(name not in entities, f"entities.{name}", f"there is no '{name}'; {known}")
        for key, name in wanted:
            if name not in self.frames:
                raise scene.error(key, f"no link is called '{name}'; {instead_of(name, self.frames, 'links:')}")
