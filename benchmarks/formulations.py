# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""All formulations of J14 on many random states, each judged in every other's original problem.

    python benchmarks/formulations.py [--states 1000] [--unique 3] [--driven]
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "test")]

from quick import options_of  # noqa: E402

import mb_contact as mb  # noqa: E402 (the checkout that this script is in, before an installed one)
from mb_contact.programs.bench.formulations import TABLE  # noqa: E402
from mb_contact.studies.formulations.formulation import residuals  # noqa: E402
from oracles.dense_oracle import Dense  # noqa: E402
from scenes.formulation_cases import dense_rows, only_velocity, random_step  # noqa: E402


class Tally:
    """What is counted over all states."""

    def __init__(self):
        self.own = dict.fromkeys(TABLE, 0.0)
        self.solver = {name: Counter() for name in TABLE}
        self.seconds = {name: [0.0, 0.0] for name in TABLE}
        self.cross = np.zeros((len(TABLE), len(TABLE)))
        self.kinds = Counter()
        self.speed = dict.fromkeys(("frictionless", "unique", "open"), 0.0)


def judge_state(seed, unique, tally, driven):
    """One random state; returns the worst residual of all formulations in all original problems."""
    problem = random_step([seed, 4], driven=driven)
    both = {}
    for name in TABLE:
        begin = time.perf_counter()
        formulation = mb.studies.formulate(problem, name)
        middle = time.perf_counter()
        solution = formulation.solve()
        tally.seconds[name][0] += middle - begin
        tally.seconds[name][1] += time.perf_counter() - middle
        tally.solver[name][solution.solver.replace("polished ", "")] += 1
        both[name] = formulation, solution
    solved = sum(both[name][1].solved for name in TABLE)
    if driven and solved < len(TABLE):
        tally.kinds["solved by none"] += solved == 0
        tally.kinds["solved by some only"] += solved > 0
        return 0.0
    cross = np.array([[residuals(both[b][0], both[a][1].forces).worst for b in TABLE] for a in TABLE])
    for name in TABLE:
        tally.own[name] = max(tally.own[name], both[name][1].certificate.worst)
    tally.cross = np.maximum(tally.cross, cross)
    kind = kind_of(problem, unique)
    velocities = np.array([both[name][1].v_next for name in TABLE])
    difference = np.ptp(velocities, axis=0).max() / max(1.0, np.abs(velocities).max())
    tally.speed[kind] = max(tally.speed[kind], difference)
    tally.kinds[kind] += 1
    tally.kinds["several velocities found"] += difference > 1e-6
    tally.kinds["with loops"] += problem.n_b > 0
    return max(cross.max(), *(both[name][1].certificate.worst for name in TABLE))


def kind_of(problem, unique):
    """Whether theta_dot+ is unique: "frictionless" (always), "unique" (by enumeration), or "open"."""
    if problem.mu.max() == 0.0:
        return "frictionless"
    if problem.n_u > unique:
        return "open"
    dense = Dense(problem.tree, problem.state.q, problem.state.v)
    M = dense.mass_matrix() + np.diag(problem.damping)
    force = problem.effort - problem.tree.damping * problem.state.v - dense.nonlinear(problem.gravity)
    v_free = problem.state.v + problem.dt * np.linalg.solve(M, force)
    only = only_velocity(problem, dense_rows(dense, problem), M, v_free)
    return "open" if only is None else "unique"


def states(count, unique, driven):
    tally, worst = Tally(), 0.0
    for seed in range(count):
        residual = judge_state(seed, unique, tally, driven)
        if residual > 1e-9:
            print(f"seed {seed}: {residual:.1e}")
        worst = max(worst, residual)
    print(f"{count} random states, 3-12 bodies, 0-3 loops, 1-8 contacts, n_f 4, 6 or 8")
    print("kinds: " + ", ".join(f"{number} {kind}" for kind, number in tally.kinds.items()))
    print("\nlargest scaled residual (row: found by, column: judged by)")
    print(f"{'':8}{'own':>9}" + "".join(f"{name:>9}" for name in TABLE))
    for name, row in zip(TABLE, tally.cross):
        print(f"{name:8}{tally.own[name]:9.1e}" + "".join(f"{x:9.1e}" for x in row))
    print(f"worst of all: {worst:.1e}")
    print("\nlargest relative difference of theta_dot+ between formulations")
    for kind, value in tally.speed.items():
        print(f"  {kind:<14}{value:9.1e}  ({tally.kinds[kind]} states)")
    print(f"\n{'':8}{'set-up ms':>10}{'solve ms':>10}  stages")
    for name in TABLE:
        a, b = (1e3 * x / count for x in tally.seconds[name])
        print(f"{name:8}{a:10.2f}{b:10.2f}  " + ", ".join(f"{v} {k}" for k, v in tally.solver[name].most_common()))
    return 0 if worst <= 1e-9 else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=1000, metavar="N", help="random states (default: 1000)")
    parser.add_argument(
        "--unique", type=int, default=3, metavar="K", help="enumerate all solutions up to K contacts (default: 3)"
    )
    parser.add_argument(
        "--driven", action="store_true", help="loops with friction may be driven, so that some states jam"
    )
    arguments = options_of(parser, states=3)
    return states(arguments.states, arguments.unique, arguments.driven)


if __name__ == "__main__":
    sys.exit(main())
