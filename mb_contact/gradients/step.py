# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of one step: what the kernels of core/gradients/ say, by names."""

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from mb_contact.checks import Floats
from mb_contact.core.constraints.bilateral import COUNT
from mb_contact.core.declare import allocate
from mb_contact.core.gradients.adjoint import HEADER, HELD_ROWS, KINKS as FOUND, pull_step, record_step
from mb_contact.core.gradients.loops import closure_wrenches, gear_wrenches
from mb_contact.core.gradients.readings import contact_wrenches
from mb_contact.core.gradients.step import differentiate, follow, pose_step
from mb_contact.core.gradients.workspace import (
    BESIDE,
    COINCIDENT,
    FINE,
    LATER,
    LED,
    LOOP,
    NOT_OVER_FACE,
    PARALLEL,
    GradientArrays,
    Meeting,
    make_gradient_handle,
)
from mb_contact.core.step.need import CORRECTED
from mb_contact.core.tree.derivatives import make_derivative_arrays, make_derivative_handle
from mb_contact.errors import InputError
from mb_contact.gradients.cores import all_cores
from mb_contact.gradients.embedded import EmbeddedStep
from mb_contact.gradients.flow_step import FlowStep
from mb_contact.gradients.impacts import HANDED_ON, Chain, FlowChain
from mb_contact.gradients.kinks import Kink, kinks_of
from mb_contact.gradients.motion import cross
from mb_contact.gradients.refusals import has_impacts, refuse_step, refused_scene

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
}


class StepDerivatives:
    """Derivatives of a step, by the names of what they are by; N degrees of freedom, k contacts.

    Columns: of ``q`` and ``v`` one a degree of freedom, of ``effort`` one a joint, of ``mass`` one a body, of
    ``friction`` and ``restitution`` one a pair of shapes (``world.geoms.pairs``), of ``damping`` and ``joint_friction``
    one a degree of freedom.  Changes of q and q+ are those along the velocity coordinates: for joints with quaternions
    turns about world or parent axes.

    Parameters
    ----------
    solved : tuple
        As ``Differentiator.solve`` returns it.
    kinks : tuple
        Those that kernels have found (k, 4), names of pairs, and other Kinks.

    Attributes
    ----------
    q : dict of str to ndarray (N, columns)
        Of the new coordinates.
    v : dict of str to ndarray (N, columns)
        Of the new velocities.
    impulses : dict of str to ndarray (k, 3, columns)
        Of the impulses of contacts on A but for those of impacts, world axes [N s ...].
    kinks : tuple of Kink
        Laws that are near another state.
    unique : bool
        Whether impulses are; otherwise their derivatives are those of least norm.
    readings : dict of str to dict of str to ndarray (entries, columns)
        By name of a sensor, of what it reads.

    Examples
    --------
    >>> sim = mb.Simulator("package://mb_contact/config/box_on_table.yaml")
    >>> _ = sim.step()
    >>> by = sim.step_derivatives(("v", "effort"))
    >>> abs(by.v["v"]).max() < 1e-12, by.v["effort"].shape  # it stays where it is, however it is pushed
    (True, (6, 0))
    """

    def __init__(self, solved: tuple[Any, ...], kinks: tuple[Any, ...]) -> None:
        self._matrix, self._impulses, self._columns, self.unique = solved
        self._kinks = kinks
        self.readings: dict[str, dict[str, Floats]] = {}

    @cached_property
    def q(self) -> dict[str, Floats]:
        return self._named(self._matrix[0])

    @cached_property
    def v(self) -> dict[str, Floats]:
        return self._named(self._matrix[1])

    @cached_property
    def impulses(self) -> dict[str, Floats]:
        return self._named(self._impulses)

    @cached_property
    def kinks(self) -> tuple[Kink, ...]:
        found, links, more = self._kinks
        return kinks_of(found, links) + more

    def _named(self, part):
        return {name: part[..., own] for name, own in self._columns.items()}


class Plan(NamedTuple):
    """Columns of some names."""

    columns: dict
    width: int
    first: Any  #: where those of COLUMNS begin, and their end


