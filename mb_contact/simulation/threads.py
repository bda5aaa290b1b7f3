# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Threads of a simulation that have come to their ends (``core/constraints/loop.py`` releases them)."""

from mb_contact.model.world import World
from mb_contact.simulation.context import StepContext


class Threads:
    """The part of a Simulator that knows which nuts have come off."""

    world: World
    context: StepContext

    @property
    def released_threads(self) -> tuple[str, ...]:
        """Loop closures of kind screw that have come to the end of their threads and off.

        Returns
        -------
        tuple of str
        """
        names = self.world.couplings.closure_names
        return tuple(name for name, released in zip(names, self.context.memory.released) if released)
