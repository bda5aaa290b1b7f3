# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Mechanisms of IFToMM's library, held embedded and by rows, under every integrator, beside SciPy on closed forms.

    python benchmarks/mechanisms.py [--seconds 10] [--only forty] [--loops auto multipliers]

Steps of 1 ms.  Two, and forty, four-bars of rods of 1 m and a crank with a rod of its own length go through their
singular positions; Bricard's mechanism, after 1 s, has a row too many.  "off" is the distance of the end of a rod of
1 m from where it should be.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from quick import options_of

import mb_contact as mb

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "test"))

from scenes import mechanisms as lib  # noqa: E402

INTEGRATORS = ("semi_implicit_euler", "rk4", "midpoint", "adaptive")


def end_of_rod(angle):
    """Of an angle of the first joint: where the end of its rod of 1 m is."""
    return np.array([np.cos(angle), np.sin(angle)])


def first_rod(sim):
    return end_of_rod(sim.q[0])


#: name: (scene, place of what is looked at, where it should be after so many seconds, most seconds)
CASES = {
    "two four-bars": (
        lambda **options: lib.four_bars(2, **options), first_rod, lambda t: end_of_rod(lib.four_bars_angle(2, t)), 60.0,
    ),
    "forty four-bars": (
        lambda **options: lib.four_bars(40, **options), first_rod, lambda t: end_of_rod(lib.four_bars_angle(40, t)),
        60.0,
    ),
    "slider and crank": (lib.slider_crank, first_rod, lambda t: end_of_rod(lib.slider_crank_angle(t)), 60.0),
    "Bricard": (lib.bricard, lambda sim: sim.link_pose("b3")[0], lambda _: np.array(lib.BRICARD_P3), 1.0),
}  # fmt: skip


def line(name, loops, integrator, drift, seconds):
    """One line of the table."""
    make, place, reference, most = CASES[name]
    scene = make(loops=loops, integrator=integrator, drift_control=drift)
    sim = mb.Simulator(scene)
    start, steps, over, began = sim.energy(), round(min(seconds, most) / scene.time_step), 0, time.process_time()
    try:
        for _ in range(steps):
            over += sim.step().certificate.solver == "over_budget"
    except mb.DynamicsError as error:
        return f"| {name} | {loops} | {integrator} | {drift} | stops: {error} |"
    spent = 1e6 * (time.process_time() - began) / steps
    off = np.abs(place(sim) - reference(steps * scene.time_step)).max()
    held = "embedded" if set(sim.loops.values()) == {"embedded"} else "rows"
    return (
        f"| {name} | {loops} | {held} | {integrator} | {drift} | {off:.1e} | {sim.energy() - start:+.1e} | {over} "
        f"| {spent:.0f} us |"
    )


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--only", default="", help="part of the name of the mechanisms to run")
    parser.add_argument("--loops", nargs="+", default=("auto", "multipliers"))
    options = options_of(parser, seconds=0.005)
    columns = "mechanism", "loops", "held", "integrator", "drift", "off [m]", "energy [J]", "over budget", "CPU a step"
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in CASES:
        for loops in options.loops if options.only in name else ():
            for integrator in INTEGRATORS:
                rows = loops == "multipliers" and integrator == "semi_implicit_euler"
                for drift in ("baumgarte", "projection") if rows else ("baumgarte",):
                    print(line(name, loops, integrator, drift, options.seconds), flush=True)


if __name__ == "__main__":
    main()