class Differentiator:
    """Derivatives of the steps of a context.

    Parameters
    ----------
    context : StepContext
    twin : callable, optional
        Takes the last step with embedded loops as rows; returns its Simulator.
    """

    def __init__(self, context, twin=None):
        self.context, tree = context, context.tree
        self._derivatives = make_derivative_arrays(tree, context.world.flexible)
        self._d = make_derivative_handle(self._derivatives)
        self.start = self._derivatives, self._d  #: of inverse dynamics where the step began, behind ``solve``
        self._cores = all_cores(context.world.geoms)
        n, N = len(tree.parent), len(tree.armature)
        joints, pairs = len(context.world.joint_names), len(context.world.geoms.pairs)
        self._widths = dict(zip(NAMES, (N, N, joints, n, pairs, N, N, pairs), strict=True))
        self.phase = None  #: Phase of an impact that the loaded rows are those of, None for those of a step
        self.found, self.more = np.zeros((0, 4)), ()  #: kinks that kernels have found in the last stage, and others
        self.flow = None  #: FlowStep of the last step, if it was one with a flow
        self._rows = self._contacts = 0
        self._T, self._Z, self._plans = np.zeros((0, 0)), np.zeros((0, 0)), {}
        self._never = refused_scene(context)
        #: EmbeddedStep of a context with embedded loops
        self.embedded = EmbeddedStep(context, twin) if context.embeds and self._never is None else None
        self._flows = context.scene.integrator != "semi_implicit_euler"
        if context.impacts is not None:
            context.impacts.keeps = True

    @cached_property
    def end(self):
        """As ``start``, for inverse dynamics where a step ends."""
        arrays = make_derivative_arrays(self.context.tree, self.context.world.flexible)
        return arrays, make_derivative_handle(arrays)

    @cached_property
    def middle(self):
        """As ``start``, half-way."""
        arrays = make_derivative_arrays(self.context.tree, self.context.world.flexible)
        return arrays, make_derivative_handle(arrays)

    def _allocate(self, rows, contacts):
        """Workspaces for so many rows and contacts, with room for more."""
        c, tree = self.context, self.context.tree
        n, N = len(tree.parent), len(tree.armature)
        self._rows, self._contacts = rows + rows // 2 + 6, contacts + contacts // 2 + 2
        body = np.repeat(np.arange(n), tree.nv).astype(np.int64)
        depth, root = np.zeros(N, np.int64), np.asarray(tree.root)[body]
        for i, before in enumerate(self._derivatives.before):
            depth[i] = 1 + (depth[before] if before >= 0 else 0)
        dofs = [np.flatnonzero(root == k) for k in root]
        self.arrays = allocate(
            GradientArrays, n=n, N=N, nq=len(c.q), c=self._contacts, R=self._rows, H=self._rows,
            K=2 * self._rows + N + 1, W=sum(self._widths.values()) + self._contacts + self._rows + N, d=self._d,
            gears=len(c.couplings.gears.ratio), cores=self._cores, meeting=allocate(Meeting), body=body,
            tip=self._derivatives.tip, chain=np.concatenate(([0], np.cumsum(depth))),
            alone=np.array([(of[0], of[-1] + 1) for of in dofs], np.int64).reshape(N, 2),
            joint_v=np.asarray(c.world.joint_v, np.int64),
        )  # fmt: skip
        self.handle = make_gradient_handle(self.arrays)

    def derivatives(self, names, near=NEAR):
        """StepDerivatives of the step that was taken last, by some of NAMES."""
        solved = self.solve(names, near)
        return StepDerivatives(solved, (self.found, self.context.pair_links, self.more))

    def knows(self, names):
        """Whether a step was differentiated by these names before."""
        return all(isinstance(name, str) for name in names) and names in self._plans

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
        plan, self.more = self.plan(tuple(names)), ()
        if self.embedded is not None:
            matrix, impulses, unique = self.embedded.solve(names, near)
            other = self.embedded.twin.differentiator()
            self.found, self.more = other.found, other.more
            return matrix, impulses, plan.columns, unique
        if has_impacts(c):
            chain = (FlowChain if self._flows else Chain)(self, plan.columns, near)
            matrix, impulses, unique = chain.run()
            self.found, self.flow = self.found[:0], chain.flow
            self.more = (*dict.fromkeys(chain.kinks), *self._corrected())
            return matrix, impulses, plan.columns, unique
        if self._flows:
            self.flow = step = FlowStep(self, plan.columns, plan.width, near)
            matrix, impulses, unique = step.run()
            self.found, self.more = step.found(), tuple(step.kinks.values())
            return matrix, impulses, plan.columns, unique
        matrix, impulses, own, unique = self.stage(c.last.v, c.last.v, c.last.gravity, names, near)
        self.more = self._corrected()
        if plan.width > matrix.shape[2]:  # nothing has bounced
            matrix, impulses = (np.concatenate((x, np.zeros((*x.shape[:2], plan.width - x.shape[2]))), axis=2)
                                for x in (matrix, impulses))  # fmt: skip
        return matrix, impulses, plan.columns, unique

    def _corrected(self):
        """A kink where positions were corrected because bodies have turned, of which no derivative knows."""
        need = self.context.need
        return (Kink("turned_in", (), -1, float(np.abs(need.ahead).max())),) if need.info[CORRECTED] > 0 else ()

    def stage(self, v, moving, gravity, names, near):
        """As ``solve``, of the contact problem whose rows the context holds, from v; see ``pose_step``."""
        c, last = self.context, self.context.last
        columns, width, _ = self._begin(names)
        count = c.contacts.count.item(0)
        matrix, impulses = np.empty((2, c.N, width)), np.empty((count, 3, width))
        status, contact, unique, kinks = differentiate(self.handle, c.handle, last.q, v, moving, gravity, last.dt, near,
                                                       matrix, impulses, self._T)  # fmt: skip
        if status != FINE:
            raise self.refused(status, contact)
        self.found = self.arrays.kink[:kinks].copy()
        return matrix, self.fold(impulses, columns), columns, bool(unique)

    def fold(self, x, columns):
        """x (..., columns) by joints of which those that follow others by gears are put where these have them."""
        gears, start = self.context.couplings.gears, self.context.tree.v_start
        if not len(gears.ratio):
            return x
        joints = zip(start[gears.body_a], start[gears.body_b], gears.ratio, self.arrays.drive, strict=True)
        for a, b, ratio, drive in joints:
            names = ("q", "v") if drive == LED else ("v",)
            for own in (columns[name] for name in names if name in columns):
                x[..., own.start + b] += ratio * x[..., own.start + a]
                x[..., own.start + a] = 0.0
        return x

    def kinks(self):
        """Kinks of the stage that was solved last."""
        return kinks_of(self.found, self.context.pair_links)

    def rows(self, v, moving, gravity):
        """(J, derivative by q of J times the context's velocities), (rows, N), of the rows that the context holds."""
        self.pose(v, moving, gravity, ())
        rows = self.count_rows()
        return self.arrays.J[:rows].copy(), self.arrays.u_q[:rows].copy()

    def count_rows(self):
        """How many rows the context holds."""
        return self.context.rows.end.item(0) + self.context.bilateral.info.item(COUNT)

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

    def followed(self, x, names):
        """x (N, columns of the names) with joints that follow others by gears put where these have them."""
        self._begin(())
        self.arrays.first[:] = self.plan(tuple(names)).first
        follow(self.handle, self.context.handle, x)
        return x

    def normal_rates(self, impulses, by_q):
        """Derivatives of normal impulses from those ``impulses`` (k, 3, columns) of vectors, behind ``stage``."""
        c, k = self.context, len(impulses)
        n = c.contacts.normal[:k]
        r = c.solution.r[: 3 * k].reshape(-1, 3)
        p = r[:, :1] * n + r[:, 1:2] * c.frames.t1[:k] + r[:, 2:] * c.frames.t2[:k]
        return np.einsum("ij,ijc->ic", n, impulses) + np.einsum("ij,ijc->ic", cross(n, p), self.arrays.turn[:k]) @ by_q

    def record(self, names, spare):
        """The last step as a vector for ``pull``, and the columns of the names; ``spare`` is a list of used vectors."""
        c, last = self.context, self.context.last
        refuse_step(c, self._never)
        plan = self._recorded = self.plan(tuple(names))
        if self._flows or self.embedded is not None or has_impacts(c):
            matrix = self.solve(names)[0]
            header = WHOLE, 0.0, len(self.found) + len(self.more), last.dt
            return np.concatenate((header, matrix.ravel())), plan.columns
        width, rows = self._begin(names).width, self.count_rows()
        if self._Z.shape[1] != width:
            self._Z = np.empty((c.N, width))
        N, joints = c.N, self._widths["effort"]
        size = HEADER + 3 * N + joints + N * (N + 1) // 2 + N * width + rows * (3 + 4 * N + rows)
        record = spare.pop() if spare and len(spare[-1]) >= size else np.empty(size + size // 4)
        status, contact = record_step(self.handle, c.handle, last.q, last.v, last.gravity, last.dt, NEAR, self._Z,
                                      self._T, record)  # fmt: skip
        if status != FINE:
            raise self.refused(status, contact)
        record[FOUND] += len(self._corrected())
        return record, plan.columns

    def pull(self, record, y):
        """The adjoint y (2 N,) of the state behind a recorded step times its derivatives, (columns,); y is used up."""
        if record.item(HELD_ROWS) == WHOLE:
            return y @ record[HEADER:].reshape(len(y), -1)
        out, self.arrays.first[:] = np.zeros(self._recorded.width), self._recorded.first
        pull_step(self.handle, self.context.handle, record, y, self._T, out)
        return out

    def plan(self, names):
        """Plan of a tuple of NAMES."""
        found = self._plans.get(names)
        if found is None:
            cut = np.cumsum([0, *(self._widths[name] if name in names else 0 for name in NAMES)]).tolist()
            columns = {name: slice(*cut[i : i + 2]) for i, name in enumerate(NAMES) if name in names}
            first = np.array([*cut[:-1], *[cut[-2]] * (len(COLUMNS) - len(NAMES) + 1)])
            found = self._plans[names] = Plan(columns, cut[-1], first)
        return found

    def _stage_plan(self, names):
        """Plan of names that a stage knows: all but restitution, and what stages with impacts hand on."""
        if HANDED_ON[0] not in names:
            found = self.plan(tuple(names))
            return found if found.first[-1] == found.width else Plan(found.columns, found.first.item(-1), found.first)
        count, rows = int(self.context.contacts.count[0]), self.count_rows()
        widths = {**self._widths, "restitution": 0, "least": count, "offset": rows, "shift": self.context.N}
        at = np.cumsum([0, *(widths[name] if name in names else 0 for name in COLUMNS)])
        columns = {name: slice(*at[i : i + 2].tolist()) for i, name in enumerate(COLUMNS) if name in names}
        return Plan(columns, at.item(-1), at)

    def _begin(self, names):
        """Make room for the rows that the context holds and the columns of the names; their Plan."""
        plan, rows, count = self._stage_plan(names), self.count_rows(), self.context.contacts.count.item(0)
        if rows > self._rows or count > self._contacts or not self._rows:
            self._allocate(rows, count)
        g, phase = self.arrays, self.phase
        if phase is not None:
            g.smooth[0], g.apart[:count], g.least[:count], g.given[:count] = 0.0, *phase
        elif g.smooth.item(0) == 0.0:
            g.smooth[0], g.apart[:], g.least[:], g.given[:] = 1.0, 0, 0.0, 0.0
        g.first[:] = plan.first
        if self.context.motions is not None:
            g.drive[:] = self.context.motions.ways(self.context.last.q, self.context.last.dt)
        if self._T.shape[0] <= rows or self._T.shape[1] <= rows + plan.width:
            self._T = np.zeros((rows + rows // 2 + 2, rows + rows // 2 + 2 + plan.width))
        return plan

    def pose(self, v, moving, gravity, names):
        """Pose the rows that the context holds, for the columns of the names."""
        self._begin(names)
        c = self.context
        status, contact = pose_step(self.handle, c.handle, c.last.q, v, moving, gravity, c.last.dt)
        if status != FINE:
            raise self.refused(status, contact)

    def refused(self, status, contact):
        """InputError about the contact, or the row, that has no derivative."""
        c = self.context
        if status == LOOP:
            return InputError("no derivative of friction in threads; leave it out")
        pair = int(c.contacts.pair[contact])
        a, b = c.pair_links[pair]
        if has_impacts(c) and status in (BESIDE, NOT_OVER_FACE):  # told only where impacts end
            status = LATER
        why = WHY.get(status)
        return InputError(f"no derivative of the contact of '{a}' and '{b}': {why}")
