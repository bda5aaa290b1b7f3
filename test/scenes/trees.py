# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random forests of all joint types with their states, and the dual arm."""

from __future__ import annotations

import numpy as np
from hypothesis import HealthCheck, settings, strategies as st

import mb_contact as mb
from mb_contact.studies import sko
from oracles.dense_oracle import Dense, random_forest, random_state, read_only, sizes
from paths import ROOT

GRAVITY = np.array([0.3, -1.2, -9.0])  # tilted, so that no component drops out
TOLERANCE = 1e-11
DUAL_ARM = ROOT / "urdf" / "dual_arm.urdf"
FORESTS = st.fixed_dictionaries({
    "seed": st.integers(0, 2**32 - 1),
    "n": st.integers(1, 14),
    "roots": st.integers(1, 3),
    "floating": st.sampled_from([0.0, 0.5, 1.0]),
    "prismatic": st.sampled_from([0.0, 0.3, 1.0]),
    "multi": st.sampled_from([0.0, 0.5, 1.0]),
})
EXAMPLES = settings(max_examples=80, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


class Case:
    """A random forest at a random state, and its SKO model there."""

    def __init__(self, seed, n, roots, **shares):
        self.rng = np.random.default_rng(seed)
        self.model = random_forest(self.rng, n, min(roots, n), **shares)
        self.tree = self.model.tree
        self.n, self.N, _ = sizes(self.tree)
        self.q, self.v = random_state(self.rng, self.tree)
        self.sko = sko.rigid_tree(self.model, self.q, self.v, GRAVITY)

    def vector(self):
        return self.rng.normal(size=self.N)


def error(got, want):
    """Largest deviation relative to the largest entry."""
    return np.abs(got - want).max() / max(np.abs(want).max(), 1e-300)


def packed(X):
    """The 21 numbers that the kernels keep of a symmetric matrix."""
    i, j = np.triu_indices(3)
    return np.concatenate((X[:3, :3][i, j], X[:3, 3:6].ravel(), X[3:6, 3:6][i, j]))


def mixed(seed, n=8, roots=2):
    rng = np.random.default_rng([seed, 77])
    model = random_forest(rng, n, roots, multi=0.5)
    q, v = random_state(rng, model.tree)
    nodes = ["a0", mb.Point("b3", (0.1, 0.2, -0.3)), mb.Node(f"b{n - 1}", (0.0, 0.4, 0.1)), "world"]
    return rng, model, q, v, nodes


FRAMES = ("left_tcp", "right_tcp", "left_finger_2", "left_arm_link_3", "head_link_4", "base_link")
RELATED = np.zeros((6, 6), bool)  # pairs of FRAMES with a common moving ancestor
for _group in ((0, 2, 3), (1,), (4,)):
    RELATED[np.ix_(_group, _group)] = True
CASES = [(seed, n, roots) for seed in range(8) for n, roots in ((1, 1), (3, 1), (7, 2), (16, 3))]


def forest(seed, n, roots, **options):
    rng = np.random.default_rng([seed, n])
    model = random_forest(rng, n, roots, **options)
    q, v = random_state(rng, model.tree)
    return rng, model, q, v, Dense(model.tree, q, v)


TWO_LINKS = """
<robot name="thin">
  <link name="base"/>
  <link name="upper"><inertial><mass value="1"/><origin xyz="0 0 0.5"/>
    <inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
  <link name="tip">{inertial}</link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
  <joint name="wrist" type="revolute"><parent link="upper"/><child link="tip"/><origin xyz="0 0 1"/>
    <axis xyz="0 0 1"/><limit lower="-1" upper="1" effort="1" velocity="1"/></joint>
</robot>"""


def weightless(tree, k):
    """The tree with body k without mass."""
    mass, inertia, armature = tree.mass.copy(), tree.inertia.copy(), tree.armature.copy()
    mass[k], inertia[k] = 0.0, 0.0
    armature[tree.v_start[k] : tree.v_start[k] + tree.nv[k]] = 0.0
    return read_only(tree._replace(mass=mass, inertia=inertia, armature=armature))
