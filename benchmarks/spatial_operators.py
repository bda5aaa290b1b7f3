# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""J11 equation by equation: largest residual on random SKO models, and of the compiled sweeps on random robots.

    python benchmarks/spatial_operators.py [--models 100]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from quick import options_of  # noqa: E402

import mb_contact as mb  # noqa: E402 (the checkout that this script is in, before an installed one)
from mb_contact.studies import sko  # noqa: E402
from oracles.dense_oracle import random_forest, random_state  # noqa: E402
from scenes.sko_cases import random_blocks, random_digraph, random_model, random_spo  # noqa: E402


def products(rng):
    """Recursions of sections 3 and 4 beside products of full matrices: operators of mixed sizes on one tree."""
    A = random_spo(rng, random_digraph(rng, 10))
    B = random_spo(rng, A.tree)
    x, X = rng.normal(size=A.m), random_blocks(rng, A, B)
    X_full = sko.block_diag(X)
    up, down = A.A @ X_full @ B.A.T, A.A.T @ X_full @ B.A
    C = random_spo(rng, random_digraph(rng, 7, chain=True))
    Y = random_blocks(rng, C, C)
    return {
        "lemma 1, (5)": (A.gather(x), A.A @ x),
        "lemma 2, (8)": (A.scatter(x), A.A.T @ x),
        "corollary 3.1": (A.gather_strict(x), A.tilde @ x),
        "(11)": (sum(sko.forward_terms(A, X, B)), up),
        "(15)": (sko.forward_product(A, X, B), up),
        "(21)": (sum(sko.backward_terms(A, X, B)), down),
        "(25), algorithm 4.3": (sko.backward_product(A, X, B), down),
        "(30)": (sko.serial_product(C, Y), C.A.T @ sko.block_diag(Y) @ C.A),
    }


def dynamics(rng, model):
    """Algorithms 3.1, 4.2 and 6.1 and lemma 12 beside the mass matrix of Eq. 3."""
    mass = model.newton_euler_mass_matrix()
    theta_dot, theta_ddot = rng.normal(size=(2, model.N))
    T = model.inverse_dynamics(theta_dot, theta_ddot).T
    want = np.linalg.solve(mass, T - model.nonlinear())
    return {
        "(2), algorithm 3.1": (T, mass @ theta_ddot + model.nonlinear()),
        "algorithm 4.2": (sko.mass_matrix(model), mass),
        "(54)": (sko.forward_dynamics_operators(model, T), want),
        "(58), algorithm 6.1": (sko.forward_dynamics(model, T), want),
    }


def kernels(rng):
    """The compiled sweeps beside the operators, for a random forest of all joint types."""
    robot = random_forest(rng, 12)
    q, v = random_state(rng, robot.tree)
    effort = rng.normal(size=len(v))
    model = sko.rigid_tree(robot, q, v)
    frames = list(rng.choice([name for name in robot.frames if name != "world"], size=3, replace=False))
    compliance = sko.operational_compliance(model, sko.frame_picks(model, robot, q, frames))
    smooth = effort - robot.tree.damping * v
    return {
        "kernel: mass matrix": (mb.mass_matrix(robot, q), sko.mass_matrix(model)),
        "kernel: nonlinear effects": (mb.dynamics.nonlinear_effects(robot, q, v), model.nonlinear()),
        "kernel: forward dynamics": (mb.forward_dynamics(robot, q, v, effort), sko.forward_dynamics(model, smooth)),
        "kernel: compliance": (mb.operational_compliance(robot, q, frames), compliance),
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=100, metavar="N", help="random models (default: 100)")
    worst: dict[str, float] = {}
    count = options_of(parser, models=3).models
    for seed in range(count):
        rng = np.random.default_rng(seed)
        model = random_model(rng, int(rng.integers(2, 13)), welds=False)
        pairs = {**products(rng), **dynamics(rng, model), **kernels(rng)}
        pairs.update({f"({number})": pair for number, pair in sko.identities(model).items()})
        for name, (left, right) in pairs.items():
            scale = max(np.abs(right).max(initial=0.0), 1e-3)
            worst[name] = max(worst.get(name, 0.0), np.abs(np.asarray(left) - right).max(initial=0.0) / scale)
    print(f"{count} random models; largest residual, relative to the largest entry")
    for name, residual in worst.items():
        print(f"{name:<28}{residual:9.1e}")
    return 0 if max(worst.values()) < 1e-9 else 1


if __name__ == "__main__":
    sys.exit(main())
