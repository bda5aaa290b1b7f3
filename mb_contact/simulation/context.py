# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""What the parts of a step share: the scene, the arrays behind the step's handle, and the parts themselves."""

import numpy as np

from mb_contact.collision import ask_engine, make_buffers, make_contacts, make_narrow_phase
from mb_contact.core import tree_workspace as _tree, workspace as _workspace
from mb_contact.core.collision.closed_forms import NEAR
from mb_contact.core.collision.workspace import Motion
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, HINGES, TENDONS_AT, make_bilateral_work
from mb_contact.core.constraints.tendon_path import make_tendons_handle
from mb_contact.core.declare import allocate
from mb_contact.core.handle import DT, ONLY_ROWS, TIED, StepArrays, make_geoms_handle, make_step_handle
from mb_contact.core.integrate.kept_contacts import PosesArrays, make_poses_handle
from mb_contact.core.integrate.whole import accept
from mb_contact.core.solve import assemble as _assemble, friction as _friction, islands as _islands
from mb_contact.core.solve.system import make_factors, make_system, make_system_handle, spread_rows
from mb_contact.core.step import step as _step
from mb_contact.core.step.by_need import review
from mb_contact.core.step.closing import make_closing_work
from mb_contact.core.step.need import make_need
from mb_contact.model.aggregates import choose_loops, merged_roots, tree_aggregates
from mb_contact.model.pairs import PairLinks
from mb_contact.model.poses import tree_poses
from mb_contact.model.scene import ELASTIC_MODELS, PUSH_OUT_RATE, PUSH_OUT_VELOCITY
from mb_contact.record import StateLayout, read_only
from mb_contact.simulation.attachments import Attachments
from mb_contact.simulation.handling import make_belts, make_pads
from mb_contact.simulation.other_poses import OtherPoses
from mb_contact.simulation.sleeping import Sleepers
from mb_contact.simulation.stepping.integrators import make_scene_flow
from mb_contact.simulation.tendons import make_tendons, tendon_parts, tendon_rows
from mb_contact.simulation.wrenches import ExternalWrenches, moving_links
from mb_contact.types import (
    ASK_ON_WAY,
    JOINT_FLOATING,
    SHAPE_HEIGHT_FIELD,
    SYSTEM_TOO_SMALL,
    TOO_MANY_CONTACTS,
    Contacts,
)

MOVING_FRAME_SPEED = 1e-3  #: above it a friction frame follows the slip, unless the scene fixes it [m/s]
PROJECTION_TOLERANCE = 1e-12  #: closure error at which a projection ends [m, rad]
FIRST_CAPACITY = 64  #: contact points; doubled whenever a step finds more
SOLVED = 1e-10  #: natural map of every block that a step asks of its solver [sqrt(N s m/s)]
NEWTON_STEPS = 600  #: that an island may take
FULL = 1e-6  #: part of its bound that an impulse of joint friction may lack where the joint slips
NEVER = 1e300  #: part of an energy that no step gains
SERVO_ARRAYS = ("target", "target_rate", "saturation")  #: of the joints, which change
STEP_THRESHOLD = 0.01  #: approach speed from which contacts collide in time stepping [m/s]

FRICTION_MODELS = {
    "coulomb_cone": _friction.COULOMB,
    "coulomb_polyhedral": _friction.COULOMB,
    "no_slip": _friction.NO_SLIP,
    "viscous": _friction.VISCOUS,
    "coulomb_viscous": _friction.COULOMB_VISCOUS,
}


