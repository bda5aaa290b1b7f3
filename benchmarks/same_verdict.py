# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Closed loops over topics, again and again: each has to pass through the same states, bit for bit, on every load.

    python benchmarks/same_verdict.py [lift grasp nut disturbed] --runs 50 --busy 0 4 --backend embedded rclpy

Simulator and controllers run in lockstep, in processes of their own and in a ROS domain of their own.  ``disturbed`` is
a grasp with two pushes, a controller killed and started again, a spawn, a deletion and a reset at stated times.
Each turn runs every loop on every backend, beside each number of busy loops.  All runs of a loop have to have one hash,
which is of coordinates, velocities and efforts of every state.
"""

import argparse
import contextlib
import hashlib
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import product
from pathlib import Path

from quick import need, options_of

from mb_contact.testing import Expectation, Run, load_plan
from mb_contact.testing.checks import Quantity

ROOT = Path(__file__).resolve().parents[1]
EXPECTATIONS = ROOT / "examples" / "manipulation_tests" / "expectations"
NUT = """
scene: package://mb_contact/config/wheel_nuts.yaml
controllers: [python package://mb_contact/examples/nut_off.py]
"""
DISTURBED = """
scene: package://mb_contact/config/drumwright_grasp.yaml
controllers: [python package://mb_contact/examples/manipulation_tests/manipulation_tests/squeeze.py]
duration: 2.0
events:
- {at: 0.5, push: box_left, force: [0, 60, 0], lasting: 0.2}
- {at: 0.7, restart: 1}
- {at: 0.8, spawn: ball, text: "{shape: sphere, size: [0.05], mass: 0.1}", position: [0, 0, 3]}
- {at: 1.0, push: ball, force: [0, 0, -1], lasting: 0.2}
- {at: 1.3, delete: ball}
- {at: 1.5, reset: true}
"""


def _plan(text):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "plan.yaml"
        path.write_text(text + "expect: [{certificate: residual, most: 1.0e-9}]\n", encoding="utf-8")
        return replace(load_plan(path), folder=None)


LOOPS = {
    "lift": lambda: load_plan(EXPECTATIONS / "lift.yaml"), "grasp": lambda: load_plan(EXPECTATIONS / "grasp.yaml"),
    "nut": lambda: _plan(NUT), "disturbed": lambda: _plan(DISTURBED),
}  # fmt: skip


def outcome(plan, folder):
    """(hash of all states, how many, what failed) of a run."""
    digest, states = hashlib.sha256(), 0

    def read(view, memory):
        nonlocal states
        states += 1
        sim = view.simulator
        for part in (sim.q, sim.v, sim.joint_efforts()):
            digest.update(part.tobytes())
        return [0.0]

    watch = Expectation(Quantity("the states", "", read) >= 0.0, name="all states")
    with Run(replace(plan, expectations=(*plan.expectations, watch)), folder, say=lambda line: None) as run:
        results = run.finish()
    return digest.hexdigest()[:12], states, [result.text for result in results if not result.passed]


@contextlib.contextmanager
def beside(count):
    """So many busy loops run."""
    loops = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("loops", nargs="*", metavar="LOOP", help=", ".join(LOOPS))
    parser.add_argument("--runs", type=int, default=3, help="of each loop, backend and number of busy loops")
    parser.add_argument("--busy", type=int, nargs="+", default=[0, 4])
    parser.add_argument("--backend", nargs="+", default=["embedded"], choices=("embedded", "rclpy"))
    options = options_of(parser, runs=1, busy=[0, 2], loops=["disturbed"])
    need("rosbags", *(["rclpy"] if "rclpy" in options.backend else []))
    if unknown := set(options.loops) - set(LOOPS):
        parser.error(f"no loop {', '.join(sorted(unknown))}; there are {', '.join(LOOPS)}")
    found, bad = defaultdict(Counter), 0
    for turn, name, backend, busy in product(
        range(options.runs), options.loops or LOOPS, options.backend, options.busy
    ):
        plan, begun = replace(LOOPS[name](), backend=backend), time.monotonic()
        with beside(busy), tempfile.TemporaryDirectory() as folder:
            code, states, failures = outcome(plan, folder)
        found[name][code] += 1
        bad += bool(failures)
        print(f"{name:<10}{turn + 1:4} {backend:<9} beside {busy}: {states} states {code} "
              f"{time.monotonic() - begun:6.1f} s  {'; '.join(failures) or 'passed'}", flush=True)  # fmt: skip
    for name, codes in found.items():
        print(f"{name}: {sum(codes.values())} runs, {len(codes)} outcome{'s' * (len(codes) > 1)}, 1 is right")
    return int(bad > 0 or any(len(codes) > 1 for codes in found.values()))


if __name__ == "__main__":
    sys.exit(main())
