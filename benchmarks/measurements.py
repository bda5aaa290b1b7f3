# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""The pages of docs/measurements/: what the programs print, with date, machine, load, versions and command.

    python benchmarks/measurements.py                  # those of minutes
    python benchmarks/measurements.py --only sweeps    # one of them, or one of those that take longer
"""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import tempfile
import time
from datetime import date
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import NamedTuple

from quick import NEEDED, options_of

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "measurements"
PACKAGES = ("mb_contact", "numpy", "numba", "coal", "mujoco", "pin")
MARKDOWN = "MARKDOWN"  #: in a command: a file that the program writes, which stands in the page as it is


class Measurement(NamedTuple):
    """A page."""

    title: str
    command: str
    explained: str  #: page of docs/ and heading that says what the figures mean
    minutes: bool = True  #: whether it takes minutes and is made without ``--only``


MEASUREMENTS = {
    "step": Measurement("The parts of a step", "mb-contact bench step", "performance.md#a-step-beside-mujoco"),
    "step_peers": Measurement("A step beside MuJoCo", "python benchmarks/step_peers.py",
                              "performance.md#a-step-beside-mujoco"),
    "isotropy": Measurement("A block pushed in all directions", "python benchmarks/isotropy.py",
                            "design.md#the-same-in-all-directions"),
    "actuators": Measurement("Actuators beside closed forms", "python benchmarks/actuators.py",
                             "constraints.md#actuators"),
    "constraints": Measurement("Linkages over ten seconds", "python benchmarks/constraints.py", "constraints.md"),
    "derivatives": Measurement("Derivatives beside Pinocchio", "python benchmarks/derivatives.py", "dynamics.md"),
    "gradients": Measurement("Derivatives of steps beside differences", "python benchmarks/gradients.py --states 40",
                             "gradients.md#what-is-checked"),
    "as_printed": Measurement("The papers' settings as printed", "python benchmarks/as_printed.py",
                              "papers.md#as-printed"),
    "spatial_operators": Measurement("Residuals of J11's equations", "python benchmarks/spatial_operators.py",
                                     "papers.md#j11"),
    "grasp": Measurement("Drumwright's grasp", "mb-contact bench grasp", "drumwright.md"),
    "formulations": Measurement("Sizes and times of J14's formulations", "mb-contact bench formulations",
                                "formulations.md"),
    "friction_models": Measurement("The polyhedral and the exact cone", "python benchmarks/friction_models.py",
                                   "design.md#the-exact-cone-is-the-default", False),
    "sweeps": Measurement("The sweeps beside Pinocchio", f"python benchmarks/dynamics.py --markdown {MARKDOWN}",
                          "performance.md#the-sweeps-beside-pinocchio", False),
    "hold": Measurement("Shaken grasps beside MuJoCo", "mb-contact bench hold", "performance.md#a-step-beside-mujoco",
                        False),
    "mug": Measurement("A mug held by its handle and shaken", "python benchmarks/mug.py --seconds 60",
                       "collision.md#triangle-meshes", False),
    "nut": Measurement("A nut of M8 on its bolt", "python benchmarks/nut.py", "collision.md#triangle-meshes", False),
    "worlds": Measurement("Many worlds beside mujoco.rollout", "mb-contact bench worlds", "worlds.md", False),
    "pendulum": Measurement("OS against NMC/OS", "mb-contact bench pendulum", "pendulum.md", False),
}  # fmt: skip


def machine():
    """The machine in words."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next(line.split(":")[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    return f"{model}, {os.cpu_count()} cores, {platform.system()}"


def versions():
    """Python's version and those of the packages that are installed."""
    found = [f"Python {platform.python_version()}"]
    for name in PACKAGES:
        try:
            found.append(f"{name} {version(name)}")
        except PackageNotFoundError:
            continue
    return ", ".join(found)


def run(command, more=()):
    """(exit code, output, the Markdown that the program wrote or None, its errors) of a command of the docs."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tables.md"
        words = [str(file) if word == MARKDOWN else word for word in command.split()]
        start = {"python": [sys.executable], "mb-contact": [sys.executable, "-m", "mb_contact"]}[words[0]]
        done = subprocess.run([*start, *words[1:], *more], cwd=ROOT, capture_output=True, text=True, check=False)
        written = file.read_text(encoding="utf-8") if file.exists() else None
    return done.returncode, done.stdout.strip(), written, done.stderr.strip()


def page(name, more=()):
    """(exit code, Markdown) of a measurement; the text of a failure where the code is not 0."""
    measurement, before, start = MEASUREMENTS[name], os.getloadavg()[0], time.monotonic()
    code, output, written, errors = run(measurement.command, more)
    if code:
        return code, errors or output
    rows = {
        "date": date.today().isoformat(), "command": f"`{measurement.command}`", "machine": machine(),
        "load": f"{before:.1f} at the start, {os.getloadavg()[0]:.1f} at the end, other programs included",
        "took": f"{time.monotonic() - start:.0f} s", "versions": versions(),
    }  # fmt: skip
    meant = f"What the figures mean: [{measurement.explained}](../{measurement.explained})."
    table = ["| | |", "|---|---|", *(f"| {key} | {text} |" for key, text in rows.items())]
    lines = [f"# {measurement.title}", "", meant, "", *table, ""]
    return 0, "\n".join([*lines, written if written is not None else f"```text\n{output}\n```"]).rstrip() + "\n"


def main():
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    usual = [name for name, measurement in MEASUREMENTS.items() if measurement.minutes]
    parser.add_argument("--only", nargs="+", choices=tuple(MEASUREMENTS), default=usual, metavar="NAME",
                        help=f"some of {', '.join(MEASUREMENTS)} (default: those that take minutes)")  # fmt: skip
    parser.add_argument("--out", type=Path, default=PAGES, metavar="FOLDER", help="of the pages (default: %(default)s)")
    options = options_of(parser, only=["isotropy"], out=None)
    failed = 0
    for name in options.only:
        code, text = page(name, ["--quick"] if options.quick else [])
        if code:
            print(f"{name}: {text.splitlines()[-1] if text else code}", file=sys.stderr)
            failed += code != NEEDED  # a machine that lacks a peer keeps the page that it has
        elif options.out is None:
            print(text)
        else:
            (options.out / f"{name}.md").write_text(text, encoding="utf-8")
            print(f"{options.out / name}.md", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
