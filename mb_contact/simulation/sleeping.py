# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Which trees of a simulation may sleep, and the arrays that say which do (``core/step/sleep.py``)."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from mb_contact.core.declare import allocate
from mb_contact.core.workspace import ASLEEP, AWAKE, COMPLETE, DISTANCE, MAY_SLEEP, SLEEPERS, TIME, Sleep
from mb_contact.model.scene import Rest
from mb_contact.types import JOINT_NQ

#: arrays of Sleep that are part of a simulation's state, with their names there
CHANGING = {
    "count": "sleepers", "state": "sleep_state", "group": "sleep_group", "still": "still", "slow": "slow",
    "anchor": "anchor", "q": "sleep_q", "v": "sleep_v", "effort": "sleep_effort", "target": "sleep_target",
    "target_rate": "sleep_target_rate", "external": "sleep_external", "frame": "sleep_frame",
}  # fmt: skip


class Sleepers:
    """The arrays of a context's sleeping trees.

    Parameters
    ----------
    context : StepContext
    tree_of : ndarray of int (n,)
        Tree of each body.

    Attributes
    ----------
    arrays : Sleep
    """

    def __init__(self, context, tree_of):
        tree, self._context, self._tree_of = context.tree, context, tree_of
        nq = np.array(JOINT_NQ)[tree.joint_type]
        of_q, of_v = np.zeros(len(context.q), np.int64), np.zeros(context.N, np.int64)
        for k, t in enumerate(tree_of):
            of_q[tree.q_start[k] : tree.q_start[k] + nq[k]] = t
            of_v[tree.v_start[k] : tree.v_start[k] + tree.nv[k]] = t
        trees = int(tree_of.max(initial=-1)) + 1
        rest, state = context.scene.sleep, context.arrays
        given = {"of_q": of_q, "of_v": of_v}
        if rest and trees:
            given |= {name: getattr(state, own) for name, own in CHANGING.items()}
        self.arrays = allocate(Sleep, T=trees, n=context.n, N=context.N, nq=len(context.q), **given)
        if rest and trees:
            rest = Rest() if rest is True else rest
            rule = self.arrays.rule
            rule[MAY_SLEEP], rule[DISTANCE], rule[TIME] = 1.0, rest.distance, rest.time
        self.arrays.never[:] = [self._is_driven(t) for t in range(trees)]

    def _is_driven(self, t):
        """Whether a motion of the scene acts on tree t: on a joint of it, or on any loop."""
        motions, closures = self._context.motions, self._context.couplings.closures
        if motions is None:
            return False
        bodies = np.concatenate([closures.body_a, closures.body_b])
        return bool(motions.drives[self.arrays.of_v == t].any() or (self._tree_of[bodies[bodies >= 0]] == t).any())

    def bodies(self):
        """Which bodies (n,) sleep."""
        return self.arrays.state[self._tree_of] == ASLEEP

    def islands(self):
        """How many islands sleep, each counted as it fell asleep."""
        return len(np.unique(self.arrays.group[self.arrays.state == ASLEEP]))

    def wake(self):
        """Wake all, for whatever else has changed."""
        arrays = self.arrays
        arrays.state[:], arrays.count[:] = AWAKE, 0
        arrays.still[:] = arrays.slow[:] = 0.0
        self._mark()

    def go_on(self):
        """Go on from a state that was written; nothing sleeps where trees may not."""
        if not self.arrays.rule[MAY_SLEEP]:
            self.wake()
        self.arrays.count[COMPLETE] = 0  # the workspaces of the last step are those of another state
        self._mark()

    def _mark(self):
        """Geometries of the world and of what sleeps."""
        body = np.asarray(self._context.world.geoms.body)
        asleep = np.append(self.bodies(), True)  # the world is -1
        self._context.buffers.resting[:] = asleep[body]

    @property
    def count(self):
        """Trees that sleep."""
        return int(self.arrays.count[SLEEPERS])


class Resting:
    """The part of a Simulator that reads what sleeps."""

    context: Any

    @property
    def asleep(self) -> NDArray[np.bool_]:
        """Which bodies sleep: steps leave them as they are until something acts on them (docs/sleep.md).

        Returns
        -------
        ndarray (n,)
            In the order of ``world.body_names``; none under a scene with ``sleep: false``.

        Examples
        --------
        >>> box = mb.model.Primitive("box", "box", (0.1,) * 3, mb.model.Pose((0.0, 0.0, 0.05)), base="free", mass=1.0)
        >>> sim = mb.Simulator(mb.Scene(primitives=(box,), ground=mb.model.Ground(), sleep=True))
        >>> _ = [sim.step() for _ in range(200)]
        >>> sim.asleep, sim.step().certificate.iterations
        (array([ True]), 0)
        >>> sim.set_external_wrench("box", [0, 0, 0, 9.0, 0, 0])
        >>> _ = sim.step()
        >>> sim.asleep
        array([False])
        """
        return self.context.sleepers.bodies()

    def count_asleep(self) -> tuple[int, int]:
        """How many bodies, and how many islands, sleep.

        Returns
        -------
        bodies, islands : int
            An island is a set of trees that contacts, loops or gears coupled when it fell asleep.

        Examples
        --------
        >>> places = mb.model.Pose((0.0, 0.0, 0.05)), mb.model.Pose((0.0, 0.0, 0.15)), mb.model.Pose((1.0, 0.0, 0.05))
        >>> boxes = [mb.model.Primitive(f"box_{i}", "box", (0.1,) * 3, at, "free", 1.0) for i, at in enumerate(places)]
        >>> sim = mb.Simulator(mb.Scene(primitives=boxes, ground=mb.model.Ground(), sleep=True))
        >>> _ = [sim.step() for _ in range(200)]
        >>> sim.count_asleep()
        (3, 2)
        """
        sleepers = self.context.sleepers
        return int(np.count_nonzero(sleepers.bodies())), sleepers.islands()
