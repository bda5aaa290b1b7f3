# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""Drift of closed linkages: closure errors, residuals, energy and time of a step, for both ways of drift control.

    python benchmarks/constraints.py [--seconds 10] [--dt 0.001]

The scenes are config/four_bar.yaml, config/four_bar_gripper.yaml and config/closed_chain.yaml.
"""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

from quick import options_of

import mb_contact as mb

CONFIG = Path(__file__).resolve().parents[1] / "config"
SCENES = ("four_bar", "four_bar_gripper", "closed_chain")
CONTROLS = (("baumgarte", 0.0), ("baumgarte", 0.05), ("baumgarte", 0.2), ("baumgarte", 0.5), ("projection", 0.2))


def run(scene, seconds):
    """(worst residual, worst closure error, error at the end, drift of the energy balance, microseconds a step)."""
    sim = mb.Simulator(scene)
    residual = closure = 0.0
    steps = round(seconds / sim.time_step)
    start = time.perf_counter()
    for _ in range(steps):
        certificate = sim.step().certificate
        residual, closure = max(residual, certificate.residual), max(closure, certificate.closure_error)
    spent = (time.perf_counter() - start) / steps
    return residual, closure, certificate, 1e6 * spent


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--dt", type=float, default=1e-3)
    options = options_of(parser, seconds=0.02)
    print(f"{options.seconds:g} s at {1e3 * options.dt:g} ms")
    columns = "scene", "drift control", "rows", "residual", "closure error", "energy balance", "step"
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name in SCENES:
        scene = mb.load_scene(CONFIG / f"{name}.yaml")
        for control, rate in CONTROLS:
            held = {"loops": "multipliers", "drift_control": control, "drift_rate": rate}
            chosen = dataclasses.replace(scene, time_step=options.dt, **held)
            residual, closure, last, spent = run(chosen, options.seconds)
            how = control if control == "projection" else f"{control} {rate:g}"
            numbers = f"{residual:.1e} | {closure:.1e} | {last.energy_balance:.1e} J of {last.energy:.3g} J"
            print(f"| {name} | {how} | {last.loop_rows} | {numbers} | {spent:.0f} us |", flush=True)


if __name__ == "__main__":
    main()
