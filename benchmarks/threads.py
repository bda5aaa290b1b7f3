# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Two threads that step two simulators, against one: the time of both, and whether the results are the same bits.

    python benchmarks/threads.py [--scenes box_stack,table_top] [--steps 400] [--rounds 5]

Rounds of one thread and of two take turns; the least time of each counts.  "one call": ``step(steps=400)``, without
Python's lock for all of them; "400 calls": small worlds hold it for whole steps, large ones for some microseconds of
each.  On two free cores the ratio of one call nears 1; on one core, or on busy ones, it cannot.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import product

import numpy as np
from quick import options_of

import mb_contact as mb


def run(sim, steps, calls):
    """So many steps from the start in so many calls; the state at the end."""
    for _ in range(calls):
        sim.step(steps=steps // calls)
    return np.concatenate((sim.q, sim.v))


def measure(scene, steps, rounds, calls):
    """(seconds of one thread with one simulator, of two with one each, whether all results are the same bits)."""
    pair = [mb.Simulator(f"package://mb_contact/config/{scene}.yaml") for _ in range(2)]
    one, two, results = np.inf, np.inf, []
    with ThreadPoolExecutor(2) as pool:
        for _ in range(rounds):
            for sim in pair:
                sim.reset()
            start = time.perf_counter()
            results.append(run(pair[0], steps, calls))
            one = min(one, time.perf_counter() - start)
            pair[0].reset()
            start = time.perf_counter()
            results += pool.map(run, pair, (steps, steps), (calls, calls))
            two = min(two, time.perf_counter() - start)
    return one, two, all(np.array_equal(result, results[0]) for result in results)


def main(argv=None):
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--scenes", default="box_on_table,dual_arm_lift,box_stack,table_top", metavar="NAME,NAME")
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--rounds", type=int, default=5)
    arguments = options_of(parser, argv, scenes="box_stack", steps=20, rounds=1)
    print(f"{'scene':<16} {'calls':>6}   one thread [us a step]   two [us]   ratio   same bits")
    well = True
    for scene, calls in product(arguments.scenes.split(","), (1, arguments.steps)):
        one, two, same = measure(scene, arguments.steps, arguments.rounds, calls)
        well = well and same
        one, two = 1e6 * one / arguments.steps, 1e6 * two / arguments.steps
        times = f"{one:22.1f} {two:10.1f} {two / one:7.2f}"
        print(f"{scene:<16} {calls:6d}   {times}   {'yes' if same else 'NO'}", flush=True)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
