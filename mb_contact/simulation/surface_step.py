# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""A step over ordinary contacts and contacts in contact coordinates (docs/surfaces.md).

The contact problem of the step is posed over both: a surface body is a free body in it, and its surface contact a row
as any other, at the point and with the normal that its coordinates say.  That problem has the compliance of the
SurfaceTree, with Coulomb's law and the chance to part as the rows have them.  Its impulses move the ordinary objects.
The SurfaceTree moves the surface bodies: impacts change its velocities at their instant, and what ordinary contacts
pass on through the step are wrenches that stand for its length.  Then the free bodies are put where the tree has them.
"""

import numpy as np

from mb_contact.core.handle import IMPACT_SPEED
from mb_contact.core.impact import phases as _phases
from mb_contact.core.solve.system import EQUALITY, UNILATERAL
from mb_contact.core.step import closing as _closing, problem as _problem
from mb_contact.core.step.assemble import assemble
from mb_contact.model.rotations import matrix_to_quat, quat_to_matrix
from mb_contact.simulation.contact_step import ContactStep
from mb_contact.simulation.impacts import Impacts
from mb_contact.simulation.rebuild import slots
from mb_contact.simulation.surface_world import carrier
from mb_contact.types import OK, TOO_MANY_CONTACTS

SAME = 1e-12  #: coordinates of a body that differ less have not been set to others [m, 1]


def cross(a, b):
    """a x b of two vectors; NumPy's takes ten times as long."""
    return np.array([a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]])


class SurfaceImpacts(Impacts):
    """Impacts that keep the velocities of all bodies that they leave."""

    left = None  #: (n, 6), of the last impact of the step, at the bodies' origins where the step starts, world axes
    changed = None  #: (n, 6), how much all of them changed the velocities
    v_start = None  #: (N,), before the first of them

    def _pose(self, handle, eps, touch, dt, pair):
        return (
            _phases.assemble_impact(
                handle, self.work, self._picked, eps, touch, self._threshold, self._lag, dt, pair, self.together
            )
            or self.context.contact_step.tie(self._picked)
            or _problem.assemble_problem(handle)
        )

    def resolve(self, handle):
        """As that of every scene; returns a status."""
        self.left, before, self.v_start = None, self.context.kin.V.copy(), self.context.v.copy()
        status = super().resolve(handle)
        if self.happened:
            self.left = self.context.kin.V.copy()
            self.changed = self.left - before
        return status

    def moment(self):
        """When the first of them happened, from the start of the step [s]."""
        return min((event.time - self.time for event in self.events), default=0.0)


