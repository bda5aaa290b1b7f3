# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Derivatives of forward and of inverse dynamics beside Pinocchio's, both called from Python.

    python benchmarks/derivatives.py [--quick]

The results are compared first; each time is the least of repeats by turns.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from time import perf_counter

sys.path.insert(0, str(Path(__file__).resolve().parent))

import cases  # noqa: E402
import numpy as np  # noqa: E402
from peer import their_state  # noqa: E402
from quick import need, options_of  # noqa: E402

TOLERANCE = 1e-9  #: relative deviation that counts as the same number


def pairs(case):
    """(name, ours, theirs), each a function of the number of a state."""
    mb, pin, peer, model = cases.mb, case.peer.pin, case.peer, case.model
    states = [their_state(case, state) for state in case.states]

    def forward(s):
        q, v, effort, _ = case.states[s]
        return mb.forward_dynamics_derivatives(model, q, v, effort, cases.GRAVITY)

    def inverse(s):
        q, v, _, v_dot = case.states[s]
        return mb.dynamics.inverse_dynamics_derivatives(model, q, v, v_dot, cases.GRAVITY)

    def their_forward(s):
        q, v, effort, _ = states[s]
        return pin.computeABADerivatives(peer.model, peer.data, q, v, effort)

    def their_inverse(s):
        q, v, _, v_dot = states[s]
        return pin.computeRNEADerivatives(peer.model, peer.data, q, v, v_dot)

    return ("forward", forward, their_forward), ("inverse", inverse, their_inverse)


def deviation(case, ours, theirs):
    """Worst relative difference over all states, of robots whose joints are all scalar."""
    worst = 0.0
    for s, (q, v, _, _) in enumerate(case.states):
        S, _ = case.peer.transformation(q, v)
        for mine, their in zip(ours(s)[:2], theirs(s)[:2]):
            other = S.T @ their @ S
            worst = max(worst, np.abs(mine - other).max() / np.abs(other).max())
    return worst


def least(functions, repeats, count):
    """Least seconds of a call of each function, by turns."""
    best = [np.inf] * len(functions)
    for _ in range(repeats):
        for i, function in enumerate(functions):
            start = perf_counter()
            for s in range(count):
                function(s % cases.STATES)
            best[i] = min(best[i], (perf_counter() - start) / count)
    return best


def main():
    need("pinocchio")
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--repeats", type=int, default=40, metavar="N", help="repeats by turns (default: 40)")
    options = options_of(parser, repeats=2)
    with tempfile.TemporaryDirectory() as folder:
        made = [cases.chain(n, folder) for n in ((7,) if options.quick else (7, 30, 100))] + [cases.dual_arm()]
        if not options.quick:
            made += [cases.robot(*robot) for robot in cases.ROBOTS if not robot[2]]
    print(f"{'':12}{'dof':>5}{'':>9}{'ours [us]':>11}{'theirs':>9}{'ratio':>7}")
    for case in filter(None, made):
        for name, ours, theirs in pairs(case):
            apart = deviation(case, ours, theirs)
            if apart > TOLERANCE:
                raise SystemExit(f"{case.name}: {name} derivatives differ by {apart:.1e}: nothing to compare")
            mine, other = least((ours, theirs), options.repeats, 2 * cases.STATES)
            print(f"{case.name:12}{case.model.N:5}{name:>9}{1e6 * mine:11.1f}{1e6 * other:9.1f}{mine / other:7.2f}")


if __name__ == "__main__":
    main()
