# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random trees with random closures and gears that hold at a random state."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from mb_contact.core.tree_workspace import make_aggregates_handle, taken
from mb_contact.model.aggregates import find_parts, merged_roots, too_large, tree_aggregates
from mb_contact.types import (
    CLOSURE_DISTANCE,
    CLOSURE_NAMES,
    CLOSURE_ROWS,
    CLOSURE_SCREW,
    JOINT_PRISMATIC,
    JOINT_REVOLUTE,
    WORLD,
    Closures,
    Gears,
)
from oracles.closed_loops import hold
from oracles.dense_oracle import Dense, random_forest, random_state


class ClosedForest:
    """A random forest with closures and gears that hold at q and v, and its aggregates."""

    def __init__(self, seed, n=9, roots=2, closures=2, gears=1, **shares):
        self.rng = rng = np.random.default_rng([seed, 24])
        self.model = random_forest(rng, n, min(roots, n), **shares)
        self.tree = tree = self.model.tree
        self.q, v = random_state(rng, tree)
        self.n, self.N = n, len(v)
        self.dense = Dense(tree, self.q)
        parts = [self._closure() for _ in range(closures)]
        self.closures = self._closures([part for part in parts if part is not None])
        self.gears = self._gears(gears)
        while len(self._parts()) == 0 and len(self.closures.kind):
            self.closures = taken(self.closures, np.arange(len(self.closures.kind) - 1))
        self.parts = self._parts()
        embedded = sorted(i for part in self.parts for i in part.closures)
        geared = sorted(i for part in self.parts for i in part.gears)
        self.closures, self.gears = taken(self.closures, embedded), taken(self.gears, geared)
        self.parts = self._parts()
        self.tree = tree._replace(root=merged_roots(tree, self.parts))
        self.v = hold(tree, self.closures, self.gears, self.q, v)

    def _parts(self):
        parts = find_parts(self.model.tree, self.closures, self.gears, ((), ()))
        return [part for part in parts if not too_large(part, self.closures)]

    def aggregates(self):
        return make_aggregates_handle(
            tree_aggregates(self.tree, self.parts, self.closures, self.gears, self.dense.p)
        )

    def _closure(self):
        a, b = self.rng.choice(np.arange(-1, self.n), 2, replace=False)
        path = set(self._path(a)) ^ set(self._path(b))
        freedom = int(self.tree.nv[list(path)].sum())
        kinds = [kind for kind, count in enumerate(CLOSURE_ROWS) if count < freedom and kind != CLOSURE_SCREW]
        if not kinds or freedom > 12:
            return None
        return int(self.rng.choice(kinds)), int(a), int(b)

    def _path(self, k):
        path = []
        while k != WORLD:
            path.append(int(k))
            k = self.tree.parent[k]
        return path

    def _place(self, k, R, p):
        """A frame of the world in body k."""
        if k == WORLD:
            return R, p
        return self.dense.R[k].T @ R, self.dense.R[k].T @ (p - self.dense.p[k])

    def _closures(self, parts):
        c = len(parts)
        frames = [[], [], [], []]
        for kind, a, b in parts:
            R = Rotation.random(random_state=int(self.rng.integers(1 << 30))).as_matrix()
            p = self.rng.normal(size=3)
            far = p + (np.array([0.3, -0.5, 0.2]) if kind == CLOSURE_DISTANCE else 0.0)
            for target, value in zip(frames, (*self._place(a, R, p), *self._place(b, R, far))):
                target.append(value)
        length = [float(np.linalg.norm([0.3, -0.5, 0.2])) if kind == CLOSURE_DISTANCE else 0.0 for kind, *_ in parts]
        return taken(Closures(
            kind=np.array([part[0] for part in parts], np.int64),
            body_a=np.array([part[1] for part in parts], np.int64),
            body_b=np.array([part[2] for part in parts], np.int64), p_a=np.array(frames[1]).reshape(c, 3),
            p_b=np.array(frames[3]).reshape(c, 3), R_a=np.array(frames[0]).reshape(c, 3, 3),
            R_b=np.array(frames[2]).reshape(c, 3, 3), length=np.array(length), motion=np.zeros((c, 7)),
            lead=np.zeros(c), friction=np.zeros(c), grip=np.zeros(c), climb=np.zeros(c), end=np.full(c, np.inf),
            break_force=np.full(c, np.inf), break_torque=np.full(c, np.inf), released=np.zeros(c, np.int64),
        ), np.arange(c))  # fmt: skip

    def _gears(self, count):
        kinds = self.tree.joint_type
        scalar = np.flatnonzero((kinds == JOINT_REVOLUTE) | (kinds == JOINT_PRISMATIC))
        pairs = []
        free = list(self.rng.permutation(scalar))
        while len(pairs) < count and len(free) > 1:
            pairs.append((free.pop(), free.pop()))
        ratio = self.rng.normal(size=len(pairs))
        body_a, body_b = (np.array([pair[i] for pair in pairs], np.int64) for i in range(2))
        at = self.tree.q_start
        offset = self.q[at[body_a]] - ratio * self.q[at[body_b]]
        return taken(Gears(body_a, body_b, ratio, offset, np.zeros(len(pairs))), np.arange(len(pairs)))


__all__ = ["CLOSURE_NAMES", "ClosedForest"]
