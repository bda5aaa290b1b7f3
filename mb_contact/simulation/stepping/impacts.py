# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts with restitution within a step, in two phases, each with its energy balance (docs/impacts.md)."""

import numpy as np

from mb_contact.collision import make_contacts
from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, TENDONS_AT
from mb_contact.core.constraints.torsion_rolling import add_moments
from mb_contact.core.impact import phases as _phases, times as _times
from mb_contact.core.impact.events import HOLD_GAP
from mb_contact.core.lcp.certificate import GAP, INFEASIBLE
from mb_contact.core.step import closing as _closing, problem as _problem, step as _step
from mb_contact.core.step.by_need import claim
from mb_contact.core.step.energy_balance import add_impulses, impulse_vectors
from mb_contact.core.step.need import MASKED, ROUND
from mb_contact.core.workspace import POTENTIAL
from mb_contact.gradients.tape import moment, page
from mb_contact.model.scene import CHOICES
from mb_contact.simulation.context import STEP_THRESHOLD, holds_impulses
from mb_contact.simulation.results import Impact
from mb_contact.simulation.stepping.largest_factor import largest_factor
from mb_contact.types import CONTACTS_CHANGED, IN_PARTS, OK, TOUCHING_IMPACT

LAWS = CHOICES["restitution_law"]  #: of restitution, numbered as in core/impact/phases.py
GAIN = 1e-12  #: part of the energy that counts as rounding
PATH_ENERGY_TOLERANCE = 0.05  #: change of energy on the path behind an impact, part of what it exchanges
ROUNDS = 10  #: most impacts of all at once in a step; what still approaches is stopped by the step's contact problem
SEQUENTIAL_ROUNDS = 1000  #: and of impacts one pair after the other


