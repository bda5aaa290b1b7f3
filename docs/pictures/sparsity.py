# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Draw docs/pictures/sparsity.png: the predicted blocks of E, phi and M in grey, what the matrices hold as dots."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

import mb_contact as mb
from mb_contact.studies import sko
from mb_contact.types import WORLD

matplotlib.use("Agg")
from matplotlib import pyplot as plt  # noqa: E402

HERE = Path(__file__).resolve().parent
FIGURE_3 = sko.TreeDigraph([-1, 0, 1, 2, 3, 2, 5, 6, 4, 8, 4, 10])


def random_model(tree, rng):
    """Any model on the tree: the pattern does not depend on the weights."""
    weights = [None if p == WORLD else rng.normal(size=(4, 4)) for p in tree.parent]
    phi = sko.Spo(tree, weights, [4] * tree.n)
    return sko.SkoModel(phi, [rng.normal(size=(1, 4)) for _ in weights], [np.eye(4)] * tree.n)


def filled(X, rows, columns):
    """Which blocks of X differ from zero."""
    return np.array([[np.abs(X[i, j]).max() > 1e-12 for j in columns] for i in rows])


def draw(axis, tree, pattern, blocks, title):
    """One matrix, nodes ordered segment by segment."""
    order = [k for nodes in tree.segments for k in nodes]
    pattern, blocks = pattern[np.ix_(order, order)], blocks[np.ix_(order, order)]
    axis.imshow(pattern, cmap="Greys", vmin=0, vmax=3)
    i, k = np.nonzero(blocks)
    axis.plot(k, i, "o", color="tab:blue", markersize=max(2.0, 60.0 / tree.n))
    for end in np.cumsum([len(nodes) for nodes in tree.segments])[:-1] - 0.5:
        axis.axhline(end, color="black", linewidth=0.6)
        axis.axvline(end, color="black", linewidth=0.6)
    axis.set_title(title)
    axis.set_xticks(range(tree.n), [str(k) for k in order], fontsize=6)
    axis.set_yticks(range(tree.n), [str(k) for k in order], fontsize=6)


def draw_model(axes, model, name):
    """E, phi and the mass matrix of a model in one row."""
    tree, phi, hinges = model.tree, model.phi, model.hinges
    rows = (
        ("$E_\\phi$", sko.sko_pattern(tree), filled(phi.E, phi.slices, phi.slices)),
        ("$\\phi$", sko.spo_pattern(tree), filled(phi.A, phi.slices, phi.slices)),
        ("mass matrix", sko.mass_pattern(tree), filled(sko.mass_matrix(model), hinges, hinges)),
    )
    for axis, (title, pattern, blocks) in zip(axes, rows):
        draw(axis, tree, pattern, blocks, f"{title}, {name}")


def main():
    rng = np.random.default_rng(1)
    robot = mb.load_urdf(HERE.parents[1] / "urdf" / "dual_arm.urdf")
    figure, axes = plt.subplots(2, 3, figsize=(13, 8.8), layout="constrained")
    draw_model(axes[0], random_model(FIGURE_3, rng), "tree of J11, figure 3")
    draw_model(axes[1], sko.rigid_tree(robot, rng.uniform(-1.0, 1.0, robot.nq)), "dual arm")
    figure.savefig(HERE / "sparsity.png", dpi=90, metadata={"Software": None})


if __name__ == "__main__":
    main()
