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
from mb_contact.core.step import closing as _closing, problem as _problem
from mb_contact.core.step.assemble import assemble
from mb_contact.core.step.need import NO_SHAPES, put_pair
from mb_contact.core.workspace import EQUALITY, UNILATERAL
from mb_contact.model.rotations import cross, matrix_to_quat, quat_to_matrix
from mb_contact.simulation.rebuild import slots
from mb_contact.simulation.stepping.contact_step import ContactStep
from mb_contact.simulation.stepping.impacts import Impacts
from mb_contact.simulation.surfaces.world import carrier
from mb_contact.types import OK, TOO_MANY_CONTACTS

SAME = 1e-12  #: coordinates of a body that differ less have not been set to others [m, 1]


class SurfaceImpacts(Impacts):
    """Impacts that keep the velocities of all bodies that they leave."""

    left = None  #: (n, 6), of the last impact of the step, at the bodies' origins where the step starts, world axes

    def _pose(self, handle, eps, touch, dt, pair):
        return (
            _phases.assemble_impact(
                handle, self.work, self.picked, eps, touch, self._threshold, self.lag, dt, pair
            )
            or self.context.contact_step.tie(self.picked)
            or _problem.assemble_problem(handle)
        )

    def resolve(self, handle):
        """As that of every scene; returns a status."""
        self.left = None
        status = super().resolve(handle)
        if self.events:  # the tree stops its joints at their limits itself
            self.left = self.context.kin.V.copy()
        return status

    def contacts(self):
        """(pair, point, impulse on A) of all contacts in all impacts of the step."""
        for event, pairs in zip(self.events, self.pairs):
            yield from zip(pairs, event.points, event.compression + event.decompression)

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
                tree.set_velocity(name, w, u + cross(w, tree.pose(name)[0] @ contact.body.com))

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
            put_pair(handle, row, NO_SHAPES, at)
        return status

    def solve(self, handle):
        """Pose and solve the problem of the step; returns a status."""
        assemble(handle)
        self.tie(self.context.contacts)
        return _problem.assemble_problem(handle) or _problem.solve(handle, _problem.STEP)

    def tie(self, contacts):
        """Laws of contacts that never slip: equalities along the surface, whatever pushes; OK.

        By Coulomb's law with any coefficient, what strikes a ball at the height of its centre would make it slip.
        """
        rows, count = self.context.rows, int(contacts.count[0])
        for i in np.flatnonzero(np.isin(contacts.pair[:count], self._tied)):
            first = slice(3 * i, 3 * i + 3)
            rows.law[first], rows.next[first], rows.mu[first] = (UNILATERAL, EQUALITY, EQUALITY), -1, 0.0
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
        """The tree's step, with what the ordinary contacts have done to its bodies, whose origins (n, 3) were there."""
        context, tree, impacts = self.context, self.tree, self.context.impacts
        tree.set_gravity(context.gravity)
        contacts, work = context.contacts, context.work
        count = int(contacts.count[0])
        rows = list(zip(contacts.pair[:count], contacts.point[:count], work.contact_impulse[:count]))
        held, _ = self._split(rows, work.geom_impulse - impacts.published(), origins)
        pushed = self._named(held / context.dt + work.external)
        effort = None if self._robot is None else work.effort[self._robot.v]
        done = 0.0
        if impacts.left is not None:
            done = min(impacts.moment(), context.dt)
            struck, reactions = self._split(impacts.contacts(), impacts.published(), origins)
            modes = self._rehearse()
            tree.run(done, context.dt, effort, pushed)
            tree.strike(self._named(struck), reactions, modes)
        tree.run(context.dt - done, context.dt, effort, pushed)

    def _named(self, wrenches):
        """Those of ``wrenches`` (n, 6) that act on bodies of the tree, by the names of these."""
        names = self.context.world.body_names
        return {names[k]: wrenches[k] for k in (*self._bodies, *self._moved) if wrenches[k].any()}

    def _rehearse(self):
        """What each surface contact does behind the impacts, where these were solved: at the start of the step."""
        tree, before, left = self.tree, self.tree.save(), self.context.impacts.left
        if self._robot is not None:
            after = self.context.impacts.v_after[self._robot.v]
            tree.v[: len(after)] = after
        for name, k, contact in zip(self._names, self._moved, tree.contacts):
            w, v = np.split(left[k], 2)
            tree.set_velocity(name, w, v + cross(w, tree.pose(name)[0] @ contact.body.com))
        modes = {name: tree.mode_name(name) for name in self._names}
        tree.restore(before)
        return modes

    def _split(self, contacts, shapes, origins):
        """Impulses of ordinary contacts on all bodies, and those of the surface contacts.

        Parameters
        ----------
        contacts : iterable of (pair, point (3,), impulse (3,) on A)
            All of them.
        shapes : (g, 6)
            Their sums on the geometries, about the bodies' origins.
        origins : (n, 3)

        Returns
        -------
        ordinary : (n, 6)
            Exactly zero where none touches.
        reactions : dict of str to (3,)
            On the body of each surface contact.
        """
        total, touched, reactions = np.zeros_like(origins, shape=(len(origins), 6)), np.zeros(len(origins), bool), {}
        np.add.at(total, self._shapes[self._moving], shapes[self._moving])
        for pair, point, impulse in contacts:
            own = np.flatnonzero(self._rows == pair)
            if len(own):
                name = self._names[own[0]]
                reactions[name] = reactions.get(name, 0.0) + impulse
            for g, sign in zip(self.context.world.geoms.pairs[pair], (1.0, -1.0)):
                k, force = self._shapes[g], sign * impulse
                if k >= 0 and len(own):
                    total[k] -= *cross(point - origins[k], force), *force
                elif k >= 0:
                    touched[k] = True
        return np.where(touched[:, None], total, 0.0), reactions
