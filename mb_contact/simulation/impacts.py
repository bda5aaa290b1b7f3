# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Impacts with restitution at the start of a step, in two phases, each with an energy ledger (docs/collisions.md)."""

from __future__ import annotations

import numpy as np

from mb_contact.collision import make_contacts
from mb_contact.contact.collisions import LAWS, largest_factor
from mb_contact.core.step import collisions as _collisions
from mb_contact.core.step.collision_phases import certify_cone
from mb_contact.core.step.events import HOLD_GAP
from mb_contact.model.scene import ELASTIC_MODELS
from mb_contact.simulation.contact_step import kernel_in_cache
from mb_contact.simulation.results import Impact
from mb_contact.solvers.friction import FrictionSolver
from mb_contact.solvers.layout import ConeLayout
from mb_contact.types import OK

STEP_THRESHOLD = 0.01  #: approach speed from which contacts collide in time stepping [m/s]
CONTACT_WORK = 2  # entry of StepWork.ledger
GAIN = 1e-12  #: part of the kinetic energy that counts as rounding
ROUNDS = 10  #: most impacts of all at once in a step; what still approaches is stopped by the step's contact problem
SEQUENTIAL_ROUNDS = 1000  #: and of impacts one pair after the other
CONE_TOLERANCE = 1e-11  #: natural residual asked of the cone solver, relative to the scaled q


