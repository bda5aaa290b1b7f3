# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Welds that come on and off while a simulation runs; their bodies, frames and bounds are part of the state."""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.errors import InputError
from mb_contact.record import read_only
from mb_contact.types import CLOSURE_ROWS, WORLD

#: arrays of the state that a weld which comes on and off changes
WELD = ("body_a", "body_b", "p_a", "R_a", "p_b", "R_b", "break_force", "break_torque")
OFF = 2  #: in ``Memory.released``, before the last step


class Attachment(NamedTuple):
    """A weld that comes on and off, as of the last step."""

    link: str  #: that holds
    body: str  #: and is held
    attached: bool
    force: float  #: that it bears [N]
    torque: float  #: about its frames' origin [N m]
    share: float  #: part of the force or the moment at which it breaks, whichever is larger


class Attachments:
    """The welds of a scene that come on and off.

    Parameters
    ----------
    context : StepContext
    """

    def __init__(self, context):
        self._context, closures = context, (context.motions or context.couplings).closures
        self._own = {name: getattr(context.arrays, name) for name in WELD}
        for name, array in self._own.items():
            array[...] = getattr(closures, name)
        self.closures = closures._replace(**{name: read_only(array) for name, array in self._own.items()})
        entries, names = context.scene.loop_closures, context.couplings.closure_names
        self.entries = {}  #: by the number of a closure
        for entry, name in zip(entries, context.world.couplings.closure_names[-len(entries) :]):
            if entry.switched:
                self.entries[names.index(name)] = entry
                if entry.attached is False:
                    context.arrays.released[names.index(name)] = OFF

    @property
    def names(self):
        """Names of the welds."""
        return [self._context.couplings.closure_names[c] for c in self.entries]

    def is_on(self, c):
        """Whether weld c holds."""
        return self._context.arrays.released[c] == 0

    def body_name(self, c, side):
        """Name of the body on one side of weld c: its declared link's, as long as that is on this body."""
        entry, body = self.entries[c], int(self._own[f"body_{side}"][c])
        frame = self._context.world.frames.get(getattr(entry, f"link_{side}"))
        if (WORLD if frame is None else frame.body) == body:
            return getattr(entry, f"link_{side}")
        return "world" if body == WORLD else self._context.world.body_names[body]

    def choose(self, link, body, name):
        """Number of the weld for a link and a body: that of the name, one that is declared for both, or a free one."""
        free = [c for c in self.entries if not self.is_on(c)]
        if name is not None:
            as_choice(name, self.names, "attachment")
            c = self._context.couplings.closure_names.index(name)
            if c not in free:
                raise InputError(f"attachment '{name}' holds already; detach it first")
            return c
        declared = [c for c in free if {self.entries[c].link_a, self.entries[c].link_b} == {link, body}]
        if not (declared or free):
            raise InputError(
                f"all {len(self.entries)} attachments of the scene hold; detach one, or give the scene another loop "
                "closure of kind weld with 'attached: false'"
            )
        return (declared or free)[0]

    def hold(self, c, link, body, pose, bounds):
        """Weld c between the frames of two links, at ``pose`` of the second in the first, by default as they are."""
        context, frames = self._context, self._context.world.frames
        a, b = frames[link], frames[body]
        if a.body == b.body:
            raise InputError(f"'{link}' and '{body}' are parts of one body, so there is nothing to attach")
        (R_a, p_a), (R_b, p_b) = (frame.placed(context.kin.R, context.kin.p) for frame in (a, b))
        R, p = (R_a.T @ R_b, R_a.T @ (p_b - p_a)) if pose is None else pose
        values = (a.body, b.body, a.p + a.R @ p, a.R @ R, b.p, b.R, *bounds)
        for array, value in zip(self._own.values(), (*values[:3], values[3], *values[4:])):
            array[c] = value
        self._switch(c, 0)

    def let_go(self, c):
        """Weld c no longer holds."""
        self._switch(c, OFF)

    def _switch(self, c, released):
        context = self._context
        context.arrays.released[c], context.arrays.loop[:] = released, 0.0
        context.sleepers.wake()

    def impulse(self, c):
        """Impulses (6,) of weld c in the last step, moments first, world axes [N m s, N s]; zero where it was off."""
        closures, released = self.closures, self._context.arrays.released
        if released[c] >= OFF or self._context.last is None:
            return np.zeros(6)
        first = sum(CLOSURE_ROWS[closures.kind[i]] for i in range(c) if released[i] < OFF)
        return self._context.arrays.loop[first : first + 6]

    def carry_over(self, old):
        """Welds that ``old`` has too go on as it has them, where both bodies are here."""
        names, bodies = self._context.couplings.closure_names, self._context.world.body_names
        for i in old.entries:
            name, others = old._context.couplings.closure_names[i], old._context.world.body_names
            ends = [old._own[f"body_{side}"][i] for side in "ab"]
            found = [WORLD if k == WORLD else bodies.index(others[k]) if others[k] in bodies else None for k in ends]
            if name in names and names.index(name) in self.entries and None not in found:
                for array in WELD[2:]:
                    self._own[array][names.index(name)] = old._own[array][i]
                for side, k in zip("ab", found):
                    self._own[f"body_{side}"][names.index(name)] = k