class StepContext:
    """The scene, the state and the workspaces of its steps, under the names that they have in the step's handle.

    Parameters
    ----------
    scene : Scene
    world : World
    surfaces : TreePart, optional
        The SurfaceTree whose state is a part of the scene's.

    Attributes
    ----------
    layout : StateLayout
    state, contact_state : ndarray
        The two vectors of the state (docs/state.md), of which ``q``, ``v``, ``effort``, ``gravity``, ``memory`` and
        other arrays that change from step to step are views; the latter is another one behind ``allocate``.
    q, v, effort : ndarray
        Coordinates (nq,), velocities (N,) and commanded efforts (N,) that the kernels work on.
    settings, solver, drift : ndarray
        Numbers of the step, its solver and the closing of loops; ``core/handle.py`` names their entries.
    parts, couplings, loops
        Aggregates of the tree, the loops and gears that are rows of the step's problem, and why they are, by names.
    kin, art, compliance, work
        Kinematics, articulated inertias and compliance of the tree, and vectors of a step (``core/workspace.py``).
    contacts, rows, frames, solution, system, forest, loop, bilateral, closing, memory
        Contacts, the step's problem and its solution, and what the next step starts from; ``allocate`` makes them.
    handle
        All of these, as kernels take them.
    contact_step, integrator, impacts, events
        Who solves, moves and collides; ``impacts`` and ``events`` are None where a scene has none (yet).
    """

    def __init__(self, scene, world, surfaces=None):
        self.scene, self.world, self.surfaces, tree = scene, world, surfaces, world.tree
        self.n, self.N = len(tree.parent), len(tree.armature)
        dt = float(scene.time_step)
        units = world.units
        slip_speed = np.inf if scene.friction_frame == "fixed" else MOVING_FRAME_SPEED * units.speed
        usual = scene.push_out_velocity == PUSH_OUT_VELOCITY
        push_speed = float(scene.push_out_velocity) * (units.speed if usual else 1.0)
        landing = landing_speed(scene, units.speed)
        self.settings = np.array([dt, PUSH_OUT_RATE, push_speed, slip_speed, landing, 0.0, *units[:3], NEVER, NEVER])
        self.solver = np.array([SOLVED * units.residual, NEWTON_STEPS, 0.0, 0.0, 0.0])
        projected = PROJECTION_TOLERANCE if scene.drift_control == "projection" else 0.0
        self.drift = np.array([float(scene.drift_rate), projected, dt, float(bool(scene.motions)), 1.0])
        self.impact, self.restitution = np.zeros(4), world.restitution
        joints, hinges = world.joints, world.hinges
        self.hinges = hinges._replace(speed=hinges.speed.copy(), posed=hinges.posed.copy())
        self.hinge_effort = np.zeros(len(hinges.body))  #: clamped commands of the last step
        total = joints.damping.copy()
        self.parts, self.loops = choose_loops(scene, tree, world.couplings, world.flexible)
        embedded = [[i for part in self.parts for i in getattr(part, name)] for name in ("closures", "gears")]
        self.embeds = any(embedded)  #: whether loops or gears are
        self.couplings = world.couplings.without(*embedded) if self.parts else world.couplings
        if self.parts:
            tree = tree._replace(root=merged_roots(tree, self.parts))
        self._layout = _islands.tree_layout(tree.parent, tree.root, tree.v_start, tree.nv)
        forces = (hinges.damping + hinges.armature > 0.0).sum() + (hinges.friction > 0.0).sum()
        self._tendon_rows = len(tendon_rows(scene))
        self._bilateral = self.couplings.rows + self._tendon_rows + len(joints.rubbing) + int(forces)
        self.layout = self._lay_out(surfaces)
        self.state, self.contact_state = np.zeros(self.layout.fixed.size), np.zeros(0)
        self.arrays = arrays = self.layout.fixed.arrays(self.state)
        self.q, self.v, self.effort, self.gravity = arrays[:4]
        self.kept_state = np.zeros_like(self.state)
        self.command, self.joint_v = np.zeros(len(world.joint_v)), np.array(world.joint_v, np.int64)
        self.q[:], self.v[:], self.gravity[:] = world.q0, world.v0, world.gravity
        own = {name: getattr(arrays, name) for name in SERVO_ARRAYS}  # what changes
        for name, array in own.items():
            array[:] = getattr(joints, name)
        self.joints = joints._replace(total=total, **own)
        self.tree = tree._replace(damping=read_only(total))  # kernels are compiled for arrays that they may not write
        self.narrow = make_narrow_phase(world.geoms, scene.collision_engine)
        self.buffers, self.geoms = make_buffers(world.geoms, self.narrow), make_geoms_handle(world.geoms)
        self.kin = _tree.make_kinematics(self.n, self.N, self.make_modal())
        self.art = _tree.make_articulated(self.n, self.N, self.make_aggregates())
        self.compliance = _tree.make_compliance(self.n)
        self.wrenches = ExternalWrenches(world, arrays)
        self.pair_links = PairLinks(world.geoms.pairs, world.geometry_links)
        self.contact_step = self.integrator = self.impacts = self.events = None
        self.new_welds = False  #: whether some have come on or off since the last step
        self.changed = {}  #: values that were set, by their names and what they are of (``values.py``)
        self.motions = None  #: DrivenMotions of a scene that has some
        if scene.motions:
            from mb_contact.simulation.joints.driven import DrivenMotions  # SciPy takes 0.2 s to import

            self.motions = DrivenMotions(self)
        #: Attachments of a scene whose welds come on and off, or None
        self.attachments = Attachments(self) if self._switched() else None
        self.pads, self.belts, self.tendons = make_pads(self), make_belts(self), make_tendons(self)
        self.is_soft = bool(arrays.elastic.size)  #: whether materials of the scene give way
        self.sleepers = Sleepers(self, self._layout[0])
        self.sleep = self.sleepers.arrays
        flows = scene.integrator != "semi_implicit_euler"
        kinds = set(world.geoms.kind)
        looks = not flows or max(kinds, default=0) >= SHAPE_HEIGHT_FIELD
        self.need_rule = np.array([float(scene.collision_scheme != "event"), 0.5 * flows, float(looks)])
        self._poses = make_buffers(world.geoms, self.narrow, 1)._replace(travel=self.buffers.travel)
        self._fill = 1  # of the workspaces of sparse factors
        self.flow_arrays, self.flow = make_scene_flow(self)
        self.initial = self.state.copy()  #: with which the scene begins, but for loops that are still open
        self.memory = self.work = None
        self.time = 0.0  #: at its start [s]
        self.last = None  #: LastStep of the present state; None where it is not that after a step

    def _lay_out(self, surfaces):
        """StateLayout of the scene's state."""
        scene, world, couplings = self.scene, self.world, self.couplings
        trees = int(self._layout[0].max(initial=-1)) + 1 if scene.sleep else 0
        welds = len(couplings.closures.kind) if self._switched() else 0
        sizes = {"nq": len(world.q0), "N": self.N, "m": self._bilateral, "closures": len(couplings.closures.kind),
                 "g": len(world.geoms.kind), "links": len(moving_links(world)),
                 "welds": welds, "driven": welds, "pads": len(scene.adhesion_pads),
                 "belts": len(scene.moving_surfaces), "elastic": min(1, len(world.geoms.soft.law)),
                 "tendons": len(scene.tendons)}  # fmt: skip
        if scene.motions:
            sizes |= {"gears": len(couplings.gears.ratio), "driven": sizes["closures"]}
        if trees:
            sizes |= {"s": 1, "trees": trees, "sleeping_q": sizes["nq"], "sleeping_v": self.N, "sleeping_n": self.n}
        return StateLayout(**sizes, **({} if surfaces is None else surfaces.sizes()))

    def _switched(self):
        """Whether welds of the scene come on and off."""
        return any(entry.switched for entry in self.scene.loop_closures)

    @property
    def applied(self):
        """Where external wrenches (n, 6) of the user go."""
        return self.pads.applied if len(self.pads.applied) else self.work.external

    @property
    def dt(self):
        """Length of the present step [s]; settable."""
        return float(self.settings[DT])

    @dt.setter
    def dt(self, length):
        self.settings[DT] = length

    def make_modal(self):
        """A handle of the tree's flexible links with workspaces of its own, or None."""
        return _tree.make_modal(self.tree, self.world.flexible)

    def make_aggregates(self):
        """The handle of the tree's aggregates with workspaces of its own, or None; each sweep's workspace has one."""
        return _tree.make_aggregates_handle(self.aggregate_arrays()) if self.parts else None

    def aggregate_arrays(self):
        """Aggregates of the tree, with workspaces of their own."""
        couplings, origins = self.world.couplings, tree_poses(self.tree, self.world.q0, self.world.flexible)[1]
        return tree_aggregates(self.tree, self.parts, couplings.closures, couplings.gears, origins)

    def find_candidates(self):
        """Broad and narrow phase for a step from the present state; the number of pairs that could touch."""
        if _step.find_near(self.handle):
            self.ask_engine()
        return int(self.buffers.found[NEAR])

    def ask_engine(self):
        """Witnesses of the pairs that only an engine in Python has."""
        ask_engine(self.narrow, self.buffers)

    def review(self):
        """``step.by_need.review`` of the solved problem, behind the engine's answers; a status."""
        status = review(self.handle)
        while status == ASK_ON_WAY:
            ask_engine(self.narrow, self.need.poses)
            status = review(self.handle)
        return status

    def motion(self):
        """Kinetic and potential energy [J] and the power of gravity [W] of the present state."""
        return *self.work.energy.tolist(), float(self.work.falling[0])

    def accept(self, start, impacts):
        """``whole.accept`` of a concluded step from a ``motion``, in which impacts did so much work [J]; a status."""
        return accept(self.handle, self.integrator.lag, *start, impacts)

    def loop_impulses(self):
        """Impulses (loops', friction's and gears' rows,) of the solved problem [N s, N m s]."""
        first, more = int(self.bilateral.info[FIRST]), self._tendon_rows
        rows = self.solution.r[first : first + self.couplings.rows + len(self.joints.rubbing) + more]
        if not more:
            return rows
        at = int(self.bilateral.info[TENDONS_AT])
        return np.delete(rows, slice(at, at + more))

    def held_joints(self):
        """Whether friction held each joint that has it (f,) in the last step: its impulse was below its bound."""
        info, f = self.bilateral.info, len(self.joints.rubbing)
        first = int(info[COUNT] - info[GEARS] - info[HINGES]) - f
        rows = slice(max(first, 0), max(first, 0) + f)
        impulse = self.solution.r[int(info[FIRST]) :][rows]
        return np.abs(impulse) < (1.0 - FULL) * self.rows.mu[int(info[FIRST]) :][rows]

    def grow(self, contacts=1, fill=1):
        """Allocate again, for so many times as many contacts, and for factors with so many times as much fill."""
        self._fill *= fill
        self.allocate(self.capacity * contacts)

    def make_room(self, status):
        """``grow`` as a kernel's status asks for it; False where it asks for nothing."""
        if status not in (TOO_MANY_CONTACTS, SYSTEM_TOO_SMALL):
            return False
        self.grow(contacts=1 + (status == TOO_MANY_CONTACTS), fill=1 + (status == SYSTEM_TOO_SMALL))
        return True

    def allocate(self, capacity=FIRST_CAPACITY):
        """Workspaces for ``capacity`` contact points; the state is carried over."""
        world, surfaces, couplings = self.world, self.world.surfaces, self.couplings
        n_f = 0 if self.scene.friction_model == "coulomb_cone" else self.scene.friction_directions
        sides = 4 if np.isfinite(self.joints.velocity_limit).any() else 2
        scalars = sides * int((self.tree.nv == 1).sum()) + 2 * len(self.hinges.body)  # limits of scalar joints
        bilateral, gears = self._bilateral, len(couplings.gears.ratio)
        partners = gears + tendon_parts(self.scene)
        rows_a_contact = 3 + int((surfaces.torsional > 0.0).any()) + 2 * int((surfaces.rolling > 0.0).any())
        rows, blocks = rows_a_contact * capacity + scalars + bilateral + partners, capacity + scalars
        self.capacity = capacity
        self.contacts = make_contacts(capacity)
        self.rows = _workspace.make_rows(self.n, rows)
        self.frames = allocate(_workspace.Frames, c=capacity)
        self.end = allocate(_workspace.ContactEnds, c=capacity, R=rows)
        self.soft = allocate(
            _workspace.Soft, e=capacity if self.is_soft else 0, elastic=int(self.is_soft), energy=self.arrays.elastic
        )
        self.solution = allocate(_workspace.Solution, R=rows)
        self.loop = _workspace.make_loop_work(self.n, bilateral)
        self.bilateral = make_bilateral_work(self.n, bilateral)
        self.system, self.forest = self._make_system(rows, blocks + bilateral)
        self.closing = make_closing_work(self.n, self.N, bilateral, gears, *self._layout[1:])
        flows = self.scene.integrator != "semi_implicit_euler" or self.scene.collision_scheme == "event"
        self.friction = _friction.make_friction(
            FRICTION_MODELS[self.scene.friction_model], n_f, 1 if flows else 2, world.viscous, surfaces, capacity
        )
        kinematics = _tree.make_kinematics(self.n, self.N, self.make_modal())
        self.end_poses = OtherPoses(self, capacity) if self.flow_arrays.q.size else None
        self.ends = self.end_poses.handle if self.end_poses else make_poses_handle(
            PosesArrays(self._poses, self.contacts)  # which Euler's steps have no use for
        )
        self.need = make_need(self, self._poses, make_contacts, kinematics, allocate(Motion))
        arrays, before = self.arrays, self.work
        self.contact_state = self.layout.fitted(self.contact_state, capacity)
        rows = self.layout.rows(self.contact_state)
        kept = {name: getattr(arrays, name) for name in ("sums", "joint_effort", "geom_impulse")}
        self.work = _workspace.make_step_work(self.n, self.N, len(self.q), len(world.geoms.kind), capacity, **kept)
        if before is not None:
            for name in ("energy", "falling", "external"):
                getattr(self.work, name)[:] = getattr(before, name)
        self.memory = _workspace.Memory(
            **{name: getattr(rows if name in rows._fields else arrays, name) for name in _workspace.Memory._fields}
        )
        self.kept = make_contacts(capacity)
        if self.sleepers.arrays.count is arrays.sleepers:
            kept = {name: getattr(rows, f"sleep_{name}") for name in Contacts._fields[1:-1]}
            self.kept = self.kept._replace(count=arrays.sleep_count, **kept)
        moving = self.motions or couplings
        self.closures = (self.attachments or moving).closures._replace(released=read_only(arrays.released))
        own = {
            "sol": self.solution, "system": make_system_handle(self.system),
            "closures": self.closures, "gears": moving.gears, "bil": self.bilateral,
            "tendons": make_tendons_handle(self.tendons),
        }  # fmt: skip
        named = {name: getattr(self, name) for name in StepArrays._fields if name not in own}
        self.handle = make_step_handle(StepArrays(**own, **named))
        for part in (self.contact_step, self.impacts):
            if part is not None:
                part.allocate()

    def _make_system(self, rows, blocks):
        """The contact problem's arrays and those of the trees that it couples."""
        tree, pieces, place = self._layout
        if self.scene.friction_model in ("viscous", "no_slip", "coulomb_viscous"):
            blocks, rows = blocks + 2 * self.capacity, rows + 2 * self.capacity  # tangents are blocks too
        depth = 2 * max(int(pieces.max(initial=1)), 1)  # pieces that a row moves
        dense = spread_rows(rows if self.solver[ONLY_ROWS] or self.parts else min(rows, _assemble.DENSE_LIMIT))
        entries, ties = blocks * min(depth, 8) * self._fill, bool(self.solver[TIED])
        system = make_system(2 * rows, 2 * blocks, entries, dense, pieces, place, self.n, ties)  # room for a part
        total, trees = int(pieces.sum()), int((pieces**3).sum()) // 3
        fill = min(total**2, 24 * total * self._fill), min(total**3, (128 * total + trees) * self._fill)
        factors = make_factors(dense, total, *fill)
        free = self.tree.mass[self.tree.joint_type == JOINT_FLOATING]
        even = free.min() / free.max() if len(free) else 1.0
        system.unit[:] = self.world.units.residual, self.world.units.speed, even
        return system._replace(factors=factors), _islands.make_forest(tree, pieces, self.N)


def holds_impulses(scene):
    """Whether steps hold impulses as constant forces, under a friction model whose impacts are Coulomb's."""
    return scene.integrator != "semi_implicit_euler" and scene.friction_model in ELASTIC_MODELS


def landing_speed(scene, unit):
    """Approach speed from which a contact that the step's own problem stops is an event [m/s]; ``unit`` of speed."""
    if scene.collision_scheme == "event" or holds_impulses(scene):
        return np.inf  # there every collision has phases of its own
    return STEP_THRESHOLD * unit if scene.impact_threshold is None else float(scene.impact_threshold)
