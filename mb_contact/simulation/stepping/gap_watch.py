# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Gaps of the pairs that could touch in a substep, at the end of a flow, without the contacts that are kept."""

import numpy as np

from mb_contact.core.impact import events as _events
from mb_contact.core.integrate import kept_contacts as _kept
from mb_contact.core.step.need import MOST_OF_MESHES
from mb_contact.simulation.other_poses import OtherPoses


class GapWatch:
    """The narrow phase on the end of the integrator's flow.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        pairs = max(len(context.world.geoms.pairs), 1)
        self._context = context
        meshes = MOST_OF_MESHES if context.world.geoms.mesh.sided.any() else 0
        self._end = OtherPoses(context, 4 * pairs + meshes)
        self.buffers = self._end.buffers
        self._gaps = np.zeros(pairs)
        self._kept = np.zeros((0, 2), np.int64)
        self.n_kept = 0  #: contacts that are in the problem of the substep

    def begin(self, kinds, count):
        """Leave those contacts in the problem that are to be kept, and watch the first ``count`` candidates."""
        b, found, contacts = self.buffers, self._context.buffers, len(self._context.contacts.pair)
        if len(self._kept) < contacts:
            self._kept = np.zeros((contacts, 2), np.int64)
        self.n_kept = _events.keep_contacts(self._context.handle, kinds, self._kept)
        b.candidates[:count], b.reach[:count] = found.candidates[:count], found.reach[:count]

    def kept_pairs(self):
        """Set of the pairs of geometries with a kept contact."""
        return set(self._kept[: self.n_kept, 0].tolist())

    def correct(self):
        """Change of the kept contacts' velocities at the end of the flow, for which their rows are corrected [m/s]."""
        context = self._context
        return _kept.correct_kept(context.handle, context.flow, self._end.handle) if self.n_kept else 0.0

    def at_end(self, count):
        """Gaps (count,) of the first candidates at the end of the flow [m]."""
        self.end_poses()
        self._end.query(count)
        return self._watched(True, count)

    def at_start(self, count):
        """Gaps (count,) at the start of the substep, where the step's own narrow phase has looked [m]."""
        return self._watched(False, count)

    def end_poses(self):
        """Poses of the geometries at the end of the flow into the buffers."""
        _kept.end_poses(self._context.handle, self._context.flow, self._end.handle)

    def one_at_end(self, i):
        """Gap of candidate i alone, which stands in the first place for that [m]."""
        b = self.buffers
        first = int(b.candidates[0]), float(b.reach[0])
        b.candidates[0], b.reach[0] = b.candidates[i], b.reach[i]
        gap = float(self.at_end(1)[0])
        b.candidates[0], b.reach[0] = first
        return gap

    def _watched(self, at_end, count):
        """Gaps (count,) of candidates by the witness points at the end of the flow, or at the start."""
        _events.watched_gaps(
            self._context.handle, self._end.handle, at_end, count, self._kept, self.n_kept, self._gaps
        )
        return self._gaps[:count].copy()
