# Copyright 2026 The mb_contact authors
# SPDX-License-Identifier: Apache-2.0

"""docs/measurements/fidelity.md: the fidelity suite beside other engines, measured in one run.

    python benchmarks/fidelity.py [--peers PYTHON] [--out docs/measurements/fidelity.md]

PYTHON is an interpreter that has mujoco, pybullet, drake and dartpy, or some of them (``pip install mujoco pybullet
drake dartpy numpy``); each engine runs in a process of its own, and the page says which were missing.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from datetime import date
from pathlib import Path

from fidelity_engines import ENGINES
from measurements import machine, versions
from quick import options_of

from mb_contact.programs.bench.fidelity import CASES
from mb_contact.programs.bench.fidelity.table import markdown, rows

PEERS = Path(__file__).with_name("fidelity_peers.py")
LIMIT = 900  #: seconds for an engine
QUICK = ("rod_on_ice", "painleve")  #: cases of --quick
TITLE = """# Fidelity

What the simulator computes, beside what is exact. Exact values come from formulas or from ODEs solved by other means
(`mb_contact/programs/bench/fidelity/`), never from the simulator. Time step 1 ms unless the setting says otherwise.
`mb-contact bench fidelity` prints the figures again, `test/programs/bench/test_fidelity.py` holds them to their
tolerances, and this page and [all settings](fidelity_settings.md) are the output of

    python benchmarks/fidelity.py --peers PYTHON --out docs/measurements/fidelity.md

What remains is the error of the time step: a stopping way misses by v Δt / 2, a slope's way by a Δt t / 2. The contact
problems themselves are solved to 1e-9 and better (residuals of the certificates are among the figures).

"""
SETTINGS = """# All settings of the fidelity suite

Every figure under every setting; [fidelity](fidelity.md) says what they are and was written together with this page,
by the command that it names. Time step 1 ms unless the setting says otherwise.

| | |
|---|---|
"""
ENERGY = """
## Energy

In every step `T(v+) - T(v_free) <= sum p_n v_push + 1e-10 T`: impulses never give more kinetic energy to the free
motion than the push out of penetration does. The certificate has the two sides, `contact_energy` and
`push_out_energy`. The tests hold it in all steps of 24 random passive scenes of 10 s
(`test/programs/bench/test_fidelity_energy.py`), `python benchmarks/fidelity_energy.py` in 200 (2,000,000 steps of 1 ms,
60,760 impacts: excess at most 1e-22 of T, no impact gained energy;
measured before scenes of the event scheme were among them).
"""


def measure_peers(python, cases):
    """{engine: (settings, {case: {figure: value}}, {case: error})}, and {engine: why it is missing}."""
    measured, missing = {}, {}
    for name in ENGINES:
        try:
            done = subprocess.run(
                [python, str(PEERS), name, *cases], capture_output=True, text=True, timeout=LIMIT,
                env={k: v for k, v in os.environ.items() if k != "PYTHONPATH"},
            )  # fmt: skip
            lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        except (OSError, subprocess.TimeoutExpired, json.JSONDecodeError) as error:
            missing[name] = f"{type(error).__name__}"
            continue
        failed = {line["case"]: line["error"] for line in lines if "error" in line}
        if not lines or all("No module" in failed.get(line.get("case"), "") for line in lines[1:]):
            missing[name] = "not installed"
            continue
        figures = {line["case"]: line["figures"] for line in lines if "figures" in line}
        measured[name] = lines[0]["settings"], figures, failed
        print(f"{name}: {len(figures)} cases", file=sys.stderr, flush=True)
    return measured, missing


def number(value, figure):
    """A figure's value in the overview."""
    return f"{value:.1e}" if figure.exact == 0.0 else f"{value:.6g}"


