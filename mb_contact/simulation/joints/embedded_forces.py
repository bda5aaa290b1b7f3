# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Forces of embedded loops, which their motion is found without: what it takes beside all other forces.

With M v_dot + C from inverse dynamics, and the joints' efforts and all forces on bodies as the step had them, what is
left over the joints of an aggregate is that of its closures and gears,

    G* lambda = M v_dot + C - T - J* f.

Of rows that follow from others it leaves the shares open; lambda is the least one, in rows of equal scale.
"""

import numpy as np

from mb_contact.core.constraints.bilateral import COUNT, FIRST, GEARS, HINGES, PARTNERS, TENDONS
from mb_contact.core.constraints.hinge import DAMPING
from mb_contact.core.tree.evaluate import evaluate_loop_rows
from mb_contact.model.rotations import cross
from mb_contact.types import CLOSURE_ROWS, WORLD

BEFORE = 2  #: from this value on ``Memory.released`` says that a thread had come off before the last step
FOLLOWS = 1e-7  #: part of the largest singular value of the rows below which they follow from each other


class EmbeddedForces:
    """Forces of the embedded loop closures of a simulation in its last step.

    Parameters
    ----------
    context : StepContext
    handle, kin, aggregates : TreeArraysHandle, Kinematics, Aggregates
        A tree, and of its arrays these.
    ends : dict of str to (str, str)
        Links of every closure of the scene.
    """

    def __init__(self, context, handle, kin, aggregates, ends):
        self._context, self._handle, self._kin, self._aggregates = context, handle, kin, aggregates
        self._closures = [(i, c) for i, part in enumerate(context.parts) for c in part.closures]
        names = context.world.couplings.closure_names
        self.ends = {names[c]: ends[names[c]] for _, c in self._closures}  #: of those that are embedded
        self._forces = {}  # by name: of the rows, on both bodies

    def find(self, q, effort):
        """Forces of the step at coordinates q (nq,), behind the inverse dynamics that has left ``effort`` (N,)."""
        if not self.ends:
            return
        context, kin, tree = self._context, self._kin, self._context.world.tree
        left, total = effort - context.work.joint_effort, forces_on_bodies(context)
        joints, k = context.joints, context.joints.sprung
        d = tree.v_start[k]
        left[d] += joints.stiffness[d] * (q[tree.q_start[k]] - joints.rest[d])
        for k in range(len(tree.parent) - 1, -1, -1):
            dofs, m = slice(tree.v_start[k], tree.v_start[k] + tree.nv[k]), tree.parent[k]
            left[dofs] -= kin.H[dofs] @ total[k]
            if m != WORLD:
                total[m] += moved(total[k], kin.p[k] - kin.p[m])
        for i in {i: None for i, _ in self._closures}:
            self._find_part(i, left)

    def _find_part(self, i, left):
        """Forces of the closures of part i from the efforts that are left over."""
        part, g = self._context.parts[i], self._aggregates
        m, dofs = evaluate_loop_rows(self._handle, i), slice(g.first_dof[i], g.first_dof[i + 1])
        G = g.G[:m, : len(part.dofs)]
        scaled = np.linalg.lstsq(G.T, g.unit[dofs] * left[part.dofs], rcond=FOLLOWS)[0]
        size, row, couplings = g.rows.offset[:m], 0, self._context.world.couplings
        for c in part.closures:
            a, b = int(couplings.closures.body_a[c]), int(couplings.closures.body_b[c])
            rows = slice(row, row + CLOSURE_ROWS[couplings.closures.kind[c]])
            force = scaled[rows] / size[rows]
            on = [(k, force @ by[rows]) for k, by in ((a, g.rows.on_a), (b, g.rows.on_b))]
            self._forces[couplings.closure_names[c]] = on
            row = rows.stop

    def on_first(self, name):
        """Wrench (6,) of a closure's second link on its first, about the origin of that one's body, world axes."""
        (a, on_a), (b, on_b) = self._forces[name]
        return on_a.copy() if a != WORLD else -moved(on_b, self._kin.p[b])

    def acting(self):
        """(link, body, force on it about its origin) of both ends of every closure."""
        return [(link, *on) for name, both in self._forces.items() for link, on in zip(self.ends[name], both)]


def moved(force, shift):
    """A spatial force about a point that lies ``-shift`` from its own."""
    return np.concatenate((force[:3] + cross(shift, force[3:]), force[3:]))


def forces_on_bodies(context):
    """Forces (n, 6) of the last step on all bodies but those of joints and embedded loops, about their origins."""
    external = context.work.external.copy()
    for g, body in enumerate(context.world.geoms.body):
        if body != WORLD:
            external[body] += context.work.geom_impulse[g] / context.last.dt
    _add_loop_forces(context, context.last.dt, external)
    return external


def _add_loop_forces(context, dt, external):
    """Forces of closures, tendons, gears of two joints and hinges on bodies (n, 6); friction and drives are efforts."""
    info = context.bilateral.info
    rows, impulse, couplings = context.rows, context.solution.r, context.couplings
    first, last = int(info[FIRST]), int(info[FIRST] + info[COUNT])
    gears = last - int(info[GEARS]) - int(info[HINGES])  # worlds have gears or hinges
    released = context.memory.released
    loops = sum(CLOSURE_ROWS[kind] for kind in couplings.closures.kind[released < BEFORE])
    acting = list(range(first, first + loops))
    posed = context.hinges.posed
    if int(info[HINGES]) == np.count_nonzero(posed[:, DAMPING:] >= 0):  # not those of an impact
        acting += posed[posed >= 0].tolist()
    behind = first + loops + int(info[TENDONS])
    if gears - behind == len(context.joints.rubbing):  # not those of an impact
        acting += (behind + np.flatnonzero(context.joints.rubbing < 0)).tolist()
        acting += [*range(first + loops, behind), *range(last + int(info[GEARS]), last + int(info[PARTNERS]))]
    for g, ratio in enumerate(couplings.gears.ratio):
        acting += [gears + g, last + g] if ratio else []
    for r in acting:
        for body, on in ((rows.body_a[r], rows.on_a[r]), (rows.body_b[r], rows.on_b[r])):
            if body != WORLD:
                external[body] += on * impulse[r] / dt
