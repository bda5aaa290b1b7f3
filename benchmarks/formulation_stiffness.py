# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Formulation stiffness (P00 section 7): accelerations of chains with small masses beside large ones.

    python benchmarks/formulation_stiffness.py            tables
    python benchmarks/formulation_stiffness.py --plot     docs/pictures/formulation_stiffness.png too

``CRBM``, ``ABM`` and ``modified, factors`` are the compiled methods of ``mb.forward_dynamics``; the two ``printed`` are
the paper's eliminations as they stand (``eliminate_abm`` and ``eliminate_modified_abm`` of ``studies.sko``); all in
doubles.  The
reference eliminates the same augmented system in 60 digits (mpmath), from the very numbers the kernels were given:
their rotations, offsets and hinge maps.  The column ``1 ulp`` is how much that reference moves when each of these
numbers is changed by up to one unit in its last place: what no method in double precision can be asked to beat.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import mpmath
import numpy as np
from quick import options_of

import mb_contact as mb
from mb_contact.core.tree.kinematics import body_poses
from mb_contact.core.tree_workspace import make_kinematics
from mb_contact.studies import sko
from mb_contact.types import JOINT_REVOLUTE, WORLD, Tree

PICTURE = Path(__file__).resolve().parents[1] / "docs" / "pictures" / "formulation_stiffness.png"
RATIOS = 10.0 ** np.arange(0, 13)
ANGLES = 10.0 ** np.arange(0, -10, -1)
METHODS = ("CRBM", "ABM", "ABM, printed", "modified, printed", "modified, factors")
X, Z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
HALF_ULP = 2.0**-53


class Robot(NamedTuple):
    """What the public functions ask of a model."""

    tree: Tree
    frames: dict
    body_names: tuple


class Case(NamedTuple):
    """A chain of revolute joints, base to tip."""

    name: str
    axes: list  #: unit axes at q = 0
    offsets: list  #: of each joint from the one before [m]
    large: int  #: index of the large body; all others are small
    tilt: np.ndarray  #: orientation of the whole robot in the world
    held: tuple = ()  #: joints that stay at zero; the others take random positions
    gravity: tuple = (0.0, 0.0, 0.0)
    com: tuple = (0.0, 0.0, 0.3)  #: of every body [m]


def rotation(axis, angle):
    """Rotation matrix about a unit axis."""
    K = np.array([[0.0, -axis[2], axis[1]], [axis[2], 0.0, -axis[0]], [-axis[1], axis[0], 0.0]])
    return np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K


TILT = rotation(np.array([1.0, 2.0, -2.0]) / 3.0, 1.1)  #: no axis of the robot along an axis of the world


def redundant(rng, n):
    """Random axes and offsets of n joints."""
    axes = rng.normal(size=(n, 3))
    return list(axes / np.linalg.norm(axes, axis=1)[:, None]), list(0.5 * rng.normal(size=(n, 3)))


def cases():
    """The chains of the study; P00 section 7 describes the first two and gives no numbers."""
    wrist, arm = ([Z, X, Z], [0 * Z, 0.5 * Z, 0.5 * Z]), redundant(np.random.default_rng(2), 8)
    return [
        Case("large outboard, one line, aligned", [Z, Z], [0 * Z, 0.5 * Z], 1, np.eye(3), (0, 1)),
        Case("large outboard, one line, tilted", [Z, Z], [0 * Z, 0.5 * Z], 1, TILT),
        Case("large inboard, one line, tilted", [Z, Z], [0 * Z, 0.5 * Z], 0, TILT),
        Case("singular wrist z-x-z, tilted", *wrist, 2, TILT, (1,)),
        Case("7 small links carry a load", *arm, 7, TILT),
        Case("off-centre load, gravity", [Z, Z], [0 * Z, 0.5 * Z], 1, TILT, (), (0, 0, -9.81), (0.3, 0, 0.3)),
    ]


def chain(case, ratio):
    """The tree of a case: large body 1 kg, small ones 1/ratio."""
    n = len(case.axes)
    mass = np.full(n, 1.0 / ratio)
    mass[case.large] = 1.0
    R_joint = np.tile(np.eye(3), (n, 1, 1))
    R_joint[0] = case.tilt
    count, zero, infinite = np.arange(n), np.zeros(n), np.full(n, np.inf)
    tree = Tree(
        parent=count - 1, joint_type=np.full(n, JOINT_REVOLUTE), q_start=count, v_start=count, nv=np.ones(n, int),
        root=np.zeros(n, int), R_joint=R_joint, p_joint=np.array(case.offsets), axis=np.array(case.axes),
        axis2=np.zeros((n, 3)), mass=mass,
        com=np.tile(np.array(case.com), (n, 1)), inertia=mass[:, None, None] * np.diag([0.2, 0.3, 0.4]),
        armature=zero.copy(), damping=zero.copy(), effort_limit=infinite.copy(), lower=-infinite, upper=infinite.copy(),
    )  # fmt: skip
    for array in tree:
        array.setflags(write=False)
    return Robot(tree, {}, tuple(f"link_{k}" for k in range(n)))


def mpf(A):
    """Doubles as mpmath numbers."""
    return np.vectorize(mpmath.mpf, otypes=[object])(A)


def exact(A):
    """Doubles as they are."""
    return A


def skew(x):
    """Cross-product matrix of any numbers."""
    o = 0 * x[0]
    return np.array([[o, -x[2], x[1]], [x[2], o, -x[0]], [-x[1], x[0], o]])


