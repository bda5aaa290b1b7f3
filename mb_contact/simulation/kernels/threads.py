# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""How the loops of a simulation are held: embedded or by rows, tied to others, off their threads."""

import numpy as np

from mb_contact.core.constraints.bilateral import FIRST
from mb_contact.core.solve.system import ROWS
from mb_contact.model.world import World
from mb_contact.simulation.context import StepContext
from mb_contact.types import CLOSURE_ROWS, CLOSURE_SCREW


class Threads:
    """The part of a Simulator that knows how its loops are held."""

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
        kinds = self.context.closures.kind
        off = zip(names, kinds, self.context.memory.released)
        return tuple(name for name, kind, released in off if released and kind == CLOSURE_SCREW)

    @property
    def loops(self) -> dict[str, str]:
        """How every loop closure and gear is held, by its name: ``"embedded"``, or why it has rows of its own.

        Returns
        -------
        dict of str to str

        Examples
        --------
        >>> mb.Simulator("package://mb_contact/config/four_bar.yaml").loops
        {'coupler_rocker': 'embedded'}
        """
        return dict(self.context.loops)

    @property
    def tied_rows(self) -> tuple[str, ...]:
        """What the rows are of that the last step has tied to others, since they nearly follow from these.

        Names of loop closures, and pairs of links whose contacts are without slip; each once.

        Returns
        -------
        tuple of str

        Examples
        --------
        >>> box = mb.model.Primitive("box", "box", (0.2, 0.2, 0.2), mb.model.Pose((0.0, 0.0, 0.1)), "free", 1.0)
        >>> sim = mb.Simulator(mb.Scene(primitives=(box,), ground=mb.model.Ground(), friction_model="no_slip"))
        >>> sim.step().certificate.tied_rows, sim.tied_rows  # of eight tangents three are independent
        (5, ('box, ground',))
        """
        context, system = self.context, self.context.system
        count, first, kinds = int(system.count[ROWS]), int(context.bilateral.info[FIRST]), context.closures.kind
        ends = first + np.cumsum([CLOSURE_ROWS[kind] for kind in kinds[context.memory.released == 0]])
        names = {}
        for row in system.source[:count][system.follower[:count] != 0]:
            if row < first:
                names[", ".join(context.pair_links[int(context.contacts.pair[row // 3])])] = None
            elif row < ends[-1:].max(initial=0):
                names[context.couplings.closure_names[int(np.searchsorted(ends, row, side="right"))]] = None
        return tuple(names)