def make_impacts(scene, world, contact_step):
    """The Impacts of a scene, or None where there is nothing for them to do.

    Raises
    ------
    SceneError
        The steps' rows cannot have impacts, or friction that has a direction should take part in one.
    """
    by_event = scene.collision_scheme == "event"
    elastic = world.restitution > 0.0
    if not elastic.any() and not by_event:
        # a step that holds its impulses would sink by v dt / 2 while they stop a fast approach
        directed = (world.surfaces.side >= 0).any()
        if not _holds_impulses(scene) or directed or not contact_step.has_impacts:
            return None
    if not contact_step.has_impacts:
        key = "collision_scheme" if by_event else "materials"
        raise scene.error(key, "impacts need the joint coordinates of formulation os; these steps have others")
    if (world.surfaces.side[elastic | by_event] >= 0).any():
        raise scene.error("materials", "impacts know no anisotropic_friction; leave it out, or restitution and 'event'")
    kind = ConeImpacts if scene.friction_model == "coulomb_cone" else Impacts
    return kind(scene, world)


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
    """Finds and resolves impacts on the polyhedral cone; keeps what they did until the step's result is made."""

    def __init__(self, scene, world):
        self._eps = world.restitution
        self._law_name = scene.restitution_law
        self._law = LAWS.index(scene.restitution_law)
        self._threshold = STEP_THRESHOLD if scene.impact_threshold is None else float(scene.impact_threshold)
        self._sequential = scene.simultaneous_impacts == "sequential"
        self._refuse_gain = scene.energy_gain == "refuse"
        self._every = _holds_impulses(scene)
        self._total = np.zeros((len(world.geoms.kind), 6))
        self.time = 0.0
        self._clear()

    def allocate(self, capacity, rows):
        """Workspaces for so many contacts and scalar rows."""
        self._imp = _collisions.make_impact_work(capacity, rows)
        self._picked = make_contacts(capacity)

    def attach(self, settings, contacts, frames, rows, cones, v, work, pair_links):
        """The arrays behind the handle that the next steps use."""
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
        self.work_done = 0.0  #: change of kinetic energy by the impacts of this step [J]
        self._v_before = None
        self._total[:] = 0.0
        self._limits = {}

    def resolve(self, handle, integrator):
        """Impacts at the start of a step, behind the integrator's ``free``; a status."""
        if not (self._every or self._contacts.count[0]) or not self._due(handle):
            return OK
        self._v_before = self._v.copy()
        for _ in range(self.most_rounds):
            _collisions.mark_collisions(handle, self._imp, self._threshold, self._settings[0])
            status = self._collide(handle, self._eps, _collisions.TOUCH, self._settings[0], self._sequential)
            if status == OK:
                status = integrator.free(handle)  # W of the step carries the damping, v_free the new velocity
            if status != OK or not self._due(handle):
                return status
        return OK

    def collide_now(self, handle, time, marks, eps, last):
        """The collision of the marked contacts at ``time`` [s], for the event scheme; a status.

        The ``last`` one of a moment that does not end has no restitution and takes everything together.
        """
        self.time = time
        count = int(self._contacts.count[0])
        self._imp.collides[:count] = marks[:count]
        eps = np.zeros(len(eps)) if last else eps
        return self._collide(handle, eps, HOLD_GAP, 0.0, self._sequential and not last)

    def reaches_limit(self, handle, dt):
        """Whether the free motion passes a joint limit within dt [s], faster than the threshold."""
        return _collisions.limits_hit(handle, self._threshold, dt) > 0

    def stop_at_limits(self, handle, dt):
        """Inelastic impact at all joint limits that present velocities pass within dt [s], up to dt early; a status."""
        self._imp.collides[: int(self._contacts.count[0])] = 0
        return self._collide(handle, np.zeros(len(self._eps)), HOLD_GAP, dt, False)

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
            self._clear()

    def publish(self, handle):
        """Add the impacts of the step to the published contact impulses and joint efforts."""
        if self.happened:
            self._work.geom_impulse[:] += self._total
            for dof, impulse in self._limits.items():
                self._work.joint_effort[dof] += impulse / self._settings[0]

    def warm_up(self, handle, progress):
        """Compile or load the kernels of an impact, with whatever contacts there are."""
        if not kernel_in_cache(_collisions.apply_impact, "collisions.apply_impact"):
            progress("impacts are compiled too (first run only)")
        self._due(handle)
        _collisions.mark_collisions(handle, self._imp, self._threshold, self._settings[0])
        _collisions.limits_hit(handle, self._threshold, self._settings[0])
        _collisions.next_pair(handle, self._imp)
        _collisions.pose_impact(handle, self._imp, self._picked, self._eps, 0.0, 0.0, -1)
        self._compress(handle)
        self._decompress(handle, 1.0)
        _collisions.apply_impact(handle, self._imp)
        self._record(handle, 1.0)
        _collisions.set_velocity(handle, self._v)
        self._clear()

    # --- inside -----------------------------------------------------------------------------

    def _collide(self, handle, eps, touch, dt, one_pair):
        """One impact of all that is marked, or of the pair of geometries that is first; a status."""
        imp, picked = self._imp, self._picked
        pair = _collisions.next_pair(handle, imp) if one_pair else -1
        status = _collisions.pose_impact(handle, imp, picked, eps, touch, dt, pair)
        if status != OK:
            return status
        self._compress(handle)
        scale = 1.0
        if imp.eps[: picked.count[0]].any():
            scale = self._decompress_safely(handle)
        status = _collisions.apply_impact(handle, imp)
        if status == OK:
            self._record(handle, scale)
        return status

    def _due(self, handle):
        return _collisions.impacts_due(
            handle, self._eps, self._every, self._threshold, self._settings[0]
        )

    def _decompress_safely(self, handle):
        """Decompression without gain of energy, unless it is allowed; the factor on all restitutions."""
        limit = GAIN * self._imp.energy[_collisions.BEFORE]
        change = self._decompress(handle, 1.0)
        if not self._refuse_gain or change <= limit:
            return 1.0
        scale = largest_factor(lambda factor: self._decompress(handle, factor), limit)
        self._decompress(handle, scale)
        return scale

    def _compress(self, handle):
        _collisions.compress(handle, self._imp)

    def _decompress(self, handle, scale):
        return _collisions.decompress(handle, self._imp, self._law, scale)

    def _record(self, handle, scale):
        """Keep an Impact, and the sums of its impulses on shapes and at joint limits."""
        imp, picked, count = self._imp, self._picked, int(self._picked.count[0])
        vectors = [np.zeros((count, 3)) for _ in range(2)]
        for p, out in zip((imp.p_c, imp.p_d), vectors):
            _collisions.impulse_vectors(picked, self._frames, p, out)
        _collisions.add_impulses(handle, picked, vectors[0] + vectors[1], self._total)
        for row in range(3 * count, int(self._cones.rows[0])):
            code = int(self._rows.dof[row])
            dof = code // 8
            impulse = (1.0 - 2.0 * (code % 2)) * (imp.p_c[row] + imp.p_d[row])
            self._limits[dof] = self._limits.get(dof, 0.0) + impulse
        before, compressed, _, after = imp.energy.tolist()
        potential = float(self._work.energy[1])
        self.work_done += imp.energy[_collisions.COMPRESSED] + imp.energy[_collisions.RECOVERED]
        self.happened = True
        if count == 0:
            return  # joint limits alone
        self.events.append(
            Impact(
                time=self.time,
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


class ConeImpacts(Impacts):
    """The same on exact cones, by the solver of ``friction_model: coulomb_cone``."""

    def warm_up(self, handle, progress):
        """Also the solver, which a warm-up without contacts does not reach."""
        super().warm_up(handle, progress)
        self._solve(np.eye(3), np.array([-1.0, 0.5, 0.0]), ConeLayout.contacts([0.3]))

    def _compress(self, handle):
        imp, rows = self._imp, int(self._cones.rows[0])
        imp.p_c[:rows] = self._solve(imp.W[:rows, :rows], imp.u[:rows], self._layout())
        _collisions.compressed(handle, imp)
        certify_cone(imp.W, imp.u, imp.theta, self._cones, imp.p_c, imp.q, imp.judge_c)

    def _decompress(self, handle, scale):
        imp, rows = self._imp, int(self._cones.rows[0])
        _collisions.second_problem(handle, imp, self._law, scale)
        W, q, theta, layout = imp.W[:rows, :rows], imp.q[:rows], imp.theta[:rows], self._layout()
        shifted = np.flatnonzero(theta) if self._law == _collisions.ANITESCU_POTRA else ()
        if len(shifted):
            r = self._solve(*shifted_problem(W, q, theta, shifted), layout + ConeLayout.unilateral(len(shifted)))
        else:
            r = self._solve(W, q, layout)
        imp.p_d[:rows] = r[:rows]
        certify_cone(W, q, theta if len(shifted) else np.zeros(rows), self._cones, imp.p_d, imp.total, imp.judge_d)
        return _collisions.recovered(handle, imp, self._law)

    def _layout(self):
        contacts = int(self._picked.count[0])
        limits = int(self._cones.count[0]) - contacts
        if contacts == 0:
            return ConeLayout.unilateral(limits)
        return ConeLayout.contacts(self._cones.mu[:contacts]) + ConeLayout.unilateral(limits)

    def _solve(self, W, q, layout):
        solver = FrictionSolver(np.ascontiguousarray(W), np.ascontiguousarray(q), layout)
        return solver.solve(None, CONE_TOLERANCE)[0]


def shifted_problem(W, q, theta, rows):
    """Anitescu and Potra's decompression as one cone problem: [[W, -E], [E*, 0]] [r; s] + [q; -theta] with s >= 0.

    s takes over the velocity of a contact that leaves, whose impulse then stays at theta; skew, so still monotone.
    """
    m, k = len(q), len(rows)
    A = np.zeros((m + k, m + k))
    A[:m, :m] = W
    A[rows, m + np.arange(k)] = -1.0
    A[m + np.arange(k), rows] = 1.0
    return A, np.concatenate([q, -theta[rows]])
