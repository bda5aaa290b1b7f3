# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts of fast bodies, found where they will meet within the step (``core/step/ahead.py``)."""

import numpy as np

from mb_contact.core.constraints.contact import normal_velocity
from mb_contact.core.step.ahead import fast_pairs
from mb_contact.simulation.impacts import Impacts
from mb_contact.simulation.other_poses import OtherPoses
from mb_contact.simulation.warm_up import in_cache

TOUCH = 1e-9  #: distance at which the search ends [m]
SEARCHES = 60  #: most distances of a search
MOST_POINTS = 64  #: of one pair


class ImpactsAhead:
    """Puts the contact of the moment of touching in the place of those of pairs that are still far apart.

    These collide then, with or without restitution; a scene that has no impacts of its own has them for such a step.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        self._context = context
        self._pairs = np.zeros(max(len(context.world.geoms.pairs), 1), np.int64)
        self._poses = self._impacts = None  # made when they are needed first

    def find(self, handle):
        """Look ahead for all pairs of the present contacts that need it."""
        context = self._context
        if not context.contact_step.has_impacts:
            return
        count = fast_pairs(handle, self._pairs)
        if count and self._poses is None:
            self._poses = OtherPoses(context, MOST_POINTS)
        for pair in self._pairs[:count].tolist():
            self._replace(handle, pair)
        if context.impacts is self._impacts:  # None, or lent to the last step
            context.impacts = self._lend() if count else None

    def warm_up(self, handle):
        """Load the kernels of an impact, where they are compiled: that would take 30 ms of the first step with one."""
        if self._context.contact_step.has_impacts and in_cache(Impacts.kernel):
            self._lend().warm_up(handle)
            self._impacts = None  # with what that has left in it

    def _lend(self):
        """Impacts for a step of a scene that has none."""
        self._impacts = self._impacts or Impacts(self._context)
        self._impacts.allocate()
        self._impacts.begin(self._context.time)
        return self._impacts

    def _replace(self, handle, pair):
        """The contacts of one pair by those of the moment at which it touches, or by none where it passes."""
        context, b = self._context, self._poses.buffers
        shapes, dt = context.world.geoms.pairs[pair], context.dt
        velocity = context.buffers.travel[shapes, :3] / dt
        b.geom_R[:], b.geom_p[:] = context.buffers.geom_R, context.buffers.geom_p
        start = b.geom_p[shapes].copy()
        time = self._touch(pair, shapes, start, velocity, dt)
        self._poses.contacts.count[0] = 0
        if time is not None:
            self._poses.find(1)
            self._to_start(shapes, time, velocity)
        self._exchange(pair)
        self._set_gaps(handle, pair, time)

    def _touch(self, pair, shapes, start, velocity, dt):
        """Moment [s] at which the shapes touch if they go straight on, None where they do not within dt."""
        b, time = self._poses.buffers, 0.0
        b.candidates[0], b.reach[0] = pair, np.inf
        for _ in range(SEARCHES):
            b.geom_p[shapes] = start + time * velocity
            self._poses.query(1)
            *normal, distance = b.witness[0].tolist()
            closing = -float(np.dot(normal, velocity[0] - velocity[1]))
            if distance <= TOUCH:
                return time
            if closing <= 0.0 or time + distance / closing > dt:
                return None
            time += distance / closing
        return None

    def _to_start(self, shapes, time, velocity):
        """Points of the moment of touching, moved back to the start of the step with either body."""
        found = self._poses.contacts
        for i in range(int(found.count[0])):
            found.point[i] -= 0.5 * time * (velocity[0] + velocity[1])
            found.spread[i] = -0.5 * time * (velocity[0] - velocity[1])

    def _exchange(self, pair):
        """What was found takes the place of the pair's contacts."""
        contacts, found = self._context.contacts, self._poses.contacts
        count = int(contacts.count[0])
        own = np.flatnonzero(contacts.pair[:count] == pair)
        new = min(int(found.count[0]), len(contacts.pair) - count + len(own))
        for name in contacts._fields[1:]:
            array, part = getattr(contacts, name), getattr(found, name)[:new]
            rest = array[own[-1] + 1 : count].copy()
            array[own[0] : own[0] + new] = part
            array[own[0] + new : own[0] + new + len(rest)] = rest
        contacts.count[0] = count - len(own) + new

    def _set_gaps(self, handle, pair, time):
        """As gap of each of the pair's contacts the way that its normal velocity closes until then."""
        context, contacts = self._context, self._context.contacts
        for i in np.flatnonzero(contacts.pair[: contacts.count[0]] == pair).tolist():
            speed = normal_velocity(context.geoms, contacts, context.kin.p, context.kin.V, i)
            contacts.gap[i] = max(0.0, -time * speed)
