# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps from collision to collision (``collision_scheme: event``, J12 section IV): docs/impacts.md.

A step is cut into stretches.  Each starts with the collisions of the moment it starts at, holds the impulses of the
contacts that stay as forces, flies on, and ends where the next gap closes or the step is over.  The work of a step is
bounded: after MOST_FLIGHTS its rest is one step of time stepping, which the certificate says.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq

from mb_contact.collision import make_buffers, make_contacts, make_narrow_phase
from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.impact import events as _events
from mb_contact.core.impact.times import normal_velocity
from mb_contact.core.step import problem as _problem
from mb_contact.core.step import step as _step
from mb_contact.errors import DynamicsError
from mb_contact.simulation.warm_up import in_cache
from mb_contact.types import OK, SHAPE_PLANE, SHAPE_SPHERE, TOO_MANY_CONTACTS, WORLD

THRESHOLD = 1e-6  #: approach speed from which contacts collide [m/s]
NEW_POINT = 1e-10  #: depth at which a point counts as new beside held ones of its pair [m]
ROUNDING = 1e-12  #: gap of a contact that leaves from which on its sign means something [m]
MOST_IMPACTS = 100  #: of a pair in one step; from then on its impacts in this step are inelastic
DEPTH = 12  #: most halvings of a stretch in the search for a gap that opens again before its end
SHORTEST = 1e-9  #: flight after which a contact that has not left the surface counts as held [s]
LOOKS = (1.0, 0.38)  #: parts of a stretch after which the bend of its paths is looked at
SAFETY = 2.0  #: of the acceleration that the search for closest approaches reckons with
SHRINK = (0.05, 0.9)  #: least and most part of a stretch that is left where its paths bend too far
GROWTH = 2.0  #: most by which a stretch is longer than the one before in a step
MOST_LOOKS = 40  #: of shorter and shorter stretches; then nothing is left of a step
MOST_FLIGHTS = 20_000  #: in one step; what is left of it then is one step of time stepping
CORRECTIONS = 4  #: most times that a stretch's problem is solved again for the velocities at its end
CORRECTED = 1e-10  #: change of those velocities at which that ends [m/s]


