# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The friction pyramid and the exact cone beside each other: unsolved steps, residuals, times and Newton steps.

    python benchmarks/friction_models.py [--only NAME ...] [--seconds 1] [--lift 3] [--json FILE]

Every scene of config/ for a second without efforts, the lift of ``make run`` under its controller for three, and 20 of
bin.py's bodies falling into their bin for one.  Times are those of ``stepping.py``; a line "all" for each model ends
the table.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import bin as bins
import numpy as np
from stepping import Record, add_options, counted, follow, markdown, number, statistics, write_json

import mb_contact as mb
from mb_contact.errors import SceneError
from mb_contact.model.resources import find_resource
from mb_contact.programs.bench.step import SCENE, Lift
from mb_contact.surfaces.scene_file import is_surface_scene

CONFIG = Path(__file__).resolve().parents[1] / "config"
MODELS = ("coulomb_polyhedral", "coulomb_cone")
BODIES = 20  #: of the heap
LIFT, HEAP = "lift", f"heap of {BODIES}"
HEAD = ("scene", "model", "contacts", "steps", "unsolved", "residual", "ms median", "mean", "worst", "Newton mean",
        "worst", "solvers")  # fmt: skip


def names():
    """What can be run: the lift, the heap, and the scenes of config/ that are no surface scenes."""
    files = [p for p in sorted(CONFIG.glob("*.yaml")) if "ros__parameters" not in p.read_text(encoding="utf-8")]
    return (LIFT, HEAP, *(path.stem for path in files if not is_surface_scene(path)))


def run(name, model, arguments):
    """Record of one scene under a friction model."""
    if name == LIFT:
        lift = Lift(replace(mb.load_scene(find_resource(SCENE)), friction_model=model))
        return follow(lift.simulator, arguments.lift, lift.effort, patience=arguments.patience)
    scene = bins.scene_of(BODIES) if name == HEAP else mb.load_scene(CONFIG / f"{name}.yaml")
    sim = mb.Simulator(replace(scene, friction_model=model))
    return follow(sim, arguments.seconds, patience=arguments.patience)


def row(name, model, record):
    """Numbers of a record."""
    newton = float(np.mean(record.newton)) if record.newton else None
    return {"scene": name, "model": model, "newton_mean": newton, "ended": record.ended, **statistics(record)}


def cells(numbers):
    """The row of the table."""
    times = (number(numbers[f"{which}_ms"]) for which in ("median", "mean", "worst"))
    return (
        numbers["scene"], numbers["model"], str(numbers["contacts"]), str(numbers["steps"]), str(numbers["unsolved"]),
        number(numbers["residual"], "{:.0e}"), *times, number(numbers["newton_mean"], "{:.2f}"),
        number(numbers["newton_worst"]), " ".join((counted(numbers["solvers"]), numbers["ended"])).strip(),
    )  # fmt: skip


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--only", nargs="+", choices=names(), metavar="NAME", help=", ".join(names()))
    parser.add_argument("--seconds", type=float, default=1.0, help="of a scene and of the heap (%(default)s)")
    parser.add_argument("--lift", type=float, default=3.0, help="seconds of the lift (%(default)s)")
    add_options(parser)
    arguments = parser.parse_args()
    if arguments.quick:
        arguments.only, arguments.seconds = ["box_on_table", LIFT], 0.1
        arguments.lift = 0.1
    models = MODELS if arguments.friction_model is None else (arguments.friction_model,)
    rows, all_steps = [], {model: Record() for model in models}
    print(markdown(HEAD, []), end="")
    for name in arguments.only or names():
        for model in models:
            try:
                record = run(name, model, arguments)
            except SceneError as error:
                print(f"{name} with {model} is left out: {error}", file=sys.stderr)
                continue
            rows.append(row(name, model, record))
            print(f"| {' | '.join(cells(rows[-1]))} |", flush=True)
            for field, values in vars(all_steps[model]).items():
                if isinstance(values, list):
                    values += getattr(record, field)
    for model, record in all_steps.items():
        rows.append(row("all", model, record))
        print(f"| {' | '.join(cells(rows[-1]))} |")
    write_json(arguments.json, arguments, rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())
