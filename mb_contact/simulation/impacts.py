# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts with restitution within a step, in two phases, each with an energy ledger (docs/impacts.md)."""

from __future__ import annotations

import numpy as np

from mb_contact.collision import make_contacts
from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.constraints.surface_rows import add_moments
from mb_contact.core.impact import phases as _collisions
from mb_contact.core.impact import times as _times
from mb_contact.core.impact.events import HOLD_GAP
from mb_contact.core.step import problem as _problem
from mb_contact.core.step import step as _step
from mb_contact.model.scene import ELASTIC_MODELS
from mb_contact.simulation.results import Impact
from mb_contact.simulation.warm_up import in_cache
from mb_contact.types import OK

LAWS = ("anitescu_potra", "papers", "newton")  #: of restitution, numbered as in core/impact/phases.py
GRID = 64  #: factors that are tried on the way down from 1 before the largest is bisected
STEP_THRESHOLD = 0.01  #: approach speed from which contacts collide in time stepping [m/s]
CONTACT_WORK = 2  # entry of StepWork.ledger
GAIN = 1e-12  #: part of the energy that counts as rounding
ASTRAY = 0.05  #: most that the path behind an impact may change the energy, part of what the impact exchanges
ROUNDS = 10  #: most impacts of all at once in a step; what still approaches is stopped by the step's contact problem
SEQUENTIAL_ROUNDS = 1000  #: and of impacts one pair after the other


def make_impacts(scene, world, contact_step):
    """The Impacts of a scene, or None where there is nothing for them to do.

    Raises
    ------
    SceneError
        The steps' rows cannot have impacts.
    """
    by_event = scene.collision_scheme == "event"
    elastic = world.restitution > 0.0
    if not elastic.any() and not by_event:
        # a step that holds its impulses would sink by v dt / 2 while they stop a fast approach
        if not _holds_impulses(scene) or not contact_step.has_impacts:
            return None
    if not contact_step.has_impacts:
        key = "collision_scheme" if by_event else "materials"
        raise scene.error(key, "impacts need the joint coordinates of formulation os; these steps have others")
    return Impacts(scene, world)


def _holds_impulses(scene):
    """Whether steps hold impulses as constant forces, under a friction model whose impacts are Coulomb's."""
    return scene.integrator != "semi_implicit_euler" and scene.friction_model in ELASTIC_MODELS


def landing_speed(scene):
    """Approach speed from which a contact that the step's own problem stops is an event [m/s]."""
    if scene.collision_scheme == "event" or _holds_impulses(scene):
        return np.inf  # there every collision has phases of its own
    return STEP_THRESHOLD if scene.impact_threshold is None else float(scene.impact_threshold)


def landing(time, pair_links, contacts, solution, work, limit, certificate):
    """Impact of the contacts without restitution that a step of time stepping has stopped, from the step's problem.

    Impulses and the energy that contacts take are the step's: weight and friction are in them too.
    """
    count = int(contacts.count[0])
    normal = slice(0, 3 * count, 3)
    stopped = np.flatnonzero((solution.before[normal] < -limit) & (solution.r[normal] > 0.0))
    energy, gained = certificate.energy, float(work.ledger[CONTACT_WORK])
    return Impact(
        time=time,
        links=tuple(pair_links[pair] for pair in contacts.pair[stopped]),
        points=contacts.point[stopped],
        normals=contacts.normal[stopped],
        speeds=solution.before[normal][stopped],
        restitution=np.zeros(len(stopped)),
        compression=work.contact_impulse[stopped],
        decompression=np.zeros((len(stopped), 3)),
        energy_before=energy - gained,
        energy_compressed=energy,
        energy_after=energy,
        law="inelastic",
        scale=1.0,
        residual=certificate.residual,
    )


