# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Random SKO models with blocks of mixed sizes, and a robot with a four-bar loop, for studies/sko/test_sko.py."""

from __future__ import annotations

import numpy as np

from mb_contact.studies import sko
from mb_contact.types import WORLD


def random_digraph(rng, n, chain=False, canonical=False):
    """A random forest whose nodes are numbered in any order."""
    parent = [WORLD] + [k - 1 if chain else int(rng.integers(max(-1, k - 5), k)) for k in range(1, n)]
    name = np.arange(n) if canonical else rng.permutation(n)
    shuffled = [WORLD] * n
    for k, p in enumerate(parent):
        shuffled[name[k]] = WORLD if p == WORLD else int(name[p])
    return sko.TreeDigraph(shuffled)


def random_spo(rng, tree, sizes=None):
    """Weights of any shape; about a third of them singular, some zero."""
    sizes = rng.integers(1, 8, tree.n) if sizes is None else sizes
    weights = []
    for k, p in enumerate(tree.parent):
        if p == WORLD:
            weights.append(None)
            continue
        X = rng.normal(size=(sizes[p], sizes[k])) / np.sqrt(max(sizes[p], sizes[k]))
        if rng.random() < 0.3:  # of rank 1, or nothing at all
            X = np.outer(X[:, 0], X[0]) if rng.random() < 0.8 else 0.0 * X
        weights.append(X)
    return sko.Spo(tree, weights, sizes)


def random_model(rng, n, chain=False, canonical=False, welds=True):
    """A random SKO model, 1 to 7 velocities and 0 (a weld) to 3 degrees of freedom to a node."""
    phi = random_spo(rng, random_digraph(rng, n, chain, canonical))
    H, M = [], []
    for m in phi.sizes:
        r = int(rng.integers(0 if welds else 1, min(m, 3) + 1))
        H.append(np.linalg.qr(rng.normal(size=(m, m)))[0][:r] + 0.1 * rng.normal(size=(r, m)))
        X = rng.normal(size=(m, m))
        M.append(X @ X.T / m + 0.3 * np.eye(m))
    return sko.SkoModel(phi, H, M, rng.normal(size=phi.m), rng.normal(size=phi.m))


def random_blocks(rng, A, B):
    """Blocks X(k) of A's rows and B's columns."""
    return [rng.normal(size=(i, j)) for i, j in zip(A.sizes, B.sizes)]


def _link(name, mass, com):
    x, y, z = com
    return f"""<link name="{name}"><inertial><origin xyz="{x} {y} {z}"/><mass value="{mass}"/>
      <inertia ixx="0.02" iyy="0.03" izz="0.025" ixy="0.002" ixz="-0.001" iyz="0.001"/></inertial></link>"""


def _joint(name, parent, child, axis, xyz, kind="continuous"):
    return f"""<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>
      <axis xyz="{axis}"/><origin xyz="{xyz}"/></joint>"""


#: column (yaw) - {crank, coupler, rocker}, cut where the coupler meets the rocker - tool on the coupler
FOUR_BAR = "".join((
    '<robot name="four_bar"><link name="ground"/>',
    _link("column", 3.0, (0.1, 0.0, 0.2)),
    _link("crank", 1.0, (0.1, 0.01, 0.0)),
    _link("coupler", 1.5, (0.25, 0.0, 0.03)),
    _link("rocker", 1.2, (0.2, 0.02, 0.0)),
    _link("tool", 0.7, (0.05, 0.03, 0.1)),
    '<link name="coupler_end"/><link name="rocker_end"/>',
    _joint("yaw", "ground", "column", "0 0 1", "0 0 0"),
    _joint("crank", "column", "crank", "0 1 0", "0 0 0.5"),
    _joint("coupler", "crank", "coupler", "0 1 0", "0.2 0 0"),
    _joint("rocker", "column", "rocker", "0 1 0", "0.5 0 0.5"),
    _joint("tool", "coupler", "tool", "1 0 0", "0.3 0 0.1"),
    _joint("coupler_pin", "coupler", "coupler_end", "0 1 0", "0.5 0 0", "fixed"),
    _joint("rocker_pin", "rocker", "rocker_end", "0 1 0", "0.4 0 0", "fixed"),
    "</robot>",
))  # fmt: skip