class EventScheme:
    """The steps of a simulator under ``collision_scheme: event``."""

    def __init__(self, simulator, impacts):
        sim = self._sim = simulator
        geoms = sim.world.geoms
        self._impacts = impacts
        threshold = sim.scene.impact_threshold
        self._threshold = THRESHOLD if threshold is None else float(threshold)
        self._narrow, self._buffers = make_narrow_phase(geoms), make_buffers(geoms)
        pairs = len(geoms.pairs)
        self._contacts = make_contacts(4 * max(pairs, 1))
        self._held = np.zeros((4 * max(pairs, 1), 2), np.int64)
        self._gaps, self._gap = np.zeros(max(pairs, 1)), np.zeros(1)
        self._stuck = np.zeros(pairs, np.int64)
        self._kinds = np.zeros(0, np.int64)
        self._eps = sim.world.restitution.copy()
        self._allowed = 0.5 * float(geoms.margin[0])  # of each shape: by this much are its box and reach inflated
        turning = (geoms.kind != SHAPE_SPHERE) & (geoms.kind != SHAPE_PLANE)
        self._arm = np.where(turning, np.linalg.norm(geoms.size, axis=1), 0.0)
        self._moves = geoms.body != WORLD
        self.loop_impulse = np.zeros(sim.world.couplings.rows)  #: of loops and gears, in the stretches of the last step
        self.flights = 0  #: flows under trial in the last step, each with its gaps: the measure of the step's work
        self.time_stepped = 0.0  #: end of the last step that was left to time stepping [s]

    def is_compiled(self):
        """Whether the kernels of this scheme are in the cache of this Python (or need no compiling)."""
        return in_cache(_events.watched_gaps)

    def run(self, dt):
        """One step of length dt [s]; a status.  Where it is not OK, or raises, the state is the one before."""
        sim = self._sim
        before = sim._q.copy(), sim._v.copy()
        memory, books = (tuple(array.copy() for array in arrays) for arrays in (sim._memory, self._books()))
        status = None
        try:
            status = self._run(dt)
        finally:
            sim._settings[0] = dt
            if status != OK:
                sim._q[:], sim._v[:] = before
                for array, old in zip((*sim._memory, *self._books()), (*memory, *books)):
                    array[: len(old)] = old  # the arrays of contacts may have grown
                _step.refresh(sim._handle)
        return status

    def _books(self):
        """What a finished step leaves in the workspaces for the user."""
        work = self._sim._work
        return work.geom_impulse, work.joint_effort, work.ledger, work.contact_energy, work.info

    def _run(self, dt):
        sim, done = self._sim, 0.0
        self._totals = None
        self._counts = {}
        self._stuck[:] = 0
        self._eps[:] = sim.world.restitution
        self._impacts.begin(sim.time)
        self.flights, self.time_stepped = 0, 0.0
        most = dt
        while self.flights < MOST_FLIGHTS:
            rest = dt - done
            most = self._reckoned(min(rest, most))
            status = self._find(most)
            if status == OK:
                status = self._collide(sim.time + done)
            if status == OK:
                length, status = self._stretch(most)
            if status != OK:
                return status
            if length == rest:
                self._publish(dt)
                return OK
            done += length
            most *= GROWTH
            if length > SHORTEST:
                self._stuck[:] = 0
        return self._give_up(dt, dt - done)

    def _give_up(self, dt, rest):
        """The rest [s] of a step of dt by time stepping, without restitution; a status."""
        sim = self._sim
        handle, steps, integrator = sim._handle, sim._friction, sim._friction.integrator
        self.time_stepped = rest
        status = self._find(rest)
        sim._work.row_bias[:] = 0.0
        for stage in (
            lambda: integrator.free(handle),
            lambda: self._impacts.stop(handle, integrator, steps._impulses, sim.time + dt - rest),
            lambda: steps._impulses(handle),
            lambda: integrator.hold(handle),
        ):
            status = stage() if status == OK else status
        if status == OK:
            self._conclude(rest)
            self._publish(dt)
        return status

    def _conclude(self, length):
        """The state after a stretch [s], and its books."""
        sim = self._sim
        sim._settings[0] = length
        sim._friction.integrator.conclude(sim._handle)
        self._count_in(length)

    # --- the length of a stretch ----------------------------------------------------------------

    def _reckoned(self, rest):
        """Longest stretch up to ``rest`` [s] in which no shape leaves the reach that its velocity gives it.

        Pairs are sought within the margin and the ways at the present velocities.  What accelerations add to these,
        a h^2 / 2 of each shape, has to stay below half of the margin, which is measured on the free flow.
        """
        sim, integrator = self._sim, self._sim._friction.integrator
        for _ in range(MOST_LOOKS):
            sim._settings[0] = rest
            _step.begin_step(sim._handle)
            integrator.begin(sim._handle)
            self._bend = 0.0
            for part in LOOKS:
                status = self._fly(part * rest)
                self._bend = max(self._bend, self._bend_at(part) / part**2 if status == OK else np.inf)
            if self._bend <= self._allowed:
                break
            rest *= self._shrink()
        return rest

    def _bend_at(self, part):
        """Most that a shape has left its straight path by after flying this part of a stretch [m]."""
        sim, b = self._sim, self._buffers
        _events.end_poses(sim._handle, sim._friction.integrator.flow, b.geom_R, b.geom_p)
        start = sim._buffers
        aside = b.geom_p - start.geom_p - part * start.travel[:, :3]
        turn = (b.geom_R - start.geom_R).reshape(-1, 9)
        aside, turn = np.sqrt((aside * aside).sum(1)), self._arm * np.sqrt(0.5 * (turn * turn).sum(1))
        bend = (aside + np.maximum(turn - part * start.travel[:, 3], 0.0))[self._moves]
        most = float(bend.max()) if len(bend) else 0.0
        return most if most == most else np.inf  # nan: the flow broke down

    def _shrink(self):
        """Part of a stretch that is left where ``_bend`` [m] is too much: bends grow with the square of the time."""
        return float(np.clip(0.9 * np.sqrt(self._allowed / self._bend), *SHRINK))

    # --- the present moment -------------------------------------------------------------------

    def _find(self, rest):
        """Contacts of the present state, and all pairs that could touch within the rest of the step."""
        sim = self._sim
        sim._settings[0] = rest
        self._candidates()
        status = _step.find_contacts(sim._handle, self._count)
        while status == TOO_MANY_CONTACTS:
            sim._allocate(2 * sim._capacity)
            self._candidates()
            status = _step.find_contacts(sim._handle, self._count)
        if len(self._kinds) < sim._capacity:
            self._kinds = np.zeros(sim._capacity, np.int64)
        return status

    def _candidates(self):
        sim, b = self._sim, self._sim._buffers
        self._count = count = _step.begin_step(sim._handle)
        sim._narrow.query(b.candidates, count, b.reach, b.geom_R, b.geom_p, b.witness)

    def _collide(self, time):
        """All collisions of this moment; a status."""
        impacts, handle = self._impacts, self._sim._handle
        happened = 0
        self._struck = set()
        while _events.classify(handle, self._threshold, self._stuck, self._kinds):
            last = happened >= impacts.most_rounds
            status = impacts.collide_now(handle, time, self._kinds == _events.COLLIDING, self._eps, last)
            if status != OK:
                return status
            happened += 1
            self._struck |= impacts.pairs_of_last()
            for pair in impacts.pairs_of_last():
                self._counts[pair] = self._counts.get(pair, 0) + 1
                if self._counts[pair] >= MOST_IMPACTS:
                    self._eps[pair] = 0.0
            if last:
                break
        if happened:
            self._candidates()  # what can be reached has changed with the velocities
        return OK

    # --- a stretch ------------------------------------------------------------------------------

    def _stretch(self, rest):
        """Fly on until the next gap closes, ``rest`` [s] at most; the length flown and a status."""
        sim = self._sim
        handle, steps, integrator = sim._handle, sim._friction, sim._friction.integrator
        _events.classify(handle, self._threshold, self._stuck, self._kinds)
        self._let_go()
        self._leaving = set(sim._contacts.pair[: sim._contacts.count[0]][
            self._kinds[: sim._contacts.count[0]] == _events.LEAVING].tolist())  # fmt: skip
        self._n_held = _events.keep_held(handle, self._kinds, self._held)
        sim._work.row_bias[:] = 0.0
        self._flown = False
        b, count = self._buffers, self._count
        b.candidates[:count], b.reach[:count] = sim._buffers.candidates[:count], sim._buffers.reach[:count]
        status = integrator.free(handle)
        if status == OK and self._impacts.reaches_limit(handle, rest):
            return 0.0, self._impacts.stop_at_limits(handle, rest)
        for _ in range(1 + CORRECTIONS):
            if status == OK:
                status = steps._impulses(handle)
            if status == OK:
                status = integrator.hold(handle)
            if status != OK:
                return 0.0, status
            end = self._measure(b, count) if count else None
            if not self._n_held or _events.correct_held(handle, integrator.flow, self._contacts) <= CORRECTED:
                break
        most, end = self._second_look(rest, end)
        length = self._first_crossing(rest, most, end)
        if length == 0.0:
            return 0.0, OK
        if length < rest:
            status = self._fly(length)
            _events.cut_short(handle, length / rest)
        elif self._flown:
            status = self._fly(rest)
        if status != OK:
            return 0.0, status
        self._conclude(length)
        return length, OK

    def _let_go(self):
        """What an impact of this moment has parted leaves, however slowly: held, its weight would lift it."""
        sim, contacts = self._sim, self._sim._contacts
        for i in np.flatnonzero(self._kinds[: contacts.count[0]] == _events.HELD).tolist() if self._struck else ():
            pair, gap = int(contacts.pair[i]), contacts.gap[i]
            if pair not in self._struck or self._stuck[pair] or gap < -_events.TOUCH:
                continue
            if normal_velocity(sim.world.geoms, contacts, sim._kin.p, sim._kin.V, i) > self._threshold:
                self._kinds[i] = _events.APART if gap > _events.TOUCH else _events.LEAVING

    def _second_look(self, rest, end):
        """Length up to which the flow with held impulses, and velocities after collisions, keeps to the reach.

        Returns it with the gaps there; ``end`` are those after ``rest``.
        """
        self._bend = max(self._bend, bend := self._bend_at(1.0))
        if not np.isfinite(bend) or bend <= self._allowed:
            return rest, end
        most = rest * self._shrink()
        return most, self._gaps_at(most)

    def _fly(self, time):
        """The flow of this stretch from its start; a status."""
        sim, integrator = self._sim, self._sim._friction.integrator
        self._flown = True
        self.flights += 1
        integrator.q_start[:], integrator.v_start[:] = sim._q, sim._v
        return integrator.advance(sim._handle, time)

    def _gaps_at(self, time):
        """Gaps (count,) of all candidates after flying for ``time``; infinite where the flow breaks down."""
        return self._gaps_of(time, self._buffers, self._count)

    def _gaps_of(self, time, b, count):
        if self._fly(time) != OK:
            return np.full(count, np.inf)
        return self._measure(b, count)

    def _measure(self, b, count):
        sim = self._sim
        _events.end_poses(sim._handle, sim._friction.integrator.flow, b.geom_R, b.geom_p)
        self._narrow.query(b.candidates, count, b.reach, b.geom_R, b.geom_p, b.witness)
        _events.watched_gaps(sim._handle, b, count, self._contacts, self._held, self._n_held, self._gaps)
        return self._gaps[:count].copy()

    def _first_crossing(self, rest, most, end):
        """Time after which the first gap closes; ``most`` if none does, 0 if a contact has to be held first.

        ``end`` (count,) are the gaps after ``most``, which is a part of the stretch ``rest``.
        """
        sim, b, count = self._sim, self._buffers, self._count
        if not count:
            return most
        _events.watched_gaps(
            sim._handle, sim._buffers, count, self._contacts, self._held, self._n_held, self._gaps
        )
        start = self._gaps[:count].copy()
        held = set(self._held[: self._n_held, 0].tolist())
        pairs = b.candidates[:count].tolist()
        self._tolerance = np.array([NEW_POINT if pair in held else 0.0 for pair in pairs])
        self._slack = SAFETY * 4.0 * self._bend / rest**2  # two shapes with 2 bend / rest^2 each
        self._way = 1.5 * (b.reach[:count] - sim.world.geoms.margin[0]) / rest + self._slack * rest
        self._may_dip = np.array([pair not in held and pair not in self._leaving for pair in pairs])
        found = self._search(0.0, start, most, end, 0)
        return most if found is None else found

    def _search(self, a, at_a, b, at_b, depth):
        """Earliest closing of a gap between times a and b, gaps there known; None if there is none."""
        closed = np.flatnonzero(at_b < -self._tolerance)
        dips = self._may_dip & (at_a > 0.0) & (at_b >= 0.0) & (at_a + at_b < self._way * (b - a))
        if dips.any() and depth < DEPTH:
            m = 0.5 * (a + b)
            at_m = self._gaps_at(m)
            slack = self._slack * (b - a) ** 2
            least = np.minimum(at_m, 2.0 * at_m - np.maximum(at_a, at_b)) - slack  # exact for straight and convex gaps
            if (dips & (least <= 0.0)).any() or (at_m < -self._tolerance).any():
                first = self._search(a, at_a, m, at_m, depth + 1)
                return self._search(m, at_m, b, at_b, depth + 1) if first is None else first
        if not len(closed):
            return None
        return min(self._root(int(i), a, float(at_a[i]), b, float(at_b[i])) for i in closed)

    def _root(self, i, a, at_a, b, at_b):
        """Time at which gap i closes between a, where it is open, and b, where it is not."""
        buffers = self._buffers
        pair, reach = int(buffers.candidates[i]), float(buffers.reach[i])
        every = buffers.candidates[: self._count].copy(), buffers.reach[: self._count].copy()

        def gap(time):
            buffers.candidates[0], buffers.reach[0] = pair, reach
            return float(self._gaps_of(time, buffers, 1)[0])

        if at_a <= (0.0 if a > 0.0 else ROUNDING):  # it starts on the surface: back until it is open
            a, at_a, b, at_b = self._opened(gap, a, b, at_b)
        if at_a > 0.0:
            time = self._closing(gap, a, b) if at_b < 0.0 else b
        else:
            self._stuck[pair] = 1
            time = 0.0
        buffers.candidates[: self._count], buffers.reach[: self._count] = every
        return time

    def _opened(self, gap, first, b, at_b):
        """Times a and b with their gaps, as (a, gap, b, gap): open at a, the first halving that is, and not at b.

        At the start of a hop the gap is rounding of either sign: as an end of the bracket it would be the root.
        """
        while True:
            a = first + 0.5 * (b - first)
            at_a = gap(a)
            if at_a > 0.0 or a - first < SHORTEST:
                return a, at_a, b, at_b
            b, at_b = a, at_a

    def _closing(self, gap, a, b):
        """Root of a gap between times a and b; DynamicsError where it is no function with a change of sign."""
        try:
            return brentq(gap, a, b, xtol=1e-16, rtol=8.9e-16, maxiter=100)
        except (ValueError, RuntimeError) as error:
            raise DynamicsError(
                f"the time of a collision in the step after t = {self._sim.time:.6g} s was not found "
                f"({error}): lower the time step or the efforts"
            ) from None

    # --- the books ------------------------------------------------------------------------------

    def _count_in(self, length):
        """Add up what a stretch leaves in the workspaces."""
        work, judge = self._sim._work, self._sim._solution.judge
        now = (
            work.geom_impulse.copy(), length * work.joint_effort, work.ledger.copy(), work.contact_energy.copy(),
            judge.copy(), work.info.copy(),
        )  # fmt: skip
        first = int(self._sim._bilateral.info[FIRST])
        loops = self._sim._solution.r[first : first + len(self.loop_impulse)]
        self.loop_impulse = loops + (0.0 if self._totals is None else self.loop_impulse)
        if self._totals is None:
            self._totals = now
            return
        totals = self._totals
        for total, part in zip(totals[:4], now[:4]):
            total += part
        if now[4][:2].max() > totals[4][:2].max():
            totals[4][:] = now[4]
        totals[5][_problem.STAGE] = max(totals[5][_problem.STAGE], now[5][_problem.STAGE])
        totals[5][_problem.ITERATIONS] += now[5][_problem.ITERATIONS]

    def _publish(self, dt):
        work, solution = self._sim._work, self._sim._solution
        geom_impulse, effort, ledger, contact_energy, judge, info = self._totals
        work.geom_impulse[:], work.joint_effort[:], work.ledger[:] = geom_impulse, effort / dt, ledger
        work.contact_energy[:], solution.judge[:], work.info[:] = contact_energy, judge, info
        self._sim._settings[0] = dt
        self._impacts.publish(self._sim._handle)
