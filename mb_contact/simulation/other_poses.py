# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Contacts at poses that are not the state's: where a flow ends, or at the moment at which two shapes will touch."""

from mb_contact.collision import ask_engine, make_buffers, make_contacts
from mb_contact.core.integrate.kept_contacts import (
    PosesArrays,
    end_contacts,
    end_witnesses,
    make_poses_handle,
)


class OtherPoses:
    """The narrow phase of the step, which keeps nothing between two queries, with buffers and contacts of its own.

    Parameters
    ----------
    context : StepContext
    points : int
        Room for contact points.

    Attributes
    ----------
    buffers : CollisionBuffers
        Whose poses and candidates whoever asks has to set.
    contacts : Contacts
        What ``find`` has found.
    handle : PosesArraysHandle
        Both, for kernels.
    """

    def __init__(self, context, points):
        geoms = context.world.geoms
        self._context = context
        self.buffers = make_buffers(geoms, context.narrow)._replace(travel=context.buffers.travel)
        self.contacts = make_contacts(points)
        self.handle = make_poses_handle(PosesArrays(self.buffers, self.contacts))

    def query(self, count):
        """Witnesses of the first ``count`` candidates."""
        if end_witnesses(self._context.handle, self.handle, count):
            self.ask_engine()

    def ask_engine(self):
        """Witnesses of the pairs that only an engine in Python has."""
        ask_engine(self._context.narrow, self.buffers)

    def find(self, count):
        """Contacts of the first ``count`` candidates, whose witnesses ``query`` has found."""
        end_contacts(self._context.handle, self.handle, count)
