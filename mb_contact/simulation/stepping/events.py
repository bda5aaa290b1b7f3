# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Steps from collision to collision (``collision_scheme: event``, J12 section IV): docs/impacts.md.

A step is cut into substeps.  Each starts with the collisions of the moment it starts at, holds the impulses of the
contacts that stay as forces, flies on, and ends where the next gap closes or the step is over.  A substep that would
make energy is halved, and in the end taken by Euler's rule (``pieces.py``).  The work of a step is bounded: after
MOST_FLIGHTS its rest is one step of Euler's, which the certificate says.
"""

import numpy as np

from mb_contact.core.constraints.contact import normal_velocity
from mb_contact.core.impact import events as _events
from mb_contact.core.integrate.kept_contacts import AGREED, has_diverged
from mb_contact.core.step import closing as _closing, step as _step
from mb_contact.simulation.stepping.crossings import SHORTEST, Crossings
from mb_contact.simulation.stepping.gap_watch import GapWatch
from mb_contact.simulation.stepping.pieces import HALVINGS, REFUSED, by_euler, pushing_out, undone_unless_ok
from mb_contact.simulation.stepping.step_sums import StepSums
from mb_contact.types import GAINED_ENERGY, OK, SHAPE_PLANE, SHAPE_SPHERE, TOO_MANY_CONTACTS, TOUCHING_EVENT, WORLD

THRESHOLD = 1e-6  #: approach speed from which contacts collide [m/s]
CLOSED = 1e-10  #: depth from which a gap has closed: what passes over the border of a flush face ends at none [m]
MOST_IMPACTS = 100  #: of a pair in one step; from then on its impacts in this step are inelastic
LOOKS = (1.0, 0.38)  #: parts of a substep after which the deviation of its paths is looked at
SAFETY = 2.0  #: of the acceleration that the search for closest approaches reckons with
SHRINK = (0.05, 0.9)  #: least and most part of a substep that is left where its paths deviate too far
GROWTH = 2.0  #: most by which a substep is longer than the one before in a step
MOST_LOOKS = 40  #: of shorter and shorter substeps; then nothing is left of a step
ROUNDING = 1e-12  #: part of a step that is no substep any more
MOST_FLIGHTS = 20_000  #: in one step; what is left of it then is one step of Euler's
CORRECTIONS = 4  #: most times that a substep's contact problem is solved again for the velocities at its end


class EventScheme:
    """The steps of a scene under ``collision_scheme: event``.

    Parameters
    ----------
    context : StepContext
        Its impacts and its integrator are used, and the impulses of its contact step.

    Raises
    ------
    SceneError
        The contact step is that of a study.
    """

    kernel = _events.watched_gaps  #: compiled last of what the scheme needs

    def __init__(self, context):
        self._context, geoms = context, context.world.geoms
        if not context.contact_step.any_integrator:
            raise context.scene.error("collision_scheme", "'event' needs the usual steps, not those of a study")
        threshold = context.scene.impact_threshold
        self._units = units = context.world.units
        self._threshold = THRESHOLD * units.speed if threshold is None else float(threshold)
        self._watch = GapWatch(context)
        self._stuck = np.zeros(len(geoms.pairs), np.int64)
        self._kinds = np.zeros(0, np.int64)
        self._eps = context.world.restitution.copy()
        self._allowed = 0.5 * float(geoms.margin[0])  # of each shape: by this much are its box and reach inflated
        turning = (geoms.kind != SHAPE_SPHERE) & (geoms.kind != SHAPE_PLANE)
        self._arm = np.where(turning, np.linalg.norm(geoms.size, axis=1), 0.0)
        self._moves = geoms.body != WORLD
        self._sums = StepSums(context)
        self.flights = 0  #: flows under trial in the last step, each with its gaps: the measure of the step's work
        self.told = [0.0, 1, 0]  #: of the last step: time left to Euler's rule [s], pieces, those by Euler's rule
        self._moved = False  #: whether impacts have changed velocities since the last substep

    @property
    def loop_impulse(self):
        """Impulses (loop and gear rows,) of the last step's substeps together [N s, N m s]."""
        return self._sums.loop_impulse

    def run(self, time, dt):
        """One step of length dt [s] from ``time`` on; a status.  Where it is not OK, or raises, all is as before."""
        try:
            return undone_unless_ok(self._context, lambda: self._run(time, dt))
        finally:
            self._context.dt = dt

    def _run(self, time, dt):
        done, most = 0.0, dt
        self._time, self._length, self._counts = time, dt, {}
        self._sums.clear()
        self._stuck[:] = 0
        self._eps[:] = self._context.world.restitution
        self._context.impacts.begin(time)
        self.flights, self.told = 0, [0.0, 1, 0]
        refused = 0  # substeps one after the other that would have made energy
        while True:
            rest = dt - done
            if self.flights >= MOST_FLIGHTS or refused > HALVINGS:
                length = rest if self.flights >= MOST_FLIGHTS else min(rest, most)
                status = self._by_euler(time + done, length)
            else:
                most = self._reckoned(min(rest, most))
                status = self._find(most) or self._collide(time + done)
                if status == OK:
                    with pushing_out(self._context, most / dt):
                        length, status = self._substep(most)
                if status in REFUSED:
                    refused += 1
                    most = max(0.5 * most, SHORTEST)
                    continue
            if status != OK:
                return status
            self.told[1] += refused > 0 and length > 0.0
            if rest - length <= ROUNDING * dt:
                self._publish(dt)
                return OK
            done += length
            most *= GROWTH
            if length > 0.0:
                refused = 0
            if length > SHORTEST:
                self._stuck[:] = 0

    def _by_euler(self, time, length):
        """``length`` [s] from a time on by Euler's rule, without restitution; returns a status."""
        context, start = self._context, self._motion()
        impacts, handle = context.impacts, context.handle
        done = impacts.work_done
        with by_euler(context), pushing_out(context, length / self._length):
            status = (
                self._find(length)
                or context.integrator.free(handle)
                or impacts.stop(handle, time)
                or context.contact_step.impulses(handle)
                or self._conclude(length, start, done)
            )
        self.told[0] += length
        self.told[2] += 1
        return status

    def _motion(self):
        """``context.motion()``, which the impacts of this moment have changed."""
        if self._moved:
            _closing.derive(self._context.handle)
        self._moved = False
        return self._context.motion()

    def _conclude(self, length, start, done):
        """The state after a substep [s] from a ``_motion``, and its part of the step's sums; returns a status.

        ``done`` is the work of this step's impacts before it [J].
        """
        context = self._context
        context.dt = length
        status = context.integrator.conclude(context.handle) or context.accept(start, context.impacts.work_done - done)
        if status == OK:
            self._sums.add(length)
        return status

    # --- the length of a substep ----------------------------------------------------------------

    def _reckoned(self, rest):
        """Longest substep up to ``rest`` [s] in which no shape leaves the reach that its velocity gives it.

        Pairs are sought within the margin and the ways at the present velocities.  What accelerations add to these,
        a h^2 / 2 of each shape, has to stay below half of the margin, which is measured on the free flow.
        """
        context = self._context
        for _ in range(MOST_LOOKS):
            context.dt = rest
            _step.begin_step(context.handle)
            context.integrator.begin(context.handle)
            self._deviation = 0.0
            for part in LOOKS:
                status = self._fly(part * rest)
                deviation = self._path_deviation(part) / part**2 if status == OK else np.inf
                self._deviation = max(self._deviation, deviation)
            if self._deviation <= self._allowed:
                break
            rest *= self._shrink()
        return rest

    def _path_deviation(self, part):
        """Most that a shape has left its straight path by after flying this part of a substep [m]."""
        b, start = self._watch.buffers, self._context.buffers
        self._watch.end_poses()
        aside = b.geom_p - start.geom_p - part * start.travel[:, :3]
        turn = (b.geom_R - start.geom_R).reshape(-1, 9)
        aside, turn = np.sqrt((aside * aside).sum(1)), self._arm * np.sqrt(0.5 * (turn * turn).sum(1))
        deviation = (aside + np.maximum(turn - part * start.travel[:, 3], 0.0))[self._moves]
        most = float(deviation.max()) if len(deviation) else 0.0
        return most if most == most else np.inf  # nan: the flow broke down

    def _shrink(self):
        """Part of a substep that is left where ``_deviation`` [m] is too much: it grows with the square of the time."""
        return float(np.clip(0.9 * np.sqrt(self._allowed / self._deviation), *SHRINK))

    # --- the present moment -------------------------------------------------------------------

    def _find(self, rest):
        """Contacts of the present state, and all pairs that could touch within the rest of the step."""
        context = self._context
        context.dt = rest
        self._look_around()
        while (status := _step.find_contacts(context.handle, self._count)) == TOO_MANY_CONTACTS:
            context.grow(contacts=2)
            self._look_around()
        if len(self._kinds) < context.capacity:
            self._kinds = np.zeros(context.capacity, np.int64)
        return status

    def _collide(self, time):
        """All collisions of this moment; returns a status."""
        impacts, handle = self._context.impacts, self._context.handle
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
            self._moved = True
            self._look_around()  # what can be reached has changed with the velocities
        return OK

    def _look_around(self):
        """Pairs that could touch; of their points those count that are lowest now, not where their turn ends."""
        self._count = self._context.find_candidates()
        self._context.buffers.travel[:, 4:] = 0.0

    # --- a substep ------------------------------------------------------------------------------

    def _substep(self, rest):
        """Fly on until the next gap closes, ``rest`` [s] at most; the length flown and a status."""
        context, watch, count = self._context, self._watch, self._count
        handle, integrator, found = context.handle, context.integrator, context.contacts
        _events.classify(handle, self._threshold, self._stuck, self._kinds)
        self._let_go()
        kinds = self._kinds[: found.count[0]]
        self._leaving = set(found.pair[: found.count[0]][kinds == _events.LEAVING].tolist())
        watch.begin(self._kinds, count)
        self._flown = False
        status = integrator.free(handle)
        if status == OK and self._context.impacts.reaches_limit(handle, rest):
            self._moved = True
            return 0.0, self._context.impacts.stop_at_limits(handle, rest)
        solve, change, least = context.contact_step.impulses, np.inf, np.inf
        for _ in range(1 + CORRECTIONS):
            status = status or solve(handle) or integrator.flow_with_impulses(handle)
            solve = context.contact_step.impulses_again
            if status != OK:
                return 0.0, status
            end = watch.at_end(count) if count else None
            least, change = min(least, change), watch.correct()
            if change <= AGREED * self._units.speed:
                break
        if has_diverged(handle, change, least):
            return 0.0, GAINED_ENERGY
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
        return length, self._conclude(length, self._motion(), self._context.impacts.work_done)

    def _let_go(self):
        """What an impact of this moment has parted leaves, however slowly: kept, its weight would lift it."""
        context, contacts = self._context, self._context.contacts
        for i in np.flatnonzero(self._kinds[: contacts.count[0]] == _events.KEPT).tolist() if self._struck else ():
            pair, gap = int(contacts.pair[i]), contacts.gap[i]
            if pair not in self._struck or self._stuck[pair] or gap < -TOUCHING_EVENT * self._units.length:
                continue
            if normal_velocity(context.geoms, contacts, context.kin.p, context.kin.V, i) > self._threshold:
                self._kinds[i] = _events.APART if gap > TOUCHING_EVENT * self._units.length else _events.LEAVING

    def _second_look(self, rest, end):
        """Length up to which the flow with constant impulses, and velocities after collisions, keeps to the reach.

        Returns it with the gaps there; ``end`` are those after ``rest``.
        """
        self._deviation = max(self._deviation, deviation := self._path_deviation(1.0))
        if not np.isfinite(deviation) or deviation <= self._allowed:
            return rest, end
        most = rest * self._shrink()
        return most, self._gaps_at(most)

    def _fly(self, time):
        """The flow of this substep from its start; returns a status."""
        context, integrator = self._context, self._context.integrator
        self._flown = True
        self.flights += 1
        flow = context.flow_arrays
        flow.q_start[:], flow.v_start[:] = context.q, context.v
        return integrator.advance(context.handle, time)

    def _gaps_at(self, time):
        """Gaps (count,) of all candidates after flying for ``time``; infinite where the flow breaks down."""
        return self._watch.at_end(self._count) if self._fly(time) == OK else np.full(self._count, np.inf)

    def _gap_at(self, i, time):
        """The same of candidate i alone."""
        return self._watch.one_at_end(i) if self._fly(time) == OK else np.inf

    def _first_crossing(self, rest, most, end):
        """Time after which the first gap closes; ``most`` if none does, 0 if a contact has to be kept first.

        ``end`` (count,) are the gaps after ``most``, which is a part of the substep ``rest``.
        """
        watch, b, count = self._watch, self._watch.buffers, self._count
        if not count:
            return most
        start, kept = watch.at_start(count), watch.kept_pairs()
        pairs = b.candidates[:count].tolist()
        slack = SAFETY * 4.0 * self._deviation / rest**2  # two shapes with 2 deviation / rest^2 each
        crossings = Crossings(
            self._gaps_at,
            self._gap_at,
            tolerance=np.full(count, CLOSED * self._units.length),
            may_dip=np.array([pair not in kept and pair not in self._leaving for pair in pairs]),
            way=1.5 * (b.reach[:count] - self._context.world.geoms.margin[0]) / rest + slack * rest,
            slack=slack,
            time=self._time,
            unit=self._units.length,
        )
        found = crossings.search(0.0, start, most, end)
        self._stuck[[pairs[i] for i in crossings.stuck]] = 1
        return most if found is None else found

    def _publish(self, dt):
        self._sums.publish(dt)
        self._context.dt = dt
        self._context.impacts.publish()