class Impacts:
    """Finds and resolves impacts; keeps what they did until the step's result is made."""

    together = False  #: whether all bodies are coupled by more than the tree knows of

    def __init__(self, scene, world):
        self._eps = world.restitution
        self._surfaces, self._geoms = world.surfaces, world.geoms
        self._law_name = scene.restitution_law
        self._law = LAWS.index(scene.restitution_law)
        self._threshold = STEP_THRESHOLD if scene.impact_threshold is None else float(scene.impact_threshold)
        self._sequential = scene.simultaneous_impacts == "sequential"
        self._refuse_gain = scene.energy_gain == "refuse"
        self._every = _holds_impulses(scene)
        euler = (scene.integrator, scene.collision_scheme) == ("semi_implicit_euler", "time_stepping")
        self._lag = 0.5 if euler else 0.0  # of velocities behind positions [steps]
        self._size = len(world.tree.parent), len(world.v0)
        self._work = None
        self._total = np.zeros((len(world.geoms.kind), 6))
        self.loop_impulse = np.zeros(world.couplings.rows)  #: of loops and gears, by the impacts of this step
        self.time = 0.0
        self._clear()

    def allocate(self, capacity, rows):
        """Workspaces for so many contacts and scalar rows."""
        self._imp = _collisions.make_impact_work(capacity, rows, *self._size)
        self._picked = make_contacts(capacity)

    def attach(self, settings, contacts, frames, rows, cones, q, v, work, pair_links, bilateral, friction):
        """The arrays behind the handle that the next steps use."""
        self._bilateral, self._friction = bilateral, friction
        self._q = q
        self._settings = settings
        self._contacts, self._frames, self._rows, self._cones = contacts, frames, rows, cones
        self._v, self._work, self._pair_links = v, work, pair_links

    def begin(self, time):
        """A new step from ``time`` on: nothing has happened yet."""
        self.time = time
        if self._v_before is not None or self.happened:
            self._clear()

    def _clear(self):
        self.events = []
        self.happened = False  #: an impact of contacts, which has an event, or of joint limits alone
        self.v_after = None  #: (N,), velocities that the impacts so far have left [m/s, rad/s]
        self.work_done = 0.0  #: change of kinetic energy by the impacts of this step [J]
        self._v_before = None
        self._total[:] = 0.0
        self.loop_impulse[:] = 0.0
        self._limits = {}
        self._energy = None
        if self._work is not None:
            _times.clear_shift(self._work)

    def resolve(self, handle, integrator, impulses):
        """Impacts of a step, behind the integrator's ``free``; a status.

        ``impulses(handle)`` solves the step's problem: without the contacts that collide it tells how these meet.
        """
        if not (self._every or self._contacts.count[0]) or not self._due(handle):
            return OK
        self._v_before, dt = self._v.copy(), float(self._settings[0])
        for _ in range(self.most_rounds):
            _collisions.mark_collisions(handle, self._imp, self._threshold, self._lag, dt)
            _times.set_aside(handle, self._threshold)
            status = impulses(handle)
            if status == OK:
                _times.foresee(handle, self._imp, self._lag, dt)
                status = self._collide(handle, self._eps, _collisions.TOUCH, dt, self._sequential)
            if status == OK:
                status = integrator.free(handle)  # W of the step carries the damping, v_free the new velocity
            if status != OK or not self._due(handle):
                return status
        return OK

    def stop(self, handle, integrator, impulses, time):
        """``resolve`` from ``time`` [s] on with every contact and no restitution, for the event scheme; a status."""
        self.time, kept = time, (self._eps, self._every)
        self._eps, self._every = np.zeros(len(self._eps)), True
        try:
            return self.resolve(handle, integrator, impulses)
        finally:
            self._eps, self._every = kept

    def collide_now(self, handle, time, marks, eps, last):
        """The collision of the marked contacts at ``time`` [s], for the event scheme; a status.

        The ``last`` one of a moment that does not end has no restitution and takes everything together.
        """
        self.time = time
        count = int(self._contacts.count[0])
        self._imp.collides[:count] = marks[:count]
        eps = np.zeros(len(eps)) if last else eps
        _times.forget_times(self._imp)
        return self._collide(handle, eps, HOLD_GAP, 0.0, self._sequential and not last)

    def reaches_limit(self, handle, dt):
        """Whether the free motion passes a joint limit within dt [s], faster than the threshold."""
        return _collisions.limits_hit(handle, self._threshold, 0.0, dt) > 0

    def stop_at_limits(self, handle, dt):
        """Inelastic impact at all joint limits that present velocities pass within dt [s], up to dt early; a status."""
        self._imp.collides[: int(self._contacts.count[0])] = 0
        return self._collide(handle, np.zeros(len(self._eps)), HOLD_GAP, dt, False, at_once=True)

    @property
    def most_rounds(self):
        """Most impacts at one moment."""
        return SEQUENTIAL_ROUNDS if self._sequential else ROUNDS

    def pairs_of_last(self):
        """Pairs of geometries of the last impact's contacts."""
        return set(self._picked.pair[: self._picked.count[0]].tolist())

    def undo(self, handle):
        """The step failed: back to the velocity before its impacts."""
        if self._v_before is not None:
            _collisions.set_velocity(handle, self._v_before)
            _step.refresh(handle)
            self._clear()

    def publish(self, handle):
        """Add the impacts of the step to the published contact impulses and joint efforts."""
        if self.happened:
            self._work.geom_impulse[:] += self._total
            for dof, impulse in self._limits.items():
                self._work.joint_effort[dof] += impulse / self._settings[0]

    def warm_up(self, handle, progress):
        """Compile or load the kernels of an impact, with whatever contacts there are."""
        if not in_cache(_collisions.apply_impact):
            progress("impacts are compiled too (first run only)")
        self._due(handle)
        _collisions.mark_collisions(handle, self._imp, self._threshold, self._lag, self._settings[0])
        _collisions.limits_hit(handle, self._threshold, self._lag, self._settings[0])
        _collisions.next_pair(handle, self._imp)
        _times.set_aside(handle, self._threshold)
        _times.foresee(handle, self._imp, self._lag, self._settings[0])
        _times.forget_times(self._imp)
        self._pose(handle, self._eps, 0.0, 0.0, -1)
        self._compress(handle)
        self._decompress(handle, 1.0)
        _collisions.apply_impact(handle, self._imp)
        self._record(handle, 1.0)
        _times.move_back(handle, self._imp)
        self._path_energy(handle, float(self._settings[0]))
        _collisions.set_velocity(handle, self._v)
        self._clear()

    # --- inside -----------------------------------------------------------------------------

    def _pose(self, handle, eps, touch, dt, pair):
        status = _collisions.pose_impact(
            handle, self._imp, self._picked, eps, touch, self._threshold, self._lag, dt, pair,
            self.together,
        )  # fmt: skip
        return _problem.pose(handle) if status == OK else status

    def _collide(self, handle, eps, touch, dt, one_pair, at_once=False):
        """One impact of all that is marked, or of the pair of geometries that is first; a status.

        Positions go with it but where it is ``at_once`` (or dt is 0), or where that would lead astray.
        """
        work = self._work
        pair = _collisions.next_pair(handle, self._imp) if one_pair else -1
        shift, gap_shift = work.shift.copy(), work.gap_shift.copy()
        status, scale = self._both_phases(handle, eps, touch, dt, pair, at_once)
        if status == OK and work.shift.any():
            change = self._path_energy(handle, dt)
            if not self._keeps_to_path(change):
                _collisions.set_velocity(handle, self._imp.v_before)
                work.shift[:], work.gap_shift[:] = shift, gap_shift
                _times.forget_times(self._imp)
                status, scale = self._both_phases(handle, eps, touch, dt, pair, True)
                change = self._path_energy(handle, dt) if status == OK and shift.any() else 0.0
            self.work_done += change
        if status == OK:
            self._record(handle, scale)
            rows = slice(0, int(self._cones.rows[0]))
            after = float(self._imp.energy[_collisions.AFTER] - self._imp.total[rows] @ self._imp.ahead[rows])
            self._energy = self._shifted if work.shift.any() else after + float(work.energy[1])
        return status

    def _both_phases(self, handle, eps, touch, dt, pair, at_once):
        """Compression, decompression, new velocities, and the path behind them; a status and the factor on all eps."""
        imp = self._imp
        status = self._pose(handle, eps, touch, dt, pair)
        if status != OK:
            return status, 1.0
        if at_once:
            imp.body_moment[:] = imp.first[:] = 0.0
        status, scale = self._compress(handle), 1.0
        if status == OK and imp.eps[: self._picked.count[0]].any():
            status, scale = self._decompress_safely(handle)
        if status == OK:
            status = self._apply(handle)
        if status == OK:
            _times.move_back(handle, imp)
        return status, scale

    def _apply(self, handle):
        """Impulses to velocities; a status."""
        return _collisions.apply_impact(handle, self._imp)

    def _path_energy(self, handle, dt):
        """What starting behind q adds to the energy beyond the ledger [J]: nothing under constant acceleration."""
        imp, work = self._imp, self._work
        before = self._energy
        if before is None:
            before = float(imp.energy[_collisions.BEFORE] + work.energy[1])
        q = self._q.copy()
        work.v_next[:] = self._v
        self._settings[0] = 0.0
        try:
            _step.advance(handle)  # by -shift alone
            self._shifted = float(work.energy.sum())
        finally:
            self._settings[0] = dt
            self._q[:] = q
            _step.refresh(handle)
        late, count = self._lag * dt, int(self._picked.count[0])
        behind = 0.0  # velocities that come late miss this of the impulses' work
        for i in range(count if late else 0):
            body = max(int(self._rows.body_a[3 * i]), int(self._rows.body_b[3 * i]))
            rows = slice(3 * i, 3 * i + 3)
            behind += late / (late + imp.body_moment[body]) * float(imp.total[rows] @ imp.ahead[rows])
        ledger = float(imp.energy[_collisions.COMPRESSED] + imp.energy[_collisions.RECOVERED])
        return self._shifted - before - ledger + behind

    def _keeps_to_path(self, change):
        """Whether the impact and the path behind it gain no energy together, and the path is a good one."""
        compressed, recovered = self._imp.energy[[_collisions.COMPRESSED, _collisions.RECOVERED]].tolist()
        rounding = GAIN * (abs(self._shifted) + abs(self._imp.energy[_collisions.BEFORE]) + abs(self._work.energy[1]))
        return compressed + recovered + change <= rounding and (
            abs(change) <= ASTRAY * (abs(compressed) + abs(recovered)) + rounding
        )

    def _due(self, handle):
        return _collisions.impacts_due(
            handle, self._eps, self._every, self._threshold, self._lag, self._settings[0]
        )

    def _decompress_safely(self, handle):
        """Decompression without gain of energy, unless it is allowed; a status and the factor on all restitutions."""
        limit = GAIN * self._imp.energy[_collisions.BEFORE]
        status, change = self._decompress(handle, 1.0)
        if status != OK or not self._refuse_gain or change <= limit:
            return status, 1.0
        scale = largest_factor(lambda factor: self._decompress(handle, factor)[1], limit)
        return self._decompress(handle, scale)[0], scale

    def _compress(self, handle):
        """The first phase; a status."""
        _collisions.begin_compression(handle, self._imp)
        status = _problem.solve(handle, True)
        _collisions.end_compression(handle, self._imp)
        return status

    def _decompress(self, handle, scale):
        """The second phase with all restitutions times ``scale``; a status and the change of energy by both [J]."""
        _collisions.begin_decompression(handle, self._imp, self._law, scale)
        status = _problem.solve(handle, True)
        return status, _collisions.end_decompression(handle, self._imp, self._law)

    def _record(self, handle, scale):
        """Keep an Impact, and the sums of its impulses on shapes and at joint limits."""
        imp, picked, count = self._imp, self._picked, int(self._picked.count[0])
        first = int(self._bilateral.info[FIRST])
        self.loop_impulse += imp.total[first : first + len(self.loop_impulse)]
        vectors = [np.zeros((count, 3)) for _ in range(2)]
        for p, out in zip((imp.p_c, imp.p_d), vectors):
            _collisions.impulse_vectors(picked, self._frames, p, out)
        _collisions.add_impulses(handle, picked, vectors[0] + vectors[1], imp.arm, self._total)
        add_moments(
            self._surfaces, self._geoms, picked, self._frames, self._friction.extra, imp.total, self._total
        )
        for row in self._cones.start[count : int(self._cones.count[0])].tolist():
            code = int(self._rows.dof[row])
            dof = code // 8
            impulse = (1.0 - 2.0 * (code % 2)) * (imp.p_c[row] + imp.p_d[row])
            self._limits[dof] = self._limits.get(dof, 0.0) + impulse
        before, compressed, _, after = imp.energy.tolist()
        potential = float(self._work.energy[1])
        self.work_done += imp.energy[_collisions.COMPRESSED] + imp.energy[_collisions.RECOVERED]
        self.happened, self.v_after = True, self._v.copy()
        if count == 0:
            return  # joint limits alone
        self.events.append(
            Impact(
                time=self.time + float(imp.first[0]),
                links=tuple(self._pair_links[pair] for pair in picked.pair[:count]),
                points=picked.point[:count].copy(),
                normals=picked.normal[:count].copy(),
                speeds=imp.speed[:count].copy(),
                restitution=imp.eps[:count].copy(),
                compression=vectors[0],
                decompression=vectors[1],
                energy_before=before + potential,
                energy_compressed=before + compressed + potential,
                energy_after=after + potential,
                law=self._law_name,
                scale=scale,
                residual=float(max(imp.judge_c[:2].max(), imp.judge_d[:2].max())),
            )
        )


def largest_factor(gain, tolerance):
    """Largest factor from 0 to 1 with ``gain(factor) <= tolerance``: down a grid, then bisection to 1e-12.

    ``gain(0)`` is taken to be at most the tolerance: an inelastic collision creates no energy.
    """
    if gain(1.0) <= tolerance:
        return 1.0
    low, high = 0.0, 1.0
    for k in range(GRID - 1, 0, -1):
        if gain(k / GRID) <= tolerance:
            low = k / GRID
            break
        high = k / GRID
    while high - low > 1e-12:
        middle = 0.5 * (low + high)
        if gain(middle) <= tolerance:
            low = middle
        else:
            high = middle
    return low