class SurfaceContactStep(ContactStep):
    """Steps of ordinary objects beside a SurfaceTree.

    Parameters
    ----------
    context : StepContext
    tree : SurfaceTree
        Which the surface bodies of the context follow.
    rows : ndarray of int64 (c,)
        Pairs of geometries that stand for the surface contacts.
    """

    every_collision = True  #: a strike is an instant; only what lasts is a force on the tree

    def __init__(self, context, tree, rows):
        super().__init__(context)
        context.settings[IMPACT_SPEED] = np.inf
        world = context.world
        self.tree, self._rows = tree, rows
        self._names = [contact.name for contact in tree.contacts]
        self._tied = rows[np.isinf([contact.coefficient() for contact in tree.contacts])]
        self._slots = slots(world)
        self._robot = carrier(world, tree)
        self._moved = [world.objects[name] for name in self._names]
        self._bodies = [] if self._robot is None else range(self._robot.bodies.start, self._robot.bodies.stop)
        self._shapes = np.array(world.geoms.body)  #: body of each shape
        self._moving = np.flatnonzero(self._shapes >= 0)

    # --- the two states -------------------------------------------------------------------------

    def follow(self):
        """Put the free bodies and the robot of the context where the tree has them, with its velocities."""
        context, tree = self.context, self.tree
        for name in self._names:
            (R, p), slot = tree.pose(name), self._slots[name]
            context.q[slot.q] = *p, *matrix_to_quat(R)
            context.v[slot.v] = np.concatenate(tree.velocity(name))
        if self._robot is not None:
            nq, N = len(context.q[self._robot.q]), len(context.v[self._robot.v])
            context.q[self._robot.q], context.v[self._robot.v] = tree.q[:nq], tree.v[:N]
        _closing.refresh(context.handle)

    def adopt(self, q, v):
        """Bring the tree to the coordinates of the context where they are others than q, v; ``follow`` comes after.

        Raises
        ------
        DynamicsError
            A body is inside the surface it lands on.
        """
        context, tree = self.context, self.tree
        changed = np.abs(context.q - q) > SAME
        if self._robot is not None:
            now, rates = context.q[self._robot.q], context.v[self._robot.v]
            tree.q[: len(now)], tree.v[: len(rates)] = now, rates
        for name, contact in zip(self._names, tree.contacts):
            slot = self._slots[name]
            x, (w, u) = context.q[slot.q], np.split(context.v[slot.v], 2)
            if changed[slot.q].any():
                tree.fly(name, quat_to_matrix(x[3:]), x[:3], w, u)
            elif (context.v[slot.v] != v[slot.v]).any():
                tree.strike(name, w, u + np.cross(w, tree.pose(name)[0] @ contact.body.com))

    # --- the step -------------------------------------------------------------------------------

    def find_contacts(self, handle, candidates):
        """Ordinary contacts, and those of the surfaces behind them; returns a status."""
        status = super().find_contacts(handle, candidates)
        contacts = self.context.contacts
        room = len(contacts.pair) - 2 * len(self._tied)  # blocks of the tangents of those that never slip
        for name, row in zip(self._names, self._rows):
            touch = self.tree.contact_point(name)
            if status != OK or touch is None:
                continue
            at = int(contacts.count[0])
            if at >= room:
                return TOO_MANY_CONTACTS
            contacts.pair[at], contacts.feature[at], contacts.gap[at] = row, 0, 0.0
            contacts.point[at], contacts.normal[at], contacts.spread[at] = *touch, 0.0
            contacts.count[0] = at + 1
        return status

    def solve(self, handle):
        """Pose and solve the problem of the step; returns a status."""
        assemble(handle)
        self.tie(self.context.contacts)
        return _problem.assemble_problem(handle) or _problem.solve(handle, _problem.STEP)

    def tie(self, contacts):
        """Of the drafted blocks of contacts those that never slip: equalities along the surface, whatever pushes; OK.

        By Coulomb's law with any coefficient, what strikes a ball at the height of its centre would make it slip.
        """
        draft, count = self.context.draft, int(contacts.count[0])
        for i in np.flatnonzero(np.isin(contacts.pair[:count], self._tied)):
            draft.kind[i], draft.size[i] = UNILATERAL, 1
            for row in (3 * i + 1, 3 * i + 2):
                b = int(draft.count[0])
                draft.kind[b], draft.n_f[b], draft.size[b], draft.partner[b] = EQUALITY, 0, 1, -1
                draft.row[b, 0], draft.mu[b, 0] = row, 0.0
                draft.count[0] = b + 1
        return OK

    def finish(self, handle, candidates):
        """As of every scene, then the tree's step; after a failure of either both are as they were."""
        context, tree = self.context, self.tree
        q, v, origins = context.q.copy(), context.v.copy(), context.kin.p.copy()
        status = super().finish(handle, candidates)
        if status != OK:
            return status
        before = tree.save()
        try:
            self._move_tree(origins)
            self.follow()
        except BaseException:
            tree.restore(before)
            context.q[:], context.v[:] = q, v
            _closing.refresh(handle)
            raise
        return OK

    def _move_tree(self, origins):
        """The tree's step, with what the ordinary contacts have done to its bodies."""
        context, tree = self.context, self.tree
        tree.set_gravity(context.gravity)
        wrenches = self._held(origins) / context.dt + context.work.external
        names = context.world.body_names
        pushed = {names[k]: wrenches[k] for k in (*self._bodies, *self._moved) if wrenches[k].any()}
        effort = None if self._robot is None else context.work.effort[self._robot.v]
        done = 0.0
        if context.impacts.left is not None:
            done = min(context.impacts.moment(), context.dt)
            modes = self._rehearse()
            tree.run(done, context.dt, effort, pushed)
            self._strike(modes)
        tree.run(context.dt - done, context.dt, effort, pushed)

    def _rehearse(self):
        """What each surface contact does behind the impacts, where these were solved: at the start of the step."""
        tree, before = self.tree, self.tree.save()
        for name, velocity in self._velocities(self.context.impacts.left):
            tree.strike(name, *velocity)
        modes = [tree.mode_name(name) for name in self._names]
        tree.restore(before)
        return modes

    def _strike(self, modes):
        """The change of velocity by the impacts, after which the contacts are in ``modes``."""
        now = np.zeros((self.context.n, 6))
        for name, k in zip(self._names, self._moved):
            now[k] = np.concatenate(self.tree.velocity(name))
        for (name, velocity), mode in zip(self._velocities(now + self.context.impacts.changed), modes):
            self.tree.strike(name, *velocity, mode)

    def _velocities(self, bodies):
        """(name, (angular velocity, velocity of its centre of mass)) of each surface body from ``bodies`` (n, 6).

        The robot takes its own behind the impacts first.
        """
        tree, impacts = self.tree, self.context.impacts
        if self._robot is not None:
            change = (impacts.v_after - impacts.v_start)[self._robot.v]
            tree.v[: len(change)] += change
        for name, k, contact in zip(self._names, self._moved, tree.contacts):
            w, v = np.split(bodies[k], 2)
            R, _ = tree.pose(name)
            yield name, (w, v + np.cross(w, R @ contact.body.com))

    def _held(self, origins):
        """Impulses (n, 6) of the step's ordinary contacts on all bodies about their origins (n, 3)."""
        context = self.context
        contacts, pairs = context.contacts, context.world.geoms.pairs
        count, touched = int(contacts.count[0]), np.zeros(context.n, bool)
        shapes = context.work.geom_impulse - context.impacts.published()
        held, own = np.zeros((context.n, 6)), np.isin(contacts.pair[:count], self._rows)
        np.add.at(held, self._shapes[self._moving], shapes[self._moving])
        for i in range(count):
            for g, sign in zip(pairs[contacts.pair[i]], (1.0, -1.0)):
                k, force = self._shapes[g], sign * context.work.contact_impulse[i]
                if k >= 0 and own[i]:
                    held[k] -= *cross(contacts.point[i] - origins[k], force), *force
                elif k >= 0:
                    touched[k] = True
        return np.where(touched[:, None], held, 0.0)