def overview(outcomes, peers):
    """One row a figure: exact, ours at 1 ms and the setting that is worst for its tolerance, the other engines."""
    header = ("case", "figure", "unit", "exact", "mb_contact", *peers)
    lines = ["| " + " | ".join(header) + " |", "|---" * len(header) + "|"]
    for name, case in CASES.items():
        for figure in case.figures:
            ours = [o for o in outcomes.get(name, ()) if o.figure is figure and o.setting.time_step == 1e-3]
            if not ours:
                continue
            worst = max(ours, key=lambda o: o.error / (o.figure.bound(o.setting) or 1.0))
            cells = [name, figure.name, figure.unit, "0" if figure.exact == 0.0 else f"{figure.exact:.6g}",
                     f"**{number(worst.measured, figure)}**"]  # fmt: skip
            for _, figures, failed in peers.values():
                value = figures.get(name, {}).get(figure.name)
                cells.append(number(value, figure) if value is not None else "fails" if name in failed else "")
            lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines) + "\n"


def page(outcomes, peers, missing):
    """The whole of docs/measurements/fidelity.md."""
    total = [o for case in outcomes.values() for o in case]
    held = sum(o.passed for o in total)
    made = f"{date.today().isoformat()}, {machine()}. "
    text = [TITLE, "## Overview\n\n", made, f"{held} of {len(total)} figures are within their tolerances. Ours is the "
            "setting at 1 ms that comes nearest to (or over) the tolerance; "
            "[all settings](fidelity_settings.md) have a page.\n\n"]  # fmt: skip
    text += [overview(outcomes, peers), "\n"]
    if peers:
        text.append("The other engines at the same step, with settings towards rigid contact:\n\n")
        text += [f"* {name}: {settings}.\n" for name, (settings, _, _) in peers.items()]
        text.append("\nAll may take up to 20 steps for an impact (`rod_on_ice`, `painleve`, `rimless_wheel`); "
                    "an empty cell is a figure that was not measured there.\n\n")  # fmt: skip
        for name, (_, _, failed) in peers.items():
            text += [f"* {name} cannot do `{case}`: {error}.\n" for case, error in failed.items()]
    for name, why in missing.items():
        text.append(f"\n{name} was not measured: {why}.\n")
    text.append(ENERGY)
    return "".join(text).rstrip() + "\n"


def settings_page(outcomes):
    """The whole of docs/measurements/fidelity_settings.md."""
    sections = [markdown(case, outcomes[name]) for name, case in CASES.items() if outcomes.get(name)]
    made = {"date": date.today().isoformat(), "machine": machine(), "versions": versions()}
    head = SETTINGS + "".join(f"| {key} | {text} |\n" for key, text in made.items()) + "\n"
    return head + "\n".join(sections).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--peers", metavar="PYTHON", help="interpreter with the other engines (without: left out)")
    parser.add_argument("--only", nargs="+", choices=tuple(CASES), default=tuple(CASES), metavar="CASE")
    parser.add_argument("--out", metavar="FILE", type=Path,
                        help="where to write the page; all settings go to a page beside it (default: print)")
    options = options_of(parser, peers=sys.executable, only=QUICK)
    outcomes = {}
    for name in options.only:
        outcomes[name] = list(rows([CASES[name]]))
        print(f"{name}: {sum(o.passed for o in outcomes[name])} of {len(outcomes[name])}", file=sys.stderr, flush=True)
    peers, missing = {}, dict.fromkeys(ENGINES, "no interpreter was named")
    if options.peers:
        peers, missing = measure_peers(options.peers, options.only)
    text = page(outcomes, peers, missing)
    if options.out is None:
        print(text + "\n" + settings_page(outcomes))
    else:
        options.out.write_text(text, encoding="utf-8")
        settings = options.out.with_name(f"{options.out.stem}_settings.md")
        settings.write_text(settings_page(outcomes), encoding="utf-8")
    return 0 if all(o.passed for case in outcomes.values() for o in case) else 1


if __name__ == "__main__":
    sys.exit(main())
