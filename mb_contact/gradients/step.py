# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of one step: what the kernels of core/gradients/ say, by names."""

from functools import cached_property
from types import MappingProxyType
from typing import NamedTuple

import numpy as np

from mb_contact.core.declare import allocate
from mb_contact.core.gradients.adjoint import HEADER, HELD_ROWS, pull_step, record_step
from mb_contact.core.gradients.loops import closure_wrenches, gear_wrenches
from mb_contact.core.gradients.readings import contact_wrenches
from mb_contact.core.gradients.step import pose_step, solve_step
from mb_contact.core.gradients.workspace import (
    BESIDE,
    COINCIDENT,
    FINE,
    LATER,
    LOOP,
    NOT_OVER_FACE,
    PARALLEL,
    UNEQUAL,
    UNIQUE,
    GradientArrays,
    Meeting,
    make_gradient_handle,
)
from mb_contact.core.handle import PROJECTION
from mb_contact.core.solve.friction import COULOMB, COULOMB_VISCOUS, MODEL
from mb_contact.core.step.problem import rows_in_use
from mb_contact.core.tree.derivatives import make_derivative_arrays, make_derivative_handle
from mb_contact.core.workspace import BY_EULER, PIECES
from mb_contact.dynamics.arguments import refuse_own_gravity
from mb_contact.errors import InputError
from mb_contact.gradients.cores import all_cores
from mb_contact.gradients.flow_step import FlowStep
from mb_contact.gradients.impacts import HANDED_ON, Chain
from mb_contact.gradients.kinks import kinks_of
from mb_contact.gradients.motion import cross

#: what a step can be differentiated by
NAMES = ("q", "v", "effort", "mass", "friction", "damping", "joint_friction", "restitution")
COLUMNS = (*NAMES[:-1], "least", "offset", "shift")  #: of kernels: impacts alone, stage by stage, know restitution
WHOLE = -1.0  #: HELD_ROWS of a record behind which the matrix of the step stands: of impacts, and of midpoint
NEAR = 1e-7  #: default of what counts as near a kink [sqrt(N s m/s)]
WHY = {
    NOT_OVER_FACE: "it is not over a flat face; give the shape a convex hull for collisions",
    BESIDE: "its points do not lie on vertices or edges, or lie along two parallel ones",
    PARALLEL: "its edges are parallel",
    COINCIDENT: "a vertex lies on another one or on an edge",
    LATER: "it came in at the moment of meeting within the step; take a shorter step",
    UNEQUAL: "its coefficients of friction are unequal; leave them out",
}


class StepDerivatives(NamedTuple):
    """Derivatives of a step, by the names of what they are by; N degrees of freedom, k contacts.

    Columns: of ``q`` and ``v`` one a degree of freedom, of ``effort`` one a joint, of ``mass`` one a body, of
    ``friction`` and ``restitution`` one a pair of shapes (``world.geoms.pairs``), of ``damping`` and ``joint_friction``
    one a degree of freedom.  Changes of q and q+ are those along the velocity coordinates: for joints with quaternions
    turns about world or parent axes.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> _ = sim.step()
    >>> by = sim.step_derivatives(("v", "effort"))
    >>> abs(by.v["v"]).max() < 1e-12, by.v["effort"].shape  # it stays where it is, however it is pushed
    (True, (6, 0))
    """

    q: dict  #: (N, columns) of the new coordinates
    v: dict  #: (N, columns) of the new velocities
    impulses: dict  #: (k, 3, columns) of the impulses of contacts on A but for those of impacts, world axes [N s ...]
    kinks: tuple  #: of Kink: laws that are near another state
    unique: bool  #: whether impulses are; otherwise their derivatives are those of least norm
    readings: dict = MappingProxyType({})  #: by name of a sensor: dict of (entries, columns) of what it reads