def system_blocks(robot, q, gravity, convert, rng=None):
    """The blocks of the augmented system at rest from the numbers of the kernels; with rng each moved by an ulp."""
    tree, n = robot.tree, len(robot.tree.parent)
    kin = make_kinematics(n, n)
    body_poses(tree, q, kin)

    def number(x):
        wide = convert(x)
        return wide if rng is None else wide * (1 + convert(HALF_ULP * rng.uniform(-2, 2, np.shape(x))))

    H, l, R, com, inertia = number(kin.H), number(kin.l), number(kin.R), number(tree.com), number(tree.inertia)
    mass, one, base = number(tree.mass), convert(np.eye(3)), -number(np.array(gravity, float))
    phi, M, a, b = [], [], [], []
    for k in range(n):
        shift, c = skew(l[k]), skew(R[k] @ com[k])
        I = R[k] @ (0.5 * (inertia[k] + inertia[k].T)) @ R[k].T - mass[k] * (c @ c)
        phi.append(None if k == 0 else np.block([[one, shift], [0 * one, one]]))
        M.append(np.block([[0.5 * (I + I.T), mass[k] * c], [-mass[k] * c, mass[k] * one]]))
        a.append(np.concatenate((0 * base, base)) if k == 0 else 0 * np.concatenate((base, base)))
        b.append(0 * a[-1])
    digraph = sko.TreeDigraph([WORLD if k == 0 else k - 1 for k in range(n)])
    return sko.Blocks(digraph, phi, [row[None] for row in H], M, a, b, robot.body_names)


def measure(case, ratio, draws, seed=0):
    """Largest relative error of the accelerations over random loads and positions: methods, then 1 ulp."""
    rng, worst = np.random.default_rng([seed, int(np.log10(ratio))]), np.zeros(6)
    robot = chain(case, ratio)
    n = len(case.axes)
    for _ in range(draws):
        q, T = rng.uniform(-2.0, 2.0, n), rng.normal(size=n)
        q[list(case.held)] = 0.0
        want = sko.eliminate_abm(system_blocks(robot, q, case.gravity, mpf), mpf(T)).solution.theta_ddot
        size = np.abs(want).max()
        zero = np.zeros(n)
        found = [mb.forward_dynamics(robot, q, zero, T, case.gravity, name) for name in ("crbm", "abm", "modified_abm")]
        blocks = system_blocks(robot, q, case.gravity, exact)
        printed = [e(blocks, T).solution.theta_ddot for e in (sko.eliminate_abm, sko.eliminate_modified_abm)]
        moved = sko.eliminate_abm(system_blocks(robot, q, case.gravity, mpf, rng), mpf(T)).solution.theta_ddot
        errors = [np.abs(mpf(x) - want).max() / size for x in (*found[:2], *printed, found[2])]
        errors.append(np.abs(moved - want).max() / size)
        worst = np.maximum(worst, np.array(errors, dtype=float))
    return worst


def nearly_aligned(angle):
    """Two axes at a small angle."""
    tilted = np.array([np.sin(angle), 0.0, np.cos(angle)])
    return Case(f"angle {angle:g}", [Z, tilted], [0 * Z, 0.5 * Z], 1, TILT)


def table(title, first, values, results):
    """Print one table."""
    print(f"\n{title}\n  {first:>8}  " + "  ".join(f"{name:>17}" for name in (*METHODS, "1 ulp")))
    for value, row in zip(values, results):
        print(f"  {value:8.0e}  " + "  ".join(f"{x:17.1e}" for x in row))


def plot(studies, by_angle, arguments):
    """One panel for each chain, one for the angle."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(2, 4, figsize=(17, 8), sharey=True, layout="constrained")
    ratios, angles = RATIOS[:: arguments.every], ANGLES[:: arguments.every]
    panels = [*((case.name, ratios, rows, "mass ratio") for case, rows in studies)]
    panels.append(("two axes at an angle, mass ratio 1e12", angles, by_angle, "angle between the axes [rad]"))
    styles = (("o", "-", "tab:red"), ("s", "-", "tab:orange"), ("v", "--", "tab:olive"), ("^", "--", "tab:purple"),
              ("D", "-", "tab:green"), ("", ":", "black"))  # fmt: skip
    for axis, (title, values, rows, label) in zip(axes.flat, panels):
        for i, name in enumerate((*METHODS, "one ulp in every input")):
            marker, line, colour = styles[i]
            errors = np.maximum([row[i] for row in rows], 1e-17)
            axis.loglog(values, errors, marker=marker, linestyle=line, color=colour, label=name, markersize=4)
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(label)
        axis.grid(True, alpha=0.3)
    axes[0, 0].set_ylabel("relative error of the accelerations")
    axes[1, 0].set_ylabel("relative error of the accelerations")
    axes.flat[-1].axis("off")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    axes.flat[-1].legend(handles, labels, loc="center", fontsize=11)
    figure.savefig(arguments.plot, dpi=80, metadata={"Software": None})
    print(f"wrote {arguments.plot}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=10, help="random positions and loads a point (default 10)")
    parser.add_argument("--plot", nargs="?", const=PICTURE, type=Path, help="write the picture, to docs/ by default")
    parser.add_argument("--every", type=int, default=1, metavar="K", help="take every K-th ratio and angle (default 1)")
    arguments = options_of(parser, draws=1, every=6)
    ratios, angles = RATIOS[:: arguments.every], ANGLES[:: arguments.every]
    with mpmath.workdps(60):
        studies = []
        for case in cases():
            studies.append((case, [measure(case, ratio, arguments.draws) for ratio in ratios]))
            table(f"{case.name}: largest relative error of {arguments.draws} draws", "ratio", ratios, studies[-1][1])
        by_angle = [measure(nearly_aligned(angle), 1e12, arguments.draws) for angle in angles]
        table("two axes at an angle, large outboard, mass ratio 1e12", "angle", angles, by_angle)
    if arguments.plot:
        plot(studies, by_angle, arguments)


if __name__ == "__main__":
    main()
