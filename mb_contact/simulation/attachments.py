# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Welds that come on and off while a simulation runs; their bodies, frames and bounds are part of the state."""

from typing import NamedTuple

import numpy as np

from mb_contact.checks import as_choice
from mb_contact.errors import InputError
from mb_contact.model.model import Frame
from mb_contact.record import read_only
from mb_contact.types import CLOSURE_ROWS, WORLD

#: arrays of the state that a weld which comes on and off changes
WELD = ("body_a", "body_b", "p_a", "R_a", "p_b", "R_b", "break_force", "break_torque")
KNOWN = 99  #: joints of a weld that are remembered for states that are restored
OFF = 2  #: in ``Memory.released``, before the last step


class Attachment(NamedTuple):
    """A weld that comes on and off, as of the last step."""

    link: str  #: that holds
    body: str  #: and is held
    attached: bool
    force: float  #: that it bears [N]; as what follows no number before the first step behind a change of any weld
    torque: float  #: about its frames' origin [N m]
    share: float  #: part of the force or the moment at which it breaks, whichever is larger


class Hold(NamedTuple):
    """What a pad holds, as of the last step.

    ``share`` is the part of the force that the load takes: with F the pull of all pads between both bodies, R what the
    rim presses, e how far the centre of that pressure is from the middle of the pads and h how far the rim reaches
    there, 1 - R (1 - e / h) / F; without e / h where the rim is a point.  At 1 the body peels off.  ``slip`` is the
    part of friction's bound, at 1 it shears.  Links of the world count as bodies of their own.
    """

    link: str  #: that it holds, of several the one that it pulls most; empty for none
    force: float  #: with which it pulls [N]
    pressed: float  #: sum of the normal forces between both links [N]
    share: float
    slip: float


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
        self.frames = {"world": Frame(WORLD, np.eye(3), np.zeros(3)), **context.world.frames}
        self.entries = {}  #: by the number of a closure
        #: of each, frames and the links that these are of, body and holder: as declared, and as last attached
        self._known = {}
        for entry, name in zip(entries, context.world.couplings.closure_names[-len(entries) :]):
            if entry.switched:
                c = names.index(name)
                self.entries[c] = entry
                self._known[c] = [(self._placed(c), (entry.link_a, entry.link_b))]
                if entry.attached is False:
                    context.arrays.released[c] = OFF

    @property
    def names(self):
        """Names of the welds."""
        return [self._context.couplings.closure_names[c] for c in self.entries]

    def is_on(self, c):
        """Whether weld c holds."""
        return self._context.arrays.released[c] == 0

    def joined(self, c, arrays=None):
        """Names of the links that weld c joins, body and holder, of which a body may have several; in a state's arrays.

        The state has bodies and frames alone: where a state of another simulator was restored, whose frames are not
        known, the names are those of the bodies.
        """
        frames = self._placed(c, arrays)
        for known, names in reversed(self._known[c]):
            if known == frames or self._is_driven(c):  # whose second frame moves, but whose links stay
                return names
        bodies = frames[:2]
        return tuple("world" if k == WORLD else self._context.world.body_names[k] for k in bodies)

    def _is_driven(self, c):
        """Whether a motion drives weld c."""
        name = self._context.couplings.closure_names[c]
        return name in (motion.closure for motion in self._context.scene.motions)

    def forget(self):
        """The welds are again those that the scene declares."""
        for known in self._known.values():
            del known[1:]

    def _placed(self, c, arrays=None):
        """What tells the links of weld c: bodies and frames."""
        return [getattr(arrays or self._context.arrays, name)[c].tolist() for name in WELD[:6]]

    def _know(self, c, names):
        """Weld c now joins the links ``names``; what it joined before is known to states that are restored."""
        known = [(frames, links) for frames, links in self._known[c][1:] if frames != self._placed(c)]
        self._known[c][1:] = [*known[-KNOWN:], (self._placed(c), names)]

    def choose(self, link, body, name):
        """Number of the weld for a link and a body: that of the name, one that is declared for both, or a free one."""
        off = [c for c in self.entries if not self.is_on(c)]
        free = [c for c in off if not self._is_driven(c)]
        if name is not None:
            as_choice(name, self.names, "attachment")
            c = self._context.couplings.closure_names.index(name)
            if c not in off:
                raise InputError(f"attachment '{name}' holds already; detach it first")
            return c
        declared = [c for c in free if {self.entries[c].link_a, self.entries[c].link_b} == {link, body}]
        if not off:
            raise InputError(
                f"all {len(self.entries)} attachments of the scene hold; detach one, or give the scene another loop "
                "closure of kind weld with 'attached: false'"
            )
        return (declared or free or off)[0]  # one that a motion drives is refused by its name

    def hold(self, c, link, body, pose, bounds):
        """Weld c between the frames of two links, at ``pose`` of ``body`` in ``link``, by default as they are.

        ``bounds`` (force, moment), where it breaks, are by default those that the scene declares.
        """
        kin, a, b, entry = self._context.kin, self.frames[body], self.frames[link], self.entries[c]
        if a.body == b.body:
            raise InputError(f"'{link}' and '{body}' are parts of one body, so there is nothing to attach")
        if self._is_driven(c):
            name = self._context.couplings.closure_names[c]
            raise InputError(f"a motion drives attachment '{name}', so it cannot be attached anew; use another")
        declared = entry.break_force, entry.break_torque
        bounds = [given or known or np.inf for given, known in zip(bounds, declared)]
        (R_a, p_a), (R_b, p_b) = (frame.placed(kin.R, kin.p) for frame in (a, b))
        R, p = (R_b.T @ R_a, R_b.T @ (p_a - p_b)) if pose is None else pose
        values = (a.body, b.body, a.p, a.R, b.p + b.R @ p, b.R @ R, *bounds)
        for array, value in zip(self._own.values(), values):
            array[c] = value
        self._know(c, (body, link))
        self._switch(c, 0)

    def let_go(self, c):
        """Weld c no longer holds."""
        self._switch(c, OFF)

    def _switch(self, c, released):
        context = self._context
        context.arrays.released[c], context.arrays.loop[:] = released, 0.0
        context.new_welds = True
        context.sleepers.wake()

    def told(self, c, arrays, dt):
        """Attachment of weld c in a state's StateArrays, behind a step of dt [s]; None where none had it as it is."""
        force = torque = 0.0
        if arrays.released[c] < OFF:
            kinds, released = self.closures.kind, arrays.released
            first = sum(CLOSURE_ROWS[kinds[i]] for i in range(c) if released[i] < OFF)
            impulse = arrays.loop[first : first + 6] if dt else np.full(6, np.nan)
            torque, force = (float(np.linalg.norm(part)) / (dt or 1.0) for part in (impulse[:3], impulse[3:]))
        share = max(force / float(arrays.break_force[c]), torque / float(arrays.break_torque[c]))
        body, link = self.joined(c, arrays)
        return Attachment(link, body, bool(arrays.released[c] == 0), force, torque, share)

    def carry_over(self, old):
        """Welds that ``old`` has too go on as it has them; those whose links are not all here hold nothing."""
        names, bodies = self._context.couplings.closure_names, self._context.world.body_names
        for i in old.entries:
            name, others = old._context.couplings.closure_names[i], old._context.world.body_names
            if name not in names or names.index(name) not in self.entries:
                continue
            c, ends = names.index(name), [old._own[side][i] for side in WELD[:2]]
            found = [WORLD if k == WORLD else bodies.index(others[k]) if others[k] in bodies else None for k in ends]
            if None in found or not self.frames.keys() >= set(old.joined(i)):
                self._context.arrays.released[c] = OFF
                continue
            for array in WELD[2:]:
                self._own[array][c] = old._own[array][i]
            for side, k in zip(WELD[:2], found):
                self._own[side][c] = k
            self._know(c, old.joined(i))
