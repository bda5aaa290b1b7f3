# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The 12 m pendulum beside MuJoCo, Bullet, DART and Drake, in one run: energy, time, and whether it stays finite.

    python benchmarks/pendulum_peers.py --python OTHER/bin/python      # the interpreter that has the other engines

The pendulum starts horizontally at rest (``mb.pendulum(n, "first_impact")``), without restitution, which MuJoCo and
Drake do not have.  Energies are computed alike for all engines from joint angles and rates; the drift counts until the
first touch.  An engine that is not installed is named and left out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

from pendulum_engines import run
from quick import options_of

import mb_contact as mb

PEERS = (
    ("mujoco", "Euler"), ("mujoco", "implicitfast"), ("mujoco", "RK4"), ("bullet", ""), ("dart", ""), ("drake", ""),
)  # fmt: skip
OURS = ("semi_implicit_euler", "rk4", "midpoint")
SCRIPT = Path(__file__).with_name("pendulum_engines.py")


def case_of(chain, seconds, budget):
    """The pendulum as plain numbers."""
    numbers = {f.name: getattr(chain, f.name) for f in fields(chain)}
    more = {"spacing": chain.spacing, "radius": chain.radius, "urdf": chain.urdf()}
    return {**numbers, **more, "seconds": seconds, "budget": budget}


def ours(chain, case, integrator):
    """This simulator."""
    sim = mb.Simulator(chain.scene(integrator=integrator))
    sim.step()
    sim.reset()  # compiled by now
    events = []

    def step():
        events[:] = sim.step().events

    try:
        return run(case, step, lambda: (sim.q, sim.v), lambda: bool(events))
    except mb.DynamicsError as error:
        return f"stopped at {sim.time:.3f} s: {error}"


def peer(python, case, engine, integrator):
    """Another engine in a process of its own; a text where it cannot be run."""
    text = json.dumps({**case, "engine": engine, "integrator": integrator})
    done = subprocess.run([python, str(SCRIPT)], input=text, capture_output=True, text=True)
    if done.returncode != 0:
        lines = done.stderr.strip().splitlines()
        return f"not run: {lines[-1] if lines else done.returncode}"
    return json.loads([line for line in done.stdout.splitlines() if line.startswith("{")][-1])  # engines chat too


def row(n, name, result):
    """One line of the table."""
    if isinstance(result, str):
        return f"{n:5d}  {name:28s} {result}"
    finite = "yes" if result["finite"] else f"until {result['ended']:.2f} s"
    touched = "never" if result["touched"] is None else f"{result['touched']:.3f}"
    mark = "~" if result["cut"] else " "
    return (
        f"{n:5d}  {name:28s}{result['seconds']:9.3f}{mark} {finite:>13} {touched:>8} {result['drift']:10.1e}"
        f" {result['rise']:10.1e} {result['end']:12.2f} {1e3 * result['deepest']:9.3f}"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="interpreter that has the other engines")
    parser.add_argument("--links", default="3,12,30,100", help="numbers of links, with commas")
    parser.add_argument("--seconds", type=float, default=5.0, help="simulated time")
    parser.add_argument("--time-step", type=float, default=1e-3)
    parser.add_argument("--budget", type=float, default=60.0, help="CPU seconds after which a run is cut off")
    arguments = options_of(parser, links="3", seconds=0.1)
    print(f"12 m pendulum, {arguments.seconds:g} s at {1e3 * arguments.time_step:g} ms; ~ cut off and scaled up")
    print(
        f"{'links':>5}  {'engine':28s}{'CPU s':>9}  {'finite':>13} {'touch[s]':>8} {'drift/E0':>10} {'rise/E0':>10}"
        f" {'end [J]':>12} {'deep [mm]':>9}"
    )
    missing = {}
    for n in (int(part) for part in arguments.links.split(",")):
        chain = mb.pendulum(n, "first_impact", time_step=arguments.time_step)
        case = case_of(chain, arguments.seconds, arguments.budget)
        for integrator in OURS:
            print(row(n, f"mb_contact {integrator}", ours(chain, case, integrator)), flush=True)
        for engine, integrator in PEERS:
            if engine in missing:
                continue
            result = peer(arguments.python, case, engine, integrator)
            if isinstance(result, str) and "No module named" in result:
                missing[engine] = result
                continue
            print(row(n, f"{engine} {integrator}".strip(), result), flush=True)
    for engine, why in missing.items():
        print(f"left out: {engine} ({why})")


if __name__ == "__main__":
    main()