class Differentiator:
    """Derivatives of the steps of a context.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        self.context, tree = context, context.tree
        self._derivatives = make_derivative_arrays(tree)
        self._d = make_derivative_handle(self._derivatives)
        self.start = self._derivatives, self._d  #: of inverse dynamics where the step began, behind ``solve``
        self._cores = all_cores(context.world.geoms)
        n, N = len(tree.parent), len(tree.armature)
        joints, pairs = len(context.world.joint_names), len(context.world.geoms.pairs)
        self._widths = dict(zip(NAMES, (N, N, joints, n, pairs, N, N, pairs), strict=True))
        self.phase = None  #: Phase of an impact that the loaded rows are those of, None for those of a step
        self._kinks = ()
        self._rows = self._contacts = 0
        self._T, self._Z, self._plans = np.zeros((0, 0)), np.zeros((0, 0)), {}
        self._never = refused_scene(context)
        self._flows = context.scene.integrator != "semi_implicit_euler"
        if context.impacts is not None:
            context.impacts.keeps = True

    @cached_property
    def end(self):
        """As ``start``, for inverse dynamics where a step ends."""
        arrays = make_derivative_arrays(self.context.tree)
        return arrays, make_derivative_handle(arrays)

    def _allocate(self, rows, contacts):
        """Workspaces for so many rows and contacts, with room for more."""
        c, tree = self.context, self.context.tree
        n, N = len(tree.parent), len(tree.armature)
        self._rows, self._contacts = rows + rows // 2 + 6, contacts + contacts // 2 + 2
        body = np.repeat(np.arange(n), tree.nv).astype(np.int64)
        tip = np.array([tree.v_start[k] + tree.nv[k] - 1 for k in range(n)], np.int64)
        for k in np.flatnonzero(tree.nv == 0):
            tip[k] = tip[tree.parent[k]] if tree.parent[k] >= 0 else -1
        self.arrays = allocate(
            GradientArrays, n=n, N=N, nq=len(c.q), c=self._contacts, R=self._rows, H=self._rows, d=self._d,
            cores=self._cores, meeting=allocate(Meeting), body=body, tip=tip,
            joint_v=np.asarray(c.world.joint_v, np.int64),
        )  # fmt: skip
        self.handle = make_gradient_handle(self.arrays)

    def derivatives(self, names, near=NEAR):
        """StepDerivatives of the step that was taken last, by some of NAMES."""
        matrix, impulses, columns, unique = self.solve(names, near)
        q, v = matrix
        found = [{name: part[..., own] for name, own in columns.items()} for part in (q, v, impulses)]
        return StepDerivatives(*found, self._kinks, unique)

    def solve(self, names, near=NEAR):
        """What ``derivatives`` are made of.

        Returns
        -------
        matrix : ndarray (2, N, columns)
            Of new coordinates and velocities.
        impulses : ndarray (k, 3, columns)
        columns : dict of str to slice
        unique : bool
        """
        c = self.context
        refuse_step(c, self._never)
        columns, width, _ = self.columns_of(tuple(names))
        if self._flows:
            step = FlowStep(self, columns, width, near)
            matrix, impulses, unique = step.run()
            self._kinks = kinks_of(c, self.arrays if self.count_rows() else None, step.gained)
            self._kinks += tuple(step.kinks.values())
            return matrix, impulses, columns, unique
        if has_impacts(c):
            chain = Chain(self, columns, near)
            matrix, impulses, unique = chain.run()
            self._kinks = chain.kinks
            return matrix, impulses, columns, unique
        matrix, impulses, own, unique = self.stage(c.last.v, c.last.v, c.last.gravity, names, near)
        if width > matrix.shape[2]:  # nothing has bounced
            matrix, impulses = (np.concatenate((x, np.zeros((*x.shape[:2], width - x.shape[2]))), axis=2)
                                for x in (matrix, impulses))  # fmt: skip
        self._kinks = self.kinks()
        return matrix, impulses, columns, unique

    def stage(self, v, moving, gravity, names, near):
        """As ``solve``, of the contact problem whose rows the context holds, from v; see ``pose_step``."""
        c = self.context
        count, columns, width = self.pose(v, moving, gravity, names)
        matrix, impulses = np.empty((2, c.N, width)), np.empty((count, 3, width))
        solve_step(self.handle, c.handle, c.last.dt, near, matrix, impulses, self._T)
        return matrix, impulses, columns, bool(self.arrays.count[UNIQUE])

    def kinks(self):
        """Kinks of the stage that was solved last."""
        return kinks_of(self.context, self.arrays)

    def rows(self, v, moving, gravity):
        """(J, derivative by q of J times the context's velocities), (rows, N), of the rows that the context holds."""
        self.pose(v, moving, gravity, ())
        rows = self.count_rows()
        return self.arrays.J[:rows].copy(), self.arrays.u_q[:rows].copy()

    def count_rows(self):
        """How many rows the context holds."""
        return int(self.context.rows.end[0] + self.context.bilateral.info[1])

    def mass_matrix(self):
        """(N, N), behind ``rows``."""
        lower = np.tril(self._derivatives.M)
        return lower + lower.T - np.diag(np.diag(lower))

    def bodies(self):
        """A moving body of each contact."""
        geoms, count = self.context.world.geoms, int(self.context.contacts.count[0])
        a, b = geoms.body[geoms.pairs[self.context.contacts.pair[:count]]].T
        return np.where(a >= 0, a, b)

    def row_impulses(self, width):
        """Derivatives of impulses about the world's origin, behind ``solve``; of restitution's columns 0.

        Of rows (rows, width), of contacts on A (contacts, 6, width), of closures on both bodies, and of gears on those
        of their joints (closures or gears, 2, 6, width).
        """
        c, own = self.context, int(self.arrays.first[-1])
        dr, wrenches = np.empty((self.count_rows(), own)), np.empty((int(c.contacts.count[0]), 6, own))
        contact_wrenches(self.handle, c.handle, c.last.dt, self._T, dr, wrenches)
        loops = np.empty((len(c.couplings.closures.kind), 2, 6, own))
        gears = np.empty((len(c.couplings.gears.ratio), 2, 6, own))
        closure_wrenches(self.handle, c.handle, dr, loops)
        gear_wrenches(self.handle, c.handle, dr, gears)
        found, none = (dr, wrenches, loops, gears), width - own
        return tuple(np.concatenate((x, np.zeros((*x.shape[:-1], none))), axis=-1) for x in found)

    def gap_rates(self, i, columns, width):
        """Derivative of the gap of contact i, behind ``rows``."""
        out = np.zeros(width)
        if "q" in columns:
            out[columns["q"]] = self.arrays.gap_q[i]
        return out

    def normal_rates(self, impulses, columns):
        """Derivatives of normal impulses from those ``impulses`` (k, 3, columns) of vectors, behind ``stage``."""
        c, k = self.context, len(impulses)
        n = c.contacts.normal[:k]
        out = np.einsum("ij,ijc->ic", n, impulses)
        if "q" in columns:
            r = c.solution.r[: 3 * k].reshape(-1, 3)
            p = r[:, :1] * n + r[:, 1:2] * c.frames.t1[:k] + r[:, 2:] * c.frames.t2[:k]
            out[:, columns["q"]] += np.einsum("ij,ijc->ic", cross(n, p), self.arrays.turn[:k])
        return out

    def record(self, names, spare):
        """The last step as a vector for ``pull``, and the columns of the names; ``spare`` is a list of used vectors."""
        c = self.context
        refuse_step(c, self._never)
        columns, _, _ = self._recorded = self.columns_of(tuple(names))
        if self._flows or has_impacts(c):
            matrix = self.solve(names)[0]
            return np.concatenate(([WHOLE, 0.0, len(self._kinks), c.last.dt], matrix.ravel())), columns
        _, _, width = self.pose(c.last.v, c.last.v, c.last.gravity, names)
        if self._Z.shape[1] != width:
            self._Z = np.empty((c.N, width))
        rows = int(c.rows.end[0] + c.bilateral.info[1])
        size = HEADER + c.N * (1 + c.N + width) + rows * (4 * c.N + 1 + rows)
        record = spare.pop() if spare and len(spare[-1]) >= size else np.empty(size + size // 4)
        record_step(self.handle, c.handle, c.last.dt, NEAR, self._Z, self._T, record)
        return record, columns

    def pull(self, record, y):
        """The adjoint y (2 N,) of the state behind a recorded step times its derivatives, (columns,)."""
        _, whole, first = self._recorded
        if record[HELD_ROWS] == WHOLE:
            return y @ record[HEADER:].reshape(len(y), whole)
        out, self.arrays.first[:] = np.zeros(whole), first
        pull_step(self.handle, self.context.handle, record, y.copy(), self._T, out[: first[-1]])
        return out

    def columns_of(self, names):
        """Columns of the names, how many there are, and where those of COLUMNS begin."""
        if names not in self._plans:
            cut = np.cumsum([0, *(self._widths[name] if name in names else 0 for name in NAMES)]).tolist()
            columns = {name: slice(*cut[i : i + 2]) for i, name in enumerate(NAMES) if name in names}
            self._plans[names] = columns, cut[-1], [*cut[:-1], *[cut[-2]] * (len(COLUMNS) - len(NAMES) + 1)]
        return self._plans[names]

    def pose(self, v, moving, gravity, names):
        """Pose the rows that the context holds; its contacts, the columns of the names and how many there are."""
        c = self.context
        count, rows = int(c.contacts.count[0]), self.count_rows()
        if rows > self._rows or count > self._contacts or not self._rows:
            self._allocate(rows, count)
        g, phase = self.arrays, self.phase
        g.smooth[0] = 1.0 if phase is None else 0.0
        g.apart[:count], g.least[:count], g.given[:count] = (0, 0.0, 0.0) if phase is None else phase
        status, contact = pose_step(self.handle, c.handle, c.last.q, v, moving, gravity, c.last.dt)
        if status != FINE:
            raise self.refused(status, contact)
        if HANDED_ON[0] in names:
            widths = {**self._widths, "restitution": 0, "least": count, "offset": rows, "shift": c.N}
            at = np.cumsum([0, *(widths[name] if name in names else 0 for name in COLUMNS)]).tolist()
            columns = {name: slice(*at[i : i + 2]) for i, name in enumerate(COLUMNS) if name in names}
        else:
            columns, _, at = self.columns_of(tuple(names))
        g.first[:] = at
        width = at[-1]
        if len(self._T) <= rows or self._T.shape[1] <= rows + width:
            self._T = np.zeros((rows + rows // 2 + 2, rows + rows // 2 + 2 + width))
        return count, columns, width

    def refused(self, status, contact):
        """InputError about the contact, or the row, that has no derivative."""
        c = self.context
        if status == LOOP:
            return InputError("no derivative of planar and screw closures and of friction in threads; leave them out")
        pair = int(c.contacts.pair[contact])
        a, b = c.pair_links[pair]
        if has_impacts(c) and status in (BESIDE, NOT_OVER_FACE):  # told only where impacts end
            status = LATER
        why = WHY.get(status)
        return InputError(f"no derivative of the contact of '{a}' and '{b}': {why}")


def refused_scene(context):
    """What a scene has of which no step has a derivative, as a sentence, or None."""
    c, scene = context, context.scene
    if scene.collision_scheme != "time_stepping":
        return (f"no derivative of integrator: {scene.integrator} with collision_scheme: {scene.collision_scheme}; set "
                "integrator: semi_implicit_euler and collision_scheme: time_stepping")  # fmt: skip
    if scene.friction_model == "coulomb_polyhedral":
        return "no derivative of friction in polygons; set friction_model: coulomb_cone"
    if c.friction.model[0] == COULOMB_VISCOUS:
        return "no derivative of friction_model coulomb_viscous; use coulomb_cone or viscous"
    if c.parts:
        return "no derivative of embedded loops; set loops: multipliers and integrator: semi_implicit_euler"
    if c.drift[PROJECTION] and c.couplings.rows:
        return "no derivative of drift_control: projection; set drift_control: baumgarte"
    for has, what in (
        (len(c.world.flexible), "flexible links"),
        (len(c.hinges.body), "hinges of body coordinates"),
        (any(motion.joint is None for motion in scene.motions), "motions of closures and surfaces"),
        (c.surfaces is not None, "surface contacts"), (scene.adhesion_pads, "adhesion pads"),
        (scene.moving_surfaces, "moving surfaces"), (c.is_soft, "soft materials"), (scene.tendons, "tendons"),
    ):  # fmt: skip
        if has:
            return f"no derivative of a scene with {what}; leave them out"
    return None


def has_impacts(context):
    """Whether the last step had impacts of their own."""
    impacts = context.impacts
    if impacts is None or not impacts.happened:
        return False
    if not impacts.tape:
        if impacts.keeps:
            raise InputError("the step with impacts was taken before its simulator was asked for a derivative; call "
                             "sim.differentiator() and take it again")  # fmt: skip
        raise InputError("no derivative of a step in which bodies strike each other; take a shorter step")
    return True


def refuse_step(context, never):
    """InputError where no step was taken, or one whose equations are others."""
    c = context
    if c.last is None:
        raise InputError("there is no step to differentiate: take one, and set no state behind it")
    if never:
        raise InputError(never)
    if c.scene.sleep and c.sleep.count.any():
        raise InputError("no derivative of a scene with sleeping bodies; leave them out")
    refuse_own_gravity(c.world.tree, "derivatives of a step")
    if c.wrenches.depend_on_poses():
        raise InputError("no derivative of a step with external wrenches in the axes of links or beside the origins of "
                         "their bodies; let them act at origins in world axes")
    if c.motions is not None:
        if len(c.motions.led()) < len(c.scene.motions):
            raise InputError("no derivative of a step in which a driven joint is off its path, or has none; give its "
                             "motion times and positions, and no targets")  # fmt: skip
        if has_impacts(c):
            raise InputError("no derivative of a step with impacts in a scene with motions; leave either out")
    if c.scene.integrator != "semi_implicit_euler":
        refuse_flow(c)
    if c.work.record[PIECES] > 1 or c.work.record[BY_EULER]:
        raise InputError("no derivative of a step that was taken in pieces; lower the time step")


def refuse_flow(context):
    """InputError where a flow had what its derivative does not know."""
    c = context
    late = c.flow_arrays.end_known[0] and c.end.solved[1] != rows_in_use(c.handle)
    for has, what in (
        (c.impacts is not None and c.impacts.happened, "with impacts"),
        (c.flow_arrays.count[0] > 1, "in several pieces"),
        (c.scene.motions, "with driven joints"),
        (c.contacts.count[0] and c.friction.model[MODEL] != COULOMB, "with contacts whose friction is not Coulomb's"),
        (late, "that reaches a limit by its contacts"),
    ):
        if has:
            raise InputError(f"no derivative of a step of {c.scene.integrator} {what}; set integrator: "
                             "semi_implicit_euler")  # fmt: skip
