# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Types that cross into compiled kernels: constants, named tuples of arrays, status codes.

Everything here is plain data.  A kernel in :mod:`mb_contact.core` receives these tuples
and nothing else; their arrays are C-contiguous float64 or int64.  Spatial 6-vectors are
angular part first; body quantities inside kernels are in world axes at the body's own
origin (see ``docs/notation.md``).
"""

from typing import NamedTuple

import numpy as np

# --- joint types: q layout, v layout (docs/notation.md has the table) -------------------
JOINT_REVOLUTE = 0  #: q = angle; v = rate about the axis
JOINT_PRISMATIC = 1  #: q = displacement; v = rate along the axis
JOINT_FLOATING = 2  #: q = position (3), quaternion x y z w (4); v = [omega; v_origin], world axes
JOINT_PLANAR = 3  #: q = two displacements, angle; v = their rates
JOINT_SPHERICAL = 4  #: q = quaternion x y z w; v = omega relative to the parent, joint frame axes
JOINT_UNIVERSAL = 5  #: q = angles about the first axis and about the second, which the first turns; v = their rates
JOINT_SLIDING = 6  #: contact of two surfaces: q = (u1, u2, psi); v = their rates; only in a SurfaceTree
JOINT_ROLLING = 7  #: the same without slip: v = omega of the body relative to the parent, contact frame 1c
JOINT_SCREW = 8  #: q = angle; v = its rate; the body goes on by ``axis2``, a displacement, with each radian
JOINT_WELD = 9  #: none; of a flexible link that does not move beside its parent, and so has a body of its own
JOINT_MODE = 10  #: q = coordinate of a mode of the parent, a flexible link; moves no body by itself
JOINT_NODE = 11  #: none; of a node of the parent, which its modes place

JOINT_NQ = (1, 1, 7, 3, 4, 2, 5, 5, 1, 0, 1, 0)
JOINT_NV = (1, 1, 6, 3, 3, 2, 5, 3, 1, 0, 1, 0)
JOINT_NAMES = (
    "revolute", "prismatic", "floating", "planar", "spherical", "universal", "sliding", "rolling", "screw", "weld",
    "mode", "node",
)  # fmt: skip

# --- collision shapes: centred at the geometry frame, long axis z ------------------------
SHAPE_SPHERE = 0  #: size = (radius, 0, 0)
SHAPE_CAPSULE = 1  #: size = (radius, half length of the segment, 0)
SHAPE_CYLINDER = 2  #: size = (radius, half length, 0)
SHAPE_BOX = 3  #: size = half extents
SHAPE_CONE = 4  #: size = (base radius, half height, 0); the tip at +z
SHAPE_ELLIPSOID = 5  #: size = semi-axes
SHAPE_CONVEX = 6  #: convex hull of points; size = half extents of a box about the origin, which is inside of it
SHAPE_PLANE = 7  #: half-space z <= 0 of the geometry frame; size unused
SHAPE_HEIGHT_FIELD = 8  #: welded, what lies below a grid of triangles; size and origin of its box, with its thickness
HOLLOW, WITHIN = -1, -2  #: of ``Meshes.border``: along the edge a side rises; its plane goes on
SHAPE_MESH = 9  #: triangles as they are, closed or a sheet; size and origin of its bounding box

SHAPE_NAMES = ("sphere", "capsule", "cylinder", "box", "cone", "ellipsoid", "convex", "plane", "height_field", "mesh")

# --- gaps up to which bodies count as touching [m], of joint limits [rad, m] ------------------------
TOUCHING_FRICTION = 1e-4  #: friction of the no-slip and viscous models acts
TOUCHING_IMPACT = 1e-6  #: takes part in what collides elsewhere
TOUCHING_EVENT = 1e-8  #: the event scheme holds the contact, or lets it collide or leave
TOUCHING_JAMMED = 1e-8  #: counts as no gap in large islands, and where push-out is taken out of a problem

# --- what a scalar row of a joint bounds (``rows.bound``) ------------------------------------------
LOWER = 0  #: even ones act along the joint's rate, odd ones against it
UPPER = 1
SLOWEST = 2  #: velocity limits
FASTEST = 3
RUB = 4  #: friction, or a coupling with another joint: bilateral rows
JOINT_ROWS = 5

# --- loop closures (core/tree/closures.py) ----------------------------------------------------
CLOSURE_WELD = 0
CLOSURE_AXIS = 1
CLOSURE_POINT = 2
CLOSURE_DISTANCE = 3
CLOSURE_PLANAR = 4
CLOSURE_SCREW = 5

CLOSURE_NAMES = ("weld", "axis", "point", "distance", "planar", "screw")
CLOSURE_ROWS = (6, 5, 3, 1, 3, 5)

# --- tendons (core/constraints/tendon_path.py, tendon.py) -------------------------------------------
TENDON_POINT, TENDON_SPHERE, TENDON_CYLINDER, TENDON_PULLEY, TENDON_JOINT = range(5)  #: elements of a path
#: what a row does
TENDON_SPRING, TENDON_LONGEST, TENDON_SHORTEST, TENDON_RUBS, TENDON_HELD, TENDON_GRIPS = range(6)

WORLD = -1  #: the inertial frame, as a body index

# --- status codes of kernels --------------------------------------------------------------
OK = 0
SINGULAR_HINGE = 1  #: D(k) of an articulated-body sweep is not positive definite
TOO_MANY_CONTACTS = 2
NOT_FINITE = 3
ZERO_QUATERNION = 4
LIMIT_MISSED = 5  #: not an error: solve again, with one joint limit more
STEP_TOO_SMALL = 6  #: an integrator cannot meet its tolerance with any step
SYSTEM_TOO_SMALL = 7  #: not an error: the contact problem needs larger workspaces
ASK_ENGINE = 8  #: not an error: the collision engine has to answer for some pairs first
IN_PARTS = 9  #: not an error: an impact, for which the step is taken in parts
ASK_AT_END = 10  #: not an error: the same, for poses at the end of the step
LOOP_LOST = 11  #: the loops of an aggregate cannot be closed where a step ends
CONTACTS_CHANGED = 12  #: not an error: solve again, with other contacts of pairs that pass or meet otherwise
ASK_ON_WAY = 13  #: not an error: the engine has to answer for poses on the way through the step
GAINED_ENERGY = 14  #: not an error: the step would make energy and is taken again in shorter pieces

LEAST_SQUARE = 1e-12  #: squared norm of a quaternion that still is a rotation; 1 over it at most

# --- contact states ------------------------------------------------------------------------
SEPARATE = 0
STICK = 1
SLIP = 2

CONTACT_STATE_NAMES = ("separate", "stick", "slip")

# --- how a step's contact problem was solved, worst island last (docs/contact.md) -----------
SOLVER_NONE = 0  #: no row in this step
SOLVER_WARM = 1  #: the impulses of the last step solve it
SOLVER_NEWTON = 2  #: Newton steps
SOLVER_LEVELLED = 3  #: solved without gaps and penetrations up to TOUCHING_JAMMED, which are not known better
SOLVER_NO_PUSH_OUT = 4  #: a ray shows that push-out velocities jam an island: solved without them
SOLVER_OVER_BUDGET = 5  #: the best impulses of the allowed Newton steps; the certificate says how good they are

SOLVER_NAMES = ("none", "warm_start", "newton", "levelled", "no_push_out", "over_budget")


ONE_GRAVITY = np.zeros((0, 3))  #: ``Tree.body_gravity`` where no body has its own
ONE_GRAVITY.setflags(write=False)


class Tree(NamedTuple):
    """A forest of rigid bodies: n bodies, N degrees of freedom, constant arrays.

    Bodies are numbered base to tip (``parent[k] < k``); ``parent[k] == WORLD`` hangs body k
    on the inertial frame.  Body frame k is the joint frame after the joint's motion.
    """

    parent: np.ndarray  #: int64 (n,)
    joint_type: np.ndarray  #: int64 (n,), JOINT_*
    q_start: np.ndarray  #: int64 (n,), first entry of joint k in q
    v_start: np.ndarray  #: int64 (n,), first entry of joint k in v
    nv: np.ndarray  #: int64 (n,), r(k), degrees of freedom of joint k
    root: np.ndarray  #: int64 (n,), index of the root body of k's tree
    R_joint: np.ndarray  #: (n, 3, 3), joint frame to parent body frame
    p_joint: np.ndarray  #: (n, 3), joint origin in the parent body frame [m]
    axis: np.ndarray  #: (n, 3), unit, joint frame: of the (first) rotation or displacement, normal of a plane; or 0
    axis2: np.ndarray  #: (n, 3), unit: second axis of a universal joint, first direction in a plane; or 0;
    #: of a screw not unit: displacement per radian, pitch / 2 pi times the axis [m]
    mass: np.ndarray  #: (n,) [kg]
    com: np.ndarray  #: (n, 3), centre of mass in the body frame [m]
    inertia: np.ndarray  #: (n, 3, 3), about the centre of mass, body axes [kg m^2]
    armature: np.ndarray  #: (N,), rotor inertia reflected to the joint
    damping: np.ndarray  #: (N,), viscous joint damping [N m s/rad, N s/m]
    effort_limit: np.ndarray  #: (N,), inf where none; 0 where not actuated
    lower: np.ndarray  #: (N,), position limit of scalar joints, -inf where none
    upper: np.ndarray  #: (N,)
    body_gravity: np.ndarray = ONE_GRAVITY  #: (n, 3) or (0, 3), of bodies with their own [m/s^2], else no numbers (NaN)


ORDINARY = np.ones(1)  #: unit of length of a scene of ordinary sizes
ORDINARY.setflags(write=False)


class Meshes(NamedTuple):
    """What belongs together in triangle meshes, constant arrays; rows of all geometries one behind the other.

    Vertices and triangles are counted as in ``Geoms.vertices`` and ``Geoms.faces``, over all geometries.
    """

    first_node: np.ndarray  #: int64 (g + 1,), nodes of each geometry's tree of boxes; the first one is its root
    box: np.ndarray  #: (nodes, 2, 3), lower and upper corner of a node's box, in the geometry's frame [m]
    child: np.ndarray  #: int64 (nodes, 2), two nodes; of a leaf -1 - its first entry of ``order``, and their number
    order: np.ndarray  #: int64 (.,), triangles of the leaves
    sided: np.ndarray  #: int64 (g,), 1 of closed meshes and height fields, 2 of sheets, 0 of other shapes
    first_ridge: np.ndarray  #: int64 (faces + 1,), ridges that each triangle owns: edges from which both sides fall off
    ridge: np.ndarray  #: int64 (ridges, 2), vertices
    goes_on: np.ndarray  #: int64 (ridges,), it goes on straight at its first (last) end: 1 (2), ends in a hollow: 4 (8)
    sides: np.ndarray  #: (ridges, 4, 3), normals of both sides, and directions into both sides, across the ridge
    first_peak: np.ndarray  #: int64 (faces + 1,), peaks that each triangle owns: vertices that are no middle of a plane
    peak: np.ndarray  #: int64 (peaks,), vertices
    first_beside: np.ndarray  #: int64 (peaks + 1,), neighbours of each peak
    beside: np.ndarray  #: int64 (.,), vertices
    outward: np.ndarray  #: (peaks, 3), mean normal at each peak by angles, the other way at a pit; zero of a sheet
    border: np.ndarray  #: int64 (faces, 9), ridge along each edge, or HOLLOW, WITHIN; two at each corner, or -1


def without_meshes(geometries=0):
    """Meshes of a world that has none among so many geometries."""
    none, whole = np.zeros(0, dtype=np.int64), {}
    whole.update(box=np.zeros((0, 2, 3)), child=none.reshape(0, 2), ridge=none.reshape(0, 2))
    whole.update(sided=np.zeros(geometries, dtype=np.int64))
    whole.update(sides=np.zeros((0, 4, 3)), border=none.reshape(0, 9), outward=np.zeros((0, 3)))
    made = Meshes(**{name: whole.get(name, none) for name in Meshes._fields})
    for array in made:
        array.setflags(write=False)
    return made


NO_MESHES = without_meshes()


RIGID, SPRING, FOUNDATION, HERTZ = range(4)  #: entries of Softness.law


class Softness(NamedTuple):
    """How each pair of ``Geoms.pairs`` gives way; no rows in worlds whose materials are all rigid (m = 0)."""

    law: np.ndarray  #: int64 (m,), RIGID ... HERTZ
    #: (m,), of SPRING for each point [N/m], of FOUNDATION for each area [N/m^3], of HERTZ F = k d^(3/2) [N/m^1.5]
    stiffness: np.ndarray
    time: np.ndarray  #: (m,), damping over stiffness [s]
    shear: np.ndarray  #: (m,), tangential over normal stiffness, 0 where tangents are rigid
    host: np.ndarray  #: int64 (m,), of FOUNDATION the box on whose face the points are laid, else -1
    cells: np.ndarray  #: int64 (m, 3), of FOUNDATION points along the box's axes


def make_softness(m):
    """Softness of m pairs that are all rigid."""
    whole, real = (np.zeros(m, dtype=np.int64) for _ in range(2)), (np.zeros(m) for _ in range(3))
    law, host = whole
    return Softness(law, *real, host - 1, np.ones((m, 3), dtype=np.int64))


NO_SOFTNESS = make_softness(0)
for _array in NO_SOFTNESS:
    _array.setflags(write=False)


class Geoms(NamedTuple):
    """Collision geometries of a world, constant arrays."""

    body: np.ndarray  #: int64 (g,), body index or WORLD
    kind: np.ndarray  #: int64 (g,), SHAPE_*
    size: np.ndarray  #: (g, 3), see SHAPE_*
    R: np.ndarray  #: (g, 3, 3), geometry frame to body frame
    p: np.ndarray  #: (g, 3), geometry origin in the body frame [m]
    pairs: np.ndarray  #: int64 (m, 2), geometry pairs that may touch, first < second
    mu: np.ndarray  #: (m,), friction coefficient of each pair
    margin: np.ndarray  #: (1,), contacts exist from this gap on [m]
    vertices: np.ndarray  #: (., 3), of all convex hulls, in the geometries' frames [m]
    first_vertex: np.ndarray  #: int64 (g + 1,), rows of ``vertices`` of each geometry
    faces: np.ndarray  #: (., 3), outward normals of the hulls' faces, in the geometries' frames
    first_face: np.ndarray  #: int64 (g + 1,), rows of ``faces`` of each geometry
    corners: np.ndarray  #: int64 (.,), vertices of all faces, counterclockwise seen from outside, counted in the hull
    first_corner: np.ndarray  #: int64 (faces + 1,), entries of ``corners`` of each face
    patch: np.ndarray  #: int64 (.,), first triangle of those in one plane that hang together, of each face of a field
    grid: np.ndarray  #: int64 (g, 2), points of a height field along x and y; 0 of other shapes
    sharpest: np.ndarray  #: (g,), least angle between two faces at a vertex of a convex hull [rad]; pi of other shapes
    first_row: np.ndarray  #: int64 (g + 1,), where the pairs of each first geometry start; empty in small worlds
    unit: np.ndarray = ORDINARY  #: (1,), by which tolerances in metres are multiplied, see ``model/units.py``
    mesh: Meshes = NO_MESHES
    soft: Softness = NO_SOFTNESS


class FrictionParameters(NamedTuple):
    """What the exact friction cone knows of each pair of ``Geoms.pairs`` besides ``Geoms.mu``, constant arrays."""

    torsional: np.ndarray  #: (m,), bounds the moment about the normal [m]
    rolling: np.ndarray  #: (m,), bounds the moment along the surface [m]
    along: np.ndarray  #: (m,), friction coefficient along ``direction``
    across: np.ndarray  #: (m,), friction coefficient across it
    side: np.ndarray  #: int64 (m,), 0 or 1: whose direction it is; -1 where friction is the same in all directions
    direction: np.ndarray  #: (m, 3), unit, in the axes of ``frame``
    frame: np.ndarray  #: int64 (m,), body in whose axes the direction stands, or WORLD; by default that geometry's


class Closures(NamedTuple):
    """Loop closures of a world, constant arrays; frames in those of their bodies."""

    kind: np.ndarray  #: int64 (c,), CLOSURE_*
    body_a: np.ndarray  #: int64 (c,), body or WORLD
    body_b: np.ndarray  #: int64 (c,)
    p_a: np.ndarray  #: (c, 3) [m]
    p_b: np.ndarray  #: (c, 3) [m]
    R_a: np.ndarray  #: (c, 3, 3), the z axis is the axis of kinds axis and screw, the normal of kind planar
    R_b: np.ndarray  #: (c, 3, 3)
    length: np.ndarray  #: (c,), of kind distance [m]
    motion: np.ndarray  #: (c, 7), of frame b in its body: angular, linear velocity in b's axes, rate of the length
    lead: np.ndarray  #: (c,), of kind screw: pitch / 2 pi [m]
    friction: np.ndarray  #: (c,), of kind screw: torque about the axis [N m]
    grip: np.ndarray  #: (c,), of kind screw: friction torque for a force along the axis, coefficient times radius [m]
    climb: np.ndarray  #: (c,), of kind screw: way along the axis in the way along the flanks, lead / radius^2 [1/m]
    end: np.ndarray  #: (c,), of kind screw: way along the axis at which the thread ends, inf where it does not [m]
    break_force: np.ndarray  #: (c,), of kind weld: force from which on it breaks, inf where it does not [N]
    break_torque: np.ndarray  #: (c,), the same of the moment about its frames' origin [N m]
    released: np.ndarray  #: int64 (c,), not 0 where it is off, as threads that came off: a view of ``Memory.released``


class Gears(NamedTuple):
    """Couplings of two scalar joints, ``q_a = ratio q_b + offset``: mimic joints, gears, driven joints (ratio 0)."""

    body_a: np.ndarray  #: int64 (g,), body that joint a moves
    body_b: np.ndarray  #: int64 (g,)
    ratio: np.ndarray  #: (g,)
    offset: np.ndarray  #: (g,) [rad, m]
    rate: np.ndarray  #: (g,), of the offset [rad/s, m/s]


class Hinges(NamedTuple):
    """Joints of one degree of freedom of a world in body coordinates; constant arrays but ``speed`` and ``posed``."""

    body: np.ndarray  #: int64 (j,), whose origin lies on the axis
    base: np.ndarray  #: int64 (j,), body or WORLD
    slides: np.ndarray  #: int64 (j,), 1 of prismatic joints, 0 of those that turn
    R_body: np.ndarray  #: (j, 3, 3), axes of the hinge in the body's, z along the axis
    R_base: np.ndarray  #: (j, 3, 3), at position zero in the base's axes
    p_base: np.ndarray  #: (j, 3), origin in the base's frame [m]
    lower: np.ndarray  #: (j,), position limits, infinite where none [rad, m]
    upper: np.ndarray  #: (j,)
    middle: np.ndarray  #: (j,), positions of those that turn are within half a turn of it [rad]
    damping: np.ndarray  #: (j,) [N m s/rad, N s/m]
    armature: np.ndarray  #: (j,), rotor inertia reflected to the joint
    friction: np.ndarray  #: (j,), Coulomb friction [N m, N]
    effort_limit: np.ndarray  #: (j,), inf where none
    speed: np.ndarray  #: (j,), with which a step may reach a limit [rad/s, m/s]
    posed: np.ndarray  #: int64 (j, 4), rows of the last step's lower and upper limit, damping and friction, or -1


class JointForces(NamedTuple):
    """What acts in the joints of a world beside its efforts; springs, friction and servos of scalar joints only."""

    damping: np.ndarray  #: (N,) [N m s/rad, N s/m]
    total: np.ndarray  #: (N,), damping, and what springs and servos add to it in a step; the tree has a read-only view
    stiffness: np.ndarray  #: (N,) [N m/rad, N/m]
    rest: np.ndarray  #: (N,), position in which the spring is slack [rad, m]
    friction: np.ndarray  #: (N,), Coulomb friction [N m, N]
    velocity_limit: np.ndarray  #: (N,), inf where none is enforced
    rubbing: np.ndarray  #: int64 (f,), bodies whose joint has friction, then -1 - c of each closure c with friction
    sprung: np.ndarray  #: int64 (s,), bodies whose joint has a spring
    gain: np.ndarray  #: (N,), of position servos [N m/rad, N/m]
    rate_gain: np.ndarray  #: (N,), of position and velocity servos [N m s/rad, N s/m]
    target: np.ndarray  #: (N,), position that servos are asked for [rad, m]
    target_rate: np.ndarray  #: (N,) [rad/s, m/s]
    saturation: np.ndarray  #: (N,), sign of the limit at which a servo's effort is; 2 or -2 since this step
    servos: np.ndarray  #: int64 (a,), bodies whose joint has a servo


class Contacts(NamedTuple):
    """Contact points of the current step; capacity c, the first ``count[0]`` are valid.

    The normal points from B to A; ``gap`` is positive before touching.
    """

    count: np.ndarray  #: int64 (1,)
    pair: np.ndarray  #: int64 (c,), row in Geoms.pairs
    feature: np.ndarray  #: int64 (c,), identity of the point within the pair, stable between steps
    point: np.ndarray  #: (c, 3), between the two surfaces, world [m]; those of a flat face at one height
    normal: np.ndarray  #: (c, 3), unit, world
    gap: np.ndarray  #: (c,) [m]
    spread: np.ndarray  #: (c, 3), from the point to A's own, and back to B's; zero but at the moment of meeting [m]
    area: np.ndarray  #: (c,), that a point of a foundation stands for; of others without meaning [m^2]