class Impacts:
    """Finds and resolves impacts; keeps what they did until the step's result is made.

    Parameters
    ----------
    context : StepContext
    """

    kernel = _phases.apply_impact  #: compiled last of what impacts need

    def __init__(self, context):
        self.context, scene, world = context, context.scene, context.world
        (length, speed, *_), self._eps = world.units, world.restitution
        self._touching, self._holding = TOUCHING_IMPACT * length, HOLD_GAP * length
        self.law = LAWS.index(scene.restitution_law)
        self._threshold = float(STEP_THRESHOLD * speed if scene.impact_threshold is None else scene.impact_threshold)
        self._sequential, self._refuse_gain = scene.simultaneous_impacts == "sequential", scene.energy_gain == "refuse"
        self._every = holds_impulses(scene) or context.contact_step.every_collision
        euler = (scene.integrator, scene.collision_scheme) == ("semi_implicit_euler", "time_stepping")
        self.lag = 0.5 if euler else 0.0  # of velocities behind positions [steps]
        self.rule = 1.0, float(self._every), self._threshold, self.lag  #: as ``StepArrays.impact`` has it
        self._total = np.zeros((len(world.geoms.kind), 6))
        self.loop_impulse = np.zeros(context.couplings.rows + len(context.joints.rubbing))  #: by this step's impacts
        self.time = context.time
        self.keeps = False  #: whether the step's impacts are kept on ``tape``, as its derivative asks for
        self._clear()

    def allocate(self):
        """Workspaces for the contacts and rows of the context's."""
        context = self.context
        self.work = _phases.make_impact_work(
            context.capacity, len(context.solution.r), context.n, context.N
        )
        self.picked = make_contacts(context.capacity)  #: contacts of the last impact

    def begin(self, time):
        """A new step from ``time`` on: nothing has happened yet."""
        self.time = time
        if self._v_before is not None or self.happened:
            self._begin_anew()

    def _begin_anew(self):
        self._clear()
        _times.clear_shift(self.context.work)

    def _clear(self):
        self.events, self.pairs = [], []  # and the pairs of shapes of each event's points
        self.tape, self._meeting = [], None  #: Moment of each impact of the step, for its derivative
        self.happened = False  #: an impact of contacts, which has an event, or of joint limits alone
        self.v_after = None  #: (N,), velocities that the impacts so far have left [m/s, rad/s]
        self.work_done = 0.0  #: change of kinetic energy by the impacts of this step [J]
        self._v_before = None
        self._total[:] = 0.0
        self.loop_impulse[:] = 0.0
        self._limits = {}
        self._energy = None

    def resolve(self, handle):
        """Impacts of a step, behind the integrator's ``free``; returns a status.

        The contact step solves the problem without the contacts that collide first: it tells how these meet.
        """
        context = self.context
        if not (self._every or context.contacts.count[0]) or not self._due(handle):
            return OK
        dt = context.dt
        if self._v_before is None:
            self._v_before = context.v.copy()
        for _ in range(self.most_rounds):
            _phases.mark_collisions(handle, self.work, self._threshold, self.lag, dt)
            _times.mask_approaching(handle, self._threshold)
            if (status := self._meet(handle)) == CONTACTS_CHANGED:
                if not self._due(handle):
                    return OK
                continue
            if status == OK:
                _times.predict_impact_times(handle, self.work, self.lag, dt)
                if self.keeps:
                    self._meeting = page(context), context.work.v_next.copy(), context.work.v_free.copy()
                status = (
                    self._collide(handle, self._eps, self._touching, dt, self._sequential)
                    or context.integrator.free(handle)  # W of the step carries the damping, v_free the new velocity
                )
            if status != OK or not self._due(handle):
                return status
        return OK

    def _meet(self, handle):
        """The motion without what collides, and which of that meets within it at all; a status."""
        context, rounds = self.context, self.context.need.info
        before, rounds[MASKED] = int(rounds[ROUND]), 1
        status = context.contact_step.impulses(handle)
        if status == OK and rounds[ROUND] == before and claim(handle, self.work.collides, self._touching):
            status = context.review()
        rounds[MASKED] = 0
        changed = status in (OK, IN_PARTS) and rounds[ROUND] != before
        return CONTACTS_CHANGED if changed else status

    def stop(self, handle, time):
        """``resolve`` from ``time`` [s] on with every contact and no restitution, for the event scheme; a status."""
        self.time, kept = time, (self._eps, self._every)
        self._eps, self._every = np.zeros(len(self._eps)), True
        try:
            return self.resolve(handle)
        finally:
            self._eps, self._every = kept

    def collide_now(self, handle, time, marks, eps, last):
        """The collision of the marked contacts at ``time`` [s], for the event scheme; returns a status.

        The ``last`` one of a moment that does not end has no restitution and takes everything together.
        """
        self.time = time
        count = int(self.context.contacts.count[0])
        self.work.collides[:count] = marks[:count]
        eps = np.zeros(len(eps)) if last else eps
        _times.forget_times(self.work)
        return self._collide(handle, eps, self._holding, 0.0, self._sequential and not last)

    def reaches_limit(self, handle, dt):
        """Whether the free motion passes a joint limit within dt [s], faster than the threshold."""
        return _phases.limits_hit(handle, self._threshold, 0.0, dt) > 0

    def stop_at_limits(self, handle, dt):
        """Inelastic impact at all joint limits that present velocities pass within dt [s], up to dt early; a status."""
        self.work.collides[: int(self.context.contacts.count[0])] = 0
        return self._collide(handle, np.zeros(len(self._eps)), self._holding, dt, False, at_once=True)

    @property
    def most_rounds(self):
        """Most impacts at one moment."""
        return SEQUENTIAL_ROUNDS if self._sequential else ROUNDS

    def pairs_of_last(self):
        """Pairs of geometries of the last impact's contacts."""
        return set(self.picked.pair[: self.picked.count[0]].tolist())

    def undo(self, handle):
        """The step failed: back to the velocity before its impacts."""
        if self._v_before is not None:
            _phases.set_velocity(handle, self._v_before)
            _closing.refresh(handle)
            self._begin_anew()

    def publish(self):
        """Add the impacts of the step to the published contact impulses and joint efforts."""
        if self.happened:
            work, dt = self.context.work, self.context.dt
            work.geom_impulse[:] += self._total
            for dof, impulse in self._limits.items():
                work.joint_effort[dof] += impulse / dt
            _times.clear_shift(work)

    def published(self):
        """Impulses of the step's impacts on the geometries, (g, 6), as they were added to the contacts'."""
        return self._total

    def warm_up(self, handle):
        """Compile or load the kernels of an impact, with whatever contacts there are."""
        dt = self.context.dt
        self._due(handle)
        _phases.mark_collisions(handle, self.work, self._threshold, self.lag, dt)
        _phases.limits_hit(handle, self._threshold, self.lag, dt)
        _phases.next_pair(handle, self.work)
        _times.mask_approaching(handle, self._threshold)
        _times.predict_impact_times(handle, self.work, self.lag, dt)
        _times.forget_times(self.work)
        self._pose(handle, self._eps, 0.0, 0.0, -1)
        self._compress(handle)
        self._decompress(handle, 1.0)
        _phases.apply_impact(handle, self.work)
        self._record(handle, 1.0)
        _times.move_back(handle, self.work)
        self._path_energy(handle, dt)
        _phases.set_velocity(handle, self.context.v)
        self._begin_anew()

    # --- inside -----------------------------------------------------------------------------

    def _pose(self, handle, eps, touch, dt, pair):
        return _phases.assemble_impact(
            handle, self.work, self.picked, eps, touch, self._threshold, self.lag, dt, pair
        ) or _problem.assemble_problem(handle)

    def _collide(self, handle, eps, touch, dt, one_pair, at_once=False):
        """One impact of all that is marked, or of the pair of geometries that is first; returns a status.

        Positions go with it but where it is ``at_once`` (or dt is 0), or where that would lead astray.
        """
        context, work = self.context, self.context.work
        pair = _phases.next_pair(handle, self.work) if one_pair else -1
        shift, gap_shift = work.shift.copy(), work.gap_shift.copy()
        status, scale = self._both_phases(handle, eps, touch, dt, pair, at_once)
        if status == OK and work.shift.any():
            change = self._path_energy(handle, dt)
            if not self._keeps_to_path(change):
                _phases.set_velocity(handle, self.work.v_before)
                work.shift[:], work.gap_shift[:] = shift, gap_shift
                _times.forget_times(self.work)
                at_once = True
                status, scale = self._both_phases(handle, eps, touch, dt, pair, at_once)
                change = self._path_energy(handle, dt) if status == OK and shift.any() else 0.0
            self.work_done += change
        if status == OK:
            self._record(handle, scale)
            if self._meeting is not None:
                self.tape.append(moment(context, self, self._meeting, scale, at_once))
            rows = slice(0, int(context.rows.end[0]))
            after = float(self.work.energy[_phases.AFTER] - self.work.total[rows] @ self.work.ahead[rows])
            self._energy = self._shifted if work.shift.any() else after + float(work.energy[POTENTIAL])
        return status

    def _both_phases(self, handle, eps, touch, dt, pair, at_once):
        """Compression, decompression, new velocities, and the path behind them; a status and the factor on all eps."""
        imp = self.work
        status = self._pose(handle, eps, touch, dt, pair)
        if status != OK:
            return status, 1.0
        if at_once:
            imp.body_moment[:] = imp.first[:] = 0.0
        status, scale = self._compress(handle), 1.0
        if status == OK and imp.eps[: self.picked.count[0]].any():
            status, scale = self._decompress_safely(handle)
        status = status or self._apply(handle)
        if status == OK:
            _times.move_back(handle, imp)
        return status, scale

    def _apply(self, handle):
        """Impulses to velocities; returns a status."""
        return _phases.apply_impact(handle, self.work)

    def _path_energy(self, handle, dt):
        """What starting behind q adds to the energy beyond its work [J]: nothing under constant acceleration."""
        context, imp, work = self.context, self.work, self.context.work
        before = self._energy
        if before is None:
            before = float(imp.energy[_phases.BEFORE] + work.energy[POTENTIAL])
        q = context.q.copy()
        work.v_next[:] = context.v
        context.dt = 0.0
        try:
            _step.advance(handle)  # by -shift alone
            self._shifted = float(work.energy.sum())
        finally:
            context.dt, context.q[:] = dt, q
            _closing.refresh(handle)
        late, count = self.lag * dt, int(self.picked.count[0])
        behind = 0.0  # velocities that come late miss this of the impulses' work
        for i in range(count if late else 0):
            body = max(int(context.rows.body_a[3 * i]), int(context.rows.body_b[3 * i]))
            rows = slice(3 * i, 3 * i + 3)
            behind += late / (late + imp.body_moment[body]) * float(imp.total[rows] @ imp.ahead[rows])
        impulse_work = float(imp.energy[_phases.COMPRESSED] + imp.energy[_phases.RECOVERED]) + self._drive_work()
        return self._shifted - before - impulse_work + behind

    def _drive_work(self):
        """Work of what drives surfaces that move in themselves, beside that of friction against them [J]."""
        return -float(self.work.total[: (end := self.context.rows.end[0])] @ self.context.rows.carried[:end])

    def _keeps_to_path(self, change):
        """Whether the impact and the path behind it gain no energy together, and the path is a good one."""
        before, compressed, recovered, _ = self.work.energy.tolist()
        rounding = GAIN * (abs(self._shifted) + abs(before) + abs(float(self.context.work.energy[POTENTIAL])))
        small = abs(change) <= PATH_ENERGY_TOLERANCE * (abs(compressed) + abs(recovered)) + rounding
        return small and compressed + recovered + change <= rounding

    def _due(self, handle):
        return _phases.impacts_due(handle, self._eps, self._every, self._threshold, self.lag, self.context.dt)

    def _decompress_safely(self, handle):
        """Decompression without gain of energy, unless it is allowed; a status and the factor on all restitutions."""
        limit = GAIN * self.work.energy[_phases.BEFORE]
        status, change = self._decompress(handle, 1.0)
        if status != OK or not self._refuse_gain or change <= limit:
            return status, 1.0
        scale = largest_factor(lambda factor: self._decompress(handle, factor)[1], limit)
        return self._decompress(handle, scale)[0], scale

    def _compress(self, handle):
        """The first phase; returns a status."""
        _phases.begin_compression(handle, self.work)
        status = self._solve(handle)
        _phases.end_compression(handle, self.work)
        return status

    def _decompress(self, handle, scale):
        """The second phase with all restitutions times ``scale``; a status and the change of energy by both [J]."""
        _phases.begin_decompression(handle, self.work, self.law, scale)
        status = self._solve(handle)
        return status, _phases.end_decompression(handle, self.work, self.law)

    def _solve(self, handle):
        """The posed phase, until friction of threads is what their loads ask for; a status."""
        status = _problem.solve(handle, _problem.IMPACT)
        while status == OK and _step.misses_loads(handle):
            status = _problem.solve(handle, _problem.IMPACT)
        return status

    def _add_loops(self):
        """The impulses of closures, threads and gears to their sums, in the order that a step has them."""
        info, total = self.context.bilateral.info, self.work.total
        first, loops, gears = int(info[FIRST]), int(info[TENDONS_AT]), int(info[GEARS])
        behind = loops + len(self.context.joints.rubbing)
        rubbing = int(info[COUNT]) - loops - gears  # the last of those of a step
        self.loop_impulse[:loops] += total[first : first + loops]
        self.loop_impulse[behind - rubbing : behind + gears] += total[first + loops : first + loops + rubbing + gears]

    def _record(self, handle, scale):
        """Keep an Impact, and the sums of its impulses on shapes and at joint limits."""
        context, imp, picked, count = self.context, self.work, self.picked, int(self.picked.count[0])
        frames, rows, world = context.frames, context.rows, context.world
        self._add_loops()
        vectors = [np.zeros((count, 3)) for _ in range(2)]
        for p, out in zip((imp.p_c, imp.p_d), vectors):
            impulse_vectors(picked, frames, p, out)
        add_impulses(handle, picked, vectors[0] + vectors[1], self._total)
        add_moments(world.surfaces, context.geoms, picked, frames, context.friction.extra, imp.total, self._total)
        for row in 3 * count + np.flatnonzero(rows.dof[3 * count : rows.end[0]] >= 0):  # of limits, not of moments
            dof, impulse = int(rows.dof[row]), rows.sign[row] * (imp.p_c[row] + imp.p_d[row])
            self._limits[dof] = self._limits.get(dof, 0.0) + impulse
        (before, compressed, _, after), potential = imp.energy.tolist(), float(context.work.energy[POTENTIAL])
        self.work_done += imp.energy[_phases.COMPRESSED] + imp.energy[_phases.RECOVERED] + self._drive_work()
        self.happened, self.v_after = True, context.v.copy()
        if count == 0:
            return  # joint limits alone
        self.pairs.append(picked.pair[:count].copy())
        self.events.append(
            Impact(
                time=self.time + float(imp.first[0]),
                links=tuple(context.pair_links[pair] for pair in picked.pair[:count]),
                points=picked.point[:count].copy(),
                normals=picked.normal[:count].copy(),
                speeds=imp.speed[:count].copy(),
                restitution=imp.eps[:count].copy(),
                compression=vectors[0],
                decompression=vectors[1],
                energy_before=before + potential,
                energy_compressed=before + compressed + potential,
                energy_after=after + potential,
                law=LAWS[self.law],
                scale=scale,
                residual=float(max(phase[[GAP, INFEASIBLE]].max() for phase in (imp.residuals_c, imp.residuals_d))),
            )
        )
